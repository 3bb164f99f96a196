"""Where the page is: each server leaves a note on the shelf while it runs, so that others can lead people there."""

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
from askdesk.core.store import Shelf

PREFIX = "serving/"
_LEAVING_SECONDS = 1.0  # for a store that is away just then: whoever stops a server does not wait for long

_Time = Annotated[datetime, Meta(tz=True)]


class Serving(Struct, frozen=True, kw_only=True):
    v: int = 1
    url: str
    host: str
    process: int
    since: _Time
    seen: _Time | None = None  # of an older version, which left its note once

    def is_over(self, now: datetime) -> bool:
        """Whether it ended without taking its note along; another machine can tell by its silence alone."""
        return is_gone(self.host, self.process) or bool(self.seen and now - self.seen > SILENT)


@asynccontextmanager
async def serving(desk: Desk, url: str) -> AsyncIterator[None]:
    """Let others know for as long as the block runs."""
    note = await begin(desk.shelf, url, desk.now())
    showing_life = asyncio.ensure_future(_show_life(desk, note))
    try:
        yield
    finally:
        showing_life.cancel()
        await asyncio.wait((showing_life,))
        with suppress(AskdeskError, TimeoutError):  # it will be known by its silence
            async with asyncio.timeout(_LEAVING_SECONDS):
                await desk.shelf.put(_name(note), None)


async def begin(shelf: Shelf, url: str, now: datetime) -> Serving:
    """Leave a note, and take those away that were left behind."""
    for name, left in await _kept(shelf):
        if left.is_over(now):
            await shelf.put(name, None)
    host, process = here()
    note = Serving(url=url, host=host, process=process, since=now, seen=now)
    await _write(shelf, note)
    return note


async def _show_life(desk: Desk, note: Serving) -> None:
    while True:
        await asyncio.sleep(SIGN_OF_LIFE.total_seconds())
        with suppress(AskdeskError):
            await _write(desk.shelf, msgspec.structs.replace(note, seen=desk.now()))


async def _write(shelf: Shelf, note: Serving) -> None:
    await shelf.put(_name(note), msgspec.json.encode(note).decode())


def _name(note: Serving) -> str:
    return f"{PREFIX}{note.host}/{note.process}"


async def url(shelf: Shelf, now: datetime) -> str | None:
    """The page of the server that began last; None where none runs."""
    running = [left for _, left in await _kept(shelf) if not left.is_over(now)]
    return max(running, key=lambda left: left.since).url if running else None


async def _kept(shelf: Shelf) -> list[tuple[str, Serving]]:
    found = []
    for document in await shelf.list(PREFIX):
        try:
            found.append((document.name, msgspec.json.decode(document.value, type=Serving)))
        except msgspec.MsgspecError:  # of a newer version
            continue
    return found
