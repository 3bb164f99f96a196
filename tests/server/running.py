"""A real server on loopback, in the test's own event loop, and a small client that sends what it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.server import tokens
from askdesk.server.run import Address, Server, configured
from askdesk.server.service import Service


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


class Running:
    """A server and what a test does with it."""

    def __init__(self, service: Service, server: Server, port: int) -> None:
        self.service, self.server, self.port = service, server, port
        self.desk = service.desk
        self.url = service.url

    async def token(self, kind: tokens.Kind = "asker", name: str = "ana", **limits: Any) -> str:
        return (await tokens.new_token(self.desk.shelf, kind, name, now=self.desk.now(), **limits))[1]

    async def request(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own; a body that is no bytes goes as JSON."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"Host": f"127.0.0.1:{self.port}", "Connection": "close"}
        if body is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": f"{len(raw)}"}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent |= headers or {}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return await self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + raw)

    async def raw(self, sent: bytes) -> Answer:
        """Whatever bytes; the answer up to where the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        received = await reader.read()
        writer.close()
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in pairs}
        if headers.get("transfer-encoding") == "chunked":
            body = unchunked(body)
        return Answer(int(status.split()[1]), headers, body)


def unchunked(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        if not (length := int(size, 16)):
            break
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)


@asynccontextmanager
async def running(desk: Desk, port: int = 0, **options: Any) -> AsyncIterator[Running]:
    """A server for a desk, until the block ends."""
    address = Address(port=port)
    listening = address.listen()
    port = listening.getsockname()[1]
    service = Service(desk, address.url(port), limits=OPEN, **options)
    server = Server(configured(service, address), service)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        yield Running(service, server, port)
    finally:
        server.stop()
        await serving
