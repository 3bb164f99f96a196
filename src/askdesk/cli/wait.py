"""Wait until an ask is settled, and print the result. It can be done again, and by several.

What was asked with --no-wait and is printed here need not be collected any more.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from askdesk.cli.command import LEFT_HERE, duration, found, on_desk, print_result, say
from askdesk.cli.main import STILL_OPEN
from askdesk.core import owed
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError
from askdesk.core.model import Ask


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the ask's id, or its beginning")
    parser.add_argument("--timeout", type=duration, metavar="SPAN", help="stop waiting after 90s, 10m, 2h or 3d")


def run(given: Namespace) -> int:
    async def wait(desk: Desk) -> int:
        entry = await found(desk, given.id)
        ask = entry.ask
        if entry.settlement is None:
            say(f"waiting for an answer to ask {ask.id[:8]}")
        timeout = given.timeout.total_seconds() if given.timeout else None
        settlement = await desk.wait(ask.id, timeout=timeout)
        if settlement is None:
            return say(f"ask {ask.id} is still open", STILL_OPEN)
        code = print_result(ask, settlement)
        sys.stdout.flush()  # where nobody reads it any more, this fails, and nothing was delivered
        with suppress(AskdeskError):  # it is then collected once more
            await _delivered(desk, ask)
        return code

    try:
        return on_desk(given.store, wait)
    except KeyboardInterrupt:
        return say("the wait ended; the ask is as it was", STILL_OPEN)


async def _delivered(desk: Desk, ask: Ask) -> None:
    """What `askdesk ask --no-wait` left is heard here; what an agent waits for elsewhere is still owed to it."""
    document = await desk.shelf.get(owed.name_of(ask.asker, ask.id))
    note = owed.read(document) if document else None
    if note and note.call == LEFT_HERE:
        await desk.delivered(ask.id, ask.asker)
