"""Answers that an agent has not heard yet: a document on the shelf for each ask that it left without waiting.

    owed/ADDRESS/ASK        the end of this ask is still to be delivered

It is written before the ask is kept and removed after its end was delivered, so that no crash in between drops an
answer. Two agents may share an address; while the process of one lives, what it is owed is not for the other.
What nobody came for in a month is forgotten; the ask and its settlement stay.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from askdesk.core import work
from askdesk.core.errors import AskdeskError, UnknownAsk
from askdesk.core.model import Asker, Settlement
from askdesk.core.process import here, is_gone
from askdesk.core.store import Document, Shelf, Store

OWED = "owed/"
_KEPT = timedelta(days=30)  # what nobody came for, since it was settled
_GIVEN_UP = timedelta(days=1)  # a process on another machine that did not come for so long is thought to be gone


class Owed(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An ask whose end is still to be delivered, and to whom."""

    v: int = 1
    ask: str
    asker: Asker
    call: str = ""  # what tells the same call again from another one
    at: Annotated[datetime, Meta(tz=True)] | None = None

    @property
    def name(self) -> str:
        return name_of(self.asker, self.ask)


def name_of(asker: Asker, ask_id: str) -> str:
    return f"{OWED}{work.address(asker)}/{ask_id}"


def ask_of(name: str) -> str:
    """The id of the ask that a document is about, also where only a newer version can read it."""
    return name.removeprefix(OWED).partition("/")[2]


async def note(shelf: Shelf, owed: Owed) -> None:
    await shelf.put(owed.name, msgspec.json.encode(owed).decode())


async def is_owed(shelf: Shelf, asker: Asker, ask_id: str) -> bool:
    return await shelf.get(name_of(asker, ask_id)) is not None


async def delivered(shelf: Shelf, asker: Asker, ask_id: str) -> None:
    """It has reached the agent. Twice is once, and so is one that was never owed."""
    if await is_owed(shelf, asker, ask_id):
        await shelf.put(name_of(asker, ask_id), None)


async def owed_to(shelf: Shelf, asker: Asker) -> tuple[Owed, ...]:
    """What is owed to an agent, but for what another living process at its address waits for."""
    return tuple(owed for owed in await owed_at(shelf, asker) if is_free(owed.asker, asker))


async def owed_at(shelf: Shelf, asker: Asker) -> tuple[Owed, ...]:
    """What is owed to whoever is at the address of an agent."""
    found = (read(document) for document in await shelf.list(f"{OWED}{work.address(asker)}/"))
    return tuple(owed for owed in found if owed)


def is_free(left_by: Asker, asker: Asker) -> bool:
    """Whether what somebody left at an address is for this one, who is there now.

    Only its own machine can tell whether a process lives. A session is at one place at a time: where it has come to
    another machine, what it left on the one before is its own.
    """
    if left_by.process is None or (left_by.host, left_by.process) in ((asker.host, asker.process), here()):
        return True
    return is_gone(left_by.host, left_by.process) or bool(asker.session and is_elsewhere(left_by, asker))


def is_elsewhere(left_by: Asker, asker: Asker) -> bool:
    return left_by.host not in (asker.host, here()[0])


def is_given_up(left_by: Asker, asker: Asker, settlement: Settlement | None, now: datetime) -> bool:
    """Whether a process of another machine, which nobody here can ask, has not come for an answer for a long time."""
    return settlement is not None and now - settlement.at > _GIVEN_UP and is_elsewhere(left_by, asker)


async def forget_old(store: Store, now: datetime) -> None:
    """Forget what was settled a month ago and nobody came for, and notes without an ask."""
    for document in await store.shelf.list(OWED):
        owed = read(document)
        if owed and owed.at and now - owed.at > _KEPT and await _is_over(store, owed.ask, now):
            await store.shelf.put(document.name, None)


async def _is_over(store: Store, ask_id: str, now: datetime) -> bool:
    try:
        settlement = (await store.get(ask_id)).settlement
    except UnknownAsk:  # noted, and then never kept
        return True
    return settlement is not None and now - settlement.at > _KEPT


def read(document: Document) -> Owed | None:
    """None where a newer version wrote it."""
    try:
        owed = msgspec.json.decode(document.value, type=Owed)
    except (msgspec.MsgspecError, AskdeskError):
        return None
    return owed if owed.v == 1 else None
