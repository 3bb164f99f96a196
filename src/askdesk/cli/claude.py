"""Run Claude with a desk: it asks, people answer here or on any surface, and can tell it something while it works.

PROMPT is what to do; "-" or nothing reads it from standard input. On a terminal its words are printed as it says them;
in a pipe the result alone.

  askdesk claude "Add a health check to the service"
  askdesk claude --surface none --park-after 5m "Port the tests"
                                   ends with 7 where nobody answers in time; nothing runs meanwhile
  askdesk claude --resume SESSION  goes on where that was parked, with the answer given since
  askdesk claude --stay "Keep the changelog up to date"
                                   goes on with whatever people tell it: askdesk tell, the inbox, the page

Needs `pip install 'askdesk[claude]'` and what Claude Code itself needs, such as ANTHROPIC_API_KEY. Ctrl-C ends the run
and withdraws what it asked.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import Any

from askdesk.cli import run_screen
from askdesk.cli.command import duration, on_desk, say
from askdesk.cli.main import FAILED, INVALID
from askdesk.cli.run_screen import RunScreen
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, MissingGuest

_MODES = ("default", "acceptEdits", "plan", "auto")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", metavar="PROMPT")
    parser.add_argument(
        "--park-after", type=duration, metavar="SPAN", help="end while a question waits longer than this"
    )
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="let each ask expire after 90s, 10m, 2h or 3d"
    )
    run_screen.arguments(parser)
    parser.add_argument("--model", metavar="NAME", help="which model")
    parser.add_argument("--permission-mode", choices=_MODES, metavar="MODE", help=f"one of {', '.join(_MODES)}")
    parser.add_argument("--tools", metavar="NAMES", help="only these tools, and AskUserQuestion; parted by commas")
    parser.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="none", help="let options have previews"
    )
    parser.add_argument("--agent", default="claude", metavar="NAME", help="how people know it")


def run(given: Namespace) -> int:
    prompt = run_screen.prompt(given, "Claude")
    if given.folder and not os.path.isdir(given.folder):
        return say(f"--folder: there is no folder {given.folder}", INVALID)

    async def work(desk: Desk) -> int:
        return await _ended(desk, given, prompt)

    return on_desk(given.store, work, create=True)


async def _ended(desk: Desk, given: Namespace, prompt: str | None) -> int:
    try:
        from askdesk.adapters.claude_sdk import ClaudeDesk
        from askdesk.adapters.claude_steps import steps
    except MissingGuest as error:
        return say(str(error), FAILED)
    screen = RunScreen(desk, given, "Claude Code", "askdesk claude --resume")
    try:
        async with screen.printing():
            options = _options(given, streamed=screen.is_read)
            async with ClaudeDesk(desk, options, show=screen.show, **_desk_options(given)) as claude:
                async for message in claude.run(prompt, stay=given.stay):
                    for step in steps(message):
                        screen.put(step)
                await screen.printed()
    except AskdeskError:
        raise
    except Exception as error:  # noqa: BLE001 - the SDK's have no common root
        return say(f"Claude Code: {(str(error) or type(error).__name__).splitlines()[0]}", FAILED)
    return screen.told()


def _options(given: Namespace, *, streamed: bool) -> Any:
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(
        cwd=given.folder or os.getcwd(),
        model=given.model,
        permission_mode=given.permission_mode,
        resume=given.resume,
        tools=given.tools.split(",") if given.tools else None,
        include_partial_messages=streamed,
        setting_sources=["user", "project", "local"],
    )


def _desk_options(given: Namespace) -> dict[str, Any]:
    return {
        "agent": given.agent,
        "previews": given.previews,
        "deadline": given.deadline,
        "park_after": given.park_after,
    }
