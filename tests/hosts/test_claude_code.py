"""Our MCP server in the real Claude Code: `claude -p`, whose dialog is shown to nobody, and on its own screen."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import SECONDS, Claude
from tests.claude.desk import press_until
from tests.claude.model import Call, Say, ScriptedModel
from tests.cli.command import DATABASE, TWO, kept, kept_asks, settled, until
from tests.terminal import Terminal

from askdesk.core.model import Answer, Answered, Ask, Denied, Permission, Withdrawn
from askdesk.core.process import is_gone

ASK, PERMIT = "mcp__askdesk__ask_user_question", "mcp__askdesk__ask_permission"
TOOLS = {ASK, PERMIT, "mcp__askdesk__ask_without_waiting", "mcp__askdesk__collect_answers"}
SQLITE = 'ANSWERED: the person chose among your options.\n- "Which database?" = "SQLite"'
LONG: dict[str, Any] = {"tool_name": "Bash", "input": {"command": "\n".join(f"make part-{n}" for n in range(30))}}


@pytest.fixture
def claude(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Claude]:
    """Claude Code whose agent calls what the test says, and may call our tools."""
    with ScriptedModel(request.param, Say("bye")) as model:
        claude = Claude(tmp_path, model)
        claude.more = {"ENABLE_TOOL_SEARCH": "true", "ASKDESK_STORE": os.environ["ASKDESK_STORE"], "ASKDESK_BY": "ana"}
        claude.settings(permissions={"allow": ["mcp__askdesk"]})
        yield claude


def ours(claude: Claude, seconds: float = 30) -> tuple[str, ...]:
    """The arguments that give it our server. What is closed so soon was shown to nobody."""
    server: dict[str, Any] = {"command": sys.executable, "args": ["-m", "askdesk.cli.main", "mcp"]}
    server["env"] = {"ASKDESK_DIALOG_SECONDS": f"{seconds}"}
    return "--mcp-config", json.dumps({"mcpServers": {"askdesk": server}}), "--strict-mcp-config"


@contextmanager
def at_its_screen(claude: Claude, seconds: float = 30) -> Iterator[Terminal]:
    """Where somebody has told it to go on, once it has started our server."""
    with claude.open("--permission-mode", "default", *ours(claude, seconds)) as terminal:
        store = Path(os.environ["ASKDESK_STORE"])
        terminal.becomes(lambda: "? for shortcuts" in terminal.text and store.exists(), "it is ready", SECONDS)
        terminal.types("go")
        terminal.press("enter")
        yield terminal


def asking(*calls: Call) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("claude", calls, indirect=True)


def the_ask() -> Ask:
    until(lambda: len(kept_asks()) == 1)
    (entry,) = kept_asks()
    return entry.ask


@asking(Call(ASK, DATABASE, "toolu_1"))
@pytest.mark.parametrize("mode", ["default", "dontAsk", "bypassPermissions"])
def test_claude_p_has_our_tools_from_the_start_and_whatever_its_mode_a_person_at_the_desk_answers(
    claude: Claude, mode: str
) -> None:
    claude.more["IS_SANDBOX"] = "1"  # or it bypasses nothing where the tests are run by root
    process = claude.start("-p", "go", "--output-format", "json", "--permission-mode", mode, *ours(claude))
    ask = the_ask()
    assert (ask.asker.agent, ask.asker.project) == ("claude-code", str(claude.project))
    assert claude.model.results == {}
    settled(ask, Answered([Answer(["SQLite"])]))
    out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, json.loads(out)["result"]) == (0, "bye")
    assert claude.model.results == {"toolu_1": {"content": SQLITE, "is_error": False}}
    assert claude.model.tools >= TOOLS


@asking(Call(ASK, DATABASE, "toolu_1"))
def test_when_claude_p_is_interrupted_the_ask_stays_for_the_session_to_come_back_to(claude: Claude) -> None:
    process = claude.start("-p", "go", *ours(claude))
    ask = the_ask()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert ask.asker.process is not None
    until(lambda: is_gone(ask.asker.host, ask.asker.process or 0))
    assert kept(ask.id).settlement is None
    assert claude.model.results == {}


@asking(Call(ASK, TWO, "toolu_1"))
def test_on_its_screen_a_person_fills_in_the_form_with_keys(claude: Claude) -> None:
    with at_its_screen(claude, 1.5) as terminal:
        terminal.shows("MCP server “askdesk” requests your input", "Database: ▸ not set", "Which database?", "Parts:")
        press_until(terminal, "right", lambda: "SQLite - One file" in terminal.text)
        terminal.shows("Postgres - A server")
        terminal.press("space")
        terminal.shows("✔ Database: ▸ SQLite - One file")
        press_until(terminal, "down", lambda: "❯ Accept" in terminal.text)
        press_until(terminal, "enter", lambda: bool(claude.model.results))
        terminal.kill()
    told = (
        "PARTLY ANSWERED: the person answered 1 of 2 questions and left the others blank on purpose. Do not assume an "
        'answer to a blank one.\n- "Which database?" = "SQLite"\n- "Which parts?" = (left blank)'
    )
    assert claude.model.results == {"toolu_1": {"content": told, "is_error": False}}
    settlement = kept(the_ask().id).settlement
    assert settlement
    assert (settlement.by, settlement.surface) == ("ana", "claude-code dialog")


@asking(Call(PERMIT, LONG, "toolu_1"))
def test_a_call_of_which_its_dialog_would_cut_most_off_is_judged_at_the_desk_alone(claude: Claude) -> None:
    with at_its_screen(claude) as terminal:
        terminal.becomes(lambda: bool(kept_asks()), "it is asked", SECONDS)
        ask = the_ask()
        assert ask.body == Permission("Bash", LONG["input"], str(claude.project))
        assert "requests your input" not in terminal.settles()
        settled(ask, Denied("too much"))
        terminal.becomes(lambda: bool(claude.model.results), "the model has read the decision")
        terminal.kill()
    assert claude.model.results["toolu_1"]["is_error"]


@asking(Call(PERMIT, LONG, "toolu_1"))
def test_a_call_that_the_person_breaks_off_on_its_screen_is_withdrawn(claude: Claude) -> None:
    with at_its_screen(claude) as terminal:
        terminal.becomes(lambda: bool(kept_asks()), "it is asked", SECONDS)
        ask = the_ask()
        press_until(terminal, "escape", lambda: kept(ask.id).settlement is not None)
        terminal.kill()
    settlement = kept(ask.id).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the agent stopped waiting")
