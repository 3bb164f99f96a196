"""How long a command takes to start, against an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Ratio, timed


def measure(rounds: int) -> Ratio:
    askdesk = str(Path(sys.executable).with_name("askdesk"))
    floor, ours = [], []
    for _ in range(rounds):
        floor.append(timed(lambda: _run(sys.executable, "-c", "pass")))
        ours.append(timed(lambda: _run(askdesk, "--help")))
    return Ratio("askdesk --help", "python -c pass", 3, floor, ours)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
