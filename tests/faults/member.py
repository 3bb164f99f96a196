"""One of a crowd at a desk, in a process of its own: an agent that asks or a person who answers, and what it is told.

Each line of standard input is its part in one history, and each line of standard output the end of one. What it begins
and what it is told goes into a book first. Killed, and started again with the same part, it goes on from there: it asks
again under its key, waits again, and sends the same submission again. Each time it comes to the desk by another door.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from tests.faults.history import EXPIRED, Operation, Settled, Told, Verb
from tests.faults.ledger import Ledger, lines

from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled, InvalidAsk, StoreError, UnknownAsk
from askdesk.core.model import (
    Answer,
    Answered,
    Asker,
    Declined,
    Entry,
    Expired,
    Outcome,
    Question,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.store import WITHDRAWAL
from askdesk.open import open_store
from askdesk.stores.http import HTTPStore

PATIENCE = 0.5  # seconds; then it goes to another door
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Word: TypeAlias = Told | dict[str, Told]
Work: TypeAlias = Callable[[Desk], Awaitable[Word]]


class Doors(Struct, frozen=True):
    """The ways to one desk: straight to its store, and over each of its servers."""

    store: str
    servers: tuple[str, ...] = ()
    asker_token: str = ""
    answerer_tokens: dict[str, str] = {}  # of each person

    async def opened(self, name: str) -> list[Desk]:
        """A desk for each of them."""
        direct = await open_store(self.store, connections=2)
        desks = [Desk(direct, clock=getattr(direct, "clock", None))]
        answerer = self.answerer_tokens.get(name, "")
        asker = "" if answerer else self.asker_token
        for url in self.servers:
            remote = await HTTPStore.open(url, asker_token=asker, answerer_token=answerer, patience=PATIENCE)
            desks.append(Desk(remote))
        return desks


class Part(Struct, frozen=True):
    """What one of the crowd does in one history, whose name is the project of its asks."""

    history: str
    kind: Literal["agent", "person"]
    name: str
    seed: int
    book: str  # where it is kept
    asks: dict[str, float | None]  # keys, each with the seconds until its deadline


class Book:
    """What one of the crowd began and was told in one history, each step under its name."""

    def __init__(self, path: Path) -> None:
        read = _read(path)
        self.ended = {step: op for step, op in read if op.has_ended}
        self._count = len(read)
        self._ledger = Ledger(path)

    def begin(self, step: str, op: Operation) -> Operation:
        self._count += 1
        return self._written(step, replace(op, number=self._count, began=now()))

    def end(self, step: str, op: Operation, told: Word) -> None:
        fields = {"listed": told} if isinstance(told, dict) else {"told": told}
        self.ended[step] = self._written(step, replace(op, ended=now(), **fields))

    def _written(self, step: str, op: Operation) -> Operation:
        self._ledger.write([(step, msgspec.to_builtins(op))])
        return op


def _read(path: Path) -> list[tuple[str, Operation]]:
    return msgspec.convert(lines(path), list[tuple[str, Operation]])


def recorded(path: Path) -> list[Operation]:
    """All operations of a book, each as far as it came."""
    return list({op.number: op for _, op in _read(path)}.values())


def now() -> int:
    """In microseconds, by the one clock that all processes of a machine share."""
    return time.monotonic_ns() // 1000


class Play:
    """One part in one history, step by step."""

    def __init__(self, part: Part, desks: list[Desk]) -> None:
        self.part, self._desks = part, desks
        self._book = Book(Path(part.book))

    def chance(self, step: str) -> random.Random:
        """The same for the same step, also after a kill."""
        return random.Random(f"{self.part.seed} {self.part.history} {self.part.name} {step}")  # noqa: S311

    async def once(self, step: str, op: Operation, work: Work) -> Operation:
        """What came of a step: it is tried until there is a word, and never again once there was."""
        while step not in self._book.ended:
            begun = self._book.begin(step, op)
            try:
                self._book.end(step, begun, await work(random.choice(self._desks)))  # noqa: S311
            except UnknownAsk:
                self._book.end(step, begun, Told("absent"))
            except (StoreError, InvalidAsk) as error:  # the desk was away, or the deadline came before the ask did
                print(f"{self.part.name}, {self.part.history}, {step}: {error}", file=sys.stderr)
                await asyncio.sleep(0.01)
        return self._book.ended[step]

    def operation(self, verb: Verb, key: str = "", sent: Settled | None = None) -> Operation:
        return Operation(0, self.part.name, verb, 0, ask=key, sent=sent)

    async def ask(self, key: str) -> None:
        async def work(desk: Desk) -> Told:
            outcome = await desk.ask(_question(key), asker=self._asker, key=key, deadline=self._deadline(key))
            return Told("settled", settled=Settled(words(outcome)))

        await self.once(f"ask {key}", self.operation("ask", key), work)

    async def post(self, key: str) -> str:
        """The id of the ask."""

        async def work(desk: Desk) -> Told:
            ask = await desk.post(_question(key), asker=self._asker, key=key, deadline=self._deadline(key))
            return Told("there", ask.id, _microseconds(ask.deadline))

        op = await self.once(f"post {key}", self.operation("post", key), work)
        return op.told.id if op.told else ""

    @property
    def _asker(self) -> Asker:
        return Asker(self.part.name, project=self.part.history)

    def _deadline(self, key: str) -> timedelta | None:
        seconds = self.part.asks[key]
        return None if seconds is None else timedelta(seconds=seconds)

    async def get(self, key: str, ask_id: str, when: str) -> None:
        async def work(desk: Desk) -> Told:
            return seen(await desk.get(ask_id))

        await self.once(f"get {key} {when}", self.operation("get", key), work)

    async def wait(self, key: str, ask_id: str, timeout: float | None = None) -> None:
        async def work(desk: Desk) -> Told:
            settlement = await desk.wait(ask_id, timeout=timeout)
            return Told("settled", settled=_settled(settlement)) if settlement else Told("open")

        await self.once(f"wait {key} {timeout}", self.operation("wait", key), work)

    async def withdraw(self, key: str, ask_id: str) -> None:
        reason = f"{self.part.name} needs no answer"
        sent = Settled(words(Withdrawn(reason)), WITHDRAWAL)

        async def work(desk: Desk) -> Told:
            return await _ending(desk.withdraw(ask_id, reason))

        await self.once(f"withdraw {key}", self.operation("withdraw", key, sent), work)

    async def settle(self, key: str, ask_id: str, times: int = 1) -> None:
        """Send one submission, perhaps several times at once, as by a double click."""
        reply, submission = self._reply(key), f"{self.part.name} on {key} of {self.part.history}"
        op = self.operation("settle", key, Settled(words(reply), submission))

        async def work(desk: Desk) -> Told:
            sending = desk.settle(ask_id, reply, by=self.part.name, surface="crowd", submission=submission)
            return await _ending(sending)

        await asyncio.gather(*(self.once(f"settle {key} {click}", op, work) for click in range(times)))

    def _reply(self, key: str) -> Reply:
        if self.chance(f"reply {key}").random() < 0.2:
            return Declined(f"{self.part.name} would rather talk about {key}")
        return Answered([Answer(other=f"{self.part.name}'s way at {key}")])

    async def look(self, state: Literal["open", "settled"], number: int) -> dict[str, Told]:
        """What a listing shows of this history."""
        step = f"look {number} {state}"
        text = f"project:{self.part.history}" if self.chance(step).random() < 0.3 else ""

        async def work(desk: Desk) -> dict[str, Told]:
            page = await desk.page(state, newest=state == "settled", limit=100, text=text)
            mine = (entry for entry in page.entries if entry.ask.asker.project == self.part.history)
            return {entry.ask.key or "": seen(entry) for entry in mine}

        verb: Verb = "list open" if state == "open" else "list settled"
        return (await self.once(step, self.operation(verb), work)).listed


async def play_agent(play: Play) -> None:
    await asyncio.gather(*(_play_ask(play, key) for key in play.part.asks))


async def _play_ask(play: Play, key: str) -> None:
    """Ask, and see it through to its end in one way or another."""
    chance = play.chance(key)
    await asyncio.sleep(chance.uniform(0, 0.02))
    if chance.random() < 0.4:
        await play.ask(key)
        return
    ask_id = await play.post(key)
    if chance.random() < 0.3:
        await play.get(key, ask_id, "at once")
    if chance.random() < 0.4:
        await play.wait(key, ask_id, chance.uniform(0, 0.05))
    if chance.random() < 0.3:
        await play.withdraw(key, ask_id)
    await play.wait(key, ask_id)
    if chance.random() < 0.5:
        await play.get(key, ask_id, "at last")


async def play_person(play: Play) -> None:
    """Reply to whatever is listed, once, also where somebody was quicker; and look once more at the end."""
    left, replying = set(play.part.asks), []
    number = 0
    while left:
        listed = {**await play.look("settled", number), **await play.look("open", number)}
        replying += [asyncio.ensure_future(_play_reply(play, key, listed[key])) for key in listed.keys() & left]
        left -= listed.keys()
        number += 1
        await asyncio.sleep(play.chance(f"{number}").uniform(0, 0.03))
    await asyncio.gather(*replying)
    await play.look("open", number)


async def _play_reply(play: Play, key: str, ask: Told) -> None:
    chance = play.chance(key)
    pause = chance.uniform(0, 0.02)
    if ask.deadline is not None and ask.id < "c":  # three of four: all reply in the last moment, or just too late
        pause = ask.deadline / 1e6 - time.time() + chance.uniform(-0.006, 0.004)
    await asyncio.sleep(pause)
    await play.settle(key, ask.id, times=chance.choice([1, 1, 2]))
    if chance.random() < 0.5:
        await play.get(key, ask.id, "after the reply")


def _question(key: str) -> Question:
    return Question(f"Which way at {key}?", ["left", "right"])


def words(outcome: Outcome) -> str:
    """What an outcome says; no two submissions of one ask say the same."""
    match outcome:
        case Expired():
            return EXPIRED
        case Withdrawn(reason):
            return f"withdrawn: {reason}"
        case Answered((Answer() as answer,)):
            return f"answered: {answer.text}"
        case Declined(message):
            return f"declined: {message}"
        case _:
            raise AssertionError(outcome)


def seen(entry: Entry) -> Told:
    ask, settlement = entry.ask, entry.settlement
    settled = _settled(settlement) if settlement else None
    return Told("settled" if settled else "open", ask.id, _microseconds(ask.deadline), settled)


def _settled(settlement: Settlement) -> Settled:
    return Settled(words(settlement.outcome), settlement.submission, _microseconds(settlement.at) or 0)


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


async def _ending(sending: Awaitable[Settlement]) -> Told:
    """What who settles is told: that it won, or what stands."""
    try:
        return Told("settled", settled=_settled(await sending), won=True)
    except AlreadySettled as error:
        return Told("settled", settled=_settled(error.settlement), won=False)


async def main(name: str, doors: Doors) -> None:
    desks = await doors.opened(name)
    while line := await asyncio.to_thread(sys.stdin.readline):
        part = msgspec.json.decode(line, type=Part)
        play = Play(part, desks)
        await (play_agent(play) if part.kind == "agent" else play_person(play))
        print(part.history, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], msgspec.json.decode(sys.argv[2], type=Doors)))
