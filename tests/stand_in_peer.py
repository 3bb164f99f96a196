"""A peer that answers itself, for tests of bench/peers; `keeps` what is asked, `breaks` or is `slow` when told to."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from speaking import Times, given, speak


class StandIn:
    def __init__(self) -> None:
        child = subprocess.Popen(("sleep", "600"), start_new_session=True)
        orphan = subprocess.check_output(("sh", "-c", "sleep 600 >/dev/null & echo $!"), text=True)
        self._started = [f"{child.pid}", orphan.strip()]
        self._kept = Path(given()["folder"]) / "kept"
        self._asked: list[str] = self._kept.read_text().split() if "keeps" in given() and self._kept.exists() else []

    def exchange(self, pause: float) -> Times:
        if "breaks" in given():
            sys.exit(given()["breaks"])
        print("a guest library that prints")
        asked = time.perf_counter()
        return Times(asked, asked + 0.001, asked + 0.003, asked + (0.2 if "slow" in given() else 0.004))

    def wait(self, count: int) -> list[str]:
        """Their ids are processes that it started: one with a session of its own, one whose parent is gone."""
        self._asked = (self._started * count)[:count]
        self._kept.write_text(" ".join(self._asked))
        return self._asked

    def finish(self, ids: list[str]) -> int:
        return sum(name in self._asked for name in ids)


if __name__ == "__main__":
    speak(StandIn(), {"stand-in": "1.0"})
