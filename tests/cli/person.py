"""A person at a terminal of their own, in front of the real command."""

import fcntl
import os
import select
import subprocess
import termios
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from tests.cli.command import ASKDESK, SECONDS, Ran, assert_no_traceback, surroundings


class Person:
    """Starts a command on a pseudo terminal, types, and reads what appears.

    Standard output is a pipe, as where a program wants the result, unless it is `on_screen` too. With `piped`,
    standard input is a pipe that holds this, and only /dev/tty leads to the person.
    """

    def __init__(
        self,
        *arguments: str,
        command: tuple[str, ...] = ASKDESK,
        typed_ahead: str = "",
        piped: bytes | None = None,
        on_screen: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        env = {"TERM": "dumb", **(env or {})}  # lines alone; forms have a Terminal of their own
        self._keyboard, self._terminal = os.openpty()
        self._before = termios.tcgetattr(self._terminal)
        self._unread = b""
        self.types(typed_ahead)
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdin=self._terminal if piped is None else subprocess.PIPE,
            stdout=self._terminal if on_screen else subprocess.PIPE,
            stderr=self._terminal,
            env=surroundings(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),
        )
        if piped is not None and self._process.stdin:
            self._process.stdin.write(piped)
            self._process.stdin.close()

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        os.close(self._keyboard)
        os.close(self._terminal)

    def types(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def reads(self, text: str) -> str:
        """Everything on the screen since the last time, up to this text."""
        end = time.monotonic() + SECONDS
        while text.encode() not in self._screen():
            assert time.monotonic() < end, f"{text!r} did not appear: {self._screen()!r}"
            assert self._look(0.2) or self._process.poll() is None or self._look(0), (
                f"ended without {text!r}: {self._screen()!r}"
            )
        before, _, rest = self._screen().partition(text.encode())
        self._unread = rest
        return before.decode() + text

    def leaves(self) -> Ran:
        """Wait for the end: the code, the result, and the rest of the screen. The terminal is as it was before."""
        end = time.monotonic() + SECONDS
        while self._process.poll() is None:
            assert time.monotonic() < end, f"did not end: {self._screen()!r}"
            self._look(0.02)
        while self._look(0):
            pass
        assert termios.tcgetattr(self._terminal) == self._before
        out = self._process.stdout.read().decode() if self._process.stdout else ""
        screen = self._screen().decode()
        assert_no_traceback(screen)
        return Ran(self._process.returncode, out, screen)

    @property
    def process(self) -> "subprocess.Popen[Any]":
        return self._process

    def _look(self, seconds: float) -> bool:
        if not select.select([self._keyboard], [], [], seconds)[0]:
            return False
        self._unread += os.read(self._keyboard, 65536)
        return True

    def _screen(self) -> bytes:
        return self._unread.replace(b"\r\n", b"\n")
