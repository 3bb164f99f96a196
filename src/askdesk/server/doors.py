"""One table of routes: method, path, who may come in. A request passes here before any route's own code runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from starlette.convertors import Convertor
from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from askdesk.server import tokens
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Kind, Token

Endpoint: TypeAlias = Callable[[Service, Request, Token], Awaitable[ASGIApp]]

# Who comes in where no token is needed.
NOBODY = Token(id="", kind="page", name="", hash="", created=datetime(1970, 1, 1, tzinfo=UTC))


class Door(NamedTuple):
    """A route. Where `kinds` is empty, anybody may come in."""

    method: str
    path: str
    endpoint: Endpoint
    kinds: tuple[Kind, ...]


class Doors:
    """An ASGI application that finds the door and lets in who may."""

    def __init__(self, service: Service, doors: Iterable[Door]) -> None:
        self._service = service
        by_path: defaultdict[str, dict[str, Door]] = defaultdict(dict)
        for door in doors:
            by_path[door.path][door.method] = door
        self._exact = {path: found for path, found in by_path.items() if "{" not in path}
        self._patterns = [(*compile_path(path)[::2], path, found) for path, found in by_path.items() if "{" in path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, by_method = self._at(scope)
        scope["askdesk.route"] = path
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        door = by_method.get(method)
        if door is None:
            allowed = sorted({*by_method, *(("HEAD",) if "GET" in by_method else ())})
            raise Refused(405, "not-allowed", headers={"Allow": ", ".join(allowed)})
        request = Request(scope, receive)
        token = await let_in(self._service, request, door) if door.kinds else NOBODY
        scope["askdesk.token"] = token.id
        answer = await door.endpoint(self._service, request, token)
        await answer(scope, receive, send)

    def _at(self, scope: Scope) -> tuple[str, dict[str, Door]]:
        path = scope["path"]
        if found := self._exact.get(path):
            return path, found
        for pattern, convertors, template, doors in self._patterns:
            if match := pattern.match(path):
                scope["path_params"] = _converted(match.groupdict(), convertors)
                return template, doors
        raise Refused(404, "not-found")


def _converted(found: dict[str, str], convertors: dict[str, Convertor[Any]]) -> dict[str, Any]:
    return {name: convertors[name].convert(value) for name, value in found.items()}


async def let_in(service: Service, request: Request, door: Door) -> Token:
    """The token of a request: in a header for programs, in a cookie for the page, never the one for the other."""
    client = request.client.host if request.client else ""
    if service.failures.is_spent(client):
        raise Refused(429, "too-many", "too many wrong tokens", headers={"Retry-After": "10"})
    text = _cookie(service, request) if door.kinds == ("page",) else _bearer(request)
    token = await tokens.found(service.desk.shelf, text, service.desk.now()) if text else None
    if token is None:
        if text:
            service.failures.take(client)
        raise Refused(401, "unauthorized", headers={} if door.kinds == ("page",) else {"WWW-Authenticate": "Bearer"})
    if token.kind not in door.kinds:
        raise Refused(403, "forbidden", f"this takes the token of an {' or an '.join(door.kinds)}, this is {_a(token)}")
    return token


def _a(token: Token) -> str:
    return {"asker": "an asker's", "answerer": "an answerer's", "page": "a page's"}[token.kind]


def cookie_name(service: Service) -> str:
    """Over TLS the strictest there is; on plain loopback a browser would not keep that, and knows no ports."""
    return "__Host-askdesk" if service.is_secure else f"askdesk-{service.port}"


def _cookie(service: Service, request: Request) -> str:
    return request.cookies.get(cookie_name(service), "")


def _bearer(request: Request) -> str:
    given = request.headers.getlist("authorization")
    scheme, _, text = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return text.strip() if scheme.lower() == "bearer" else ""
