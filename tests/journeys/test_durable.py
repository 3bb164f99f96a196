"""An ask outlives every process: told on the real command line, also with kill -9 in between."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.command import until
from tests.stores.remote import new_tokens, serving

ASKDESK = [sys.executable, "-m", "askdesk.cli.main"]
QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}],
    "multiSelect": False,
}
SQLITE = json.dumps({"answers": {"Which database?": "SQLite"}})
POSTGRES = json.dumps({"answers": {"Which database?": "Postgres"}})
RESULT = {"questions": [QUESTION], "answers": {"Which database?": "SQLite"}}


def askdesk(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ASKDESK, *arguments], input=said, capture_output=True, text=True, check=False, timeout=30)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*ASKDESK, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def has_the_desk_open() -> bool:
    """Whether some process does: SQLite keeps this file just as long."""
    return Path(f"{os.environ['ASKDESK_STORE']}-wal").exists()


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.wait() == -9
    assert has_the_desk_open()  # nobody has tidied up


@pytest.fixture(params=["file", "server"])
def _anywhere(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The desk is a file on this machine, or a server that has it."""
    if request.param == "file":
        yield
        return
    tokens = asyncio.run(new_tokens(tmp_path / "desk.db"))
    with serving(tmp_path / "desk.db") as server:
        monkeypatch.setenv("ASKDESK_STORE", server.url)
        monkeypatch.setenv("ASKDESK_TOKEN", tokens["asker_token"])
        monkeypatch.setenv("ASKDESK_ANSWER_TOKEN", tokens["answerer_token"])
        yield


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"questions": [QUESTION]}))
    return str(path)


def posted(file: str) -> str:
    run = askdesk("ask", "--no-wait", file)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.strip()


def open_ids() -> list[str]:
    listed = json.loads(askdesk("list", "--json").stdout)
    return [entry["ask"]["id"] for entry in listed["entries"]]


def assert_settled_for_good(ask_id: str) -> None:
    """Ana's SQLite stands; whoever comes later learns it."""
    waited = askdesk("wait", ask_id)
    assert (waited.returncode, json.loads(waited.stdout), waited.stderr) == (0, RESULT, "")
    late = askdesk("answer", ask_id, "--by", "ben", said=POSTGRES)
    assert (late.returncode, late.stdout) == (8, "")
    assert late.stderr == f"askdesk: ask {ask_id} is already settled: answered by ana on command line\n"
    again = askdesk("answer", ask_id, "--by", "ana", said=SQLITE)
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr == f"askdesk: ask {ask_id} is settled: answered by ana on command line\n"
    waited = askdesk("wait", ask_id)
    assert (waited.returncode, json.loads(waited.stdout)) == (0, RESULT)
    assert open_ids() == []


@pytest.mark.usefixtures("_anywhere")
def test_an_ask_is_posted_listed_answered_and_waited_for_by_processes_that_come_and_go(file: str) -> None:
    ask_id = posted(file)
    assert open_ids() == [ask_id]
    listed = askdesk("list")
    assert listed.returncode == 0
    assert ask_id[:8] in listed.stdout
    assert "Which database?" in listed.stdout
    answered = askdesk("answer", ask_id, "--by", "ana", said=SQLITE)
    assert (answered.returncode, answered.stdout) == (0, "")
    assert_settled_for_good(ask_id)


@pytest.mark.usefixtures("_anywhere")
def test_of_two_different_answers_by_the_same_person_the_first_stands(file: str) -> None:
    ask_id = posted(file)
    assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
    assert askdesk("answer", ask_id, "--by", "ana", said=POSTGRES).returncode == 8
    assert_settled_for_good(ask_id)


@pytest.mark.usefixtures("_anywhere")
def test_an_agent_that_went_on_working_collects_a_late_answer_once(file: str) -> None:
    ask_id = posted(file)
    assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
    first, again = askdesk("collect", "--wait", "20s"), askdesk("collect")
    (line,) = first.stdout.splitlines()
    assert (first.returncode, first.stderr) == (0, "")
    assert {name: json.loads(line)[name] for name in ("id", "outcome", "result")} == {
        "id": ask_id,
        "outcome": "answered",
        "result": RESULT,
    }
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "askdesk: nothing is left to collect\n")


def test_whoever_waits_gets_the_result_the_moment_somebody_answers(file: str) -> None:
    ask_id = posted(file)
    with started("wait", ask_id) as waiting:
        until(has_the_desk_open)
        assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
        out, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, json.loads(out)) == (0, RESULT)
    assert err == f"askdesk: waiting for an answer to ask {ask_id[:8]}\n"


def test_a_wait_that_is_killed_changes_nothing_and_is_done_again(file: str) -> None:
    ask_id = posted(file)
    for _ in range(2):
        with started("wait", ask_id) as waiting:
            until(has_the_desk_open)
            killed(waiting)
        assert open_ids() == [ask_id]  # and, as the last one to close, tidies up
    with started("wait", ask_id) as waiting:
        until(has_the_desk_open)
        assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
        out, _ = waiting.communicate(timeout=20)
    assert json.loads(out) == RESULT
    assert_settled_for_good(ask_id)


def shown_id(asking: subprocess.Popen[str]) -> str:
    """Which ask a process waits for, in its own words."""
    assert asking.stderr
    return asking.stderr.readline().split()[2]


def test_an_agent_killed_while_it_waits_asks_again_under_its_key_and_gets_the_answer_given_meanwhile(file: str) -> None:
    asking = ("ask", "--surface", "none", "--key", "deploy-1", file)
    with started(*asking) as first:
        ask_id = shown_id(first)
        killed(first)
    assert open_ids() == [ask_id]
    with started(*asking) as second:
        assert shown_id(second) == ask_id
        killed(second)
    assert open_ids() == [ask_id]
    assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
    third = askdesk(*asking)
    assert (third.returncode, json.loads(third.stdout)) == (0, RESULT)
    assert_settled_for_good(ask_id)


def test_an_agent_killed_before_the_answer_and_back_before_it_too_gets_it_as_it_comes(file: str) -> None:
    asking = ("ask", "--surface", "none", "--key", "deploy-1", file)
    with started(*asking) as first:
        ask_id = shown_id(first)
        killed(first)
    with started(*asking) as second:
        assert shown_id(second) == ask_id
        assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
        out, _ = second.communicate(timeout=20)
    assert (second.returncode, json.loads(out)) == (0, RESULT)
    assert_settled_for_good(ask_id)


@pytest.mark.usefixtures("_anywhere")
def test_an_answer_whose_sender_is_killed_at_any_moment_is_sent_again_and_stands_once(file: str) -> None:
    for pause in (0.05, 0.15, 0.25):
        ask_id = posted(file)
        answering = subprocess.Popen(
            [*ASKDESK, "answer", ask_id, "--by", "ana"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        with answering:
            assert answering.stdin
            answering.stdin.write(SQLITE)
            answering.stdin.close()
            time.sleep(pause)  # the moment of the kill, not a wait for anything
            answering.kill()
        assert askdesk("answer", ask_id, "--by", "ana", said=SQLITE).returncode == 0
        waited = askdesk("wait", ask_id)
        assert (waited.returncode, json.loads(waited.stdout)) == (0, RESULT)
