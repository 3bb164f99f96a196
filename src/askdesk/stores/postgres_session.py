"""The one connection that a process keeps to its database: it hears of changes, looks for those it did not hear of,
follows the database's clock, and stands in elections. Knows no verb.

Behind a proxy that hands each transaction to another process of the database nothing can be heard and nobody elected:
then changes are looked for more often, and everybody does what else one alone would do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from askdesk.core.hints import Hints
from askdesk.stores.postgres_database import FOREIGN, Connection, Database, Record, passed, statement
from askdesk.stores.postgres_election import Election
from askdesk.stores.postgres_hosts import let_go

log = logging.getLogger("askdesk")

_BEAT_SECONDS = 1.0  # so often changes are looked for that nobody told of, and so long an answer may take
_POLL_SECONDS = 0.1  # and so often where nobody tells of any
_PAUSE_SECONDS = 0.1  # between two tries to connect
_HURRY_SECONDS, _MOST_TRIES = 0.5, 10  # another try is begun each time, and the oldest of so many given up
_MOST_CHANGES = 5000  # that are told one by one
# The database lets go of a process that froze, so that another one can be elected.
_NO_LONG_SILENCE = "SET idle_session_timeout = '10s'"  # since PostgreSQL 14


class Session:
    """Begins with the first who listens or wants to be elected, and goes on until it is closed."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database, self._hints = database, hints
        self._running: asyncio.Task[None] | None = None
        self._seen = 0  # every change up to this number was told
        self._heard: set[int] = set()  # and these beyond it
        self._election = Election()

    def begin(self) -> None:
        if self._running is None or self._running.done():
            listening = self._listen_through_a_proxy() if self._database.is_proxied else self._listen(self._keep)
            self._running = asyncio.get_running_loop().create_task(listening)

    def told(self, changed: int) -> None:
        """This process made that change, and all who listen here know of it."""
        if self._running:
            self._heard.add(changed)

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in one of all processes that would: here while this one is elected."""
        self.begin()
        await (work() if self._database.is_proxied else self._election.alone(name, work))

    async def close(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _listen(self, keep: Callable[[Connection], Awaitable[None]]) -> None:
        """Keep a connection that hears, and make it anew whenever it is lost."""
        lost_at: float | None = None
        while True:
            try:
                connection = await self._connected()
                try:
                    lost_at = None
                    await keep(connection)
                finally:
                    self._election.depose()
                    connection.terminate()
            except FOREIGN as error:
                lost_at = self._lost(lost_at, error)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _lost(self, lost_at: float | None, error: BaseException) -> float:
        now = time.monotonic()
        if lost_at is None:
            log.warning("%s; changes by others are heard of once it is back", self._database.ours(error))
            self._database.reset()  # whatever else goes the same way need not wait until it finds out
            return now
        if now - lost_at < self._database.patience:
            return lost_at
        self._hints.tell_all()  # so that whoever waits reads, and hears what is wrong
        return now

    async def _connected(self) -> Connection:
        """The first connection that comes about: a try that fell into a hole must not keep the next one waiting."""
        tries: list[asyncio.Task[Connection]] = []
        try:
            while True:
                tries.append(asyncio.ensure_future(self._database.connected()))
                done, _ = await asyncio.wait(tries, timeout=_HURRY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for ended in done:
                    tries.remove(ended)
                    return ended.result()
                if len(tries) == _MOST_TRIES:
                    _give_up(tries.pop(0))
        finally:
            for late in tries:
                _give_up(late)

    async def _keep(self, connection: Connection) -> None:
        """Hear and look, until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        if connection.get_server_version().major >= 14:
            await connection.execute(_NO_LONG_SILENCE)
        await connection.add_listener("askdesk", self._notified)
        await self._look(connection, since=None)
        self._database.reset()  # who tries to connect since it was lost may have fallen into a hole
        self._hints.tell_all()
        while not lost.is_set():
            await self._election.stand(connection, _BEAT_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), _BEAT_SECONDS)
            await self._look(connection, since=self._seen)

    def _notified(self, connection: Connection, process: int, channel: str, payload: str) -> None:
        number, _, ask_id = payload.partition(" ")
        changed = int(number)
        if changed <= self._seen or changed in self._heard:
            return
        self._heard.add(changed)
        if ask_id:
            self._hints.tell(ask_id)
        else:
            self._hints.tell_all()

    async def _look(self, connection: Connection, *, since: int | None) -> None:
        """Tell of all changes since a number that nobody told of; without one, only begin to count."""
        sent = passed()
        values = (statement("changed"), since or 0, _MOST_CHANGES if since is not None else 0)
        row: Record = await connection.fetchrow(*values, timeout=_BEAT_SECONDS)
        self._database.clock.shows(row["now"], sent, passed())
        if since is not None and row["latest"] > since:
            self._tell([tuple(change) for change in row["changes"]])
        self._seen = row["latest"]
        self._heard = {changed for changed in self._heard if changed > self._seen}

    def _tell(self, changes: list[tuple[int, str]]) -> None:
        if len(changes) >= _MOST_CHANGES:
            self._hints.tell_all()
            return
        for changed, ask_id in sorted(changes):
            if changed not in self._heard:
                self._hints.tell(ask_id)

    async def _listen_through_a_proxy(self) -> None:
        log.warning(
            "%s: a pooling proxy stands before this database, so changes by others are looked for every %g s; "
            "with the database's own address they are heard at once",
            self._database.address,
            _POLL_SECONDS,
        )
        await self._listen(self._look_often)

    async def _look_often(self, connection: Connection) -> None:
        """Where nothing can be heard."""
        await self._look(connection, since=None)
        self._database.reset()
        self._hints.tell_all()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            await self._look(connection, since=self._seen)


def _give_up(connecting: asyncio.Task[Connection]) -> None:
    connecting.cancel()
    connecting.add_done_callback(let_go)
