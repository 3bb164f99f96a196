"""Markdown as every surface reads it: markdown-it's tokens, with the source beside them. Raw HTML stays the text it is.

Drawings are taken from the source as they stand, and no line of it is lost: what the parser swallows, such as where a
link by reference leads, is shown as text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from askdesk.surfaces.art import has_box, is_art, is_drawn

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MOST_CELLS = 20_000
_MARKS = re.compile(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])(?:\s+|$))?")  # what opens a quote or an item
_ARROW = re.compile(r"\s*>[^\s>]")  # a quote has a blank there
_LEAVES = {"fence", "code_block", "hr", "heading_open", "table_open"}


class Walk(ABC):
    """Goes through tokens and source side by side, and tells a surface what to show: each method without a body."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"\r\n?", "\n", text).strip("\n")
        self._source = text.split("\n")
        self._line = 0  # the first line of the source that is not shown yet
        self._drawn = -1  # the line after the last drawing
        # The parser fills each row up with empty cells: a wide head above many short rows would be slow.
        tables = len(self._source) * max(line.count("|") for line in self._source) <= _MOST_CELLS
        self._tokens = _parser(tables).parse(text)

    def walk(self) -> None:
        self._read(iter(self._tokens))
        self._reach(len(self._source))

    @abstractmethod
    def drawing(self, lines: Sequence[str]) -> None:
        """Lines that keep their places."""

    @abstractmethod
    def source(self, line: str) -> None:
        """A line that is blank, or that the parser swallowed."""

    @abstractmethod
    def words(self, token: Token, inline: Token, lines: Sequence[str]) -> None:
        """A paragraph or a heading, and the lines of the source that it stands in."""

    @abstractmethod
    def code(self, content: str, language: str, info: str) -> None:
        """A block of code; `info` where more than its language stands beside it."""

    @abstractmethod
    def indented(self, lines: Sequence[str]) -> None:
        """A block of code by its indent alone, which it still has: it may be the middle of a drawing."""

    @abstractmethod
    def rule(self) -> None: ...

    @abstractmethod
    def table(self, tokens: Sequence[Token]) -> None: ...

    @abstractmethod
    def enter(self, block: Token) -> None:
        """A quote, a list or an item begins."""

    @abstractmethod
    def leave(self, block: Token) -> None: ...

    def _read(self, tokens: Iterator[Token]) -> None:
        for token in tokens:
            if token.map:
                self._reach(token.map[0])
            match token.type:
                case "paragraph_open" | "heading_open":
                    self._words(token, next(tokens))
                case "fence" | "code_block":
                    self._code(token)
                case "hr":
                    self._rule(token)
                case "table_open":
                    self._table(token, list(_inside(token, tokens)))
                case "blockquote_open" | "bullet_list_open" | "ordered_list_open" | "list_item_open":
                    self._block(token, list(_inside(token, tokens)))
                case _:
                    pass

    def _reach(self, line: int) -> None:
        for row in self._source[self._line : line]:
            self.source(_unmarked(row))
        self._line = max(self._line, line)

    def _draw(self, lines: Sequence[str], end: int) -> None:
        self.drawing(lines)
        self._line = self._drawn = end

    def _words(self, token: Token, inline: Token) -> None:
        begin, end = _span(token)
        lines = self._source[begin:end]
        if token.level:
            lines = _without_marks(lines, inline.content)
        if is_art([inline.content] if token.markup.startswith("#") else lines[: inline.content.count("\n") + 1]):
            self._draw(lines, end)
            return
        self.words(token, inline, lines)
        self._line = end

    def _code(self, token: Token) -> None:
        begin, end = _span(token)
        if token.type == "code_block" and not token.level:
            self.indented(self._source[begin:end])
            self._drawn = end
        else:
            language, *more = token.info.split() or [""]
            self.code(token.content.removesuffix("\n"), language, token.info.strip() if more else "")
        self._line = end

    def _rule(self, token: Token) -> None:
        begin, end = _span(token)
        below = "".join(self._source[end : end + 1])
        if begin == self._drawn or (below.strip() and is_drawn(below)):
            self._draw(self._source[begin:end], end)
            return
        self.rule()
        self._line = end

    def _table(self, token: Token, inner: Sequence[Token]) -> None:
        begin, end = _span(token)
        lines = [_unmarked(line) if token.level else line for line in self._source[begin:end]]
        columns = sum(token.type == "th_open" for token in inner)
        most = max(line.replace("\\|", "").strip().strip("|").count("|") for line in lines)
        if columns == 1 or most >= columns or any(map(has_box, lines)):  # a frame, or cells that would not be seen
            self._draw(lines, end)
            return
        self.table(inner)
        self._line = end

    def _block(self, token: Token, inner: Sequence[Token]) -> None:
        begin, end = _span(token)
        if not token.level and self._is_drawing(range(begin, end), inner):
            self._draw(self._source[begin:end], end)
            return
        self.enter(token)
        self._read(iter(inner))
        while end > self._line and not _unmarked(self._source[end - 1]):
            end -= 1
        self._reach(end)
        self.leave(token)
        if token.type in ("list_item_open", "blockquote_open"):
            self._line = max(self._line, begin + 1)  # an empty one has shown its mark

    def _is_drawing(self, lines: Iterable[int], inner: Iterable[Token]) -> bool:
        """Whether what reads as a list or a quote is a drawing of stars, dashes or arrows."""
        known = {line for token in inner if token.type in _LEAVES for line in range(*_span(token))}
        return any(_opens_drawing(self._source[line]) for line in lines if line not in known)


@cache
def _parser(tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, as few asks have previews

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", *(["table"] if tables else [])])


def _unmarked(line: str) -> str:
    return _MARKS.sub("", line, count=1)


def _opens_drawing(line: str) -> bool:
    words = _unmarked(line)
    if line.lstrip().startswith(">") and not _ARROW.match(line):  # a drawing in a quote is found inside it
        return False
    return bool(words) and is_drawn(words)


def _inside(token: Token, tokens: Iterator[Token]) -> Iterable[Token]:
    """The tokens up to the one that closes this one."""
    for inner in tokens:
        if inner.nesting < 0 and inner.level == token.level:
            return
        yield inner


def _span(token: Token) -> tuple[int, int]:
    begin, end = token.map or (0, 0)
    return begin, end


def _without_marks(lines: Sequence[str], content: str) -> list[str]:
    """Lines from inside a quote or an item without its marks; the content tells in which column they end."""
    first, *more = content.split("\n")
    found = lines[0].find(first)
    column = max((line.find(row.strip()) - _indent(row) for line, row in zip(lines[1:], more, strict=False)), default=0)
    column = min(column, found) if column > 0 else found
    return [lines[0][column:], *(line[column:] if not line[:column].strip(" >") else line for line in lines[1:])]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
