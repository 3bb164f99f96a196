"""Tell an agent at work something unasked, or to stop. It is kept, and given to the agent once.

  askdesk tell                            who is at work
  askdesk tell claude use tabs, please    by the name of an agent or a project, where only one has it
  askdesk tell 3f2a91 --stop              by the beginning of an address, or of an ask's id
  git diff | askdesk tell claude -        the words come from standard input
  askdesk tell claude                     what it was told lately, and whether it has it

An agent that is away hears it when its session comes back.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import timedelta

from askdesk.cli.command import (
    columns,
    duration,
    force_argument,
    found,
    on_desk,
    print_json,
    read_file,
    refused_to_agents,
    say,
)
from askdesk.cli.main import ANSWERED
from askdesk.core import work
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidReply, NoStore, UnknownAsk, quoted
from askdesk.core.model import Asker
from askdesk.core.work import Told, Working
from askdesk.open import name_here

_SURFACE = "command line"
_WITHIN = timedelta(seconds=3)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="an address or an ask's id, or its beginning; a name")
    parser.add_argument("words", nargs="*", metavar="WORDS", help='what to tell it; "-" is standard input')
    parser.add_argument("--stop", nargs="*", metavar="WORDS", help="tell it to stop, perhaps saying why")
    parser.add_argument("--by", metavar="NAME", help="who tells it (default: the setting `by`)")
    parser.add_argument(
        "--within",
        type=duration,
        default=_WITHIN,
        metavar="SPAN",
        help="how long to wait until it has it (default: 3s)",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    force_argument(parser)


def run(given: Namespace) -> int:
    tells = bool(given.words) or given.stop is not None
    if tells and (refused := refused_to_agents(given)) is not None:
        return refused
    if given.agent is None:
        return _list(given)

    async def tell(desk: Desk) -> int:
        asker = await _meant(desk, given.agent)
        return await _tell(desk, asker, given) if tells else await _show(desk, asker, given)

    return on_desk(given.store, tell)


def _list(given: Namespace) -> int:
    if given.stop is not None:
        raise InvalidReply("--stop comes after an AGENT; askdesk tell lists those at work")

    async def show(desk: Desk) -> int:
        return _print_agents(await desk.working(), desk, as_json=given.json)

    try:
        return on_desk(given.store, show)
    except NoStore:
        if given.store is not None:  # named, so perhaps misspelt
            raise
        return _print_agents((), None, as_json=given.json)


def _print_agents(agents: tuple[Working, ...], desk: Desk | None, *, as_json: bool) -> int:
    from msgspec import to_builtins

    from askdesk.surfaces.terminal.table import agent_table

    if as_json:
        print_json({"agents": [{"address": agent.address, **to_builtins(agent)} for agent in agents]})
    elif desk is None or not agents:
        say("no agent is at work")
    else:
        print("\n".join(agent_table(agents, desk.now(), columns())))
    return ANSWERED


async def _meant(desk: Desk, given: str) -> Asker:
    """The agent that somebody means: one at work, or the asker of an ask."""
    from askdesk.surfaces.telling import named

    agents = list(named(await desk.working(), given))
    if len(agents) > 1:
        which = ", ".join(f"{agent.address[:8]} ({agent.asker.agent}, {agent.asker.project})" for agent in agents)
        raise InvalidAsk(f"several agents at work may be {quoted(given)}: {which}")
    if agents:
        return agents[0].asker
    try:
        return (await found(desk, given)).ask.asker
    except UnknownAsk:
        raise InvalidAsk(f"no agent at work and no ask is {quoted(given)}; askdesk tell lists those at work") from None


async def _tell(desk: Desk, asker: Asker, given: Namespace) -> int:
    from askdesk.settings import load

    by = await name_here(desk, given.by or load().by)
    told = await desk.tell(asker, _words(given), stop=given.stop is not None, by=by, surface=_SURFACE)
    is_at_work = await work.at_work(desk.shelf, work.address(asker), desk.now()) is not None
    heard = await desk.heard(asker, told, timeout=given.within.total_seconds() if is_at_work else 0)
    if given.json:
        print_json(_plain(asker, Told(instruction=told, heard=heard)))
    elif heard:
        say(f"{asker.agent} has it")
    elif is_at_work:
        say(f"kept for {asker.agent}, which has not taken it yet")
    else:
        say(f"kept for {asker.agent}, which is not at work now: it waits until the session comes back")
    return ANSWERED


def _words(given: Namespace) -> str:
    words = [*given.words, *(given.stop or ())]
    if words != ["-"]:
        return " ".join(words)
    from askdesk.core.limits import OPEN

    try:
        return read_file("-", OPEN.size).decode().strip()
    except UnicodeDecodeError as error:
        raise InvalidReply(f"standard input: is not UTF-8 at byte {error.start}") from None


async def _show(desk: Desk, asker: Asker, given: Namespace) -> int:
    """What it was told lately."""
    from askdesk.surfaces.telling import by_words, state_words, what_words

    lately = await work.told(desk.shelf, work.address(asker))
    if given.json:
        print_json({"told": [_plain(asker, one) for one in lately]})
        return ANSWERED
    if not lately:
        return say(f"{asker.agent} was told nothing lately")
    now = desk.now()
    for one in lately:
        print(f"{what_words(one.instruction)} ({by_words(one.instruction, now)}; {state_words(one, now)})")
    return ANSWERED


def _plain(asker: Asker, told: Told) -> dict[str, object]:
    from msgspec import to_builtins

    return {"address": work.address(asker), **to_builtins(told)}
