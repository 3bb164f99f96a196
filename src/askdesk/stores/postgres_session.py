"""The one connection that a process keeps to its database: it hears of changes, looks for those it did not hear of,
follows the database's clock, and stands in elections. Knows no verb.

Behind a proxy that hands each transaction to another process of the database nothing can be heard and nobody elected:
then changes are looked for more often, and everybody does what else one alone would do.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from askdesk.core.hints import Hints
from askdesk.stores.postgres_database import FOREIGN, LOCKED, TOO_MANY, Connection, Database, Record, passed, statement
from askdesk.stores.postgres_election import Election
from askdesk.stores.postgres_hosts import let_go

log = logging.getLogger("askdesk")

_BEAT_SECONDS = 1.0  # so often changes are looked for that nobody told of
_SILENCE_SECONDS = 5.0  # and so long an answer may take: not until others may be elected
_POLL_SECONDS = 0.1  # and so often where nobody tells of any
_PAUSE_SECONDS = 0.1  # between two tries to connect
_HURRY_SECONDS, _MOST_TRIES = 0.5, 10  # another try is begun each time, and the oldest of so many given up
_MOST_CHANGES = 5000  # that are told one by one
_NUMBER = re.compile("[0-9]{1,19}")  # of a change
_HERE = 0  # in place of a process of the database: it was done here
# The database lets go of a process that froze or cannot be reached, so that another one can be elected.
_AS_A_LISTENER = "SET tcp_user_timeout = 10000; SET idle_session_timeout = '10s'; SET lock_timeout = '500ms'"


class Session:
    """Begins with the first who listens or wants to be elected, and goes on until it is closed."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database, self._hints = database, hints
        self._running: asyncio.Task[None] | None = None
        self._closed = False
        self._seen = 0  # every change up to this number was told
        self._told: dict[int, int] = {}  # and these beyond it, by the process of the database that each was heard from
        self._election = Election()
        self._was_cut = False  # the way, since the latest connection
        self._lost_at: float | None = None

    def begin(self) -> None:
        self._database.check_usable()
        if not self._closed and (self._running is None or self._running.done()):
            listening = self._listen_through_a_proxy() if self._database.is_proxied else self._listen(self._keep)
            self._running = asyncio.get_running_loop().create_task(listening)

    def is_news(self, changed: int, process: int = _HERE) -> bool:
        """Whether nobody here was told of a change yet; once asked, they were."""
        known = self._told.get(changed)
        if changed <= self._seen or known == process or (known is not None and _HERE in (known, process)):
            return False
        if len(self._told) >= _MOST_CHANGES:
            self._told.clear()  # what is told twice does no harm
        if self._running:
            self._told[changed] = process
        return True

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in one of all processes that would: here while this one is elected."""
        self.begin()
        await (work() if self._database.is_proxied else self._election.alone(name, work))

    async def close(self) -> None:
        self._closed = True
        if self._running:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _listen(self, keep: Callable[[Connection], Awaitable[None]]) -> None:
        """Keep a connection that hears, and make it anew whenever it is lost."""
        while True:
            try:
                connection = await self._connected()
                try:
                    await keep(connection)
                finally:
                    self._was_cut = True
                    self._election.depose()
                    connection.terminate()
            except FOREIGN as error:
                self._lost(error)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _lost(self, error: BaseException) -> None:
        now = time.monotonic()
        if self._lost_at is None:
            log.warning("%s; changes by others are heard of once it is back", self._database.ours(error))
            self._lost_at = now
        elif now - self._lost_at >= self._database.patience:
            self._hints.tell_all()  # so that whoever waits reads, and hears what is wrong
            self._lost_at = now

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
                self._was_cut = True
                if len(tries) == _MOST_TRIES:
                    _give_up(tries.pop(0))
        finally:
            for late in tries:
                _give_up(late)

    async def _keep(self, connection: Connection) -> None:
        """Hear and look, until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        await connection.execute(_AS_A_LISTENER)
        await connection.add_listener("askdesk", self._notified)
        await self._begin_to_look(connection)
        while not lost.is_set():
            await self._answered(self._beat(connection))
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), _BEAT_SECONDS)

    async def _begin_to_look(self, connection: Connection) -> None:
        self._told.clear()  # what was told before may be lost with a database that failed, its numbers given out again
        await self._look(connection, since=None)
        if self._was_cut:
            self._database.reset()  # who tries to connect since then may have fallen into a hole
        self._was_cut, self._lost_at = False, None
        self._hints.tell_all()

    async def _beat(self, connection: Connection) -> None:
        await self._election.stand(connection, _SILENCE_SECONDS)
        await self._look_again(connection)

    async def _look_again(self, connection: Connection) -> None:
        with suppress(LOCKED):  # then nothing can change either
            await self._look(connection, since=self._seen)

    async def _answered(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for the database; where it is silent, another connection tells whether it is slow or cut off."""
        answering = asyncio.ensure_future(work)
        waiting = [answering]
        try:
            done, _ = await asyncio.wait(waiting, timeout=_BEAT_SECONDS)
            if not done:
                waiting.append(asyncio.ensure_future(self._reach()))
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if answering not in done and isinstance(waiting[-1].exception(), TOO_MANY):  # it is there, and busy
                    done, _ = await asyncio.wait([answering])
            first = answering if answering in done else waiting[-1]
            first.result()
            if first is not answering:
                raise ConnectionAbortedError(0, "the way to it was cut")
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _reach(self) -> None:
        """The asks, over another connection."""
        connection = await self._connected()
        try:
            await connection.fetch(statement("any_due"), 0)
        finally:
            connection.terminate()

    def _notified(self, connection: Connection, process: int, channel: str, payload: str) -> None:
        number, _, ask_id = payload.partition(" ")
        if not _NUMBER.fullmatch(number):  # not from us: somebody wants everything to be read again
            self._hints.tell_all()
            return
        if self.is_news(int(number), process):
            if ask_id:
                self._hints.tell(ask_id)
            else:
                self._hints.tell_all()

    async def _look(self, connection: Connection, *, since: int | None) -> None:
        """Tell of all changes since a number that nobody told of; without one, only begin to count."""
        sent = passed()
        values = (statement("changed"), since or 0, _MOST_CHANGES if since is not None else 0)
        row: Record = await connection.fetchrow(*values, timeout=_SILENCE_SECONDS)
        self._database.clock.shows(row["now"], sent, passed())
        if since is not None:
            self._tell(row["latest"] - since, [tuple(change) for change in row["changes"]], {_HERE, *row["ours"]})
        self._seen = row["latest"]
        self._told = {changed: process for changed, process in self._told.items() if changed > self._seen}

    def _tell(self, advance: int, changes: list[tuple[int, str]], ours: set[int]) -> None:
        if advance < 0 or len(changes) >= _MOST_CHANGES:  # a database that failed may have lost the latest changes
            self._told.clear()
            self._hints.tell_all()
            return
        for changed, ask_id in sorted(changes):
            if self._told.get(changed) not in ours:  # whoever may connect may notify, and make up a number
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
        await self._begin_to_look(connection)
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            await self._answered(self._look_again(connection))


def _give_up(connecting: asyncio.Task[Connection]) -> None:
    connecting.cancel()
    connecting.add_done_callback(let_go)
