"""Reads the keys for Textual's inline screen, and lets go of the terminal at once when the form ends.

Textual's own thread looks every 100 ms whether it should end, and then waits another 100 ms, while the event loop
stands still: so long nobody would hear of an answer. It also spins where the terminal is gone.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Any

from textual import events
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_inline_driver import LinuxInlineDriver

_WHERE_IS_THE_CURSOR = "\x1b[6n"
_TICK_SECONDS = 0.1  # how often the parser may decide that a lone Escape was a key
_LONGEST_ANSWER_SECONDS = 0.1
_AT_ONCE = 4096


class KeyboardDriver(LinuxInlineDriver):
    """Textual's inline driver with another thread for the keys."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._bell = self.exit_event = _Bell()
        self._asked = self._answered = 0  # where the cursor is: by the event loop, and to the thread

    def write(self, data: str) -> None:
        self._asked += data.count(_WHERE_IS_THE_CURSOR)
        super().write(data)

    def run_input_thread(self) -> None:
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        for typed in self._typed():
            for message in (*(parser.feed(decode(typed)) if typed else ()), *parser.tick()):
                if isinstance(message, events.CursorPosition):
                    self.cursor_origin = message.x, message.y
                    self._answered += 1
                elif not self._bell.is_set():
                    self.process_message(message)
        try:
            list(parser.feed(""))  # the end of the input, as Textual's parser wants to be told
        except ParseError:
            return

    def _typed(self) -> Iterator[bytes]:
        """What comes from the terminal, now and then nothing; until the form ends, or the terminal is gone."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._bell.ear, selectors.EVENT_READ)
            while not self._bell.is_set():
                ready = {key.fd for key, _ in selector.select(_TICK_SECONDS)}
                typed = self._read() if self.fileno in ready else b""
                if typed is None:
                    return
                yield typed
            # The terminal's answers that are still on their way would be echoed behind the form.
            selector.unregister(self._bell.ear)
            until = time.monotonic() + _LONGEST_ANSWER_SECONDS
            while self._answered < self._asked and (left := until - time.monotonic()) > 0:
                typed = self._read() if selector.select(left) else b""
                if typed is None:
                    return
                yield typed

    def _read(self) -> bytes | None:
        """What was typed, or None where the terminal is gone."""
        try:
            return os.read(self.fileno, _AT_ONCE) or None
        except OSError:
            return None


class _Bell(threading.Event):
    """An event that also wakes whoever sleeps over files."""

    def __init__(self) -> None:
        super().__init__()
        self.ear, self._mouth = os.pipe()

    def set(self) -> None:
        if not self.is_set():
            super().set()
            os.write(self._mouth, b"!")

    def clear(self) -> None:
        if self.is_set():
            os.read(self.ear, 1)
            super().clear()

    def __del__(self) -> None:
        os.close(self.ear)
        os.close(self._mouth)
