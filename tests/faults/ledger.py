"""What a process was told, written down before it takes its next step; so that a kill leaves nothing out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Ledger:
    """Lines of JSON, each on disk before the next step is taken."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, lines: Iterable[Any]) -> None:
        os.write(self._descriptor, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
        os.fsync(self._descriptor)


def lines(path: Path) -> list[Any]:
    """What a ledger holds; a line that was cut off by a kill does not count."""
    return lines_from(path, 0)[0]


def lines_from(path: Path, begin: int) -> tuple[list[Any], int]:
    """What it holds from some byte on, and where that ends: after its last whole line."""
    if not path.exists():
        return [], begin
    with path.open("rb") as file:
        file.seek(begin)
        whole, end, _ = file.read().rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()], begin + len(whole) + len(end)
