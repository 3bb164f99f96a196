"""Those who wait: live hints as server-sent events, and requests that are answered once an ask is settled.

A stream begins with `reread` and then carries ids of asks that may have changed. It holds no contents, and nothing is
lost with it: whoever comes back, or did not keep up, reads again. It is a raw ASGI answer, and has neither a task nor
a queue of its own: thousands of them may be open at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from starlette.types import Receive, Scope, Send

from askdesk.adapters.threads import is_cancelled
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, UnknownAsk
from askdesk.core.hints import Stop
from askdesk.server import tokens
from askdesk.server.metrics import Metrics
from askdesk.server.problems import Refused
from askdesk.server.tokens import Recent, Token

_T = TypeVar("_T")

REREAD = b"event: reread\ndata: {}\n\n"
_BEAT = b": still here\n\n"
_MOST_UNHEARD = 500  # hints that are told together; of more, everybody reads everything again
_TOLD_AT_ONCE = 50  # streams, before others have their turn
_HEADERS = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


class Streams:
    """All who wait at a server: one listener, one teller and one timer for all of them."""

    def __init__(
        self,
        desk: Desk,
        metrics: Metrics,
        recent: Recent,
        *,
        most_per_token: int = 2048,
        check_seconds: float = 2.0,
        beat_seconds: float = 15.0,
    ) -> None:
        self.desk, self._metrics, self._recent = desk, metrics, recent
        self._most_per_token = most_per_token
        self._check_seconds, self._beat_seconds = check_seconds, beat_seconds
        self._live: dict[Stream, None] = {}
        self._waits: set[asyncio.Task[Any]] = set()
        self._by_token: Counter[str] = Counter()
        self._unheard: dict[str | None, None] = {}
        self._telling: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._stop: Stop = lambda: None
        self._is_ending = False

    async def serve(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep one stream until its client goes, its token ends or the server does."""
        stream = Stream(token, scope, send)
        with self.place(token):
            self._enter(stream)
            try:
                await stream.run(receive)
            finally:
                self._leave(stream)

    def _enter(self, stream: Stream) -> None:
        if not self._live:
            self._stop = self.desk.store.hints(self._heard)  # before the first line goes out: nothing falls between
            self._keeping = asyncio.get_running_loop().create_task(self._keep())
        self._live[stream] = None
        self._metrics.streams = len(self._live)

    def _leave(self, stream: Stream) -> None:
        del self._live[stream]
        self._metrics.streams = len(self._live)
        if not self._live:
            self._stop()
            if self._keeping:
                self._keeping.cancel()

    async def wait(self, token: Token, awaited: Coroutine[Any, Any, _T | None], scope: Scope) -> _T | None:
        """What is awaited; None where the client goes or the server ends before it comes."""
        waiting = asyncio.ensure_future(awaited)
        try:
            with self.place(token), scope["askdesk.connection"].telling_of_its_end(waiting.cancel):
                self._waits.add(waiting)
                self._metrics.waits = len(self._waits)
                return await waiting
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return None
        finally:
            self._waits.discard(waiting)
            self._metrics.waits = len(self._waits)
            if waiting.cancel():  # it was refused its place
                await asyncio.wait((waiting,))

    @contextmanager
    def place(self, token: Token) -> Iterator[None]:
        """Room for one more: a token that takes all there is would keep everybody else from answering."""
        if self._is_ending:
            raise Refused(503, "stopping")
        if self._by_token[token.id] >= self._most_per_token:
            raise Refused(429, "too-many", "too many of this token wait", headers={"Retry-After": "10"})
        self._by_token[token.id] += 1
        try:
            yield
        finally:
            self._by_token[token.id] -= 1
            if not self._by_token[token.id]:
                del self._by_token[token.id]

    async def end(self) -> None:
        """Say goodbye to everybody."""
        self._is_ending = True
        for waiting in self._waits:
            waiting.cancel()
        await self._end(tuple(self._live))

    async def _end(self, streams: Iterable[Stream]) -> None:
        for stream in streams:
            await stream.end()

    def _heard(self, ask_id: str | None) -> None:
        if len(self._unheard) >= _MOST_UNHEARD:
            self._unheard = {None: None}
        self._unheard[ask_id] = None
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        """Tell all what was heard; what is heard meanwhile is told together, in the next round."""
        while self._unheard:
            unheard, self._unheard = self._unheard, {}
            told: dict[str, bytes] = {}
            for count, stream in enumerate(tuple(self._live), 1):
                token = stream.token
                if token.id not in told:
                    told[token.id] = b"".join([await self._line(ask_id, token) for ask_id in unheard])
                await stream.tell(told[token.id])
                if count % _TOLD_AT_ONCE == 0:
                    await asyncio.sleep(0)

    async def _line(self, ask_id: str | None, token: Token) -> bytes:
        """What to tell of a hint: nothing where the token may not know of it."""
        if ask_id is None:
            return REREAD
        if not (ask_id.isascii() and ask_id.isalnum()):  # it could not stand in a line, and was made by no desk of ours
            return b""
        if token.is_limited:
            try:
                if not token.knows((await self.desk.store.get(ask_id)).ask):
                    return b""
            except UnknownAsk:
                return b""
            except AskdeskError:  # nobody knows whose it was
                return REREAD
        return b'data: {"ask":"%s"}\n\n' % ask_id.encode()

    async def _keep(self) -> None:
        """End the streams of tokens that no longer hold, and let the others show that they live."""
        beats = 0.0
        while True:
            await asyncio.sleep(self._check_seconds)
            with suppress(AskdeskError):  # a store that is out of reach for a moment ends no stream
                await self._end_invalid()
            beats += self._check_seconds
            is_beat = beats >= self._beat_seconds
            beats = 0.0 if is_beat else beats
            for count, stream in enumerate(tuple(self._live), 1):
                await stream.tell(_BEAT if is_beat else b"")
                if count % _TOLD_AT_ONCE == 0:
                    await asyncio.sleep(0)

    async def _end_invalid(self) -> None:
        now = self.desk.now()
        for token in {stream.token.id: stream.token for stream in self._live}.values():
            if not await tokens.is_still_valid(self._recent, token, now):
                await self._end([stream for stream in self._live if stream.token.id == token.id])


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Stream:
    """One client. What it is told goes out at once, or not at all where it does not read: then it is told to reread."""

    __slots__ = ("_connection", "_is_live", "_missed", "_send", "token")

    def __init__(self, token: Token, scope: Scope, send: Send) -> None:
        self.token, self._send = token, send
        self._connection = scope["askdesk.connection"]
        self._is_live = False
        self._missed = False

    async def run(self, receive: Receive) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        self._is_live = True
        await self.tell(REREAD)
        await _until_gone(receive)
        self._is_live = False

    async def tell(self, lines: bytes) -> None:
        """Write something, preceded by what makes good for all that was missed; nothing is nothing."""
        if not self._is_live:  # it has yet to begin, with "reread", or it has ended
            return
        if not self._connection.is_writable():
            self._missed |= bool(lines)
            return
        if self._missed:
            self._missed, lines = False, REREAD + lines
        if lines:
            await self._send({"type": "http.response.body", "body": lines, "more_body": True})

    async def end(self) -> None:
        """Close it in order, or break it off where its client does not read."""
        if not self._is_live:
            return
        self._is_live = False
        if self._connection.is_writable():
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            self._connection.break_off()
