"""MCP over HTTP: the real client at /mcp of a real server, in both eras, with tokens that ask and that answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from tests.adapters.test_mcp_tools import ANSWERED, CALL, ERAS, SECONDS, text_of
from tests.server.running import Running, running

from askdesk.core import seal
from askdesk.core.desk import Desk
from askdesk.core.errors import StoreGone
from askdesk.core.model import Answer, Answered, Asker
from askdesk.core.store import Shelf
from askdesk.server import tokens
from askdesk.stores.memory import MemoryStore
from askdesk.wire import mcp

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with running(Desk(MemoryStore()), dialog_seconds=0.0) as server:
        yield server


@asynccontextmanager
async def host(
    server: Running, era: str, headers: dict[str, str], content: dict[str, Any] | None = None, query: str = ""
) -> AsyncIterator[Client]:
    async def elicited(context: Any, params: Any) -> ElicitResult:
        await asyncio.sleep(0.5)  # sooner no person could have sent it
        return ElicitResult(action="accept", content=content)

    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
        transport = streamable_http_client(f"{server.url}/mcp{query}", http_client=http)
        async with Client(transport, mode=era, elicitation_callback=elicited if content else None) as client:
            yield client


async def bearer(server: Running, *, answers: bool = False, **limits: Any) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {await server.token('asker', **limits)}"}
    return {**headers, "Askdesk-Answer-Token": await server.token("answerer")} if answers else headers


async def settled(server: Running) -> Asker:
    async with server.desk.watch() as hints, asyncio.timeout(SECONDS):
        while not (entries := (await server.desk.page("open")).entries):
            await anext(hints)
    await server.desk.settle(entries[0].ask.id, Answered([Answer(["Postgres"])]), by="ben", surface="page")
    return entries[0].ask.asker


@pytest.mark.parametrize("era", ERAS)
async def test_a_host_with_a_token_that_answers_too_answers_in_its_dialog(server: Running, era: str) -> None:
    headers = await bearer(server, answers=True)
    async with host(server, era, headers, {"question_0": "SQLite"}, "?agent=bot&project=web") as client:
        assert text_of(await client.call_tool(mcp.ASK, CALL)) == (False, ANSWERED.format("SQLite"))
    (entry,) = (await server.desk.page("settled")).entries
    assert entry.settlement
    asker = entry.ask.asker
    assert (asker.agent, asker.project, entry.settlement.by) == ("bot", "web", "ana")


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_that_asks_never_answers_also_not_through_the_dialog(server: Running, era: str) -> None:
    async with host(server, era, await bearer(server), {"question_0": "SQLite"}) as client:
        calling = asyncio.ensure_future(client.call_tool(mcp.ASK, CALL))
        await settled(server)
        assert text_of(await calling) == (False, ANSWERED.format("Postgres"))


@pytest.mark.parametrize("text", ["asker", "nonsense"])
async def test_what_is_no_token_that_answers_is_refused(server: Running, text: str) -> None:
    headers = await bearer(server)
    other = await server.token("asker") if text == "asker" else text
    refused = await server.request("POST", "/mcp", body={}, headers={**headers, "Askdesk-Answer-Token": other})
    assert refused.status == 401


async def test_a_limited_token_asks_as_what_it_is_limited_to(server: Running) -> None:
    async with host(server, "2026-07-28", await bearer(server, agents=["bot"], projects=["web"])) as client:
        calling = asyncio.ensure_future(client.call_tool(mcp.ASK, CALL))
        asker = await settled(server)
        assert (asker.agent, asker.project) == ("bot", "web")
        await calling


async def test_a_limited_token_asks_for_nobody_else(server: Running) -> None:
    headers = await bearer(server, projects=["web", "shop"])
    async with host(server, "2026-07-28", headers, query="?agent=bot&project=bank") as client:
        assert text_of(await client.call_tool(mcp.ASK, CALL)) == (
            True,
            'NOT ASKED: asker.project: this token asks for ["web", "shop"] alone',
        )


@pytest.mark.parametrize("era", ERAS)
async def test_an_answerer_answers_in_the_dialog_only_what_it_may_know(server: Running, era: str) -> None:
    headers = await bearer(server)
    headers["Askdesk-Answer-Token"] = await server.token("answerer", projects=["shop"])
    async with host(server, era, headers, {"question_0": "SQLite"}, "?project=bank") as client:
        calling = asyncio.ensure_future(client.call_tool(mcp.ASK, CALL))
        await settled(server)
        assert text_of(await calling) == (False, ANSWERED.format("Postgres"))


async def test_only_new_asks_are_counted_never_what_is_brought_or_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Desk(MemoryStore()), dialog_seconds=0.0, asks_a_minute=1, clock=lambda: 0.0) as server:
        headers = await bearer(server, answers=True)
        async with host(server, "2026-07-28", headers, {"question_0": "SQLite"}) as client:
            assert text_of(await client.call_tool(mcp.ASK, CALL)) == (False, ANSWERED.format("SQLite"))
            is_error, text = text_of(await client.call_tool(mcp.ASK, CALL))
            assert (is_error, text.splitlines()[1]) == (True, "too many asks a minute: try again in a minute")
            assert text_of(await client.call_tool(mcp.COLLECT, {}))[1].startswith("NOTHING NEW")


async def test_an_input_of_very_many_values_is_refused(server: Running) -> None:
    call = {"tool_name": "Bash", "input": {"values": [0] * 20_001}}
    async with host(server, "2026-07-28", await bearer(server)) as client:
        is_error, text = text_of(await client.call_tool(mcp.PERMIT, call))
    assert (is_error, text.splitlines()[1]) == (True, "body.input: must not hold more than 20000 values")


async def test_after_a_moment_without_the_store_it_works_again(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = await bearer(server)
    key = seal.key

    async def gone(shelf: Shelf, name: str) -> bytes:
        monkeypatch.setattr(seal, "key", key)
        raise StoreGone("for a moment")

    monkeypatch.setattr(seal, "key", gone)
    assert (await server.request("POST", "/mcp", body={}, headers=headers)).status == 503
    async with host(server, "2026-07-28", headers) as client:
        assert len((await client.list_tools()).tools) == 4


async def test_what_one_token_left_is_not_collected_with_another(server: Running) -> None:
    async with host(server, "2026-07-28", await bearer(server)) as one:
        await one.call_tool(mcp.LEAVE, CALL)
        await settled(server)
        async with host(server, "2026-07-28", await bearer(server)) as other:
            assert text_of(await other.call_tool(mcp.COLLECT, {}))[1].startswith("NOTHING NEW")
        assert ANSWERED.format("Postgres") in text_of(await one.call_tool(mcp.COLLECT, {}))[1]


async def test_a_session_is_for_the_token_that_began_it(server: Running) -> None:
    async with host(server, "legacy", await bearer(server)) as client:
        await client.list_tools()
        (session,) = (await server.service.mcp._opened())._manager._server_instances
    other = await bearer(server)
    accept = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = await server.request("POST", "/mcp", body=message, headers={**other, **accept})
    assert refused.status == 404


async def test_when_the_server_ends_calls_end_and_asks_stay_open(server: Running) -> None:
    async with host(server, "2026-07-28", await bearer(server)) as client:
        calling = asyncio.ensure_future(client.call_tool(mcp.ASK, CALL))
        async with server.desk.watch() as hints, asyncio.timeout(SECONDS):
            while not (await server.desk.page("open")).entries:
                await anext(hints)
            await server.service.end()
        (ended,) = await asyncio.gather(calling, return_exceptions=True)
        assert isinstance(ended, Exception)
    (entry,) = (await server.desk.page("open")).entries
    assert entry.settlement is None


async def test_a_token_that_is_revoked_meanwhile_hears_no_answer(server: Running) -> None:
    headers = await bearer(server)
    async with host(server, "2026-07-28", headers) as client:
        calling = asyncio.ensure_future(client.call_tool(mcp.ASK, CALL))
        async with server.desk.watch() as hints, asyncio.timeout(SECONDS):
            while not (await server.desk.page("open")).entries:
                await anext(hints)
        for token in await tokens.tokens(server.desk.shelf):
            await tokens.revoke(server.desk.shelf, token.id, server.desk.now())
        await settled(server)
        assert text_of(await calling) == (
            True,
            "NOT ANSWERED: the token no longer holds. This is not an answer and not consent.",
        )
