"""Who asked, since when, and whether they still wait for it."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from askdesk.core.model import Asker

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def age(span: timedelta) -> str:
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def is_gone(asker: Asker) -> bool:
    """Whether the process that asked has ended; only its own machine can tell."""
    if asker.process is None or asker.host != socket.gethostname():
        return False
    try:
        os.kill(asker.process, 0)
    except (ProcessLookupError, OverflowError):  # or a number that no process has
        return True
    except OSError:  # it lives, as somebody else's
        return False
    return False


def project_name(asker: Asker) -> str:
    """The last part of a folder, or a project's name as it is."""
    return os.path.basename(asker.project.rstrip("/")) or asker.project
