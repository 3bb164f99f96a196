"""Who wants to hear that an ask may have changed. A hint may be lost or repeated, so whoever hears one reads again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

log = logging.getLogger("askdesk")

Heard: TypeAlias = Callable[[str | None], None]
Stop: TypeAlias = Callable[[], None]


class Hints:
    """Hands each hint to those who listen for that ask and to those who listen for all. One thread only."""

    def __init__(self) -> None:
        self._listeners: dict[str | None, dict[int, Heard]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def listen(self, heard: Heard, ask_id: str | None = None) -> Stop:
        """Call `heard` for one ask, or for every ask, until the returned function is called."""
        self._count += 1
        ticket = self._count
        self._listeners.setdefault(ask_id, {})[ticket] = heard

        def stop() -> None:
            listeners = self._listeners.get(ask_id, {})
            listeners.pop(ticket, None)
            if not listeners:
                self._listeners.pop(ask_id, None)

        return stop

    def tell(self, ask_id: str, *, new: bool = False) -> None:
        """An ask may have changed. A new one is told to those who listen for all: nobody has read it yet."""
        if not new and (listeners := self._listeners.get(ask_id)):
            self._tell(listeners, ask_id)
        if listeners := self._listeners.get(None):
            self._tell(listeners, ask_id)

    def tell_all(self) -> None:
        """Something changed and nobody knows what: everybody reads again."""
        for listeners in tuple(self._listeners.values()):
            self._tell(listeners, None)

    @staticmethod
    def _tell(listeners: dict[int, Heard], ask_id: str | None) -> None:
        for ticket, heard in tuple(listeners.items()):
            if ticket not in listeners:  # stopped by one that was told before
                continue
            try:
                heard(ask_id)
            except Exception:  # one that fails must not keep the others, or a commit, from being told
                log.exception("a listener failed")
