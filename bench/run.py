"""scripts/bench: every figure as a ratio to its floor, in a table; the raw numbers in bench/results/."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bench import desks, hook, log, mcp, paint, server, start
from bench.measure import FIGURES, HEADING, Figure, Ratio

_M = TypeVar("_M", Ratio, Figure, list[Figure], list[Ratio])


def main() -> None:
    parser = argparse.ArgumentParser("scripts/bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="fewer rounds: rougher figures, in two minutes")
    share = 5 if parser.parse_args().short else 1
    ratios = [
        _told("start", start.measure(100 // share)),
        *_told("hooks", hook.measure(200 // share)),
        _told("MCP", mcp.measure(40 // share)),
        _told("first paint", paint.measure(40 // share)),
        _told("memory", asyncio.run(desks.in_memory(500 // share))),
        _told("SQLite", asyncio.run(desks.on_sqlite(3000 // share))),
        _told("SQLite, many at once", asyncio.run(desks.on_sqlite(500 // share, at_once=32))),
        _told("log", log.measure(20 // share)),
        _told("HTTP", server.exchange(1000 // share)),
        _told("HTTP, many at once", server.many(20 // share)),
    ]
    figures = [
        _told("streams", server.stream_memory()),
        *_told("waiting", server.idle_costs(30 / share)),
    ]
    print(HEADING, *(ratio.row() for ratio in ratios), sep="\n")
    print("", FIGURES, *(figure.row() for figure in figures), sep="\n")
    print(f"\nPython {platform.python_version()}, {platform.machine()}, {datetime.now(UTC):%Y-%m-%d}")
    _keep(ratios)


def _told(name: str, measured: _M) -> _M:
    print(f"bench: {name} done", file=sys.stderr)
    return measured


def _keep(ratios: list[Ratio]) -> None:
    folder = Path(__file__).with_name("results")
    folder.mkdir(exist_ok=True)
    raw = {ratio.name: ratio._asdict() for ratio in ratios}
    (folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json").write_text(json.dumps(raw))


if __name__ == "__main__":
    main()
