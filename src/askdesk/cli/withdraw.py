"""Take an ask back: nobody can answer it any more, and whoever waits for it learns that. Twice is once."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli.command import found, on_desk, say
from askdesk.core.desk import Desk


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the ask's id, or its beginning")
    parser.add_argument("--reason", default="", help="why, for the record")


def run(given: Namespace) -> int:
    async def withdraw(desk: Desk) -> int:
        ask = (await found(desk, given.id)).ask
        await desk.withdraw(ask.id, given.reason)
        return say(f"ask {ask.id} is withdrawn")

    return on_desk(given.store, withdraw)
