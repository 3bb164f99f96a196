"""What every page needs to know of its request: who looks, in which language, and what they filled in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from askdesk.core import strict
from askdesk.core.errors import InvalidReply, UnknownAsk
from askdesk.core.model import Ask, Entry
from askdesk.server import stamps, tokens
from askdesk.server.api import known_page
from askdesk.server.doors import Endpoint, cookie_name, cookie_of
from askdesk.server.given import check_still_valid
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Kind, Token
from askdesk.surfaces.texts import known, languages, speaking
from askdesk.surfaces.web import filled, views
from askdesk.surfaces.web.filled import Fields
from askdesk.surfaces.web.render import render
from askdesk.surfaces.web.views import Filter, Listed

LANGUAGE = "askdesk-language"
PAGE: tuple[Kind, ...] = ("page",)
_MOST_LISTED = 500
_MOST_FIELDS = 500
_SENT_TO = ("/asks/{id}", "/agents/{address}")


class Reader(NamedTuple):
    """Who looks at the page, and the proof that its forms are ours."""

    name: str
    form: str


class Place(NamedTuple):
    """What every page needs to know of the request."""

    service: Service
    request: Request
    token: Token

    @property
    def key(self) -> str:
        return cookie_of(self.service, self.request)

    @property
    def reader(self) -> Reader:
        return Reader(self.token.name, stamps.form_proof(self.key))

    @property
    def filter(self) -> Filter:
        query = self.request.query_params
        order = "newest" if query.get("order") == "newest" else "oldest"
        return Filter(order, query.get("agent", ""), query.get("project", ""))

    async def listed(self) -> Listed:
        """The open asks that fit on a page, from the end at which the reader wants to begin."""
        asks: list[Ask] = []
        after: str | None = None
        newest = self.filter.order == "newest"
        while len(asks) < _MOST_LISTED:  # a page may end early: where its asks are large, or mostly for others
            limit = _MOST_LISTED - len(asks)
            some = await known_page(self.service, self.token, "open", after=after, newest=newest, limit=limit)
            asks += (entry.ask for entry in some.entries)
            if (after := some.after) is None:
                break
        working = [agent for agent in await self.service.desk.working() if self.token.takes(agent.asker)]
        return views.listed(asks, self.filter, self.service.desk.now(), working, is_cut=after is not None)

    async def entry(self, ask_id: str) -> Entry:
        entry = await self.service.desk.get(ask_id)
        if not self.token.knows(entry.ask):
            raise UnknownAsk(entry.ask.id)
        return entry

    async def html(self, template: str, status: int = 200, **values: Any) -> Response:
        around: dict[str, Any] = {"reader": self.reader, "path": path_of(self.request), "place": "", "count": "0"}
        around |= {"current": "", "is_settled": False}
        # Apart from the event loop: an agent may have written more than is rendered in a moment.
        return HTMLResponse(await asyncio.to_thread(render, template, **{**around, **values}), status)


def page(endpoint: Callable[[Place], Awaitable[ASGIApp]]) -> Endpoint:
    """A route of the page: in the reader's language, and with a token that lives on as long as it is used."""

    @wraps(endpoint)
    async def run(service: Service, request: Request, token: Token) -> ASGIApp:
        with speaking(language_of(request)):
            answer = await endpoint(Place(service, request, token))
        if isinstance(answer, Response) and await tokens.renewed(service.desk.shelf, token, service.desk.now()):
            service.recent.forget(token)
            set_cookie(service, answer, cookie_of(service, request))
        return answer

    return run


def language_of(request: Request) -> str:
    """The one that the reader chose, else the first one that their browser names and we speak."""
    if chosen := request.cookies.get(LANGUAGE):
        return known(chosen)
    wanted = (part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(","))
    return next((known(name) for name in wanted if name.lower().split("-")[0] in languages()), "en")


def path_of(request: Request) -> str:
    """Where to come back to: never with a code in it. What a form was sent to can be looked at, too."""
    path, query = request.url.path, request.url.query
    if path == "/sign-in" or (request.method != "GET" and request.scope["askdesk.route"] not in _SENT_TO):
        return "/"
    return f"{path}?{query}" if query else path


def set_cookie(service: Service, answer: Response, text: str) -> None:
    answer.set_cookie(
        cookie_name(service),
        text,
        max_age=int(tokens.PAGE_LIFE.total_seconds()),
        path="/",
        secure=service.is_secure,
        httponly=True,
        samesite="strict",
    )


async def fields_of(place: Place) -> Fields:
    """What was filled in, where it comes from our own page."""
    fields = parsed(await place.request.body())
    await check_still_valid(place.service, place.token)  # a body may take its time
    if not is_from_here(place.request):
        raise Refused(403, "wrong-origin")
    place.request.state.fields = fields
    return fields


async def our_fields(place: Place) -> Fields:
    """What was filled in, where also the form is ours."""
    fields = await fields_of(place)
    if not is_ours(place, fields):
        raise Refused(403, "wrong-origin")
    return fields


def is_from_here(request: Request) -> bool:
    """Whether a browser says that one of our pages sent it; which origin that is, the guard has looked at."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site") == "same-origin"


def is_ours(place: Place, fields: Fields) -> bool:
    """Whether this browser was given the form, since it last signed in."""
    return stamps.is_form(place.key, filled.one(fields, "form"))


def parsed(raw: bytes) -> Fields:
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except (ValueError, UnicodeError):
        raise Refused(400, "not-json", "the form cannot be read") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if flaw := strict.text_flaw(value):
            raise InvalidReply(flaw)
        fields.setdefault(name, []).append(value)
    return fields
