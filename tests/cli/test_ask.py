"""askdesk ask: from a file, a pipe, with keys, deadlines and limits."""

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import (
    CALL,
    DATABASE,
    TWO,
    Ran,
    askdesk,
    in_file,
    in_shell,
    kept,
    kept_asks,
    posted,
    settled,
    surroundings,
)
from tests.cli.person import Person

from askdesk.core.model import Answer, Answered, Asker, Declined, Entry, Expired, Option, Permission, Question
from askdesk.open import AGENT_VARIABLES, open_desk
from askdesk.surfaces.terminal.plain import asker_line

WHICH = Question("Which database?", [Option("SQLite", "One file"), Option("Postgres", "A server")], header="Database")


def only() -> Entry:
    (entry,) = kept_asks()
    return entry


def test_a_pipe_answers_and_the_result_alone_is_on_standard_output(tmp_path: Path) -> None:
    ran = askdesk("ask", "--agent", "builder", "--project", "app", in_file(tmp_path, DATABASE), typed="2\n")

    assert (ran.code, json.loads(ran.out)) == (0, {**DATABASE, "answers": {"Which database?": "Postgres"}})
    assert ran.out.count("\n") == 1
    assert ran.err.splitlines() == [
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


def test_a_pipe_may_hold_every_line_of_a_form(tmp_path: Path) -> None:
    lines = "1,2\n9\n3\n1\n/note soon\n1,3\nAudit, too\n2\n2\nyes\n"
    ran = askdesk("ask", in_file(tmp_path, TWO), typed=lines)

    assert (ran.code, json.loads(ran.out)) == (
        0,
        {
            **TWO,
            "answers": {"Which database?": "1", "Which parts?": "Logging"},
            "annotations": {"Which parts?": {"notes": "soon"}},
        },
    )


@pytest.mark.parametrize("typed", ["", "2", "\n1,2\n", "3\nMariaDB", "/later\n"])
def test_the_end_of_input_is_no_answer_also_in_the_middle_of_a_line(typed: str, tmp_path: Path) -> None:
    ran = askdesk("ask", in_file(tmp_path, DATABASE), typed=typed)
    entry = only()

    assert (ran.code, ran.out, entry.settlement) == (6, "", None)
    assert ran.err.splitlines()[-1] == (
        f"askdesk: nobody can be reached (the person left, or the input ended); ask {entry.ask.id} stays open"
    )


def test_questions_on_standard_input_without_a_terminal_reach_nobody() -> None:
    for arguments in ((), ("-",)):
        ran = askdesk("ask", *arguments, typed=json.dumps(DATABASE))
        assert (ran.code, ran.out) == (6, "")
        assert ran.err.startswith("askdesk: nobody can be reached (there is no terminal here); ask ")
    assert [entry.settlement for entry in kept_asks()] == [None, None]


def test_declining_is_told_with_its_words(tmp_path: Path) -> None:
    ran = askdesk("ask", in_file(tmp_path, DATABASE), typed="/decline let us talk\n")

    assert (ran.code, json.loads(ran.out)) == (
        3,
        {
            **DATABASE,
            "outcome": "declined",
            "message": "DECLINED: the person saw the questions and chose not to answer them. "
            'They said: "let us talk"\n'
            "This is not an answer and not consent: do not act as if a choice had been made.",
        },
    )


def test_without_waiting_the_id_is_printed_and_everything_given_is_kept(tmp_path: Path) -> None:
    given = ("--agent", "builder", "--project", "app", "--session", "s1", "--previews", "markdown", "--key", "k1")
    ran = askdesk("ask", "--no-wait", *given, "--deadline", "2h", in_file(tmp_path, DATABASE))
    ask = only().ask

    assert (ran.code, ran.out, ran.err) == (0, f"{ask.id}\n", "")
    assert ask.questions == (WHICH,)
    assert ask.asker == Asker("builder", "s1", "app")
    assert (ask.key, ask.preview_format, ask.deadline) == ("k1", "markdown", ask.created + timedelta(hours=2))


def test_the_project_is_this_folder_unless_told_otherwise(tmp_path: Path) -> None:
    askdesk("ask", "--no-wait", in_file(tmp_path, DATABASE))

    assert only().ask.asker == Asker("command line", project=str(Path.cwd()))


def test_the_same_key_is_the_same_ask_and_another_body_is_refused(tmp_path: Path) -> None:
    first = askdesk("ask", "--no-wait", "--key", "k1", in_file(tmp_path, DATABASE))
    again = askdesk("ask", "--no-wait", "--key", "k1", in_file(tmp_path, DATABASE))
    other = askdesk("ask", "--no-wait", "--key", "k1", in_file(tmp_path, TWO))
    ask = only().ask
    settled(ask, Answered([Answer(["SQLite"])]))
    later = askdesk("ask", "--key", "k1", in_file(tmp_path, DATABASE))

    assert first == again == Ran(0, f"{ask.id}\n", "")
    assert other == Ran(2, "", f'askdesk: key "k1": already names ask {ask.id}, which asks something else\n')
    assert (later.code, json.loads(later.out)["answers"], later.err) == (0, {"Which database?": "SQLite"}, "")


def test_an_ask_whose_deadline_comes_has_expired(tmp_path: Path) -> None:
    ran = askdesk("ask", "--surface", "none", "--deadline", "0.2s", in_file(tmp_path, DATABASE))
    entry = only()

    assert (ran.code, json.loads(ran.out)) == (
        4,
        {
            **DATABASE,
            "outcome": "expired",
            "message": "EXPIRED: nobody answered before the deadline. "
            "This is not an answer and not consent: do not act as if a choice had been made.",
        },
    )
    assert ran.err == f"askdesk: ask {entry.ask.id} waits for an answer: askdesk answer {entry.ask.id[:8]}\n"
    assert entry.settlement is not None
    assert entry.settlement.outcome == Expired()


def test_a_deadline_also_ends_an_ask_that_somebody_looks_at(tmp_path: Path) -> None:
    with Person("ask", "--deadline", "1s", in_file(tmp_path, DATABASE)) as ana:
        ana.reads("Your choice: ")
        ana.reads("This ask is closed: expired.")
        assert ana.leaves().code == 4


def test_a_deadline_that_is_no_time_span_is_refused(tmp_path: Path) -> None:
    ran = askdesk("ask", "--no-wait", "--deadline", "soon", in_file(tmp_path, DATABASE))

    assert (ran.code, ran.out) == (2, "")
    assert "argument --deadline: needs a time span like 90s, 10m, 2h or 3d, got 'soon'" in ran.err
    assert kept_asks() == []


def test_a_deadline_beyond_the_calendar_is_only_very_far_away(tmp_path: Path) -> None:
    ran = askdesk("ask", "--no-wait", "--deadline", "9999999d", in_file(tmp_path, DATABASE))
    ask = only().ask

    assert ran == Ran(0, f"{ask.id}\n", "")
    assert ask.deadline is not None
    assert ask.deadline - ask.created > timedelta(days=36000)


def test_who_waits_hears_of_an_answer_and_of_a_withdrawal_elsewhere(tmp_path: Path) -> None:
    file = in_file(tmp_path, DATABASE)
    with Person("ask", "--surface", "none", file) as first:
        first.reads("waits for an answer")
        settled(only().ask, Answered([Answer(["SQLite"])]))
        answered = first.leaves()
    with Person("ask", "--surface", "none", file) as second:
        second.reads("waits for an answer")
        askdesk("withdraw", kept_asks()[0].ask.id, "--reason", "not needed")
        withdrawn = second.leaves()

    assert (answered.code, json.loads(answered.out)["answers"]) == (0, {"Which database?": "SQLite"})
    assert (withdrawn.code, json.loads(withdrawn.out)) == (
        5,
        {
            **DATABASE,
            "outcome": "withdrawn",
            "message": 'WITHDRAWN: the questions were taken back before anybody answered. Reason: "not needed". '
            "This is not an answer and not consent: do not act as if a choice had been made.",
        },
    )


def test_every_problem_of_an_invalid_ask_is_told_at_once(tmp_path: Path) -> None:
    broken = {
        "questions": [
            {"question": " ", "options": [{"label": "a"}]},
            {"question": "Q?", "options": [{"label": "a"}, {"label": "a"}], "multiSelect": "no"},
        ],
        "extra": 1,
    }
    ran = askdesk("ask", in_file(tmp_path, broken))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "askdesk: extra: is not a parameter; the parameters are questions and metadata",
        "askdesk: questions[0].options: needs 2-20, has 1",
        'askdesk: questions[0].question: must not be blank, is " "',
        'askdesk: questions[1].multiSelect: must be true or false, is "no"',
        'askdesk: questions[1].options[1].label: must be unique, repeats questions[1].options[0]: "a"',
    ]
    assert kept_asks() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"", "input: is not JSON: Expecting value at line 1, column 1"),
        (b"[]", "input: must be an object with questions, is []"),
        (b"{}", "questions: is required"),
        (b'{"a": 1, "a": 2}', 'input: has the key "a" twice in one object'),
        (b'{"questions": "\xff"}', "input: is not UTF-8 at byte 15"),
        (b"[" * 5000, "input: is not JSON: Expecting value at line 1, column 5001"),
        (b"[" * 50 + b"]" * 50, "input: is nested deeper than 32 levels"),
    ],
    ids=["empty", "a list", "no questions", "twice", "bytes", "bomb", "deep"],
)
def test_what_is_no_ask_is_refused(given: bytes, message: str) -> None:
    ran = askdesk("ask", typed=given)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err in (f"askdesk: {message}\n", "askdesk: input: is nested deeper than 32 levels\n")


def test_the_limits_are_chosen_by_name_and_by_settings(tmp_path: Path) -> None:
    many = in_file(tmp_path, {"questions": [{"question": "Q?", "options": ["a", "b", "c", "d", "e"]}]})
    long = {"questions": [{**DATABASE["questions"][0], "header": "A long header"}]}
    claude = askdesk("ask", "--no-wait", "--limits", "claude", many)
    spring = askdesk("ask", "--no-wait", "--limits", "spring", in_file(tmp_path, long, "long.json"))
    large = askdesk("ask", "--no-wait", many, env={"ASKDESK_MAX_BYTES": "20"})
    deep = askdesk("ask", "--no-wait", many, env={"ASKDESK_MAX_DEPTH": "2"})
    free = askdesk("ask", "--no-wait", "--limits", "open", many)

    assert claude.code == 2
    assert claude.err.startswith("askdesk: questions[0].options: needs 2-4, has 5\n")
    assert spring == Ran(2, "", "askdesk: questions[0].header: needs 1-12 characters, has 13\n")
    assert large == Ran(2, "", "askdesk: input: is longer than 20 bytes\n")
    assert deep == Ran(2, "", "askdesk: input: is nested deeper than 2 levels\n")
    assert (free.code, free.err) == (0, "")


def test_what_was_mended_is_told_on_standard_error(tmp_path: Path) -> None:
    sloppy: dict[str, Any] = {
        "questions": [{"question": "Which", "options": ["a", "Other"], "colour": "red"}],
        "answers": {"Which": "a"},
    }
    ran = askdesk("ask", "--no-wait", in_file(tmp_path, sloppy))

    assert (ran.code, ran.out) == (0, f"{only().ask.id}\n")
    assert ran.err.splitlines() == [
        "askdesk: warning: answers: come from the person, not from you: dropped",
        "askdesk: warning: questions[0].colour: is not a field: dropped",
        'askdesk: warning: questions[0].question: should end with "?"',
        'askdesk: warning: questions[0].options[1].label: "Other" is always offered by itself: leave it out',
    ]
    assert only().settlement is None


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    missing, folder = str(tmp_path / "missing.json"), str(tmp_path)

    assert askdesk("ask", missing) == Ran(2, "", f"askdesk: {missing}: No such file or directory\n")
    assert askdesk("ask", folder) == Ran(2, "", f"askdesk: {folder}: Is a directory\n")
    assert askdesk("ask", "--tool", "Bash", missing) == Ran(2, "", f"askdesk: {missing}: No such file or directory\n")


def test_a_tool_call_is_allowed_by_a_typed_yes_and_by_nothing_less(tmp_path: Path) -> None:
    file = in_file(tmp_path, CALL)
    allowed = askdesk("ask", "--tool", "Bash", file, typed="y\n1\nyes\n")
    denied = askdesk("ask", "--tool", "Bash", file, typed="no\n")
    neither = askdesk("ask", "--tool", "Bash", file, typed="y\nyes")

    assert (allowed.code, json.loads(allowed.out)) == (0, {"behavior": "allow", "updatedInput": CALL})
    assert (denied.code, json.loads(denied.out)) == (
        3,
        {"behavior": "deny", "message": "DENIED: the person did not allow this call; it did not run."},
    )
    assert (neither.code, neither.out) == (6, "")
    assert kept_asks()[0].ask.permission == Permission("Bash", json.dumps(CALL))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"[]", "input: must be a JSON object, is []"),
        (b'{"a": 1, "a": 2}', 'input: has the key "a" twice in one object'),
        (b'{"a": "\xff"}', "input: is not UTF-8 at byte 7"),
        (b"", "input: is not JSON: Expecting value at line 1, column 1"),
    ],
    ids=["a list", "twice", "bytes", "empty"],
)
def test_a_tool_input_that_could_be_read_two_ways_is_refused(given: bytes, message: str) -> None:
    assert askdesk("ask", "--tool", "Bash", typed=given) == Ran(2, "", f"askdesk: {message}\n")


def test_a_tool_input_that_is_too_large_or_too_deep_is_refused(tmp_path: Path) -> None:
    file = in_file(tmp_path, {"a": [[["b"]]]})
    large = askdesk("ask", "--no-wait", "--tool", "Bash", file, env={"ASKDESK_MAX_BYTES": "10"})
    deep = askdesk("ask", "--no-wait", "--tool", "Bash", file, env={"ASKDESK_MAX_DEPTH": "2"})

    assert (large.code, large.out) == (2, "")
    assert (deep.code, deep.out) == (2, "")


def test_another_store_can_be_named(tmp_path: Path) -> None:
    ran = askdesk("ask", "--no-wait", "--store", f"sqlite://{tmp_path}/other.db", in_file(tmp_path, DATABASE))

    async def ids() -> list[str]:
        async with open_desk(str(tmp_path / "other.db")) as desk:
            return [entry.ask.id async for entry in desk.each("open")]

    assert asyncio.run(ids()) == [ran.out.strip()]
    assert kept_asks() == []


def test_closed_standard_streams_answer_nothing(tmp_path: Path) -> None:
    file = in_file(tmp_path, DATABASE)

    assert in_shell("<&-", "ask", file).code == 6
    assert in_shell("<&-", "ask").code == 2
    assert in_shell("<&- 2>&-", "ask", file).code == 6
    assert [entry.settlement for entry in kept_asks()] == [None, None]


def test_a_result_that_nobody_can_read_is_a_failure_and_the_answer_is_kept(tmp_path: Path) -> None:
    ask = posted(WHICH, key="k1")
    settled(ask, Declined("no"))

    assert in_shell(">/dev/full", "wait", ask.id).code == 1
    assert in_shell(">&-", "wait", ask.id).code in (1, 3)
    entry = kept(ask.id)
    assert entry.settlement is not None
    assert entry.settlement.outcome == Declined("no")


@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}], ids=["ascii", "C locale"]
)
def test_a_terminal_without_unicode_still_shows_and_answers(env: dict[str, str], tmp_path: Path) -> None:
    question = {"question": "Welche Größe — 大きさ?", "header": "G", "options": ["groß", "klein"], "multiSelect": False}
    ran = askdesk("ask", in_file(tmp_path, {"questions": [question]}), typed="1\n", env=env)
    entry = only()
    shown = askdesk("show", entry.ask.id, env=env)
    listed = askdesk("list", "--settled", env=env)

    assert (ran.code, json.loads(ran.out)["answers"]) == (0, {"Welche Größe — 大きさ?": "groß"})
    assert "Welche Gr\\xf6\\xdfe \\u2014 \\u5927\\u304d\\u3055?" in ran.err
    assert (shown.code, listed.code) == (0, 0)
    assert "Welche Gr\\xf6\\xdfe" in shown.out
    assert "Welche Gr\\xf6\\xdfe" in listed.out


@pytest.mark.parametrize("variable", AGENT_VARIABLES)
def test_an_agent_cannot_answer_itself_through_a_pipe(variable: str, tmp_path: Path) -> None:
    question = askdesk("ask", in_file(tmp_path, DATABASE), typed="1\n", env={variable: "1"})
    call = askdesk("ask", "--tool", "Bash", in_file(tmp_path, CALL), typed="yes\n", env={variable: "1"})

    assert [ran.code for ran in (question, call)] == [6, 6]
    assert question.out + call.out == ""
    assert "this is an agent's shell" in question.err
    assert [entry.settlement for entry in kept_asks()] == [None, None]


def test_two_asks_share_a_pipe_line_by_line(tmp_path: Path) -> None:
    script = 'askdesk() { "$PYTHON" -m askdesk.cli.main "$@"; }; askdesk ask "$1"; askdesk ask "$1"'
    ran = subprocess.run(
        ["bash", "-c", script, "bash", in_file(tmp_path, DATABASE)],
        input=b"1\n2\n",
        capture_output=True,
        env={**surroundings(), "PYTHON": sys.executable},
        check=True,
    )
    results = [json.loads(line)["answers"] for line in ran.stdout.splitlines()]
    assert results == [{"Which database?": "SQLite"}, {"Which database?": "Postgres"}]


def test_the_same_questions_written_otherwise_are_the_same_ask_under_a_key(tmp_path: Path) -> None:
    first = askdesk("ask", "--no-wait", "--key", "k", in_file(tmp_path, DATABASE))
    turned = {"questions": [dict(reversed(DATABASE["questions"][0].items()))], "answers": {"Which database?": "x"}}
    second = askdesk("ask", "--no-wait", "--key", "k", in_file(tmp_path, turned))

    assert (second.code, second.out) == (0, first.out)


def test_a_store_in_memory_takes_no_ask_that_nobody_waits_for(tmp_path: Path) -> None:
    ran = askdesk("ask", "--no-wait", "--store", "memory:", in_file(tmp_path, DATABASE))
    assert (ran.code, ran.out) == (2, "")
