"""Time as the desk sees it, so that a test can bring its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from askdesk.core.hints import Stop

_LONGEST_NAP = 60.0  # seconds; timers stand still while a laptop sleeps, deadlines do not
_LATE_NAP = 1.0  # once a deadline is past and the ask still open: the store is elsewhere, and its clock behind ours


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, in UTC."""

    def later(self, seconds: float, wake: Callable[[], None]) -> Stop:
        """Call `wake` in the event loop after so many seconds, unless stopped before."""


class SystemClock:
    """The clock of the machine. Waits run on the loop's monotonic clock, so a jump of the date cannot end them."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def later(self, seconds: float, wake: Callable[[], None]) -> Stop:
        return asyncio.get_running_loop().call_later(max(seconds, 0), wake).cancel


class Bell:
    """What wakes the one who naps, also where it was rung before. An asyncio.Event is for many, and takes far more."""

    __slots__ = ("_is_rung", "_napping")

    def __init__(self) -> None:
        self._is_rung = False
        self._napping: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self._is_rung = True
        if self._napping is not None and not self._napping.done():
            self._napping.set_result(None)

    async def rung(self) -> None:
        """Until it is rung; from then on it is silent again."""
        if not self._is_rung:
            self._napping = asyncio.get_running_loop().create_future()
            await self._napping
        self._is_rung = False


async def nap(clock: Clock, bell: Bell, deadline: datetime | None) -> None:
    """Until somebody wakes us or a deadline comes."""
    if deadline is None:
        await bell.rung()
        return
    left = (deadline - clock.now()).total_seconds()
    stop_timer = clock.later(min(left, _LONGEST_NAP) if left > 0 else _LATE_NAP, bell.ring)
    try:
        await bell.rung()
    finally:
        stop_timer()
