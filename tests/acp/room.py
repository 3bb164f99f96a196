"""An editor and the agent in one process, with the real Claude Code, a scripted model and a desk in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acp.editor import Editor, connected
from tests.claude.cli import Claude
from tests.claude.model import ScriptedModel, Turn

from askdesk.adapters.acp import Agent
from askdesk.adapters.acp_editor import SURFACE, House
from askdesk.adapters.acp_session import How
from askdesk.core.desk import Desk
from askdesk.core.model import Ask, Entry
from askdesk.core.store import State
from askdesk.stores.memory import MemoryStore
from askdesk.surfaces.elicitation import Dialog, Guard

QUICK = Guard(0, 0)  # whatever a script does, a person has done


def house(desk: Desk, *, attended: bool = False, page: str | None = None, guard: Guard = QUICK, **more: Any) -> House:
    async def served() -> str | None:
        return page

    async def is_attended() -> bool:
        return attended

    async def where(ask: Ask) -> str:
        return "askdesk inbox"

    return House(
        by="ana",
        dialog=lambda: Dialog(desk.shelf, "ana", SURFACE, "acp", guard=guard),
        page=served,
        is_attended=is_attended,
        where=where,
        sent=guard.sent,
        left=guard.left,
        **more,
    )


async def entries(desk: Desk) -> list[Entry]:
    states: tuple[State, ...] = ("open", "settled")
    return [entry for state in states async for entry in desk.each(state)]


class Room:
    """What the model says is put to it anew by each test."""

    def __init__(self, claude: Claude, model: ScriptedModel, desk: Desk, editor: Editor) -> None:
        self.claude, self.model, self.desk, self.editor = claude, model, desk, editor

    def says(self, *turns: Turn) -> None:
        self.model._turns = iter(turns)
        self.model.requests.clear()
        self.editor.updates.clear()
        self.editor.told.clear()
        self.editor.asked.clear()
        self.editor.taken_back.clear()
        self.editor.answers.clear()

    async def last(self) -> Entry:
        """The ask that was settled last."""
        return [entry async for entry in self.desk.each("settled")][-1]


@asynccontextmanager
async def room(folder: Path, *, how: How | None = None, **more: Any) -> AsyncIterator[Room]:
    desk = Desk(MemoryStore())
    with ScriptedModel() as model, pytest.MonkeyPatch.context() as surroundings:
        claude = Claude(folder, model)
        for name, value in claude.env.items():
            surroundings.setenv(name, value)
        agent = Agent(desk, house(desk, **more), how or How(), "1")
        async with connected() as (editor, reader, writer):
            serving = asyncio.ensure_future(agent.serve(writer, reader))
            try:
                yield Room(claude, model, desk, editor)
            finally:
                await editor.leave()
                await asyncio.wait_for(serving, 10)
