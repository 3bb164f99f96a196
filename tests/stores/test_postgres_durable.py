"""A database that is set to acknowledge what it has not yet written through: what a desk has said is kept, is kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import opened, until
from tests.stores.verbs import VERBS, begin, seen

pytestmark = pytest.mark.anyio

WRITES_THROUGH = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"


@pytest.fixture(scope="module")
def careless() -> Iterator[Cluster]:
    with Cluster("synchronous_commit=off", durable=True) as cluster:
        yield cluster


@pytest.mark.parametrize("verb", ["add", "settle", "expire", "put", "put over", "remove"])
async def test_what_was_acknowledged_is_there_after_a_crash(verb: str, careless: Cluster) -> None:
    async with opened(careless.database()) as store:
        await begin(store)
        careless.sql("CHECKPOINT")
        ((process,),) = careless.sql(WRITES_THROUGH)
        os.kill(process, signal.SIGSTOP)  # from now on only what a commit itself writes through is written through
        try:
            await VERBS[verb](store)
            acknowledged = await seen(store)
        finally:
            os.kill(process, signal.SIGKILL)  # after which PostgreSQL starts anew, as after any crash
        await until(lambda: not Path(f"/proc/{process}").exists())
        careless.wait()
        assert await seen(store) == acknowledged
