"""Measures peers: exchanges turn by turn, so that all see the same machine; then each alone, waiting and killed."""

from __future__ import annotations

import platform
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from bench.peers.environments import Environment, NotInstalled, prepared, size
from bench.peers.listed import Peer
from bench.peers.program import Failed, Program, seconds
from bench.peers.rows import Row
from tests.postgres import Cluster

_SLOW = 150_000.0  # microseconds; who takes longer on the average takes part in every tenth turn alone
_LATER = (0.25, 1.25)  # seconds: a whole round of those who look once a second, and never their first moment
_SOURCE = Path(__file__).parents[2] / "src"


def measured(
    peers: Iterable[Peer], rounds: int, *, count: int = 100, rest: float = 20, later: tuple[float, float] = _LATER
) -> list[Row]:
    """A row for each. A peer that cannot be installed, or fails on the way, tells so in it; ours must not fail."""
    peers = tuple(peers)
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(durable=True)) if any(peer.postgres for peer in peers) else None
        everybody = [Measured(peer, cluster if peer.postgres else None) for peer in peers]
        _exchange(everybody, rounds, later)
        for one in everybody:
            print(f"bench: {one.peer.name}", file=sys.stderr)
            one.attempt(one.wait, count, rest)
            one.attempt(one.kill)
        return [one.row() for one in everybody]


def _exchange(everybody: list[Measured], rounds: int, later: tuple[float, float]) -> None:
    print("bench: peers turn by turn", file=sys.stderr)
    chance = random.Random(1)  # noqa: S311 - the same pauses in every run
    with ExitStack() as stack:
        for one in everybody:
            one.attempt(one.begin, stack)
        for turn in range(rounds):
            for one in everybody:
                if one.takes_part(turn):
                    one.attempt(one.exchange)
        for _ in range(max(rounds // 5, 2)):
            pause = chance.uniform(*later)
            for one in everybody:
                one.attempt(one.exchange_later, pause)


def _without_places(words: str) -> str:
    """What may be published: the names of files, but neither where they are on this machine nor what it is called."""
    words = re.sub(r"(?<![\w.])(?:/[\w.@+~-]+)+/", "…/", words)
    return words.replace(name, "this machine") if (name := platform.node()) else words


class Measured:
    """One peer under way, and what is known of it."""

    def __init__(self, peer: Peer, cluster: Cluster | None) -> None:
        self.peer, self._cluster = peer, cluster
        self._known: dict[str, Any] = {name: [] for name in ("whole", "woken", "ready", "first")}
        self.attempt(self._prepare)

    def row(self) -> Row:
        return Row(self.peer.name, self.peer.on_disk, self.peer.does_not, **self._known)

    def attempt(self, work: Callable[..., None], *arguments: Any) -> None:
        """What failed once is not tried again."""
        if "trouble" in self._known:
            return
        try:
            work(*arguments)
        except (NotInstalled, Failed) as error:
            if self.peer.ours:
                raise
            self._known["trouble"] = _without_places(str(error))

    def begin(self, stack: ExitStack) -> None:
        place = stack.enter_context(self._place())
        self._program = stack.enter_context(self._started(*place))
        self._warm_up(self._program)

    def takes_part(self, turn: int) -> bool:
        whole = self._known["whole"]
        return turn % 10 == 0 or len(whole) < 3 or mean(whole) < _SLOW

    def exchange(self) -> None:
        self._known["whole"].append(self._program.exchange().whole)

    def exchange_later(self, pause: float) -> None:
        """The person answers so many seconds after they could."""
        self._known["woken"].append(self._program.exchange(pause).woken)

    def wait(self, count: int, rest: float) -> None:
        """What it costs that so many questions wait and nobody does anything; in the end they are answered."""
        with self._place() as place, self._started(*place) as program:
            self._warm_up(program)
            ids = program.wait(count)
            time.sleep(min(rest, 1))  # until what asking brought along has gone by
            before = self._processor(program)
            time.sleep(rest)
            self._known["processor"] = (self._processor(program) - before) / rest * 100
            self._known["memory"] = program.memory()
            self._known["waiting"], self._known["answered"] = count, program.finish(ids)

    def kill(self) -> None:
        """Whether an acknowledged question can be answered by what is started after a kill -9."""
        with self._place() as place:
            with self._started(*place) as program:
                self._warm_up(program)
                ids = program.wait(1)  # leaving the block kills it
            with self._started(*place) as program:
                self._known["survived"] = program.finish(ids) == 1

    def _prepare(self) -> None:
        made = prepared(self.peer.requirements, npm=self.peer.npm)
        if self.peer.ours:  # what comes with us was installed to be weighed; we run from here
            made = Environment(Path(sys.executable), None, made.megabytes + size(_SOURCE))
        self._environment, self._known["megabytes"] = made, made.megabytes

    @contextmanager
    def _place(self) -> Iterator[tuple[Path, str]]:
        """A folder, and a database where one is needed, which outlive the programs of the block."""
        with TemporaryDirectory(prefix="askdesk-bench-") as folder:
            database = self._cluster.database() if self._cluster else ""
            yield Path(folder), database
            if self._cluster:
                self._cluster.drop(database)

    @contextmanager
    def _started(self, folder: Path, database: str) -> Iterator[Program]:
        given = {"folder": str(folder), **self.peer.given}
        if database:
            given["database"] = database
        if self._environment.modules:
            given["modules"] = str(self._environment.modules)
        with Program(self._environment.python, self.peer.script, given) as program:
            self._known["versions"] = program.versions
            yield program

    def _warm_up(self, program: Program) -> None:
        program.exchange()
        self._known["ready"].append(program.ready)
        self._known["first"].append(program.age())

    def _processor(self, program: Program) -> float:
        """Seconds, with the database's: some have it look for them."""
        return program.processor() + (seconds(self._cluster.pid) if self._cluster else 0)
