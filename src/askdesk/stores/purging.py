"""Removes asks that were settled long ago, for ever. Knows no kind of document but what is owed to agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from askdesk.core.errors import StoreError
from askdesk.core.owed import OWED, ask_of
from askdesk.stores.rows import entry
from askdesk.stores.upkeep import Heard, KeptAsk, Removed, Upkeep

_TOGETHER = 200  # in one commit, for which everybody else waits


class Old(NamedTuple):
    """The asks that were settled before a moment: those that may go, and how many stay nevertheless."""

    ids: Sequence[str]
    owed: int  # an agent has not heard yet how it ended
    latest: int  # the one that changed last, whose number would else be given again
    unread: int  # nobody here knows when they were settled


async def old(store: Upkeep, before: datetime, heard: Heard) -> Old:
    """By the time in the settlement: what was imported from a log came in late."""
    await store.check_known()
    owed = {ask_of(name) for name in await store.documents() if name.startswith(OWED)}
    total, place, done, unread = (await store.count()).asks, 0, 0, 0
    found: list[KeptAsk] = []
    while asks := await store.asks(place):
        settled_at = [(ask, _settled_at(ask)) for ask in asks if ask.settlement is not None]
        unread += sum(at is None for _, at in settled_at)
        found += (ask._replace(record="", settlement=None) for ask, at in settled_at if at and at < before)
        place, done = asks[-1].changed, done + len(asks)
        heard("asks looked at", done, total)
    free = [ask for ask in found if ask.id not in owed]
    ids = [ask.id for ask in free if ask.changed != place]
    return Old(ids, len(found) - len(free), len(free) - len(ids), unread)


async def purge(store: Upkeep, ids: Sequence[str], kinds: Sequence[str], heard: Heard) -> Removed:
    """Remove them, with the documents of these kinds that belong to them; some at a time, so that nobody waits long."""
    asks = documents = 0
    for start in range(0, len(ids), _TOGETHER):
        removed = await store.remove(ids[start : start + _TOGETHER], kinds)
        asks, documents = asks + removed.asks, documents + removed.documents
        heard("asks removed", asks, len(ids))
    return Removed(asks, documents)


def _settled_at(ask: KeptAsk) -> datetime | None:
    """None where only a newer version can read it, or nobody."""
    try:
        settlement = entry(ask.record, ask.settlement).settlement
    except StoreError:
        return None
    return settlement.at if settlement else None
