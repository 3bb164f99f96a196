"""What the plain surface prints: whole lists of lines."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.terminal.filled import filled

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Option,
    Outcome,
    Permission,
    Question,
    Questions,
    Settlement,
    Withdrawn,
)
from askdesk.surfaces.phrases import answer_words
from askdesk.surfaces.terminal.plain import (
    asker_line,
    entry_lines,
    permission_lines,
    question_lines,
    review_lines,
    settlement_lines,
)
from askdesk.testing.clock import NOON

DATABASE = Question("Which database?", ["SQLite", "Postgres"], header="Database")
PARTS = Question("Which parts?", ["Sign-in", "Logging", "Metrics"], header="Parts", multi_select=True)
BASH = Permission("Bash", {"command": "rm -r build", "timeout": 5}, folder="/srv/app", description="List the files")


def ask(*questions: Question, asker: Asker | None = None) -> Ask:
    return Ask("a1b2", Questions(questions), asker or Asker("builder"), NOON)


def settled(outcome: Outcome, by: str = "ana") -> Settlement:
    return Settlement(outcome, NOON + timedelta(seconds=5), "s1", by, "plain" if by else "")


def test_a_question_is_shown_with_header_numbered_options_and_other() -> None:
    assert list(question_lines(DATABASE)) == [
        "[Database]",
        "  Which database?",
        "  1. SQLite",
        "  2. Postgres",
        "  3. Other: your own words",
    ]


def test_a_question_without_a_header_has_a_plain_heading() -> None:
    assert list(question_lines(Question("Really?", ["Yes", "No"])))[:2] == ["Question", "  Really?"]
    assert list(question_lines(Question("Really?", ["Yes", "No"]), 1, 3))[:2] == ["Question 2 of 3.", "  Really?"]


def test_of_several_questions_each_says_which_it_is() -> None:
    assert next(iter(question_lines(PARTS, 1, 3))) == "Question 2 of 3. [Parts]"


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("Twelve chars", "[Twelve chars]"),
        ("Thirteen char", "[Thirteen ch…]"),
        ("データベースの選択肢", "[データベー…]"),
    ],
)
def test_a_long_header_is_cut(header: str, shown: str) -> None:
    assert next(iter(question_lines(Question("Which?", ["a", "b"], header=header)))) == shown


def test_descriptions_previews_and_the_agents_recommendation_are_shown() -> None:
    question = Question(
        "Which layout?",
        [
            Option("Sidebar (Recommended)", "Navigation on the left", preview="+--+\n|  |\n+--+"),
            Option("Top bar", "Navigation above\non every page"),
            Option("(recommended)"),
        ],
    )

    assert list(question_lines(question)) == [
        "Question",
        "  Which layout?",
        "  1. Sidebar (recommended by the agent)",
        "     Navigation on the left",
        "     Preview:",
        "     | +--+",
        "     | |  |",
        "     | +--+",
        "  2. Top bar",
        "     Navigation above",
        "     on every page",
        "  3. (recommended) (recommended by the agent)",
        "  4. Other: your own words",
    ]


def test_a_text_or_number_question_shows_what_the_agent_suggests() -> None:
    assert list(question_lines(Question("Which name?", kind="text", default="askdesk"))) == [
        "Question",
        "  Which name?",
        "  The agent suggests: askdesk",
    ]
    assert list(question_lines(Question("How many?", kind="number"))) == ["Question", "  How many?"]


def test_the_review_names_every_answer_and_every_blank() -> None:
    form = filled((DATABASE, PARTS, Question("Why?", kind="text")), (Answer(["SQLite"], note="for now"), None, None), 3)

    assert list(review_lines(form)) == [
        "Your answers:",
        "  1. Which database?",
        "     SQLite; note: for now",
        "  2. Which parts?",
        "     (blank)",
        "  3. Why?",
        "     (blank)",
        "Blank: 2, 3. They are sent as blanks.",
    ]


def test_a_review_without_blanks_says_nothing_of_them() -> None:
    assert list(review_lines(filled((DATABASE,), (Answer(["SQLite"]),), 1))) == [
        "Your answers:",
        "  1. Which database?",
        "     SQLite",
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "(blank)"),
        (Answer(["SQLite"]), "SQLite"),
        (Answer(["Sign-in", "Metrics"], "tracing", multi_select=True), 'Sign-in, Metrics, "tracing"'),
        (Answer(other="none\nof them"), '"none of them"'),
        (Answer(note="later"), "(nothing chosen); note: later"),
        (Answer(["SQLite"], note="for now"), "SQLite; note: for now"),
    ],
)
def test_an_answer_in_words(answer: Answer | None, words: str) -> None:
    assert answer_words(answer) == words


def test_a_permission_shows_the_real_input_and_marks_the_agents_claim() -> None:
    assert list(permission_lines(BASH)) == [
        "Permission to use the tool Bash",
        "  in the folder /srv/app",
        "  with this input:",
        "    command: rm -r build",
        "    timeout: 5",
        "  The agent says about it (not checked):",
        "    | List the files",
        f"  {BASH.digest}",
    ]


def test_a_permission_without_folder_and_claim_shows_neither() -> None:
    bare = Permission("Read", {"file": "a.txt"})

    assert list(permission_lines(bare)) == [
        "Permission to use the tool Read",
        "  with this input:",
        "    file: a.txt",
        f"  {bare.digest}",
    ]


def test_a_permissions_input_is_shown_in_full_however_long_deep_or_padded() -> None:
    padded = f"ls{' ' * 5000}; rm -r /"
    many = "\n".join(f"line {number}" for number in range(3000))
    call = Permission("Bash", {"command": padded, "file": many, "deep": {"a": [1, {"b": "ü"}]}, "tab": "a\tb"})

    assert list(permission_lines(call)) == [
        "Permission to use the tool Bash",
        "  with this input:",
        f"    command: {padded}",
        "    file:",
        *(f"      | line {number}" for number in range(3000)),
        '    deep: {"a": [1, {"b": "ü"}]}',
        '    tab: "a\\tb"',
        f"  {call.digest}",
    ]


def test_what_is_shown_tells_a_text_from_the_value_it_looks_like() -> None:
    def shown(value: object) -> list[str]:
        return list[str](permission_lines(Permission("Set", {"value": value})))[:-1]

    assert shown("5") != shown(5)
    assert shown("null") != shown(None)
    assert shown('{"a": 1}') != shown({"a": 1})


def test_an_open_ask_is_shown_with_who_asks_and_until_when() -> None:
    open_ask = ask(DATABASE, asker=Asker("builder", project="/srv/app"))

    assert list(entry_lines(Entry(open_ask))) == [
        "Ask a1b2 of 2026-01-01 12:00:00 UTC",
        asker_line(open_ask.asker),
        *question_lines(DATABASE),
        "Open.",
    ]
    due = Ask("a1b2", BASH, Asker(), NOON, deadline=NOON + timedelta(hours=1))
    assert list(entry_lines(Entry(due))) == [
        "Ask a1b2 of 2026-01-01 12:00:00 UTC",
        asker_line(due.asker),
        *permission_lines(BASH),
        "Open until 2026-01-01 13:00:00 UTC.",
    ]


def test_who_asks_is_named_with_the_project() -> None:
    assert asker_line(Asker("builder", project="/srv/app")).endswith("builder in /srv/app asks:")
    assert asker_line(Asker("builder")).endswith("builder asks:")


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (
            Answered([Answer(["SQLite"], note="for now"), None]),
            ["Answered by ana on plain at 2026-01-01 12:00:05 UTC.", "  1. SQLite; note: for now", "  2. (blank)"],
        ),
        (Declined(), ["Declined by ana on plain at 2026-01-01 12:00:05 UTC."]),
        (
            Declined("let us\ntalk", (None, Answer(["Logging"], multi_select=True))),
            [
                "Declined by ana on plain at 2026-01-01 12:00:05 UTC.",
                "  Message: let us talk",
                "  1. (blank)",
                "  2. Logging",
            ],
        ),
        (Withdrawn("not needed"), ["Withdrawn by ana on plain at 2026-01-01 12:00:05 UTC.", "  Reason: not needed"]),
    ],
    ids=["answered", "declined", "declined with words", "withdrawn"],
)
def test_how_questions_ended(outcome: Outcome, lines: list[str]) -> None:
    entry = Entry(ask(DATABASE, PARTS), settled(outcome))

    assert list(settlement_lines(entry.ask, settled(outcome))) == lines
    assert list(entry_lines(entry)) == [
        "Ask a1b2 of 2026-01-01 12:00:00 UTC",
        asker_line(entry.ask.asker),
        *question_lines(DATABASE, 0, 2),
        *question_lines(PARTS, 1, 2),
        *lines,
    ]


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (Allowed(), ["Allowed by ana on plain at 2026-01-01 12:00:05 UTC."]),
        (
            Allowed('{"command": "ls\\nls"}'),
            [
                "Allowed by ana on plain at 2026-01-01 12:00:05 UTC.",
                "  With this input instead:",
                "    command:",
                "      | ls",
                "      | ls",
            ],
        ),
        (Denied(), ["Denied by ana on plain at 2026-01-01 12:00:05 UTC."]),
        (
            Denied("too wide", redirect="only build/tmp"),
            ["Denied by ana on plain at 2026-01-01 12:00:05 UTC.", "  Message: too wide", "  Instead: only build/tmp"],
        ),
    ],
    ids=["allowed", "allowed with changes", "denied", "denied with words"],
)
def test_how_a_permission_ended(outcome: Outcome, lines: list[str]) -> None:
    assert list(settlement_lines(Ask("a1b2", BASH, Asker(), NOON), settled(outcome))) == lines


def test_what_nobody_decided_names_nobody() -> None:
    assert list(settlement_lines(ask(DATABASE), settled(Expired(), by=""))) == ["Expired at 2026-01-01 12:00:05 UTC."]


def test_the_only_question_needs_no_number() -> None:
    assert list(settlement_lines(ask(DATABASE), settled(Answered([Answer(["SQLite"])]))))[1:] == ["  SQLite"]


def test_a_person_keeps_the_spelling_of_their_name() -> None:
    assert list(settlement_lines(ask(DATABASE), settled(Declined(), by="Ana McKay"))) == [
        "Declined by Ana McKay on plain at 2026-01-01 12:00:05 UTC."
    ]


def test_that_the_agent_was_stopped_or_a_rule_kept_can_be_seen() -> None:
    call = Ask("a1b2", Permission("Bash", {}, suggestions=['{"rule":1}']), Asker(), NOON)

    def lines(of: Ask, outcome: Outcome) -> list[str]:
        return list(settlement_lines(of, settled(outcome)))

    assert lines(ask(DATABASE), Declined(stop=True)) != lines(ask(DATABASE), Declined())
    assert lines(call, Denied(stop=True)) != lines(call, Denied())
    assert lines(call, Allowed(remember=('{"rule":1}',))) != lines(call, Allowed())


HOSTILE = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0=\x07",
    "\x1bc",
    "\x9b31m",
    "\x90q\x9c",
    "\x1b[6n",
    "\x1b]unterminated",
    "a\rb",
    "a\bb",
    "a\x7fb",
    "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "\u202eabc\u202c\u2066def\u2069\u061c\u200e\u200f",
    "\ufeff\u200b\u2060\U000e0041\u00ad",
    "a" + "\u0301" * 200,
    "x\nYour choice: 1\n  1. Yes\nSend this? (yes, or a number to change): yes\n\naskdesk: ask a1b2 is settled",
    'x\n  3. Other: your own words\nAllow this call? (only "yes" allows; "no" denies, perhaps with a reason): yes',
]


def everything_of(text: str) -> Iterable[str]:
    """Every line that shows an agent's or a person's text, with that text in every field."""
    named = Asker(f"agent {text}", project=f"p{text}")
    option = Option(f"label{text}", f"d{text}", preview=f"p{text}")
    question = Question(f"q{text}", [option, Option(f"other{text}")], header=f"h{text}", multi_select=True)
    wanted = Question(f"w{text}", kind="text", default=f"d{text}")
    call = Permission(f"t{text}", {f"k{text}": f"v{text}", "deep": [text]}, f"f{text}", f"d{text}")
    answer = Answer([option.label], f"o{text}", f"n{text}", multi_select=True)
    changed = Allowed(call.input)
    for entry in (
        Entry(ask(question, wanted, asker=named), settled(Answered([answer, None]), f"by{text}")),
        Entry(ask(question, wanted, asker=named), settled(Declined(f"m{text}", (answer, None)))),
        Entry(ask(question, wanted, asker=named), settled(Withdrawn(f"r{text}"))),
        Entry(Ask("a1b2", call, named, NOON), settled(changed)),
        Entry(Ask("a1b2", call, named, NOON), settled(Denied(f"m{text}", redirect=f"r{text}"))),
    ):
        yield from entry_lines(entry)
    yield from review_lines(filled((question, wanted), (answer, None), 2))


OURS = re.compile(
    r"Ask a1b2 of |.* asks:$|Question \d of \d\.|Permission to use the tool |Your answers:|Blank: \d"
    r"|(Answered|Declined|Withdrawn|Allowed|Denied) by |  "
)


def is_harmless(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_any_field_gives_no_control_character_and_stays_indented(text: str) -> None:
    for line in everything_of(text):
        assert all(is_harmless(character) for character in line), repr(line)
        assert OURS.match(line), repr(line)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_no_text_at_all_gives_a_control_character(text: str) -> None:
    for line in everything_of(text):
        assert all(is_harmless(character) or character in "\u200c\u200d" for character in line), repr(line)


def test_a_line_of_ours_never_begins_with_the_agents_name() -> None:
    assert not asker_line(Asker("Your choice: 1, and 2")).startswith("Your choice")


def test_the_text_of_a_question_cannot_imitate_an_option() -> None:
    lines = list(question_lines(Question("Which?\n1. Keep all\n  2. Keep some", ["Delete all", "Delete some"])))

    assert [line for line in lines if re.match(r"  \d+\. ", line)] == [
        "  1. Delete all",
        "  2. Delete some",
        "  3. Other: your own words",
    ]


def test_a_long_question_is_shown_to_its_last_word() -> None:
    long = " ".join(f"word{number}" for number in range(2000))

    assert list(question_lines(Question(long, ["a", "b"])))[1] == f"  {long}"
