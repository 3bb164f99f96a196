"""A load on one desk, of real processes: agents that ask and wait, and people who settle.

Each has a door of its own, at the database or at a desk server, and a ledger in which it writes down what it is told
before it takes its next step. Some asks have a key and some do not, some are taken back while they are being kept, and
agents count together on one document.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from tests.faults.ledger import Ledger, lines_from

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, StoreBusy, StoreGone, VersionConflict
from askdesk.core.model import Answer, Answered, Asker, Question
from askdesk.open import open_store
from askdesk.wire import record

Role: TypeAlias = Literal["agent", "person"]
_T = TypeVar("_T")

PROJECT = "faults"
NEVER_MIND = "never mind"  # how an ask begins that its agent takes back
_LANES = 4  # asks of one agent that are open at a time
_THINKING = timedelta(seconds=0.4)  # before a person answers, so that there is always somebody who waits
_REST = 0.03
_PATIENCE_OF_PEOPLE = 5.0  # who then are told that the desk is away, and send the same again
_SETTLED_AT_ONCE = 50
_FIRST_WORD_SECONDS, _STUCK_SECONDS = 60.0, 60.0


class Door(NamedTuple):
    """Where a process comes to the desk, and whether that way is one that is cut."""

    name: str
    role: Role
    store: str
    is_far: bool
    token: str = ""


class Process:
    """An agent or a person, at work until there has been enough."""

    def __init__(self, door: Door, folder: Path) -> None:
        self.door, self.ledger = door, folder / door.name
        self._errors = folder / f"{door.name}.errors"
        options = {**door._asdict(), "folder": folder}
        del options["is_far"]
        command = [sys.executable, "-m", "tests.faults.load", *(f"--{name}={given}" for name, given in options.items())]
        with open(self._errors, "ab") as errors:
            self._running = subprocess.Popen(command, stderr=errors)

    def check(self) -> None:
        if code := self._running.poll():
            raise AssertionError(f"{self.door.name} ended by itself with {code}\n{self._errors.read_text()}")

    def ends(self, seconds: float) -> bool:
        """Whether it ends, in order, within so many seconds."""
        try:
            self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.check()
        return True

    def stop(self) -> None:
        self._running.kill()
        self._running.wait()


class Load:
    """Begun by `loaded`."""

    def __init__(self, folder: Path, processes: list[Process]) -> None:
        self.folder, self.processes = folder, processes
        self.stuck = 0

    def check(self) -> None:
        for process in self.processes:
            process.check()

    def goes_on(self) -> None:
        """Until every process has written down something more."""
        waited_for = [_Reader(process.ledger) for process in self.processes]
        end = time.monotonic() + _FIRST_WORD_SECONDS
        while waited_for := [reader for reader in waited_for if not reader.has_a_step()]:
            self.check()
            if time.monotonic() > end:
                raise AssertionError(f"not all go on after {_FIRST_WORD_SECONDS:g} s")
            time.sleep(0.02)

    def end(self) -> None:
        """Let agents hear how each of their asks ends, and then people settle what nobody waits for."""
        (self.folder / "enough").touch()
        agents = [process for process in self.processes if process.door.role == "agent"]
        end = time.monotonic() + _STUCK_SECONDS
        self.stuck = sum(not agent.ends(max(end - time.monotonic(), 0.1)) for agent in agents)
        (self.folder / "finish").touch()
        people = [process for process in self.processes if process.door.role == "person"]
        self.stuck += sum(not person.ends(_STUCK_SECONDS) for person in people)


class _Reader:
    """What is written into a ledger from now on: all of it would take longer and longer to read."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._read = ledger.stat().st_size if ledger.exists() else 0

    def has_a_step(self) -> bool:
        """Whether there is one among what came since it was asked last; that one failed is none."""
        notes, self._read = lines_from(self._ledger, self._read)
        return any("failed" not in note for note in notes)


@contextmanager
def loaded(folder: Path, doors: list[Door]) -> Iterator[Load]:
    """A load at these doors, once each of them has written down something."""
    with ExitStack() as ending:
        processes = []
        for door in doors:
            processes.append(Process(door, folder))
            ending.callback(processes[-1].stop)
        load = Load(folder, processes)
        load.goes_on()
        yield load


class _At:
    """A desk, the ledger of who is there, and what all its lanes share."""

    def __init__(self, desk: Desk, name: str, folder: Path) -> None:
        self.desk, self.name, self._folder = desk, name, folder
        self._book = Ledger(folder / name)

    def is_there(self, file: str) -> bool:
        return (self._folder / file).exists()

    def write(self, *notes: dict[str, Any]) -> None:
        self._book.write({**note, "at": time.time()} for note in notes)

    async def done(self, verb: Callable[..., Awaitable[_T]], *given: Any, **more: Any) -> _T:
        """What comes of a verb, which is used again for as long as the store is away."""
        while True:
            try:
                return await verb(*given, **more)
            except (StoreGone, StoreBusy) as error:
                self.write({"failed": str(error)})
                await asyncio.sleep(0.1)


async def asks(at: _At, lane: int) -> None:
    """Ask and hear the outcome, one ask after the other."""
    number = 0
    while not at.is_there("enough"):
        number += 1
        text = f"{at.name} {lane} {number}"
        key = text if number % 3 else None
        asker = Asker(at.name, project=PROJECT)
        ask = await at.done(at.desk.post, question(text), asker=asker, key=key, id=new_id())  # sent again, the same
        at.write({"kept": ask.id, "text": text})
        settlement = await at.done(at.desk.wait, ask.id)
        assert settlement
        at.write({"told": ask.id, "settlement": record.encode(settlement)})
        await asyncio.sleep(_REST)


async def takes_back(at: _At) -> None:
    """Ask, and stop to wait at some moment: perhaps even before it is kept."""
    number = 0
    while not at.is_there("enough"):
        number += 1
        text = f"{NEVER_MIND} {at.name} {number}"
        asking = asyncio.ensure_future(at.desk.ask(question(text), asker=Asker(at.name, project=PROJECT)))
        await asyncio.wait([asking], timeout=random.expovariate(20))
        asking.cancel()
        await asyncio.wait([asking])
        failed = None if asking.cancelled() else asking.exception()
        if failed and not isinstance(failed, StoreGone | StoreBusy):
            raise failed
        at.write({"failed": str(failed)} if failed else {"took back": text})
        await asyncio.sleep(_REST)


async def counts(at: _At) -> None:
    """Write the next number over the one before, in turn with all others."""
    while not at.is_there("enough"):
        before = await at.done(at.desk.shelf.get, "count")
        number = json.loads(before.value)[0] + 1 if before else 1
        try:
            mine, version = json.dumps([number, at.name]), before.version if before else 0
            await at.done(at.desk.shelf.put, "count", mine, expect=version)
        except VersionConflict:
            continue
        at.write({"counted": number})
        await asyncio.sleep(_REST)


def question(text: str) -> Question:
    return Question(f"{text}?", ["left", "right"])


async def settles(at: _At) -> None:
    """Settle what is open until there is no more, and note whose settlement stands."""
    async with at.desk.watch():  # as every surface does
        await _settles(at)


async def _settles(at: _At) -> None:
    while True:
        finish = at.is_there("finish")
        page = await at.done(at.desk.page, "open", limit=_SETTLED_AT_ONCE)
        wanted = [e.ask for e in page.entries if not e.ask.questions[0].text.startswith(NEVER_MIND)]
        if finish and not wanted:
            return
        ids = [ask.id for ask in wanted if finish or at.desk.now() - ask.created >= _THINKING]
        at.write(*({"sent": ask_id} for ask_id in ids))
        await asyncio.gather(*(_settles_one(at, ask_id) for ask_id in ids))
        await asyncio.sleep(_REST)


async def _settles_one(at: _At, ask_id: str) -> None:
    """Send the one submission that this person has for this ask, and note at once whose stands."""
    reply, submission = Answered([Answer(["left"], note=at.name)]), f"{at.name} on {ask_id}"
    try:
        settlement = await at.done(at.desk.settle, ask_id, reply, by=at.name, surface="faults", submission=submission)
    except AlreadySettled as error:
        settlement = error.settlement
    at.write({"word": ask_id, "winner": settlement.submission})


async def play(door: Door, folder: Path) -> None:
    """Be one of them."""
    is_agent = door.role == "agent"
    store = await open_store(
        door.store,
        patience=None if is_agent else _PATIENCE_OF_PEOPLE,
        asker_token=door.token if is_agent else "",
        answerer_token="" if is_agent else door.token,
    )
    try:
        at = _At(Desk(store, clock=getattr(store, "clock", None)), door.name, folder)
        if door.role == "person":
            await settles(at)
        else:
            counting = () if door.token else (counts(at),)  # the shelf of a server is for people
            await asyncio.gather(*(asks(at, lane) for lane in range(_LANES)), takes_back(at), *counting)
    finally:
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("name", "role", "store", "token"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(play(Door(given.name, given.role, given.store, False, given.token), given.folder))


if __name__ == "__main__":
    main()
