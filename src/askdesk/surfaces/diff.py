"""What changes between two texts, line by line: all of both, never only the parts around a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from askdesk.core.text import Shown
from askdesk.surfaces.exact import exact_lines
from askdesk.surfaces.spans import Line, Span, Style

_Step: TypeAlias = tuple[str, int, int, int, int]

_KEPT = ("escape", "dim")
_MOST_LINES = 2_000
_MOST_PAIRS = 50_000  # of equal lines; difflib takes seconds where a thousand lines are all alike


def diff_lines(old: Sequence[Line], new: Sequence[Line]) -> Iterator[Line]:
    """The lines of both, each behind `- `, `+ ` or, where it stays, two blanks."""
    for step, old_start, old_end, new_start, new_end in _steps(old, new):
        if step == "equal":
            yield from (_signed("  ", spans, "") for spans in new[new_start:new_end])
        else:
            yield from (_signed("- ", spans, "removed") for spans in old[old_start:old_end])
            yield from (_signed("+ ", spans, "added") for spans in new[new_start:new_end])


def text_diff_lines(old: str, new: str) -> Iterator[Line]:
    """The same for texts; one that is empty has no line."""
    return diff_lines(exact_lines(old) if old else (), exact_lines(new) if new else ())


def _signed(sign: str, spans: Line, style: Style) -> Line:
    """A line in one colour, for it says whether the line goes or comes; what was made visible keeps its own."""
    signed = (Span(Shown(sign)), *spans)
    return tuple(span._replace(style=style) if style and span.style not in _KEPT else span for span in signed)


def _steps(old: Sequence[Line], new: Sequence[Line]) -> Sequence[_Step]:
    before = _alike(old, new)
    after = _alike(old[before:][::-1], new[before:][::-1])
    old_end, new_end = len(old) - after, len(new) - after
    middle = _middle_steps(old[before:old_end], new[before:new_end])
    return [
        ("equal", 0, before, 0, before),
        *((step, a + before, b + before, c + before, d + before) for step, a, b, c, d in middle),
        ("equal", old_end, len(old), new_end, len(new)),
    ]


def _alike(old: Sequence[Line], new: Sequence[Line]) -> int:
    """How many lines the two begin with in common."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)))


def _middle_steps(old: Sequence[Line], new: Sequence[Line]) -> Sequence[_Step]:
    counts = Counter(new)
    if len(old) + len(new) > _MOST_LINES or sum(counts[spans] for spans in old) > _MOST_PAIRS:
        return [("replace", 0, len(old), 0, len(new))]
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
