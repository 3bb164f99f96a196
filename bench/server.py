"""The server over real sockets, in a process of its own, against the least that could do the same.

The floor is a bare asyncio protocol that looks for the end of a head and answers the same bytes, with the same
statements committed raw. Both run on uvloop, as `askdesk serve` does where it is installed.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from bench.desks import RawCommits
from bench.measure import Figure, Ratio, timed

from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.server import tokens
from askdesk.server.run import Address, serve
from askdesk.server.service import Service
from askdesk.stores.sqlite import SQLiteStore

_QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": ""}, {"label": "Postgres", "description": ""}],
    "multiSelect": False,
}
_ASK = json.dumps({"questions": [_QUESTION], "asker": {"agent": "bench"}}).encode()
_REPLY = {"outcome": "answered", "answers": [{"chosen": ["SQLite"]}]}


class Running(NamedTuple):
    """A server in another process."""

    process: subprocess.Popen[str]
    port: int
    asker: str
    answerer: str

    def request(self, method: str, path: str, token: str, body: bytes = b"") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {token}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    def connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def seconds(self) -> float:
        """How long it has used a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def running(what: str, folder: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "bench.server", what, folder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        assert process.stdout is not None
        yield Running(process, **json.loads(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


def exchange(rounds: int) -> Ratio:
    """An agent asks and waits, a person answers, the agent has it: one after the other."""
    floor, ours = [], []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        exchanges = [Exchange(stack.enter_context(running(what, folder)), stack) for what in ("floor", "ours")]
        for _ in range(rounds):
            floor.append(timed(exchanges[0].once))
            ours.append(timed(exchanges[1].once))
    return Ratio("ask to answer over HTTP, durable on SQLite", "bare protocol + two raw commits", 3, floor, ours)


class Exchange:
    """An agent and a person, each with a connection that stays open."""

    def __init__(self, server: Running, stack: ExitStack) -> None:
        self._server = server
        self._agent, self._person = [stack.enter_context(server.connected()) for _ in range(2)]
        self._count = 0

    def once(self) -> None:
        server, self._count = self._server, self._count + 1
        self._agent.sendall(server.request("POST", "/v1/asks", server.asker, _ASK))
        ask_id = _answer(self._agent).partition(b'"id":"')[2][:32].decode()
        self._agent.sendall(server.request("GET", f"/v1/asks/{ask_id}?wait=60", server.asker))
        reply = json.dumps({"reply": _REPLY, "submission": f"s{self._count}"}).encode()
        self._person.sendall(server.request("POST", f"/v1/asks/{ask_id}/settlement", server.answerer, reply))
        assert b'"answered"' in _answer(self._person)
        assert b'"answered"' in _answer(self._agent)


def _answer(connection: socket.socket) -> bytes:
    received = connection.recv(65536)
    while len(parts := received.split(b"\r\n\r\n", 1)) < 2 or len(parts[1]) < _length(parts[0]):
        received += connection.recv(65536)
    return parts[1]


def _length(head: bytes) -> int:
    return int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])


def many(rounds: int, connections: int = 32) -> Ratio:
    """Asks, each acknowledged once it is durable, on many connections at once; per ask."""
    floor, ours = [], []
    with tempfile.TemporaryDirectory() as folder, running("floor", folder) as bare, running("ours", folder) as server:
        for _ in range(rounds):
            floor.append(uvloop.run(_posted(bare, connections)))
            ours.append(uvloop.run(_posted(server, connections)))
    return Ratio(f"post an ask, {connections} connections, each", "bare protocol + a raw commit", 2, floor, ours)


async def _posted(server: Running, connections: int, each: int = 25) -> float:
    """Microseconds an ask."""
    loop = asyncio.get_running_loop()
    request = server.request("POST", "/v1/asks", server.asker, _ASK)
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
        if not end or len(body) < _length(head):
            return
        assert head.startswith(b"HTTP/1.1 201 "), head
        self._received, self._left = b"", self._left - 1
        if self._left:
            self.send()
        else:
            self._transport.close()
            self.done.set_result(None)


def stream_memory(count: int = 2000) -> Figure:
    """What a live stream costs the server while nothing happens."""
    with tempfile.TemporaryDirectory() as folder, running("ours", folder) as server, ExitStack() as stack:
        _wait(stack, server, "/v1/events", 10)
        before = server.memory()
        _wait(stack, server, "/v1/events", count)
        return Figure(f"memory of a live stream, one of {count}", (server.memory() - before) / count / 1000, "kB", 16)


def idle_costs(seconds: float, count: int = 1000, *, rest: float = 61) -> list[Figure]:
    """How much of a processor those take who wait, on a desk where nothing has happened for a minute."""
    with tempfile.TemporaryDirectory() as folder, running("ours", folder) as server, ExitStack() as stack:
        with server.connected() as connection:
            connection.sendall(server.request("POST", "/v1/asks", server.asker, _ASK))
            ask_id = _answer(connection).partition(b'"id":"')[2][:32].decode()
        _wait(stack, server, "/v1/events", 1)
        time.sleep(rest)
        return [
            _idle_cost(server, f"{count} {kind}", path, seconds, count)
            for kind, path in {"streams": "/v1/events", "requests": f"/v1/asks/{ask_id}?wait=60"}.items()
        ]


def _idle_cost(server: Running, what: str, path: str, seconds: float, count: int) -> Figure:
    with ExitStack() as stack:
        _wait(stack, server, path, count)
        time.sleep(1)  # until what they begin with has gone by
        before = server.seconds()
        time.sleep(seconds)
        return Figure(f"processor while {what} wait", (server.seconds() - before) / seconds * 100, "%", 1)


def _wait(stack: ExitStack, server: Running, path: str, count: int) -> None:
    """Open so many connections that wait, and be sure that they do."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for _ in range(count):
        connection = stack.enter_context(server.connected())
        connection.sendall(server.request("GET", path, server.asker))
        if path == "/v1/events":
            while not connection.recv(4096).endswith(b"data: {}\n\n\r\n"):
                pass
    with server.connected() as connection:  # answered after all of them have been looked at
        connection.sendall(server.request("GET", "/v1/me", server.asker))
        _answer(connection)


async def ours(folder: str) -> None:
    desk = Desk(await SQLiteStore.open(Path(folder) / "ours.db"))
    address = Address(port=0)
    listening = address.listen()
    port = listening.getsockname()[1]
    service = Service(desk, address.url(port), limits=OPEN, asks_a_minute=1e9)
    asker, answerer = [
        (await tokens.new_token(desk.shelf, kind, "bench", now=desk.now()))[1] for kind in ("asker", "answerer")
    ]
    print(json.dumps({"port": port, "asker": asker, "answerer": answerer}), flush=True)
    await serve(service, address, listening)
    await desk.close()


async def floor(folder: str) -> None:
    raw = RawCommits(Path(folder) / "floor.db")
    server = await asyncio.get_running_loop().create_server(lambda: Bare(raw), "127.0.0.1", 0, backlog=2048)
    port = server.sockets[0].getsockname()[1]
    token = f"askdesk_asker_{'0' * 16}_{'0' * 43}"  # as long as a real one
    print(json.dumps({"port": port, "asker": token, "answerer": token}), flush=True)
    await server.serve_forever()


_BODY = b'{"ask":{"id":"%s","body":{"body":"questions","items":[]}}}' % (b"0" * 32)
_SETTLED = b'{"outcome":{"outcome":"answered","answers":[{"chosen":["SQLite"]}]}}'


class Bare(asyncio.Protocol):
    """No more than what these requests need: neither checked nor parsed."""

    waiting: list[Callable[[], None]] = []  # noqa: RUF012 - of all connections

    def __init__(self, raw: RawCommits) -> None:
        self._raw = raw
        self._received = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or (b"Content-Length: " in head and len(body) < int(head.rpartition(b"Content-Length: ")[2])):
            return
        self._received = b""
        if head.startswith(b"POST /v1/asks "):
            self._raw.insert()
            self._answer(b"201 Created", _BODY)
        elif head.startswith(b"POST "):
            self._raw.settle()
            self._answer(b"200 OK", _SETTLED)
            for wake in self.waiting:
                wake()
            self.waiting.clear()
        else:
            self.waiting.append(lambda: self._answer(b"200 OK", _SETTLED))

    def _answer(self, status: bytes, body: bytes) -> None:
        self._transport.write(b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body))


def _main(what: str, folder: str) -> None:
    programs: dict[str, Callable[[str], Any]] = {"ours": ours, "floor": floor}
    uvloop.run(programs[what](folder))


if __name__ == "__main__":
    _main(*sys.argv[1:])
