"""Whether lines of text are a drawing, which markdown must not touch: frames, boxes, trees, columns made of blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PROSE = 120  # a line longer than this is prose, though it may have a blank too many
_BOX = re.compile(r"[\u2500-\u259f]|\+[-=]{2}|[-=]{2}\+")
# Two blanks after a full stop are how some people write; two anywhere else, or more, keep columns apart.
_COLUMNS = re.compile(r"[^\s.!?] {2,}\S|\S {3,}\S|\S\t+\S")
_WORD = re.compile(r"[^\W_]")


def has_box(line: str) -> bool:
    """Whether a line has the corner or the edge of a box."""
    return bool(_BOX.search(line))


def is_drawn(line: str) -> bool:
    """Whether a line is part of a drawing for sure: it has a box, is framed, or is of signs alone."""
    bare = line.strip()
    framed = len(bare) > 1 and bare[0] == bare[-1] == "|"
    return framed or has_box(bare) or (bare.isascii() and not _WORD.search(bare))


def is_art(lines: Sequence[str]) -> bool:
    """Whether lines that stand together are to be seen as they are, blank by blank."""
    short = [line.rstrip() for line in lines if len(line) <= _PROSE]
    indents = [len(line) - len(line.lstrip()) for line in short] or [0]
    return (
        max(indents) - min(indents) > 1
        or any(is_drawn(line) for line in lines)
        or any(_COLUMNS.search(line.lstrip()) for line in short)
    )


def stays_whole(line: str) -> bool:
    """Whether a line among art must not be wrapped: any but one of prose."""
    return len(line) <= _PROSE or is_drawn(line)
