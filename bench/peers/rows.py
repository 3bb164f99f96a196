"""What is told of a peer: figures and words, as a table and as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from bench.measure import p99


class Row(NamedTuple):
    """Of one peer. Times are in microseconds. With `trouble`, what was measured before it may be missing."""

    name: str
    on_disk: str
    does_not: str
    versions: Mapping[str, str] = {}
    whole: Sequence[float] = ()  # a person answers at once
    woken: Sequence[float] = ()  # a person answers some time later
    ready: Sequence[float] = ()
    first: Sequence[float] = ()
    waiting: int = 0  # questions that waited
    processor: float = math.nan  # % of a core, while they did
    memory: Sequence[float] = ()  # megabytes of each process, while they did
    answered: int = 0  # of those that waited, in the end
    survived: bool | None = None  # whether a question was answered that was open at a kill -9
    megabytes: float = math.nan  # installed
    trouble: str = ""

    def raw(self) -> dict[str, Any]:
        return {name: None if value != value else value for name, value in self._asdict().items()}  # JSON has no NaN

    def figures(self) -> str:
        cells = (
            self.name,
            ", ".join(f"{name} {version}" for name, version in self.versions.items()),
            _milliseconds(self.whole),
            _milliseconds(self.whole, p99),
            f"{len(self.whole)}",
            _milliseconds(self.woken),
            _shown(self.processor, ".1f"),
            f"{self.answered} of {self.waiting}" if self.waiting else "–",
            {True: "answered", False: "lost", None: "–"}[self.survived],
            f"{_milliseconds(self.ready)} / {_milliseconds(self.first)}",
            " + ".join(f"{size:.0f}" for size in self.memory) or "–",
            _shown(self.megabytes, ".0f"),
        )
        return f"| {' | '.join(cells)} |"

    def words(self) -> str:
        return f"| {self.name} | {self.on_disk} | {self.does_not} |"


_FIGURES = """\
| what | versions | ask → answer p50 ms | p99 | n | answer → woken p50 ms | CPU % while many wait | of these answered \
| open at a kill -9 | start → ready / first answer ms | RSS MB | installed MB |
|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|"""

_WORDS = """\
| what | on disk when acknowledged | does not do |
|---|---|---|"""

_MISSING = """\
| not measured | why |
|---|---|"""


def table(rows: Iterable[Row], missing: Mapping[str, str] | None = None) -> str:
    """Figures, then words, then who is not in it; what went wrong is told there too."""
    rows = tuple(rows)
    measured = [row for row in rows if row.whole]
    gone = {row.name: row.trouble for row in rows if row.trouble} | dict(missing or {})
    parts = [
        "\n".join([_FIGURES, *(row.figures() for row in measured)]),
        "\n".join([_WORDS, *(row.words() for row in measured)]),
        "\n".join([_MISSING, *(f"| {name} | {_in_a_cell(why)} |" for name, why in gone.items())]),
    ]
    return "\n\n".join(parts if gone else parts[:2])


def _milliseconds(values: Sequence[float], of: Callable[[Sequence[float]], float] = median) -> str:
    if not values:
        return "–"
    value = of(values) / 1000
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def _shown(value: float, form: str) -> str:
    return "–" if value != value else format(value, form)


def _in_a_cell(words: str) -> str:
    return words.replace("|", r"\|")
