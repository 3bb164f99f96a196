"""A URL that names several hosts: whoever can be written to is found, also where one of them does not even refuse."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from askdesk.core.errors import StoreGone
from askdesk.stores.postgres_database import Database
from askdesk.stores.postgres_hosts import Hosts

pytestmark = pytest.mark.anyio


@pytest.fixture
def hole() -> Iterator[socket.socket]:
    """Who connects here hears nothing, as where a machine is gone."""
    with socket.create_server(("127.0.0.1", 0)) as hole:
        hole.setblocking(False)
        yield hole


def port(of: socket.socket) -> int:
    return int(of.getsockname()[1])


def tries(hole: socket.socket) -> int:
    count = 0
    try:
        while True:
            hole.accept()[0].close()
            count += 1
    except BlockingIOError:
        return count


async def test_a_host_where_nobody_answers_keeps_nobody_from_the_next_one(postgres: str, hole: socket.socket) -> None:
    async with asyncio.timeout(5):
        database = await Database.open(postgres.replace("127.0.0.1", f"127.0.0.1:{port(hole)},127.0.0.1"))
        assert tries(hole) == 1
        for _ in range(3):  # and is not tried again as long as the other one is there
            database.reset()
            assert await database.run(lambda connection: connection.fetchval("SELECT 1")) == 1
    assert tries(hole) == 0
    await database.close()


async def test_where_no_host_answers_it_is_told_what_is_wrong(hole: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        refusing = port(nobody)
    url = f"postgresql://ana@127.0.0.1:{refusing},127.0.0.1:{refusing}/desk"
    with pytest.raises(StoreGone, match="cannot be reached"):
        await Database.open(url, patience=0)


async def test_one_that_comes_too_late_is_let_go() -> None:
    let_go: list[str] = []
    late = asyncio.Event()

    class Opened:
        def __init__(self, url: str) -> None:
            self.url = url

        def terminate(self) -> None:
            let_go.append(self.url)

    async def connect(url: str) -> Opened:
        if "first" in url:
            try:
                await late.wait()
            except asyncio.CancelledError:
                return Opened(url)  # it had come about in this very moment
        return Opened(url)

    hosts = Hosts("postgresql://ana:pass@first:1,second/desk?x=y")
    assert (await hosts.first(connect)).url == "postgresql://ana:pass@second/desk?x=y"
    async with asyncio.timeout(5):
        while not let_go:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert let_go == ["postgresql://ana:pass@first:1/desk?x=y"]


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("postgresql://ana:p%2Fw@one:1,two:2/desk?x=y", ["ana:p%2Fw@one:1/desk?x=y", "ana:p%2Fw@two:2/desk?x=y"]),
        ("postgresql://ana@/desk?host=one,two&port=1,2", ["ana@/desk?host=one&port=1", "ana@/desk?host=two&port=2"]),
        ("postgresql://ana@/desk?host=one,two&port=1", ["ana@/desk?host=one&port=1", "ana@/desk?host=two&port=1"]),
        (
            "postgresql://ana@/desk?host=one,/a b&x=y%26z",
            ["ana@/desk?x=y%26z&host=one", "ana@/desk?x=y%26z&host=%2Fa%20b"],
        ),
        ("postgresql://ana@/desk?host=one,two,three&port=1,2", ["ana@/desk?host=one,two,three&port=1,2"]),
        ("postgresql://ana@/desk?host=/var/run", ["ana@/desk?host=/var/run"]),
        ("postgresql:///desk", ["/desk"]),
    ],
)
async def test_several_hosts_stand_where_one_would_or_among_the_parameters(url: str, each: list[str]) -> None:
    tried: list[str] = []

    async def connect(url: str) -> None:
        tried.append(url.removeprefix("postgresql://"))
        raise OSError

    hosts = Hosts(url)
    with pytest.raises(OSError):  # noqa: PT011 - ours
        await hosts.first(connect)
    assert (tried, hosts.are_several) == (each, len(each) > 1)
