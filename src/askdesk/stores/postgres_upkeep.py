"""The upkeep of a desk in a PostgreSQL database, while servers work with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from askdesk.core.errors import NoStore
from askdesk.core.finding import Finding
from askdesk.core.owed import OWED, ask_of
from askdesk.stores.copying import fill
from askdesk.stores.migrate import migrations
from askdesk.stores.patience import PATIENCE
from askdesk.stores.postgres_database import FOREIGN, Connection, Database, Work, statement
from askdesk.stores.postgres_migrate import migrate_postgres, schema_version
from askdesk.stores.sqlite_upkeep import SQLiteUpkeep
from askdesk.stores.upkeep import (
    MOST_ASKS,
    MOST_CHARACTERS,
    Change,
    Count,
    Heard,
    KeptAsk,
    Removed,
    Room,
    changed_clash,
    check_schema,
    clash,
    compared,
    indexed,
    outstanding,
    schema,
    strangers,
)

T = TypeVar("T")
Run: TypeAlias = Callable[[Work[Any]], Awaitable[Any]]

# While a process stands still in the midst of a change, as after Ctrl-Z, everybody waits for its turn to end.
_NO_STANDING_STILL = "SET LOCAL idle_in_transaction_session_timeout = '10s'"
_CONNECTIONS = 2
# Only with the first query is the moment fixed.
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM askdesk.schema"


class PostgresUpkeep:
    """Made by `await PostgresUpkeep.open(url)`. Belongs to one event loop."""

    def __init__(self, database: Database, run: Run) -> None:
        self.address = database.address
        self._database = database
        self._run = run

    @classmethod
    async def open(
        cls, url: str, *, patience: float = PATIENCE, write: bool = False, create: bool = False
    ) -> PostgresUpkeep:
        """Open the desk in a database: to read it as it is, to `write`, brought up to date, or to `create` it first."""
        database = await Database.open(url, patience=patience, most=_CONNECTIONS, in_haste=False)
        try:
            if write or create:
                await migrate_postgres(database, create=create)
            elif await database.run(lambda connection: schema_version(connection, database.address)) is None:
                raise NoStore(f"{database.address}: there is no desk here")
        except BaseException:
            await database.close()
            raise
        return cls(database, database.run)

    def now(self) -> datetime:
        return self._database.clock.now()

    async def check_known(self) -> None:
        check_schema(self.address, *await self._run(self._versions))

    async def count(self) -> Count:
        count: Count = await self._run(_count)
        return count

    async def asks(self, after: int = 0) -> Sequence[KeptAsk]:
        return [KeptAsk(*row) for row in await self._fetch("upkeep_asks", after, MOST_ASKS, MOST_CHARACTERS)]

    async def standing(self, asks: Sequence[KeptAsk]) -> dict[str, KeptAsk]:
        standing: dict[str, KeptAsk] = await self._run(lambda connection: _standing(connection, asks))
        return standing

    async def keep(self, asks: Sequence[KeptAsk]) -> None:
        async def keep(connection: Connection) -> None:
            async with _transaction(connection):
                await connection.execute("SELECT askdesk.turn()")  # alone, so that what comes after it sees all before
                standing = await _standing(connection, asks)
                changes, clashes = compared(asks, standing)
                if clashes:
                    raise clash(self.address, clashes)
                numbers = await _fetch(connection, "upkeep_numbers", len(changes))
                numbered = [ask._replace(changed=row["changed"]) for ask, row in zip(changes, numbers, strict=True)]
                await _write(connection, numbered, standing)

        await self._run(keep)

    async def documents(self) -> dict[str, str]:
        return dict(await self._fetch("upkeep_documents"))

    async def change(self, changes: Sequence[Change]) -> None:
        async def change(connection: Connection) -> None:
            async with _transaction(connection):
                values = await _fetch(connection, "upkeep_values", [change.name for change in changes])
                left = outstanding(self.address, changes, dict(values))
                locked = [change.name for change in left if change.was is not None]  # what came since then stays
                await _fetch(connection, "upkeep_remove_documents", locked)
                new = {change.name: change.value for change in left if change.value is not None}
                put = await _fetch(connection, "upkeep_put_documents", list(new), list(new.values()))
                if beaten := new.keys() - {row["name"] for row in put}:
                    raise changed_clash(self.address, beaten)

        await self._run(change)

    async def remove(self, ids: Sequence[str], kinds: Sequence[str]) -> Removed:
        async def remove(connection: Connection) -> Removed:
            async with _transaction(connection):
                owed = {ask_of(row["name"]) for row in await _fetch(connection, "upkeep_owed", OWED)}
                rows = await _fetch(connection, "upkeep_remove", [ask_id for ask_id in ids if ask_id not in owed])
                names = [f"{kind}{row['id']}" for kind in kinds for row in rows]
                return Removed(len(rows), len(await _fetch(connection, "upkeep_remove_below", names)))

        removed: Removed = await self._run(remove)
        return removed

    async def look(self) -> Sequence[Finding]:
        findings: list[Finding] = await self._run(self._look)
        return findings

    async def _look(self, connection: Connection) -> list[Finding]:
        version, known = await self._versions(connection)
        findings = [schema(version, known)]
        if version <= known:
            findings.append(strangers([row["thing"] for row in await _fetch(connection, "upkeep_things")]))
        if await connection.fetchval("SELECT to_regclass('askdesk.search_upto')") is None:
            return findings  # an older version was the last to write here
        return [*findings, indexed(*(await _fetch(connection, "upkeep_searched"))[0])]

    async def _versions(self, connection: Connection) -> tuple[int, int]:
        """The number of its schema, and the last one that is known here."""
        return await schema_version(connection, self.address) or 0, migrations("postgres")[-1].number

    async def vacuum(self) -> Room:
        async def vacuum(connection: Connection) -> int:
            tables = ", ".join(row["name"] for row in await _fetch(connection, "upkeep_tables"))
            await connection.execute(f"VACUUM (ANALYZE) {tables}")
            return await _size(connection)

        before = await self._run(_size)
        return Room(before, await self._run(vacuum))

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[PostgresUpkeep]:
        async def run(work: Work[T]) -> T:
            """Only here: what is lost with the connection cannot be read again."""
            try:
                return await work(connection)
            except FOREIGN as error:
                raise self._database.ours(error) from None

        connection = await self._run(lambda _: self._database.connected())
        try:
            await run(lambda connection: connection.execute(_SNAPSHOT))
            yield PostgresUpkeep(self._database, run)
        finally:
            connection.terminate()

    async def write_file(self, path: Path, heard: Heard) -> None:
        file = await SQLiteUpkeep.open(path, create=True)
        try:
            await fill(self, file, heard)
        finally:
            await file.close()

    async def close(self) -> None:
        await self._database.close()

    async def _fetch(self, name: str, *values: object) -> list[Any]:
        rows: list[Any] = await self._run(lambda connection: _fetch(connection, name, *values))
        return rows


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    async with connection.transaction(isolation="read_committed"):
        await connection.execute(f"{_NO_STANDING_STILL}; SELECT askdesk.durable()")
        yield


async def _fetch(connection: Connection, name: str, *values: object) -> list[Any]:
    rows: list[Any] = await connection.fetch(statement(name), *values)
    return rows


async def _count(connection: Connection) -> Count:
    return Count(*await connection.fetchrow(statement("upkeep_count")))


async def _standing(connection: Connection, asks: Sequence[KeptAsk]) -> dict[str, KeptAsk]:
    ids, projects, keys = ([ask[place] for ask in asks] for place in range(3))
    rows = await _fetch(connection, "upkeep_standing", ids, projects, keys)
    return {row["id"]: KeptAsk(*row) for row in rows}


async def _write(connection: Connection, asks: Sequence[KeptAsk], standing: Mapping[str, KeptAsk]) -> None:
    new = [ask for ask in asks if ask.id not in standing]
    ended = [ask for ask in asks if ask.id in standing]
    if new:
        await _fetch(connection, "upkeep_add", *(list(column) for column in zip(*new, strict=True)))
    if ended:
        columns = [ask.id for ask in ended], [ask.settlement for ask in ended], [ask.changed for ask in ended]
        await _fetch(connection, "upkeep_end", *columns)


async def _size(connection: Connection) -> int:
    return sum(row["bytes"] for row in await _fetch(connection, "upkeep_tables"))
