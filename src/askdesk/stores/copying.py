"""Copies all there is from one store into another, as it is kept, while people and agents go on at the first.

Asks are copied in the order of their latest change, so both listings keep their order, and what changes meanwhile comes
at the end. A copy that was broken off goes on where it was. Nothing that stands at the target is ever written over,
but for documents that an earlier copy brought there and nobody there has touched since.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from askdesk.core import strict
from askdesk.core.errors import quoted
from askdesk.core.process import here
from askdesk.stores.upkeep import COPIED, Change, Heard, KeptAsk, Upkeep, clash, compared


class Copied(Struct, frozen=True):
    """What is the same here and there, and what has changed here since it was copied."""

    open: int
    settled: int
    documents: int
    sha256: str
    changed: int

    @property
    def asks(self) -> int:
        return self.open + self.settled


class _Mark(Struct, frozen=True):
    """The documents that were copied: a digest of each value."""

    v: int
    documents: dict[str, str]


class Sum:
    """One SHA-256 over everything that a store keeps, in its order: another one for every other content."""

    def __init__(self) -> None:
        self._digest = sha256(b"askdesk store v1\n")

    def add_ask(self, ask: KeptAsk) -> None:
        self._add(ask[:-1])

    def add_documents(self, documents: Mapping[str, str]) -> None:
        for document in documents.items():
            self._add(document)

    def _add(self, texts: tuple[str | int | None, ...]) -> None:
        self._digest.update(f"{strict.dumps(texts)}\n".encode())

    def __str__(self) -> str:
        return self._digest.hexdigest()


def lasting(documents: Mapping[str, str], passing: Iterable[str]) -> dict[str, str]:
    """The documents but for signs of life, which processes give at their own store and take away when they end."""
    left_out = (COPIED, *passing)
    return {name: value for name, value in documents.items() if not name.startswith(left_out)}


async def fill(source: Upkeep, target: Upkeep, heard: Heard) -> None:
    """Copy everything into an empty store, whatever it is."""
    await source.check_known()
    await _Copying(source, target, (), heard).asks(0)
    await target.change([Change(name, None, value) for name, value in (await source.documents()).items()])


async def copy(source: Upkeep, target: Upkeep, passing: Iterable[str], heard: Heard) -> Copied:
    """Copy everything but documents that are `passing`, and look at each again when it is there.

    Where anything clashes, StoreClash names it before anything is written.
    """
    await source.check_known()
    copying = _Copying(source, target, tuple(passing), heard)
    place = await copying.place()
    await copying.check_documents()
    await copying.asks(place)
    await copying.documents()
    return await copying.compared()


async def same(source: Upkeep, target: Upkeep, passing: Iterable[str], heard: Heard) -> Copied:
    """Look at all there is in both, text for text."""
    return await _Copying(source, target, tuple(passing), heard).compared()


class _Copying:
    def __init__(self, source: Upkeep, target: Upkeep, passing: tuple[str, ...], heard: Heard) -> None:
        self._source, self._target = source, target
        self._passing, self._heard = passing, heard
        self._mark = f"{COPIED}{here()[0]}:{source.address}"
        self._is_known = False  # whether the target has something of this very source, so that the mark is about it

    async def place(self) -> int:
        """Up to which change the target has everything; StoreClash where anything there is in the way."""
        if not (await self._target.count()).asks:
            return 0
        place, has_all = 0, True
        clashes: list[str] = []
        async for asks, standing in self._pairs("asks looked up"):
            found = compared(asks, standing)
            clashes += found.clashes
            self._is_known |= any(ask.id in standing for ask in asks)
            has_all = has_all and not found.changes
            place = asks[-1].changed if has_all else place
        if clashes:
            raise clash(self._target.address, clashes)
        return place

    async def asks(self, place: int) -> None:
        total, done = (await self._source.count()).asks, 0
        while asks := await self._source.asks(place):
            await self._target.keep(asks)
            place, done = asks[-1].changed, done + len(asks)
            self._heard("asks copied", done, total)

    async def documents(self) -> None:
        """Bring the target's documents up to date, and leave a mark of what they are."""
        ours, theirs = await self._source.documents(), await self._target.documents()
        changes = self._document_changes(ours, theirs)
        mark = _marked({name: _digest(value) for name, value in lasting(ours, self._passing).items()})
        if mark != theirs.get(self._mark):
            changes.append(Change(self._mark, theirs.get(self._mark), mark))
        await self._target.change(changes)
        self._is_known = True

    async def check_documents(self) -> None:
        """StoreClash where anything there is in the way."""
        self._document_changes(await self._source.documents(), await self._target.documents())

    def _document_changes(self, ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Change]:
        wanted = lasting(ours, self._passing)
        copied = _read(theirs.get(self._mark))
        if not (self._is_known or _has_some(theirs, copied, wanted)):
            copied = {}
        changes = [
            Change(name, theirs.get(name), wanted.get(name))
            for name in {**wanted, **copied}
            if wanted.get(name) != theirs.get(name)
        ]
        if clashes := [_in_the_way(change) for change in changes if not _is_untouched(change, copied)]:
            raise clash(self._target.address, clashes)
        return changes

    async def compared(self) -> Copied:
        content, open_, settled, changed = Sum(), 0, 0, 0
        async for asks, standing in self._pairs("asks compared"):
            found = compared(asks, standing)
            if found.clashes:
                raise clash(self._target.address, found.clashes)
            changed += len(found.changes)
            for there in (standing[ask.id] for ask in asks if ask.id in standing):
                content.add_ask(there)
                open_ += there.settlement is None
                settled += there.settlement is not None
        ours, theirs = lasting(await self._source.documents(), self._passing), await self._target.documents()
        changed += len(self._document_changes(ours, theirs))
        documents = {name: theirs[name] for name in ours if name in theirs}
        content.add_documents(documents)
        return Copied(open_, settled, len(documents), str(content), changed)

    async def _pairs(self, what: str) -> AsyncIterator[tuple[Sequence[KeptAsk], dict[str, KeptAsk]]]:
        """All asks here, some at a time, and what stands there in their place."""
        total, place, done = (await self._source.count()).asks, 0, 0
        while asks := await self._source.asks(place):
            yield asks, await self._target.standing(asks)
            place, done = asks[-1].changed, done + len(asks)
            self._heard(what, done, total)


def _has_some(theirs: Mapping[str, str], copied: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether anything that was copied is the same in both still: names of documents hold random numbers."""
    return any(name in copied and theirs.get(name) == value for name, value in wanted.items())


def _is_untouched(change: Change, copied: Mapping[str, str]) -> bool:
    """Whether nothing was there before, or what an earlier copy brought."""
    return copied.get(change.name) == (None if change.was is None else _digest(change.was))


def _in_the_way(change: Change) -> str:
    return f"document {quoted(change.name)}: {'was removed' if change.was is None else 'is another one'} there"


def _digest(value: str) -> str:
    return sha256(value.encode()).hexdigest()


def _marked(digests: dict[str, str]) -> str:
    return msgspec.json.encode(_Mark(1, digests)).decode()


def _read(mark: str | None) -> dict[str, str]:
    """What an earlier copy brought; nothing where only a newer version can read it."""
    try:
        return msgspec.json.decode(mark, type=_Mark).documents if mark else {}
    except msgspec.DecodeError:
        return {}
