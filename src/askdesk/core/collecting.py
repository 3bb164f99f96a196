"""What an agent left without waiting, and what has become of it. Takes nothing: that is for who delivers it to do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from askdesk.core import owed
from askdesk.core.clock import Bell, Clock, nap
from askdesk.core.errors import StoreCorrupt, StoreTooNew, UnknownAsk
from askdesk.core.model import Ask, Asker, Entry

if TYPE_CHECKING:
    from askdesk.core.desk import Desk

log = logging.getLogger("askdesk")


Seen: TypeAlias = Callable[[Entry], Entry | None]


class Left(NamedTuple):
    """What is still to be delivered: settled, in the order in which it was; and open, in the order it was asked."""

    settled: tuple[Entry, ...]
    open: tuple[Ask, ...]


class _Waking:
    """What ends a nap: hints, and the end of the wait."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.is_over = False
        self._hinted: set[str | None] = set()

    def hear(self, ask_id: str | None) -> None:
        self._hinted.add(ask_id)
        self.bell.ring()

    def end(self) -> None:
        self.is_over = True
        self.bell.ring()

    def heard(self) -> set[str | None]:
        """The hints since the last time."""
        heard, self._hinted = self._hinted, set()
        return heard


async def left_by(desk: Desk, asker: Asker, clock: Clock, *, timeout: float | None, seen: Seen) -> Left:
    """See Desk.left_by."""
    if timeout is not None and timeout <= 0:
        return await _read(desk, asker, seen)
    waking = _Waking()
    stop_hints = desk.store.hints(waking.hear)  # before the first read, so no change is missed
    stop_timer = clock.later(timeout, waking.end) if timeout is not None else None
    try:
        left = await _read(desk, asker, seen)
        while left.open and not left.settled:
            await nap(clock, waking.bell, _soonest(left))
            if waking.is_over:
                return await _read(desk, asker, seen)
            if _is_due(left, clock.now()) or await _concern(desk, asker, left, waking.heard()):
                left = await _read(desk, asker, seen)
    finally:
        stop_hints()
        if stop_timer:
            stop_timer()
    return left


async def _read(desk: Desk, asker: Asker, seen: Seen) -> Left:
    found: list[Entry] = []
    for note in await owed.owed_at(desk.shelf, asker):
        if (entry := await _entry(desk, asker, note)) and (kept := seen(entry)):
            found.append(kept)
        await asyncio.sleep(0)  # each may be of megabytes: let others have their turn
    found.sort(key=_order)
    settled = tuple(entry for entry in found if entry.settlement)
    return Left(settled, tuple(entry.ask for entry in found if not entry.settlement))


async def _entry(desk: Desk, asker: Asker, found: owed.Owed) -> Entry | None:
    """What this agent may collect, or will; None where it is another's, or there is nothing to read."""
    is_free = owed.is_free(found.asker, asker)
    if not is_free and not owed.is_elsewhere(found.asker, asker):
        return None
    try:
        entry = await desk.get(found.ask)
    except UnknownAsk:  # noted, and then never kept
        return None
    except (StoreCorrupt, StoreTooNew) as error:  # of a newer version: one of them must not hide the others
        log.warning("ask %s is left out: %s", found.ask, error)
        return None
    return entry if is_free or owed.is_given_up(found.asker, asker, entry.settlement, desk.now()) else None


def _order(entry: Entry) -> tuple[datetime, datetime, str]:
    settled = entry.settlement.at if entry.settlement else entry.ask.created
    return settled, entry.ask.created, entry.ask.id


def _soonest(left: Left) -> datetime | None:
    return min((ask.deadline for ask in left.open if ask.deadline), default=None)


def _is_due(left: Left, now: datetime) -> bool:
    return any(ask.is_due(now) for ask in left.open)


async def _concern(desk: Desk, asker: Asker, left: Left, heard: Collection[str | None]) -> bool:
    """Whether hints are about what was left, perhaps a moment ago: on a busy desk most are not."""
    if None in heard or any(ask.id in heard for ask in left.open):
        return True
    return any([await owed.is_owed(desk.shelf, asker, ask_id) for ask_id in heard if ask_id is not None])
