"""What one server carries, and several on one database: `python -m bench.sizing`, four minutes on a quiet machine.

Clients and database share its processors: servers with machines of their own carry more. With --write the tables take
the place of those in docs/deploy.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

import uvloop
from bench import pages
from bench.machine import machine, versions
from bench.running import ASK, ROOT, Running, asked, id_of, keys_of, length, serving
from tests.postgres import Cluster

from askdesk.core.desk import Desk
from askdesk.core.model import Answer, Answered, Question, Questions
from askdesk.open import open_desk

PAGE = ROOT / "docs" / "deploy.md"
COMMAND = "python -m bench.sizing --write"
_OF_ONE_TOKEN = 2000  # may wait at a time
_AT_ONCE = 200  # asks that are put into a store
_CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'askdesk'"


class Load(NamedTuple):
    """How much is measured."""

    connections: Sequence[int] = (1, 8, 32, 128)
    waiting: Sequence[int] = (1_000, 10_000)
    servers: Sequence[int] = (1, 2, 3)
    kept: int = 10_000
    seconds: float = 3.0  # of asking
    idle_seconds: float = 5.0
    rest: float = 61.0  # after which those who share a file look for changes less often


class Idle(NamedTuple):
    """What those take who wait while nothing happens."""

    memory: float  # bytes, all of them
    processor: float  # percent of one, all of them


class Carried(NamedTuple):
    """By one server."""

    asks: list[float]  # a second, by connections
    memory: float  # bytes, while nobody is there
    pages: list[Idle]
    agents: list[Idle]
    kept: float  # bytes of an ask in the store, with its answer
    connected: int  # connections to the database


def on_sqlite(load: Load) -> Carried:
    def size() -> int:
        return sum(path.stat().st_size for path in Path(folder).iterdir())

    with tempfile.TemporaryDirectory() as folder:
        return _carried(f"{folder}/desk.db", load, size, lambda: 0, rest=load.rest)


def on_postgres(cluster: Cluster, load: Load) -> Carried:
    def size() -> int:
        return int(cluster.sql("SELECT pg_database_size($1)", store.rpartition("/")[2])[0][0])

    store = cluster.database()
    return _carried(store, load, size, lambda: int(cluster.sql(_CONNECTED)[0][0]), rest=0)


def _carried(store: str, load: Load, size: Callable[[], int], connected: Callable[[], int], *, rest: float) -> Carried:
    uvloop.run(_kept(store, 0))
    before = size()
    uvloop.run(_kept(store, load.kept))
    kept = (size() - before) / load.kept
    keys = [keys_of(store) for _ in range(1 + max(load.waiting) // _OF_ONE_TOKEN)]
    with serving(store, keys[0]) as server:
        asks = [asks_a_second([server], count, load.seconds) for count in load.connections]
        most = connected()
    tokens = [each.asker for each in keys]
    with serving(store, keys[0]) as pages, serving(store, keys[0]) as agents:
        memory = pages.memory()
        with (
            Waiting(pages, "/v1/events", "askdesk_streams", tokens) as live,
            Waiting(agents, f"/v1/asks/{_posted(agents)}?wait=60", "askdesk_waits", tokens) as waiting,
        ):
            time.sleep(rest)
            idle_pages = [live.idle(count, load.idle_seconds) for count in load.waiting]
            live.leave()  # there may be no more files than for one of the two
            idle_agents = [waiting.idle(count, load.idle_seconds) for count in load.waiting]
    return Carried(asks, memory, idle_pages, idle_agents, kept, most)


async def _kept(store: str, count: int) -> None:
    """Put so many asks into a store, each with its answer."""
    questions = Questions([Question("Which database?", ["SQLite", "Postgres"], header="Database")])

    async def one(desk: Desk) -> None:
        ask = await desk.post(questions)
        await desk.settle(ask.id, Answered([Answer(["SQLite"])]), by="ana", surface="page")

    async with open_desk(store) as desk:
        for done in range(0, count, _AT_ONCE):
            await asyncio.gather(*(one(desk) for _ in range(min(_AT_ONCE, count - done))))


def _posted(server: Running) -> str:
    with server.connected() as connection:
        return id_of(asked(connection, server.request("POST", "/v1/asks", server.asker, ASK)))


class Waiting:
    """Those who wait at a server, on connections of their own; who is answered waits again, as agents do."""

    def __init__(self, server: Running, path: str, gauge: str, tokens: Sequence[str]) -> None:
        self._server, self._path, self._gauge, self._tokens = server, path, gauge, tokens
        self._loop = uvloop.new_event_loop()
        self._agents: list[Agent] = []
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._open("/v1/events", 1)  # so that the server listens for changes
        self._before = server.memory()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        for agent in self._agents:
            self._loop.call_soon_threadsafe(agent.leave)
        self._agents.clear()

    def idle(self, count: int, seconds: float) -> Idle:
        """What they take once there are so many."""
        self._open(self._path, count + 1 - len(self._agents))
        while self._counted() < count:
            time.sleep(0.5)
        time.sleep(1)  # until what they begin with has gone by
        before = self._server.seconds()
        time.sleep(seconds)
        processor = (self._server.seconds() - before) / seconds * 100
        return Idle(self._server.memory() - self._before, processor)

    def _open(self, path: str, count: int) -> None:
        tokens = itertools.islice(itertools.cycle(self._tokens), count)
        requests = [self._server.request("GET", path, token) for token in tokens]
        self._agents += asyncio.run_coroutine_threadsafe(connected(self._server, requests), self._loop).result()

    def _counted(self) -> int:
        with self._server.connected() as connection:
            told = asked(connection, self._server.request("GET", "/metrics", self._server.answerer)).decode()
        return int(told.partition(f"\n{self._gauge} ")[2].partition("\n")[0])


def asks_a_second(servers: Sequence[Running], connections: int, seconds: float) -> float:
    """How many all servers take together, each on so many connections, and each ask durable before it is told so."""
    return uvloop.run(_asking(servers, connections, seconds))


async def _asking(servers: Sequence[Running], connections: int, seconds: float) -> float:
    agents = []
    for server in servers:
        agents += await connected(server, [server.request("POST", "/v1/asks", server.asker, ASK)] * connections)
    await asyncio.sleep(seconds / 3)  # in which the servers connect to their database
    before = sum(agent.answered for agent in agents)
    await asyncio.sleep(seconds)
    answered = sum(agent.answered for agent in agents) - before
    for agent in agents:
        agent.leave()
    return answered / seconds


async def connected(server: Running, requests: Sequence[bytes]) -> list[Agent]:
    """As many agents as there are requests, each on a connection of its own."""
    loop = asyncio.get_running_loop()
    agents = [Agent(request) for request in requests]
    for agent in agents:
        await loop.create_connection(lambda agent=agent: agent, "127.0.0.1", server.port)  # type: ignore[misc]
    return agents


class Agent(asyncio.Protocol):
    """Sends its request, and again as soon as it is answered: which a stream never is."""

    def __init__(self, request: bytes) -> None:
        self._request, self._received = request, b""
        self.answered = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or b"content-length" not in head or len(body) < length(head):
            return
        assert head.startswith(b"HTTP/1.1 20"), self._received
        self._received, self.answered = b"", self.answered + 1
        self._transport.write(self._request)

    def leave(self) -> None:
        self._transport.abort()


def on_several(cluster: Cluster, load: Load) -> list[float]:
    """Asks a second that so many servers on one database take in sum."""
    sums = []
    for count in load.servers:
        store = cluster.database()
        keys = keys_of(store)
        with ExitStack() as stack:
            servers = [stack.enter_context(serving(store, keys)) for _ in range(count)]
            sums.append(asks_a_second(servers, max(load.connections), load.seconds))
    return sums


def tables(sqlite: Carried, postgres: Carried, sums: Sequence[float], load: Load) -> str:
    rows = [("one server", "on SQLite", "on PostgreSQL"), ("---", "---:", "---:")]

    def add(what: str, words: Callable[[Carried], str]) -> None:
        rows.append((what, words(sqlite), words(postgres)))

    for at, count in enumerate(load.connections):
        add(f"durable asks a second, on {count} connections", lambda on, at=at: f"{on.asks[at]:,.0f}")  # type: ignore[misc]
    add("memory while nobody is there", lambda on: f"{on.memory / 1e6:.0f} MB")
    for at, count in enumerate(load.waiting):
        add(f"{count:,} live pages", lambda on, at=at: _idle(on.pages[at]))  # type: ignore[misc]
        add(f"{count:,} agents that wait", lambda on, at=at: _idle(on.agents[at]))  # type: ignore[misc]
    add("100,000 asks with their answers, in the store", lambda on: f"{on.kept / 10:,.0f} MB")
    add("connections to the database", lambda on: f"{on.connected}" if on.connected else "")
    several = [
        ("servers on one PostgreSQL", *map(str, load.servers)),
        ("---", *["---:"] * len(sums)),
        ("durable asks a second, in sum", *(f"{each:,.0f}" for each in sums)),
    ]
    return f"{_table(rows)}\n{_table(several)}"


def _idle(idle: Idle) -> str:
    return f"{idle.memory / 1e6:.0f} MB, {idle.processor:.1f} % of a processor"


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def about(load_average: float) -> str:
    """On what it was measured, and how busy that was before."""
    on, of = machine(), versions()
    return (
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {on['processor']}, {on['memory']}, "
        f"with PostgreSQL {of['PostgreSQL']}, SQLite {of['SQLite']} and Python {of['Python']}; "
        f"clients and database on the same processors; load average before: {load_average:.1f}.\n"
    )


def measured(load: Load) -> str:
    load_average, *_ = os.getloadavg()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    assert most > max(load.waiting) + 100, f"each who waits is a file here, and there may be {most}"
    with Cluster(durable=True) as cluster:
        sqlite, postgres, sums = on_sqlite(load), on_postgres(cluster, load), on_several(cluster, load)
    return f"{about(load_average)}\n{tables(sqlite, postgres, sums, load)}"


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.sizing", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    write = parser.parse_args().write
    text = measured(Load())
    sys.stdout.write(text)
    if write:
        pages.put(PAGE, COMMAND, text)


if __name__ == "__main__":
    main()
