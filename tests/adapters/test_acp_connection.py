"""The wire to a peer of ACP, when the peer does not keep to it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from askdesk.adapters import acp_connection
from askdesk.adapters.acp_connection import Method, Peer, RequestError

pytestmark = pytest.mark.anyio

SECONDS = 30.0


@asynccontextmanager
async def connected(methods: Mapping[str, Method] | None = None) -> AsyncIterator[tuple[Peer, socket.socket]]:
    """A peer, and the other end of its wire, which does nothing by itself."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        yield Peer(methods or {}, writer, reader), theirs
    finally:
        writer.transport.abort()
        theirs.close()


async def test_a_peer_that_froze_before_it_went_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acp_connection, "_LAST_WORDS", 0.05)
    async with connected() as (peer, theirs), asyncio.timeout(SECONDS):
        running = asyncio.ensure_future(peer.run())
        telling = asyncio.ensure_future(peer.tell("news", {"text": "x" * 10_000_000}))
        await asyncio.wait((telling,), timeout=0.05)
        assert not telling.done()  # nobody reads it
        theirs.shutdown(socket.SHUT_WR)
        ended, _ = await asyncio.wait((running,), timeout=5)
        assert ended
        telling.cancel()


@pytest.mark.parametrize("error", ["no", 7, ["no"], True])
async def test_an_error_that_is_none_is_heard_all_the_same(error: Any) -> None:
    async with connected() as (peer, theirs), asyncio.timeout(SECONDS):
        running = asyncio.ensure_future(peer.run())
        theirs.send(json.dumps({"jsonrpc": "2.0", "id": 0, "error": error}).encode() + b"\n")
        with pytest.raises(RequestError, match=r"no|7|true|True"):
            await peer.request("session/prompt", {})
        theirs.shutdown(socket.SHUT_WR)
        await running
