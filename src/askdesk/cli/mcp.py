"""Speak the Model Context Protocol on standard input and output.

  askdesk mcp --permission-prompt

is the tool that `claude -p` asks before it runs another one: people get Claude Code's questions and permissions on
the desk, and it waits for them as long as it takes. In mcp.json:

  {"mcpServers": {"askdesk": {"command": "askdesk", "args": ["mcp", "--permission-prompt"], "timeout": 2147483647}}}

  claude -p "…" --mcp-config mcp.json --permission-prompt-tool mcp__askdesk__approve

"timeout" is in milliseconds: how long Claude Code lets one call take (here: the most it knows, 24 days). Answer with
askdesk inbox, askdesk serve or askdesk answer. When Claude Code no longer waits, the ask is withdrawn.
"""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from datetime import timedelta

from askdesk.cli.command import duration, on_desk, say
from askdesk.cli.main import ANSWERED, INVALID
from askdesk.core.desk import Desk


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--permission-prompt", action="store_true", help="be the tool of --permission-prompt-tool")
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="deny after 90s, 10m, 2h or 3d (default: wait)"
    )
    parser.add_argument("--agent", default="claude", metavar="NAME", help="who asks (default: claude)")
    parser.add_argument("--project", metavar="NAME", help="what it is about (default: this folder)")
    parser.add_argument(
        "--session",
        default=os.environ.get("CLAUDE_CODE_SESSION_ID", ""),
        metavar="ID",
        help="the agent's session (default: the one that Claude Code tells)",
    )
    parser.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="markdown", help="what the options' previews are"
    )
    parser.add_argument(
        "--progress",
        type=duration,
        default=timedelta(seconds=30),
        metavar="SPAN",
        help="how often to tell the client that a person is still waited for (default: 30s)",
    )


def run(given: Namespace) -> int:
    if not given.permission_prompt:
        return say("so far there is one way to use this: askdesk mcp --permission-prompt (--help tells how)", INVALID)

    async def prompt(desk: Desk) -> int:
        return await _prompt(desk, given)

    return on_desk(given.store, prompt, create=True)


async def _prompt(desk: Desk, given: Namespace) -> int:
    from askdesk import __version__
    from askdesk.adapters.mcp import PermissionPrompt, serve
    from askdesk.core.limits import OPEN
    from askdesk.open import asker_here, sized, this_folder
    from askdesk.settings import load

    folder = this_folder()
    prompt = PermissionPrompt(
        desk,
        asker_here(given.agent, session=given.session, project=folder if given.project is None else given.project),
        folder=folder,
        deadline=given.deadline,
        previews=given.previews,
        limits=sized(OPEN, load()),
        tell_every=given.progress.total_seconds(),
    )
    serving = asyncio.ensure_future(serve(prompt, __version__))
    for number in (signal.SIGTERM, signal.SIGINT):  # a host that ends may not close our input first
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
    return ANSWERED
