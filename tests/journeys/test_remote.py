"""Agent and person on other machines than the desk: nothing but an address and a token, on the real command line."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import CALL, DATABASE, Ran, askdesk, in_file, until
from tests.cli.person import Person
from tests.stores.remote import Serving, new_tokens, serving
from tests.terminal import Terminal

SQLITE = json.dumps({"answers": {"Which database?": "SQLite"}})
RESULT = {**DATABASE, "answers": {"Which database?": "SQLite"}}


class Remote:
    """A desk server in a process of its own, and who may do what there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        tokens = asyncio.run(new_tokens(path))
        self.secrets = [token.split("_", 3)[3] for token in tokens.values()]
        self._agent = {"ASKDESK_TOKEN": tokens["asker_token"]}
        self._person = {"ASKDESK_ANSWER_TOKEN": tokens["answerer_token"]}
        self.server: Serving

    @property
    def agent(self) -> dict[str, str]:
        return {"ASKDESK_STORE": self.server.url, **self._agent}

    @property
    def person(self) -> dict[str, str]:
        return {"ASKDESK_STORE": self.server.url, **self._person}

    @property
    def both(self) -> dict[str, str]:
        return {**self.agent, **self._person}

    def posted(self, folder: Path) -> str:
        ran = askdesk("ask", "--no-wait", in_file(folder, DATABASE), env=self.agent)
        assert (ran.code, ran.err) == (0, "")
        return ran.out.strip()


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    remote = Remote(tmp_path / "desk.db")
    with serving(remote.path) as remote.server:
        yield remote


def shown_id(asking: Person, remote: Remote) -> str:
    """Which ask a process waits for, and that it says where to answer it."""
    ask_id = asking.reads(" waits").split()[2]
    assert asking.reads(ask_id) == f" for an answer: {remote.server.url}/asks/{ask_id}"
    return ask_id


def test_one_process_asks_and_another_answers(remote: Remote, tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE), env=remote.agent) as asking:  # at a terminal, and yet no form
        ask_id = shown_id(asking, remote)
        listed = askdesk("list", env=remote.person)
        answered = askdesk("answer", ask_id[:8], "--by", "somebody else", typed=SQLITE, env=remote.person)
        result = asking.leaves()

    assert (listed.code, ask_id[:8] in listed.out) == (0, True)
    assert answered == Ran(0, "", f"askdesk: ask {ask_id} is settled: answered by ana on command line\n")
    assert (result.code, json.loads(result.out)) == (0, RESULT)
    assert (result.err, asking.process.returncode) == ("\n", 0)


def test_what_a_person_reads_is_still_the_agents_to_collect(remote: Remote, tmp_path: Path) -> None:
    ask_id = remote.posted(tmp_path)
    assert askdesk("answer", ask_id, typed=SQLITE, env=remote.person).code == 0
    read, collected = askdesk("wait", ask_id, env=remote.person), askdesk("collect", env=remote.agent)

    assert (read.code, json.loads(read.out), read.err) == (0, RESULT, "")
    assert [json.loads(line)["id"] for line in collected.out.splitlines()] == [ask_id]
    refused = askdesk("collect", env=remote.person)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "askdesk: ASKDESK_TOKEN: is not set; this takes the token of an asker\n"


def test_who_waits_outlives_a_server_that_is_killed(remote: Remote, tmp_path: Path) -> None:
    with Person("ask", "--key", "k1", in_file(tmp_path, DATABASE), env=remote.agent) as asking:
        ask_id = shown_id(asking, remote)
        remote.server.killed()
        with serving(remote.path, remote.server.port):
            assert askdesk("answer", ask_id, typed=SQLITE, env=remote.person).code == 0
            result = asking.leaves()
            again = askdesk("ask", "--key", "k1", in_file(tmp_path, DATABASE), env=remote.agent)

    assert (result.code, json.loads(result.out)) == (0, RESULT)
    assert (again.code, json.loads(again.out)) == (0, RESULT)


def test_a_permission_is_asked_for_and_allowed(remote: Remote, tmp_path: Path) -> None:
    with Person("ask", "--tool", "Bash", in_file(tmp_path, CALL), env=remote.agent) as asking:
        ask_id = shown_id(asking, remote)
        allowed = askdesk("answer", ask_id, "--allow", env=remote.person)
        result = asking.leaves()

    assert (allowed.code, allowed.out) == (0, "")
    assert (result.code, json.loads(result.out)) == (0, {"behavior": "allow", "updatedInput": CALL})


def counts() -> None:
    """Wait until keys count: for the first 400 ms after an ask is shown none does."""
    opens = time.monotonic() + 0.45
    until(lambda: time.monotonic() > opens)


def test_who_may_answer_is_asked_right_here(remote: Remote, tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE), env=remote.both) as lines:
        lines.reads("Your choice: ")
        lines.types("1\n")
        in_lines = lines.leaves()
    with Terminal("ask", in_file(tmp_path, DATABASE), env=remote.both) as form:
        form.shows("Which database?", "SQLite")
        counts()
        form.press("1")
        on_form = form.leaves()

    assert (in_lines.code, json.loads(in_lines.out)) == (0, RESULT)
    assert (on_form.code, json.loads(on_form.out)) == (0, RESULT)


def test_the_inbox_shows_what_comes_and_keeps_what_was_typed(remote: Remote, tmp_path: Path) -> None:
    with Terminal("inbox", env=remote.person) as person:
        person.shows("No agent waits for an answer.")
        ask_id = remote.posted(tmp_path)
        person.shows("Open 1", "Which database?")
        counts()
        person.press("enter")
        person.shows("❯ 1. ○ SQLite")
        counts()
        person.press("n", *"soon", "enter", "escape")
        person.shows("Leave this ask?")
        person.press("down", "enter")
        person.shows("Open 1")
        counts()
        person.press("q")
        assert person.leaves().code == 0
    shown = askdesk("show", ask_id, env=remote.person)

    assert (shown.code, "soon" in shown.out) == (0, True)


def test_without_a_token_to_answer_with_nobody_answers_here(remote: Remote, tmp_path: Path) -> None:
    ask_id = remote.posted(tmp_path)
    missing = "ASKDESK_ANSWER_TOKEN: is not set; this takes the token of an answerer"
    piped = askdesk("answer", ask_id, typed=SQLITE, env=remote.agent)
    inbox = askdesk("inbox", env=remote.agent)
    with Person("answer", ask_id, env=remote.agent) as ana:
        at_terminal = ana.leaves()
    shown = askdesk("show", ask_id, env=remote.agent)

    assert piped == Ran(2, "", f"askdesk: {missing}\n")
    assert inbox == Ran(6, "", f"askdesk: ASKDESK_ANSWER_TOKEN is not set: people answer on {remote.server.url}\n")
    assert (at_terminal.code, "ASKDESK_ANSWER_TOKEN is not set" in at_terminal.err) == (6, True)
    assert (shown.code, shown.err, "Which database?" in shown.out) == (0, "", True)


def test_without_a_token_to_ask_with_nothing_is_asked(remote: Remote, tmp_path: Path) -> None:
    ran = askdesk("ask", "--no-wait", in_file(tmp_path, DATABASE), env=remote.person)

    assert ran == Ran(2, "", "askdesk: ASKDESK_TOKEN: is not set; this takes the token of an asker\n")


def test_ctrl_c_takes_back_an_ask_without_a_key_and_ends_a_wait(remote: Remote, tmp_path: Path) -> None:
    with Person("ask", in_file(tmp_path, DATABASE), env=remote.agent) as asking:
        withdrawn = shown_id(asking, remote)
        asking.process.send_signal(signal.SIGINT)
        stopped = asking.leaves()
    ask_id = remote.posted(tmp_path)
    with Person("wait", ask_id, env=remote.agent) as waiting:
        waiting.reads("waiting for an answer")
        waiting.process.send_signal(signal.SIGINT)
        ended = waiting.leaves()

    assert (stopped.code, stopped.err.splitlines()[-1]) == (5, f"askdesk: ask {withdrawn} is withdrawn")
    assert (ended.code, ended.err.splitlines()[-1]) == (7, "askdesk: the wait ended; the ask is as it was")


def about_the_desk(ran: Ran) -> list[str]:
    """What the doctor found from the store on, but for the hooks of this machine."""
    lines = ran.out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.split()[1] == "store")
    return [line for line in lines[first:] if "hooks" not in line]


def test_the_doctor_tells_what_each_token_may_do_and_never_what_it_is(remote: Remote) -> None:
    well, lonely = askdesk("doctor", env=remote.both), askdesk("doctor", env=remote.agent)
    swapped = askdesk("doctor", env={**remote.agent, "ASKDESK_ANSWER_TOKEN": remote.agent["ASKDESK_TOKEN"]})
    remote.server.killed()
    away = askdesk("doctor", env=remote.both)

    assert (well.code, well.err) == (0, "")
    assert about_the_desk(well) == [
        f"ok     store                  {remote.server.url}",
        "ok     desk server            answers",
        "ok     ASKDESK_TOKEN          set; asks as builder",
        "ok     ASKDESK_ANSWER_TOKEN   set; answers as ana",
        "ok     open asks              0",
    ]
    assert "ok     ASKDESK_ANSWER_TOKEN   not set: nobody answers from here" in lonely.out.splitlines()
    assert about_the_desk(swapped)[-1] == "WRONG  ASKDESK_ANSWER_TOKEN   set, but the token is an asker's"
    assert (away.code, about_the_desk(away)[-1]) == (
        1,
        f"WRONG  desk server            {remote.server.url}: Connection refused",
    )
    for ran in (well, lonely, swapped, away):
        assert not [secret for secret in remote.secrets if secret in ran.out + ran.err]
