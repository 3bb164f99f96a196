"""Ask to answer in one process: in memory against a bare future, on SQLite against two raw commits."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import apsw
from bench.measure import Ratio, timed, timed_async

from askdesk import Answer, Answered, Asker, Desk, Question, Questions
from askdesk.core.store import Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore

QUESTIONS = Questions([Question("Which database?", ["Postgres", "SQLite"], header="Database")])
ANSWERED = Answered([Answer(["SQLite"])])
ASKER = Asker("bench")


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


async def on_sqlite(rounds: int) -> Ratio:
    with tempfile.TemporaryDirectory() as folder:
        store = await SQLiteStore.open(Path(folder) / "desk.db")
        exchange, raw = Exchange(store), RawCommits(Path(folder) / "raw.db")
        floor, ours = [], []
        for _ in range(rounds):
            floor.append(timed(raw.two))
            ours.append(await timed_async(exchange.once))
        await store.close()
    return Ratio("ask to answer, durable on SQLite", "two raw commits", 2, floor, ours)


class RawCommits:
    """The least that durability costs: one insert and one update, each committed with the same settings as ours."""

    def __init__(self, path: Path) -> None:
        self._database = apsw.Connection(str(path))
        self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "full")
        self._database.execute("CREATE TABLE asks (id INTEGER PRIMARY KEY, ask TEXT, settlement TEXT)")

    def two(self) -> None:
        self._database.execute("INSERT INTO asks (ask) VALUES (?)", ("x" * 300,))
        row = self._database.last_insert_rowid()
        self._database.execute("UPDATE asks SET settlement = ? WHERE id = ?", ("y" * 150, row))
