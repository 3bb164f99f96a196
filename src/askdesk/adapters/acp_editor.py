"""The editor as a place to answer: an ask is shown there, in the best way that the editor has, and is live elsewhere.

Questions go into a form, else to the desk's page, else, only where that was wanted, into permission requests; else the
editor says where to answer. Permissions go where editors decide on them. What a form looks like is not known here: it
comes from outside, since a host's dialog is a surface.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeAlias

from askdesk.adapters.acp_connection import Peer, RequestError
from askdesk.adapters.acp_updates import Updates
from askdesk.adapters.claude_gate import CalledOff
from askdesk.adapters.claude_sdk import ASK_TOOL
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, InvalidAsk, InvalidReply
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Outcome,
    Questions,
    Reply,
    Settlement,
)
from askdesk.core.surface import Present, attend_one
from askdesk.core.text import Shown, shown
from askdesk.wire import acp, acp_ask, tool
from askdesk.wire.acp import Client
from askdesk.wire.acp_ask import CANCELLED_QUESTION, ENGLISH, Place, QuestionByPermission, Shape, Words
from askdesk.wire.acp_tool import Json, permission_info, questions_info
from askdesk.wire.form import Form, Left

log = logging.getLogger("askdesk")

SURFACE = "editor"
_TRIES = 3  # beyond one for each option

Send: TypeAlias = Callable[[Form], Awaitable[tuple[str, Mapping[str, object]]]]


class FormDialog(Protocol):
    """A form in a host's dialog, for one ask. `left` is how it was left, where nothing was said in it."""

    left: Left
    content: Mapping[str, object]

    def present(self, send: Send) -> Present: ...

    async def keep(self, ask: Ask, content: Mapping[str, object]) -> None: ...


class House(NamedTuple):
    """What an editor needs to know of the desk and of who answers."""

    by: str
    dialog: Callable[[], FormDialog]
    page: Callable[[], Awaitable[str | None]]  # where the desk is served
    is_attended: Callable[[], Awaitable[bool]]  # whether somebody could see an ask elsewhere
    where: Callable[[Ask], Awaitable[str]]  # where else to answer, in words
    settles: bool = True  # false where the store lets nobody answer from here
    shape: Shape | None = None
    sent: float = 0.4  # seconds before which no person can have picked something
    left: float = 1.5  # or have closed it
    words: Words = ENGLISH


class _Cancelled(Exception):
    """The person cancelled the question, and nobody else is there to answer it."""

    def __init__(self, so_far: Sequence[Answer | None] = ()) -> None:
        super().__init__()
        self.so_far = tuple(so_far)


class Editor:
    """Shows the asks of one session."""

    def __init__(self, desk: Desk, peer: Peer, client: Client, house: House, session: str, updates: Updates) -> None:
        self._desk, self._peer, self._client, self._house = desk, peer, client, house
        self._session, self._updates = session, updates
        self._dialogs: dict[str, FormDialog] = {}  # in which asks are shown, by their ids

    async def tell(self, updates: Iterable[Json]) -> None:
        for update in updates:
            with suppress(ConnectionError):  # an editor that is gone: whoever hears it ends everything
                await self._peer.tell("session/update", {"sessionId": self._session, "update": update})

    async def show(self, ask: Ask) -> None:
        """Until it is settled, here or elsewhere; CalledOff where the person wants neither the ask nor the agent."""
        place = await self._announced(ask)
        submission = new_id()
        settlement = await self._shown(ask, place, submission) or await self._desk.wait(ask.id)
        if settlement is None:
            return
        if settlement.submission != submission and self._house.settles and settlement.by:
            by, surface = shown(settlement.by), shown(settlement.surface)
            await self._say(self._house.words.settled.format(by=by, surface=surface))
        if place.call and _goes_on(settlement.outcome):
            await self.tell([acp.tool_status(place.call, "in_progress")])

    async def _shown(self, ask: Ask, place: Place, submission: str) -> Settlement | None:
        present = self._presented if self._house.settles else self._led_away
        try:
            settlement = await attend_one(
                self._desk,
                ask,
                lambda ask: present(ask, place),
                by=self._house.by,
                surface=SURFACE,
                submission=submission,
            )
        except _Cancelled as cancelled:
            return await self._called_off(ask, cancelled.so_far)
        except InvalidReply as error:  # longer than the desk takes: the person has closed the form
            log.warning("what was sent in the editor was not taken: %s", error)
            await self._keep_form(ask)
            await self._say_where(ask)
            return None
        except ConnectionError:
            return None  # the editor is gone, and its session ends
        finally:
            dialog = self._dialogs.pop(ask.id, None)
        if settlement and settlement.submission != submission and dialog and dialog.content:
            await dialog.keep(ask, dialog.content)  # sent, and somebody else was first
        return settlement

    async def _keep_form(self, ask: Ask) -> None:
        if dialog := self._dialogs.get(ask.id):
            await dialog.keep(ask, dialog.content)

    async def _called_off(self, ask: Ask, so_far: Sequence[Answer | None]) -> Settlement:
        declined = Declined(so_far=tuple(so_far), stop=True)
        try:
            await self._desk.settle(ask.id, declined, by=self._house.by, surface=SURFACE)
        except AlreadySettled as error:
            return error.settlement
        raise CalledOff(CANCELLED_QUESTION)

    async def _announced(self, ask: Ask) -> Place:
        """A client may only be asked about a call that it knows."""
        call = (ask.key or "").split("/")[0] or self._own_call(ask)
        if call:
            if ask.permission:
                name, given, info = ask.permission.tool, ask.permission.value, permission_info(ask.permission)
            else:
                assert isinstance(ask.body, Questions)  # noqa: S101 - it is one of the two
                name, given, info = tool.NAME, {"questions": tool.written(ask.body)}, questions_info(ask.body)
            await self.tell(self._updates.announce(call, name, given, info))
        return Place(self._session, call)

    def _own_call(self, ask: Ask) -> str:
        """The call of our own tool that asks these questions; its id is not told to whoever answers the call."""
        for number, given in self._updates.open_calls(ASK_TOOL).items():
            with suppress(InvalidAsk):
                if isinstance(ask.body, Questions) and tool.parse(given).items == ask.body.items:
                    return number
        return ""

    async def _presented(self, ask: Ask, place: Place) -> Reply | None:
        ways = (self._permission,) if ask.permission else await self._ways()
        for way in ways:
            try:
                return await way(ask, place)
            except RequestError as error:
                log.warning("the editor does not show what is asked: %s", error)
        await self._say_where(ask)
        return None

    async def _led_away(self, ask: Ask, place: Place) -> None:
        """Where nobody may answer from here: to the page, where they can, or it is said where."""
        if not ask.permission and self._client.url and await self._house.page():
            try:
                await self._page_left(ask, place)
            except RequestError as error:
                log.warning("the editor does not lead to the page: %s", error)
        await self._say_where(ask)

    async def _ways(self) -> tuple[Callable[[Ask, Place], Awaitable[Reply | None]], ...]:
        """How questions can be shown, the best way first; the others are for an editor that refuses it after all."""
        page = self._client.url and await self._house.page()
        ways = (
            (self._form, self._client.form),
            (self._url, bool(page)),
            (self._by_permission, self._house.shape is not None),
        )
        return tuple(way for way, is_there in ways if is_there)

    async def _form(self, ask: Ask, place: Place) -> Reply | None:
        dialog, action = self._house.dialog(), ""
        self._dialogs[ask.id] = dialog

        async def send(form: Form) -> tuple[str, Mapping[str, object]]:
            nonlocal action
            request = acp_ask.form_request(place, ask, form, air=self._client.air)
            action, content = acp_ask.elicited(await self._peer.request("elicitation/create", request))
            return action, content

        reply = await dialog.present(send)(ask)
        return reply or await self._left(ask, seen=dialog.left.seen, action=action)

    async def _url(self, ask: Ask, place: Place) -> Reply | None:
        action, seen = await self._page_left(ask, place)
        if action == "decline" and seen:
            return Declined()
        return await self._left(ask, seen=seen, action=action)

    async def _page_left(self, ask: Ask, place: Place) -> tuple[str, bool]:
        """What was said to the page instead of opening it, and whether a person can have said it."""
        url = f"{await self._house.page()}/asks/{ask.id}"
        started = time.monotonic()
        try:
            request = acp_ask.url_request(place, ask, _message(ask), url)
            action, _ = acp_ask.elicited(await self._peer.request("elicitation/create", request))
            if action == "accept":
                await asyncio.Event().wait()  # that the page was opened is no answer: there will be one on it
        except asyncio.CancelledError:  # as there is, there or elsewhere
            with suppress(ConnectionError):
                await self._peer.tell("elicitation/complete", {"elicitationId": ask.id})
            raise
        return action, time.monotonic() - started >= self._house.left

    async def _by_permission(self, ask: Ask, place: Place) -> Reply | None:
        shape = self._house.shape
        assert shape is not None  # noqa: S101 - else this is no way
        place = place if place.call else place._replace(call=ask.id)
        answers: list[Answer | None] = []
        for question in ask.questions:
            asked = QuestionByPermission(question, shape, self._house.words)
            heard = await self._collected(asked, place, shape, len(question.options) + _TRIES)
            answers.append(asked.answer)
            if heard == "cancelled":
                raise _Cancelled(_padded(answers, ask))
            if heard != "done":
                await self._house.dialog().keep(ask, acp_ask.content(_padded(answers, ask)))
                return await self._left(ask, seen=False)
        return Answered(answers) if any(answers) else await self._left(ask, seen=True)

    async def _collected(self, asked: QuestionByPermission, place: Place, shape: Shape, tries: int) -> str:
        """Ask until there is an answer. What comes sooner than from a person counts only where that was wanted so."""
        for _ in range(tries):
            started = time.monotonic()
            result = await self._peer.request("session/request_permission", asked.request(place))
            if shape == "safe" and time.monotonic() - started < self._house.sent:
                return "nothing"
            if (heard := asked.hear(result)) != "more":
                return heard
        return "nothing"

    async def _left(self, ask: Ask, *, seen: bool, action: str = "accept") -> Reply | None:
        """Nothing was said here. Others may say it; where there is nobody else, who closed it has declined."""
        if not seen or action not in ("accept", "cancel") or await self._house.is_attended():
            await self._say_where(ask)
            return None
        if action == "cancel":
            raise _Cancelled
        return Declined()

    async def _permission(self, ask: Ask, place: Place) -> Reply | None:
        permission = ask.permission
        assert permission is not None  # noqa: S101 - else this is no way
        place = place if place.call else place._replace(call=ask.id)
        request = acp_ask.permission_request(place, permission, self._house.words)
        result = await self._peer.request("session/request_permission", request)
        if (reply := acp_ask.permission_reply(permission, result, self._house.words)) is None:
            log.warning("the editor answered a permission request with nothing that was offered")
            await self._say_where(ask)
        return reply

    async def _say_where(self, ask: Ask) -> None:
        await self._say(self._house.words.waits.format(where=shown(await self._house.where(ask))))

    async def _say(self, words: str) -> None:
        """Between what Claude says, as a paragraph of its own."""
        await self.tell([acp.chunk("agent_message", f"\n\n{words}\n\n")])


def _padded(answers: Sequence[Answer | None], ask: Ask) -> list[Answer | None]:
    """With blanks for the questions that were not reached."""
    return [*answers, *[None] * (len(ask.questions) - len(answers))]


def _message(ask: Ask) -> Shown:
    texts: list[Any] = [question.text for question in ask.questions]
    return shown("\n".join(texts), lines=True)


def _goes_on(outcome: Outcome) -> bool:
    return isinstance(outcome, Allowed | Answered)
