"""What the page shows of agents at work and of what they were told, as values for its templates. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from askdesk.core.model import Asker
from askdesk.core.text import Shown, shown
from askdesk.core.work import Told, Working
from askdesk.surfaces.asker import project_name
from askdesk.surfaces.telling import by_words, since_words, state_words

_LATELY = 20


class AgentRow(NamedTuple):
    """An agent in the list."""

    address: str
    agent: Shown
    project: Shown
    since: Shown


class ToldRow(NamedTuple):
    """Something that it was told."""

    text: str
    stop: bool
    by: Shown
    at: datetime
    state: Shown
    waits: bool


class Telling(NamedTuple):
    """The box in which an agent is told something, and what it was told lately."""

    address: str
    asker: Asker | None  # None where it is away, and nobody knows who it was
    since: Shown
    told: tuple[ToldRow, ...]
    given: str  # the proof that this reader was given the box
    submission: str
    text: str = ""
    problem: str = ""
    ask: str = ""  # the ask beside which the box stands

    @property
    def waits(self) -> bool:
        return any(row.waits for row in self.told)


def agent_row(working: Working, now: datetime) -> AgentRow:
    asker = working.asker
    return AgentRow(working.address, shown(asker.agent), shown(project_name(asker)), since_words(working, now))


def told_rows(told: Iterable[Told], now: datetime) -> tuple[ToldRow, ...]:
    """The latest first."""
    rows = [
        ToldRow(
            one.instruction.text,
            one.instruction.stop,
            by_words(one.instruction, now),
            one.instruction.at,
            state_words(one, now),
            one.heard is None,
        )
        for one in told
    ]
    return tuple(rows[: -_LATELY - 1 : -1])
