"""Sends a message to the service behind a URL, through Apprise. Knows nothing of asks."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.util import find_spec
from threading import Thread, current_thread
from typing import NamedTuple, TypeAlias

from askdesk.core.errors import MissingGuest
from askdesk.core.text import Shown

_THREAD = "askdesk-notify"
_GUESTS = {"apprise", "urllib3", "requests", "oauthlib", "requests_oauthlib", "paho", "slixmpp"}


class Message(NamedTuple):
    title: Shown
    body: Shown


Send: TypeAlias = Callable[[str, Message], Awaitable[bool]]
"""Hands a message to the service behind a URL, and tells whether it went."""


def scheme(url: str) -> str:
    """All that may be told of a URL: the rest may hold passwords."""
    named = re.match(r"\s*([A-Za-z][A-Za-z0-9+.-]{0,31})://", url)
    return f"{named[1].lower()}://…" if named else "a URL without a scheme"


class ThroughApprise:
    """Each message in a thread that nobody has to wait for, and never more than one thread for a URL."""

    def __init__(self, seconds: float = 30.0) -> None:
        if find_spec("apprise") is None:
            raise MissingGuest("apprise", "notify")
        self._seconds = seconds
        self._busy: set[str] = set()  # URLs that a thread is at work for

    async def __call__(self, url: str, message: Message) -> bool:
        if url in self._busy:  # it hangs still
            return False
        self._busy.add(url)
        loop = asyncio.get_running_loop()
        went: asyncio.Future[bool] = loop.create_future()

        def tell(result: bool) -> None:
            if not went.done():
                went.set_result(result)

        def work() -> None:
            result = _sent(url, message)
            self._busy.discard(url)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, result)

        try:
            Thread(target=work, name=_THREAD, daemon=True).start()
        except RuntimeError:  # no room for another
            self._busy.discard(url)
            return False
        try:
            return await asyncio.wait_for(went, self._seconds)
        except TimeoutError:
            return False


def _sent(url: str, message: Message) -> bool:
    try:
        _hush_guests()
        import apprise

        asset = apprise.AppriseAsset(
            app_id="askdesk",
            async_mode=False,  # in this very thread: the pools of Apprise would be waited for at exit
            service_timeout=0,
            http_redirects=False,  # what was meant for one place is for no other
        )
        services = apprise.Apprise(asset=asset)
        if not services.add([url]):
            return False
        _hush_guests()  # those that came with the services
        return bool(services.notify(message.body, message.title, body_format=apprise.NotifyFormat.TEXT))
    except Exception:  # noqa: BLE001 - whatever a service does; what it says may hold a secret
        return False


class _Hush(logging.Filter):
    """Drops what guests log while they send: their lines hold URLs, and URLs hold passwords."""

    def filter(self, record: logging.LogRecord) -> bool:
        return current_thread().name != _THREAD


_hush = _Hush()


def _hush_guests() -> None:
    for name in ("apprise", *list(logging.root.manager.loggerDict)):
        if name.partition(".")[0] in _GUESTS:
            logging.getLogger(name).addFilter(_hush)
