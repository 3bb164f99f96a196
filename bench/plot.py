"""Small multiples on two logarithmic axes, as SVG. Pure: figures in, text out. Readable on light and on dark paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

_COLUMNS = 4
_WIDTH, _HEIGHT = 176, 150  # of what is inside the axes
_LEFT, _TOP, _RIGHT, _BOTTOM = 56, 34, 28, 44  # around it
_HEAD = 74
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_STYLE = f"""\
text {{ font: 11px {_FONT}; fill: #57606a }}
.title {{ font: 600 15px {_FONT}; fill: #1f2328 }}
.panel {{ font: 600 12px {_FONT}; fill: #1f2328 }}
.x {{ text-anchor: middle }}
.y {{ text-anchor: end }}
.grid {{ stroke: #d0d7de; stroke-width: 1 }}
.guide {{ stroke: #afb8c1; stroke-width: 1; stroke-dasharray: 1 3 }}
.line {{ fill: none; stroke-width: 2; stroke-linejoin: round }}
.dashed {{ stroke-dasharray: 5 3 }}
.blue {{ stroke: #0969da }} circle.blue {{ fill: #0969da }}
.orange {{ stroke: #bc4c00 }} circle.orange {{ fill: #bc4c00 }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #9198a1 }} .title, .panel {{ fill: #f0f6fc }}
  .grid {{ stroke: #30363d }} .guide {{ stroke: #59636e }}
  .blue {{ stroke: #58a6ff }} circle.blue {{ fill: #58a6ff }}
  .orange {{ stroke: #f0883e }} circle.orange {{ fill: #f0883e }}
}}"""
_LOOKS = ("blue", "blue dashed", "orange", "orange dashed")


class Series(NamedTuple):
    name: str
    points: Sequence[tuple[float, float]]


class Panel(NamedTuple):
    title: str
    series: Sequence[Series]


class _Axis(NamedTuple):
    """From one power of ten to another, over so many pixels."""

    low: int
    high: int
    pixels: int

    @classmethod
    def over(cls, values: Iterable[float], pixels: int) -> _Axis:
        logarithms = [math.log10(value) for value in values]
        low = math.floor(min(logarithms))
        return cls(low, max(math.ceil(max(logarithms)), low + 1), pixels)

    def at(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low) * self.pixels

    @property
    def powers(self) -> range:
        return range(self.low, self.high + 1)


def small_multiples(title: str, below: str, panels: Sequence[Panel]) -> str:
    """All panels on the same axes: µs against a number of things; and, dotted, what would be in proportion to it."""
    points = [point for panel in panels for series in panel.series for point in series.points]
    across = _Axis.over((x for x, _ in points), _WIDTH)
    up = _Axis.over((y for _, y in points), _HEIGHT)
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    looks = dict(zip(names, _LOOKS, strict=False))
    width = _COLUMNS * (_LEFT + _WIDTH + _RIGHT)
    height = _HEAD + math.ceil(len(panels) / _COLUMNS) * (_TOP + _HEIGHT + _BOTTOM)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="12" y="26">{escape(title)}</text>',
        *_legend(looks),
    ]
    for number, panel in enumerate(panels):
        x = number % _COLUMNS * (_LEFT + _WIDTH + _RIGHT) + _LEFT
        y = _HEAD + number // _COLUMNS * (_TOP + _HEIGHT + _BOTTOM) + _TOP
        lines += [f'<g transform="translate({x} {y})">', *_drawn(panel, across, up, looks, below), "</g>"]
    return "\n".join([*lines, "</svg>\n"])


def _legend(looks: dict[str, str]) -> Iterator[str]:
    x = 12
    for name, look in {**looks, "would be in proportion": "guide"}.items():
        yield f'<line class="line {look}" x1="{x}" y1="50" x2="{x + 26}" y2="50"/>'
        yield f'<text x="{x + 32}" y="54">{escape(name)}</text>'
        x += 56 + 7 * len(name)


def _drawn(panel: Panel, across: _Axis, up: _Axis, looks: dict[str, str], below: str) -> Iterator[str]:
    yield f'<text class="panel" x="0" y="-10">{escape(panel.title)}</text>'
    for power in up.powers:
        y = _HEIGHT - up.at(10.0**power)
        yield f'<line class="grid" x1="0" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}"/>'
        yield f'<text class="y" x="-6" y="{y + 4:.1f}">{_time(power)}</text>'
    for power in across.powers:
        yield f'<text class="x" x="{across.at(10.0**power):.1f}" y="{_HEIGHT + 16}">{_count(power)}</text>'
    yield f'<text class="x" x="{_WIDTH / 2}" y="{_HEIGHT + 32}">{escape(below)}</text>'
    decades = min(across.high - across.low, up.high - up.low)
    end = across.at(10.0 ** (across.low + decades)), _HEIGHT - up.at(10.0 ** (up.low + decades))
    yield f'<line class="guide" x1="0" y1="{_HEIGHT}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
    for series in panel.series:
        yield from _curve(series, across, up, looks[series.name])


def _curve(series: Series, across: _Axis, up: _Axis, look: str) -> Iterator[str]:
    places = [(across.at(x), _HEIGHT - up.at(y)) for x, y in series.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline class="line {look}" points="{line}"><title>{escape(series.name)}</title></polyline>'
    for x, y in places:
        yield f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'


def _time(power: int) -> str:
    thousands = max(power // 3, 0)
    return f"{10.0 ** (power - 3 * thousands):g} {('µs', 'ms', 's', '')[thousands]}"


def _count(power: int) -> str:
    thousands = power // 3
    return f"{10 ** (power - 3 * thousands)}{('', 'k', 'M', 'G')[thousands]}"
