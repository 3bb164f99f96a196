"""The tools that an MCP host calls: ask and wait, ask for a permission, ask and go on, collect what was answered.

Knows the desk and what a host can do, not the mcp library. An ask is shown in the host's own dialog, where it has one,
and on the desk's surfaces; the first answer wins. Whatever breaks is told as no answer, in plain words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from askdesk.adapters.mcp_dialog import Caller, Place, Showing, State, Wanted
from askdesk.adapters.mcp_waiting import take_back, telling
from askdesk.core import owed, strict, work
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError, InvalidAsk, Problem, UnknownAsk, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import (
    Allowed,
    Answered,
    Ask,
    Asker,
    Entry,
    Permission,
    PreviewFormat,
    Questions,
    Settlement,
)
from askdesk.wire import mcp, permission, tool

log = logging.getLogger("askdesk")

_UNFIT = "NOT ASKED: the call breaks these rules; mend it and call again.\n{}"
_UNASKED = "NOT ANSWERED: nobody could be asked. This is not an answer and not consent: do not work around it."
_NO_TOOL = "There is no tool {}."
_STILL_OPEN = (
    "STILL OPEN: nobody has answered yet, and this call may not wait any longer. This is no answer and no consent. "
    "Ask id {id}. To go on waiting, call {tool} again with the same arguments and this ask_id; or go on with work that "
    "does not depend on it and fetch the answer with collect_answers. The user can answer {where}."
)
_LEFT = (
    "ASKED: ask id {id}. Go on with other work; collect_answers has the answer once there is one. The user can answer "
    "{where}."
)
_NOTHING = "NOTHING NEW: nobody has answered since. Still open: {}."
_NOTHING_LEFT = "NOTHING NEW: nothing that you asked is open or waits to be collected."


class Told(NamedTuple):
    """What the model reads."""

    text: str
    is_error: bool = False


class DeskTools:
    """`asker` makes an asker of a host's name. `seconds` is how long any host waits, where that is known better."""

    def __init__(
        self,
        desk: Desk,
        asker: Callable[[str], Asker],
        place: Place,
        *,
        limits: Limits = OPEN,
        previews: PreviewFormat = "markdown",
        deadline: timedelta | None = None,
        seconds: float | None = None,
        tell_every: float = 15.0,
    ) -> None:
        self._desk, self._asker, self._tell_every = desk, asker, tell_every
        self._limits, self._previews, self._deadline = limits, previews, deadline
        self._showing = Showing(desk, place, seconds)
        self.is_ending = False  # then what is cancelled stays open, for nobody took it back
        self.tools = mcp.tools(limits, previews)

    async def call(self, name: str, given: Mapping[str, Any], caller: Caller) -> Told | Wanted:
        try:
            async with telling(caller.tell, self._tell_every):
                return await self._called(name, given, caller)
        except InvalidAsk as error:
            return Told(_UNFIT.format(error), is_error=True)
        except UnknownAsk as error:
            return Told(_UNFIT.format(f"ask_id: {error}"), is_error=True)
        except AskdeskError as error:
            log.error("nobody could be asked: %s", error)
        except Exception:  # a host would show its text to the model
            log.exception("nobody could be asked")
        return Told(_UNASKED, is_error=True)

    async def _called(self, name: str, given: Mapping[str, Any], caller: Caller) -> Told | Wanted:
        asker = self._asker(caller.name)
        if name == mcp.COLLECT:
            return await self._collected(given, caller, asker)
        if name not in (mcp.ASK, mcp.PERMIT, mcp.LEAVE):
            return Told(_NO_TOOL.format(quoted(name)), is_error=True)
        ask_id = _text(given, "ask_id")
        arguments = {field: value for field, value in given.items() if field != "ask_id"}
        body = self._permission(arguments, asker) if name == mcp.PERMIT else tool.parse(arguments, self._limits)
        if name == mcp.LEAVE:
            ask = await self._left(body, asker)
            return Told(_LEFT.format(id=ask.id, where=await self._showing.where(ask)))
        return await self._asked(name, body, ask_id, caller, asker)

    def _permission(self, given: Mapping[str, Any], asker: Asker) -> Permission:
        name, value, reason = given.get("tool_name"), given.get("input"), given.get("reason") or ""
        problems = [
            *([] if isinstance(name, str) else [Problem("tool_name", f"must be text, is {quoted(name)}")]),
            *([] if isinstance(value, Mapping) else [Problem("input", f"must be an object, is {quoted(value)}")]),
            *([] if isinstance(reason, str) else [Problem("reason", f"must be text, is {quoted(reason)}")]),
        ]
        strangers = [key for key in given if key not in ("tool_name", "input", "reason")]
        problems += [Problem(quoted(key), "is not a parameter; they are tool_name, input, reason") for key in strangers]
        if problems:
            raise InvalidAsk(problems)
        return Permission(str(name), dict(value or {}), asker.project, str(reason))

    async def _left(self, body: Questions | Permission, asker: Asker, ask_id: str | None = None) -> Ask:
        return await self._desk.leave(
            body,
            asker=asker,
            deadline=self._deadline,
            preview_format=self._previews if isinstance(body, Questions) else "none",
            call=_digest(body),
            id=ask_id,
        )

    async def _asked(
        self, name: str, body: Questions | Permission, ask_id: str, caller: Caller, asker: Asker
    ) -> Told | Wanted:
        there = ask_id or new_id()  # known before it is kept, so that it can be taken back at any moment
        try:
            entry = await self._entry(body, ask_id, there, caller, asker)
            there = entry.ask.id
            settled = entry.settlement or await self._showing.settled(entry.ask, caller)
        except BaseException:  # the host takes its call back, or something broke: then it is told that nobody answered
            if not self.is_ending and not caller.is_gone():
                await take_back(self._desk, there, asker)
            raise
        if isinstance(settled, Wanted):
            return settled
        if settled is None:
            return Told(_STILL_OPEN.format(id=entry.ask.id, tool=name, where=await self._showing.where(entry.ask)))
        if entry.settlement:
            await self._showing.keep_late(entry.ask, caller)
        self._showing.forget(entry.ask)
        await self._desk.delivered(entry.ask.id, asker)
        return _told(entry.ask, settled)

    async def _entry(self, body: Questions | Permission, ask_id: str, new: str, caller: Caller, asker: Asker) -> Entry:
        """The ask that a call is about: named, brought back, asked before and undelivered, or new."""
        if caller.state is not None:
            return await self._desk.get(State.of(caller.state).ask)
        if ask_id:
            return await self._known(ask_id, asker)
        call = _digest(body)
        for found in await owed.owed_to(self._desk.shelf, asker):
            if found.call == call:
                with suppress(UnknownAsk):
                    return await self._desk.get(found.ask)
        return Entry(await self._left(body, asker, new))

    async def _known(self, ask_id: str, asker: Asker) -> Entry:
        entry = await self._desk.get(ask_id)
        if work.address(entry.ask.asker) != work.address(asker):
            raise UnknownAsk(ask_id)
        return entry

    async def _collected(self, given: Mapping[str, Any], caller: Caller, asker: Asker) -> Told:
        if ask_id := _text(given, "ask_id"):
            return await self._waited(await self._known(ask_id, asker), caller, asker, wait=given.get("wait", True))
        patience = self._showing.patience(caller) if given.get("wait") else 0
        left = await self._desk.left_by(asker, timeout=patience)
        told = [f"Ask id {e.ask.id}. {_told(e.ask, e.settlement).text}" for e in left.settled if e.settlement]
        still_open = ", ".join(ask.id for ask in left.open)
        for entry in left.settled:
            await self._desk.delivered(entry.ask.id, asker)
        if told:
            return Told("\n\n".join([*told, *([f"Still open: {still_open}."] if still_open else [])]))
        return Told(_NOTHING.format(still_open) if still_open else _NOTHING_LEFT)

    async def _waited(self, entry: Entry, caller: Caller, asker: Asker, *, wait: object) -> Told:
        patience = self._showing.patience(caller) if wait else 0
        settlement = entry.settlement or await self._showing.at_desk(entry.ask, patience)
        if settlement is None:
            return Told(
                _STILL_OPEN.format(id=entry.ask.id, tool=mcp.COLLECT, where=await self._showing.where(entry.ask))
            )
        await self._desk.delivered(entry.ask.id, asker)
        return _told(entry.ask, settlement)


def _told(ask: Ask, settlement: Settlement) -> Told:
    outcome = settlement.outcome
    is_error = not isinstance(outcome, Answered | Allowed)
    if isinstance(ask.body, Questions):
        return Told(tool.text(ask.body, outcome), is_error)
    text = permission.text(outcome)
    if isinstance(outcome, Allowed) and outcome.input is not None:
        text = f"{text} It is: {strict.dumps(permission.released(ask.body, outcome))}"
    return Told(text, is_error)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str):
        raise InvalidAsk([Problem(name, f"must be text, is {quoted(value)}")])
    return value


def _digest(body: Questions | Permission) -> str:
    """The same for the same call, however it was written down."""
    if isinstance(body, Permission):
        return body.digest
    return f"sha256:{sha256(strict.dumps(tool.written(body)).encode()).hexdigest()}"
