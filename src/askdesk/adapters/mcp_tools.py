"""The tools that an MCP host calls: ask and wait, ask for a permission, ask and go on, collect what was answered.

Knows the desk and what a host can do, not the mcp library. An ask is shown in the host's own dialog, where it has one,
and on the desk's surfaces; the first answer wins. Whatever breaks is told as no answer, in plain words.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

from askdesk.adapters.mcp_dialog import Caller, Place, Showing, State, Wanted
from askdesk.adapters.mcp_waiting import take_back, telling
from askdesk.core import owed, strict, work
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError, InvalidAsk, Problem, UnknownAsk, named, quoted
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
from askdesk.wire.words import quote

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


_LEFT_MARK = "left "  # before the digest of what was asked without waiting

Admit: TypeAlias = Callable[["Questions | Permission", Asker], Awaitable[None]]


class Told(NamedTuple):
    """What the model reads."""

    text: str
    is_error: bool = False


class DeskTools:
    """`asker` makes an asker of a host's name; `admit` may refuse a new ask; `seconds` is how long hosts wait.

    The same call again goes on with the ask that is open or whose end is not delivered yet, instead of asking twice.
    """

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
        admit: Admit | None = None,
    ) -> None:
        self._desk, self._asker, self._tell_every, self._admit = desk, asker, tell_every, admit
        self._limits, self._previews, self._deadline = limits, previews, deadline
        self._showing = Showing(desk, place, seconds)
        self._finding = asyncio.Lock()  # so that the same call twice at once is one ask
        self._waiting: Counter[str] = Counter()  # calls that wait for an ask
        self._handed_over: dict[str, asyncio.Task[None]] = {}  # ends that are told, and not yet marked as delivered
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
            return await self._collected(_Collecting.of(given), caller, asker)
        if name not in (mcp.ASK, mcp.PERMIT, mcp.LEAVE):
            return Told(_NO_TOOL.format(quoted(name)), is_error=True)
        ask_id = _text(given, "ask_id") if name != mcp.LEAVE else ""
        arguments = {field: value for field, value in given.items() if field != "ask_id" or name == mcp.LEAVE}
        body = _permission(arguments, asker) if name == mcp.PERMIT else tool.parse(arguments, self._limits)
        if name == mcp.LEAVE:
            found = await self._found(body, "", new_id(), caller, asker, left=True)
            return Told(_LEFT.format(id=found.entry.ask.id, where=await self._showing.where(found.entry.ask)))
        return await self._asked(name, body, ask_id, caller, asker)

    async def _asked(
        self, name: str, body: Questions | Permission, ask_id: str, caller: Caller, asker: Asker
    ) -> Told | Wanted:
        new = new_id()  # known before it is kept, so that it can be taken back at any moment
        found: _Found | None = None
        try:
            found = await self._found(body, ask_id, new, caller, asker)
            ask = found.entry.ask
            async with self._waits(ask):
                settled = found.entry.settlement or await self._showing.settled(ask, caller)
        except BaseException:  # the host takes its call back, or something broke: then it is told that nobody answered
            if found is None or (found.is_awaited and not self._waiting[found.entry.ask.id]):
                await self._take_back(found.entry.ask.id if found else new, caller, asker)
            raise
        if isinstance(settled, Wanted):
            return settled
        if settled is None:
            return Told(_STILL_OPEN.format(id=ask.id, tool=name, where=await self._showing.where(ask)))
        if found.entry.settlement:
            await self._showing.keep_late(ask, caller)
        self._hand_over([ask], caller, asker)
        return _told(ask, settled)

    @asynccontextmanager
    async def _waits(self, ask: Ask) -> AsyncIterator[None]:
        self._waiting[ask.id] += 1
        try:
            yield
        finally:
            self._waiting[ask.id] -= 1
            if not self._waiting[ask.id]:
                del self._waiting[ask.id]

    async def _take_back(self, ask_id: str, caller: Caller, asker: Asker) -> None:
        """Unless it is only the line that broke, or the server that ends: then it stays open, for who comes again."""
        if not self.is_ending and not caller.is_gone():
            await take_back(self._desk, ask_id, asker)

    async def _found(
        self,
        body: Questions | Permission,
        ask_id: str,
        new: str,
        caller: Caller,
        asker: Asker,
        *,
        left: bool = False,
    ) -> _Found:
        """The ask that a call is about: brought back, named, asked before and undelivered, or new."""
        async with self._finding:
            if caller.state is not None:
                entry = await self._desk.get(State.of(caller.state).ask)
                return _Found(entry, is_awaited=await self._is_awaited(entry.ask, asker))
            if ask_id:
                return await self._named(ask_id, body, asker)
            for note in await owed.owed_to(self._desk.shelf, asker):
                if note.call.endswith(_digest(body)) and (attached := await self._attached(note, asker)):
                    return _Found(attached, is_awaited=not note.call.startswith(_LEFT_MARK))
            return _Found(Entry(await self._left(body, asker, new, left=left)))

    async def _named(self, ask_id: str, body: Questions | Permission, asker: Asker) -> _Found:
        entry = await self._known(ask_id, asker)
        if _digest(entry.ask.body) != _digest(body):
            raise InvalidAsk([Problem("ask_id", f"{ask_id} asked something else than these arguments")])
        return _Found(entry, is_awaited=await self._is_awaited(entry.ask, asker))

    async def _is_awaited(self, ask: Ask, asker: Asker) -> bool:
        document = await self._desk.shelf.get(owed.name_of(asker, ask.id))
        note = owed.read(document) if document else None
        return note is not None and not note.call.startswith(_LEFT_MARK)

    async def _attached(self, note: owed.Owed, asker: Asker) -> Entry | None:
        """What was asked before; an allow that another run of the agent got is not for this one."""
        if note.ask in self._handed_over:
            return None
        try:
            entry = await self._desk.get(note.ask)
        except UnknownAsk:  # noted, and then never kept
            return None
        is_same_run = asker.process is not None and (note.asker.host, note.asker.process) == (asker.host, asker.process)
        return entry if entry.settlement is None or entry.ask.permission is None or is_same_run else None

    async def _left(self, body: Questions | Permission, asker: Asker, ask_id: str, *, left: bool) -> Ask:
        if self._admit:
            await self._admit(body, asker)
        return await self._desk.leave(
            body,
            asker=asker,
            deadline=self._deadline,
            preview_format=self._previews if isinstance(body, Questions) else "none",
            call=f"{_LEFT_MARK if left else ''}{_digest(body)}",
            id=ask_id,
        )

    async def _known(self, ask_id: str, asker: Asker) -> Entry:
        entry = await self._desk.get(ask_id)
        if work.address(entry.ask.asker) != work.address(asker):
            raise UnknownAsk(ask_id)
        return entry

    async def _collected(self, wanted: _Collecting, caller: Caller, asker: Asker) -> Told:
        patience = self._showing.patience(caller) if wanted.wait else 0
        if wanted.ask_id:
            return await self._waited(await self._known(wanted.ask_id, asker), patience, caller, asker)
        left = await self._desk.left_by(asker, timeout=patience)
        settled = [entry for entry in left.settled if entry.ask.id not in self._handed_over]
        told = [f"Ask id {e.ask.id}. {_named(e.ask)}{_told(e.ask, e.settlement).text}" for e in settled if e.settlement]
        still_open = ", ".join(ask.id for ask in left.open)
        self._hand_over([entry.ask for entry in settled], caller, asker)
        if told:
            return Told("\n\n".join([*told, *([f"Still open: {still_open}."] if still_open else [])]))
        return Told(_NOTHING.format(still_open) if still_open else _NOTHING_LEFT)

    async def _waited(self, entry: Entry, patience: float, caller: Caller, asker: Asker) -> Told:
        settlement = entry.settlement or await self._showing.at_desk(entry.ask, patience)
        if settlement is None:
            where = await self._showing.where(entry.ask)
            return Told(_STILL_OPEN.format(id=entry.ask.id, tool=mcp.COLLECT, where=where))
        self._hand_over([entry.ask], caller, asker)
        told = _told(entry.ask, settlement)
        return told._replace(text=f"{_named(entry.ask)}{told.text}")

    def _hand_over(self, asks: Iterable[Ask], caller: Caller, asker: Asker) -> None:
        """The last thing before the result goes out: nothing can be cancelled in between, so no answer is dropped.

        Where the host is gone nothing was delivered, and it gets the answer when it comes again.
        """
        for ask in () if caller.is_gone() else asks:
            self._showing.forget(ask)
            if ask.id not in self._handed_over:
                marking = asyncio.ensure_future(self._mark_delivered(ask.id, asker))
                self._handed_over[ask.id] = marking

    async def _mark_delivered(self, ask_id: str, asker: Asker) -> None:
        try:
            await self._desk.delivered(ask_id, asker)
        except AskdeskError as error:  # then it is told once more
            log.warning("that an answer was delivered could not be noted: %s", error)
        finally:
            del self._handed_over[ask_id]


class _Found(NamedTuple):
    """The ask of a call; `is_awaited` is whether it is there for calls that wait, and goes with the last of them."""

    entry: Entry
    is_awaited: bool = True


class _Collecting(NamedTuple):
    """What collect_answers is asked for."""

    ask_id: str
    wait: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> _Collecting:
        ask_id = _text(given, "ask_id")
        wait = given.get("wait", bool(ask_id))
        problems = [] if isinstance(wait, bool) else [Problem("wait", f"must be true or false, is {quoted(wait)}")]
        problems += _strangers(given, ("ask_id", "wait"))
        if problems:
            raise InvalidAsk(problems)
        return cls(ask_id, wait)


def _permission(given: Mapping[str, Any], asker: Asker) -> Permission:
    name, value, reason = given.get("tool_name"), given.get("input"), given.get("reason") or ""
    problems = [
        *([] if isinstance(name, str) else [Problem("tool_name", f"must be text, is {quoted(name)}")]),
        *([] if isinstance(value, Mapping) else [Problem("input", f"must be an object, is {quoted(value)}")]),
        *([] if isinstance(reason, str) else [Problem("reason", f"must be text, is {quoted(reason)}")]),
        *_strangers(given, ("tool_name", "input", "reason")),
    ]
    if problems:
        raise InvalidAsk(problems)
    return Permission(str(name), dict(value or {}), asker.project, str(reason))


def _strangers(given: Mapping[str, Any], known: tuple[str, ...]) -> list[Problem]:
    rule = f"is not a parameter; they are {', '.join(known)}"
    return [Problem(named(key), rule) for key in given if key not in known]


def _named(ask: Ask) -> str:
    """Which call it was about, where the text of its end does not say so."""
    call = ask.permission
    return f"For {quote(call.tool)} with {quote(call.input)}: " if call else ""


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
