"""Make a link that signs one browser in to the desk's page, once: for yourself, for a phone, or for somebody else.

askdesk link                                  for you
askdesk link --by Ben --project web           for Ben, who sees and answers the asks of one project
askdesk link --qr                             as a QR code for a phone
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import timedelta

from askdesk.cli.command import duration, force_argument, limit_arguments, on_desk, refused_to_agents, say
from askdesk.cli.main import ANSWERED, INVALID
from askdesk.core.desk import Desk


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--by", metavar="NAME", help="whom it signs in (default: the setting `by`)")
    limit_arguments(parser)
    parser.add_argument("--within", type=duration, metavar="SPAN", help="how long the link can be used (default: 15m)")
    parser.add_argument("--url", help="the page's address, where no server of this store is known here")
    parser.add_argument("--qr", action="store_true", help="print it as a QR code too")
    force_argument(parser)


def run(given: Namespace) -> int:
    if (code := refused_to_agents(given)) is not None:
        return code

    async def link(desk: Desk) -> int:
        return await _link(desk, given)

    return on_desk(given.store, link, create=True)


async def _link(desk: Desk, given: Namespace) -> int:
    from askdesk.server import tokens
    from askdesk.settings import load
    from askdesk.surfaces import serving

    url = given.url or await serving.url(desk.shelf, desk.now())
    if url is None:
        return say("no server runs for this store: start askdesk serve, or name its address with --url", INVALID)
    life: timedelta = given.within or tokens.LINK_LIFE
    by = given.by or load().by
    code = await tokens.new_link(desk.shelf, by, now=desk.now(), projects=given.project, agents=given.agent, life=life)
    print(link := f"{url.rstrip('/')}/sign-in?code={code}")
    if given.qr:
        from askdesk.cli.serve import print_qr

        print_qr(link)
    return ANSWERED
