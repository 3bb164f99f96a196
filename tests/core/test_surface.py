"""attend() and attend_one(): one person, one ask at a time, and nothing left over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from anyio.lowlevel import checkpoint

from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled, InvalidReply, StoreError
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Entry,
    Expired,
    Permission,
    Question,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.store import EXPIRY, WITHDRAWAL
from askdesk.core.surface import Present, attend, attend_one
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio

OurStore: TypeAlias = MemoryStore | SQLiteStore
Loss: TypeAlias = tuple[Ask, Settlement]

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
PERMISSION = Permission("Bash", {"command": "ls"})
SQLITE = Answered([Answer(["SQLite"])])
POSTGRES = Answered([Answer(["Postgres"])])
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
async def _nothing_left_over(store: OurStore) -> AsyncIterator[None]:
    """After each test no task and no listener remains, but for the store's own look-out."""
    yield
    looking = store._looking if isinstance(store, SQLiteStore) else None
    ours = {task for task in asyncio.all_tasks() if not str(task.get_coro()).startswith("<coroutine object TestRunner")}
    assert ours - {looking} == set()
    assert not store._hints


class Screen:
    """A present() in a test's hands: shows what it is given and returns what it is told to."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.taken_away: list[str] = []
        self.lost: list[Loss] = []
        self._changed = asyncio.Condition()
        self._replies: asyncio.Queue[Reply | Exception | None] = asyncio.Queue()

    async def present(self, ask: Ask) -> Reply | None:
        await self._note(self.shown, ask.id)
        try:
            reply = await self._replies.get()
        except asyncio.CancelledError:
            self.taken_away.append(ask.id)
            raise
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _note(self, place: list[str], ask_id: str) -> None:
        async with self._changed:
            place.append(ask_id)
            self._changed.notify_all()

    async def showing(self, *asks: Ask) -> None:
        """Until exactly these were shown, in this order."""
        expected = [ask.id for ask in asks]
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(lambda: len(self.shown) >= len(expected))
        assert self.shown == expected

    def say(self, reply: Reply | Exception | None) -> None:
        self._replies.put_nowait(reply)

    def tell_lost(self, ask: Ask, settlement: Settlement) -> None:
        self.lost.append((ask, settlement))


@asynccontextmanager
async def attending(desk: Desk, screen: Screen) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(attend(desk, screen.present, by="ana", surface="screen", lost=screen.tell_lost))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def ended(desk: Desk, ask: Ask) -> Settlement | None:
    async with asyncio.timeout(5):
        return await desk.wait(ask.id)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await checkpoint()


def one(desk: Desk, ask: Ask, screen: Screen) -> asyncio.Task[Settlement | None]:
    return asyncio.create_task(attend_one(desk, ask, screen.present, by="ana", surface="screen", lost=screen.tell_lost))


def saying(reply: Reply | None) -> Present:
    async def present(ask: Ask) -> Reply | None:
        return reply

    return present


async def test_a_reply_settles_the_ask_for_this_person_on_this_surface(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    settlement = await attend_one(desk, ask, saying(SQLITE), by="ana", surface="screen")
    assert settlement is not None
    assert settlement == Settlement(SQLITE, NOON, settlement.submission, "ana", "screen")
    assert await desk.get(ask.id) == Entry(ask, settlement)


async def test_a_permission_is_settled_with_the_digest_of_what_was_shown(desk: Desk) -> None:
    ask = await desk.post(PERMISSION)
    settlement = await attend_one(desk, ask, saying(Allowed()), by="ana", surface="screen")
    assert settlement is not None
    assert settlement == Settlement(Allowed(), NOON, settlement.submission, "ana", "screen", PERMISSION.digest)


async def test_none_leaves_the_ask_open(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    assert await attend_one(desk, ask, saying(None), by="ana", surface="screen") is None
    assert await desk.get(ask.id) == Entry(ask)


async def test_when_another_settles_the_screen_is_taken_away_and_told_who(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    attending_one = one(desk, ask, screen)
    await screen.showing(ask)
    settlement = await desk.settle(ask.id, POSTGRES, by="ben", surface="page")
    assert await attending_one == settlement
    assert (screen.taken_away, screen.lost) == ([ask.id], [(ask, settlement)])


async def test_when_the_agent_withdraws_the_screen_is_told(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    attending_one = one(desk, ask, screen)
    await screen.showing(ask)
    await desk.withdraw(ask.id, "not needed")
    withdrawn = Settlement(Withdrawn("not needed"), NOON, WITHDRAWAL)
    assert await attending_one == withdrawn
    assert (screen.taken_away, screen.lost) == ([ask.id], [(ask, withdrawn)])


async def test_when_the_deadline_comes_the_screen_is_told(desk: Desk, clock: FakeClock) -> None:
    ask, screen = await desk.post(DATABASE, deadline=HOUR), Screen()
    attending_one = one(desk, ask, screen)
    await screen.showing(ask)
    clock.advance(3600)
    expired = Settlement(Expired(), NOON + HOUR, EXPIRY)
    async with asyncio.timeout(5):
        assert await attending_one == expired
    assert (screen.taken_away, screen.lost) == ([ask.id], [(ask, expired)])


async def test_an_ask_that_was_settled_before_is_taken_away_at_once(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    settlement = await desk.settle(ask.id, POSTGRES, by="ben", surface="page")
    assert await one(desk, ask, screen) == settlement
    assert screen.lost == [(ask, settlement)]


async def test_without_anybody_to_tell_a_loss_is_only_returned(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    settlement = await desk.settle(ask.id, POSTGRES, by="ben", surface="page")
    assert await attend_one(desk, ask, saying(SQLITE), by="ana", surface="screen") == settlement


async def test_a_reply_that_loses_the_race_is_told_who_won(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()

    async def present(ask: Ask) -> Reply | None:
        await desk.settle(ask.id, POSTGRES, by="ben", surface="page", submission="first")
        return SQLITE

    won = Settlement(POSTGRES, NOON, "first", "ben", "page")
    found = await attend_one(desk, ask, present, by="ana", surface="screen", lost=screen.tell_lost)
    assert (found, screen.lost) == (won, [(ask, won)])


async def test_of_two_people_who_answer_at_once_one_wins_and_the_other_is_told(desk: Desk) -> None:
    for _ in range(50):
        ask, ana, ben = await desk.post(DATABASE), Screen(), Screen()
        both = [one(desk, ask, ana), one(desk, ask, ben)]
        await ana.showing(ask)
        await ben.showing(ask)
        ana.say(SQLITE)
        ben.say(POSTGRES)
        async with asyncio.timeout(5):
            found = await asyncio.gather(*both)
        standing = (await desk.get(ask.id)).settlement
        assert standing is not None
        assert found == [standing, standing]
        assert [ana.lost, ben.lost] in ([[], [(ask, standing)]], [[(ask, standing)], []])


async def test_an_error_in_present_comes_out_and_leaves_the_ask_open(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    screen.say(OSError("the terminal is gone"))
    with pytest.raises(OSError, match="the terminal is gone"):
        await one(desk, ask, screen)
    assert await desk.get(ask.id) == Entry(ask)


async def test_a_present_that_fails_before_it_waits_leaves_the_ask_open(desk: Desk) -> None:
    ask = await desk.post(DATABASE)

    def present(ask: Ask) -> asyncio.Future[Reply | None]:
        raise OSError("no terminal")

    with pytest.raises(OSError, match="no terminal"):
        await attend_one(desk, ask, present, by="ana", surface="screen")
    assert await desk.get(ask.id) == Entry(ask)


async def test_a_reply_that_does_not_fit_comes_out_and_leaves_the_ask_open(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    with pytest.raises(InvalidReply, match='offers no option "Oracle"'):
        await attend_one(desk, ask, saying(Answered([Answer(["Oracle"])])), by="ana", surface="screen")
    assert await desk.get(ask.id) == Entry(ask)


async def test_cancelling_takes_the_screen_away_and_leaves_the_ask_open(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    attending_one = one(desk, ask, screen)
    await screen.showing(ask)
    attending_one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attending_one
    assert (screen.taken_away, screen.lost) == ([ask.id], [])
    assert await desk.get(ask.id) == Entry(ask)


async def test_a_screen_may_take_its_time_to_go_and_is_waited_for(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    steps: list[str] = []

    async def present(ask: Ask) -> Reply | None:
        steps.append("shown")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await turns()
            steps.append("gone")
        return None

    attending_one = asyncio.create_task(attend_one(desk, ask, present, by="ana", surface="screen"))
    await turns()
    await desk.settle(ask.id, POSTGRES, by="ben", surface="page")
    await attending_one
    assert steps == ["shown", "gone"]


async def test_cancelled_twice_while_the_screen_is_still_going_it_leaves_nothing_behind(
    desk: Desk, store: OurStore
) -> None:
    ask = await desk.post(DATABASE)
    going, go = asyncio.Event(), asyncio.Event()

    async def present(ask: Ask) -> Reply | None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            going.set()
            await go.wait()
        return None

    attending_one = asyncio.create_task(attend_one(desk, ask, present, by="ana", surface="screen"))
    await turns()
    attending_one.cancel()
    await going.wait()
    attending_one.cancel()
    await asyncio.wait([attending_one])
    go.set()
    await turns()
    assert not store._hints


async def test_when_the_store_fails_the_screen_is_taken_away_and_the_error_comes_out(tmp_path: Path) -> None:
    file = tmp_path / "failing" / "desk.db"
    failing = Desk(await SQLiteStore.open(file))
    ask, screen = await failing.post(DATABASE), Screen()
    attending_one = one(failing, ask, screen)
    await screen.showing(ask)
    file.unlink()
    async with asyncio.timeout(5):
        with pytest.raises(StoreError):
            await attending_one
    assert screen.taken_away == [ask.id]
    await failing.close()
    await turns()


async def test_asks_are_shown_one_at_a_time_and_the_oldest_first(desk: Desk) -> None:
    asks = [await desk.post(DATABASE) for _ in range(3)]
    screen = Screen()
    async with attending(desk, screen):
        for count in (1, 2, 3):
            await screen.showing(*asks[:count])
            await turns()
            assert screen.shown == [ask.id for ask in asks[:count]]
            screen.say(SQLITE)
            settlement = await ended(desk, asks[count - 1])
            assert settlement is not None
            assert settlement.outcome == SQLITE
    assert (screen.taken_away, screen.lost) == ([], [])


async def test_a_new_ask_is_shown_as_soon_as_nothing_else_is(desk: Desk) -> None:
    screen = Screen()
    async with attending(desk, screen):
        await turns()
        first = await desk.post(DATABASE)
        await screen.showing(first)
        second, third = await desk.post(PERMISSION), await desk.post(DATABASE)
        await turns()
        assert screen.shown == [first.id]
        screen.say(SQLITE)
        await screen.showing(first, second)
        screen.say(Allowed())
        await screen.showing(first, second, third)
    assert [entry.ask.id async for entry in desk.each("settled")] == [first.id, second.id]


async def test_an_ask_left_open_is_not_shown_again(desk: Desk) -> None:
    first, second = await desk.post(DATABASE), await desk.post(DATABASE)
    screen = Screen()
    async with attending(desk, screen):
        await screen.showing(first)
        screen.say(None)
        await screen.showing(first, second)
        screen.say(SQLITE)
        third = await desk.post(DATABASE)
        await screen.showing(first, second, third)
        screen.say(None)
        await turns()
    assert screen.shown == [first.id, second.id, third.id]
    assert [entry.ask.id async for entry in desk.each("open")] == [first.id, third.id]


async def test_an_ask_left_open_is_shown_again_by_another_attend(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    for times in (1, 2):
        async with attending(desk, screen):
            await screen.showing(*[ask] * times)
            screen.say(None)
            await turns()


async def test_an_ask_settled_elsewhere_before_its_turn_is_never_shown(desk: Desk) -> None:
    first, second, third = [await desk.post(DATABASE) for _ in range(3)]
    screen = Screen()
    async with attending(desk, screen):
        await screen.showing(first)
        await desk.settle(second.id, POSTGRES, by="ben", surface="page")
        screen.say(SQLITE)
        await screen.showing(first, third)


async def test_after_another_has_won_the_next_ask_is_shown(desk: Desk) -> None:
    first, second = await desk.post(DATABASE), await desk.post(DATABASE)
    screen = Screen()
    async with attending(desk, screen):
        await screen.showing(first)
        settlement = await desk.settle(first.id, POSTGRES, by="ben", surface="page")
        await screen.showing(first, second)
    assert screen.lost == [(first, settlement)]
    assert screen.taken_away == [first.id, second.id]


async def test_an_error_in_present_ends_attending_and_leaves_the_ask_open(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    screen.say(OSError("the terminal is gone"))
    async with attending(desk, screen) as task:
        with pytest.raises(OSError, match="the terminal is gone"):
            await task
    assert await desk.get(ask.id) == Entry(ask)


async def test_cancelling_attend_takes_the_screen_away_and_leaves_the_ask_open(desk: Desk) -> None:
    ask, screen = await desk.post(DATABASE), Screen()
    async with attending(desk, screen) as task:
        await screen.showing(ask)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (screen.taken_away, screen.lost) == ([ask.id], [])
    assert await desk.get(ask.id) == Entry(ask)


async def test_cancelling_attend_while_nothing_is_asked_leaves_nothing_behind(desk: Desk) -> None:
    async with attending(desk, Screen()) as task:
        await turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_hundred_asks_that_come_while_one_is_shown_are_all_shown(desk: Desk) -> None:
    asks: list[Ask] = []

    async def present(ask: Ask) -> Reply | None:
        if not asks:
            asks.extend([ask, *await asyncio.gather(*(desk.post(DATABASE) for _ in range(100)))])
        return Declined()

    task = asyncio.create_task(attend(desk, present, by="ana", surface="screen"))
    first = await desk.post(DATABASE)
    await ended(desk, first)
    for ask in asks:
        settlement = await ended(desk, ask)
        assert settlement is not None
        assert settlement.outcome == Declined()
    task.cancel()
    await asyncio.wait([task])


async def test_two_people_at_one_desk_see_the_same_ask_and_one_settles_it(desk: Desk) -> None:
    ask, ana, ben = await desk.post(DATABASE), Screen(), Screen()
    async with attending(desk, ana), attending(desk, ben):
        await ana.showing(ask)
        await ben.showing(ask)
        ben.say(POSTGRES)
        settlement = await ended(desk, ask)
        assert settlement is not None
        await _until(lambda: bool(ana.taken_away))
        assert (ana.lost, ana.taken_away, ben.lost) == ([(ask, settlement)], [ask.id], [])
        with pytest.raises(AlreadySettled):
            await desk.settle(ask.id, SQLITE, by="ana", surface="screen")


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await checkpoint()
