"""Scripted people: each one is a `present` for attend(), or for `at_desk`.

async with at_desk(desk, answering({"Which database?": "SQLite"})):
    outcome = await desk.ask(question)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from askdesk.core.clock import Clock
from askdesk.core.desk import Desk
from askdesk.core.model import Allowed, Answered, Ask, Declined, Denied, Questions, Reply
from askdesk.core.surface import Present, attend
from askdesk.wire import tool


@asynccontextmanager
async def at_desk(desk: Desk, present: Present, *, by: str = "ana", surface: str = "script") -> AsyncIterator[None]:
    """A person who sits at the desk while the block runs."""
    block = asyncio.current_task()
    sitting = asyncio.create_task(attend(desk, present, by=by, surface=surface))
    failed = False

    def end_block(sitting: asyncio.Task[None]) -> None:
        nonlocal failed
        if block and not sitting.cancelled():  # its script failed, and whoever waits for the person would for ever
            failed = block.cancel()

    sitting.add_done_callback(end_block)
    try:
        yield
    finally:
        sitting.remove_done_callback(end_block)
        if block and failed:
            block.uncancel()
        sitting.cancel()
        with suppress(asyncio.CancelledError):
            await sitting


def answering(answers: Mapping[str, str] | Callable[[str], str | None]) -> Present:
    """Answers by rule: by question text, or what a function returns for it. What the rule leaves out is a blank."""
    rule = answers if callable(answers) else answers.get

    async def present(ask: Ask) -> Reply | None:
        if not isinstance(ask.body, Questions):
            return None
        given = {question.text: rule(question.text) for question in ask.questions}
        return tool.read(ask.body, {"answers": given}, blanks=True)

    return present


def partial() -> Present:
    """Takes the first option of the first question and leaves the others blank on purpose."""

    async def present(ask: Ask) -> Reply | None:
        if not isinstance(ask.body, Questions):
            return None
        question = ask.questions[0]
        words = question.options[0].label if question.options else question.default or f"{question.minimum or 0:g}"
        return Answered((question.read(words), *(None for _ in ask.questions[1:])))

    return present


def declining(message: str = "", *, stop: bool = False) -> Present:
    """Answers no question and allows nothing."""

    async def present(ask: Ask) -> Reply | None:
        return Denied(message, stop) if ask.permission else Declined(message, stop=stop)

    return present


def allowing() -> Present:
    """Allows every tool call as it is, and answers no question."""

    async def present(ask: Ask) -> Reply | None:
        return Allowed() if ask.permission else None

    return present


def never() -> Present:
    """Looks at every ask and says nothing, for ever."""

    async def present(ask: Ask) -> Reply | None:
        await asyncio.get_running_loop().create_future()
        return None

    return present


def late(seconds: float, present: Present, *, clock: Clock) -> Present:
    """The same person, so many seconds later."""

    async def presented(ask: Ask) -> Reply | None:
        woken = asyncio.Event()
        stop = clock.later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            stop()
        return await present(ask)

    return presented


def twice(present: Present, desk: Desk, *, by: str = "ana", surface: str = "script") -> Present:
    """Sends the same submission a second time before attend() sends it its own way: a double click, a lost reply."""

    async def send(ask: Ask, reply: Reply, digest: str | None) -> None:
        for _ in range(2):
            await desk.settle(ask.id, reply, by=by, surface=surface, submission="double click", digest=digest)

    async def presented(ask: Ask) -> Reply | None:
        reply = await present(ask)
        if reply is not None:
            digest = ask.permission.digest if ask.permission else None
            sending = asyncio.ensure_future(send(ask, reply, digest))
            try:
                await asyncio.shield(sending)
            finally:
                await sending  # attend() takes the screen away after the first; the second is on its way all the same
        return reply

    return presented
