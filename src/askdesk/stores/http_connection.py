"""Connections to a desk server: the standard library's client in a few threads, joined to one event loop.

Knows where the server is and what a whole answer is. What is asked and what an answer says is none of its business.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit

from askdesk.core.errors import InvalidSettings, Problem, StoreError, quoted

CONNECT_SECONDS = 10.0
_MOST_THREADS = 4
GOODBYE_SECONDS = 2.0


class Token(str):
    """A text that no message, log or traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a token>" if self else "<no token>"


class Request(NamedTuple):
    method: str
    path: str
    token: Token
    body: bytes | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        return headers


class Answer(NamedTuple):
    status: int
    type: str
    retry_after: float  # seconds
    body: bytes
    again: bool = False  # the same request was sent before, and no answer came


class Lost(NamedTuple):
    """No answer came, or none that was whole."""

    why: str
    sent: bool = False  # then it may have been done all the same
    for_good: bool = False  # then sending it again is no use
    in_time: bool = True


Result: TypeAlias = Answer | Lost


class Address:
    """Where a desk server is. Through a network only over TLS: whoever reads along would have the tokens."""

    def __init__(self, url: str) -> None:
        parts = _parts(url)
        self._is_secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_secure else 80)
        self.prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self.prefix}"

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def connection(self) -> HTTPConnection:
        """One that is not open yet."""
        if self._is_secure:
            return HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._context)
        return HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)


def _parts(url: str) -> SplitResult:
    """What an address consists of. Where it is none, it is not repeated: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:  # also where the port is no number
        raise _no_address("is not an address; one is like https://desk.example") from None
    if "@" in url or parts.query or parts.fragment:
        raise _no_address("must hold no name, no password and no query: tokens are settings of their own")
    if not host or not url.isprintable() or " " in url or not parts.path.isascii():
        raise _no_address("is not an address; one is like https://desk.example")
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise _no_address(
            f"must begin with https:// where the desk is on another machine, as {quoted(parts.hostname)} is: "
            "others could read every token on the way"
        )
    return parts


def _no_address(rule: str) -> InvalidSettings:
    return InvalidSettings([Problem("store", rule)])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def break_off(connected: socket.socket | None) -> None:
    """End what another thread waits for at a socket."""
    if connected is not None:
        with suppress(OSError):  # it has ended already
            # Not the TLS socket's own method, which takes its state from under the thread that reads.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)


def words(error: Exception) -> str:
    """Why nothing came, without anything that came or went."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case TimeoutError():
            return "no answer in time"
        case socket.gaierror():
            return "nobody knows its name"
        case IncompleteRead() | ConnectionResetError() | BrokenPipeError():
            return "the connection broke off"
        case OSError():
            return error.strerror or "the connection failed"
        case _:
            return "it does not speak HTTP"


class _Job(NamedTuple):
    request: Request
    seconds: float
    done: asyncio.Future[Result]


class Connections:
    """A few threads, each with a connection that is kept open. Belongs to the event loop and process that made it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._unanswered = 0
        self._kept: list[_Kept] = []
        self._threads: list[threading.Thread] = []
        self._closed = False

    def send(self, request: Request, seconds: float) -> asyncio.Future[Result]:
        """What will come of one request within so many seconds. Begun, it goes on also when nobody waits for it."""
        self.check_usable()
        done: asyncio.Future[Result] = self._loop.create_future()
        self._unanswered += 1
        if len(self._threads) < min(self._unanswered, _MOST_THREADS):
            self._start()
        self._jobs.put(_Job(request, seconds, done))
        return done

    def check_usable(self) -> None:
        if os.getpid() != self._process:  # the threads did not come along
            raise StoreError(f"{self._address.url}: was opened before a fork; open it anew in the child process")
        if self._closed:
            raise StoreError(f"{self._address.url}: is closed")

    def _start(self) -> None:
        kept = _Kept(self._address)
        thread = threading.Thread(target=self._work, args=(kept,), name="askdesk-http", daemon=True)
        self._kept.append(kept)
        self._threads.append(thread)
        thread.start()

    def _work(self, kept: _Kept) -> None:
        while (job := self._jobs.get()) is not None:
            result = kept.exchanged(job.request, job.seconds)
            try:
                self._loop.call_soon_threadsafe(self._deliver, job.done, result)
            except RuntimeError:  # the loop is closed: nobody waits any more
                break
        kept.close()

    def _deliver(self, done: asyncio.Future[Result], result: Result) -> None:
        self._unanswered -= 1
        if not done.done():
            done.set_result(result)

    async def close(self) -> None:
        """Finish what was begun, but not for ever."""
        self._end()
        await self._loop.run_in_executor(None, self._join)

    def _join(self) -> None:
        self._wait_a_little()
        self.break_off()
        self._wait_a_little()

    def _wait_a_little(self) -> None:
        end = time.monotonic() + GOODBYE_SECONDS
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def break_off(self) -> None:
        """Leave everything as it is, at once."""
        self._end()
        for kept in self._kept:
            kept.break_off()

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)


class _Kept:
    """A connection that is kept open between requests. One thread's, but for `break_off`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._http: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._broken_off = False

    def exchanged(self, request: Request, seconds: float) -> Result:
        was_kept = self._socket is not None
        result = self._tried(request, seconds)
        if isinstance(result, Answer) or not was_kept or not result.in_time:
            return result
        # Closed by the other side while nobody looked, as servers do with those who are idle.
        result = self._tried(request, seconds)
        return result._replace(again=True) if isinstance(result, Answer) else result._replace(sent=True)

    def _tried(self, request: Request, seconds: float) -> Result:
        sent = False
        try:
            http = self._opened(seconds)
            sent = True
            with suppress(BrokenPipeError):  # refused before it was all there: the answer tells why
                http.request(request.method, request.path, request.body, request.headers)
            with http.getresponse() as response:
                answer = _whole(response)
        except Exception as error:  # noqa: BLE001 - a value, so that no traceback holds the token; the thread must live on
            self.close()
            return Lost(
                words(error),
                sent=sent,
                for_good=isinstance(error, ssl.SSLCertVerificationError),
                in_time=not isinstance(error, TimeoutError),
            )
        if http.sock is None:  # the other side wants to close it
            self.close()
        return answer

    def _opened(self, seconds: float) -> HTTPConnection:
        http = self._http = self._http or self._address.connection()
        if http.sock is None:
            self._go_on()
            http.timeout = min(seconds, CONNECT_SECONDS)
            http.connect()
            self._socket = http.sock
            self._go_on()  # now that it can be broken off
        http.sock.settimeout(seconds)
        return http

    def _go_on(self) -> None:
        if self._broken_off:
            raise ConnectionAbortedError

    def break_off(self) -> None:
        self._broken_off = True
        break_off(self._socket)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
        self._http = self._socket = None


def _whole(response: HTTPResponse) -> Answer:
    if response.length is None and not response.chunked:  # nobody could tell whether it was cut off, even in its head
        raise IncompleteRead(b"")
    waiting = response.headers.get("Retry-After", "")
    return Answer(
        response.status,
        response.headers.get_content_type(),
        float(waiting) if waiting.isascii() and waiting.isdigit() and len(waiting) < 7 else 0.0,
        response.read(),  # raises where less came than was announced
    )
