"""What a person reads before an agent host remembers a rule: whole lists of lines."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core import strict
from askdesk.core.text import shown_json
from askdesk.surfaces.rule import rule_lines
from askdesk.surfaces.spans import MARGIN, text_of
from askdesk.surfaces.texts import ENGLISH, languages, speak, texts

NOT_ALL = "These words do not say all of it. As it stands:"


def rules(kind: str, behavior: str, *rules: dict[str, Any], destination: str = "session") -> dict[str, Any]:
    return {"type": kind, "rules": list(rules), "behavior": behavior, "destination": destination}


def rule(tool: str, pattern: str | None = None) -> dict[str, Any]:
    return {"toolName": tool} if pattern is None else {"toolName": tool, "ruleContent": pattern}


def words(value: dict[str, Any]) -> list[str]:
    return [text_of(spans) for spans in rule_lines(strict.dumps(value))]


def warnings(value: dict[str, Any]) -> list[str]:
    return [span.text for spans in rule_lines(strict.dumps(value)) for span in spans if span.style == "warning"]


@pytest.mark.parametrize(
    ("destination", "where"),
    [
        ("session", "for this session only"),
        ("localSettings", "in this project, for you (local settings)"),
        ("projectSettings", "in this project, for everybody (project settings)"),
        ("userSettings", "everywhere, for you (user settings)"),
        ("cliArg", "for this run only (command line)"),
    ],
)
def test_a_rule_says_what_is_allowed_and_where_it_is_kept(destination: str, where: str) -> None:
    value = rules("addRules", "allow", rule("Bash", "npm install *"), destination=destination)

    assert words(value) == [f"Allow without asking, {where}: Bash(npm install *)"]
    assert warnings(value) == []


@pytest.mark.parametrize(
    ("kind", "behavior", "what"),
    [
        ("addRules", "deny", "Refuse without asking"),
        ("addRules", "ask", "Always ask first"),
        ("replaceRules", "allow", "Allow without asking, in place of all such rules so far"),
        ("removeRules", "allow", "No longer allow without asking"),
    ],
)
def test_a_rule_that_takes_no_guard_away_is_said_in_a_line(kind: str, behavior: str, what: str) -> None:
    value = rules(kind, behavior, rule("Bash", "ls"))

    assert (words(value), warnings(value)) == ([f"{what}, for this session only: Bash(ls)"], [])


@pytest.mark.parametrize(
    ("kind", "behavior", "what"),
    [
        ("removeRules", "deny", "No longer refuse"),
        ("removeRules", "ask", "No longer always ask first"),
        ("replaceRules", "deny", "Refuse without asking, in place of all such rules so far"),
        ("replaceRules", "ask", "Always ask first, in place of all such rules so far"),
    ],
)
def test_a_rule_that_takes_a_guard_away_is_a_warning(kind: str, behavior: str, what: str) -> None:
    value = rules(kind, behavior, rule("Bash", "rm *"))
    why = "Calls that a rule has stopped so far could then run"

    assert words(value) == [f"{what}, for this session only: Bash(rm *)", why]
    assert warnings(value) == [f"{what}, for this session only:", why]


@pytest.mark.parametrize(
    ("pattern", "exact"),
    [(None, "Bash"), ("*", "Bash(*)"), (":*", "Bash(:*)"), ("", 'Bash("")'), ("//**", "Bash(//**)")],
)
def test_a_rule_for_a_whole_tool_is_a_warning(pattern: str | None, exact: str) -> None:
    value = rules("addRules", "allow", rule("Bash", pattern))
    why = "This means every call of Bash, whatever its input"

    assert words(value) == [f"Allow without asking, for this session only: {exact}", why]
    assert warnings(value) == ["Allow without asking, for this session only:", why]


def test_refusing_a_whole_tool_is_no_warning() -> None:
    assert warnings(rules("addRules", "deny", rule("Bash"))) == []


def test_an_option_that_an_agent_remembers_is_its_own_claim() -> None:
    value = {"optionId": "always", "name": "Yes, and don't \x1b[31mask again", "kind": "allow_always"}
    claim = "Allow it and let the agent remember that, in its own words (not checked):"

    assert words(value) == [f'{claim} "Yes, and don\'t \\u001b[31mask again"']
    assert warnings(value) == [claim]
    assert words({**value, "more": 1})[:2] == [words(value)[0], NOT_ALL]


def test_several_rules_are_counted_and_listed() -> None:
    value = rules("addRules", "allow", rule("Bash", "ls"), rule("Read"), rule("Read", "//**"))

    assert words(value) == [
        "Allow without asking, for this session only: 3 kinds of call",
        "│ Bash(ls)",
        "│ Read",
        "│ Read(//**)",
        "This means every call of Read, whatever its input",
    ]


@pytest.mark.parametrize(
    ("mode", "what"),
    [
        ("default", "Ask as usual"),
        ("acceptEdits", "Edit files without asking"),
        ("plan", "Only plan, change nothing"),
        ("dontAsk", "Refuse without asking whatever no rule allows"),
    ],
)
def test_a_mode_says_what_it_does(mode: str, what: str) -> None:
    value = {"type": "setMode", "mode": mode, "destination": "session"}

    assert (words(value), warnings(value)) == ([f"{what}, for this session only: {mode}"], [])


@pytest.mark.parametrize(
    ("mode", "what", "why"),
    [
        ("auto", "Let a model decide instead of asking you", "You would no longer be asked about most calls"),
        (
            "bypassPermissions",
            "Allow everything and never ask again",
            "Every call would run, whatever it does, and nobody would be asked",
        ),
    ],
)
def test_a_mode_that_no_longer_asks_is_a_warning(mode: str, what: str, why: str) -> None:
    value = {"type": "setMode", "mode": mode, "destination": "userSettings"}
    summary = f"{what}, everywhere, for you (user settings):"

    assert words(value) == [f"{summary} {mode}", why]
    assert warnings(value) == [summary, why]


def test_folders_are_named() -> None:
    one = {"type": "addDirectories", "directories": ["/home/u"], "destination": "session"}
    two = {"type": "removeDirectories", "directories": ["/a", "/b "], "destination": "session"}

    assert words(one) == ["Let the agent work in another folder, for this session only: /home/u"]
    assert words(two) == [
        "No longer let the agent work in a folder, for this session only: 2 folders",
        "│ /a",
        '│ "/b "',
    ]


def test_what_an_agent_wrote_stands_last_and_cannot_hide() -> None:
    value = rules("addRules", "allow", rule("Ba sh", "ls), for this session only\n\u202e"), destination="userSettings")

    assert words(value) == [
        'Allow without asking, everywhere, for you (user settings): "Ba sh"("ls), for this session only\\n\\u202e")'
    ]


def test_what_the_words_leave_out_is_shown_as_it_stands() -> None:
    value = {**rules("addRules", "allow", rule("Bash", "ls")), "until": "forever"}

    assert words(value) == [
        "Allow without asking, for this session only: Bash(ls)",
        NOT_ALL,
        '│ type: "addRules"',
        "│ rules: [",
        "│   {",
        '│     "toolName": "Bash",',
        '│     "ruleContent": "ls"',
        "│   }",
        "│ ]",
        '│ behavior: "allow"',
        '│ destination: "session"',
        '│ until: "forever"',
    ]


def test_a_rule_kept_nobody_knows_where_says_so() -> None:
    value = {"type": "setMode", "mode": "plan", "destination": ["x"]}

    assert words(value)[:2] == ["Only plan, change nothing, for who knows how long: plan", NOT_ALL]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "x"},
        {"type": "setMode", "mode": "yolo", "destination": "session"},
        {"type": "setMode", "mode": 1, "destination": "session"},
        rules("addRules", "maybe", rule("Bash")),
        rules("addRules", "allow"),
        {**rules("addRules", "allow"), "rules": ["Bash"]},
        rules("addRules", "allow", {"toolName": "Bash", "ruleContent": 1}),
        rules("addRules", "allow", {"ruleContent": "x"}),
        {"type": "addDirectories", "directories": [], "destination": "session"},
        {"type": "addDirectories", "directories": [1], "destination": "session"},
        {"type": "addDirectories", "directories": "/", "destination": "session"},
    ],
)
def test_an_unknown_rule_is_shown_as_it_stands(value: dict[str, Any]) -> None:
    lines = words(value)

    assert lines[:2] == ["A rule of an unknown kind", NOT_ALL]
    assert warnings(value) == lines[:2]
    assert len(lines) >= 2 + len(value)


def test_a_pattern_that_is_null_is_shown_as_it_stands() -> None:
    lines = words(rules("addRules", "allow", {"toolName": "Bash", "ruleContent": None}))

    assert lines[:3] == [
        "Allow without asking, for this session only: Bash",
        "This means every call of Bash, whatever its input",
        NOT_ALL,
    ]
    assert '│     "ruleContent": null' in lines


def test_it_speaks_spanish() -> None:
    speak("es")
    try:
        assert words(rules("addRules", "allow", rule("Bash", "ls"))) == [
            "Permitir sin preguntar, solo en esta sesión: Bash(ls)"
        ]
    finally:
        speak(ENGLISH)


@pytest.mark.parametrize("language", languages())
def test_every_word_about_calls_and_rules_is_there_in_every_language(language: str) -> None:
    def own(name: str) -> set[str]:
        return {key for key in texts(name) if key.startswith(("call.", "rule."))}

    assert own(language) == own(ENGLISH)


TEXTS = st.text(st.sampled_from('ab *()\n\t"\\:\x1b\u202e\u200b│'), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
RULES = st.fixed_dictionaries({"toolName": TEXTS | SCALARS}, optional={"ruleContent": TEXTS | SCALARS, "x": SCALARS})
VALUES = st.fixed_dictionaries(
    {"type": st.sampled_from(["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "x"]) | SCALARS},
    optional={
        "rules": st.lists(RULES | SCALARS, max_size=3) | SCALARS,
        "behavior": st.sampled_from(["allow", "deny", "ask"]) | SCALARS,
        "mode": st.sampled_from(["auto", "plan"]) | SCALARS,
        "directories": st.lists(TEXTS | SCALARS, max_size=3) | SCALARS,
        "destination": st.sampled_from(["session", "userSettings"]) | SCALARS,
        "more": SCALARS,
    },
)


@given(VALUES)
def test_no_rule_hides_a_part_or_reaches_the_terminal(value: dict[str, Any]) -> None:
    lines = rule_lines(strict.dumps(value))
    text = "\n".join(text_of(spans) for spans in lines)
    rules = [item for item in value["rules"] if isinstance(item, dict)] if is_list(value) else []
    names = [item["toolName"] for item in rules if "\n" not in str(item["toolName"])]  # else it stands in rows

    assert all(unicodedata.category(character) not in ("Cc", "Cf") for character in text.replace("\n", ""))
    assert all(shown_json(json.dumps(name, ensure_ascii=False)).strip('"') in text for name in names)


def is_list(value: dict[str, Any]) -> bool:
    return isinstance(value.get("rules"), list) and value["type"] in ("addRules", "replaceRules", "removeRules")


@given(VALUES, VALUES)
def test_two_rules_never_look_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert same or rule_lines(strict.dumps(one)) != rule_lines(strict.dumps(other))


@given(VALUES)
def test_every_line_but_the_desks_own_stands_behind_the_margin(value: dict[str, Any]) -> None:
    spoken = set(texts(ENGLISH).values())
    for spans in rule_lines(strict.dumps(value)):
        first = spans[0].text
        assert spans[:1] == (MARGIN,) or first in spoken or first.endswith(":") or first.startswith("This means")
