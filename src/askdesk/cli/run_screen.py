"""An agent's run on one screen: what it says, what it does, and one form at a time. Which agent, is not known here."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, assert_never

from askdesk.adapters.steps import Called, Ended, Piece, Said, Step
from askdesk.cli.command import plain_argument, print_json, read_file, say
from askdesk.cli.main import ANSWERED, DECLINED, FAILED, STILL_OPEN
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, Unreachable
from askdesk.core.model import Ask
from askdesk.core.text import cut, is_blank, shown
from askdesk.open import Surface, answered_at, name_here, settled_on, surface_here, where_to_answer
from askdesk.settings import load
from askdesk.wire import tool

if TYPE_CHECKING:
    from askdesk.open import HereSurface

_LONGEST_PROMPT = 1_000_000


def arguments(parser: ArgumentParser | _ArgumentGroup) -> None:
    """What every run of an agent can be told."""
    parser.add_argument("--resume", metavar="SESSION", help="go on with this session")
    parser.add_argument("--stay", action="store_true", help="stay at work, for what people tell it next")
    parser.add_argument(
        "--surface",
        choices=["auto", "terminal", "plain", "none"],
        default="auto",
        help="where its asks are shown: a form on this terminal, plain lines, or only elsewhere",
    )
    plain_argument(parser)
    parser.add_argument("--folder", metavar="DIR", help="where it works (default: this folder)")
    parser.add_argument("--json", action="store_true", help="print how it ended, for programs")


def prompt(given: Namespace, agent: str) -> str | None:
    """What to do; None where a session is resumed without anything new."""
    if given.prompt is None and given.resume:
        return None
    if given.prompt not in (None, "-"):
        text = given.prompt
    else:
        text = read_file("-", _LONGEST_PROMPT).decode("utf-8", "replace")
        given.prompt = "-"  # also where it was left out: standard input is used up, and nobody answers there
    if is_blank(text):
        raise InvalidAsk(f"PROMPT: must not be blank: what should {agent} do?")
    return str(text)


class RunScreen:
    """`agent` is what the agent is called here, `resume` the command that goes on with a session."""

    def __init__(self, desk: Desk, given: Namespace, agent: str, resume: str) -> None:
        self._desk, self._given, self._agent, self._resume = desk, given, agent, resume
        self._screen = asyncio.Lock()  # who holds it may draw
        self._steps: asyncio.Queue[Step] = asyncio.Queue()  # that are still to be printed
        self._surface: HereSurface | None = None
        self._by = load().by
        self._is_streamed = False
        self.is_read = sys.stdout.isatty() and not given.json
        self._end: Ended | None = None

    @asynccontextmanager
    async def printing(self) -> AsyncIterator[None]:
        """Print steps for as long as the block runs."""
        await self._open_surface()
        printing = asyncio.ensure_future(self._print())
        try:
            yield
        finally:
            printing.cancel()

    def put(self, step: Step) -> None:
        self._steps.put_nowait(step)
        self._end = step if isinstance(step, Ended) else self._end

    async def printed(self) -> None:
        """Once all that was put is on the screen."""
        await self._steps.join()

    async def _print(self) -> None:
        """Beside the run, which must go on hearing from the agent while a form is on the screen."""
        while True:
            step = await self._steps.get()
            async with self._screen:
                self._show_step(step)
            self._steps.task_done()

    async def _open_surface(self) -> None:
        if self._given.surface != "none" and not answered_at(self._desk):
            self._by = await name_here(self._desk, self._by)
            wanted: Surface = "plain" if self._given.plain else self._given.surface
            self._surface = surface_here(self._desk, self._by, wanted, from_stdin=self._given.prompt != "-")

    async def show(self, ask: Ask) -> None:
        """Here, until it is settled; where the person leaves, somebody elsewhere may still settle it."""
        if self._surface is None:
            say(f"ask {ask.id} waits for an answer: {where_to_answer(self._desk, ask)}")
            return
        async with self._screen:
            self._end_line()
            try:
                await settled_on(self._surface, self._desk, ask, by=self._by)
            except Unreachable:
                say(f"left open; it waits for an answer elsewhere: {where_to_answer(self._desk, ask)}")

    def _show_step(self, step: Step) -> None:
        match step:
            case Piece(text):
                if self.is_read:
                    self._is_streamed = True
                    print(shown(text, lines=True), end="", flush=True)
            case Said(text):
                if self.is_read and not self._is_streamed:
                    print(shown(text, lines=True))
                self._end_line()
            case Called(name, given):
                if sys.stderr.isatty() and name != tool.NAME:  # its questions are there to be seen
                    print(_called(name, given), file=sys.stderr)
            case Ended():
                pass
            case _:
                assert_never(step)

    def _end_line(self) -> None:
        if self._is_streamed:
            print()
        self._is_streamed = False

    def told(self) -> int:
        """How it ended, and the exit code that says the same."""
        if (end := self._end) is None:
            return say(f"{self._agent} ended without a result", FAILED)
        if self._given.json:
            print_json({"ended": end.how, "result": end.text, "session": end.session})
        match end.how:
            case "parked":
                return say(f"parked until somebody answers: {self._resume} {end.session}", STILL_OPEN)
            case "stopped":
                return say("stopped by a person", DECLINED)
            case "failed":
                return say(f"{self._agent}: {end.text or 'failed'}", FAILED)
            case "done":
                if not self.is_read and not self._given.json:
                    print(end.text)
                return ANSWERED


def _called(name: str, given: dict[str, Any]) -> str:
    """One line on a tool call: its name and the first text of its input."""
    first = next((value for value in given.values() if isinstance(value, str)), "")
    return f"· {shown(name)} {cut(shown(first.splitlines()[0] if first else ''), 100)}".rstrip()
