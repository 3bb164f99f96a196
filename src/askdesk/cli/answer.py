"""Settle an ask: answer, decline, allow or deny. The first one wins; the same one sent again succeeds again.

Answers come as JSON in FILE or on standard input; on a terminal without them, the ask is shown to be answered there.

  echo '{"answers": {"Which database?": "SQLite"}}' | askdesk answer 3f2a
  askdesk answer 3f2a --decline "let us talk first"
  askdesk answer 9b01 --allow
  askdesk answer 9b01 --allow --input changed.json
  askdesk answer 9b01 --deny "use the staging server"

An answer is a label, labels joined with ", " or listed, or own words; notes go to
{"annotations": {"<question>": {"notes": "…"}}}.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from hashlib import sha256

from askdesk.cli.command import found, on_desk, plain_argument, read_file, say
from askdesk.cli.main import INVALID
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AlreadySettled, InvalidReply
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Allowed, Ask, Declined, Denied, Questions, Reply
from askdesk.open import agents_shell, name_here, sized


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the ask's id, or its beginning")
    parser.add_argument("file", nargs="?", metavar="FILE", help='the answers; "-" is standard input')
    parser.add_argument("--blanks", action="store_true", help="leave questions without an answer blank")
    parser.add_argument("--decline", nargs="?", const="", metavar="WORDS", help="do not answer, perhaps saying why")
    parser.add_argument("--allow", action="store_true", help="allow the tool call, which is shown on standard error")
    parser.add_argument("--input", metavar="FILE", help="with --allow: the changed input")
    parser.add_argument("--deny", nargs="?", const="", metavar="WORDS", help="deny the tool call, perhaps saying why")
    parser.add_argument("--instead", metavar="WORDS", help="with --deny: a new instruction to follow")
    parser.add_argument("--stop", action="store_true", help="with --decline or --deny: stop the agent's run")
    parser.add_argument("--digest", help="with --allow or --deny: refuse unless the call has this digest")
    parser.add_argument("--by", metavar="NAME", help="who answers (default: the setting `by`)")
    plain_argument(parser)
    parser.add_argument("--force", action="store_true", help="answer even from within an agent's shell")


def run(given: Namespace) -> int:
    if not given.force and (variable := agents_shell()):
        return say(f"this is an agent's shell ({variable} is set); a person should answer, or use --force", INVALID)

    async def answer(desk: Desk) -> int:
        return await _answer(desk, given)

    return on_desk(given.store, answer)


async def _answer(desk: Desk, given: Namespace) -> int:
    from askdesk.settings import load
    from askdesk.surfaces.terminal.plain import allowed_lines

    ask = (await found(desk, given.id)).ask
    settings = load()
    by = await name_here(desk, given.by or settings.by)
    if _wants_a_form(given):
        return await _on_terminal(desk, ask, by, plain=given.plain)
    reply = _reply(ask, given, sized(OPEN, settings))
    if isinstance(reply, Allowed) and ask.permission:
        print("\n".join(allowed_lines(ask.permission, reply)), file=sys.stderr)
    shown_digest = ask.permission.digest if ask.permission else None
    digest = given.digest if given.digest is not None else shown_digest
    submission = _submission(ask, ask.fit(reply, digest), by)
    settlement = await desk.settle(ask.id, reply, by=by, surface="command line", submission=submission, digest=digest)
    return say(f"ask {ask.id} is settled: {settlement.summary}")


def _wants_a_form(given: Namespace) -> bool:
    """Whether nothing at all was said on the command line, and a person sits there."""
    said = (given.file, given.decline, given.deny, given.input, given.instead, given.digest)
    flags = (given.allow, given.stop, given.blanks)
    return not any(flags) and all(value is None for value in said) and sys.stdin.isatty()


async def _on_terminal(desk: Desk, ask: Ask, by: str, *, plain: bool) -> int:
    from askdesk.open import settled_on, surface_here

    mine = new_id()
    surface = surface_here(desk, by, "plain" if plain else "auto")
    settlement = await settled_on(surface, desk, ask, by=by, submission=mine)
    if settlement.submission != mine:
        raise AlreadySettled(ask.id, settlement)
    return say(f"ask {ask.id} is settled: {settlement.summary}")


def _reply(ask: Ask, given: Namespace, limits: Limits) -> Reply:
    from askdesk.wire import tool

    ways = [given.allow, given.deny is not None, given.decline is not None, given.file is not None]
    if sum(ways) > 1:
        raise InvalidReply("give one of FILE, --decline, --allow and --deny")
    if given.input is not None and not given.allow:
        raise InvalidReply("--input goes with --allow")
    if given.digest is not None and not given.allow and given.deny is None:
        raise InvalidReply("--digest goes with --allow or --deny")
    if given.instead is not None and given.deny is None:
        raise InvalidReply("--instead goes with --deny")
    if given.stop and given.deny is None and given.decline is None:
        raise InvalidReply("--stop goes with --decline or --deny")
    if given.allow:
        return Allowed(_changed(given.input, limits.size) if given.input is not None else None)
    if given.deny is not None:
        return Denied(given.deny, given.stop, given.instead or "")
    if given.decline is not None:
        return Declined(given.decline, stop=given.stop)
    if not isinstance(ask.body, Questions):
        raise InvalidReply("this ask is a permission: use --allow or --deny")
    return tool.read(ask.body, tool.loads(read_file(given.file or "-", limits.size), limits), blanks=given.blanks)


def _changed(name: str, max_bytes: int) -> str:
    raw = read_file(name, max_bytes)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidReply(f"{name}: is not UTF-8 at byte {error.start}") from None


def _submission(ask: Ask, reply: Reply, by: str) -> str:
    """The digest of what is submitted and by whom: the same command twice is the same submission."""
    from msgspec import json

    return sha256(json.encode([ask.id, by, reply])).hexdigest()
