"""The inbox: all open asks of all agents, and what each key does to them. Pure: what it wants done, it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.model import Ask, Declined, Denied, Entry, Reply
from askdesk.core.text import Shown
from askdesk.core.work import Working, address
from askdesk.surfaces.phrases import ended_words
from askdesk.surfaces.snooze import SPANS, end_of
from askdesk.surfaces.spans import Line, line
from askdesk.surfaces.telling import agent_words
from askdesk.surfaces.terminal.browser import Visit
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.field import Edit, Field
from askdesk.surfaces.terminal.passage import Passage
from askdesk.surfaces.terminal.proposal import Proposal, proposal_rows, proposals
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.teller import Tell, Teller
from askdesk.surfaces.terminal.view import Picture, Size, wrap
from askdesk.surfaces.texts import say

AROUND = 9  # rows of a page around what is listed before it is sent
AROUND_READING = 5  # and around what is read

Mode: TypeAlias = Literal["list", "ask", "read", "recommended", "decline", "snooze", "tell", "help"]


class Settle(Struct, frozen=True):
    """Replies to send."""

    replies: tuple[tuple[Ask, Reply], ...]


class Snoozed(Struct, frozen=True):
    """Asks to put out of sight until then; None to bring them back."""

    ids: tuple[str, ...]
    until: datetime | None


class Open(Struct, frozen=True):
    """An ask to be opened, with the draft there may be of it."""

    ask: Ask


class Read(Struct, frozen=True):
    """An entry to be read, with the drafts there may be of it."""

    entry: Entry


Wish: TypeAlias = Settle | Snoozed | Open | Read | Tell | Edit | Visit


class Inbox(Struct, frozen=True):
    """The entries, which of them has the focus, which are marked, and what is open over them."""

    now: datetime
    size: Size = Size(80, 24)
    open: tuple[Entry, ...] = ()
    settled: tuple[Entry, ...] = ()
    fetched: bool = False  # whether settled asks were looked for yet
    snoozes: Mapping[str, datetime] = {}
    working: tuple[Working, ...] = ()  # agents that can be told something
    look_back: bool = False  # at settled asks
    see_snoozed: bool = False
    at: str = ""  # the id that has the focus
    marked: frozenset[str] = frozenset()
    targets: tuple[Ask, ...] = ()  # what is being declined or snoozed: what was chosen then, whatever comes meanwhile
    proposed: tuple[Proposal, ...] = ()  # what is being answered as recommended, likewise
    mode: Mode = "list"
    dialog: Sheet | Decision | None = None
    lines: tuple[Shown, ...] = ()  # what is read
    passage: Passage = Passage(0, 1)  # of what is read, or of what the recommended answers are
    field: Field = Field()
    teller: Teller | None = None
    untold: Mapping[str, str] = {}  # what was typed for an agent and not told, by its address
    row: str = ""
    said: Shown = Shown("")
    sent: int = 0  # how many were settled here

    @property
    def visible(self) -> tuple[Entry, ...]:
        """The entries in the list."""
        if self.look_back:
            return self.settled
        if self.see_snoozed or not self.snoozes:
            return self.open
        return tuple(entry for entry in self.open if not self.is_snoozed(entry.ask.id))

    def is_snoozed(self, ask_id: str) -> bool:
        return ask_id in self.snoozes and self.snoozes[ask_id] > self.now

    @property
    def hidden(self) -> int:
        return sum(self.is_snoozed(entry.ask.id) for entry in self.open)

    @property
    def index(self) -> int:
        return next((number for number, entry in enumerate(self.visible) if entry.ask.id == self.at), 0)

    @property
    def focused(self) -> Entry | None:
        return self.visible[self.index] if self.visible else None

    @property
    def subject(self) -> str:
        """What the person is looking at: when it changes, keys meant for what was there before must not reach it."""
        return self.dialog.ask.id if self.dialog else self.mode if self.mode == "recommended" else ""

    @property
    def page(self) -> str:
        return self.dialog.page if self.dialog else self.mode

    @property
    def spoken(self) -> Shown:
        return self.dialog.said if self.dialog else self.teller.said if self.teller else self.said

    @property
    def due(self) -> tuple[str, ...]:
        """Open asks whose deadline has come."""
        return tuple(entry.ask.id for entry in self.open if entry.ask.is_due(self.now))

    @property
    def chosen(self) -> tuple[Ask, ...]:
        """The asks that a key for several means: those marked, else the one with the focus."""
        marked = tuple(entry.ask for entry in self.visible if entry.ask.id in self.marked)
        return marked or ((self.focused.ask,) if self.focused else ())

    def entered(self, entries: Iterable[Entry]) -> Inbox:
        """Entries as they are now: new, changed or settled meanwhile."""
        at = self.index
        fresh = {entry.ask.id: entry for entry in entries}
        known = {entry.ask.id for entry in self.open}
        kept = [fresh.get(e.ask.id, e) for e in self.open if fresh.get(e.ask.id, e).settlement is None]
        new = [entry for ask_id, entry in fresh.items() if ask_id not in known and entry.settlement is None]
        gone = [entry for entry in fresh.values() if entry.settlement and entry.ask.id in known]
        inbox = replace(
            self,
            open=(*kept, *sorted(new, key=lambda entry: entry.ask.created)),
            settled=(*gone, *self.settled) if self.fetched else (),
            marked=self.marked - {entry.ask.id for entry in gone},
        )
        return inbox._refocused(at)._closed(gone)

    def _refocused(self, at: int) -> Inbox:
        """Where the entry with the focus has gone, its place keeps the focus, so that nothing moves under a finger."""
        visible = self.visible
        if any(entry.ask.id == self.at for entry in visible):
            return self
        return replace(self, at=visible[min(at, len(visible) - 1)].ask.id if visible else "")

    def _closed(self, gone: list[Entry]) -> Inbox:
        """Somebody else settled the ask that is open here."""
        for entry in gone:
            if self.dialog and self.dialog.ask.id == entry.ask.id and entry.settlement:
                words = say("lost.closed", how=ended_words(entry.settlement))
                return replace(self, mode="list", dialog=None, said=words)
        return self

    def back(self, entries: Iterable[Entry]) -> Inbox:
        """More settled entries, older than those known."""
        known = {entry.ask.id for entry in self.settled}
        more = (entry for entry in entries if entry.ask.id not in known)
        return replace(self, fetched=True, settled=(*self.settled, *more))._refocused(0)

    def opened(self, dialog: Sheet | Decision) -> Inbox:
        return replace(self, mode="ask", dialog=dialog.resized(self.size), at=dialog.ask.id)

    def reading(self, lines: Iterable[Shown]) -> Inbox:
        return replace(self, mode="read", lines=tuple(lines), passage=Passage(0, 1)).resized(self.size)

    def ticked(self, now: datetime) -> Inbox:
        """Time has passed."""
        return replace(self, now=now)

    def told(self, said: Shown) -> Inbox:
        if self.dialog:
            return replace(self, dialog=self.dialog.told(said))
        if self.teller:
            return replace(self, teller=replace(self.teller, said=said))
        return replace(self, said=said)

    def resized(self, size: Size) -> Inbox:
        inbox = replace(self, size=size, dialog=self.dialog.resized(size) if self.dialog else None)
        around = AROUND_READING if self.mode != "recommended" else AROUND if size.columns >= 60 else AROUND + 2
        height = max(size.lines - around, 1)
        return replace(inbox, passage=inbox.passage.resized(inbox.passage_rows(), height, size.columns))

    def passage_rows(self) -> int:
        """How much there is to go through: of lines that are read, or of proposals."""
        return len(self.read_rows() if self.mode == "read" else proposal_rows(self.proposed, self.size.columns))

    def read_rows(self) -> list[Line]:
        return [row for text in self.lines for row in wrap(line(text), self.size.columns)]

    def looked(self, picture: Picture) -> Inbox:
        if self.dialog:
            return replace(self, dialog=self.dialog.looked(picture))
        return replace(self, passage=self.passage.look_at(picture.numbers("row:")))

    def paste(self, words: str) -> Inbox:
        if self.dialog:
            return replace(self, dialog=self.dialog.paste(words))
        if self.teller:
            return replace(self, teller=self.teller.paste(words))
        return replace(self, field=self.field.type(words)) if self.mode == "decline" else self

    def press(self, key: str) -> Inbox | Wish | None:
        """The next state, something to be done, or None to leave."""
        inbox = replace(self, said=Shown(""))
        match self.mode:
            case "ask":
                return inbox._asked(key)
            case "read":
                return inbox._read(key)
            case "recommended":
                return inbox._recommending(key)
            case "decline":
                return inbox._declining(key)
            case "snooze":
                return inbox._snoozing(key)
            case "tell":
                return inbox._telling(key)
            case "help":
                return replace(inbox, mode="list")
            case "list":
                return inbox._listed(key)

    def _asked(self, key: str) -> Inbox | Wish:
        """A key for the ask that is open."""
        dialog = self.dialog
        if dialog is None:
            return replace(self, mode="list")
        if key == "escape" and _is_untouched(dialog):
            return self._left()
        if key in ("ctrl+n", "ctrl+p"):
            return self._neighbour(1 if key == "ctrl+n" else -1)
        match dialog.press(key):
            case Sheet() | Decision() as step:
                return replace(self, dialog=step)
            case None:
                return self._left()
            case Edit() | Visit() as wish:
                return wish
            case reply:
                return Settle(((dialog.ask, reply),))

    def _left(self) -> Inbox:
        return replace(self, mode="list", dialog=None)

    def _neighbour(self, by: int) -> Inbox | Wish:
        """The next ask without answering this one."""
        visible = self.visible
        if len(visible) < 2:
            return self.told(say("inbox.only_one"))
        return Open(visible[(self.index + by) % len(visible)].ask)

    def _listed(self, key: str) -> Inbox | Wish | None:
        page = max(self.size.lines - 6, 1)
        far = len(self.visible)
        steps = {"up": -1, "k": -1, "wheel:up": -3, "pageup": -page, "home": -far}
        steps |= {"down": 1, "j": 1, "wheel:down": 3, "pagedown": page, "end": far}
        if key in steps:
            return self._moved(steps[key])
        if key.startswith("row:"):
            row = key.removeprefix("row:")
            return self._enter() if row == self.at else replace(self, at=row)
        match key:
            case "tab" | "shift+tab":
                return self._turned()
            case "enter":
                return self._enter()
            case "escape" | "q":
                return None
            case "t":
                return self._tell()
            case "?":
                return replace(self, mode="help")
            case _:
                return self if self.look_back else self._acted(key)

    def _acted(self, key: str) -> Inbox | Wish:
        """Keys that do something to open asks."""
        match key:
            case " " if self.focused:
                return replace(self, marked=self.marked ^ {self.focused.ask.id})._moved(1)
            case "a":
                everything = frozenset(entry.ask.id for entry in self.visible)
                return replace(self, marked=frozenset() if self.marked == everything else everything)
            case "z":
                return replace(self, see_snoozed=not self.see_snoozed)._refocused(self.index)
            case "r" if self.visible:
                asks = self.chosen if self.marked else tuple(entry.ask for entry in self.visible)
                inbox = replace(self, mode="recommended", row="", proposed=proposals(asks), passage=Passage(0, 1))
                return inbox.resized(self.size)
            case "d" if self.chosen:
                return replace(self, mode="decline", targets=self.chosen)  # with the reason typed before, if any
            case "s" if self.chosen:
                return replace(self, mode="snooze", targets=self.chosen, row=SPANS[0])
            case _:
                return self

    def _moved(self, by: int) -> Inbox:
        visible = self.visible
        if not visible:
            return self
        at = max(0, min(self.index + by, len(visible) - 1))
        return replace(self, at=visible[at].ask.id)

    def _turned(self) -> Inbox:
        return replace(self, look_back=not self.look_back, marked=frozenset(), at="")._refocused(0)

    @property
    def wants_more(self) -> bool:
        """Whether the person has come to the end of what is known of settled asks."""
        return self.look_back and self.index >= len(self.settled) - self.size.lines

    def _enter(self) -> Inbox | Wish:
        entry = self.focused
        if entry is None:
            return self
        return Read(entry) if entry.settlement else Open(entry.ask)

    def _read(self, key: str) -> Inbox:
        if passage := self.passage.press({"wheel:up": "up", "wheel:down": "down"}.get(key, key)):
            return replace(self, passage=passage)
        return replace(self, mode="list", lines=()) if key in ("escape", "enter", "q") else self

    def _recommending(self, key: str) -> Inbox | Wish:
        """Only after the whole list of what it means was seen."""
        at_end = self.passage.bottom == self.passage.rows
        if key in ("tab", "shift+tab") or (key == "down" and at_end) or (key == "up" and self.row == "back"):
            return replace(self, row="back" if self.row == "send" else "send")
        if key == "escape" or (key == "enter" and self.row == "back"):
            return replace(self, mode="list")
        if key == "enter":
            return self._send_recommended() if self.row == "send" else self.told(say("inbox.choose_first"))
        if key.startswith("row:"):
            row = key.removeprefix("row:")
            return self._recommending("enter") if row == self.row else replace(self, row=row)
        passage = self.passage.press({"wheel:up": "up", "wheel:down": "down"}.get(key, key))
        return replace(self, passage=passage) if passage else self

    def _send_recommended(self) -> Inbox | Wish:
        if not self.passage.is_seen:
            return self.told(say("inbox.unseen", count=self.passage.unseen))
        replies = tuple((ask, reply) for ask, reply in self.proposed if reply)
        return Settle(replies) if replies else self.told(say("inbox.none_recommended"))

    def _declining(self, key: str) -> Inbox | Wish:
        match key:
            case "escape":
                return replace(self, mode="list")
            case "enter":
                words = self.field.text.strip()
                return Settle(tuple((ask, _declined(ask, words)) for ask in self.targets))
            case _:
                field = self.field.press(key, max(self.size.columns - 4, 10))
                return replace(self, field=field) if field else self

    def _tell(self) -> Inbox:
        """The box for the asker of the ask with the focus, or a list of those at work where that one is not."""
        if not self.working:
            return self.told(say("tell.none"))
        asker = self.focused.ask.asker if self.focused else None
        meant = next((agent for agent in self.working if asker and agent.address == address(asker)), None)
        teller = Teller.start(self.working, meant)
        if asker and not meant:
            teller = replace(Teller(self.working, teller.row), said=say("tell.not_here", agent=agent_words(asker)))
        return replace(self, mode="tell", teller=self._remembered(teller))

    def _remembered(self, teller: Teller) -> Teller:
        """With what was typed for this agent before and not sent."""
        before = self.untold.get(teller.to.address, "") if teller.to else ""
        return replace(teller, field=Field.of(before)) if before and not teller.field.text else teller

    def _telling(self, key: str) -> Inbox | Wish:
        if self.teller is None:
            return replace(self, mode="list")
        match self.teller.press(key, max(self.size.columns - 4, 10)):
            case Tell() as wish:
                return wish
            case Teller() as step:
                return replace(self, teller=step if step.to == self.teller.to else self._remembered(step))
            case None:
                return self._untold(self.teller)

    def _untold(self, teller: Teller) -> Inbox:
        """Left: what was typed is there again when the person comes back to this agent."""
        words = {teller.to.address: teller.field.text} if teller.to else {}
        return replace(self, mode="list", teller=None, untold={**self.untold, **words})

    def told_agent(self, wish: Tell, said: Shown) -> Inbox:
        """It is kept for the agent."""
        untold = {to: words for to, words in self.untold.items() if to != wish.to.address}
        inbox = replace(self, untold=untold)
        return replace(inbox, mode="list", teller=None, said=said) if self.teller else inbox.told(said)

    def _snoozing(self, key: str) -> Inbox | Wish:
        rows = (*SPANS, "wake")
        at = rows.index(self.row)
        if key.startswith("row:"):
            return self._snoozing("enter") if key == f"row:{self.row}" else replace(self, row=key.removeprefix("row:"))
        match key:
            case "up" | "down":
                return replace(self, row=rows[(at + (1 if key == "down" else -1)) % len(rows)])
            case "1" | "2" | "3" | "4" | "5":
                return replace(self, row=rows[int(key) - 1])
            case "escape":
                return replace(self, mode="list")
            case "enter":
                until = None if self.row == "wake" else end_of(self.row, self.now)
                return Snoozed(tuple(ask.id for ask in self.targets), until)
            case _:
                return self

    def snoozed(self, wish: Snoozed) -> Inbox:
        """The snooze was kept."""
        at = self.index
        others = {ask_id: until for ask_id, until in self.snoozes.items() if ask_id not in wish.ids}
        snoozes = others | {ask_id: wish.until for ask_id in wish.ids if wish.until}
        return replace(self, mode="list", snoozes=snoozes, marked=frozenset())._refocused(at)

    def settled_here(self, count: int, said: Shown, asks: Set[str]) -> Inbox:
        """Replies were sent from here; an ask that the person has gone on to stays open."""
        inbox = replace(self, marked=frozenset(), field=Field(), sent=self.sent + count)
        if self.dialog and self.dialog.ask.id not in asks:
            return inbox.told(said)
        return replace(inbox, mode="list", dialog=None, said=said)


def _declined(ask: Ask, words: str) -> Reply:
    return Denied(words) if ask.permission else Declined(words)


def _is_untouched(dialog: Sheet | Decision) -> bool:
    """Whether leaving it loses nothing and interrupts nothing."""
    if isinstance(dialog, Sheet):
        return dialog.mode == "list" and not dialog.form.is_touched
    return dialog.mode == "list" and not dialog.input and not any(text for _, text in dialog.words)
