"""Who asked, since when, and whether they still wait for it."""

from __future__ import annotations

import os
from datetime import timedelta

from askdesk.core import process
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
    return asker.process is not None and process.is_gone(asker.host, asker.process)


def project_name(asker: Asker) -> str:
    """The last part of a folder, or a project's name as it is."""
    return os.path.basename(asker.project.rstrip("/")) or asker.project
