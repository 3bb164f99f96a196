"""The inbox on a terminal: shows an Inbox, does what it wishes on the desk, and follows what others do there."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, AskdeskError, InvalidReply
from askdesk.core.model import Ask, Asker, Entry, Reply
from askdesk.core.text import Shown, shown
from askdesk.core.work import Instruction
from askdesk.surfaces import draft, snooze
from askdesk.surfaces.draft import Keeper
from askdesk.surfaces.phrases import ended_words, settled_line
from askdesk.surfaces.telling import kept_words, reached_words
from askdesk.surfaces.terminal import inbox_view
from askdesk.surfaces.terminal.browser import Visit, visited
from askdesk.surfaces.terminal.editor import edited
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.inbox import Inbox, Open, Read, Settle, Snoozed, Wish
from askdesk.surfaces.terminal.plain import entry_lines
from askdesk.surfaces.terminal.screen import GUARD, DialogApp, Guard, Interrupted
from askdesk.surfaces.terminal.started import draft_of, started
from askdesk.surfaces.terminal.teller import Tell
from askdesk.surfaces.terminal.tty import on_terminal, wrapping
from askdesk.surfaces.texts import say

Ring: TypeAlias = Literal["bell", "note", "none"]
_SETTLED_PAGE = 100
_TOLD_EVERY = 25  # replies of many
_LOOK_EVERY = 5  # ticks: agents come and go without a hint


class InboxApp(DialogApp[Inbox]):
    """Live: a change on the desk is on the screen as soon as the desk hints at it."""

    def __init__(self, desk: Desk, by: str, *, tell: Ring = "bell", guard: Guard = GUARD) -> None:
        super().__init__(
            Inbox(desk.now()),
            inbox_view.picture,
            guard=guard,
            changed=self._noted,
            visit=lambda wish: visited(desk.shelf, wish),
        )
        self._desk = desk
        self._by = by
        self._tell = tell
        self._keeper: Keeper | None = None
        self._older: str | None = ""  # where the next page of settled asks begins; None after the last
        self._sending: set[str] = set()  # asks whose end we shall tell of ourselves
        self._jobs: set[asyncio.Task[None]] = set()
        self._sendings: set[asyncio.Task[None]] = set()  # those that nobody may stop half-way
        self._ticks = 0
        self._is_telling = False

    def on_mount(self) -> None:
        super().on_mount()
        self._do(self._follow())
        self.set_interval(1, self._tick)

    async def stopped(self) -> None:
        """Nothing is left undone: what was sent is sent, what was typed is kept."""
        for job in self._jobs - self._sendings:
            job.cancel()
        if self._sendings:
            await asyncio.wait(self._sendings)
        if self._keeper:
            await self._keeper.done()

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        job = asyncio.ensure_future(work)
        self._jobs.add(job)
        job.add_done_callback(self._done)
        return job

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        self._sendings.discard(job)
        if not job.cancelled() and (error := job.exception()):
            if not isinstance(error, AskdeskError):
                self._handle_exception(error if isinstance(error, Exception) else RuntimeError(str(error)))
                return
            self._go(self.dialog.told(shown(str(error))))

    async def _follow(self) -> None:
        """Everything that is open, then every change, for as long as the inbox is there."""
        async with self._desk.watch() as hints:
            await self._told_of(self._start())
            async for ask_id in hints:
                await self._told_of(self._read_again() if ask_id is None else self._read_one(ask_id))

    async def _told_of(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it, and tell the person where the store failed; the next change may find it well again."""
        try:
            await work
        except AskdeskError as error:
            self._go(self.dialog.told(shown(str(error))))

    async def _start(self) -> None:
        self._go(replace(self.dialog, snoozes=await snooze.kept(self._desk.shelf, self._by)))
        self._go(self.dialog.entered([entry async for entry in self._desk.each("open")]))
        await self._see_agents()

    async def _see_agents(self) -> None:
        with suppress(AskdeskError):  # of a store that is not well others tell
            working = await self._desk.working()
            if working != self.dialog.working:
                self._go(replace(self.dialog, working=working))

    async def _read_again(self) -> None:
        entries = {entry.ask.id: entry async for entry in self._desk.each("open")}
        for entry in self.dialog.open:
            if entry.ask.id not in entries:  # it ended meanwhile, and we did not hear of it
                entries[entry.ask.id] = await self._desk.get(entry.ask.id)
        self._heard(list(entries.values()))

    async def _read_one(self, ask_id: str) -> None:
        self._heard([await self._desk.get(ask_id)])

    def _heard(self, heard: list[Entry]) -> None:
        entries = [entry for entry in heard if entry.ask.id not in self._sending]
        known = {entry.ask.id for entry in self.dialog.open}
        fresh = [entry for entry in entries if entry.ask.id not in known and entry.settlement is None]
        self._go(self.dialog.entered(entries))
        if fresh:
            self._announce(fresh[-1])

    def _announce(self, entry: Entry) -> None:
        """Tell the person that something new is there: by the terminal's bell, or by a note of its desktop."""
        if self._tell == "none" or self.is_headless or sys.__stderr__ is None:
            return
        words = inbox_view.note_words(entry)
        sys.__stderr__.write("\a" if self._tell == "bell" else f"\x1b]9;{words}\a")
        sys.__stderr__.flush()

    def _tick(self) -> None:
        self._go(self.dialog.ticked(self._desk.now()))
        self._ticks += 1
        if self._ticks % _LOOK_EVERY == 0:
            self._do(self._see_agents())
        for ask_id in self.dialog.due:
            self._do(self._told_of(self._read_one(ask_id)))

    def _noted(self, inbox: Inbox) -> None:
        """Keep what is typed into the ask that is open."""
        if inbox.dialog and self._keeper:
            self._keeper.note(draft_of(inbox.dialog))
        if inbox.wants_more and self._older is not None:
            older, self._older = self._older, None  # fetched once
            self._do(self._fetch_settled(older))

    async def _fetch_settled(self, after: str) -> None:
        page = await self._desk.page("settled", after=after or None, limit=_SETTLED_PAGE, newest=True)
        self._older = page.after
        self._go(self.dialog.back(page.entries))

    def _step(self, step: Inbox | Wish | Reply | None) -> None:
        match step:
            case None:
                self._end(None)
            case Inbox():
                self._go(step)
            case Settle(replies) if self._sending.isdisjoint(ask.id for ask, _ in replies):
                self._sending |= {ask.id for ask, _ in replies}
                self._sendings.add(self._do(self._settle(replies)))
            case Settle():
                pass  # a second tap: it is on its way
            case Snoozed():
                self._do(self._snooze(step))
            case Open(ask):
                self._do(self._open(ask))
            case Read(entry):
                self._do(self._read(entry))
            case Tell() if not self._is_telling:
                self._is_telling = True
                self._sendings.add(self._do(self._tell_agent(step)))
            case Tell():
                pass  # a second Enter: it is on its way
            case Visit():
                self._do(self._see(step))
            case Edit() if not self.away:
                self.away = True
                self._sendings.add(self._do(self._edit(step)))
            case Edit():
                pass  # the editor is there already
            case _:
                raise TypeError(f"an inbox does not end with {type(step).__name__}")

    async def _open(self, ask: Ask) -> None:
        if self._keeper:
            await self._keeper.done()
        before = await draft.kept(self._desk.shelf, ask, self._by)
        if not any(entry.ask.id == ask.id for entry in self.dialog.open):
            return  # it was settled in this very moment
        self._keeper = Keeper(self._desk.shelf, ask, self._by, before)
        self._go(self.dialog.opened(started(ask, self.dialog.size, before)))

    async def _read(self, entry: Entry) -> None:
        drafts = await draft.all_kept(self._desk.shelf, entry.ask)
        self._go(self.dialog.reading(entry_lines(entry, drafts)))

    async def _settle(self, replies: tuple[tuple[Ask, Reply], ...]) -> None:
        """Send replies, each for itself: one that comes too late does not hold up the others."""
        asks = {ask.id for ask, _ in replies}
        try:
            said = [await self._sent(*pair) async for pair in self._counted(replies)]
        except AskdeskError as error:
            self._sending -= asks
            await self._told_of(self._read_again())  # some may have been sent before it failed
            self._go(self.dialog.told(shown(str(error))))
            return
        finally:
            self._sending -= asks
        sent = sum(mine for mine, _ in said)
        words = _sent_words(sent, len(replies)) if len(replies) > 1 else said[0][1]
        entries = [await self._desk.get(ask_id) for ask_id in asks]
        shown_now = self.dialog.dialog
        was_open = shown_now is not None and shown_now.ask.id in asks  # else the person has gone on to another
        if was_open:
            self._keeper = None
        self._go(self.dialog.settled_here(sent, words, asks).entered(entries))
        if was_open and self.dialog.focused:
            await self._open(self.dialog.focused.ask)
            self._go(self.dialog.told(words))

    async def _counted(self, replies: tuple[tuple[Ask, Reply], ...]) -> AsyncIterator[tuple[Ask, Reply]]:
        """The replies one by one; of many, the person sees how far it is."""
        for number, pair in enumerate(replies, 1):
            if number % _TOLD_EVERY == 0:
                self._go(self.dialog.told(say("inbox.sending", number=number, count=len(replies))))
            yield pair

    async def _sent(self, ask: Ask, reply: Reply) -> tuple[bool, Shown]:
        """Whether it was ours that settled the ask, and what to say of it."""
        digest = ask.permission.digest if ask.permission else None
        try:
            await self._desk.settle(ask.id, reply, by=self._by, surface="inbox", submission=new_id(), digest=digest)
        except AlreadySettled as error:
            return False, say("lost.closed", how=ended_words(error.settlement))
        if self._keeper and self.dialog.dialog and self.dialog.dialog.ask.id == ask.id:
            await self._keeper.drop()
        else:
            await draft.keep(self._desk.shelf, ask, self._by, None)
        return True, settled_line(ask, reply)

    async def _snooze(self, wish: Snoozed) -> None:
        for ask_id in wish.ids:
            await snooze.keep(self._desk.shelf, ask_id, self._by, wish.until)
        self._go(self.dialog.snoozed(wish))

    async def _tell_agent(self, wish: Tell) -> None:
        """Keep it for the agent; what was typed stays in its box until that is done."""
        asker = wish.to.asker
        try:
            told = await self._desk.tell(asker, wish.text, stop=wish.stop, by=self._by, surface="inbox")
        except AskdeskError as error:
            self._go(self.dialog.told(shown(str(error))))
            return
        finally:
            self._is_telling = False
        self._go(self.dialog.told_agent(wish, kept_words(asker, told)))
        self._do(self._follow_told(asker, told))

    async def _follow_told(self, asker: Asker, told: Instruction) -> None:
        """Until it has reached the agent, and the person knows."""
        if heard := await self._desk.heard(asker, told):
            self._go(self.dialog.told(reached_words(asker, told, heard, self._desk.now())))

    async def _edit(self, wish: Edit) -> None:
        """The person's editor; meanwhile nothing is drawn. Closed elsewhere, what was written is kept as a draft."""
        dialog, keeper = self.dialog.dialog, self._keeper
        if dialog is None:
            self.away = False
            return
        try:
            with self.suspend(), wrapping():
                text = await edited(wish)
            written = dialog.edited(text)
        except InvalidReply as error:
            written = dialog.told(shown(str(error)))
        finally:
            self.away = False
        if self.dialog.dialog and self.dialog.dialog.ask.id == dialog.ask.id:
            self._go(replace(self.dialog, dialog=written.resized(self.dialog.size)))
        elif keeper:
            keeper.note(draft_of(written))
            await keeper.done()
            self._go(self.dialog)


def _sent_words(sent: int, of: int) -> Shown:
    return say("inbox.sent", count=sent) if sent == of else say("inbox.sent_late", count=sent, late=of - sent)


async def show_inbox(desk: Desk, by: str, *, tell: Ring = "bell") -> Inbox:
    """Run the inbox until the person leaves it, and what it was like then."""
    app = InboxApp(desk, by, tell=tell)
    with on_terminal(drawing=True):
        running = asyncio.ensure_future(app.run_async())
        try:
            end = await asyncio.shield(running)
        except asyncio.CancelledError:
            app.exit()
            await running
            raise
        finally:
            app.release()
            await app.stopped()
    if isinstance(end, Interrupted):
        signal.raise_signal(end.signal)
    if not app.ended:
        raise AskdeskError("the inbox failed; nothing was sent that it did not say")
    return app.dialog
