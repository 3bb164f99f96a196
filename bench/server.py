"""`askdesk serve` over real sockets, against the least that could do the same with the same statements."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import uvloop
from bench import bare
from bench.bare import BODY, SETTLED, Bare
from bench.desks import RawCommits
from bench.measure import Figure, Ratio, timed
from bench.running import ASK, Running, answer, asked, id_of, keys_of, length, running, serving, wait_on


@contextmanager
def desk_server() -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/desk.db"
        with serving(store, keys_of(store)) as server:
            yield server


@contextmanager
def bare_server() -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as folder, running("bench.server", f"{folder}/floor.db") as server:
        yield server


def exchange(rounds: int) -> Ratio:
    """An agent asks and waits, a person answers, the agent has it: one after the other."""
    floor, ours = [], []
    with bare_server() as least, desk_server() as server, ExitStack() as stack:
        exchanges = Exchange(least, stack), Exchange(server, stack)
        for _ in range(rounds):
            floor.append(timed(exchanges[0].once))
            ours.append(timed(exchanges[1].once))
    return Ratio("ask to answer over HTTP, durable on SQLite", "bare protocol + two raw commits", 3, floor, ours, 5)


class Exchange:
    """An agent and a person, each with a connection that stays open."""

    def __init__(self, server: Running, stack: ExitStack) -> None:
        self._server = server
        self._agent, self._person = [stack.enter_context(server.connected()) for _ in range(2)]
        self._count = 0

    def once(self) -> None:
        server, self._count = self._server, self._count + 1
        self._agent.sendall(server.request("POST", "/v1/asks", server.asker, ASK))
        ask_id = id_of(answer(self._agent))
        self._agent.sendall(server.request("GET", f"/v1/asks/{ask_id}?wait=60", server.asker))
        self._person.sendall(server.settlement(ask_id, f"s{self._count}"))
        assert b'"answered"' in answer(self._person)
        assert b'"answered"' in answer(self._agent)


def many(rounds: int, connections: int = 32) -> list[Ratio | Figure]:
    """Asks, each acknowledged once it is durable, on many connections at once; per ask."""
    floor, ours = [], []
    with bare_server() as least, desk_server() as server:
        for _ in range(rounds):
            floor.append(uvloop.run(_posted(least, connections)))
            ours.append(uvloop.run(_posted(server, connections)))
    name, floor_name = f"post an ask, {connections} connections, each", "bare protocol + a raw commit of all at once"
    return [
        Ratio(name, floor_name, 6, floor, ours, are_means=True),
        Figure(f"{name}; at 125 µs it is 8,000 a second", median(ours), "µs", 125),
    ]


async def _posted(server: Running, connections: int, each: int = 25) -> float:
    """Microseconds an ask."""
    loop = asyncio.get_running_loop()
    request = server.request("POST", "/v1/asks", server.asker, ASK)
    posters = [Poster(request, each) for _ in range(connections)]
    for poster in posters:
        await loop.create_connection(lambda poster=poster: poster, "127.0.0.1", server.port)  # type: ignore[misc]
    started = time.perf_counter()
    for poster in posters:
        poster.send()
    await asyncio.gather(*(poster.done for poster in posters))
    return (time.perf_counter() - started) * 1e6 / (connections * each)


class Poster(asyncio.Protocol):
    """Sends the same request again as soon as it is answered, so many times."""

    def __init__(self, request: bytes, times: int) -> None:
        self._request, self._left = request, times
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._received = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def send(self) -> None:
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < length(head):
            return
        if not head.startswith(b"HTTP/1.1 201 "):
            self._transport.close()
            self.done.set_exception(AssertionError(head))  # whoever waits would else wait for ever
            return
        self._received, self._left = b"", self._left - 1
        if self._left:
            self.send()
        else:
            self._transport.close()
            self.done.set_result(None)


def stream_memory(count: int = 2000) -> Figure:
    """What a live stream costs the server while nothing happens."""
    with desk_server() as server, ExitStack() as stack:
        wait_on(stack, server, "/v1/events", 10)
        before = server.memory()
        wait_on(stack, server, "/v1/events", count)
        return Figure(f"memory of a live stream, one of {count}", (server.memory() - before) / count / 1000, "kB", 16)


def idle_costs(seconds: float, count: int = 1000, *, rest: float = 61) -> list[Figure]:
    """How much of a processor those take who wait, soon after something happened and once nothing has for a minute."""
    with desk_server() as server, ExitStack() as stack:
        with server.connected() as connection:
            ask_id = id_of(asked(connection, server.request("POST", "/v1/asks", server.asker, ASK)))
        wait_on(stack, server, "/v1/events", 1)
        soon = _idle_cost(server, f"{count} streams wait, in the first minute of quiet", "/v1/events", seconds, count)
        time.sleep(rest)
        return [
            soon,
            *(
                _idle_cost(server, f"{count} {kind} wait, after a minute of quiet", path, seconds, count)
                for kind, path in {"streams": "/v1/events", "requests": f"/v1/asks/{ask_id}?wait=60"}.items()
            ),
        ]


def _idle_cost(server: Running, what: str, path: str, seconds: float, count: int) -> Figure:
    with ExitStack() as stack:
        wait_on(stack, server, path, count)
        time.sleep(1)  # until what they begin with has gone by
        before = server.seconds()
        time.sleep(seconds)
        return Figure(f"processor while {what}", (server.seconds() - before) / seconds * 100, "%", 1)


class BareOnSQLite(Bare):
    """With the same two statements, committed raw: what comes at once is one commit."""

    waiting: list[Callable[[], None]] = []  # noqa: RUF012 - of all connections
    asking: list[BareOnSQLite] = []  # noqa: RUF012 - at the moment

    def __init__(self, raw: RawCommits) -> None:
        super().__init__()
        self._raw = raw

    def requested(self, head: bytes) -> None:
        if head.startswith(b"POST /v1/asks "):
            if not self.asking:
                asyncio.get_running_loop().call_soon(self._keep)
            self.asking.append(self)
        elif head.startswith(b"POST "):
            self._raw.settle()
            self.answer(b"200 OK", SETTLED)
            for wake in self.waiting:
                wake()
            self.waiting.clear()
        else:
            self.waiting.append(lambda: self.answer(b"200 OK", SETTLED))

    def _keep(self) -> None:
        self._raw.insert(len(self.asking))
        for each in self.asking:
            each.answer(b"201 Created", BODY % (b"0" * 32))
        self.asking.clear()


def _serve_floor(path: str) -> None:
    raw = RawCommits(Path(path))
    uvloop.run(bare.serve(lambda: BareOnSQLite(raw)))


if __name__ == "__main__":
    _serve_floor(*sys.argv[1:])
