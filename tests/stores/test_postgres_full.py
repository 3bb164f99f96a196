"""A database whose disk is full: a typed error, nothing half-written, and it goes on once there is room."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.postgres import Cluster, programs
from tests.stores.small_disk import OWN_MOUNTS, needs_a_small_disk
from tests.stores.verbs import begin, seen

from askdesk.core.errors import StoreError, StoreFull, StoreGone
from askdesk.core.model import Ask, Entry, Permission
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = [pytest.mark.anyio, needs_a_small_disk]

OWN_DISK = (
    """mount -t tmpfs -o size=120m,mode=0700,uid="$1",gid="$2" tmpfs "$0" && echo mounted && exec sleep infinity"""
)


class OnASmallDisk(Cluster):
    """One whose data lie on a disk of their own, which is small and which only it can see."""

    def __init__(self) -> None:
        self._disk: subprocess.Popen[bytes] | None = None
        super().__init__(durable=True)

    def _started(self, program: str, *arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
        if self._disk is None:
            self._data.mkdir()
            owner = (self._user.pw_uid, self._user.pw_gid) if self._user else (0, 0)  # as we are called in there
            command = [*OWN_MOUNTS, "sh", "-c", OWN_DISK, str(self._data), *map(str, owner)]
            self._disk = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert self._disk.stdout
            assert self._disk.stdout.readline() == b"mounted\n"
        environment = {**os.environ, "LC_ALL": "C", "HOME": str(self.folder)}
        command = [*self._inside(self._disk.pid), str(programs() / program), *map(str, arguments)]
        return subprocess.Popen(command, env=environment, **streams)

    def _inside(self, process: int) -> list[str]:
        """Where the disk of a process is seen, as who PostgreSQL runs as: never root, not even one in name."""
        enter = ["nsenter", f"--target={process}", "--mount"]
        if self._user:
            return [*enter, f"--setuid={self._user.pw_uid}", f"--setgid={self._user.pw_gid}"]
        ourselves = ["unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}"]
        return [*enter, "--user", "--preserve-credentials", *ourselves]

    @property
    def _ballast(self) -> Path:
        assert self._disk
        return Path(f"/proc/{self._disk.pid}/root{self._data}/ballast")

    def fill(self) -> None:
        with open(self._ballast, "wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(8192)):
                    pass
            except OSError:
                return

    def empty(self) -> None:
        self._ballast.unlink()

    def ended(self) -> None:
        """Wait until it has, by itself."""
        assert self._process
        self._process.wait(60)

    def remove(self) -> None:
        super().remove()
        if self._disk:
            self._disk.kill()
            self._disk.communicate()


@pytest.fixture
def small() -> Iterator[OnASmallDisk]:
    with OnASmallDisk() as cluster:
        yield cluster


def a_large_ask(number: int) -> Ask:
    return an_ask(number, body=Permission("Bash", {"command": os.urandom(100_000).hex()}))


async def added_until_it_fails(store: PostgresStore, first: int) -> tuple[list[Ask], StoreError]:
    """What was acknowledged before the first error, which is sure to come."""
    added: list[Ask] = []
    while True:
        try:
            added.append(await store.add(a_large_ask(first + len(added))))
        except StoreError as error:
            return added, error


@asynccontextmanager
async def opened(small: OnASmallDisk) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(small.database(), patience=0.1)
    try:
        yield store
    finally:
        await store.close()


async def test_without_room_nothing_is_half_written_and_the_same_store_goes_on(small: OnASmallDisk) -> None:
    async with opened(small) as store:
        await begin(store)
        before = await seen(store)
        small.fill()
        added, error = await added_until_it_fails(store, 10)
        assert type(error) is StoreFull
        large = [a_large_ask(number) for number in range(50, 55)]
        results = await asyncio.gather(*map(store.add, large), return_exceptions=True)
        assert {type(result) for result in results} == {StoreFull}
        with pytest.raises(StoreFull):
            await store.shelf.put("kept", f'"{os.urandom(100_000).hex()}"')
        full = before._replace(open=(*before.open, *map(Entry, added)))
        assert await seen(store) == full
        small.empty()
        more = await store.add(a_large_ask(100))
        assert await store.settle(an_ask(1).id, a_settlement()) == a_settlement()
        assert await seen(store) == full._replace(
            open=(*full.open[1:], Entry(more)), settled=(*full.settled, Entry(an_ask(1), a_settlement()))
        )
        found = await store.page("open", text="tool:bash")
        assert found.entries == (*map(Entry, added), Entry(more))


async def test_a_database_that_its_full_disk_brings_down_has_all_that_was_acknowledged(small: OnASmallDisk) -> None:
    async with opened(small) as store:
        await begin(store)
        before = await seen(store)
        small.fill()
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            while True:
                small.sql("SELECT pg_logical_emit_message(true, 'log', repeat('x', 1000000))")
        small.ended()
        for work in (store.add(an_ask(9)), store.settle(an_ask(1).id, a_settlement()), store.get(an_ask(1).id)):
            with pytest.raises(StoreGone):
                await work
        small.empty()
        small.start()
        assert await seen(store) == before
        assert await store.add(an_ask(9)) == an_ask(9)
        assert await seen(store) == before._replace(open=(*before.open, Entry(an_ask(9))))
