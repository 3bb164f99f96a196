"""An agent asks, goes on working and collects what was answered since: nothing is dropped, and little told twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from askdesk.core import owed
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, InvalidAsk, KeyReused, StoreFull, StoreGone
from askdesk.core.model import Answer, Answered, Ask, Asker, Entry, Expired, Outcome, Question, Withdrawn
from askdesk.core.owed import Owed
from askdesk.core.process import here
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

AGENT = Asker("builder", session="s-1", project="web")
NO_SESSION = replace(AGENT, session="")
WHICH = Question("Which?", ["a", "b"])
A, B = Answered([Answer(["a"])]), Answered([Answer(["b"])])


async def collected(desk: Desk, asker: Asker = AGENT) -> list[tuple[str, Outcome | None]]:
    return [(entry.ask.id, outcome(entry)) async for entry in desk.collect(asker)]


def outcome(entry: Entry) -> Outcome | None:
    return entry.settlement.outcome if entry.settlement else None


async def settle(desk: Desk, ask: Ask, reply: Answered = A) -> None:
    await desk.settle(ask.id, reply, by="ana", surface="page")


async def notes(desk: Desk) -> list[str]:
    return [document.name for document in await desk.shelf.list("owed/")]


def process_here(number: int) -> Asker:
    return replace(AGENT, host=here()[0], process=number)


def dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


async def test_what_was_left_is_open_then_settled_then_collected_once(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT)
    assert (await collected(desk), await desk.uncollected(AGENT)) == ([], (ask,))
    await settle(desk, ask)
    assert await desk.uncollected(AGENT) == ()
    assert await collected(desk) == [(ask.id, A)]
    assert (await collected(desk), await notes(desk)) == ([], [])
    assert (await desk.get(ask.id)).settlement is not None


async def test_what_was_settled_first_is_told_first_and_what_is_open_in_the_order_it_was_asked(
    desk: Desk, clock: FakeClock
) -> None:
    asks = []
    for _ in range(5):
        asks.append(await desk.leave(WHICH, asker=AGENT))
        clock.advance(1)
    first, second, third, *unsettled = asks
    for ask, reply in ((third, A), (first, B), (second, A)):
        clock.advance(1)
        await settle(desk, ask, reply)
    assert [ask.id for ask in await desk.uncollected(AGENT)] == [ask.id for ask in unsettled]
    assert await collected(desk) == [(third.id, A), (first.id, B), (second.id, A)]


async def test_what_expired_and_what_was_withdrawn_is_told_too(desk: Desk, clock: FakeClock) -> None:
    late = await desk.leave(WHICH, asker=AGENT, deadline=timedelta(seconds=5))
    taken_back = await desk.leave(WHICH, asker=AGENT)
    await desk.withdraw(taken_back.id, "found it out")
    clock.advance(6)
    assert await collected(desk) == [(taken_back.id, Withdrawn("found it out")), (late.id, Expired())]


async def test_who_stops_over_one_gets_that_one_again_and_no_other(desk: Desk, clock: FakeClock) -> None:
    asks = [await desk.leave(WHICH, asker=AGENT) for _ in range(3)]
    for ask in asks:
        clock.advance(1)
        await settle(desk, ask)
    collecting = desk.collect(AGENT)
    seen = [(await anext(collecting)).ask.id, (await anext(collecting)).ask.id]
    await collecting.aclose()
    assert seen == [ask.id for ask in asks[:2]]
    assert await collected(desk) == [(ask.id, A) for ask in asks[1:]]


async def test_who_fails_over_one_gets_it_again(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT)
    await settle(desk, ask)

    async def fail() -> None:
        async for _ in desk.collect(AGENT):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await collected(desk) == [(ask.id, A)]


async def test_what_somebody_else_delivers_meanwhile_is_not_given_again(desk: Desk, clock: FakeClock) -> None:
    first, second = [await desk.leave(WHICH, asker=AGENT) for _ in range(2)]
    for ask in (first, second):
        clock.advance(1)
        await settle(desk, ask)
    collecting = desk.collect(AGENT)
    assert (await anext(collecting)).ask.id == first.id
    await desk.delivered(second.id, AGENT)
    assert [entry async for entry in collecting] == []


async def test_what_is_delivered_twice_or_was_never_left_is_delivered_once(desk: Desk) -> None:
    ask, posted = await desk.leave(WHICH, asker=AGENT), await desk.post(WHICH, asker=AGENT)
    await settle(desk, ask)
    for _ in range(2):
        await desk.delivered(ask.id, AGENT)
        await desk.delivered(posted.id, AGENT)
    assert await collected(desk) == []


async def test_what_is_only_posted_is_nobodys_to_collect(desk: Desk) -> None:
    await settle(desk, await desk.post(WHICH, asker=AGENT))
    assert (await collected(desk), await desk.uncollected(AGENT)) == ([], ())


async def test_another_agent_project_or_session_collects_nothing(desk: Desk) -> None:
    await settle(desk, await desk.leave(WHICH, asker=AGENT))
    for other in ({"agent": "reviewer"}, {"project": "app"}, {"session": "s-2"}, {"session": ""}):
        assert await collected(desk, replace(AGENT, **other)) == []
    assert len(await collected(desk)) == 1


async def test_two_living_processes_at_an_address_do_not_take_each_others(desk: Desk) -> None:
    """This process and the one that started it."""
    ours, theirs = process_here(os.getpid()), process_here(os.getppid())
    mine, others = await desk.leave(WHICH, asker=ours), await desk.leave(WHICH, asker=theirs)
    assert [ask.id for ask in await desk.uncollected(ours)] == [mine.id]
    for ask in (mine, others):
        await settle(desk, ask)
    assert await collected(desk, ours) == [(mine.id, A)]
    assert await collected(desk, AGENT) == []
    assert await collected(desk, theirs) == [(others.id, A)]


async def test_what_a_dead_process_left_is_for_the_next_at_its_address(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=process_here(dead_process()))
    await settle(desk, ask)
    assert await collected(desk, process_here(os.getpid())) == [(ask.id, A)]


async def test_what_a_session_left_on_another_machine_is_its_own_wherever_it_goes_on(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=replace(AGENT, host="elsewhere", process=1))
    await settle(desk, ask)
    assert await collected(desk, process_here(os.getpid())) == [(ask.id, A)]


async def test_without_a_session_what_a_process_elsewhere_left_is_its_own_for_a_day(
    desk: Desk, clock: FakeClock
) -> None:
    elsewhere = replace(NO_SESSION, host="elsewhere", process=1)
    asks = [await desk.leave(WHICH, asker=elsewhere) for _ in range(2)]
    await settle(desk, asks[0])
    assert [await collected(desk, asker) for asker in (NO_SESSION, replace(elsewhere, process=2))] == [[], []]
    assert [entry.ask.id for entry in (await desk.left_by(elsewhere)).settled] == [asks[0].id]
    clock.advance(timedelta(days=1, seconds=1).total_seconds())
    assert await collected(desk, NO_SESSION) == [(asks[0].id, A)]
    assert await desk.uncollected(NO_SESSION) == ()


async def test_the_note_is_there_before_the_ask(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    add = desk.store.add

    async def looking(ask: Ask) -> Ask:
        seen.append((ask.id, await notes(desk)))
        return await add(ask)

    monkeypatch.setattr(desk.store, "add", looking)
    ask = await desk.leave(WHICH, asker=AGENT)
    assert seen == [(ask.id, [owed.name_of(AGENT, ask.id)])]


async def test_what_breaks_a_rule_leaves_no_note(desk: Desk) -> None:
    with pytest.raises(InvalidAsk):
        await desk.leave([], asker=AGENT)
    with pytest.raises(InvalidAsk):
        await desk.leave(WHICH, asker=AGENT, deadline=timedelta(0))
    assert await notes(desk) == []


async def test_another_ask_under_the_same_key_leaves_no_note_but_the_first(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT, key="k")
    with pytest.raises(KeyReused):
        await desk.leave(Question("Which other?", ["a", "b"]), asker=AGENT, key="k")
    assert await notes(desk) == [owed.name_of(AGENT, ask.id)]


def failing(error: BaseException, *, after: Callable[[Ask], Awaitable[Any]] | None = None) -> Callable[[Ask], Any]:
    async def add(ask: Ask) -> Ask:
        if after:
            await after(ask)
        raise error

    return add


async def test_a_post_that_fails_leaves_no_note(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.store, "add", failing(StoreFull("no room")))
    with pytest.raises(StoreFull):
        await desk.leave(WHICH, asker=AGENT)
    assert await notes(desk) == []


@pytest.mark.parametrize("error", [StoreGone("the answer was lost"), asyncio.CancelledError()])
async def test_what_was_perhaps_kept_is_owed_and_nobody_hears_of_what_was_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "add", failing(error, after=desk.store.add))
        with pytest.raises(type(error)):
            await desk.leave(WHICH, asker=AGENT)
        patch.setattr(desk.store, "add", failing(error))
        with pytest.raises(type(error)):
            await desk.leave(WHICH, asker=AGENT)
    (kept,) = await desk.uncollected(AGENT)
    await settle(desk, kept)
    assert await collected(desk) == [(kept.id, A)]


async def test_a_shelf_that_takes_no_note_takes_no_ask(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def put(*_: object, **__: object) -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(desk.shelf, "put", put)
        with pytest.raises(StoreFull):
            await desk.leave(WHICH, asker=AGENT)
    assert (await desk.page("open")).entries == ()


async def test_left_again_under_the_same_key_it_is_one_ask_and_told_once(desk: Desk) -> None:
    first = await desk.leave(WHICH, asker=AGENT, key="k")
    again = await desk.leave(WHICH, asker=AGENT, key="k")
    assert (again, await notes(desk)) == (first, [owed.name_of(AGENT, first.id)])
    await settle(desk, first)
    assert await collected(desk) == [(first.id, A)]


async def test_left_again_under_the_same_key_once_it_was_delivered_its_answer_is_delivered_again(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT, key="k")
    await settle(desk, ask)
    assert await collected(desk) == [(ask.id, A)]
    await desk.leave(WHICH, asker=AGENT, key="k")
    assert await collected(desk) == [(ask.id, A)]


async def test_two_agents_that_leave_the_same_key_are_both_told(desk: Desk) -> None:
    other = replace(AGENT, agent="reviewer")
    ask = await desk.leave(WHICH, asker=AGENT, key="k")
    assert await desk.leave(WHICH, asker=other, key="k") == ask
    await settle(desk, ask)
    assert await collected(desk) == await collected(desk, other) == [(ask.id, A)]


async def test_the_same_id_again_is_the_same_ask(desk: Desk) -> None:
    first, again = [await desk.leave(WHICH, asker=AGENT, id="ab" * 16) for _ in range(2)]
    assert (first.id, again.id, len(await notes(desk))) == ("ab" * 16, "ab" * 16, 1)


async def test_whoever_looks_for_the_same_call_finds_it(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT, call="digest-1")
    assert await owed.owed_to(desk.shelf, AGENT) == (Owed(ask=ask.id, asker=AGENT, call="digest-1", at=ask.created),)


async def test_notes_that_cannot_be_read_hide_no_other(desk: Desk) -> None:
    ask = await desk.leave(WHICH, asker=AGENT)
    for number, value in enumerate(("{", '{"v":2,"ask":"x","asker":{}}', '{"ask":"x","asker":{"agent":""}}')):
        await desk.shelf.put(owed.name_of(AGENT, f"{number}"), value)
    await settle(desk, ask)
    assert await collected(desk) == [(ask.id, A)]


async def test_an_ask_that_only_a_newer_version_can_read_hides_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from askdesk.core.errors import StoreTooNew

    new, ask = [await desk.leave(WHICH, asker=AGENT) for _ in range(2)]
    await settle(desk, ask)
    get = desk.store.get

    async def reading(ask_id: str) -> Entry:
        if ask_id == new.id:
            raise StoreTooNew("a record has version 2")
        return await get(ask_id)

    monkeypatch.setattr(desk.store, "get", reading)
    assert await collected(desk) == [(ask.id, A)]


async def test_what_nobody_came_for_in_a_month_is_forgotten_and_what_is_open_never(
    desk: Desk, clock: FakeClock
) -> None:
    old, open_, late = [await desk.leave(WHICH, asker=AGENT, id=digit * 32) for digit in "123"]
    await settle(desk, old)
    await owed.note(desk.shelf, Owed(ask="never kept", asker=AGENT, at=clock.now()))
    clock.advance(timedelta(days=2).total_seconds())
    await settle(desk, late)
    clock.advance(timedelta(days=28, seconds=1).total_seconds())
    elsewhere = replace(AGENT, session="s-9")
    await desk.leave(WHICH, asker=elsewhere, id="4" * 32)
    assert len(await notes(desk)) == 5
    await desk.leave(WHICH, asker=elsewhere, id="0" * 32)  # as ids begin now and then
    expected = [*((AGENT, ask) for ask in "23"), *((elsewhere, ask) for ask in "04")]
    assert await notes(desk) == sorted(owed.name_of(asker, ask * 32) for asker, ask in expected)
    assert (await collected(desk), [ask.id for ask in await desk.uncollected(AGENT)]) == ([(late.id, A)], [open_.id])


async def test_who_waits_hears_of_a_settlement_at_once(desk: Desk) -> None:
    first, second = [await desk.leave(WHICH, asker=AGENT) for _ in range(2)]
    waiting = asyncio.ensure_future(desk.left_by(AGENT, timeout=None))
    await checkpoint()
    await desk.post(WHICH)  # and not of what others ask
    await settle(desk, second, B)
    async with asyncio.timeout(10):
        left = await waiting
    assert ([outcome(entry) for entry in left.settled], [ask.id for ask in left.open]) == ([B], [first.id])
    assert await collected(desk) == [(second.id, B)]


async def test_who_waits_hears_of_what_was_left_meanwhile(desk: Desk) -> None:
    await desk.leave(WHICH, asker=AGENT)
    waiting = asyncio.ensure_future(desk.left_by(AGENT, timeout=None))
    await checkpoint()
    later = await desk.leave(WHICH, asker=AGENT)
    await settle(desk, later)
    async with asyncio.timeout(10):
        assert [entry.ask.id for entry in (await waiting).settled] == [later.id]


async def test_who_waits_hears_of_a_deadline(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.leave(WHICH, asker=AGENT, deadline=timedelta(hours=1))
    waiting = asyncio.ensure_future(desk.left_by(AGENT, timeout=None))
    async with asyncio.timeout(10):
        while not waiting.done():
            clock.advance(600)
            await asyncio.sleep(0.001)
    assert [(entry.ask.id, outcome(entry)) for entry in waiting.result().settled] == [(ask.id, Expired())]


async def test_a_wait_ends_with_its_time_and_at_once_where_nothing_is_open(desk: Desk, clock: FakeClock) -> None:
    assert await desk.left_by(AGENT, timeout=None) == ((), ())
    ask = await desk.leave(WHICH, asker=AGENT)
    waiting = asyncio.ensure_future(desk.left_by(AGENT, timeout=5))
    async with asyncio.timeout(10):
        while not waiting.done():
            clock.advance(1)
            await asyncio.sleep(0.001)
    assert waiting.result() == ((), (ask,))


async def test_what_somebody_may_not_hear_of_is_neither_told_nor_waited_for(desk: Desk) -> None:
    await settle(desk, await desk.leave(WHICH, asker=AGENT))
    await desk.leave(WHICH, asker=AGENT)
    assert await desk.left_by(AGENT, timeout=None, seen=lambda _: None) == ((), ())


CONSUMER = """
import asyncio, sys
from askdesk.core.desk import Desk
from askdesk.core.model import Asker
from askdesk.stores.sqlite import SQLiteStore

async def main():
    desk = Desk(await SQLiteStore.open(sys.argv[1]))
    async for entry in desk.collect(Asker("builder", session="s-1", project="web")):
        print(entry.ask.id, flush=True)
        if not sys.stdin.readline():
            return

asyncio.run(main())
"""


async def test_what_a_process_was_killed_over_is_delivered_again_and_what_it_had_done_with_is_not(
    tmp_path: Path,
) -> None:
    desk = Desk(await SQLiteStore.open(tmp_path / "desk.db"))
    asks = [await desk.leave(WHICH, asker=AGENT) for _ in range(3)]
    for ask in asks:
        await settle(desk, ask)
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", CONSUMER, str(tmp_path / "desk.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as consumer:
        assert consumer.stdin
        assert consumer.stdout
        first = await asyncio.to_thread(consumer.stdout.readline)
        consumer.stdin.write("\n")
        consumer.stdin.flush()
        second = await asyncio.to_thread(consumer.stdout.readline)
        consumer.send_signal(signal.SIGKILL)
        assert await asyncio.to_thread(consumer.wait) == -9
    assert [first.strip(), second.strip()] == [ask.id for ask in asks[:2]]
    assert await collected(desk) == [(ask.id, A) for ask in asks[1:]]
    await desk.close()


LEAVER = """
import asyncio, os, sys
from askdesk.core.desk import Desk
from askdesk.core.model import Asker, Question
from askdesk.core.process import here
from askdesk.stores.sqlite import SQLiteStore

async def main():
    host, process = here()
    desk = Desk(await SQLiteStore.open(sys.argv[1]))
    asker = Asker("builder", session="s-1", project="web", host=host, process=process)
    kept = desk.store.add

    async def add(ask):
        if sys.argv[2] == "after":
            await kept(ask)
        os.kill(process, 9)

    desk.store.add = add
    await desk.leave(Question("Which?", ["a", "b"]), asker=asker)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_a_process_left_and_was_killed_over_is_collected_by_the_next_if_it_was_kept(
    tmp_path: Path, moment: str
) -> None:
    leaver = [sys.executable, "-c", LEAVER, str(tmp_path / "desk.db"), moment]
    assert (await asyncio.to_thread(subprocess.run, leaver, check=False)).returncode == -9
    desk = Desk(await SQLiteStore.open(tmp_path / "desk.db"))
    asks = [entry.ask for entry in (await desk.page("open")).entries]
    assert len(await notes(desk)) == 1
    assert [ask.id for ask in await desk.uncollected(AGENT)] == [ask.id for ask in asks]
    assert len(asks) == (1 if moment == "after" else 0)
    for ask in asks:
        await settle(desk, ask)
    assert await collected(desk) == [(ask.id, A) for ask in asks]
    await desk.close()


async def test_an_error_of_the_store_while_it_is_marked_gives_it_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await desk.leave(WHICH, asker=AGENT)
    await settle(desk, ask)

    async def delivered(*_: object) -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(owed, "delivered", delivered)
        with pytest.raises(AskdeskError):
            await collected(desk)
    assert await collected(desk) == [(ask.id, A)]
