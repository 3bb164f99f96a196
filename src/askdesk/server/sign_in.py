"""Coming in and going out: one-time links, the cookie, the language, and why somebody is not let in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from askdesk.core.text import shown
from askdesk.server import tokens
from askdesk.server.doors import Door, cookie_name, cookie_of
from askdesk.server.place import (
    LANGUAGE,
    PAGE,
    Place,
    is_from_here,
    language_of,
    our_fields,
    page,
    parsed,
    path_of,
    set_cookie,
)
from askdesk.server.problems import Refused, problem_of
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.surfaces.texts import known, say, speaking
from askdesk.surfaces.web import filled
from askdesk.surfaces.web.render import render


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
    fields = parsed(await request.body())
    if not is_from_here(request):
        raise Refused(403, "wrong-origin")
    with speaking(language_of(request)):
        return await _signed_in(service, request, filled.one(fields, "code"))


async def _signed_in(service: Service, request: Request, code: str) -> Response:
    redeemed = await _redeemed(service, request, code)
    if redeemed is None:
        return _sign_in_page(request, used=True)
    if before := await tokens.found(service.desk.shelf, cookie_of(service, request), service.desk.now()):
        await _revoke(service, before)  # nobody can come back to it
    answer = RedirectResponse("/", 303)
    set_cookie(service, answer, redeemed[1])
    return answer


async def _redeemed(service: Service, request: Request, code: str) -> tuple[Token, str] | None:
    client = request.client.host if request.client else ""
    redeemed = await tokens.redeem(service.desk.shelf, code, service.desk.now())
    if redeemed is None and (seconds := service.failures.take(client)):
        raise Refused(429, "too-many", headers={"Retry-After": f"{seconds + 1:.0f}"})
    return redeemed


@page
async def sign_out(place: Place) -> ASGIApp:
    await our_fields(place)
    await _revoke(place.service, place.token)
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(cookie_name(place.service), secure=place.service.is_secure, httponly=True, samesite="strict")
    return answer


async def _revoke(service: Service, token: Token) -> None:
    """At this server from now on, at others in a moment."""
    await tokens.revoke(service.desk.shelf, token.id, service.desk.now())
    service.recent.forget(token)


async def language(service: Service, request: Request, token: Token) -> ASGIApp:
    fields = parsed(await request.body())
    answer = RedirectResponse(_inside(filled.one(fields, "back") or "/"), 303)
    chosen = known(filled.one(fields, "language"))
    answer.set_cookie(LANGUAGE, chosen, max_age=31_536_000, samesite="strict", secure=service.is_secure)
    return answer


def _inside(path: str) -> str:
    """A path of ours, and no other address in its disguise."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isascii() and path.isprintable()
    return path if plain and "\\" not in path else "/"


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
        return HTMLResponse(render("opening.html", path=path_of(request)))
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
    html = render("message.html", reader=None, path=path_of(request), place="", count="0", **values)
    return HTMLResponse(html, status, headers=dict(headers))


DOORS = (
    Door("GET", "/sign-in", sign_in, (), refused),
    Door("POST", "/sign-in", sign_in_by_hand, (), refused),
    Door("POST", "/sign-out", sign_out, PAGE, refused),
    Door("POST", "/language", language, (), refused),
)
