"""What all routes share: the desk, under which address it is reached, how much of it one client may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from askdesk.core.desk import Desk
from askdesk.core.limits import Limits
from askdesk.server.events import Streams
from askdesk.server.metrics import Metrics
from askdesk.server.tokens import RECENT_SECONDS, Recent

if TYPE_CHECKING:
    from askdesk.server.mcp import Mcp


class Service:
    def __init__(
        self,
        desk: Desk,
        url: str,
        *,
        limits: Limits,
        asks_a_minute: float = 600,
        dialog_seconds: float = 1.5,
        host_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        recent_seconds: float = RECENT_SECONDS,
        check_seconds: float = 2.0,
        beat_seconds: float = 15.0,
    ) -> None:
        self.desk, self.url, self.limits = desk, url.rstrip("/"), limits
        self.max_body = 2 * limits.size + 10_000  # an input as JSON text within JSON: every quote may be two bytes
        self.dialog_seconds, self.host_seconds = dialog_seconds, host_seconds
        self.metrics = Metrics()
        self.recent = Recent(desk.shelf, seconds=recent_seconds, clock=clock)
        self.streams = Streams(desk, self.metrics, self.recent, check_seconds=check_seconds, beat_seconds=beat_seconds)
        self.asks = Rate(asks_a_minute, clock=clock)
        self.notes = Rate(asks_a_minute, clock=clock)  # of asks that are left: one each
        self.failures = Rate(60, clock=clock)  # of sign-ins: 256 random bits need no more, and a person makes few

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https:")

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or (443 if self.is_secure else 80)

    @cached_property
    def mcp(self) -> Mcp:
        from askdesk.server.mcp import Mcp

        return Mcp(self)

    async def end(self) -> None:
        """Let every stream and every wait come to its end."""
        await self.streams.end()
        if "mcp" in self.__dict__:
            await self.mcp.end()


class Rate:
    """So many a minute for each name, in bursts of as many; names that were quiet are forgotten."""

    _MOST_NAMES = 10_000

    def __init__(self, a_minute: float, *, clock: Callable[[], float]) -> None:
        self._a_minute, self._clock = a_minute, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str, cost: float = 1) -> float:
        """Seconds until there is enough for this name: 0 when it was taken now."""
        left, _ = self._now(name)
        if left < min(cost, self._a_minute):
            return (min(cost, self._a_minute) - left) * 60 / self._a_minute
        self._put(name, left - cost)
        return 0

    def is_spent(self, name: str) -> bool:
        return self._now(name)[0] < 1

    def _now(self, name: str) -> tuple[float, float]:
        left, at = self._left.get(name, (self._a_minute, self._clock()))
        now = self._clock()
        return min(self._a_minute, left + (now - at) * self._a_minute / 60), now

    def _put(self, name: str, left: float) -> None:
        if len(self._left) >= self._MOST_NAMES and name not in self._left:
            self._left.pop(next(iter(self._left)))
        self._left.pop(name, None)  # so that the oldest stands first
        self._left[name] = (left, self._clock())
