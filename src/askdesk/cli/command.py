"""What all commands share: their parser, their errors as exit codes, their way to a desk and to a result."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import sys
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from types import ModuleType
from typing import Any, TypeAlias, assert_never

from askdesk.cli.main import (
    ANSWERED,
    DECLINED,
    EXIT_CODES,
    EXPIRED,
    FAILED,
    INVALID,
    SETTLED_ELSEWHERE,
    UNREACHABLE,
    WITHDRAWN,
)
from askdesk.core.desk import Desk
from askdesk.core.errors import (
    AlreadySettled,
    AskdeskError,
    InvalidAsk,
    InvalidReply,
    InvalidSettings,
    KeyReused,
    NoStore,
    UnknownAsk,
    Unreachable,
)
from askdesk.core.finding import Finding
from askdesk.core.model import (
    Allowed,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Outcome,
    Permission,
    Settlement,
    Withdrawn,
)
from askdesk.core.store import State
from askdesk.core.text import shown, shown_json

Work: TypeAlias = Callable[[Desk], Coroutine[Any, Any, int]]

LEFT_HERE = "command line"  # how `askdesk ask --no-wait` marks what it leaves, for `askdesk wait`
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORTEST_PREFIX = 4
_LOOKED_THROUGH = 1000
_ANY_WIDTH = 10_000
_LONGEST_SPAN = timedelta(days=36_500)  # a longer one leads out of the calendar
_STATES: tuple[State, ...] = ("open", "settled")


def new(name: str, command: ModuleType) -> argparse.ArgumentParser:
    """The parser of one command, taught by the command's own file."""
    parser = argparse.ArgumentParser(
        f"askdesk {name}",
        description=command.__doc__,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.arguments(parser)
    if not hasattr(command, "OWN_STORE"):
        parser.add_argument("--store", metavar="URL", help="where asks are kept (default: the setting `store`)")
    return parser


def plain_argument(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument("--plain", action="store_true", help="plain lines instead of a form, as for a screen reader")


def limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Which asks somebody may know of."""
    for name in ("project", "agent"):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME", help=f"only asks of this {name}; may be repeated"
        )


def asker_arguments(parser: argparse.ArgumentParser) -> None:
    """Who asks, and so who collects."""
    parser.add_argument("--agent", default="command line", metavar="NAME", help="who asks")
    parser.add_argument("--project", metavar="NAME", help="what it is about (default: this folder)")
    parser.add_argument("--session", default="", metavar="ID", help="the agent's session")


def asker_given(given: argparse.Namespace) -> Asker:
    """Without this process, which ends at once: that says nothing about the asker."""
    from askdesk.open import this_folder

    return Asker(given.agent, given.session, given.project if given.project is not None else this_folder())


def force_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="also from within an agent's shell")


def refused_to_agents(given: argparse.Namespace) -> int | None:
    """An exit code where an agent runs this shell: what lets somebody answer is for people to have."""
    from askdesk.open import agents_shell

    if given.force or not (variable := agents_shell()):
        return None
    return say(f"this is an agent's shell ({variable} is set); a person should do this, or use --force", INVALID)


def guarded(run: Callable[[], int]) -> int:
    """Run a command; its errors become a message on standard error and an exit code."""
    logging.basicConfig(format="askdesk: %(message)s", level=logging.WARNING)
    try:
        return run()
    except KeyboardInterrupt:
        print(file=sys.stderr)  # below what was being typed
        return say("stopped", FAILED)
    except AskdeskError as error:
        return say(str(error), _code_of(error))


def say(message: str, code: int = ANSWERED) -> int:
    """Tell the person something, away from the result."""
    for line in message.split("\n"):
        print(f"askdesk: {shown(line)}", file=sys.stderr)
    return code


def columns() -> int:
    """How wide the output may be: as the terminal, or as long as it likes in a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _ANY_WIDTH


def print_json(value: object, *, one_line: bool = False) -> None:
    """The result: on one line for programs, spread out for people."""
    readable = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() and not one_line else None
    print(shown_json(json.dumps(value, ensure_ascii=not readable, indent=indent)))


def print_findings(findings: Iterable[Finding], *, as_json: bool) -> int:
    """What was found, a line for each, and the exit code that says whether anything is wrong."""
    found = list(findings)
    if as_json:
        print_json([finding._asdict() for finding in found])
    else:
        for about, says, wrong in found:
            print(f"{'WRONG' if wrong else 'ok':<5}  {about:<21}  {shown(says)}")
    return FAILED if any(finding.wrong for finding in found) else ANSWERED


def print_result(ask: Ask, settlement: Settlement) -> int:
    """What the agent gets, and the exit code that says the same."""
    print_json(result_of(ask, settlement))
    return _code_of_outcome(settlement.outcome)


def result_of(ask: Ask, settlement: Settlement) -> dict[str, Any]:
    from askdesk.wire import permission, tool

    if isinstance(ask.body, Permission):
        return permission.result(ask.body, settlement.outcome)
    return tool.result(ask.body, settlement.outcome)


def on_desk(store: str | None, work: Work, *, create: bool = False) -> int:
    """Run an asynchronous command with an open desk; only those that ask make one."""
    from askdesk.open import open_desk

    async def run() -> int:
        async with open_desk(store, create=create) as desk:
            return await work(desk)

    return asyncio.run(run())


async def found(desk: Desk, given: str) -> Entry:
    """The entry with this id, or with the only id that begins so, among the newest asks."""
    try:
        return await desk.get(given)
    except UnknownAsk:
        if len(given) < _SHORTEST_PREFIX:
            raise InvalidAsk(f"{given}: needs at least {_SHORTEST_PREFIX} characters of an id") from None
    matches = [entry for state in _STATES for entry in await _beginning(desk, state, given)]
    if len(matches) > 1:
        raise InvalidAsk(f"several asks begin with {given}: {', '.join(entry.ask.id for entry in matches)}")
    if not matches:
        raise UnknownAsk(given)
    return matches[0]


async def _beginning(desk: Desk, state: State, given: str) -> list[Entry]:
    matches: list[Entry] = []
    left = _LOOKED_THROUGH
    async for entry in desk.each(state, newest=True):
        if entry.ask.id.startswith(given):
            matches.append(entry)
        if (left := left - 1) == 0:
            break
    return matches


def duration(text: str) -> timedelta:
    """A time span as people type it: 90, 90s, 10m, 2h, 3d."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        span = timedelta(seconds=float(number) * _UNITS[unit])
    except (ValueError, OverflowError):
        span = timedelta(0)
    if span <= timedelta(0):
        raise argparse.ArgumentTypeError(f"needs a time span like 90s, 10m, 2h or 3d, got {text!r}")
    return min(span, _LONGEST_SPAN)


def read_file(name: str, limit: int) -> bytes:
    """A file, or standard input for "-"; never more than the limit and a byte, which a parser will refuse."""
    if name == "-":
        return sys.stdin.buffer.read(limit + 1)
    try:
        with open(name, "rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise InvalidAsk(f"{name}: {error.strerror}") from None


def _code_of(error: AskdeskError) -> int:
    match error:
        case AlreadySettled():
            return SETTLED_ELSEWHERE
        case Unreachable():
            return UNREACHABLE
        case InvalidAsk() | InvalidReply() | InvalidSettings() | KeyReused() | NoStore() | UnknownAsk():
            return INVALID
        case _:
            return FAILED


def _code_of_outcome(outcome: Outcome) -> int:
    match outcome:
        case Answered() | Allowed():
            return ANSWERED
        case Declined() | Denied():
            return DECLINED
        case Expired():
            return EXPIRED
        case Withdrawn():
            return WITHDRAWN
        case _:
            assert_never(outcome)
