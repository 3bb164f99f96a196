"""Connections before they are requests: how long and how large a head may be, and what is not HTTP as we speak it."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from askdesk.server.guard import HEADERS
from askdesk.server.problems import Refused, problem_response

_HEAD_SECONDS = 10.0
_MOST_HEAD = 32_768
_METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS")


class Protocol(HttpToolsProtocol):
    """uvicorn's, which by itself would wait for ever for the rest of a head of any length."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # turned down, and what was on its way still comes
            return
        self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head > _MOST_HEAD and self._in_head():
            self._turn_down(Refused(431, "too-large", f"a head must not be longer than {_MOST_HEAD} bytes"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._too_slow)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        method = self.parser.get_method()
        if method not in _METHODS or not self.url.startswith(b"/") or self._repeats_length():
            self._turn_down(Refused(400 if method in _METHODS else 405, "not-allowed"))
            return
        super().on_headers_complete()

    def _repeats_length(self) -> bool:
        """Two parsers on the way could disagree about where such a request ends."""
        names = [name for name, _ in self.headers]
        return names.count(b"content-length") + names.count(b"transfer-encoding") > 1

    def on_body(self, body: bytes) -> None:
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.cycle is not None:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._turn_down(Refused(400, "not-allowed", "this is not HTTP/1.1 as this desk speaks it"))

    def _in_head(self) -> bool:
        return self._head_timer is not None

    def _too_slow(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self._turn_down(Refused(408, "too-many", "the head took too long"))

    def _stop_timer(self) -> None:
        if self._head_timer:
            self._head_timer.cancel()
            self._head_timer = None

    def _turn_down(self, refused: Refused) -> None:
        self._stop_timer()
        self.transport.write(_written(problem_response(refused)))
        self.transport.close()


def _written(response: Response) -> bytes:
    headers = {**HEADERS, **dict(response.raw_headers), b"connection": b"close"}
    head = b"".join(b"%s: %s\r\n" % pair for pair in headers.items())
    return STATUS_LINE[response.status_code] + head + b"\r\n" + bytes(response.body)
