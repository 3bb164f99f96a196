"""A preview as the text it is: where it has no format, and where it is too much for the parser of its format. Pure."""

from __future__ import annotations

from markupsafe import Markup

from askdesk.core.text import is_blank
from askdesk.surfaces.spans import Span
from askdesk.surfaces.texts import say
from askdesk.surfaces.web.markup import html_of, html_text

_MOST = 100_000  # characters that anybody would read; of more the page only says how many there are


def plain_html(text: str) -> Markup:
    """Its lines with all their blanks; of an empty one, that it is empty."""
    if is_blank(text):
        return _note(Span(say("preview.none"), "dim"))
    whole = Markup('<pre class="lines">{}</pre>').format(html_text(text[:_MOST]))
    if (more := len(text) - _MOST) > 0:
        whole += _note(Span(say("preview.cut", count=more), "warning"))
    return whole


def _note(words: Span) -> Markup:
    return Markup("<p>{}</p>").format(html_of((words,)))
