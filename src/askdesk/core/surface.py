"""attend(): runs one present() against a desk. What a surface looks like is none of its business."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled
from askdesk.core.model import Ask, Reply, Settlement

Present: TypeAlias = Callable[[Ask], Awaitable[Reply | None]]
Lost: TypeAlias = Callable[[Ask, Settlement], None]
Sent: TypeAlias = Callable[[Ask, Settlement], None]


async def attend(
    desk: Desk, present: Present, *, by: str, surface: str, lost: Lost | None = None, sent: Sent | None = None
) -> None:
    """Show every open ask to one person, one at a time and oldest first, until cancelled.

    When somebody else settles the ask, `lost` is told how and `present` is cancelled; when that returns None, the ask
    stays open and is not shown again by this call.
    """
    passed: set[str] = set()
    async with desk.watch() as hints:
        while True:
            ask = await _next_open(desk, passed)
            if ask is None:
                await anext(hints)
                continue
            if await attend_one(desk, ask, present, by=by, surface=surface, lost=lost, sent=sent) is None:
                passed.add(ask.id)


async def attend_one(
    desk: Desk,
    ask: Ask,
    present: Present,
    *,
    by: str,
    surface: str,
    lost: Lost | None = None,
    sent: Sent | None = None,
    submission: str | None = None,
) -> Settlement | None:
    """Show one ask and return how it ended, here or elsewhere; None when the person left it open.

    `lost` is told when somebody else was first, `sent` when the reply made here settled it.

    Whoever must know whether it ended here gives a submission of their own and looks for it in the settlement.
    """
    presenting = asyncio.ensure_future(present(ask))
    waiting = asyncio.ensure_future(desk.wait(ask.id))
    try:
        await asyncio.wait((presenting, waiting), return_when=asyncio.FIRST_COMPLETED)
        if presenting.done():
            if (reply := presenting.result()) is None:
                return None
            return await _submit(desk, ask, reply, by, surface, lost, sent, submission or new_id())
        settlement = waiting.result()
        if settlement and lost:
            lost(ask, settlement)  # while it is still shown, so that it can say who was first before it goes
        return settlement
    finally:
        await _ended(presenting, waiting)


async def _submit(
    desk: Desk,
    ask: Ask,
    reply: Reply,
    by: str,
    surface: str,
    lost: Lost | None,
    sent: Sent | None,
    submission: str,
) -> Settlement:
    digest = ask.permission.digest if ask.permission else None
    try:
        settlement = await desk.settle(ask.id, reply, by=by, surface=surface, submission=submission, digest=digest)
    except AlreadySettled as error:
        if lost:
            lost(ask, error.settlement)
        return error.settlement
    if sent:
        sent(ask, settlement)
    return settlement


async def _next_open(desk: Desk, passed: set[str]) -> Ask | None:
    async for entry in desk.each("open"):
        if entry.ask.id not in passed:
            return entry.ask
    return None


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:  # all of them first: the wait below may itself be cancelled
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # whoever needed it has it; asyncio would warn that nobody looked
