"""The clock that only moves when it is told to, and the machine's own beside it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from askdesk.core.clock import Clock, SystemClock
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio


def test_time_stands_still_until_it_is_told_to_pass() -> None:
    clock = FakeClock()
    assert [clock.now(), clock.now()] == [NOON, NOON]
    clock.advance(1.5)
    assert clock.now() == NOON + timedelta(seconds=1.5)


def test_a_clock_begins_where_it_is_set() -> None:
    moment = datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert FakeClock(moment).now() == moment


def test_timers_ring_in_order_each_at_its_own_moment() -> None:
    clock = FakeClock()
    rung: list[tuple[str, datetime]] = []
    for seconds, name in ((30, "b"), (10, "a"), (60, "c"), (61, "d")):
        clock.later(seconds, lambda name=name: rung.append((name, clock.now())))  # type: ignore[misc]
    clock.advance(60)
    moments = [NOON + timedelta(seconds=seconds) for seconds in (10, 30, 60)]
    assert rung == list(zip("abc", moments, strict=True))
    assert clock.now() == NOON + timedelta(seconds=60)


def test_timers_for_one_moment_ring_in_the_order_they_were_set() -> None:
    clock = FakeClock()
    rung: list[str] = []
    for name in "abc":
        clock.later(10, lambda name=name: rung.append(name))  # type: ignore[misc]
    clock.advance(10)
    assert rung == ["a", "b", "c"]


def test_a_timer_rings_once() -> None:
    clock = FakeClock()
    rung: list[datetime] = []
    clock.later(10, lambda: rung.append(clock.now()))
    clock.advance(10)
    clock.advance(100)
    assert rung == [NOON + timedelta(seconds=10)]


def test_a_stopped_timer_does_not_ring() -> None:
    clock = FakeClock()
    rung: list[str] = []
    stop = clock.later(10, lambda: rung.append("stopped"))
    clock.later(10, lambda: rung.append("kept"))
    stop()
    stop()
    clock.advance(10)
    assert rung == ["kept"]


def test_a_timer_may_be_stopped_by_one_that_rings_before_it() -> None:
    clock = FakeClock()
    rung: list[str] = []
    clock.later(5, lambda: stop())
    stop = clock.later(10, lambda: rung.append("stopped"))
    clock.advance(10)
    assert rung == []


def test_a_timer_may_set_another_that_rings_within_the_same_advance() -> None:
    clock = FakeClock()
    rung: list[datetime] = []

    def tick() -> None:
        rung.append(clock.now())
        clock.later(10, tick)

    clock.later(10, tick)
    clock.advance(35)
    assert rung == [NOON + timedelta(seconds=seconds) for seconds in (10, 20, 30)]
    assert clock.now() == NOON + timedelta(seconds=35)


def test_a_timer_for_a_moment_that_has_passed_rings_at_the_next_turn() -> None:
    clock = FakeClock()
    rung: list[datetime] = []
    clock.later(-5, lambda: rung.append(clock.now()))
    assert rung == []
    clock.advance(0)
    assert rung == [NOON]


def test_where_the_date_jumps_no_time_passes() -> None:
    clock = FakeClock()
    rung: list[datetime] = []
    clock.later(10, lambda: rung.append(clock.now()))
    clock.jump(3600)
    clock.jump(-7200)
    assert (clock.now(), rung) == (NOON - timedelta(seconds=3600), [])
    clock.advance(9)
    assert rung == []
    clock.advance(1)
    assert rung == [NOON - timedelta(seconds=3590)]


async def test_the_machines_clock_tells_utc_and_rings_in_the_loop() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    assert before <= clock.now() <= datetime.now(UTC)
    rung = asyncio.Event()
    stopped: list[str] = []
    clock.later(0, lambda: stopped.append("rung"))()
    clock.later(-1, rung.set)
    async with asyncio.timeout(5):
        await rung.wait()
    assert stopped == []
