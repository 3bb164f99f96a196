"""What may reach a screen. Agent text is hostile: only shown() makes text for one.

It cannot move the cursor, reorder, hide or pad. What would is written out as a visible escape.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NewType

Shown = NewType("Shown", str)

_MOST_MARKS = 3  # combining marks on one character; living scripts stay below, "zalgo" does not
_HIDDEN_LETTERS = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # printable by category, empty on a screen
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"
_VARIATIONS = "\ufe0e\ufe0f"
_JOINING_SCRIPTS = re.compile(r"[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff]")


def shown(text: str, *, lines: bool = False, exact: bool = False) -> Shown:
    """The text as it may be displayed.

    `lines` keeps line breaks (else they become spaces); `exact` also makes unusual blanks and tabs visible, for text
    that will run as it stands.
    """
    if text.isascii() and text.isprintable():
        return Shown(text)
    if not lines:
        text = re.sub(r"\s*[\r\n]+\s*", " ", text.strip("\r\n")) if not exact else text.replace("\n", "\\n")
    else:
        text = text.replace("\r\n", "\n") if not exact else text
    return Shown("".join(_shown_characters(text, exact=exact)))


def _shown_characters(text: str, *, exact: bool) -> list[str]:
    parts: list[str] = []
    marks = 0
    for position, character in enumerate(text):
        if " " <= character <= "~" or character == "\n":
            marks = 0
            parts.append(character)
            continue
        if _is_mark(character):
            marks += 1
            parts.append(character if marks <= _MOST_MARKS and position and not exact else _escape(character))
            continue
        marks = 0
        if character in _JOINERS or character in _VARIATIONS:
            parts.append(character if not exact and _joins(text, position) else _escape(character))
        else:
            parts.append(_shown_character(character, exact))
    return parts


@lru_cache(maxsize=4096)
def _shown_character(character: str, exact: bool) -> str:
    if character == "\t":
        return "\\t" if exact else "    "
    category = unicodedata.category(character)
    if category in _INVISIBLE or character in _HIDDEN_LETTERS:
        return _escape(character)
    if category == "Zs":  # no-break and friends: a plain blank in prose; the wide one of CJK text stays as it is
        return _escape(character) if exact else ("\u3000" if character == "\u3000" else " ")
    return character


def _is_mark(character: str) -> bool:
    return character > "\u02ff" and unicodedata.category(character) in ("Mn", "Me") and character not in _VARIATIONS


def _joins(text: str, position: int) -> bool:
    """Whether a joiner or variation selector does its lawful work: inside an emoji, or inside a joining script."""
    before = text[position - 1] if position else ""
    after = text[position + 1 : position + 2]
    if text[position] in _VARIATIONS:
        return bool(before) and _is_pictured(before)
    if _JOINING_SCRIPTS.match(before) and _JOINING_SCRIPTS.match(after):
        return True
    return text[position] == "\u200d" and (_is_pictured(before) or before in _VARIATIONS) and _is_pictured(after)


def _is_pictured(character: str) -> bool:
    return bool(character) and (unicodedata.category(character) in ("So", "Sk") or character in "#*0123456789")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def shown_json(text: str) -> Shown:
    """A JSON text of the same value, with everything that could harm a screen written as JSON escapes."""
    return Shown("".join(character if _is_harmless(character) else _json_escape(character) for character in text))


def _is_harmless(character: str) -> bool:
    return " " <= character <= "~" or character == "\n" or _shown_character(character, True) == character


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def is_blank(text: str) -> bool:
    """Nothing in it that a person could see: spaces, but also zero-width and filler characters."""
    if text.isascii():
        return not text.strip()
    return all(
        character.isspace() or character in _HIDDEN_LETTERS or unicodedata.category(character) in _INVISIBLE
        for character in text
    )


def width(text: Shown) -> int:
    """How many terminal cells a line takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character in _JOINERS or character in _VARIATIONS or _is_mark(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: Shown, cells: int) -> Shown:
    """At most so many cells, with an ellipsis where something was cut."""
    if width(text) <= cells:
        return text
    kept, used = "", 0
    for character in text:
        used += _cells(character)
        if used > cells - 1:
            break
        kept += character
    return Shown(f"{kept}…")
