"""The doors for Python programs: open_desk() for agents, ask() for scripts."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from askdesk.core.desk import Body, Desk
from askdesk.core.errors import InvalidSettings, Problem, Unreachable, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Ask, Asker, Outcome, Settlement
from askdesk.core.store import Store
from askdesk.core.surface import attend_one
from askdesk.settings import Settings, load

if TYPE_CHECKING:
    from askdesk.surfaces.terminal.lines import Lines

Surface: TypeAlias = Literal["auto", "plain", "none"]


@asynccontextmanager
async def open_desk(store: str | None = None, *, limits: Limits = OPEN) -> AsyncIterator[Desk]:
    """The desk at a store's URL, by default the one in the settings. What is due is expired first."""
    settings = load()
    desk = Desk(
        await open_store(store or settings.store, busy_seconds=settings.busy_seconds),
        limits=sized(limits, settings),
    )
    try:
        await desk.store.expire(desk.now())
        yield desk
    finally:
        await desk.close()


async def open_store(url: str, *, busy_seconds: float = 5.0) -> Store:
    """The store that a URL names. A guest library is loaded only for the store that needs it."""
    scheme = urlsplit(url).scheme if "://" in url or url == "memory:" else "path"
    if scheme == "memory":
        from askdesk.stores.memory import MemoryStore

        return MemoryStore()
    if scheme in ("sqlite", "path"):
        from askdesk.stores.sqlite import SQLiteStore

        return await SQLiteStore.open(sqlite_path(url), busy_seconds=busy_seconds)
    raise InvalidSettings([Problem("store", f"takes sqlite:///path, a path or memory:, got {quoted(url)}")])


def sqlite_path(url: str) -> Path:
    """`sqlite:///home/ana/desk.db` is /home/ana/desk.db; without a scheme the whole text is a path."""
    if "://" not in url:
        return Path(url).expanduser()
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc or not path.strip("/"):
        raise InvalidSettings([Problem("store", f"needs three slashes and a path: sqlite:///path, got {quoted(url)}")])
    return Path(path)


def sized(limits: Limits, settings: Settings) -> Limits:
    """The limits with the operator's sizes."""
    return replace(limits, size=settings.max_bytes, depth=settings.max_depth)


def asker_here(agent: str, **fields: str) -> Asker:
    """An asker that lives in this very process, so that surfaces can tell when it is gone."""
    return Asker(agent, host=socket.gethostname(), process=os.getpid(), **fields)


def ask(
    body: Body,
    *,
    agent: str = "script",
    key: str | None = None,
    deadline: datetime | timedelta | None = None,
    surface: Surface = "auto",
    store: str | None = None,
) -> Outcome:
    """Ask and block until there is an outcome: for scripts, outside any event loop.

    "auto" shows the ask on this terminal and raises Unreachable where there is none; "none" waits for somebody to
    answer elsewhere. Unreachable leaves the ask open: the same key asks for it again.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise RuntimeError("ask() blocks; inside an event loop use `async with open_desk() as desk` and desk.ask()")
    return asyncio.run(_ask(body, agent, key, deadline, surface, store))


async def _ask(
    body: Body, agent: str, key: str | None, deadline: datetime | timedelta | None, surface: Surface, store: str | None
) -> Outcome:
    from askdesk.surfaces.terminal.lines import Lines

    async with open_desk(store) as desk:
        asker = asker_here(agent, project=os.getcwd())
        ask = await desk.post(body, asker=asker, key=key, deadline=deadline)
        try:
            if surface == "none":
                settlement = await desk.wait(ask.id)
            else:
                lines = Lines.of_terminal() if surface == "auto" else Lines.of_stdin()
                settlement = await settled_on(lines, desk, ask, by=load().by)
        except asyncio.CancelledError:
            if key is None:
                await desk.withdraw(ask.id, "the agent stopped waiting")
            raise
    assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
    return settlement.outcome


async def settled_on(
    lines: Lines | None, desk: Desk, ask: Ask, *, by: str, submission: str | None = None
) -> Settlement:
    """Show an ask on plain lines until it is settled, there or elsewhere; Unreachable when the person leaves."""
    from askdesk.surfaces.terminal.plain import PlainSurface

    entry = await desk.get(ask.id)  # the same key again may find it settled
    if entry.settlement:
        return entry.settlement
    if lines is None:
        raise Unreachable(ask.id, "there is no terminal here")
    plain = PlainSurface(lines)
    settlement = await attend_one(
        desk, ask, plain.present, by=by, surface="plain", lost=plain.lost, submission=submission
    )
    if settlement is None:
        raise Unreachable(ask.id, "the person left, or the input ended")
    return settlement
