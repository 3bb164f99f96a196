"""The inbox in plain lines, for screen readers and pipes: a numbered list, and words that act on its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, AskdeskError, InvalidReply
from askdesk.core.model import Ask, Asker, Declined, Denied, Entry, Reply
from askdesk.core.surface import attend_one
from askdesk.core.text import Shown, shown
from askdesk.core.work import Instruction, Working, address
from askdesk.surfaces import draft, snooze
from askdesk.surfaces.asker import age
from askdesk.surfaces.phrases import ended_words, settled_line
from askdesk.surfaces.recommended import recommended
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.telling import agent_words, kept_words, reached_words, since_words
from askdesk.surfaces.terminal.dialog import KEYS
from askdesk.surfaces.terminal.inbox_view import what
from askdesk.surfaces.terminal.lines import Lines
from askdesk.surfaces.terminal.plain import PlainSurface, entry_lines
from askdesk.surfaces.terminal.proposal import proposal_lines
from askdesk.surfaces.texts import say

_SETTLED = 20
_COMMAND = re.compile(r"(open|decline|snooze|show|tell|stop)?\s*(\d{1,4})(?:\s+(.*))?", re.ASCII)


class PlainInbox:
    """Asks on a Lines, until the person leaves."""

    def __init__(self, desk: Desk, lines: Lines, by: str) -> None:
        self._desk = desk
        self._lines = lines
        self._by = by
        self._surface = PlainSurface(lines, desk.shelf, by)
        self._shown: list[Entry] = []
        self._agents: list[Working] = []  # where agents were listed last, and not asks
        self._told: list[tuple[Asker, Instruction]] = []  # and not heard yet, as far as the person knows
        self._older: str | None = None  # where the settled asks go on
        self.sent = 0

    async def run(self) -> None:
        await self._list()
        while (line := await self._lines.read(say("plain_inbox.prompt"))) is not None:
            words = line.strip()
            if words in ("q", "quit", "/later"):
                return
            try:
                await self._do(words)
                await self._say_what_was_heard()
            except AskdeskError as error:  # the store may be well again by the next line
                self._lines.write(shown(str(error)))

    async def _do(self, words: str) -> None:
        if KEYS.search(words):
            self._lines.write(say("plain.keys"))
            return
        match words:
            case "" | "list":
                await self._list()
            case "settled" | "more":
                await self._settled(self._older if words == "more" else None)
            case "recommended":
                await self._recommended()
            case "wake":
                await self._wake()
            case "agents":
                await self._list_agents()
            case _ if command := _COMMAND.fullmatch(words):
                await self._one(command[1] or "open", int(command[2]), command[3] or "")
            case _:
                self._lines.write(say("plain_inbox.help"))

    async def _open_asks(self) -> list[Entry]:
        snoozes = await snooze.kept(self._desk.shelf, self._by)
        now = self._desk.now()
        return [e async for e in self._desk.each("open") if not (e.ask.id in snoozes and snoozes[e.ask.id] > now)]

    async def _list(self) -> None:
        self._shown, self._agents = await self._open_asks(), []
        self._write(self._rows() if self._shown else [say("inbox.nothing")])
        self._lines.forget()  # a number typed before this list was there means another ask

    def _rows(self) -> Iterable[Shown]:
        now = self._desk.now()
        for number, entry in enumerate(self._shown, 1):
            asker = entry.ask.asker
            since = Shown(age(now - entry.ask.created))
            yield Shown(f"  {number}. {what(entry)} ({_names(asker.agent, asker.project)}, {since})")

    def _write(self, lines: Iterable[Shown]) -> None:
        self._lines.write(Shown("\n".join(lines)))

    async def _settled(self, after: str | None) -> None:
        """The asks that ended last, or those before; their numbers are for `show`."""
        page = await self._desk.page("settled", after=after, limit=_SETTLED, newest=True)
        self._shown, self._older, self._agents = list(page.entries), page.after, []
        rows = [Shown(f"  {number}. {what(entry)}") for number, entry in enumerate(self._shown, 1)]
        self._write(rows or [say("inbox.nothing_settled")])
        if page.after:
            self._lines.write(say("plain_inbox.more"))
        self._lines.forget()

    async def _wake(self) -> None:
        """Bring back what was snoozed."""
        for ask_id in await snooze.kept(self._desk.shelf, self._by):
            await snooze.keep(self._desk.shelf, ask_id, self._by, None)
        await self._list()

    async def _one(self, verb: str, number: int, words: str) -> None:
        listed = len(self._agents or self._shown)
        if not 1 <= number <= listed:
            self._lines.write(say("plain.no_number", number=number, last=listed))
        elif verb in ("tell", "stop"):
            await self._tell(number, words, stop=verb == "stop")
        elif self._agents:
            self._lines.write(say("plain_inbox.no_asks"))
        else:
            await self._act(verb, self._shown[number - 1], words)

    async def _act(self, verb: str, entry: Entry, words: str) -> None:
        ask = entry.ask
        match "show" if entry.settlement else verb:
            case "snooze":
                await self._snooze(ask, words or snooze.SPANS[0])
            case "decline":
                await self._decline(ask, words)
            case "show":
                self._write(entry_lines(await self._desk.get(ask.id), await draft.all_kept(self._desk.shelf, ask)))
            case _:
                await self._open(ask)

    async def _list_agents(self) -> None:
        """Those at work; their numbers are for `tell` and `stop`."""
        self._agents, now = list(await self._desk.working()), self._desk.now()
        rows = [
            Shown(f"  {number}. {agent_words(agent.asker)} ({since_words(agent, now)})")
            for number, agent in enumerate(self._agents, 1)
        ]
        self._write(rows or [say("tell.none")])
        self._lines.forget()

    async def _tell(self, number: int, words: str, *, stop: bool) -> None:
        asker = self._agents[number - 1].asker if self._agents else self._shown[number - 1].ask.asker
        who = agent_words(asker)
        if address(asker) not in {agent.address for agent in await self._desk.working()}:
            self._lines.write(say("tell.gone", agent=who))
        elif not stop and not words:
            self._lines.write(say("plain_inbox.what", agent=who, number=number))
        elif stop and not await self._is_sure(who):
            self._lines.write(say("plain_inbox.not_sent"))
        else:
            told = await self._desk.tell(asker, words, stop=stop, by=self._by, surface=self._surface.name)
            self._told.append((asker, told))
            self._lines.write(kept_words(asker, told))

    async def _is_sure(self, who: Shown) -> bool:
        self._lines.forget()
        return (await self._lines.read(say("plain_inbox.stop", agent=who)) or "").strip().lower() == "yes"

    async def _say_what_was_heard(self) -> None:
        """Whatever has reached an agent since the last line."""
        for asker, told in list(self._told):
            if heard := await self._desk.heard(asker, told, timeout=0):
                self._told.remove((asker, told))
                self._lines.write(reached_words(asker, told, heard, self._desk.now()))

    async def _open(self, ask: Ask) -> None:
        mine = new_id()
        present, lost = self._surface.present, self._surface.lost
        settlement = await attend_one(
            self._desk, ask, present, by=self._by, surface=self._surface.name, lost=lost, submission=mine
        )
        if settlement and settlement.submission == mine:
            self.sent += 1
            await draft.keep(self._desk.shelf, ask, self._by, None)
        await self._list()

    async def _snooze(self, ask: Ask, span: str) -> None:
        if span not in snooze.SPANS:
            self._lines.write(say("plain_inbox.spans", spans=Shown(", ".join(snooze.SPANS))))
            return
        await snooze.keep(self._desk.shelf, ask.id, self._by, snooze.end_of(span, self._desk.now()))
        await self._list()

    async def _decline(self, ask: Ask, words: str) -> None:
        try:
            reply = Denied(words) if ask.permission else Declined(words)
        except InvalidReply as error:
            self._lines.write(say("plain.cannot", why=shown(str(error))))
            return
        await self._settle(ask, reply)

    async def _settle(self, ask: Ask, reply: Reply) -> None:
        digest = ask.permission.digest if ask.permission else None
        try:
            await self._desk.settle(ask.id, reply, by=self._by, surface=self._surface.name, digest=digest)
        except AlreadySettled as error:
            self._lines.write(say("plain.closed", how=ended_words(error.settlement)))
        else:
            self.sent += 1
            self._lines.write(settled_line(ask, reply))

    async def _recommended(self) -> None:
        """What the agents recommend, listed in full; only the word yes then sends it."""
        proposals = [(entry.ask, reply) for entry in await self._open_asks() if (reply := recommended(entry.ask))]
        if not proposals:
            self._lines.write(say("inbox.none_recommended"))
            return
        self._write(Shown(f"  {text_of(spans)}") for spans in proposal_lines(proposals))
        self._lines.forget()
        if (await self._lines.read(say("plain_inbox.confirm", count=len(proposals))) or "").strip().lower() != "yes":
            self._lines.write(say("plain_inbox.not_sent"))
            return
        for ask, reply in proposals:
            await self._settle(ask, reply)


def _names(agent: str, project: str) -> Shown:
    return Shown(f"{shown(agent)}, {shown(project.rstrip('/').rsplit('/', 1)[-1])}") if project else shown(agent)
