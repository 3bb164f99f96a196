"""Random `kill -9` of a process that posts, two that settle and one that collects, on one SQLite file.

The poster leaves asks and writes each acknowledged one into its ledger. A settler writes what it is about to send, and
then what it was told; started again after a kill, it sends once more whatever it has no word about. The collector
writes each answer that it is given. In the end the ledgers and the desk must agree: no acknowledged ask lost, none
settled twice, no winner who was not told, no answer that was not collected.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from tests.faults.alone import alone
from tests.faults.ledger import Ledger, lines

from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled
from askdesk.core.model import Answer, Answered, Asker, Entry, Question
from askdesk.stores.sqlite import SQLiteStore

SETTLERS = ("ana", "ben")
POSTED_AT_ONCE = 8
SETTLED_AT_ONCE = 8
MOST_LEFT = 60  # the poster rests beyond this, so that settlers meet at the same asks
AGENT = Asker("poster", project="faults")


def question(number: int) -> Question:
    return Question(f"Which way at {number}?", ["left", "right"])


async def post(desk: Desk, ledger: Path) -> None:
    """Post for ever, on from the last acknowledged ask: one that was posted without a word has the same key."""
    book = Ledger(ledger)
    number = max((posted for posted, _ in lines(ledger)), default=-1) + 1
    while True:
        if len(await desk.shelf.list("owed/")) >= MOST_LEFT:
            await asyncio.sleep(0.005)
            continue
        batch = range(number, number + POSTED_AT_ONCE)
        posting = (desk.leave(question(n), asker=AGENT, key=f"{n}") for n in batch)
        for n, ask in zip(batch, await asyncio.gather(*posting), strict=True):
            book.write([(n, ask.id)])
        number = batch.stop


async def settle(desk: Desk, ledger: Path, name: str, *, finish: bool) -> None:
    """Settle what is open, for ever or until nothing is; first of all, what no word came back about."""
    book = Ledger(ledger)
    await _send(desk, book, name, _without_word(ledger), again=True)
    while True:
        page = await desk.page("open", limit=SETTLED_AT_ONCE)
        if finish and not page.entries:
            return
        ids = [entry.ask.id for entry in page.entries]
        book.write({"sent": ask_id} for ask_id in ids)
        await _send(desk, book, name, ids, again=False)
        if not ids:
            await asyncio.sleep(0.005)


async def collect(desk: Desk, ledger: Path, *, finish: bool) -> None:
    """Write down every answer that comes, for ever or until none is left."""
    book = Ledger(ledger)
    while True:
        async for entry in desk.collect(AGENT):
            book.write([entry.ask.id])
        if finish and not (await desk.left_by(AGENT)).settled:
            return
        await asyncio.sleep(0.005)


def _without_word(ledger: Path) -> list[str]:
    sent: dict[str, None] = {}
    for line in lines(ledger):
        if "sent" in line:
            sent[line["sent"]] = None
        else:
            sent.pop(line["told"], None)
    return list(sent)


async def _send(desk: Desk, book: Ledger, name: str, ids: list[str], *, again: bool) -> None:
    winners = await asyncio.gather(*(_winner(desk, name, ask_id) for ask_id in ids))
    told = zip(ids, winners, strict=True)
    book.write({"told": ask_id, "winner": winner, "again": again} for ask_id, winner in told)


async def _winner(desk: Desk, name: str, ask_id: str) -> str:
    """Send the one submission that this settler has for this ask, and say whose stands."""
    submission = f"{name} on {ask_id}"
    reply = Answered([Answer(["left" if name == SETTLERS[0] else "right"])])
    try:
        return (await desk.settle(ask_id, reply, by=name, surface="faults", submission=submission)).submission
    except AlreadySettled as error:
        return error.settlement.submission


class Process:
    """One of the four, which can be killed and started again."""

    def __init__(self, role: str, folder: Path) -> None:
        self.role, self.ledger, self._folder = role, folder / role, folder
        self.start()

    def start(self) -> None:
        self._running = self._started()

    def _started(self, *more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kill", "--role", self.role, "--folder", str(self._folder), *more]
        )

    def check(self) -> None:
        if (code := self._running.poll()) is not None:
            raise AssertionError(f"{self.role} ended by itself with {code}")

    def kill(self) -> None:
        self.check()
        self._running.send_signal(signal.SIGKILL)
        self._running.wait()

    def finish(self) -> None:
        if code := self._started("--finish").wait(120):
            raise AssertionError(f"{self.role} could not finish: {code}")

    def stop(self) -> None:
        self._running.kill()
        self._running.wait()


class Counts(NamedTuple):
    """What the ledgers and the desk say in the end."""

    acknowledged: int
    settled: int
    told_again: int  # winners whose first word was lost, and who learned it by sending the same again
    lost: int
    doubled: int
    settled_twice: int
    untold: int
    collected_again: int  # by who died over it
    uncollected: int
    integrity: str

    @property
    def sound(self) -> bool:
        wrong = (self.lost, self.doubled, self.settled_twice, self.untold, self.uncollected)
        return wrong == (0, 0, 0, 0, 0) and self.integrity == "ok"

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} asks acknowledged, {self.settled} settled, {self.told_again} winners told again, "
            f"{self.collected_again} answers collected again; "
            f"{self.lost} lost, {self.doubled} doubled, {self.settled_twice} settled twice, "
            f"{self.untold} winners untold, {self.uncollected} answers uncollected, integrity {self.integrity}"
        )


def compare(folder: Path, desk: dict[str, Entry], integrity: str) -> Counts:
    acknowledged = {ask_id: number for number, ask_id in lines(folder / "poster")}
    collected = lines(folder / "collector")
    told = {name: [line for line in lines(folder / name) if "told" in line] for name in SETTLERS}
    winners = {ask_id: entry.settlement.submission for ask_id, entry in desk.items() if entry.settlement}
    won = {(name, line["told"]) for name in SETTLERS for line in told[name] if line["winner"] == _own(name, line)}
    return Counts(
        acknowledged=len(acknowledged),
        settled=len(winners),
        told_again=sum(_told_again(name, line) for name in SETTLERS for line in told[name]),
        lost=sum(not _kept(desk.get(ask_id), number) for ask_id, number in acknowledged.items()),
        doubled=len(desk) - len({entry.ask.questions[0].text for entry in desk.values()}),
        settled_twice=sum(line["winner"] != winners.get(line["told"]) for name in SETTLERS for line in told[name]),
        untold=sum((submission.split()[0], ask_id) not in won for ask_id, submission in winners.items()),
        collected_again=len(collected) - len(set(collected)),
        uncollected=len(winners.keys() - set(collected)),
        integrity=integrity,
    )


def _own(name: str, line: Any) -> str:
    return f"{name} on {line['told']}"


def _kept(entry: Entry | None, number: int) -> bool:
    return entry is not None and entry.ask.questions == (question(number),)


def _told_again(name: str, line: Any) -> bool:
    return bool(line["again"]) and line["winner"] == _own(name, line)


async def everything(path: Path) -> dict[str, Entry]:
    """Every ask on the desk, which are all settled by now."""
    desk = Desk(await SQLiteStore.open(path))
    try:
        return {entry.ask.id: entry async for entry in desk.each("settled")}
    finally:
        await desk.close()


def integrity(path: Path) -> str:
    database = apsw.Connection(str(path))
    try:
        return str(database.pragma("integrity_check"))
    finally:
        database.close()


@contextmanager
def running(folder: Path) -> Iterator[list[Process]]:
    processes: list[Process] = []
    try:
        for role in ("poster", *SETTLERS, "collector"):
            processes.append(Process(role, folder))
        yield processes
    finally:
        for process in processes:
            process.stop()


def cycle(folder: Path, cycles: int, chance: random.Random) -> Counts:
    """Kill one of them so many times, let all but the poster finish, and compare the books."""
    with running(folder) as processes:
        while not lines(folder / "poster"):  # on a busy machine that may take longer than some cycles
            processes[0].check()
            time.sleep(0.01)
        for number in range(1, cycles + 1):
            time.sleep(chance.uniform(0.05, 0.7))  # somewhere between starting up and being hard at work
            victim = chance.choice(processes)
            victim.kill()
            victim.start()
            if number % 10 == 0:
                acknowledged = len(lines(folder / "poster"))
                print(f"kill: {number} of {cycles} cycles, {acknowledged} asks acknowledged", file=sys.stderr)
        for process in processes:
            process.stop()
        for process in processes[1:]:
            process.finish()
    return compare(folder, asyncio.run(everything(folder / "desk.db")), integrity(folder / "desk.db"))


async def play(role: str, folder: Path, *, finish: bool) -> None:
    """Be one of the four."""
    desk = Desk(await SQLiteStore.open(folder / "desk.db", busy_seconds=30))
    try:
        if role == "poster":
            await post(desk, folder / role)
        elif role == "collector":
            await collect(desk, folder / role, finish=finish)
        else:
            await settle(desk, folder / role, role, finish=finish)
    finally:
        await desk.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="makes the choice of victims and moments repeatable")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--finish", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        asyncio.run(play(given.role, given.folder, finish=given.finish))
        return 0
    with alone("kill") as folder:
        counts = cycle(folder, given.cycles, random.Random(given.seed))  # noqa: S311 - no secret
    print(f"kill: {given.cycles} cycles, {counts}")
    return 0 if counts.sound else 1


if __name__ == "__main__":
    sys.exit(main())
