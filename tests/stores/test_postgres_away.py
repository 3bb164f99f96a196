"""PostgreSQL goes away in the midst of something: nothing is left behind, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
from asyncpg.connection import Connection
from tests.faults.proxy import Cut, Proxy
from tests.postgres import Cluster
from tests.stores.on_postgres import TABLE, WAITING, Seen, held, opened, until

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy, StoreError
from askdesk.core.model import Entry, Question
from askdesk.stores import postgres_database, postgres_session
from askdesk.stores.patience import PERHAPS
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.postgres_database import Database
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(postgres)
    yield store
    await store.close()


async def test_an_ask_that_is_cancelled_at_any_step_is_never_left_open(store: PostgresStore) -> None:
    desk = Desk(store)
    for steps in range(20):
        store._database.reset()  # as where it was away: whoever takes it back may be quicker than who keeps it
        asking = asyncio.ensure_future(desk.ask(Question("Which database?", ["SQLite", "Postgres"])))
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
    last = await desk.post(Question("Which framework?", ["Flask", "Django"]))  # written after all of the above
    assert [entry.ask.id for entry in (await desk.page("open")).entries] == [last.id]


async def test_a_connection_that_is_dropped_between_two_steps_of_a_statement_is_another_try_however_late_it_is(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(postgres, patience=0)
    prepare = Connection._get_statement
    tries: list[str] = []

    async def prepared(self: Connection, *given: Any, **more: Any) -> Any:
        statement = await prepare(self, *given, **more)
        if not tries:
            database.reset()
        tries.append(given[0])
        return statement

    monkeypatch.setattr(Connection, "_get_statement", prepared)
    assert await database.run(lambda connection: connection.fetchval("SELECT 1")) == 1
    assert tries == ["SELECT 1", "SELECT 1"]
    await database.close()


async def test_who_was_dropped_waits_for_a_connection_however_late_it_is(postgres: str) -> None:
    database = await Database.open(postgres, patience=0, most=1)
    is_asleep, tries = asyncio.Event(), 0

    async def once_in_vain(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            is_asleep.set()
            await connection.fetchval("SELECT pg_sleep(60)")
        return tries

    async def right_behind(connection: Connection) -> str:
        await connection.fetchval("SELECT pg_sleep(0.4)")
        return "the other"

    dropped = asyncio.ensure_future(database.run(once_in_vain))
    await is_asleep.wait()
    database.patience = 30
    other = asyncio.ensure_future(database.run(right_behind))
    await asyncio.sleep(0)
    database.reset()
    assert (await dropped, await other) == (2, "the other")
    await database.close()


async def test_whatever_goes_wrong_nobody_waits_for_ever(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(name: str, *values: object) -> None:
        raise ZeroDivisionError

    await store.add(an_ask(1))
    monkeypatch.setattr(store._database, "fetch", fetch)
    for verb in (store.add(an_ask(2)), store.add(an_ask(3)), store.settle(an_ask(1).id, a_settlement())):
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(verb, 5)


@pytest.mark.parametrize("is_proxied", [False, True], ids=["heard", "looked for"])
async def test_who_waits_hears_soon_after_the_way_is_healed_however_many_tries_fell_into_the_hole(
    cluster: Cluster, postgres: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch, is_proxied: bool
) -> None:
    monkeypatch.setattr(postgres_session, "_HURRY_SECONDS", 0.1)
    await store.add(an_ask(1))
    with Proxy(cluster.port) as proxy:
        far = await PostgresStore.open(postgres.replace(f":{cluster.port}/", f":{proxy.port}/"))
        far._database.is_proxied = is_proxied
        waiting = asyncio.ensure_future(Desk(far).wait(an_ask(1).id))
        proxy.cut(Cut.HOLE)
        await store.settle(an_ask(1).id, a_settlement())
        before = proxy.let_in
        async with asyncio.timeout(8):
            while proxy.let_in < before + 12:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            proxy.heal()
            assert await waiting == a_settlement()
        await far.close()


async def test_who_gives_up_is_told_that_what_was_sent_may_have_arrived(
    cluster: Cluster, postgres: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "_STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr(postgres_database, "_CONNECT_SECONDS", 1.0)
    with Proxy(cluster.port) as proxy:
        far = await PostgresStore.open(postgres.replace(f":{cluster.port}/", f":{proxy.port}/"), patience=0.1)
        await far.add(an_ask(1))
        proxy.cut(Cut.DEAF)
        told = [str(await failed(verb)) for verb in (far.add(an_ask(2)), far.get(an_ask(2).id))]
        await far.close()
    assert told == [f"{far.address}: did not answer in time{PERHAPS}", f"{far.address}: did not answer in time"]
    async with asyncio.timeout(10):
        while (await store.page("open")).entries != (Entry(an_ask(1)), Entry(an_ask(2))):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_an_ask_whose_answer_was_lost_on_its_way_is_a_new_one_all_the_same(
    cluster: Cluster, postgres: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "_STATEMENT_SECONDS", 1.0)
    with Proxy(cluster.port) as proxy:
        far = await PostgresStore.open(postgres.replace(f":{cluster.port}/", f":{proxy.port}/"))
        await far.add(an_ask(1))
        proxy.cut(Cut.DEAF)
        new = an_ask(2)
        adding = asyncio.ensure_future(far.add(new))
        seen = Seen(cluster, postgres)
        await until(lambda: seen.sql("SELECT count(*) FROM askdesk.asks") == [(2,)])
        proxy.heal()
        assert await adding is new
        await far.close()


async def failed(verb: Awaitable[object]) -> StoreError:
    with pytest.raises(StoreError) as error:
        await verb
    return error.value


async def test_that_it_may_have_arrived_is_told_also_where_a_later_try_met_something_else(
    cluster: Cluster, postgres: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "_STATEMENT_SECONDS", 1.0)
    monkeypatch.setitem(postgres_database._PATIENCE_OF_THE_DATABASE, "lock_timeout", "50ms")
    with Proxy(cluster.port) as proxy:
        far = await PostgresStore.open(postgres.replace(f":{cluster.port}/", f":{proxy.port}/"), patience=3)
        await far.add(an_ask(1))
        proxy.cut(Cut.DEAF)
        adding = asyncio.ensure_future(failed(far.add(an_ask(2))))
        seen = Seen(cluster, postgres)
        await until(lambda: seen.sql("SELECT count(*) FROM askdesk.asks") == [(2,)])
        async with held(postgres, TABLE):
            proxy.heal()
            told = await adding
        await far.close()
    assert isinstance(told, StoreBusy)
    assert str(told) == f"{far.address}: canceling statement due to lock timeout{PERHAPS}"


async def test_the_database_soon_lets_go_of_who_is_cut_off_in_the_midst_of_a_change(store: PostgresStore) -> None:
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")
    shown = [await store._database.run(lambda c, name=name: c.fetchval(f"SHOW {name}")) for name in names]  # type: ignore[misc]
    assert shown == ["5", "2", "3"]


async def test_a_store_that_closes_leaves_no_way_to_a_silent_database_behind(
    cluster: Cluster, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_session, "_BEAT_SECONDS", 0.1)
    before = asyncio.all_tasks()
    with Proxy(cluster.port) as proxy:
        far = await PostgresStore.open(postgres.replace(f":{cluster.port}/", f":{proxy.port}/"))
        heard: list[str | None] = []
        far.hints(heard.append)
        await until(lambda: heard)  # it listens
        ways = proxy.let_in
        proxy.cut(Cut.HOLE)
        await until(lambda: proxy.let_in > ways)  # and looks whether the database is there by another way
        await far.close()
        for _ in range(10):  # steps in which what was cancelled ends
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before


async def test_behind_a_proxy_a_table_that_others_have_locked_is_waited_for_and_no_lost_way(
    cluster: Cluster, postgres: str, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.sql(f"ALTER DATABASE {postgres.rpartition('/')[2]} SET lock_timeout = '50ms'")
    async with opened(postgres) as far:
        far._database.is_proxied = True
        heard: list[str | None] = []
        far.hints(heard.append)
        await until(lambda: heard)  # it has begun to look
        caplog.clear()
        seen = Seen(cluster, postgres)
        async with held(postgres, TABLE):
            await until(lambda: seen.backends(WAITING))
            await until(lambda: not seen.backends(WAITING))
            await until(lambda: seen.backends(WAITING))  # it was refused, and looks again
        heard.clear()
        await store.add(an_ask(1))
        await until(lambda: an_ask(1).id in heard)
    assert caplog.messages == []
