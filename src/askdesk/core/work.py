"""Agents at work, and what people tell them unasked. Documents on the shelf, so both outlive every process.

    working/ADDRESS             an agent works, and can be told something
    instruction/ADDRESS/ID      what a person told it
    heard/ADDRESS/ID            it has this instruction, so nobody delivers it again

An address is an agent's session, not its process: what is told while it is away waits until it comes back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from askdesk.core.checks import text_problems
from askdesk.core.clock import Clock
from askdesk.core.errors import AskdeskError, InvalidReply, Problem, StoreError, VersionConflict
from askdesk.core.model import Asker
from askdesk.core.process import SIGN_OF_LIFE, SILENT, here, is_gone
from askdesk.core.store import Document, Shelf
from askdesk.core.text import is_blank

WORKING, INSTRUCTION, HEARD = "working/", "instruction/", "heard/"

_T = TypeVar("_T", bound="Struct")
_LOOK_SECONDS = 0.5  # a person who tells an agent something does not mind half a second
_LATE_LOOK_SECONDS = 5.0  # where it has not been heard for a while
_KEPT = timedelta(days=1)  # what was heard is shown for so long


class Working(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An agent that can be told something now."""

    v: int = 1
    asker: Asker
    since: Annotated[datetime, Meta(tz=True)]
    seen: Annotated[datetime, Meta(tz=True)]

    @property
    def address(self) -> str:
        return address(self.asker)


class Instruction(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a person tells an agent unasked: words, or to stop what it is doing, or both."""

    v: int = 1
    id: str
    text: str = ""
    stop: bool = False
    by: str = ""
    surface: str = ""
    at: Annotated[datetime, Meta(tz=True)]

    def __post_init__(self) -> None:
        problems = [p for name in ("text", "by", "surface") for p in text_problems(name, getattr(self, name))]
        if not self.stop and is_blank(self.text):
            problems.append(Problem("text", "must not be blank: there is nothing to tell"))
        if not (self.id.isascii() and self.id.isalnum()):
            problems.append(Problem("id", "must be letters and digits"))
        if problems:
            raise InvalidReply(problems)


class Heard(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who took an instruction, and whether it has reached the agent."""

    v: int = 1
    at: Annotated[datetime, Meta(tz=True)]
    host: str
    process: int
    ear: str = ""  # which one of the process
    delivered: bool = False


class Told(Struct, frozen=True, kw_only=True):
    """An instruction, and since when the agent has it; None while it waits."""

    instruction: Instruction
    heard: datetime | None


def address(asker: Asker) -> str:
    """Where an agent is told something: the same for all processes of one session."""
    parts = json.dumps([asker.project, asker.agent, asker.session], ensure_ascii=False)
    return sha256(parts.encode()).hexdigest()[:32]


def instruction_id(submission: str, text: str, *, stop: bool) -> str:
    """The id of what is said in a submission: the same once more is the same instruction, anything else another."""
    parts = json.dumps([submission, stop, text])
    return sha256(parts.encode()).hexdigest()[:32]


async def tell(shelf: Shelf, to: str, instruction: Instruction) -> Instruction:
    """Keep an instruction for the agent at an address, and return the one that stands: under an id, the first."""
    name = f"{INSTRUCTION}{to}/{instruction.id}"
    try:
        kept = await shelf.put(name, _written(instruction), expect=0)
    except VersionConflict:
        kept = await shelf.get(name)
    return _read(kept, Instruction) or instruction


async def working(shelf: Shelf, now: datetime) -> tuple[Working, ...]:
    """The agents at work, those that began first first."""
    found = [_read(document, Working) for document in await shelf.list(WORKING)]
    return tuple(sorted((w for w in found if w and not _is_over(w, now)), key=lambda w: w.since))


async def at_work(shelf: Shelf, to: str, now: datetime) -> Working | None:
    """The agent at an address; None where none works there now."""
    found = await noted(shelf, to)
    return found if found and not _is_over(found, now) else None


async def noted(shelf: Shelf, to: str) -> Working | None:
    """Who works at an address by the note that is there, which a process that died could not take away."""
    return _read(await shelf.get(WORKING + to), Working)


async def told(shelf: Shelf, to: str) -> tuple[Told, ...]:
    """What was told to an agent lately, in order."""
    heard = {_id(document): _read(document, Heard) for document in await shelf.list(f"{HEARD}{to}/")}
    found = []
    for document in await shelf.list(f"{INSTRUCTION}{to}/"):
        if instruction := _read(document, Instruction):
            by = heard.get(instruction.id)
            found.append(Told(instruction=instruction, heard=by.at if by and by.delivered else None))
    return tuple(sorted(found, key=lambda told: told.instruction.at))


async def heard(
    shelf: Shelf, to: str, instruction_id: str, clock: Clock, timeout: float | None = None
) -> datetime | None:
    """Since when an agent has what it was told; None when the timeout ends first. Waiting changes nothing."""
    ended = asyncio.Event()
    stop_timer = clock.later(timeout, ended.set) if timeout is not None else None
    if timeout is not None and timeout <= 0:
        ended.set()
    pause = _LOOK_SECONDS / 2
    try:
        while True:
            found = _read(await shelf.get(f"{HEARD}{to}/{instruction_id}"), Heard)
            if found and found.delivered:
                return found.at
            if ended.is_set():
                return None
            await _nap(clock, pause)
            pause = min(pause * 1.1, _LATE_LOOK_SECONDS)
    finally:
        if stop_timer:
            stop_timer()


async def forget_old(shelf: Shelf, to: str, now: datetime) -> None:
    """Put away what an agent heard long ago: first what was told, so that nobody delivers it again; and old notes."""
    for document in await shelf.list(f"{HEARD}{to}/"):
        heard = _read(document, Heard)
        if heard and heard.delivered and now - heard.at > _KEPT:
            await shelf.put(f"{INSTRUCTION}{to}/{_id(document)}", None)
            await shelf.put(document.name, None)
    for document in await shelf.list(WORKING):  # of agents that could not take their notes away
        note = _read(document, Working)
        if note and now - note.seen > _KEPT:
            with suppress(VersionConflict):  # it has just come back
                await shelf.put(document.name, None, expect=document.version)


class Work:
    """One agent's ear: what it was told, each instruction once."""

    def __init__(self, shelf: Shelf, asker: Asker, clock: Clock) -> None:
        self._shelf, self._clock = shelf, clock
        self._working = Working(asker=asker, since=clock.now(), seen=clock.now())
        self._version = 0
        self._ear = token_hex(8)
        self.address = address(asker)

    def __aiter__(self) -> AsyncIterator[Instruction]:
        return self._instructions()

    async def _instructions(self) -> AsyncIterator[Instruction]:
        """As they come, until cancelled. A shelf that is out of reach for a while is looked at again."""
        while True:
            with suppress(StoreError):
                while instruction := await self.take():
                    yield instruction
                await self._show_life()
            await _nap(self._clock, _LOOK_SECONDS)

    async def take(self) -> Instruction | None:
        """The next instruction that waits, from now on ours to deliver; None where none does."""
        documents = await self._shelf.list(f"{INSTRUCTION}{self.address}/")
        found = [instruction for document in documents if (instruction := _read(document, Instruction))]
        for instruction in sorted(found, key=lambda instruction: instruction.at):
            if await self._take(instruction):
                return instruction
        return None

    async def _take(self, instruction: Instruction) -> bool:
        """Whether it is ours to deliver: nobody has it, or who had it died before it was delivered."""
        name = f"{HEARD}{self.address}/{instruction.id}"
        standing = await self._shelf.get(name)
        heard = _read(standing, Heard) if standing else None
        if standing and (heard is None or heard.delivered or not is_gone(heard.host, heard.process)):
            return False
        try:
            await self._shelf.put(name, _written(self._mark()), expect=standing.version if standing else 0)
        except VersionConflict:  # somebody else was first, or we were, and the answer was lost on its way
            return await self._is_ours(name)
        return True

    async def _is_ours(self, name: str) -> bool:
        heard = _read(await self._shelf.get(name), Heard)
        return heard is not None and heard.ear == self._ear

    async def put_back(self, instruction: Instruction) -> None:
        """It could not be delivered: let it wait again."""
        name = f"{HEARD}{self.address}/{instruction.id}"
        with suppress(AskdeskError):  # who cannot say so has it taken from them once they are gone
            if await self._is_ours(name):
                await self._shelf.put(name, None)

    async def delivered(self, instruction: Instruction) -> None:
        """It has reached the agent: say so to those who told it."""
        await self._shelf.put(f"{HEARD}{self.address}/{instruction.id}", _written(self._mark(delivered=True)))

    def _mark(self, *, delivered: bool = False) -> Heard:
        host, process = here()
        return Heard(at=self._clock.now(), host=host, process=process, ear=self._ear, delivered=delivered)

    async def _show_life(self) -> None:
        if self._clock.now() - self._working.seen >= SIGN_OF_LIFE:
            await self.begin()

    async def begin(self) -> None:
        self._working = replace(self._working, seen=self._clock.now())
        kept = await self._shelf.put(WORKING + self.address, _written(self._working))
        self._version = kept.version if kept else 0

    async def end(self) -> None:
        """Take the note away, unless another process of the session wrote it since."""
        with suppress(AskdeskError):  # the note says when it was last alive: it is soon over
            await self._shelf.put(WORKING + self.address, None, expect=self._version)


@asynccontextmanager
async def at(shelf: Shelf, asker: Asker, clock: Clock) -> AsyncIterator[Work]:
    """Let people see that an agent works, and tell it something, for as long as the block runs."""
    work = Work(shelf, asker, clock)
    await work.begin()
    try:
        with suppress(AskdeskError):  # behind a server that is for the server to do
            await forget_old(shelf, work.address, clock.now())
        yield work
    finally:
        await asyncio.shield(work.end())


async def _nap(clock: Clock, seconds: float) -> None:
    woken = asyncio.Event()
    stop = clock.later(seconds, woken.set)
    try:
        await woken.wait()
    finally:
        stop()


def _is_over(working: Working, now: datetime) -> bool:
    asker = working.asker
    return now - working.seen > SILENT or (asker.process is not None and is_gone(asker.host, asker.process))


def _id(document: Document) -> str:
    return document.name.rpartition("/")[2]


def _written(value: Struct) -> str:
    return msgspec.json.encode(value).decode()


def _read(document: Document | None, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(document.value, type=kind) if document else None
    except (msgspec.MsgspecError, AskdeskError):  # of a newer version
        return None
