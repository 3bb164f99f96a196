"""PostgreSQL is killed, cut off and replaced under load, and in the end the books must be right.

Who is at work there stands in `house`, what they do in `load`, and what is right in `books`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from tests.faults.alone import alone
from tests.faults.books import Books
from tests.faults.house import NOT_LOOKED_AT, House, house, house_of_two
from tests.faults.pair import Loss, Pair
from tests.faults.proxy import Cut
from tests.postgres import Cluster

_SAYS_SECONDS, _FOUND_SECONDS = 10.0, 60.0
_ENOUGH = 10  # tries, to hit what is hit in every third of them
_BALLAST = (  # with which recovery takes long enough to be hit
    "CREATE TABLE IF NOT EXISTS ballast (text text)",
    "TRUNCATE ballast",
    "INSERT INTO ballast SELECT repeat('ballast ', 100) FROM generate_series(1, 20000)",
)
_CLIENTS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'askdesk'"
_LISTENING = f"{_CLIENTS} AND query LIKE '%What has changed since%'"


def restarts(house: House, times: int) -> str:
    """Immediate shutdowns at random moments, a third of them once more while it recovers."""
    begun = house.cluster.log.stat().st_size
    for number in range(times):
        hit_again = number % 3 == 1
        if hit_again:
            for statement in _BALLAST:
                house.cluster.sql(statement)
        house.rest()
        with house.fault():
            house.cluster.kill()
            time.sleep(house.chance.uniform(0, 0.3))
            if hit_again:
                _kill_while_it_recovers(house.cluster)
            house.cluster.start()
        told("restarts", number, times)
    log = house.cluster.log.read_text()[begun:]
    during_recovery = log.count("interrupted while in recovery")
    assert log.count("was not properly shut down") + during_recovery >= times, log
    assert during_recovery or times < _ENOUGH, log  # of a few, each may come too late
    return f"{times} immediate restarts, {during_recovery} of them during recovery"


def _kill_while_it_recovers(cluster: Cluster) -> None:
    begun = cluster.log.stat().st_size
    cluster.start(wait=False)
    _until_it_says(cluster, "redo starts", begun)
    cluster.kill()


def _until_it_says(cluster: Cluster, words: str, begun: int) -> None:
    """In its log, which was so long before; but not for ever."""
    end = time.monotonic() + _SAYS_SECONDS
    while words not in cluster.log.read_text()[begun:] and time.monotonic() < end:
        time.sleep(0.002)


def backends(house: House, times: int) -> str:
    """One process of the database is ended: politely, the one that somebody listens at, or so that all start anew."""
    kinds = ("ended", "of a listener ended", "killed")
    for number, kind in zip(range(times), cycle(kinds), strict=False):
        if kind == "killed":
            house.rest()
        else:
            house.calm_down()  # it hits but one of them, and is no excuse for the others to be late
        victim = _one_of(house, _LISTENING if kind == "of a listener ended" else _CLIENTS)
        begun = house.cluster.log.stat().st_size
        with house.fault():
            if kind == "killed":
                with suppress(ProcessLookupError):  # it ended in this very moment
                    os.kill(victim, signal.SIGKILL)
                _until_it_says(house.cluster, "ready to accept connections", begun)
            else:
                house.cluster.sql("SELECT pg_terminate_backend($1)", victim)
        told("backends", number, times)
    return f"{times} processes of the database, " + ", ".join(
        f"{len(range(place, times, len(kinds)))} {kind}" for place, kind in enumerate(kinds)
    )


def _one_of(house: House, wanted: str) -> int:
    """The number of one process of the database, as soon as there is one."""
    end = time.monotonic() + _FOUND_SECONDS
    while not (found := house.cluster.sql(wanted)):
        house.load.check()
        assert time.monotonic() < end, f"there is none: {wanted}"
        time.sleep(0.02)
    return int(house.chance.choice(found)["pid"])


def partitions(house: House, times: int, seconds: float) -> str:
    """The far ones are cut off from the database, while the near ones go on."""
    for number, cut in zip(range(times), cycle(Cut), strict=False):
        house.calm_down()
        with house.fault(is_for_the_far=True):
            house.way.cut(cut)
            time.sleep(seconds)
            house.way.heal()
        told("partitions", number, times)
    return f"{times} partitions of {seconds:g} s"


def promotions(house: House, pair: Pair, losses: Sequence[Loss]) -> str:
    """The primary is lost, and its standby promoted."""
    for number, loss in enumerate(losses):
        pair.attach()
        house.rest()
        with house.fault():
            pair.promote(loss)
        house.cluster = pair.primary
        house.calm_down()
        told("promotions", number, len(losses))
    return f"{len(losses)} standbys promoted"


def told(kind: str, number: int, times: int) -> None:
    if (number + 1) % 5 == 0:
        print(f"{kind}: {number + 1} of {times}", file=sys.stderr)


def all_kinds(given: argparse.Namespace, folder: Path, chance: random.Random) -> Iterator[tuple[str, Books, str]]:
    """What was done, the books and the integrity: of each kind, with a database and a load of its own."""
    kinds: list[tuple[int, Callable[[House], str]]] = [
        (given.restarts, lambda here: restarts(here, given.restarts)),
        (given.backends, lambda here: backends(here, given.backends)),
        (given.partitions, lambda here: partitions(here, given.partitions, given.seconds)),
    ]
    for number, (times, kind) in enumerate(kinds):
        if times:
            own = folder / f"{number}"
            own.mkdir()
            with house(own, chance) as here:
                yield kind(here), *here.closed()
    if given.promotions:
        losses = [loss for loss, _ in zip(cycle(Loss), range(given.promotions), strict=False)]
        with house_of_two(folder, chance) as (here, pair):
            yield promotions(here, pair, losses), *here.closed()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restarts", type=int, default=50, metavar="N")
    parser.add_argument("--backends", type=int, default=50, metavar="N")
    parser.add_argument("--partitions", type=int, default=20, metavar="N")
    parser.add_argument("--seconds", type=float, default=30, help="of each partition")
    parser.add_argument("--promotions", type=int, default=6, metavar="N")
    parser.add_argument("--seed", type=int, default=None, help="makes the choice of victims and moments repeatable")
    given = parser.parse_args()
    is_right = True
    with alone("postgres") as folder:
        for done, books, integrity in all_kinds(given, folder, random.Random(given.seed)):  # noqa: S311
            print(f"{done}: {books}; integrity {integrity}", flush=True)
            is_right = (
                is_right
                and books.is_right
                and bool(books.woken and books.went_on)
                and integrity in ("ok", NOT_LOOKED_AT)
            )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
