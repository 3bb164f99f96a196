"""An agent's markdown as HTML for the page itself: it can be read, and does nothing. Pure.

markdown-it reads it, the rules here write it, nh3 lets through what they may have written and nothing else. Links and
images are words, raw HTML is the text it is, drawings stay as they were drawn. No line of the source is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import nh3
from markupsafe import Markup

from askdesk.core.text import is_blank
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.markdown import Walk
from askdesk.surfaces.parts import address, image
from askdesk.surfaces.web.markup import CLASSES, html_lines, html_of, html_within
from askdesk.surfaces.web.plain import plain_html

if TYPE_CHECKING:
    from markdown_it.token import Token

_LONGEST = 20_000  # characters that the parser gets through in a moment, whatever they are
_MOST_BRACKETS = 3_000  # for each, the parser may look at all that follows
_COLOURED = 5_000  # characters of code, after which no further block gets colours: they take the most time
_HEADING = 3  # headings of the page that stand above those of a preview
_ALIGNED = {"": "", **{f"text-align:{side}": f' align="{side}"' for side in ("left", "center", "right")}}
_AROUND = {"blockquote_open": "blockquote", "bullet_list_open": "ul", "ordered_list_open": "ol", "list_item_open": "li"}

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
        return _cleaned(_Writer(text).html()) or plain_html(text)
    except Exception:  # noqa: BLE001 - hostile text may make a parser raise anything; the text itself can be shown
        return plain_html(text)


def _cleaned(html: str) -> Markup:
    return Markup(_CLEANER.clean(html))  # noqa: S704 - nh3 has let it through


class _Writer(Walk):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._drawing: list[str] = []  # lines that will stand in one block, however many the parser made of them
        self._coloured = 0
        self._html: list[str] = []

    def html(self) -> str:
        self.walk()
        self._end_drawing()
        return "\n".join(self._html)

    def _add(self, html: str) -> None:
        self._end_drawing()
        self._html.append(html)

    def drawing(self, lines: Sequence[str]) -> None:
        self._drawing += lines

    def _end_drawing(self) -> None:
        drawing = "\n".join(self._drawing).rstrip("\n")
        self._drawing = []
        if drawing:
            rows = [visible(row, lines=True) for row in drawing.split("\n")]
            self._html.append(f'<pre class="lines art">{html_lines(rows)}</pre>')

    def source(self, line: str) -> None:
        if not is_blank(line):
            self._add(f'<div class="source">{html_of(visible(line))}</div>')
        elif self._drawing:
            self._drawing.append("")

    def words(self, token: Token, inline: Token, lines: Sequence[str]) -> None:
        tag = "p" if token.tag == "p" else f"h{min(int(token.tag[1]) + _HEADING, 6)}"
        words = _inline(inline.children or ())
        self._add(words if token.hidden else _element(tag, words))

    def code(self, content: str, language: str, info: str) -> None:
        if info:
            self._add(f'<div class="info">{html_of(visible(info))}</div>')
        rows = highlighted(content, language if self._coloured < _COLOURED else "")
        self._coloured += len(content)
        self._add(f'<pre class="lines code">{html_lines(rows)}</pre>')

    def indented(self, lines: Sequence[str]) -> None:
        self.drawing(lines)

    def rule(self) -> None:
        self._add("<hr>")

    def table(self, tokens: Sequence[Token]) -> None:
        self._add(f'<div class="table"><table>{_cells(tokens)}</table></div>')

    def enter(self, block: Token) -> None:
        start = "".join(f' start="{number:d}"' for name, number in block.attrItems() if name == "start")
        self._add(f'<{_AROUND[block.type]}{start} dir="auto">')

    def leave(self, block: Token) -> None:
        self._add(f"</{_AROUND[block.type]}>")


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
