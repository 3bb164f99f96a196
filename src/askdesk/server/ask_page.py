"""The page of one ask: shown, filled in, sent; its previews; and the fragment that keeps it live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote_plus

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from askdesk.core.desk import new_id
from askdesk.core.errors import AlreadySettled, InvalidReply
from askdesk.core.model import Ask, Entry, Permission, Settlement
from askdesk.server import stamps
from askdesk.server.agent_page import telling_beside
from askdesk.server.doors import Door
from askdesk.server.place import PAGE, Place, fields_of, is_ours, our_fields, page
from askdesk.server.problems import Refused
from askdesk.server.sign_in import refused
from askdesk.server.stamps import Seen
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Form
from askdesk.surfaces.phrases import subject
from askdesk.surfaces.texts import say
from askdesk.surfaces.web import filled, views
from askdesk.surfaces.web.filled import Fields
from askdesk.surfaces.web.frame import FRAME_POLICY, frame_document

_T = TypeVar("_T")
SURFACE = "page"


@page
async def show_ask(place: Place) -> ASGIApp:
    entry = await _entry(place)
    before = await _draft(place, entry)
    return await _shown(place, entry, before=before, notice=say("web.restored") if before else "")


@page
async def ask_fragment(place: Place) -> ASGIApp:
    entry = await _entry(place)
    values = await _values(place, entry, before=await _draft(place, entry))
    return await place.html("_ask.html", **values)


async def _entry(place: Place) -> Entry:
    return await place.entry(place.request.path_params["id"])


async def _draft(place: Place, entry: Entry) -> Draft | None:
    return await draft.kept(place.service.desk.shelf, entry.ask, place.token.name)


async def _shown(place: Place, entry: Entry, *, status: int = 200, **given: Any) -> Response:
    values = await _values(place, entry, **given)
    listed = await place.listed()
    values |= {"listed": listed, "count": listed.total, "current": entry.ask.id, "title": subject(entry.ask)}
    values["telling"] = await telling_beside(place, entry.ask)
    return await place.html("desk.html", status, place="" if entry.settlement else "open", **values)


async def _values(
    place: Place,
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


def _permission(place: Place, ask: Ask, permission: Permission, before: Draft | None, changed: str) -> dict[str, Any]:
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


def _kept(place: Place) -> list[tuple[str, str]]:
    """Everything that was filled in, to be sent on from the review."""
    fields: Fields = place.request.state.fields
    return [(name, value) for name, values in fields.items() if name not in ("action", "form") for value in values]


async def _after(place: Place, ask: Ask) -> dict[str, Any]:
    """Beside how it ended: what was typed and not sent, and what is open still."""
    drafts = await draft.all_kept(place.service.desk.shelf, ask)
    following = next((row.id for row in (await place.listed()).rows if row.id != ask.id), None)
    return {"drafts": views.typed_of(ask, drafts), "following": following}


@page
async def settle(place: Place) -> ASGIApp:
    """A button was pressed. Whatever comes of it, what was filled in is not lost."""
    entry = await _entry(place)
    fields = await fields_of(place)
    typed = filled.draft_of(entry.ask, fields)
    try:
        if entry.settlement:
            return _again(entry.ask, entry.settlement, fields)
        if not is_ours(place, fields):
            return await _shown(place, entry, status=403, before=typed, problem=say("web.older_page"))
        await draft.keep(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return await _acted(place, entry, filled.one(fields, "action"), fields, typed)
    except InvalidReply as error:
        return await _shown(place, entry, status=422, before=typed, problem=_problem(entry.ask, fields, error))
    except AlreadySettled:
        await draft.keep_apart(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return await _shown(place, await _entry(place), status=409)


def _again(ask: Ask, settlement: Settlement, fields: Fields) -> Response:
    """Settled before: by this very form, sent twice, or by somebody else."""
    if settlement.submission != filled.one(fields, "submission"):
        raise AlreadySettled(ask.id, settlement)
    return RedirectResponse(f"/asks/{ask.id}", 303)


def _problem(ask: Ask, fields: Fields, error: InvalidReply) -> str:
    """What is wrong, in the reader's language where it has words for it."""
    flaws = filled.flaws_of(ask, fields)
    return "\n".join(flaws) if flaws else str(error)


async def _acted(place: Place, entry: Entry, action: str, fields: Fields, typed: Draft) -> Response:
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


async def _settled(place: Place, ask: Ask, action: str, fields: Fields) -> None:
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


def _check_seen(place: Place, ask: Ask, permission: Permission, changed: str, fields: Fields) -> None:
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


@page
async def keep_draft(place: Place) -> ASGIApp:
    entry = await _entry(place)
    typed = filled.draft_of(entry.ask, await our_fields(place))
    if entry.settlement is None:
        kept = await draft.keep(place.service.desk.shelf, entry.ask, place.token.name, typed)
        return Response(status_code=204 if kept else 503)
    await draft.keep_apart(place.service.desk.shelf, entry.ask, place.token.name, typed)
    return Response(status_code=204)


@page
async def preview(place: Place) -> ASGIApp:
    """An option's HTML, for a frame: it runs nothing, loads nothing, leads nowhere."""
    ask = (await _entry(place)).ask
    question = _numbered(ask.questions, place.request.path_params["question"])
    option = _numbered(question.options, place.request.path_params["option"])
    if ask.preview_format != "html" or option.preview is None:
        raise Refused(404, "not-found")
    headers = {"Content-Security-Policy": FRAME_POLICY, "X-Frame-Options": "SAMEORIGIN"}
    return HTMLResponse(frame_document(option.preview), headers=headers)


@page
async def compare(place: Place) -> ASGIApp:
    ask = (await _entry(place)).ask
    question = _numbered(ask.questions, place.request.path_params["question"])
    q = ask.questions.index(question)
    numbers = [number for number, option in enumerate(question.options) if option.preview]
    if len(numbers) < 2:
        raise Refused(404, "not-found")
    a, b = (_chosen(place.request, name, numbers, numbers[at]) for at, name in enumerate(("a", "b")))
    return await place.html(
        "compare.html", ask=ask, question=question, q=q, a=a, b=b, count=(await place.listed()).total
    )


def _chosen(request: Request, name: str, numbers: list[int], default: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if given in map(str, numbers) else default


def _numbered(items: Sequence[_T], number: str) -> _T:
    if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(items)):
        raise Refused(404, "not-found")
    return items[int(number)]


DOORS = (
    Door("GET", "/asks/{id}", show_ask, PAGE, refused),
    Door("POST", "/asks/{id}", settle, PAGE, refused),
    Door("POST", "/asks/{id}/draft", keep_draft, PAGE, refused),
    Door("GET", "/asks/{id}/previews/{question}/{option}", preview, PAGE, refused),
    Door("GET", "/asks/{id}/compare/{question}", compare, PAGE, refused),
    Door("GET", "/fragments/asks/{id}", ask_fragment, PAGE, refused),
)
