"""Our MCP server in the real Codex: `codex exec`, which has a dialog and shows it to nobody, and its own screen."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.claude.desk import press_until
from tests.cli.command import TWO, kept, kept_asks, settled, until
from tests.hosts.codex import Codex, codex
from tests.hosts.responses_api import Call, Say, ScriptedModel
from tests.hosts.typescript import A_PERSON_TAKES
from tests.terminal import Terminal

from askdesk.core.model import Answer, Answered, Ask

ASK = "mcp__askdesk__ask_user_question"
COLLECT = "mcp__askdesk__collect_answers"
BOTH = Answered([Answer(["SQLite"]), Answer(["Logging"], multi_select=True)])
ANSWERED = (
    'ANSWERED: the person chose among your options.\n- "Which database?" = "SQLite"\n- "Which parts?" = "Logging"'
)
NOTHING = "NOTHING NEW: nothing that you asked is open or waits to be collected."


def the_ask() -> Ask:
    until(lambda: len(kept_asks()) == 1)
    (entry,) = kept_asks()
    return entry.ask


@pytest.mark.parametrize(
    "approving", [(), ("--approve-for-me",), ("--dangerously-bypass-approvals-and-sandbox",)], ids=["", "review", "all"]
)
def test_whatever_codex_exec_approves_by_itself_only_a_person_at_the_desk_answers(
    tmp_path: Path, approving: tuple[str, ...]
) -> None:
    with ScriptedModel(Call(ASK, TWO, "call_1"), Say("bye")) as model:
        running = Codex(tmp_path, model)
        process = running.start(*approving)
        ask = the_ask()
        assert ask.asker.agent == "codex-mcp-client"
        until(lambda: len(model.requests) == 1 and kept(ask.id).settlement is None)
        settled(ask, BOTH)
        assert running.ends(process).code == 0
    assert running.told == [ANSWERED]


def test_near_its_limit_codex_is_told_that_the_ask_is_open_and_the_same_call_goes_on_with_it(tmp_path: Path) -> None:
    turns = (Call(ASK, TWO, "call_1"), Call(ASK, TWO, "call_2"), Call(COLLECT, {}, "call_3"), Say("bye"))
    with ScriptedModel(*turns) as model:
        running = Codex(tmp_path, model, "--limit", "1s")
        process = running.start()
        ask = the_ask()
        until(lambda: "call_1" in model.results)
        settled(ask, BOTH)
        assert running.ends(process).code == 0
    first, *rest = running.told
    assert (first.startswith("STILL OPEN: nobody has answered yet"), ask.id in first) == (True, True)
    assert rest == [ANSWERED, NOTHING]
    assert len(kept_asks()) == 1


def test_on_its_screen_every_question_is_shown_and_can_be_answered_with_keys(tmp_path: Path) -> None:
    """Of a form with a list in it this Codex shows nothing but its message, and a blank last text it does not send."""
    with ScriptedModel(Call(ASK, TWO, "call_1"), Say("bye")) as model:
        running = Codex(tmp_path, model)
        command = ("env", "-C", str(running.project), str(codex()), "--no-daemon")
        with Terminal(command=command, columns=100, lines=40, captured=False, env=running.env) as terminal:
            terminal.shows("gpt-5 default", seconds=60)
            terminal.types("go")
            terminal.press("enter")
            terminal.shows("Field 1/6", "Which database?", "1. SQLite - One file", "2. Postgres - A server")
            press_until(terminal, "enter", lambda: "Field 2/6" in terminal.text)
            terminal.shows("Other", "Type your answer (optional)")
            terminal.press("ctrl+n")
            terminal.shows("Field 3/6", "Sign-in - Accounts", "Which parts?", "› 1. No")
            terminal.press("enter")
            terminal.shows("Field 4/6", "Logging - Lines", "› 1. No")
            terminal.press("down")
            terminal.shows("› 2. Yes")
            terminal.press("enter")
            terminal.shows("Field 5/6")
            terminal.press("ctrl+n")
            terminal.shows("Field 6/6", "1. Send the answers")
            time.sleep(A_PERSON_TAKES)
            terminal.press("enter")
            terminal.becomes(lambda: bool(model.results), "the model has read the answer")
            terminal.kill()
    assert running.told == [ANSWERED]
    settlement = kept(the_ask().id).settlement
    assert settlement
    assert (settlement.by, settlement.surface) == ("ana", "codex-mcp-client dialog")
