"""Our entries in a text of somebody else's settings: put in, taken out, and proven to be the only change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from askdesk.cli.jsonc import Path

Entries: TypeAlias = Mapping[Path, dict[str, Any] | None]  # what should be where; None: nothing


class Format(Protocol):
    """A way to write settings down. All of it raises ValueError for a text that is not understood."""

    def entry(self, text: str, path: Any, /) -> Any:
        """What stands at the path, or None."""

    def with_entry(self, text: str, path: Any, value: Any, /) -> str:
        """The text with a value where none is yet."""

    def without_entry(self, text: str, path: Any, /, *, prune: bool) -> str:
        """The text without it; pruned, where it can be, without what held nothing else."""

    def rest(self, text: str, paths: Any, /) -> str:
        """What all the rest of it means, for a comparison."""


def edited(written: Format, text: str, entries: Entries) -> str:
    """The text with these entries and no other change; ValueError where that is not certain."""
    new = text
    for path, value in entries.items():
        new = _one(written, new, path, value)
    if written.rest(text, list(entries)) != written.rest(new, list(entries)):
        raise ValueError("the rest of it would not stay as it is")
    if any(written.entry(new, path) != value for path, value in entries.items()):
        raise ValueError("our entry would not be what it should")
    new.encode()
    return new


def _one(written: Format, text: str, path: Path, value: dict[str, Any] | None) -> str:
    if value is not None and written.entry(text, path) == value:
        return text
    text = written.without_entry(text, path, prune=value is None)
    return text if value is None else written.with_entry(text, path, value)
