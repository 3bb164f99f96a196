"""A live stream of hints from a desk server, in a thread of its own, for as long as somebody listens.

Nothing is lost with a stream: each begins with "read everything again", also the next one after a pause. Knows no ask.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import NamedTuple

import msgspec
from msgspec import Struct

from askdesk.core.hints import Heard
from askdesk.stores.http_calls import PROBLEM_TYPE
from askdesk.stores.http_connection import GOODBYE_SECONDS, Address, Request, Token, break_off, words
from askdesk.stores.patience import TOLD_AFTER, Pauses

log = logging.getLogger("askdesk")

SILENCE = 45.0  # seconds; a server says something every 15
_LONGEST_LINE = 10_000


class _Changed(Struct):
    ask: str


class _End(NamedTuple):
    """How a stream ended."""

    why: str
    came: bool = False  # whether it had begun to tell
    for_good: bool = False


class Events:
    """Calls `heard` in its own thread: with an id, or with None for "read everything again"."""

    def __init__(self, address: Address, token: Token, heard: Heard, *, pauses: Pauses, silence: float) -> None:
        self._address, self._heard, self._pauses, self._silence = address, heard, pauses, silence
        self._request = Request("GET", f"{address.prefix}/v1/events", token)
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None
        self._failures = 0  # since it last told something
        self._thread = threading.Thread(target=self._run, name="askdesk-events", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() and not self._stopped.is_set()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Let the thread end as soon as it can: where it is looking for the server, once it has found it or not."""
        self._stopped.set()
        break_off(self._socket)

    def join(self) -> None:
        self._thread.join(GOODBYE_SECONDS)

    def _run(self) -> None:
        pauses = self._pauses()
        while not self._stopped.is_set():
            end = self._followed()
            if end.for_good:
                return
            if end.came:
                self._failures, pauses = 0, self._pauses()
            self._failures += 1
            if self._failures == TOLD_AFTER:
                log.warning("%s: %s; waiting until it is back", self._address.url, end.why)
            self._stopped.wait(next(pauses))

    def _followed(self) -> _End:
        """Hand on everything that one stream tells."""
        came = opened = False
        try:
            with closing(self._address.connection()) as connection, closing(self._opened(connection)) as response:
                if response.status != 200 or response.headers.get_content_type() != "text/event-stream":
                    return self._turned_down(response)
                opened = True
                for hint in _hints(response):
                    if not came:
                        self._tell_if_back()
                    came = True
                    self._heard(hint)
        except Exception as error:  # noqa: BLE001 - a value, so that no traceback holds the token
            if not came and isinstance(error, TimeoutError) and (opened or self._is_there()):
                self._heard(None)  # something on the way holds back what is told: reading is all that is left
            return _End(words(error), came)
        finally:
            self._socket = None
        return _End("the stream ended", came)

    def _tell_if_back(self) -> None:
        if self._failures >= TOLD_AFTER:
            log.warning("%s: is back", self._address.url)

    def _opened(self, connection: HTTPConnection, request: Request | None = None) -> HTTPResponse:
        request = request or self._request
        connection.connect()
        self._socket = connection.sock
        if self._stopped.is_set():
            raise ConnectionAbortedError
        connection.sock.settimeout(self._silence)
        connection.request(request.method, request.path, headers=request.headers)
        return connection.getresponse()

    def _is_there(self) -> bool:
        """Whether the desk answers, though of its stream not even the head came."""
        health = Request("GET", f"{self._address.prefix}/healthz", Token())
        try:
            with closing(self._address.connection()) as connection, closing(self._opened(connection, health)) as told:
                return told.status == 200
        except Exception:  # noqa: BLE001 - whatever it is, it is no answer
            return False

    def _turned_down(self, response: HTTPResponse) -> _End:
        is_desks = response.headers.get_content_type() == PROBLEM_TYPE  # and not a proxy's, before a desk that is away
        if is_desks and response.status < 500:
            self._heard(None)  # so that whoever waits reads, and hears what is wrong
        return _End(f"not now (status {response.status})", for_good=is_desks and response.status in (401, 403))


def _hints(response: HTTPResponse) -> Iterator[str | None]:
    """The hints of a stream of server-sent events; what a newer server may add is passed over."""
    event, data = b"", b""
    while line := response.readline(_LONGEST_LINE):
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        if name == b"event":
            event = value.strip()
        elif name == b"data":
            data = value.strip()
        elif line in (b"\n", b"\r\n"):
            if event == b"reread":
                yield None
            elif data and not event:
                yield _changed(data)
            event, data = b"", b""


def _changed(data: bytes) -> str | None:
    try:
        return msgspec.json.decode(data, type=_Changed).ask
    except msgspec.MsgspecError:  # something changed, and we do not know what
        return None
