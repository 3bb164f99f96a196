"""An agent at one server and a person at another, on one PostgreSQL, against the least that could do the same.

The floor writes the same two rows, each with a notification in its commit, and whoever waits is woken by LISTEN in the
other process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import asyncpg
import uvloop
from bench import bare
from bench.bare import BODY, SETTLED, Bare
from bench.desks import ASK_RECORD, SETTLEMENT_RECORD
from bench.measure import Ratio, timed
from bench.running import ASK, Running, answer, heard, id_of, keys_of, running, serving, stream
from tests.postgres import Cluster

from askdesk.core.desk import new_id
from askdesk.server.events import REREAD

_INSERT = """WITH added AS (
    INSERT INTO askdesk.asks (id, project, record, changed) VALUES ($1, '', $2, nextval('askdesk.changes')) RETURNING id
) SELECT pg_notify('bare', 'asked ' || id) FROM added"""
_SETTLE = """WITH settled AS (
    UPDATE askdesk.asks SET settlement = $2, changed = nextval('askdesk.changes')
    WHERE askdesk.digest(id) = askdesk.digest($1) AND settlement IS NULL RETURNING id
) SELECT pg_notify('bare', 'settled ' || id) FROM settled"""


def measure(cluster: Cluster, rounds: int) -> Ratio:
    floor, ours = [], []
    with ExitStack() as stack:
        exchanges = Across(*bare_servers(stack, cluster), stack), Across(*desk_servers(stack, cluster), stack)
        for exchange in exchanges:
            exchange.once()  # the first one connects to the database
        for _ in range(rounds):
            floor.append(timed(exchanges[0].once))
            ours.append(timed(exchanges[1].once))
    name = "ask at one server to answer at another, durable on PostgreSQL"
    return Ratio(name, "bare protocol + two writes with NOTIFY, each heard by the other", 2, floor, ours, 4)


def desk_servers(stack: ExitStack, cluster: Cluster) -> tuple[Running, Running]:
    store = cluster.database()
    keys = keys_of(store)
    return stack.enter_context(serving(store, keys)), stack.enter_context(serving(store, keys))


def bare_servers(stack: ExitStack, cluster: Cluster) -> tuple[Running, Running]:
    database = cluster.database()
    keys_of(database)  # so that the tables are there
    one, other = (stack.enter_context(running("bench.two_servers", database)) for _ in range(2))
    return one, other


class Across:
    """An agent who waits at one server; a person at another, who hears of the ask there and answers at once."""

    def __init__(self, agents: Running, peoples: Running, stack: ExitStack) -> None:
        self._agents, self._peoples = agents, peoples
        self._agent, self._person = (stack.enter_context(server.connected()) for server in (agents, peoples))
        self._live = stream(stack, peoples)
        self._heard = b""

    def once(self) -> None:
        self._agent.sendall(self._agents.request("POST", "/v1/asks", self._agents.asker, ASK))
        ask_id = id_of(answer(self._agent))
        self._agent.sendall(self._agents.request("GET", f"/v1/asks/{ask_id}?wait=60", self._agents.asker))
        self._hear(ask_id.encode())
        self._person.sendall(self._peoples.settlement(ask_id, new_id()))
        assert b'"answered"' in answer(self._person)
        assert b'"answered"' in answer(self._agent)

    def _hear(self, ask_id: bytes) -> None:
        """Of the ask; or that all may be new, as it is where a server had yet to connect when it was asked."""
        while not (ask_id in self._heard or REREAD in self._heard):
            self._heard = self._heard[-100:] + heard(self._live)
        self._heard = b""


class Waiting:
    """Who waits at a bare server, and what it heard."""

    def __init__(self) -> None:
        self.streams: list[Bare] = []
        self._asks: dict[str, Callable[[], None]] = {}
        self._settled: set[str] = set()

    def wait(self, ask_id: str, wake: Callable[[], None]) -> None:
        if ask_id in self._settled:
            wake()
        else:
            self._asks[ask_id] = wake

    def heard(self, connection: Any, process: int, channel: str, told: str) -> None:
        what, _, ask_id = told.partition(" ")
        for each in self.streams:
            each.write(b'data: {"ask":"%s"}\n\n' % ask_id.encode())
        if what == "settled":
            self._settled.add(ask_id)
            self._asks.pop(ask_id, lambda: None)()


class BareOnPostgres(Bare):
    def __init__(self, database: Any, waiting: Waiting) -> None:
        super().__init__()
        self._database, self._waiting = database, waiting

    def requested(self, head: bytes) -> None:
        path = head.split(b" ", 2)[1].decode()
        if path == "/v1/events":
            self.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: reread\ndata: {}\n\n")
            self._waiting.streams.append(self)
        elif head.startswith(b"GET "):
            self._waiting.wait(path[9:41], lambda: self.answer(b"200 OK", SETTLED))
        else:
            self._writing = asyncio.ensure_future(self._asked() if path == "/v1/asks" else self._settled(path[9:41]))

    async def _asked(self) -> None:
        ask_id = new_id()
        await self._database.execute(_INSERT, ask_id, ASK_RECORD)
        self.answer(b"201 Created", BODY % ask_id.encode())

    async def _settled(self, ask_id: str) -> None:
        await self._database.execute(_SETTLE, ask_id, SETTLEMENT_RECORD)
        self.answer(b"200 OK", SETTLED)


async def _serve_floor(url: str) -> None:
    waiting = Waiting()
    listening, database = await asyncpg.connect(url), await asyncpg.connect(url)
    await listening.add_listener("bare", waiting.heard)
    await bare.serve(lambda: BareOnPostgres(database, waiting))


if __name__ == "__main__":
    uvloop.run(_serve_floor(*sys.argv[1:]))
