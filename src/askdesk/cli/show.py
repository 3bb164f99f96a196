"""Show one ask: what is asked, by whom, how it ended, and what was typed and not sent."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli.command import found, on_desk, print_json
from askdesk.cli.main import ANSWERED
from askdesk.core.desk import Desk
from askdesk.open import answered_at


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the ask's id, or its beginning")
    parser.add_argument("--json", action="store_true", help="print the records, for programs")


def run(given: Namespace) -> int:
    async def show(desk: Desk) -> int:
        from askdesk.settings import load
        from askdesk.surfaces import draft
        from askdesk.surfaces.terminal.plain import entry_lines
        from askdesk.surfaces.texts import speak
        from askdesk.wire import record

        entry = await found(desk, given.id)
        if given.json:
            print_json(record.plain(entry))
        else:
            speak(load().language)
            drafts = () if answered_at(desk) else await draft.all_kept(desk.shelf, entry.ask)  # for those who answer
            print("\n".join(entry_lines(entry, drafts)))
        return ANSWERED

    return on_desk(given.store, show)
