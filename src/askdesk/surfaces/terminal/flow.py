"""Words that flow into rows as a browser lays them out: blanks collapsed, blocks apart. Knows no tags."""

from __future__ import annotations

import re

from askdesk.core.text import Shown
from askdesk.surfaces.highlight import visible
from askdesk.surfaces.parts import Page, Part, Text
from askdesk.surfaces.spans import Line, Span, Style

_BLANKS = re.compile(r"[ \t\n\r\f]+")


class Flow:
    """Words in rows, with a blank row between what stands apart; into a cell while one is open, else onto the page."""

    def __init__(self) -> None:
        self.page = Page()
        self.cell: list[Line] | None = None
        self.row: list[Span] = []
        self._gap = False
        self._fresh = True  # nothing stands yet in what was entered

    def words(self, text: str, style: Style) -> None:
        """Text with its blanks collapsed, as browsers do."""
        text = _BLANKS.sub(" ", text)
        if not self.row or self.row[-1].text.endswith(" "):
            text = text.removeprefix(" ")
        self.row += visible(text, style)

    def end_row(self) -> None:
        if self.row and self.row[-1].text.endswith(" "):
            self.row[-1] = self.row[-1]._replace(text=Shown(self.row[-1].text[:-1]))
        spans = tuple(span for span in self.row if span.text)
        self.row = []
        if spans:
            self.add(Text(spans))

    def break_row(self) -> None:
        """End a row that may be empty."""
        if self.row:
            self.end_row()
        else:
            self.add(Text())

    def stand_apart(self) -> None:
        self._gap = not self._fresh

    def add(self, part: Part) -> None:
        if self.cell is not None:
            self.cell += [part.spans] if isinstance(part, Text) else []
            return
        self._fill_gap()
        self.page.add(part)
        self._fresh = False

    def enter(self, first: Span, further: Span) -> None:
        self._fill_gap()
        self.page.enter(first, further)
        self._fresh = True

    def leave(self) -> None:
        self.page.leave()
        self._fresh = False

    def _fill_gap(self) -> None:
        if self._gap:
            self.page.add(Text())
        self._gap = False
