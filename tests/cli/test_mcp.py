"""`askdesk mcp` as a host starts it, over standard input and output: the real client, and one that just goes away."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult
from tests.adapters.test_mcp import Host, asked
from tests.adapters.test_mcp_tools import ANSWERED, CALL, ERAS, SECONDS, text_of
from tests.cli.command import ASKDESK, kept, settled, surroundings

from askdesk.core.model import Answer, Answered
from askdesk.open import open_desk
from askdesk.wire import mcp


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_host_asks_in_its_dialog_and_the_answer_is_kept(era: str) -> None:
    async def elicited(context: Any, params: Any) -> ElicitResult:
        await asyncio.sleep(0.5)  # sooner no person could have sent it
        return ElicitResult(action="accept", content={"question_0": "SQLite"})

    command, *arguments = (*ASKDESK, "mcp")
    server = StdioServerParameters(command=command, args=arguments, env=surroundings({"ASKDESK_BY": "ana"}))
    async with Client(server, mode=era, elicitation_callback=elicited) as client, asyncio.timeout(SECONDS):
        assert text_of(await client.call_tool(mcp.ASK, CALL)) == (False, ANSWERED.format("SQLite"))
    async with open_desk() as desk:
        (entry,) = (await desk.page("settled")).entries
    assert entry.settlement
    assert (entry.ask.asker.project, entry.settlement.by) == (os.getcwd(), "ana")


@pytest.mark.parametrize("end", ["leaves", "is killed", "ends us"])
def test_a_host_that_goes_away_mid_form_leaves_the_ask_open_and_the_next_one_gets_its_answer(end: str) -> None:
    host = Host(mode="")
    try:
        host.greets(elicitation={})
        host.calls(CALL, name=mcp.ASK)
        shown = host.reads()
        assert (shown["method"], shown["params"]["message"]) == ("elicitation/create", "Which db?")
        (ask,) = asked()
        if end == "is killed":
            host.process.kill()
            host.process.wait()
        elif end == "ends us":
            host.process.send_signal(signal.SIGTERM)
            assert host.sees_the_end().code == 0
        else:
            assert host.leaves().code == 0
    finally:
        host.close()
    assert kept(ask.id).settlement is None
    settled(ask, Answered([Answer(["Postgres"])]))
    next_one = Host(mode="")
    try:
        next_one.greets()
        next_one.calls(CALL, name=mcp.ASK)
        (block,) = next_one.reads()["result"]["content"]
        assert block["text"] == ANSWERED.format("Postgres")
    finally:
        next_one.close()
