"""While people think about what an MCP host asked: signs of life for the host, and an end that leaves nothing open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio

from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError
from askdesk.core.model import Asker

Tell: TypeAlias = Callable[[float], Awaitable[None]]
"""Tells the host that its call is still alive: how many times by now."""

_GOODBYE_SECONDS = 3.0


@asynccontextmanager
async def telling(tell: Tell, every: float) -> AsyncIterator[None]:
    """Tell the host every so many seconds, for as long as the block runs: hosts give up on a tool that is silent."""
    going_on = asyncio.ensure_future(_keep_telling(tell, every))
    try:
        yield
    finally:
        going_on.cancel()


async def _keep_telling(tell: Tell, every: float) -> None:
    count = 0.0
    while True:
        await asyncio.sleep(every)
        with suppress(Exception):  # whoever is gone is noticed elsewhere
            await tell(count := count + 1)


async def take_back(desk: Desk, ask_id: str, asker: Asker | None = None) -> None:
    """Nobody waits for it any more, so nobody should be made to decide; an answer that was quicker is still owed."""
    with anyio.move_on_after(_GOODBYE_SECONDS, shield=True), suppress(AskdeskError):
        await desk.withdraw(ask_id, "the agent stopped waiting")
        if asker:
            await desk.delivered(ask_id, asker)
