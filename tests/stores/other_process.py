"""Another process at the same desk: does what it is told, one line of JSON at a time, and tells what came of it."""

# ruff: noqa: ASYNC222, ASYNC230 - nothing else runs in this event loop meanwhile

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import apsw

from askdesk.core.errors import StoreError
from askdesk.core.store import Store
from askdesk.open import open_store
from askdesk.stores.migrate import migrations
from askdesk.testing.store_contract import a_settlement, an_ask

NOBODY = 65534


class OtherProcess:
    """Each method is a verb; what it returns, or the StoreError it raises, goes back to whoever told it."""

    store: Store
    locked: apsw.Connection

    async def open(self, url: str, at: float = 0.0) -> None:
        """Open the store, at a moment of the machine's monotonic clock: so several processes do it together."""
        while time.monotonic() < at:
            pass
        self.store = await open_store(url)

    async def close(self) -> None:
        await self.store.close()

    async def add(self, *numbers: int) -> None:
        await asyncio.gather(*(self.store.add(an_ask(number)) for number in numbers))

    async def add_one_by_one(self, *numbers: int) -> None:
        for number in numbers:
            await self.store.add(an_ask(number))

    async def add_until_it_fails(self, first: int) -> list[int]:
        """Which numbers were acknowledged before the first error, which is sure to come."""
        added: list[int] = []
        try:
            while True:
                await self.add(first + len(added))
                added.append(first + len(added))
        except StoreError:
            return added

    async def settle(self, number: int, submission: str) -> str:
        return (await self.store.settle(an_ask(number).id, a_settlement(submission))).submission

    async def numbers(self) -> list[int]:
        """The open asks, in order."""
        page = await self.store.page("open", limit=10_000)
        return [int(entry.ask.id, 16) for entry in page.entries]

    async def search(self, text: str, at: float = 0.0) -> list[int]:
        """The open asks that match, at a moment of the machine's monotonic clock."""
        while time.monotonic() < at:
            pass
        page = await self.store.page("open", limit=10_000, text=text)
        return [int(entry.ask.id, 16) for entry in page.entries]

    async def listen(self) -> None:
        self.woken = asyncio.Event()
        self.store.hints(lambda _: self.woken.set())

    async def heard(self) -> bool:
        """Whether a hint has come, or comes within five seconds."""
        await asyncio.wait_for(self.woken.wait(), 5)
        return True

    async def lock(self, path: str) -> None:
        self.locked = apsw.Connection(path)
        self.locked.execute("BEGIN IMMEDIATE")

    async def lock_whole(self, path: str) -> None:
        """Lock it for readers too, as SQLite does while the last of its connections closes."""
        self.locked = apsw.Connection(path)
        self.locked.pragma("locking_mode", "exclusive")
        self.locked.execute("BEGIN EXCLUSIVE")

    async def unlock(self) -> None:
        self.locked.execute("ROLLBACK")
        self.locked.close()

    async def integrity(self, path: str) -> str:
        database = apsw.Connection(path)
        try:
            return str(database.pragma("integrity_check"))
        finally:
            database.close()

    async def fill(self, folder: str) -> None:
        """Leave no room on a disk."""
        with open(Path(folder) / "ballast", "wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(4096)):
                    pass
            except OSError:
                return

    async def empty(self, folder: str) -> None:
        (Path(folder) / "ballast").unlink()

    async def limit(self, size: int) -> None:
        """Let no file of this process grow beyond a size; -1 lifts it."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    async def files(self, folder: str) -> list[str]:
        return sorted(os.listdir(folder))

    async def become_nobody(self) -> None:
        """Give up every right over other people's files, where there are any to give up."""
        import askdesk.stores.sqlite  # noqa: F401 - now: nobody may not be able to read it

        migrations("sqlite")  # nor these
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    async def fork(self) -> list[str]:
        """What the child of a fork meets at the store that its parent opened."""
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            signal.alarm(10)  # rather than to hang
            asyncio.run(self._in_child(writing))
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            lines = told.read().splitlines()
        os.waitpid(child, 0)
        return lines

    async def _in_child(self, writing: int) -> None:
        async def hints() -> None:
            self.store.hints(lambda _: None)

        tries: dict[str, Coroutine[Any, Any, object]] = {
            "add": self.store.add(an_ask(99)),
            "settle": self.store.settle(an_ask(1).id, a_settlement()),
            "get": self.store.get(an_ask(1).id),
            "page": self.store.page("open"),
            "put": self.store.shelf.put("a", "1"),
            "hints": hints(),
            "close": self.store.close(),
        }
        for name, work in tries.items():
            try:
                await work
                os.write(writing, f"{name}: done\n".encode())
            except (StoreError, RuntimeError) as error:
                os.write(writing, f"{name}: {type(error).__name__}\n".encode())

    async def leave(self, *numbers: int) -> None:
        """Begin to add asks and end the program, without waiting for them and without closing the store."""
        self.unfinished = [asyncio.create_task(self.store.add(an_ask(number))) for number in numbers]
        await asyncio.sleep(0)  # each has handed its write over
        sys.stdin.close()


async def main() -> None:
    other = OtherProcess()
    while not sys.stdin.closed and (line := sys.stdin.readline()):
        verb, *arguments = json.loads(line)
        print(json.dumps(await _told(other, verb, arguments)), flush=True)


async def _told(other: OtherProcess, verb: str, arguments: list[Any]) -> dict[str, Any]:
    try:
        return {"returned": await getattr(other, verb)(*arguments)}
    except StoreError as error:
        return {"raised": type(error).__name__, "message": str(error)}


if __name__ == "__main__":
    asyncio.run(main())
