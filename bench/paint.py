"""From the start of a process to the first paint of its form, against a bare Textual app that shows the same line."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
from pathlib import Path

from bench.measure import Ratio, timed

QUESTION = "Which database?"
BARE = f"""
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("{QUESTION}")

Bare().run(inline=True)
"""
ASK = f"""{{"questions": [{{"question": "{QUESTION}", "header": "Database", "multiSelect": false,
  "options": [{{"label": "SQLite", "description": ""}}, {{"label": "Postgres", "description": ""}}]}}]}}"""


def measure(rounds: int) -> Ratio:
    floor, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ask.json"
        file.write_text(ASK)
        askdesk = str(Path(sys.executable).with_name("askdesk"))
        store = f"--store={folder}/desk.db"
        for _ in range(rounds):
            floor.append(timed(lambda: _painted(sys.executable, "-c", BARE)))
            ours.append(timed(lambda: _painted(askdesk, "ask", store, str(file))))
    return Ratio("first paint of a form", "a bare Textual app", 1.3, floor, ours)


def _painted(*command: str) -> None:
    """Run a command on a terminal until the question can be read there."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": ""}
        os.execv(command[0], command)  # noqa: S606
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        seen = b""
        while QUESTION.encode() not in seen:
            assert select.select([terminal], [], [], 30)[0], seen
            seen += os.read(terminal, 65536)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
