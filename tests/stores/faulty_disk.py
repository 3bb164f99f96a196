"""A disk for SQLite that fails at its n-th step: a VFS over the machine's own. It knows no table and no verb.

A step is whatever changes a file: to write, to sync, to cut short, to delete, to make. What else there is goes on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import apsw

PLAIN = apsw.vfs_names()[0]  # the machine's own
KILLED = 137  # what a process that was killed at a step ends with
Name: TypeAlias = str | apsw.URIFilename | None
Change: TypeAlias = tuple[int, bytes | None]
"""What was written where; None where the file was cut off there."""


class Fault(Enum):
    FULL = "there is no room for another byte, until there is again"
    HALF = "of one write the half goes through, and there is no room for the rest"
    BROKEN = "nothing can be changed, until it can again"
    ONCE = "one step fails"
    POWER = "the power fails: of what was not synced some is there and some is not"
    KILL = "the process is killed, in the midst of a write"


class FaultyDisk(apsw.VFS):
    """What every new connection uses, once it is made. A good disk, until it is told to `fail`."""

    def __init__(self) -> None:
        super().__init__("faulty", PLAIN, makedefault=True)
        self.steps = 0
        self._fault: Fault | None = None
        self._fails_at = 0
        self._has_power = True
        self._unsynced: dict[str, Unsynced] = {}

    def fail(self, fault: Fault, at: int) -> None:
        """At so many steps from here."""
        self._fault, self._fails_at, self.steps = fault, at, 0

    def lift(self) -> None:
        """It is a good one again, and all that is there is synced."""
        self._fault, self._has_power = None, True
        self._unsynced.clear()

    @property
    def is_synced(self) -> bool:
        return not self._unsynced

    def lose_power(self) -> None:
        """Nothing is changed from now on, and what is not synced is perhaps lost."""
        chance = random.Random(self._fails_at)  # noqa: S311 - no secret, and the same with each run
        for name, unsynced in self._unsynced.items():
            Path(name).write_bytes(unsynced.left(chance))
        self._has_power = False

    def step(self, code: int, file: File | None = None, data: bytes = b"", offset: int = 0) -> None:
        """Take one step; or fail with an error of SQLite's, and perhaps with the half of the data written."""
        self.steps += 1
        if not self._has_power:
            raise apsw.exception_for(code)
        if self._fault is None or self.steps < self._fails_at:
            return
        match self._fault:
            case Fault.FULL if data:
                raise apsw.exception_for(apsw.SQLITE_FULL)
            case Fault.HALF if file and data and self.steps == self._fails_at:
                file.carry(data[: len(data) // 2], offset)
                raise apsw.exception_for(apsw.SQLITE_FULL)
            case Fault.ONCE if self.steps == self._fails_at:
                raise apsw.exception_for(code)
            case Fault.BROKEN:
                raise apsw.exception_for(code)
            case Fault.POWER:
                self.lose_power()
                raise apsw.exception_for(code)
            case Fault.KILL:
                if file:
                    file.carry(data[: len(data) // 2], offset)
                os._exit(KILLED)
            case _:  # at another kind of step, or past the one that failed
                pass

    def changed(self, name: str | None, change: Change) -> None:
        """Keep what would be lost with the power."""
        if self._fault is Fault.POWER and name:
            self._unsynced.setdefault(name, Unsynced(Path(name))).changes.append(change)

    def synced(self, name: str | None) -> None:
        self._unsynced.pop(name or "", None)

    def xOpen(self, name: Name, flags: list[int]) -> File:  # noqa: N802 - SQLite's word, as all below
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if flags[0] & apsw.SQLITE_OPEN_CREATE and path and not os.path.exists(path):
            self.step(apsw.SQLITE_CANTOPEN)
        return File(self, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if os.path.exists(filename):
            self.step(apsw.SQLITE_IOERR_DELETE)
        self.synced(filename)
        super().xDelete(filename, syncdir)

    def excepthook(self, *_: object) -> bool:
        """What fails while a connection is let go of is nobody's to hear, and need not be printed either."""
        return True


class File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, path: str | None, name: Name, flags: list[int]) -> None:
        self._disk, self._path = disk, path
        super().__init__(PLAIN, name, flags)

    def carry(self, data: bytes, offset: int) -> None:
        """Write for the machine's own disk."""
        self._disk.changed(self._path, (offset, data))
        super().xWrite(data, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.step(apsw.SQLITE_IOERR_WRITE, self, data, offset)
        self.carry(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.step(apsw.SQLITE_IOERR_TRUNCATE)
        self._disk.changed(self._path, (newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.step(apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)
        self._disk.synced(self._path)

    def excepthook(self, *_: object) -> bool:
        """As above."""
        return True


class Unsynced:
    """A file as it was synced, and what was done to it since."""

    def __init__(self, path: Path) -> None:
        self._synced = path.read_bytes()
        self.changes: list[Change] = []

    def left(self, chance: random.Random) -> bytes:
        """What a disk may hold of it after the power failed: each change, or the half of it, or nothing."""
        content = bytearray(self._synced)
        for offset, data in self.changes:
            share = chance.choice((0, 0, 1, 2))
            if data is None:
                del content[offset if share else len(content) :]
            elif there := data[: len(data) * share // 2]:
                content.extend(bytes(max(0, offset - len(content))))
                content[offset : offset + len(there)] = there
        return bytes(content)


@contextmanager
def faulty_disk() -> Iterator[FaultyDisk]:
    """What every connection uses that is opened until the block ends."""
    disk = FaultyDisk()
    try:
        yield disk
    finally:
        apsw.set_default_vfs(PLAIN)
        disk.unregister()
