"""What Claude Code notes of itself while it runs: whether a dialog of its own waits for somebody.

A tool call that was allowed in its terminal is in the transcript only once it has run. Until then, this note is all
that tells that the dialog is gone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from askdesk.wire.hook import Event


class _Note(msgspec.Struct):
    session: str = msgspec.field(name="sessionId")
    status: str = ""


def path_of(event: Event, process: int) -> Path | None:
    """Beside the projects, of which one holds the transcript; None where that lies elsewhere."""
    above = Path(event.transcript).parents
    return above[2] / "sessions" / f"{process}.json" if len(above) > 2 else None


async def dialog_closed(event: Event, process: int, *, look_every: float) -> None:
    """Return once a dialog was open and is no more. Without a note, as in other versions, that is never."""
    path, was_open = path_of(event, process), False
    while True:
        status = _status(path, event.session) if path else ""
        if was_open and status and status != "waiting":
            return
        was_open = was_open or status == "waiting"
        await asyncio.sleep(look_every)


def has_dialog(event: Event, process: int) -> bool:
    """Whether one is open now: this call's, or another's of the same session."""
    path = path_of(event, process)
    return path is not None and _status(path, event.session) == "waiting"


def _status(path: Path, session: str) -> str:
    """What it is at; "" where it does not tell."""
    try:
        note = msgspec.json.decode(path.read_bytes(), type=_Note)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):  # not there, or being written
        return ""
    return note.status if note.session == session else ""
