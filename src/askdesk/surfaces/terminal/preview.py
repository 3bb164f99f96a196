"""An option's preview as rows for a screen: the door to plain text, markdown and HTML. Pure.

A preview is whatever an agent wrote. What is too long for a parser, or breaks one, is shown as the plain text it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from askdesk.core.model import PreviewFormat
from askdesk.core.text import Shown, is_blank
from askdesk.surfaces.highlight import visible
from askdesk.surfaces.parts import Part, Text
from askdesk.surfaces.spans import Line, Span
from askdesk.surfaces.terminal.layout import laid_out, widest
from askdesk.surfaces.texts import say

_LONGEST = 20_000  # characters that the parsers get through in a moment, whatever they are
_MOST = 100_000  # characters that anybody would read; of more a screen only says how many there are


def preview_lines(text: str, format: PreviewFormat, columns: int, *, start: int = 0) -> tuple[Line, ...]:
    """The rows of a preview, at least two columns wide; verbatim ones are scrolled to the right by a start."""
    return _lines(text, format, max(columns, 2), start, say("preview.none"))


def preview_width(text: str, format: PreviewFormat) -> int:
    """How many columns show all of the verbatim lines, which are not wrapped; 0 where there are none."""
    return widest(_parts(text, format, say("preview.none")))


@lru_cache(maxsize=16)
def _lines(text: str, format: PreviewFormat, columns: int, start: int, none: Shown) -> tuple[Line, ...]:
    return tuple(laid_out(_parts(text, format, none), columns, start))


@lru_cache(maxsize=16)
def _parts(text: str, format: PreviewFormat, none: Shown) -> Sequence[Part]:
    """What a preview is made of; `none` is said of an empty one, and keeps the languages apart in the cache."""
    if is_blank(text):
        return [Text((Span(none, "dim"),))]
    if format == "none" or len(text) > _LONGEST:
        return _plain(text)
    try:
        parts = _parsed(text, format)
    except Exception:  # noqa: BLE001 - hostile text may make a parser raise anything; the text itself can be shown
        return _plain(text)
    return parts if any(not isinstance(part, Text) or part.spans for part in parts) else _plain(text)


def _parsed(text: str, format: PreviewFormat) -> Sequence[Part]:
    """Each format's parser is loaded only where there is a preview for it: a form should be there at once."""
    if format == "markdown":
        from askdesk.surfaces.terminal.markdown import markdown_parts

        return markdown_parts(text)
    from askdesk.surfaces.terminal.html_text import html_parts

    return html_parts(text)


def _plain(text: str) -> Sequence[Part]:
    rows = text[:_MOST].replace("\r\n", "\n").rstrip("\n").split("\n")
    parts = [Text(visible(row, lines=True)) for row in rows]
    if (more := len(text) - _MOST) > 0:
        parts.append(Text((Span(say("preview.cut", count=more), "warning"),)))
    return parts
