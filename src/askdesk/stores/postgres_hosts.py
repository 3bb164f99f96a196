"""A database on several hosts, of which one can be written to. Knows how to take turns at them, not how to connect.

asyncpg goes from one host to the next only once the one before has refused: where a machine is gone nobody refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_HEAD_START_SECONDS = 0.5  # which each host has before the next one is tried as well


Connect: TypeAlias = Callable[[str], Awaitable[Any]]


class Hosts:
    """Each with its URL; the one that could be written to last comes first."""

    def __init__(self, url: str) -> None:
        self._urls = _each(url)

    @property
    def are_several(self) -> bool:
        return len(self._urls) > 1

    async def first(self, connect: Connect) -> Any:
        """The first connection that comes about; where none does, what was wrong with the last host."""
        waiting = list(self._urls)
        trying: dict[asyncio.Future[Any], str] = {}
        try:
            while True:
                if waiting:
                    url = waiting.pop(0)
                    trying[asyncio.ensure_future(connect(url))] = url
                head_start = _HEAD_START_SECONDS if waiting else None
                done, _ = await asyncio.wait(trying, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
                for ended in done:
                    url = trying.pop(ended)
                    if ended.exception() is None:
                        self._urls.sort(key=lambda other: other != url)
                    if ended.exception() is None or not (waiting or trying):
                        return ended.result()
        finally:
            for late in trying:
                late.cancel()
                late.add_done_callback(let_go)


def _each(url: str) -> list[str]:
    """The URL of each host: they stand where one would, or among the parameters."""
    parts = urlsplit(url)
    user, at, places = parts.netloc.rpartition("@")
    if places:
        return [parts._replace(netloc=f"{user}{at}{place}").geturl() for place in places.split(",")]
    given = dict(parse_qsl(parts.query))
    hosts, ports = given.pop("host", "").split(","), given.pop("port", "").split(",")
    if len(hosts) == 1 or len(ports) not in (1, len(hosts)):  # the latter is told by whoever connects
        return [url]
    each = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=True)
    queries = [{**given, "host": host, **({"port": port} if port else {})} for host, port in each]
    return [parts._replace(query=urlencode(query, quote_via=quote)).geturl() for query in queries]


def let_go(late: asyncio.Future[Any]) -> None:
    """A connection that nobody waits for any more."""
    if not late.cancelled() and late.exception() is None:
        late.result().terminate()
