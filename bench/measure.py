"""Ratios: ours and a floor, taken turn by turn in the same run, so that both see the same machine."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles
from typing import NamedTuple


class Ratio(NamedTuple):
    """What was measured, in microseconds, and what it should stay within."""

    name: str
    floor_name: str
    target: float
    floor: list[float]
    ours: list[float]

    @property
    def value(self) -> float:
        return median(self.ours) / median(self.floor)

    def row(self) -> str:
        p99 = quantiles(self.ours, n=100)[98]
        return (
            f"| {self.name} | {self.floor_name} | {median(self.floor):,.0f} | {median(self.ours):,.0f} | {p99:,.0f} "
            f"| {self.value:.2f}x | {self.target:g}x | {'yes' if self.value <= self.target else 'NO'} |"
        )


HEADING = """\
| what | floor | floor p50 µs | ours p50 µs | ours p99 µs | ratio | aim | within |
|---|---|---:|---:|---:|---:|---:|---|"""


class Figure(NamedTuple):
    """What was measured without a floor, and what it should stay below."""

    name: str
    value: float
    unit: str
    target: float

    def row(self) -> str:
        within = "yes" if self.value <= self.target else "NO"
        return f"| {self.name} | {self.value:,.2f} {self.unit} | {self.target:g} {self.unit} | {within} |"


FIGURES = """\
| what | ours | aim | within |
|---|---:|---:|---|"""


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e6


async def timed_async(work: Callable[[], Awaitable[object]], times: int = 1) -> float:
    """Microseconds for one of so many runs in a row."""
    started = time.perf_counter()
    for _ in range(times):
        await work()
    return (time.perf_counter() - started) * 1e6 / times
