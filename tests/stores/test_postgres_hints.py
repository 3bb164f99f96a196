"""How a process hears of what others change in a PostgreSQL database, told or not; and which clock all go by."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import LISTENING, TURN, WAITING, Seen, held, opened, until

from askdesk.core.clock import SystemClock
from askdesk.core.desk import Desk
from askdesk.core.model import Ask, Asker, Expired, Question
from askdesk.core.store import expiry
from askdesk.stores import postgres_database
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.postgres_database import DatabaseClock
from askdesk.testing.clock import NOON, FakeClock
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

LONG = "é" * 9000  # a payload ends at 8000 bytes
SETTLED_BY_HAND = """UPDATE askdesk.asks SET settlement = $2, changed = nextval('askdesk.changes') WHERE id = $1"""


class Ears:
    """Everything that one who listens to all hears, from the moment at which it would hear what others do."""

    def __init__(self, store: PostgresStore) -> None:
        self.heard: list[str | None] = []
        store.hints(self.heard.append)

    async def hear(self, *ids: str | None) -> None:
        await until(lambda: {*ids} <= {*self.heard})

    async def are_open(self) -> None:
        await self.hear(None)  # once at the beginning: read everything
        self.heard.clear()


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    return Seen(cluster, postgres)


@pytest.fixture
async def store(postgres: str) -> AsyncIterator[PostgresStore]:
    async with opened(postgres) as store:
        yield store


@pytest.fixture
async def other(postgres: str) -> AsyncIterator[PostgresStore]:
    async with opened(postgres) as other:
        yield other


async def test_what_others_add_settle_and_expire_is_heard_at_once(store: PostgresStore, other: PostgresStore) -> None:
    ears = Ears(store)
    await ears.are_open()
    for number in (1, 2):
        await other.add(an_ask(number, deadline=an_ask().created + timedelta(days=1)))
    await other.settle(an_ask(1).id, a_settlement())
    await other.expire(an_ask().created + timedelta(days=2))
    await until(lambda: len(ears.heard) == 4)
    assert ears.heard == [an_ask(number).id for number in (1, 2, 1, 2)]


async def test_of_two_that_expire_the_same_asks_at_once_one_ends_each_and_whoever_waits_at_either_hears_of_it(
    postgres: str, seen: Seen, store: PostgresStore, other: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    due = NOON + timedelta(hours=2)
    asks = [an_ask(number, deadline=due) for number in range(1100)]  # more than are ended in one commit
    await asyncio.gather(*map(store.add, asks))
    both = [(each, Ears(each), Desk(each, clock=FakeClock())) for each in (store, other)]
    waiting = [asyncio.gather(*(desk.wait(ask.id) for ask in asks[::10])) for _, _, desk in both]
    for _, ears, _ in both:
        await ears.are_open()
    later = due + timedelta(hours=1)
    async with held(postgres, TURN):
        expiring = asyncio.gather(store.expire(due), other.expire(later))
        await until(lambda: len(seen.backends(WAITING)) == 2)
    first, second = await expiring

    ended = dict.fromkeys(first, expiry(due)) | dict.fromkeys(second, expiry(later))
    assert sorted([*first, *second]) == [ask.id for ask in asks]
    for (each, ears, _), settlements in zip(both, await asyncio.wait_for(asyncio.gather(*waiting), 20), strict=True):
        assert settlements == [ended[ask.id] for ask in asks[::10]]
        page = await each.page("settled", limit=2000)
        assert {entry.ask.id: entry.settlement for entry in page.entries} == ended
        await ears.hear(*ended)
    assert caplog.messages == []


async def test_what_one_does_itself_it_hears_once(store: PostgresStore) -> None:
    ears = Ears(store)
    await ears.are_open()
    for number in range(20):
        await store.add(an_ask(number))
    await until(lambda: len(ears.heard) >= 20)
    assert ears.heard == [an_ask(number).id for number in range(20)]


async def test_nothing_but_numbers_and_ids_is_told_to_whoever_listens(store: PostgresStore, postgres: str) -> None:
    told: list[str] = []
    listening = await asyncpg.connect(postgres)
    await listening.add_listener("askdesk", lambda *given: told.append(given[-1]))
    await store.add(an_ask(1))
    await store.settle(an_ask(1).id, a_settlement())
    await store.add(an_ask(2, id=LONG))
    await store.shelf.put("draft/1", '"words"')
    await store.add(an_ask(3))
    await until(lambda: len(told) == 4)
    await listening.close()
    assert told == [f"1 {an_ask(1).id}", f"2 {an_ask(1).id}", "3", f"4 {an_ask(3).id}"]


async def test_a_change_to_an_ask_with_a_very_long_id_is_heard_too(store: PostgresStore, other: PostgresStore) -> None:
    ears = Ears(store)
    about_it: list[str | None] = []
    store.hints(about_it.append, LONG)
    await ears.are_open()
    await until(lambda: about_it)
    about_it.clear()
    await other.add(an_ask(1, id=LONG))
    await ears.hear(None)
    await other.settle(LONG, a_settlement())
    await until(lambda: about_it)


async def test_a_change_that_nobody_told_of_is_found(seen: Seen, store: PostgresStore) -> None:
    await store.add(an_ask(1))
    ears = Ears(store)
    await ears.are_open()
    seen.sql(SETTLED_BY_HAND, an_ask(1).id, None)
    await ears.hear(an_ask(1).id)


async def test_what_changed_while_the_listener_was_cut_off_is_read_again(
    cluster: Cluster, seen: Seen, store: PostgresStore, other: PostgresStore
) -> None:
    await store.add(an_ask(1))
    await other.get(an_ask(1).id)
    ears = Ears(store)
    await ears.are_open()
    cluster.sql(f"ALTER DATABASE {seen.name} ALLOW_CONNECTIONS false")
    seen.terminate(LISTENING)
    await until(lambda: not seen.backends(LISTENING))
    await other.settle(an_ask(1).id, a_settlement())  # over a connection that it has already
    assert ears.heard == []
    cluster.sql(f"ALTER DATABASE {seen.name} ALLOW_CONNECTIONS true")
    await ears.are_open()
    await other.add(an_ask(2))
    await ears.hear(an_ask(2).id)


async def test_after_a_failover_that_lost_changes_their_numbers_mean_others(
    seen: Seen, store: PostgresStore, other: PostgresStore
) -> None:
    for number in (1, 2):
        await store.add(an_ask(number))
    ears = Ears(store)
    await ears.are_open()
    for number in (1, 2):
        await store.settle(an_ask(number).id, a_settlement())
    lost = "UPDATE askdesk.asks SET settlement = NULL, changed = seq; "
    for numbers_go_back in ("SELECT setval('askdesk.changes', 2)", "SELECT 1"):
        ears.heard.clear()
        await _replaced(seen, lost + numbers_go_back)
        await ears.are_open()
        await other.settle(an_ask(1).id, a_settlement("two"))
        await ears.hear(an_ask(1).id)


async def _replaced(seen: Seen, how: str) -> None:
    """Another database takes the place of this one, which knows less."""
    seen.run(how)
    seen.terminate(LISTENING)
    await until(lambda: not seen.backends(LISTENING))


async def test_where_the_latest_changes_are_gone_everything_is_read_again(seen: Seen, store: PostgresStore) -> None:
    for number in (1, 2):
        await store.add(an_ask(number))
    ears = Ears(store)
    await ears.are_open()
    seen.sql("DELETE FROM askdesk.asks WHERE seq = 2")
    await ears.hear(None)


async def test_whoever_notifies_in_other_words_wants_everything_to_be_read_again(
    seen: Seen, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    ears = Ears(store)
    await ears.are_open()
    for words in ("", "x", "-1", "1.0 x", "٣ x", f"{2**70} x", f"{'9' * 5000} x"):
        ears.heard.clear()
        seen.sql("SELECT pg_notify('askdesk', $1)", words)
        await until(lambda: ears.heard)
    assert caplog.records == []


@pytest.mark.parametrize("many", [100, 9000])  # more than a store keeps in mind
async def test_whoever_makes_up_the_numbers_of_changes_keeps_nobody_waiting(
    many: int, postgres: str, seen: Seen, store: PostgresStore, other: PostgresStore
) -> None:
    seen.sql("CREATE ROLE stranger LOGIN")
    try:
        await store.add(an_ask(1))
        await store.add(an_ask(2))
        ears = Ears(store)
        await ears.are_open()
        stranger = await asyncpg.connect(postgres, user="stranger")
        await stranger.execute("SELECT pg_notify('askdesk', n || ' x') FROM generate_series(1, $1::int) AS n", many)
        await until(lambda: "x" in ears.heard)
        await other.settle(an_ask(1).id, a_settlement())
        await store.settle(an_ask(2).id, a_settlement("two"))
        await stranger.close()
        await ears.hear(an_ask(1).id, an_ask(2).id)
    finally:
        seen.sql("DROP ROLE stranger")


async def test_who_listens_to_a_store_that_is_closing_leaves_no_listener_behind(postgres: str, seen: Seen) -> None:
    async with opened(postgres) as store:
        await Ears(store).are_open()
        listening = store._session._running
        assert listening
        listening.add_done_callback(lambda _: store.hints(lambda _: None))
    await until(lambda: not seen.backends())


async def test_a_listener_that_is_lost_is_told_once_and_not_at_every_try(
    seen: Seen, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    ears = Ears(store)
    await ears.are_open()
    with caplog.at_level(logging.WARNING):
        seen.sql("DROP SCHEMA askdesk CASCADE")  # so that it connects, and then fails
        await until(lambda: caplog.messages)
        tries: set[int] = set()

        def have_been_some() -> bool:
            tries.update(seen.backends())
            return len(tries) > 5

        await until(have_been_some)
    assert [message.partition("; ")[2] for message in caplog.messages] == [
        "changes by others are heard of once it is back"
    ]


FROZEN = """
import asyncio, os, signal, sys
from askdesk.stores import postgres_session
from askdesk.stores.postgres import PostgresStore

async def main():
    postgres_session._AS_A_LISTENER = postgres_session._AS_A_LISTENER.replace("10000", "1000")  # a second is enough
    store = await PostgresStore.open(sys.argv[1])
    store.hints(lambda _: os.kill(os.getpid(), signal.SIGSTOP))
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_process_that_stands_still_is_let_go_of_also_where_more_is_told_than_its_line_holds(
    seen: Seen, postgres: str
) -> None:
    with subprocess.Popen([sys.executable, "-c", FROZEN, postgres]) as frozen:
        try:
            os.waitid(os.P_PID, frozen.pid, os.WSTOPPED)
            assert seen.backends(LISTENING)
            seen.sql("SELECT pg_notify('askdesk', n || ' ' || repeat('x', 7000)) FROM generate_series(1, 2000) AS n")
            asyncio.run(until(lambda: not seen.backends(LISTENING)))
        finally:
            frozen.kill()
    assert seen.sql("SELECT pg_notification_queue_usage()") == [(0.0,)]


async def test_two_servers_whose_clocks_are_wrong_agree_on_what_is_due(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        desks: list[Desk] = []
        for minutes in (10, -10):
            wrong = timedelta(minutes=minutes)
            monkeypatch.setattr(SystemClock, "now", lambda _, wrong=wrong: datetime.now(UTC) + wrong)
            store = await stack.enter_async_context(opened(postgres))
            desks.append(Desk(store, clock=store.clock))
        asks: list[Ask] = []
        for desk in desks:
            long = await desk.post(Question("Now?", ["yes", "no"]), asker=Asker("ci"), deadline=timedelta(minutes=5))
            short = await desk.post(Question("Now?", ["yes", "no"]), asker=Asker("ci"), deadline=timedelta(seconds=0.5))
            asks += (long, short)
        assert all(abs(ask.created - datetime.now(UTC)) < timedelta(seconds=5) for ask in asks)
        for desk in desks:
            await desk.store.expire(desk.now())
        settlements = await asyncio.gather(*(desk.wait(ask.id) for desk in desks for ask in asks[1::2]))
        assert [settlement and settlement.outcome for settlement in settlements] == [Expired()] * 4
        page = await desks[0].page("open")
        assert [entry.ask.id for entry in page.entries] == [ask.id for ask in asks[::2]]


def test_an_answer_that_took_long_moves_no_clock_that_may_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_database, "passed", lambda: 100.0)
    clock = DatabaseClock()
    shown = []
    for there, sent, received in ((0.0, 99.0, 101.0), (3.0, 100.0, 108.0), (1.0, 100.0, 100.5), (-60.0, 90.0, 110.0)):
        clock.shows(NOON + timedelta(seconds=there), sent, received)
        shown.append((clock.now() - NOON).total_seconds())
    assert shown == [0.0, 0.0, 0.75, -60.0]
