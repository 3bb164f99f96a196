"""Every word that a surface says, in each language it speaks: a folder a language, English being complete.

Values that go into a text must be Shown already, so that a screen's words and an agent's never mix unguarded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from askdesk.core.text import Shown

ENGLISH = "en"
_FOLDER = Path(__file__).parent
_spoken = ENGLISH
_spoken_here: ContextVar[str | None] = ContextVar("spoken_here", default=None)


@cache
def languages() -> tuple[str, ...]:
    """The languages that there is a folder for."""
    return tuple(sorted(path.parent.name for path in _FOLDER.glob("*/asks.toml")))


def known(language: str) -> str:
    """The language of a locale's name or a browser's; English where it is not known."""
    wanted = language.lower().replace("_", "-").split("-")[0].split(".")[0]
    return wanted if wanted in languages() else ENGLISH


def speak(language: str) -> None:
    """Say everything in this language from now on, as one terminal has one reader."""
    global _spoken
    _spoken = known(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say everything in this language for as long as the block runs, and only in this task: a page has many readers."""
    before = _spoken_here.set(known(language))
    try:
        yield
    finally:
        _spoken_here.reset(before)


def spoken() -> str:
    return _spoken_here.get() or _spoken


def say(key: str, /, **values: Shown | int) -> Shown:
    """The words for a key like `review.send`, with values in their places."""
    words = texts(spoken()).get(key) or texts(ENGLISH)[key]
    return Shown(words.format_map(values) if values else words)


@cache
def texts(language: str) -> Mapping[str, str]:
    """All texts of a language, by key."""
    return {
        f"{table}.{name}": words
        for path in sorted((_FOLDER / language).glob("*.toml"))
        for table, names in tomllib.loads(path.read_text("utf-8")).items()
        for name, words in names.items()
    }
