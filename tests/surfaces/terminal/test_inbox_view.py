"""What the inbox looks like: whole pictures as text, at every size."""

import os
import socket
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile import PAYLOADS, controls

from askdesk.core.model import Answer, Answered, Ask, Asker, Entry, Permission, Question, Questions, Settlement
from askdesk.core.text import Shown, shown
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.terminal.inbox import Inbox, Open, Snoozed
from askdesk.surfaces.terminal.inbox_view import note_words, picture, what
from askdesk.surfaces.terminal.started import started
from askdesk.surfaces.terminal.view import Picture, Size, cells
from askdesk.testing.clock import NOON

DATABASE = Question("Which database?", ["SQLite (Recommended)", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging"], multi_select=True)
SHORT = Size(80, 12)
BUILDER = Asker("builder", project="/srv/app")


def entry(number: int, body: Questions | Permission, asker: Asker = BUILDER, ago: int = 0) -> Entry:
    return Entry(Ask(f"a{number}", body, asker, NOON - timedelta(seconds=ago)))


ONE = entry(1, Questions([DATABASE]), ago=90)
BASH = entry(
    2, Permission("Bash", {"command": "rm -r build\nls"}), Asker("tester", project="/home/me/a-rather-long-one"), 7300
)
TWO = entry(3, Questions([DATABASE, PARTS]), Asker("lone"))
DONE = Entry(ONE.ask, Settlement(Answered([Answer(["Postgres"])]), NOON, "s1", "ana", "web"))


def inbox(*entries: Entry, size: Size = SHORT) -> Inbox:
    return Inbox(NOON, size).entered(entries or (ONE, BASH, TWO))


def looked(here: Inbox) -> Inbox:
    """The inbox after it was on the screen."""
    return here.looked(picture(here))


def pressed(start: Inbox, *keys: str) -> Inbox:
    for key in keys:
        step = start.press(key)
        assert isinstance(step, Inbox), step
        start = looked(step)
    return start


def texts(drawn: Picture) -> list[str]:
    return [text_of(spans) for spans in drawn.lines]


def rows(start: Inbox) -> list[str]:
    return texts(picture(start))


def test_in_80_columns_each_ask_has_its_kind_age_asker_project_and_question() -> None:
    assert rows(inbox()) == [
        "askdesk  Open 3  Settled ",
        "",
        "❯ ! 2h    tester        a-rather-long…  permission: Bash rm -r build ls",
        "  ? 1m    builder       app             Which database?",
        "  ? now   lone                          Which database? (+1 more)",
        "",
        "",
        "",
        "",
        "",
        "Enter open  ? all keys  Tab settled or open  q leave  Space mark  r recommended",
        "d decline  s snooze",
    ]


def test_in_60_columns_the_project_is_left_out_and_in_40_the_asker_too() -> None:
    assert rows(inbox(size=Size(60, 12)))[2:5] == [
        "❯ ! 2h    tester        permission: Bash rm -r build ls",
        "  ? 1m    builder       Which database?",
        "  ? now   lone          Which database? (+1 more)",
    ]
    assert rows(inbox(size=Size(40, 12)))[2:5] == [
        "❯ ! 2h    permission: Bash rm -r build …",
        "  ? 1m    Which database?",
        "  ? now   Which database? (+1 more)",
    ]


def test_in_200_columns_all_keys_stand_in_one_row() -> None:
    assert rows(inbox(size=Size(200, 12)))[-2:] == [
        "",
        "Enter open  ? all keys  Tab settled or open  q leave  Space mark  r recommended  d decline  s snooze",
    ]


def test_marks_and_snoozes_are_seen_and_counted() -> None:
    start = pressed(inbox(), " ", "down").snoozed(Snoozed(("a1",), NOON + timedelta(hours=1)))
    assert rows(start)[:4] == [
        "askdesk  Open 2  Settled  1 snoozed",
        "",
        "  ! 2h    tester        a-rather-long…  permission: Bash rm -r build ls",
        "❯ ? now   lone                          Which database? (+1 more)",
    ]
    assert rows(pressed(start, "z", "home", " "))[:5] == [
        "askdesk  Open 2  Settled  1 snoozed 1 marked",
        "",
        " ✔! 2h    tester        a-rather-long…  permission: Bash rm -r build ls",
        "❯z? 1m    builder       app             Which database?",
        "  ? now   lone                          Which database? (+1 more)",
    ]


def test_an_ask_whose_process_is_gone_says_so() -> None:
    gone = Asker("gone", host=socket.gethostname(), process=2**22 + 1)
    here = Asker("here", host=socket.gethostname(), process=os.getpid())

    assert what(entry(1, Questions([DATABASE]), gone)) == "Which database? [its process is gone]"
    assert what(entry(1, Questions([DATABASE]), here)) == "Which database?"


def test_settled_asks_say_how_they_ended() -> None:
    start = pressed(inbox(), "tab")
    assert rows(start)[:3] == ["askdesk  Open 3  Settled ", "", "Nothing has been settled yet."]

    drawn = picture(start.back([DONE]))
    assert texts(drawn)[2] == "❯ ? 1m    builder       app             answered by ana on web: Which database?…"
    assert texts(drawn)[-1] == "Enter open  ? all keys  Tab settled or open  q leave"
    assert [(span.text, span.style, span.key) for span in drawn.lines[0]] == [
        ("askdesk ", "title", ""),
        (" Open 3 ", "dim", "tab"),
        (" Settled ", "tab", ""),
    ]


def test_an_empty_inbox_says_so() -> None:
    assert rows(Inbox(NOON, Size(80, 12)))[:3] == ["askdesk  Open 0  Settled ", "", "No agent waits for an answer."]


def test_every_row_and_the_other_tab_can_be_clicked() -> None:
    drawn = picture(inbox())

    assert [drawn.key_at(0, number) for number in range(6)] == ["", "", "row:a2", "row:a1", "row:a3", ""]
    assert [drawn.key_at(column, 0) for column in (0, 8, 15, 16, 24, 25)] == ["", "", "", "tab", "tab", ""]


def test_of_a_thousand_asks_only_those_around_the_focus_are_drawn() -> None:
    many = inbox(*(entry(n, Questions([Question(f"Question {n}?", ["A", "B"])]), ago=-n) for n in range(1000)))

    assert rows(pressed(many, *["down"] * 200)) == [
        "askdesk  Open 1000  Settled ",
        "201 of 1000",
        *(f"{'❯' if n == 200 else ' '} ? now   builder       app             Question {n}?" for n in range(197, 204)),
        "",
        "Enter open  ? all keys  Tab settled or open  q leave  Space mark  r recommended",
        "d decline  s snooze",
    ]


def test_what_the_recommendations_would_answer_is_listed_before_it_can_be_sent() -> None:
    drawn = picture(pressed(inbox(), "r"))

    assert texts(drawn) == [
        "What following the agents' own recommendations would answer",
        "",
        "tester: Bash → left to you",
        "builder: Which database? → SQLite (Recommended)",
        "lone: Which database? → left to you",
        "",
        "  Answer these 1 as the agents recommend",
        "  Go back",
        "",
        "PgUp/PgDn read on  Tab move  Enter take it",
    ]
    assert [drawn.key_at(0, number) for number in (6, 7)] == ["row:send", "row:back"]


@pytest.mark.parametrize("size", [Size(80, 24), Size(40, 12), Size(24, 10), Size(200, 50)])
def test_every_recommendation_stood_on_the_screen_before_it_can_be_sent(size: Size) -> None:
    asks = [entry(n, Questions([Question(f"Question {n}?", ["Yes (Recommended)", "No"])])) for n in range(100)]
    here = pressed(inbox(*asks, size=size), "r")
    ever: set[str] = set()
    while not here.passage.is_seen:
        ever |= set(rows(here))
        here = pressed(here, "pagedown")
    ever |= set(rows(here))

    assert {number for number in range(100) if not any(f"Question {number}?" in row for row in ever)} == set()


@pytest.mark.parametrize("text", ["Shall we go on with this? " * 9, f"Deploy? → No{' ' * 90}?"])
def test_a_long_question_does_not_push_the_recommended_answer_off_the_screen(text: str) -> None:
    asked = entry(1, Questions([Question(text, ["Yes (Recommended)", "No"])]))
    drawn = rows(pressed(inbox(asked, size=Size(80, 24)), "r"))

    assert any("→ Yes (Recommended)" in row for row in drawn)


def test_of_several_questions_each_is_listed_with_its_recommended_answer() -> None:
    both = Questions([DATABASE, Question("Drop it all?", ["Yes (Recommended)", "No"])])

    assert rows(pressed(inbox(entry(1, both)), "r"))[2:4] == [
        "builder: Which database? → SQLite (Recommended)",
        "builder: Drop it all? → Yes (Recommended)",
    ]


def test_declining_says_what_is_declined_and_takes_a_reason() -> None:
    start = pressed(inbox(), "a", "d")
    assert rows(start) == [
        "Decline 3 (permissions are denied)",
        "",
        "  tester: permission: Bash rm -r build ls",
        "  builder: Which database?",
        "  lone: Which database? (+1 more)",
        "❯  Why? The agents read this; it may stay empty.",
        "",
        "Enter decline  Esc back",
    ]
    typed = picture(pressed(start, *"no"))
    assert (texts(typed)[5], typed.cursor) == ("❯ no ", (4, 5))


def test_a_snooze_is_chosen_from_a_list() -> None:
    assert rows(pressed(inbox(), "s", "down")) == [
        "Snooze 1 until when?",
        "",
        "  1. 10 minutes",
        "❯ 2. 1 hour",
        "  3. 4 hours",
        "  4. tomorrow at nine",
        "  5. not at all: bring them back",
        "",
        "Enter take it  Esc back",
    ]


def test_what_is_read_is_a_window_on_it() -> None:
    start = pressed(inbox().reading(Shown(f"line {number}") for number in range(30)), "end", "up")
    first, last = start.passage.top, start.passage.bottom

    assert last == 29
    assert rows(start) == [
        f"Lines {first + 1} to {last} of 30",
        "",
        *(f"line {number}" for number in range(first, last)),
        "",
        "PgUp/PgDn read on  Esc back",
    ]


def test_help_lists_the_keys() -> None:
    assert rows(pressed(inbox(size=Size(100, 24)), "?")) == [
        "Keys",
        "",
        "  ↑ ↓ PgUp PgDn Home End move",
        "  Enter opens an ask; after answering it, the next one opens",
        "  Space marks an ask, a marks all: d, s and r then mean those that are marked",
        "  r lists what the agents' own recommendations would answer, and sends it if you say so",
        "  d declines; a permission is denied",
        "  s puts asks out of sight for a while, for you alone; z shows them",
        "  t tells the agent of an ask something, or another one that is at work; Ctrl+X there stops it",
        "  Tab looks back at settled asks",
        "  Ctrl+N and Ctrl+P, in an open ask, go to the next and the one before without answering",
        "  q or Esc leaves; everything stays as it is",
        "",
        "Any key goes back.",
    ]


def test_an_open_ask_fills_the_screen() -> None:
    start = inbox()
    drawn = rows(start.opened(started(BASH.ask, start.size, None)))

    assert drawn[:3] == ["tester asks in a-rather-long-one", "", "Bash command · Bash"]


def test_a_note_says_who_asks_and_no_more() -> None:
    secret = entry(1, Permission("Bash", {"command": "echo hunter2"}), Asker("bot\x1b]0;x\a"))

    assert note_words(secret) == "askdesk: bot\\x1b]0;x\\x07 asks"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_nothing_an_agent_writes_reaches_the_screen_as_it_is(columns: int) -> None:
    for payload in (text for text in PAYLOADS if len(text) < 1000):
        asker = Asker(f"a{payload}", project=payload)
        options = [f"{payload} x (Recommended)", "No"]
        start = inbox(
            entry(1, Questions([Question(f"q{payload}", options)]), asker),
            entry(2, Permission(f"t{payload}", {"a": payload}), asker),
            size=Size(columns, 14),
        )
        for keys in ([], ["r"], ["a", "d"], ["tab"]):
            drawn = rows(pressed(start, *keys).back([Entry(start.open[0].ask, DONE.settlement)]))
            assert {row: found for row in drawn if (found := controls(row.encode()))} == {}


KEYS = ["down", "end", "enter", "escape", "tab", " ", "a", "r", "d", "s", "z", "?", "x", "pagedown", "ctrl+j", "2"]
SIZES = st.builds(Size, st.integers(24, 200), st.integers(10, 50))
ENTRIES = st.sampled_from(
    [ONE, BASH, TWO, DONE, entry(4, Permission("Write", {"content": "é日" * 200}), Asker("日本語の名前がとても長い"))]
)


@given(SIZES, st.lists(st.one_of(st.sampled_from(KEYS), st.sampled_from(KEYS), SIZES, ENTRIES), max_size=40))
@settings(max_examples=150, deadline=None)
def test_every_picture_fits_its_size(size: Size, events: list[str | Size | Entry]) -> None:
    start = inbox(*(entry(n, Questions([Question("日本語 " * n + "?", ["A", "B"])])) for n in range(5, 60)), size=size)
    for event in events:
        match event:
            case Size():
                start = start.resized(event)
            case Entry():
                start = start.entered([event])
            case _:
                step = start.press(event)
                if isinstance(step, Open):
                    step = start.opened(started(step.ask, start.size, None))
                start = step if isinstance(step, Inbox) else pressed(start, "home").told(shown("words " * 9))
        start = looked(start)
        drawn = picture(start)
        assert len(drawn.lines) <= start.size.lines
        assert max(map(cells, drawn.lines)) <= start.size.columns


def test_however_much_is_said_the_picture_fits() -> None:
    assert len(rows(inbox(size=Size(24, 10)).told(shown("word " * 100)))) <= 10


@pytest.mark.parametrize("size", [Size(1, 1), Size(3, 50), Size(200, 2), Size(0, 0)])
def test_a_size_in_which_nothing_can_be_read_breaks_nothing(size: Size) -> None:
    start = inbox(size=size)
    for keys in ([], ["r"], ["d"], ["s"], ["?"], ["tab"], ["a"]):
        picture(pressed(start, *keys))
