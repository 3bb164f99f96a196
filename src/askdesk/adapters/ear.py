"""What people tell an agent unasked, handed to it as it comes: each instruction once, again where it did not arrive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from askdesk.core.errors import AskdeskError
from askdesk.core.work import Instruction, Work

log = logging.getLogger("askdesk")

_PATIENCE = 1.0  # seconds until it is said again that an instruction arrived


async def listen(work: Work, deliver: Callable[[Instruction], Awaitable[None]], agent: str) -> None:
    """Until cancelled. What could not be delivered waits again; `agent` is who is meant in the log.

    One that waits for its turn holds up no other: a stop is heard at once. `deliver` is begun in their order.
    """
    handing: set[asyncio.Task[None]] = set()
    try:
        async for instruction in work:
            task = asyncio.ensure_future(_handed(work, instruction, deliver, agent))
            handing.add(task)
            task.add_done_callback(handing.discard)
    finally:
        left = list(handing)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _handed(
    work: Work, instruction: Instruction, deliver: Callable[[Instruction], Awaitable[None]], agent: str
) -> None:
    try:
        await deliver(instruction)
    except BaseException as error:
        await asyncio.shield(work.put_back(instruction))
        if not isinstance(error, Exception):
            raise
        log.error("an instruction did not reach %s: %s", agent, type(error).__name__)  # the run goes on
    else:
        await _said_so(work, instruction, agent)


async def _said_so(work: Work, instruction: Instruction, agent: str) -> None:
    """That it was delivered, to those who told it; again and again while the desk is away."""
    while True:
        try:
            return await work.delivered(instruction)
        except AskdeskError as error:
            log.warning("that %s has an instruction could not be said: %s", agent, error)
            await asyncio.sleep(_PATIENCE)
