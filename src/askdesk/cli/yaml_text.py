"""YAML, changed where it stands: one entry put into a mapping at the margin or taken out, all else to the byte.

There is no YAML library here, so this reads lines and refuses what it cannot be certain of: a text is understood when
every line at the margin is a name, an item or a comment, and no line leaves a quote or a bracket open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_NAME = r"""(?:"[^"\\]*"|'[^']*'|[A-Za-z_<][\w./ <-]*)"""
_LINE = re.compile(rf"(?P<indent> *)(?P<item>(?:- +)*(?:-$)?)(?:(?P<name>{_NAME})\s*:(?=\s|$))?\s*(?P<value>.*)")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?")
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
_FLOW = rf"""[\[{{](?:{_QUOTED}|[^"'\[\]{{}}])*[\]}}]"""
_CLOSED = re.compile(rf"(?:{_QUOTED}|{_FLOW})\s*(?:#.*)?")
_NOTHING = re.compile(r"(?P<empty>\{\s*\}|~|null)?(?P<comment>\s*(?:#.*)?)")


class _Line(NamedTuple):
    """A line that says something. Its name is "" where it has none."""

    number: int
    indent: int
    is_item: bool
    name: str
    value: str


class _Place(NamedTuple):
    """Where a mapping is, its children, and which lines are the entry's: from `start` up to `end`."""

    mapping: _Line | None = None
    children: tuple[_Line, ...] = ()
    start: int = 0
    end: int = 0


def entry(text: str, path: Sequence[str]) -> dict[str, Any] | None:
    """What stands at the path, of what programs write there: texts, numbers, lists of texts."""
    place = _place(text, path)
    if not place.end:
        return None
    own = [line for line in _lines(text) if place.start < line.number < place.end]
    found: dict[str, Any] = {}
    name = ""
    for line in own:
        if line.is_item and isinstance(found.get(name), list):
            found[name].append(_read(line.value))
        elif line.name and line.indent == own[0].indent:
            name = line.name
            found[name] = _read(line.value) if line.value else []
    return found


def rest(text: str, paths: Sequence[Sequence[str]]) -> str:
    """The text without what stands at the paths, nor an empty mapping that held it, for a comparison."""
    for path in paths:
        text = without_entry(text, path, prune=False)
        place = _place(text, path)
        if place.mapping and not place.children:
            lines = text.splitlines(keepends=True)
            text = "".join([*lines[: place.mapping.number], *lines[place.mapping.number + 1 :]])
    return text.rstrip()


def with_entry(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Put in before the first child, so that it follows a line that is known."""
    place = _place(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = " " * (place.children[0].indent if place.children else 2)
    own = [f"{indent}{path[1]}:", *(f"{indent}  {name}: {_written(each)}" for name, each in value.items())]
    block = "".join(f"{line}{newline}" for line in own)
    if place.mapping is None:
        begin = newline if text.strip("\ufeff") and not text.endswith("\n") else ""
        return f"{text}{begin}{path[0]}:{newline}{block}"
    lines = text.splitlines(keepends=True)
    at = place.mapping.number
    comment = _NOTHING.fullmatch(place.mapping.value)
    lines[at] = f"{path[0]}:{comment['comment'] if comment else ''}{newline}" if not place.children else lines[at]
    return "".join([*lines[: at + 1], block, *lines[at + 1 :]])


def without_entry(text: str, path: Sequence[str], *, prune: bool) -> str:
    """The text without the lines of the entry; a mapping that is then empty says so, and stays."""
    place = _place(text, path)
    if not place.end or place.mapping is None:
        return text
    lines = text.splitlines(keepends=True)
    at = place.mapping.number
    if len(place.children) == 1:
        lines[at] = re.sub(rf"\A({_NAME}\s*:)", r"\1 {}", lines[at])
    return "".join([*lines[: place.start], *lines[place.end :]])


def _place(text: str, path: Sequence[str]) -> _Place:
    lines = list(_lines(text))
    mappings = [line for line in lines if line.indent == 0 and not line.is_item and line.name == path[0]]
    if not mappings:
        return _Place()
    mapping = mappings[0]
    inside = _inside(lines, mapping)
    children = tuple(line for line in inside if line.indent == inside[0].indent)
    found = _NOTHING.fullmatch(mapping.value)
    if len(mappings) > 1 or not found or (found["empty"] and inside) or not all(line.name for line in children):
        raise ValueError(f"{path[0]} is not one mapping with a name a line")
    own = [line for line in children if line.name == path[1]]
    if len(own) > 1:
        raise ValueError(f"{path[1]!r} is there twice, in lines {own[0].number + 1} and {own[1].number + 1}")
    if not own:
        return _Place(mapping, children)
    return _Place(mapping, children, own[0].number, max([own[0], *_inside(lines, own[0])]).number + 1)


def _inside(lines: Sequence[_Line], line: _Line) -> list[_Line]:
    """The lines that belong to one: all that follow and are further in."""
    inside = []
    for each in lines[lines.index(line) + 1 :]:
        if each.indent <= line.indent:
            break
        inside.append(each)
    return inside


def _lines(text: str) -> Iterator[_Line]:
    """Each line that says something; ValueError where that cannot be told from the line alone."""
    block: int | None = None  # how far in the text began that is now quoted line by line
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines()):
        line = raw.rstrip()
        indent = len(line) - len(line.lstrip(" "))
        if not line or (block is not None and indent > block):
            continue
        block = None
        if line.lstrip().startswith("#") or (line == "---" and not text[: text.index("---")].strip("\ufeff \r\n")):
            continue
        read = _line(number, line)
        if _BLOCK.fullmatch(read.value):
            block = read.indent
        yield read


def _line(number: int, line: str) -> _Line:
    found = _LINE.fullmatch(line)
    if not found or "\t" in line[: len(line) - len(line.lstrip())]:
        raise ValueError(f"line {number + 1} is not understood")
    value, name = found["value"], (found["name"] or "").strip("\"'")
    is_lost = not found["indent"] and not found["item"] and not name
    if is_lost or value[:1] in ("&", "!") or (value[:1] in ("'", '"', "[", "{") and not _CLOSED.fullmatch(value)):
        raise ValueError(f"line {number + 1} is not understood")
    return _Line(number, len(found["indent"]) + (1 if found["item"] else 0), bool(found["item"]), name, value)


def _read(value: str) -> Any:
    """A text, a number or a list, as JSON or as plain words."""
    try:
        return json.loads(value)
    except ValueError:
        return value[1:-1].replace("''", "'") if value[:1] == "'" == value[-1:] else value


def _written(value: object) -> str:
    """JSON is YAML too, where all of it can be seen."""
    written = json.dumps(value, ensure_ascii=False)
    if not written.isprintable():
        raise ValueError(f"{written} cannot be written there")
    return written
