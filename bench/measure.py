"""Ratios: ours and a floor, taken turn by turn in the same run, so that both see the same machine."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import Literal, NamedTuple

Unit = Literal["µs", "B"]


class Ratio(NamedTuple):
    """What was measured, and what it should stay within. A ratio of the slowest decides where it has an aim, too."""

    name: str
    floor_name: str
    aim: float
    floor: list[float]
    ours: list[float]
    slowest_aim: float | None = None
    unit: Unit = "µs"
    are_means: bool = False  # of many at once: so the slowest of them tell nothing

    @property
    def value(self) -> float:
        return median(self.ours) / median(self.floor)

    @property
    def slowest(self) -> float:
        return p99(self.ours) / p99(self.floor)

    @property
    def is_within(self) -> bool:
        return self.value <= self.aim and (self.slowest_aim is None or self.slowest <= self.slowest_aim)

    def row(self) -> str:
        slowest = ["" if self.are_means else shown(p99(values), self.unit) for values in (self.floor, self.ours)]
        times = (shown(median(self.floor), self.unit), slowest[0], shown(median(self.ours), self.unit), slowest[1])
        slowest_aim = "" if self.slowest_aim is None else f"{self.slowest_aim:g}x"
        ratios = (f"{self.value:.2f}x", f"{self.aim:g}x", "" if self.are_means else f"{self.slowest:.2f}x", slowest_aim)
        return _row(self.name, self.floor_name, f"{len(self.ours)}", *times, *ratios, _said(self.is_within))

    def short_row(self) -> str:
        floor, ours = shown(median(self.floor), self.unit), shown(median(self.ours), self.unit)
        return _row(self.name, f"{self.floor_name}: {floor}", ours, f"{self.value:.2f}x", f"{self.aim:g}x")


SHORT_HEADING = """\
| what | floor | ours | ratio | aim |
|---|---|---:|---:|---:|"""

HEADING = """\
| what | floor | n | floor p50 | floor p99 | ours p50 | ours p99 | ratio of p50 | aim | ratio of p99 | aim | within |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"""


class Figure(NamedTuple):
    """What was measured without a floor, and what it should stay below."""

    name: str
    value: float
    unit: str
    aim: float

    @property
    def is_within(self) -> bool:
        return self.value <= self.aim

    def row(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return _row(self.name, f"{_digits(self.value)}{unit}", f"{self.aim:g}{unit}", _said(self.is_within))


FIGURES = """\
| what | ours | aim | within |
|---|---:|---:|---|"""


class Section(NamedTuple):
    """What is told in a way of its own, and what it was made of."""

    title: str
    text: str
    raw: object


def p99(values: Sequence[float]) -> float:
    """The nearest rank: of fewer than a hundred, the slowest."""
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def shown(value: float, unit: Unit = "µs") -> str:
    """With three digits, in the unit that suits it."""
    names = ("µs", "ms", "s") if unit == "µs" else ("B", "kB", "MB", "GB")
    power = min(max(int(math.log10(value)) // 3, 0), len(names) - 1) if value >= 1 else 0
    return f"{_digits(value / 1000**power)} {names[power]}"


def _digits(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    whole = len(f"{abs(value):.0f}") if abs(value) >= 1 else 0
    return f"{value:,.{max(3 - max(whole, 1), 0)}f}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _said(is_within: bool) -> str:
    return "yes" if is_within else "NO"


def timed(work: Callable[[], object]) -> float:
    """Microseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e6


async def timed_async(work: Callable[[], Awaitable[object]]) -> float:
    """Microseconds."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1e6
