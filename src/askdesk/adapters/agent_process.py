"""The process of an agent that is spoken to over its standard streams. It never outlives whoever started it.

What it writes to standard error goes to the log; the last of it is kept, to be shown where the agent fails.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

from askdesk.core.errors import AgentFailed, quoted
from askdesk.core.text import shown

log = logging.getLogger("askdesk")

_LONGEST_LINE = 1 << 20  # bytes that are taken from a pipe at once
_KEPT_LINES = 12
_LONGEST_WORDS = 400  # characters of a line that are kept
_LEAVING = 2.0  # seconds in which it may end by itself, and again once it was told to
_LOOK = 0.02  # seconds until it is looked again whether its children have ended
_WITHHELD = "ASKDESK_ANSWER_TOKEN"  # lets its holder answer, which is for people
_MARK = "AI_AGENT"  # whoever runs in its shell is no person, and the desk's own commands see that


class AgentProcess:
    """A running agent. `writer` and `reader` are its standard input and output."""

    def __init__(self, process: Process, name: str) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("an agent is spoken to over pipes")
        self.writer = cast(asyncio.StreamWriter, _Pipe(process.stdin))
        self.reader = cast(asyncio.StreamReader, _Messages(process.stdout, name))
        self.name = name
        self._process, self._lines = process, deque[str](maxlen=_KEPT_LINES)
        self._reading = asyncio.ensure_future(self._read(process.stderr))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await _line(stream):
            words = shown(line.decode("utf-8", "replace").rstrip("\r\n")[:_LONGEST_WORDS])
            log.debug("%s: %s", self.name, words)
            if words.strip():
                self._lines.append(words)

    async def ended(self) -> str:
        """How it ended, and its last words: for whoever wonders why it is gone."""
        ends = [self._reading, asyncio.ensure_future(self._process.wait())]
        await asyncio.wait(ends, timeout=_LEAVING)
        code = self._process.returncode
        how = "is gone" if code is None else f"ended with {code}" if code >= 0 else f"was killed by signal {-code}"
        return "\n".join([f"{self.name} {how}", *self._lines])

    async def end(self) -> None:
        """Nobody speaks to it any more: it may end by itself, is told to, is made to."""
        if self._process.stdin:
            self._process.stdin.close()
        for send in (signal.SIGTERM, signal.SIGKILL):
            if await self._is_over():
                break
            self._signal(send)
        await self._process.wait()
        await self._end_children()
        self._reading.cancel()

    async def _end_children(self) -> None:
        """Those that it left behind in its session: they are told to end, and made to."""
        self._signal(signal.SIGTERM)
        end = asyncio.get_running_loop().time() + _LEAVING
        while self._has_children() and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(_LOOK)
        self._signal(signal.SIGKILL)

    def _has_children(self) -> bool:
        try:
            os.killpg(self._process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    async def _is_over(self) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVING)
        return self._process.returncode is not None

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)  # with all that it started in its own session


@asynccontextmanager
async def running(
    command: Sequence[str], folder: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[AgentProcess]:
    """An agent for as long as the block runs.

    It is in a session of its own, so that Ctrl-C reaches it only as a message and a signal reaches its children too.
    """
    if not command:
        raise AgentFailed("there is no command to run")
    kept = {name: value for name, value in os.environ.items() if name != _WITHHELD}
    surroundings = {**kept, _MARK: "askdesk", **(env or {})}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=folder,
            env=surroundings,
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise AgentFailed(f"{shown(command[0])} cannot be started: {why}") from None
    agent = AgentProcess(process, shown(command[0].rpartition("/")[2] or command[0]))
    try:
        yield agent
    finally:
        ending = asyncio.ensure_future(agent.end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:  # once more: it ends all the same
            await ending
            raise


class _Pipe:
    """The standard input of an agent. What is written to one that is gone is lost, and nobody stumbles over it."""

    def __init__(self, pipe: asyncio.StreamWriter) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> None:
        if not self._pipe.is_closing():
            self._pipe.write(data)

    async def drain(self) -> None:
        with suppress(ConnectionError, RuntimeError):
            await self._pipe.drain()


class _Messages:
    """The standard output of an agent without the lines that are no message, such as the greeting of an installer."""

    def __init__(self, pipe: asyncio.StreamReader, name: str) -> None:
        self._pipe, self._name = pipe, name

    async def readuntil(self, separator: bytes) -> bytes:
        while line := await self._line():
            if _is_message(line):
                return line
            log.warning("%s wrote what is no message: %s", self._name, quoted(line.decode("utf-8", "replace")))
        raise asyncio.IncompleteReadError(b"", None)

    async def _line(self) -> bytes:
        parts: list[bytes] = []
        while part := await _line(self._pipe):
            parts.append(part)
            if part.endswith(b"\n"):
                break
        return b"".join(parts)


def _is_message(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return not line.strip()


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line; of one without end, what fits."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.readexactly(error.consumed)
