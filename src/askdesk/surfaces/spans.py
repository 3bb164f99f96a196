"""Lines of styled spans: what a surface shows, before anything is drawn. Pure; knows no screen and no colour.

A span holds Shown text alone, so whatever reaches a screen went through shown() or the catalogue.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from askdesk.core.text import Shown

Style: TypeAlias = Literal[
    "",
    "dim",
    "bold",
    "title",  # what the desk itself says at the top
    "tab",  # the tab one is at
    "focus",  # the row one is at
    "chosen",
    "key",  # a key in the footer
    "good",
    "warning",
    "error",
    "cursor",
    "escape",  # a character made visible: \x1b is one, not four
    "added",
    "removed",
    "host",
    "heading",
    "strong",
    "emphasis",
    "code",
    "quote",
    "link",
    "keyword",
    "string",
    "comment",
    "number",
    "name",
]


class Span(NamedTuple):
    """A run of text in one style; `key` is what a click on it presses."""

    text: Shown
    style: Style = ""
    key: str = ""


Line: TypeAlias = tuple[Span, ...]

EMPTY: Line = ()

MARGIN = Span(Shown("│ "), "dim")  # before every row that begins with an agent's text: none can pass for ours


def line(*parts: Shown | Span) -> Line:
    """A line of texts and spans, without those that are empty."""
    spans = (part if isinstance(part, Span) else Span(part) for part in parts)
    return tuple(span for span in spans if span.text)


def text_of(spans: Line) -> Shown:
    """A line without its styles."""
    return Shown("".join(span.text for span in spans))


def styled(spans: Line, style: Style, key: str = "") -> Line:
    """The line with a style where it has none, and a key for clicks where it has none."""
    return tuple(Span(span.text, span.style or style, span.key or key) for span in spans)


def split(spans: Line, at: int) -> tuple[Line, Line]:
    """The first so many characters of a line, and the rest."""
    before: list[Span] = []
    after: list[Span] = []
    for span in spans:
        head, tail = span.text[: max(at, 0)], span.text[max(at, 0) :]
        at -= len(span.text)
        before += [span._replace(text=Shown(head))] if head else []
        after += [span._replace(text=Shown(tail))] if tail else []
    return tuple(before), tuple(after)
