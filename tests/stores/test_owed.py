"""An agent on another machine leaves asks and collects the answers, with an asker's token alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import repeat
from typing import Any

import pytest
from msgspec.structs import replace
from tests.server.running import Running
from tests.stores.remote import WHOLE, Deed, Wire, behind

from askdesk.core import owed
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidSettings, KeyReused
from askdesk.core.model import Answer, Answered, Asker, Outcome, Question
from askdesk.server import shelf_rules
from askdesk.stores.http import HTTPStore
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

AGENT = Asker("claude", session="s-1", project="/srv/site", host="elsewhere", process=1)
WHICH = Question("Which?", ["a", "b"])
A = Answered([Answer(["a"])])


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def server(wire: Wire) -> AsyncIterator[Running]:
    async with behind(wire, Desk(MemoryStore())) as server:
        yield server


async def opened(wire: Wire, **tokens: Any) -> Desk:
    return Desk(await HTTPStore.open(wire.url, **tokens, pauses=lambda: repeat(0.001)))


@pytest.fixture(params=["any", "limited", "and may answer"])
async def agent(request: pytest.FixtureRequest, server: Running, wire: Wire) -> AsyncIterator[Desk]:
    limits: dict[str, Any] = {"projects": ["/srv/site"], "agents": ["claude"]} if request.param == "limited" else {}
    given = {"asker_token": await server.token("asker", "builder", **limits)}
    if request.param == "and may answer":
        given["answerer_token"] = await server.token("answerer", "ana", projects=["another"])
    desk = await opened(wire, **given)
    yield desk
    await desk.store.close()


async def settle(server: Running, ask_id: str) -> None:
    await server.desk.settle(ask_id, A, by="ana", surface="page")


async def collected(desk: Desk, asker: Asker = AGENT) -> list[tuple[str, Outcome | None]]:
    entries = [entry async for entry in desk.collect(asker)]
    return [(entry.ask.id, entry.settlement.outcome if entry.settlement else None) for entry in entries]


async def notes(server: Running) -> list[str]:
    return [document.name for document in await server.desk.shelf.list("owed/")]


async def test_an_agent_elsewhere_leaves_asks_and_collects_the_answers_once(server: Running, agent: Desk) -> None:
    first, second = [await agent.leave(WHICH, asker=AGENT) for _ in range(2)]
    assert (await collected(agent), len(await agent.uncollected(AGENT))) == ([], 2)
    await settle(server, second.id)
    assert await collected(agent) == [(second.id, A)]
    assert await collected(agent) == []
    assert [ask.id for ask in await agent.uncollected(AGENT)] == [first.id]
    assert await notes(server) == [owed.name_of(AGENT, first.id)]


async def test_it_waits_for_what_was_left(server: Running, agent: Desk) -> None:
    ask = await agent.leave(WHICH, asker=AGENT)
    waiting = asyncio.ensure_future(agent.left_by(AGENT, timeout=30))
    await server.until(lambda: server.service.metrics.streams > 0)
    await server.desk.post(WHICH, asker=AGENT)
    await settle(server, ask.id)
    async with asyncio.timeout(10):
        assert [entry.ask.id for entry in (await waiting).settled] == [ask.id]


async def test_the_next_process_of_the_session_collects_it_and_another_session_does_not(
    server: Running, agent: Desk
) -> None:
    ask = await agent.leave(WHICH, asker=AGENT)
    await settle(server, ask.id)
    assert await collected(agent, replace(AGENT, session="s-2")) == []
    assert await collected(agent, replace(AGENT, host="yet elsewhere", process=2)) == [(ask.id, A)]


async def test_what_the_server_refuses_leaves_no_note(server: Running, agent: Desk) -> None:
    await agent.leave(WHICH, asker=AGENT, key="k")
    before = await notes(server)
    with pytest.raises(KeyReused):
        await agent.leave(Question("Which other?", ["a", "b"]), asker=AGENT, key="k")
    with pytest.raises(InvalidAsk):
        await agent.leave(WHICH, asker=AGENT, follows="no id")
    assert await notes(server) == before


async def test_whoever_left_too_much_is_told_so(server: Running, agent: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf_rules, "_MOST_OWED", 1)
    await agent.leave(WHICH, asker=AGENT)
    with pytest.raises(InvalidAsk, match="1 asks of this agent are left and not collected"):
        await agent.leave(WHICH, asker=AGENT)
    assert len((await server.desk.page("open")).entries) == 1


async def test_beyond_its_limits_a_token_leaves_and_collects_nothing(server: Running, wire: Wire) -> None:
    agent = await opened(wire, asker_token=await server.token("asker", projects=["another"]))
    theirs = await server.desk.leave(WHICH, asker=AGENT)
    await settle(server, theirs.id)
    with pytest.raises(InvalidSettings, match="this token asks for"):
        await agent.leave(WHICH, asker=AGENT)
    assert (await collected(agent), await agent.uncollected(AGENT)) == ([], ())
    await agent.delivered(theirs.id, AGENT)
    assert await notes(server) == [owed.name_of(AGENT, theirs.id)]
    await agent.store.close()


async def test_who_only_answers_neither_leaves_nor_collects(server: Running, wire: Wire) -> None:
    person = await opened(wire, answerer_token=await server.token("answerer", "ana"))
    with pytest.raises(InvalidSettings, match="ASKDESK_TOKEN: is not set"):
        await person.leave(WHICH, asker=AGENT)
    with pytest.raises(InvalidSettings, match="ASKDESK_TOKEN: is not set"):
        await collected(person)
    await person.store.close()


@pytest.mark.parametrize("lost", range(3), ids=["the note", "the ask", "the delivery"])
async def test_whatever_answer_is_lost_on_its_way_it_is_one_ask_and_delivered(
    server: Running, wire: Wire, agent: Desk, lost: int
) -> None:
    """One connection for each request; of the calls that write something, one has to be sent twice."""
    wire.cut()
    wire.script += [Deed(answers=WHOLE)] * lost + [Deed(answers=0)] if lost < 2 else []
    ask = await agent.leave(WHICH, asker=AGENT, id="a" * 32)
    await settle(server, ask.id)
    wire.cut()
    if lost == 2:
        reads = [Deed(answers=WHOLE)] * 4  # the notes, the ask, and the note twice before it is removed
        wire.script += [*reads, Deed(answers=0)]
    assert await collected(agent) == [(ask.id, A)]
    assert (await notes(server), await collected(agent)) == ([], [])
    assert not wire.script
