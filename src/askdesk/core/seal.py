"""Secrets that all processes of a desk share, made on first use. Nobody gets them over HTTP."""

from __future__ import annotations

from secrets import token_hex

from askdesk.core.errors import VersionConflict
from askdesk.core.store import Shelf

SEAL = "seal/"


async def key(shelf: Shelf, name: str) -> bytes:
    """The secret of this name: 32 random bytes, the same for ever."""
    document = await shelf.get(f"{SEAL}{name}")
    if document is None:
        try:
            document = await shelf.put(f"{SEAL}{name}", token_hex(32), expect=0)
        except VersionConflict:  # another process was first
            return await key(shelf, name)
    assert document is not None  # noqa: S101 - a document that was written is there
    return bytes.fromhex(document.value)
