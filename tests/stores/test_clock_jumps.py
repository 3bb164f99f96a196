"""Whatever clocks show: nothing is allowed or answered by it, nothing that expired is open again, and no wait ends."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.postgres import Cluster

from askdesk.core.clock import SystemClock
from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled, AskdeskError
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Permission,
    Question,
    Reply,
)
from askdesk.core.store import State
from askdesk.stores.memory import MemoryStore
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio

IN_1970, IN_TEN_YEARS = datetime(1970, 1, 1, tzinfo=UTC), NOON + timedelta(days=3653)
DATABASE = Question("Which database?", ["SQLite", "Postgres"])
SQLITE = Answered([Answer(["SQLite"])])
DEPLOY = Permission("Bash", {"command": "make deploy"})
REPLIES: dict[bool, tuple[Reply, Reply]] = {True: (Allowed(), Denied("not now")), False: (SQLITE, Declined("later"))}
STATES: tuple[State, ...] = ("open", "settled")

Step: TypeAlias = Callable[[Desk], Awaitable[Any]]


class DesksWhoseClockJumps(RuleBasedStateMachine):
    """The same on three stores, by the clock of one machine."""

    asks: Bundle[Ask] = Bundle("asks")

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.cluster, self.url = cluster, cluster.database()
        self.clock = FakeClock()
        self.stores = [
            MemoryStore(),
            self.run(SQLiteStore.open(Path(self.folder.name) / "desk.db")),
            self.run(PostgresStore.open(self.url)),
        ]
        self.desks = [Desk(store, clock=self.clock) for store in self.stores]
        self.count = 0
        self.said: dict[str, Any] = {}  # by people, and acknowledged
        self.due: set[str] = set()  # whose deadline some clock has shown
        self.settled: dict[str, Entry] = {}  # as they were first seen

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(work)

    def agree(self, step: Step) -> Any:
        """What every desk makes of a step: its result, or its error."""
        first, *others = [self.run(_ended(step, desk)) for desk in self.desks]
        assert others == [first] * len(others)
        return first

    def _see_what_is_due(self) -> None:
        for entry in self._open():
            if entry.ask.is_due(self.clock.now()):
                self.due.add(entry.ask.id)

    def _open(self) -> tuple[Entry, ...]:
        entries: tuple[Entry, ...] = self.run(self.stores[0].page("open", limit=1000)).entries
        return entries

    @rule(target=asks, body=st.sampled_from([DATABASE, DEPLOY]), seconds=st.sampled_from([None, 1, 1800, 5400, 10**9]))
    def post(self, body: Any, seconds: int | None) -> Ask:
        self.count += 1
        deadline = None if seconds is None else timedelta(seconds=seconds)
        ask: Ask = self.agree(lambda desk: desk.post(body, deadline=deadline, id=f"{self.count:032x}"))
        return ask

    @rule(ask=asks, chance=st.booleans())
    def settle(self, ask: Ask, chance: bool) -> None:
        reply = REPLIES[ask.permission is not None][chance]
        submission = f"{ask.id} {chance}"
        digest = ask.permission.digest if ask.permission else None
        result = self.agree(
            lambda desk: desk.settle(ask.id, reply, by="ana", surface="test", submission=submission, digest=digest)
        )
        standing = self.settled.get(ask.id)
        if standing and standing.settlement and standing.settlement.submission == submission:
            assert result == standing.settlement
        elif standing or ask.is_due(self.clock.now()):
            assert result[0] is AlreadySettled
        else:
            assert result.outcome == reply
            self.said[ask.id] = reply

    @rule(ask=asks)
    def withdraw(self, ask: Ask) -> None:
        self.agree(lambda desk: desk.withdraw(ask.id))

    @rule(ask=asks)
    def get(self, ask: Ask) -> None:
        self.agree(lambda desk: desk.get(ask.id))

    @rule(ask=asks)
    def wait(self, ask: Ask) -> None:
        self.agree(lambda desk: desk.wait(ask.id, timeout=0))

    @rule(state=st.sampled_from(STATES))
    def list(self, state: State) -> None:
        self.agree(lambda desk: _listed(desk, state))

    @rule(seconds=st.sampled_from([3600, -3600, 0.001, -0.001]))
    def jump(self, seconds: float) -> None:
        self.clock.jump(seconds)
        self._see_what_is_due()

    @rule(moment=st.sampled_from([IN_1970, NOON, IN_TEN_YEARS]))
    def jump_to(self, moment: datetime) -> None:
        self.jump((moment - self.clock.now()).total_seconds())

    @rule(seconds=st.sampled_from([0.5, 60.0, 3600.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self._see_what_is_due()

    @invariant()
    def what_was_settled_stays_so_and_what_a_person_did_not_say_is_nobodys_word(self) -> None:
        for entry in self.run(self.stores[0].page("settled", limit=1000)).entries:
            assert entry == self.settled.setdefault(entry.ask.id, entry)
            outcome = entry.settlement.outcome
            if isinstance(outcome, Allowed | Denied | Answered | Declined):
                assert outcome == self.said[entry.ask.id]
            if isinstance(outcome, Expired):
                assert entry.ask.id in self.due
        assert not self.settled.keys() & {entry.ask.id for entry in self._open()}

    def teardown(self) -> None:
        for store in self.stores:
            self.run(store.close())
        self.loop.close()
        self.folder.cleanup()
        self.cluster.drop(self.url)


async def _ended(step: Step, desk: Desk) -> Any:
    try:
        return await step(desk)
    except AskdeskError as error:
        return type(error), str(error)


async def _listed(desk: Desk, state: State) -> tuple[Entry, ...]:
    return (await desk.page(state, limit=1000)).entries


def test_wherever_the_date_jumps_nothing_is_allowed_by_it_and_nothing_revived(cluster: Cluster) -> None:
    run_state_machine_as_test(
        lambda: DesksWhoseClockJumps(cluster),  # type: ignore[arg-type] # whatever makes one will do
        settings=settings(
            max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )


@pytest.mark.parametrize("jump", [3600, -3600, 3653 * 86_400, -56 * 365 * 86_400])
async def test_a_jump_of_the_date_ends_no_wait_and_makes_none_longer(desk: Desk, clock: FakeClock, jump: float) -> None:
    ask = await desk.post(DATABASE)
    waiting = asyncio.ensure_future(desk.wait(ask.id, timeout=30))
    hearing = asyncio.ensure_future(
        desk.heard(Asker("builder"), await desk.tell(Asker("builder"), "hurry"), timeout=30)
    )
    await turns()
    clock.jump(jump)
    clock.advance(29)
    await turns()
    assert (waiting.done(), hearing.done()) == (False, False)
    clock.advance(1)
    await turns()
    clock.advance(1)  # in which `heard` looks for the last time
    assert (await waiting, await hearing) == (None, None)
    assert (await desk.get(ask.id)).settlement is None


async def turns() -> None:
    """Let the event loop do what it has to do, also with a store whose threads take a moment."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_an_ask_whose_deadline_the_date_jumps_over_expires_within_a_minute(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=timedelta(hours=2))
    waiting = asyncio.ensure_future(desk.wait(ask.id))
    await turns()
    clock.jump(3 * 3600)
    clock.advance(60)
    settlement = await waiting
    assert settlement is not None
    assert settlement.outcome == Expired()
    clock.jump(-3 * 3600)
    assert (await desk.get(ask.id)).settlement == settlement
    with pytest.raises(AlreadySettled):
        await desk.settle(ask.id, SQLITE, by="ana", surface="test")


async def test_what_is_not_due_any_more_where_the_date_went_back_can_be_answered(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=timedelta(minutes=30))
    clock.jump(3600)
    clock.jump(-3600)
    assert (await desk.settle(ask.id, SQLITE, by="ana", surface="test")).outcome == SQLITE


async def test_an_ask_of_a_time_to_come_is_listed_and_can_be_answered(desk: Desk, clock: FakeClock) -> None:
    clock.jump(3653 * 86_400)
    ask = await desk.post(DEPLOY)
    clock.jump(-3653 * 86_400)
    later = await desk.post(DATABASE)
    assert [entry.ask for entry in (await desk.page("open")).entries] == [ask, later]
    settled = await desk.settle(ask.id, Allowed(), by="ana", surface="test", digest=DEPLOY.digest)
    assert (settled.outcome, settled.at) == (Allowed(), NOON)


class DatabaseWithAClock:
    """A database that shows whatever time it is told to."""

    def __init__(self, url: str, connection: asyncpg.Connection) -> None:
        self.url, self._connection = url, connection

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str) -> AsyncIterator[DatabaseWithAClock]:
        connection = await asyncpg.connect(url)
        await connection.execute(CLOCK_OF_OUR_OWN % url.rpartition("/")[2])
        yield cls(url, connection)
        await connection.close()

    async def jump(self, by: timedelta) -> None:
        await self._connection.execute("UPDATE clock.ahead SET by = by + $1", by)


CLOCK_OF_OUR_OWN = """
CREATE SCHEMA clock;
CREATE TABLE clock.ahead (by interval);
INSERT INTO clock.ahead VALUES ('0');
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
AS 'SELECT pg_catalog.clock_timestamp() + by FROM clock.ahead';
ALTER DATABASE %s SET search_path = clock, pg_catalog;
"""
SOON = timedelta(seconds=10)


def is_about(moment: datetime, other: datetime) -> bool:
    return abs(moment - other) < SOON


@pytest.mark.parametrize("by", [timedelta(days=3653), timedelta(days=-20_000)])
async def test_servers_go_by_the_clock_of_the_database_also_when_that_jumps(postgres: str, by: timedelta) -> None:
    async with DatabaseWithAClock.at(postgres) as database:
        store = await PostgresStore.open(postgres)
        desk = Desk(store, clock=store.clock)
        due = await desk.post(DATABASE, deadline=timedelta(minutes=30))
        waiting = asyncio.ensure_future(desk.wait(due.id))
        for jumped in (by / 2, by):
            await database.jump(by / 2)
            async with asyncio.timeout(30):
                while not is_about(desk.now(), datetime.now(UTC) + jumped):  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.01)
        entry = await desk.get(due.id)
        assert (entry.settlement is not None) == (by > timedelta(0))
        if entry.settlement:
            assert entry.settlement.outcome == Expired()
            await database.jump(-by)
            store = await _reopened(store, postgres)
            assert is_about(store.clock.now(), datetime.now(UTC))
            assert await Desk(store, clock=store.clock).get(due.id) == entry
        else:
            settled = await desk.settle(due.id, SQLITE, by="ana", surface="test")
            assert is_about(settled.at, datetime.now(UTC) + by)
            assert await waiting == settled
        waiting.cancel()
        await store.close()


async def _reopened(store: PostgresStore, url: str) -> PostgresStore:
    await store.close()
    return await PostgresStore.open(url)


@pytest.mark.parametrize("by", [timedelta(hours=1), timedelta(days=3653), timedelta(days=-20_000)])
async def test_where_the_date_of_a_servers_own_machine_jumps_nothing_is_due(
    postgres: str, by: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await PostgresStore.open(postgres)
    desk = Desk(store, clock=store.clock)
    ask = await desk.post(DATABASE, deadline=timedelta(minutes=30))
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + by)
    assert is_about(desk.now(), datetime.now(UTC))
    assert (await desk.get(ask.id)).settlement is None
    assert (await desk.settle(ask.id, SQLITE, by="ana", surface="test")).outcome == SQLITE
    await store.close()
