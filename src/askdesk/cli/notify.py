"""See whether notifications arrive: send a test message to each URL, and tell which of them went.

askdesk notify test                       to the URLs of the setting `notify.urls`
askdesk notify test --notify ntfy://mine  to this one

A URL names a service and how to reach it there, as Apprise has it (pip install 'askdesk[notify]'):

  slack://TokenA/TokenB/TokenC/#channel   Slack, through an incoming webhook
  mailto://user:password@example.com      email; mailtos:// for a server of your own with TLS
  tgram://bottoken/ChatID                 Telegram
  ntfy://topic                            ntfy.sh; ntfys://user:password@host/topic for your own
  dbus:// macosx:// windows://            this desktop

More than a hundred others: https://github.com/caronc/apprise/wiki
In askdesk.toml, which is a better place for passwords than a command:

  [notify]
  urls = ["ntfy://topic", "mailto://user:password@example.com"]
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from askdesk.cli.command import say
from askdesk.cli.main import ANSWERED, FAILED, INVALID


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=["test"], help="send a test message")
    parser.add_argument(
        "--notify", metavar="URL", nargs="+", action="extend", help="where to (default: the setting `notify.urls`)"
    )


def run(given: Namespace) -> int:
    from askdesk.settings import load
    from askdesk.surfaces.texts import speak

    settings = load()
    speak(settings.language)
    urls = tuple(dict.fromkeys(given.notify or settings.notify_urls))
    if not urls:
        return say("there is no URL: set notify.urls, or give one with --notify", INVALID)
    return asyncio.run(_test(urls))


async def _test(urls: Sequence[str]) -> int:
    from askdesk.surfaces.notify import trial
    from askdesk.surfaces.through_apprise import ThroughApprise, scheme

    send = ThroughApprise()
    went = await asyncio.gather(*(send(url, trial()) for url in urls))
    for url, ok in zip(urls, went, strict=True):
        print(f"{'sent' if ok else 'FAILED':<6}  {scheme(url)}")
    return ANSWERED if all(went) else FAILED
