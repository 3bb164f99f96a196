"""The upkeep of a desk in an SQLite file, while other processes work with it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from askdesk.core import strict
from askdesk.core.clock import SystemClock
from askdesk.core.errors import NoStore
from askdesk.core.finding import Finding
from askdesk.core.owed import OWED, ask_of
from askdesk.stores.migrate import migrate_sqlite, migrations
from askdesk.stores.sqlite import LATEST
from askdesk.stores.sqlite_connection import FOREIGN, Connection, Operation, Place
from askdesk.stores.upkeep import (
    MOST_ASKS,
    MOST_CHARACTERS,
    Change,
    Count,
    Heard,
    KeptAsk,
    Removed,
    Room,
    check_schema,
    clash,
    compared,
    indexed,
    outstanding,
    schema,
    strangers,
)

T = TypeVar("T")

_COLUMNS = "id, project, key, record, deadline, settlement, changed"
_COUNT = "SELECT count(*) - count(settlement), count(settlement), (SELECT count(*) FROM shelf) FROM asks"
_ASKS = f"""SELECT {_COLUMNS} FROM asks WHERE settlement IS NULL AND changed > :after
            UNION ALL SELECT {_COLUMNS} FROM asks WHERE settlement IS NOT NULL AND changed > :after
            ORDER BY changed LIMIT :most"""  # noqa: S608
_BY_IDS = f"SELECT {_COLUMNS} FROM asks WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
_BY_KEYS = f"""SELECT {_COLUMNS.replace("id,", "asks.id,").replace("key,", "asks.key,")}
               FROM json_each(?) AS given CROSS JOIN asks
               ON project = given.value ->> 0 AND asks.key = given.value ->> 1"""  # noqa: S608
_ADD = f"INSERT INTO asks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_END = "UPDATE asks SET settlement = ?, changed = ? WHERE id = ? AND settlement IS NULL"
_VALUES = "SELECT name, value FROM shelf WHERE name IN (SELECT value FROM json_each(?))"
_REMOVE = f"""DELETE FROM asks WHERE id = ? AND settlement IS NOT NULL AND changed < {LATEST}
              RETURNING seq, changed"""  # noqa: S608
_OWED = "SELECT name FROM shelf WHERE substr(name, 1, ?) = ?"
_SEARCHED = "SELECT changed, (SELECT count(*) FROM search_unread) FROM search_upto"
_THINGS = "SELECT type || ' ' || name FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'"
_PAGES = 1000  # that go into a file at once


class SQLiteUpkeep:
    """Made by `await SQLiteUpkeep.open(path)`."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.address = str(path)
        self._place = Place(path, busy_seconds)
        self._connection = Connection(self._place)
        self._thread = ThreadPoolExecutor(1, "askdesk-upkeep")
        self._running: Future[Any] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, *, busy_seconds: float = 5.0, write: bool = False, create: bool = False
    ) -> SQLiteUpkeep:
        """Open the file: to read it as it is, to `write`, brought up to date, or to `create` it where there is none."""
        upkeep = cls(path, busy_seconds)
        try:
            await upkeep._run(lambda: upkeep._prepare(write=write or create, create=create))
        except BaseException:
            await upkeep.close()
            raise
        return upkeep

    def _prepare(self, *, write: bool, create: bool) -> None:
        try:
            if not self._place.path.exists():
                if not create:
                    raise NoStore(f"{self.address}: there is no store here")
                self._place.make()
        except FOREIGN as error:
            raise self._place.ours(error) from None
        self._connection.query(migrate_sqlite if write else _nothing)

    def now(self) -> datetime:
        return SystemClock().now()

    async def check_known(self) -> None:
        check_schema(self.address, *await self._query(_versions))

    async def count(self) -> Count:
        return await self._query(lambda database: Count(*_fetch(database, _COUNT)[0]))

    async def asks(self, after: int = 0) -> Sequence[KeptAsk]:
        return await self._query(lambda database: _some(database, after))

    async def standing(self, asks: Sequence[KeptAsk]) -> dict[str, KeptAsk]:
        return await self._query(lambda database: _standing(database, asks))

    async def keep(self, asks: Sequence[KeptAsk]) -> None:
        def keep(database: apsw.Connection) -> None:
            standing = _standing(database, asks)
            changes, clashes = compared(asks, standing)
            if clashes:
                raise clash(self.address, clashes)
            latest = _latest(database)
            for number, ask in enumerate(changes, start=latest + 1):
                if ask.id in standing:
                    database.execute(_END, (ask.settlement, number, ask.id))
                else:
                    database.execute(_ADD, ask._replace(changed=number))

        await self._transact(keep)

    async def documents(self) -> dict[str, str]:
        return dict(await self._query(lambda database: _fetch(database, "SELECT name, value FROM shelf ORDER BY name")))

    async def change(self, changes: Sequence[Change]) -> None:
        names = strict.dumps([change.name for change in changes])

        def change(database: apsw.Connection) -> None:
            values = dict(_fetch(database, _VALUES, (names,)))
            for name, _, value in outstanding(self.address, changes, values):
                database.execute("DELETE FROM shelf WHERE name = ?", (name,))
                if value is not None:
                    database.execute("INSERT INTO shelf (name, value) VALUES (?, ?)", (name, value))

        await self._transact(change)

    async def remove(self, ids: Sequence[str], kinds: Sequence[str]) -> Removed:
        def remove(database: apsw.Connection) -> Removed:
            owed = _owed(database)
            removed = [ask_id for ask_id in ids if ask_id not in owed and _remove(database, ask_id)]
            names = [f"{kind}{ask_id}" for kind in kinds for ask_id in removed]
            return Removed(len(removed), sum(_remove_documents(database, name) for name in names))

        return await self._transact(remove)

    async def look(self) -> Sequence[Finding]:
        return await self._query(_look)

    async def vacuum(self) -> Room:
        before = await self._run(self._place.size)
        await self._query(_vacuum)
        return Room(before, await self._run(self._place.size))

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SQLiteUpkeep]:
        await self._query(_begin)
        try:
            yield self
        finally:
            self._interrupt()
            await self._query(lambda database: database.execute("ROLLBACK"))

    async def write_file(self, path: Path, heard: Heard) -> None:
        place = Place(path, self._place.busy_seconds)
        with closing(await self._run(lambda: _new_file(place))) as file:
            backup = await self._query(lambda database: file.backup("main", database, "main"))
            try:
                while not backup.done:
                    await self._run(lambda: _write_pages(place, file, backup))
                    heard("pages written", backup.page_count - backup.remaining, backup.page_count)
            finally:
                await self._run(lambda: backup.close(force=True))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._interrupt()
        await self._run(self._connection.close)
        self._thread.shutdown()

    def _interrupt(self) -> None:
        """End what runs still, whose caller has gone: nothing else could run before it."""
        if self._running and not self._running.done():
            self._connection.interrupt()

    async def _query(self, query: Operation[T]) -> T:
        return await self._run(lambda: self._connection.query(query))

    async def _transact(self, operation: Operation[T]) -> T:
        results = await self._run(lambda: self._connection.transact([operation]))
        result: T = results[0]
        return result

    async def _run(self, work: Callable[[], T]) -> T:
        """In a thread of its own, so that what takes long can be ended from outside."""
        running = self._running = self._thread.submit(work)
        return await asyncio.wrap_future(running)


def _nothing(_: apsw.Connection) -> None:
    """To open it is all there is to do."""


def _new_file(place: Place) -> apsw.Connection:
    try:
        os.close(os.open(place.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return apsw.Connection(str(place.path))
    except FOREIGN as error:
        raise place.ours(error) from None


def _write_pages(place: Place, file: apsw.Connection, backup: apsw.Backup) -> None:
    try:
        with suppress(*FOREIGN):
            backup.step(_PAGES)
            return
        backup.finish()  # it alone tells what went wrong
    except FOREIGN as error:
        raise place.ours(error, file) from None


def _begin(database: apsw.Connection) -> None:
    database.execute("BEGIN")
    _latest(database)  # only now, with the first read, is the moment fixed


def _some(database: apsw.Connection, after: int) -> list[KeptAsk]:
    rows = database.execute(_ASKS, {"after": after, "most": MOST_ASKS})
    asks: list[KeptAsk] = []
    characters = 0
    try:
        for row in rows:
            asks.append(KeptAsk(*row))
            characters += len(asks[-1].record) + len(asks[-1].settlement or "")
            if characters > MOST_CHARACTERS:
                break
    finally:
        rows.close()
    return asks


def _standing(database: apsw.Connection, asks: Sequence[KeptAsk]) -> dict[str, KeptAsk]:
    ids = strict.dumps([ask.id for ask in asks])
    keys = strict.dumps([(ask.project, ask.key) for ask in asks if ask.key is not None])
    rows = [*_fetch(database, _BY_IDS, (ids,)), *_fetch(database, _BY_KEYS, (keys,))]
    return {row[0]: KeptAsk(*row) for row in rows}


def _latest(database: apsw.Connection) -> int:
    return int(_fetch(database, f"SELECT {LATEST}")[0][0])


def _owed(database: apsw.Connection) -> set[str]:
    """The asks whose end is still to be delivered."""
    return {ask_of(name) for (name,) in _fetch(database, _OWED, (len(OWED), OWED))}


def _remove(database: apsw.Connection, ask_id: str) -> bool:
    rows = _fetch(database, _REMOVE, (ask_id,))
    for seq, changed in rows:
        was_open = _fetch(database, "DELETE FROM search_open WHERE ask = ? RETURNING changed", (seq,))
        for (place,) in ((changed,), *was_open):
            database.execute("DELETE FROM search WHERE rowid = ?", (place,))
        database.execute("DELETE FROM search_unread WHERE ask = ?", (seq,))
    return bool(rows)


def _remove_documents(database: apsw.Connection, name: str) -> int:
    """The one of this name and those below it, and how many they are; 0 comes after the slash."""
    database.execute("DELETE FROM shelf WHERE name = ? OR (name > ? AND name < ?)", (name, f"{name}/", f"{name}0"))
    return database.changes()


def _look(database: apsw.Connection) -> list[Finding]:
    version, known = _versions(database)
    return [
        schema(version, known),
        _integrity(database),
        *([] if version > known else [_things(database)]),
        *([indexed(*_searched(database))] if _has_search(database) else []),
    ]


def _versions(database: apsw.Connection) -> tuple[int, int]:
    """The number of its schema, and the last one that is known here."""
    return int(database.pragma("user_version")), migrations("sqlite")[-1].number


def _integrity(database: apsw.Connection) -> Finding:
    """SQLite's own look at every page and every index."""
    said = [str(row[0]) for row in _fetch(database, "PRAGMA integrity_check(5)")]
    return Finding("integrity", "; ".join(said), wrong=said != ["ok"])


def _things(database: apsw.Connection) -> Finding:
    """Whether there is anything that we did not make: a trigger of somebody else's could settle asks."""
    with closing(apsw.Connection(":memory:")) as made:
        migrate_sqlite(made)
        ours = {thing for (thing,) in _fetch(made, _THINGS)}
    return strangers(sorted({thing for (thing,) in _fetch(database, _THINGS)} - ours))


def _has_search(database: apsw.Connection) -> bool:
    """Not where an older version was the last to write here."""
    return bool(_fetch(database, "SELECT 1 FROM sqlite_schema WHERE name = 'search_upto'"))


def _searched(database: apsw.Connection) -> tuple[int, int, int]:
    upto, unread = _fetch(database, _SEARCHED)[0]
    return upto, _latest(database), unread


def _vacuum(database: apsw.Connection) -> None:
    database.execute("INSERT INTO search (search) VALUES ('optimize')")  # or what was removed from it keeps its room
    database.execute("VACUUM")
    database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _fetch(database: apsw.Connection, query: str, values: tuple[str | int | None, ...] = ()) -> list[Any]:
    return database.execute(query, values).fetchall()
