"""How an ask is shown to people while an MCP host's call waits: in the host's own dialog and at the desk at once.

In the era of handshakes a host is asked while it waits. Since 2026 it is told what to show, and calls again with what
came of it; in between no call is open, so that a dialog cannot be taken back, and a form that comes too late is kept
as a draft.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, Protocol, TypeAlias

from askdesk.adapters.mcp_waiting import Tell
from askdesk.core import strict
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, InvalidReply
from askdesk.core.model import Ask, Declined, Denied, Reply, Settlement
from askdesk.core.surface import Present, attend_one
from askdesk.core.text import shown
from askdesk.wire import mcp
from askdesk.wire.form import Form, Left, Returned, Unfit

log = logging.getLogger("askdesk")

_MOST_TRIES = 3  # of a form that does not fit
_MARGIN = 15.0  # seconds before a host gives up, or a sixth of its time where that is less


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


async def _nothing(_: Link) -> None:
    """For hosts that are told nothing more."""


class Caller(NamedTuple):
    """The host of one call: who it is, what it can show and how, and what it brings back of an earlier round."""

    name: str
    tell: Tell
    has_forms: bool = False
    has_links: bool = False
    show: Show | None = None  # where it can be asked while it waits; else it is told to show and call again
    done: Callable[[Link], Awaitable[None]] = _nothing  # the page that it opened is no longer needed
    state: str | None = None
    returned: tuple[str, Mapping[str, object]] | None = None
    is_gone: Callable[[], bool] = bool  # whether it went away without a word: then nothing was taken back


class HostDialog(Protocol):
    """See surfaces.elicitation."""

    by: str
    surface: str
    left: Left
    content: Mapping[str, object]

    def form(self, ask: Ask, flaw: str = "") -> Form | None: ...

    def said(self, ask: Ask, returned: Returned) -> Reply | Left | Unfit: ...

    def unfit(self, error: InvalidReply) -> Unfit: ...

    def present(self, send: Callable[[Form], Awaitable[tuple[str, Mapping[str, object]]]]) -> Present: ...

    async def keep(self, ask: Ask, content: Mapping[str, object]) -> None: ...


class Place(NamedTuple):
    """What the tools must know of where people are."""

    dialog: Callable[[str], HostDialog] | None  # of a host, by its name; None where nobody may answer there
    page: Callable[[], Awaitable[str | None]]  # the address of the page, where one is served
    is_attended: Callable[[], Awaitable[bool]]  # whether an ask could be seen elsewhere


class State(NamedTuple):
    """What a host brings back. It is sealed on its way."""

    ask: str
    at: str
    tries: int = 0
    is_link: bool = False

    @classmethod
    def of(cls, text: str) -> State:
        return cls(*json.loads(text))

    def seconds(self, now: datetime) -> float:
        return (now - datetime.fromisoformat(self.at)).total_seconds()


class Showing:
    """Shows asks to people until they are settled. `seconds` is how long a host waits, where that is known better."""

    def __init__(self, desk: Desk, place: Place, seconds: float | None = None) -> None:
        self._desk, self._place, self._seconds = desk, place, seconds
        self._dismissed: set[str] = set()  # asks whose dialog was left: it is not shown again

    async def settled(self, ask: Ask, caller: Caller) -> Settlement | Wanted | None:
        """How it ended; None where the host may not wait any longer."""
        dialog = self._place.dialog(caller.name) if self._place.dialog else None
        patience = self.patience(caller)
        if caller.state is not None:
            state = State.of(caller.state)
            found = await self._brought_back(ask, state, caller, dialog) if dialog else None
            self._dismissed.add(ask.id)
            return found or await self.at_desk(ask, patience)
        shows = await self._shown(ask, caller, dialog) if ask.id not in self._dismissed else None
        if shows is None:
            return await self.at_desk(ask, patience)
        if caller.show is None:
            return Wanted(shows, self._state(ask, is_link=isinstance(shows, Link)))
        if isinstance(shows, Link):
            return await self._on_page(ask, shows, caller, caller.show)
        assert dialog is not None  # noqa: S101 - it made the form
        return await self._in_dialog(ask, caller, caller.show, dialog)

    async def _shown(self, ask: Ask, caller: Caller, dialog: HostDialog | None) -> Form | Link | None:
        """What the host is to show: the page where there is something to compare by eye, else a form."""
        form = dialog.form(ask) if dialog and caller.has_forms else None
        has_previews = any(option.preview for question in ask.questions for option in question.options)
        is_for_page = has_previews or (form is None and dialog is not None)
        if caller.has_links and is_for_page and (page := await self._place.page()):
            return Link(_asks(ask), f"{page}/asks/{ask.id}", ask.id)
        return form

    def _state(self, ask: Ask, tries: int = 0, *, is_link: bool = False) -> str:
        return json.dumps(State(ask.id, self._desk.now().isoformat(), tries, is_link))

    async def _brought_back(
        self, ask: Ask, state: State, caller: Caller, dialog: HostDialog
    ) -> Settlement | Wanted | None:
        """What came of a dialog in an earlier round; None where the ask is still open and not for that dialog."""
        if caller.returned is None or state.is_link:
            return None  # the page is open, or the host has nothing to say of it
        action, content = caller.returned
        said = dialog.said(ask, Returned(action, content, state.seconds(self._desk.now())))
        made: Settlement | Left | Unfit
        if isinstance(said, Left | Unfit):
            made = said
        else:
            once = strict.dumps([state.at, dict(content)])  # the same form sent twice is one submission
            made = await self._submitted(ask, said, dialog, content, sha256(once.encode()).hexdigest()[:32])
        match made:
            case Settlement():
                return made
            case Left(seen):
                await dialog.keep(ask, content)
                return await self._detached(ask, dialog, seen=seen)
            case Unfit(why):
                form = dialog.form(ask, why)
                if form is None or state.tries + 1 >= _MOST_TRIES:
                    return await self._detached(ask, dialog, seen=True)
                return Wanted(form, self._state(ask, state.tries + 1))

    async def _submitted(
        self, ask: Ask, reply: Reply, dialog: HostDialog, content: Mapping[str, object], submission: str
    ) -> Settlement | Unfit:
        digest = ask.permission.digest if ask.permission else None
        try:
            return await self._desk.settle(
                ask.id, reply, by=dialog.by, surface=dialog.surface, submission=submission, digest=digest
            )
        except AlreadySettled as error:
            await dialog.keep(ask, content)
            return error.settlement
        except InvalidReply as error:
            return dialog.unfit(error)

    async def _in_dialog(self, ask: Ask, caller: Caller, show: Show, dialog: HostDialog) -> Settlement | None:
        """While the host waits: in its dialog and at the desk at once."""
        is_paused = mcp.host(caller.name).pauses and self._seconds is None
        patience, started = self.patience(caller), time.monotonic()
        submission = new_id()
        shown = attend_one(
            self._desk, ask, dialog.present(show), by=dialog.by, surface=dialog.surface, submission=submission
        )
        try:
            settlement = await asyncio.wait_for(shown, None if is_paused else patience)
        except TimeoutError:
            return None
        except InvalidReply as error:  # longer than the desk takes: the person has closed the form
            log.warning("what was sent in a dialog was not taken: %s", error)
            settlement = None
        if settlement:
            if settlement.submission != submission:
                await dialog.keep(ask, dialog.content)  # sent, and somebody else was first
            return settlement
        if declined := await self._detached(ask, dialog, seen=dialog.left.seen):
            return declined
        return await self.at_desk(ask, patience if is_paused else patience - (time.monotonic() - started))

    async def _on_page(self, ask: Ask, link: Link, caller: Caller, show: Show) -> Settlement | None:
        """The host opens the page, where it is answered; whatever is said to the link is no answer."""
        patience = self.patience(caller)

        async def opened() -> None:
            await show(link)
            self._dismissed.add(ask.id)  # it is open: the same call again need not open it once more

        opening = asyncio.ensure_future(opened())
        try:
            return await self.at_desk(ask, patience)
        finally:
            opening.cancel()
            await asyncio.wait((opening,))
            await caller.done(link)

    async def _detached(self, ask: Ask, dialog: HostDialog, *, seen: bool) -> Settlement | None:
        """The dialog is gone. Where a person closed it and nobody could see the ask elsewhere, they declined."""
        self._dismissed.add(ask.id)
        if not seen or await self._place.is_attended():
            return None
        reply = Denied() if ask.permission else Declined()
        settled = await self._submitted(ask, reply, dialog, {}, new_id())
        return settled if isinstance(settled, Settlement) else None

    async def at_desk(self, ask: Ask, patience: float) -> Settlement | None:
        return await self._desk.wait(ask.id, timeout=max(patience, 0))

    def patience(self, caller: Caller) -> float:
        """How long a call may wait: until shortly before its host gives up."""
        seconds = self._seconds or mcp.host(caller.name).seconds
        return seconds - min(_MARGIN, seconds / 6)

    async def keep_late(self, ask: Ask, caller: Caller) -> None:
        """A form that came back after somebody else was first: what was typed into it is not lost."""
        if caller.returned and self._place.dialog:
            await self._place.dialog(caller.name).keep(ask, caller.returned[1])

    def forget(self, ask: Ask) -> None:
        self._dismissed.discard(ask.id)

    async def where(self, ask: Ask) -> str:
        """Where the user can answer, in words for a model to pass on."""
        page = await self._place.page()
        return f"at {page}/asks/{ask.id}" if page else "with `askdesk inbox`"


def _asks(ask: Ask) -> str:
    """What is asked, for whoever is to open the page."""
    if ask.permission:
        return f"{shown(ask.asker.agent)}: {shown(ask.permission.tool)}?"
    return "\n".join(shown(question.text) for question in ask.questions)
