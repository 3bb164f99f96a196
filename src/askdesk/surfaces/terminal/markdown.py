"""Markdown as the parts of a page: markdown-it's tokens, with the source beside them. Raw HTML stays the text it is.

Drawings are taken from the source as they stand. No line of it is lost: what the parser swallows, such as where a link
by reference leads, is shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from askdesk.core.text import Shown, shown
from askdesk.surfaces.art import has_box, is_art, is_drawn, stays_whole
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.parts import QUOTE, Cell, Page, Part, Rule, Table, Text, address, bullet, image
from askdesk.surfaces.spans import Line, Span, Style, styled

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MOST_CELLS = 20_000
_MARKS = re.compile(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])(?:\s+|$))?")  # what opens a quote or an item
_ARROW = re.compile(r"\s*>[^\s>]")  # a quote has a blank there
_LEAVES = {"fence", "code_block", "hr", "heading_open", "table_open"}
_STYLES: dict[str, Style] = {"strong_open": "strong", "em_open": "emphasis", "s_open": "dim", "link_open": "link"}
_STRUCK = Span(Shown("~~"), "dim")  # not every terminal strikes through, and what is struck means the opposite


def markdown_parts(text: str) -> Sequence[Part]:
    """The parts of a text in markdown."""
    text = re.sub(r"\r\n?", "\n", text).strip("\n")
    source = text.split("\n")
    # The parser fills each row up with empty cells: a wide head above many short rows would be slow.
    tables = len(source) * max(line.count("|") for line in source) <= _MOST_CELLS
    return _Reader(source).parts(_parser(tables).parse(text))


@cache
def _parser(tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, as few asks have previews

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", *(["table"] if tables else [])])


class _Reader:
    """Goes through tokens and source side by side; `_line` is the first line of the source that is not on the page."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._line = 0
        self._drawn = -1  # the line after the last drawing
        self._page = Page()

    def parts(self, tokens: Iterable[Token]) -> Sequence[Part]:
        self._read(iter(tokens))
        self._reach(len(self._source))
        return self._page.parts

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
        """The source up to a line onto the page: blank lines, and what the parser swallowed."""
        for row in self._source[self._line : line]:
            self._page.add(Text(visible(_MARKS.sub("", row, count=1))))
        self._line = max(self._line, line)

    def _words(self, token: Token, inline: Token) -> None:
        begin, end = _span(token)
        lines = self._source[begin:end]
        if token.level:
            lines = _without_marks(lines, inline.content)
        if is_art([inline.content] if token.markup.startswith("#") else lines[: inline.content.count("\n") + 1]):
            self._verbatim(lines, end)
            return
        indent = Span(Shown(" " * min(len(line) - len(line.lstrip(" ")) for line in lines)))
        for spans in _inline(inline.children or (), "heading" if token.tag != "p" else ""):
            self._page.add(Text((indent, *spans) if indent.text else spans))
        self._line = end

    def _verbatim(self, lines: Iterable[str], end: int) -> None:
        for line in lines:
            self._page.add(Text(visible(line), stays_whole(line)))
        self._line = self._drawn = end

    def _code(self, token: Token) -> None:
        begin, end = _span(token)
        content = token.content.removesuffix("\n")
        if token.type == "code_block" and not token.level:  # with its indent: it may be the middle of a drawing
            content = "\n".join(self._source[begin:end])
        language, *more = token.info.split() or [""]
        if more:
            self._page.add(Text(visible(token.info.strip(), "dim")))
        for spans in highlighted(content, language):
            self._page.add(Text(styled(spans, "code"), verbatim=True))
        self._line = end

    def _rule(self, token: Token) -> None:
        begin, end = _span(token)
        below = "".join(self._source[end : end + 1])
        if begin == self._drawn or (below.strip() and is_drawn(below)):
            self._verbatim(self._source[begin:end], end)
            return
        self._page.add(Rule())
        self._line = end

    def _table(self, token: Token, inner: Iterable[Token]) -> None:
        begin, end = _span(token)
        lines = [_MARKS.sub("", line, count=1) if token.level else line for line in self._source[begin:end]]
        table = _cells(inner)
        most = max(line.replace("\\|", "").strip().strip("|").count("|") for line in lines)
        columns = len(table.rows[0])
        if columns == 1 or most >= columns or any(map(has_box, lines)):  # a frame, or cells that would not be seen
            self._verbatim(lines, end)
            return
        self._page.add(table)
        self._line = end

    def _block(self, token: Token, inner: Sequence[Token]) -> None:
        begin, end = _span(token)
        if not token.level and self._is_drawing(range(begin, end), inner):
            self._verbatim(self._source[begin:end], end)
            return
        margins = _margins(token)
        if margins:
            self._page.enter(*margins)
        self._read(iter(inner))
        while end > self._line and not _MARKS.sub("", self._source[end - 1], count=1):
            end -= 1
        self._reach(end)
        if margins:
            self._page.leave()
            self._line = max(self._line, begin + 1)  # an empty item has shown its bullet

    def _is_drawing(self, lines: Iterable[int], inner: Iterable[Token]) -> bool:
        """Whether what reads as a list or a quote is a drawing of stars, dashes or arrows."""
        known = {line for token in inner if token.type in _LEAVES for line in range(*_span(token))}
        return any(_opens_drawing(self._source[line]) for line in lines if line not in known)


def _opens_drawing(line: str) -> bool:
    words = _MARKS.sub("", line, count=1)
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


def _margins(token: Token) -> tuple[Span, Span] | None:
    match token.type:
        case "blockquote_open":
            return QUOTE, QUOTE
        case "list_item_open":
            return bullet(shown(f"{token.info}{token.markup}") if token.info else Shown("•"))
        case _:
            return None


def _cells(tokens: Iterable[Token]) -> Table:
    rows: list[list[Cell]] = []
    right: set[int] = set()
    for token in tokens:
        match token.type:
            case "tr_open":
                rows.append([])
            case "th_open" if token.attrGet("style") == "text-align:right":
                right.add(len(rows[-1]))
            case "inline":
                rows[-1].append(tuple(_inline(token.children or ())))
            case _:
                pass
    return Table(tuple(map(tuple, rows)), True, frozenset(right))


def _inline(tokens: Iterable[Token], base: Style = "") -> list[Line]:
    """What stands in a paragraph, a line for each of the source; a style of the whole goes before those of parts."""
    rows: list[list[Span]] = [[]]
    styles: list[Style] = [base]
    href = words = ""
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                rows.append([])
            case "image":
                rows[-1] += image(token.content, str(token.attrGet("src") or ""))
            case "strong_open" | "em_open" | "s_open" | "link_open":
                styles.append(base or _STYLES[token.type])
                if token.type == "link_open":
                    href, words = str(token.attrGet("href") or ""), ""
                rows[-1] += [_STRUCK] if token.type == "s_open" else []
            case "strong_close" | "em_close" | "s_close" | "link_close":
                styles.pop()
                rows[-1] += address(href, words) if token.type == "link_close" else ()
                rows[-1] += [_STRUCK] if token.type == "s_close" else []
            case kind:
                rows[-1] += visible(token.content, "code" if kind == "code_inline" else styles[-1])
                words += token.content
    return [tuple(row) for row in rows]
