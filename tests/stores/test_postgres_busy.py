"""A database that is busy: tables that others have locked, statements that are cancelled, no connection left."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import LISTENING, Seen, until
from tests.stores.verbs import VERBS, begin, seen

from askdesk.core.errors import StoreBusy
from askdesk.core.model import Entry
from askdesk.core.store import Store
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

LOCK = "LOCK TABLE askdesk.asks, askdesk.shelf IN ACCESS EXCLUSIVE MODE"
WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@asynccontextmanager
async def opened(url: str, *, patience: float = 30) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, patience=patience)
    try:
        yield store
    finally:
        await store.close()


class Watcher(NamedTuple):
    """Sees who waits for a lock."""

    connection: Any

    async def until(self, is_right: Callable[[list[int]], bool]) -> list[int]:
        while not is_right(waiting := [row["pid"] for row in await self.connection.fetch(WAITING)]):
            pass
        return waiting

    async def cancel(self, process: int) -> None:
        await self.connection.execute("SELECT pg_cancel_backend($1)", process)


@asynccontextmanager
async def locked(url: str) -> AsyncIterator[Watcher]:
    """While the block runs, another transaction has all tables to itself."""
    holder, watching = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        async with asyncio.timeout(60), holder.transaction():
            await holder.execute(LOCK)
            yield Watcher(watching)
    finally:
        await holder.close()
        await watching.close()


async def all_at_once(store: Store) -> list[object]:
    return list(await asyncio.gather(*(verb(store) for verb in VERBS.values()), return_exceptions=True))


async def test_a_lock_that_is_let_go_in_time_is_waited_for(postgres: str) -> None:
    async with opened(postgres) as store:
        await begin(store)
        async with locked(postgres) as watcher:
            adding = asyncio.ensure_future(store.add(an_ask(9)))
            settling = asyncio.ensure_future(store.settle(an_ask(1).id, a_settlement()))
            await watcher.until(lambda waiting: len(waiting) == 2)
            assert not adding.done()
            assert not settling.done()
        assert (await adding, await settling) == (an_ask(9), a_settlement())


async def test_a_lock_held_too_long_is_told_and_afterwards_nothing_was_done(postgres: str, cluster: Cluster) -> None:
    cluster.sql(f"ALTER DATABASE {postgres.rpartition('/')[2]} SET lock_timeout = '100ms'")
    async with opened(postgres) as other, opened(postgres, patience=0.1) as store:
        await begin(other)
        before = await seen(other)
        async with locked(postgres) as watcher:
            results = await all_at_once(store)
            assert [type(result) for result in results] == [StoreBusy] * len(VERBS)
            await watcher.until(lambda waiting: not waiting)
        assert await seen(other) == before
        assert StoreBusy not in [type(result) for result in await all_at_once(store)]


async def test_a_statement_that_somebody_cancels_is_sent_again(postgres: str) -> None:
    async with opened(postgres) as store:
        await begin(store)
        async with locked(postgres) as watcher:
            adding = asyncio.ensure_future(store.add(an_ask(9)))
            cancelled: set[int] = set()
            for _ in range(3):
                (process,) = await watcher.until(lambda waiting: bool({*waiting} - cancelled))
                await watcher.cancel(process)
                cancelled.add(process)
            assert not adding.done()
        assert await adding == an_ask(9)
        assert (await store.page("open", newest=True, limit=1)).entries == (Entry(an_ask(9)),)


@pytest.fixture
def limited(cluster: Cluster, postgres: str) -> Iterator[str]:
    """The same database for somebody who may have only two connections to it."""
    cluster.sql("CREATE ROLE ben LOGIN CONNECTION LIMIT 2")
    cluster.sql(f"ALTER DATABASE {postgres.rpartition('/')[2]} OWNER TO ben")
    yield postgres.replace("ana@", "ben@")
    cluster.sql(f"ALTER DATABASE {postgres.rpartition('/')[2]} OWNER TO ana")
    cluster.sql("REASSIGN OWNED BY ben TO ana", database=postgres.rpartition("/")[2])
    cluster.sql("DROP ROLE ben")


async def test_where_no_connection_is_left_that_is_told_and_it_goes_on_once_there_is_one(limited: str) -> None:
    async with opened(limited, patience=0.1) as store:
        await begin(store)
        store._database.reset()
        taken = [await asyncpg.connect(limited) for _ in range(2)]
        results = await all_at_once(store)
        assert [type(result) for result in results] == [StoreBusy] * len(VERBS)
        for connection in taken:
            await connection.close()
        async with opened(limited) as other:
            before = await seen(other)
        assert before.open[0] == Entry(an_ask(1))
        assert await store.add(an_ask(9)) == an_ask(9)


async def test_where_no_connection_is_left_a_slow_database_is_not_taken_for_one_that_is_cut_off(
    cluster: Cluster, limited: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    async with opened(limited) as store:
        await store.add(an_ask(1))
        heard = asyncio.Event()
        store.hints(lambda _: heard.set())
        await heard.wait()
        connected = store._database.connected

        async def counted() -> Any:
            try:
                return await connected()
            except asyncpg.TooManyConnectionsError as error:
                refused.append(str(error))
                raise

        monkeypatch.setattr(store._database, "connected", counted)
        backends = Seen(cluster, limited)
        (listener,) = backends.backends(LISTENING)
        os.kill(listener, signal.SIGSTOP)
        try:
            await until(lambda: refused)
        finally:
            os.kill(listener, signal.SIGCONT)
        beats = backends.beats()
        await until(lambda: backends.beats() not in ([], beats))
        assert backends.backends(LISTENING) == [listener]
    assert refused == ['too many connections for role "ben"']
