"""Ask to answer in one process: in memory against a bare future, on SQLite against two raw commits."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
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
IN_A_ROW = 10  # of the same, before it is the other's turn: each finds what it works with where it left it
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
        floor += [await timed_async(bare_future) for _ in range(IN_A_ROW)]
        ours += [await timed_async(exchange.once) for _ in range(IN_A_ROW)]
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
            floor.append(timed(lambda: raw.two(at_once)) / at_once)
            ours.append(await timed_async(together) / at_once)
        await store.close()
    name, floor_name = "ask to answer, durable on SQLite", "the same two statements, committed raw"
    if at_once == 1:
        return Ratio(f"{name}, one at a time", floor_name, 2, floor, ours)
    name, floor_name = f"{name}, {at_once} at once, each", f"{floor_name}, all at once"
    return Ratio(name, floor_name, 6, floor, ours, are_means=True)


class RawCommits:
    """The least that durability costs: the same two statements on the same tables, those of many asks in one commit."""

    def __init__(self, path: Path) -> None:
        self._database = apsw.Connection(str(path))
        self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "full")
        migrate_sqlite(self._database)

    def two(self, asks: int = 1) -> None:
        self.insert(asks)
        self.settle()

    def insert(self, asks: int = 1) -> None:
        self._ids = [new_id() for _ in range(asks)]
        self._commit(INSERT, [(ask_id, "", None, ASK_RECORD, None) for ask_id in self._ids])

    def settle(self) -> None:
        """The latest ones."""
        self._commit(SETTLE, [{"id": ask_id, "settlement": SETTLEMENT_RECORD, "now": 0} for ask_id in self._ids])

    def _commit(self, statement: str, values: Sequence[tuple[str | None, ...] | dict[str, str | int]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        for each in values:
            self._database.execute(statement, each)
        self._database.execute("COMMIT")
