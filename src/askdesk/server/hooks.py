"""Claude Code's hooks at a Unix socket: for hook processes of the same user on this machine.

A client sends one line, `askdesk-hook/1 name=value …`, and the event; the reply is a line of JSON, or an empty one
where there is no decision. A connection that ends without it makes the client go to the store by itself.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from askdesk.adapters.claude_hook import ClaudeHook, Visit
from askdesk.core.errors import InvalidAsk
from askdesk.core.limits import Limits
from askdesk.wire import hook
from askdesk.wire.nonce import is_nonce

log = logging.getLogger(__name__)

GREETING = "askdesk-hook/1"
LEAVES = 10.0  # seconds that are left of a hook's time when it is told to decide by itself
_LONGEST_PATH = 100  # bytes; systems take 104 or 108, with a zero at the end
_LONGEST_HEADER = 4096
_PATIENCE = 30.0  # seconds for an event to arrive
_PEER = struct.Struct("3i")


@asynccontextmanager
async def answering(claude: ClaudeHook, path: Path, limits: Limits) -> AsyncIterator[str | None]:
    """Answer hooks at a path until the block ends. Yields why not, where it cannot."""
    try:
        listening = _bound(path)
    except OSError as error:
        yield f"{path}: {error.strerror}"
        return
    serving = _Serving(claude, limits)
    server = await asyncio.start_unix_server(serving.served, sock=listening, limit=_LONGEST_HEADER)
    mark = os.stat(path)
    try:
        yield None
    finally:
        server.close()
        await serving.end()
        _remove(path, mark)


def _remove(path: Path, mark: os.stat_result) -> None:
    """Unless another server has put its own there."""
    with suppress(OSError):
        if os.path.samestat(path.stat(), mark):
            path.unlink()


def _bound(path: Path) -> socket.socket:
    """A socket at a path, in place of one that nobody listens at any more."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    if len(os.fsencode(own)) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, "the path is too long for a socket")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # beside a file it is there, and not beside a database
    if is_answered(path):
        raise OSError(errno.EADDRINUSE, "another server answers there")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            own.unlink()
        listening.bind(str(own))
        own.chmod(0o600)
        listening.listen(128)
        own.rename(path)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def is_answered(path: Path) -> bool:
    """Whether a server listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True


class _Serving:
    """The connections of one socket."""

    def __init__(self, claude: ClaudeHook, limits: Limits) -> None:
        self._claude, self._limits = claude, limits
        self._tasks: set[asyncio.Task[None]] = set()

    async def served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio calls this in one
        self._tasks.add(task)
        try:
            if _is_own_user(writer):
                await self._serve(reader, writer)
        except (
            OSError,
            EOFError,
            ValueError,
            KeyError,
        ) as error:  # and so a timeout, and an end too soon
            log.debug("a hook's connection broke off: %s", error)
        except asyncio.CancelledError:  # the server ends: the client goes on by itself
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_PATIENCE):
            fields = _fields(await reader.readline())
            raw = await reader.readexactly(_length(fields, self._limits))
        try:
            visit = _visit(fields, hook.read(raw, size=self._limits.size, depth=self._limits.depth))
        except InvalidAsk as error:
            writer.write(_line(hook.notice(f"{error}: decide here")))
        else:
            if visit.event.name == "Ping":
                writer.write(_line({"pong": "server"}))
            else:
                try:
                    if not await self._waited(visit, reader, writer):
                        return
                finally:
                    visit.end()
        await writer.drain()

    async def _waited(self, visit: Visit, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the client was still there for the reply."""
        waiting = asyncio.ensure_future(self._claude.handled(visit))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait((waiting,))
        if waiting.cancelled():
            await self._claude.left(visit)
            return False
        writer.write(_line(waiting.result()))
        return True

    async def end(self) -> None:
        """Break off what is waited for; asks stay open."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))


def _line(reply: object) -> bytes:
    return (b"" if reply is None else msgspec.json.encode(reply)) + b"\n"


def _is_own_user(writer: asyncio.StreamWriter) -> bool:
    """Whoever is at the other end; where the system does not tell, the file's mode must do."""
    peer = writer.get_extra_info("socket")
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return bool(user == os.getuid())


def _fields(header: bytes) -> dict[str, str]:
    greeting, *words = header.decode("ascii", "replace").split()
    if greeting != GREETING or not header.endswith(b"\n"):
        raise ValueError("a greeting that is not known here")
    return dict(word.partition("=")[::2] for word in words)


def _length(fields: dict[str, str], limits: Limits) -> int:
    length = int(fields["length"])
    if not 0 <= length <= 2 * limits.size:
        raise ValueError(f"an event of {length} bytes")
    return length


def _nonce(fields: dict[str, str]) -> str:
    if not is_nonce(fields["nonce"]):
        raise ValueError("a nonce that is none")
    return fields["nonce"]


def _visit(fields: dict[str, str], event: hook.Event) -> Visit:
    previews = fields.get("previews", "")
    return Visit(
        event,
        mode="desk" if fields["mode"] == "desk" else "both",
        seconds=max(float(fields["seconds"]) - LEAVES, 1.0),
        nonce=_nonce(fields),
        host=socket.gethostname(),
        process=int(fields["parent"]),
        previews="html" if previews == "html" else "markdown",
        is_local=bool(event.transcript),
    )
