"""Collect what was asked without waiting (askdesk ask --no-wait) and settled since: each result is printed once.

One JSON object a line, in the order in which they were settled: {"id", "asked", "outcome", "by", "at", "result"}.
`asked` is the texts of the questions, or the tool and its input; `result` is what `askdesk wait` prints. On a terminal
it is spread out for reading.

  askdesk ask --no-wait questions.json   ask, and go on working
  askdesk collect                        what was settled since; declined, expired and withdrawn asks are told too
  askdesk collect --wait 10m             wait until there is something, as long as an ask is open
  askdesk collect --keep                 look without taking

It is for the agent that asked: --agent, --project and --session must be those of the ask. What was printed is not
printed again; what could not be written to its end is.

It ends with 0 where something was collected, with 7 where nothing is settled yet and asks are open, and with 0 and
nothing on standard output where nothing is left at all. Standard error tells how many are open.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Iterable
from typing import Any

from askdesk.cli.command import asker_arguments, asker_given, duration, on_desk, print_json, result_of, say
from askdesk.cli.main import ANSWERED, STILL_OPEN
from askdesk.core.desk import Desk
from askdesk.core.errors import NoStore
from askdesk.core.model import Ask, Entry, Settlement


def arguments(parser: ArgumentParser) -> None:
    asker_arguments(parser)
    parser.add_argument(
        "--wait", type=duration, metavar="SPAN", help="wait for 90s, 10m, 2h or 3d until one is settled"
    )
    parser.add_argument("--keep", action="store_true", help="look without taking: the next time they are printed again")
    parser.add_argument("--json", action="store_true", help="lines of JSON, also on a terminal")


def run(given: Namespace) -> int:
    async def collect(desk: Desk) -> int:
        return await _collect(desk, given)

    try:
        return on_desk(given.store, collect)
    except NoStore:
        if given.store is not None:  # named, so perhaps misspelt
            raise
        return _told(0, 0)
    except KeyboardInterrupt:
        return say("stopped; what was not printed is still to be collected", STILL_OPEN)


async def _collect(desk: Desk, given: Namespace) -> int:
    asker = asker_given(given)
    left = await desk.left_by(asker, timeout=given.wait.total_seconds() if given.wait else 0)
    printed: set[str] = set()
    async for entry in _looked_at(left.settled) if given.keep else desk.collect(asker):
        _print(entry, is_first=not printed, as_json=given.json)  # delivered once the next one is wanted
        printed.add(entry.ask.id)
    return _told(len(printed), sum(ask.id not in printed for ask in left.open))


async def _looked_at(entries: Iterable[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry


def _told(count: int, still_open: int) -> int:
    if still_open:
        say(f"{still_open} {'ask is' if still_open == 1 else 'asks are'} still open")
        return ANSWERED if count else STILL_OPEN
    return ANSWERED if count else say("nothing is left to collect")


def _print(entry: Entry, *, is_first: bool, as_json: bool) -> None:
    assert entry.settlement  # noqa: S101 - what is open cannot be collected
    if as_json or not sys.stdout.isatty():
        print_json(_plain(entry.ask, entry.settlement), one_line=True)
    else:
        _print_readable(entry, is_first=is_first)
    sys.stdout.flush()  # before anybody says that it was delivered


def _print_readable(entry: Entry, *, is_first: bool) -> None:
    from askdesk.settings import load
    from askdesk.surfaces.terminal.plain import entry_lines
    from askdesk.surfaces.texts import speak

    speak(load().language)
    if not is_first:
        print()
    print("\n".join(entry_lines(entry)))


def _plain(ask: Ask, settlement: Settlement) -> dict[str, Any]:
    from msgspec import to_builtins

    asked: object = [question.text for question in ask.questions]
    if ask.permission:
        asked = {"tool": ask.permission.tool, "input": ask.permission.value}
    return {
        "id": ask.id,
        **({"key": ask.key} if ask.key is not None else {}),
        "asked": asked,
        "outcome": type(settlement.outcome).__name__.lower(),
        **({"by": settlement.by} if settlement.by else {}),
        "at": to_builtins(settlement.at),
        "result": result_of(ask, settlement),
    }
