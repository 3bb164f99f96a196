"""JSON that means one thing to every reader: no duplicate keys, no NaN, no lone surrogates, bounded.

Two parsers that disagree about a text are a way to show one thing and run another.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from askdesk.core.errors import quoted

SIZE = 1_000_000
DEPTH = 32

_TOO_LONG = 10**4300  # from here on Python itself will not write a number out
_NUL = "\0"
_WITH_VALUES = (dict, list, tuple)


class NotStrict(ValueError):
    """The text is not JSON that means one thing; the message says why."""


def loads(text: str | bytes, *, size: int = SIZE, depth: int = DEPTH) -> Any:
    """The value of a JSON text, or NotStrict."""
    decoded = _decoded(text, size)
    try:
        value = json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant)
    except NotStrict:
        raise
    except RecursionError:
        raise NotStrict(f"is nested deeper than {depth} levels") from None
    except json.JSONDecodeError as error:
        raise NotStrict(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # an integer of thousands of digits
        raise NotStrict("holds a number that is too long") from None
    check(value, size=size, depth=depth)
    return value


def dumps(value: object) -> str:
    """The text we write where we were handed a value instead of a text: in its own order, nothing escaped in vain."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def check(value: object, *, size: int = SIZE, depth: int = DEPTH) -> None:
    """Raise NotStrict unless the value could have come out of a strict text. Iterative: depth cannot hurt it."""
    level, items = 1, [value]
    left = size - 1  # every value takes a byte or more; one list put into itself many times over has to end somewhere
    while items:
        inside: list[object] = []
        for item in items:
            if isinstance(item, str):
                if flaw := text_flaw(item):
                    raise NotStrict(flaw)
            elif isinstance(item, _WITH_VALUES):
                if level > depth:
                    raise NotStrict(f"is nested deeper than {depth} levels")
                inner = _inside(item)
                if (left := left - len(inner)) < 0:
                    raise NotStrict(f"is longer than {size} bytes")
                inside += inner
            elif item is not None and not isinstance(item, bool):
                _check_number(item)
        level, items = level + 1, inside


def text_flaw(text: str) -> str | None:
    """What keeps a text from being stored and shown the same everywhere."""
    if _NUL in text:
        return "holds a NUL character"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds a lone surrogate"
    return None


def _decoded(text: str | bytes, size: int) -> str:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > size:
        raise NotStrict(f"is longer than {size} bytes")
    if isinstance(text, str):
        return text
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotStrict(f"is not UTF-8 at byte {error.start}") from None


def _inside(item: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> list[Any]:
    if not isinstance(item, dict):
        return list(item)
    for key in item:
        if not isinstance(key, str):
            raise NotStrict(f"has a key that is not text but {type(key).__name__}")
    return [*item.keys(), *item.values()]


def _check_number(item: object) -> None:
    if not isinstance(item, int | float):
        raise NotStrict(f"holds a {type(item).__name__}, which JSON does not have")
    if isinstance(item, float) and not math.isfinite(item):
        raise NotStrict("holds NaN or Infinity, which are not JSON")
    if abs(item) >= _TOO_LONG:
        raise NotStrict("holds a number that is too long")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise NotStrict(f"has the key {quoted(twice)} twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise NotStrict(f"holds {name}, which is not JSON")
