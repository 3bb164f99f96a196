"""The doors for Python programs: open_desk() for agents, ask() for scripts."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from askdesk.core.desk import Body, Desk, new_id
from askdesk.core.errors import AskdeskError, InvalidSettings, Problem, Unreachable, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Ask, Asker, Outcome, Settlement
from askdesk.core.store import Store
from askdesk.core.surface import attend_one
from askdesk.settings import Settings, load

if TYPE_CHECKING:
    from askdesk.stores.upkeep import Upkeep
    from askdesk.surfaces.terminal.lines import Lines
    from askdesk.surfaces.terminal.plain import PlainSurface
    from askdesk.surfaces.terminal.surface import TerminalSurface

    HereSurface: TypeAlias = PlainSurface | TerminalSurface

# What agents set in the shells they run commands in. A guard against an agent that answers itself, not a wall.
AGENT_VARIABLES = (
    "AI_AGENT",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
)

Surface: TypeAlias = Literal["auto", "terminal", "plain", "none"]

_WITH_UPKEEP = "must be sqlite:///path, a path or postgresql://… here"
_ON_A_SERVER = (
    "a desk server keeps its asks in a store of its own: run this on its machine, with the server's store URL"
)
_WITHOUT_UPKEEP = {
    "https": _ON_A_SERVER,
    "http": _ON_A_SERVER,
    "memory": f"memory: keeps nothing beyond its process, so there is nothing to look after; it {_WITH_UPKEEP}",
}


@asynccontextmanager
async def open_desk(
    store: str | None = None, *, limits: Limits = OPEN, create: bool = True, patience: float | None = None
) -> AsyncIterator[Desk]:
    """The desk at a store's URL, by default the one in the settings. What is due is expired first.

    Without `create`, a store that is not there is an error instead of an empty one. A database that is away is tried
    again for `patience` seconds; by default as long as it may take to start anew.
    """
    settings = load()
    opened = await open_store(
        store or settings.store,
        busy_seconds=settings.busy_seconds,
        patience=patience,
        connections=settings.postgres_connections,
        create=create,
        asker_token=settings.token,
        answerer_token=settings.answer_token,
    )
    # Where many machines share a store, its clock is theirs: so all agree on what is due.
    desk = Desk(opened, limits=sized(limits, settings), clock=getattr(opened, "clock", None))
    try:
        await desk.store.expire(desk.now())
        yield desk
    finally:
        await desk.close()


async def open_store(
    url: str,
    *,
    busy_seconds: float = 5.0,
    patience: float | None = None,
    connections: int = 8,
    create: bool = True,
    asker_token: str = "",
    answerer_token: str = "",
) -> Store:
    """The store that a URL names. A guest library is loaded only for the store that needs it."""
    scheme = _scheme(url)
    if scheme == "memory":
        from askdesk.stores.memory import MemoryStore

        return MemoryStore()
    if scheme in ("sqlite", "path"):
        from askdesk.stores.sqlite import SQLiteStore

        return await SQLiteStore.open(sqlite_path(url), busy_seconds=busy_seconds, create=create)
    if scheme in ("https", "http"):
        from askdesk.stores.http import HTTPStore

        return await HTTPStore.open(url, asker_token=asker_token, answerer_token=answerer_token)
    if scheme in ("postgresql", "postgres"):
        from askdesk.stores.patience import PATIENCE
        from askdesk.stores.postgres import PostgresStore

        return await PostgresStore.open(
            url,
            patience=PATIENCE if patience is None else patience,
            connections=connections,
            create=create,
        )
    from askdesk.stores.address import without_password

    takes = "sqlite:///path, a path, postgresql://…, https://… or memory:"
    raise InvalidSettings([Problem("store", f"takes {takes}, got {quoted(without_password(url))}")])


async def open_upkeep(
    url: str, *, busy_seconds: float = 5.0, patience: float | None = None, write: bool = False, create: bool = False
) -> Upkeep:
    """The upkeep of the store that a URL names: to look at it as it is, to `write`, or to `create` it first."""
    scheme = _scheme(url)
    if scheme in ("sqlite", "path"):
        from askdesk.stores.sqlite_upkeep import SQLiteUpkeep

        path = sqlite_path(url).absolute()
        return await SQLiteUpkeep.open(path, busy_seconds=busy_seconds, write=write, create=create)
    if scheme in ("postgresql", "postgres"):
        from askdesk.stores.patience import PATIENCE
        from askdesk.stores.postgres_upkeep import PostgresUpkeep

        patience = PATIENCE if patience is None else patience
        return await PostgresUpkeep.open(url, patience=patience, write=write, create=create)
    raise InvalidSettings([Problem("store", _WITHOUT_UPKEEP.get(scheme, _WITH_UPKEEP))])


def _scheme(url: str) -> str:
    """What stands before the colon; "path" where the text is a path, which :memory: is to nobody."""
    named = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", url)
    return named[1].lower() if named else "" if "://" in url or url.startswith(":") else "path"


def sqlite_path(url: str) -> Path:
    """`sqlite:///home/ana/desk.db` is /home/ana/desk.db; without a scheme the whole text is a path."""
    if _scheme(url) == "path":
        return Path(url).expanduser()
    from urllib.parse import unquote, urlsplit  # a path needs no such import, and a hook is in a hurry

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


def this_folder() -> str:
    """The project where none was named. A folder's name may be any bytes; a text may not."""
    return os.fsencode(os.getcwd()).decode("utf-8", "backslashreplace")


def agents_shell() -> str | None:
    """The variable that tells that an agent runs this shell: what is piped in there comes from no person."""
    return next((name for name in AGENT_VARIABLES if os.environ.get(name)), None)


def answered_at(desk: Desk) -> str | None:
    """The address of the desk server whose page alone people can answer on: this client has no answerer's token."""
    address: str | None = getattr(desk.store, "answered_at", None)
    return address


async def name_here(desk: Desk, by: str) -> str:
    """Under which name somebody answers here: a desk server knows it by their token."""
    me = getattr(desk.store, "me", None)  # an HTTPStore's; importing that takes 10 ms, before a form is painted
    if me is None or answered_at(desk):
        return by
    name: str = (await me("answerer")).name
    return name


def where_to_answer(desk: Desk, ask: Ask) -> str:
    """For whoever reads that an ask waits."""
    address = answered_at(desk)
    return f"{address}/asks/{ask.id}" if address else f"askdesk answer {ask.id[:8]}"


def surface_here(desk: Desk, by: str, wanted: Surface = "auto", *, from_stdin: bool = True) -> HereSurface | None:
    """A place to answer at this very terminal or pipe; None where there is none.

    A form where one can be drawn and nobody asked for plain lines. Standard input counts as a place to answer unless
    it is taken (`from_stdin` is false) or an agent filled it.
    """
    if answered_at(desk):
        return None
    from askdesk.surfaces.terminal.tty import can_draw
    from askdesk.surfaces.texts import speak

    settings = load()
    speak(settings.language)
    at_terminal = not from_stdin or (sys.stdin is not None and sys.stdin.isatty())
    plain = wanted == "plain" or (wanted == "auto" and (settings.plain or settings.screen_reader))
    if at_terminal and not plain and can_draw():
        from askdesk.surfaces.terminal.surface import TerminalSurface

        return TerminalSurface(desk.shelf, by)
    if wanted == "terminal":
        return None
    from askdesk.surfaces.terminal.plain import PlainSurface

    lines = lines_here(from_stdin=from_stdin)
    return PlainSurface(lines, desk.shelf, by) if lines else None


def lines_here(*, from_stdin: bool = True) -> Lines | None:
    """Lines from the terminal, or from a pipe that no agent filled."""
    from askdesk.surfaces.terminal.lines import Lines

    lines = Lines.of_stdin() if from_stdin else Lines.of_terminal()
    return None if lines and not lines.is_terminal and agents_shell() else lines


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

    "auto" shows the ask on this terminal and raises Unreachable where there is none; "plain" does so in lines, also on
    a pipe; "none" waits for somebody to answer elsewhere. Unreachable leaves the ask open: the same key asks again.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise RuntimeError("ask() blocks; inside an event loop use `async with open_desk() as desk` and desk.ask()")
    try:
        return asyncio.run(_ask(body, agent, key, deadline, surface, store))
    except (AskdeskError, KeyboardInterrupt) as error:
        raise error.with_traceback(None) from None  # the way through the event loop tells a script nothing


async def _ask(
    body: Body, agent: str, key: str | None, deadline: datetime | timedelta | None, surface: Surface, store: str | None
) -> Outcome:
    asker = asker_here(agent, project=this_folder())
    async with open_desk(store) as desk, desk.asking(body, asker=asker, key=key, deadline=deadline) as ask:
        if surface == "none":
            return (await settled_elsewhere(desk, ask)).outcome
        if answered_at(desk):
            print(f"ask {ask.id} waits for an answer: {where_to_answer(desk, ask)}", file=sys.stderr)  # noqa: T201
            return (await settled_elsewhere(desk, ask)).outcome
        by = await name_here(desk, load().by)
        here = surface_here(desk, by, surface, from_stdin=surface == "plain")
        return (await settled_on(here, desk, ask, by=by)).outcome


async def settled_elsewhere(desk: Desk, ask: Ask) -> Settlement:
    settlement = await desk.wait(ask.id)
    assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
    return settlement


async def settled_on(
    surface: HereSurface | None, desk: Desk, ask: Ask, *, by: str, submission: str | None = None
) -> Settlement:
    """Show an ask on a surface until it is settled, there or elsewhere; Unreachable when the person leaves."""
    from askdesk.surfaces import draft

    entry = await desk.get(ask.id)  # the same key again may find it settled
    if entry.settlement:
        return entry.settlement
    if surface is None:
        raise Unreachable(ask.id, _why_not_here(desk))
    submission = submission or new_id()
    settlement = await attend_one(
        desk,
        ask,
        surface.present,
        by=by,
        surface=surface.name,
        lost=surface.lost,
        sent=surface.sent,
        submission=submission,
    )
    if settlement is None:
        raise Unreachable(ask.id, "the person left, or the input ended")
    if settlement.submission == submission:
        await draft.keep(desk.shelf, ask, by, None)  # it was sent
    return settlement


def _why_not_here(desk: Desk) -> str:
    if address := answered_at(desk):
        return f"ASKDESK_ANSWER_TOKEN is not set, and people answer on {address}"
    return "this is an agent's shell" if agents_shell() else "there is no terminal here"
