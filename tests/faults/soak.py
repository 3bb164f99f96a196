"""Two servers on one store under a mixed load for an hour: memory, open files and latency stay flat.

Agents wait in long polls and at live streams, people answer, streams come and go, drafts are typed, asks are listed,
searched for, withdrawn and left to expire, tokens made and revoked, pages read, hosts of MCP call. Every ten seconds
it is looked at what each server takes up and how long agents waited for their answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TextIO

import apsw
from tests.faults import flat
from tests.faults.alone import alone
from tests.faults.flat import Footprint, Row, Sample
from tests.faults.mixed_load import Line, Load
from tests.postgres import Cluster

from askdesk.core.desk import Desk
from askdesk.open import open_desk
from askdesk.server import tokens

RESULTS = Path(__file__).parents[2] / "bench" / "results"
_SETTINGS = {"ASKDESK_ASKS_A_MINUTE": "6000"}
_QUIET_SECONDS = 10.0


class Server(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    log: TextIO

    def footprint(self) -> Footprint:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        memory, threads = [int(status.partition(f"{name}:")[2].split()[0]) for name in ("VmRSS", "Threads")]
        return Footprint(memory / 1024, len(os.listdir(f"/proc/{self.process.pid}/fd")), threads)

    def said(self) -> list[str]:
        """Whatever it complained about, but that the hooks of a machine are for one server to answer."""
        self.log.seek(0)
        return [line for line in self.log.read().splitlines() if "another server answers there" not in line]


@contextmanager
def serving(store: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "askdesk.cli.main", "serve", "--port", "0", "--no-link", "--log", "none"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*command, "--store", store], stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | _SETTINGS
        )
        with process:
            try:
                assert process.stdout
                yield Server(process, int(process.stdout.readline().rpartition(":")[2]), log)
            finally:
                process.terminate()


class Place:
    """Where the servers keep their desk, and how large that is. In a file."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / "desk.db"
        self.url = str(self._path)

    def connections(self) -> int:
        return 0

    def size_mb(self) -> float:
        return sum(found.stat().st_size for found in self._path.parent.glob("desk.db*")) / 1e6

    def documents(self) -> int:
        database = apsw.Connection(self.url, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return len(database.execute("SELECT NULL FROM shelf").fetchall())
        finally:
            database.close()


class InADatabase(Place):
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.url = cluster.database()
        self._name = self.url.rpartition("/")[2]

    def _number(self, query: str) -> int:
        return int(self._cluster.sql(query, database=self._name)[0][0])

    def connections(self) -> int:
        return self._number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'askdesk'")

    def size_mb(self) -> float:
        return self._number(f"SELECT pg_database_size('{self._name}')") / 1e6

    def documents(self) -> int:
        return self._number("SELECT count(*) FROM askdesk.shelf")


@asynccontextmanager
async def placed(kind: str) -> AsyncIterator[Place]:
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="askdesk-soak-") as folder:
            yield Place(folder)
    else:
        with await asyncio.to_thread(Cluster, durable=True) as cluster:
            yield InADatabase(cluster)


class Ran(NamedTuple):
    """What came of a run."""

    samples: list[Sample]
    done: dict[str, int]
    failures: list[str]
    stuck: int
    complaints: list[str]
    left_over: list[str]

    @property
    def rows(self) -> list[Row]:
        return flat.rows(self.samples)

    @property
    def is_right(self) -> bool:
        return not (self.failures or self.stuck or self.complaints or self.left_over)

    @property
    def is_flat(self) -> bool:
        return all(row.is_flat is not False for row in self.rows)


async def soak(kind: str, seconds: float, *, every: float = 10.0, loops_a_second: float = 10.0) -> Ran:
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(placed(kind))
        desk = await stack.enter_async_context(open_desk(place.url))
        servers = [stack.enter_context(serving(place.url)) for _ in range(2)]
        load = Load(desk, (servers[0].port, servers[1].port), loops_a_second=loops_a_second)
        samples: list[Sample] = []
        async with load.running():
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                await asyncio.sleep(every)
                samples.append(await asyncio.to_thread(_sample, place, servers, load, time.monotonic() - began))
                if sys.stderr.isatty() or len(samples) % 30 == 0:
                    print(_told(samples, load), file=sys.stderr)
            stuck = load.stuck
        samples.append(await asyncio.to_thread(_sample, place, servers, load, time.monotonic() - began))
        left_over = await _left_over(desk, servers)
        complaints = [line for server in servers for line in server.said()]
        return Ran(samples, dict(load.done), load.failures, stuck, complaints, left_over)


def _sample(place: Place, servers: list[Server], load: Load, at: float) -> Sample:
    took, load.took = load.took, []
    return Sample(
        at,
        tuple(server.footprint() for server in servers),
        place.connections(),
        place.size_mb(),
        place.documents(),
        tuple(seconds for _, seconds in took),
    )


def _told(samples: list[Sample], load: Load) -> str:
    latest = samples[-1]
    memory = ", ".join(f"{server.memory_mb:.1f} MB {server.files} files" for server in latest.servers)
    return f"soak: {latest.at / 60:.1f} minutes, {memory}, {len(load.failures)} failures, {load.stuck} stuck"


async def _left_over(desk: Desk, servers: list[Server]) -> list[str]:
    """What servers still think is waited for, some seconds after everybody has gone."""
    _, token = await tokens.new_token(desk.shelf, "answerer", "soak", now=desk.now())
    end = time.monotonic() + _QUIET_SECONDS
    while True:
        left = [line for server in servers for line in await _waited_for(server, token)]
        if not left or time.monotonic() > end:
            return left
        await asyncio.sleep(0.1)


async def _waited_for(server: Server, token: str) -> list[str]:
    with closing(Line(server.port, token)) as line:
        told = (await line.request("GET", "/metrics")).body.decode()
    return re.findall(r"^askdesk_(?:streams|waits) [1-9]\d*$", told, re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--loops", type=float, default=10, metavar="N", help="asks a second that agents wait for")
    given = parser.parse_args()
    with alone("soak"):
        ran = asyncio.run(soak(given.store, given.minutes * 60, loops_a_second=given.loops))
    path = _kept(ran, given.store)
    print(flat.HEADING, *ran.rows, sep="\n")
    print(f"done: {', '.join(f'{count} {name}' for name, count in sorted(ran.done.items()))}")
    print(f"{len(ran.failures)} failures, {ran.stuck} stuck, {len(ran.complaints)} complaints of servers", end="")
    print(f"{''.join(f', left: {line}' for line in ran.left_over)}; samples: {path}")
    print(*ran.failures[:10], *ran.complaints[:10], "FLAT" if ran.is_flat else "NOT FLAT", sep="\n")
    return 0 if ran.is_flat and ran.is_right else 1


def _kept(ran: Ran, kind: str) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"soak-{kind}-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(ran._asdict() | {"samples": flat.raw(ran.samples)}))
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(main())
