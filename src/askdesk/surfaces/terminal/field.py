"""A text while it is being typed: pure. Every key that edits is here; what a text is for is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.strict import text_flaw
from askdesk.core.text import Shown, shown_each, width
from askdesk.surfaces.spans import Line, Span, line
from askdesk.surfaces.terminal.view import clings

NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter")
_MOST_UNDONE = 100
_TAB = "    "
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_WORD = re.compile(r"\w+", re.UNICODE)


class Edit(Struct, frozen=True):
    """The wish to go on typing in an editor: the text so far, and what kind of file it is."""

    text: str
    suffix: str = ".md"


class Field(Struct, frozen=True):
    """A text, where the cursor stands in it, and what it was before."""

    text: str = ""
    at: int = 0
    before: tuple[tuple[str, int], ...] = ()  # the latest last

    @classmethod
    def of(cls, text: str) -> Field:
        return cls(text, len(text))

    def type(self, words: str) -> Field:
        """Put words in at the cursor. What no text may hold (control characters, halves of a pair) is left out."""
        clean = _CONTROLS.sub("", words.replace("\r\n", "\n").replace("\r", "\n").replace("\t", _TAB))
        if text_flaw(clean):
            clean = clean.encode("utf-8", "ignore").decode().replace("\0", "")
        return self._changed(self.text[: self.at] + clean + self.text[self.at :], self.at + len(clean))

    def press(self, key: str, columns: int) -> Field | None:
        """The field after a key; None for a key that does nothing here, such as up in the first row."""
        if len(key) == 1 and not _CONTROLS.match(key):  # also U+3000 and U+200C, which are not printable to Python
            return self.type(key)
        if key in NEW_LINE:
            return self.type("\n")
        if key in ("up", "down"):
            return self._vertical(-1 if key == "up" else 1, columns)
        action = _KEYS.get(key)
        return action(self) if action else None

    def _changed(self, text: str, at: int) -> Field:
        if text == self.text:
            return replace(self, at=at)
        return Field(text, at, (*self.before, (self.text, self.at))[-_MOST_UNDONE:])

    def put(self, text: str) -> Field:
        """Another text in place of this one, which can be taken back."""
        return self._changed(text, len(text))

    def undone(self) -> Field:
        if not self.before:
            return self
        text, at = self.before[-1]
        return Field(text, at, self.before[:-1])

    def _move(self, at: int) -> Field:
        return replace(self, at=max(0, min(at, len(self.text))))

    def _erase(self, start: int, end: int) -> Field:
        return self._changed(self.text[:start] + self.text[end:], start)

    def _left(self) -> int:
        at = self.at - 1
        while at > 0 and clings(self.text, at):
            at -= 1
        return max(at, 0)

    def _right(self) -> int:
        at = self.at + 1
        while at < len(self.text) and clings(self.text, at):
            at += 1
        return min(at, len(self.text))

    def _word_left(self) -> int:
        return max((word.start() for word in _WORD.finditer(self.text[: self.at])), default=0)

    def _word_right(self) -> int:
        word = _WORD.search(self.text, self.at)
        return word.end() if word else len(self.text)

    def _line_start(self) -> int:
        return self.text.rfind("\n", 0, self.at) + 1

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _vertical(self, by: int, columns: int) -> Field | None:
        rows = self._rows(columns)
        here = self._row(rows)
        if not 0 <= here + by < len(rows):
            return None
        column = self._cells(rows[here][0], self.at)
        start, end = rows[here + by]
        end -= self.text[end : end + 1] not in ("", "\n")  # where a row is wrapped, its end is the next one's start
        at = start
        while at < end and self._cells(start, at + 1) <= column:
            at += 1
        while start < at < end and clings(self.text, at):
            at -= 1
        return self._move(at)

    def _shown(self, start: int, end: int) -> Shown:
        return Shown("".join(_each(self.text)[start:end]))

    def _cells(self, start: int, end: int) -> int:
        return sum(_widths(self.text)[start:end])

    def _rows(self, columns: int) -> list[tuple[int, int]]:
        """Where each row begins and ends, wrapped to so many columns; a column is kept free for the cursor."""
        rows: list[tuple[int, int]] = []
        start = 0
        for text in self.text.split("\n"):
            end = start + len(text)
            rows += _wrapped(self.text, start, end, max(columns - 1, 2))
            start = end + 1
        return rows

    def _row(self, rows: list[tuple[int, int]]) -> int:
        return max(number for number, (start, _) in enumerate(rows) if start <= self.at)

    def lines(self, columns: int, *, active: bool) -> tuple[list[Line], tuple[int, int]]:
        """The rows as they are shown, and where the cursor stands in them: column and row."""
        rows = self._rows(columns)
        here = self._row(rows)
        drawn = [line(self._shown(start, end)) for start, end in rows]
        if active:
            drawn[here] = self._with_cursor(*rows[here])
        return drawn, (self._cells(rows[here][0], self.at), here)

    def _with_cursor(self, start: int, end: int) -> Line:
        at, after = self.at, self._right()
        if at == end:
            return line(self._shown(start, at), Span(Shown(" "), "cursor"))
        return line(self._shown(start, at), Span(self._shown(at, after), "cursor"), self._shown(after, end))


@lru_cache(maxsize=8)
def _each(text: str) -> tuple[Shown, ...]:
    return shown_each(text)


@lru_cache(maxsize=8)
def _widths(text: str) -> tuple[int, ...]:
    return tuple(map(width, _each(text)))


def _wrapped(text: str, start: int, end: int, columns: int) -> list[tuple[int, int]]:
    """A line of the text in rows, broken after blanks where it can be."""
    cells = _widths(text)
    rows: list[tuple[int, int]] = []
    begin, used = start, 0
    for at in range(start, end):
        while used + cells[at] > columns and at > begin:
            broken = _break(text, begin, at)
            rows.append((begin, broken))
            begin, used = broken, sum(cells[broken:at])
        used += cells[at]
    return [*rows, (begin, end)]


def _break(text: str, begin: int, full: int) -> int:
    blank = text.rfind(" ", (begin + full) // 2, full)
    at = blank + 1 if blank > begin else full
    while at > begin and clings(text, at):
        at -= 1
    return at if at > begin else full


_KEYS: dict[str, Callable[[Field], Field]] = {
    "left": lambda field: field._move(field._left()),
    "right": lambda field: field._move(field._right()),
    "ctrl+left": lambda field: field._move(field._word_left()),
    "alt+b": lambda field: field._move(field._word_left()),
    "ctrl+right": lambda field: field._move(field._word_right()),
    "alt+f": lambda field: field._move(field._word_right()),
    "home": lambda field: field._move(field._line_start()),
    "ctrl+a": lambda field: field._move(field._line_start()),
    "end": lambda field: field._move(field._line_end()),
    "ctrl+e": lambda field: field._move(field._line_end()),
    "backspace": lambda field: field._erase(field._left(), field.at) if field.at else field,
    "ctrl+h": lambda field: field._erase(field._left(), field.at) if field.at else field,
    "delete": lambda field: field._erase(field.at, field._right()),
    "ctrl+d": lambda field: field._erase(field.at, field._right()),
    "ctrl+w": lambda field: field._erase(field._word_left(), field.at),
    "ctrl+u": lambda field: field._erase(field._line_start(), field.at),
    "ctrl+k": lambda field: field._erase(field.at, field._line_end()),
    "ctrl+z": lambda field: field.undone(),
    "ctrl+underscore": lambda field: field.undone(),
}
