"""The page's routes but for those of one ask: real forms that work without a script, and fragments for the script."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from askdesk.core.errors import UnknownAsk
from askdesk.core.model import Answered, Entry
from askdesk.server.api import events, known_page
from askdesk.server.doors import Door
from askdesk.server.place import PAGE, Place, page
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.sign_in import refused
from askdesk.server.tokens import Token
from askdesk.surfaces.phrases import answers_line
from askdesk.surfaces.web import views
from askdesk.surfaces.web.render import static_files


@page
async def inbox(place: Place) -> ASGIApp:
    listed = await place.listed()
    return await place.html("desk.html", listed=listed, count=listed.total, entry=None, title="", place="open")


@page
async def list_fragment(place: Place) -> ASGIApp:
    """The list, and whether the ask that the reader looks at was settled meanwhile."""
    listed = await place.listed()
    current = place.request.query_params.get("current", "")
    is_settled = all(row.id != current for row in listed.rows) and await _is_settled(place, current)
    return await place.html("_list.html", listed=listed, current=current, is_settled=is_settled)


async def _is_settled(place: Place, ask_id: str) -> bool:
    try:
        return (await place.entry(ask_id)).settlement is not None
    except UnknownAsk:
        return False


@page
async def settled(place: Place) -> ASGIApp:
    names = ("q", "is", "agent", "project", "by")
    query = {name: place.request.query_params.get(name, "") for name in names}
    after = place.request.query_params.get("after")
    found = await known_page(
        place.service, place.token, "settled", after=after, newest=True, text=_search(query), limit=50
    )
    now = place.service.desk.now()
    rows = [views.row_of(entry, now) for entry in found.entries]
    further = urlencode({**{name: value for name, value in query.items() if value}, "after": found.after or ""})
    return await place.html(
        "settled.html",
        rows=rows,
        answers={entry.ask.id: _answers(entry) for entry in found.entries},
        query=query,
        further=further if found.after else "",
        count=(await place.listed()).total,
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


@page
async def help_page(place: Place) -> ASGIApp:
    return await place.html("keys.html", count=(await place.listed()).total)


@page
async def keys_fragment(place: Place) -> ASGIApp:
    return await place.html("_keys.html")


async def static(service: Service, request: Request, token: Token) -> ASGIApp:
    file = static_files().get(request.path_params["name"])
    if file is None:
        raise Refused(404, "not-found")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.body, headers=headers, media_type=file.kind)


DOORS = (
    Door("GET", "/", inbox, PAGE, refused),
    Door("GET", "/settled", settled, PAGE, refused),
    Door("GET", "/fragments/list", list_fragment, PAGE, refused),
    Door("GET", "/fragments/keys", keys_fragment, PAGE, refused),
    Door("GET", "/help", help_page, PAGE, refused),
    Door("GET", "/events", events, PAGE, refused),
    Door("GET", "/static/{name}", static, (), refused),
)
