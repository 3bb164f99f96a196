"""The page's routes: real forms that work without a script, and fragments for the script that keeps them live."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote_plus, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from askdesk.core import strict
from askdesk.core.desk import new_id
from askdesk.core.errors import AlreadySettled, InvalidReply, UnknownAsk
from askdesk.core.model import Answered, Ask, Entry, Permission, Settlement
from askdesk.core.text import shown
from askdesk.server import stamps, tokens
from askdesk.server.api import events, known_page
from askdesk.server.doors import Door, cookie_name, cookie_of
from askdesk.server.problems import Refused, problem_of
from askdesk.server.service import Service
from askdesk.server.stamps import Seen
from askdesk.server.tokens import Kind, Token
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Form
from askdesk.surfaces.phrases import answers_line, subject
from askdesk.surfaces.texts import known, languages, say, speaking
from askdesk.surfaces.web import filled, views
from askdesk.surfaces.web.filled import Fields
from askdesk.surfaces.web.frame import FRAME_POLICY, frame_document
from askdesk.surfaces.web.render import render, static_files
from askdesk.surfaces.web.views import Filter, Listed

_T = TypeVar("_T")

_MOST_LISTED = 500
_MOST_FIELDS = 500
_LANGUAGE = "askdesk-language"
SURFACE = "page"


class Reader(NamedTuple):
    """Who looks at the page, and the proof that its forms are ours."""

    name: str
    form: str


class _Place(NamedTuple):
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

    async def asks(self) -> tuple[Ask, ...]:
        asks: list[Ask] = []
        after: str | None = None
        while len(asks) < _MOST_LISTED:  # a page may end early: where its asks are large, or mostly for others
            page = await known_page(self.service, self.token, "open", after=after, limit=_MOST_LISTED - len(asks))
            asks += (entry.ask for entry in page.entries)
            if (after := page.after) is None:
                break
        return tuple(asks)

    async def listed(self) -> Listed:
        return views.listed(await self.asks(), self.filter, self.service.desk.now())

    async def entry(self) -> Entry:
        entry = await self.service.desk.get(self.request.path_params["id"])
        if not self.token.knows(entry.ask):
            raise UnknownAsk(entry.ask.id)
        return entry

    async def html(self, template: str, status: int = 200, **values: Any) -> Response:
        around = {"reader": self.reader, "path": _path(self.request), "place": "", "count": 0}
        around |= {"current": "", "is_settled": False}
        # Apart from the event loop: an agent may have written more than is rendered in a moment.
        return HTMLResponse(await asyncio.to_thread(render, template, **{**around, **values}), status)


def _page(endpoint: Callable[[_Place], Awaitable[ASGIApp]]) -> Callable[[Service, Request, Token], Awaitable[ASGIApp]]:
    """A route of the page: in the reader's language, and with a token that lives on as long as it is used."""

    @wraps(endpoint)
    async def run(service: Service, request: Request, token: Token) -> ASGIApp:
        with speaking(language_of(request)):
            answer = await endpoint(_Place(service, request, token))
        if isinstance(answer, Response) and await tokens.renewed(service.desk.shelf, token, service.desk.now()):
            _set_cookie(service, answer, cookie_of(service, request))
        return answer

    return run


def language_of(request: Request) -> str:
    """The one that the reader chose, else the first one that their browser names and we speak."""
    if chosen := request.cookies.get(_LANGUAGE):
        return known(chosen)
    wanted = (part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(","))
    return next((known(name) for name in wanted if name.lower().split("-")[0] in languages()), "en")


@_page
async def inbox(place: _Place) -> ASGIApp:
    listed = await place.listed()
    return await place.html("desk.html", listed=listed, count=listed.all, entry=None, title="", place="open")


@_page
async def show_ask(place: _Place) -> ASGIApp:
    entry = await place.entry()
    before = await _draft(place, entry)
    return await _shown(place, entry, before=before, notice=say("web.restored") if before else "")


@_page
async def list_fragment(place: _Place) -> ASGIApp:
    """The list, and whether the ask that the reader looks at may have been settled."""
    asks = await place.asks()
    current = place.request.query_params.get("current", "")
    listed = views.listed(asks, place.filter, place.service.desk.now())
    is_settled = bool(current) and all(ask.id != current for ask in asks)
    return await place.html("_list.html", listed=listed, current=current, is_settled=is_settled)


@_page
async def ask_fragment(place: _Place) -> ASGIApp:
    entry = await place.entry()
    values = await _values(place, entry, before=await _draft(place, entry))
    return await place.html("_ask.html", **values)


async def _draft(place: _Place, entry: Entry) -> Draft | None:
    return await draft.kept(place.service.desk.shelf, entry.ask, place.token.name)


async def _shown(place: _Place, entry: Entry, *, status: int = 200, **given: Any) -> Response:
    values = await _values(place, entry, **given)
    listed = await place.listed()
    values |= {"listed": listed, "count": listed.all, "current": entry.ask.id, "title": subject(entry.ask)}
    return await place.html("desk.html", status, place="" if entry.settlement else "open", **values)


async def _values(
    place: _Place,
    entry: Entry,
    *,
    before: Draft | None = None,
    problem: str = "",
    notice: str = "",
    review: Form | None = None,
    changed: str = "",
) -> dict[str, Any]:
    """What the template of an ask needs, however it is shown."""
    ask = entry.ask
    values: dict[str, Any] = {
        "entry": entry,
        "age": views.ago(place.service.desk.now() - ask.created),
        "problem": problem,
        "notice": notice,
        "review": None,
        "submission": new_id(),
        "message": before.message if before else "",
        "restored": before is not None,
    }
    if entry.settlement:
        return {**values, **await _after(place, ask)}
    if ask.permission:
        return {**values, **await asyncio.to_thread(_permission, place, ask, ask.permission, before, changed)}
    form = Form(ask.questions, before.given) if before and before.given else Form.start(ask.questions)
    if review:
        return {**values, "review": views.review_of(review), "kept": _kept(place)}
    return {**values, "form": form}


def _permission(place: _Place, ask: Ask, permission: Permission, before: Draft | None, changed: str) -> dict[str, Any]:
    whole = place.request.query_params.get("all") == "1"
    call = views.change_of(permission, changed, whole=whole) if changed else views.call_of(permission, whole=whole)
    seen = Seen(permission.digest, stamps.mark(changed), call.is_whole, place.service.desk.now())
    asked = filled.asked_input(permission)
    return {
        "call": call,
        "whole": whole,
        "changed": changed,
        "stamp": stamps.stamp(place.key, ask.id, seen),
        "rules": views.rules_of(permission),
        "words": dict.fromkeys(filled.WORDED, "") | dict(before.words if before else ()),
        "input": before.input if before and before.input else asked,
        "input_changed": bool(before and before.input),
        "can_change": len(quote_plus(asked)) < place.service.max_body // 2,  # else no button of the form could be sent
    }


def _kept(place: _Place) -> list[tuple[str, str]]:
    """Everything that was filled in, to be sent on from the review."""
    fields: Fields = place.request.state.fields
    return [(name, value) for name, values in fields.items() if name not in ("action", "form") for value in values]


async def _after(place: _Place, ask: Ask) -> dict[str, Any]:
    """Beside how it ended: what was typed and not sent, and what is open still."""
    drafts = await draft.all_kept(place.service.desk.shelf, ask)
    following = next((other.id for other in await place.asks() if other.id != ask.id), None)
    return {"drafts": views.typed_of(ask, drafts), "following": following}


@_page
async def settle(place: _Place) -> ASGIApp:
    """A button was pressed. Whatever comes of it, what was filled in is not lost."""
    entry = await place.entry()
    fields = await _fields(place)
    typed = filled.draft_of(entry.ask, fields)
    try:
        if entry.settlement:
            return _again(entry.ask, entry.settlement, fields)
        if not _is_ours(place, fields):
            return await _shown(place, entry, status=403, before=typed, problem=say("web.older_page"))
        await draft.keep(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return await _acted(place, entry, filled.one(fields, "action"), fields, typed)
    except InvalidReply as error:
        return await _shown(place, entry, status=422, before=typed, problem=_problem(entry.ask, fields, error))
    except AlreadySettled:
        await draft.keep_apart(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return await _shown(place, await place.entry(), status=409)


def _again(ask: Ask, settlement: Settlement, fields: Fields) -> Response:
    """Settled before: by this very form, sent twice, or by somebody else."""
    if settlement.submission != filled.one(fields, "submission"):
        raise AlreadySettled(ask.id, settlement)
    return RedirectResponse(f"/asks/{ask.id}", 303)


def _problem(ask: Ask, fields: Fields, error: InvalidReply) -> str:
    """What is wrong, in the reader's language where it has words for it."""
    flaws = filled.flaws_of(ask, fields)
    return "\n".join(flaws) if flaws else str(error)


async def _acted(place: _Place, entry: Entry, action: str, fields: Fields, typed: Draft) -> Response:
    ask = entry.ask
    if action in ("draft", "back", "edit"):
        return await _shown(place, entry, before=typed, notice=say("web.draft_kept") if action == "draft" else "")
    if action == "check" and ask.permission:
        return await _shown(place, entry, before=typed, changed=filled.changed_input(ask.permission, fields))
    if ask.questions and action in ("send", "review", "send_reviewed"):
        form = filled.form_of(ask, fields)
        form.reply()  # says what does not fit
        if action == "review" or (action == "send" and form.blanks):
            return await _shown(place, entry, before=typed, review=form)
        action = "send"
    if ask.permission and filled.allows(action):
        changed = filled.changed_input(ask.permission, fields) if action == "run" else ""
        _check_seen(place, ask, ask.permission, changed, fields)
    await _settled(place, ask, action, fields)
    return RedirectResponse(f"/asks/{ask.id}", 303)


async def _settled(place: _Place, ask: Ask, action: str, fields: Fields) -> None:
    service = place.service
    reply = filled.reply_of(ask, action, fields)
    settlement = await service.desk.settle(
        ask.id,
        reply,
        by=place.token.name,
        surface=SURFACE,
        submission=filled.one(fields, "submission") or new_id(),
        digest=filled.one(fields, "digest") or None,
    )
    service.metrics.settlements[type(settlement.outcome).__name__.lower()] += 1
    await draft.keep(service.desk.shelf, ask, place.token.name, None)


def _check_seen(place: _Place, ask: Ask, permission: Permission, changed: str, fields: Fields) -> None:
    """Only what was shown whole, and long enough to be looked at, can be allowed."""
    seen = stamps.read(place.key, ask.id, filled.one(fields, "stamp"))
    if seen is None or (seen.digest, seen.changed) != (permission.digest, stamps.mark(changed)):
        raise InvalidReply(say("web.other_call"))
    if not seen.is_whole:
        raise InvalidReply(say("web.not_seen"))
    if seen.is_stale(place.service.desk.now()):
        raise InvalidReply(say("web.too_old"))
    if not seen.is_ripe(place.service.desk.now()):
        raise InvalidReply(say("web.too_quick"))


@_page
async def keep_draft(place: _Place) -> ASGIApp:
    entry = await place.entry()
    typed = filled.draft_of(entry.ask, await _our_fields(place))
    if entry.settlement is None:
        kept = await draft.keep(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return Response(status_code=204 if kept else 503)
    await draft.keep_apart(place.service.desk.shelf, entry.ask, place.token.name, typed)
    return Response(status_code=204)


@_page
async def preview(place: _Place) -> ASGIApp:
    """An option's HTML, for a frame: it runs nothing, loads nothing, leads nowhere."""
    ask = (await place.entry()).ask
    question = _numbered(ask.questions, place.request.path_params["question"])
    option = _numbered(question.options, place.request.path_params["option"])
    if ask.preview_format != "html" or option.preview is None:
        raise Refused(404, "not-found")
    headers = {"Content-Security-Policy": FRAME_POLICY, "X-Frame-Options": "SAMEORIGIN"}
    return HTMLResponse(frame_document(option.preview), headers=headers)


@_page
async def compare(place: _Place) -> ASGIApp:
    ask = (await place.entry()).ask
    question = _numbered(ask.questions, place.request.path_params["question"])
    q = ask.questions.index(question)
    numbers = [number for number, option in enumerate(question.options) if option.preview]
    if len(numbers) < 2:
        raise Refused(404, "not-found")
    a, b = (_chosen(place.request, name, numbers, numbers[at]) for at, name in enumerate(("a", "b")))
    return await place.html("compare.html", ask=ask, question=question, q=q, a=a, b=b, count=len(await place.asks()))


def _chosen(request: Request, name: str, numbers: list[int], default: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if given in map(str, numbers) else default


def _numbered(items: Sequence[_T], number: str) -> _T:
    if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(items)):
        raise Refused(404, "not-found")
    return items[int(number)]


@_page
async def settled(place: _Place) -> ASGIApp:
    names = ("q", "is", "agent", "project", "by")
    query = {name: place.request.query_params.get(name, "") for name in names}
    after = place.request.query_params.get("after")
    page = await known_page(
        place.service, place.token, "settled", after=after, newest=True, text=_search(query), limit=50
    )
    now = place.service.desk.now()
    rows = [views.row_of(entry, now) for entry in page.entries]
    further = urlencode({**{name: value for name, value in query.items() if value}, "after": page.after or ""})
    return await place.html(
        "settled.html",
        rows=rows,
        answers={entry.ask.id: _answers(entry) for entry in page.entries},
        query=query,
        further=further if page.after else "",
        count=len(await place.asks()),
        place="settled",
    )


def _search(query: Mapping[str, str]) -> str:
    """The words and the fields beside them, in the language of the search."""
    fields = [
        f'{name}:"{value}"' for name in ("is", "agent", "project", "by") if (value := query[name].replace('"', ""))
    ]
    return " ".join([*fields, query["q"]]).strip()  # in this order: a quote left open in the words ends with them


def _answers(entry: Entry) -> str:
    if entry.settlement and isinstance(entry.settlement.outcome, Answered):
        return answers_line(entry.ask, entry.settlement.outcome.answers)
    return ""


@_page
async def help_page(place: _Place) -> ASGIApp:
    return await place.html("keys.html", count=len(await place.asks()))


@_page
async def keys_fragment(place: _Place) -> ASGIApp:
    return await place.html("_keys.html")


async def sign_in(service: Service, request: Request, token: Token) -> ASGIApp:
    """A one-time link becomes a cookie, and the code leaves the address at once.

    Opened by a person, that is: what looks at links on its own, and pages that lead here, only get to see a button.
    """
    code = request.query_params.get("code", "")
    with speaking(language_of(request)):
        if not code:
            return _sign_in_page(request)
        if request.method != "GET" or request.headers.get("sec-fetch-site") != "none":
            return _message(request, say("web.sign_in_title"), [say("web.sign_in_ready")], 200, {}, code=code)
        return await _signed_in(service, request, code)


async def sign_in_by_hand(service: Service, request: Request, token: Token) -> ASGIApp:
    fields = _parsed(await request.body())
    if not _from_here(request):
        raise Refused(403, "wrong-origin")
    with speaking(language_of(request)):
        return await _signed_in(service, request, filled.one(fields, "code"))


async def _signed_in(service: Service, request: Request, code: str) -> Response:
    redeemed = await _redeemed(service, request, code)
    if redeemed is None:
        return _sign_in_page(request, used=True)
    if before := await tokens.found(service.desk.shelf, cookie_of(service, request), service.desk.now()):
        await tokens.revoke(service.desk.shelf, before.id, service.desk.now())  # nobody can come back to it
    answer = RedirectResponse("/", 303)
    _set_cookie(service, answer, redeemed[1])
    return answer


async def _redeemed(service: Service, request: Request, code: str) -> tuple[Token, str] | None:
    client = request.client.host if request.client else ""
    redeemed = await tokens.redeem(service.desk.shelf, code, service.desk.now())
    if redeemed is None and (seconds := service.failures.take(client)):
        raise Refused(429, "too-many", headers={"Retry-After": f"{seconds + 1:.0f}"})
    return redeemed


def _inside(path: str) -> str:
    """A path of ours, and no other address in its disguise."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isascii() and path.isprintable()
    return path if plain and "\\" not in path else "/"


@_page
async def sign_out(place: _Place) -> ASGIApp:
    await _our_fields(place)
    await tokens.revoke(place.service.desk.shelf, place.token.id, place.service.desk.now())
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(cookie_name(place.service), secure=place.service.is_secure, httponly=True, samesite="strict")
    return answer


async def language(service: Service, request: Request, token: Token) -> ASGIApp:
    fields = _parsed(await request.body())
    answer = RedirectResponse(_inside(filled.one(fields, "back") or "/"), 303)
    chosen = known(filled.one(fields, "language"))
    answer.set_cookie(_LANGUAGE, chosen, max_age=31_536_000, samesite="strict", secure=service.is_secure)
    return answer


async def static(service: Service, request: Request, token: Token) -> ASGIApp:
    file = static_files().get(request.path_params["name"])
    if file is None:
        raise Refused(404, "not-found")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.body, headers=headers, media_type=file.kind)


def refused(service: Service, request: Request, error: Exception) -> Response:
    """Why not, for a person."""
    problem = problem_of(error)
    headers = dict(error.headers) if isinstance(error, Refused) else {}
    with speaking(language_of(request)):
        if problem.status == 401:
            return _unknown_reader(request)
        if problem.status == 404:
            heading, lines = say("web.not_found"), [say("web.not_found_why")]
        elif problem.status >= 500:
            heading, lines = say("web.failed"), [say("web.failed_why"), shown(problem.title)]
        else:
            heading, lines = say("web.refused"), [shown(problem.title), shown(problem.detail)]
        return _message(request, heading, lines, problem.status, headers)


def _unknown_reader(request: Request) -> Response:
    site = request.headers.get("sec-fetch-site", "none")
    if site not in ("none", "same-origin") and request.method == "GET":
        # A strict cookie stays away when another site leads here; coming from ourselves brings it along.
        return HTMLResponse(render("opening.html", path=_path(request)))
    return _sign_in_page(request)


def _sign_in_page(request: Request, *, used: bool = False) -> Response:
    lines = [*([say("web.sign_in_used")] if used else []), say("web.sign_in_how")]
    return _message(request, say("web.sign_in_title"), lines, 401, {}, command="askdesk link")


def _message(
    request: Request,
    heading: str,
    lines: list[Any],
    status: int,
    headers: Mapping[str, str],
    command: str = "",
    code: str = "",
) -> Response:
    values = {"heading": heading, "lines": [line for line in lines if line], "command": command, "code": code}
    html = render("message.html", reader=None, path=_path(request), place="", count=0, **values)
    return HTMLResponse(html, status, headers=dict(headers))


def _path(request: Request) -> str:
    """Where to come back to: never with a code in it. What a form was sent to can be looked at, too."""
    path, query = request.url.path, request.url.query
    if path == "/sign-in" or (request.method != "GET" and request.scope["askdesk.route"] != "/asks/{id}"):
        return "/"
    return f"{path}?{query}" if query else path


def _set_cookie(service: Service, answer: Response, text: str) -> None:
    answer.set_cookie(
        cookie_name(service),
        text,
        max_age=int(tokens.PAGE_LIFE.total_seconds()),
        path="/",
        secure=service.is_secure,
        httponly=True,
        samesite="strict",
    )


async def _fields(place: _Place) -> Fields:
    """What was filled in, where it comes from our own page."""
    fields = _parsed(await place.request.body())
    if not _from_here(place.request):
        raise Refused(403, "wrong-origin")
    place.request.state.fields = fields
    return fields


def _from_here(request: Request) -> bool:
    """Whether a browser says that one of our pages sent it; which origin that is, the guard has looked at."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site") == "same-origin"


async def _our_fields(place: _Place) -> Fields:
    """What was filled in, where also the form is ours."""
    fields = await _fields(place)
    if not _is_ours(place, fields):
        raise Refused(403, "wrong-origin")
    return fields


def _is_ours(place: _Place, fields: Fields) -> bool:
    """Whether this browser was given the form, since it last signed in."""
    return stamps.is_form(place.key, filled.one(fields, "form"))


def _parsed(raw: bytes) -> Fields:
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


PAGE: tuple[Kind, ...] = ("page",)
DOORS = (
    Door("GET", "/", inbox, PAGE, refused),
    Door("GET", "/asks/{id}", show_ask, PAGE, refused),
    Door("POST", "/asks/{id}", settle, PAGE, refused),
    Door("POST", "/asks/{id}/draft", keep_draft, PAGE, refused),
    Door("GET", "/asks/{id}/previews/{question}/{option}", preview, PAGE, refused),
    Door("GET", "/asks/{id}/compare/{question}", compare, PAGE, refused),
    Door("GET", "/settled", settled, PAGE, refused),
    Door("GET", "/fragments/list", list_fragment, PAGE, refused),
    Door("GET", "/fragments/asks/{id}", ask_fragment, PAGE, refused),
    Door("GET", "/fragments/keys", keys_fragment, PAGE, refused),
    Door("GET", "/help", help_page, PAGE, refused),
    Door("GET", "/events", events, PAGE, refused),
    Door("POST", "/sign-out", sign_out, PAGE, refused),
    Door("GET", "/sign-in", sign_in, (), refused),
    Door("POST", "/sign-in", sign_in_by_hand, (), refused),
    Door("POST", "/language", language, (), refused),
    Door("GET", "/static/{name}", static, (), refused),
)
