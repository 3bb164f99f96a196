"""Servers in processes of their own, and what they are asked over real sockets."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from askdesk.core.clock import SystemClock
from askdesk.open import open_store
from askdesk.server import tokens

ROOT = Path(__file__).parents[1]
QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": ""}, {"label": "Postgres", "description": ""}],
    "multiSelect": False,
}
ASK = json.dumps({"questions": [QUESTION], "asker": {"agent": "bench"}}).encode()
_STUCK_SECONDS = 60.0  # a server that is silent for so long fails the run, rather than keeping it for ever
REPLY = {"outcome": "answered", "answers": [{"chosen": ["SQLite"]}]}


class Running(NamedTuple):
    """A server in another process."""

    process: subprocess.Popen[str]
    port: int
    asker: str
    answerer: str
    page: str = ""  # the token of somebody who is signed in

    def request(self, method: str, path: str, token: str, body: bytes = b"") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {token}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    def view(self, path: str) -> bytes:
        """A request for a page, by somebody who is signed in."""
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: askdesk-{self.port}={self.page}\r\n"
        return f"{head}\r\n".encode()

    def settlement(self, ask_id: str, submission: str) -> bytes:
        reply = json.dumps({"reply": REPLY, "submission": submission}).encode()
        return self.request("POST", f"/v1/asks/{ask_id}/settlement", self.answerer, reply)

    def connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=_STUCK_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def seconds(self) -> float:
        """How long it has used a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


class Keys(NamedTuple):
    """The tokens of somebody who asks, of a program that answers, and of a person at the page."""

    asker: str
    answerer: str
    page: str


def keys_of(store: str) -> Keys:
    return asyncio.run(_new_keys(store))


async def _new_keys(url: str) -> Keys:
    store, now = await open_store(url), SystemClock().now()
    try:
        texts = [
            (await tokens.new_token(store.shelf, kind, "bench", now=now))[1] for kind in ("asker", "answerer", "page")
        ]
        return Keys(*texts)
    finally:
        await store.close()


@contextmanager
def serving(store: str, keys: Keys) -> Iterator[Running]:
    """`askdesk serve`, as anybody would start it, on a machine where nothing else of it is."""
    command = [str(Path(sys.executable).with_name("askdesk")), "serve", "--port", "0", "--no-link", "--log", "none"]
    with tempfile.TemporaryDirectory() as home:
        around = {name: value for name, value in os.environ.items() if not name.startswith("ASKDESK_")}
        around |= {"XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "ASKDESK_ASKS_A_MINUTE": "1000000000"}
        around |= {"PYTHONDONTWRITEBYTECODE": ""}
        process = subprocess.Popen([*command, "--store", store], stdout=subprocess.PIPE, text=True, env=around)
        with _ended(process):
            assert process.stdout
            yield Running(process, int(process.stdout.readline().rpartition(":")[2]), *keys)


@contextmanager
def running(module: str, *arguments: str) -> Iterator[Running]:
    """A module of ours that says, in a line of JSON, where it listens."""
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with _ended(process):
        assert process.stdout
        yield Running(process, **json.loads(process.stdout.readline()))


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def asked(connection: socket.socket, request: bytes) -> bytes:
    """The body of the answer to a request."""
    connection.sendall(request)
    return answer(connection)


def answer(connection: socket.socket) -> bytes:
    """The body of the next answer."""
    received = heard(connection)
    while len(parts := received.split(b"\r\n\r\n", 1)) < 2 or len(parts[1]) < length(parts[0]):
        received += heard(connection)
    assert parts[0].startswith(b"HTTP/1.1 2"), received
    return parts[1]


def length(head: bytes) -> int:
    return int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])


def id_of(body: bytes) -> str:
    return body.partition(b'"id":"')[2][:32].decode()


def wait_on(stack: ExitStack, server: Running, path: str, count: int) -> None:
    """Open so many connections that wait, and be sure that they do."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for _ in range(count):
        stream(stack, server) if path == "/v1/events" else _requested(stack, server, path)
    with server.connected() as connection:  # answered after all of them have been looked at
        asked(connection, server.request("GET", "/v1/me", server.asker))


def stream(stack: ExitStack, server: Running) -> socket.socket:
    """A live stream that has begun."""
    connection = _requested(stack, server, "/v1/events")
    received = b""
    while b"data: {}\n\n" not in received:
        received += heard(connection)
    return connection


def heard(connection: socket.socket) -> bytes:
    """What comes next; that nothing comes any more is an error."""
    received = connection.recv(65536)
    assert received, "the server has hung up"
    return received


def _requested(stack: ExitStack, server: Running, path: str) -> socket.socket:
    connection = stack.enter_context(server.connected())
    connection.sendall(server.request("GET", path, server.asker))
    return connection
