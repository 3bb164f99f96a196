"""A primary that waits for its standby: what is acknowledged is on both, also where an answer was lost on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.faults.pair import Pair
from tests.faults.proxy import Cut
from tests.postgres import Cluster

from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

_WAITING = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%askdesk%'"
_END_THOSE = _WAITING.replace("SELECT", "SELECT pg_terminate_backend(pid)")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with ExitStack() as ending:
        pair = Pair(ending)
        pair.attach()
        yield pair


async def someone_waits(cluster: Cluster) -> None:
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(cluster.sql, _WAITING):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "verb",
    [
        lambda store: store.add(an_ask(2)),
        lambda store: store.add(an_ask(3, key="key")),
        lambda store: store.settle(an_ask(1).id, a_settlement()),
        lambda store: store.shelf.put("document", "1", expect=0),
    ],
    ids=["add", "add with a key", "settle", "put"],
)
async def test_what_is_found_again_after_a_lost_answer_is_acknowledged_once_the_standby_has_it(
    pair: Pair, verb: Callable[[PostgresStore], Awaitable[Any]]
) -> None:
    store = await PostgresStore.open(pair.url)
    await store.add(an_ask(1))
    pair.replication.cut(Cut.RESET)
    acknowledged = asyncio.ensure_future(verb(store))
    await someone_waits(pair.primary)
    pair.primary.sql(_END_THOSE)  # what they wrote stays there
    await someone_waits(pair.primary)
    assert not acknowledged.done()
    pair.replication.heal()
    async with asyncio.timeout(20):
        await acknowledged
    await store.close()
