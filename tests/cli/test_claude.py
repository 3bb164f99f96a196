"""`askdesk claude`: the real Claude Code with a desk, as a person runs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel, Turn
from tests.cli.command import ASKDESK, Ran, askdesk, kept, kept_asks, settled, surroundings, until
from tests.stores.remote import new_tokens, serving
from tests.terminal import Terminal

from askdesk.core.model import Allowed, Answer, Answered, Ask, Denied, Withdrawn
from askdesk.open import open_desk

SECONDS = 60.0
QUESTION = Call("AskUserQuestion", DATABASE, "toolu_1")
TOUCH = Call("Bash", {"command": "touch x"}, "toolu_2")
POSTGRES = Answered([Answer(["Postgres"])])


@pytest.fixture
def saying(tmp_path: Path) -> Callable[..., Claude]:
    """Claude Code whose model says these turns."""

    def say(*turns: Turn) -> Claude:
        return Claude(tmp_path, ScriptedModel(*turns))

    return say


@contextmanager
def started(claude: Claude, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*ASKDESK, "claude", "--folder", str(claude.project), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(claude.env),
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


def test_in_a_pipe_the_result_alone_is_printed(saying: Callable[..., Claude]) -> None:
    claude = saying([Say("Let me ask."), QUESTION], TOUCH, Say("Built with Postgres."))
    with started(claude, "--surface", "none", "Build it") as process:
        for reply in (POSTGRES, Allowed()):
            assert process.stderr
            said, ask = process.stderr.readline(), the_open_ask()
            assert said == f"askdesk: ask {ask.id} waits for an answer: askdesk answer {ask.id[:8]}\n"
            settled(ask, reply)
        ran = ended(process)
    assert ran == Ran(0, "Built with Postgres.\n", "")
    assert (claude.project / "x").exists()


def test_on_a_terminal_it_says_what_it_does_and_asks_in_a_form(saying: Callable[..., Claude]) -> None:
    claude = saying([Say("One thing.\n\nLet me \x1b[31mask."), QUESTION], Say("Built with SQLite."))
    given = ("claude", "--folder", str(claude.project), "Build it")
    with Terminal(*given, captured=False, env=claude.env) as person:
        person.shows("One thing.", "Which db?")
        assert person.rows[:4] == ["One thing.", "", "Let me \\x1b[31mask.", "claude asks in project"]
        person.settles(0.45)  # before, keys decide nothing
        person.press("2")
        person.shows("Built with SQLite.")
        assert person.leaves().code == 0
    (entry,) = kept_asks()
    assert entry.settlement
    assert (entry.settlement.outcome, entry.settlement.surface) == (Answered([Answer(["SQLite"])]), "terminal")


def test_a_parked_run_is_gone_until_somebody_has_answered(saying: Callable[..., Claude]) -> None:
    claude = saying(QUESTION, Say("Built with Postgres."))
    with started(claude, "--surface", "none", "--park-after", "0.2s", "--json", "Build it") as process:
        parked = ended(process)
    session = json.loads(parked.out)["session"]
    assert json.loads(parked.out) == {"ended": "parked", "result": "", "session": session}
    assert parked.code == 7
    ask = the_open_ask()
    assert parked.err.splitlines() == [
        f"askdesk: ask {ask.id} waits for an answer: askdesk answer {ask.id[:8]}",
        f"askdesk: parked until somebody answers: askdesk claude --resume {session}",
    ]
    assert no_process_of(claude)
    answered = askdesk("answer", ask.id, typed=json.dumps({"answers": {"Which db?": "Postgres"}}))
    assert answered.code == 0
    with started(claude, "--resume", session) as process:
        ran = ended(process)
    assert (ran.code, ran.out) == (0, "Built with Postgres.\n")
    assert claude.model.result == (
        'Your questions have been answered: "Which db?"="Postgres". You can now continue with these answers in mind.'
    )


def no_process_of(claude: Claude) -> bool:
    """Whether nothing runs any more that knows this Claude's home."""
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and str(claude.home).encode() in (process / "environ").read_bytes():
                return int(process.name) == os.getpid()
        except OSError:
            continue
    return True


def test_a_person_who_stops_it_ends_it(saying: Callable[..., Claude]) -> None:
    claude = saying(TOUCH, Say("never said"))
    with started(claude, "--surface", "none", "Build it") as process:
        settled(the_open_ask(), Denied(stop=True))
        ran = ended(process)
    assert (ran.code, ran.out, ran.err.splitlines()[-1]) == (3, "", "askdesk: stopped by a person")
    assert not (claude.project / "x").exists()


def test_ctrl_c_withdraws_what_it_asked(saying: Callable[..., Claude]) -> None:
    claude = saying(TOUCH, Say("never said"))
    with started(claude, "--surface", "none", "Build it") as process:
        ask = the_open_ask()
        process.send_signal(signal.SIGINT)
        ran = ended(process)
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "askdesk: stopped")
    settlement = kept(ask.id).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the run was interrupted")
    until(lambda: no_process_of(claude))


def test_what_people_tell_it_is_its_next_task_while_it_stays(saying: Callable[..., Claude]) -> None:
    claude = saying(Say("One done."), Say("Two done."))
    given = ("claude", "--folder", str(claude.project), "--stay", "One")
    with Terminal(*given, captured=False, env=claude.env) as person:
        person.shows("One done.")
        tell("Two")
        person.shows("Two done.")
        person.press("ctrl+c")
        assert person.leaves().code == 1
    assert claude.model.said_to[-1] == "Two"


def tell(words: str) -> None:
    async def told() -> None:
        async with open_desk() as desk:
            (working,) = await desk.working()
            await desk.tell(working.asker, words, by="ana", surface="script")

    asyncio.run(told())


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("",), "askdesk: PROMPT: must not be blank: what should Claude do?\n"),
        ((), "askdesk: PROMPT: must not be blank: what should Claude do?\n"),
        (("--folder", "/nowhere", "x"), "askdesk: --folder: there is no folder /nowhere\n"),
    ],
)
def test_bad_input_is_said(arguments: tuple[str, ...], error: str) -> None:
    assert askdesk("claude", *arguments) == Ran(2, "", error)


def test_without_the_sdk_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "claude_agent_sdk.py").write_text("raise ImportError")
    ran = askdesk("claude", "x", env={"PYTHONPATH": str(tmp_path)})
    assert ran == Ran(1, "", "askdesk: claude-agent-sdk is not installed: pip install 'askdesk[claude]'\n")


def test_a_claude_code_that_cannot_work_is_said(saying: Callable[..., Claude]) -> None:
    claude = saying()
    env: dict[str, Any] = {**claude.env, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "0"}
    command = [*ASKDESK, "claude", "--folder", str(claude.project), "x"]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings(env), timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("askdesk: Claude Code: API Error: Connection refused")


def test_a_desk_that_is_killed_meanwhile_answers_nothing_by_itself(
    saying: Callable[..., Claude], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude asks at a desk server; kill -9, another one takes its place, and the person's answer arrives."""
    claude = saying(QUESTION, TOUCH, Say("Built with Postgres."))
    given = asyncio.run(new_tokens(tmp_path / "desk.db"))
    with serving(tmp_path / "desk.db") as first:
        remote = {"ASKDESK_STORE": first.url, "ASKDESK_TOKEN": given["asker_token"]}
        monkeypatch.setenv("ASKDESK_STORE", str(tmp_path / "desk.db"))
        claude.more = remote
        with started(claude, "--surface", "none", "Build it") as process:
            ask = the_open_ask()
            first.killed()
            settled(ask, POSTGRES)  # on the machine that keeps the desk, while no server runs
            with serving(tmp_path / "desk.db", first.port) as second:
                call = the_open_ask()
                assert len(claude.model.requests) == 2
                second.killed()
            with serving(tmp_path / "desk.db", first.port):
                settled(call, Denied("not now"))
                ran = ended(process)
    assert (ran.code, ran.out) == (0, "Built with Postgres.\n")
    assert not (claude.project / "x").exists()
