"""An agent at work on the desk that the settings name, as far as its note and its ears go."""

import asyncio

from askdesk.core import work
from askdesk.core.clock import SystemClock
from askdesk.core.model import Asker
from askdesk.core.process import here
from askdesk.core.work import Instruction, Told, Work
from askdesk.open import open_desk


def at_work(agent: str, project: str, session: str = "s-1") -> Asker:
    """An agent that began to work, in this process."""
    host, process = here()
    asker = Asker(agent, session, project, host=host, process=process)

    async def begin() -> None:
        async with open_desk() as desk:
            await Work(desk.shelf, asker, SystemClock()).begin()

    asyncio.run(begin())
    return asker


def takes_all(asker: Asker) -> list[Instruction]:
    """What waits for it, which it then has."""

    async def take() -> list[Instruction]:
        async with open_desk() as desk:
            ear, taken = Work(desk.shelf, asker, SystemClock()), []
            while instruction := await ear.take():
                await ear.delivered(instruction)
                taken.append(instruction)
            return taken

    return asyncio.run(take())


def told(asker: Asker) -> tuple[Told, ...]:
    async def look() -> tuple[Told, ...]:
        async with open_desk() as desk:
            return await work.told(desk.shelf, work.address(asker))

    return asyncio.run(look())


def said(asker: Asker) -> list[tuple[str, bool, str, str]]:
    """What it was told, whether to stop, by whom and where."""
    found = [one.instruction for one in told(asker)]
    return [(one.text, one.stop, one.by, one.surface) for one in found]
