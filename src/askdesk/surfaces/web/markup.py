"""Lines of spans as HTML. Pure; knows no page and no colour: a style becomes the class `s-…`.

Text is escaped here and nowhere before, and stands in elements that keep its reading direction to themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from markupsafe import Markup, escape

from askdesk.core.text import shown_parts
from askdesk.surfaces.spans import Line, Span, Style

Direction: TypeAlias = Literal["ltr", "auto"]

CLASSES = {style: f"s-{style}" for style in get_args(Style) if style}


def html_of(spans: Line) -> Markup:
    """A line among words of ours, which it cannot reorder."""
    return _markup(f"<bdi>{html_within(spans)}</bdi>") if spans else Markup()


def html_lines(lines: Iterable[Line], direction: Direction = "ltr") -> Markup:
    """Lines for a `<pre class="lines">`, each in an element of its own.

    They read from the left, as code does whatever it begins with; `auto` is for prose.
    """
    before = f'<bdi dir="{direction}">'
    return _markup("\n".join([f"{before}{html_within(spans)}</bdi>" for spans in lines]))


def html_text(text: str) -> Markup:
    """Lines of plain text for a `<pre class="lines">`: what visible() makes of each, without a span for every run."""
    rows = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return _markup("\n".join([f'<bdi dir="auto">{_plain(row)}</bdi>' for row in rows]))


def html_within(spans: Line) -> Markup:
    """A line for an element that has a direction already."""
    return _markup("".join([_span(span) for span in spans]))


def _span(span: Span) -> str:
    if not span.style:
        return escape(span.text)
    return f'<span class="{CLASSES[span.style]}">{escape(span.text)}</span>'


def _plain(row: str) -> str:
    runs = shown_parts(row, lines=True)
    return "".join(
        [f'<span class="s-escape">{escape(run)}</span>' if escaped else escape(run) for run, escaped in runs]
    )


def _markup(html: str) -> Markup:
    return Markup(html)  # noqa: S704 - all text in it was escaped above
