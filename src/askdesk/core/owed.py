"""Answers that an agent has not heard yet: a document on the shelf for each ask that it left without waiting.

    owed/ADDRESS/ASK        the end of this ask is still to be delivered

It is written before the ask is kept and removed after its end was delivered, so that no crash in between drops an
answer. Two agents may share an address; while the process of one lives, what it is owed is not for the other.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from askdesk.core import work
from askdesk.core.errors import AskdeskError
from askdesk.core.model import Asker
from askdesk.core.process import here, is_gone
from askdesk.core.store import Document, Shelf

OWED = "owed/"


class Owed(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An ask whose end is still to be delivered, and to whom."""

    v: int = 1
    ask: str
    asker: Asker
    call: str = ""  # what tells the same call again from another one

    @property
    def name(self) -> str:
        return name_of(self.asker, self.ask)


def name_of(asker: Asker, ask_id: str) -> str:
    return f"{OWED}{work.address(asker)}/{ask_id}"


async def note(shelf: Shelf, owed: Owed) -> None:
    await shelf.put(owed.name, msgspec.json.encode(owed).decode())


async def delivered(shelf: Shelf, asker: Asker, ask_id: str) -> None:
    """It has reached the agent. Twice is once, and so is one that was never owed."""
    if await shelf.get(name_of(asker, ask_id)):
        await shelf.put(name_of(asker, ask_id), None)


async def owed_to(shelf: Shelf, asker: Asker) -> tuple[Owed, ...]:
    """What is owed to an agent, but for what another living process at its address waits for."""
    found = (read(document) for document in await shelf.list(f"{OWED}{work.address(asker)}/"))
    return tuple(owed for owed in found if owed and _is_free(owed.asker, asker))


def _is_free(left_by: Asker, asker: Asker) -> bool:
    if left_by.process is None or (left_by.host, left_by.process) in ((asker.host, asker.process), here()):
        return True
    return is_gone(left_by.host, left_by.process)


def read(document: Document) -> Owed | None:
    """None where a newer version wrote it."""
    try:
        owed = msgspec.json.decode(document.value, type=Owed)
    except (msgspec.MsgspecError, AskdeskError):
        return None
    return owed if owed.v == 1 else None
