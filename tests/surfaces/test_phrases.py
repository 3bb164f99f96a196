"""What was asked and said, in a few words."""

import pytest

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Expired,
    Option,
    Outcome,
    Permission,
    Question,
    Questions,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.surfaces.phrases import (
    answer_words,
    ended_words,
    label_words,
    left_line,
    number_words,
    settled_line,
    subject,
)
from askdesk.testing.clock import NOON

DATABASE = Question("Which\ndatabase?", ["SQLite", "Postgres"], header="Database")
PARTS = Question("Which parts?", ["Sign-in", "Logging"], multi_select=True)
LONE = Ask("3f6b2c1d5e", Questions([DATABASE]), Asker(), NOON)
BOTH = Ask("3f6b2c1d5e", Questions([DATABASE, PARTS]), Asker(), NOON)
CALL = Ask("3f6b2c1d5e", Permission("Bash", {"command": "ls"}), Asker(), NOON)


@pytest.mark.parametrize(
    ("outcome", "by", "surface", "words"),
    [
        (Answered([Answer(["SQLite"])]), "ana", "terminal", "answered by ana on terminal"),
        (Declined("no"), "ana", "", "declined by ana"),
        (Allowed(), "ana", "web", "allowed by ana on web"),
        (Denied("no", stop=True), "a\x1b[2Jb", "terminal", "denied by a\\x1b[2Jb on terminal"),
        (Expired(), "", "", "expired"),
        (Withdrawn("done already"), "", "", "withdrawn"),
    ],
)
def test_how_an_ask_ended_says_what_by_whom_and_where(outcome: Outcome, by: str, surface: str, words: str) -> None:
    assert ended_words(Settlement(outcome, NOON, "s", by, surface)) == words


@pytest.mark.parametrize(
    ("ask", "reply", "line"),
    [
        (LONE, Answered([Answer(["SQLite"])]), "✔ Which database? → SQLite"),
        (LONE, Answered([Answer(other="a\nb\x1b[2J")]), '✔ Which database? → "a b\\x1b[2J"'),
        (
            BOTH,
            Answered([Answer(["SQLite"], note="now"), None]),
            "✔ Database → SQLite; note: now · Which parts? → (blank)",
        ),
        (LONE, Declined("let us talk"), "✖ Declined: Which database? → let us talk"),
        (LONE, Declined(stop=True), "✖ Declined: Which database?"),
        (CALL, Allowed(), "✔ Allowed once: Bash"),
        (CALL, Allowed(remember=("{}",)), "✔ Allowed from now on: Bash"),
        (CALL, Allowed('{"command":"pwd"}'), "✔ Allowed with changes: Bash"),
        (CALL, Denied("too much"), "✖ Denied: Bash → too much"),
        (CALL, Denied(redirect="list it"), "✖ Denied: Bash → list it"),
        (CALL, Denied(stop=True), "✖ Denied: Bash"),
    ],
)
def test_a_form_leaves_one_line_behind(ask: Ask, reply: Reply, line: str) -> None:
    assert settled_line(ask, reply) == line


def test_what_is_left_open_says_how_to_come_back() -> None:
    assert left_line(LONE, drafted=True) == "○ Left open, draft kept: Which database? (askdesk answer 3f6b2c1d)"
    assert left_line(CALL, drafted=False) == "○ Left open: Bash (askdesk answer 3f6b2c1d)"


def test_an_ask_is_about_its_first_question_or_its_tool() -> None:
    assert (subject(BOTH), subject(CALL)) == ("Which database?", "Bash")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "(blank)"),
        (Answer(["SQLite"]), "SQLite"),
        (Answer(["Sign-in", "Logging"], "more", multi_select=True), 'Sign-in, Logging, "more"'),
        (Answer(other="my own"), '"my own"'),
        (Answer(note="why"), "(nothing chosen); note: why"),
        (Answer(["SQLite"], note="why\nnot"), "SQLite; note: why not"),
        (Answer(other="{0.__class__}", note="{note}"), '"{0.__class__}"; note: {note}'),
    ],
)
def test_an_answer_is_told_with_own_words_in_quotes(answer: Answer | None, words: str) -> None:
    assert answer_words(answer) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (None, None, "A number."),
        (1, 64, "A number from 1 to 64."),
        (0, None, "A number from 0."),
        (None, 0.5, "A number up to 0.5."),
        (-1.5, 0, "A number from -1.5 to 0."),
    ],
)
def test_a_number_is_told_with_its_bounds(low: float | None, high: float | None, words: str) -> None:
    assert number_words(Question("How many?", kind="number", minimum=low, maximum=high)) == words


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("SQLite", "SQLite"),
        ("SQLite (Recommended)", "SQLite"),
        ("SQLite (recommended) ", "SQLite"),
        ("(Recommended)", "(Recommended)"),
        ("SQLite (Recommended) for now", "SQLite (Recommended) for now"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
    ],
)
def test_a_label_is_told_without_the_agents_recommendation(label: str, words: str) -> None:
    assert label_words(Option(label)) == words


def test_a_bound_is_told_with_all_its_digits() -> None:
    large = Question("How many?", kind="number", minimum=1234567, maximum=10_000_000)

    assert number_words(large) == "A number from 1234567 to 10000000."
    assert large.number_flaw("1") == "takes a number from 1234567, got 1"
