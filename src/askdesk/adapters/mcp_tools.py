"""The tools that an MCP host calls: ask and wait, ask for a permission, ask and go on, collect what was answered.

Knows the desk and what a host can do, not the mcp library. An ask is shown in the host's own dialog, where it has one,
and on the desk's surfaces; the first answer wins. Whatever breaks is told as no answer, in plain words.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypeAlias

from askdesk.adapters.mcp_waiting import Tell, take_back, telling
from askdesk.core import owed, strict, work
from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled, AskdeskError, InvalidAsk, Problem, UnknownAsk, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import (
    Allowed,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Permission,
    PreviewFormat,
    Questions,
    Reply,
    Settlement,
)
from askdesk.core.surface import Present, attend_one
from askdesk.wire import mcp, permission, tool
from askdesk.wire.form import Form, Left, Returned, Unfit

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
_MOST_TRIES = 3  # of a form that does not fit
_MARGIN = 15.0  # seconds before a host gives up, or a sixth of its time where that is less


class Told(NamedTuple):
    """What the model reads."""

    text: str
    is_error: bool = False


class Link(NamedTuple):
    """A page to be opened, with what to say about it."""

    message: str
    url: str
    id: str


class Wanted(NamedTuple):
    """The host must show this, and call again with what came of it and with the state as it is."""

    shows: Form | Link
    state: str


Show: TypeAlias = Callable[[Form | Link], Awaitable[tuple[str, Mapping[str, object]]]]


class Caller(NamedTuple):
    """The host of one call: who it is, what it can show and how, and what it brings back of an earlier round."""

    name: str
    tell: Tell
    has_forms: bool = False
    has_links: bool = False
    show: Show | None = None  # where it can be asked while it waits; else it is told to show and call again
    state: str | None = None
    returned: tuple[str, Mapping[str, object]] | None = None


class HostDialog(Protocol):
    """See surfaces.elicitation."""

    by: str
    surface: str
    left: Left

    def form(self, ask: Ask, flaw: str = "") -> Form | None: ...

    def said(self, ask: Ask, returned: Returned) -> Reply | Left | Unfit: ...

    def present(self, send: Callable[[Form], Awaitable[tuple[str, Mapping[str, object]]]]) -> Present: ...

    async def keep(self, ask: Ask, content: Mapping[str, object]) -> None: ...


class Place(NamedTuple):
    """What the tools must know of where people are."""

    dialog: Callable[[str], HostDialog] | None  # of a host, by its name; None where nobody may answer there
    page: Callable[[], Awaitable[str | None]]  # the address of the page, where one is served
    is_attended: Callable[[], Awaitable[bool]]  # whether an ask could be seen elsewhere


class _State(NamedTuple):
    """What a host brings back. It is sealed on its way."""

    ask: str
    at: str
    tries: int = 0
    is_link: bool = False

    @classmethod
    def of(cls, text: str) -> _State:
        return cls(*json.loads(text))

    def seconds(self, now: datetime) -> float:
        return (now - datetime.fromisoformat(self.at)).total_seconds()


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
        self._desk, self._asker, self._place = desk, asker, place
        self._limits, self._previews, self._deadline = limits, previews, deadline
        self._seconds, self._tell_every = seconds, tell_every
        self._dismissed: set[str] = set()  # asks whose dialog was left: it is not shown again
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
            return Told(_LEFT.format(id=ask.id, where=await self._where(ask)))
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

    async def _left(self, body: Questions | Permission, asker: Asker) -> Ask:
        return await self._desk.leave(
            body,
            asker=asker,
            deadline=self._deadline,
            preview_format=self._previews if isinstance(body, Questions) else "none",
            call=_digest(body),
        )

    async def _asked(
        self, name: str, body: Questions | Permission, ask_id: str, caller: Caller, asker: Asker
    ) -> Told | Wanted:
        entry = await self._entry(body, ask_id, caller, asker)
        try:
            settled = entry.settlement or await self._settled(entry.ask, caller)
        except BaseException:  # the host takes its call back, or something broke: then it is told that nobody answered
            if not self.is_ending:
                await take_back(self._desk, entry.ask.id)
                with suppress(AskdeskError):
                    await asyncio.shield(self._desk.delivered(entry.ask.id, asker))
            raise
        if isinstance(settled, Wanted):
            return settled
        if settled is None:
            return Told(_STILL_OPEN.format(id=entry.ask.id, tool=name, where=await self._where(entry.ask)))
        await self._keep_late(entry, caller)
        await self._desk.delivered(entry.ask.id, asker)
        return _told(entry.ask, settled)

    async def _entry(self, body: Questions | Permission, ask_id: str, caller: Caller, asker: Asker) -> Entry:
        """The ask that a call is about: named, brought back, asked before and undelivered, or new."""
        if caller.state is not None:
            return await self._desk.get(_State.of(caller.state).ask)
        if ask_id:
            return await self._known(ask_id, asker)
        call = _digest(body)
        for found in await owed.owed_to(self._desk.shelf, asker):
            if found.call == call:
                with suppress(UnknownAsk):
                    return await self._desk.get(found.ask)
        return Entry(await self._left(body, asker))

    async def _known(self, ask_id: str, asker: Asker) -> Entry:
        entry = await self._desk.get(ask_id)
        if work.address(entry.ask.asker) != work.address(asker):
            raise UnknownAsk(ask_id)
        return entry

    async def _settled(self, ask: Ask, caller: Caller) -> Settlement | Wanted | None:
        dialog = self._place.dialog(caller.name) if self._place.dialog else None
        if dialog and caller.state is not None:
            found = await self._brought_back(ask, _State.of(caller.state), caller, dialog)
            return found or await self._at_desk(ask, self._patience(caller))
        if dialog is None or ask.id in self._dismissed:
            return await self._at_desk(ask, self._patience(caller))
        shows = await self._shown(ask, caller, dialog)
        if shows is None:
            return await self._at_desk(ask, self._patience(caller))
        if caller.show is None:
            return Wanted(shows, self._state(ask, is_link=isinstance(shows, Link)))
        return await self._in_dialog(ask, shows, caller, caller.show, dialog)

    async def _shown(self, ask: Ask, caller: Caller, dialog: HostDialog) -> Form | Link | None:
        """What the host is to show: the page where there is something to compare by eye, else a form."""
        has_previews = any(option.preview for question in ask.questions for option in question.options)
        form = dialog.form(ask)
        if caller.has_links and (has_previews or form is None) and (page := await self._place.page()):
            message = form.message if form else "An agent asks for a permission."
            return Link(message, f"{page}/asks/{ask.id}", ask.id)
        return form if caller.has_forms else None

    def _state(self, ask: Ask, tries: int = 0, *, is_link: bool = False) -> str:
        return json.dumps(_State(ask.id, self._desk.now().isoformat(), tries, is_link))

    async def _brought_back(
        self, ask: Ask, state: _State, caller: Caller, dialog: HostDialog
    ) -> Settlement | Wanted | None:
        """What came of a dialog in an earlier round; None where the ask is still open and not for that dialog."""
        if caller.returned is None or state.is_link:
            self._dismissed.add(ask.id)  # the page is open, or the host has nothing to say of it
            return None
        action, content = caller.returned
        match dialog.said(ask, Returned(action, content, state.seconds(self._desk.now()))):
            case Left(seen):
                await dialog.keep(ask, content)
                return await self._detached(ask, dialog, seen=seen)
            case Unfit(why):
                form = dialog.form(ask, why)
                if form is None or state.tries + 1 >= _MOST_TRIES:
                    return await self._detached(ask, dialog, seen=True)
                return Wanted(form, self._state(ask, state.tries + 1))
            case reply:
                said = strict.dumps([state.at, dict(content)])  # the same form sent twice is one submission
                return await self._submitted(ask, reply, dialog, sha256(said.encode()).hexdigest()[:32])

    async def _submitted(self, ask: Ask, reply: Reply, dialog: HostDialog, submission: str | None = None) -> Settlement:
        digest = ask.permission.digest if ask.permission else None
        try:
            return await self._desk.settle(
                ask.id, reply, by=dialog.by, surface=dialog.surface, submission=submission, digest=digest
            )
        except AlreadySettled as error:
            return error.settlement

    async def _in_dialog(
        self, ask: Ask, shows: Form | Link, caller: Caller, show: Show, dialog: HostDialog
    ) -> Settlement | None:
        """While the host waits: in its dialog and at the desk at once."""
        loop = asyncio.get_running_loop()
        patience = self._patience(caller)
        end = loop.time() + patience
        present = self._opened(shows, show) if isinstance(shows, Link) else dialog.present(show)
        shown = attend_one(self._desk, ask, present, by=dialog.by, surface=dialog.surface)
        is_paused = mcp.host(caller.name).pauses and self._seconds is None
        try:
            settlement = await asyncio.wait_for(shown, None if is_paused else patience)
        except TimeoutError:
            return None
        if settlement or isinstance(shows, Link):
            return settlement or await self._at_desk(ask, end - loop.time())
        if declined := await self._detached(ask, dialog, seen=dialog.left.seen):
            return declined
        return await self._at_desk(ask, patience if is_paused else end - loop.time())

    def _opened(self, link: Link, show: Show) -> Present:
        async def opened(ask: Ask) -> None:
            await show(link)  # whatever is said to it: the page is where it is answered

        return opened

    async def _detached(self, ask: Ask, dialog: HostDialog, *, seen: bool) -> Settlement | None:
        """The dialog is gone. Where a person closed it and nobody could see the ask elsewhere, they declined."""
        self._dismissed.add(ask.id)
        if not seen or await self._place.is_attended():
            return None
        return await self._submitted(ask, Denied() if ask.permission else Declined(), dialog)

    async def _at_desk(self, ask: Ask, patience: float) -> Settlement | None:
        return await self._desk.wait(ask.id, timeout=max(patience, 0))

    def _patience(self, caller: Caller) -> float:
        """How long a call may wait: until shortly before its host gives up."""
        seconds = self._seconds or mcp.host(caller.name).seconds
        return seconds - min(_MARGIN, seconds / 6)

    async def _keep_late(self, entry: Entry, caller: Caller) -> None:
        """A form that came back after somebody else was first: what was typed into it is not lost."""
        if entry.settlement and caller.returned and self._place.dialog:
            await self._place.dialog(caller.name).keep(entry.ask, caller.returned[1])

    async def _where(self, ask: Ask) -> str:
        page = await self._place.page()
        return f"at {page}/asks/{ask.id}" if page else "with `askdesk inbox`"

    async def _collected(self, given: Mapping[str, Any], caller: Caller, asker: Asker) -> Told:
        if ask_id := _text(given, "ask_id"):
            return await self._waited(await self._known(ask_id, asker), caller, asker, wait=given.get("wait", True))
        told = await self._settled_since(asker)
        if not told and given.get("wait") and await self._desk.uncollected(asker):
            told = await self._until_some(asker, self._patience(caller))
        still_open = [ask.id for ask in await self._desk.uncollected(asker)]
        if told:
            return Told("\n\n".join([*told, *([f"Still open: {', '.join(still_open)}."] if still_open else [])]))
        return Told(_NOTHING.format(", ".join(still_open)) if still_open else _NOTHING_LEFT)

    async def _waited(self, entry: Entry, caller: Caller, asker: Asker, *, wait: object) -> Told:
        patience = self._patience(caller) if wait else 0
        settlement = entry.settlement or await self._at_desk(entry.ask, patience)
        if settlement is None:
            return Told(_STILL_OPEN.format(id=entry.ask.id, tool=mcp.COLLECT, where=await self._where(entry.ask)))
        await self._desk.delivered(entry.ask.id, asker)
        return _told(entry.ask, settlement)

    async def _settled_since(self, asker: Asker) -> list[str]:
        return [
            f"Ask id {entry.ask.id}. {_told(entry.ask, entry.settlement).text}"
            async for entry in self._desk.collect(asker)
            if entry.settlement
        ]

    async def _until_some(self, asker: Asker, patience: float) -> list[str]:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience), self._desk.watch() as hints:
                while not (told := await self._settled_since(asker)):
                    await anext(hints)
                return told
        return []


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
