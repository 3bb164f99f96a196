"""JSON with comments and trailing commas, changed where it stands: one entry put in or taken out, all else to the byte.

Knows no host and no file. `read` says what a text means; `with_entry` and `without_entry` are texts again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Step: TypeAlias = str | tuple[str, str]  # a name in an object, or the item of an array that has this field
Path: TypeAlias = Sequence[Step]

_BLANK = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*(?:(?!\*/)[^\r\n])*\*/)*(?://[^\r\n]*)?(?=\r?\n)")
_END_OF_LINE = re.compile(r"[ \t]*\r?\n")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_INDENT = re.compile(r'^([ \t]+)(?="|[}\]])', re.MULTILINE)
_DEEPEST = 200


class Node(NamedTuple):
    """A value and where it stands."""

    value: Any
    start: int
    end: int
    children: tuple[Child, ...] = ()


class Child(NamedTuple):
    """A member of an object, which begins with its name, or an item of an array, which has none."""

    name: str
    start: int
    node: Node


def read(text: str) -> Any:
    """What the text means; ValueError where that is not certain. Nothing at all is an empty object."""
    return _root(text).value


def entry(text: str, path: Path) -> Any:
    """What stands at the path, or None."""
    return value_at(read(text), path)


def with_entry(text: str, path: Path, value: object) -> str:
    """The text with a value at a path where there is none yet. Nothing that was there is moved out of its order."""
    root = _root(text)
    if root.start == root.end:
        hand = _Hand.of(text)
        begin = hand.newline if text.strip("\ufeff \t") and not text.endswith("\n") else ""
        return f"{text}{begin}{_spread(_wrapped(path, value), '', hand)}{hand.newline}"
    node, left = root, list(path)
    while (child := _child(node, left[0])) is not None:
        node, left = child.node, left[1:]
        if not left or not isinstance(node.value, list if isinstance(left[0], tuple) else dict):
            raise ValueError(f"what should hold {path[-1]!r} is something else")
    return _first_in(text, node, left, value)


def without_entry(text: str, path: Path, *, prune: bool) -> str:
    """The text without what stands at the path, its line and its comma; pruned, without what then holds nothing."""
    node = _root(text)
    for step in path[:-1]:
        if (found := _child(node, step)) is None:
            return text
        node = found.node
    if (found := _child(node, path[-1])) is None:
        return text
    cut = _cut(text, node, found)
    is_bare = len(node.children) == 1 and not _comments_in(cut, path[:-1])
    return without_entry(cut, path[:-1], prune=True) if prune and len(path) > 1 and is_bare else cut


def rest(text: str, paths: Sequence[Path]) -> str:
    """What the text means without what stands at the paths, for a comparison."""
    value = read(text)
    for path in paths:
        value = without(value, path)
    return repr(value)


def without(value: Any, path: Path) -> Any:
    """A value without what is at the path, nor the containers that then hold nothing."""
    step = path[0]
    if isinstance(step, tuple):
        return [item for item in value if not _is_item(item, step)] if isinstance(value, list) else value
    if not isinstance(value, dict) or step not in value:
        return value
    inner = without(value[step], path[1:]) if len(path) > 1 else None
    return {name: inner if name == step else each for name, each in value.items() if name != step or inner}


def _is_item(item: object, step: tuple[str, str]) -> bool:
    return isinstance(item, Mapping) and item.get(step[0]) == step[1]


def value_at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, tuple):
            found = [item for item in value if _is_item(item, step)] if isinstance(value, list) else []
            value = found[0] if found else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _comments_in(text: str, path: Path) -> bool:
    """Whether an empty container holds somebody's comment."""
    node = _root(text)
    for step in path:
        found = _child(node, step)
        node = found.node if found else node
    return bool(text[node.start + 1 : node.end - 1].strip())


def _child(node: Node, step: Step) -> Child | None:
    if isinstance(step, tuple):
        items = node.children if isinstance(node.value, list) else ()
        return next((child for child in items if _is_item(child.node.value, step)), None)
    members = node.children if isinstance(node.value, dict) else ()
    return next((child for child in members if child.name == step), None)


class _Hand(NamedTuple):
    """How the text is written: one step of indentation, and the end of a line."""

    indent: str
    newline: str

    @classmethod
    def of(cls, text: str) -> _Hand:
        found = _INDENT.search(text)
        return cls(found[1] if found else "  ", "\r\n" if "\r\n" in text else "\n")


def _first_in(text: str, node: Node, left: Path, value: object) -> str:
    """Put in before the first child, so that nobody else's line changes: a comma is only needed after our own."""
    hand, inside = _Hand.of(text), node.start + 1
    name = "" if isinstance(left[0], tuple) else f"{json.dumps(left[0])}: "
    new = _wrapped(left[1:], value) if len(left) > 1 else value
    rest_of_line = _REST_OF_LINE.match(text, inside)
    if node.children and not rest_of_line:  # all on one line
        return f"{text[:inside]}{name}{json.dumps(new, ensure_ascii=False)}, {text[inside:]}"
    place = rest_of_line.end() if rest_of_line else inside
    if rest_of_line:
        hand = hand._replace(newline="\r\n" if text[place] == "\r" else "\n")
    outer = _indent_at(text, node.start)
    inner = _indent_at(text, node.children[0].start) if node.children else outer + hand.indent
    put = f"{hand.newline}{inner}{name}{_spread(new, inner, hand)}{',' if node.children else ''}"
    closing = "" if rest_of_line else f"{hand.newline}{outer}"
    return f"{text[:place]}{put}{closing}{text[place:]}"


def _indent_at(text: str, place: int) -> str:
    """The blanks that begin the line of this place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _wrapped(path: Path, value: object) -> Any:
    for step in reversed(path):
        value = [value] if isinstance(step, tuple) else {step: value}
    return value


def _spread(value: object, indent: str, hand: _Hand) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=hand.indent).split("\n")
    return f"{hand.newline}{indent}".join(lines)


def _cut(text: str, parent: Node, child: Child) -> str:
    """A comma after it goes along; where it is the last, the one before it does."""
    start, end = child.start, child.node.end
    after, index = _skip(text, end), parent.children.index(child)
    if text[after] == ",":
        comment = text[end:after].strip()  # between the entry and its comma
        return f"{text[:start]}{text[end:after]}{text[after + 1 :]}" if comment else _cut_lines(text, start, after + 1)
    if index:
        comma = _skip(text, parent.children[index - 1].node.end)
        text, start, end = text[:comma] + text[comma + 1 :], start - 1, end - 1
    return _cut_lines(text, start, end)


def _cut_lines(text: str, start: int, end: int) -> str:
    """Whole lines where nothing else is on them."""
    begin = text.rfind("\n", 0, start) + 1
    stop = _END_OF_LINE.match(text, end)
    if stop and not text[begin:start].strip(" \t"):
        return text[:begin] + text[stop.end() :]
    return text[:start] + text[end + (text[end : end + 1] == " ") :]


def _root(text: str) -> Node:
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return Node({}, start, start)
    node = _node(text, start, 0)
    if (end := _skip(text, node.end)) != len(text):
        raise ValueError(f"something follows its end{_at(text, end)}")
    if not isinstance(node.value, dict):
        raise ValueError("it is no object")
    return node


def _node(text: str, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    match text[start : start + 1]:
        case "{" | "[":
            return _container(text, start, depth)
        case '"':
            return Node(*_string(text, start))
        case _:
            return _scalar(text, start)


def _scalar(text: str, start: int) -> Node:
    if not (found := _SCALAR.match(text, start)):
        raise ValueError(f"a value is missing{_at(text, start)}")
    return Node(json.loads(found[0]), start, found.end())


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    children: list[Child] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != closing:
        child = _member(text, place, depth) if is_object else Child("", place, _node(text, place, depth + 1))
        if is_object and any(child.name == each.name for each in children):
            raise ValueError(f"{child.name!r} is there twice{_at(text, place)}")
        children.append(child)
        place = _skip(text, child.node.end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != closing:
            raise ValueError(f"a comma or a {closing} is missing{_at(text, place)}")
    value = {each.name: each.node.value for each in children} if is_object else [each.node.value for each in children]
    return Node(value, start, place + 1, tuple(children))


def _member(text: str, place: int, depth: int) -> Child:
    name, _, end = _string(text, place)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise ValueError(f"a colon is missing{_at(text, colon)}")
    return Child(name, place, _node(text, _skip(text, colon + 1), depth + 1))


def _string(text: str, start: int) -> tuple[str, int, int]:
    if not (found := _STRING.match(text, start)):
        raise ValueError(f"a text in quotes is missing{_at(text, start)}")
    return json.loads(found[0]), start, found.end()


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _at(text: str, place: int) -> str:
    return f", in line {text.count(chr(10), 0, place) + 1}"
