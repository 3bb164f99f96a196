"""One table of routes: method, path, who may come in. A request passes here before any route's own code runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from askdesk.core.errors import AskdeskError
from askdesk.server import tokens
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Kind, Token

Endpoint: TypeAlias = Callable[[Service, Request, Token], Awaitable[ASGIApp]]
Refuse: TypeAlias = Callable[[Service, Request, Exception], ASGIApp]

# Who comes in where no token is needed.
NOBODY = Token(id="", kind="page", name="", hash="", created=datetime(1970, 1, 1, tzinfo=UTC))


class Door(NamedTuple):
    """A route. Where `kinds` is empty, anybody may come in."""

    method: str
    path: str
    endpoint: Endpoint
    kinds: tuple[Kind, ...]
    refuse: Refuse | None = None  # how a refusal is told; a problem where nothing else is said


class Doors:
    """An ASGI application that finds the door and lets in who may."""

    def __init__(self, service: Service, doors: Iterable[Door]) -> None:
        self._service = service
        by_path: defaultdict[str, dict[str, Door]] = defaultdict(dict)
        for door in doors:
            by_path[door.path][door.method] = door
        self._exact = {path: found for path, found in by_path.items() if "{" not in path}
        self._patterns = [(_pattern(path), path, found) for path, found in by_path.items() if "{" in path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, by_method = self._at(scope)
        scope["askdesk.route"] = path
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        door = by_method.get(method)
        if door is None:
            allowed = sorted({*by_method, *(("HEAD",) if "GET" in by_method else ())})
            raise Refused(405, "not-allowed", headers={"Allow": ", ".join(allowed)})
        request = Request(scope, receive)
        answer = await self._answer(door, request)
        await answer(scope, receive, send)

    async def _answer(self, door: Door, request: Request) -> ASGIApp:
        try:
            token = await let_in(self._service, request, door) if door.kinds else NOBODY
            request.scope["askdesk.token"] = token.id
            return await door.endpoint(self._service, request, token)
        except (Refused, AskdeskError) as error:
            if door.refuse is None:
                raise
            return door.refuse(self._service, request, error)

    def _at(self, scope: Scope) -> tuple[str, dict[str, Door]]:
        path = scope["path"]
        if found := self._exact.get(path):
            return path, found
        for pattern, template, doors in self._patterns:
            if match := pattern.fullmatch(path):
                scope["path_params"] = match.groupdict()  # texts: a number of thousands of digits can be no int
                return template, doors
        raise Refused(404, "not-found")


def _pattern(path: str) -> re.Pattern[str]:
    """Of the whole path: a line break at its end, or in a name, is a part of it like any other sign."""
    return re.compile(compile_path(path)[0].pattern, re.DOTALL)


async def let_in(service: Service, request: Request, door: Door) -> Token:
    """The token of a request: in a header for programs, in a cookie for the page, never the one for the other."""
    text = cookie_of(service, request) if door.kinds == ("page",) else _bearer(request)
    token = await tokens.found(service.recent, text, service.desk.now()) if text else None
    if token is None:
        raise _refusal(service, request, door, text)
    if token.kind not in door.kinds:
        raise Refused(
            403, "forbidden", f"this takes {' or '.join(map(_a, door.kinds))} token, this is {_a(token.kind)}"
        )
    return token


def _refusal(service: Service, request: Request, door: Door, text: str) -> Refused:
    """Wrong tokens from one address have to wait after a while, right ones never: a team may share an address."""
    client = request.client.host if request.client else ""
    if text and (seconds := service.failures.take(client)):
        return Refused(429, "too-many", "too many wrong tokens", headers={"Retry-After": f"{seconds + 1:.0f}"})
    return Refused(401, "unauthorized", headers={} if door.kinds == ("page",) else {"WWW-Authenticate": "Bearer"})


def _a(kind: Kind) -> str:
    return {"asker": "an asker's", "answerer": "an answerer's", "page": "a page's"}[kind]


def cookie_name(service: Service) -> str:
    """Over TLS the strictest there is; on plain loopback a browser would not keep that, and knows no ports."""
    return "__Host-askdesk" if service.is_secure else f"askdesk-{service.port}"


def cookie_of(service: Service, request: Request) -> str:
    return request.cookies.get(cookie_name(service), "")


def _bearer(request: Request) -> str:
    given = request.headers.getlist("authorization")
    scheme, _, text = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return text.strip(" ") if scheme.lower() == "bearer" else ""
