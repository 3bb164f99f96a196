"""Which process this is, and whether another one still runs: all that the desk asks of the machine itself."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

SIGN_OF_LIFE = timedelta(minutes=1)  # so often those who leave a note of themselves renew it
SILENT = timedelta(minutes=3)  # without a sign of life for so long, it is gone


def here() -> tuple[str, int]:
    """The name of this machine and the number of this process."""
    return socket.gethostname(), os.getpid()


def is_gone(host: str, process: int) -> bool:
    """Whether a process has ended; only its own machine can tell."""
    if host != socket.gethostname():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # or a number that no process has
        return True
    except OSError:  # it lives, as somebody else's
        return False
    return _is_left_over(process)


def _is_left_over(process: int) -> bool:
    """Whether only its number is left, until its parent looks; in a container there is often nobody who does."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat:
            return stat.read().rpartition(b") ")[2][:1] in (b"Z", b"X")
    except OSError:  # this machine tells no such thing, or it is gone by now
        return False
