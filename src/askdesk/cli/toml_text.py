"""TOML, changed where it stands: one table put in at its end or taken out, all else to the byte. Knows no host."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from askdesk.cli import jsonc

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""+'
    r"|'''.*?'''+"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}\n]"
    r"""|[^\[\]{}\n"'\#]+""",
    re.DOTALL,
)


class _Statement(NamedTuple):
    """A table's head or one of its lines, however many lines of text that takes."""

    start: int
    end: int
    text: str
    head: str


def read(text: str) -> dict[str, Any]:
    """What the text means; ValueError where it is not TOML."""
    return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))


def entry(text: str, path: Sequence[str]) -> Any:
    return jsonc.value_at(read(text), path)


def rest(text: str, paths: Sequence[Sequence[str]]) -> str:
    """What the text means without what stands at the paths, for a comparison."""
    value = read(text)
    for path in paths:
        value = jsonc.without(value, path)
    return repr(value)


def with_entry(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """A table of its own behind all others: a table's head ends whatever table stands before it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    table = [f"[{'.'.join(path)}]", *(f"{name} = {_written(each)}" for name, each in value.items())]
    before = "" if not text.strip("\ufeff") else newline if text.endswith("\n") else newline * 2
    return f"{text}{before}{newline.join(table)}{newline}"


def without_entry(text: str, path: Sequence[str], *, prune: bool) -> str:
    """Every statement that is about the path goes, and the blank line before our table's head."""
    read(text)
    for statement in reversed([each for each in _statements(text) if _is_about(each, path)]):
        start = statement.start
        if statement.text.startswith("[") and (blank := re.search(r"(?<=\n)[ \t]*\r?\n\Z", text[:start])):
            start = blank.start()
        text = text[:start] + text[statement.end :]
    return text


def _statements(text: str) -> Iterator[_Statement]:
    head, start, depth = "", 0, 0
    places = [found.span() for found in _TOKEN.finditer(text)]
    for begin, end in places:
        part = text[begin:end]
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(part, 0)
        if depth or (part != "\n" and end != len(text)):
            continue
        statement = text[start:end].strip(" \t\r\n\ufeff")
        if statement.startswith("["):
            head = statement
        if statement and not statement.startswith("#"):
            yield _Statement(start, end, statement, head)
        start = end


def _is_about(statement: _Statement, path: Sequence[str]) -> bool:
    """Each statement under its head is TOML by itself."""
    alone = statement.text if statement.text == statement.head else f"{statement.head}\n{statement.text}"
    return jsonc.value_at(_first_of_arrays(read(alone)), path) is not None


def _first_of_arrays(value: Any) -> Any:
    """A head in double brackets makes an array of tables; here it is about the same name."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _first_of_arrays(value[0])
    return {name: _first_of_arrays(each) for name, each in value.items()} if isinstance(value, dict) else value


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{name} = {_written(each)}" for name, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_written(each) for each in value)}]"
    return json.dumps(value, ensure_ascii=False)
