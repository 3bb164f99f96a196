"""The connections of a PostgreSQL store: how many there are, what becomes of those that are lost, and of who waits."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import LISTENING, TABLE, TURN, WAITING, Seen, held, numbers, opened, until
from tests.stores.other import Other

from askdesk.core.errors import StoreError, StoreGone, UnknownAsk, VersionConflict
from askdesk.core.model import Permission
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    return Seen(cluster, postgres)


async def listening(store: PostgresStore) -> None:
    heard = asyncio.Event()
    store.hints(lambda _: heard.set())
    await heard.wait()  # the first of all says to read everything


async def beaten(seen: Seen, times: int) -> None:
    """Wait until the listener has asked so often what has changed."""
    beats: set[object] = set()

    def enough() -> bool:
        beats.update(seen.beats())
        return len(beats) >= times

    await until(enough)


async def test_who_begins_to_listen_disturbs_nothing_that_is_under_way(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store, held(postgres, TURN) as release:
        adding = asyncio.ensure_future(store.add(an_ask(1)))
        await until(lambda: seen.backends(WAITING))
        await listening(store)
        await release()
        assert await adding == an_ask(1)
    assert seen.sql("SELECT last_value FROM askdesk.changes") == [(1,)]  # it was sent once


async def test_two_hundred_verbs_at_once_share_a_few_connections(seen: Seen, postgres: str) -> None:
    async with opened(postgres, connections=3) as store:
        await listening(store)
        for number in range(100):
            await store.add(an_ask(number))
        most = 0
        async with held(postgres, TABLE) as release:
            verbs = [
                *(store.get(an_ask(number).id) for number in range(100)),
                *(store.settle(an_ask(number).id, a_settlement()) for number in range(50)),
                *(store.shelf.put(f"draft/{number}", "1") for number in range(50)),
            ]
            running = asyncio.gather(*verbs)
            await until(lambda: len(seen.backends(WAITING)) >= 3)
            assert len(seen.backends()) == 3 + 1
            await release()
        while not running.done():
            most = max(most, len(await asyncio.to_thread(seen.backends)))
        await running
        assert most <= 3 + 1
        assert len(await numbers(store, "settled")) == 50


async def test_connections_that_the_server_closed_are_replaced_and_nobody_hears_of_it(
    seen: Seen, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(postgres, connections=4) as store:
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(20)))
        for _ in range(3):
            await asyncio.gather(*(store.get(an_ask(number).id) for number in range(20)))
            seen.terminate()
            assert await asyncio.gather(*(store.shelf.put("a", f"{n}") for n in range(20)))
        assert await numbers(store) == [*range(20)]
    assert caplog.messages == []


async def test_what_was_under_way_on_a_connection_that_was_closed_is_done_once(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store, held(postgres, TURN) as release:
        adding = asyncio.gather(*(store.add(an_ask(number, key=f"{number}")) for number in range(5)))
        await until(lambda: seen.backends(WAITING))
        seen.terminate(WAITING)
        await until(lambda: seen.backends(WAITING))
        await release()
        assert await adding == [an_ask(number, key=f"{number}") for number in range(5)]
        assert sorted(await numbers(store)) == [*range(5)]


async def test_who_is_cancelled_neither_loses_nor_doubles_what_was_begun(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store:
        await store.add(an_ask(1))
        async with held(postgres, TURN) as release:
            begun = [
                asyncio.ensure_future(work)
                for work in (store.add(an_ask(2)), store.add(an_ask(3)), store.settle(an_ask(1).id, a_settlement()))
            ]
            await until(lambda: len(seen.backends(WAITING)) == 2)
            for task in begun:
                task.cancel()
            await asyncio.wait(begun)
            await release()
        assert await store.add(an_ask(4)) == an_ask(4)  # behind them
        assert await store.settle(an_ask(1).id, a_settlement("two")) == a_settlement()
        assert await numbers(store) == [2, 3, 4]


async def test_what_a_cancelled_caller_waited_for_is_given_up_by_the_database_too(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store:
        await store.add(an_ask(1))
        async with held(postgres, TABLE):
            reading = asyncio.ensure_future(store.get(an_ask(1).id))
            await until(lambda: seen.backends(WAITING))
            reading.cancel()
            await until(lambda: not seen.backends(WAITING))


async def test_while_a_table_is_locked_everybody_waits_where_they_are(seen: Seen, postgres: str) -> None:
    async with opened(postgres, connections=2) as store:
        await store.add(an_ask(1))
        await listening(store)
        async with held(postgres, TABLE) as release:
            reading = asyncio.gather(*(store.get(an_ask(1).id) for _ in range(10)))
            await until(lambda: len(seen.backends(WAITING)) == 3)
            waiting = seen.backends()
            await beaten(seen, 3)
            assert seen.backends() == waiting
            await release()
        assert [entry.ask for entry in await reading] == [an_ask(1)] * 10


async def test_a_database_that_is_slow_is_not_taken_for_one_that_is_cut_off(
    cluster: Cluster, seen: Seen, postgres: str
) -> None:
    async with opened(postgres) as store, held(postgres, TURN) as release:
        await listening(store)
        adding = asyncio.ensure_future(store.add(an_ask(1)))
        await until(lambda: seen.backends(WAITING))
        (listener,) = seen.backends(LISTENING)
        frozen = (cluster.pid, listener)
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        try:
            await until(lambda: any("_connected" in repr(task) for task in asyncio.all_tasks()))  # another way
            for _ in range(100):
                await asyncio.sleep(0)  # until nobody answers there either
        finally:
            for process in reversed(frozen):
                os.kill(process, signal.SIGCONT)
        await beaten(seen, 2)
        assert seen.backends(LISTENING) == [listener]
        await release()
        assert await adding == an_ask(1)
    assert seen.sql("SELECT last_value FROM askdesk.changes") == [(1,)]


async def test_who_waits_for_a_connection_to_a_silent_database_hears_of_that_in_time(seen: Seen, postgres: str) -> None:
    async with opened(postgres, connections=1, patience=0.2) as store, held(postgres, TABLE) as release:
        reading = asyncio.ensure_future(store.get(an_ask(1).id))
        await until(lambda: seen.backends(WAITING))
        async with asyncio.timeout(4):  # the lock is waited for longer
            with pytest.raises(StoreGone, match="did not answer in time"):
                await store.get(an_ask(1).id)
        await release()
        with pytest.raises(UnknownAsk):
            await reading


async def test_one_that_the_database_refuses_does_not_spoil_what_is_kept_with_it(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store:
        seen.sql("ALTER TABLE askdesk.asks ADD CHECK (key <> 'refused')")
        async with held(postgres, TURN) as release:
            first = asyncio.ensure_future(store.add(an_ask(1)))
            await until(lambda: seen.backends(WAITING))
            keys = ("a", "refused", "b")
            together = asyncio.gather(
                *(store.add(an_ask(n, key=key)) for n, key in enumerate(keys, 2)), return_exceptions=True
            )
            await release()
        results = [await first, *await together]
        assert [type(result).__name__ for result in results] == ["Ask", "Ask", "StoreError", "Ask"]
        assert str(results[2]) == (  # and nothing of what the row was
            f'{store.address}: new row for relation "asks" violates check constraint "asks_key_check"'
        )
        assert await numbers(store) == [1, 2, 4]


async def test_little_asks_are_kept_together_and_large_ones_alone(seen: Seen, postgres: str) -> None:
    """Those of one commit have one transaction."""
    large = Permission("Write", json.dumps({"text": "x" * 900_000}))
    async with opened(postgres) as store:
        async with held(postgres, TURN) as release:
            first = asyncio.ensure_future(store.add(an_ask(1)))
            await until(lambda: seen.backends(WAITING))
            together = asyncio.gather(
                *(store.add(an_ask(n)) for n in (2, 3)), *(store.add(an_ask(n, body=large)) for n in (4, 5))
            )
            await release()
        await asyncio.gather(first, together)
    kept = seen.sql(
        "SELECT array_agg(right(id, 1) ORDER BY seq) FROM askdesk.asks GROUP BY xmin::text ORDER BY min(seq)"
    )
    assert kept == [(["1"],), (["2", "3", "4"],), (["5"],)]


async def test_a_version_that_no_database_counts_to_is_a_conflict(postgres: str) -> None:
    async with opened(postgres) as store:
        written = await store.shelf.put("a", "1")
        for expect in (2**63, 2**200, -1, -(2**70)):
            with pytest.raises(VersionConflict):
                await store.shelf.put("a", "2", expect=expect)
        assert await store.shelf.get("a") == written


async def test_closing_finishes_what_was_begun_and_closing_twice_is_closing_once(seen: Seen, postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    async with held(postgres, "SELECT; LOCK TABLE askdesk.shelf") as release:
        begun = asyncio.gather(store.shelf.put("a", "1"), store.add(an_ask(1)), store.shelf.get("a"))
        await until(lambda: seen.backends(WAITING))
        closing = asyncio.gather(store.close(), store.close())
        await asyncio.sleep(0)
        await release()
        await closing
    written, added, _ = await begun
    assert written is not None
    assert (written.value, added) == ("1", an_ask(1))
    await until(lambda: not seen.backends())
    tries = (store.add(an_ask(2)), store.get(an_ask(1).id), store.page("open"), store.shelf.put("a", "2"))
    for work in tries:
        with pytest.raises(StoreError, match="is closed"):
            await work
    with pytest.raises(StoreError, match="is closed"):
        store.hints(print)


async def test_closing_does_not_wait_for_a_database_that_is_silent(
    seen: Seen, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askdesk.stores.postgres_database._CLOSING_SECONDS", 0.3)
    store = await PostgresStore.open(postgres, connections=1)
    async with held(postgres, TURN):
        begun: list[asyncio.Future[Any]] = [asyncio.ensure_future(store.add(an_ask(1)))]
        await until(lambda: seen.backends(WAITING))
        begun.append(asyncio.ensure_future(store.get(an_ask(1).id)))
        async with asyncio.timeout(3):
            await store.close()
            for task in begun:
                with pytest.raises(StoreGone):
                    await task


def test_in_the_child_of_a_fork_everything_is_refused_and_the_parent_goes_on(postgres: str) -> None:
    with Other() as other:
        other.do("open", postgres)
        other.do("add", 1)
        tries = ("add", "settle", "get", "page", "put", "hints", "close")
        assert other.do("fork") == [f"{name}: StoreError" for name in tries]
        other.do("add", 2)
        assert other.do("numbers") == [1, 2]


def test_where_the_event_loop_ends_whoever_puts_something_in_order_still_can(seen: Seen, postgres: str) -> None:
    async def main() -> None:
        store = await PostgresStore.open(postgres)
        for number in range(9):
            await store.add(an_ask(number))
        async with held(postgres, f"SELECT FROM askdesk.asks WHERE id = '{an_ask(0).id}' FOR UPDATE"):
            begun: list[asyncio.Future[Any]] = [asyncio.ensure_future(store.settle(an_ask(0).id, a_settlement()))]
            await until(lambda: seen.backends(WAITING))
            begun += [asyncio.ensure_future(settled_in_the_end(store, number)) for number in range(1, 9)]
            await asyncio.sleep(0)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:  # as asyncio.run does
                task.cancel()
            async with asyncio.timeout(20):
                await asyncio.wait(begun)
        assert sorted(await numbers(store, "settled")) == [*range(1, 9)]
        await store.close()

    asyncio.run(main())


async def settled_in_the_end(store: PostgresStore, number: int) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await store.settle(an_ask(number).id, a_settlement())
