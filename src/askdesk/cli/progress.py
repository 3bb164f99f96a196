"""How far a long reading has come, on one line of the terminal that is gone when it is over."""

from __future__ import annotations

import sys
import time

_PATIENCE = 0.5  # seconds before anybody wants to know
_PAUSE = 0.1
_WIDTH = 24
_ERASE = "\r\x1b[K"


class Progress:
    """Bytes done of a total; silent where standard error is no terminal."""

    def __init__(self, total: int = 0) -> None:
        self.total, self._done = total, 0
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
        self._write(f"{_ERASE}{bar} {part:4.0%}  {_size(self._done)} of {_size(self.total)}")
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


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
