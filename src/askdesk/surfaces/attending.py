"""Whether somebody could see an ask elsewhere: inboxes leave a note on the shelf while they are open, as servers do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
from msgspec import Struct

from askdesk.core.errors import AskdeskError
from askdesk.core.process import here, is_gone
from askdesk.core.store import Shelf
from askdesk.surfaces import serving

PREFIX = "attending/"


class Attending(Struct, frozen=True, kw_only=True):
    v: int = 1
    host: str
    process: int


@asynccontextmanager
async def attending(shelf: Shelf) -> AsyncIterator[None]:
    """Let others know for as long as the block runs. A shelf that takes no note is a server's: a place itself."""
    host, process = here()
    name = f"{PREFIX}{host}/{process}"
    with suppress(AskdeskError):
        await shelf.put(name, msgspec.json.encode(Attending(host=host, process=process)).decode())
    try:
        yield
    finally:
        with suppress(AskdeskError):
            await shelf.put(name, None)


async def is_attended(shelf: Shelf) -> bool:
    """Whether a page is served or an inbox open."""
    if await serving.url(shelf) is not None:
        return True
    notes = await shelf.list(PREFIX)
    return any([await _is_open(shelf, note.name, note.value) for note in notes])


async def _is_open(shelf: Shelf, name: str, value: str) -> bool:
    try:
        note = msgspec.json.decode(value, type=Attending)
    except msgspec.MsgspecError:  # of a newer version
        return False
    if is_gone(note.host, note.process):  # it could not take its note along
        await shelf.put(name, None)
        return False
    return True
