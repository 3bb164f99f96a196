"""A PostgreSQL database: its connections, its statements, its clock, its errors as ours. Knows no verb and no hint.

What is sent is sent again for a while where the database is away: every statement here may be, without harm.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from askdesk.core.clock import SystemClock
from askdesk.core.errors import (
    InvalidSettings,
    MissingGuest,
    Problem,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
)
from askdesk.stores.address import without_password
from askdesk.stores.patience import PATIENCE, PERHAPS, TOLD_AFTER, pauses
from askdesk.stores.postgres_hosts import Hosts, let_go

try:
    import asyncpg
except ImportError:
    raise MissingGuest("asyncpg", "postgres") from None

log = logging.getLogger("askdesk")

T = TypeVar("T")
Connection: TypeAlias = Any  # asyncpg tells no types
Record: TypeAlias = Any
Work: TypeAlias = Callable[[Connection], Awaitable[T]]

MOST_CONNECTIONS = 8
OLDEST = 14  # the first version that has all we use
SQL = Path(__file__).parent / "sql" / "postgres"  # importlib.resources takes longer to load than all of this

_errors = asyncpg.exceptions
FOREIGN = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_WHAT_IT_TAKES = (
    "postgresql://user:password@host:5432/database, with / ? # @ % : in a password as %2F %3F %23 %40 %25 %3A"
)
LOCKED, NOT_ALLOWED = _errors.LockNotAvailableError, _errors.InsufficientPrivilegeError
TOO_MANY = _errors.TooManyConnectionsError
# What a database says of a moment that passes: it starts, stops, fails over or is busy, or the way to it is cut.
_PASSING = (
    *(OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError, _errors.PostgresConnectionError),
    *(_errors.OperatorInterventionError, _errors.ReadOnlySQLTransactionError, TOO_MANY),
    *(LOCKED, _errors.TransactionRollbackError, _errors.IdleInTransactionSessionTimeoutError),
)
_BUSY = (TOO_MANY, _errors.LockNotAvailableError, _errors.QueryCanceledError)
_NO_ROOM = (_errors.DiskFullError, _errors.OutOfMemoryError)
# What it says of what it was given, perhaps by a rule of whoever looks after it.
_REFUSED = (
    *(_errors.DataError, _errors.IntegrityConstraintViolationError, _errors.ProgramLimitExceededError),
    _errors.PLPGSQLError,
)
_DAMAGED = (_errors.DataCorruptedError, _errors.IndexCorruptedError)

_WRITING = ("add", "settle", "expire")
# The database itself gives up first: a statement that only we gave up could be carried out when nobody expects it.
_CONNECT_SECONDS, _STATEMENT_SECONDS = 10.0, 12.0
_LONGEST_SECONDS = 86_400.0  # of a statement of whoever looks at everything
_PATIENCE_OF_THE_DATABASE = {
    "lock_timeout": "5s",
    "client_connection_check_interval": "1s",  # what nobody waits for any more is not carried out
}
_HASTE_OF_THE_DATABASE = {"statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s"}
_WITHOUT_A_PROXY = {  # which take no settings but those they know
    "jit": "off",
    "gin_pending_list_limit": "256kB",  # which every search reads through
    # The database soon lets go of who is cut off, and of what that one holds: perhaps the turn all others wait for.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "default_transaction_isolation": "read committed",
}
_PATIENCE_ONCE_MORE = 1.0  # of who was dropped: a connection need not be free at once
_CLOSING_SECONDS = 5.0  # in which what was begun can be finished
_LONGEST_PAUSE = 0.25  # between two tries: whoever waits goes on soon after the database is back


@cache
def statement(name: str) -> str:
    """What a file of `sql/postgres/statements` says."""
    return (SQL / "statements" / f"{name}.sql").read_text("utf-8")


class DatabaseClock(SystemClock):
    """The database's clock, as it was last seen and as time has passed since: so all servers agree on what is due.

    The machine's own date is never asked, so where that jumps, nothing becomes due.
    """

    def __init__(self) -> None:
        self._seen, self._at = super().now(), passed()

    def now(self) -> datetime:
        return self._seen + timedelta(seconds=passed() - self._at)

    def shows(self, there: datetime, sent: float, received: float) -> None:
        """What the database's clock showed, somewhere between two moments of this machine's, as `passed` tells them.

        An answer that took long tells little: what it does not contradict is known better already.
        """
        middle = (sent + received) / 2
        known = self._seen + timedelta(seconds=middle - self._at)
        if abs((there - known).total_seconds()) > (received - sent) / 2:
            self._seen, self._at = there, middle


def passed() -> float:
    """Seconds since some moment, also those that the machine slept."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)  # time.monotonic() stands still while a Mac sleeps
    return time.monotonic()


class Database:
    """Made by `await Database.open(url)`. Belongs to one event loop."""

    def __init__(self, url: str, patience: float, most: int, in_haste: bool) -> None:
        self.address = without_password(url)
        self.clock = DatabaseClock()
        self.patience = patience
        self.is_proxied = True  # until it is known: what works with a proxy works without one
        self._url = url
        self._hosts = _hosts(url)
        self._connections = _Connections(self.connected, most)
        self._limits = _PATIENCE_OF_THE_DATABASE | (_HASTE_OF_THE_DATABASE if in_haste else {})
        self._statement_seconds = _STATEMENT_SECONDS if in_haste else _LONGEST_SECONDS
        self._settings: dict[str, str] = {}
        self._process = os.getpid()
        self._until = math.inf  # which nothing is tried again
        self._closed = False

    @classmethod
    async def open(
        cls, url: str, *, patience: float = PATIENCE, most: int = MOST_CONNECTIONS, in_haste: bool = True
    ) -> Database:
        """The database at a URL, with so many connections at the most. Not `in_haste`, a statement takes any time."""
        database = cls(url, patience, most, in_haste)
        await database.run(database._look)
        if not database.is_proxied:
            database._connections.drop()  # the one connection was careful for a proxy's sake
        return database

    async def _look(self, connection: Connection) -> None:
        """What stands before the database, whether it is fit to keep a desk, and what time it is there."""
        sent = passed()
        seen = await connection.fetchrow(statement("look"), [*self._limits])
        self.clock.shows(seen["now"], sent, passed())
        version = connection.get_server_version()
        if version.major < OLDEST:
            raise StoreGone(f"{self.address}: is PostgreSQL {version.major}; askdesk needs {OLDEST} or newer")
        if seen["encoding"] != "UTF8":
            raise StoreGone(f"{self.address}: its encoding is {seen['encoding']}; askdesk needs a database in UTF8")
        # A proxy that hands each transaction to another process of the database names none of them.
        self.is_proxied = seen["pid"] != connection.get_server_pid()
        if not self.is_proxied:
            self._settings = _WITHOUT_A_PROXY | {name: self._limits[name] for name in seen["unset"]}

    async def connected(self) -> Connection:
        """A new connection, for whoever closes it: of several hosts, to the one that can be written to."""
        return await self._hosts.first(self._connected)

    async def _connected(self, url: str) -> Connection:
        try:
            return await asyncpg.connect(
                url,
                timeout=_CONNECT_SECONDS,
                command_timeout=self._statement_seconds,
                statement_cache_size=0 if self.is_proxied else 100,
                server_settings={"application_name": "askdesk", **self._settings},
                **self._that_takes_writes(),
            )
        except (ValueError, OverflowError) as error:  # asyncpg reads a URL as it connects
            if isinstance(error, FOREIGN):
                raise
            raise asyncpg.exceptions.ClientConfigurationError(_WHAT_IT_TAKES) from None

    def _that_takes_writes(self) -> dict[str, str]:
        """Of several hosts, all others are copies of one."""
        is_needed = self._hosts.are_several and "target_session_attrs" not in self._url
        return {"target_session_attrs": "read-write"} if is_needed else {}

    async def fetch(self, name: str, *values: object) -> list[Record]:
        """The rows that a statement gives."""
        rows: list[Record] = await self.run(
            lambda connection: connection.fetch(statement(name), *values), writes=name in _WRITING
        )
        return rows

    async def run(self, work: Work[T], *, writes: bool = False) -> T:
        """Do something with a connection, again and again for as long as patience lasts where the database is away."""
        patient_until = time.monotonic() + self.patience
        was_sent = is_unsure = False

        async def sent(connection: Connection) -> T:
            nonlocal was_sent
            was_sent = True
            return await work(connection)

        for tries, pause in enumerate(pauses(), start=1):
            self.check_usable()
            was_sent = False
            try:
                return await self._connections.run(sent, patient_until)
            except FOREIGN as error:
                pause = min(pause, _LONGEST_PAUSE)
                is_unsure = is_unsure or (writes and was_sent and _may_be_done(error))
                is_too_late = time.monotonic() + pause >= patient_until and not isinstance(error, _Dropped)
                if not _passes(error) or is_too_late or time.monotonic() + pause >= self._until:
                    raise self.ours(error, is_unsure=is_unsure) from None
                if isinstance(error, _Dropped):
                    patient_until = max(patient_until, time.monotonic() + _PATIENCE_ONCE_MORE)
                if tries == TOLD_AFTER:
                    log.warning("%s; trying again for up to %.0f seconds", self.ours(error), self.patience)
            await asyncio.sleep(pause)
        raise AssertionError  # there is always another pause

    def reset(self) -> None:
        """Let go of every connection, also of those in use: the way they took was cut, or leads elsewhere now."""
        self._connections.drop(also_used=True)

    def check_usable(self) -> None:
        self._check_process()
        if self._closed:
            raise StoreError(f"{self.address}: is closed")

    def _check_process(self) -> None:
        if os.getpid() != self._process:  # two that speak on one connection hear each other's answers
            raise StoreError(f"{self.address}: was opened before a fork; open it anew in the child process")

    def hurry(self) -> None:
        """Whoever closes waits for what was begun, but not for long: the database may be away."""
        self._check_process()
        self._connections.end_in(_CLOSING_SECONDS)
        self._until = min(self._until, time.monotonic() + _CLOSING_SECONDS)

    async def close(self) -> None:
        self.hurry()
        self._closed = True
        await self._connections.close()

    def ours(self, error: BaseException, *, is_unsure: bool = False) -> StoreError | InvalidSettings:
        """An error of the database or the way to it, one of FOREIGN, as ours; perhaps of what was done all the same."""
        perhaps = PERHAPS if is_unsure else ""
        words = f"{self.address}: {_words(error)}"
        if isinstance(error, _errors.ClientConfigurationError):
            return _no_url(_words(error))
        if isinstance(error, _errors.InvalidCatalogNameError):
            return StoreGone(f"{words}; createdb makes one")
        if isinstance(error, _BUSY):
            return StoreBusy(f"{words}{perhaps}")
        if isinstance(error, _NO_ROOM):
            return StoreFull(f"{words}{perhaps or '; nothing was written'}")
        if isinstance(error, _DAMAGED):
            return StoreCorrupt(f"{words}{perhaps}")
        if isinstance(error, _REFUSED):
            return StoreError(f"{words}{perhaps}")
        return StoreGone(f"{words}{perhaps}")


def _no_url(why: str) -> InvalidSettings:
    return InvalidSettings([Problem("store", f"is not the URL of a PostgreSQL database: {why}")])


def _hosts(url: str) -> Hosts:
    try:
        return Hosts(url)
    except ValueError:  # which are not even brackets in their places
        raise _no_url(_WHAT_IT_TAKES) from None


def _passes(error: BaseException) -> bool:
    """Whether it may be another one in a moment; what the library says of our own words will not."""
    return isinstance(error, _PASSING) and not isinstance(error, ValueError)


def _may_be_done(error: BaseException) -> bool:
    """Whether what was sent may have been carried out all the same: its answer was lost, not its work refused."""
    return isinstance(error, _PASSING) and not isinstance(error, _BUSY)


def _words(error: BaseException) -> str:
    """What it says, on one line; it never says a password."""
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be reached ({error.strerror})"
    # A database's own words may go on with what it was given: "Failing row contains …".
    words = error.args[0] if isinstance(error, asyncpg.PostgresError) and error.args else error
    return " ".join(str(words).split()) or type(error).__name__


class _Dropped(ConnectionAbortedError):
    """By somebody who knows: so another try may find the way whole again, however late it is."""

    def __init__(self) -> None:
        super().__init__(0, "the way to it was cut")


class _Connections:
    """Some connections, made when they are needed and used again; `drop` lets go of them at once, whoever uses them.

    asyncpg's own pool would wait for each connection whose other end has vanished.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], most: int) -> None:
        self._connect = connect
        self._most, self._room = most, asyncio.Semaphore(most)
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._connecting: set[asyncio.Task[Connection]] = set()
        self._ending: asyncio.TimerHandle | None = None
        self._is_over = False
        self._closing = asyncio.Lock()

    async def run(self, work: Work[T], patient_until: float) -> T:
        """Do something with one of them; TimeoutError where none was free until a moment of the monotonic clock."""
        await self._room_until(patient_until)
        try:
            if self._is_over:
                raise _Dropped
            connection = await self._taken()
            self._used.add(connection)
            try:
                result = await work(connection)
            except BaseException as error:  # what it was in the midst of is nobody's any more
                connection.terminate()
                is_of_asyncpg = isinstance(error, (*FOREIGN, AttributeError))  # that one where it had not finished
                if is_of_asyncpg and connection not in self._used:
                    raise _Dropped from None
                if isinstance(error, FOREIGN):
                    self.drop()  # the others have gone the same way, or will be made anew in a moment
                raise
            finally:
                self._used.discard(connection)
            self._idle.append(connection)
            return result
        finally:
            self._room.release()

    async def _room_until(self, patient_until: float) -> None:
        """Where the database is silent all are in use for long, and who waits for one must hear of that in time."""
        if self._room.locked():
            async with asyncio.timeout(max(patient_until - time.monotonic(), 0)):
                await self._room.acquire()
        else:
            await self._room.acquire()

    async def _taken(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()  # the one used last: the others may be closed by who minds idle ones
            if not connection.is_closed():
                return connection
        connecting = asyncio.ensure_future(self._connect())
        self._connecting.add(connecting)
        try:
            await asyncio.wait([connecting])
        except asyncio.CancelledError:
            connecting.cancel()
            connecting.add_done_callback(let_go)
            raise
        finally:
            self._connecting.discard(connecting)
        if connecting.cancelled():
            raise _Dropped
        return connecting.result()

    def drop(self, *, also_used: bool = False) -> None:
        for connection in (*self._idle, *(self._used if also_used else ())):
            connection.terminate()
        self._idle.clear()
        if also_used:
            self._used.clear()
            for connecting in tuple(self._connecting):
                connecting.cancel()

    def end_in(self, seconds: float) -> None:
        """After that, let go also of those that are used."""
        self._ending = self._ending or asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        self._is_over = True
        self.drop(also_used=True)

    async def close(self) -> None:
        """Once nobody uses any."""
        async with self._closing:  # of two, each would hold a part of the room
            for _ in range(self._most):
                await self._room.acquire()
            for _ in range(self._most):
                self._room.release()
        idle, self._idle = self._idle, []
        await asyncio.gather(*map(_closed, idle))
        if self._ending:
            self._ending.cancel()


async def _closed(connection: Connection) -> None:
    with suppress(*FOREIGN):
        await connection.close(timeout=1)
