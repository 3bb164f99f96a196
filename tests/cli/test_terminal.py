"""The real command on a real terminal."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.cli.command import CALL, DATABASE, TWO, Ran, in_file, kept_asks, posted, settled, until
from tests.cli.person import Person

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Asker,
    Declined,
    Denied,
    Entry,
    Option,
    Permission,
    Question,
    Withdrawn,
)
from askdesk.surfaces.terminal.plain import asker_line

WHICH = Question("Which database?", [Option("SQLite", "One file"), Option("Postgres", "A server")], header="Database")
KEYS = "1\nyes\ny\n2\n\n" * 20  # 200 keys


def only() -> Entry:
    (entry,) = kept_asks()
    return entry


def test_a_question_is_answered_on_the_terminal(tmp_path: Path) -> None:
    with Person("ask", "--agent", "builder", "--project", "app", in_file(tmp_path, DATABASE)) as ana:
        screen = ana.reads("Your choice: ")
        ana.types("2\n")
        ended = ana.leaves()

    assert screen.splitlines() == [
        "",
        asker_line(Asker("builder", project="app")),
        "",
        "[Database]",
        "  Which database?",
        "  1. SQLite",
        "     One file",
        "  2. Postgres",
        "     A server",
        "  3. Other: your own words",
        "Type a number, your own words, or /help.",
        "Your choice: ",
    ]
    assert (ended.code, json.loads(ended.out)) == (0, {**DATABASE, "answers": {"Which database?": "Postgres"}})
    assert ended.err == "2\n"


def test_a_form_of_two_is_filled_with_mistakes_going_back_and_a_review(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, TWO)) as ana:
        ana.reads("Your choice: ")
        for line, shown in (
            ("1,2", "Only one may be chosen here."),
            ("7", "There is no number 7 here; choose from 1 to 3."),
            ("/help", "leave without answering; the ask stays open"),
            ("1", "Question 2 of 2. [Parts]"),
            ("/back", "Question 1 of 2. [Database]"),
            ("2 /note on a server we have", "Question 2 of 2. [Parts]"),
        ):
            ana.types(f"{line}\n")
            ana.reads(shown)
            ana.reads("Your choice: ")
        ana.types("2,3\n")
        ana.reads("Your own words: ")
        ana.types("  /back\n")
        review = ana.reads("Send this? (yes, or a number to change): ")
        ana.types("yes\n")
        ended = ana.leaves()

    assert review.splitlines()[1:] == [
        "",
        "Your answers:",
        "  1. Which database?",
        "     Postgres; note: on a server we have",
        "  2. Which parts?",
        '     Logging, "  /back"',
        "Send this? (yes, or a number to change): ",
    ]
    assert (ended.code, json.loads(ended.out)) == (
        0,
        {
            **TWO,
            "answers": {"Which database?": "Postgres", "Which parts?": "Logging,   /back"},
            "annotations": {"Which database?": {"notes": "on a server we have"}},
        },
    )


def test_keys_typed_before_the_question_was_shown_do_not_answer_it(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE), typed_ahead=KEYS) as ana:
        ana.reads("Your choice: ")
        assert only().settlement is None
        ana.types("2\n")
        ended = ana.leaves()

    assert (ended.code, json.loads(ended.out)["answers"]) == (0, {"Which database?": "Postgres"})


def test_keys_typed_before_a_permission_was_shown_do_not_allow_it(tmp_path: Path) -> None:
    with Person("ask", "--tool", "Bash", in_file(tmp_path, CALL), typed_ahead=f"{KEYS}yes\nye") as ana:
        ana.reads("Enter tells more): ")
        assert only().settlement is None
        ana.types("s\n")
        ana.reads("Nothing was decided.")
        ana.types("no use trash\n")
        ended = ana.leaves()

    assert (ended.code, json.loads(ended.out)) == (
        3,
        {
            "behavior": "deny",
            "message": 'DENIED: the person did not allow this call; it did not run. They said: "use trash"',
        },
    )


def test_lines_pasted_at_once_answer_no_question_that_was_not_shown_yet(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, TWO)) as ana:
        ana.reads("Your choice: ")
        ana.types("1\n1\nyes\n")
        ana.reads("Question 2 of 2.")
        ana.reads("Your choice: ")
        ana.types("/decline too fast\n")
        ended = ana.leaves()

    assert ended.code == 3
    settlement = only().settlement
    assert settlement is not None
    assert settlement.outcome == Declined("too fast", (Answer(["SQLite"]), None))


def test_a_permission_is_shown_in_full_and_allowed_by_yes_alone(tmp_path: Path) -> None:
    call = Permission("Bash", json.dumps(CALL), "/srv", "List files")
    options = ("--tool", "Bash", "--folder", "/srv", "--description", "List files", "--agent", "builder")
    with Person("ask", *options, "--project", "", in_file(tmp_path, CALL)) as ana:
        screen = ana.reads(
            'Allow this call? (only "yes" allows; "no" denies, perhaps with a reason; Enter tells more): '
        )
        for line in ("", "y", "1", "yes please"):
            ana.types(f"{line}\n")
            ana.reads("Nothing was decided.")
            ana.reads("Allow this call?")
        ana.types("yes\n")
        ended = ana.leaves()

    assert screen.splitlines() == [
        "",
        asker_line(Asker("builder")),
        "Permission to use the tool Bash",
        "  in the folder /srv",
        "  with this input:",
        "    command: rm -r build",
        "    timeout: 5",
        "  The agent says about it (not checked):",
        "    | List files",
        f"  {call.digest}",
        'Allow this call? (only "yes" allows; "no" denies, perhaps with a reason; Enter tells more): ',
    ]
    assert (ended.code, json.loads(ended.out)) == (0, {"behavior": "allow", "updatedInput": CALL})


@pytest.mark.parametrize("keys", ["\x04", "1\x04\x04"], ids=["at once", "in the middle of a line"])
def test_the_end_of_input_is_no_answer(keys: str, tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE)) as ana:
        ana.reads("Your choice: ")
        ana.types(keys)
        ended = ana.leaves()

    entry = only()
    assert entry.settlement is None
    assert ended.code == 6
    assert ended.out == ""
    assert ended.err.endswith(
        f"\naskdesk: nobody can be reached (the person left, or the input ended); ask {entry.ask.id} stays open\n"
    )


def test_the_end_of_input_allows_nothing(tmp_path: Path) -> None:
    with Person("ask", "--tool", "Bash", in_file(tmp_path, CALL)) as ana:
        ana.reads("Allow this call?")
        ana.types("yes\x04\x04")
        ended = ana.leaves()

    assert (ended.code, ended.out, only().settlement) == (6, "", None)


def test_leaving_for_later_leaves_the_ask_open(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE)) as ana:
        ana.reads("Your choice: ")
        ana.types("/later\n")
        ended = ana.leaves()

    assert (ended.code, ended.out, only().settlement) == (6, "", None)


def test_ctrl_c_withdraws_an_ask_that_nobody_could_come_back_for(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE)) as ana:
        ana.reads("Your choice: ")
        ana.types("\x03")
        ended = ana.leaves()

    entry = only()
    assert (ended.code, ended.out) == (5, "")
    assert ended.err == f"^C\naskdesk: ask {entry.ask.id} is withdrawn\n"
    assert entry.settlement is not None
    assert entry.settlement.outcome == Withdrawn("the agent stopped waiting")


def test_ctrl_c_leaves_an_ask_with_a_key_open_and_the_key_finds_it_again(tmp_path: Path) -> None:
    file = in_file(tmp_path, DATABASE)
    with Person("ask", "--key", "k1", file) as ana:
        ana.reads("Your choice: ")
        ana.types("\x03")
        left = ana.leaves()
    entry = only()
    with Person("ask", "--key", "k1", file) as ana:
        ana.reads("Your choice: ")
        ana.types("1\n")
        ended = ana.leaves()

    assert (left.code, left.out, entry.settlement) == (7, "", None)
    assert left.err == f"^C\naskdesk: ask {entry.ask.id} stays open; the same key asks for it again\n"
    assert (ended.code, json.loads(ended.out)["answers"]) == (0, {"Which database?": "SQLite"})
    assert only().ask.id == entry.ask.id


def test_ctrl_c_ends_a_wait_and_changes_nothing() -> None:
    ask = posted(WHICH)
    with Person("ask", "--surface", "none", "--key", "k1", piped=json.dumps(DATABASE).encode()) as builder:
        builder.reads("waits for an answer")
        builder.types("\x03")
        asked = builder.leaves()
    with Person("wait", ask.id, "--timeout", "60s") as builder:
        until(Path(f"{os.environ['ASKDESK_STORE']}-wal").exists)  # there while somebody has the desk open
        builder.types("\x03")
        waited = builder.leaves()

    assert (asked.code, asked.out) == (7, "")
    assert (waited.code, waited.out) == (7, "")
    assert [entry.settlement for entry in kept_asks()] == [None, None]


def test_an_ask_that_is_answered_elsewhere_closes_the_form_and_says_who(tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE)) as ana:
        ana.reads("Your choice: ")
        ana.types("1")
        settled(only().ask, Answered([Answer(["Postgres"])]), by="ben", surface="the page")
        ana.reads("\nThis ask is closed: answered by ben on the page.\n")
        ended = ana.leaves()

    assert (ended.code, json.loads(ended.out)["answers"]) == (0, {"Which database?": "Postgres"})


def test_questions_from_a_pipe_are_asked_on_the_terminal() -> None:
    with Person("ask", piped=json.dumps(DATABASE).encode(), typed_ahead=KEYS) as ana:
        ana.reads("Your choice: ")
        ana.types("2\n")
        ended = ana.leaves()

    assert (ended.code, json.loads(ended.out)["answers"]) == (0, {"Which database?": "Postgres"})


def test_answer_shows_the_form_on_a_terminal() -> None:
    ask, call = posted(WHICH), posted(Permission("Bash", CALL))
    with Person("answer", ask.id[:8], "--by", "Ana", typed_ahead=KEYS) as ana:
        ana.reads("Your choice: ")
        ana.types("/note why\n")
        ana.reads("Noted.")
        ana.types("1\n")
        answered = ana.leaves()
    with Person("answer", call.id, typed_ahead=KEYS) as ana:
        ana.reads("Allow this call?")
        ana.types("yes\n")
        allowed = ana.leaves()

    assert [(entry.settlement.outcome, entry.settlement.surface) for entry in kept_asks() if entry.settlement] == [
        (Answered([Answer(["SQLite"], note="why")]), "plain"),
        (Allowed(), "plain"),
    ]
    assert (answered.code, allowed.code) == (0, 0)


def test_leaving_the_form_of_answer_is_no_answer() -> None:
    ask = posted(WHICH)
    with Person("answer", ask.id) as ana:
        ana.reads("Your choice: ")
        ana.types("\x04")
        ended = ana.leaves()

    assert (ended.code, ended.out, only().settlement) == (6, "", None)


def test_answer_says_who_was_first_while_the_form_was_open() -> None:
    ask = posted(WHICH)
    with Person("answer", ask.id) as ana:
        ana.reads("Your choice: ")
        settled(ask, Declined("no"), by="ben", surface="the page")
        ana.reads("This ask is closed: declined by ben on the page.")
        late = ana.leaves()
    with Person("answer", ask.id) as ana:
        later = ana.leaves()

    assert late.code == 8
    assert later == Ran(8, "", f"askdesk: ask {ask.id} is already settled: declined by ben on the page\n")


def test_hostile_questions_put_nothing_but_text_on_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b31m\u202e\x07"
    questions = {
        "questions": [
            {
                "question": f"q{hostile}?",
                "header": f"h{hostile}",
                "options": [
                    {"label": f"a{hostile}", "description": f"d{hostile}", "preview": f"p{hostile}"},
                    {"label": "b", f"key{hostile}": 1},
                ],
            }
        ],
    }
    with Person("ask", "--agent", f"g{hostile}", in_file(tmp_path, questions), on_screen=True) as ana:
        screen = ana.reads("Your choice: ")
        ana.types("1\n")
        screen += ana.leaves().err

    assert [character for character in screen if not character.isprintable() and character != "\n"] == []


def test_hostile_names_in_errors_put_nothing_but_text_on_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b31m\u202e\x07"
    with Person("ask", in_file(tmp_path, {**DATABASE, hostile: 1})) as ana:
        refused = ana.leaves()
    ask = posted(WHICH)
    settled(ask, Declined(), by=f"ben{hostile}")
    with Person("answer", ask.id, "--decline") as ana:
        late = ana.leaves()

    assert (refused.code, late.code) == (2, 8)
    screen = refused.err + late.err
    assert [character for character in screen if not character.isprintable() and character != "\n"] == []


def test_the_demo_is_interactive_on_a_terminal() -> None:
    with Person("demo", on_screen=True, typed_ahead=KEYS) as ana:
        for line in ("2", "1,3", "Neither: a single page", "yes"):
            ana.reads("Your choice: " if line != "yes" else "Send this? (yes, or a number to change): ")
            ana.types(f"{line}\n")
        read = ana.reads("Allow this call?")
        ana.types("no not yet\n")
        ended = ana.leaves()

    assert "What the agent reads:\n  ANSWERED WITH OWN WORDS" in read
    assert '"Which database should the new service use?" = "PostgreSQL"' in read
    assert '"Which parts should I set up first?" = "Sign-in" + "Metrics"' in " ".join(read.split())
    assert '"Which layout should the start page have?" = own words: "Neither: a single page"' in " ".join(read.split())
    assert 'They said: "not yet"' in " ".join(ended.err.split())
    assert "What the desk keeps:" in ended.err
    assert ended.code == 0


def test_leaving_the_demo_answers_nothing() -> None:
    with Person("demo") as ana:
        ana.reads("Your choice: ")
        ana.types("\x04")
        ended = ana.leaves()

    assert ended.code == 6
    assert ended.err.splitlines()[-1] == "askdesk: you left without answering, so nothing was answered"


def test_the_demo_can_be_scripted_on_a_terminal_too() -> None:
    with Person("demo", "--script") as ana:
        ended = ana.leaves()

    assert (ended.code, ended.err) == (0, "")
    assert "ANSWERED WITH OWN WORDS" in ended.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_a_terminal_that_goes_away_answers_nothing(number: int, tmp_path: Path) -> None:
    with Person("ask", "--tool", "Bash", in_file(tmp_path, CALL)) as ana:
        ana.reads("Allow this call?")
        ana.process.send_signal(number)
        ana.leaves()

    assert only().settlement is None


SCRIPT = """
import askdesk
print(askdesk.ask(askdesk.Question("Which database?", ["SQLite", "Postgres"])))
"""


def test_a_script_asks_on_its_terminal() -> None:
    with Person("-c", SCRIPT, command=(sys.executable,), typed_ahead=KEYS) as ana:
        ana.reads("Your choice: ")
        ana.types("2\n")
        ended = ana.leaves()

    assert (ended.code, ended.out) == (0, f"{Answered([Answer(['Postgres'])])}\n")


def test_a_denial_on_the_terminal_reaches_the_desk(tmp_path: Path) -> None:
    with Person("ask", "--tool", "Bash", in_file(tmp_path, CALL)) as ana:
        ana.reads("Allow this call?")
        ana.types("/instead list the files\n")
        ended = ana.leaves()

    settlement = only().settlement
    assert settlement is not None
    assert settlement.outcome == Denied(redirect="list the files")
    assert ended.code == 3
