"""Notifications: tell people elsewhere that an agent waits. A notification tells, it never settles.

message() is pure: what may leave the machine, in words. Notifier decides when, and that once is enough. `told.py` keeps
who was told, and `through_apprise.py` sends.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from random import random
from typing import Literal, TypeAlias

from askdesk.core.clock import Clock, SystemClock
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, UnknownAsk, VersionConflict
from askdesk.core.model import Ask
from askdesk.core.text import Shown, cut, shown
from askdesk.surfaces import told
from askdesk.surfaces.texts import say
from askdesk.surfaces.through_apprise import Message as Message
from askdesk.surfaces.through_apprise import Send, ThroughApprise, scheme

log = logging.getLogger(__name__)

Detail: TypeAlias = Literal["nothing", "names", "text"]
"""How much may leave the machine: only that an agent waits, the names of agent and project, or the text too."""

Link: TypeAlias = Callable[[str], str]
"""Where an ask can be answered, by its id; the inbox for an empty one. It leaves the machine: it must hold no token."""

_FEW = 4  # asks that a message tells of by name
_TITLE, _NAME, _WORDS, _FEWER_WORDS = 80, 24, 300, 50  # cells, and never more characters than that
_LOOKED_AT = 2000  # characters of a text, however long it is

# Services read these as markup, mentions or links, some of them whatever they are told. What looks alike is harmless,
# and so is a URL that nobody can click, and no service fetches for a picture of it.
_LOOKALIKES = str.maketrans("*_`~|<>@", "∗ˍˋ∼∣‹›﹫")
_LINKS = (("://", ": //"), ("](", "] ("), ("][", "] ["))

_WINDOW = timedelta(seconds=2)  # those that come due so soon after each other are told together
_NO_FLOOD = timedelta(hours=1)  # how old an ask may be when the first notifier ever starts
_TRIED = timedelta(minutes=10)
_RENEWED = timedelta(seconds=20)
_LONGEST_NAP = timedelta(minutes=1)  # timers stand still while a laptop sleeps, asks do not
_MOMENT, _LONGEST_PAUSE = 1.0, 120.0  # seconds between two tries
_EVER, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def message(asks: Sequence[Ask], detail: Detail, link: Link | None) -> Message:
    """What is told of one ask or of several, in plain text and no more than fits on a phone."""
    where = shown(link(asks[0].id if len(asks) == 1 else "")) if link else None
    lines = [*_lines(asks, detail), say("notice.link", link=where) if where else say("notice.inbox")]
    return Message(cut(_title(asks, detail), _TITLE), Shown("\n".join(lines)))


def of_host(ask: Ask, detail: Detail) -> Message:
    """What is told of something that an agent asks in its host's own dialog alone, in the host's words."""
    lines = [_plain(ask.questions[0].text, _WORDS)] if detail == "text" else []
    return Message(cut(_title([ask], detail), _TITLE), Shown("\n".join([*lines, say("notice.host")])))


async def tell_once(
    desk: Desk, asks: Sequence[Ask], urls: Iterable[str], *, detail: Detail, link: Link | None, send: Send
) -> None:
    """Tell of asks that nobody has been told of, where no notifier runs: one try for each service."""
    claims = [claim for ask in asks for claim in await _claims(desk, ask)]
    if not claims:
        return
    told_of = message([ask for ask, _ in claims], detail, link)
    went = [await send(url, told_of) for url in dict.fromkeys(urls)]
    for ask, version in claims:
        with suppress(VersionConflict):
            await told.write(desk.shelf, ask.id, "told" if any(went) else "failed", desk.now(), expect=version)


async def _claims(desk: Desk, ask: Ask) -> list[tuple[Ask, int]]:
    """An ask with the version of the claim on it; nothing where it is another's, or needs no telling any more."""
    version, free_from = await told.standing(desk.shelf, ask.id)
    if free_from is None or free_from > desk.now():
        return []
    try:
        return [(ask, await told.write(desk.shelf, ask.id, "sending", desk.now(), expect=version))]
    except VersionConflict:
        return []


def trial() -> Message:
    """A message to see whether messages arrive."""
    return Message(say("notice.test_title"), say("notice.test"))


def _title(asks: Sequence[Ask], detail: Detail) -> Shown:
    if len(asks) > 1:
        return say("notice.several", count=len(asks))
    return say("notice.agent") if detail == "nothing" else say("notice.from", who=_who(asks[0]))


def _lines(asks: Sequence[Ask], detail: Detail) -> Iterable[Shown]:
    if detail == "nothing":
        return
    if len(asks) == 1:
        if detail == "text":
            yield _what(asks[0], _WORDS)
        return
    for ask in asks[:_FEW]:
        if detail == "text":
            yield say("notice.line_from", who=_who(ask), words=_what(ask, _FEWER_WORDS))
        else:
            yield say("notice.line", words=_who(ask))
    if len(asks) > _FEW:
        yield say("notice.more", count=len(asks) - _FEW)


def _who(ask: Ask) -> Shown:
    agent = _plain(ask.asker.agent, _NAME)
    parts = [part for part in re.split(r"[/\\]", ask.asker.project) if part.strip()]  # also of another machine's folder
    return say("notice.who", agent=agent, project=_plain(parts[-1], _NAME)) if parts else agent


def _what(ask: Ask, cells: int) -> Shown:
    """The first question; or the tool, and never its input: who allows a call must see all of it, and not here."""
    if ask.permission:
        return say("notice.permission", tool=_plain(ask.permission.tool, _FEWER_WORDS))
    first = _plain(ask.questions[0].text, cells)
    if len(ask.questions) == 1:
        return say("notice.question", question=first)
    return say("notice.questions", question=first, count=len(ask.questions))


def _plain(text: str, most: int) -> Shown:
    """An agent's words on one line, so that no service takes them for more than words."""
    text = text.strip()
    words = shown(text if len(text) <= _LOOKED_AT else f"{text[:_LOOKED_AT]}…").translate(_LOOKALIKES)
    for markup, harmless in _LINKS:
        words = words.replace(markup, harmless)
    fitting = cut(Shown(words), most)
    return fitting if len(fitting) <= most else Shown(f"{fitting[: most - 1]}…")  # marks take characters and no cells


class _Claim:
    """An ask that is this notifier's to tell of."""

    def __init__(self, ask: Ask, version: int, now: datetime, trying: int) -> None:
        self.ask, self.version, self.written = ask, version, now
        self.until = now + _TRIED
        self.state: told.State = "sending"
        self.lost = False  # to another notifier, which believes this one dead
        self._trying = trying  # services that may still tell of it

    def give_up(self) -> None:
        """One of the services will not tell of it."""
        self._trying -= 1
        if self._trying == 0 and self.state == "sending":
            self.state = "failed"

    def is_due(self, now: datetime) -> bool:
        """Whether something must be written on the shelf."""
        return self.state != "sending" or now >= self.written + _RENEWED

    def is_doubtful(self, now: datetime) -> bool:
        """Whether another may have taken it over by now, as after a sleep of this machine."""
        return self.state == "sending" and now >= self.written + told.DEAD_AFTER


class Notifier:
    """Tells of each new ask once, however many notifiers a desk has; `again` after so long, while it is open.

    `clock` is the desk's. A store that fails delays what is told; nothing here fails or holds up an ask.
    """

    def __init__(
        self,
        desk: Desk,
        urls: Iterable[str],
        *,
        detail: Detail = "text",
        after: timedelta = timedelta(seconds=5),
        again: timedelta | None = None,
        link: Link | None = None,
        clock: Clock | None = None,
        send: Send | None = None,
        random: Callable[[], float] = random,
    ) -> None:
        self._desk, self._detail, self._after, self._again, self._link = desk, detail, after, again, link
        self._clock = clock or SystemClock()
        self._services = [
            _Service(
                scheme(url), partial(self._tell, url, send or ThroughApprise()), self._is_open, self._clock, random
            )
            for url in dict.fromkeys(urls)
        ]
        self._open: dict[str, datetime] = {}  # by id: when to look whether it must be told
        self._claims: dict[str, _Claim] = {}
        self._since: datetime | None = None
        self._not_before = _EVER
        self._next_cleaning, self._cleaned_to = _EVER, ""
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Tell of asks until cancelled; without URLs there is nothing to do."""
        if not self._services:
            return
        async with self._desk.watch() as hints:  # before the first read, so no ask is missed
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._listen(hints))
                    tasks.create_task(self._keep_telling())
                    for service in self._services:
                        tasks.create_task(service.run())
            finally:
                with suppress(AskdeskError):
                    await self._write_down()  # what was told just now, or it would be told again

    async def _listen(self, hints: AsyncIterator[str | None]) -> None:
        ask_id: str | None = None  # begin with everything
        while True:
            try:
                await self._read(ask_id)
            except AskdeskError as error:
                await self._trouble(error)
                ask_id = None  # and whatever was hinted at meanwhile
            else:
                ask_id = await anext(hints)

    async def _read(self, ask_id: str | None) -> None:
        if ask_id is None:
            async for entry in self._desk.each("open"):
                self._note(entry.ask)
            return
        with suppress(UnknownAsk):
            entry = await self._desk.get(ask_id)
            if entry.settlement:
                self._open.pop(ask_id, None)
            else:
                self._note(entry.ask)

    def _note(self, ask: Ask) -> None:
        if ask.id not in self._open and ask.id not in self._claims:
            self._open[ask.id] = min(ask.created, self._clock.now()) + self._after
            self._woken.set()

    async def _trouble(self, error: AskdeskError) -> None:
        log.warning("notifications wait for the store: %s", error)
        await _pause(self._clock, told.APART.total_seconds())

    async def _keep_telling(self) -> None:
        """All that is written on the shelf is written here, one after the other."""
        while True:
            self._woken.clear()
            try:
                await self._work()
            except AskdeskError as error:
                await self._trouble(error)
            else:
                left = min(self._next_work() - self._clock.now(), _LONGEST_NAP)
                await _pause(self._clock, left.total_seconds(), self._woken)

    async def _work(self) -> None:
        if self._since is None:
            self._since = await told.since(self._desk.shelf, self._clock.now())
        await self._write_down()
        if self._clock.now() >= self._next_cleaning:
            await self._clean()
        if self._clock.now() >= self._next_telling():
            await self._tell_due()

    def _next_work(self) -> datetime:
        renewals = (claim.written + _RENEWED for claim in self._claims.values())
        return min((self._next_cleaning, self._next_telling(), *renewals))

    def _next_telling(self) -> datetime:
        """When the first that is due is told, with all that come due until then."""
        first = min(self._open.values(), default=None)
        return max(first + _WINDOW, self._not_before) if first else _NEVER

    async def _write_down(self) -> None:
        for ask_id, claim in list(self._claims.items()):
            now, state = self._clock.now(), claim.state  # as it is written; a service may change it meanwhile
            if not claim.is_due(now):
                continue
            try:
                claim.version = await told.write(self._desk.shelf, ask_id, state, now, expect=claim.version)
            except VersionConflict:
                claim.lost = True
            claim.written = now
            if claim.lost or state != "sending":
                del self._claims[ask_id]
                if self._again and state != "failed":
                    self._open[ask_id] = now + self._again

    async def _clean(self) -> None:
        self._cleaned_to = await told.forget(self._desk, self._clock.now(), self._cleaned_to)
        self._next_cleaning = self._clock.now() + timedelta(minutes=1 if self._cleaned_to else 60)

    async def _tell_due(self) -> None:
        now = self._clock.now()
        due = [ask_id for ask_id, moment in self._open.items() if moment <= now]
        free = [found for ask_id in due if (found := await self._free(ask_id, now))]
        if not free:
            return
        if moment := await told.take_turn(self._desk.shelf, now):
            self._not_before = moment
            return
        claims: list[_Claim] = []
        try:
            for ask, version in free:
                claims += await self._claimed(ask, version, now)
        finally:  # also when the store fails midway: what is claimed must be told
            for service in self._services:
                service.take(claims)

    async def _free(self, ask_id: str, now: datetime) -> tuple[Ask, int] | None:
        """The ask and which version to expect on the shelf, where it is open and nobody tells of it."""
        standing = await told.standing(self._desk.shelf, ask_id, self._again)
        ask = await self._worth_telling(ask_id)
        if ask is None or standing.free_from is None or ask_id in self._claims:
            self._open.pop(ask_id, None)
            return None
        if standing.free_from > now:
            self._open[ask_id] = standing.free_from
            return None
        return ask, standing.version

    async def _worth_telling(self, ask_id: str) -> Ask | None:
        try:
            entry = await self._desk.get(ask_id)
        except UnknownAsk:
            return None
        is_old = self._since is not None and entry.ask.created < self._since - _NO_FLOOD
        return None if entry.settlement or is_old else entry.ask

    async def _claimed(self, ask: Ask, version: int, now: datetime) -> list[_Claim]:
        try:
            version = await told.write(self._desk.shelf, ask.id, "sending", now, expect=version)
        except VersionConflict:  # another was quicker; should it die over it, there is a time to look again
            self._open[ask.id] = now + told.DEAD_AFTER
            return []
        self._open.pop(ask.id, None)
        self._claims[ask.id] = claim = _Claim(ask, version, now, len(self._services))
        return [claim]

    async def _is_open(self, ask: Ask) -> bool:
        try:
            return (await self._desk.get(ask.id)).settlement is None
        except UnknownAsk:
            return False
        except AskdeskError:  # told in vain rather than not at all
            return True

    async def _tell(self, url: str, send: Send, asks: Sequence[Ask]) -> bool:
        try:
            went = await send(url, message(asks, self._detail, self._link))
        except Exception as error:  # noqa: BLE001 - one service must not stop the others; its words may hold a secret
            log.warning("a notification through %s failed with %s", scheme(url), type(error).__name__)
            went = False
        self._woken.set()  # for what came of it must be written down
        return went


class _Service:
    """One URL: tells of all that has gathered for it in one message, again and again until it went or is too late."""

    def __init__(
        self,
        name: str,
        tell: Callable[[Sequence[Ask]], Awaitable[bool]],
        is_open: Callable[[Ask], Awaitable[bool]],
        clock: Clock,
        random: Callable[[], float],
    ) -> None:
        self._name, self._tell, self._is_open, self._clock, self._random = name, tell, is_open, clock, random
        self._outbox: dict[str, _Claim] = {}
        self._filled = asyncio.Event()
        self._failures = 0

    def take(self, claims: Iterable[_Claim]) -> None:
        self._outbox |= {claim.ask.id: claim for claim in claims}
        self._filled.set()

    async def run(self) -> None:
        while True:
            claims = await self._worth_telling()
            if not claims:
                self._filled.clear()
                await self._filled.wait()
            elif any(claim.is_doubtful(self._clock.now()) for claim in claims):
                await _pause(self._clock, _MOMENT)  # until it is written down anew, or known to be lost
            else:
                self._note(claims, await self._tell([claim.ask for claim in claims]))
                await _pause(self._clock, self._until_next())

    async def _worth_telling(self) -> list[_Claim]:
        for claim in list(self._outbox.values()):
            if claim.lost or not await self._is_open(claim.ask):
                self._give_up(claim)
        return list(self._outbox.values())

    def _note(self, claims: Iterable[_Claim], went: bool) -> None:
        self._failures = 0 if went else self._failures + 1
        if went:
            for claim in claims:
                claim.state = "told"
                self._remove(claim)
            return
        late = [claim for claim in claims if self._clock.now() >= claim.until]
        for claim in late:
            self._give_up(claim)
        if late:
            log.warning("no notification went through %s: given up for %d asks", self._name, len(late))
        elif self._failures == 1:
            log.warning("no notification went through %s: it will be tried again", self._name)

    def _give_up(self, claim: _Claim) -> None:
        claim.give_up()
        self._remove(claim)

    def _remove(self, claim: _Claim) -> None:
        if self._outbox.get(claim.ask.id) is claim:  # and not a later one of the same ask
            del self._outbox[claim.ask.id]

    def _until_next(self) -> float:
        """Seconds: no service is told too often, and a broken one less and less often."""
        apart = told.APART.total_seconds()
        if not self._failures:
            return apart
        return min(apart * 2.0 ** min(self._failures - 1, 10), _LONGEST_PAUSE) * (1 + self._random() / 2)


async def _pause(clock: Clock, seconds: float, over: asyncio.Event | None = None) -> None:
    """Until so many seconds have passed, or `over` is set."""
    over = over or asyncio.Event()
    stop = clock.later(max(seconds, 0), over.set)
    try:
        await over.wait()
    finally:
        stop()
