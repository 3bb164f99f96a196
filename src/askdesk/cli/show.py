"""Show one ask: what is asked, by whom, and how it ended."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli.command import found, on_desk, print_json
from askdesk.cli.main import ANSWERED
from askdesk.core.desk import Desk


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the ask's id, or its beginning")
    parser.add_argument("--json", action="store_true", help="print the records, for programs")


def run(given: Namespace) -> int:
    async def show(desk: Desk) -> int:
        from askdesk.surfaces.terminal.plain import entry_lines
        from askdesk.wire import record

        entry = await found(desk, given.id)
        if given.json:
            print_json(record.plain(entry))
        else:
            print("\n".join(entry_lines(entry)))
        return ANSWERED

    return on_desk(given.store, show)
