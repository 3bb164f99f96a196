"""Puts a whole desk, as it is at one moment, into a new SQLite file: so a backup is a desk that every askdesk opens.

It is made beside its place and linked in when it is whole, looked at and on the disk: nobody sees half a backup, and
none is ever written over.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

from askdesk.core.errors import InvalidSettings, StoreCorrupt
from askdesk.stores.copying import Copied, same
from askdesk.stores.sqlite_connection import Place, check_whole
from askdesk.stores.sqlite_upkeep import SQLiteUpkeep
from askdesk.stores.upkeep import Heard, Upkeep

# What file systems of sticks and of some networks say.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


async def back_up(store: Upkeep, path: Path, passing: Iterable[str], heard: Heard) -> Copied:
    """What is in the backup; documents that are `passing` are in it too, but count for nothing."""
    _check_free(path)
    beside = path.with_name(f".{path.name}-{token_hex(4)}")
    try:
        async with store.snapshot() as moment:
            await moment.write_file(beside, heard)
            found = await _looked_at(moment, beside, passing, heard)
        check_whole(str(beside), path)
        _put_in_place(beside, path)
    except OSError as error:
        raise Place(path, 0).ours(error) from None
    finally:
        for leftover in (beside, *_belonging(beside)):
            leftover.unlink(missing_ok=True)
    return found


async def _looked_at(moment: Upkeep, path: Path, passing: Iterable[str], heard: Heard) -> Copied:
    """The file, text for text and page for page."""
    file = await SQLiteUpkeep.open(path)
    try:
        found = await same(moment, file, passing, heard)
        wrong = [f"{finding.about}: {finding.says}" for finding in await file.look() if finding.wrong]
    finally:
        await file.close()
    if found.changed:
        wrong.append(f"texts that differ: {found.changed}")
    if wrong:
        raise StoreCorrupt(f"{moment.address}: cannot be backed up as it is: {'; '.join(wrong)}")
    return found


def _check_free(path: Path) -> None:
    """SQLite would write what lies beside the place into the file that comes there."""
    if not path.parent.is_dir():
        raise InvalidSettings(f"{path.parent}: there is no such folder")
    for there in (path, *_belonging(path)):
        if os.path.lexists(there):
            raise InvalidSettings(f"{there}: is there already, and a backup writes over nothing")


def _belonging(path: Path) -> tuple[Path, ...]:
    return Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")


def _put_in_place(beside: Path, path: Path) -> None:
    _write_through(beside, os.O_RDWR)
    try:
        _link(beside, path)
    except FileExistsError:
        raise InvalidSettings(f"{path}: came there meanwhile, and a backup writes over nothing") from None
    if os.name == "posix":  # elsewhere a folder cannot be opened, and need not be
        _write_through(path.parent, os.O_RDONLY)


def _link(beside: Path, path: Path) -> None:
    try:
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # nobody else's place from now on
        try:
            beside.replace(path)
        except OSError:
            path.unlink()
            raise


def _write_through(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
