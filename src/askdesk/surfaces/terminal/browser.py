"""The person's browser, for what a terminal can only describe."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from askdesk.core.clock import SystemClock
from askdesk.core.store import Shelf
from askdesk.core.text import Shown, shown
from askdesk.surfaces import serving
from askdesk.surfaces.texts import say


class Visit(Struct, frozen=True):
    """The wish to see a question of an ask on the page, with its previews as they are."""

    ask_id: str
    question: int


async def visited(shelf: Shelf, wish: Visit) -> Shown:
    """Open the page there, and return what to tell the person. No text of an agent is in the address."""
    url = await serving.url(shelf, SystemClock().now())
    if url is None or not url.startswith(("http://", "https://")):
        return say("sheet.no_page")
    import webbrowser  # here, as few ask for it

    address = f"{url}/asks/{wish.ask_id}#q{wish.question}"
    opened = await asyncio.to_thread(webbrowser.open, address)
    return say("sheet.visited" if opened else "sheet.visit", url=shown(address))
