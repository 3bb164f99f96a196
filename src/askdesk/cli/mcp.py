"""Speak the Model Context Protocol on standard input and output, for any agent host.

  askdesk mcp

gives the host's agent four tools: ask_user_question, ask_permission, and for those who go on working
ask_without_waiting and collect_answers. What it asks is shown in the host's own dialog, where it has one, and on the
desk (askdesk inbox, askdesk serve, askdesk answer); the first answer wins. `askdesk install NAME` writes the host's
configuration; by hand it is most often

  {"mcpServers": {"askdesk": {"command": "askdesk", "args": ["mcp"]}}}

  askdesk mcp --permission-prompt

is the tool that `claude -p` asks before it runs another one. In mcp.json:

  {"mcpServers": {"askdesk": {"command": "askdesk", "args": ["mcp", "--permission-prompt"], "timeout": 2147483647}}}

  claude -p "…" --mcp-config mcp.json --permission-prompt-tool mcp__askdesk__approve

"timeout" is in milliseconds: how long Claude Code lets one call take (here: the most it knows, 24 days). When Claude
Code no longer waits, the ask is withdrawn.
"""

from __future__ import annotations

import asyncio
import os
import signal
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from askdesk.cli.command import duration, on_desk, say
from askdesk.cli.main import ANSWERED, INVALID
from askdesk.core.desk import Desk
from askdesk.core.model import Asker

if TYPE_CHECKING:
    from askdesk.adapters.mcp_dialog import HostDialog, Place
    from askdesk.adapters.mcp_tools import DeskTools
    from askdesk.settings import Settings


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--permission-prompt", action="store_true", help="be the tool of --permission-prompt-tool")
    parser.add_argument("--no-dialog", action="store_true", help="ask at the desk alone, not in the host's dialog")
    parser.add_argument(
        "--notes", action="store_true", help="let people put a note to each answer in the host's dialog"
    )
    parser.add_argument(
        "--limit",
        type=duration,
        metavar="SPAN",
        help="how long the host lets a call take (default: the setting `host.seconds`, or what is known of the host)",
    )
    parser.add_argument(
        "--deadline",
        type=duration,
        metavar="SPAN",
        help="let each ask expire after 90s, 10m, 2h or 3d (default: never)",
    )
    parser.add_argument("--agent", metavar="NAME", help="who asks (default: the host's name; claude for the prompt)")
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
        default=timedelta(seconds=15),
        metavar="SPAN",
        help="how often to tell the host that a person is still waited for (default: 15s)",
    )


def run(given: Namespace) -> int:
    misplaced = [name for name in ("no_dialog", "notes", "limit") if getattr(given, name)]
    if given.permission_prompt and misplaced:
        return say(f"--{misplaced[0].replace('_', '-')} does not go with --permission-prompt", INVALID)

    async def serve(desk: Desk) -> int:
        return await (_prompt(desk, given) if given.permission_prompt else _tools(desk, given))

    return on_desk(given.store, serve, create=True)


async def _prompt(desk: Desk, given: Namespace) -> int:
    from askdesk import __version__
    from askdesk.adapters.mcp import prompt_server, serve
    from askdesk.adapters.mcp_prompt import PermissionPrompt
    from askdesk.core.limits import OPEN
    from askdesk.open import sized, this_folder
    from askdesk.settings import load

    prompt = PermissionPrompt(
        desk,
        _asker(given, "claude"),
        folder=this_folder(),
        deadline=given.deadline,
        previews=given.previews,
        limits=sized(OPEN, load()),
        tell_every=given.progress.total_seconds(),
    )
    return await _until_gone(serve(prompt_server(prompt, version=__version__)))


async def _tools(desk: Desk, given: Namespace) -> int:
    from askdesk import __version__
    from askdesk.adapters.mcp import serve, tool_server
    from askdesk.settings import load

    tools = await _desk_tools(desk, given, load())

    async def the_same(_: object) -> DeskTools:
        return tools

    def end() -> None:
        tools.is_ending = True

    server = tool_server(the_same, tools.tools, version=__version__, key=await _seal(desk, load()))
    return await _until_gone(serve(server, end), end)


async def _desk_tools(desk: Desk, given: Namespace, settings: Settings) -> DeskTools:
    from askdesk.adapters.mcp_tools import DeskTools
    from askdesk.core.limits import OPEN
    from askdesk.open import sized

    return DeskTools(
        desk,
        lambda host: _asker(given, host or "mcp host"),
        await _place(desk, given, settings),
        limits=sized(OPEN, settings),
        previews=given.previews,
        deadline=given.deadline,
        seconds=given.limit.total_seconds() if given.limit else settings.host_seconds or None,
        tell_every=given.progress.total_seconds(),
    )


async def _place(desk: Desk, given: Namespace, settings: Settings) -> Place:
    """Where people are: in the host's dialog, unless they may not answer here; on a page; at an inbox."""
    from askdesk.adapters.mcp_dialog import Place
    from askdesk.open import answered_at, name_here
    from askdesk.surfaces import serving
    from askdesk.surfaces.attending import is_attended
    from askdesk.surfaces.elicitation import Dialog, Guard
    from askdesk.surfaces.texts import speak
    from askdesk.wire import mcp as wire

    speak(settings.language)
    server = getattr(desk.store, "url", None)  # of a desk elsewhere, whose page is a place to answer by itself
    by = await name_here(desk, settings.by)
    guard = Guard(left=settings.dialog_seconds)

    def dialog(host: str) -> HostDialog:
        known = wire.host(host)
        surface = f"{host or 'host'} dialog"
        return Dialog(desk.shelf, by, surface, known.dialect, notes=given.notes, guard=guard, lines=known.lines)

    async def page() -> str | None:
        return server or await serving.url(desk.shelf, desk.now())

    async def attended() -> bool:
        return server is not None or await is_attended(desk)

    return Place(None if given.no_dialog or answered_at(desk) else dialog, page, attended)


async def _seal(desk: Desk, settings: Settings) -> bytes:
    """What seals a dialog's state: kept with the desk, so that it holds after a restart."""
    from hashlib import sha256

    from askdesk.core.seal import key

    if settings.token and getattr(desk.store, "url", None):  # the shelf of a desk elsewhere has no secrets for askers
        return sha256(f"askdesk mcp state {settings.token}".encode()).digest()
    return await key(desk.shelf, "mcp")


def _asker(given: Namespace, host: str) -> Asker:
    from askdesk.open import asker_here, this_folder

    project = this_folder() if given.project is None else given.project
    return asker_here(given.agent or host, session=given.session, project=project)


async def _until_gone(serving: Any, end: Any = lambda: None) -> int:
    running = asyncio.ensure_future(serving)

    def stop() -> None:
        end()
        running.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):  # a host that ends may not close our input first
        with suppress(NotImplementedError):  # on Windows, where a host ends us without a word
            asyncio.get_running_loop().add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await running
    return ANSWERED
