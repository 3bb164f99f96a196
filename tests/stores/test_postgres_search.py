"""The index over the asks in PostgreSQL, which whoever searches brings up to date: also several at once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import WAITING, Seen, held, numbers, opened, until
from tests.stores.other import Other

from askdesk.core.model import Permission
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

INDEXED = "SELECT changed FROM askdesk.search_upto"
OUT_OF_STEP = """SELECT count(*) FROM askdesk.asks FULL JOIN askdesk.search ON ask = seq
                 WHERE asks.changed IS DISTINCT FROM search.changed OR is_open <> (settlement IS NULL)"""


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    return Seen(cluster, postgres)


async def test_servers_that_index_at_once_find_everything(seen: Seen, postgres: str) -> None:
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(opened(postgres)) for _ in range(3)]
        for first in range(0, 900, 300):
            await asyncio.gather(*(stores[0].add(an_ask(number)) for number in range(first, first + 300)))
            await asyncio.gather(*(stores[1].settle(an_ask(n).id, a_settlement()) for n in range(first, first + 100)))
            found = await asyncio.gather(*(numbers(store, text="which") for store in stores * 2))
            assert [sorted(each) for each in found] == [[n for n in range(first + 300) if n % 300 >= 100]] * 6
            settled = await asyncio.gather(*(numbers(store, "settled", "by:ana") for store in stores))
            assert [sorted(each) for each in settled] == [[n for n in range(first + 300) if n % 300 < 100]] * 3
    assert seen.sql(OUT_OF_STEP) == [(0,)]


async def test_what_is_settled_while_it_is_indexed_is_found_as_it_is(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store, opened(postgres) as other:
        for number in (1, 2, 3):
            await store.add(an_ask(number))
        async with held(postgres, "SELECT FROM askdesk.search_upto FOR UPDATE") as release:
            searching = asyncio.ensure_future(numbers(store, text="which"))
            await until(lambda: seen.backends(WAITING))  # it has read them, and is about to say what it read
            await other.settle(an_ask(2).id, a_settlement())
            await release()
            assert await searching == [1, 3]
        for each in (store, other):
            assert (await numbers(each, text="which"), await numbers(each, "settled", "which")) == ([1, 3], [2])
    assert seen.sql(OUT_OF_STEP) == [(0,)]


async def test_of_two_that_index_the_same_the_second_adds_nothing(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store, opened(postgres) as other:
        for number in range(20):
            await store.add(an_ask(number))
        async with held(postgres, "SELECT FROM askdesk.search_upto FOR UPDATE") as release:
            searching = asyncio.gather(*(numbers(each, text="which") for each in (store, other)))
            await until(lambda: len(seen.backends(WAITING)) == 2)
            await release()
            assert await searching == [[*range(20)]] * 2
    assert (seen.sql(INDEXED), seen.sql(OUT_OF_STEP)) == ([(20,)], [(0,)])


async def test_a_process_that_is_killed_while_it_indexes_leaves_a_sound_index(seen: Seen, postgres: str) -> None:
    with Other() as other:
        other.do("open", postgres)
        other.do("add", *range(2000))
        other.tell("search", "which")
        while seen.sql(INDEXED) == [(0,)]:
            pass
        other.kill()
    async with opened(postgres) as store:
        assert sorted(await numbers(store, text="which")) == [*range(2000)]
    assert seen.sql(OUT_OF_STEP) == [(0,)]


async def test_an_ask_with_more_words_than_an_index_holds_is_found_by_each(postgres: str) -> None:
    words = " ".join(f"w{number:x}" for number in range(150_000))
    async with opened(postgres) as store:
        await store.add(an_ask(1, body=Permission("Bash", {"command": words})))
        await store.add(an_ask(2, body=Permission("Bash", {"command": "w1 w2"})))
        assert await numbers(store, text="w1 w2") == [1, 2]
        assert (await numbers(store, text="w249ef"), await numbers(store, text="nothing")) == ([1], [])
        await store.settle(an_ask(1).id, a_settlement())
        assert (await numbers(store, text="w1"), await numbers(store, "settled", "w249ef")) == ([2], [1])


async def test_what_changed_since_a_newer_version_read_it_stays_marked_for_it(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store:
        await store.add(an_ask(1))
        await numbers(store, text="which")
        ((seq, changed),) = seen.sql("SELECT seq, changed FROM askdesk.asks")
        seen.run("DELETE FROM askdesk.search; INSERT INTO askdesk.search_unread SELECT seq FROM askdesk.asks")
        await store.settle(an_ask(1).id, a_settlement())
        await store._database.fetch("search_index_unread", [seq], [changed], [True], ["which"])
        assert (seen.sql("TABLE askdesk.search"), seen.sql("TABLE askdesk.search_unread")) == ([], [(seq,)])
    async with opened(postgres) as store:
        assert await numbers(store, "settled", "which") == [1]
    assert (seen.sql(OUT_OF_STEP), seen.sql("TABLE askdesk.search_unread")) == ([(0,)], [])


async def test_what_was_removed_since_it_was_read_is_not_indexed(seen: Seen, postgres: str) -> None:
    async with opened(postgres) as store:
        for number in (1, 2):
            await store.add(an_ask(number))
        (one, two) = seen.sql("SELECT seq, changed FROM askdesk.asks ORDER BY changed")
        seen.sql("DELETE FROM askdesk.asks WHERE id = $1", an_ask(1).id)
        columns = [one[0], two[0]], [one[1], two[1]], [True, True], ["which", "which"]
        await store._database.fetch("search_index", 0, two[1], *columns, [])
        assert await numbers(store, text="which") == [2]
    assert seen.sql("SELECT ask, changed FROM askdesk.search") == [two]


async def test_a_record_that_cannot_be_read_is_found_by_the_version_that_can(
    seen: Seen, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(postgres) as store:
        for number in (1, 2, 3, 4):
            await store.add(an_ask(number))
        seen.sql("UPDATE askdesk.asks SET record = replace(record, '\"v\":1', '\"v\":9') WHERE seq IN (2, 4)")
        assert [await numbers(store, text="which") for _ in range(2)] == [[1, 3]] * 2
    assert caplog.text.count(an_ask(2).id) == 1
    async with opened(postgres) as store:  # which cannot read them either
        assert await numbers(store, text="which") == [1, 3]
    seen.sql("UPDATE askdesk.asks SET record = replace(record, '\"v\":9', '\"v\":1')")
    async with opened(postgres) as store:
        assert await numbers(store, text="which") == [1, 2, 3, 4]
        await store.settle(an_ask(2).id, a_settlement())
        assert (await numbers(store, text="which"), await numbers(store, "settled", "which")) == ([1, 3, 4], [2])
    assert (seen.sql(OUT_OF_STEP), seen.sql("SELECT * FROM askdesk.search_unread")) == ([(0,)], [])
