"""Whether somebody could see an ask elsewhere: inboxes leave a note on the shelf while they are open, as servers do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError
from askdesk.core.process import SIGN_OF_LIFE, SILENT, here, is_gone
from askdesk.core.store import Document
from askdesk.surfaces import serving

PREFIX = "attending/"


class Attending(Struct, frozen=True, kw_only=True):
    v: int = 1
    host: str
    process: int
    seen: Annotated[datetime, Meta(tz=True)]


@asynccontextmanager
async def attending(desk: Desk) -> AsyncIterator[None]:
    """Let others know for as long as the block runs. A shelf that takes no note is a server's: a place itself."""
    host, process = here()
    name = f"{PREFIX}{host}/{process}"
    showing_life = asyncio.ensure_future(_show_life(desk, name))
    try:
        yield
    finally:
        showing_life.cancel()
        await asyncio.wait((showing_life,))
        with suppress(AskdeskError):
            await desk.shelf.put(name, None)


async def _show_life(desk: Desk, name: str) -> None:
    host, process = here()
    while True:
        note = Attending(host=host, process=process, seen=desk.now())
        with suppress(AskdeskError):
            await desk.shelf.put(name, msgspec.json.encode(note).decode())
        await asyncio.sleep(SIGN_OF_LIFE.total_seconds())


async def is_attended(desk: Desk) -> bool:
    """Whether a page is served or an inbox open."""
    if await serving.url(desk.shelf, desk.now()) is not None:
        return True
    return any(_is_open(document, desk.now()) for document in await desk.shelf.list(PREFIX))


def _is_open(document: Document, now: datetime) -> bool:
    try:
        note = msgspec.json.decode(document.value, type=Attending)
    except msgspec.MsgspecError:  # of a newer version
        return False
    return now - note.seen < SILENT and not is_gone(note.host, note.process)
