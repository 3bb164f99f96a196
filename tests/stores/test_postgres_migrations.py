"""A PostgreSQL database is made and brought up to date, while servers of this and of older versions go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import Seen, held, numbers, opened
from tests.stores.other import Other

from askdesk.core.errors import NoStore, StoreBusy, StoreError, StoreGone, StoreTooNew
from askdesk.core.model import Entry
from askdesk.stores.migrate import Migration, migrations
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

Version: TypeAlias = Callable[..., None]

FIRST, SECOND = migrations("postgres")[:2]
NEWER = Migration(
    1999, "ALTER TABLE askdesk.asks ADD COLUMN mood text NOT NULL DEFAULT 'calm'; CREATE TABLE askdesk.a ()"
)
BROKEN = Migration(1999, f"{NEWER.sql}; SELECT 1 / 0")
MADE = """SELECT 'table ' || relname FROM pg_class WHERE relnamespace = 'askdesk'::regnamespace AND relkind = 'r'
          UNION ALL SELECT 'version ' || version FROM askdesk.schema ORDER BY 1"""


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    return Seen(cluster, postgres)


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Version:
    """From now on, this program brings along these migrations."""

    def become(*known: Migration) -> None:
        monkeypatch.setattr("askdesk.stores.postgres_migrate.migrations", lambda _: known)

    return become


def test_ten_processes_that_open_an_empty_database_at_once_make_one_desk(cluster: Cluster) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(Other()) for _ in range(10)]
        for other in others:
            other.do("files", ".")  # it has started
        url = cluster.database()
        at = time.monotonic() + 0.05
        for other in others:
            other.tell("open", url, at)
        for other in others:
            other.told()
        for number, other in enumerate(others):
            other.do("add", number)
        assert [other.do("numbers") for other in others] == [[*range(10)]] * 10
        assert ("version 1002",) in Seen(cluster, url).sql(MADE)
    cluster.drop(url)


async def test_without_leave_to_make_a_desk_none_is_made(seen: Seen, postgres: str) -> None:
    for _ in range(2):
        with pytest.raises(NoStore, match="there is no desk here; the first ask makes it"):
            await PostgresStore.open(postgres, create=False)
    assert seen.sql("SELECT to_regnamespace('askdesk')") == [(None,)]
    async with opened(postgres), opened(postgres, create=False) as store:
        assert await numbers(store) == []


async def test_a_newer_major_version_is_refused_and_left_alone(seen: Seen, postgres: str) -> None:
    async with opened(postgres):
        pass
    seen.sql("UPDATE askdesk.schema SET version = 2001")
    before = seen.sql(MADE)
    with pytest.raises(StoreTooNew, match=r"its schema is 2\.x; this askdesk knows 1\.x: upgrade it"):
        await PostgresStore.open(postgres)
    assert seen.sql(MADE) == before


async def test_a_migration_that_fails_leaves_nothing_half_made(seen: Seen, postgres: str, version: Version) -> None:
    version(FIRST, BROKEN)
    with pytest.raises(StoreError, match="division by zero"):
        await PostgresStore.open(postgres)
    assert seen.sql("SELECT to_regnamespace('askdesk')") == [(None,)]
    version(FIRST)
    async with opened(postgres) as store:
        await store.add(an_ask(1))
    before = seen.sql(MADE)
    version(FIRST, BROKEN)
    with pytest.raises(StoreError, match="division by zero"):
        await PostgresStore.open(postgres)
    assert seen.sql(MADE) == before
    version(FIRST, SECOND, NEWER)
    async with opened(postgres) as store:
        assert await numbers(store, text="which") == [1]


async def test_an_older_server_goes_on_while_a_newer_one_brings_its_database_up_to_date(
    seen: Seen, postgres: str, version: Version, caplog: pytest.LogCaptureFixture
) -> None:
    version(FIRST)
    async with opened(postgres) as older:
        for number in range(10):  # so often that the database keeps its plans
            await older.add(an_ask(number))
            await older.settle(an_ask(number).id, a_settlement())
            await older.get(an_ask(number).id)
            await older.shelf.put("a", f"{number}")
        connections = seen.backends()
        version(FIRST, SECOND, NEWER)
        async with opened(postgres) as newer:
            assert seen.sql("SELECT DISTINCT mood FROM askdesk.asks") == [("calm",)]
            await older.add(an_ask(10))
            assert await older.settle(an_ask(10).id, a_settlement()) == a_settlement()
            assert await older.get(an_ask(10).id) == Entry(an_ask(10), a_settlement())
            assert await numbers(older, "settled") == [*range(11)]
            assert {*connections} <= {*seen.backends()}
            await newer.add(an_ask(11))
            assert (await numbers(older), await numbers(newer, text="which")) == ([11], [11])
    async with opened(postgres) as older_and_opened_later:
        assert await numbers(older_and_opened_later) == [11]
    assert caplog.messages == []


async def test_a_table_in_use_makes_a_migration_wait_and_nobody_else(postgres: str, version: Version) -> None:
    async with opened(postgres) as older:
        await older.add(an_ask(1))
        version(FIRST, SECOND, NEWER)
        async with held(postgres, "LOCK TABLE askdesk.asks IN ACCESS SHARE MODE") as release:  # as pg_dump does
            opening = asyncio.ensure_future(PostgresStore.open(postgres))
            slowest = 0.0
            for number in range(2, 40):
                started = time.monotonic()
                await older.add(an_ask(number))
                slowest = max(slowest, time.monotonic() - started)
                await asyncio.sleep(0.02)
            assert not opening.done()
            assert slowest < 1.5
            with pytest.raises(StoreBusy, match="lock timeout"):
                await PostgresStore.open(postgres, patience=0.1)
            await release()
        newer = await opening
        assert await numbers(newer) == [*range(1, 40)]
        await newer.close()


@pytest.fixture
def ben(cluster: Cluster, seen: Seen, postgres: str) -> Iterator[str]:
    """The same database for somebody who owns nothing in it."""
    cluster.sql("CREATE ROLE ben LOGIN")
    yield postgres.replace("ana@", "ben@")
    seen.sql("DROP OWNED BY ben CASCADE")
    cluster.sql("DROP ROLE ben")


async def test_who_may_not_make_a_schema_is_told_so_and_may_be_given_one(seen: Seen, ben: str) -> None:
    with pytest.raises(StoreGone, match=r"permission denied for database .*; CREATE SCHEMA askdesk AUTHORIZATION ben"):
        await PostgresStore.open(ben)
    seen.sql("CREATE SCHEMA askdesk AUTHORIZATION ben")
    for _ in range(2):
        async with opened(ben) as store:
            await store.add(an_ask(1))
            assert await numbers(store, text="which") == [1]


async def test_who_may_not_look_into_the_schema_of_another_is_told_so(postgres: str, ben: str) -> None:
    async with opened(postgres):
        pass
    with pytest.raises(StoreGone, match="permission denied for schema askdesk"):
        await PostgresStore.open(ben)


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "synchronous_commit = off",
        "search_path = 'askdesk, pg_temp'",
        "statement_timeout = '5s'",
        "standard_conforming_strings = off",
        "timezone = 'Asia/Kathmandu'",
        "plan_cache_mode = force_generic_plan",
        "extra_float_digits = -5",
    ],
)
async def test_what_an_operator_has_set_changes_nothing(
    setting: str, cluster: Cluster, seen: Seen, postgres: str
) -> None:
    cluster.sql(f"ALTER DATABASE {seen.name} SET {setting}")
    async with opened(postgres) as store, opened(postgres) as other:
        await asyncio.gather(*(each.add(an_ask(n, key="k")) for n in range(20) for each in (store, other)))
        (number,) = await numbers(store)
        standing = await asyncio.gather(
            *(each.settle(an_ask(number).id, a_settlement(f"{n}")) for n in range(20) for each in (store, other))
        )
        assert len({settlement.submission for settlement in standing}) == 1
        assert await numbers(other, "settled", "which") == [number]
        kept = await store.shelf.put("a\\", "1", expect=0)
        assert (await other.shelf.get("a\\"), await other.shelf.list("a")) == (kept, (kept,))
