"""`askdesk acp --run`: an agent of ACP with a desk, as a person runs it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acp.scripted_agent import SESSION
from tests.cli.command import ASKDESK, Ran, askdesk, kept, kept_asks, settled, surroundings, until
from tests.terminal import Terminal

from askdesk.cli import run_screen
from askdesk.core.model import Allowed, Answer, Answered, Ask, Denied, Withdrawn

SECONDS = 30.0
AGENT = shlex.join([sys.executable, "-S", str(Path(__file__).parent.parent / "acp" / "scripted_agent.py")])
CALL = {"toolCallId": "1", "kind": "execute", "title": "Run it", "rawInput": {"command": "touch x"}}
OPTIONS = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
PERMISSION = ["request", "session/request_permission", {"sessionId": SESSION, "toolCall": CALL, "options": OPTIONS}]
FIELD = {"type": "string", "title": "Database", "enum": ["Postgres", "SQLite"]}
SCHEMA = {"type": "object", "properties": {"question_0": FIELD}}
FORM = [
    "request",
    "elicitation/create",
    {"sessionId": SESSION, "mode": "form", "message": "Which db?", "requestedSchema": SCHEMA},
]


def says(text: str) -> list[Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return ["notify", "session/update", {"sessionId": SESSION, "update": update}]


def calls() -> list[Any]:
    return ["notify", "session/update", {"sessionId": SESSION, "update": {"sessionUpdate": "tool_call", **CALL}}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--run", "x", "--permission-mode", "plan", "go"),
            "--permission-mode: is for the agent of an editor, and must not be given with --run",
        ),
        (("--stay",), "--stay: needs --run"),
        (("--surface", "none"), "--surface: needs --run"),
    ],
)
def test_flags_of_the_other_side_are_refused(arguments: tuple[str, ...], words: str) -> None:
    ran = askdesk("acp", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_prompt_that_was_read_from_standard_input_leaves_nobody_to_answer_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_screen, "read_file", lambda *_: b"go")
    given = Namespace(prompt=None, resume=None)
    assert run_screen.prompt(given, "the agent") == "go"
    assert given.prompt == "-"  # as where it was given: asks are shown at the terminal itself


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*ASKDESK, "acp", "--run", AGENT, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=SECONDS)
    return Ran(process.returncode, out, err)


def the_open_ask() -> Ask:
    def asks() -> list[Ask]:
        there = os.path.exists(os.environ["ASKDESK_STORE"])
        return [entry.ask for entry in kept_asks() if entry.settlement is None] if there else []

    until(lambda: len(asks()) == 1)
    return asks()[0]


def test_in_a_pipe_the_result_alone_is_printed_and_people_answer_elsewhere() -> None:
    with started("--surface", "none", json.dumps([says("One moment."), PERMISSION, FORM])) as process:
        ask = the_open_ask()
        settled(ask, Allowed())
        until(lambda: the_open_ask().id != ask.id)
        form = the_open_ask()
        answered = askdesk("answer", form.id, typed=json.dumps({"answers": {"Which db?": "SQLite"}}))
        ran = ended(process)
    accepted = {"action": "accept", "content": {"question_0": "SQLite"}}
    came_back = [{"outcome": {"outcome": "selected", "optionId": "once"}}, accepted]
    waits = [f"askdesk: ask {one.id} waits for an answer: askdesk answer {one.id[:8]}" for one in (ask, form)]
    assert (answered.code, ran.code, ran.err.splitlines()) == (0, 0, waits)
    assert ran.out == f"One moment.{json.dumps(came_back)}\n"


def test_on_a_terminal_it_says_what_it_does_and_asks_in_a_form() -> None:
    script = json.dumps([says("Let me \x1b[31mask."), calls(), FORM, PERMISSION])
    with Terminal("acp", "--run", AGENT, "--agent", "builder", script, captured=False) as person:
        person.shows("Let me \\x1b[31mask.", "· execute touch x", "builder asks", "Which db?")
        _let_keys_count()
        person.press("2")
        person.shows("touch x", "Run it")
        _let_keys_count()
        person.press("3", "enter")
        person.shows('"optionId": "no"')
        assert person.leaves().code == 0
    outcomes = [entry.settlement.outcome for entry in kept_asks() if entry.settlement]
    assert sorted(outcomes, key=lambda outcome: type(outcome).__name__) == [Answered([Answer(["SQLite"])]), Denied()]


def _let_keys_count() -> None:
    opens = time.monotonic() + 0.45  # before that, keys decide nothing
    until(lambda: time.monotonic() > opens)


def test_how_it_ended_is_printed_for_programs() -> None:
    ran = askdesk("acp", "--run", AGENT, "--json", "hello")
    assert (ran.code, json.loads(ran.out)) == (0, {"ended": "done", "result": "heard: hello", "session": SESSION})
    ran = askdesk("acp", "--run", AGENT, "--json", "--resume", SESSION, json.dumps([["die", 3]]))
    assert (ran.code, json.loads(ran.out)["ended"]) == (1, "failed")
    assert ran.err.splitlines()[-1] == "askdesk: I \\x1b[31mcannot go on"


def test_a_person_who_stops_it_ends_it() -> None:
    with started("--surface", "none", json.dumps([PERMISSION, ["hold"]])) as process:
        settled(the_open_ask(), Denied(stop=True))
        ran = ended(process)
    assert (ran.code, ran.out, ran.err.splitlines()[-1]) == (3, "", "askdesk: stopped by a person")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_ends_it_withdraws_what_it_asked_and_ends_the_agent(number: signal.Signals) -> None:
    with started("--surface", "none", json.dumps([PERMISSION])) as process:
        ask = the_open_ask()
        (agent,) = _children_of(process.pid)
        process.send_signal(number)
        ran = ended(process)
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "askdesk: stopped")
    settlement = kept(ask.id).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the run was interrupted")
    assert not agent.exists()


def _children_of(number: int) -> list[Path]:
    listed = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [Path("/proc") / child for child in listed]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--run", "x", ""), "askdesk: PROMPT: must not be blank: what should the agent do?\n"),
        (
            ("--run", "x", "--resume", "y"),
            "askdesk: PROMPT: must not be left out without --stay: what should the agent do?\n",
        ),
        (("--run", "x", "--folder", "/nowhere", "y"), "askdesk: --folder: there is no folder /nowhere\n"),
        (("--run", "x 'y", "z"), "askdesk: command: no closing quotation: x 'y\n"),
    ],
)
def test_bad_input_is_said(arguments: tuple[str, ...], error: str) -> None:
    assert askdesk("acp", *arguments) == Ran(2, "", error)


def test_an_agent_that_cannot_work_is_said() -> None:
    assert askdesk("acp", "--run", "/nowhere/agent", "x") == Ran(
        1, "", "askdesk: the agent: /nowhere/agent cannot be started: No such file or directory\n"
    )
    assert askdesk("acp", "--run", f"{AGENT} shy", "x") == Ran(
        1,
        "",
        "askdesk: the agent: somebody has to sign in first (Authentication required)\n"
        "askdesk:   API key: Set the \\x1b[31mkey\n",
    )


def test_without_the_library_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "acp.py").write_text("raise ImportError")
    ran = askdesk("acp", "--run", AGENT, "x", env={"PYTHONPATH": str(tmp_path)})
    assert ran == Ran(1, "", "askdesk: agent-client-protocol is not installed: pip install 'askdesk[acp]'\n")
