"""Samples of a long run, and whether they are flat: the first quarter against the last, and a line through all of them.

Knows no server and no load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import linear_regression, median, quantiles
from typing import Any, NamedTuple

# What a line through the memory of a server may rise in an hour. At the pace of a run that is some hundred bytes for
# each ask: nothing could be kept for each without rising faster.
MOST_MB_AN_HOUR = 5.0
LEAST_MB = 1.5  # and what it may rise in all, however short the run: the allocator takes megabytes at once
MOST_FILES = 3  # that more are open: visitors come and go
MOST_RATIO = 1.5  # of latency, last quarter to first
MOST_SECONDS = 5.0  # that any agent waited for an answer that is given at once: far less than until it asks again
WARM_UP = 0.2  # of a run


class Footprint(NamedTuple):
    """What a process takes up."""

    memory_mb: float
    files: int
    threads: int


class Sample(NamedTuple):
    at: float  # seconds since the beginning
    servers: tuple[Footprint, ...]
    connections: int  # of the servers to their database
    store_mb: float
    documents: int  # on the shelf
    loops: tuple[float, ...]  # how long agents waited for their answers, since the sample before


class Row(NamedTuple):
    """One thing over the whole run."""

    what: str
    first: float
    last: float
    an_hour: float | None
    bound: str
    is_flat: bool | None  # None where it may grow

    def __str__(self) -> str:
        rise = "" if self.an_hour is None else f"{self.an_hour:+.2f}"
        verdict = {True: "yes", False: "NO", None: "-"}[self.is_flat]
        return f"| {self.what} | {self.first:.2f} | {self.last:.2f} | {rise} | {self.bound} | {verdict} |"


HEADING = """\
| what | first quarter | last quarter | slope an hour | bound | flat |
|---|---:|---:|---:|---|---|"""


def rows(samples: Sequence[Sample]) -> list[Row]:
    """All that was sampled, after the warm-up."""
    warm = samples[int(len(samples) * WARM_UP) :]
    servers = range(len(warm[0].servers))
    return [
        *(_memory(warm, number) for number in servers),
        *(_steady(warm, f"server {n + 1}: open files", lambda s, n=n: s.servers[n].files) for n in servers),  # type: ignore[misc]
        *(_steady(warm, f"server {n + 1}: threads", lambda s, n=n: s.servers[n].threads) for n in servers),  # type: ignore[misc]
        _steady(warm, "connections to the database", lambda sample: sample.connections),
        _latency(warm, "ask to answer, p50 ms", 50),
        _latency(warm, "ask to answer, p99 ms", 99),
        _slowest(samples),
        _grown(warm, "the store, MB", lambda sample: sample.store_mb),
        _grown(warm, "documents on the shelf", lambda sample: sample.documents),
    ]


def _memory(samples: Sequence[Sample], number: int) -> Row:
    def value(sample: Sample) -> float:
        return sample.servers[number].memory_mb

    rise = slope(samples, value)
    hours = (samples[-1].at - samples[0].at) / 3600
    most = max(MOST_MB_AN_HOUR, LEAST_MB / hours)
    return Row(f"server {number + 1}: memory, MB", *_ends(samples, value), rise, f"{most:+.1f} an hour", rise <= most)


def _steady(samples: Sequence[Sample], what: str, value: Callable[[Sample], float]) -> Row:
    first, last = _ends(samples, value)
    return Row(what, first, last, slope(samples, value), f"+{MOST_FILES}", last <= first + MOST_FILES)


def _latency(samples: Sequence[Sample], what: str, percent: int) -> Row:
    first, last = [_percentile(quarter, percent) * 1000 for quarter in _quarters(samples)]
    return Row(what, first, last, None, f"{MOST_RATIO:g}x", 0 < last <= MOST_RATIO * first)


def _slowest(samples: Sequence[Sample]) -> Row:
    """Of the whole run, its warm-up as well: a hint that is lost once an hour is no matter of percentages."""
    first, last = [max(_loops(quarter), default=0.0) for quarter in _quarters(samples)]
    is_flat = max(_loops(samples), default=0.0) <= MOST_SECONDS
    return Row("ask to answer, slowest ms", first * 1000, last * 1000, None, f"{MOST_SECONDS:g} s in all", is_flat)


def _grown(samples: Sequence[Sample], what: str, value: Callable[[Sample], float]) -> Row:
    return Row(what, *_ends(samples, value), slope(samples, value), "grows with what is kept", None)


def slope(samples: Iterable[Sample], value: Callable[[Sample], float]) -> float:
    """How much it rises in an hour, by least squares."""
    points = [(sample.at / 3600, value(sample)) for sample in samples]
    return linear_regression(*zip(*points, strict=True)).slope


def _ends(samples: Sequence[Sample], value: Callable[[Sample], float]) -> tuple[float, float]:
    first, last = [median(map(value, quarter)) for quarter in _quarters(samples)]
    return first, last


def _quarters(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """The first and the last."""
    size = max(len(samples) // 4, 1)
    return samples[:size], samples[-size:]


def _percentile(samples: Iterable[Sample], percent: int) -> float:
    loops = _loops(samples)
    return quantiles(loops, n=100)[percent - 1] if len(loops) > 1 else sum(loops)


def _loops(samples: Iterable[Sample]) -> list[float]:
    return [seconds for sample in samples for seconds in sample.loops]


def raw(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """As JSON has them."""
    return [sample._asdict() | {"servers": [each._asdict() for each in sample.servers]} for sample in samples]
