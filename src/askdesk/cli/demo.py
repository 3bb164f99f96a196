"""See it work: a scripted agent asks, you answer. No key, no network, nothing kept afterwards.

Without a terminal, or with --script, a scripted person answers and the whole exchange is printed.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from askdesk.cli.command import columns, on_desk, plain_argument, say
from askdesk.cli.main import ANSWERED, UNREACHABLE
from askdesk.core.desk import Desk
from askdesk.core.errors import Unreachable
from askdesk.core.limits import OPEN
from askdesk.core.model import Answered, Option, Permission, Question, Questions
from askdesk.core.text import Shown
from askdesk.open import asker_here, settled_on, surface_here
from askdesk.surfaces.terminal.lines import Lines
from askdesk.surfaces.terminal.plain import PlainSurface
from askdesk.surfaces.terminal.table import table
from askdesk.wire import permission, tool

if TYPE_CHECKING:
    from askdesk.open import HereSurface

SIDEBAR = """\
+-----+---------+
| nav | content |
+-----+---------+"""
TOP_BAR = """\
+---------------+
|      nav      |
+---------------+
|    content    |
+---------------+"""
QUESTIONS = Questions(
    [
        Question(
            "Which database should the new service use?",
            [
                Option("SQLite (Recommended)", "One file, nothing to run. Enough for one machine."),
                Option("PostgreSQL", "A server of its own. For many machines."),
            ],
            header="Database",
        ),
        Question(
            "Which parts should I set up first?",
            [
                Option("Sign-in", "Accounts and sessions"),
                Option("Logging", "One JSON line for each request"),
                Option("Metrics", "Counters for a dashboard"),
            ],
            header="First parts",
            multi_select=True,
        ),
        Question(
            "Which layout should the start page have?",
            [
                Option("Sidebar", "Navigation on the left", SIDEBAR),
                Option("Top bar", "Navigation above", TOP_BAR),
            ],
            header="Layout",
        ),
    ]
)
PERMISSION = Permission(
    "Bash",
    {"command": "mkdir -p service && touch service/app.py", "timeout": 10000},
    description="Make the service's folder",
)
SCRIPT = ("1", "1,3 /note metrics can wait if time is short", "2", "yes", "yes")


OWN_STORE = True


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="keep what is asked there (default: nowhere)")
    plain_argument(parser)
    parser.add_argument("--script", action="store_true", help="let a scripted person answer, also on a terminal")


def run(given: Namespace) -> int:
    scripted = given.script or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())

    async def story(desk: Desk) -> int:
        if scripted:
            return await _story(desk, PlainSurface(_Typed(SCRIPT)), "a scripted person")
        async with _page(desk) as link:
            print(f"Answer here, or in a browser: {link}")
            return await _story(desk, surface_here(desk, "you", "plain" if given.plain else "auto"), "you")

    if given.store:
        return on_desk(given.store, story, create=True)
    with tempfile.TemporaryDirectory(prefix="askdesk-demo-") as folder:
        return on_desk(str(Path(folder) / "demo.db"), story, create=True)


@asynccontextmanager
async def _page(desk: Desk) -> AsyncIterator[str]:
    """The desk's page for as long as the demo runs, and the link that opens it."""
    from askdesk.server import tokens
    from askdesk.server.run import Address, beside
    from askdesk.server.service import Service
    from askdesk.surfaces.serving import serving

    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    address = Address(port=0)
    listening = address.listen()
    url = address.url(listening.getsockname()[1])
    async with serving(desk, url), beside(Service(desk, url, limits=OPEN), address, listening):
        yield f"{url}/sign-in?code={await tokens.new_link(desk.shelf, 'you', now=desk.now())}"


async def _story(desk: Desk, surface: HereSurface | None, by: str) -> int:
    asker = asker_here("builder", project="new service")
    print("A scripted agent asks. Its questions are on disk before you see them.", flush=True)
    try:
        ask = await desk.post(QUESTIONS, asker=asker, preview_format="markdown")
        settlement = await settled_on(surface, desk, ask, by=by)
        _print_read(tool.text(QUESTIONS, settlement.outcome))
        if not isinstance(settlement.outcome, Answered):
            print("\nSo the agent does not go on.")
            return ANSWERED
        ask = await desk.post(PERMISSION, asker=asker)
        settlement = await settled_on(surface, desk, ask, by=by)
        _print_read(permission.text(settlement.outcome))
    except Unreachable:
        return say("you left without answering, so nothing was answered", UNREACHABLE)
    page = await desk.page("settled", newest=True)
    print("\nWhat the desk keeps:", *table(page.entries, desk.now(), columns() - 2), sep="\n  ")
    print("\nNext: docs/commands.md for the command line, docs/python.md for Python.")
    return ANSWERED


def _print_read(text: str) -> None:
    rows = [row for line in text.splitlines() for row in wrap(line, columns() - 2, subsequent_indent="  ")]
    print("\nWhat the agent reads:", *rows, sep="\n  ", flush=True)


class _Typed(Lines):
    """A scripted person at the very same dialog: what they type is printed after each prompt."""

    def __init__(self, script: tuple[str, ...]) -> None:
        super().__init__(0, sys.stdout)
        self._script = iter(script)

    def forget(self) -> None:
        """Nothing was typed ahead."""

    async def read(self, prompt: Shown) -> str | None:
        line = next(self._script, None)
        self.write(Shown(f"{prompt}{line or ''}"))
        return line
