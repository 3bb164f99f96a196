"""A real server on loopback, in the test's own event loop, and a small client that sends what it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.server import tokens
from askdesk.server.protocol import Protocol
from askdesk.server.run import Address, Server, beside
from askdesk.server.service import Service

QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [
            {"label": "SQLite", "description": "A file"},
            {"label": "Postgres", "description": "A server"},
        ],
        "multiSelect": False,
    }
]
ANSWERED = {"outcome": "answered", "answers": [{"chosen": ["SQLite"]}]}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        return str(self.json["type"]).removeprefix("urn:askdesk:problem:")


def written(
    port: int,
    method: str,
    path: str,
    *,
    token: str | None = None,
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A request as it goes over the wire; a body that is no bytes goes as JSON."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    sent = {"Host": f"127.0.0.1:{port}"}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": f"{len(raw)}"}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    sent |= headers or {}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + raw


class Client:
    """One connection, on which requests may follow each other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=2**24))

    async def send(self, sent: bytes) -> None:
        self.writer.write(sent)
        await self.writer.drain()

    async def answer(self, *, to: str = "GET") -> Answer:
        """The next answer; IncompleteReadError where the server closes instead."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        status, *lines = head[:-4].decode("latin-1").split("\r\n")
        pairs = [line.partition(": ") for line in lines]
        headers = {name.lower(): value for name, _, value in pairs}
        assert len(headers) == len(pairs), f"a header stands there twice: {head!r}"
        code = int(status.split()[1])
        body = b"" if to == "HEAD" or code == 204 else await self._body(headers)
        return Answer(code, headers, body)

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers["content-length"]))
        chunks = []
        while chunk := await self.chunk():
            chunks.append(chunk)
        return b"".join(chunks)

    async def chunk(self) -> bytes:
        """The next part of a chunked body; empty at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def is_closed(self) -> bool:
        """Wait until the server has closed, having sent nothing more."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.writer.close()


class Running:
    """A server and what a test does with it."""

    def __init__(self, service: Service, server: Server, port: int) -> None:
        self.service, self.server, self.port = service, server, port
        self.desk = service.desk
        self.url = service.url

    @property
    def connections(self) -> list[Protocol]:
        return [connection for connection in self.server.server_state.connections if isinstance(connection, Protocol)]

    async def turn(self) -> None:
        """Let the event loop run once."""
        await asyncio.sleep(0)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let it run until something is so, which it soon is."""
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)

    def later(self, seconds: float) -> float:
        """A moment to come, of the clock that connections are looked after by."""
        return asyncio.get_running_loop().time() + seconds

    async def token(self, kind: tokens.Kind = "asker", name: str = "ana", **limits: Any) -> str:
        return (await tokens.new_token(self.desk.shelf, kind, name, now=self.desk.now(), **limits))[1]

    def written(self, method: str, path: str, **parts: Any) -> bytes:
        return written(self.port, method, path, **parts)

    async def request(self, method: str, path: str, **parts: Any) -> Answer:
        """One request on a connection of its own."""
        return await self.raw(self.written(method, path, **parts), to=method)

    async def raw(self, sent: bytes, *, to: str = "GET") -> Answer:
        """Whatever bytes, and the first answer to them."""
        async with self.client() as client:
            client.writer.write(sent)  # without waiting until all of it has gone: the answer may come before
            return await client.answer(to=to)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        client = await Client.to(self.port)
        try:
            yield client
        finally:
            client.close()

    async def post(self, token: str, **parts: Any) -> str:
        """Put an ask on the desk and return its id."""
        answer = await self.request("POST", "/v1/asks", token=token, body={"questions": QUESTIONS, **parts})
        assert answer.status == 201, answer
        return str(answer.json["ask"]["id"])

    @asynccontextmanager
    async def stream(self, token: str, path: str = "/v1/events") -> AsyncIterator[Client]:
        """A live stream, once it has said `reread`."""
        async with self.client() as client:
            await client.send(self.written("GET", path, token=token))
            head = await client.reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head, head
            assert await client.chunk() == b"event: reread\ndata: {}\n\n"
            yield client


@asynccontextmanager
async def running(desk: Desk, port: int = 0, **options: Any) -> AsyncIterator[Running]:
    """A server for a desk, until the block ends. It reads each token whenever it is used."""
    address = Address(port=port)
    listening = address.listen()
    port = listening.getsockname()[1]
    service = Service(desk, address.url(port), limits=OPEN, **{"recent_seconds": 0, **options})
    async with beside(service, address, listening) as server:
        yield Running(service, server, port)
