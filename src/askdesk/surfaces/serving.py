"""Where the page is: each server leaves a note on the shelf while it runs, so that others can lead people there."""

from __future__ import annotations

import os
import socket
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from askdesk.core.model import Asker
from askdesk.core.store import Shelf
from askdesk.surfaces.asker import is_gone

PREFIX = "serving/"


class Serving(Struct, frozen=True, kw_only=True):
    v: int = 1
    url: str
    host: str
    process: int
    since: Annotated[datetime, Meta(tz=True)]

    @property
    def is_over(self) -> bool:
        """Whether it ended without taking its note along; only its own machine can tell."""
        return is_gone(Asker(host=self.host, process=self.process))


async def begin(shelf: Shelf, url: str, now: datetime) -> str:
    """Leave a note, and return its name."""
    for name, serving in await _kept(shelf):
        if serving.is_over:
            await shelf.put(name, None)
    serving = Serving(url=url, host=socket.gethostname(), process=os.getpid(), since=now)
    name = f"{PREFIX}{serving.host}/{serving.process}"
    await shelf.put(name, msgspec.json.encode(serving).decode())
    return name


async def end(shelf: Shelf, name: str) -> None:
    await shelf.put(name, None)


async def url(shelf: Shelf) -> str | None:
    """The page of the server that began last; None where none runs."""
    running = [serving for _, serving in await _kept(shelf) if not serving.is_over]
    return max(running, key=lambda serving: serving.since).url if running else None


async def _kept(shelf: Shelf) -> list[tuple[str, Serving]]:
    found = []
    for document in await shelf.list(PREFIX):
        try:
            found.append((document.name, msgspec.json.decode(document.value, type=Serving)))
        except msgspec.MsgspecError:  # of a newer version
            continue
    return found
