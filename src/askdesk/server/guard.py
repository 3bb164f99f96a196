"""What stands before every route: where a request may come from, how large it may be, what every answer carries.

Loopback is not trusted: any web page in the person's browser can reach it, under any name (DNS rebinding).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        self._running += 1
        try:
            self._check(scope)
            await self._app(scope, answer.receive, answer.send)
        except Exception as error:
            if not isinstance(error, Refused):
                log.exception("a request failed")
            await answer.refuse(error)
        finally:
            self._running -= 1
            answer.ended(self._metrics)

    def _check(self, scope: Scope) -> None:
        headers = Headers.of(scope)
        if self._running > self._max_requests:
            raise Refused(429, "too-many", f"more than {self._max_requests} requests", headers={"Retry-After": "1"})
        self._check_host(headers)
        self._check_origin(scope, headers)
        if headers.values.get("content-encoding", "identity") != "identity":
            raise Refused(415, "wrong-type", "a compressed body is not taken")
        _check_length(headers.values.get("content-length"), self._max_body)

    def _check_host(self, headers: Headers) -> None:
        """A rebound name sends no Origin: the Host is the only header that tells."""
        host = headers.values.get("host", "").lower()
        if "host" in headers.repeated or host not in self._origins.hosts:
            raise Refused(421, "wrong-host")

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        origin = headers.values.get("origin")
        if "origin" in headers.repeated or (origin is not None and origin not in self._origins.origins):
            raise Refused(403, "wrong-origin")
        site = headers.values.get("sec-fetch-site", "none")
        if site in ("same-origin", "none"):
            return
        # Another site may lead a person here, and nothing else: no frame, no image, no script, no form.
        leads_here = headers.values.get("sec-fetch-mode") == "navigate" and scope["method"] in _SAFE
        if not leads_here or headers.values.get("sec-fetch-dest") != "document":
            raise Refused(403, "wrong-origin")


class Headers(NamedTuple):
    """The headers of a request by name, and the names that came more than once."""

    values: Mapping[str, str]
    repeated: frozenset[str]

    @classmethod
    def of(cls, scope: Scope) -> Headers:
        values: dict[str, str] = {}
        repeated = set()
        for raw_name, raw_value in scope["headers"]:
            name = raw_name.decode("latin-1")
            if name in values:
                repeated.add(name)
            values[name] = raw_value.decode("latin-1")
        return cls(values, frozenset(repeated))


def _check_length(length: str | None, most: int) -> None:
    if length is None:
        return
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "not-json", "Content-Length is not a number")
    if len(length) > 18 or int(length) > most:
        raise Refused(413, "too-large", f"must not be longer than {most} bytes")


class _Answer:
    """One answer on its way: counts the body that comes, adds the headers, knows what to log."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_body: int) -> None:
        self._scope, self._receive, self._send, self._left = scope, receive, send, max_body
        self._max_body = max_body
        self._status = 0
        self._bytes = 0
        self._started = time.perf_counter()

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise Refused(413, "too-large", f"must not be longer than {self._max_body} bytes")
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            given = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in HEADERS.items() if name not in given]
            message = {**message, "headers": [*message["headers"], *added]}
        else:
            self._bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, error: Exception) -> None:
        if self._status:  # it had begun: breaking it off is all that is left
            raise error
        response = problem_response(error)
        if response.status_code == 413:
            response.headers["connection"] = "close"  # so that the rest of the body is not read
        await response(self._scope, self._receive, self.send)

    def ended(self, metrics: Metrics) -> None:
        seconds = time.perf_counter() - self._started
        route = self._scope.get("askdesk.route", "")
        metrics.request(self._scope["method"], route, self._status, seconds)
        if requests_log.isEnabledFor(logging.INFO):
            requests_log.info(_line(self._scope, route, self._status, seconds, self._bytes))


def _line(scope: Scope, route: str, status: int, seconds: float, size: int) -> str:
    """One line of JSON, without contents: no path that an outsider wrote, no query, no header."""
    return json.dumps(
        {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "bytes": size,
            "token": scope.get("askdesk.token", ""),
        }
    )
