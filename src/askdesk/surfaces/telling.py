"""What people tell agents unasked, in a few words: who works, what was told, whether it has reached them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from askdesk.core.model import Asker
from askdesk.core.text import Shown, shown
from askdesk.core.work import Instruction, Told, Working
from askdesk.surfaces.asker import age, project_name
from askdesk.surfaces.texts import say

_SHORTEST_ADDRESS = 4


def agent_words(asker: Asker) -> Shown:
    """An agent and where it works."""
    agent, project = shown(asker.agent), shown(project_name(asker))
    return say("tell.agent_in", agent=agent, project=project) if project else agent


def since_words(working: Working, now: datetime) -> Shown:
    """For how long it has been at work."""
    words = age(now - working.since)
    return say("tell.begins") if words == "now" else say("tell.since", age=Shown(words))


def what_words(instruction: Instruction) -> Shown:
    """What was told, on one line."""
    words = shown(instruction.text)
    if not instruction.stop:
        return words
    return say("tell.stop_words", words=words) if words else say("tell.stop_alone")


def state_words(told: Told, now: datetime) -> Shown:
    """Whether the agent has it."""
    return say("tell.reached", when=when_words(told.heard, now)) if told.heard else say("tell.waits")


def by_words(instruction: Instruction, now: datetime) -> Shown:
    """Who told it, where and when."""
    when = when_words(instruction.at, now)
    if not instruction.by:
        return when
    by, surface = shown(instruction.by), shown(instruction.surface)
    return say("tell.by_on", by=by, surface=surface, when=when) if surface else say("tell.by", by=by, when=when)


def kept_words(asker: Asker, instruction: Instruction) -> Shown:
    """That the desk has it, and will give it to the agent."""
    return say("tell.stop_kept" if instruction.stop else "tell.kept", agent=shown(asker.agent))


def reached_words(asker: Asker, instruction: Instruction, heard: datetime, now: datetime) -> Shown:
    """That it has reached the agent, in one sentence."""
    what, when = what_words(instruction), when_words(heard, now)
    return say("tell.has_reached", agent=shown(asker.agent), what=what, when=when)


def when_words(moment: datetime, now: datetime) -> Shown:
    """A time of day, with its day where that is not today."""
    local = moment.astimezone()
    return Shown(f"{local:%H:%M}" if local.date() == now.astimezone().date() else f"{local:%Y-%m-%d %H:%M}")


def named(agents: Iterable[Working], words: str) -> Iterator[Working]:
    """The agents that somebody may mean: by the beginning of an address, or by the name of an agent or a project."""
    for agent in agents:
        names = (agent.asker.agent, agent.asker.project, project_name(agent.asker))
        begins = len(words) >= _SHORTEST_ADDRESS and agent.address.startswith(words)
        if begins or words in filter(None, names):
            yield agent
