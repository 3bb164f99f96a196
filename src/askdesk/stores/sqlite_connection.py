"""One connection to an SQLite file: how the file is made, opened and checked, and its errors as ours.

Knows no table and no thread. Several processes, and several versions of askdesk, may have the file open at once.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias, TypeVar

import apsw

from askdesk.core.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreGone
from askdesk.stores.migrate import check_known, migrate_sqlite
from askdesk.stores.patience import PERHAPS

T = TypeVar("T")
Operation: TypeAlias = Callable[[apsw.Connection], T]

Identity: TypeAlias = tuple[int, int]
"""Which file it is: its device and inode."""

FOREIGN = (apsw.Error, OSError, UnicodeError)
_APPLICATION_ID = 0x41534B44  # "ASKD"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_SYNCED = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


class Place:
    """Where the file lies, and what this process has seen there."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._wal = Path(f"{path}-wal")
        self._opened: tuple[Identity, Identity | None] | None = None  # the file, and its WAL

    def make(self) -> None:
        """Build the file beside its place and link it in: the first one wins, and nobody sees a half-made file."""
        if self._wal.exists() and not self.path.exists():  # in this order: another process may be making it right now
            raise StoreGone(f"{self.path}: was deleted, but {self._wal.name} is there: put it back, or delete both")
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = str(self.path.parent / f".askdesk-{token_hex(8)}")
        os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            self._fill(name)
            check_whole(name, self.path)
            with suppress(FileExistsError):
                os.link(name, self.path)
        finally:
            for leftover in (name, f"{name}-wal", f"{name}-shm", f"{name}-journal"):
                Path(leftover).unlink(missing_ok=True)

    def _fill(self, name: str) -> None:
        database = apsw.Connection(name)
        try:
            database.pragma("application_id", _APPLICATION_ID)
            database.pragma("journal_mode", "wal")
            migrate_sqlite(database)
        except FOREIGN as error:
            raise self.ours(error, database) from None
        finally:
            database.close()

    def identity(self) -> Identity:
        try:
            return _identity(self.path)
        except FileNotFoundError:
            raise StoreGone(f"{self.path}: the file was deleted") from None

    def size(self) -> int:
        """How many bytes it takes, with what is not yet written from its WAL into the file."""
        return self.path.stat().st_size + (self._wal.stat().st_size if self._wal.exists() else 0)

    def open(self, identity: Identity, busy: Callable[[int], bool]) -> apsw.Connection:
        self._check_no_leftover(identity)
        database = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)  # never creates
        database.set_busy_handler(busy)  # before the first read: whoever closes the file last locks it meanwhile
        try:
            database.pragma("synchronous", "full")
            self._check_ours(database)
            check_known(database)
            self._opened = identity, self._wal_identity()
        except FOREIGN as error:
            raise self.ours(error, database) from None
        return database

    def _check_no_leftover(self, identity: Identity) -> None:
        """SQLite would write what is left in the old file's WAL into the new file."""
        if self._opened and self._opened[0] != identity and self._opened[1] == self._wal_identity() is not None:
            raise StoreGone(f"{self.path}: was replaced; delete {self._wal.name}, which belongs to the old one")

    def _wal_identity(self) -> Identity | None:
        try:
            return _identity(self._wal)
        except FileNotFoundError:
            return None

    def _check_ours(self, database: apsw.Connection) -> None:
        if self.path.stat().st_size == 0:
            raise StoreCorrupt(
                f"{self.path}: is empty, so it was cut off or never was a desk; delete it to start a new one"
            )
        if database.pragma("application_id") != _APPLICATION_ID:
            raise StoreCorrupt(f"{self.path}: is an SQLite file of another program")

    def ours(self, error: Exception, database: apsw.Connection | None = None) -> StoreError:
        """An error of SQLite or the file system, one of FOREIGN, as ours; it may be the latest of a connection."""
        if isinstance(error, UnicodeEncodeError):
            return StoreGone(f"{self.path}: its path is not UTF-8, which SQLite needs")
        if isinstance(error, UnicodeDecodeError):  # SQLite takes any bytes for a text, and never looks at them
            return StoreCorrupt(f"{self.path}: damaged: a text in it is not UTF-8; restore a backup")
        if isinstance(error, OSError):
            kind = StoreFull if error.errno in _NO_ROOM else StoreGone
            return kind(f"{self.path}: {error.strerror or error}")
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(f"{self.path}: locked by another process for {self.busy_seconds:g} s; try again")
        if getattr(error, "extendedresult", 0) in _NOT_SYNCED:  # a commit is there all the same, if the power fails now
            return StoreGone(f"{self.path}: cannot be used ({error}){PERHAPS}")
        if isinstance(error, apsw.FullError) or _had_no_room(error, database):
            return StoreFull(f"{self.path}: no room left on the disk; nothing was written")
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError):
            return StoreCorrupt(f"{self.path}: damaged, or not an SQLite file ({error}); restore a backup")
        return StoreGone(f"{self.path}: cannot be used ({error})")


def check_whole(made: str, path: Path) -> None:
    """StoreFull where a new file, closed, is not all of it: SQLite tells nobody that it could not write the rest in."""
    if Path(f"{made}-wal").exists():
        raise StoreFull(f"{path}: no room left on the disk, or it fails; nothing was written")


class Connection:
    """Opened at its first use, and anew when another file lies there now: SQLite would write on into a deleted one."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._database: apsw.Connection | None = None
        self.identity: Identity | None = None
        self._patient = True
        self._waiting_since = 0.0

    def query(self, query: Operation[T]) -> T:
        try:
            return query(self._fresh())
        except FOREIGN as error:
            raise self._place.ours(error, self._database) from None

    def transact(self, operations: Iterable[Operation[Any]], *, patient: bool = True) -> list[Any]:
        """Run the operations in one transaction; when this returns, what they did is durable.

        Where it is not patient, a lock that others hold is an error at once.
        """
        self._patient = patient
        try:
            return self._transacted(self._fresh(), operations)
        except FOREIGN as error:
            raise self._place.ours(error, self._database) from None
        finally:
            self._patient = True

    def _transacted(self, database: apsw.Connection, operations: Iterable[Operation[Any]]) -> list[Any]:
        database.execute("BEGIN IMMEDIATE")
        try:
            results = [operation(database) for operation in operations]
            if self._place.identity() != self.identity:
                raise StoreGone(f"{self._place.path}: was replaced while it was open; nothing was written")
            database.execute("COMMIT")
        finally:
            if database.in_transaction:  # SQLite has already rolled back by itself where the disk is full
                database.execute("ROLLBACK")
        return results

    def interrupt(self) -> None:
        """End what runs now, from another thread."""
        if self._database:
            self._database.interrupt()

    def close(self) -> None:
        if self._database:
            with suppress(apsw.Error):
                self._database.close()

    def _fresh(self) -> apsw.Connection:
        identity = self._place.identity()
        if self._database and self.identity == identity:
            return self._database
        database = self._place.open(identity, self._wait_a_little)
        self.close()  # only now: where the new one cannot be used, the old one may come back
        self._database, self.identity = database, identity
        return database

    def _wait_a_little(self, attempts: int) -> bool:
        """SQLite's own handler backs off up to 100 ms; waiting 1 ms each time is fairer and twelve times faster."""
        if not self._patient:
            return False
        if attempts == 0:
            self._waiting_since = time.monotonic()
        time.sleep(0.001)
        return time.monotonic() - self._waiting_since < self._place.busy_seconds


def _had_no_room(error: Exception, database: apsw.Connection | None) -> bool:
    """SQLite has no word of its own for a file that may not grow: it is broken like one that cannot be written."""
    return isinstance(error, apsw.IOError) and database is not None and database.system_errno in _NO_ROOM


def _identity(path: Path) -> Identity:
    found = os.stat(path)
    return found.st_dev, found.st_ino
