"""Asks in a listing."""

import os
import socket
import subprocess
import sys
from datetime import timedelta

import pytest

from askdesk.core.model import Answer, Answered, Ask, Asker, Entry, Permission, Question, Questions, Settlement
from askdesk.core.text import Shown, width
from askdesk.surfaces.asker import age, is_gone
from askdesk.surfaces.terminal.table import table
from askdesk.testing.clock import NOON

DATABASE = Questions([Question("Which database?", ["SQLite", "Postgres"])])
HEADING = "ID        AGE     AGENT           PROJECT               ASK"


def entry(body: Questions | Permission = DATABASE, asker: Asker | None = None) -> Entry:
    return Entry(Ask("0123456789abcdef", body, asker or Asker("builder", project="/srv/app"), NOON))


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_each_ask_is_a_line_below_the_heading() -> None:
    both = Questions([Question("Which database?", ["a", "b"]), Question("Why?", kind="text")])
    answered = Settlement(Answered([Answer(["SQLite"])]), NOON, "s1", "ana", "plain")
    entries = [
        entry(),
        entry(both, Asker("a reviewer with a long name", project="/srv/a project with a long name")),
        entry(Permission("Bash", {})),
        Entry(entry().ask, answered),
        entry(asker=Asker("x", project="/")),
    ]

    assert list(table(entries, NOON + timedelta(minutes=90))) == [
        HEADING,
        "01234567  1h      builder         app                   Which database?",
        "01234567  1h      a reviewer wi…  a project with a lo…  Which database? (+1 more)",
        "01234567  1h      builder         app                   permission for Bash",
        "01234567  1h      builder         app                   answered by ana on plain: Which database?",
        "01234567  1h      x               /                     Which database?",
    ]


def test_a_long_question_is_cut() -> None:
    line = list(table([entry(Questions([Question("why " * 50 + "?", ["a", "b"])]))], NOON))[1]

    assert line == f"01234567  now     builder         app                   {('why ' * 50)[:59]}…"


def test_wide_characters_keep_the_columns_straight() -> None:
    asker = Asker("データベース担当者", project="/srv/テストプロジェクトの名前")
    line = list(table([entry(asker=asker)], NOON))[1]

    before = line[: line.index("Which")]
    assert width(Shown(before)) == HEADING.index("ASK")
    assert line == "01234567  now     データベース…   テストプロジェクト…   Which database?"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "now"),
        (0, "now"),
        (0.9, "now"),
        (1, "1s"),
        (59, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86400, "1d"),
        (1e8, "1157d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds: float, shown: str) -> None:
    assert age(timedelta(seconds=seconds)) == shown


def test_an_ask_whose_process_is_gone_is_marked() -> None:
    here = socket.gethostname()
    gone = Asker("builder", project="/srv/app", host=here, process=ended_process())

    assert list(table([entry(asker=gone)], NOON))[1].endswith("Which database? [its process is gone]")
    assert is_gone(gone)


@pytest.mark.parametrize(
    "asker",
    [
        Asker(host=socket.gethostname(), process=os.getpid()),
        Asker(host=socket.gethostname(), process=1),
        Asker(host=socket.gethostname()),
        Asker(host="elsewhere", process=99999999),
        Asker(process=99999999),
    ],
    ids=["this one", "somebody else's", "none", "on another machine", "on a machine unknown"],
)
def test_a_process_that_lives_or_cannot_be_seen_is_not_gone(asker: Asker) -> None:
    assert not is_gone(asker)


@pytest.mark.parametrize("process", [2**31, 2**63, 2**100])
def test_a_process_number_that_no_machine_has_breaks_no_listing(process: int) -> None:
    asker = Asker("builder", host=socket.gethostname(), process=process)

    assert len(list(table([entry(asker=asker)], NOON))) == 2


def test_hostile_text_stays_in_its_line_and_column() -> None:
    asker = Asker("\x1b[2Jx\ny", project="/srv/\u202eabc\n0123")
    question = Questions([Question("\x1b]0;t\x07?\n01234567  now     fake", ["a", "b"])])
    lines = list(table([entry(question, asker), entry(Permission("\x1b[1mBash\n", {}), asker)], NOON))

    assert lines == [
        HEADING,
        "01234567  now     \\x1b[2Jx y      \\u{202e}abc 0123      \\x1b]0;t\\x07? 01234567  now     fake",
        "01234567  now     \\x1b[2Jx y      \\u{202e}abc 0123      permission for \\x1b[1mBash",
    ]
