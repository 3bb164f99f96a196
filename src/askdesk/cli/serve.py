"""Run the desk's page and its HTTP API: people answer in a browser, agents ask from other machines.

askdesk serve                                        on this machine alone; prints a link that signs you in, once
askdesk serve --host 0.0.0.0 --tls-cert c --tls-key k   for a phone or a team, with a QR code of the link
askdesk serve --behind-proxy https://desk.example    where something in front of it speaks TLS

Ctrl-C or SIGTERM ends it; whoever waits comes back when it runs again, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askdesk.cli.command import say
from askdesk.cli.main import ANSWERED

if TYPE_CHECKING:
    from askdesk.core.desk import Desk
    from askdesk.server.run import Address
    from askdesk.settings import Settings

log = logging.getLogger(__name__)

_AGAIN_SECONDS = 5.0  # until what broke is begun again


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine alone)")
    parser.add_argument("--port", type=int, default=8700, help="default: 8700; 0 takes any that is free")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="speak TLS with this certificate …")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="… and this key")
    parser.add_argument("--behind-proxy", metavar="URL", help="the https:// URL of the proxy in front that speaks TLS")
    parser.add_argument("--by", metavar="NAME", help="whom the printed link signs in (default: the setting `by`)")
    parser.add_argument("--no-link", action="store_true", help="print the address alone, without signing anybody in")
    parser.add_argument("--qr", action="store_true", help="also print the link as a QR code, as for other machines")
    parser.add_argument("--notify", action="append", metavar="URL", help="tell people there of new asks (apprise URL)")
    parser.add_argument(
        "--log",
        choices=["auto", "requests", "none"],
        default="auto",
        help="a line of JSON a request; auto: unless on a terminal",
    )


def run(given: Namespace) -> int:
    from askdesk.server.run import Address

    address = Address(given.host, given.port, given.tls_cert, given.tls_key, given.behind_proxy)
    address.check()
    _log(given.log)
    with suppress(KeyboardInterrupt, asyncio.CancelledError):  # before there was anything to end
        return _run(_serve(given, address))
    return ANSWERED


def _run(work: object) -> int:
    """On uvloop where it is installed: half the time a request."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)  # type: ignore[arg-type]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(work))  # type: ignore[arg-type]


def _log(wanted: str) -> None:
    """Requests, one line of JSON each, on standard error; what else is wrong goes there too."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # what it has to say, the guard and the protocol say
    requests = logging.getLogger("askdesk.requests")
    requests.propagate = False
    if wanted == "requests" or (wanted == "auto" and not sys.stderr.isatty()):
        requests.setLevel(logging.INFO)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        requests.addHandler(handler)


async def _serve(given: Namespace, address: Address) -> int:
    from askdesk.core.limits import OPEN
    from askdesk.open import open_desk, sized
    from askdesk.server import deadlines
    from askdesk.server.run import serve
    from askdesk.server.service import Service
    from askdesk.settings import load
    from askdesk.surfaces.serving import serving

    _put_away_what_was_begun()
    settings = load()
    # Whoever calls can call again, so a server does not try for as long as a program of its own would.
    async with open_desk(given.store, patience=settings.busy_seconds) as desk:
        listening = address.listen()
        url = address.url(listening.getsockname()[1])
        service = Service(
            desk,
            url,
            limits=sized(OPEN, settings),
            asks_a_minute=settings.asks_a_minute,
            dialog_seconds=settings.dialog_seconds,
            host_seconds=settings.host_seconds or None,
        )
        async with serving(desk, url):
            await _greet(given, address, desk, url, settings)
            expiring = _for_all(desk, "deadlines", lambda: deadlines.keep(desk))
            async with expiring, _notifying(given, desk, url, settings), _hooks(given, desk, settings):
                await serve(service, address, listening)
    return say("the desk is closed")


def _put_away_what_was_begun() -> None:
    """On SIGTERM, too, until the server runs and minds it: others would be led to one that is not there."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@asynccontextmanager
async def _for_all(desk: Desk, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Beside the server, do what one of all servers on a store does for the others, where the store can elect one."""
    alone = getattr(desk.store, "alone", None)  # a PostgresStore's
    kept_up = partial(_kept_up, name, work)
    working = asyncio.ensure_future(alone(name, kept_up) if alone else kept_up())
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait([working])


async def _kept_up(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Nothing here should end by itself; where it does, somebody hears of it, and it is begun again."""
    while True:
        try:
            return await work()
        except Exception as error:  # noqa: BLE001 - whatever it is
            place = "".join(traceback.format_tb(error.__traceback__))  # its own words may hold what people wrote
            log.error("%s: ended by %s, and is begun again\n%s", name, type(error).__name__, place)
        await asyncio.sleep(_AGAIN_SECONDS)


@asynccontextmanager
async def _hooks(given: Namespace, desk: Desk, settings: Settings) -> AsyncIterator[None]:
    """Answer the hooks of agents on this machine, where the store has a place for it here."""
    from askdesk.settings import hook_socket

    path = hook_socket(given.store or settings.store)
    if path is None or sys.platform == "win32":
        yield
        return
    from askdesk.adapters.claude_hook import ClaudeHook
    from askdesk.cli.hook_notice import telling
    from askdesk.core.limits import OPEN
    from askdesk.open import sized
    from askdesk.server import hooks

    tell = telling(desk, settings, given.notify or settings.notify_urls, is_server=True)
    async with hooks.answering(ClaudeHook(desk, by=settings.by, tell=tell), path, sized(OPEN, settings)) as trouble:
        if trouble:
            say(f"hooks of this machine are not answered here: {trouble}")
        yield


async def _greet(given: Namespace, address: Address, desk: Desk, url: str, settings: Settings) -> None:
    from askdesk.open import agents_shell
    from askdesk.server import tokens

    if given.no_link or agents_shell():
        print(url, flush=True)
        if not given.no_link:
            say("this is an agent's shell: askdesk link, in a shell of yours, makes a link that signs you in")
        return
    code = await tokens.new_link(desk.shelf, given.by or settings.by, now=desk.now())
    link = f"{url}/sign-in?code={code}"
    print(link, flush=True)
    if sys.stdout.isatty():
        if given.qr or not address.is_loopback:
            print_qr(link)
        minutes = tokens.LINK_LIFE // timedelta(minutes=1)
        say(f"the link signs one browser in, once, within {minutes} minutes; askdesk link makes another. Ctrl-C ends")


def print_qr(link: str) -> None:
    import segno

    segno.make(link, error="l").terminal(compact=True)


@asynccontextmanager
async def _notifying(given: Namespace, desk: Desk, url: str, settings: Settings) -> AsyncIterator[None]:
    """Tell people elsewhere of new asks, where somebody wants that."""
    urls = given.notify or settings.notify_urls
    if not urls:
        yield
        return
    from askdesk.surfaces.notify import Notifier
    from askdesk.surfaces.through_apprise import ThroughApprise

    send = ThroughApprise()  # here, so that whoever starts a server without it learns that at once

    async def notify() -> None:
        notifier = Notifier(
            desk,
            urls,
            send=send,
            detail=settings.notify_detail,
            after=timedelta(seconds=settings.notify_after),
            again=timedelta(seconds=settings.notify_again) if settings.notify_again else None,
            link=lambda ask_id: f"{url}/asks/{ask_id}" if ask_id else f"{url}/",
        )
        await notifier.run()

    async with _for_all(desk, "notifications", notify):
        yield
