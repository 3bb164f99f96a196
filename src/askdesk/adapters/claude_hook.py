"""Claude Code's hooks: the desk beside its dialog, or instead of it.

In mode "both" the dialog stays usable in the terminal and the desk shows the same ask; the first answer wins. In mode
"desk" questions are answered at the desk alone. Whatever fails gives no decision, and Claude Code asks by itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, AskdeskError, InvalidAsk, InvalidReply, InvalidSettings, KeyReused
from askdesk.core.model import (
    Answered,
    Ask,
    Entry,
    Permission,
    PreviewFormat,
    Questions,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.wire import hook, tool
from askdesk.wire.hook import AGENT, SURFACE, BatchCall, Event
from askdesk.wire.words import quote

log = logging.getLogger(__name__)

Mode: TypeAlias = Literal["both", "desk"]
Tell: TypeAlias = Callable[[Event, list[Ask]], Awaitable[None]]
"""Tells people elsewhere that Claude Code waits, with the asks of its session."""

SHELF = "claude-code/"
LOOK_EVERY = 0.2  # seconds between looks at a transcript; a look is one stat
_LOOKED_THROUGH = 50  # settled asks, the newest first
_LONGEST_REASON = 500
_ANOTHERS = "another ask has the id of this call"
_LAST_WORDS = 1.0  # seconds for a transcript to tell what happened; it is written a tenth of one behind


class Visit(Struct):
    """One run of a hook: what it was told, how it was called, and the ask that it waits for."""

    event: Event
    mode: Mode = "both"
    seconds: float | None = None  # until it must end: Claude Code would give up on it soon after
    nonce: str = field(default_factory=new_id)  # the same when this run comes again: the server that it was at died
    host: str = ""
    process: int | None = None  # of Claude Code
    previews: PreviewFormat = "markdown"
    is_local: bool = False  # whether the transcript that the event names is a file of this machine
    ask: Ask | None = None
    posting: asyncio.Future[Ask] | None = None  # of the ask, which goes on where the run is cancelled meanwhile
    following: asyncio.Task[None] | None = None  # of the transcript
    watching: asyncio.Task[None] | None = None  # of the dialog

    def end(self) -> None:
        for task in (self.following, self.watching):
            if task:
                task.cancel()


class ClaudeHook:
    """Puts what Claude Code asks on a desk. Never raises, and never allows but by a person's yes.

    `by` is who sits at Claude Code's terminal; None where whoever sends the events may not settle, and then what was
    answered there is told as the reason of a withdrawal. `knows` tells which asks they may know of.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        by: str | None,
        tell: Tell | None = None,
        knows: Callable[[Ask], bool] = lambda _: True,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self._desk, self._by, self._tell, self._knows, self._look_every = desk, by, tell, knows, look_every

    async def handled(self, visit: Visit) -> dict[str, Any] | None:
        """What to reply to Claude Code; None is no decision. Cancelled, it leaves the ask open: see `left`."""
        try:
            reply = await self._handled(visit)
            visit.end()
            return reply
        except AskdeskError as error:
            return await self._failed(visit, str(error))
        except Exception:
            log.exception("a hook of Claude Code failed")
            return await self._failed(visit, "it failed, and its log says why")

    async def _failed(self, visit: Visit, why: str) -> dict[str, Any] | None:
        """Nobody waits for the ask any more."""
        visit.end()
        with suppress(Exception):  # most likely the same that failed before
            await self._take_back(visit, "the hook of Claude Code failed")
        return _unasked(visit, why)

    async def left(self, visit: Visit, why: str = "Claude Code stopped waiting") -> None:
        """Claude Code no longer waits: it ended, or somebody closed its dialog, and then its transcript says how."""
        if visit.following:
            await asyncio.wait((visit.following,), timeout=_LAST_WORDS)
            visit.end()
        with suppress(AskdeskError):
            if visit.posting:
                visit.ask = await visit.posting
            await self._take_back(visit, why)

    async def _take_back(self, visit: Visit, reason: str) -> Settlement | None:
        """Withdraw the ask, unless others wait for it too; how it had been settled, where somebody was first."""
        if visit.ask is None or not _is_own(visit.ask):
            return None
        try:
            await self._desk.withdraw(visit.ask.id, reason)
        except AlreadySettled as first:
            return first.settlement
        return None

    async def _handled(self, visit: Visit) -> dict[str, Any] | None:
        event = visit.event
        match event.name:
            case "PreToolUse" if event.asks_questions:
                return await self._before(visit)
            case "PermissionRequest" if visit.mode == "both" or not event.asks_questions:
                return await self._requested(visit)
            case "PostToolUse" if event.asks_questions:
                return await self._ended(event, event.call, event.response)
            case "PostToolBatch":
                for call in event.calls:
                    if call.tool == tool.NAME:
                        await self._ended(event, call.call, call.response)
                    else:
                        await self._passed_by(event, call)
            case "Notification" if self._tell:
                await self._tell(event, [entry.ask async for entry in self._of_session(event)])
        return None

    async def _before(self, visit: Visit) -> dict[str, Any] | None:
        if visit.mode == "both":
            await self._note_call(visit.event)
            return None
        questions = visit.event.body()
        settlement = await self._settlement(visit, questions, visit.event.call)
        if settlement is None:
            return _too_late(visit)
        if settlement.surface == SURFACE or not isinstance(questions, Questions):
            return None
        return hook.before(questions, settlement.outcome)

    async def _requested(self, visit: Visit) -> dict[str, Any] | None:
        """Beside the dialog. Only questions have an id, and only by the PreToolUse that came just before.

        The id of a permission is looked for in the transcript alone, to see how it ends: two calls with the same input
        must never share an ask, or the second would be allowed by the yes to the first.
        """
        body = visit.event.body()
        call = await self._noted_call(visit.event) if isinstance(body, Questions) else ""
        settlement = await self._settlement(visit, body, call)
        if call:
            await self._forget_call(visit.event)
        if settlement is None:
            return _too_late(visit)
        return None if settlement.surface == SURFACE else hook.decided(body, settlement.outcome)

    async def _settlement(self, visit: Visit, body: Questions | Permission, call: str) -> Settlement | None:
        """Ask, and wait for the end, here or in Claude Code's terminal; None where the time for it is over.

        Whoever calls a hook chooses its nonce, and may write to transcripts. So no nonce may be the key of another
        door's ask, and of such an ask, which has the id of a call, nothing is believed that a transcript says.
        """
        visit.posting = asyncio.ensure_future(self._posted(visit, body, call or f"hook {visit.nonce}"))
        ask = visit.ask = await asyncio.shield(visit.posting)
        if visit.is_local and _is_own(ask):
            visit.following = asyncio.create_task(self._follow(visit, ask, call))
            if isinstance(body, Permission) and not visit.event.agent_id and visit.process:
                visit.watching = asyncio.create_task(self._watch(visit.event, visit.process, ask))
        settlement = await self._desk.wait(ask.id, timeout=visit.seconds)
        return settlement or await self._take_back(visit, "Claude Code's time limit for hooks came before an answer")

    async def _posted(self, visit: Visit, body: Questions | Permission, key: str) -> Ask:
        """The ask; a new one where the one under this key was withdrawn, as by a session that was then resumed."""
        event = visit.event
        asker = event.asker(visit.host, visit.process)
        for each in (key, f"{key}/{visit.nonce}"):
            try:
                ask = await self._desk.post(body, asker=asker, key=each, preview_format=visit.previews)
            except KeyReused:  # whose, is nobody's to find out
                raise InvalidAsk(_ANOTHERS) from None
            if not self._knows(ask):
                raise InvalidAsk(_ANOTHERS)
            settled = (await self._desk.get(ask.id)).settlement
            if not (settled and isinstance(settled.outcome, Withdrawn)):
                break
        return ask

    async def _follow(self, visit: Visit, ask: Ask, call: str) -> None:
        from askdesk.adapters import claude_transcript  # after the ask is posted: nobody should wait for an import
        from askdesk.wire import hook_end

        try:
            line = await claude_transcript.ended(visit.event, call, look_every=self._look_every)
            await self._settle(ask, hook_end.ended_there(ask.body, line.result, by_person=line.by_person))
        except AskdeskError as error:
            log.warning("how ask %s ended in Claude Code's terminal could not be kept: %s", ask.id, error)
        except Exception:
            log.exception("the transcript of Claude Code could not be followed")

    async def _watch(self, event: Event, process: int, ask: Ask) -> None:
        """A call that was allowed in the terminal may run for long; meanwhile nobody else should still decide on it."""
        from askdesk.adapters import claude_session

        while True:
            await claude_session.dialog_closed(event, process, look_every=self._look_every)
            await asyncio.sleep(_LAST_WORDS)  # what was refused, or has run, is in the transcript by then
            if not claude_session.has_dialog(event, process):
                break  # else the one that closed need not have been this one: others may stand in line
        with suppress(AskdeskError):
            await self._desk.withdraw(ask.id, "decided in Claude Code's terminal, which went on")

    async def _ended(self, event: Event, call: str, response: object) -> dict[str, Any] | None:
        """A call of questions has ended: whatever the desk shows of it must say the same."""
        from askdesk.wire import hook_end

        result = hook_end.of_response(response)
        async for entry in self._of_session(event):
            if _is_own(entry.ask) and _is_of(entry.ask, call):
                await self._settle(entry.ask, hook_end.ended_there(entry.ask.body, result))
                return None
        page = await self._desk.page("settled", newest=True, limit=_LOOKED_THROUGH)
        for entry in page.entries:
            if entry.ask.asker.session == event.session and _is_of(entry.ask, call) and self._knows(entry.ask):
                return _overtaken(entry, hook_end.ended_there(entry.ask.body, result))
        return None

    async def _settle(self, ask: Ask, end: Reply | Withdrawn) -> None:
        """Both a hook and the transcript may tell of it: the same submission twice is one."""
        if isinstance(end, Withdrawn):
            reason = end.reason
        elif self._by is None:
            reason = _told(ask, end)
        else:
            digest = ask.permission.digest if ask.permission else None
            try:
                await self._desk.settle(
                    ask.id, end, by=self._by, surface=SURFACE, submission=f"{SURFACE}:{ask.id}", digest=digest
                )
            except AlreadySettled:
                return
            except (InvalidReply, InvalidSettings):  # it does not fit, or this desk lets nobody answer from here
                reason = _told(ask, end)
            else:
                return
        with suppress(AlreadySettled):
            await self._desk.withdraw(ask.id, reason)

    async def _passed_by(self, event: Event, call: BatchCall) -> None:
        """A tool has run, or not: whoever still shows its permission is told that it was decided elsewhere."""
        from askdesk.wire import hook_end

        async for entry in self._of_session(event):
            asked = entry.ask.permission
            if asked and _is_own(entry.ask) and (asked.tool, asked.value) == (call.tool, call.input):
                with suppress(AlreadySettled):
                    await self._desk.withdraw(entry.ask.id, hook_end.DECIDED)

    async def _of_session(self, event: Event) -> AsyncIterator[Entry]:
        entries = [entry async for entry in self._desk.each("open")]
        for entry in entries:
            if event.session and entry.ask.asker.session == event.session and self._knows(entry.ask):
                yield entry

    async def _note_call(self, event: Event) -> None:
        """Leave the id for the PermissionRequest that comes next, which is not told of it."""
        with suppress(InvalidSettings):  # a desk server lets no agent at its shelf; the transcript must do
            await self._desk.shelf.put(_name(event), json.dumps({"v": 1, "call": event.call}))

    async def _noted_call(self, event: Event) -> str:
        with suppress(InvalidSettings, ValueError, KeyError):
            document = await self._desk.shelf.get(_name(event))
            return str(json.loads(document.value)["call"]) if document else ""
        return ""

    async def _forget_call(self, event: Event) -> None:
        with suppress(InvalidSettings):
            await self._desk.shelf.put(_name(event), None)


def _name(event: Event) -> str:
    call = json.dumps([event.session, event.agent_id, event.tool, event.input], sort_keys=True)
    return f"{SHELF}{sha256(call.encode()).hexdigest()}"


def _is_own(ask: Ask) -> bool:
    """Whether a hook has asked it. One that came in by another door is for those who wait there."""
    return AGENT in (ask.asker.agent, ask.asker.parent)


def _is_of(ask: Ask, call: str) -> bool:
    return bool(call and ask.key) and (ask.key == call or str(ask.key).startswith(f"{call}/"))


def _unasked(visit: Visit, why: str) -> dict[str, Any] | None:
    """Words for the person, where somebody waits for a decision; nothing for hooks that only tell."""
    waits = visit.event.name == "PermissionRequest" or visit.mode == "desk"
    return hook.notice(f"the desk could not be asked ({why}): decide here") if waits else None


def _too_late(visit: Visit) -> dict[str, Any]:
    return hook.notice(f"nobody answered at the desk within {visit.seconds or 0:.0f} s: decide here")


def _told(ask: Ask, end: Reply) -> str:
    """What was said in the terminal, for the people who still see the ask."""
    if isinstance(end, Answered):
        answers = zip(ask.questions, end.answers, strict=True)
        said = ", ".join(f"{quote(q.text)} = {quote(answer.text or answer.note)}" for q, answer in answers if answer)
        reason = f"answered in Claude Code's terminal: {said}"
    else:
        reason = f"{type(end).__name__.lower()} in Claude Code's terminal"
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def _overtaken(entry: Entry, there: Reply | Withdrawn) -> dict[str, Any] | None:
    """Words where somebody answered at the desk and the terminal was first all the same."""
    settlement = entry.settlement
    if settlement is None or settlement.surface == SURFACE:
        return None
    if not isinstance(there, Answered) or there == settlement.outcome or isinstance(settlement.outcome, Withdrawn):
        return None
    return hook.notice(f"the desk has this {settlement.summary}, but Claude had the answer given here first")
