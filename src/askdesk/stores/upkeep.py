"""Upkeep: what is done to a store as a whole, in words. Each sentence of a docstring below has a rule in
`tests/stores/test_upkeep.py`, which every implementation is held to.

Asks are read and written as they are kept: whoever decodes a record and encodes it again loses what only a newer
version knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from askdesk.core.errors import StoreClash, StoreTooNew, quoted
from askdesk.core.finding import Finding

COPIED = "copied/"  # documents that say what was copied into a store from where; they are never copied on
MOST_ASKS, MOST_CHARACTERS = 1000, 1_000_000  # in one batch: so much is in memory, and others wait so long
_MOST_NAMED = 10  # clashes; of the others only how many

Heard: TypeAlias = Callable[[str, int, int], None]
"""How far a long work has come: what is done, so many times, of so many."""


class KeptAsk(NamedTuple):
    """An ask as it is kept, whatever its record says."""

    id: str
    project: str
    key: str | None
    record: str
    deadline: int | None  # microseconds since 1970
    settlement: str | None
    changed: int  # in this very store: grows with every change

    def same(self, other: KeptAsk) -> bool:
        """But for their places, which each store numbers by itself."""
        return self[:-1] == other[:-1]

    def ended(self, other: KeptAsk) -> bool:
        """Whether this one is open still, and the other one is the same ask with its settlement."""
        is_later = self.settlement is None and other.settlement is not None
        return is_later and self._replace(settlement=other.settlement).same(other)


class Change(NamedTuple):
    """Of a document: the value that must be there, None for none, and the one to be there, None to remove it."""

    name: str
    was: str | None
    value: str | None


class Count(NamedTuple):
    open: int
    settled: int
    documents: int

    @property
    def asks(self) -> int:
        return self.open + self.settled


class Removed(NamedTuple):
    asks: int
    documents: int


class Room(NamedTuple):
    """How many bytes a store took, and takes now."""

    before: int
    after: int


class Upkeep(Protocol):
    """Works on a store while others work with it."""

    @property
    def address(self) -> str:
        """Which store it is, for people; never a password."""

    def now(self) -> datetime:
        """The time, by the clock that everybody at this store goes by."""

    async def check_known(self) -> None:
        """StoreTooNew where a newer version has added something to it that this one would lose."""

    async def count(self) -> Count:
        """How many asks and documents there are."""

    async def asks(self, after: int = 0) -> Sequence[KeptAsk]:
        """Some asks, open and settled, in the order of their latest change, from a place on; none at the end.

        Following `changed` shows each once, and once more when it has changed since.
        """

    async def standing(self, asks: Sequence[KeptAsk]) -> dict[str, KeptAsk]:
        """What is kept under the ids of these or under their keys, by id."""

    async def keep(self, asks: Sequence[KeptAsk]) -> None:
        """Keep asks as they are, all or none: new ones are added and open ones are settled, in this order.

        What is there already stays where it is, and what is settled is never changed.
        Where another ask stands under an id or a key, or one is settled otherwise, StoreClash names it.
        """

    async def documents(self) -> dict[str, str]:
        """The values of all documents, by name and in this order."""

    async def change(self, changes: Sequence[Change]) -> None:
        """Write and remove documents, all or none; what is as it should be stays.

        Where another value is there than `was`, StoreClash names the document.
        """

    async def remove(self, ids: Sequence[str], kinds: Sequence[str]) -> Removed:
        """Remove settled asks, also from what is searched, with the documents that are named KIND/ID or KIND/ID/….

        An open ask stays, and one whose end is owed to an agent, and the one that changed last, whose number would
        else be given again.
        """

    async def look(self) -> Sequence[Finding]:
        """What can be told of it only with a knowledge of this kind of store."""

    async def vacuum(self) -> Room:
        """Give back the room of what was removed or changed."""

    def snapshot(self) -> AbstractAsyncContextManager[Upkeep]:
        """For as long as it is open, all that is read is as it was at one moment."""

    async def write_file(self, path: Path, heard: Heard) -> None:
        """Write all there is into a new file, as a desk: within a snapshot."""

    async def close(self) -> None:
        """Let go of everything, also of what was begun; closing twice is closing once."""


class Compared(NamedTuple):
    """What is to be kept, beside what is kept already."""

    changes: list[KeptAsk]  # new there, or open there still and settled here
    clashes: list[str]


def compared(asks: Iterable[KeptAsk], standing: Mapping[str, KeptAsk]) -> Compared:
    found = Compared([], [])
    keys = {(there.project, there.key): there.id for there in standing.values()}
    for ask in asks:
        there = standing.get(ask.id)
        if there is None and ask.key is not None and (other := keys.get((ask.project, ask.key))):
            found.clashes.append(f"key {quoted(ask.key)}: names ask {other} there, and ask {ask.id} here")
        elif there is None or there.ended(ask):
            found.changes.append(ask)
        elif not there.same(ask):
            found.clashes.append(f"ask {ask.id}: {_otherwise(there, ask)}")
    return found


def _otherwise(there: KeptAsk, ask: KeptAsk) -> str:
    if there._replace(settlement=None)[:-1] != ask._replace(settlement=None)[:-1]:
        return "is another one there"
    return "is settled there, and open here" if ask.settlement is None else "is settled otherwise there"


def clash(address: str, clashes: Sequence[str]) -> StoreClash:
    """An error that names some of them, and how many there are."""
    more = [f"and {len(clashes) - _MOST_NAMED} more"] if len(clashes) > _MOST_NAMED else []
    return StoreClash("\n".join(f"{address}: {words}" for words in [*clashes[:_MOST_NAMED], *more]))


def outstanding(address: str, changes: Iterable[Change], values: Mapping[str, str]) -> list[Change]:
    """The changes that are still to be made; StoreClash where a document has changed meanwhile."""
    left = [change for change in changes if values.get(change.name) != change.value]
    if changed := [name for name, was, _ in left if values.get(name) != was]:
        raise changed_clash(address, changed)
    return left


def changed_clash(address: str, names: Iterable[str]) -> StoreClash:
    return clash(address, [f"document {quoted(name)}: has changed there meanwhile" for name in names])


def schema(version: int, known: int) -> Finding:
    """What is to be said of the number of a schema."""
    if version < known:
        return Finding("schema", f"{version}; whoever works here next brings it to {known}")
    return Finding(
        "schema", f"{version}{'; of a newer askdesk, whose desk this one can use' if version > known else ''}"
    )


def strangers(things: Sequence[str]) -> Finding:
    """What is to be said of tables and the like that others made here."""
    return Finding("tables", f"not ours: {', '.join(things)}" if things else "nothing but ours", wrong=bool(things))


def check_schema(address: str, version: int, known: int) -> None:
    if version > known:
        raise StoreTooNew(f"{address}: its schema is {version}; this askdesk knows all of it up to {known}: upgrade it")


def indexed(upto: int, latest: int, unread: int) -> Finding:
    """What is to be said of an index that reaches up to a change."""
    newer = f"; asks in it only for a newer version: {unread}" if unread else ""
    if upto > latest:
        words = f"reaches change {upto}, and the latest is {latest}: asks that come next are not found"
        return Finding("search index", words, wrong=True)
    if upto < latest:
        return Finding("search index", f"reaches change {upto} of {latest}; the next search goes on from there{newer}")
    return Finding("search index", f"reaches the latest change, {latest}{newer}")
