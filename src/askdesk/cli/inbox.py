"""All open asks of all agents, live: open one, answer it, go to the next; look back at those that ended.

askdesk inbox                 on this terminal; ? lists the keys
askdesk inbox --tell note     a desktop note, where the terminal can make one, when an agent asks
askdesk inbox --plain         in lines, for a screen reader or a pipe
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli.command import on_desk, plain_argument, say
from askdesk.cli.main import ANSWERED, INVALID, UNREACHABLE
from askdesk.core.desk import Desk
from askdesk.open import agents_shell, answered_at, lines_here, name_here


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tell", choices=["bell", "note", "none"], default="bell", help="how to tell of a new ask (default: bell)"
    )
    parser.add_argument("--by", metavar="NAME", help="who answers (default: the setting `by`)")
    plain_argument(parser)
    parser.add_argument("--force", action="store_true", help="answer even from within an agent's shell")


def run(given: Namespace) -> int:
    if not given.force and (variable := agents_shell()):
        return say(f"this is an agent's shell ({variable} is set); a person should answer, or use --force", INVALID)

    async def inbox(desk: Desk) -> int:
        from askdesk.surfaces.attending import attending

        async with attending(desk):
            return await _inbox(desk, given)

    return on_desk(given.store, inbox, create=True)


async def _inbox(desk: Desk, given: Namespace) -> int:
    from askdesk.settings import load
    from askdesk.surfaces.terminal.tty import can_draw
    from askdesk.surfaces.texts import say as words
    from askdesk.surfaces.texts import speak

    if address := answered_at(desk):
        return say(f"ASKDESK_ANSWER_TOKEN is not set: people answer on {address}", UNREACHABLE)
    settings = load()
    speak(settings.language)
    by = await name_here(desk, given.by or settings.by)
    if not (given.plain or settings.plain or settings.screen_reader) and can_draw():
        from askdesk.surfaces.terminal.inbox_screen import show_inbox

        return _ended((await show_inbox(desk, by, tell=given.tell)).sent, await _still_open(desk))
    from askdesk.surfaces.terminal.plain_inbox import PlainInbox

    if (lines := lines_here()) is None:
        return say(words("inbox.no_terminal"), UNREACHABLE)
    plain = PlainInbox(desk, lines, by)
    await plain.run()
    return _ended(plain.sent, await _still_open(desk))


async def _still_open(desk: Desk) -> int:
    return len([entry async for entry in desk.each("open")])


def _ended(sent: int, still_open: int) -> int:
    from askdesk.surfaces.texts import say as words

    return say(words("inbox.goodbye", sent=sent, open=still_open), ANSWERED)
