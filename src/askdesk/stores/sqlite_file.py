"""One SQLite file: how it is made, opened, written by one thread with group commit, and read. Knows no table.

Several processes, and several versions of askdesk, may have the file open at once.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeAlias, TypeVar

import apsw

from askdesk.core.errors import NoStore, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreGone
from askdesk.stores.migrate import check_known, migrate_sqlite

T = TypeVar("T")
Operation: TypeAlias = Callable[[apsw.Connection], T]
"""Runs inside a transaction."""

_APPLICATION_ID = 0x41534B44  # "ASKD"
_MOST_IN_A_BATCH = 500
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OUT_OF_ROOM = {778, 4874}  # SQLITE_IOERR_WRITE under a file-size limit, SQLITE_IOERR_SHMSIZE


Identity: TypeAlias = tuple[int, int]
"""Which file it is: its device and inode."""


class _Handle(NamedTuple):
    """A connection, and which file it was opened on: SQLite goes on writing into a deleted file without a word."""

    connection: apsw.Connection
    identity: Identity


class _Write(NamedTuple):
    operation: Operation[Any]
    then: Callable[[Any], None]
    done: asyncio.Future[Any]


class SQLiteFile:
    """Belongs to the event loop and the process that made it."""

    def __init__(self, path: Path, busy_seconds: float, create: bool) -> None:
        self.path = path
        self._create = create
        self._busy_seconds = busy_seconds
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        # A daemon that is waited for at exit: others would be lost with their queue, or keep the interpreter alive.
        self._writing = threading.Thread(target=self._write_all, name="askdesk-writer", daemon=True)
        self._reading = ThreadPoolExecutor(1, "askdesk-reader")
        self._writer: _Handle | None = None
        self._reader: _Handle | None = None
        self._near_reader: _Handle | None = None  # the event loop's own
        self._closed = False
        self._wal = Path(f"{path}-wal")
        self._opened: tuple[Identity, Identity | None] | None = None  # the file, and its WAL

    @property
    def identity(self) -> Identity | None:
        """Of the file that was read last here in the event loop."""
        return self._near_reader.identity if self._near_reader else None

    async def open(self) -> None:
        """Open the file, making it first where there is none."""
        try:
            await self._loop.run_in_executor(self._reading, self._prepare)
        except BaseException:
            await self.close()
            raise
        self._writing.start()
        atexit.register(self._finish_writing)

    async def write(self, operation: Operation[T], then: Callable[[T], None] = lambda _: None) -> T:
        """Run an operation in the next group commit; once it is durable, call `then` with its value.

        Both happen even when the caller is cancelled meanwhile.
        """
        self._check_usable()
        done: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Write(operation, then, done))
        return await done

    def read(self, query: Callable[[apsw.Connection], T]) -> T:
        """Run a short query right here in the event loop: in WAL mode nothing that others do can hold it up."""
        self._check_usable()
        with self._translated():
            self._near_reader = self._fresh(self._near_reader, writable=False)
            return query(self._near_reader.connection)

    async def read_apart(self, query: Callable[[apsw.Connection], T]) -> T:
        """Run a query that may take long, in a thread of its own."""
        self._check_usable()

        def run() -> T:
            with self._translated():
                self._reader = self._fresh(self._reader, writable=False)
                return query(self._reader.connection)

        return await self._loop.run_in_executor(self._reading, run)

    async def close(self) -> None:
        """Finish the queue, then let go of the file."""
        self._check_process()
        if self._closed:
            return
        self._closed = True
        await self._loop.run_in_executor(None, self._finish_writing)
        await self._loop.run_in_executor(None, self._reading.shutdown)
        atexit.unregister(self._finish_writing)
        for handle in (self._near_reader, self._reader, self._writer):  # the writer last: it tidies up the WAL
            if handle:
                with suppress(apsw.Error):
                    handle.connection.close()

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
            self._queue.put(None)
            self._writing.join()

    def _write_all(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first, *self._more()]
            results = self._committed(batch)
            with suppress(RuntimeError):  # the loop is closed: nobody waits for the results any more
                self._loop.call_soon_threadsafe(self._deliver, batch, results)

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

    def _committed(self, batch: list[_Write]) -> list[Any | Exception]:
        try:
            return self._commit(batch)
        except Exception as error:  # noqa: BLE001 - handed to those who wait; this thread must live on
            if len(batch) == 1 or isinstance(error, StoreBusy):
                return [error] * len(batch)
        # One of them spoils it for all: let each stand for itself.
        return [result for write in batch for result in self._committed([write])]

    def _commit(self, batch: list[_Write]) -> list[Any]:
        with self._translated():
            self._writer = writer = self._fresh(self._writer, writable=True)
            database = writer.connection
            database.execute("BEGIN IMMEDIATE")
            try:
                results = [write.operation(database) for write in batch]
                if _identity(self.path) != writer.identity:
                    raise StoreGone(f"{self.path}: was replaced while it was open; nothing was written")
                database.execute("COMMIT")
            finally:
                if database.in_transaction:  # SQLite has already rolled back by itself where the disk is full
                    database.execute("ROLLBACK")
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

    def _prepare(self) -> None:
        with self._translated():
            if not self.path.exists():
                if not self._create:
                    raise NoStore(f"{self.path}: there is no store here; the first ask makes it")
                self._make()
            self._writer = self._fresh(None, writable=True)
            migrate_sqlite(self._writer.connection)

    def _make(self) -> None:
        """Build the file beside its place and link it in: the first one wins, and nobody sees a half-made file."""
        if self._wal.exists() and not self.path.exists():  # in this order: another process may be making it right now
            raise StoreGone(f"{self.path}: was deleted, but {self._wal.name} is there: put it back, or delete both")
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".askdesk-", dir=self.path.parent)  # made with mode 0600
        os.close(descriptor)
        try:
            database = apsw.Connection(name)
            database.pragma("application_id", _APPLICATION_ID)
            database.pragma("journal_mode", "wal")
            migrate_sqlite(database)
            database.close()
            with suppress(FileExistsError):
                os.link(name, self.path)
        finally:
            for leftover in (name, f"{name}-wal", f"{name}-shm", f"{name}-journal"):
                Path(leftover).unlink(missing_ok=True)

    def _fresh(self, handle: _Handle | None, *, writable: bool) -> _Handle:
        """The handle, or a new one where there was none or the file at its path is another one now."""
        identity = _identity(self.path)
        if handle and handle.identity == identity:
            return handle
        self._check_no_leftover(identity)
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)  # never creates
        connection.set_busy_handler(self._wait_a_little())
        connection.pragma("synchronous", "full")
        if not writable:
            connection.pragma("query_only", True)
        _check_ours(self.path, connection)
        check_known(connection)
        self._opened = identity, _inode(self._wal)
        if handle:  # only now: where the new one cannot be used, the old one may come back
            handle.connection.close()
        return _Handle(connection, identity)

    def _check_no_leftover(self, identity: Identity) -> None:
        """SQLite would write what is left in the old file's WAL into the new file."""
        if self._opened and self._opened[0] != identity and self._opened[1] == _inode(self._wal) is not None:
            raise StoreGone(f"{self.path}: was replaced; delete {self._wal.name}, which belongs to the old one")

    def _wait_a_little(self) -> Callable[[int], bool]:
        """SQLite's own handler backs off up to 100 ms; waiting 1 ms each time is fairer and twelve times faster."""
        started = 0.0

        def wait(attempts: int) -> bool:
            nonlocal started
            if attempts == 0:
                started = time.monotonic()
            time.sleep(0.001)
            return time.monotonic() - started < self._busy_seconds

        return wait

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors and the file system's, as ours."""
        try:
            yield
        except apsw.Error as error:
            raise self._ours(error) from None
        except UnicodeEncodeError:
            raise StoreGone(f"{self.path}: its path is not UTF-8, which SQLite needs") from None
        except OSError as error:
            kind = StoreFull if error.errno in _NO_ROOM else StoreGone
            raise kind(f"{self.path}: {error.strerror or error}") from None

    def _ours(self, error: apsw.Error) -> StoreError:
        code = getattr(error, "extendedresult", 0)
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(f"{self.path}: locked by another process for {self._busy_seconds:g} s; try again")
        if isinstance(error, apsw.FullError) or code in _OUT_OF_ROOM:
            return StoreFull(f"{self.path}: no room left on the disk; nothing was written")
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError):
            return StoreCorrupt(f"{self.path}: damaged, or not an SQLite file ({error}); restore a backup")
        return StoreGone(f"{self.path}: cannot be used ({error})")


def _identity(path: Path) -> Identity:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise StoreGone(f"{path}: the file was deleted") from None
    return found.st_dev, found.st_ino


def _inode(path: Path) -> Identity | None:
    try:
        return _identity(path)
    except StoreGone:
        return None


def _check_ours(path: Path, database: apsw.Connection) -> None:
    if path.stat().st_size == 0:
        raise StoreCorrupt(f"{path}: is empty, so it was cut off or never was a desk; delete it to start a new one")
    if database.pragma("application_id") != _APPLICATION_ID:
        raise StoreCorrupt(f"{path}: is an SQLite file of another program")
