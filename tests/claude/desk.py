"""A desk beside Claude Code: the real server in a process of its own, and somebody who answers there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.claude.cli import Claude
from tests.cli.command import ASKDESK, askdesk, kept, kept_asks, surroundings, until
from tests.terminal import SECONDS, Terminal

from askdesk.core.model import Ask, Settlement

SOCKET = ".sock"


@contextmanager
def serving() -> Iterator[subprocess.Popen[bytes]]:
    """`askdesk serve` on the desk that the settings name, once it answers hooks."""
    server = subprocess.Popen(
        [*ASKDESK, "serve", "--port", "0", "--no-link", "--log", "none"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=surroundings({"ASKDESK_BY": "ana"}),
    )
    try:
        until(lambda: Path(f"{os.environ['ASKDESK_STORE']}{SOCKET}").is_socket() or server.poll() is not None)
        assert server.poll() is None
        yield server
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


def install(claude: Claude, *options: str) -> None:
    """The hooks, written by the real installer into this Claude Code's settings."""
    ran = askdesk("install", "claude-code", *options, env=claude.env)
    assert ran.code == 0, ran


def the_ask() -> Ask:
    """The one ask on the desk, once it is there and open."""
    until(lambda: len(kept_asks()) == 1)
    (entry,) = kept_asks()
    return entry.ask


def press_until(terminal: Terminal, key: str, condition: Callable[[], bool]) -> None:
    """Press a key until it is heard: a dialog that has just come up takes none for a moment."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"{key} did nothing\n{terminal.text}"
        terminal.press(key)
        with suppress(AssertionError):
            terminal.becomes(condition, f"{key} is heard", 0.5)


def settlement_within(seconds: float, ask: Ask, terminal: Terminal) -> Settlement:
    """How an ask ended, which it does so soon; a program whose terminal is not looked at would stand still."""
    terminal.becomes(lambda: kept(ask.id).settlement is not None, "it is settled", seconds)
    settlement = kept(ask.id).settlement
    assert settlement
    return settlement
