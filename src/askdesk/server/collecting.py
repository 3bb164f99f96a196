"""What an asker left without waiting, over HTTP: told until it says that it was delivered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from askdesk.core.collecting import Left
from askdesk.core.errors import InvalidAsk, Problem, quoted
from askdesk.core.model import Ask, Asker, Entry, Expired, Question, Questions, Settlement
from askdesk.core.store import EXPIRY
from askdesk.server import shelf_rules
from askdesk.server.doors import Door
from askdesk.server.given import (
    LONGEST_WAIT,
    apart,
    check_still_valid,
    json_answer,
    json_body,
    known_ask,
    query_of,
    read,
    seconds_of,
    with_result,
)
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.wire import api

_MOST_ENTRIES, _LARGE = 200, 2_000_000  # bytes; the rest is told once these are delivered
_ANYTHING = Questions((Question("?", kind="text"),))
_encoder = msgspec.json.Encoder()


async def collect(service: Service, request: Request, token: Token) -> ASGIApp:
    query = query_of(request, "agent", "project", "session", "host", "process", "wait")
    wait = seconds_of(query.get("wait", "0"))
    asker = _asker(query)
    shelf_rules.check_asker(token, asker)
    left = await service.desk.left_by(asker, seen=partial(_glimpse, token))
    if wait and left.open and not left.settled:
        left = await _awaited(service, request, token, asker, min(wait, LONGEST_WAIT)) or left
        await check_still_valid(service, token)
    entries = [with_result(entry) async for entry in _fitting(service, left.settled)]
    return json_answer(api.CollectDocument(tuple(entries), len(left.open)))


async def _awaited(service: Service, request: Request, token: Token, asker: Asker, wait: float) -> Left | None:
    """None where the client goes or the server ends before something is settled."""
    waiting = service.desk.left_by(asker, timeout=wait, seen=partial(_glimpse, token))
    return await service.streams.wait(token, waiting, request.scope)


def _glimpse(token: Token, entry: Entry) -> Entry | None:
    """So much of what a token knows as tells when to come for it: all of it together may be of gigabytes."""
    if not token.knows(entry.ask):
        return None
    ask = Ask(entry.ask.id, _ANYTHING, Asker(), entry.ask.created, deadline=entry.ask.deadline)
    return Entry(ask, Settlement(Expired(), entry.settlement.at, EXPIRY) if entry.settlement else None)


async def _fitting(service: Service, glimpses: Iterable[Entry]) -> AsyncIterator[Entry]:
    """The whole of the first ones, as many as fit into an answer."""
    size = 0
    for count, glimpse in enumerate(glimpses):
        entry = await service.desk.get(glimpse.ask.id)
        size += len(_encoder.encode(entry))
        if count and (size > _LARGE or count >= _MOST_ENTRIES):
            return
        yield entry


def _asker(query: dict[str, str]) -> Asker:
    process = query.get("process", "")
    if process and not (process.isascii() and process.isdigit() and len(process) < 10):
        raise InvalidAsk([Problem("process", f"must be the number of a process, is {quoted(process)}")])
    texts = {name: query[name] for name in ("agent", "project", "session", "host") if name in query}
    return Asker(**texts, process=int(process) if process else None)


async def deliver(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await json_body(service, request, token)
    new = await apart(raw, partial(read, service, raw, api.NewDelivery))
    entry = await known_ask(service, request, token)
    asker = new.asker or entry.ask.asker
    shelf_rules.check_asker(token, asker)
    if entry.settlement is None:
        raise InvalidAsk(f"ask {entry.ask.id} is still open: there is nothing to deliver yet")
    await service.desk.delivered(entry.ask.id, asker)
    return Response(status_code=204)


DOORS = (
    Door("GET", "/v1/collect", collect, ("asker",)),
    Door("POST", "/v1/asks/{id}/delivery", deliver, ("asker",)),
)
