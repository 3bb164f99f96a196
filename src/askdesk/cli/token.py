"""Tokens for programs that use the desk's HTTP API. Each is shown once and kept only as a hash.

askdesk token new asker --name ci                    for agents: asks, waits, withdraws
askdesk token new answerer --name ana --project web  for people's programs: reads and settles, as ana
askdesk token list
askdesk token revoke 4f1c2a9b

No token does both. Whoever uses one sets ASKDESK_STORE to the server's address, and ASKDESK_TOKEN or
ASKDESK_ANSWER_TOKEN to the token.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import TYPE_CHECKING

from askdesk.cli.command import duration, force_argument, limit_arguments, on_desk, print_json, refused_to_agents, say
from askdesk.cli.main import ANSWERED, INVALID
from askdesk.core.desk import Desk
from askdesk.core.text import shown

if TYPE_CHECKING:
    from askdesk.server.tokens import Token


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=["new", "list", "revoke"])
    parser.add_argument("which", nargs="?", metavar="KIND|ID", help="asker or answerer; or which one to revoke")
    parser.add_argument("--name", help="who settles with it, or how to know an agent's token again")
    limit_arguments(parser)
    parser.add_argument("--expires", type=duration, metavar="SPAN", help="worthless after 12h, 30d, … (default: never)")
    parser.add_argument("--json", action="store_true", help="print it for programs")
    force_argument(parser)


def run(given: Namespace) -> int:
    if given.what == "new" and given.which == "answerer" and (code := refused_to_agents(given)) is not None:
        return code

    async def token(desk: Desk) -> int:
        match given.what:
            case "new":
                return await _new(desk, given)
            case "revoke":
                return await _revoke(desk, given)
            case _:
                return await _list(desk, given)

    return on_desk(given.store, token, create=True)


async def _new(desk: Desk, given: Namespace) -> int:
    from askdesk.server import tokens

    if given.which not in ("asker", "answerer"):
        return say("which kind? askdesk token new asker, or askdesk token new answerer", INVALID)
    if not given.name:
        return say("a token needs a --name, to know it again", INVALID)
    now = desk.now()
    expires = now + given.expires if given.expires else None
    token, text = await tokens.new_token(
        desk.shelf, given.which, given.name, now=now, projects=given.project, agents=given.agent, expires=expires
    )
    if given.json:
        print_json({"id": token.id, "token": text})
    else:
        print(text)
        say(f"this is token {token.id}; it is shown this once")
    return ANSWERED


async def _revoke(desk: Desk, given: Namespace) -> int:
    from askdesk.server import tokens

    if not given.which:
        return say("which one? askdesk token list shows their ids", INVALID)
    known = [token for token in await tokens.tokens(desk.shelf) if token.id.startswith(given.which)]
    if len(known) != 1:
        return say(f"{len(known) or 'no'} tokens begin with {given.which}; askdesk token list shows them", INVALID)
    await tokens.revoke(desk.shelf, known[0].id, desk.now())
    await asyncio.sleep(tokens.RECENT_SECONDS)  # once this is said, no server takes it any more
    return say(f"token {known[0].id} of {known[0].name} is revoked")


async def _list(desk: Desk, given: Namespace) -> int:
    from askdesk.server import tokens

    now = desk.now()
    known = await tokens.tokens(desk.shelf)
    if given.json:
        print_json([_plain(token, now) for token in known])
        return ANSWERED
    for token in known:
        limits = [*(f"project {name}" for name in token.projects), *(f"agent {name}" for name in token.agents)]
        row = f"{token.id}  {token.kind:<8}  {_state(token, now):<18}  {shown(token.name)}  {shown(', '.join(limits))}"
        print(row.rstrip())
    return ANSWERED


def _plain(token: Token, now: datetime) -> dict[str, object]:
    return {
        "id": token.id,
        "kind": token.kind,
        "name": token.name,
        "projects": list(token.projects),
        "agents": list(token.agents),
        "created": token.created.isoformat(),
        "state": _state(token, now),
    }


def _state(token: Token, now: datetime) -> str:
    if token.revoked:
        return "revoked"
    if token.expires is None:
        return "valid"
    return f"until {token.expires.astimezone():%m-%d %H:%M}" if now < token.expires else "expired"
