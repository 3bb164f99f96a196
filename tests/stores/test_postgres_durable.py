"""A database that is set to acknowledge what it has not yet written through: what a desk has said is kept, is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import opened
from tests.stores.verbs import VERBS, begin, seen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def careless() -> Iterator[Cluster]:
    with Cluster("synchronous_commit=off", "wal_writer_delay=10s", durable=True) as cluster:
        yield cluster


@pytest.mark.parametrize("verb", ["add", "settle", "expire", "put", "put over", "remove"])
async def test_what_was_acknowledged_is_there_after_a_crash(verb: str, careless: Cluster) -> None:
    async with opened(careless.database()) as store:
        await begin(store)
        careless.sql("CHECKPOINT")  # so that nothing but the verb is still to be written through
        await VERBS[verb](store)
        acknowledged = await seen(store)
        careless.kill()
        careless.start()
        assert await seen(store) == acknowledged
