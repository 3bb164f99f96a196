"""The terminal that a person sits at: whether a form can be drawn on it, and having it on standard streams."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from askdesk.surfaces.terminal.page import LEAST
from askdesk.surfaces.terminal.view import Size

_WRAP_OFF, _WRAP_ON = b"\x1b[?7l", b"\x1b[?7h"


def can_draw() -> bool:
    """Whether a form can be shown: a real terminal, large enough, that knows more than lines."""
    return (
        sys.platform != "win32"
        and threading.current_thread() is threading.main_thread()  # only it may handle signals
        and None not in (sys.__stdin__, sys.__stdout__, sys.__stderr__)
        and sys.stderr.isatty()
        and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")
        and (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
        and (size := terminal_size()) is not None
        and size.columns >= LEAST.columns
        and size.lines >= LEAST.lines
    )


def terminal_size() -> Size | None:
    """The size of the terminal, whatever the standard streams are; None where there is none."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        return Size(*os.get_terminal_size(descriptor))
    except OSError:
        return None
    finally:
        os.close(descriptor)


@contextmanager
def on_terminal(*, drawing: bool = False) -> Iterator[None]:
    """The terminal on descriptors 0 to 2 for as long as the block runs: a pipe there has Textual spin or misjudge.

    While drawing, lines do not wrap: where a terminal takes a character for wider than we do, a row is cut short
    instead of becoming two, which would leave the rows of every repaint behind.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before = [os.dup(number) for number in range(3)]
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    try:
        for number in range(3):
            os.dup2(terminal, number)
        os.close(terminal)
        _write(_WRAP_OFF if drawing else b"")
        with _held_back_logs() if drawing else nullcontext():
            yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        _write(_WRAP_ON if drawing else b"")
        for number, descriptor in enumerate(before):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def wrapping() -> Iterator[None]:
    """Long lines wrap again, for something else that is on the terminal meanwhile."""
    _write(_WRAP_ON)
    try:
        yield
    finally:
        _write(_WRAP_OFF)


@contextmanager
def _held_back_logs() -> Iterator[None]:
    """What is logged to the terminal comes after what is drawn there, not into it."""
    ours = (sys.stderr, sys.__stderr__)
    handlers = [h for h in logging.getLogger().handlers if isinstance(h, logging.StreamHandler) and h.stream in ours]
    held = io.StringIO()
    streams = [handler.stream for handler in handlers]
    for handler in handlers:
        handler.setStream(held)
    try:
        yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.setStream(stream)
        if handlers:
            streams[0].write(held.getvalue())


def _write(sequence: bytes) -> None:
    with suppress(OSError):  # the terminal is gone
        os.write(2, sequence)
