"""The index over the asks in PostgreSQL: brought up to date before a search, so that neither posting nor settling has
to, nor older programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from askdesk.core import search
from askdesk.core.model import Entry
from askdesk.core.store import Page, State
from askdesk.stores.postgres_database import Connection, Database, Record, statement
from askdesk.stores.rows import readable

_MOST_ASKS, _MOST_CHARACTERS = 200, 1_000_000  # that are indexed in one commit
_MANY_ASKS = 10_000  # after so many, the planner should not go by what it knew before
_MOST_BYTES = 500_000  # of terms that go into a tsvector, which ends at a megabyte


class _Indexed(NamedTuple):
    """An ask as it goes into the index."""

    seq: int
    changed: int
    is_open: bool
    terms: str | None  # None where they are too many
    is_read: bool  # and not left to a newer version


class Index:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()
        self._is_new = True

    async def page(
        self, state: State, wanted: tuple[search.Wanted, ...], start: int, limit: int, *, newest: bool
    ) -> Page:
        """Some entries of one state that match, from a place on."""
        await self.catch_up()
        entries: list[Entry] = []
        while True:
            most = limit + 1 - len(entries)
            rows = await self._found(
                "newest" if newest else "oldest", state == "open", _expression(wanted), start, most
            )
            for row in rows:
                entry = _matching(row, wanted)
                if entry is not None and len(entries) == limit:
                    return Page(tuple(entries), str(start))
                start = row["changed"]
                entries += [entry] if entry is not None else []
            if len(rows) < most:
                return Page(tuple(entries))

    async def _found(self, first: str, *values: object) -> list[Record]:
        async def found(connection: Connection) -> list[Record]:
            async with connection.transaction(readonly=True):
                # For these very words: the short way to a rare one is another than that to a common one.
                await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                rows: list[Record] = await connection.fetch(statement(f"search_{first}"), *values)
                return rows

        return await self._database.run(found)

    async def catch_up(self) -> None:
        """Index every change that was made before this call."""
        async with self._turn:  # whoever comes second finds it done
            if self._is_new:
                await self._catch_up_with_older_versions()
            count = 0
            while some := await self._index_some():
                count += some
            if count >= _MANY_ASKS:
                await self._database.fetch("search_analyze")

    async def _index_some(self) -> int:
        """How many; after none there is no more."""
        progress = (await self._database.fetch("search_progress"))[0]
        if progress["indexed"] >= progress["latest"]:
            return 0
        rows = await self._database.fetch("search_next", progress["indexed"], _MOST_ASKS)
        asks = _indexed_some(rows)
        if not asks:
            return 0
        unread = [ask.seq for ask in asks if not ask.is_read]
        upto = asks[-1].changed
        await self._database.fetch("search_index", progress["indexed"], upto, *_columns(asks), unread)
        return len(asks)

    async def _catch_up_with_older_versions(self) -> None:
        """Index what they could not read and this one perhaps can."""
        asks = [_indexed(row) for row in await self._database.fetch("search_unread")]
        if any(ask.is_read for ask in asks):
            await self._database.fetch("search_index_unread", *_columns(asks))
        self._is_new = False


def _expression(wanted: Iterable[search.Wanted]) -> str:
    """What is wanted, as a tsquery: a term holds no quote and no backslash."""
    return " & ".join(f"'{one.term}'" if one.whole else f"'{one.term}':*" for one in wanted)


def _matching(row: Record, wanted: tuple[search.Wanted, ...]) -> Entry | None:
    if row["record"] is None:  # it has changed since it was indexed
        return None
    entry = readable(row["record"], row["settlement"], row["id"])
    if entry is None or (row["is_long"] and not search.matches(entry, wanted)):
        return None
    return entry


def _indexed_some(rows: Iterable[Record]) -> list[_Indexed]:
    asks: list[_Indexed] = []
    characters = 0
    for row in rows:
        asks.append(_indexed(row))
        characters += len(row["record"])
        if characters > _MOST_CHARACTERS:
            break
    return asks


def _indexed(row: Record) -> _Indexed:
    entry = readable(row["record"], row["settlement"], row["id"])
    terms = " ".join(search.terms(entry)) if entry is not None else None
    if terms is not None and len(terms.encode()) > _MOST_BYTES:
        terms = None
    return _Indexed(row["seq"], row["changed"], row["settlement"] is None, terms, entry is not None)


def _columns(asks: Iterable[_Indexed]) -> tuple[list[int], list[int], list[bool], list[str | None]]:
    read = [ask for ask in asks if ask.is_read]
    return [ask.seq for ask in read], [a.changed for a in read], [a.is_open for a in read], [a.terms for a in read]
