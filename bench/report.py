"""What was measured, as tables, as a document and as plain data. Pure but for the files it is asked to write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bench import pages
from bench.growth import Curve, heading, panels
from bench.measure import FIGURES, HEADING, SHORT_HEADING, Figure, Ratio, Section
from bench.plot import small_multiples
from bench.running import ROOT

Result: TypeAlias = Ratio | Figure | Curve | Section

COMMAND = "scripts/bench --write"

_HOW = """\
`scripts/bench` measures all of this, `scripts/bench --short` some of it in two minutes. What matters are ratios: ours
and a *floor*, the least that could do the same, take turns in one run, so that both see the same machine; what each
takes alone may be twice as much in the next run. *p50* is the median, *p99* what one of a hundred exceeds, or the worst
where there were fewer (*n*). The *aim* is what we hold ourselves to; a ratio that misses it fails no build.
"""
_GROWTH = """\
The same verbs, through a desk on each store, where there are more and more asks: all open, or all settled (history).
What adds no more than its first time for every ten times as many asks grows as a logarithm does, and is within its aim.
Who waits at an SQLite file looks for what other processes did every 25 ms, whatever the number of asks. *A rare word*
is in three asks, *a common word* in all of them. Whoever searches first brings the index up to date.
"""
_PICTURE = "What an ask costs, by how many there are"


class Report(NamedTuple):
    when: datetime
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    results: Sequence[Result]

    def tables(self) -> str:
        return "\n\n".join(f"## {title}\n\n{text}" for title, text in self._sections())

    def document(self) -> str:
        """docs/speed.md."""
        parts = ["# Speed", _HOW.rstrip(), self._about()]
        for title, text in self._sections():
            before = f"{_GROWTH}\n![{_PICTURE}](pictures/growth.svg)\n\n" if title == "Growth" else ""
            parts.append(f"## {title}\n\n{before}{text}")
        return "\n\n".join(parts) + "\n"

    def picture(self) -> str:
        return small_multiples(_PICTURE, "asks at the desk", panels(self._curves))

    @property
    def _curves(self) -> list[Curve]:
        return [each for each in self.results if isinstance(each, Curve)]

    def _sections(self) -> list[tuple[str, str]]:
        ratios = [each.row() for each in self.results if isinstance(each, Ratio)]
        figures = [each.row() for each in self.results if isinstance(each, Figure)]
        sections = []
        if ratios:
            sections.append(("Against floors", "\n".join([HEADING, *ratios])))
        if figures:
            sections.append(("Figures", "\n".join([FIGURES, *figures])))
        if self._curves:
            sections.append(("Growth", "\n".join([heading(self._curves), *(each.row() for each in self._curves)])))
        return sections + [(each.title, each.text) for each in self.results if isinstance(each, Section)]

    def _about(self) -> str:
        machine, versions = self.machine, ", ".join(f"{name} {number}" for name, number in self.versions.items())
        where = f"{machine['processor']}, {machine['memory']}, {machine['system']}, {machine['disk']}"
        return f"Measured on {self.when:%Y-%m-%d}: {where}. {versions}."

    def raw(self) -> dict[str, Any]:
        kinds = {"ratios": Ratio, "figures": Figure, "growth": Curve, "sections": Section}
        measured = {
            name: [each._asdict() for each in self.results if isinstance(each, kind)] for name, kind in kinds.items()
        }
        return {"when": self.when.isoformat(), "machine": self.machine, "versions": self.versions, **measured}

    def samples(self) -> str:
        """docs/speed.json: the same for whoever would reckon anew, with five digits of each."""
        return json.dumps(_rounded(self.raw()), separators=(",", ":")) + "\n"

    def keep(self) -> Path:
        """All samples, in bench/results/."""
        folder = ROOT / "bench" / "results"
        folder.mkdir(exist_ok=True)
        file = folder / f"{self.when:%Y%m%dT%H%M%SZ}.json"
        file.write_text(json.dumps(self.raw()))
        return file

    def summary(self) -> str:
        """For the README: every ratio, and on what machine."""
        rows = [each.short_row() for each in self.results if isinstance(each, Ratio)]
        return "\n".join([self._about(), "", SHORT_HEADING, *rows]) + "\n"

    def publish(self) -> None:
        """As a part of the documents: all of it is made before any of it is written."""
        texts = {
            "README.md": pages.replaced((ROOT / "README.md").read_text("utf-8"), COMMAND, self.summary()),
            "docs/speed.md": self.document(),
            "docs/pictures/growth.svg": self.picture(),
            "docs/speed.json": self.samples(),
        }
        for name, text in texts.items():
            (ROOT / name).write_text(text, "utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
