"""List open asks, oldest first, or settled ones, newest first."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime

from askdesk.cli.command import columns, on_desk, print_json, say
from askdesk.cli.main import ANSWERED
from askdesk.core.desk import Desk
from askdesk.core.errors import NoStore
from askdesk.core.store import Page, State


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--settled", action="store_true", help="those that ended, newest first")
    parser.add_argument(
        "--text", default="", metavar="WORDS", help="those with all these words; also agent:NAME and such"
    )
    parser.add_argument("--limit", type=_count, default=50, metavar="N", help="how many (default: 50)")
    parser.add_argument("--after", metavar="PLACE", help="go on where an earlier list ended")
    parser.add_argument("--json", action="store_true", help="one JSON object: entries, and after")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= 1000:
        return int(text)
    raise ArgumentTypeError(f"needs a number from 1 to 1000, got {text!r}")


def run(given: Namespace) -> int:
    state: State = "settled" if given.settled else "open"

    async def show(desk: Desk) -> int:
        page = await desk.page(state, after=given.after, limit=given.limit, newest=given.settled, text=given.text)
        return _show(page, given, desk.now())

    try:
        return on_desk(given.store, show)
    except NoStore:
        if given.store is not None:  # named, so perhaps misspelt
            raise
        return _show(Page(()), given, datetime.now(UTC))


def _show(page: Page, given: Namespace, now: datetime) -> int:
    from askdesk.surfaces.terminal.table import table
    from askdesk.wire import record

    if given.json:
        print_json({"entries": [record.plain(entry) for entry in page.entries], "after": page.after})
        return ANSWERED
    if not page.entries:
        return say(f"no {'settled' if given.settled else 'open'} asks{' match' if given.text else ''}")
    print("\n".join(table(page.entries, now, columns())))
    if page.after:
        say(f"there are more: --after {page.after}")
    return ANSWERED
