"""The floor of everything over HTTP: a protocol that looks for the end of a request and answers the same bytes.

It checks and parses nothing. It runs on uvloop, as `askdesk serve` does where that is installed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

BODY = b'{"ask":{"id":"%s","body":{"body":"questions","items":[]}}}'
SETTLED = b'{"outcome":{"outcome":"answered","answers":[{"chosen":["SQLite"]}]}}'
_TOKEN = f"askdesk_asker_{'0' * 16}_{'0' * 43}"  # as long as a real one


class Bare(asyncio.Protocol):
    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or (b"Content-Length: " in head and len(body) < int(head.rpartition(b"Content-Length: ")[2])):
            return
        self._received = b""
        self.requested(head)

    def requested(self, head: bytes) -> None:
        raise NotImplementedError

    def answer(self, status: bytes, body: bytes) -> None:
        self.write(b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body))

    def write(self, data: bytes) -> None:
        self._transport.write(data)


async def serve(protocol: Callable[[], Bare]) -> None:
    """Say where, and go on until the process is ended."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=2048)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"port": port, "asker": _TOKEN, "answerer": _TOKEN}), flush=True)
    await server.serve_forever()
