"""Looks at all there is in a store and tells what is wrong with it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from askdesk.core.errors import StoreError, StoreTooNew
from askdesk.core.finding import Finding
from askdesk.core.model import Ask
from askdesk.stores.copying import Sum, lasting
from askdesk.stores.rows import entry, microseconds
from askdesk.stores.upkeep import Heard, KeptAsk, Upkeep

_MOST_NAMED = 5


async def check(store: Upkeep, passing: Iterable[str], heard: Heard) -> list[Finding]:
    """A finding for each thing that was looked at, as it was at one moment."""
    findings: list[Finding] = []
    try:
        async with store.snapshot() as moment:
            findings += await moment.look()
            findings += await _contents(moment, passing, heard)
    except StoreError as error:  # what was found before it is told all the same
        findings.append(Finding("reading", str(error), wrong=True))
    return findings


async def _contents(moment: Upkeep, passing: Iterable[str], heard: Heard) -> list[Finding]:
    count, asks, place = await moment.count(), _Asks(), 0
    while some := await moment.asks(place):
        asks.look(some, await moment.standing(some))
        place = some[-1].changed
        heard("asks looked at", asks.count, count.asks)
    documents = lasting(await moment.documents(), passing)
    asks.content.add_documents(documents)
    return [
        Finding("asks", f"open: {count.open}, settled: {count.settled}"),
        asks.listed(count.asks),
        *asks.records(),
        Finding("documents", str(len(documents))),
        Finding("content", f"sha256 {asks.content}"),
    ]


class _Asks:
    """What was seen of the asks so far."""

    def __init__(self) -> None:
        self.count = 0
        self.content = Sum()
        self._lost: list[str] = []
        self._wrong: list[str] = []
        self._newer = 0

    def look(self, asks: Sequence[KeptAsk], standing: Mapping[str, KeptAsk]) -> None:
        for ask in asks:
            self.count += 1
            self.content.add_ask(ask)
            if standing.get(ask.id) != ask:
                self._lost.append(ask.id)
            try:
                self._wrong += (f"ask {ask.id}: {flaw}" for flaw in _flaws(ask))
            except StoreTooNew:
                self._newer += 1
            except StoreError as error:
                self._wrong.append(f"ask {ask.id}: {error}")

    def listed(self, count: int) -> Finding:
        """Whether the listings have every ask, each of which is found by its id."""
        if self.count != count:
            return Finding("listings", f"have {self.count} asks of {count}: an index is damaged", wrong=True)
        if self._lost:
            return Finding("listings", f"not found by their ids: {_some(self._lost)}", wrong=True)
        return Finding("listings", "have every ask, and each is found by its id")

    def records(self) -> Sequence[Finding]:
        newer = [Finding("newer records", f"left to a newer askdesk: {self._newer}")] if self._newer else []
        if self._wrong:
            return [Finding("records", _some(self._wrong), wrong=True), *newer]
        return [Finding("records", "all can be read"), *newer]


def _flaws(kept: KeptAsk) -> Iterable[str]:
    """Where what stands beside a record is not what it says."""
    ask = entry(kept.record, kept.settlement).ask
    said = {"id": ask.id, "project": ask.asker.project, "key": ask.key, "deadline": _deadline(ask)}
    return [f"its {name} is another one in its record" for name, value in said.items() if getattr(kept, name) != value]


def _deadline(ask: Ask) -> int | None:
    return microseconds(ask.deadline) if ask.deadline else None


def _some(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return f"{'; '.join(texts[:_MOST_NAMED])}{more}"
