"""Look after the store as a whole: an SQLite file or a PostgreSQL database, while agents and people go on.

askdesk store copy desk.db postgresql://host/desk   move it; broken off and run again, it goes on
askdesk store backup desk-monday.db                 the whole desk, as it is now, in one new file
askdesk store check                                 whether anything is wrong with it; changes nothing
askdesk store vacuum                                give back the room of what is gone
askdesk store purge --older-than 90d --dry-run      what would go for ever of what was settled long ago
askdesk store purge --older-than 90d                the same in earnest: it asks first, or takes --yes

`askdesk store WHAT --help` tells more of each. A store is named as for --store: by a path or sqlite:///path, or by
postgresql://user@host/name (a password is better kept in ~/.pgpass, or in PGPASSWORD, than in a command). All of
them take --json, for programs. purge refuses within an agent's shell, but for --force.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from askdesk.cli.command import (
    duration,
    force_argument,
    print_findings,
    print_json,
    refused_to_agents,
    say,
)
from askdesk.cli.main import ANSWERED, EXIT_CODES, FAILED, INVALID
from askdesk.cli.progress import Progress
from askdesk.core.errors import InvalidSettings, Problem
from askdesk.core.finding import Finding
from askdesk.core.text import shown

if TYPE_CHECKING:
    from askdesk.stores.copying import Copied
    from askdesk.stores.purging import Old
    from askdesk.stores.upkeep import Heard, Removed, Room, Upkeep

T = TypeVar("T")

_COPY = """\
Copy everything from one store into another: every ask with its settlement, every document, as they are kept, and in the
same order. FROM and TO are named as for --store; TO is made where there is nothing.

askdesk store copy ~/.local/share/askdesk/askdesk.db postgresql://ana@db.example.com/desk
askdesk store copy postgresql://ana@db.example.com/desk desk.db
askdesk store copy monday.db postgresql://ana@db.example.com/desk    a backup, put back

Agents and people may go on at FROM. Whatever ends the copy, run it again and it goes on where it was; what changed
meanwhile comes along. In the end every text is compared with what is at TO, and one SHA-256 over all of it is told:
it is the same for the same content, wherever that is kept. Ends with 1 where FROM has changed since, or where something
else is kept at TO under the same id, key or name: that is named, and nothing of it is written over."""

_BACKUP = """\
Put the whole desk, as it is at this moment, into a new SQLite file, which every askdesk opens and nobody else may read.

askdesk store backup desk-monday.db
askdesk store backup desk-monday.db --store postgresql://ana@db.example.com/desk

Agents and people go on meanwhile. The file appears once it is whole, compared and on the disk; one that is there is
never written over. To put it back, copy it (askdesk store copy desk-monday.db TO), or stop all and put it in the place
of the store's file, alone."""

_CHECK = """\
Look at everything in the store, as it is at one moment, and tell what is wrong. Changes nothing. Ends with 1 where
something is wrong. The SHA-256 is that of `askdesk store copy` and `backup`."""

_VACUUM = """\
Give back the room of what was removed or changed. An SQLite file shrinks, and while it does, others wait to write; a
PostgreSQL database keeps the room for what comes next."""

_PURGE = """\
Remove asks that were settled long ago, for ever, with what was typed, snoozed and told at them. Never an open ask,
never one whose end an agent has not heard yet, never one that this askdesk cannot read, and never the one that changed
last of all.

askdesk store purge --older-than 90d --dry-run      how many would go
askdesk store purge --older-than 90d                asks on a terminal
askdesk store purge --older-than 365d --yes         in a script

A key of what is gone may be used anew. `askdesk store vacuum` gives back the room."""

_STOPPED = {
    "copy": "stopped; run it again, and it goes on where it was",
    "backup": "stopped; there is no backup",
    "purge": "stopped; what was removed is gone, and the rest is there",
}


def arguments(parser: ArgumentParser) -> None:
    whats = parser.add_subparsers(dest="what", required=True, metavar="copy|backup|check|vacuum|purge")

    def what(name: str, description: str) -> ArgumentParser:
        added = whats.add_parser(
            name, description=description, epilog=EXIT_CODES, formatter_class=RawDescriptionHelpFormatter
        )
        added.add_argument("--json", action="store_true", help="print the result for programs")
        if name != "copy":
            added.add_argument("--store", metavar="URL", default=SUPPRESS, help="which one (default: the setting)")
        return added

    copy = what("copy", _COPY)
    copy.add_argument("source", metavar="FROM")
    copy.add_argument("target", metavar="TO")
    what("backup", _BACKUP).add_argument("file", metavar="FILE", help="a path where nothing is yet")
    what("check", _CHECK)
    what("vacuum", _VACUUM)
    purge = what("purge", _PURGE)
    purge.add_argument("--older-than", type=duration, required=True, metavar="SPAN", help="settled before: 90d, 12h, …")
    purge.add_argument("--dry-run", action="store_true", help="tell what would go, and change nothing")
    purge.add_argument("--yes", action="store_true", help="do not ask")
    force_argument(purge)


def run(given: Namespace) -> int:
    works = {"copy": _copy, "backup": _backup, "check": _check, "vacuum": _vacuum, "purge": _purge}
    if given.what == "copy" and given.store is not None:
        raise InvalidSettings([Problem("--store", "is not for copy, which names both stores: FROM TO")])
    try:
        return works[given.what](given)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return say(_STOPPED.get(given.what, "stopped"), FAILED)


def _copy(given: Namespace) -> int:
    from askdesk.stores.copying import copy

    async def work(heard: Heard) -> tuple[str, Copied]:
        async with _opened(given.source) as source, _opened(given.target, create=True) as target:
            if _is_one(given, source.address, target.address):
                raise InvalidSettings(f"{source.address}: is one and the same store")
            return target.address, await copy(source, target, _passing(), heard)

    address, copied = _seen(work)
    if given.json:
        print_json({"to": address, **_plain(copied), "changed": copied.changed})
    elif not copied.changed:
        _print_content(address, copied)
    if copied.changed:
        again = "run it again, and it goes on; once nobody works there, all of it is the same"
        return say(f"asks and documents that have changed since they were copied: {copied.changed}; {again}", FAILED)
    return ANSWERED


def _is_one(given: Namespace, *addresses: str) -> bool:
    """Whether both are the same store: an address tells no parameters, and one of them may name another host."""
    has_parameters = any("?" in url for url in (given.source, given.target))
    return given.source == given.target or (len({*addresses}) == 1 and not has_parameters)


def _backup(given: Namespace) -> int:
    from askdesk.open import sqlite_path
    from askdesk.stores.backup import back_up

    path = sqlite_path(given.file).absolute()

    async def work(heard: Heard) -> Copied:
        async with _opened(given.store) as store:
            return await back_up(store, path, _passing(), heard)

    copied = _seen(work)
    if given.json:
        print_json({"to": str(path), **_plain(copied), "bytes": path.stat().st_size})
    else:
        _print_content(str(path), copied)
    return ANSWERED


def _check(given: Namespace) -> int:
    from askdesk.stores.checking import check

    async def work(heard: Heard) -> list[Finding]:
        async with _opened(given.store) as store:
            return [Finding("store", store.address), *await check(store, _passing(), heard)]

    return print_findings(_seen(work), as_json=given.json)


def _vacuum(given: Namespace) -> int:
    async def work(heard: Heard) -> Room:
        async with _opened(given.store, write=True) as store:
            return await store.vacuum()

    room = _seen(work)
    if given.json:
        print_json(room._asdict())
    else:
        print(f"{_megabytes(room.before)} before, {_megabytes(room.after)} now")
    return ANSWERED


def _purge(given: Namespace) -> int:
    from askdesk.stores.upkeep import Removed

    if not given.dry_run and (code := refused_to_agents(given)) is not None:
        return code
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    if not (given.dry_run or given.yes or can_ask):
        return say("nobody can be asked here: give --yes, or look first with --dry-run", INVALID)
    before, found = _seen(lambda heard: _old(given, heard))
    words = _words(before, found)
    if not given.dry_run:
        say(words)
        if found.ids and not given.yes and not _is_meant():
            return say("nothing was removed")
    removed = Removed(0, 0) if given.dry_run else _seen(lambda heard: _removed(given, found.ids, heard))
    if given.json:
        counts = {"found": len(found.ids), "owed": found.owed, "latest": found.latest, "unread": found.unread}
        print_json({"before": before.isoformat(), **counts, "removed": removed.asks, "documents": removed.documents})
    else:
        print(words if given.dry_run else f"removed: {removed.asks} asks and {removed.documents} documents")
    return ANSWERED


async def _old(given: Namespace, heard: Heard) -> tuple[datetime, Old]:
    from askdesk.stores.purging import old

    async with _opened(given.store) as store:
        before = store.now() - given.older_than
        return before, await old(store, before, heard)


async def _removed(given: Namespace, ids: Sequence[str], heard: Heard) -> Removed:
    from askdesk.stores.purging import purge
    from askdesk.surfaces import draft, snooze, told

    async with _opened(given.store, write=True) as store:
        return await purge(store, ids, (draft.PREFIX, snooze.PREFIX, told.TOLD), heard)


def _words(before: datetime, found: Old) -> str:
    """What would go, and what would not though it is as old."""
    staying = {
        "whose end an agent has not heard yet": found.owed,
        "that changed last of all": found.latest,
        "that this askdesk cannot read, whenever they were settled": found.unread,
    }
    words = [f"asks settled before {before.astimezone():%Y-%m-%d %H:%M} that would go for ever: {len(found.ids)}"]
    return "\n".join([*words, *(f"asks that stay, {why}: {count}" for why, count in staying.items() if count)])


def _is_meant() -> bool:
    print("Remove them? Only yes does: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def _seen(work: Callable[[Heard], Coroutine[Any, Any, T]]) -> T:
    """Run it, showing on a terminal how far it has come."""
    bar = _Bar()
    try:
        return asyncio.run(work(bar.heard))
    finally:
        bar.clear()


class _Bar:
    """One progress after the other, as the work goes from one thing to the next."""

    def __init__(self) -> None:
        self._what, self._done, self._progress = "", 0, Progress()

    def heard(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.clear()
            self._what, self._done = what, 0
            self._progress = Progress(total, "{:,}".format, f" {what}")
        self._progress.add(done - self._done)
        self._done = done

    def clear(self) -> None:
        self._progress.clear()


@asynccontextmanager
async def _opened(url: str | None, *, write: bool = False, create: bool = False) -> AsyncIterator[Upkeep]:
    from askdesk.open import open_upkeep
    from askdesk.settings import load

    settings = load()
    store = await open_upkeep(url or settings.store, busy_seconds=settings.busy_seconds, write=write, create=create)
    try:
        yield store
    finally:
        await store.close()


def _passing() -> tuple[str, ...]:
    """Signs of life: whoever goes on at another store gives them there."""
    from askdesk.core.work import WORKING
    from askdesk.surfaces import attending, serving

    return WORKING, attending.PREFIX, serving.PREFIX


def _plain(copied: Copied) -> dict[str, int | str]:
    counts = {"open": copied.open, "settled": copied.settled, "documents": copied.documents}
    return {**counts, "sha256": copied.sha256}


def _print_content(address: str, copied: Copied) -> None:
    print(f"{shown(address)}: asks: {copied.asks} (open: {copied.open}), documents: {copied.documents}, all compared")
    print(f"sha256 {copied.sha256}")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
