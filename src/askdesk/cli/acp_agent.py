"""`askdesk acp` as an agent: joins the adapter that an editor speaks with, the editor's dialog and the settings."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from askdesk.cli.command import on_desk, say
from askdesk.cli.main import ANSWERED, FAILED, INVALID
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, MissingGuest
from askdesk.core.model import Ask

if TYPE_CHECKING:
    from askdesk.adapters.acp import Agent
    from askdesk.adapters.acp_editor import House
    from askdesk.wire.acp_ask import Words


_MODES = ("default", "acceptEdits", "plan", "auto")


def arguments(parser: ArgumentParser) -> None:
    agent = parser.add_argument_group("as the agent of an editor")
    agent.add_argument("--model", metavar="NAME", help="which model")
    agent.add_argument("--permission-mode", choices=_MODES, metavar="MODE", help=f"one of {', '.join(_MODES)}")
    agent.add_argument("--tools", metavar="NAMES", help="only these tools, and AskUserQuestion; parted by commas")
    agent.add_argument("--notes", action="store_true", help="a field for a note beside each question of a form")
    agent.add_argument(
        "--permission-shape",
        choices=["safe", "exact"],
        help="ask questions with permission requests where the editor has no forms; exact is not safe, see above",
    )
    agent.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="none", help="let options have previews"
    )


def run(given: Namespace) -> int:
    if not all(_is_wire(stream) for stream in (sys.stdin, sys.stdout)):
        return say("an editor starts this and speaks with it through pipes: askdesk acp --help tells how", INVALID)

    async def work(desk: Desk) -> int:
        try:
            return await _served(desk, given)
        except MissingGuest as error:
            return say(str(error), FAILED)

    return on_desk(given.store, work, create=True)


def _is_wire(stream: TextIO) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _served(desk: Desk, given: Namespace) -> int:
    from askdesk.adapters import acp_connection, claude_sdk  # noqa: F401 - who lacks one of the guests is told which
    from askdesk.adapters.acp import serve

    serving = asyncio.ensure_future(serve(await _agent(desk, given)))
    for number in (signal.SIGTERM, signal.SIGINT):  # an editor that ends may not close our input first
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
    return ANSWERED


async def _agent(desk: Desk, given: Namespace) -> Agent:
    from askdesk import __version__
    from askdesk.adapters.acp import Agent
    from askdesk.adapters.acp_session import How

    how = How(
        agent=given.agent or "claude",
        model=given.model,
        mode=given.permission_mode,
        tools=tuple(given.tools.split(",")) if given.tools else None,
        previews=given.previews,
        deadline=given.deadline,
    )
    return Agent(desk, await _house(desk, given), how, __version__)


async def _house(desk: Desk, given: Namespace) -> House:
    from askdesk.adapters.acp_editor import SURFACE, House
    from askdesk.open import answered_at, name_here
    from askdesk.settings import load
    from askdesk.surfaces.elicitation import Dialog, Guard
    from askdesk.surfaces.texts import speak

    settings = load()
    guard = Guard(left=settings.dialog_seconds)
    speak(settings.language)
    by = await name_here(desk, settings.by)
    return House(
        by=by,
        dialog=lambda: Dialog(desk.shelf, by, SURFACE, "acp", notes=given.notes, guard=guard),
        page=lambda: _page(desk),
        is_attended=lambda: _is_attended(desk),
        where=lambda ask: _where(desk, ask),
        settles=answered_at(desk) is None,
        shape=given.permission_shape,
        sent=guard.sent,
        left=guard.left,
        words=_words(),
    )


def _words() -> Words:
    """What the editor shows of ours, in the language of the settings."""
    from askdesk.surfaces.texts import say
    from askdesk.wire.acp_ask import Words

    return Words(
        allow=say("editor.allow"),
        always=say("editor.always"),
        folders=say("editor.folders"),
        mode=say("editor.mode"),
        rule=say("editor.rule"),
        every=say("editor.every"),
        session=say("editor.session"),
        settings=say("editor.settings"),
        reject=say("editor.reject"),
        skip=say("editor.skip"),
        done=say("editor.done"),
        cancel=say("editor.cancel"),
        waits=say("editor.waits"),
        settled=say("editor.settled"),
    )


async def _page(desk: Desk) -> str | None:
    """Where the desk is served; a store on a desk server is served there."""
    from askdesk.surfaces import serving

    if url := getattr(desk.store, "url", None):
        return str(url)
    with suppress(AskdeskError):
        return await serving.url(desk.shelf, desk.now())
    return None


async def _is_attended(desk: Desk) -> bool:
    from askdesk.surfaces.attending import is_attended

    return getattr(desk.store, "url", None) is not None or await is_attended(desk)


async def _where(desk: Desk, ask: Ask) -> str:
    from askdesk.open import where_to_answer

    page = await _page(desk)
    return f"{page}/asks/{ask.id}" if page else where_to_answer(desk, ask)
