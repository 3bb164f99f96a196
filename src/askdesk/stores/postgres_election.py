"""Which one of all processes does what only one should do: whoever holds the database's lock of that name, for as long
as the connection lasts that took it. Knows neither what is done nor how the connection is kept.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from askdesk.stores.postgres_database import Connection

_LOCKS = 1095977797  # one number for all locks of elections; the name gives the other
_TAKE = "SELECT pg_try_advisory_lock($1::integer, $2::integer)"
_GIVE_BACK = "SELECT pg_advisory_unlock($1::integer, $2::integer)"


class Election:
    """Of one process. `stand` again and again while there is a connection, `depose` when it is lost."""

    def __init__(self) -> None:
        self._offices: dict[str, _Office] = {}
        self._given_up: list[_Office] = []

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Work while this process is elected, from the beginning each time that it is, until it is done."""
        with self._candidate(name) as office:
            while True:
                await office.is_held.wait()
                if await _worked(work, office.is_lost):
                    return

    @contextmanager
    def _candidate(self, name: str) -> Iterator[_Office]:
        if name in self._offices:
            raise ValueError(f"this process does {name} already")
        office = self._offices[name] = _Office(name)
        try:
            yield office
        finally:
            del self._offices[name]
            self._given_up.append(office)

    async def stand(self, connection: Connection, seconds: float) -> None:
        """Take what is free, and let others have what is no longer done here."""
        while self._given_up:
            office = self._given_up.pop()
            if office.is_held.is_set():
                await connection.execute(_GIVE_BACK, _LOCKS, office.number, timeout=seconds)
        for office in tuple(self._offices.values()):
            if office.is_held.is_set():
                continue
            if await connection.fetchval(_TAKE, _LOCKS, office.number, timeout=seconds):
                office.take()

    def depose(self) -> None:
        """The connection is lost, and with it every lock: others may be elected from now on."""
        self._given_up.clear()
        for office in self._offices.values():
            office.lose()


class _Office:
    """What this process would do, and whether it may."""

    def __init__(self, name: str) -> None:
        self.number = zlib.crc32(name.encode()) - 2**31  # the database's numbers have a sign
        self.is_held, self.is_lost = asyncio.Event(), asyncio.Event()

    def take(self) -> None:
        self.is_lost.clear()
        self.is_held.set()

    def lose(self) -> None:
        self.is_held.clear()
        self.is_lost.set()


async def _worked(work: Callable[[], Awaitable[None]], lost: asyncio.Event) -> bool:
    """Whether it was done before the office was lost."""
    working, losing = asyncio.ensure_future(work()), asyncio.ensure_future(lost.wait())
    try:
        await asyncio.wait((working, losing), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
            return True
        return False
    finally:
        for task in (working, losing):
            task.cancel()
        await asyncio.wait((working, losing))
