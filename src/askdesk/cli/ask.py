"""Ask questions, or for a permission, and wait for the answer.

FILE holds the input of the AskUserQuestion tool as JSON; "-" or nothing reads it from standard input. The result goes
to standard output: {"questions", "answers", "annotations"}, or an outcome and a message where nobody answered.

  askdesk ask questions.json             ask here: a form on this terminal, or lines on a pipe
  make-questions | askdesk ask -         the same; the form finds the terminal by itself
  askdesk ask --no-wait questions.json   print the ask's id and go on; `askdesk collect` prints the result later
  askdesk ask --surface none --key k1 questions.json
                                         wait for somebody to answer elsewhere; again with the same key is the same ask
  askdesk ask --tool Bash input.json     ask for permission to run a tool with this input

Ctrl-C withdraws the ask, unless it has a key.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace

from askdesk.cli.command import (
    LEFT_HERE,
    asker_arguments,
    asker_given,
    duration,
    on_desk,
    plain_argument,
    print_result,
    read_file,
    say,
)
from askdesk.cli.main import ANSWERED, STILL_OPEN, WITHDRAWN
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, Problem, StoreError
from askdesk.core.limits import CLAUDE, OPEN, SPRING
from askdesk.core.model import Ask, Permission, Questions, Settlement, Withdrawn
from askdesk.open import (
    Surface,
    answered_at,
    asker_here,
    name_here,
    settled_elsewhere,
    settled_on,
    sized,
    surface_here,
    where_to_answer,
)
from askdesk.settings import load
from askdesk.stores.memory import MemoryStore
from askdesk.wire import tool

_GOODBYE_SECONDS = 3.0  # whoever pressed Ctrl-C wants to leave, also where the desk is away


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", metavar="FILE")
    parser.add_argument("--tool", metavar="NAME", help="FILE is the input of this tool: ask for permission to run it")
    parser.add_argument("--folder", default="", help="with --tool: where it would run")
    parser.add_argument("--description", default="", help="with --tool: what the agent says about the call")
    parser.add_argument("--no-wait", action="store_true", help="print the ask's id and do not wait: collect it later")
    parser.add_argument("--key", help="makes the ask idempotent: the same key and input is the same ask")
    parser.add_argument("--deadline", type=duration, metavar="SPAN", help="expire after 90s, 10m, 2h or 3d")
    parser.add_argument(
        "--surface",
        choices=["auto", "terminal", "plain", "none"],
        default="auto",
        help="where to show it: a form on this terminal, plain lines on this terminal or pipe, or only elsewhere",
    )
    plain_argument(parser)
    parser.add_argument(
        "--limits", choices=["open", "claude", "spring"], default="open", help="which limits to keep to"
    )
    parser.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="none", help="what the options' previews are"
    )
    asker_arguments(parser)


def run(given: Namespace) -> int:
    body = _body(given)

    async def ask(desk: Desk) -> int:
        return await _ask(desk, given, body)

    return on_desk(given.store, ask, create=True)


async def _ask(desk: Desk, given: Namespace, body: Questions | Permission) -> int:
    asker = asker_given(given)
    if given.no_wait and isinstance(desk.store, MemoryStore):
        raise InvalidAsk("--no-wait: a store in memory ends with this command, so nobody could answer")
    if given.no_wait:
        ask = await desk.leave(
            body,
            asker=asker,
            key=given.key,
            deadline=given.deadline,
            preview_format=given.previews,
            call=LEFT_HERE,
        )
        print(ask.id)
        return ANSWERED
    asker = asker_here(asker.agent, session=asker.session, project=asker.project)
    asking = desk.asking(body, asker=asker, key=given.key, deadline=given.deadline, preview_format=given.previews)
    posted: Ask | None = None
    try:
        async with asking as posted:
            return print_result(posted, await _settlement(desk, posted, given))
    except asyncio.CancelledError:  # Ctrl-C
        print(file=sys.stderr)  # below the prompt
        return await _left(desk, posted) if posted else say("stopped before anything was asked", WITHDRAWN)


async def _settlement(desk: Desk, ask: Ask, given: Namespace) -> Settlement:
    if given.surface == "none" or answered_at(desk):
        say(f"ask {ask.id} waits for an answer: {where_to_answer(desk, ask)}")
        return await settled_elsewhere(desk, ask)
    by = await name_here(desk, load().by)
    wanted: Surface = "plain" if given.plain else given.surface
    return await settled_on(surface_here(desk, by, wanted, from_stdin=given.file != "-"), desk, ask, by=by)


async def _left(desk: Desk, ask: Ask) -> int:
    try:
        async with asyncio.timeout(_GOODBYE_SECONDS):
            settlement = (await desk.get(ask.id)).settlement
    except (StoreError, TimeoutError):
        return say(f"ask {ask.id} may still be open: the desk cannot be reached", STILL_OPEN)
    if settlement is None:
        return say(f"ask {ask.id} stays open; the same key asks for it again", STILL_OPEN)
    if isinstance(settlement.outcome, Withdrawn):
        return say(f"ask {ask.id} is withdrawn", WITHDRAWN)
    return print_result(ask, settlement)  # somebody was quicker than Ctrl-C


def _body(given: Namespace) -> Questions | Permission:
    limits = sized({"open": OPEN, "claude": CLAUDE, "spring": SPRING}[given.limits], load())
    raw = read_file(given.file, limits.size)
    if given.tool is None:
        questions = tool.parse(raw, limits)
        for warning in questions.warnings:
            say(f"warning: {warning}")
        return questions
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidAsk([Problem("input", f"is not UTF-8 at byte {error.start}")]) from None
    return Permission(given.tool, text.strip(), given.folder, given.description)
