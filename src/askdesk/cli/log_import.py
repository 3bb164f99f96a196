"""Puts calls out of logs into a desk's history, under the times that they really had."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.errors import UnknownAsk
from askdesk.core.model import Ask, Entry, Questions
from askdesk.core.store import Store
from askdesk.wire.call_record import ending_name
from askdesk.wire.transcript import Call

_TOGETHER = 100  # calls in one commit
_WHY = {
    "open": "without an answer yet",
    "unanswered": "without an answer",
    "refused": "that failed",
    "told": "with words that cannot be told apart",
}


class Imported:
    """What became of the calls so far."""

    def __init__(self) -> None:
        self.new = 0
        self.known = 0
        self.left_out: Counter[str] = Counter()

    def __str__(self) -> str:
        words = f"imported {self.new}, there already {self.known}, left out {self.left_out.total()}"
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(self.left_out.items()))
        return f"{words}: {why}" if why else words


async def keep(store: Store, calls: Iterable[Call | None], counts: Imported) -> None:
    """Keep every call that ended. Done twice it is done once, also where it was broken off in between."""
    for batch in _batches(calls):
        entries = [call.entry for call in batch if _is_kept(call, counts)]
        asks = [_filed(entry) for entry in entries]
        standing = await _written(store, entries, asks)
        for entry, ask, found in zip(entries, asks, standing, strict=True):
            is_other = found is not ask and found.body != ask.body and not _same(found, ask)
            if is_other:  # some models use an id again: then it names another call
                ask = _filed(entry, again=True)
                (found,) = await _written(store, [entry], [ask])
            counts.new += found is ask
            counts.known += found is not ask


def _batches(calls: Iterable[Call | None]) -> Iterator[list[Call]]:
    """Some calls at a time, and all there are where the log pauses."""
    batch: list[Call] = []
    for call in calls:
        if call is not None:
            batch.append(call)
        if batch and (call is None or len(batch) == _TOGETHER):
            yield batch
            batch = []
    if batch:
        yield batch


def _is_kept(call: Call, counts: Imported) -> bool:
    if call.outcome is not None and isinstance(call.body, Questions):
        return True
    counts.left_out["that break the rules" if call.problem else _WHY[ending_name(call.ended)]] += 1
    return False


def _filed(entry: Entry, *, again: bool = False) -> Ask:
    """The ask under an id that only this call gets, whoever imports it and however often."""
    ask = entry.ask
    digest = sha256(strict.dumps(["askdesk log v1", ask.asker.project, ask.key, _texts(ask)]).encode()).hexdigest()
    return replace(ask, id=digest[:32], key=f"{ask.key} {digest[:8]}" if again else ask.key)


def _texts(ask: Ask) -> list[list[str]]:
    return [[question.text, *(option.label for option in question.options)] for question in ask.questions]


def _same(one: Ask, other: Ask) -> bool:
    return _texts(one) == _texts(other)


async def _written(store: Store, entries: Sequence[Entry], asks: Sequence[Ask]) -> list[Ask]:
    """Each ask with its settlement, begun together: stores that commit in groups hardly ever show one of them open."""
    adding = [asyncio.gather(store.add(ask), _settled(store, ask, e)) for ask, e in zip(asks, entries, strict=True)]
    return [standing for standing, _ in await asyncio.gather(*adding)]


async def _settled(store: Store, ask: Ask, entry: Entry) -> None:
    assert entry.settlement is not None  # noqa: S101 - only those that ended are kept
    try:
        await store.settle(ask.id, entry.settlement)
    except UnknownAsk:  # another ask stands under this key: it came through the desk itself
        return
