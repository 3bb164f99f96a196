"""An agent's markdown as HTML for the page itself: it can be read, and does nothing. Pure.

markdown-it reads it, the rules here write it, nh3 lets through what they may have written and nothing else. Links and
images are words, raw HTML is the text it is, drawings stay as they were drawn. No line of the source is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import nh3
from markupsafe import Markup

from askdesk.core.text import is_blank
from askdesk.surfaces.art import has_box, is_art, is_drawn
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.parts import address, image
from askdesk.surfaces.web.markup import CLASSES, html_lines, html_of, html_within
from askdesk.surfaces.web.plain import plain_html as plain_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST = 20_000  # characters that the parser gets through in a moment, whatever they are
_MOST_CELLS = 20_000
_MOST_BRACKETS = 3_000  # for each, the parser may look at all that follows
_COLOURED = 5_000  # characters of code, after which no further block gets colours: they take the most time
_HEADING = 3  # headings of the page that stand above those of a preview
_MARKS = re.compile(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])(?:\s+|$))?")  # what opens a quote or an item
_ARROW = re.compile(r"\s*>[^\s>]")  # a quote has a blank there
_LEAVES = {"fence", "code_block", "hr", "heading_open", "table_open"}
_ALIGNED = {"": "", **{f"text-align:{side}": f' align="{side}"' for side in ("left", "center", "right")}}
_AROUND = {"blockquote": "blockquote", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li"}

_CLEANER = nh3.Cleaner(
    tags={
        *("p", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "hr", "br", "div"),
        *("table", "thead", "tbody", "tr", "th", "td", "span", "bdi", "strong", "em", "s", "code"),
    },
    clean_content_tags=set(),
    attributes={"ol": {"start"}},
    tag_attribute_values={
        **{tag: {"dir": {"ltr", "auto"}} for tag in ("p", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "bdi")},
        **{tag: {"dir": {"auto"}, "align": {"left", "center", "right"}} for tag in ("th", "td")},
    },
    allowed_classes={
        "span": set(CLASSES.values()),
        "pre": {"lines", "code", "art"},
        "div": {"table", "info", "source"},
    },
    link_rel=None,
    url_schemes=set(),
)


def markdown_html(text: str) -> Markup:
    """A preview in markdown; what is too long for the parser, or breaks it, as the plain text it is."""
    if is_blank(text) or len(text) > _LONGEST or text.count("[") > _MOST_BRACKETS:
        return plain_html(text)
    try:
        return _cleaned(_written(text)) or plain_html(text)
    except Exception:  # noqa: BLE001 - hostile text may make a parser raise anything; the text itself can be shown
        return plain_html(text)


def _cleaned(html: str) -> Markup:
    return Markup(_CLEANER.clean(html))  # noqa: S704 - nh3 has let it through


def _written(text: str) -> str:
    text = re.sub(r"\r\n?", "\n", text).strip("\n")
    source = text.split("\n")
    # The parser fills each row up with empty cells: a wide head above many short rows would be slow.
    tables = len(source) * max(line.count("|") for line in source) <= _MOST_CELLS
    return _Writer(source).html(_parser(tables).parse(text))


@cache
def _parser(tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, as few asks have previews

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", *(["table"] if tables else [])])


class _Writer:
    """Goes through tokens and source side by side; `_line` is the first line of the source that is not on the page."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._line = 0
        self._drawing: list[str] = []  # lines that will stand in one block, however many the parser made of them
        self._coloured = 0
        self._html: list[str] = []

    def html(self, tokens: Iterable[Token]) -> str:
        self._write(iter(tokens))
        self._reach(len(self._source))
        self._end_drawing()
        return "\n".join(self._html)

    def _add(self, html: str) -> None:
        self._end_drawing()
        self._html.append(html)

    def _write(self, tokens: Iterator[Token]) -> None:
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
        """The source up to a line onto the page: what the parser swallowed, such as where a reference leads."""
        for row in self._source[self._line : line]:
            words = _MARKS.sub("", row, count=1)
            if not is_blank(words):
                self._add(f'<div class="source">{html_of(visible(words))}</div>')
            elif self._drawing:
                self._drawing.append("")
        self._line = max(self._line, line)

    def _draw(self, lines: Iterable[str], end: int) -> None:
        self._drawing += lines
        self._line = end

    def _end_drawing(self) -> None:
        drawing = "\n".join(self._drawing).rstrip("\n")
        self._drawing = []
        if drawing:
            rows = [visible(row, lines=True) for row in drawing.split("\n")]
            self._html.append(f'<pre class="lines art">{html_lines(rows)}</pre>')

    def _words(self, token: Token, inline: Token) -> None:
        begin, end = _span(token)
        lines = self._source[begin:end]
        if token.level:
            lines = _without_marks(lines, inline.content)
        if is_art([inline.content] if token.markup.startswith("#") else lines[: inline.content.count("\n") + 1]):
            self._draw(lines, end)
            return
        tag = "p" if token.tag == "p" else f"h{min(int(token.tag[1]) + _HEADING, 6)}"
        words = _inline(inline.children or ())
        self._add(words if token.hidden else _element(tag, words))
        self._line = end

    def _code(self, token: Token) -> None:
        begin, end = _span(token)
        if token.type == "code_block" and not token.level:  # with its indent: it may be the middle of a drawing
            self._draw(self._source[begin:end], end)
            return
        language, *more = token.info.split() or [""]
        if more:
            self._add(f'<div class="info">{html_of(visible(token.info.strip()))}</div>')
        rows = highlighted(token.content.removesuffix("\n"), language if self._coloured < _COLOURED else "")
        self._coloured += len(token.content)
        self._add(f'<pre class="lines code">{html_lines(rows)}</pre>')
        self._line = end

    def _rule(self, token: Token) -> None:
        begin, end = _span(token)
        below = "".join(self._source[end : end + 1])
        if (self._drawing and self._drawing[-1]) or (below.strip() and is_drawn(below)):
            self._draw(self._source[begin:end], end)
            return
        self._add("<hr>")
        self._line = end

    def _table(self, token: Token, inner: Sequence[Token]) -> None:
        begin, end = _span(token)
        lines = [_MARKS.sub("", line, count=1) if token.level else line for line in self._source[begin:end]]
        columns = sum(token.type == "th_open" for token in inner)
        most = max(line.replace("\\|", "").strip().strip("|").count("|") for line in lines)
        if columns == 1 or most >= columns or any(map(has_box, lines)):  # a frame, or cells that would not be seen
            self._draw(lines, end)
            return
        self._add(f'<div class="table"><table>{_cells(inner)}</table></div>')
        self._line = end

    def _block(self, token: Token, inner: Sequence[Token]) -> None:
        begin, end = _span(token)
        if not token.level and self._is_drawing(range(begin, end), inner):
            self._draw(self._source[begin:end], end)
            return
        tag = _AROUND[token.type.removesuffix("_open")]
        start = "".join(f' start="{number:d}"' for name, number in token.attrItems() if name == "start")
        self._add(f'<{tag}{start} dir="auto">')
        self._write(iter(inner))
        while end > self._line and not _MARKS.sub("", self._source[end - 1], count=1):
            end -= 1
        self._reach(end)
        self._add(f"</{tag}>")
        self._line = max(self._line, begin + 1)  # an empty item has its bullet

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


def _element(tag: str, html: str, align: str = "") -> str:
    return f'<{tag} dir="auto"{align}>{html}</{tag}>'


def _cells(tokens: Iterable[Token]) -> str:
    html: list[str] = []
    tag = align = ""
    for token in tokens:
        match token.type:
            case "th_open" | "td_open":
                tag, align = token.tag, _ALIGNED[str(token.attrGet("style") or "")]
            case "inline":
                html.append(_element(tag, _inline(token.children or ()), align))
            case "thead_open" | "tbody_open" | "tr_open":
                html.append(f"<{token.tag}>")
            case "thead_close" | "tbody_close" | "tr_close":
                html.append(f"</{token.tag}>")
            case _:
                pass
    return "".join(html)


def _inline(tokens: Iterable[Token]) -> str:
    """What stands in a paragraph, a line for each of the source."""
    html: list[str] = []
    href = words = ""
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                html.append("<br>\n")
            case "image":
                html.append(html_of(image(token.content, str(token.attrGet("src") or ""))))
            case "link_open":
                href, words = str(token.attrGet("href") or ""), ""
                html.append('<span class="s-link">')
            case "link_close":
                html.append(f"</span>{html_of(address(href, words))}")
            case "strong_open" | "em_open" | "s_open":
                html.append(f"<{token.tag}>")
            case "strong_close" | "em_close" | "s_close":
                html.append(f"</{token.tag}>")
            case kind:
                text = html_within(visible(token.content))
                html.append(f"<code>{text}</code>" if kind == "code_inline" else text)
                words += token.content
    return "".join(html)
