"""Clients of a real desk server, as another machine would have them."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.server.running import Running, running

from askdesk.core.clock import SystemClock
from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.core.model import Ask, Settlement
from askdesk.core.store import Store
from askdesk.open import open_store
from askdesk.server import tokens
from askdesk.server.run import Address, beside
from askdesk.server.service import Service
from askdesk.stores.http import HTTPStore
from askdesk.testing.clock import FakeClock
from askdesk.testing.store_contract import Reopen


class SharedClock(FakeClock):
    """The clock of a server whose clients have the same."""

    def shows(self, now: datetime) -> None:
        self._now = now


class InStep(HTTPStore):
    """A store whose server has the very time that each verb names, as where both go by the same clock."""

    clock: SharedClock

    async def add(self, ask: Ask) -> Ask:
        self.clock.shows(ask.created)
        return await super().add(ask)

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        self.clock.shows(settlement.at)
        return await super().settle(ask_id, settlement)

    async def expire(self, now: datetime) -> tuple[str, ...]:
        self.clock.shows(now)
        return await super().expire(now)


@asynccontextmanager
async def in_step(kept: Store) -> AsyncIterator[Reopen]:
    """Stores that speak to one server, which keeps everything in another store."""
    clock = SharedClock()
    async with running(Desk(kept, clock=clock)) as server:
        given = await tokens_of(server)

        async def reopen() -> Store:
            store = await InStep.open(server.url, **given)
            assert isinstance(store, InStep)
            store.clock = clock
            return store

        yield reopen


async def tokens_of(server: Running) -> dict[str, Any]:
    return {"asker_token": await server.token("asker", "builder"), "answerer_token": await server.token("answerer")}


class Wire:
    """A wire to a server, which does to each new connection what its script says, and afterwards nothing but carry.

    The next server that is started `behind` it answers under the wire's own address.
    """

    def __init__(self) -> None:
        self.script: deque[Deed] = deque()
        self.connections = 0
        self.port = 0  # of the wire
        self.to = 0  # of the server
        self.released = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Every connection, now."""
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        deed = self.script.popleft() if self.script else Deed()
        self._open.add(writer)
        try:
            with suppress(OSError, EOFError):
                await self._carried(deed, reader, writer)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _carried(self, deed: Deed, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if deed.refuses:
            return
        if deed.says is not None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(deed.says)
            if deed.stays:
                await reader.read()
            return
        there, onwards = await asyncio.open_connection("127.0.0.1", self.to)
        asking = asyncio.ensure_future(self._carry(reader, onwards, held=deed.holds))
        answering = asyncio.ensure_future(self._answered(deed, there, writer))
        try:
            await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
        finally:
            onwards.close()
            for side in (asking, answering):
                side.cancel()
            await asyncio.wait((asking, answering))

    async def _answered(self, deed: Deed, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if deed.answers is None:
            await self._carry(there, writer)
        else:
            with suppress(OSError, EOFError):
                writer.write((await _answer(there))[: deed.answers])
                await writer.drain()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool = False) -> None:
        with suppress(OSError):  # one of them went away
            while data := await reader.read(65536):
                if held:
                    await self.released.wait()
                writer.write(data)
                await writer.drain()


class Deed(NamedTuple):
    """What becomes of a connection."""

    refuses: bool = False  # closed before a word
    answers: int | None = None  # one answer, of which so many bytes come through; then it is closed
    holds: bool = False  # what is asked goes on once the wire is `released`
    says: bytes | None = None  # this is the answer, whatever was asked
    stays: bool = False  # and then it is left open


WHOLE = 10**9  # bytes of an answer: all that there are


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return head + await reader.readexactly(int(length[1]) if length else 0)


@asynccontextmanager
async def behind(wire: Wire, desk: Desk, **options: Any) -> AsyncIterator[Running]:
    """A server at the other end of a wire."""
    carrier = await asyncio.start_server(wire._connected, "127.0.0.1", wire.port)
    wire.port = carrier.sockets[0].getsockname()[1]
    try:
        async with served(desk, url=wire.url, **options) as server:
            wire.to = server.port
            yield server
    finally:
        wire.cut()
        carrier.close()
        await carrier.wait_closed()


@asynccontextmanager
async def served(
    desk: Desk, *, url: str | None = None, certificate: Path | None = None, key: Path | None = None, **options: Any
) -> AsyncIterator[Running]:
    """Like `running`, under another address or with TLS."""
    address = Address(port=0, certificate=certificate, key=key)
    listening = address.listen()
    port = listening.getsockname()[1]
    service = Service(desk, url or address.url(port), limits=OPEN, **{"recent_seconds": 0, **options})
    async with beside(service, address, listening) as server:
        yield Running(service, server, port)


@contextmanager
def serving(store: Path | str, port: int = 0, *options: str) -> Iterator[Serving]:
    """A server in a process of its own."""
    command = [sys.executable, "-m", "askdesk.cli.main", "serve", "--no-link", "--log", "none", "--port", f"{port}"]
    command += ["--store", str(store), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield Serving(process, process.stdout.readline().strip())
        finally:
            process.kill()


class Serving(NamedTuple):
    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def killed(self) -> None:
        self.process.kill()
        assert self.process.wait() == -9


_NAMES: tuple[tuple[tokens.Kind, str], ...] = (("asker", "builder"), ("answerer", "ana"))


async def new_tokens(store: Path | str) -> dict[str, str]:
    """An asker's and an answerer's, of whatever server keeps its desk there."""
    opened = await open_store(str(store))
    now = SystemClock().now()
    try:
        asker, answerer = [(await tokens.new_token(opened.shelf, kind, name, now=now))[1] for kind, name in _NAMES]
    finally:
        await opened.close()
    return {"asker_token": asker, "answerer_token": answerer}
