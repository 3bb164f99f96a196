"""Lines from and to a person, over a terminal, a pipe or a file. The one file of the plain surface that does I/O."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import sys
from contextlib import suppress
from typing import TextIO

from askdesk.core.text import Shown, wrapped
from askdesk.surfaces.texts import say

_LONGEST_LINE = 1_000_000
_AT_ONCE = 4096  # bytes of a pipe, before the event loop goes on
_LONGEST_TYPED = 4095  # the kernel silently drops what is typed beyond


class Lines:
    """Reads lines from a file descriptor without blocking the event loop, and writes to a stream."""

    def __init__(self, descriptor: int, stream: TextIO) -> None:
        self._descriptor = descriptor
        self._stream = stream
        self._typed = bytearray()
        self.is_terminal = os.isatty(descriptor)

    @classmethod
    def of_stdin(cls) -> Lines | None:
        """Standard input, whatever it is. A person at a terminal must see what they answer, wherever stderr goes."""
        if sys.stdin is None:
            return None
        if sys.stdin.isatty() and not sys.stderr.isatty():
            return cls._of_tty()
        return cls(sys.stdin.fileno(), sys.stderr)

    @classmethod
    def of_terminal(cls) -> Lines | None:
        """The terminal that a person sits at, also where standard input or stderr is taken; None without one."""
        if sys.stdin is not None and sys.stdin.isatty():
            return cls.of_stdin()
        return cls._of_tty() if sys.stderr is not None and sys.stderr.isatty() else None

    @classmethod
    def _of_tty(cls) -> Lines | None:
        try:
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        return cls(descriptor, open(descriptor, "w", closefd=False))

    def write(self, text: Shown) -> None:
        """Our lines, made of shown() text. On a terminal long ones are wrapped here, so that none wraps into ours."""
        if self.is_terminal:
            columns = shutil.get_terminal_size().columns
            text = Shown("\n".join(row for line in text.split("\n") for row in wrapped(Shown(line), columns)))
        self._put(f"{text}\n")

    def _put(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        with suppress(OSError):  # nobody reads it any more; what was said is still on the desk
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()

    def forget(self) -> None:
        """Throw away what was typed on a terminal so far. A pipe was filled on purpose and keeps its lines."""
        if not self.is_terminal:
            return
        import termios

        self._typed.clear()
        with suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def read(self, prompt: Shown) -> str | None:
        """The next whole line; None at the end of input, where a line cut off in its middle does not count."""
        self._put(prompt)
        while (line := await self._line()) is not None and self.is_terminal and len(line) >= _LONGEST_TYPED:
            self._put(f"{say('plain.too_long_line', count=_LONGEST_TYPED)}\n")
        if line is None or not self.is_terminal:
            self._put("\n")  # on a terminal the person's own Enter moved on to the next line
        return None if line is None else line.decode("utf-8", "replace").rstrip("\r")

    async def _line(self) -> bytes | None:
        more = bytes(self._typed)
        while b"\n" not in more:
            if len(self._typed) > _LONGEST_LINE or not (more := await self._more()):
                return None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return bytes(line)

    async def _more(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()

        def ready() -> None:
            if not readable.done():
                readable.set_result(None)

        try:
            loop.add_reader(self._descriptor, ready)
        except PermissionError:  # a plain file or /dev/null: reading it never blocks
            return self._read_now()
        try:
            await readable
        finally:
            loop.remove_reader(self._descriptor)
        return self._read_now()

    def _read_now(self) -> bytes:
        try:
            return os.read(self._descriptor, 65536) if self.is_terminal else self._read_pipe()
        except OSError:  # the terminal is gone
            return b""

    def _read_pipe(self) -> bytes:
        """What is there of this line, byte by byte: what comes after it belongs to whoever reads next."""
        read, more = bytearray(), select.poll()
        more.register(self._descriptor, select.POLLIN)
        while byte := os.read(self._descriptor, 1):
            read += byte
            if byte == b"\n" or len(read) == _AT_ONCE or not more.poll(0):
                break
        return bytes(read)
