"""What may reach a screen. Agent text is hostile: only shown() makes text for one.

It cannot move the cursor, reorder or hide. What would is written out as a visible escape.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import NewType

Shown = NewType("Shown", str)

_MOST_MARKS = 3  # combining marks on one character; living scripts stay below, "zalgo" does not
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters and marks by category, and nothing to see on a screen: fillers, free variation and variation selectors.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"
_JOINING_SCRIPTS = re.compile(r"[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff]")


def shown(text: str, *, lines: bool = False, exact: bool = False) -> Shown:
    """The text as it may be displayed.

    `lines` keeps line breaks (else they become spaces); `exact` also makes unusual blanks and tabs visible, for text
    that will run as it stands.
    """
    if text.isascii() and text.isprintable():
        return Shown(text)
    return Shown("".join(_shown_characters(text, lines=lines, exact=exact)))


def shown_parts(text: str, *, lines: bool = False, exact: bool = False) -> Iterable[tuple[Shown, bool]]:
    """What shown() gives, in runs, and whether a run is escapes: `\\x1b` as we wrote it, not as the text has it."""
    if text.isascii() and text.isprintable():
        return ((Shown(text), False),) if text else ()
    runs = groupby(_shown_characters(text, lines=lines, exact=exact), _is_escape)
    return ((Shown("".join(run)), escaped) for escaped, run in runs)


def shown_each(text: str) -> tuple[Shown, ...]:
    """Each character as shown() displays it in its place, line breaks kept; for text without carriage returns."""
    return tuple(Shown(part) for part in _shown_characters(text, lines=True, exact=False))


def _one_line(text: str) -> str:
    lines = re.split(r"[\r\n]+", text.strip("\r\n"))
    return lines[0] if len(lines) == 1 else " ".join(line.strip() for line in lines if line.strip())


def _shown_characters(text: str, *, lines: bool, exact: bool) -> list[str]:
    if not exact:
        text = text.replace("\r\n", "\n") if lines else _one_line(text)
    parts: list[str] = []
    marks = _MOST_MARKS  # so none may stand first, where there is nothing to stand on
    for position, character in enumerate(text):
        if " " <= character <= "~" or character == "\n":
            marks = _MOST_MARKS if character == "\n" else 0
            parts.append(character)
        elif character in _JOINERS or character in _SELECTORS:
            lawful = not exact and marks <= _MOST_MARKS and _joins(text, position)
            parts.append(character if lawful else _escape(character))
        elif _is_mark(character):
            marks += 1
            parts.append(character if marks <= _MOST_MARKS and not exact else _escape(character))
        else:
            marks = 0
            parts.append(_shown_character(character, exact))
    return parts if lines or not exact else ["\\n" if part == "\n" else part for part in parts]


@lru_cache(maxsize=4096)
def _shown_character(character: str, exact: bool) -> str:
    if character == "\t":
        return "\\t" if exact else "    "
    if _is_hidden(character):
        return _escape(character)
    if unicodedata.category(character) == "Zs" and character != " ":
        # No-break and friends: a plain blank in prose, where the wide one of CJK text stays as it is.
        return _escape(character) if exact else ("\u3000" if character == "\u3000" else " ")
    return character


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or bool(_FILLERS.match(character))


def _is_mark(character: str) -> bool:
    return character > "\u02ff" and unicodedata.category(character) in ("Mn", "Me") and not _FILLERS.match(character)


def _joins(text: str, position: int) -> bool:
    """Whether a joiner or selector does its lawful work: inside an emoji, or inside a script that joins its letters."""
    before, after = text[max(position - 1, 0) : position], text[position + 1 : position + 2]
    if text[position] in _SELECTORS:
        return _takes_selector(before)
    if _JOINING_SCRIPTS.match(before) and _JOINING_SCRIPTS.match(after):
        return not _is_hidden(before) and unicodedata.category(after) == "Lo"
    if before and before in _SELECTORS:
        before = text[max(position - 2, 0) : position - 1]
    return text[position] == "\u200d" and _is_symbol(before) and _is_symbol(after)


def _takes_selector(character: str) -> bool:
    return bool(character) and (character in "#*0123456789©®ℹ" or _is_symbol(character, "SP"))


def _is_symbol(character: str, classes: str = "S") -> bool:
    return character > "\u2000" and unicodedata.category(character)[0] in classes and not _is_hidden(character)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _is_escape(part: str) -> bool:
    return len(part) > 1 and part[0] == "\\"  # what was written for one character, a lone backslash being itself


def shown_json(text: str) -> Shown:
    """A JSON text of the same value, with everything that could harm a screen written as JSON escapes."""
    return Shown("".join(character if _is_harmless(character) else _json_escape(character) for character in text))


def _is_harmless(character: str) -> bool:
    if " " <= character <= "~" or character == "\n":
        return True
    return not _is_mark(character) and _shown_character(character, True) == character


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def is_blank(text: str) -> bool:
    """Nothing in it that a person could see: spaces, but also zero-width and filler characters."""
    if text.isascii():
        return not text.strip()
    return all(character.isspace() or _is_hidden(character) for character in text)


def width(text: Shown) -> int:
    """How many terminal cells a line takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character in _JOINERS or character in _SELECTORS or _is_mark(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def wrapped(line: Shown, cells: int) -> list[Shown]:
    """A line as rows of at most so many cells; the margin of each further row shows that it goes on the one above."""
    margin = " " * (len(line) - len(line.lstrip(" ")) + 2) + "| "
    rows: list[Shown] = []
    while width(line) > cells > 2 * len(margin):
        at = _fitting(line, cells)
        rows.append(Shown(line[:at]))
        line = Shown(margin + line[at:])
    return [*rows, line]


def _fitting(line: Shown, cells: int) -> int:
    """Where to break: after the last blank that leaves the row well filled, else where the row is full."""
    used, full = 0, 0
    while used + _cells(line[full]) <= cells:
        used += _cells(line[full])
        full += 1
    blank = line.rfind(" ", full * 2 // 3, full)
    return blank + 1 if blank > 0 else full


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
    return Shown(f"{kept.rstrip(_JOINERS)}…")
