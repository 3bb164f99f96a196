"""A wire to a PostgreSQL server that is cut at its n-th message, in whichever direction that goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

_WITHOUT_A_TYPE = 8  # bytes: a length and a number, as what a client begins with has no letter before it
_ASKS_FOR_TLS = (80877103, 80877104)


class CutWire:
    """Carries everything, until it is told to `cut`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._to = (parts.hostname, parts.port)
        self._database = url.rpartition("/")[2]
        self.port = 0
        self.messages = 0
        self._cut_at = 0
        self._is_for_good = False
        self._is_cut = False
        self.ports: list[int] = []  # of its own, as the server knows those that come over it
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"postgresql://ana@127.0.0.1:{self.port}/{self._database}"

    @property
    def was_cut(self) -> bool:
        return bool(self._cut_at) and self.messages >= self._cut_at

    def cut(self, at: int, *, for_good: bool) -> None:
        """In the midst of so many messages from here; for good, until it is mended, or only once."""
        self.messages, self._cut_at, self._is_for_good = 0, at, for_good

    def mend(self) -> None:
        self._cut_at, self._is_cut = 0, False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there, onwards = await asyncio.open_connection(*self._to)
        self.ports.append(onwards.get_extra_info("sockname")[1])
        ends = {writer, onwards}
        self._open |= ends
        asking = asyncio.ensure_future(self._asks(reader, onwards, there, writer))
        try:
            with suppress(OSError, EOFError):
                await asking
        finally:
            asking.cancel()
            for end in ends:
                end.transport.abort()
            self._open -= ends

    async def _asks(
        self,
        reader: asyncio.StreamReader,
        onwards: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> None:
        """Carry what a client begins with, then whatever either says, until one of them goes."""
        asks_for_tls = True
        while asks_for_tls:
            head = await reader.readexactly(_WITHOUT_A_TYPE)
            rest = await reader.readexactly(int.from_bytes(head[:4]) - len(head))
            asks_for_tls = int.from_bytes(head[4:]) in _ASKS_FOR_TLS
            await self._carry(head + rest, onwards)
            if asks_for_tls:
                await self._carry(await there.readexactly(1), back)
        sides = [asyncio.ensure_future(side) for side in (self._all(reader, onwards), self._all(there, back))]
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for side in sides:
                side.cancel()
            await asyncio.wait(sides)

    async def _all(self, reader: asyncio.StreamReader, onwards: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            while True:
                head = await reader.readexactly(5)
                await self._carry(head + await reader.readexactly(int.from_bytes(head[1:]) - 4), onwards)

    async def _carry(self, message: bytes, onwards: asyncio.StreamWriter) -> None:
        self.messages += 1
        if self.messages == self._cut_at:
            onwards.write(message[: len(message) // 2])
            await asyncio.sleep(0)  # it goes out
            self._is_cut = self._is_for_good
            for writer in tuple(self._open):
                writer.transport.abort()
            raise ConnectionAbortedError
        onwards.write(message)
        await onwards.drain()

    async def close(self) -> None:
        for writer in tuple(self._open):
            writer.transport.abort()


@asynccontextmanager
async def cut_wire(url: str) -> AsyncIterator[CutWire]:
    """A wire to the database at a URL, which is another database's URL for whoever takes it."""
    wire = CutWire(url)
    carrier = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    wire.port = carrier.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        await wire.close()
        carrier.close()
        await carrier.wait_closed()
