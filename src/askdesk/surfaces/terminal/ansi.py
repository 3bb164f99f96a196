"""Lines of spans as text for a terminal that only scrolls: coloured by SGR sequences, or plain."""

from __future__ import annotations

from askdesk.surfaces.spans import Line, Style, text_of

_SGR: dict[Style, str] = {
    "dim": "2",
    "bold": "1",
    "title": "1;36",
    "tab": "1;7",
    "focus": "1;36",
    "chosen": "32",
    "key": "1",
    "good": "32",
    "warning": "33",
    "error": "1;31",
    "cursor": "7",
    "escape": "7;31",
    "added": "32",
    "removed": "31",
    "host": "1;4",
    "heading": "1;4",
    "strong": "1",
    "emphasis": "3",
    "code": "36",
    "quote": "3",
    "link": "2;4",
    "keyword": "35",
    "string": "32",
    "comment": "2;3",
    "number": "33",
    "name": "34",
}


def written(spans: Line, *, colours: bool) -> str:
    """A line without blanks at its end."""
    if not colours:
        return text_of(spans).rstrip()
    runs = (f"\x1b[{_SGR[span.style]}m{span.text}\x1b[0m" if span.style else span.text for span in spans)
    return "".join(runs).rstrip(" ")
