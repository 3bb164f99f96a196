"""A peer's program that runs: in a process of its own, spoken to in lines of JSON (programs/speaking.py).

It has a session of its own too, so that all its processes can be found, weighed and killed together.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

_PROGRAMS = Path(__file__).with_name("programs")
_SECONDS = 60.0  # in which a program says its next line
_TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """For whoever reads the table: what the program last wrote to its standard error."""


class Times(NamedTuple):
    """Microseconds of one exchange."""

    whole: float
    woken: float


class Program:
    """Runs while the block does. What it keeps is in its folder, and outlives it."""

    def __init__(self, python: Path, script: str, given: Mapping[str, str]) -> None:
        self._log = Path(given["folder"]) / "log"
        environment = {**os.environ, "PYTHONPATH": str(_PROGRAMS)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled files are part of what a user has
        with self._log.open("wb") as log:
            self._begun = time.perf_counter()
            self._process = subprocess.Popen(
                (python, _PROGRAMS / script, json.dumps(given)),
                env=environment,
                start_new_session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def __enter__(self) -> Self:
        try:
            self.versions: dict[str, str] = self._said()
        except BaseException:
            self.kill()
            raise
        self.ready = self.age()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def exchange(self, pause: float = 0) -> Times:
        return Times(**self._told("exchange", pause))

    def wait(self, count: int) -> list[str]:
        ids: list[str] = self._told("wait", count)
        return ids

    def finish(self, ids: list[str]) -> int:
        return int(self._told("finish", ids))

    def kill(self) -> None:
        """All its processes at once, as where the machine stops."""
        while relatives := family(self._process.pid):  # also those that came meanwhile
            for process in relatives:
                process.kill()
            time.sleep(0.001)
        self._process.communicate()

    def processor(self) -> float:
        return seconds(self._process.pid)

    def memory(self) -> list[float]:
        """Megabytes of each of its processes, its own program first."""
        return [process.memory() for process in family(self._process.pid)]

    def age(self) -> float:
        """Microseconds since its start."""
        return (time.perf_counter() - self._begun) * 1e6

    def _told(self, *what: object) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        try:
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._last_words()) from None
        return self._said()

    def _said(self) -> Any:
        stdout = self._process.stdout
        assert stdout
        if not select.select([stdout], [], [], _SECONDS)[0]:
            raise Failed(f"said nothing for {_SECONDS:.0f} s; {self._last_words()}")
        if not (line := stdout.readline()):
            raise Failed(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f"it last wrote: {lines[-1]}" if lines else "it ended without a word"


class Process(NamedTuple):
    """One of the machine's, as it was when it was looked at."""

    pid: int
    parent: int
    session: int
    ticks: int

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(self.pid, signal.SIGKILL)

    def memory(self) -> float:
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except FileNotFoundError:
            return 0.0
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6 if "VmRSS:" in status else 0.0


def seconds(pid: int) -> float:
    """How long a process, those it started and theirs have used a processor."""
    return sum(process.ticks for process in family(pid)) / _TICKS


def family(pid: int) -> list[Process]:
    """A process, those it started and theirs, also where a parent is gone but the session remains."""
    everybody, found = {process.pid: process for process in _everybody()}, {pid}
    while (
        more := {process.pid for process in everybody.values() if process.parent in found or process.session == pid}
        - found
    ):
        found |= more
    return [everybody[pid] for pid in sorted(found, key=lambda each: (each != pid, each)) if pid in everybody]


def _everybody() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        ticks = sum(int(field) for field in fields[11:15])  # its own, and those of the ones it waited for
        if fields[0] != "Z":  # it ended, and only its number is left
            yield Process(int(folder.name), int(fields[1]), int(fields[3]), ticks)
