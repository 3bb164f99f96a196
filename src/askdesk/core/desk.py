"""The desk: where agents put asks and people settle them. All rules, no storage, no screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from os import urandom
from typing import TypeAlias

import msgspec

from askdesk.core import owed, work
from askdesk.core.clock import Bell, Clock, SystemClock, nap
from askdesk.core.collecting import Left, Seen, left_by
from askdesk.core.errors import (
    AlreadySettled,
    AskdeskError,
    InvalidAsk,
    InvalidReply,
    KeyReused,
    StoreGone,
    UnknownAsk,
)
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import (
    Ask,
    Asker,
    Entry,
    Outcome,
    Permission,
    PreviewFormat,
    Question,
    Questions,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.store import EXPIRY, WITHDRAWAL, Page, Shelf, State, Store
from askdesk.core.work import Instruction

_encoder = msgspec.json.Encoder()

Look: TypeAlias = Callable[[], Awaitable[Entry]]
Body: TypeAlias = Question | Questions | Permission | Iterable[Question]

_LONGEST_DEADLINE = timedelta(days=36_500)


def new_id() -> str:
    """128 random bits, in digits that survive a shell, a URL and a double click."""
    return urandom(16).hex()


class Desk:
    """Where agents and people meet. Everything it acknowledges is in its store."""

    def __init__(
        self,
        store: Store,
        *,
        limits: Limits = OPEN,
        clock: Clock | None = None,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self.store = store
        self._limits = limits
        self._clock = clock or SystemClock()
        self._new_id = new_id

    @property
    def shelf(self) -> Shelf:
        return self.store.shelf

    def now(self) -> datetime:
        return self._clock.now()

    async def post(
        self,
        body: Body,
        *,
        asker: Asker | None = None,
        key: str | None = None,
        deadline: datetime | timedelta | None = None,
        preview_format: PreviewFormat = "none",
        follows: str | None = None,
        id: str | None = None,
    ) -> Ask:
        """Put an ask on the desk. When this returns it is kept; the same key and body again is the same ask.

        So is the same id again, for those who must be able to send it twice; others leave it to the desk.
        """
        return await self._kept(self._made(body, asker, key, deadline, preview_format, follows, id))

    async def leave(
        self,
        body: Body,
        *,
        asker: Asker,
        key: str | None = None,
        deadline: datetime | timedelta | None = None,
        preview_format: PreviewFormat = "none",
        follows: str | None = None,
        call: str = "",
        id: str | None = None,
    ) -> Ask:
        """Put an ask on the desk and go on working: `collect` tells the agent how it ended, whenever that is.

        `call` tells the same call again from another one, for those who look through `owed.owed_to`.
        """
        ask = self._made(body, asker, key, deadline, preview_format, follows, id)
        await self._owe(ask.id, asker, call)  # first: an answer must not come before it is known whose it is
        try:
            standing = await self._kept(ask)
        except StoreGone:  # nobody knows whether it was kept; a note without an ask is left out by whoever reads it
            raise
        except AskdeskError:
            await self._owe_nothing(ask)
            raise
        if standing.id != ask.id:  # asked before, under the same key
            await self._owe(standing.id, asker, call)
            await owed.delivered(self.shelf, asker, ask.id)
        await self._forget_old(standing)
        return standing

    async def _owe(self, ask_id: str, asker: Asker, call: str) -> None:
        await owed.note(self.shelf, owed.Owed(ask=ask_id, asker=asker, call=call, at=self._clock.now()))

    async def _owe_nothing(self, ask: Ask) -> None:
        """Take the note away, unless the ask was kept after all, or by somebody before."""
        with suppress(AskdeskError):
            try:
                await self.store.get(ask.id)
            except UnknownAsk:
                await owed.delivered(self.shelf, ask.asker, ask.id)

    async def _forget_old(self, ask: Ask) -> None:
        """Now and then, as an id happens to begin; by the time of the store, which may be on another machine."""
        if ask.id.startswith("0"):
            with suppress(AskdeskError):
                await owed.forget_old(self.store, ask.created)

    async def collect(self, asker: Asker) -> AsyncGenerator[Entry]:
        """What an agent left and was settled since, in the order in which it was settled.

        Each is given until it was delivered, which it is once the caller comes back for the next one: who dies over
        one gets it again.
        """
        for entry in (await self.left_by(asker)).settled:
            if await owed.is_owed(self.shelf, asker, entry.ask.id):  # and not delivered by somebody else meanwhile
                yield entry
                await self.delivered(entry.ask.id, asker)

    async def uncollected(self, asker: Asker) -> tuple[Ask, ...]:
        """What an agent left and nobody has settled yet, in the order in which it was asked."""
        return (await self.left_by(asker)).open

    async def left_by(self, asker: Asker, *, timeout: float | None = 0, seen: Seen = lambda entry: entry) -> Left:
        """What an agent left and has not collected: `settled`, as `collect` would give it, and `open`. Takes nothing.

        With a timeout, or None for none, it waits until something is settled, as long as something is open. `seen` is
        what somebody may see of each: less of it, or None for nothing at all.
        """
        return await left_by(self, asker, self._clock, timeout=timeout, seen=seen)

    async def delivered(self, ask_id: str, asker: Asker) -> None:
        """The agent has heard how an ask ended, so it need not be collected."""
        await owed.delivered(self.shelf, asker, ask_id)

    def _made(
        self,
        body: Body,
        asker: Asker | None,
        key: str | None,
        deadline: datetime | timedelta | None,
        preview_format: PreviewFormat,
        follows: str | None,
        id: str | None = None,
    ) -> Ask:
        now = self._clock.now()
        if isinstance(deadline, timedelta):
            deadline = now + min(deadline, _LONGEST_DEADLINE)
        elif deadline is not None and deadline.tzinfo:
            deadline = min(deadline, now + _LONGEST_DEADLINE)  # no calendar of another time zone ends before it
        ask = Ask(
            id or self._new_id(), self._checked(body), asker or Asker(), now, key, deadline, preview_format, follows
        )
        if ask.deadline is not None and (ask.deadline.tzinfo is None or ask.is_due(now)):
            raise InvalidAsk("deadline: must be a time to come, with a time zone")
        return ask

    async def _kept(self, ask: Ask) -> Ask:
        standing = await self.store.add(ask)
        if standing is not ask and not _asks_the_same(standing.body, ask.body):
            raise KeyReused(ask.key or ask.id, standing.id)
        return standing

    def _checked(self, body: Body) -> Questions | Permission:
        if isinstance(body, Question):
            body = Questions((body,))
        elif not isinstance(body, Questions | Permission):
            body = Questions(body)
        if problems := tuple(self._limits.problems(body)):
            raise InvalidAsk(problems)
        return body

    async def wait(self, ask_id: str, *, timeout: float | None = None) -> Settlement | None:
        """The settlement, once there is one; None when the timeout ends first. Waiting changes nothing."""
        return (await self.awaited(partial(self.get, ask_id), ask_id, timeout=timeout)).settlement

    async def awaited(self, look: Look, ask_id: str, *, timeout: float | None = None) -> Entry:
        """The same for whoever looks at the ask in a way of their own: what they saw last."""
        bell = Bell()
        stop = self.store.hints(lambda _: bell.ring(), ask_id)  # before the first look, so no change is missed
        try:
            return await self._awaited(await look(), look, bell, timeout)
        finally:
            stop()

    async def _awaited(self, entry: Entry, look: Look, bell: Bell, timeout: float | None = None) -> Entry:
        ended = timeout is not None and timeout <= 0

        def end() -> None:
            nonlocal ended
            ended = True
            bell.ring()

        stop_timer = self._clock.later(timeout, end) if timeout is not None else None
        try:
            while entry.settlement is None and not ended:
                await nap(self._clock, bell, entry.ask.deadline)
                entry = await look()
        finally:
            if stop_timer:
                stop_timer()
        return entry

    @asynccontextmanager
    async def asking(
        self,
        body: Body,
        *,
        asker: Asker | None = None,
        key: str | None = None,
        deadline: datetime | timedelta | None = None,
        preview_format: PreviewFormat = "none",
    ) -> AsyncIterator[Ask]:
        """Post an ask for as long as the block runs: cancelled without a key, it is withdrawn."""
        ask = self._made(body, asker, key, deadline, preview_format, None)
        try:
            yield await self._kept(ask)
        except asyncio.CancelledError:
            if key is None:
                await asyncio.shield(self._withdraw_quietly(ask.id))
            raise

    async def ask(
        self,
        body: Body,
        *,
        asker: Asker | None = None,
        key: str | None = None,
        deadline: datetime | timedelta | None = None,
        preview_format: PreviewFormat = "none",
        follows: str | None = None,
    ) -> Outcome:
        """Post and wait for the outcome. Cancelled without a key, it withdraws: nobody could come back for it."""
        ask = self._made(body, asker, key, deadline, preview_format, follows)
        bell = Bell()
        stop = self.store.hints(lambda _: bell.ring(), ask.id)  # before it is kept, so it need not be read first
        try:
            standing = await self._kept(ask)
            if standing.id == ask.id:
                settlement = (await self._awaited(Entry(ask), partial(self.get, ask.id), bell)).settlement
            else:  # asked before, under the same key
                settlement = await self.wait(standing.id)
        except asyncio.CancelledError:
            if key is None:  # also while it is being kept: a store may have begun and go on without us
                await asyncio.shield(self._withdraw_quietly(ask.id))
            raise
        finally:
            stop()
        assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
        return settlement.outcome

    async def _withdraw_quietly(self, ask_id: str) -> None:
        with suppress(AskdeskError):  # settled meanwhile, never kept, or the store is gone: nothing to take back
            await self.withdraw(ask_id, "the agent stopped waiting")

    async def settle(
        self,
        ask_id: str,
        reply: Reply,
        *,
        by: str,
        surface: str,
        submission: str | None = None,
        digest: str | None = None,
        entry: Entry | None = None,
    ) -> Settlement:
        """Settle an ask with a person's reply. The first one wins; the same submission again is the same success.

        Who has just read the ask gives it as `entry`: it is not read again.
        """
        if submission in (EXPIRY, WITHDRAWAL):
            raise InvalidReply(f"submission: {submission} is not a person's")
        if (size := len(_encoder.encode(reply))) > self._limits.size:
            raise InvalidReply(f"must not be longer than {self._limits.size} bytes, is {size}")
        entry = entry or await self.store.get(ask_id)
        fitted = entry.ask.fit(reply, digest) if entry.settlement is None else reply
        return await self._settled(
            ask_id, Settlement(fitted, self._clock.now(), submission or self._new_id(), by, surface, digest)
        )

    async def withdraw(self, ask_id: str, reason: str = "", *, by: str = "") -> Settlement:
        """The asker takes it back. Twice is once."""
        return await self._settled(ask_id, Settlement(Withdrawn(reason), self._clock.now(), WITHDRAWAL, by))

    async def _settled(self, ask_id: str, settlement: Settlement) -> Settlement:
        standing = await self.store.settle(ask_id, settlement)
        if standing.submission != settlement.submission:
            raise AlreadySettled(ask_id, standing)
        return standing

    async def tell(
        self,
        asker: Asker | str,
        text: str = "",
        *,
        stop: bool = False,
        by: str = "",
        surface: str = "",
        submission: str | None = None,
    ) -> Instruction:
        """Tell an agent something unasked, or to stop. It is kept, and delivered once, also to one that comes back.

        The agent is an asker, or the address of one. The same words in the same submission are told once; other words
        in it are another instruction, for who changed their mind must not be told that it was kept when it was not.
        """
        instruction_id = work.instruction_id(submission, text, stop=stop) if submission else self._new_id()
        instruction = Instruction(id=instruction_id, text=text, stop=stop, by=by, surface=surface, at=self._clock.now())
        if (size := len(_encoder.encode(instruction))) > self._limits.size:
            raise InvalidReply(f"must not be longer than {self._limits.size} bytes, is {size}")
        return await work.tell(self.shelf, _address(asker), instruction)

    async def heard(
        self, asker: Asker | str, instruction: Instruction, *, timeout: float | None = None
    ) -> datetime | None:
        """Since when an agent has what it was told; None when the timeout ends first. Waiting changes nothing."""
        return await work.heard(self.shelf, _address(asker), instruction.id, self._clock, timeout)

    def at_work(self, asker: Asker) -> AbstractAsyncContextManager[work.Work]:
        """Let people see that this agent works, and tell it something, for as long as the block runs."""
        return work.at(self.shelf, asker, self._clock)

    async def working(self) -> tuple[work.Working, ...]:
        """The agents that can be told something now."""
        return await work.working(self.shelf, self._clock.now())

    async def get(self, ask_id: str) -> Entry:
        """One ask with its settlement; a deadline that has come is seen here."""
        entry = await self.store.get(ask_id)
        if entry.settlement is None and entry.ask.is_due(now := self._clock.now()):
            await self.store.expire(now)
            entry = await self.store.get(ask_id)
        return entry

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        """Some open or settled asks; see Store.page."""
        await self.store.expire(self._clock.now())
        return await self.store.page(state, after=after, limit=limit, newest=newest, text=text)

    async def each(self, state: State, *, newest: bool = False, text: str = "") -> AsyncIterator[Entry]:
        """Every entry of a listing, page after page."""
        after: str | None = None
        while True:
            page = await self.page(state, after=after, newest=newest, text=text)
            for entry in page.entries:
                yield entry
            if (after := page.after) is None:
                return

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[str | None]]:
        """Hints about all asks, from this moment on: an id, or None for "read everything again"."""
        unheard: dict[str | None, None] = {}  # a set in order: a watcher who is slow hears of each ask once
        woken = asyncio.Event()

        def heard(ask_id: str | None) -> None:
            unheard[ask_id] = None
            woken.set()

        async def hear() -> AsyncGenerator[str | None]:
            while True:
                await woken.wait()
                while unheard:
                    ask_id = next(iter(unheard))
                    del unheard[ask_id]
                    yield ask_id
                woken.clear()

        stop = self.store.hints(heard)
        hints = hear()
        try:
            yield hints
        finally:
            stop()
            await hints.aclose()

    async def close(self) -> None:
        await self.store.close()


def _address(asker: Asker | str) -> str:
    return work.address(asker) if isinstance(asker, Asker) else asker


def _asks_the_same(one: Questions | Permission, other: Questions | Permission) -> bool:
    """Whether a person would be asked the same; how it was written down does not matter."""
    if isinstance(one, Questions) and isinstance(other, Questions):
        return one.items == other.items
    return one == other
