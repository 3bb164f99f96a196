"""What stands before every route: where a request may come from, how large it may be, what every answer carries.

Loopback is not trusted: any web page in the person's browser can reach it, under any name (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askdesk.core.errors import AskdeskError, StoreCorrupt, StoreError
from askdesk.core.strict import NotStrict
from askdesk.server.metrics import Metrics
from askdesk.server.problems import Refused, problem_response

requests_log = logging.getLogger("askdesk.requests")
log = logging.getLogger(__name__)

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Mapping[bytes, bytes] = {
    b"content-security-policy": PAGE_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"referrer-policy": b"same-origin",  # with no-referrer, browsers send our own forms with the Origin null
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-frame-options": b"DENY",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD")
# Balancers and monitors look at each server by itself, which they know by an address and not by the desk's name. The
# one tells nobody anything, the other needs a token, and no page that was led here by a wrong name has one.
_BY_ADDRESS = ("/healthz", "/metrics")
# Headers that decide something: two of them could be one for us and another for whoever stands before us.
_ONCE = frozenset(
    b"host origin authorization content-type content-length content-encoding "
    b"sec-fetch-site sec-fetch-mode sec-fetch-dest".split()
)
_GONE = 499  # for the log: the client went before it was answered
_MOST_DROPPED, _DROP_SECONDS = 16_000_000, 1.0


class Origins(NamedTuple):
    """Under which names the desk answers."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, url: str, *, loopback: bool) -> Origins:
        """Those of the desk's own URL; on loopback all the names that lead there."""
        parts = urlsplit(url)
        names = {parts.netloc.lower()}
        if loopback:
            names |= {f"{name}:{parts.port}" if parts.port else name for name in _LOOPBACK_NAMES}
        return cls(frozenset(names), frozenset(f"{parts.scheme}://{name}" for name in names))


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, origins: Origins, metrics: Metrics, *, max_body: int, max_requests: int) -> None:
        self._app, self._origins, self._metrics = app, origins, metrics
        self._max_body, self._max_requests = max_body, max_requests
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no websockets, and what begins and ends with the server is not told this way
        answer = _Answer(scope, receive, send, self._max_body)
        try:
            await self._answered(scope, answer)
        except ClientDisconnect:
            answer.status = answer.status or _GONE
        except asyncio.CancelledError:  # the server ends, and waited long enough
            answer.is_unread = False
            await answer.refuse(Refused(503, "stopping"))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log its place
            _tell_operator(error)
            await answer.refuse(error)
        finally:
            answer.ended(self._metrics)

    async def _answered(self, scope: Scope, answer: _Answer) -> None:
        self._running += 1
        try:
            self._check(scope, answer)
            await self._app(scope, answer.receive, answer.send)
        finally:
            self._running -= 1

    def _check(self, scope: Scope, answer: _Answer) -> None:
        if self._running > self._max_requests:
            raise Refused(429, "too-many", f"more than {self._max_requests} requests", headers={"Retry-After": "1"})
        headers = _by_name(scope)
        has_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
        answer.is_unread = has_body and b"expect" not in headers  # who expects a word first waits for it
        if scope["path"] not in _BY_ADDRESS:
            self._check_host(headers)
        self._check_origin(scope["method"], headers)
        _check_path(scope["raw_path"])
        if has_body:
            self._check_body(scope["method"], headers)

    def _check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """A rebound name sends no Origin: the Host is the only header that tells."""
        if (host := headers.get(b"host")) is None:
            raise Refused(400, "wrong-host")
        if host.decode("latin-1").lower() not in self._origins.hosts:
            raise Refused(421, "wrong-host")

    def _check_origin(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._origins.origins:
            raise Refused(403, "wrong-origin")
        if headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none"):
            return
        # Another site may lead a person here, and nothing else: no frame, no image, no script, no form.
        leads_here = headers.get(b"sec-fetch-mode") == b"navigate" and method in _SAFE
        if not leads_here or headers.get(b"sec-fetch-dest") != b"document":
            raise Refused(403, "wrong-origin")

    def _check_body(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        if method in _SAFE:
            raise Refused(400, "not-http", f"{method} takes no body")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refused(415, "wrong-type", "a compressed body is not taken")
        if int(headers.get(b"content-length", b"0")) > self._max_body:
            raise _too_large(self._max_body)


def _by_name(scope: Scope) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ONCE and name in headers:
            raise Refused(400, "not-http", f"the header {name.decode()} stands there twice")
        headers[name] = value
    return headers


def _check_path(raw: bytes) -> None:
    """One path, one text: what is no UTF-8 would become the same sign, whatever it was."""
    if b"%" in raw:
        try:
            unquote_to_bytes(raw).decode()
        except UnicodeDecodeError:
            raise Refused(400, "not-http", "the path is not UTF-8") from None


def _too_large(most: int) -> Refused:
    return Refused(413, "too-large", f"must not be longer than {most} bytes")


class _Answer:
    """One answer on its way: counts the body that comes, adds the headers, knows what to log."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_body: int) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._max_body = self._left = max_body
        self._bytes = 0
        self._started = time.perf_counter()
        self.status = 0
        self.is_unread = False  # some of its body may still be on its way

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self.is_unread &= message.get("more_body", False)
            if self._left < 0:
                raise _too_large(self._max_body)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in HEADERS.items() if name not in given]
            message = {**message, "headers": [*message["headers"], *added]}
        else:
            self._bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, error: Exception) -> None:
        if self.status:  # it had begun, and must not pass for a whole one
            self._scope["askdesk.connection"].break_off()
            return
        if self.is_unread:
            await self._drop_body()
        await problem_response(error)(self._scope, self._receive, self.send)

    async def _drop_body(self) -> None:
        """Many clients send all they have before they read: closed on before that, they would never see the answer."""
        left = _MOST_DROPPED
        with suppress(TimeoutError):
            async with asyncio.timeout(_DROP_SECONDS):
                while left > 0 and (message := await self._receive()).get("more_body"):
                    left -= len(message["body"])

    def ended(self, metrics: Metrics) -> None:
        seconds = time.perf_counter() - self._started
        route = self._scope.get("askdesk.route", "")
        metrics.request(self._scope["method"], route, self.status, seconds)
        log_request(
            self._scope["method"], route, self.status, seconds, self._bytes, self._scope.get("askdesk.token", "")
        )


def _tell_operator(error: Exception) -> None:
    """Where it failed and how; never what about: an error's own words may hold what people and agents wrote."""
    match error:
        case StoreCorrupt():
            log.error("a request failed: %s", type(error).__name__)
        case StoreError():
            log.error("a request failed: %s: %s", type(error).__name__, error)
        case Refused() | NotStrict() | AskdeskError():
            pass  # the client's own doing, and told to it
        case _:
            place = "".join(traceback.format_tb(error.__traceback__))
            log.error("a request failed: %s\n%s", type(error).__name__, place)


def log_request(method: str, route: str, status: int, seconds: float = 0.0, size: int = 0, token: str = "") -> None:
    """One line of JSON, without contents: no path that an outsider wrote, no query, no header."""
    if not requests_log.isEnabledFor(logging.INFO):
        return
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "method": method,
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 2),
        "bytes": size,
        "token": token,
    }
    requests_log.info(json.dumps(line))
