"""The socket for hooks of this machine: who may listen there, what a client may send, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from askdesk.adapters.claude_hook import ClaudeHook
from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.core.model import Answer, Answered, Ask, Withdrawn
from askdesk.server.hooks import answering
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

QUESTIONS = [
    {
        "question": "Which?",
        "header": "H",
        "options": [{"label": "a", "description": "A"}, {"label": "b", "description": "B"}],
        "multiSelect": False,
    }
]
EVENT = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "cwd": "/srv/app",
    "tool_name": "AskUserQuestion",
    "tool_use_id": "toolu_1",
    "tool_input": {"questions": QUESTIONS},
}


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk(MemoryStore())
    yield desk
    await desk.close()


def sent(event: object = EVENT, greeting: str = "askdesk-hook/1", **fields: object) -> bytes:
    raw = json.dumps(event).encode()
    words = {"length": len(raw), "mode": "desk", "seconds": 600, "nonce": "0" * 32, "parent": os.getpid(), **fields}
    return f"{greeting} {' '.join(f'{name}={value}' for name, value in words.items())}\n".encode() + raw


async def the_ask(desk: Desk) -> Ask:
    async with asyncio.timeout(10):
        while not (page := await desk.page("open")).entries:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    return page.entries[0].ask


async def ended(desk: Desk, ask: Ask) -> object:
    settlement = await desk.wait(ask.id, timeout=10)
    assert settlement
    return settlement.outcome


async def test_only_its_own_user_can_open_it_and_nothing_is_left_of_it(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "new" / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN) as trouble:
        assert trouble is None
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    assert os.listdir(path.parent) == []


async def test_a_socket_that_nobody_listens_at_is_replaced(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "hooks.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN) as trouble:
        assert trouble is None
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(sent({"hook_event_name": "Ping"}))
        assert await reader.read() == b'{"pong":"server"}\n'
        writer.close()


async def test_the_socket_of_a_server_that_runs_is_left_to_it(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN):
        before = os.stat(path).st_ino
        async with answering(ClaudeHook(desk, by="ben"), path, OPEN) as trouble:
            assert trouble == f"{path}: another server answers there"
        assert os.stat(path).st_ino == before


async def test_where_the_path_is_too_long_that_is_told(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 100)
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN) as trouble:
        assert trouble == f"{path}: the path is too long for a socket"


async def test_the_reply_comes_once_somebody_has_answered(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(sent())
        ask = await the_ask(desk)
        assert (ask.key, ask.asker.process, ask.preview_format) == ("toolu_1", os.getpid(), "markdown")
        await desk.settle(ask.id, Answered([Answer(["a"])]), by="ana", surface="page")
        reply = json.loads(await reader.read())
        assert reply["hookSpecificOutput"]["updatedInput"]["answers"] == {"Which?": "a"}
        writer.close()


async def test_a_client_that_goes_withdraws_what_it_waited_for(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN):
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(sent())
        ask = await the_ask(desk)
        writer.close()
        assert await ended(desk, ask) == Withdrawn("Claude Code stopped waiting")


async def test_a_server_that_ends_leaves_the_ask_open_and_sends_no_reply(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(sent())
        ask = await the_ask(desk)
    assert await reader.read() == b""
    assert (await desk.get(ask.id)).settlement is None
    writer.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        sent(greeting="askdesk-hook/2"),
        sent(length=10**9),
        sent(length="x"),
        sent(nonce="toolu_1"),
        b"x" * 10_000 + b"\n",
        b"askdesk-hook/1\n",
    ],
    ids=["blank", "http", "another version", "too much", "no number", "no nonce", "too long", "no fields"],
)
async def test_who_does_not_speak_this_gets_no_reply(desk: Desk, tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "hooks.sock"
    async with answering(ClaudeHook(desk, by="ana"), path, OPEN):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(raw)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
    assert (await desk.page("open")).entries == ()
