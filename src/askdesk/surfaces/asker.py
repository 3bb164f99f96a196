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


def lasted(span: timedelta) -> str:
    """How long something took, to the two units that matter: 0.4s, 12s, 3m 20s, 2d 5h."""
    seconds = max(span.total_seconds(), 0)
    if seconds < 10:
        return f"{seconds:.1f}s"
    at, size = next((at, size) for at, (size, _) in enumerate(_UNITS) if seconds >= size)
    units = [(int(seconds) // size, _UNITS[at][1])]
    if at + 1 < len(_UNITS):
        smaller, unit = _UNITS[at + 1]
        units.append((int(seconds) % size // smaller, unit))
    return " ".join(f"{count}{unit}" for count, unit in units if count)


def is_gone(asker: Asker) -> bool:
    """Whether the process that asked has ended; only its own machine can tell."""
    return asker.process is not None and process.is_gone(asker.host, asker.process)


def project_name(asker: Asker) -> str:
    """The last part of a folder, or a project's name as it is."""
    return os.path.basename(asker.project.rstrip("/")) or asker.project
