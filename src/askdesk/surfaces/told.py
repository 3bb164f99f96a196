"""Who was told: documents on the shelf, so that of many servers only one tells of an ask. Sends nothing."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreError, UnknownAsk, VersionConflict
from askdesk.core.store import Shelf

State: TypeAlias = Literal["sending", "told", "failed"]
_Time: TypeAlias = Annotated[datetime, Meta(tz=True)]

APART = timedelta(seconds=10)  # from one turn to tell to the next
DEAD_AFTER = timedelta(minutes=1)  # a claim that nobody has renewed so long: its server is gone
_LONG_AGO, _OLD = timedelta(hours=1), timedelta(days=1)
_AT_A_TIME = 500
_EVER = datetime.min.replace(tzinfo=UTC)
TOLD, _SINCE, _TURN = "told/", "notify/since", "notify/turn"


class Told(Struct, frozen=True, kw_only=True):
    v: Literal[1]
    at: _Time
    state: State


class _Moment(Struct, frozen=True, kw_only=True):
    v: Literal[1]
    at: _Time


class Standing(NamedTuple):
    """What the shelf says of an ask. `free_from`: when it may be claimed; None where it needs no telling any more."""

    version: int
    free_from: datetime | None


async def standing(shelf: Shelf, ask_id: str, again: timedelta | None = None) -> Standing:
    """`again`: so long after it was told it may be told again."""
    document = await shelf.get(TOLD + ask_id)
    if document is None:
        return Standing(0, _EVER)
    told = _read_told(document.value)
    pauses = {"sending": DEAD_AFTER, "told": again, "failed": None}
    pause = pauses[told.state] if told else None  # what a newer version wrote is left to it
    return Standing(document.version, told.at + pause if told and pause else None)


async def write(shelf: Shelf, ask_id: str, state: State, now: datetime, *, expect: int) -> int:
    """Claim an ask, renew the claim or say how it ended, and return the version; VersionConflict: it is another's."""
    value = msgspec.json.encode(Told(v=1, at=now, state=state)).decode()
    document = await shelf.put(TOLD + ask_id, value, expect=expect)
    return document.version if document else 0


async def since(shelf: Shelf, now: datetime) -> datetime:
    """When the first notifier ever ran on this desk: now, where this is the first."""
    with suppress(VersionConflict):
        await shelf.put(_SINCE, _moment(now), expect=0)
    document = await shelf.get(_SINCE)
    return (document and _read_moment(document.value)) or now


async def take_turn(shelf: Shelf, now: datetime) -> datetime | None:
    """None where it is ours to tell now, else when the next turn comes: many servers do not tell all at once."""
    document = await shelf.get(_TURN)
    latest = _read_moment(document.value) if document else None
    if latest and abs(now - latest) < APART:  # one far ahead is a wrong clock's, and must not hold anybody up
        return latest + APART
    try:
        await shelf.put(_TURN, _moment(now), expect=document.version if document else 0)
    except VersionConflict:
        return now + APART
    return None


async def forget(desk: Desk, now: datetime, after: str = "") -> str:
    """Remove what stands for asks that ended long ago, some at a time; returns where to go on, "" at the end."""
    old = [
        document
        for document in await desk.shelf.list(TOLD)
        if document.name > after and not ((told := _read_told(document.value)) and told.at > now - _OLD)
    ]
    for document in old[:_AT_A_TIME]:
        if await _is_over(desk, document.name.removeprefix(TOLD), now):
            with suppress(VersionConflict):
                await desk.shelf.put(document.name, None, expect=document.version)
    return old[_AT_A_TIME - 1].name if len(old) > _AT_A_TIME else ""


async def _is_over(desk: Desk, ask_id: str, now: datetime) -> bool:
    try:
        entry = await desk.get(ask_id)
    except UnknownAsk:
        return True
    except StoreError:  # only a newer version can read this one
        return False
    return entry.settlement is not None and entry.settlement.at < now - _LONG_AGO


def _moment(now: datetime) -> str:
    return msgspec.json.encode(_Moment(v=1, at=now)).decode()


def _read_told(value: str) -> Told | None:
    try:
        return msgspec.json.decode(value, type=Told)
    except msgspec.DecodeError:
        return None


def _read_moment(value: str) -> datetime | None:
    try:
        return msgspec.json.decode(value, type=_Moment).at
    except msgspec.DecodeError:
        return None
