"""Of all processes on one database, one does what only one should do; when it is gone, another one does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from tests.postgres import Cluster

from askdesk.stores.postgres import PostgresStore

pytestmark = pytest.mark.anyio

_HELD = "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND classid = 1095977797 AND granted"


class Candidate:
    """One of the processes, as far as the database can tell: with a store of its own."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.works: set[str] = set()
        self.times = 0
        self._standing: list[asyncio.Task[None]] = []

    def stand(self, name: str, work: Callable[[], Awaitable[object]] | None = None) -> asyncio.Task[None]:
        """For ever, where no work is given."""

        async def at_work() -> None:
            self.works.add(name)
            self.times += 1
            try:
                await (work or asyncio.Event().wait)()
            finally:
                self.works.discard(name)

        standing = asyncio.ensure_future(self.store.alone(name, at_work))
        self._standing.append(standing)
        return standing

    async def leave(self) -> None:
        for standing in self._standing:
            standing.cancel()
        await asyncio.gather(*self._standing, return_exceptions=True)
        await self.store.close()


@asynccontextmanager
async def candidates(url: str, count: int) -> AsyncIterator[list[Candidate]]:
    standing = [Candidate(await PostgresStore.open(url)) for _ in range(count)]
    try:
        yield standing
    finally:
        for candidate in standing:
            await candidate.leave()


async def at_work(name: str, of: list[Candidate]) -> Candidate:
    """The one that works, once one does."""
    async with asyncio.timeout(10):
        while not (found := [candidate for candidate in of if name in candidate.works]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    (one,) = found
    return one


def database(url: str) -> str:
    return url.rpartition("/")[2]


async def test_one_of_all_does_it_and_when_it_leaves_another_one(postgres: str) -> None:
    async with candidates(postgres, 3) as three:
        for candidate in three:
            candidate.stand("a")
        first = await at_work("a", three)
        await first.leave()
        others = [candidate for candidate in three if candidate is not first]
        assert await at_work("a", others) in others
        assert sum(candidate.times for candidate in three) == 2


async def test_who_has_lost_its_connection_stops_and_may_be_elected_again(
    cluster: Cluster, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with candidates(postgres, 1) as (only,):
        only.stand("a")
        await at_work("a", [only])
        with caplog.at_level(logging.ERROR):
            cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database(postgres))
            async with asyncio.timeout(10):
                while only.times == 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        await at_work("a", [only])
        assert only.times == 2


async def test_who_does_one_thing_leaves_others_to_others(postgres: str) -> None:
    async with candidates(postgres, 2) as (first, second):
        first.stand("a")
        await at_work("a", [first])
        second.stand("a")
        second.stand("b")
        assert await at_work("b", [first, second]) is second
        assert (first.works, second.works) == ({"a"}, {"b"})


async def test_what_is_done_or_given_up_is_for_others_to_do(cluster: Cluster, postgres: str) -> None:
    done = asyncio.Event()

    async def until_done() -> None:
        await done.wait()

    async with candidates(postgres, 2) as (first, second):
        finishing = first.stand("a", until_done)
        await at_work("a", [first])
        second.stand("a")
        done.set()
        await finishing
        assert await at_work("a", [second]) is second
        assert cluster.sql(_HELD, database=database(postgres))[0][0] == 1


async def test_what_fails_is_told_to_whoever_began_it(postgres: str) -> None:
    async def failing() -> None:
        raise ValueError("broken")

    async with candidates(postgres, 1) as (only,):
        with pytest.raises(ValueError, match="broken"):
            await only.stand("a", failing)


async def test_nothing_is_begun_twice_in_one_process(postgres: str) -> None:
    async with candidates(postgres, 1) as (only,):
        only.stand("a")
        await at_work("a", [only])
        with pytest.raises(ValueError, match="this process does a already"):
            await only.stand("a")
