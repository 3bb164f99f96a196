"""A PostgreSQL store behind a proxy that hands each transaction to another connection of the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.cli.command import askdesk
from tests.pgbouncer import Bouncer
from tests.postgres import Cluster
from tests.stores.on_postgres import Seen, numbers, opened, until

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreGone
from askdesk.core.model import Answer, Answered, Entry, Question
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import SHELF_RULES, STORE_RULES, Rule, a_settlement, an_ask

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def bouncer(cluster: Cluster) -> Iterator[Bouncer]:
    with Bouncer(cluster, pool_mode="transaction") as bouncer:
        yield bouncer


@pytest.fixture
def url(bouncer: Bouncer, postgres: str) -> str:
    return bouncer.url(postgres)


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    async with opened(url) as store:
        yield store


async def kept(rules: list[Rule], cluster: Cluster, bouncer: Bouncer) -> None:
    """Several at a time, each with a database of its own."""
    places = asyncio.Semaphore(4)

    async def keep(rule: Rule) -> None:
        async with places:
            database = cluster.database()
            await rule(lambda: PostgresStore.open(bouncer.url(database)))
            cluster.drop(database)

    async with asyncio.TaskGroup() as group:
        for rule in rules:
            group.create_task(keep(rule))


async def test_the_contract_is_kept_where_all_share_two_connections(cluster: Cluster, bouncer: Bouncer) -> None:
    await kept([*STORE_RULES, *SHELF_RULES][::5], cluster, bouncer)


async def test_the_contract_is_kept_where_each_keeps_its_connection(cluster: Cluster) -> None:
    with Bouncer(cluster, pool_mode="session", default_pool_size=20) as bouncer:
        await kept([*STORE_RULES, *SHELF_RULES][1::12], cluster, bouncer)


async def test_nobody_is_given_what_another_asked_for(url: str) -> None:
    """A proxy may run a statement that one prepared on the connection of another."""
    stores = [await PostgresStore.open(url) for _ in range(4)]

    async def used(store: PostgresStore, number: int) -> None:
        ask, settlement = an_ask(number, key=f"{number}"), a_settlement(f"s{number}")
        assert await store.add(ask) == ask
        written = await store.shelf.put(f"draft/{number}", f"{number}")
        assert await store.shelf.get(f"draft/{number}") == written
        assert (await store.get(ask.id)).ask == ask
        assert await store.settle(ask.id, settlement) == settlement
        assert await store.shelf.put(f"draft/{number}", None) is None

    await asyncio.gather(*(used(store, 4 * number + n) for number in range(50) for n, store in enumerate(stores)))
    assert sorted(await numbers(stores[0], "settled")) == [*range(200)]
    for store in stores:
        await store.close()


async def test_changes_by_others_are_looked_for_and_that_is_said_once(
    url: str, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    assert store.is_proxied
    async with opened(url) as other:
        desks = Desk(store, clock=store.clock), Desk(other, clock=other.clock)
        for _ in range(3):
            asking = asyncio.ensure_future(desks[0].ask(Question("Which?", ["SQLite", "Postgres"])))
            await until(lambda: store._session._running)
            entries: tuple[Entry, ...] = ()
            while not entries:
                entries = (await desks[1].page("open")).entries
            reply = Answered((Answer(("SQLite",)),))
            await desks[1].settle(entries[0].ask.id, reply, by="ana", surface="page")
            assert await asyncio.wait_for(asking, 5) == reply
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "a pooling proxy stands before this database, so changes by others are looked for every 0.1 s; "
        "with the database's own address they are heard at once"
    ]


async def test_what_one_would_do_for_all_each_does(url: str, store: PostgresStore) -> None:
    async with opened(url) as other:
        works = [asyncio.Event(), asyncio.Event()]

        async def work(begun: asyncio.Event) -> None:
            begun.set()

        await store.alone("a", lambda: work(works[0]))
        await other.alone("a", lambda: work(works[1]))
        assert [begun.is_set() for begun in works] == [True, True]


async def test_a_proxy_that_is_started_anew_is_found_again(
    cluster: Cluster, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Bouncer(cluster, pool_mode="transaction") as bouncer:
        async with opened(bouncer.url(postgres)) as store, opened(bouncer.url(postgres)) as other:
            heard: list[str | None] = []
            store.hints(heard.append)
            for number in range(3):
                await store.add(an_ask(number))
                heard.clear()
                bouncer.stop()
                adding = asyncio.gather(*(other.add(an_ask(10 * number + n)) for n in range(10, 20)))
                await asyncio.sleep(0)
                bouncer.start()
                await adding
                last = an_ask(10 * number + 19).id
                await until(lambda last=last: {last, None} & {*heard})  # type: ignore[misc]
            assert len(await numbers(store)) == 33


async def test_a_database_that_is_away_behind_a_proxy_is_out_of_reach(cluster: Cluster, postgres: str) -> None:
    with Bouncer(cluster, pool_mode="transaction", query_wait_timeout=1, server_login_retry=1) as bouncer:
        url = bouncer.url(postgres)
        async with opened(url, patience=0.2) as store:
            await store.add(an_ask(1))
            cluster.sql(f"ALTER DATABASE {Seen(cluster, postgres).name} ALLOW_CONNECTIONS false")
            Seen(cluster, postgres).terminate()
            with pytest.raises(StoreGone):
                await store.get(an_ask(1).id)
            cluster.sql(f"ALTER DATABASE {Seen(cluster, postgres).name} ALLOW_CONNECTIONS true")
        async with opened(url) as store:
            assert await numbers(store) == [1]


async def test_ten_that_open_a_new_desk_at_once_share_it(url: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(url) for _ in range(10)))
    await asyncio.gather(*(store.add(an_ask(number)) for number, store in enumerate(stores)))
    for store in stores:
        await store.close()
    async with opened(url) as store:
        assert sorted(await numbers(store)) == [*range(10)]


def test_the_doctor_tells_of_the_proxy(url: str) -> None:
    asyncio.run(_made(url))
    assert (
        "proxy                  one that pools: changes by others are looked for, not heard"
        in askdesk("doctor", "--store", url).out
    )


async def _made(url: str) -> None:
    async with opened(url):
        pass
