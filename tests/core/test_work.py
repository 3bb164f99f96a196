"""People tell agents something unasked: it is kept, and each instruction is delivered once."""

import asyncio
import os
import subprocess
import sys
from datetime import timedelta

import msgspec
import pytest

from askdesk.core import work
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidReply, Problem
from askdesk.core.model import Asker
from askdesk.core.process import here
from askdesk.core.work import Heard, Instruction, Told, Work
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio
AGENT = Asker("claude", session="s-1", project="/srv/site")


async def heard(at_work: Work) -> list[Instruction]:
    """All that waits for this agent, each said to be delivered."""
    found: list[Instruction] = []
    while instruction := await at_work.take():
        await at_work.delivered(instruction)
        found.append(instruction)
    return found


def dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


async def test_what_is_told_is_heard_in_order_and_once(desk: Desk, clock: FakeClock) -> None:
    async with desk.at_work(AGENT) as at_work:
        first = await desk.tell(AGENT, "use tabs", by="ana", surface="page")
        clock.advance(1)
        second = await desk.tell(AGENT, stop=True, by="ana", surface="page")
        assert await heard(at_work) == [first, second]
        assert await heard(at_work) == []
    assert [told.instruction for told in await work.told(desk.shelf, work.address(AGENT))] == [first, second]


async def test_what_is_told_to_an_agent_that_is_away_waits_for_its_session(desk: Desk, clock: FakeClock) -> None:
    told = await desk.tell(AGENT, "and then the docs", by="ana", surface="page")
    assert await work.told(desk.shelf, work.address(AGENT)) == (Told(instruction=told, heard=None),)
    again = msgspec.structs.replace(AGENT, host="elsewhere", process=1)
    async with desk.at_work(again) as at_work:
        assert await heard(at_work) == [told]
    assert await work.told(desk.shelf, work.address(AGENT)) == (Told(instruction=told, heard=clock.now()),)


async def test_another_session_hears_nothing_of_it(desk: Desk, clock: FakeClock) -> None:
    await desk.tell(AGENT, "use tabs")
    async with desk.at_work(msgspec.structs.replace(AGENT, session="s-2")) as at_work:
        assert await heard(at_work) == []


async def test_of_two_processes_of_a_session_one_hears_it(desk: Desk, clock: FakeClock) -> None:
    async with desk.at_work(AGENT) as one, desk.at_work(AGENT) as other:
        told = await desk.tell(AGENT, "use tabs")
        assert await heard(one) == [told]
        assert await heard(other) == []


async def test_what_a_process_took_and_died_with_is_delivered_by_the_next(desk: Desk) -> None:
    told = await desk.tell(AGENT, "use tabs")
    taken = Heard(at=desk.now(), host=here()[0], process=dead_process())
    name = f"heard/{work.address(AGENT)}/{told.id}"
    await desk.shelf.put(name, msgspec.json.encode(taken).decode())
    async with desk.at_work(AGENT) as at_work:
        assert await heard(at_work) == [told]


async def test_what_a_living_process_took_is_its_to_deliver(desk: Desk, clock: FakeClock) -> None:
    told = await desk.tell(AGENT, "use tabs")
    taken = Heard(at=desk.now(), host=here()[0], process=os.getppid())
    await desk.shelf.put(f"heard/{work.address(AGENT)}/{told.id}", msgspec.json.encode(taken).decode())
    async with desk.at_work(AGENT) as at_work:
        assert await heard(at_work) == []


async def test_what_could_not_be_delivered_waits_again(desk: Desk) -> None:
    told = await desk.tell(AGENT, "use tabs")
    async with desk.at_work(AGENT) as at_work, desk.at_work(AGENT) as other:
        assert await at_work.take() == told
        await other.put_back(told)  # which is not theirs
        assert await other.take() is None
        await at_work.put_back(told)
        assert await heard(other) == [told]


async def test_the_same_submission_twice_tells_once(desk: Desk, clock: FakeClock) -> None:
    first = await desk.tell(AGENT, "use tabs", submission="0a")
    clock.advance(1)
    await desk.tell(AGENT, "use tabs", submission="0a")
    async with desk.at_work(AGENT) as at_work:
        assert await heard(at_work) == [first]
        assert await heard(at_work) == []


@pytest.mark.parametrize("text", ["", "  ", "\u200b"])
async def test_there_must_be_something_to_tell(desk: Desk, text: str) -> None:
    with pytest.raises(InvalidReply) as error:
        await desk.tell(AGENT, text)
    assert error.value.problems == (Problem("text", "must not be blank: there is nothing to tell"),)


async def test_agents_are_seen_while_they_work(desk: Desk, clock: FakeClock) -> None:
    assert await desk.working() == ()
    async with desk.at_work(AGENT):
        (seen,) = await desk.working()
        assert (seen.asker, seen.since, seen.address) == (AGENT, clock.now(), work.address(AGENT))
    assert await desk.working() == ()


async def test_an_agent_whose_process_died_is_not_at_work(desk: Desk) -> None:
    dead = msgspec.structs.replace(AGENT, host=here()[0], process=dead_process())
    await Work(desk.shelf, dead, FakeClock()).begin()
    assert await desk.working() == ()


async def test_an_agent_without_a_sign_of_life_is_not_at_work(desk: Desk, clock: FakeClock) -> None:
    at_work = Work(desk.shelf, AGENT, clock)
    await at_work.begin()
    clock.advance(175)
    assert len(await desk.working()) == 1
    clock.advance(10)
    assert await desk.working() == ()


async def test_an_agent_that_listens_hears_at_once_and_gives_signs_of_life(desk: Desk, clock: FakeClock) -> None:
    async with desk.at_work(AGENT) as at_work:
        listening = asyncio.ensure_future(anext(aiter(at_work)))
        clock.advance(100)
        told = await desk.tell(AGENT, "use tabs")
        while not listening.done():
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert listening.result() == told
        listening = asyncio.ensure_future(anext(aiter(at_work)))
        while (await desk.working())[0].seen < told.at + timedelta(seconds=60):
            clock.advance(1)
            await asyncio.sleep(0.001)
        listening.cancel()


async def test_what_was_heard_a_day_ago_is_put_away(desk: Desk, clock: FakeClock) -> None:
    await desk.tell(AGENT, "use tabs")
    async with desk.at_work(AGENT) as at_work:
        await heard(at_work)
    waiting = await desk.tell(AGENT, "and blanks", submission="ff")
    clock.advance(timedelta(days=2).total_seconds())
    async with desk.at_work(AGENT):
        assert await work.told(desk.shelf, work.address(AGENT)) == (Told(instruction=waiting, heard=None),)


async def test_a_process_that_ends_takes_nothing_away_from_one_that_came_later(desk: Desk, clock: FakeClock) -> None:
    first, later = (Work(desk.shelf, AGENT, clock) for _ in range(2))
    await first.begin()
    await later.begin()
    await first.end()
    assert len(await desk.working()) == 1
    await later.end()
    assert await desk.working() == ()


async def test_what_stands_is_what_was_told_first(desk: Desk, clock: FakeClock) -> None:
    first = await desk.tell(AGENT, "use tabs", by="ana", submission="0a")
    clock.advance(1)
    assert await desk.tell(AGENT, "use tabs", by="bob", submission="0a") == first


async def test_something_else_in_the_same_submission_is_told_too(desk: Desk, clock: FakeClock) -> None:
    told = []
    for text, stop in [("use tabs", False), ("use blanks", False), ("use blanks", True), ("", True)]:
        told.append(await desk.tell(AGENT, text, stop=stop, submission="0a"))
        clock.advance(1)
    assert [(one.text, one.stop) for one in told] == [
        *(("use tabs", False), ("use blanks", False), ("use blanks", True), ("", True)),
    ]
    async with desk.at_work(AGENT) as at_work:
        assert await heard(at_work) == told


async def test_notes_of_agents_that_died_long_ago_are_put_away(desk: Desk, clock: FakeClock) -> None:
    dead = msgspec.structs.replace(AGENT, session="s-0")
    await Work(desk.shelf, dead, clock).begin()
    clock.advance(timedelta(days=2).total_seconds())
    async with desk.at_work(AGENT) as at_work:
        assert [document.name for document in await desk.shelf.list("working/")] == [f"working/{at_work.address}"]


async def test_whether_it_was_heard_can_be_waited_for(desk: Desk, clock: FakeClock) -> None:
    told = await desk.tell(AGENT, "use tabs")
    assert await desk.heard(AGENT, told, timeout=0) is None
    waiting = asyncio.ensure_future(desk.heard(AGENT, told))
    async with desk.at_work(AGENT) as at_work:
        await heard(at_work)
        while not waiting.done():
            clock.advance(0.1)
            await asyncio.sleep(0.001)
    assert await desk.heard(AGENT, told, timeout=0) == waiting.result() is not None
