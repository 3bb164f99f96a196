"""scripts/bench: every figure as a ratio to its floor, in tables; all samples in bench/results/."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bench import desks, growth, hook, log, mcp, memory, page, paint, peers, restart, server, start, two_servers
from bench.machine import is_in_memory, machine, versions
from bench.measure import Section
from bench.report import Report, Result
from bench.rows import fill_postgres, fill_sqlite
from tests.postgres import Cluster

_MANY = 100_000


class Many(NamedTuple):
    """Two stores: one without any ask, one with very many that are open."""

    empty: str
    full: str


class Run:
    """How thorough it is, and what benches share because it takes long to make."""

    def __init__(self, stack: ExitStack, *, is_short: bool) -> None:
        self.is_short = is_short
        self._stack = stack

    def rounds(self, whole: int) -> int:
        return max(whole // 5, 2) if self.is_short else whole

    @cached_property
    def cluster(self) -> Cluster:
        """Its commits are written through to the disk, as those of the others are."""
        return self._stack.enter_context(Cluster(durable=True))

    @cached_property
    def on_sqlite(self) -> Many:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        for name, count in (("empty", 0), ("full", _MANY)):
            fill_sqlite(folder / f"{name}.db", count, "open")
        return Many(str(folder / "empty.db"), str(folder / "full.db"))

    @cached_property
    def on_postgres(self) -> Many:
        stores = Many(self.cluster.database(), self.cluster.database())
        for url, count in zip(stores, (0, _MANY), strict=True):
            asyncio.run(fill_postgres(url, count, "open"))
        return stores


def _desk(run: Run) -> Iterable[Result]:
    yield asyncio.run(desks.in_memory(run.rounds(500)))
    yield asyncio.run(desks.on_sqlite(run.rounds(3000)))
    yield asyncio.run(desks.on_sqlite(run.rounds(500), at_once=32))


def _http(run: Run) -> Iterable[Result]:
    yield server.exchange(run.rounds(2000))
    yield from server.many(run.rounds(20))


def _waiting(run: Run) -> Iterable[Result]:
    yield server.stream_memory()
    if not run.is_short:  # a desk is at rest after a minute
        yield from server.idle_costs(30)


def _memory(run: Run) -> Iterable[Result]:
    yield from memory.measure("SQLite", *run.on_sqlite, _MANY, run.rounds(10))
    if not run.is_short:
        yield from memory.measure("PostgreSQL", *run.on_postgres, _MANY, run.rounds(10))


def _page(run: Run) -> Iterable[Result]:
    if page.is_possible() or not run.is_short:
        yield from page.measure(run.rounds(50))
    else:
        _tell("no Chromium here, so the page is left out")


def _growth(run: Run) -> Iterable[Result]:
    sizes = [size for size in growth.SIZES if size <= 10_000] if run.is_short else growth.SIZES
    curves = growth.measure(run.cluster, run.rounds(100), sizes, _tell)
    yield from growth.figures(curves)
    yield from curves


def _peers(run: Run) -> Iterable[Result]:
    """Each in an environment of its own, which is made when it is first needed."""
    rows = peers.measure(run.rounds(100))
    yield Section("Peers", f"{peers.__doc__}\n{peers.table(rows)}", peers.raw(rows))


BENCHES: dict[str, Callable[[Run], Iterable[Result]]] = {
    "start": lambda run: [start.measure(run.rounds(200))],
    "hook": lambda run: hook.measure(run.rounds(200)),
    "mcp": lambda run: [mcp.measure(run.rounds(40))],
    "paint": lambda run: [paint.measure(run.rounds(40))],
    "log": lambda run: [log.measure(run.rounds(20))],
    "desk": _desk,
    "http": _http,
    "two-servers": lambda run: [two_servers.measure(run.cluster, run.rounds(2000))],
    "page": _page,
    "waiting": _waiting,
    "restart": lambda run: restart.measure(*run.on_sqlite, _MANY, run.rounds(40)),
    "memory": _memory,
    "growth": _growth,
    "peers": _peers,
}


def main() -> int:
    given, around = _arguments(), machine()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # in order, as after Ctrl-C
    try:
        with _place_of_its_own(), ExitStack() as stack:
            results, failed = _measured(Run(stack, is_short=given.short), given.only)
    except KeyboardInterrupt:
        _tell("stopped; nothing is kept")
        return 130
    report = Report(datetime.now(UTC), around, versions(), results)
    print(report.tables())
    _tell(f"all samples are in {report.keep().relative_to(Path.cwd())}")
    if failed:
        _tell(f"could not be measured{', so nothing is published' * given.write}: {', '.join(failed)}")
        return 1
    if given.write:
        report.publish()
        _tell("docs/speed.md, its samples and its plot, and the table of the README are written")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="fewer rounds: rougher figures, in two minutes")
    parser.add_argument("--only", nargs="+", choices=BENCHES, metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument(
        "--growth", dest="only", action="store_const", const=["growth"], help="the same as --only growth"
    )
    parser.add_argument("--peers", dest="only", action="store_const", const=["peers"], help="the same as --only peers")
    parser.add_argument(
        "--write", action="store_true", help="after a whole run, write docs/speed.md and the README's table"
    )
    given = parser.parse_args()
    if given.write and (given.short or given.only):
        parser.error("--write needs a whole run")
    if given.write and is_in_memory():
        parser.error(f"--write needs a disk, and {tempfile.gettempdir()} is in memory: TMPDIR names another folder")
    if given.only is None:
        given.only = [name for name in BENCHES if not (given.short and name == "peers")]
    return given


@contextmanager
def _place_of_its_own() -> Iterator[None]:
    """A folder for all that is made meanwhile, gone when it ends, however it ends."""
    versions()  # looks for PostgreSQL, and may keep it for later runs where none is installed
    with tempfile.TemporaryDirectory(prefix="askdesk-bench-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)  # noqa: S103 - PostgreSQL runs as another user
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        yield


def _measured(run: Run, names: Sequence[str]) -> tuple[list[Result], list[str]]:
    """And the names of those that broke: the others go on."""
    results: list[Result] = []
    failed: list[str] = []
    for number, name in enumerate(names, 1):
        _tell(f"{name} ({number} of {len(names)})")
        started = time.monotonic()
        try:
            results += BENCHES[name](run)
        except Exception:  # noqa: BLE001 - told, and the exit code tells it too
            traceback.print_exc()
            failed.append(name)
        _tell(f"{name} took {time.monotonic() - started:.1f} s")
    return results, failed


def _tell(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
