"""Every verb that changes a store, and all that can be seen of one: for tests that break it in the midst of a verb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple, TypeAlias

from askdesk.core.model import Entry, Settlement, Withdrawn
from askdesk.core.store import WITHDRAWAL, Store
from askdesk.stores.upkeep import Change, KeptAsk, Upkeep
from askdesk.testing.clock import NOON
from askdesk.testing.store_contract import a_settlement, an_ask
from askdesk.wire import record

Verb: TypeAlias = Callable[[Store], Awaitable[object]]
NOW = NOON + timedelta(hours=1)
LONG = '"' + "of which a page holds only a part " * 300 + '"'


async def begin(store: Store) -> None:
    """What is there before: open asks, some of them due; a settled one; documents."""
    for number in (1, 2, 3):
        await store.add(an_ask(number))
    for number in (4, 5, 6):
        await store.add(an_ask(number, deadline=NOON + timedelta(minutes=10 * number)))
    await store.settle(an_ask(3).id, a_settlement("earlier"))
    await store.shelf.put("kept", '"as it was"')
    await store.shelf.put("old", '"in the way"')


VERBS: dict[str, Verb] = {
    "add": lambda store: store.add(an_ask(9, key="k")),
    "settle": lambda store: store.settle(an_ask(1).id, a_settlement()),
    "settle what is due": lambda store: store.settle(an_ask(4).id, a_settlement(at=NOW)),
    "withdraw": lambda store: store.settle(an_ask(2).id, Settlement(Withdrawn("not needed"), NOW, WITHDRAWAL)),
    "expire": lambda store: store.expire(NOW),
    "put": lambda store: store.shelf.put("new", LONG),
    "put over": lambda store: store.shelf.put("kept", LONG),
    "remove": lambda store: store.shelf.put("old", None),
    "search": lambda store: store.page("open", text="which"),
}


UPKEEP: dict[str, Callable[[Upkeep], Awaitable[object]]] = {
    "keep": lambda upkeep: upkeep.keep([_kept(7), _kept(1, a_settlement("elsewhere")), _kept(8, a_settlement())]),
    "change": lambda upkeep: upkeep.change([Change("new", None, LONG), Change("old", '"in the way"', None)]),
    "purge": lambda upkeep: upkeep.remove([an_ask(3).id, an_ask(2).id], ["draft/"]),
    "vacuum": lambda upkeep: upkeep.vacuum(),
}


async def begin_upkeep(store: Store) -> None:
    """The same, after which an ask can be removed: it was not the last one to change, and something belongs to it."""
    await begin(store)
    await store.shelf.put(f"draft/{an_ask(3).id}/ana", '"half a word"')
    await store.add(an_ask(10))


def _kept(number: int, settlement: Settlement | None = None) -> KeptAsk:
    ask = an_ask(number)
    ended = record.encode(settlement) if settlement else None
    return KeptAsk(ask.id, ask.asker.project, ask.key, record.encode(ask), None, ended, 0)


class Seen(NamedTuple):
    open: tuple[Entry, ...]
    settled: tuple[Entry, ...]
    documents: tuple[tuple[str, str], ...]


async def seen(store: Store) -> Seen:
    """All of it but the versions of documents, of which a write that was tried again takes two."""
    documents = await store.shelf.list()
    return Seen(
        (await store.page("open", limit=1000)).entries,
        (await store.page("settled", limit=1000)).entries,
        tuple((document.name, document.value) for document in documents),
    )
