"""The way to a database, which can be cut: a TCP proxy on loopback, in a thread of its own. Knows no protocol above.

A connection that lost a byte is never whole again: also once the way is healed nothing comes through it, and only those
that are made from then on do. That is harder on whoever waits than most networks are, which send again what was lost.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, Self

_WITH_A_RESET = struct.pack("ii", 1, 0)  # for SO_LINGER


class Cut(Enum):
    """What is done to all that goes this way. Nobody is told that anything is wrong, but for `RESET`."""

    HOLE = "all is swallowed, both ways; who connects is let in and hears nothing"
    DEAF = "what clients send arrives, but no answer comes back"
    MUTE = "what clients send is swallowed"
    LATE = "all is held back and arrives once the way is healed, as where a network sends it again"
    RESET = "every connection is reset, and so is every new one"


class Proxy:
    """Begins at once. `target` is the port that it leads to, for connections that are yet to be made."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.let_in = 0  # connections so far
        self._cut: Cut | None = None
        self._ways: set[_Way] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server = self._done(self._started())
        self.port: int = self._server.sockets[0].getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._done(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self, how: Cut) -> None:
        self._done(self._changed(how))

    def heal(self) -> None:
        self._done(self._changed(None))

    def _done(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _started(self) -> asyncio.Server:
        return await self._loop.create_server(self._let_in, "127.0.0.1", 0)

    async def _ended(self) -> None:
        self._server.close()
        for way in tuple(self._ways):
            way.reset()
        await asyncio.sleep(0)  # they are closed

    async def _changed(self, cut: Cut | None) -> None:
        self._cut = cut
        for way in tuple(self._ways):
            way.cut(cut)

    def _let_in(self) -> asyncio.Protocol:
        self.let_in += 1
        way = _Way(self._ways.discard)
        self._ways.add(way)
        return way.begin(self.target, self._cut)


class _Way:
    """From one client to the database and back."""

    def __init__(self, ended: Callable[[_Way], None]) -> None:
        self._ended = ended
        self._there, self._back = _Direction(), _Direction()
        self._connecting: asyncio.Task[None] | None = None

    def begin(self, port: int, cut: Cut | None) -> asyncio.Protocol:
        def let_in(client: asyncio.WriteTransport) -> None:
            self._back.leads_to(client)
            self.cut(cut)
            if cut not in (Cut.HOLE, Cut.MUTE, Cut.RESET):  # else it comes to nobody
                self._connecting = asyncio.ensure_future(self._connect(port))

        return _End(let_in, self._there)

    async def _connect(self, port: int) -> None:
        try:
            end = _End(self._there.leads_to, self._back)
            await asyncio.get_running_loop().create_connection(lambda: end, "127.0.0.1", port)
        except OSError:
            self.reset()

    def cut(self, how: Cut | None) -> None:
        if how is Cut.RESET:
            self.reset()
        for direction, swallowing in ((self._there, Cut.MUTE), (self._back, Cut.DEAF)):
            if how in (Cut.HOLE, swallowing):
                direction.swallow()
            direction.hold(how is Cut.LATE)

    def reset(self) -> None:
        if self._connecting:
            self._connecting.cancel()
        for direction in (self._there, self._back):
            direction.reset()
        self._ended(self)


class _Direction:
    """Bytes on their way, which pass, are held back, or are swallowed from some moment on."""

    def __init__(self) -> None:
        self._to: asyncio.WriteTransport | None = None
        self._waiting: list[bytes] = []
        self._ends = self._is_held = self._is_swallowed = False

    def leads_to(self, end: asyncio.WriteTransport) -> None:
        self._to = end
        self._flow()

    def carry(self, data: bytes) -> None:
        if not self._is_swallowed:
            self._waiting.append(data)
            self._flow()

    def end(self, *, is_reset: bool) -> None:
        if is_reset and self._is_held:  # who is gone for good sends nothing again
            self._waiting.clear()
        self._ends = not self._is_swallowed
        self._flow()

    def swallow(self) -> None:
        self._is_swallowed = True
        self._waiting.clear()

    def hold(self, is_held: bool) -> None:
        self._is_held = is_held
        self._flow()

    def _flow(self) -> None:
        if self._to is None or self._to.is_closing() or self._is_held:
            return
        waiting, self._waiting = self._waiting, []
        self._to.writelines(waiting)
        if self._ends:
            self._to.close()

    def reset(self) -> None:
        if self._to is not None and not self._to.is_closing():
            self._to.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _WITH_A_RESET)
            self._to.abort()


class _End(asyncio.Protocol):
    """Where a way begins or ends."""

    def __init__(self, made: Callable[[asyncio.WriteTransport], None], direction: _Direction) -> None:
        self._made, self._direction = made, direction

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._made(transport)

    def data_received(self, data: bytes) -> None:
        self._direction.carry(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._direction.end(is_reset=error is not None)
