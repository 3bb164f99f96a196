"""What tests of the PostgreSQL store share: a store that is closed in the end, and its database seen from beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from tests.postgres import Cluster

from askdesk.core.store import State, Store
from askdesk.stores.postgres import PostgresStore

TURN = "SELECT pg_advisory_xact_lock(1095977796, 1)"
TABLE = "LOCK TABLE askdesk.asks IN ACCESS EXCLUSIVE MODE"


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, **options)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def held(url: str, lock: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Another program holds a lock in this database, until the end or until it is told to let go."""
    connection = await asyncpg.connect(url)
    await connection.execute(f"BEGIN; {lock}")
    try:
        yield connection.close
    finally:
        await connection.close()


async def numbers(store: Store, state: State = "open", text: str = "") -> list[int]:
    return [int(entry.ask.id, 16) for entry in (await store.page(state, limit=10_000, text=text)).entries]


class Seen:
    """A database as its server sees it."""

    def __init__(self, cluster: Cluster, url: str) -> None:
        self._cluster, self.name = cluster, url.rpartition("/")[2]

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._cluster.sql(statement, *values, database=self.name)]

    def run(self, statements: str) -> None:
        """Several at once."""
        for statement in filter(str.strip, statements.split(";")):
            self.sql(statement)

    def backends(self, condition: str = "true") -> list[int]:
        """The processes that serve a store here."""
        where = f"datname = '{self.name}' AND application_name = 'askdesk' AND {condition}"
        return [pid for (pid,) in self._cluster.sql(f"SELECT pid FROM pg_stat_activity WHERE {where} ORDER BY pid")]  # noqa: S608

    def beats(self) -> list[object]:
        """When the listener last asked what has changed."""
        where = f"datname = '{self.name}' AND application_name = 'askdesk' AND {LISTENING}"
        return [at for (at,) in self._cluster.sql(f"SELECT query_start FROM pg_stat_activity WHERE {where}")]  # noqa: S608

    def terminate(self, condition: str = "true") -> None:
        for pid in self.backends(condition):
            self._cluster.sql("SELECT pg_terminate_backend($1)", pid)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what others do."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


WAITING = "wait_event_type = 'Lock'"
LISTENING = "query ~ '^(-- What has changed|LISTEN)'"
