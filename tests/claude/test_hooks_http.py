"""Claude Code's hooks straight to a server, without a process on this machine: the real CLI, server and installer."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.claude.cli import Claude
from tests.claude.desk import press_until, serving, settlement_within, the_ask
from tests.claude.model import DATABASE, Call, ScriptedModel
from tests.cli.command import askdesk, settled
from tests.terminal import Terminal

from askdesk.core.model import Allowed, Answer, Answered, Denied, Reply, Withdrawn
from askdesk.open import open_desk
from askdesk.server import tokens
from askdesk.surfaces import serving as notes

ANSWERED = 'Your questions have been answered: "Which db?"="SQLite". You can now continue with these answers in mind.'
DIALOG = "2. SQLite"
SQLITE = Answered([Answer(["SQLite"])])
QUESTION = Call("AskUserQuestion", DATABASE, "toolu_question")
TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make a file"})


async def _reached() -> tuple[str, str]:
    async with open_desk() as desk:
        token = (await tokens.new_token(desk.shelf, "asker", "claude", now=desk.now()))[1]
        return await notes.url(desk.shelf, desk.now()) or "", token


@contextmanager
def asking(folder: Path, turn: Call, *options: str) -> Iterator[tuple[Claude, Terminal, subprocess.Popen[bytes]]]:
    with serving() as server, ScriptedModel(turn) as model:
        claude = Claude(folder, model)
        url, token = asyncio.run(_reached())
        env = {**claude.env, "ASKDESK_TOKEN": token}
        ran = askdesk("install", "claude-code", "--http", url, *options, env=env)
        assert ran.code == 0, ran
        assert token not in (claude.config / "settings.json").read_text()
        with claude.open("--permission-mode", "default", env=env) as terminal:
            terminal.shows("? for shortcuts")
            terminal.types("go")
            terminal.press("enter")
            yield claude, terminal, server


def ends(terminal: Terminal, claude: Claude) -> str:
    terminal.becomes(lambda: bool(claude.model.results), "the model is told")
    return claude.model.result


@pytest.mark.parametrize("mode", ["both", "desk"])
def test_a_server_answers_questions_by_itself(tmp_path: Path, mode: str) -> None:
    with asking(tmp_path, QUESTION, "--mode", mode) as (claude, terminal, _):
        ask = the_ask()
        assert ask.key == "toolu_question"
        terminal.shows(DIALOG if mode == "both" else "running PreToolUse hook")
        settled(ask, SQLITE)
        assert ends(terminal, claude) == ANSWERED


def test_what_is_answered_in_the_terminal_is_told_and_not_settled_by_a_token_that_asks(tmp_path: Path) -> None:
    with asking(tmp_path, QUESTION) as (_, terminal, _):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "2", lambda: DIALOG not in terminal.text)
        told = Withdrawn('answered in Claude Code\'s terminal: "Which db?" = "SQLite"')
        assert settlement_within(2, ask, terminal).outcome == told


def test_chat_about_this_is_told(tmp_path: Path) -> None:
    with asking(tmp_path, QUESTION) as (_, terminal, _):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "down", lambda: "❯ 4. Chat about this" in terminal.text)
        terminal.press("enter")
        assert settlement_within(2, ask, terminal).outcome == Withdrawn("declined in Claude Code's terminal")


def test_escape_withdraws(tmp_path: Path) -> None:
    with asking(tmp_path, QUESTION) as (_, terminal, _):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "escape", lambda: DIALOG not in terminal.text)
        assert settlement_within(2, ask, terminal).outcome == Withdrawn("Claude Code stopped waiting")


def test_a_permission_decided_in_the_terminal_is_withdrawn(tmp_path: Path) -> None:
    with asking(tmp_path, TOUCH, "--permissions") as (_, terminal, _):
        terminal.shows("Do you want to proceed?")
        ask = the_ask()
        press_until(terminal, "1", lambda: "Do you want" not in terminal.text)
        assert settlement_within(2, ask, terminal).outcome == Withdrawn("decided in Claude Code's terminal")


@pytest.mark.parametrize("reply", [Allowed(), Denied("No.")], ids=["allowed", "denied"])
def test_a_server_decides_on_permissions_by_itself(tmp_path: Path, reply: Reply) -> None:
    with asking(tmp_path, TOUCH, "--permissions") as (claude, terminal, _):
        terminal.shows("Do you want to proceed?")
        settled(the_ask(), reply)
        ends(terminal, claude)
        assert (claude.project / "made.txt").exists() == isinstance(reply, Allowed)


@pytest.mark.parametrize("mode", ["both", "desk"])
def test_after_the_server_is_killed_there_is_the_dialog(tmp_path: Path, mode: str) -> None:
    with asking(tmp_path, QUESTION, "--mode", mode) as (claude, terminal, server):
        the_ask()
        server.kill()
        server.wait()
        terminal.shows(DIALOG)
        assert claude.model.results == {}
        press_until(terminal, "2", lambda: DIALOG not in terminal.text)
        assert ends(terminal, claude) == ANSWERED
