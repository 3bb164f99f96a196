"""The page of one agent at work: a box to tell it something or to stop it, and what it was told lately."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from askdesk.core import work
from askdesk.core.desk import new_id
from askdesk.core.errors import InvalidReply, UnknownAsk
from askdesk.core.model import Ask
from askdesk.core.text import Shown
from askdesk.core.work import Working
from askdesk.server import stamps
from askdesk.server.doors import Door
from askdesk.server.place import PAGE, Place, fields_of, is_ours, page
from askdesk.server.problems import Refused
from askdesk.server.sign_in import refused
from askdesk.surfaces.telling import since_words
from askdesk.surfaces.texts import say
from askdesk.surfaces.web import filled
from askdesk.surfaces.web.agents import Telling, told_rows
from askdesk.surfaces.web.filled import Fields

SURFACE = "page"


@page
async def show_agent(place: Place) -> ASGIApp:
    return await _shown(place, await _known(place))


@page
async def agent_fragment(place: Place) -> ASGIApp:
    """What it was told, and whether it has it."""
    working = await _known(place, place.request.query_params.get("given", ""))
    return await place.html("_told.html", telling=await _telling(place, working))


@page
async def tell(place: Place) -> ASGIApp:
    """A button was pressed. Whatever comes of it, what was typed is not lost."""
    fields = await fields_of(place)
    working = await _known(place, filled.one(fields, "given"))
    text = filled.one(fields, "text")
    try:
        if not is_ours(place, fields):
            return await _shown(place, working, status=403, text=text, problem=say("web.older_page"))
        await _tell(place, fields, text)
    except InvalidReply as error:
        return await _shown(place, working, status=422, text=text, problem=str(error))
    if working is None:  # it went meanwhile, and may not be found again
        return await _shown(place, None)
    return RedirectResponse(await _back(place, working, fields), 303)


async def _tell(place: Place, fields: Fields, text: str) -> None:
    stop = filled.one(fields, "action") == "stop"
    submission = filled.one(fields, "submission") or None
    await place.service.desk.tell(
        _address(place), text, stop=stop, by=place.token.name, surface=SURFACE, submission=submission
    )


async def telling_beside(place: Place, ask: Ask) -> Telling | None:
    """The box for the page of an ask: only where its asker is at work, for else nobody may ever hear it."""
    working = await work.at_work(place.service.desk.shelf, work.address(ask.asker), place.service.desk.now())
    return (await _telling(place, working, address=working.address))._replace(ask=ask.id) if working else None


def _address(place: Place) -> str:
    return str(place.request.path_params["address"])


async def _known(place: Place, given: str = "") -> Working | None:
    """The agent that the path names; None where it is away.

    An address says nothing of who was there: one that is away is known to those who were given its box while it was
    not, and to those who may know every agent.
    """
    desk, address = place.service.desk, _address(place)
    working = await work.at_work(desk.shelf, address, desk.now())
    if working is None and stamps.is_given(place.key, address, given):
        return None
    if working is None and not place.token.is_limited and await work.told(desk.shelf, address):
        return None
    if working is None or not place.token.takes(working.asker):
        raise Refused(404, "not-found")
    return working


async def _telling(place: Place, working: Working | None, *, address: str = "") -> Telling:
    desk, address = place.service.desk, address or _address(place)
    return Telling(
        address,
        working.asker if working else None,
        since_words(working, desk.now()) if working else Shown(""),
        told_rows(await work.told(desk.shelf, address), desk.now()),
        stamps.given(place.key, address),
        new_id(),
    )


async def _shown(
    place: Place, working: Working | None, *, status: int = 200, text: str = "", problem: str = ""
) -> Response:
    listed = await place.listed()
    telling = (await _telling(place, working))._replace(text=text, problem=problem)
    return await place.html(
        "agent.html", status, telling=telling, listed=listed, count=listed.total, current=telling.address
    )


async def _back(place: Place, working: Working, fields: Fields) -> str:
    """To the ask beside which the box stood, else to the agent."""
    try:
        ask = (await place.entry(filled.one(fields, "ask"))).ask
    except UnknownAsk:
        return f"/agents/{working.address}"
    return f"/asks/{ask.id}#tell" if work.address(ask.asker) == working.address else f"/agents/{working.address}"


DOORS = (
    Door("GET", "/agents/{address}", show_agent, PAGE, refused),
    Door("POST", "/agents/{address}", tell, PAGE, refused),
    Door("GET", "/fragments/agents/{address}", agent_fragment, PAGE, refused),
)
