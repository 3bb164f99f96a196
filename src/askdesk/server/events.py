"""Live hints as server-sent events: a raw ASGI answer, because thousands of them may be open at once.

A stream begins with `reread` and then carries ids of asks that may have changed. It holds no contents, and nothing is
lost with it: whoever comes back reads again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.types import Receive, Scope, Send

from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError
from askdesk.server import tokens
from askdesk.server.metrics import Metrics
from askdesk.server.tokens import Token

log = logging.getLogger(__name__)

REREAD = b"event: reread\ndata: {}\n\n"
_BEAT = b": still here\n\n"
_BEAT_SECONDS = 15.0
_CHECK_SECONDS = 2.0  # how long a revoked token's stream may live on
_MOST_UNHEARD = 500  # more than a client that keeps up ever has; then it reads everything again


class Streams:
    """All live streams of a server: one timer keeps them alive and ends those whose token no longer holds."""

    def __init__(self, desk: Desk, metrics: Metrics) -> None:
        self.desk, self._metrics = desk, metrics
        self._live: set[Stream] = set()
        self._keeping: asyncio.Task[None] | None = None
        self.ending = asyncio.Event()

    async def serve(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep one stream until its client goes, its token ends or the server does."""
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.get_running_loop().create_task(self._keep())
        stream = Stream(self.desk, token, send)
        self._live.add(stream)
        self._metrics.streams += 1
        try:
            await stream.run(receive)
        finally:
            self._live.discard(stream)
            self._metrics.streams -= 1

    async def end(self) -> None:
        """Say goodbye to everybody; whoever waits for something else of ours looks at `ending`."""
        self.ending.set()
        await asyncio.gather(*(stream.end() for stream in tuple(self._live)))
        if self._keeping:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping

    async def _keep(self) -> None:
        beats = 0.0
        while self._live:
            await asyncio.sleep(_CHECK_SECONDS)
            with suppress(AskdeskError):  # a store that is out of reach for a moment ends no stream
                await self._end_invalid()
            beats += _CHECK_SECONDS
            if beats >= _BEAT_SECONDS:
                beats = 0.0
                for stream in tuple(self._live):
                    stream.beat()

    async def _end_invalid(self) -> None:
        now = self.desk.now()
        for token in {stream.token for stream in self._live}:
            if not await tokens.is_still_valid(self.desk.shelf, token, now):
                await asyncio.gather(*(stream.end() for stream in tuple(self._live) if stream.token == token))


class Stream:
    """One client. It costs a coroutine that waits for the client to go, and a task while there is something to send."""

    __slots__ = ("_desk", "_done", "_send", "_sending", "_unheard", "token")

    def __init__(self, desk: Desk, token: Token, send: Send) -> None:
        self._desk, self.token, self._send = desk, token, send
        self._unheard: dict[str | None, None] = {None: None}  # it begins with "read everything again"
        self._sending: asyncio.Task[None] | None = None
        self._done = False

    async def run(self, receive: Receive) -> None:
        stop = self._desk.store.hints(self._heard)  # before the first line goes out, so nothing falls between
        try:
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            self._flush()
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self._done = True
            stop()
            if self._sending:
                self._sending.cancel()

    def beat(self) -> None:
        if self._sending is None:
            self._begin(self._write(_BEAT))

    async def end(self) -> None:
        if self._sending:
            self._sending.cancel()
        if not self._done:
            self._done = True
            with suppress(RuntimeError, OSError):  # the client went first
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _heard(self, ask_id: str | None) -> None:
        if len(self._unheard) > _MOST_UNHEARD:
            self._unheard = {None: None}
        self._unheard[ask_id] = None
        self._flush()

    def _flush(self) -> None:
        if self._sending is None and not self._done:
            self._begin(self._tell())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._sending = asyncio.get_running_loop().create_task(work)
        self._sending.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending = None
        if not task.cancelled() and (error := task.exception()):
            log.warning("a stream broke off: %s", type(error).__name__)
        elif self._unheard and not task.cancelled():
            self._flush()

    async def _tell(self) -> None:
        while self._unheard and not self._done:
            unheard, self._unheard = self._unheard, {}
            lines = [REREAD] if None in unheard else []
            for ask_id in unheard:
                if ask_id is not None and await self._may_know(ask_id):
                    lines.append(b'data: {"ask":"%s"}\n\n' % ask_id.encode())
            if lines:
                await self._write(b"".join(lines))

    async def _may_know(self, ask_id: str) -> bool:
        if not _is_plain(ask_id):
            return False
        if not self.token.is_limited:
            return True
        try:
            return self.token.knows((await self._desk.store.get(ask_id)).ask)
        except AskdeskError:
            return False

    async def _write(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})


_HEADERS = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


def _is_plain(ask_id: str) -> bool:
    """Whether it is an id that could stand in a line: others were made by no desk of ours."""
    return ask_id.isascii() and ask_id.isalnum()
