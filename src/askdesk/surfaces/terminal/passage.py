"""A text that may be longer than the screen: where one is in it, and what of it has been seen. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace


class Passage(Struct, frozen=True):
    """So many rows, a window on them, and which rows have stood in a window so far."""

    rows: int
    height: int  # rows that can be seen at once
    columns: int = 0  # how wide they were made
    top: int = 0
    seen: tuple[tuple[int, int], ...] = ()  # from and to, in order, not touching

    @property
    def is_long(self) -> bool:
        return self.rows > self.height

    @property
    def is_seen(self) -> bool:
        return self.unseen == 0

    @property
    def unseen(self) -> int:
        return self.rows - sum(end - start for start, end in self.seen)

    @property
    def bottom(self) -> int:
        return min(self.top + self.height, self.rows)

    def look(self, start: int, end: int) -> Passage:
        """These rows have been on the screen."""
        merged: list[tuple[int, int]] = []
        for begin, stop in sorted((*self.seen, (start, end))):
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            elif begin < stop:
                merged.append((begin, stop))
        return replace(self, seen=tuple(merged))

    def look_at(self, rows: Iterable[int]) -> Passage:
        """Each of these rows has been on the screen."""
        passage = self
        for row in rows:
            passage = passage.look(row, row + 1)
        return passage

    def move(self, by: int) -> Passage:
        return replace(self, top=max(0, min(self.top + by, self.rows - self.height)))

    def press(self, key: str) -> Passage | None:
        """Scroll; None for a key that does not."""
        page = max(self.height - 1, 1)
        steps = {
            "up": -1,
            "k": -1,
            "down": 1,
            "j": 1,
            "pageup": -page,
            "b": -page,
            "pagedown": page,
            " ": page,
            "home": -self.rows,
            "g": -self.rows,
            "end": self.rows,
            "G": self.rows,
        }
        return self.move(steps[key]) if key in steps else None

    def resized(self, rows: int, height: int, columns: int) -> Passage:
        """The same text in another shape. In another width rows are other rows: only a whole that was seen stays so."""
        if (rows, height, columns) == (self.rows, self.height, self.columns):
            return self
        kept = self.seen if columns == self.columns else ((0, rows),) if self.is_seen and self.seen else ()
        return Passage(rows, height, columns, 0, kept).move(self.top)
