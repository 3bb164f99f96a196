"""Every word that the terminal says, in each language it speaks: one TOML file a language, English being complete.

Values that go into a text must be Shown already, so that a screen's words and an agent's never mix unguarded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from askdesk.core.text import Shown

ENGLISH = "en"
_FOLDER = Path(__file__).parent
_spoken = ENGLISH


def languages() -> tuple[str, ...]:
    """The languages that there is a file for."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def speak(language: str) -> None:
    """Say everything in this language from now on, as one terminal has one reader; English where it is not known."""
    global _spoken
    wanted = language.lower().replace("_", "-").split("-")[0].split(".")[0]
    _spoken = wanted if wanted in languages() else ENGLISH


def say(key: str, /, **values: Shown | int) -> Shown:
    """The words for a key like `review.send`, with values in their places."""
    words = texts(_spoken).get(key) or texts(ENGLISH)[key]
    return Shown(words.format_map(values) if values else words)


@cache
def texts(language: str) -> Mapping[str, str]:
    """All texts of a language, by key."""
    tables: dict[str, Any] = tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
    return {f"{table}.{name}": words for table, names in tables.items() for name, words in names.items()}
