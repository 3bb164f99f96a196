"""A crowd at one desk, whose servers, agents and people are killed at random: are the histories they record true?

Several servers share a PostgreSQL database or an SQLite file. Agents ask and people answer in processes of their own,
over any of the servers or straight at the store, a few asks at a time and all at the same ones; some asks have a
deadline, and some are withdrawn. Whoever was killed by `kill -9` is started again. `history.violations` judges each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace
from tests.faults.alone import alone
from tests.faults.history import History, violations
from tests.faults.member import Doors, Part, Play, now, recorded
from tests.faults.server import Server
from tests.postgres import Cluster

from askdesk.core.desk import Desk
from askdesk.open import open_desk
from askdesk.server import tokens

AGENTS, PEOPLE = ("builder", "tester"), ("ana", "ben", "cleo")
KEYS = ("plum", "fig", "kiwi")
SERVERS = {"sqlite": 2, "postgres": 3}
SERVERS_LOG = "servers.log"
APART = {"sqlite": 50_000, "postgres": 1_000_000}  # microseconds; of PostgreSQL's clock others have but a guess
KILLED_WITHIN = 0.6  # seconds since a history began, which lasts about as long
LONGEST_AWAY = 0.3  # seconds that a killed server stays away
_STUCK_SECONDS = 60.0
_ROOT = Path(__file__).parents[2]


class Member:
    """An agent or a person: a process that is started again when it was killed."""

    def __init__(self, name: str, doors: Doors, log: Path) -> None:
        self.name, self._doors, self._log = name, doors, log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def play(self, part: Part) -> None:
        """Let it play its part to the end, however often it is killed over that."""
        line = msgspec.json.encode(part) + b"\n"
        while True:
            if not self.is_running:
                self._process = await self._started()
            process = self._process
            assert process
            assert process.stdin
            assert process.stdout
            with suppress(ConnectionError):
                process.stdin.write(line)
                await process.stdin.drain()
            if await process.stdout.readline():
                return
            if await process.wait() != -signal.SIGKILL:
                raise AssertionError(f"{self.name} ended by itself: {self._log.read_text()[-2000:]}")

    async def _started(self) -> asyncio.subprocess.Process:
        arguments = ("-m", "tests.faults.member", self.name, msgspec.json.encode(self._doors).decode())
        pipe = asyncio.subprocess.PIPE
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, *arguments, stdin=pipe, stdout=pipe, stderr=log, cwd=_ROOT
            )

    def kill(self) -> None:
        if self.is_running and self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)  # its own kill() takes the end from under who waits for it

    async def end(self) -> None:
        self.kill()
        if self._process:
            await self._process.communicate()


class Figures(NamedTuple):
    """What came of all histories on one store."""

    histories: int
    operations: int
    without_word: int  # of which nobody knows whether they happened, as somebody was killed over them
    servers_killed: int
    members_killed: int
    violations: int
    unresolved: int  # asks that were open in the end, and members who were still without a word
    spared: int  # who should have been killed, but just then there was nobody

    @property
    def is_right(self) -> bool:
        were_killed = self.servers_killed + self.members_killed >= self.spared * 9
        return were_killed and (self.violations, self.unresolved) == (0, 0)

    def __str__(self) -> str:
        return (
            f"{self.histories} histories, {self.operations} operations ({self.without_word} without a word), "
            f"{self.servers_killed} kills of servers, {self.members_killed} of agents and people; "
            f"{self.violations} violations, {self.unresolved} unresolved"
        )


class Crowd:
    """All who are at one desk, for one history after the other."""

    def __init__(self, desk: Desk, doors: Doors, servers: list[Server], folder: Path, seed: int, apart: int) -> None:
        self._desk, self._servers, self._folder, self._seed, self._apart = desk, servers, folder, seed, apart
        self._members = [Member(name, doors, folder / f"{name}.log") for name in (*AGENTS, *PEOPLE)]
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._starting: set[asyncio.Task[None]] = set()
        self.killed: Counter[type] = Counter()
        self.unresolved = 0

    async def history(self, name: str, kills: int) -> History:
        """What is recorded of one history, over which so many are killed."""
        folder = self._folder / name
        folder.mkdir()
        playing = {asyncio.ensure_future(self._played(member, name)) for member in self._members}
        killing = [asyncio.ensure_future(self._kill()) for _ in range(kills)]
        done, stuck = await asyncio.wait(playing, timeout=_STUCK_SECONDS)
        await asyncio.gather(*done, *killing)
        self.unresolved += len(stuck)
        await self._give_up(stuck)
        await self._look_at_the_end(name)
        return self._recorded(folder)

    async def _played(self, member: Member, name: str) -> None:
        await member.play(self._part(member.name, name))

    def _part(self, name: str, history: str) -> Part:
        chance = random.Random(f"{self._seed} {history}")  # noqa: S311 - no secret
        asks = {key: chance.choice([None, None, chance.uniform(0.1, 0.4)]) for key in KEYS}
        kind: Literal["agent", "person"] = "agent" if name in AGENTS else "person"
        return Part(history, kind, name, self._seed, str(self._folder / history / name), asks)

    async def _kill(self) -> None:
        """Kill somebody, in some moment of this history or soon after it."""
        await asyncio.sleep(self._chance.uniform(0, KILLED_WITHIN))
        of_members = [member for member in self._members if member.is_running]
        of_servers = [server for server in self._servers if server.is_running]
        groups: list[Sequence[Member | Server]] = [group for group in (of_members, of_servers) if group]
        if not groups:
            return
        victim = self._chance.choice(self._chance.choice(groups))
        victim.kill()
        self.killed[type(victim)] += 1
        if isinstance(victim, Server):
            starting = asyncio.ensure_future(self._start(victim))
            self._starting.add(starting)
            starting.add_done_callback(self._starting.discard)

    async def _start(self, server: Server) -> None:
        await asyncio.sleep(self._chance.uniform(0, LONGEST_AWAY))
        await server.start()

    async def _give_up(self, stuck: set[asyncio.Task[None]]) -> None:
        for task in stuck:
            task.cancel()
        if stuck:
            await asyncio.wait(stuck)
            await self._end_members()

    async def _look_at_the_end(self, name: str) -> None:
        """When nobody does anything any more."""
        play = Play(self._part("the end", name), [self._desk])
        self.unresolved += len(await play.look("open", 0))
        await play.look("settled", 0)

    def _recorded(self, folder: Path) -> History:
        ops = sorted((op for book in folder.iterdir() for op in recorded(book)), key=lambda op: op.began)
        shutil.rmtree(folder)
        numbered = tuple(replace(op, number=number) for number, op in enumerate(ops, start=1))
        return History(numbered, wall=time.time_ns() // 1000 - now(), apart=self._apart)

    async def _end_members(self) -> None:
        await asyncio.gather(*(member.end() for member in self._members))

    async def leave(self) -> None:
        await asyncio.gather(*self._starting)
        await self._end_members()
        are_running = [server.is_running for server in self._servers]
        for server in self._servers:
            server.kill()
        if not all(are_running):
            raise AssertionError(f"a server ended by itself: {(self._folder / SERVERS_LOG).read_text()[-2000:]}")


@asynccontextmanager
async def gathered(store: str, folder: Path, seed: int) -> AsyncIterator[Crowd]:
    """A crowd at the desk in a store."""
    kind = "postgres" if store.startswith("postgresql:") else "sqlite"
    servers = [Server(store, folder / SERVERS_LOG, ASKDESK_ASKS_A_MINUTE="1000000") for _ in range(SERVERS[kind])]
    async with open_desk(store) as desk:
        doors = Doors(
            store,
            tuple(server.url for server in servers),
            await _token(desk, "asker", "agents"),
            {name: await _token(desk, "answerer", name) for name in PEOPLE},
        )
        crowd = Crowd(desk, doors, servers, folder, seed, APART[kind])
        try:
            await asyncio.gather(*(server.start() for server in servers))
            yield crowd
        finally:
            await crowd.leave()


async def _token(desk: Desk, kind: tokens.Kind, name: str) -> str:
    return (await tokens.new_token(desk.shelf, kind, name, now=desk.now()))[1]


async def record(store: str, folder: Path, histories: int, kills: int, seed: int) -> Figures:
    """Record and judge so many histories, with so many kills in all; what is wrong is told on standard error."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    killed_in = Counter(chance.choices(range(histories), k=kills))
    counts: Counter[str] = Counter()
    async with gathered(store, folder, seed) as crowd:
        for number in range(histories):
            history = await crowd.history(f"history-{number}", killed_in[number])
            without_word = sum(not op.has_ended for op in history.operations)
            wrong = violations(history)
            counts.update(histories=1, operations=len(history.operations), without_word=without_word)
            counts.update(violations=len(wrong))
            if wrong:
                _keep(history, wrong)
            if crowd.unresolved:
                break
            if counts["histories"] % 25 == 0:
                print(f"histories: {counts['histories']} of {histories}, {crowd.killed.total()} kills", file=sys.stderr)
    return Figures(
        servers_killed=crowd.killed[Server],
        members_killed=crowd.killed[Member],
        unresolved=crowd.unresolved,
        spared=kills - crowd.killed.total(),
        **counts,
    )


def _keep(history: History, wrong: list[str]) -> None:
    """Write a history that cannot be true into a file, where it can be looked at, and judged again."""
    descriptor, path = tempfile.mkstemp(prefix="askdesk-history-", suffix=".json")
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode({"violations": wrong, **msgspec.to_builtins(history)})))
    print(*wrong, f"the whole history is in {path}", sep="\n", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=500, help="in all")
    parser.add_argument("--kills", type=int, default=200, help="on each store")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311 - no secret
    given = parser.parse_args()
    print(f"histories: seed {given.seed}", file=sys.stderr)
    kinds = ["sqlite", "postgres"] if given.store == "both" else [given.store]
    is_right = True
    for kind in kinds:
        with alone("crowd") as folder, _store(kind, folder) as store:
            share = max(given.histories // len(kinds), 1)
            figures = asyncio.run(record(store, folder, share, given.kills, given.seed))
        print(f"{kind}: {figures}", flush=True)
        is_right = is_right and figures.is_right
    return 0 if is_right else 1


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[str]:
    """The address of a new one."""
    if kind == "sqlite":
        yield str(folder / "desk.db")
        return
    with Cluster() as cluster:
        yield cluster.database()


if __name__ == "__main__":
    sys.exit(main())
