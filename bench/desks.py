"""Ask to answer in one process: in memory against a bare future, on SQLite against two raw commits."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import apsw
from bench.measure import Ratio, timed, timed_async

from askdesk import Answer, Answered, Ask, Asker, Desk, Question, Questions, Settlement
from askdesk.core.desk import new_id
from askdesk.core.store import Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.migrate import migrate_sqlite
from askdesk.stores.sqlite import INSERT, SETTLE, SQLiteStore
from askdesk.wire.record import encode

QUESTIONS = Questions([Question("Which database?", ["Postgres", "SQLite"], header="Database")])
ANSWERED = Answered([Answer(["SQLite"])])
ASKER = Asker("bench")
ASK_RECORD = encode(Ask(new_id(), QUESTIONS, ASKER, datetime.now(UTC)))
SETTLEMENT_RECORD = encode(Settlement(ANSWERED, datetime.now(UTC), new_id(), "ana", "bench"))


class Exchange:
    """An agent that asks and a person who answers at once, both through the desk."""

    def __init__(self, store: Store) -> None:
        self._desk = Desk(store)
        self._answering: set[asyncio.Task[object]] = set()
        self._seen: set[str] = set()
        store.hints(self._heard)

    def _heard(self, ask_id: str | None) -> None:
        if ask_id is None or ask_id in self._seen:
            return
        self._seen.add(ask_id)
        task: asyncio.Task[object] = asyncio.ensure_future(
            self._desk.settle(ask_id, ANSWERED, by="ana", surface="bench")
        )
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def once(self) -> None:
        assert isinstance(await self._desk.ask(QUESTIONS, asker=ASKER), Answered)


async def bare_future() -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()
    loop.call_soon(future.set_result, 1)
    await future


async def in_memory(rounds: int) -> Ratio:
    exchange = Exchange(MemoryStore())
    floor, ours = [], []
    for _ in range(rounds):
        floor.append(await timed_async(bare_future, 100))
        ours.append(await timed_async(exchange.once, 100))
    return Ratio("ask to answer, in memory", "call_soon + future", 6, floor, ours)


async def on_sqlite(rounds: int, at_once: int = 1) -> Ratio:
    """Durable exchanges, one after the other or many at once, per exchange."""
    with tempfile.TemporaryDirectory() as folder:
        store = await SQLiteStore.open(Path(folder) / "desk.db")
        exchange, raw = Exchange(store), RawCommits(Path(folder) / "raw.db")

        async def together() -> None:
            await asyncio.gather(*(exchange.once() for _ in range(at_once)))

        floor, ours = [], []
        for _ in range(rounds):
            floor.append(timed(raw.two))
            ours.append(await timed_async(together) / at_once)
        await store.close()
    name = "one at a time" if at_once == 1 else f"{at_once} at once, each"
    return Ratio(f"ask to answer, durable on SQLite, {name}", "the same two statements, committed raw", 2, floor, ours)


class RawCommits:
    """The least that durability costs: the same two statements on the same tables, each in a transaction of its own."""

    def __init__(self, path: Path) -> None:
        self._database = apsw.Connection(str(path))
        self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "full")
        migrate_sqlite(self._database)

    def two(self) -> None:
        self.insert()
        self.settle()

    def insert(self) -> None:
        self._ask_id = new_id()
        self._commit(INSERT, (self._ask_id, "", None, ASK_RECORD, None))

    def settle(self) -> None:
        """The latest one."""
        self._commit(SETTLE, {"id": self._ask_id, "settlement": SETTLEMENT_RECORD, "now": 0})

    def _commit(self, statement: str, values: tuple[str | None, ...] | dict[str, str | int]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute(statement, values)
        self._database.execute("COMMIT")
