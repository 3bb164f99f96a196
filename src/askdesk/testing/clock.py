"""A clock that only moves when it is told to."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from askdesk.core.hints import Stop

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """Give it to a Desk, then `advance`: timers ring in order, each at its own moment."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now
        self._timers: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._stopped: set[int] = set()

    def now(self) -> datetime:
        return self._now

    def later(self, seconds: float, wake: Callable[[], None]) -> Stop:
        number = next(self._numbers)
        heapq.heappush(self._timers, (self._now + timedelta(seconds=seconds), number, wake))
        return lambda: self._stopped.add(number)

    def jump(self, seconds: float) -> None:
        """Let the date jump, forth or back: no time passes, so no timer rings."""
        span = timedelta(seconds=seconds)
        self._now += span
        self._timers = [(moment + span, number, wake) for moment, number, wake in self._timers]

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        end = self._now + timedelta(seconds=seconds)
        while self._timers and self._timers[0][0] <= end:
            moment, number, wake = heapq.heappop(self._timers)
            self._now = max(self._now, moment)
            if number not in self._stopped:
                wake()
        self._now = end
