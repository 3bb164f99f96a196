"""How long it takes to find the questions in transcripts, against reading the same bytes line by line."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Ratio, timed

from askdesk.cli.log_files import LogFile
from askdesk.wire.transcript import Log

_ASKED: dict[str, Any] = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres", "description": "A server"}],
            "multiSelect": False,
        }
    ]
}


def measure(rounds: int, megabytes: int = 100) -> Ratio:
    """A question every 200 kB, among results of other tools."""
    floor, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "session.jsonl")
        _write(path, megabytes)
        for _ in range(rounds):
            floor.append(timed(lambda: _read(path)))
            ours.append(timed(lambda: _search(path)))
    return Ratio(f"finding the questions in {megabytes} MB of transcripts", "reading its lines", 6, floor, ours)


def _write(path: str, megabytes: int) -> None:
    filler = _line("user", {"type": "tool_result", "tool_use_id": "toolu_other", "content": "a line of a file\n" * 250})
    with open(path, "w") as file:
        for number in range(megabytes * 5):
            call = f"toolu_{number}"
            file.write(_line("assistant", {"type": "tool_use", "id": call, "name": "AskUserQuestion", "input": _ASKED}))
            file.write(filler * 45)
            file.write(_line("user", {"type": "tool_result", "tool_use_id": call, "content": "SQLite"}))


def _line(kind: str, block: dict[str, Any]) -> str:
    about = {"sessionId": "s1", "cwd": "/srv/shop", "timestamp": "2026-03-01T09:30:00Z"}
    return f"{json.dumps({'type': kind, 'message': {'role': kind, 'content': [block]}, **about})}\n"


def _read(path: str) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _search(path: str) -> int:
    return sum(1 for step in LogFile(Log(), path).read() if not isinstance(step, int))
