"""Settles what is due as expired, also where nobody waits for it, lists it or comes back. Knows no HTTP."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError

_LOOK_SECONDS = 1.0  # of an index that holds open deadlines alone: to look costs nothing, whatever the desk holds


async def keep(desk: Desk) -> None:
    """Until it is cancelled; a store that is away for a while is looked at again."""
    while True:
        with suppress(AskdeskError):  # every verb that fails the same way says so
            await desk.store.expire(desk.now())
        await asyncio.sleep(_LOOK_SECONDS)
