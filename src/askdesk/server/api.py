"""The desk's verbs over HTTP, for agents and programs on other machines and in other languages.

Who somebody is comes from their token, when something was from the server's clock; neither from what they send.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askdesk.adapters.claude_hook import ClaudeHook, Mode, Visit
from askdesk.core import strict, work
from askdesk.core.checks import text_problems
from askdesk.core.desk import new_id
from askdesk.core.errors import InvalidAsk, InvalidReply, KeyReused, Problem, UnknownAsk, quoted
from askdesk.core.model import Ask, Entry, Permission, Questions
from askdesk.core.store import Page, State
from askdesk.server import shelf_rules, tokens
from askdesk.server.doors import Door
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.wire import api, hook, permission, tool

_T = TypeVar("_T")

LONGEST_WAIT = 60.0  # seconds; whoever waits longer asks again, which every proxy on the way understands
MOST_ENTRIES = 200
_STEP, _LARGE_PAGE = 20, 2_000_000  # asks, bytes
_MOST_LOOKED_AT = 1000
_MOST_COUNTED = 500
_ONE_ASK = 5_000  # bytes that count as one
_SMALL = 20_000  # bytes, which the event loop can read by the way
_MOST_VALUES = 20_000  # of an input; a text of a megabyte is one
_LATEST = timedelta(days=40_000)  # beyond all who wait, and short of where calendars end
_LEFT_TO_HOOKS = 10.0  # seconds before the time when Claude Code gives up
_MODES: tuple[Mode, ...] = ("both", "desk")
_ID = re.compile(api.ID)
_encoder = msgspec.json.Encoder()


async def post_ask(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await _json_body(request)
    # A large one costs as much as many small ones. Counted before it is read, since that is what costs.
    if seconds := service.asks.take(token.id, max(1, len(raw) / _ONE_ASK)):
        raise Refused(429, "too-many", "too many asks a minute", headers={"Retry-After": f"{seconds + 1:.0f}"})
    new, body = await _apart(raw, partial(_new_ask, service, raw))
    shelf_rules.check_asker(token, new.asker)
    ask = await _posted(service, token, new, body)
    if ask.body is not body:  # asked before, under this id or key: the one that stands was not made here
        return _json(_entry(await service.desk.get(ask.id)))
    service.metrics.asks += 1
    return _json(_entry(Entry(ask)), 201, {"Location": f"/v1/asks/{ask.id}"})


async def _posted(service: Service, token: Token, new: api.NewAsk, body: Questions | Permission) -> Ask:
    """The ask that stands. Whether another's under the same id or key asks the same is nobody's to find out."""
    try:
        ask = await service.desk.post(
            body,
            asker=new.asker,
            key=new.key,
            deadline=new.deadline,
            preview_format=new.preview_format,
            follows=new.follows,
            id=new.id or new_id(),
        )
    except KeyReused as error:
        if token.knows((await service.desk.store.get(error.ask_id)).ask):
            raise
    else:
        if token.knows(ask):
            return ask
    raise Refused(403, "forbidden", "this id or key is another's")


def _new_ask(service: Service, raw: bytes) -> tuple[api.NewAsk, Questions | Permission]:
    new = _read(service, raw, api.NewAsk)
    problems = []
    if new.id is not None and not _ID.fullmatch(new.id):
        problems.append(Problem("id", f"must be 32 hexadecimal digits, is {quoted(new.id)}"))
    if new.deadline is not None and new.deadline.tzinfo and new.deadline - service.desk.now() > _LATEST:
        problems.append(Problem("deadline", f"must come within {_LATEST.days} days"))
    if new.follows is not None and not _ID.fullmatch(new.follows):
        problems.append(Problem("follows", f"must be the id of an ask, is {quoted(new.follows)}"))
    if (new.questions is None) == (new.body is None):
        problems.append(Problem("", "needs either questions or a body"))
    if problems:
        raise InvalidAsk(problems)
    if new.body is None:
        return new, tool.parse({"questions": new.questions}, service.limits)
    if isinstance(new.body, Permission):
        _check_values(new.body)
    elif new.body.received is not None:
        _check_received(service, new.body, new.body.received)
    return new, new.body


def _check_values(body: Permission) -> None:
    """An input is looked through whenever its ask is read: with very many values, that would keep everybody waiting."""
    pending: list[Any] = [body.value]
    count = 0
    while pending:
        value = pending.pop()
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if (count := count + 1) > _MOST_VALUES:
            raise InvalidAsk([Problem("body.input", f"must not hold more than {_MOST_VALUES} values")])


def _check_received(service: Service, body: Questions, received: str) -> None:
    """What the agent gets back as its questions must be what people were shown."""
    limits = service.limits
    try:
        questions = strict.loads(received, size=limits.size, depth=limits.depth)
        same = isinstance(questions, list) and tool.parse({"questions": questions}, limits).items == body.items
    except (strict.NotStrict, InvalidAsk):
        same = False
    if not same:
        raise InvalidAsk([Problem("body.received", "must be the items, as the tool's format writes them")])


async def list_asks(service: Service, request: Request, token: Token) -> ASGIApp:
    query = _query(request, "state", "after", "limit", "newest", "text")
    state: State = _one_of(query, "state", ("open", "settled"), "open")
    newest = _one_of(query, "newest", ("true", "false"), "false") == "true"
    page = await known_page(
        service, token, state, after=query.get("after"), limit=_limit(query), newest=newest, text=query.get("text", "")
    )
    return _json(api.PageDocument(tuple(map(api.entry_document, page.entries)), page.after))


async def known_page(
    service: Service,
    token: Token,
    state: State,
    *,
    after: str | None = None,
    limit: int = 50,
    newest: bool = False,
    text: str = "",
) -> Page:
    """A page of what a token may know: perhaps of fewer than it asked for, and then with a place to go on.

    It is gathered in steps and ends where it has grown large, since one ask alone may be of megabytes.
    """
    entries: list[Entry] = []
    looked_at = size = 0
    while True:
        step = min(limit - len(entries), _STEP)
        page = await service.desk.page(state, after=after, limit=step, newest=newest, text=text)
        known = [entry for entry in page.entries if token.knows(entry.ask)]
        entries += known
        size += sum(len(_encoder.encode(entry)) for entry in known)
        looked_at += len(page.entries)
        after = page.after
        if after is None or len(entries) >= limit or looked_at >= _MOST_LOOKED_AT or size >= _LARGE_PAGE:
            return Page(tuple(entries), after)


async def get_ask(service: Service, request: Request, token: Token) -> ASGIApp:
    wait = _seconds(_query(request, "wait").get("wait", "0"))
    entry = await _known(service, request, token)
    if wait and entry.settlement is None:
        waiting = service.desk.wait(entry.ask.id, timeout=min(wait, LONGEST_WAIT))
        settlement = await service.streams.wait(token, waiting, request.receive)
        if not await tokens.is_still_valid(service.desk.shelf, token, service.desk.now()):
            raise Refused(401, "unauthorized", headers={"WWW-Authenticate": "Bearer"})
        entry = Entry(entry.ask, settlement)
    return _json(_entry(entry))


async def settle(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await _json_body(request)
    new = await _apart(raw, partial(_read, service, raw, api.NewSettlement))
    if problems := text_problems("submission", new.submission, blank=False):  # the desk would make one up
        raise InvalidReply(problems)
    entry = await _known(service, request, token)
    settlement = await service.desk.settle(
        entry.ask.id,
        new.reply,
        by=token.name,
        surface=new.surface,
        submission=new.submission,
        digest=new.digest,
    )
    if entry.settlement is None:  # and not the same submission once more
        service.metrics.settlements[type(settlement.outcome).__name__.lower()] += 1
    return _json(settlement)


async def withdraw(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await _json_body(request)
    new = await _apart(raw, partial(_read, service, raw, api.NewWithdrawal))
    entry = await _known(service, request, token)
    settlement = await service.desk.withdraw(entry.ask.id, new.reason)
    if entry.settlement is None:
        service.metrics.settlements["withdrawn"] += 1
    return _json(settlement)


async def claude_hook(service: Service, request: Request, token: Token) -> ASGIApp:
    """An event of Claude Code's, answered once there is a decision. It may name files: those of another machine."""
    query = _query(request, "mode", "seconds")
    raw = await _json_body(request)
    if seconds := service.asks.take(token.id, max(1, len(raw) / _ONE_ASK)):
        raise Refused(429, "too-many", "too many asks a minute", headers={"Retry-After": f"{seconds + 1:.0f}"})
    event = await _apart(raw, partial(_event, service, raw))
    if event.name == "Ping":
        return Response(b'{"pong":"server"}', media_type="application/json")
    shelf_rules.check_asker(token, event.asker())
    mode = _one_of(query, "mode", _MODES, "both")
    left = max(_seconds(query.get("seconds", "600"), "seconds") - _LEFT_TO_HOOKS, 1.0)
    return await _decided(service, request, token, Visit(event, mode, seconds=left))


async def _decided(service: Service, request: Request, token: Token, visit: Visit) -> ASGIApp:
    claude = ClaudeHook(service.desk, by=None, knows=token.knows)
    is_gone = False

    async def receive() -> Message:
        nonlocal is_gone
        message = await request.receive()
        is_gone |= message["type"] == "http.disconnect"
        return message

    async def handled() -> bytes:
        return _encoder.encode(await claude.handled(visit) or {})

    reply = await service.streams.wait(token, handled(), receive)
    if reply is None:  # Claude Code does not come again, and asks in its dialog
        await (claude.left(visit) if is_gone else claude.left(visit, "the server that Claude Code waited at stopped"))
        raise Refused(503, "stopping")
    if not await tokens.is_still_valid(service.desk.shelf, token, service.desk.now()):
        raise Refused(401, "unauthorized", headers={"WWW-Authenticate": "Bearer"})
    return Response(reply, media_type="application/json")


def _event(service: Service, raw: bytes) -> hook.Event:
    event = hook.read(raw, size=service.limits.size, depth=service.limits.depth)
    if event.input and not event.asks_questions:
        _check_values(Permission(event.tool or "tool", event.input))
    return event


async def expire(service: Service, request: Request, token: Token) -> ASGIApp:
    expired = await service.desk.store.expire(service.desk.now())
    if token.is_limited:
        entries = [await service.desk.store.get(ask_id) for ask_id in expired]
        expired = tuple(entry.ask.id for entry in entries if token.knows(entry.ask))
    return _json(api.ExpiryDocument(expired))


async def list_shelf(service: Service, request: Request, token: Token) -> ASGIApp:
    documents = await service.desk.shelf.list(_query(request, "prefix").get("prefix", ""))
    known = [document for document in documents if await shelf_rules.may_read(service, token, document.name)]
    return _json(api.ShelfDocument(tuple(known)))


async def get_document(service: Service, request: Request, token: Token) -> ASGIApp:
    name: str = request.path_params["name"]
    if not await shelf_rules.may_read(service, token, name):
        shelf_rules.refuse(name)
    document = await service.desk.shelf.get(name)
    if document is None:
        raise Refused(404, "not-found")
    return _json(document)


async def put_document(service: Service, request: Request, token: Token) -> ASGIApp:
    name: str = request.path_params["name"]
    raw = await _json_body(request)
    new = await _apart(raw, partial(_read, service, raw, api.NewDocument))
    new = await shelf_rules.written(service, token, name, new)
    document = await service.desk.shelf.put(name, new.value, expect=new.expect)
    if document and name.startswith(work.WORKING):  # agents cannot put away what people said
        await work.forget_old(service.desk.shelf, name.removeprefix(work.WORKING), service.desk.now())
    return _json(document) if document else Response(status_code=204)


async def events(service: Service, request: Request, token: Token) -> ASGIApp:
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await service.streams.serve(token, scope, receive, send)

    return stream


async def me(service: Service, request: Request, token: Token) -> ASGIApp:
    return _json(api.MeDocument(token.kind, token.name, token.projects, token.agents, token.expires))


async def metrics(service: Service, request: Request, token: Token) -> ASGIApp:
    if token.is_limited:
        raise Refused(403, "forbidden", "these count the asks of everybody")
    count = await _open_asks(service)
    return PlainTextResponse(service.metrics.text(count), media_type="text/plain; version=0.0.4")


async def _open_asks(service: Service) -> int:
    """How many there are; whoever has more than it counts to need not know how many more."""
    count, after = 0, None
    while count < _MOST_COUNTED:
        page = await service.desk.page("open", after=after, limit=_STEP)
        count, after = count + len(page.entries), page.after
        if after is None:
            break
    return count


async def health(service: Service, request: Request, token: Token) -> ASGIApp:
    await service.desk.shelf.get("health")  # whether the store can be read; what it holds is told to nobody here
    return Response(b'{"status":"ok"}', media_type="application/json")


async def openapi(service: Service, request: Request, token: Token) -> ASGIApp:
    from askdesk.server.openapi import document

    return Response(document(), media_type="application/json")


DOORS = (
    Door("POST", "/v1/asks", post_ask, ("asker",)),
    Door("GET", "/v1/asks", list_asks, ("asker", "answerer")),
    Door("GET", "/v1/asks/{id}", get_ask, ("asker", "answerer")),
    Door("POST", "/v1/asks/{id}/settlement", settle, ("answerer",)),
    Door("POST", "/v1/asks/{id}/withdrawal", withdraw, ("asker",)),
    Door("POST", "/v1/hooks/claude-code", claude_hook, ("asker",)),
    Door("POST", "/v1/expiry", expire, ("asker", "answerer")),
    Door("GET", "/v1/shelf", list_shelf, ("asker", "answerer")),
    Door("GET", "/v1/shelf/{name:path}", get_document, ("asker", "answerer")),
    Door("PUT", "/v1/shelf/{name:path}", put_document, ("asker", "answerer")),
    Door("GET", "/v1/events", events, ("asker", "answerer")),
    Door("GET", "/v1/me", me, ("asker", "answerer")),
    Door("GET", "/v1/openapi.json", openapi, ("asker", "answerer")),
    Door("GET", "/metrics", metrics, ("answerer",)),
    Door("GET", "/healthz", health, ()),
)


async def _known(service: Service, request: Request, token: Token) -> Entry:
    """The ask that the path names; one that the token may not know is as unknown as one that is not there."""
    ask_id: str = request.path_params["id"]
    entry = await service.desk.get(ask_id)
    if not token.knows(entry.ask):
        raise UnknownAsk(ask_id)
    return entry


async def _json_body(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "wrong-type")
    return await request.body()


def _read(service: Service, raw: bytes, kind: type[_T]) -> _T:
    return api.read(raw, kind, size=service.max_body, depth=service.limits.depth)


async def _apart(raw: bytes, read: Callable[[], _T]) -> _T:
    """Read a small body right here and a large one in a thread: it may take a second."""
    return read() if len(raw) < _SMALL else await asyncio.to_thread(read)


def _query(request: Request, *known: str) -> dict[str, str]:
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


def _one_of(query: dict[str, str], name: str, values: tuple[_T, ...], default: _T) -> _T:
    given = query.get(name, default)
    if given not in values:
        raise InvalidAsk([Problem(name, f"must be {' or '.join(map(str, values))}, is {quoted(given)}")])
    return values[values.index(given)]


def _limit(query: dict[str, str]) -> int:
    given = query.get("limit", "50")
    if not (given.isascii() and given.isdigit() and len(given) < 4 and 0 < int(given) <= MOST_ENTRIES):
        raise InvalidAsk([Problem("limit", f"must be a number from 1 to {MOST_ENTRIES}, is {quoted(given)}")])
    return int(given)


_SECONDS = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?", re.ASCII)


def _seconds(given: str, name: str = "wait") -> float:
    if not _SECONDS.fullmatch(given):
        raise InvalidAsk([Problem(name, f"must be a number of seconds, is {quoted(given)}")])
    return float(given)


def _entry(entry: Entry) -> api.EntryDocument:
    """With what the agent gets once it is settled."""
    document = api.entry_document(entry)
    if entry.settlement is None:
        return document
    outcome = entry.settlement.outcome
    if isinstance(entry.ask.body, Permission):
        return replace(document, result=permission.result(entry.ask.body, outcome))
    return replace(document, result=tool.result(entry.ask.body, outcome))


def _json(
    value: Struct,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    return Response(_encoder.encode(value), status, headers=headers, media_type="application/json")
