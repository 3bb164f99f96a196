"""What a permission looks like: whole pictures as text, at every size."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile import PAYLOADS, controls

from askdesk.core.model import Allowed, Ask, Asker, Permission
from askdesk.surfaces.spans import Span, text_of
from askdesk.surfaces.terminal.decision import WORDED, Decision
from askdesk.surfaces.terminal.decision_view import picture
from askdesk.surfaces.terminal.view import Picture, Size, cells
from askdesk.surfaces.texts import say, speak
from askdesk.testing.clock import NOON

MAKE = '{"toolName":"Bash","ruleContent":"make:*"}'
RULE = f'{{"type":"addRules","behavior":"allow","rules":[{MAKE}],"destination":"session"}}'
BYPASS = '{"type":"setMode","mode":"bypassPermissions","destination":"userSettings"}'
BUILD = Permission(
    "Bash",
    {"command": "rm -r build && make all", "timeout": 120000, "run_in_background": True},
    "/srv/app",
    "Build it",
    (RULE, BYPASS),
)
BUILDER = Asker("builder", project="/srv/app")
USUAL = Size(80, 24)
LONG = Permission("Bash", {"command": "\n".join(f"echo {number}" for number in range(100))}, "/srv/app")


def start(permission: Permission, size: Size = USUAL, asker: Asker = BUILDER) -> Decision:
    """A decision that has been on the screen once."""
    return looked(Decision.start(Ask("a1", permission, asker, NOON), size))


def looked(decision: Decision) -> Decision:
    """The decision after it was on the screen."""
    return decision.looked(picture(decision))


def pressed(decision: Decision, *keys: str) -> Decision:
    for key in keys:
        step = decision.press(key)
        assert isinstance(step, Decision), step
        decision = looked(step)
    return decision


def rows(decision: Decision) -> list[str]:
    return texts(picture(decision))


def texts(drawn: Picture) -> list[str]:
    return [text_of(spans) for spans in drawn.lines]


def spans(drawn: Picture, style: str) -> list[str]:
    return [span.text for line in drawn.lines for span in line if span.style == style]


def clicks(drawn: Picture) -> dict[str, list[int]]:
    """Where each key can be clicked: the lines it is on."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(drawn.lines):
        for span in line:
            if span.key and number not in found.setdefault(span.key, []):
                found[span.key].append(number)
    return found


@pytest.mark.parametrize("columns", [80, 200])
def test_a_call_stands_above_every_way_to_decide_and_none_has_the_focus(columns: int) -> None:
    assert rows(start(BUILD, Size(columns, 24))) == [
        "builder asks in app",
        "",
        "Bash command · Bash",
        "│ rm -r build && make all",
        "folder: /srv/app",
        "timeout: 2 min (120000)",
        "runs in the background and goes on after this call (run_in_background: true)",
        "",
        "the agent says (not checked):",
        "│ Build it",
        "",
        "  1. Allow this call, once",
        "  2. Allow it with changes…",
        "  3. Allow it, and always from now on…",
        "  4. Deny it",
        "  5. Deny it and say why…",
        "  6. Suggest another way…",
        "  7. Deny it and give a new instruction…",
        "  8. Deny it and stop the agent…",
        "",
        "↑↓ move  Enter decide  Esc leave  ? all keys",
    ]


def test_in_40_columns_lines_go_on_behind_a_margin() -> None:
    call = Permission("Bash", {"command": "git push --force-with-lease origin feature/a-rather-long-branch-name"})

    assert rows(start(call, Size(40, 24))) == [
        "builder asks in app",
        "",
        "Bash command · Bash",
        "│ git push --force-with-lease origin ",
        "│ ↳ feature/a-rather-long-branch-name",
        "",
        "  1. Allow this call, once",
        "  2. Allow it with changes…",
        "  3. Deny it",
        "  4. Deny it and say why…",
        "  5. Suggest another way…",
        "  6. Deny it and give a new instruction…",
        "  7. Deny it and stop the agent…",
        "",
        "↑↓ move  Enter decide  Esc leave",
        "? all keys",
    ]


def test_the_row_with_the_focus_is_marked_and_every_row_can_be_clicked() -> None:
    drawn = picture(pressed(start(BUILD), "d"))

    assert texts(drawn)[11:19] == [
        "  1. Allow this call, once",
        "  2. Allow it with changes…",
        "  3. Allow it, and always from now on…",
        "❯ 4. Deny it",
        "  5. Deny it and say why…",
        "  6. Suggest another way…",
        "  7. Deny it and give a new instruction…",
        "  8. Deny it and stop the agent…",
    ]
    ids = ("allow", "change", "always", "deny", *WORDED)
    assert clicks(drawn) == {f"row:{row}": [11 + number] for number, row in enumerate(ids)}


def test_of_a_long_call_head_and_tail_are_shown_and_the_hidden_lines_are_counted() -> None:
    decision = start(LONG)
    drawn = picture(decision)
    gap = next(number for number, row in enumerate(texts(drawn)) if row.startswith("···"))
    hidden = decision.passage.rows - (gap - 2) - 3

    assert texts(drawn) == [
        "builder asks in app",
        "",
        "Bash command · Bash",
        *(f"│ echo {number}" for number in range(gap - 3)),
        f"··· {hidden} lines hidden: press v to read them",
        "│ echo 98",
        "│ echo 99",
        "folder: /srv/app",
        "",
        "  1. Allow this call, once",
        "  2. Allow it with changes…",
        "  3. Deny it",
        "  4. Deny it and say why…",
        "  5. Suggest another way…",
        "  6. Deny it and give a new instruction…",
        "  7. Deny it and stop the agent…",
        "",
        "↑↓ move  Enter decide  v view all  Esc leave  ? all keys",
    ]
    assert gap > 6
    assert clicks(drawn)["v"] == [gap]
    assert {"1. Allow this call, once", "2. Allow it with changes…"} <= set(spans(drawn, "dim"))


def test_in_40_columns_too_the_hidden_lines_are_counted() -> None:
    decision = start(LONG, Size(40, 24))

    assert [row for row in rows(decision) if row.startswith("···")] == [
        f"··· {decision.passage.unseen} lines hidden: press v to read th…"
    ]


def test_pressing_allow_too_early_says_how_much_is_left_to_read() -> None:
    decision = pressed(start(LONG), "y", "enter")

    assert rows(decision)[-2:] == [
        f"It can be allowed once all of it was seen: {decision.passage.unseen} lines to go. Press v.",
        "↑↓ move  Enter decide  v view all  Esc leave  ? all keys",
    ]


def test_once_all_of_it_was_seen_the_picture_says_so_and_nothing_is_dim() -> None:
    decision = pressed(start(LONG), "v")
    while not decision.passage.is_seen:
        decision = pressed(decision, "pagedown")
    drawn = picture(pressed(decision, "escape"))

    assert [row[-25:] for row in texts(drawn) if row.startswith("···")] == ["lines hidden, all of them read"[-25:]]
    assert not {"1. Allow this call, once", "2. Allow it with changes…"} & set(spans(drawn, "dim"))


def test_the_viewer_says_where_one_is_and_what_is_left() -> None:
    drawn = texts(picture(pressed(start(LONG), "v")))

    assert drawn[0] == "builder asks in app"
    assert drawn[1].startswith("Lines 1 to ")
    assert drawn[2:5] == ["Bash command · Bash", "│ echo 0", "│ echo 1"]
    assert drawn[-1] == "PgUp/PgDn read on  Esc back"
    assert drawn[-2].endswith("lines not seen yet")


@pytest.mark.parametrize("lines", range(12, 24))
def test_however_short_the_window_the_command_stands_before_what_the_agent_says(lines: int) -> None:
    drawn = rows(start(BUILD, Size(40, lines)))

    assert drawn[2:4] == ["Bash command · Bash", "│ rm -r build && make all"]


@pytest.mark.parametrize("lines", range(10, 20))
def test_in_a_short_window_the_row_with_the_focus_stays_in_sight(lines: int) -> None:
    decision = start(BUILD, Size(40, lines))
    for number, row in enumerate(decision.rows(), 1):
        focused = [line for line in rows(pressed(decision, f"row:{row}")) if line.startswith("❯")]
        assert focused == [f"❯ {number}. {say(f'decision.{row}')}"]


def test_a_changed_call_is_shown_as_a_diff_with_nothing_in_focus() -> None:
    decision = looked(pressed(start(BUILD), "e", "enter").edited('{"command": "make", "timeout": 120000}'))
    drawn = picture(decision)

    assert texts(drawn) == [
        "builder asks in app",
        "",
        "This would run instead:",
        '│ - command: "rm -r build && make all"',
        '│ + command: "make"',
        "│   timeout: 120000",
        "│ - run_in_background: true",
        "",
        "  1. Allow the changed call, once",
        "  2. Change it again…",
        "  3. Go back",
        "",
        "↑↓ move  Enter decide  Esc back",
    ]
    assert clicks(drawn) == {"row:run": [8], "row:again": [9], "row:back": [10]}


def test_the_foot_of_a_changed_call_says_that_escape_goes_back_to_changing_it() -> None:
    decision = looked(pressed(start(BUILD), "e", "enter").edited('{"command": "make"}'))

    assert rows(decision)[-1] == "↑↓ move  Enter decide  Esc back"


def test_the_input_is_typed_under_what_it_is_for_with_the_cursor_where_one_types() -> None:
    drawn = picture(pressed(start(BUILD), "e", "enter", "up"))

    assert texts(drawn) == [
        "builder asks in app",
        "",
        "Change the input (JSON), then press Enter to see what would run",
        "",
        "❯ {",
        '    "command": "rm -r build && make all",',
        '    "timeout": 120000,',
        '    "run_in_background": true',
        "  }",
        "",
        "Enter see what would run  Ctrl+J new line  Ctrl+G editor  Esc back",
    ]
    assert drawn.cursor == (3, 7)


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ("message", "Why not? The agent reads this."),
        ("another", "What other way do you suggest?"),
        ("redirect", "What should the agent do instead?"),
        ("stop", "Why should the agent stop? (may stay empty)"),
    ],
)
def test_words_are_typed_under_what_they_are_for(row: str, title: str) -> None:
    drawn = picture(pressed(start(BUILD), f"row:{row}", "enter", *"no 日"))

    assert texts(drawn) == [
        "builder asks in app",
        "",
        title,
        "",
        "❯ no 日 ",
        "",
        "Enter deny  Ctrl+J new line  Ctrl+G editor  Esc back",
    ]
    assert drawn.cursor == (7, 4)


def test_the_suggestions_are_ticked_with_their_scope_spelled_out() -> None:
    drawn = picture(pressed(start(BUILD), "a", "enter", "2", " "))

    assert texts(drawn) == [
        "builder asks in app",
        "",
        "What should be allowed from now on without asking?",
        "",
        "  1. [ ] Allow without asking, for this session only: Bash(make:*)",
        "❯ 2. [✔] Allow everything and never ask again, everywhere, for you (user ",
        "         ↳ settings): bypassPermissions",
        "         Every call would run, whatever it does, and nobody would be asked",
        "",
        "  Allow this call, and remember what is ticked (1)",
        "  Go back",
        "",
        "↑↓ move  Space on/off  Enter take it  Esc back",
    ]
    assert clicks(drawn) == {"row:rule:0": [4], "row:rule:1": [5, 6, 7], "row:remember": [9], "row:back": [10]}


def test_leaving_is_asked_before_it_is_done() -> None:
    assert rows(pressed(start(BUILD), "escape")) == [
        "builder asks in app",
        "",
        "Leave this ask?",
        "",
        "❯ 1. No, go on answering",
        "  2. Leave it open; what I typed is kept as a draft",
        "",
        "↑↓ move  Enter take it  Esc stay",
    ]


def test_it_speaks_spanish() -> None:
    speak("es")
    try:
        drawn = rows(start(LONG, Size(40, 24)))
    finally:
        speak("en")
    english = rows(start(LONG, Size(40, 24)))
    assert len(drawn) >= len(english)
    assert not set(english[13:20]) & set(drawn)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_nothing_an_agent_writes_reaches_the_screen_as_it_is(columns: int) -> None:
    for payload in (text for text in PAYLOADS if len(text) < 1000):
        call = Permission("Bash", {"command": f"a{payload}b", payload: payload}, f"/{payload}", f"x{payload}")
        decision = start(call, Size(columns, 30), Asker(f"a{payload}", project=payload, parent=payload))
        assert {row: found for row in rows(decision) if (found := controls(row.encode()))} == {}


CALLS = [
    BUILD,
    LONG,
    Permission("Bash", {}),
    Permission("Bash", {"command": "x" * 3000}),
    Permission("Bash", {"command": "日本語 👩‍👩‍👧 " * 60}, "/" + "é" * 90, "word " * 200),
    Permission("Edit", {"file_path": "a", "old_string": "b\n" * 30, "new_string": "c\n" * 30, "replace_all": True}),
    Permission(
        "mcp__db__drop", {"table": "users", "why": ["a " * 30] * 9}, suggestions=(RULE, BYPASS, '{"a": "b"}') * 4
    ),
]
KEYS = ["1", "2", "3", "4", "8", "e", "a", "enter", "enter", "escape", "v", "pagedown", "end", "up", "down", " ", "x"]
SIZES = st.builds(Size, st.integers(24, 200), st.integers(10, 50))
EVENTS = st.one_of(st.sampled_from(KEYS), st.sampled_from(KEYS), st.sampled_from([*KEYS, "ctrl+j"]), SIZES)


@given(st.sampled_from(CALLS), SIZES, st.lists(EVENTS, max_size=40), st.integers(0, 10**9))
@settings(max_examples=400, deadline=None)
def test_every_picture_fits_its_size(permission: Permission, size: Size, events: list[str | Size], count: int) -> None:
    decision = start(permission, size)
    for event in events:
        step = decision.resized(event) if isinstance(event, Size) else decision.press(event)
        decision = looked(step) if isinstance(step, Decision) else start(permission, decision.size)
        assert_fits(decision)
    assert_fits(decision.told(say("decision.unseen", count=count)))


def assert_fits(decision: Decision) -> None:
    drawn = picture(decision)
    assert len(drawn.lines) < decision.size.lines  # the last line of a terminal stays free, so it does not scroll
    assert max(map(cells, drawn.lines)) <= decision.size.columns
    assert all(isinstance(span, Span) for line in drawn.lines for span in line)
    if drawn.cursor:
        column, line = drawn.cursor
        assert 0 <= column < decision.size.columns
        assert 0 <= line < len(drawn.lines)


READING = ["v", "v", "pagedown", "pagedown", "pagedown", "pageup", "end", "home", "down", "up", "escape", "d", "1", "8"]
RESIZING = st.builds(Size, st.sampled_from([40, 80]), st.integers(10, 40))


@given(
    st.builds(Size, st.integers(24, 100), st.integers(10, 40)),
    st.lists(st.one_of(st.sampled_from(READING), st.sampled_from([*READING, "enter"]), RESIZING), max_size=40),
    st.sampled_from([4, 11, 40, 120]),
)
@settings(max_examples=300, deadline=None)
def test_a_call_is_seen_only_after_every_line_of_it_stood_in_a_picture(
    size: Size, events: list[str | Size], count: int
) -> None:
    numbers = {f"line-{number:03}" for number in range(count)}
    command = "\n".join(f"echo {number}" for number in sorted(numbers))
    ask = Ask("a1", Permission("Bash", {"command": command}, "/srv/app", "It is safe"), BUILDER, NOON)
    decision = Decision.start(ask, size, (("message", "no"),)).told(say("decision.restored"))
    ever: set[str] = set()
    for event in [decision.size, *events]:
        step = decision.resized(event) if isinstance(event, Size) else decision.press(event)
        decision = step if isinstance(step, Decision) else decision
        ever |= set(re.findall(r"line-\d+", "\n".join(rows(decision))))
        decision = looked(decision)
        assert not decision.is_seen or ever == numbers


CHOOSING = st.sampled_from(
    ["up", "down", "pagedown", "pageup", "1", "3", " ", "end", "wheel:down", "escape", "a", "enter"]
)


@given(
    st.builds(Size, st.integers(24, 100), st.integers(10, 40)),
    st.lists(st.one_of(CHOOSING, CHOOSING, RESIZING), max_size=40),
    st.sampled_from([1, 5, 30]),
)
@settings(max_examples=200, deadline=None)
def test_the_suggestions_are_seen_only_after_every_line_of_them_stood_in_a_picture(
    size: Size, events: list[str | Size], count: int
) -> None:
    folders = [f"/f-{number:03}" for number in range(3 * count)]
    rules = [folders[:count], folders[count : 2 * count], folders[2 * count :]]
    suggestions = [{"type": "addDirectories", "directories": rule, "destination": "session"} for rule in rules]
    ask = Ask("a1", Permission("Bash", {"command": "ls"}, suggestions=suggestions), BUILDER, NOON)
    decision = looked(Decision.start(ask, size))
    ever: set[str] = set()
    for event in ["a", "enter", *events]:
        step = decision.resized(event) if isinstance(event, Size) else decision.press(event)
        assert not isinstance(step, Allowed) or not step.remember or ever == set(folders)
        decision = step if isinstance(step, Decision) else decision
        ever |= set(re.findall(r"/f-\d+", "\n".join(rows(decision))))
        decision = looked(decision)


def test_paging_through_the_viewer_shows_every_line() -> None:
    decision = pressed(start(LONG), "v")
    drawn: list[str] = []
    while not decision.passage.is_seen:
        decision = pressed(decision, "pagedown")
    for key in ["home", *["pagedown"] * 10]:
        decision = pressed(decision, key)
        drawn += rows(decision)

    assert {f"│ echo {number}" for number in range(100)} <= set(drawn)


@pytest.mark.parametrize("size", [Size(1, 1), Size(1, 50), Size(3, 3), Size(23, 9), Size(200, 1), Size(0, 0)])
@pytest.mark.parametrize("permission", CALLS)
def test_a_size_in_which_nothing_can_be_read_breaks_nothing(permission: Permission, size: Size) -> None:
    decision = start(permission, size)
    for key in ("down", "v", "pagedown", "escape", "e", "enter", "x", "escape", "escape"):
        picture(decision)
        decision = pressed(decision, key)
    assert decision.resized(Size(80, 24)).size == Size(80, 24)


def test_a_megabyte_is_shown_at_once_and_its_lines_are_counted() -> None:
    call = Permission("Write", {"file_path": "a", "content": "\n".join(str(number) for number in range(150_000))})
    decision = start(call)
    drawn = rows(decision)

    assert drawn[2:8] == ["Write a file · Write", "file: a", "lines: 150000 · bytes: 938889", "│ 0", "│ 1", "│ 2"]
    assert f"··· {decision.passage.unseen} lines hidden" in "\n".join(drawn)
    assert decision.passage.unseen > 149_900


def test_rows_are_as_wide_as_any_terminal_may_draw_them() -> None:
    """Terminals disagree on how wide many characters are, and a row that is cut off at the edge hides what runs."""
    command = f"echo {'☰' * 45} ; rm -rf ~/work"
    drawn = rows(start(Permission("Bash", {"command": command}), Size(80, 24)))

    assert "rm -rf ~/work" in "".join(drawn)
    assert max(sum(1 if character.isascii() else 2 for character in row) for row in drawn if "☰" in row) <= 80
