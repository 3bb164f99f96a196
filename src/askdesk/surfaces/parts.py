"""What a preview is made of before it has a width, whatever its format: rows, rules, tables, and the margins of each.

Knows neither markdown nor HTML.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from askdesk.core.text import Shown, cut, is_blank, shown
from askdesk.surfaces.highlight import visible
from askdesk.surfaces.spans import EMPTY, Line, Span
from askdesk.surfaces.texts import say

_DEEPEST = 12  # margins; what stands deeper moves no further to the right
_ALT = 60


class Text(NamedTuple):
    """A line of text, wrapped where it is too long; a verbatim one is cropped, and can be scrolled sideways."""

    spans: Line = EMPTY
    verbatim: bool = False
    first: Line = EMPTY
    further: Line = EMPTY


class Rule(NamedTuple):
    """A line across."""

    first: Line = EMPTY
    further: Line = EMPTY


Cell: TypeAlias = tuple[Line, ...]


class Table(NamedTuple):
    """Rows of cells, the first of them the head if it has one."""

    rows: tuple[tuple[Cell, ...], ...]
    headed: bool = False
    right: frozenset[int] = frozenset()  # the columns that are aligned to the right
    first: Line = EMPTY
    further: Line = EMPTY


Part: TypeAlias = Text | Rule | Table


class Page:
    """Parts one below the other, each behind the margins of what it stands in."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._margins: list[tuple[Span, Span]] = []
        self._deeper = 0

    def add(self, part: Part) -> None:
        first = tuple(margin for margin, _ in self._margins)
        further = tuple(margin for _, margin in self._margins)
        self.parts.append(part._replace(first=first, further=further))
        self._margins = list(zip(further, further, strict=True))

    def enter(self, first: Span, further: Span) -> None:
        """Behind a margin from here on; its first row has another, such as a bullet."""
        if len(self._margins) < _DEEPEST:
            self._margins.append((first, further))
        else:
            self._deeper += 1

    def leave(self) -> None:
        """Out of the last margin; what is empty still shows its bullet."""
        if self._deeper:
            self._deeper -= 1
            return
        first, further = self._margins[-1]
        if first != further:
            self.add(Text())
        self._margins.pop()


def bullet(mark: Shown) -> tuple[Span, Span]:
    """The margins of a list's item."""
    return Span(Shown(f"{mark} "), "dim"), Span(Shown(" " * (len(mark) + 1)))


QUOTE = Span(Shown("│ "), "quote")


def address(href: str, words: str) -> Line:
    """Where a link leads, unless its words say so; never a link that a terminal would follow."""
    if not href or href.startswith("#") or words.strip() in (href, href.removeprefix("mailto:")):
        return EMPTY
    return visible(f" ({href})", "dim")


def image(alt: str, source: str) -> Line:
    """What stands for an image: nothing is fetched."""
    words = cut(shown(source if is_blank(alt) else alt), _ALT)
    host = _host(source)
    if host:
        return (Span(say("preview.image", alt=words, host=cut(shown(host), _ALT)), "dim"),)
    return (Span(say("preview.image_here", alt=words), "dim"),)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
