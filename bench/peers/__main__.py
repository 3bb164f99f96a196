"""python -m bench.peers: measures askdesk and its peers, and prints a table; the raw numbers go to bench/results/."""

from __future__ import annotations

import argparse
import json
import platform
from datetime import UTC, datetime
from pathlib import Path

from bench import peers


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="turns of everybody (default: 100)")
    rows = peers.measure(parser.parse_args().rounds)
    print(peers.table(rows))
    now = datetime.now(UTC)
    print(f"\nPython {platform.python_version()}, {platform.machine()}, {now:%Y-%m-%d}")
    folder = Path(__file__).parents[1] / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"peers-{now:%Y%m%dT%H%M%SZ}.json").write_text(json.dumps(peers.raw(rows)))


if __name__ == "__main__":
    main()
