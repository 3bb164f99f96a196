"""Markdown as the parts of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from askdesk.core.text import Shown, shown
from askdesk.surfaces.art import stays_whole
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.markdown import Walk
from askdesk.surfaces.parts import QUOTE, Cell, Page, Part, Rule, Table, Text, address, bullet, image
from askdesk.surfaces.spans import Line, Span, Style, styled

if TYPE_CHECKING:
    from markdown_it.token import Token

_STYLES: dict[str, Style] = {"strong_open": "strong", "em_open": "emphasis", "s_open": "dim", "link_open": "link"}
_STRUCK = Span(Shown("~~"), "dim")  # not every terminal strikes through, and what is struck means the opposite


def markdown_parts(text: str) -> Sequence[Part]:
    """The parts of a text in markdown."""
    reader = _Reader(text)
    reader.walk()
    return reader.page.parts


class _Reader(Walk):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.page = Page()

    def drawing(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.page.add(Text(visible(line), stays_whole(line)))

    def source(self, line: str) -> None:
        self.page.add(Text(visible(line)))

    def words(self, token: Token, inline: Token, lines: Sequence[str]) -> None:
        indent = Span(Shown(" " * min(len(line) - len(line.lstrip(" ")) for line in lines)))
        for spans in _inline(inline.children or (), "heading" if token.tag != "p" else ""):
            self.page.add(Text((indent, *spans) if indent.text else spans))

    def code(self, content: str, language: str, info: str) -> None:
        if info:
            self.page.add(Text(visible(info, "dim")))
        for spans in highlighted(content, language):
            self.page.add(Text(styled(spans, "code"), verbatim=True))

    def indented(self, lines: Sequence[str]) -> None:
        self.code("\n".join(lines), "", "")

    def rule(self) -> None:
        self.page.add(Rule())

    def table(self, tokens: Sequence[Token]) -> None:
        self.page.add(_cells(tokens))

    def enter(self, block: Token) -> None:
        if margins := _margins(block):
            self.page.enter(*margins)

    def leave(self, block: Token) -> None:
        if _margins(block):
            self.page.leave()


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
