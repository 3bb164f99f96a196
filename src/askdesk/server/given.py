"""What requests give and how they are answered: read strictly, refused with a place and a rule, written as JSON."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, Problem, UnknownAsk, quoted
from askdesk.core.model import Entry, Permission, Questions
from askdesk.server import tokens
from askdesk.server.problems import Refused
from askdesk.server.service import Rate, Service
from askdesk.server.tokens import Token
from askdesk.wire import api, permission, tool

_T = TypeVar("_T")

LONGEST_WAIT = 60.0  # seconds; whoever waits longer asks again, which every proxy on the way understands
_ONE_ASK = 5_000  # bytes that count as one
_SMALL = 20_000  # bytes, which the event loop can read by the way
_MOST_VALUES = 20_000  # of an input; a text of a megabyte is one
_encoder = msgspec.json.Encoder()


async def known_ask(service: Service, request: Request, token: Token) -> Entry:
    """The ask that the path names; one that the token may not know is as unknown as one that is not there."""
    ask_id: str = request.path_params["id"]
    entry = await service.desk.get(ask_id)
    if not token.knows(entry.ask):
        raise UnknownAsk(ask_id)
    return entry


def check_rate(rate: Rate, token: Token, size: int, what: str = "asks") -> None:
    """A large one costs as much as many small ones. Counted before it is read, since that is what costs."""
    if seconds := rate.take(token.id, max(1, size / _ONE_ASK)):
        raise Refused(429, "too-many", f"too many {what} a minute", headers={"Retry-After": f"{seconds + 1:.0f}"})


def check_size(body: Questions | Permission) -> None:
    """An input is looked through whenever its ask is read: with very many values, that would keep everybody waiting."""
    pending: list[Any] = [body.value] if isinstance(body, Permission) else []
    count = 0
    while pending:
        value = pending.pop()
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if (count := count + 1) > _MOST_VALUES:
            raise InvalidAsk([Problem("body.input", f"must not hold more than {_MOST_VALUES} values")])


async def check_still_valid(service: Service, token: Token) -> None:
    """After whatever may have taken a while: a token may have been revoked meanwhile."""
    if not await tokens.is_still_valid(service.recent, token, service.desk.now()):
        raise Refused(401, "unauthorized", headers={"WWW-Authenticate": "Bearer"})


async def json_body(service: Service, request: Request, token: Token) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "wrong-type")
    raw = await request.body()
    await check_still_valid(service, token)  # a body may take its time
    return raw


def read(service: Service, raw: bytes, kind: type[_T]) -> _T:
    return api.read(raw, kind, size=service.max_body, depth=service.limits.depth)


async def apart(raw: bytes, read: Callable[[], _T]) -> _T:
    """Read a small body right here and a large one in a thread: it may take a second."""
    return read() if len(raw) < _SMALL else await asyncio.to_thread(read)


def query_of(request: Request, *known: str) -> dict[str, str]:
    given = request.query_params.multi_items()
    query = dict(given)
    if len(query) != len(given):
        raise InvalidAsk("a parameter of the query stands there twice")
    if strangers := [name for name in query if name not in known]:
        raise InvalidAsk([Problem(quoted(strangers[0]), f"is not a parameter; the parameters are {', '.join(known)}")])
    for name, value in query.items():
        if flaw := strict.text_flaw(value):
            raise InvalidAsk([Problem(name, flaw)])
    return query


def one_of(query: dict[str, str], name: str, values: tuple[_T, ...], default: _T) -> _T:
    given = query.get(name, default)
    if given not in values:
        raise InvalidAsk([Problem(name, f"must be {' or '.join(map(str, values))}, is {quoted(given)}")])
    return values[values.index(given)]


_SECONDS = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?", re.ASCII)


def seconds_of(given: str, name: str = "wait") -> float:
    if not _SECONDS.fullmatch(given):
        raise InvalidAsk([Problem(name, f"must be a number of seconds, is {quoted(given)}")])
    return float(given)


def with_result(entry: Entry) -> api.EntryDocument:
    """With what the agent gets once it is settled."""
    document = api.entry_document(entry)
    if entry.settlement is None:
        return document
    outcome = entry.settlement.outcome
    if isinstance(entry.ask.body, Permission):
        return replace(document, result=permission.result(entry.ask.body, outcome))
    return replace(document, result=tool.result(entry.ask.body, outcome))


def json_answer(
    value: Struct,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    return Response(_encoder.encode(value), status, headers=headers, media_type="application/json")
