"""A database with a load at all its doors: at the database itself and at two desk servers, near and far.

Those that are far come by a way that can be cut. What is done to it is noted, and in the end the books are closed.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.faults.books import WAKE_SECONDS, Books, Fault, compare
from tests.faults.load import Door, Load, loaded
from tests.faults.pair import OPTIONS, Pair
from tests.faults.proxy import Proxy
from tests.faults.server import Server
from tests.postgres import Cluster, programs

from askdesk.core.desk import Desk
from askdesk.core.model import Entry
from askdesk.server import tokens
from askdesk.stores.postgres import PostgresStore

NOT_LOOKED_AT = "not looked at, as amcheck is not installed"
_CALM = 0.3  # of all rests


class House:
    """Made by `house`. `way` is that of the far ones."""

    def __init__(self, cluster: Cluster, url: str, way: Proxy, load: Load, chance: random.Random) -> None:
        self.cluster, self.url, self.way, self.load, self.chance = cluster, url, way, load, chance
        self._faults: list[Fault] = []

    @contextmanager
    def fault(self, *, is_for_the_far: bool = False) -> Iterator[None]:
        """What is done to it, until it is whole again."""
        began = time.time()
        yield
        self._faults.append(Fault(began, time.time(), is_for_the_far))

    def rest(self) -> None:
        """Now and then until all are at work again, and else only to somewhere in the midst of it."""
        if self.chance.random() < _CALM:
            self.calm_down()
        time.sleep(self.chance.uniform(0.05, 1))
        self.load.check()

    def calm_down(self) -> None:
        """Until all are at work, and for so long that who wakes too late cannot hide behind the next fault."""
        self.load.goes_on()
        time.sleep(WAKE_SECONDS)

    def closed(self) -> tuple[Books, str]:
        """The books and the integrity of the database, once all have come to an end."""
        self.load.end()
        doors = [process.door for process in self.load.processes]
        entries = asyncio.run(_everything(self.url))
        books = compare(self.load.folder, doors, entries, self._faults, self.load.stuck)
        return books, _integrity(self.cluster, self.url)


@contextmanager
def house(folder: Path, chance: random.Random) -> Iterator[House]:
    """With one database."""
    with ExitStack() as ending:
        cluster = ending.enter_context(Cluster(*OPTIONS, durable=True))
        near = cluster.database()
        way = ending.enter_context(Proxy(cluster.port))
        far = near.replace(f":{cluster.port}/", f":{way.port}/")
        doors = [*_doors(near, far), *ending.enter_context(_doors_of_servers(folder, near, far))]
        yield House(cluster, near, way, ending.enter_context(loaded(folder, doors)), chance)


@contextmanager
def house_of_two(folder: Path, chance: random.Random, *, servers: bool = True) -> Iterator[tuple[House, Pair]]:
    """With a primary and its standby: all are as near, and have the URL of both."""
    with ExitStack() as ending:
        pair = Pair(ending)
        doors = _doors(pair.url, pair.url)
        if servers:
            doors += ending.enter_context(_doors_of_servers(folder, pair.url, pair.url))
        load = ending.enter_context(loaded(folder, doors))
        yield House(pair.primary, pair.url, pair.way, load, chance), pair


def _doors(near: str, far: str) -> list[Door]:
    return [
        Door("near-agent", "agent", near, is_far=False),
        Door("far-agent", "agent", far, is_far=True),
        Door("near-person", "person", near, is_far=False),
        Door("far-person", "person", far, is_far=True),
    ]


@contextmanager
def _doors_of_servers(folder: Path, near: str, far: str) -> Iterator[list[Door]]:
    """An agent waits at one server, and a person settles at another one."""
    asker, answerer = asyncio.run(_tokens(near))
    with ExitStack() as ending:
        servers = [Server(url, folder / "servers", ASKDESK_ASKS_A_MINUTE="1000000") for url in (near, far)]
        for server in servers:
            ending.callback(server.kill)
            asyncio.run(server.start())
        yield [
            Door("person-at-a-server", "person", servers[0].url, is_far=False, token=answerer),
            Door("agent-at-a-server", "agent", servers[1].url, is_far=True, token=asker),
        ]


async def _tokens(url: str) -> tuple[str, str]:
    store = await PostgresStore.open(url)
    try:
        now = store.clock.now()
        asker = await tokens.new_token(store.shelf, "asker", "agents", now=now)
        answerer = await tokens.new_token(store.shelf, "answerer", "person", now=now)
        return asker[1], answerer[1]
    finally:
        await store.close()


async def _everything(url: str) -> list[Entry]:
    desk = Desk(await PostgresStore.open(url))
    try:
        return [*[entry async for entry in desk.each("open")], *[entry async for entry in desk.each("settled")]]
    finally:
        await desk.close()


def _integrity(cluster: Cluster, url: str) -> str:
    """What amcheck finds in every table and index."""
    database = url.rpartition("/")[2]
    if not (programs() / "pg_amcheck").exists() or not cluster.sql(
        "SELECT FROM pg_available_extensions WHERE name = 'amcheck'"
    ):
        return NOT_LOOKED_AT
    cluster.sql("CREATE EXTENSION IF NOT EXISTS amcheck", database=database)
    place = ("--host=127.0.0.1", f"--port={cluster.port}", "--username=ana", database)
    command = [str(programs() / "pg_amcheck"), "--heapallindexed", *place]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "ok" if done.returncode == 0 else (done.stdout + done.stderr).strip()
