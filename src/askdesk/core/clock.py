"""Time as the desk sees it, so that a test can bring its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from askdesk.core.hints import Stop


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
