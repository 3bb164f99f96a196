"""Lines of spans laid out in cells: wrapped, cropped, side by side. Pure; knows no terminal and no colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from askdesk.core.text import Shown, cut, width
from askdesk.surfaces.spans import EMPTY, Line, Span, line, split, text_of


class Size(NamedTuple):
    columns: int
    lines: int


class Picture(NamedTuple):
    """What a screen shows: lines from the top, where the cursor stands (column, line), and the names of lines there."""

    lines: tuple[Line, ...]
    cursor: tuple[int, int] | None = None
    seen: frozenset[str] = frozenset()
    reach: tuple[int, int] = (0, 0)  # how far up and down it can be scrolled away from the focus

    def numbers(self, name: str) -> list[int]:
        """The numbers of the lines with names like `call:7`, in order."""
        return sorted(int(seen.removeprefix(name)) for seen in self.seen if seen.startswith(name))

    def key_at(self, column: int, number: int) -> str:
        """What a click there presses; nothing where there is nothing to press."""
        if not 0 <= number < len(self.lines):
            return ""
        for span in self.lines[number]:
            column -= width(span.text)
            if column < 0:
                return span.key
        return ""


def cells(spans: Line) -> int:
    return sum(width(span.text) for span in spans)


def wrap(spans: Line, columns: int, margin: Line = EMPTY, *, exact: bool = False) -> list[Line]:
    """A line as rows of at most so many columns, broken at blanks where it can be; further rows begin with a margin.

    The blank at a break goes, unless all must be seen as it is. The time it takes grows with the line's length alone.
    """
    text = text_of(spans)
    if (_most_cells(text) if exact else cells(spans)) <= columns:
        return [spans]
    margin = margin if cells(margin) * 2 < columns else EMPTY
    rows: list[Line] = []
    row: list[Span] = []
    ends = _ends(text, columns, columns - (_most_cells(text_of(margin)) if exact else cells(margin)), exact)
    at, end = 0, next(ends)
    for span in spans:
        rest = span.text
        while at + len(rest) > end:
            row.append(span._replace(text=Shown(rest[: end - at])))
            rows.append(line(*row) if exact else _stripped(row))
            rest, row = Shown(rest[end - at :]), [*margin]
            at, end = end, next(ends)
        row.append(span._replace(text=rest))
        at += len(rest)
    return [*rows, line(*row)]


def _stripped(row: list[Span]) -> Line:
    """A row without the blanks that it was broken at, which may be one too many."""
    kept = [span for span in row if span.text]
    while kept and not (text := kept[-1].text.rstrip(" ")):
        kept.pop()
    return (*kept[:-1], kept[-1]._replace(text=Shown(text))) if kept else EMPTY


def _ends(text: Shown, first: int, further: int, exact: bool) -> Iterator[int]:
    """Where each row of a text ends: the first in so many columns, the further ones in so many others."""
    start, columns = 0, first
    while (full := _full(text, start, columns, _most_cells if exact else _cells)) < len(text):
        blank = text.rfind(" ", (start + full) // 2, full if exact else full + 1)
        start = blank + 1 if blank > start and not _ends_or_clings(text, blank + 1) else full
        yield start
        columns = further
    yield len(text)


def _full(text: Shown, start: int, columns: int, cells_of: Callable[[str], int]) -> int:
    """Where a row is full that begins at a start: it has one character at least, and parts none from what clings."""
    if text.isascii():
        return start + max(columns, 1)
    at, used = start, 0
    while at < len(text) and (at == start or used + cells_of(text[at]) <= columns):
        used += cells_of(text[at])
        at += 1
    full = at
    while start < at < len(text) and clings(text, at):
        at -= 1
    return at if at > start else full


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    return width(Shown(character))


def _most_cells(text: str) -> int:
    """As many as any terminal takes for it: they disagree on all but ASCII, and a row that is cut hides what runs."""
    return len(text) if text.isascii() else sum(1 if character.isascii() else 2 for character in text)


def _ends_or_clings(text: str, at: int) -> bool:
    return at == len(text) or clings(text, at)


def clings(text: str, at: int) -> bool:
    """Whether a character belongs to the one before it: an accent, a joiner, what is joined, an emoji's selector."""
    character = text[at]
    joined = text[at - 1] == "\u200d"
    return joined or character in "\u200c\u200d\ufe0e\ufe0f" or unicodedata.category(character) in ("Mn", "Me")


def _fitting(text: Shown, columns: int) -> int:
    """How many characters fit into so many columns."""
    if text.isascii():
        return columns
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(Shown(text[:middle])) <= columns else (low, middle - 1)
    return low


def cropped(spans: Line, columns: int, start: int = 0) -> Line:
    """What of a line is seen in so many columns from a start; an ellipsis stands for what is cut off on the right."""
    if start:
        spans = split(spans, _fitting(text_of(spans), start))[1]
    if cells(spans) <= columns:
        return spans
    kept = cut(text_of(spans), columns)
    head, _ = split(spans, len(kept) - 1)
    return (*head, Span(Shown("…"), "dim")) if columns else EMPTY


def padded(spans: Line, columns: int) -> Line:
    """A line with blanks after it, up to so many columns."""
    missing = columns - cells(spans)
    return (*spans, Span(Shown(" " * missing))) if missing > 0 else spans


def beside(left: Iterable[Line], right: Iterable[Line], columns: int, between: Line) -> list[Line]:
    """Two columns of lines, the left one so many columns wide."""
    lefts, rights = list(left), list(right)
    height = max(len(lefts), len(rights))
    lefts += [EMPTY] * (height - len(lefts))
    rights += [EMPTY] * (height - len(rights))
    return [(*padded(a, columns), *between, *b) for a, b in zip(lefts, rights, strict=True)]
