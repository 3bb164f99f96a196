"""How far a long work has come, on one line of the terminal that is gone when it is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_PATIENCE = 0.5  # seconds before anybody wants to know
_PAUSE = 0.1
_WIDTH = 24
_ERASE = "\r\x1b[K"


def size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


class Progress:
    """So much done of a total, told as bytes or otherwise; silent where standard error is no terminal."""

    def __init__(self, total: int = 0, told: Callable[[int], str] = size, what: str = "") -> None:
        self.total, self._done, self._told, self._what = total, 0, told, what
        self._is_seen = sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._drawn = False

    def add(self, count: int) -> None:
        self._done += count
        if self._is_seen and (now := time.monotonic()) >= self._next:
            self._next = now + _PAUSE
            self._draw()

    def _draw(self) -> None:
        part = min(self._done / self.total, 1.0) if self.total else 1.0
        bar = "█" * int(part * _WIDTH) + "░" * (_WIDTH - int(part * _WIDTH))
        self._write(f"{_ERASE}{bar} {part:4.0%}  {self._told(self._done)} of {self._told(self.total)}{self._what}")
        self._drawn = True

    def clear(self) -> None:
        """Make room for something else on the terminal."""
        if self._drawn:
            self._write(_ERASE)
            self._drawn = False

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
