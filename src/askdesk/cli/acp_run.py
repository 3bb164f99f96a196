"""`askdesk acp --run`: an agent of ACP as a process of ours, its asks on this terminal and everywhere else."""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import ArgumentParser, Namespace
from contextlib import aclosing

from askdesk.adapters.threads import is_cancelled
from askdesk.cli import run_screen
from askdesk.cli.command import on_desk, say
from askdesk.cli.main import FAILED, INVALID
from askdesk.cli.run_screen import RunScreen
from askdesk.core.desk import Desk
from askdesk.core.errors import AgentFailed, MissingGuest


def arguments(parser: ArgumentParser) -> None:
    under = parser.add_argument_group("to run an agent under the desk")
    under.add_argument("prompt", nargs="?", metavar="PROMPT")
    under.add_argument("--run", metavar="COMMAND", help="the agent: a command that speaks ACP")
    run_screen.arguments(under)


def run(given: Namespace) -> int:
    if not given.run:
        return say("--run: needs the command of an agent that speaks ACP", INVALID)
    prompt = run_screen.prompt(given, "the agent")
    if prompt is None and not given.stay:
        return say("PROMPT: must not be left out without --stay: what should the agent do?", INVALID)
    if given.folder and not os.path.isdir(given.folder):
        return say(f"--folder: there is no folder {given.folder}", INVALID)

    async def work(desk: Desk) -> int:
        running = asyncio.ensure_future(_ended(desk, given, prompt))
        for number in (signal.SIGTERM, signal.SIGHUP):  # so that the agent never outlives us
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        try:
            return await running
        except asyncio.CancelledError:
            if is_cancelled():  # by Ctrl-C
                raise
            return say("stopped", FAILED)

    return on_desk(given.store, work, create=True)


async def _ended(desk: Desk, given: Namespace, prompt: str | None) -> int:
    try:
        from askdesk.adapters.acp_client import under_desk
    except MissingGuest as error:
        return say(str(error), FAILED)
    screen = RunScreen(desk, given, "the agent", "askdesk acp --run … --resume")
    how = {"folder": given.folder, "agent": given.agent, "resume": given.resume, "deadline": given.deadline}
    try:
        async with screen.printing(), under_desk(desk, given.run, show=screen.show, **how) as agent:
            async with aclosing(agent.run(prompt, stay=given.stay)) as steps:
                async for step in steps:
                    screen.put(step)
            await screen.printed()
    except AgentFailed as error:
        return say(f"the agent: {error}", FAILED)
    return screen.told()
