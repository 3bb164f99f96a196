"""The parts of a preview as rows of a width. Knows lines and cells alone, and nothing of formats.

Every function here takes time that grows with the length of the text only: previews are hostile, and may be long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from askdesk.core.text import Shown, width
from askdesk.surfaces.parts import Cell, Part, Rule, Table, Text
from askdesk.surfaces.spans import EMPTY, Line, Span, styled, text_of
from askdesk.surfaces.terminal.view import cells, cropped, padded, wrap

_BETWEEN = Span(Shown(" │ "), "dim")
_NARROWEST = 4  # a column of a table that can still be read
_NAME = 24  # of a column, where it stands before each of its cells


def laid_out(parts: Iterable[Part], columns: int, start: int = 0) -> Iterable[Line]:
    """Rows of at most so many columns, of which there are two; verbatim ones from a start on."""
    for part in parts:
        if not part.first:
            yield from _rows(part, columns, start)
            continue
        first, further = _margin(part.first, columns), _margin(part.further, columns)
        for number, row in enumerate(_rows(part, columns - cells(first), start)):
            yield (*(further if number else first), *row)


def widest(parts: Iterable[Part]) -> int:
    """The columns that the widest verbatim row takes."""
    rows = (part for part in parts if isinstance(part, Text) and part.verbatim)
    return max((cells(row.first) + cells(row.spans) for row in rows), default=0)


def _margin(spans: Line, columns: int) -> Line:
    """At most half of the columns: the inner part of a margin that is wider."""
    text = text_of(spans)
    if len(text) * 2 <= columns:
        return spans
    return (Span(Shown(text[len(text) - columns // 2 :]), spans[-1].style),)


def _rows(part: Part, columns: int, start: int) -> Iterable[Line]:
    match part:
        case Text(spans, True):
            return [cropped(spans, columns, start)]
        case Text(spans):
            return wrap(spans, columns)
        case Rule():
            return [(Span(Shown("─" * columns), "dim"),)]
        case Table():
            return _table(part, columns)


def _table(table: Table, columns: int) -> Iterable[Line]:
    widths = _widths(table, columns)
    if not widths:
        yield from _stacked(table, columns)
        return
    for number, row in enumerate(table.rows):
        yield from _across(row, widths, table, head=table.headed and not number)
        if table.headed and not number:
            yield (Span(Shown("─┼─".join("─" * wide for wide in widths)), "dim"),)


def _widths(table: Table, columns: int) -> list[int]:
    """How wide each column is, the widest narrowed until all fit; none where they would be too narrow to read."""
    count = max(map(len, table.rows), default=0)
    room = columns - width(_BETWEEN.text) * (count - 1)
    if room < count:
        return []
    natural = [1] * count
    for row in table.rows:
        for number, cell in enumerate(row):
            natural[number] = max(natural[number], *map(cells, cell), 1)
    least = min(_NARROWEST, max(natural))
    fitting = (most for most in range(room, least - 1, -1) if sum(min(wide, most) for wide in natural) <= room)
    most = next(fitting, 0)
    return [min(wide, most) for wide in natural] if most else []


def _across(row: Sequence[Cell], widths: Sequence[int], table: Table, *, head: bool) -> Iterable[Line]:
    """A row of a table, as high as its highest cell."""
    row = [*row, *[()] * (len(widths) - len(row))]
    stacks = [[line for spans in cell for line in wrap(spans, wide)] for cell, wide in zip(row, widths, strict=True)]
    for height in range(max(map(len, stacks), default=0) or 1):
        spans: Line = EMPTY
        for number, (stack, wide) in enumerate(zip(stacks, widths, strict=True)):
            cell = stack[height] if height < len(stack) else EMPTY
            cell = styled(cell, "strong") if head else cell
            aligned = _to_the_right(cell, wide) if number in table.right else cell
            last = number == len(widths) - 1
            spans = (*spans, *(aligned if last else (*padded(aligned, wide), _BETWEEN)))
        yield spans


def _to_the_right(spans: Line, columns: int) -> Line:
    missing = columns - cells(spans)
    return (Span(Shown(" " * missing)), *spans) if missing > 0 and spans else spans


def _stacked(table: Table, columns: int) -> Iterable[Line]:
    """A table too wide for the columns: each cell on a line of its own, behind the name of its column."""
    names = [_name(cell) for cell in table.rows[0]] if table.headed else []
    if len(table.rows) == 1 or any(cells(name) > _NAME for name in names):
        yield from (row for name in names for row in wrap(name, columns))
    names = [(*cropped(name, _NAME), Span(Shown(": "), "dim")) if name else EMPTY for name in names]
    for number, row in enumerate(table.rows[1:] if names else table.rows):
        if number:
            yield EMPTY
        for column, cell in enumerate(row):
            name = names[column] if column < len(names) else EMPTY
            yield from (line for spans in cell if spans for line in wrap((*name, *spans), columns))


def _name(cell: Cell) -> Line:
    return styled(tuple(span for spans in cell for span in spans), "strong")
