"""The desk's verbs over HTTP, for agents and programs on other machines and in other languages.

Who somebody is comes from their token, when something was from the server's clock; neither from what they send.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from askdesk.adapters.claude_hook import ClaudeHook, Mode, Visit
from askdesk.core import strict, work
from askdesk.core.checks import text_problems
from askdesk.core.desk import new_id
from askdesk.core.errors import InvalidAsk, InvalidReply, KeyReused, Problem, quoted
from askdesk.core.model import Ask, Entry, Permission, Questions
from askdesk.core.store import Page, State
from askdesk.server import shelf_rules
from askdesk.server.doors import Door
from askdesk.server.given import (
    LONGEST_WAIT,
    apart,
    check_rate,
    check_size,
    check_still_valid,
    json_answer,
    json_body,
    known_ask,
    one_of,
    query_of,
    read,
    seconds_of,
    with_result,
)
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.wire import api, hook, tool

_T = TypeVar("_T")

MOST_ENTRIES = 200
_STEP, _LARGE_PAGE = 20, 2_000_000  # asks, bytes
_MOST_LOOKED_AT = 1000
_MOST_COUNTED = 500
_LATEST = timedelta(days=40_000)  # beyond all who wait, and short of where calendars end
_LEFT_TO_HOOKS = 10.0  # seconds before the time when Claude Code gives up
_MODES: tuple[Mode, ...] = ("both", "desk")
_ID = re.compile(api.ID)
_encoder = msgspec.json.Encoder()


async def post_ask(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await json_body(service, request, token)
    check_rate(service.asks, token, len(raw))
    new, body = await apart(raw, partial(_new_ask, service, raw))
    shelf_rules.check_asker(token, new.asker)
    ask = await _posted(service, token, new, body)
    if ask.body is not body:  # asked before, under this id or key: the one that stands was not made here
        return json_answer(with_result(await service.desk.get(ask.id)))
    service.metrics.asks += 1
    return json_answer(with_result(Entry(ask)), 201, {"Location": f"/v1/asks/{ask.id}"})


async def _posted(service: Service, token: Token, new: api.NewAsk, body: Questions | Permission) -> Ask:
    """The ask that stands. Whether another's under the same id or key asks the same is nobody's to find out."""
    if new.collect:
        await shelf_rules.check_room(service, new.asker)
    put = service.desk.leave if new.collect else service.desk.post
    try:
        ask = await put(
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
        if new.collect:
            await service.desk.delivered(ask.id, new.asker)
    raise Refused(403, "forbidden", "this id or key is another's")


def _new_ask(service: Service, raw: bytes) -> tuple[api.NewAsk, Questions | Permission]:
    new = read(service, raw, api.NewAsk)
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
        return new, tool.parse({"questions": new.questions}, service.limits, size=len(raw))
    if isinstance(new.body, Permission):
        check_size(new.body)
    elif new.body.received is not None:
        _check_received(service, new.body, new.body.received)
    return new, new.body


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
    query = query_of(request, "state", "after", "limit", "newest", "text")
    state: State = one_of(query, "state", ("open", "settled"), "open")
    newest = one_of(query, "newest", ("true", "false"), "false") == "true"
    page = await known_page(
        service, token, state, after=query.get("after"), limit=_limit(query), newest=newest, text=query.get("text", "")
    )
    return json_answer(api.PageDocument(tuple(map(api.entry_document, page.entries)), page.after))


def _limit(query: dict[str, str]) -> int:
    given = query.get("limit", "50")
    if not (given.isascii() and given.isdigit() and len(given) < 4 and 0 < int(given) <= MOST_ENTRIES):
        raise InvalidAsk([Problem("limit", f"must be a number from 1 to {MOST_ENTRIES}, is {quoted(given)}")])
    return int(given)


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
    wait = seconds_of(query_of(request, "wait").get("wait", "0"))
    look = partial(known_ask, service, request, token)
    if not wait:
        return json_answer(with_result(await look()))
    waiting = service.desk.awaited(look, request.path_params["id"], timeout=min(wait, LONGEST_WAIT))
    try:
        entry = await service.streams.wait(token, waiting, request.scope) or await look()
    except Refused:  # who need not wait needs no place
        entry = await look()
        if entry.settlement is None:
            raise
    await check_still_valid(service, token)
    return json_answer(with_result(entry))


async def settle(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await json_body(service, request, token)
    new = await apart(raw, partial(read, service, raw, api.NewSettlement))
    if problems := text_problems("submission", new.submission, blank=False):  # the desk would make one up
        raise InvalidReply(problems)
    entry = await known_ask(service, request, token)
    settlement = await service.desk.settle(
        entry.ask.id,
        new.reply,
        by=token.name,
        surface=new.surface,
        submission=new.submission,
        digest=new.digest,
        entry=entry,
    )
    if entry.settlement is None:  # and not the same submission once more
        service.metrics.settlements[type(settlement.outcome).__name__.lower()] += 1
    return json_answer(settlement)


async def withdraw(service: Service, request: Request, token: Token) -> ASGIApp:
    raw = await json_body(service, request, token)
    new = await apart(raw, partial(read, service, raw, api.NewWithdrawal))
    entry = await known_ask(service, request, token)
    settlement = await service.desk.withdraw(entry.ask.id, new.reason)
    if entry.settlement is None:
        service.metrics.settlements["withdrawn"] += 1
    return json_answer(settlement)


async def claude_hook(service: Service, request: Request, token: Token) -> ASGIApp:
    """An event of Claude Code's, answered once there is a decision. It may name files: those of another machine."""
    query = query_of(request, "mode", "seconds")
    raw = await json_body(service, request, token)
    check_rate(service.asks, token, len(raw))
    event = await apart(raw, partial(_event, service, raw))
    if event.name == "Ping":
        return Response(b'{"pong":"server"}', media_type="application/json")
    shelf_rules.check_asker(token, event.asker())
    mode = one_of(query, "mode", _MODES, "both")
    left = max(seconds_of(query.get("seconds", "600"), "seconds") - _LEFT_TO_HOOKS, 1.0)
    return await _decided(service, request, token, Visit(event, mode, seconds=left))


async def _decided(service: Service, request: Request, token: Token, visit: Visit) -> ASGIApp:
    claude = ClaudeHook(service.desk, by=None, knows=token.knows)

    async def handled() -> bytes:
        return _encoder.encode(await claude.handled(visit) or {})

    reply = await service.streams.wait(token, handled(), request.scope)
    if reply is None:  # Claude Code does not come again, and asks in its dialog
        is_gone = request.scope["askdesk.connection"].is_gone
        await (claude.left(visit) if is_gone else claude.left(visit, "the server that Claude Code waited at stopped"))
        raise Refused(503, "stopping")
    await check_still_valid(service, token)
    return Response(reply, media_type="application/json")


def _event(service: Service, raw: bytes) -> hook.Event:
    event = hook.read(raw, size=service.limits.size, depth=service.limits.depth)
    if event.input and not event.asks_questions:
        check_size(Permission(event.tool or "tool", event.input))
    return event


async def expire(service: Service, request: Request, token: Token) -> ASGIApp:
    expired = await service.desk.store.expire(service.desk.now())
    if token.is_limited:
        entries = [await service.desk.store.get(ask_id) for ask_id in expired]
        expired = tuple(entry.ask.id for entry in entries if token.knows(entry.ask))
    return json_answer(api.ExpiryDocument(expired))


async def list_shelf(service: Service, request: Request, token: Token) -> ASGIApp:
    documents = await service.desk.shelf.list(query_of(request, "prefix").get("prefix", ""))
    known = [d for d in documents if await shelf_rules.may_read(service, token, d.name, d)]
    return json_answer(api.ShelfDocument(tuple(known)))


async def get_document(service: Service, request: Request, token: Token) -> ASGIApp:
    name: str = request.path_params["name"]
    if not await shelf_rules.may_read(service, token, name):
        shelf_rules.refuse(name)
    document = await service.desk.shelf.get(name)
    if document is None:
        raise Refused(404, "not-found")
    return json_answer(document)


async def put_document(service: Service, request: Request, token: Token) -> ASGIApp:
    name: str = request.path_params["name"]
    raw = await json_body(service, request, token)
    given = await apart(raw, partial(read, service, raw, api.NewDocument))
    if (new := await shelf_rules.written(service, token, name, given)) is None:
        return Response(status_code=204)
    document = await service.desk.shelf.put(name, new.value, expect=new.expect)
    if document and name.startswith(work.WORKING):  # agents cannot put away what people said
        await work.forget_old(service.desk.shelf, name.removeprefix(work.WORKING), service.desk.now())
    return json_answer(document) if document else Response(status_code=204)


async def events(service: Service, request: Request, token: Token) -> ASGIApp:
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await service.streams.serve(token, scope, receive, send)

    return stream


async def me(service: Service, request: Request, token: Token) -> ASGIApp:
    return json_answer(api.MeDocument(token.kind, token.name, token.projects, token.agents, token.expires))


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
    Door("GET", "/metrics", metrics, ("asker", "answerer")),
    Door("GET", "/healthz", health, ()),
)
