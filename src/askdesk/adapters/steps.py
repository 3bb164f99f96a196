"""What an agent does, to a program that only shows the run. Which agent it is, is not known here."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct


class Piece(Struct, frozen=True):
    """Some words of a text that is being said."""

    text: str


class Said(Struct, frozen=True):
    """A whole text."""

    text: str


class Called(Struct, frozen=True):
    tool: str
    input: dict[str, Any]


class Ended(Struct, frozen=True):
    """A run has ended: with a result, parked until somebody answers, stopped by a person, or failed."""

    how: Literal["done", "parked", "stopped", "failed"]
    text: str
    session: str


Step: TypeAlias = Piece | Said | Called | Ended
