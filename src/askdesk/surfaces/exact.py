"""Values as they are: every character of them can be seen, and nothing that was not in them can be taken for it.

A text stands as it is where all of it can be seen, else as JSON. A text of several lines stands behind a margin, where
characters that cannot be seen are written out in a style of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from askdesk.core import strict
from askdesk.core.text import Shown, shown, shown_json
from askdesk.surfaces.highlight import highlighted
from askdesk.surfaces.spans import EMPTY, MARGIN, Line, Span, Style, line, split, text_of

_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_JSON_ESCAPE = re.compile(r"(\\(?:u[0-9a-f]{4}|.))")
_WIDEST_LIST = 60


def behind_margin(lines: Iterable[Line]) -> Iterator[Line]:
    """The agent's lines, which so cannot pass for the desk's."""
    return ((MARGIN, *spans) for spans in lines)


def exact_lines(text: str, language: str = "") -> list[Line]:
    """A line for each line of a text, with its unusual characters and the blanks at the end of a line made visible."""
    return [_with_visible_end(spans) for spans in highlighted(text, language, exact=True)]


def _with_visible_end(spans: Line) -> Line:
    text = text_of(spans)
    seen = text.rstrip(" ")
    if seen == text:
        return spans
    kept, blanks = split(spans, len(seen))
    return (*kept, Span(Shown("·" * len(text_of(blanks))), "escape"))


def exactly(text: str, style: Style = "") -> Line:
    """A text on one line."""
    if shown(text, exact=True) == text == text.strip() and text and not _reads_as_json(text):
        return (Span(Shown(text), style),)
    return _json_string(text, style)


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def exact_name(name: str) -> Shown:
    """A name as it is where it is a plain word, else as JSON."""
    return Shown(name) if _PLAIN_NAME.fullmatch(name) else shown_json(strict.dumps(name))


def field_lines(fields: Mapping[str, Any], comma: str = ",") -> list[Line]:
    """`name: JSON` for each field, in their order; a text of several lines stands below its name, behind a margin.

    Without the comma a line does not depend on whether another one follows.
    """
    names = ((_name(exact_name(name)), item) for name, item in fields.items())
    return [spans for name, item in names for spans in _rows(name, item, 0, comma, "")]


def value_lines(value: object) -> list[Line]:
    """Any JSON value, the same way."""
    return list(_rows(EMPTY, value, 0, ",", ""))


def _rows(name: Line, item: object, indent: int, comma: str, end: str) -> Iterator[Line]:
    start = (Span(Shown(" " * indent)), *name)
    if name and isinstance(item, str) and "\n" in item:
        yield line(*start)
        yield from (line(start[0], MARGIN, *spans) for spans in exact_lines(item))
        return
    start = (*start, Span(Shown(" "))) if name else start
    if not isinstance(item, dict | list) or _fits_a_line(item):
        yield line(*start, *_json(item), Shown(end))
        return
    opening, closing = "{}" if isinstance(item, dict) else "[]"
    yield line(*start, Shown(opening))
    members = _members(item)
    for number, (inner_name, inner) in enumerate(members, 1):
        yield from _rows(inner_name, inner, indent + 2, comma, comma if number < len(members) else "")
    yield line(start[0], Shown(f"{closing}{end}"))


def _members(item: dict[str, Any] | list[Any]) -> list[tuple[Line, Any]]:
    if isinstance(item, list):
        return [(EMPTY, inner) for inner in item]
    return [(_name(shown_json(strict.dumps(name))), inner) for name, inner in item.items()]


def _name(name: Shown) -> Line:
    return (Span(name, "name"), Span(Shown(":")))


def _fits_a_line(item: dict[str, Any] | list[Any]) -> bool:
    if isinstance(item, dict):
        return not item
    return not any(isinstance(inner, dict | list) for inner in item) and len(strict.dumps(item)) <= _WIDEST_LIST


def _json(item: object) -> Line:
    match item:
        case str():
            return _json_string(item, "string")
        case bool() | None:
            return (Span(Shown(strict.dumps(item)), "keyword"),)
        case int() | float():
            return (Span(Shown(strict.dumps(item)), "number"),)
        case list():
            parts = [part for inner in item for part in (Span(Shown(", ")), *_json(inner))]
            return (Span(Shown("[")), *parts[1:], Span(Shown("]")))
        case _:
            return (Span(shown_json(strict.dumps(item))),)


def _json_string(text: str, style: Style) -> Line:
    parts = _JSON_ESCAPE.split(shown_json(strict.dumps(text)))  # every second one is an escape
    return line(*(Span(Shown(part), "escape" if number % 2 else style) for number, part in enumerate(parts)))
