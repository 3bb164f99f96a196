"""`askdesk acp` as a process: what it leaves behind when the editor goes, and what survives when it goes itself."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acp.editor import FORMS, PAGES, returning
from tests.acp.process import is_running, started
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel
from tests.cli.command import ASKDESK, surroundings

from askdesk.core.model import Answer, Answered, Withdrawn
from askdesk.open import open_desk
from askdesk.surfaces import serving

pytestmark = pytest.mark.anyio
ASK = Call("AskUserQuestion", DATABASE, "toolu_1")


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    with ScriptedModel(ASK, Say("bye")) as model:
        yield Claude(tmp_path, model)


async def test_when_the_editor_goes_nothing_is_left(claude: Claude) -> None:
    async with started(claude) as agent:
        await agent.editor.initialize(**FORMS)
        session = await agent.editor.open(claude.project)
        prompting = asyncio.ensure_future(agent.editor.prompt(session))
        await agent.editor.until(lambda: agent.editor.asked)
        children = agent.children()
        began = time.monotonic()
    assert agent.process.returncode == 0
    assert time.monotonic() - began < 10
    assert children
    assert [number for number in children if is_running(number)] == []
    assert "Traceback" not in agent.errors
    with pytest.raises(ConnectionError):
        await prompting
    async with open_desk() as desk:
        (entry,) = [entry async for entry in desk.each("settled")]
    assert entry.settlement
    assert entry.settlement.outcome == Withdrawn("the run was interrupted")


async def test_a_session_goes_on_after_the_agent_was_killed_over_a_form(claude: Claude) -> None:
    async with started(claude) as agent:
        await agent.editor.initialize(**FORMS)
        session = await agent.editor.open(claude.project)
        prompting = asyncio.ensure_future(agent.editor.prompt(session, "choose"))
        await agent.editor.until(lambda: agent.editor.asked)
        agent.process.kill()
        with pytest.raises(ConnectionError):
            await prompting
    async with open_desk() as desk:
        (left,) = [entry async for entry in desk.each("open")]
    async with started(claude) as agent:
        await agent.editor.initialize(**FORMS)
        await agent.editor.request("session/load", sessionId=session, cwd=str(claude.project), mcpServers=[])
        assert agent.editor.of("user_message_chunk")[0]["content"]["text"] == "choose"
        assert agent.editor.of("tool_call")[0]["toolCallId"] == "toolu_1"
        assert await agent.editor.prompt(session, "go on") == "end_turn"
        assert "go on" in claude.model.said_to
    async with open_desk() as desk:
        settlement = (await desk.get(left.ask.id)).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the agent died, and its session was started again")


async def test_where_the_desk_is_served_the_editor_leads_to_the_page(claude: Claude) -> None:
    claude.model._turns = iter([ASK, Say("one"), ASK._replace(id="toolu_2"), Say("two")])
    answer = Answered((Answer(("Postgres",)),))
    async with open_desk() as desk, started(claude, "--notes", env={"ASKDESK_DIALOG_SECONDS": "0.01"}) as agent:
        await serving.begin(desk.shelf, "http://127.0.0.1:9", desk.now())
        await agent.editor.initialize(**PAGES)
        session = await agent.editor.open(claude.project)
        prompting = asyncio.ensure_future(agent.editor.prompt(session))
        await agent.editor.until(lambda: agent.editor.asked)
        ((_, request),) = agent.editor.asked
        (entry,) = [entry async for entry in desk.each("open")]
        assert request["url"] == f"http://127.0.0.1:9/asks/{entry.ask.id}"
        await desk.settle(entry.ask.id, answer, by="ben", surface="page")
        assert await prompting == "end_turn"
        await agent.editor.until(lambda: agent.editor.completed == [entry.ask.id])

        await agent.editor.initialize(**FORMS)
        session = await agent.editor.open(claude.project)
        agent.editor.answers["elicitation/create"] = returning({"action": "cancel"}, after=0.05)
        prompting = asyncio.ensure_future(agent.editor.prompt(session))
        await agent.editor.until(lambda: "This waits for an answer at the desk" in agent.editor.said)
        assert "question_0_note" in agent.editor.asked[-1][1]["requestedSchema"]["properties"]
        (entry,) = [entry async for entry in desk.each("open")]
        assert f"http://127.0.0.1:9/asks/{entry.ask.id}" in agent.editor.said
        await desk.settle(entry.ask.id, answer, by="ben", surface="page")
        assert await prompting == "end_turn"


def test_who_runs_it_by_hand_is_told_that_an_editor_does() -> None:
    done = subprocess.run(
        [*ASKDESK, "acp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=surroundings(), check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "askdesk: an editor starts this and speaks with it through pipes: askdesk acp --help tells how\n"
    )
