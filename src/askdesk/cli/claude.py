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

import asyncio
import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, assert_never

from askdesk.cli.command import duration, on_desk, plain_argument, print_json, read_file, say
from askdesk.cli.main import ANSWERED, DECLINED, FAILED, INVALID, STILL_OPEN
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, InvalidAsk, MissingGuest, Unreachable
from askdesk.core.model import Ask
from askdesk.core.text import cut, is_blank, shown
from askdesk.open import Surface, answered_at, name_here, settled_on, surface_here, where_to_answer
from askdesk.settings import load
from askdesk.wire import tool

if TYPE_CHECKING:
    from askdesk.adapters.claude_steps import Ended, Step
    from askdesk.open import HereSurface

_MODES = ("default", "acceptEdits", "plan", "auto")
_LONGEST_PROMPT = 1_000_000


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", metavar="PROMPT")
    parser.add_argument("--resume", metavar="SESSION", help="go on with this session")
    parser.add_argument(
        "--park-after", type=duration, metavar="SPAN", help="end while a question waits longer than this"
    )
    parser.add_argument("--stay", action="store_true", help="stay at work, for what people tell it next")
    parser.add_argument(
        "--surface",
        choices=["auto", "terminal", "plain", "none"],
        default="auto",
        help="where its asks are shown: a form on this terminal, plain lines, or only elsewhere",
    )
    plain_argument(parser)
    parser.add_argument("--folder", metavar="DIR", help="where it works (default: this folder)")
    parser.add_argument("--model", metavar="NAME", help="which model")
    parser.add_argument("--permission-mode", choices=_MODES, metavar="MODE", help=f"one of {', '.join(_MODES)}")
    parser.add_argument("--tools", metavar="NAMES", help="only these tools, and AskUserQuestion; parted by commas")
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="let each ask expire after 90s, 10m, 2h or 3d"
    )
    parser.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="none", help="let options have previews"
    )
    parser.add_argument("--agent", default="claude", metavar="NAME", help="how people know it")
    parser.add_argument("--json", action="store_true", help="print how it ended, for programs")


def run(given: Namespace) -> int:
    prompt = _prompt(given)
    if given.folder and not os.path.isdir(given.folder):
        return say(f"--folder: there is no folder {given.folder}", INVALID)

    async def work(desk: Desk) -> int:
        return await _Run(desk, given).ended(prompt)

    return on_desk(given.store, work, create=True)


def _prompt(given: Namespace) -> str | None:
    """What to do; None where a session is resumed without anything new."""
    if given.prompt is None and given.resume:
        return None
    if given.prompt not in (None, "-"):
        text = given.prompt
    else:
        text = read_file("-", _LONGEST_PROMPT).decode("utf-8", "replace")
    if is_blank(text):
        raise InvalidAsk("PROMPT: must not be blank: what should Claude do?")
    return str(text)


class _Run:
    """One run, on one screen: its words, and one form at a time."""

    def __init__(self, desk: Desk, given: Namespace) -> None:
        self._desk, self._given = desk, given
        self._screen = asyncio.Lock()  # who holds it may draw
        self._steps: asyncio.Queue[Step] = asyncio.Queue()  # that are still to be printed
        self._surface: HereSurface | None = None
        self._by = load().by
        self._is_streamed = False
        self._is_read = sys.stdout.isatty() and not given.json

    async def ended(self, prompt: str | None) -> int:
        try:
            from askdesk.adapters.claude_sdk import ClaudeDesk
            from askdesk.adapters.claude_steps import Ended, steps
        except MissingGuest as error:
            return say(str(error), FAILED)
        await self._open_surface()
        printing = asyncio.ensure_future(self._print())
        end: Ended | None = None
        try:
            async with ClaudeDesk(self._desk, self._options(), **self._desk_options()) as claude:
                async for message in claude.run(prompt, stay=self._given.stay):
                    for step in steps(message):
                        self._steps.put_nowait(step)
                        end = step if isinstance(step, Ended) else end
                await self._steps.join()
        except AskdeskError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's have no common root
            return say(f"Claude Code: {(str(error) or type(error).__name__).splitlines()[0]}", FAILED)
        finally:
            printing.cancel()
        return self._told(end) if end else say("Claude Code ended without a result", FAILED)

    async def _print(self) -> None:
        """Beside the run, which must go on hearing from Claude Code while a form is on the screen."""
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

    def _options(self) -> Any:
        from claude_agent_sdk import ClaudeAgentOptions

        given = self._given
        return ClaudeAgentOptions(
            cwd=given.folder or os.getcwd(),
            model=given.model,
            permission_mode=given.permission_mode,
            resume=given.resume,
            tools=given.tools.split(",") if given.tools else None,
            include_partial_messages=self._is_read,
            setting_sources=["user", "project", "local"],
        )

    def _desk_options(self) -> dict[str, Any]:
        given = self._given
        return {
            "agent": given.agent,
            "previews": given.previews,
            "deadline": given.deadline,
            "park_after": given.park_after,
            "show": self._show,
        }

    async def _show(self, ask: Ask) -> None:
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
        from askdesk.adapters.claude_steps import Called, Ended, Piece, Said

        match step:
            case Piece(text):
                if self._is_read:
                    self._is_streamed = True
                    print(shown(text, lines=True), end="", flush=True)
            case Said(text):
                if self._is_read and not self._is_streamed:
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

    def _told(self, end: Ended) -> int:
        if self._given.json:
            print_json({"ended": end.how, "result": end.text, "session": end.session})
        match end.how:
            case "parked":
                return say(f"parked until somebody answers: askdesk claude --resume {end.session}", STILL_OPEN)
            case "stopped":
                return say("stopped by a person", DECLINED)
            case "failed":
                return say(f"Claude Code: {end.text or 'failed'}", FAILED)
            case "done":
                if not self._is_read and not self._given.json:
                    print(end.text)
                return ANSWERED


def _called(name: str, given: dict[str, Any]) -> str:
    """One line on a tool call: its name and the first text of its input."""
    first = next((value for value in given.values() if isinstance(value, str)), "")
    return f"· {shown(name)} {cut(shown(first.splitlines()[0] if first else ''), 100)}".rstrip()
