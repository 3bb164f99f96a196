"""What each typed line does to a permission: no terminal, no desk."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.model import Allowed, Denied, Permission, Reply
from askdesk.core.text import Shown
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.verdict import Verdict, decide
from askdesk.surfaces.texts import say

RULES = ({"type": "addRules", "rules": [{"toolName": "Bash"}]}, {"type": "setMode", "mode": "plan"})
CALL = Permission("Bash", {"command": "rm -r build", "timeout": 5}, suggestions=RULES)
ASKED = Verdict(CALL)


def told(said: str) -> Verdict:
    return Verdict(CALL, said=Shown(said))


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("yes", Allowed()),
        (" YES ", Allowed()),
        ("no", Denied()),
        ("n", Denied()),
        ("No  use the staging server ", Denied("use the staging server")),
        ("/instead list the files first", Denied(redirect="list the files first")),
        ("/another make clean", Denied("Another way: make clean")),
        ("/stop", Denied(stop=True)),
        ("/stop wrong folder", Denied("wrong folder", stop=True)),
        ("/always 2", Allowed(remember=(CALL.suggestions[1],))),
        ("/always 2, 1", Allowed(remember=CALL.suggestions)),
        ("/later", None),
    ],
)
def test_a_permission_is_decided_by_these_words(line: str, decision: Reply | None) -> None:
    assert decide(ASKED, line) == decision


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "y",
        "1",
        "ok",
        "allow",
        "yes please",
        "yes!",
        "yess",
        "/yes",
        "ｙｅｓ",
        "/instead",
        "/later on",
        "/always",
    ],
)
def test_any_other_line_decides_nothing(line: str) -> None:
    assert decide(ASKED, line) == told(say("verdict.help"))


@given(
    st.one_of(
        st.text(),
        st.text("yesYESyesſ \t\u200b\u0301", max_size=6),
        st.builds("{}yes{}".format, st.text(max_size=2), st.text(max_size=2)),
    )
)
def test_no_line_but_the_very_word_yes_allows(line: str) -> None:
    decision = decide(ASKED, line)
    if line.strip().lower() == "yes" and line.isprintable():
        assert decision == Allowed()
    elif isinstance(decision, Allowed):  # a blank that cannot be printed, like a tab, may stand beside the word
        assert line.strip().lower() == "yes"


@pytest.mark.parametrize("line", ["no a\0b", "/stop a\0b", "/instead a\0b"])
def test_a_reason_with_keys_that_are_not_text_is_asked_again(line: str) -> None:
    assert decide(ASKED, line) == told("Nothing was decided: that line held keys that are not text.")


def test_one_field_is_changed_as_text_where_it_was_text_and_yes_then_allows_the_change() -> None:
    changed = decide(ASKED, "/set command rm -r build/old")

    text = json.dumps({"command": "rm -r build/old", "timeout": 5})
    assert changed == Verdict(CALL, text, say("verdict.changed"))
    assert decide(changed, "yes") == Allowed(text)


def test_a_field_that_was_no_text_is_changed_as_json() -> None:
    text = json.dumps({"command": "rm -r build", "timeout": 60})

    assert decide(ASKED, "/set timeout 60") == Verdict(CALL, text, say("verdict.changed"))
    assert decide(ASKED, "/set timeout soon") == told("That cannot be sent: that field takes JSON, got soon")


def test_the_whole_input_is_changed_as_json_and_must_be_sound() -> None:
    assert decide(ASKED, '/change {"command": "ls"}') == Verdict(CALL, '{"command": "ls"}', say("verdict.changed"))
    for line in ("/change [1]", "/change {", '/change {"a": 1, "a": 2}', "/change nothing"):
        refused = decide(ASKED, line)
        assert isinstance(refused, Verdict)
        assert (refused.input, refused.said[:20]) == ("", "That cannot be sent:")


def test_changes_are_taken_back() -> None:
    changed = Verdict(CALL, '{"command": "ls"}')

    assert decide(changed, "/undo") == told(say("verdict.undone"))
    assert decide(changed, '/change {"command":"rm -r build","timeout":5}') == told(say("decision.unchanged"))
    assert decide(ASKED, '/change {"command": "rm -r build", "timeout": 5.0}') != told(say("decision.unchanged"))


def test_a_field_that_is_not_there_is_not_made() -> None:
    assert decide(ASKED, "/set comand ls") == told(say("verdict.no_field", name=Shown("comand")))


def test_the_input_goes_to_an_editor_as_json() -> None:
    assert decide(ASKED, "/edit") == Edit(json.dumps(CALL.value, indent=2), ".json")


def test_only_proposals_that_were_made_are_remembered() -> None:
    assert decide(ASKED, "/always 3") == told("There is no number 3 here; choose from 1 to 2.")
    assert decide(Verdict(Permission("Bash", {})), "/always 1") == Verdict(
        Permission("Bash", {}), said=say("verdict.no_rules")
    )
