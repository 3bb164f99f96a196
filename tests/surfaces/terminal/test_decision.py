"""What each key does on the way to a decision: no terminal, no desk."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core.model import Allowed, Ask, Asker, Denied, Permission, Reply
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.terminal.decision import WORDED, Decision
from askdesk.surfaces.terminal.decision_view import picture
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.view import Size
from askdesk.surfaces.texts import say
from askdesk.testing.clock import NOON

SESSION = '{"type":"setMode","mode":"acceptEdits","destination":"session"}'
RULE = (
    '{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls:*"}],"destination":"session"}'
)
LS = Permission("Bash", {"command": "ls", "timeout": 5}, folder="/srv/app")
SUGGESTED = Permission("Bash", {"command": "ls"}, suggestions=(RULE, SESSION))
LONG = Permission("Bash", {"command": "\n".join(f"echo {number}" for number in range(100))})
SIZE = Size(80, 24)


def start(permission: Permission = LS, size: Size = SIZE) -> Decision:
    """A decision that has been on the screen once."""
    return looked(Decision.start(Ask("a1", permission, Asker("builder"), NOON), size))


def looked(decision: Decision) -> Decision:
    """The decision after it was on the screen."""
    return decision.looked(picture(decision))


def pressed(decision: Decision, *keys: str) -> Decision | Reply | Edit | None:
    """What has come of a decision after these keys, each of them pressed on what was seen."""
    step: Decision | Reply | Edit | None = decision
    for key in keys:
        assert isinstance(step, Decision), f"it ended before {key!r}, with {step}"
        step = step.press(key)
        if isinstance(step, Decision):
            step = looked(step)
    return step


def going_on(decision: Decision, *keys: str) -> Decision:
    step = pressed(decision, *keys)
    assert isinstance(step, Decision), step
    return step


def typed(decision: Decision, words: str) -> Decision:
    return going_on(decision, *words)


def changed(decision: Decision, value: object) -> Decision:
    """The decision with this input instead, so far as to see what would run."""
    text = value if isinstance(value, str) else json.dumps(value)
    return looked(going_on(decision, "e", "enter").edited(text))


def test_nothing_has_the_focus_at_first_and_enter_then_only_explains() -> None:
    decision = start()

    assert (decision.mode, decision.row) == ("list", "")
    after = going_on(decision, "enter")
    assert after == decision.told(say("decision.nothing_chosen"))
    assert going_on(after, "enter", "enter") == after


def test_the_rows_are_all_ways_to_decide_and_always_is_there_only_with_suggestions() -> None:
    assert start().rows() == ("allow", "change", "deny", "message", "another", "redirect", "stop")
    assert start(SUGGESTED).rows() == ("allow", "change", "always", "deny", "message", "another", "redirect", "stop")


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("1", "allow"),
        ("2", "change"),
        ("3", "always"),
        ("4", "deny"),
        ("8", "stop"),
        ("9", ""),
        ("0", ""),
        ("²", ""),
        ("１", ""),
        ("y", "allow"),
        ("e", "change"),
        ("a", "always"),
        ("d", "deny"),
        ("Y", ""),
        ("n", ""),
        ("down", "allow"),
        ("tab", "allow"),
        ("up", "stop"),
        ("shift+tab", "stop"),
        ("row:allow", "allow"),
        ("row:nothing", ""),
        (" ", ""),
        ("x", ""),
    ],
)
def test_a_key_moves_the_focus_and_no_more(key: str, row: str) -> None:
    assert going_on(start(SUGGESTED), key).row == row


def test_without_suggestions_there_is_no_always_and_its_letter_does_nothing() -> None:
    assert going_on(start(), "a") == start()
    assert going_on(start(), "3").row == "deny"


def test_the_arrows_go_around() -> None:
    assert going_on(start(), *["down"] * 8).row == "allow"
    assert going_on(start(), *["up"] * 8).row == "stop"


@pytest.mark.parametrize("keys", [("1", "enter"), ("y", "enter"), ("down", "enter"), ("row:allow", "row:allow")])
def test_a_call_is_allowed_by_enter_or_a_second_click_on_the_row_that_says_so(keys: tuple[str, ...]) -> None:
    assert pressed(start(), *keys) == Allowed()


def test_a_click_on_another_row_moves_the_focus_there() -> None:
    assert going_on(start(), "row:allow", "row:deny").row == "deny"
    assert pressed(start(), "row:allow", "row:deny", "row:deny") == Denied()


@pytest.mark.parametrize("key", [" ", "y", "1", "ctrl+j", "shift+enter", "alt+enter", "right", "end", "v", "paste"])
def test_on_the_row_that_allows_nothing_but_enter_decides(key: str) -> None:
    assert isinstance(pressed(start(), "y", key), Decision)


def test_pasted_text_decides_nothing_and_is_left_out_where_no_text_is_typed() -> None:
    assert going_on(start(), "y").paste("y\n\n\r1\r") == going_on(start(), "y").told(say("sheet.paste_where"))


@pytest.mark.parametrize(
    ("row", "words", "reply"),
    [
        ("deny", None, Denied()),
        ("message", "too dangerous", Denied("too dangerous")),
        ("message", "", Denied()),
        ("another", "use git clean", Denied("Another way: use git clean")),
        ("redirect", "write a test first", Denied(redirect="write a test first")),
        ("stop", "enough", Denied("enough", stop=True)),
        ("stop", "", Denied(stop=True)),
        ("message", "  é 日本\t", Denied("é 日本")),
    ],
)
def test_each_way_to_say_no(row: str, words: str | None, reply: Denied) -> None:
    decision = going_on(start(), f"row:{row}")
    if words is None:
        assert pressed(decision, "enter") == reply
    else:
        assert pressed(going_on(decision, "enter").paste(words), "enter") == reply


@pytest.mark.parametrize("row", ["another", "redirect"])
@pytest.mark.parametrize("words", ["", "   ", "\u200b\u3164"])
def test_another_way_and_a_new_instruction_need_words(row: str, words: str) -> None:
    decision = going_on(start(), f"row:{row}", "enter").paste(words)

    assert going_on(decision, "enter") == decision.told(say("sheet.type_first"))


def test_words_may_have_several_lines_and_letters_are_only_letters_there() -> None:
    decision = typed(going_on(start(), "row:message", "enter"), "yes, all")
    assert pressed(going_on(decision, "ctrl+j", "y", "1"), "enter") == Denied("yes, all\ny1")


def test_words_stay_with_their_row_when_it_is_left_and_come_back() -> None:
    decision = typed(going_on(start(), "row:message", "enter"), "because")
    decision = typed(going_on(decision, "escape", "row:stop", "enter"), "halt")
    decision = going_on(decision, "tab", "row:message", "enter")

    assert (decision.mode, decision.field.text) == ("words", "because")
    assert decision.words == (("message", "because"), ("stop", "halt"))
    assert pressed(decision, "enter") == Denied("because")


def test_clicks_on_rows_do_nothing_while_words_are_typed() -> None:
    decision = going_on(start(), "row:message", "enter")

    assert going_on(decision, "row:allow", "row:allow") == decision


def test_leaving_asks_first_and_leaves_the_ask_open() -> None:
    leaving = going_on(start(), "y", "escape")

    assert (leaving.mode, leaving.rows(), leaving.row) == ("leave", ("stay", "later"), "stay")
    assert pressed(leaving, "down", "enter") is None
    assert pressed(leaving, "row:later", "row:later") is None
    assert pressed(leaving, "2", "enter") is None
    assert going_on(leaving, "enter") == going_on(leaving, "escape") == start()


def test_the_input_is_changed_as_json_and_what_would_run_is_shown_before_it_goes() -> None:
    editing = going_on(start(), "e", "enter")
    assert (editing.mode, editing.field.text) == ("change", '{\n  "command": "ls",\n  "timeout": 5\n}')

    shown = going_on(editing, "up", "up", "end", *["left"] * 2, *" -l", "enter")

    assert (shown.mode, shown.row, shown.rows()) == ("changed", "", ("run", "again", "back"))
    assert going_on(shown, "enter").said == say("decision.nothing_chosen")
    assert pressed(shown, "1", "enter") == Allowed('{\n  "command": "ls -l",\n  "timeout": 5\n}')
    assert pressed(shown, "row:run", "row:run") == pressed(shown, "down", "enter")


@pytest.mark.parametrize("key", ["y", "e", "a", "d", " ", "v", "x", "5"])
def test_on_a_changed_call_letters_do_nothing(key: str) -> None:
    shown = changed(start(), {"command": "ls -l"})

    assert going_on(shown, key) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"command": "ls"', "input: is not JSON: Expecting ',' delimiter at line 1, column 17"),
        ("[1]", "input: must be a JSON object, is [1]"),
        ('{"a": 1, "a": 2}', 'input: has the key "a" twice in one object'),
        ('{"a": NaN}', "input: holds NaN, which is not JSON"),
        ("", "input: is not JSON: Expecting value at line 1, column 1"),
    ],
)
def test_a_changed_input_that_is_not_sound_json_goes_nowhere_and_stays(text: str, said: str) -> None:
    editing = going_on(start(), "e", "enter", *["ctrl+u", "backspace"] * 4)
    assert editing.field.text == ""
    typed_in = editing.paste(text)

    after = going_on(typed_in, "enter")

    assert after == typed_in.told(after.said)
    assert after.said == said


def test_an_input_that_was_not_changed_is_not_a_change() -> None:
    editing = going_on(start(), "e", "enter")

    assert going_on(editing, "enter") == editing.told(say("decision.unchanged"))


def test_from_a_changed_call_one_can_change_it_again_or_go_back_without_losing_it() -> None:
    shown = changed(start(), {"command": "ls -l"})

    for again in (going_on(shown, "2", "enter"), going_on(shown, "escape")):
        assert (again.mode, again.field.text) == ("change", '{"command": "ls -l"}')
    back = going_on(shown, "3", "enter")
    assert (back.mode, back.row) == ("list", "")
    assert pressed(back, "y", "enter") == Allowed()
    assert going_on(back, "e", "enter").field.text == '{"command": "ls -l"}'


def test_a_call_can_still_be_allowed_after_a_longer_change_of_it_was_looked_at() -> None:
    shown = changed(start(), {"command": "\n".join(map(str, range(60)))})

    for back in (going_on(shown, "3", "enter"), going_on(shown, "escape", "escape")):
        assert back.passage.unseen == 0
        assert pressed(back, "y", "enter") == Allowed()


def test_an_input_that_comes_back_unsound_from_the_editor_stays_to_be_mended() -> None:
    text = '{"command": "ls -l"'
    after = going_on(start(), "e", "enter").edited(text)

    assert (after.mode, after.field.text, after.input) == ("change", text, text)
    assert after.said == "input: is not JSON: Expecting ',' delimiter at line 1, column 20"


def test_a_field_goes_to_the_editor_and_comes_back() -> None:
    editing = going_on(start(), "e", "enter")
    assert pressed(editing, "ctrl+g") == Edit('{\n  "command": "ls",\n  "timeout": 5\n}', ".json")
    assert editing.edited('{"command": "id"}\n').mode == "changed"

    saying = typed(going_on(start(), "row:message", "enter"), "no")
    assert pressed(saying, "ctrl+g") == Edit("no", ".md")
    after = saying.edited("no\n\nnever\n")
    assert (after.mode, after.field.text) == ("words", "no\n\nnever")
    assert pressed(after, "enter") == Denied("no\n\nnever")


def test_an_input_too_long_for_a_field_is_changed_in_the_editor_alone() -> None:
    long = Permission("Bash", {"command": "x" * 30_000})
    decision = start(long, Size(200, 250))
    editing = going_on(decision, "e", "enter")

    assert editing.said == say("decision.too_long")
    assert going_on(editing, "x", "backspace") == editing
    assert isinstance(pressed(editing, "ctrl+g"), Edit)


def test_always_allows_this_call_and_remembers_what_is_ticked() -> None:
    choosing = going_on(start(SUGGESTED), "a", "enter")
    assert (choosing.mode, choosing.rows(), choosing.row) == ("always", ("rule:0", "rule:1", "remember", "back"), "")
    assert going_on(choosing, "enter").said == say("decision.nothing_chosen")

    nothing = going_on(choosing, "3", "enter")
    assert nothing.said == say("decision.tick_first")
    ticked = going_on(choosing, "2", " ", "1", "enter")
    assert ticked.ticked == (0, 1)
    assert pressed(ticked, "3", "enter") == Allowed(remember=(RULE, SESSION))
    assert pressed(ticked, "row:rule:1", "row:rule:1", "row:remember", "row:remember") == Allowed(remember=(RULE,))


def test_a_rule_can_be_remembered_only_after_all_of_it_was_seen() -> None:
    rule = {"type": "addDirectories", "directories": [f"/d{n}" for n in range(60)], "destination": "session"}
    choosing = going_on(start(Permission("Bash", LS.input, suggestions=(rule,))), "a", "enter", "1", " ", "2")

    refused = going_on(choosing, "enter")
    assert refused == choosing.told(say("decision.rules_unseen", count=choosing.rules.unseen))


def test_a_rule_taller_than_the_screen_can_be_read_to_its_end_and_remembered() -> None:
    rule = {"type": "addDirectories", "directories": [f"/d{n}" for n in range(60)], "destination": "session"}
    permission = Permission("Bash", LS.input, suggestions=(rule,))
    choosing = going_on(start(permission), "a", "enter", "1", " ")

    there_and_back = going_on(choosing, *["pagedown"] * 20, *["pageup"] * 20)
    assert picture(there_and_back) == picture(going_on(choosing, "pageup"))
    assert pressed(there_and_back, "2", "enter") == Allowed(remember=permission.suggestions)


def test_leaving_the_suggestions_allows_nothing_and_keeps_the_ticks() -> None:
    ticked = going_on(start(SUGGESTED), "a", "enter", "1", " ")

    for back in (going_on(ticked, "escape"), going_on(ticked, "4", "enter")):
        assert (back.mode, back.row, back.ticked) == ("list", "", (0,))


def test_space_ticks_and_never_decides() -> None:
    ticked = going_on(start(SUGGESTED), "a", "enter", "1", " ", "3")

    assert going_on(ticked, " ") == ticked


@pytest.mark.parametrize("row", ["allow", "change", "always"])
def test_a_call_that_was_not_seen_to_its_end_is_not_allowed(row: str) -> None:
    long = Permission("Bash", LONG.input, suggestions=(RULE,))
    decision = going_on(start(long), f"row:{row}")

    unseen = say("decision.unseen", count=decision.passage.unseen)
    assert decision.passage.unseen > 80
    assert going_on(decision, "enter") == going_on(decision, f"row:{row}") == decision.told(unseen)


@pytest.mark.parametrize("row", ["deny", *WORDED])
def test_a_call_that_was_not_seen_can_be_denied(row: str) -> None:
    step = pressed(start(LONG), f"row:{row}", "enter")

    assert step == Denied() if row == "deny" else isinstance(step, Decision) and step.mode == "words"


@pytest.mark.parametrize("key", ["v", "pagedown", "pageup", "wheel:down"])
def test_a_long_call_is_read_in_the_viewer_and_then_it_may_be_allowed(key: str) -> None:
    decision = going_on(start(LONG), key)
    assert (decision.mode, decision.row, decision.passage.top) == ("view", "", 0)

    while not decision.passage.is_seen:
        before = decision.passage.unseen
        decision = going_on(decision, "pagedown")
        assert decision.passage.unseen < before

    assert pressed(decision, "escape", "y", "enter") == Allowed()


def test_jumping_to_the_end_leaves_the_middle_unseen() -> None:
    decision = going_on(start(LONG), "v", "end", "home", "G", "g", "escape", "y", "enter")

    assert decision.said == say("decision.unseen", count=decision.passage.unseen)
    assert decision.passage.unseen > 50


def test_what_was_not_on_the_screen_is_not_seen_however_many_keys_were_pressed() -> None:
    decision = start(LONG)
    for key in ["v", *["pagedown"] * 20]:
        step = decision.press(key)
        assert isinstance(step, Decision)
        decision = step  # and nothing was painted

    assert decision.passage.unseen == start(LONG).passage.unseen > 80


@pytest.mark.parametrize("key", ["escape", "v", "q", "enter"])
def test_the_viewer_is_left_with_nothing_in_focus(key: str) -> None:
    decision = going_on(start(LONG), "y", "v", key)

    assert (decision.mode, decision.row) == ("list", "")


def test_in_the_viewer_no_row_can_be_clicked_and_no_letter_chooses() -> None:
    viewing = going_on(start(LONG), "v")

    assert going_on(viewing, "row:allow", "row:allow", "y", "1", "d", "a", "e") == viewing


def test_a_changed_call_must_be_seen_to_its_end_too() -> None:
    long = {"command": "\n".join(f"echo {number}" for number in range(60))}
    decision = changed(start(), long)

    refused = going_on(decision, "1", "enter")
    assert refused.said == say("decision.unseen", count=refused.changes.unseen)
    reading = going_on(refused, "v")
    while not reading.changes.is_seen:
        reading = going_on(reading, "pagedown")
    after = going_on(reading, "escape")
    assert (after.mode, after.row) == ("changed", "")
    assert pressed(after, "1", "enter") == Allowed(json.dumps(long))


def test_in_another_width_rows_are_other_rows_and_only_a_whole_that_was_seen_stays_so() -> None:
    partly = start(LONG).resized(Size(60, 24))
    assert partly.passage.unseen == partly.passage.rows

    wholly = start(LONG, Size(80, 200))
    assert wholly.resized(Size(60, 24)).passage.is_seen
    assert wholly.resized(Size(80, 24)).resized(Size(200, 10)).passage.is_seen


def test_resizing_keeps_everything_that_was_chosen_and_typed() -> None:
    decision = typed(going_on(start(SUGGESTED), "a", "enter", "1", " ", "escape", "row:message", "enter"), "because")

    assert decision.resized(Size(30, 12)).resized(SIZE) == decision


def test_a_draft_comes_back_with_its_words_and_its_input_and_nothing_is_decided() -> None:
    ask = Ask("a1", LS, Asker("builder"), NOON)
    decision = looked(Decision.start(ask, SIZE, (("message", "no"),), '{"command": "id"}'))

    assert (decision.mode, decision.row) == ("list", "")
    assert going_on(decision, "row:message", "enter").field.text == "no"
    assert going_on(decision, "e", "enter").field.text == '{"command": "id"}'
    assert pressed(decision, "y", "enter") == Allowed()


VALUES = [
    LS,
    SUGGESTED,
    LONG,
    Permission("Write", {"file_path": "a.py", "content": "x = 1\n" * 40}),
    Permission("Edit", {"file_path": "a", "old_string": "日本語 " * 30, "new_string": "\x1b[2J\u202e" * 20}),
    Permission("mcp__db__drop", {"table": "users", "why": "a " * 300}, "/srv", "Lists the tables\n" * 9, (RULE,) * 12),
    Permission("Bash", {}),
]
ROWS = ["allow", "change", "always", *WORDED, "run", "again", "back", "remember", "rule:0", "rule:1", "stay", "later"]
NAVIGATION = ["up", "down", "tab", "shift+tab", "pagedown", "pageup", "home", "end", "wheel:up", "wheel:down", "v", "G"]
EDITING = ["backspace", "ctrl+u", "ctrl+j", "ctrl+g", "escape", "delete", "left", "ctrl+z", " ", "}", '"', "x"]
FOCUS = ["1", "2", "3", "4", "9", "y", "e", "a", "d", "n", "q"]
CLICKS = [f"row:{row}" for row in ROWS]
KEYS = st.sampled_from([*NAVIGATION, *EDITING, *FOCUS, *CLICKS, "enter"])
PASTES = st.sampled_from(["y\n", '{"command": "id"}', "1\r\ny\r", "\x1b[A\n", "words"]).map(
    lambda words: f"paste:{words}"
)
SIZES = st.builds(Size, st.integers(24, 200), st.integers(10, 50)).map(lambda s: f"size:{s.columns}:{s.lines}")
LOOK = st.just("look")


def after(decision: Decision, event: str) -> Decision | Reply | Edit | None:
    kind, _, rest = event.partition(":")
    match kind:
        case "paste":
            return decision.paste(rest)
        case "size":
            columns, _, lines = rest.partition(":")
            return decision.resized(Size(int(columns), int(lines)))
        case "look":
            return looked(decision)
        case _:
            return decision.press(event)


@given(st.sampled_from(VALUES), st.lists(st.one_of(KEYS, KEYS, LOOK, LOOK, PASTES, SIZES), max_size=60))
@settings(max_examples=400, deadline=None)
def test_only_enter_or_a_second_click_on_a_row_that_allows_what_was_seen_allows(
    permission: Permission, events: list[str]
) -> None:
    decision = start(permission)
    for event in events:
        step = after(decision, event)
        if isinstance(step, Allowed):
            assert event == "enter" or event == f"row:{decision.row}"
            assert decision.row in ("allow", "run", "remember")
            assert decision.is_seen
            assert decision.row != "remember" or decision.rules.is_seen
            assert step.input is None or decision.mode == "changed"
            assert step.remember == (
                tuple(permission.suggestions[number] for number in decision.ticked) if decision.mode == "always" else ()
            )
        if not isinstance(step, Decision):
            decision = decision if isinstance(step, Edit) else start(permission)
        else:
            decision = step


@given(st.sampled_from(VALUES), st.lists(st.one_of(KEYS, PASTES), max_size=200))
@settings(max_examples=200, deadline=None)
def test_without_enter_and_without_a_second_click_on_a_row_nothing_is_ever_decided(
    permission: Permission, events: list[str]
) -> None:
    decision = start(permission)
    for event in events:
        if event == "enter" or event == f"row:{decision.row}":
            continue
        step = after(decision, event)
        assert isinstance(step, Decision | Edit)
        decision = looked(step) if isinstance(step, Decision) else decision


def test_the_keys_are_listed_and_left_with_any_key() -> None:
    listed = going_on(start(LS), "?")

    assert "y goes to allow" in "\n".join(text_of(spans) for spans in picture(listed).lines)
    assert going_on(listed, "y") == start(LS).looked(picture(start(LS)))
