"""What the values hold their texts to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import normalize

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, Problem, quoted
from askdesk.core.text import is_blank, shown

_DEEPEST = 400


def json_text(path: str, value: str | Mapping[str, Any]) -> str:
    """A JSON text as it is, or the one text of a value that was handed in."""
    if isinstance(value, str):
        return value
    try:
        return strict.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise InvalidAsk([Problem(path, "is not a JSON object")]) from None


def sound(seen: str, *texts: str) -> bool:
    """Whether these are texts without a flaw, the first not blank: the quick look that nearly always suffices."""
    try:
        together = "".join((seen, *texts))
    except TypeError:  # a caller without a type checker
        return False
    return not strict.text_flaw(together) and not is_blank(seen)


def text_problems(path: str, text: object, *, blank: bool = True) -> Iterable[Problem]:
    """Why something is not a text that can be kept and, unless `blank`, seen."""
    if not isinstance(text, str):
        return (Problem(path, f"must be text, is {quoted(text)}"),)
    if flaw := strict.text_flaw(text):
        return (Problem(path, f"{flaw}: {quoted(text)}"),)
    if not blank and is_blank(text):
        return (Problem(path, f"must not be blank, is {quoted(text)}"),)
    return ()


def object_problems(path: str, text: str) -> Iterable[Problem]:
    """Why a text is not a JSON object that means one thing."""
    try:
        # How large and how deep it may be is for the limits to say; this only bounds the recursion of readers.
        value = strict.loads(text, size=sys.maxsize, depth=_DEEPEST)
    except strict.NotStrict as error:
        return (Problem(path, str(error)),)
    return () if isinstance(value, dict) else (Problem(path, f"must be a JSON object, is {quoted(value)}"),)


_NO_FRAGMENT = re.compile(r"<(script|style|html|body)(?=[\s/>]|$)|<(!doctype)", re.IGNORECASE)


def fragment_problems(path: str, html: str) -> Iterable[Problem]:
    """Why a preview in HTML is more than a fragment of a page with inline styles."""
    if found := _NO_FRAGMENT.search(html):
        tag = (found[1] or found[2]).lower()
        yield Problem(path, f"must be an HTML fragment with inline styles: no <{tag}>, no script, style, html or body")


def likeness(text: str) -> str:
    """Equal for texts that nobody can tell apart once they are shown: blanks and the two ways of writing é aside."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join(normalize("NFC", shown(text)).split())


def repeated(path: str, field: str, texts: Iterable[object]) -> Iterable[Problem]:
    """Which texts stand there twice, as far as a person can tell."""
    first: dict[str, int] = {}
    for number, text in enumerate(texts):
        seen = first.setdefault(likeness(text), number) if isinstance(text, str) else number
        if seen != number:
            yield Problem(f"{path}[{number}].{field}", f"must be unique, repeats {path}[{seen}]: {quoted(text)}")
