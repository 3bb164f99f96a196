"""Connections before they are requests: how long and how large one may be, and what is not HTTP as we speak it.

Whatever two readers of the same bytes could understand differently is refused: between them a request could be hidden.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from askdesk.server.guard import HEADERS, log_request
from askdesk.server.problems import Refused, problem_response

_HEAD_SECONDS = 10.0
_BODY_SECONDS = 60.0
_STALL_SECONDS = 60.0  # in which a client that reads at all has emptied some of what the system holds for it
_LINGER_SECONDS = 2.0
_MOST_HEAD = 32_768
_METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS")
_MOST_QUEUED = 64  # requests sent before the first of them was answered
_OTHER_FILES = 64  # descriptors that are for the store and all else that is no connection


class Protocol(HttpToolsProtocol):
    """uvicorn's, which by itself waits for ever for the rest of a request and takes heads of any length."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False  # whoever else sets up logging: it would hold queries, and in one of them is a code
        self._due = inf  # when what is coming must be there
        self._is_in_head = False
        self._head = 0  # bytes of it that were parsed
        self._held = 0  # bytes of it that came after its first piece: the parser holds back what is not whole
        self._piece = 0
        self._running: RequestResponseCycle | None = None  # uvicorn knows the latest, which may stand in a queue
        self._tell_of_end: Callable[[], object] = lambda: None
        self._is_deaf = False
        self._unread, self._stalls_at = 0, inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._due = self.loop.time() + _HEAD_SECONDS
        if len(self.connections) > most_connections():
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._due = self._stalls_at = inf
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
            self._tell_of_end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._unset_keepalive_if_required()
        self._piece = len(data)
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            ours = error.__context__
            self._turn_down(ours if isinstance(ours, Refused) else Refused(400, "not-http"))
            return
        if self._is_in_head:
            self._held += len(data)
            if self._held > _MOST_HEAD:
                self._turn_down(_too_long())
        elif self._is_idle():  # what came begins no request
            self._due = min(self._due, self.loop.time() + _HEAD_SECONDS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._head, self._held = True, 0, -self._piece
        self._due = self.loop.time() + _HEAD_SECONDS

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:  # uvicorn would put it among the headers, which may have been looked at already
            raise Refused(400, "not-http", "trailers are not taken")
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value.rstrip(b" \t"))  # which are no part of it, and the parser leaves there

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > _MOST_HEAD:
            raise _too_long()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._due = self.loop.time() + _BODY_SECONDS
        self._check_head()
        self.scope["askdesk.connection"] = self  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def _check_head(self) -> None:
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise Refused(505, "not-http")
        if self.parser.get_method() not in _METHODS:
            raise Refused(405, "not-allowed", headers={"Allow": "GET, HEAD, POST, PUT"})
        if not self.url.startswith(b"/") or b"#" in self.url:
            raise Refused(400, "not-http", "the target of a request is a path")
        if self.parser.should_upgrade():  # the parser would take the body for the next request
            raise Refused(400, "not-http", "this desk speaks HTTP/1.1 and changes to no other protocol")
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings and (codings != [b"chunked"] or version == "1.0"):
            raise Refused(400, "not-http", "the only transfer coding is chunked, in HTTP/1.1")
        if len(self.pipeline) >= _MOST_QUEUED:
            raise Refused(429, "too-many")

    def on_message_complete(self) -> None:
        self._due = inf
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread, self._stalls_at = self.transport.get_write_buffer_size(), self.loop.time() + _STALL_SECONDS

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalls_at = inf

    def look(self, now: float) -> None:
        """End what takes too long. The server calls it: thousands of connections do nothing and need no timer."""
        if now >= self._stalls_at:
            self._check_reader(now)
        if now < self._due or self.flow.read_paused:  # where we do not read, nobody can be late
            return
        if self._is_deaf or (self._latest() is None and not self._is_in_head):
            self.transport.abort()  # refused already; or opened in advance, as browsers do, and never used
        else:
            self._turn_down(Refused(408, "too-slow"))

    def _check_reader(self, now: float) -> None:
        unread = self.transport.get_write_buffer_size()
        if unread >= self._unread:
            self.break_off()
        self._unread, self._stalls_at = unread, now + _STALL_SECONDS

    def _is_idle(self) -> bool:
        latest = self._latest()
        return self.timeout_keep_alive_task is None and (latest is None or latest.response_complete)

    def _latest(self) -> RequestResponseCycle | None:
        return self.cycle  # None before the first request, whatever uvicorn's types say

    def _turn_down(self, refused: Refused) -> None:
        """Refuse what came. Where earlier requests are being answered, their answers are the last."""
        self._is_deaf, self._due = True, inf
        log_request("", "", refused.status)
        latest = self._latest()
        if latest is None or latest.response_complete:
            self._say_and_close(refused)
        elif self._may_still_answer(latest):
            self._say_and_close(refused)
            latest.disconnected = True
            latest.message_event.set()
        elif latest.more_body:  # it will never be whole
            self.break_off()
        else:
            latest.keep_alive = False

    def _say_and_close(self, refused: Refused) -> None:
        self.transport.write(self._written(refused))
        self._linger()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            self._unset_keepalive_if_required()
            self._linger()  # it was refused before all of it had come

    def _linger(self) -> None:
        """Say no more and hear no more: closed on while it is still sending, a client would not see what it is told."""
        self._is_deaf = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._due = self.loop.time() + _LINGER_SECONDS
        else:  # over TLS
            self.transport.close()

    def _may_still_answer(self, latest: RequestResponseCycle) -> bool:
        """Whether it is the body of the one request under way that is refused, and nothing was answered yet."""
        return latest is self._running and latest.more_body and not latest.response_started

    def is_writable(self) -> bool:
        """Whether the client reads what it is sent, so that sending to it does not wait."""
        return not self.flow.write_paused

    @property
    def is_gone(self) -> bool:
        """Whether the client of the request that is being answered went before it was."""
        return self._running is not None and self._running.disconnected

    @contextmanager
    def telling_of_its_end(self, tell: Callable[[], object]) -> Iterator[None]:
        """Call this once the client is gone, for as long as the block runs: it costs no task, as `receive` does."""
        if self.is_gone:
            tell()
        self._tell_of_end = tell
        self.flow.resume_reading()  # paused where a request stands behind this one: the end would not be seen
        try:
            yield
        finally:
            self._tell_of_end = lambda: None

    def break_off(self) -> None:
        """End the connection in the middle of an answer, so that nobody takes it for a whole one."""
        if self._running is not None:
            self._running.disconnected = True
        self.transport.abort()

    def _written(self, refused: Refused) -> bytes:
        response = problem_response(refused)
        headers = {**dict(self.server_state.default_headers), **HEADERS, **dict(response.raw_headers)}
        head = b"".join(b"%s: %s\r\n" % pair for pair in {**headers, b"connection": b"close"}.items())
        return STATUS_LINE[response.status_code] + head + b"\r\n" + bytes(response.body)


def _too_long() -> Refused:
    return Refused(431, "too-large", f"a head must not be longer than {_MOST_HEAD} bytes")


@cache
def most_connections() -> int:
    """As many as the process may have open files, but for those that the store needs."""
    if sys.platform == "win32":
        return 10_000
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if most == resource.RLIM_INFINITY else max(most - _OTHER_FILES, 1)
