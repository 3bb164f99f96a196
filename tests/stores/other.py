"""Another process at the same desk, from the outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, str(Path(__file__).with_name("other_process.py"))]


class Raised(Exception):
    """The other process met a StoreError; this is its name."""


class Other:
    """Another process, which does what it is told."""

    def __init__(self, *before: str) -> None:
        self._process = subprocess.Popen([*before, *PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def tell(self, verb: str, *arguments: object) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps([verb, *arguments]) + "\n")
        self._process.stdin.flush()

    def told(self) -> Any:
        assert self._process.stdout
        reply = json.loads(self._process.stdout.readline())
        if "raised" in reply:
            raise Raised(reply["raised"])
        return reply["returned"]

    def do(self, verb: str, *arguments: object) -> Any:
        self.tell(verb, *arguments)
        return self.told()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def ended(self) -> int:
        return self._process.wait(10)
