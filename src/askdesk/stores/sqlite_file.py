"""Who reads and writes an SQLite file, and where: the event loop what is short, threads what may take long.

Commits one write of the event loop at once, and many together. Knows no table.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeAlias, TypeVar

from askdesk.core.errors import NoStore, StoreBusy, StoreError
from askdesk.stores.migrate import migrate_sqlite
from askdesk.stores.sqlite_connection import FOREIGN, Connection, Identity, Operation, Place

T = TypeVar("T")
Version: TypeAlias = tuple[Identity | None, int]
"""Which file, and a number that changes with every commit to it."""

_MOST_IN_A_BATCH = 500
_QUICK_SECONDS = 0.001  # a commit that the event loop can do by the way


class _Write(NamedTuple):
    operation: Operation[Any]
    then: Callable[[Any], None]
    done: asyncio.Future[Any]


class SQLiteFile:
    """Belongs to the event loop and the process that made it."""

    def __init__(self, path: Path, busy_seconds: float, create: bool) -> None:
        self.path = path
        self._create = create
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._place = Place(path, busy_seconds)
        self._near = Connection(self._place)  # the event loop's own
        self._watcher = Connection(self._place)  # never writes: only so it sees every commit by its version
        self._reader = Connection(self._place)
        self._writer = Connection(self._place)
        self._reading = ThreadPoolExecutor(1, "askdesk-reader")
        # A daemon that is waited for at exit: others would be lost with their queue, or keep the interpreter alive.
        self._writing = threading.Thread(target=self._write_all, name="askdesk-writer", daemon=True)
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._gathered: list[_Write] = []  # in this turn of the event loop
        self._commit_seconds = float("inf")  # how long the latest took; until there was one, nobody knows
        self._closed = False

    async def open(self) -> None:
        """Open the file, making it first where there is none."""
        try:
            await self._loop.run_in_executor(self._reading, self._prepare)
        except BaseException:
            await self.close()
            raise
        self._writing.start()
        atexit.register(self._finish_writing)

    def _prepare(self) -> None:
        try:
            if not self.path.exists():
                if not self._create:
                    raise NoStore(f"{self.path}: there is no store here; the first ask makes it")
                self._place.make()
        except FOREIGN as error:
            raise self._place.ours(error) from None
        self._writer.query(migrate_sqlite)

    def read(self, query: Operation[T]) -> T:
        """Run a short query right here in the event loop: in WAL mode nothing that others do can hold it up."""
        self._check_usable()
        return self._near.query(query)

    async def read_apart(self, query: Operation[T]) -> T:
        """Run a query that may take long, in a thread of its own."""
        self._check_usable()
        return await self._loop.run_in_executor(self._reading, self._reader.query, query)

    def version(self) -> Version:
        """Another one after every commit, here or in another process, and for another file at this path."""
        self._check_usable()
        number = self._watcher.query(lambda database: int(database.pragma("data_version")))
        return self._watcher.identity, number

    async def write(self, operation: Operation[T], then: Callable[[T], None] = lambda _: None) -> T:
        """Run a short operation in the next commit; once it is durable, call `then` with its value.

        Both happen even when the caller is cancelled meanwhile.
        """
        self._check_usable()
        done: asyncio.Future[T] = self._loop.create_future()
        self._gathered.append(_Write(operation, then, done))
        if len(self._gathered) == 1:
            self._loop.call_soon(self._commit_gathered)
        return await done

    async def write_apart(self, operation: Operation[T], then: Callable[[T], None]) -> T:
        """The same for an operation that may take long: always in the writer's thread."""
        self._check_usable()
        done: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Write(operation, then, done))
        return await done

    def _commit_gathered(self) -> None:
        """Commit a lone write to a quick disk right here, saving two changes of thread; the thread does the rest."""
        gathered, self._gathered = self._gathered, []
        if len(gathered) == 1 and self._commit_seconds < _QUICK_SECONDS:
            results = self._committed(self._near, gathered, patient=False)
            if not isinstance(results[0], StoreBusy):
                self._deliver(gathered, results)
                return
        for write in gathered:
            self._queue.put(write)

    async def close(self) -> None:
        """Finish the queue, then let go of the file."""
        self._check_process()
        if self._closed:
            return
        self._closed = True
        self._commit_gathered()  # here and not in the thread below: what was gathered belongs to the event loop
        await self._loop.run_in_executor(None, self._finish_writing)
        await self._loop.run_in_executor(None, self._reading.shutdown)
        atexit.unregister(self._finish_writing)
        for connection in (self._watcher, self._near, self._reader, self._writer):
            connection.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:  # the writer's thread did not come along
            raise StoreError(f"{self.path}: was opened before a fork; open it anew in the child process")

    def _check_usable(self) -> None:
        self._check_process()
        if self._closed:
            raise StoreError(f"{self.path}: is closed")

    def _finish_writing(self) -> None:
        """Let the writer's thread empty its queue and end."""
        if self._writing.is_alive() and os.getpid() == self._process:
            for write in (*self._gathered, None):  # gathered still, where the event loop was stopped
                self._queue.put(write)
            self._writing.join()

    def _write_all(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first, *self._more()]
            results = self._committed(self._writer, batch)
            try:
                self._loop.call_soon_threadsafe(self._deliver, batch, results)
            except RuntimeError:  # the loop is closed: nobody waits for the results any more
                continue

    def _more(self) -> Iterator[_Write]:
        """Whatever else waits already: one commit serves them all."""
        for _ in range(_MOST_IN_A_BATCH):
            try:
                write = self._queue.get_nowait()
            except Empty:
                return
            if write is None:  # the end, which is not for this batch
                self._queue.put(None)
                return
            yield write

    def _committed(self, connection: Connection, batch: list[_Write], *, patient: bool = True) -> list[Any | Exception]:
        started = time.monotonic()
        try:
            results = connection.transact([write.operation for write in batch], patient=patient)
        except Exception as error:  # noqa: BLE001 - handed to those who wait; the writer's thread must live on
            if len(batch) == 1 or isinstance(error, StoreBusy):
                return [error] * len(batch)
            # One of them spoils it for all: let each stand for itself.
            return [result for write in batch for result in self._committed(connection, [write])]
        self._commit_seconds = time.monotonic() - started
        return results

    def _deliver(self, batch: list[_Write], results: list[Any | Exception]) -> None:
        for write, result in zip(batch, results, strict=True):
            if write.done.done():  # its caller has gone
                continue
            if isinstance(result, Exception):
                write.done.set_exception(result)
            else:
                write.done.set_result(result)
        for write, result in zip(batch, results, strict=True):
            if not isinstance(result, Exception):
                write.then(result)
