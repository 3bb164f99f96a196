"""HTML as the parts of a page: what there is to read in it, by html.parser. Nothing is fetched or run.

Broken HTML is read as it comes: an end without a beginning is passed over, a beginning without an end lasts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import count

from askdesk.core.text import Shown, shown
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.parts import QUOTE, Cell, Part, Rule, Table, Text, address, bullet, image
from askdesk.surfaces.spans import Span, Style, styled, text_of
from askdesk.surfaces.terminal.flow import Flow

# The parser looks at all that follows for each "<" that never closes, and asserts on marked sections: it gets neither.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>]*(?:>|\Z)", re.DOTALL)
_LOOSE = re.compile(r"""<(?!/?[a-zA-Z](?:[^<>"']|"[^"<]*"|'[^'<]*')*+>)""")

_DROPPED = {"script", "style", "head", "template", "title"}
_IN_HEAD = {"meta", "link", "base", "noscript", *_DROPPED}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_APART = {*_HEADINGS, "p", "ul", "ol", "dl", "blockquote", "table", "pre", "hr", "figure", "fieldset"}
_BLOCKS = {
    *_APART,
    *("div", "section", "article", "header", "footer", "main", "nav", "aside", "form", "details", "summary", "address"),
    *("li", "dt", "dd", "tr", "caption", "figcaption", "legend", "body", "html", "center"),
}
_STYLES: Mapping[str, Style] = {
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "code"),
    "a": "link",
    **dict.fromkeys(("b", "strong", "th", "dt", "summary", "legend", "caption"), "strong"),
    **dict.fromkeys(("i", "em", "cite", "var"), "emphasis"),
    **dict.fromkeys(("del", "s", "strike", "small"), "dim"),
}
_LISTS = {"ul", "ol", "dl"}
_MARGINS = {"blockquote": (QUOTE, QUOTE), "dd": (Span(Shown("  ")), Span(Shown("  ")))}
_FIELD = "____"
_TICKS = {("checkbox", False): "[ ]", ("checkbox", True): "[x]", ("radio", False): "( )", ("radio", True): "(•)"}


def html_parts(text: str) -> Sequence[Part]:
    """The parts of a text in HTML."""
    reader = _Reader()
    reader.feed(_LOOSE.sub("&lt;", _COMMENT.sub("", text)))
    reader.close()
    return reader.parts()


class _Reader(HTMLParser):
    """Tags, and what they make of the words between them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._to = Flow()
        self._open: Counter[str] = Counter()
        self._dropped: list[str] = []
        self._boxes: list[str] = []  # lists, and what is indented
        self._lists: list[Iterator[int] | None] = []  # the numbers of the items of each
        self._pre: list[str] | None = None
        self._language = ""
        self._link = ("", 0)  # where it leads, and where its words begin in the row
        self._field = ("", 0)  # what stands in an empty one, and where it begins in the row
        self._tables = 0
        self._rows: list[list[Cell]] = []
        self._headed = False
        self._right: set[int] = set()

    def parts(self) -> Sequence[Part]:
        self._end_pre()
        self._tables = min(self._tables, 1)
        self._end_table()
        self._to.end_row()
        while self._boxes:
            self._close(self._boxes[-1])
        return self._to.page.parts

    def handle_data(self, data: str) -> None:
        if self._pre is not None:
            self._pre.append(data)
        elif not self._dropped:
            self._to.words(data, next((style for tag, style in _STYLES.items() if self._open[tag] > 0), ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._dropped == ["head"] and tag not in _IN_HEAD:  # a body ends a head that was left open
            self._dropped = []
        if self._dropped or tag in _DROPPED:
            self._dropped += [tag] if tag in _DROPPED else []
        elif self._pre is not None:
            self._pre.append(_in_pre(tag, given))
            self._language = self._language or (_language(given) if tag == "code" else "")
        else:
            self._break(tag, nested=bool(self._lists))
            self._open[tag] += 1
            self._start(tag, given)

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            if tag in self._dropped:
                del self._dropped[self._dropped.index(tag) :]
        elif self._pre is not None:
            if tag == "pre":
                self._end_pre()
        else:
            self._break(tag, nested=len(self._lists) > 1)
            self._open[tag] -= self._open[tag] > 0
            self._end(tag)

    def _break(self, tag: str, *, nested: bool) -> None:
        if tag in _BLOCKS:
            self._to.end_row()
        if tag in _APART and not (nested and tag in _LISTS):
            self._to.stand_apart()

    def _start(self, tag: str, given: Mapping[str, str]) -> None:
        match tag:
            case "br":
                self._to.break_row()
            case "hr":
                self._to.add(Rule())
                self._to.stand_apart()
            case "pre":
                self._pre, self._language = [], _language(given)
            case "ul" | "ol" | "dl" | "li" | "blockquote" | "dt" | "dd":
                self._start_box(tag, given)
            case "a":
                self._open["a"] = 1
                self._link = (given.get("href", ""), len(self._to.row))
            case "img":
                self._to.row += image(given.get("alt", ""), given.get("src", ""))
            case "button" | "textarea" | "select":
                self._put("[ ")
                self._field = (given.get("placeholder", "") or given.get("value", "") or _FIELD, len(self._to.row))
            case "option" if len(self._to.row) > self._field[1]:
                self._put(" | ")
            case "input":
                self._input(given)
            case "table" | "tr" | "td" | "th":
                self._start_table(tag, given)
            case _:
                pass

    def _end(self, tag: str) -> None:
        match tag:
            case "ul" | "ol" | "dl" | "li" | "blockquote" | "dd":
                self._close(tag)
            case "a":
                href, begin = self._link
                self._to.row += address(href, text_of(tuple(self._to.row[begin:])))
                self._link = ("", 0)
            case "button" | "textarea" | "select":
                words, begin = self._field
                self._put(" ]" if len(self._to.row) > begin else f"{words} ]")
            case "td" | "th" | "tr":
                self._end_cell()
            case "table":
                self._end_table()
            case _:
                pass

    def _put(self, words: str) -> None:
        self._to.row += visible(words)

    def _input(self, given: Mapping[str, str]) -> None:
        kind, value = given.get("type", "text").lower(), given.get("value", "")
        match kind:
            case "hidden":
                return
            case "checkbox" | "radio":
                self._put(_TICKS[kind, "checked" in given] + " ")
            case "submit" | "reset" | "button":
                self._put(f"[ {value or kind} ]")
            case "image":
                self._to.row += image(given.get("alt", ""), given.get("src", ""))
            case _:
                self._put(f"[{value or given.get('placeholder', '') + _FIELD}]")

    def _end_pre(self) -> None:
        if self._pre is not None:
            text = "".join(self._pre).replace("\r\n", "\n").removeprefix("\n").rstrip("\n")
            for spans in highlighted(text, self._language):
                self._to.add(Text(styled(spans, "code"), verbatim=True))
            self._to.stand_apart()
        self._pre = None

    def _start_box(self, tag: str, given: Mapping[str, str]) -> None:
        if self._to.cell is not None:  # a cell has no margins
            self._put("• " if tag == "li" else "")
            return
        if self._boxes and (self._boxes[-1], tag) in (("li", "li"), ("dd", "dd"), ("dd", "dt")):
            self._close(self._boxes[-1])
        if tag == "dt":
            return
        self._boxes.append(tag)
        if tag in _LISTS:
            self._lists.append(count(_number(given.get("start", ""))) if tag == "ol" else None)
        elif tag == "li":
            numbers = self._lists[-1] if self._lists else None
            self._to.enter(*bullet(shown(f"{next(numbers)}.") if numbers else Shown("•")))
        else:
            self._open["dt"] = 0
            self._to.enter(*_MARGINS[tag])

    def _close(self, tag: str) -> None:
        """Out of a box, and of those inside it that were left open."""
        while self._to.cell is None and tag in self._boxes:
            box = self._boxes.pop()
            if box in _LISTS:
                self._lists.pop()
            else:
                self._to.leave()
            if box == tag:
                return

    def _start_table(self, tag: str, given: Mapping[str, str]) -> None:
        self._open["th"] = int(tag == "th")
        if tag == "table":
            self._tables += 1
        elif self._tables != 1:  # inside a cell, where a table is rows of words
            self._put("  " if tag != "tr" and self._to.row else "")
        elif tag == "tr":
            self._end_cell()
            self._rows.append([])
        else:
            self._end_cell()
            self._rows = self._rows or [[]]
            self._headed |= tag == "th" and len(self._rows) == 1
            self._right |= {len(self._rows[-1])} if given.get("align") == "right" else set()
            self._to.cell = []

    def _end_cell(self) -> None:
        if self._tables == 1 and self._to.cell is not None:
            self._to.end_row()
            self._rows[-1].append(tuple(self._to.cell))
            self._to.cell = None

    def _end_table(self) -> None:
        self._end_cell()
        rows = tuple(tuple(row) for row in self._rows if row)
        if self._tables == 1 and rows:
            self._to.add(Table(rows, self._headed, frozenset(self._right)))
            self._to.stand_apart()
        if self._tables == 1:
            self._rows, self._headed, self._right = [], False, set()
        self._tables -= self._tables > 0


def _in_pre(tag: str, given: Mapping[str, str]) -> str:
    if tag == "img":
        return text_of(image(given.get("alt", ""), given.get("src", "")))
    return "\n" if tag == "br" else ""


def _language(given: Mapping[str, str]) -> str:
    names = (name for name in given.get("class", "").split() if name.startswith(("language-", "lang-")))
    return next(names, "").partition("-")[2]


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else 1
