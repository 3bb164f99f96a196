"""A page on a screen: a head and a foot that stay, and a body of which a window is seen. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from askdesk.core.text import Shown, shown
from askdesk.surfaces.spans import EMPTY, MARGIN, Line, Span, Style, line, styled
from askdesk.surfaces.terminal.view import Picture, Size, cells, cropped, wrap
from askdesk.surfaces.texts import say

LEAST = Size(24, 10)  # below this a page cannot be read, and plain lines serve better


class Row(NamedTuple):
    """A line of a body, and the id of what has the focus there."""

    line: Line
    id: str = ""
    cursor: int | None = None  # the column of the cursor, on the line that has it
    seen: str = ""  # names the line, where it matters that it was on the screen


def page(head: Sequence[Line], body: Sequence[Row], foot: Sequence[Line], size: Size, focus: str, look: int) -> Picture:
    """The page in a size: the body's window follows the focus, or was scrolled away from it by so many rows."""
    head, foot, room = _around(head, foot, size)
    top = window_top(body, room, focus, look)
    rows = list(body[top : top + room])
    if top and rows:
        rows[0] = Row(line(Span(say("page.above", count=top + 1), "dim")), cursor=None)
    if (below := len(body) - top - room) > 0:
        rows[-1] = Row(line(Span(say("page.below", count=below + 1), "dim")), cursor=None)
    lines = (*head, *(row.line for row in rows), *foot)
    cursor = next(((row.cursor, len(head) + n) for n, row in enumerate(rows) if row.cursor is not None), None)
    seen = frozenset(row.seen for row in rows if row.seen)
    home = window_top(body, room, focus, 0)
    reach = -home, max(len(body) - room, 0) - home
    return Picture(tuple(cropped(spans, size.columns) for spans in lines), cursor, seen, reach)


def _around(head: Sequence[Line], foot: Sequence[Line], size: Size) -> tuple[Sequence[Line], Sequence[Line], int]:
    """What of the head and the foot there is room for, and the rows that leaves: in few lines what is told stays."""
    room = size.lines - len(head) - len(foot)
    if room < 3:
        head, foot = head[: min(1, size.lines // 5)], foot[1:][: max(size.lines // 2, 1)]
        room = max(size.lines - len(head) - len(foot), 1)
    return head, foot, room


def window_top(body: Sequence[Row], room: int, focus: str, look: int) -> int:
    """The first row to be seen: the focus stays inside, with a row around it for what says that there is more."""
    last = max(len(body) - room, 0)
    focused = [number for number, row in enumerate(body) if row.id == focus]
    cursor = next((number for number, row in enumerate(body) if row.cursor is not None), None)
    top = 0
    if focused:
        end = cursor if cursor is not None else focused[-1]
        top = max(0, min(end + 2 - room, focused[0] - 1 if cursor is None else end))
    return max(0, min(top + look, last))


def agent_rows(text: str, columns: int, style: Style = "", key: str = "") -> Iterable[Line]:
    """An agent's text in rows, each behind the margin; its own line breaks are kept."""
    for row in shown(text, lines=True).split("\n"):
        for part in wrap(line(Span(Shown(row), style, key)), max(columns - 2, 1)):
            yield (MARGIN._replace(key=key), *part)


def foot(said: Shown, keys: Sequence[tuple[str, str]], size: Size) -> list[Line]:
    """A blank line, what the person should be told now, then what each key does, in two rows at most."""
    told = wrap(line(Span(said, "warning")), size.columns)[: max(size.lines // 3, 1)] if said else []
    rows: list[Line] = [EMPTY]
    for key, does in keys:
        entry = line(Span(say(f"key.{key}"), "key"), Shown(" "), Span(say(f"does.{does}"), "dim"))
        joined = (*rows[-1], Span(Shown("  ")), *entry) if rows[-1] else entry
        if cells(joined) <= size.columns:
            rows[-1] = joined
        else:
            rows.append(entry)
    return [EMPTY, *told, *rows[:2]]


def choice(row: str, focus: str, words: Shown, *, style: Style = "") -> Line:
    """A row that can have the focus."""
    pointer = Span(Shown("❯ " if row == focus else "  "), "focus")
    spans = line(pointer, Span(words, style or ("focus" if row == focus else "")))
    return styled(spans, "", f"row:{row}")
