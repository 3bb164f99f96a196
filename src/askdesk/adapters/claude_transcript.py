"""Follows the transcript that Claude Code writes, for the one thing that no hook tells: how a dialog there ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from askdesk.wire import hook_end
from askdesk.wire.hook import Event
from askdesk.wire.hook_end import Line

_BACK = 4_000_000  # bytes of what was written before: the call itself may be among them
_AT_ONCE = 8_000_000
_LONGEST_LINE = 64_000_000


class Transcript:
    """A file that grows, line by line. One that is not there yet has no lines yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at: int | None = None
        self._rest = b""
        self._skips = False  # the rest of a line of which the beginning was not read

    def news(self) -> Iterator[bytes]:
        """The lines that were finished since the last look."""
        try:
            size = self._path.stat().st_size
            if self._at is None:
                self._at = max(0, size - _BACK)
                self._skips = self._at > 0
            if size <= self._at:
                return
            with self._path.open("rb") as file:
                file.seek(self._at)
                read = file.read(_AT_ONCE)
        except OSError:
            return
        self._at += len(read)
        *lines, self._rest = (self._rest + read).split(b"\n")
        if lines and self._skips:
            del lines[0]
            self._skips = False
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._skips = b"", True
        yield from lines


def path_of(event: Event) -> Path:
    """Where the lines of a call are: a subagent has a file of its own."""
    path = Path(event.transcript)
    if not event.agent_id:
        return path
    return path.with_suffix("") / "subagents" / f"agent-{Path(event.agent_id).name}.jsonl"


async def ended(event: Event, call: str = "", *, look_every: float) -> Line:
    """The line that tells how a call ended. Without an id, the call is known by its tool and its input.

    Where it may have been another's end, the line tells no more than that there was one.
    """
    transcript, waiting = Transcript(path_of(event)), _Waiting(event, call)
    first = True
    while True:
        for raw in transcript.news():
            line = hook_end.line(raw)
            if line is not hook_end.SILENT and (end := waiting.end_in(line, backlog=first)):
                return end
        first = False
        await asyncio.sleep(look_every)


class _Waiting:
    """Which of the calls that a transcript tells of is the one that is waited for."""

    def __init__(self, event: Event, call: str) -> None:
        self._event, self._call = event, call
        self._open: dict[str, Mapping[str, Any]] = {}

    def end_in(self, line: Line, *, backlog: bool) -> Line | None:
        if self._call:
            return line if line.ended == self._call else None
        self._open |= {call: given for call, tool, given in line.made if tool == self._event.tool}
        same = [call for call, given in self._open.items() if given == self._event.input]
        is_last = list(self._open) == [line.ended]  # its input may have been changed on the way
        self._open.pop(line.ended, None)
        if backlog:  # what ended before this began was another
            return None
        if same == [line.ended]:
            return line
        return Line(ended=line.ended) if line.ended in same or is_last else None
