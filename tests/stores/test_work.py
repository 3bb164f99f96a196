"""An agent on another machine hears what people tell it: it with an asker's token alone, they with an answerer's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import repeat
from typing import Any

import pytest
from tests.server.running import Running
from tests.stores.remote import Deed, Wire, behind

from askdesk.core import work
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidSettings
from askdesk.core.model import Asker
from askdesk.core.work import Told
from askdesk.stores.http import HTTPStore
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

AGENT = Asker("claude", session="s-1", project="/srv/site", host="elsewhere", process=1)
HERE = work.address(AGENT)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def server(wire: Wire) -> AsyncIterator[Running]:
    async with behind(wire, Desk(MemoryStore())) as server:
        yield server


async def opened(wire: Wire, **tokens: Any) -> Desk:
    return Desk(await HTTPStore.open(wire.url, **tokens, pauses=lambda: repeat(0.001)))


@pytest.fixture
async def agent(server: Running, wire: Wire) -> AsyncIterator[Desk]:
    desk = await opened(wire, asker_token=await server.token("asker", "builder"))
    yield desk
    await desk.store.close()


@pytest.fixture
async def person(server: Running, wire: Wire) -> AsyncIterator[Desk]:
    desk = await opened(wire, answerer_token=await server.token("answerer", "ana"))
    yield desk
    await desk.store.close()


async def test_an_agent_elsewhere_hears_what_a_person_elsewhere_tells_it(
    server: Running, agent: Desk, person: Desk
) -> None:
    async with agent.at_work(AGENT) as at_work:
        assert [seen.asker for seen in await person.working()] == [AGENT]
        told = await person.tell(AGENT, "use tabs", by="whoever", surface="page")
        assert (told.text, told.by, told.surface) == ("use tabs", "ana", "page")
        heard = await at_work.take()
        assert heard == told
        assert await work.told(person.shelf, HERE) == (Told(instruction=told, heard=None),)
        await at_work.delivered(heard)
        (reached,) = await work.told(person.shelf, HERE)
        assert reached.heard is not None
        assert reached.heard >= told.at
        assert await at_work.take() is None
    assert await person.working() == ()


async def test_within_limits_it_is_the_same(server: Running, wire: Wire) -> None:
    limits: dict[str, Any] = {"projects": ["/srv/site"], "agents": ["claude"]}
    agent = await opened(wire, asker_token=await server.token("asker", **limits))
    person = await opened(wire, answerer_token=await server.token("answerer", "ana", **limits))
    async with agent.at_work(AGENT) as at_work:
        told = await person.tell(AGENT, stop=True)
        heard = await at_work.take()
        assert heard == told
        await at_work.delivered(heard)
        assert [one.heard is not None for one in await work.told(person.shelf, HERE)] == [True]
    assert await work.at_work(person.shelf, HERE, person.now()) is None
    await agent.store.close()
    await person.store.close()


async def test_an_agents_token_tells_nobody_anything(server: Running, agent: Desk) -> None:
    with pytest.raises(InvalidSettings, match="ASKDESK_ANSWER_TOKEN: is not set"):
        await agent.tell(AGENT, "use tabs")
    assert await work.told(server.desk.shelf, HERE) == ()


async def test_what_is_told_twice_since_the_answer_was_lost_is_told_once(
    server: Running, wire: Wire, person: Desk
) -> None:
    wire.script += [Deed(answers=0), Deed(answers=0)]
    told = await person.tell(AGENT, "use tabs")
    assert await work.told(server.desk.shelf, HERE) == (Told(instruction=told, heard=None),)


async def test_an_agent_that_took_something_and_never_got_the_answer_still_has_it(
    server: Running, wire: Wire, agent: Desk
) -> None:
    told = await server.desk.tell(AGENT, "use tabs")
    async with agent.at_work(AGENT) as at_work:
        wire.cut()
        # One connection for each request, so that the answer to the taking is the one that is lost.
        wire.script += [Deed(answers=10**9), Deed(answers=10**9), Deed(answers=0)]
        assert await at_work.take() == told
        assert wire.script == type(wire.script)()


async def test_what_was_heard_a_day_ago_is_no_burden_to_an_agent_elsewhere(server: Running, agent: Desk) -> None:
    async with agent.at_work(AGENT) as at_work:
        told = await server.desk.tell(AGENT, "use tabs")
        assert await at_work.take() == told
        await at_work.delivered(told)
    async with agent.at_work(AGENT) as at_work:
        assert await at_work.take() is None
