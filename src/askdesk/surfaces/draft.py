"""Drafts: what a person has typed and not sent, kept on the desk's shelf, a document for each ask and person."""

from __future__ import annotations

import asyncio
import logging
from hashlib import sha256

import msgspec
from msgspec import Struct

from askdesk.core.errors import AskdeskError, InvalidReply
from askdesk.core.model import Ask
from askdesk.core.store import Shelf
from askdesk.surfaces.form import Form, Given

log = logging.getLogger(__name__)

PREFIX = "draft/"
_APART = "\t"  # between a person's name and what tells apart the windows in which they lost a race
_PAUSE = 0.3  # seconds without a key before a draft is written


class Draft(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was given to each question, or typed on the way to a decision."""

    v: int
    given: tuple[Given, ...] = ()
    at: int = 0
    message: str = ""
    words: tuple[tuple[str, str], ...] = ()
    input: str = ""

    @property
    def is_empty(self) -> bool:
        typed = (self.message, self.input, *(text for _, text in self.words))
        return not any(typed) and all(given == Given() for given in self.given)

    def fits(self, ask: Ask) -> bool:
        """Whether it could have been typed for this ask."""
        if not self.given:
            return ask.permission is not None or bool(self.message)
        if len(self.given) != len(ask.questions):
            return False
        pairs = list(zip(ask.questions, self.given, strict=True))
        if any(not 0 <= number < len(question.options) for question, given in pairs for number in given.picked):
            return False
        try:
            return bool(Form(ask.questions, self.given).answers)  # read, so that nothing raises later
        except InvalidReply:
            return False


def name_of(ask_id: str, by: str) -> str:
    return f"{PREFIX}{ask_id}/{by}"


async def kept(shelf: Shelf, ask: Ask, by: str) -> Draft | None:
    """The draft of one person; None where there is none that can be used."""
    document = await shelf.get(name_of(ask.id, by))
    return _read(document.value, ask) if document else None


async def all_kept(shelf: Shelf, ask: Ask) -> tuple[tuple[str, Draft], ...]:
    """Whose drafts there are for an ask, by name."""
    prefix = name_of(ask.id, "")
    documents = await shelf.list(prefix)
    read = ((document.name.removeprefix(prefix).split(_APART)[0], _read(document.value, ask)) for document in documents)
    return tuple(dict.fromkeys((by, draft) for by, draft in read if draft))


def _read(value: str, ask: Ask) -> Draft | None:
    try:
        draft = msgspec.json.decode(value, type=Draft)
    except msgspec.DecodeError:
        log.warning("a draft for ask %s cannot be read by this version", ask.id)
        return None
    return draft if draft.v == 1 and draft.fits(ask) else None


async def keep(shelf: Shelf, ask: Ask, by: str, draft: Draft | None) -> bool:
    """Write a draft, or remove it where it is empty. A store that fails costs the draft, never the answer."""
    value = None if draft is None or draft.is_empty else msgspec.json.encode(draft).decode()
    try:
        await shelf.put(name_of(ask.id, by), value)
    except AskdeskError as error:
        log.warning("the draft could not be kept: %s", error)
        return False
    return True


async def keep_apart(shelf: Shelf, ask: Ask, by: str, draft: Draft) -> None:
    """Somebody else was first, perhaps the same person in another window: beside what they typed, not over it."""
    if not draft.is_empty:
        await keep(shelf, ask, f"{by}{_APART}{sha256(msgspec.json.encode(draft)).hexdigest()[:8]}", draft)


class Keeper:
    """Writes the draft once the person pauses, and at the end."""

    def __init__(self, shelf: Shelf, ask: Ask, by: str, before: Draft | None = None) -> None:
        self._shelf, self._ask, self._by = shelf, ask, by
        self._latest: Draft | None = None
        self._kept = before or Draft(v=1)  # so one that this version cannot read is not removed by looking at the ask
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    @property
    def has_kept(self) -> bool:
        """Whether there is something on the shelf that would be a pity to lose."""
        return not self._kept.is_empty

    def note(self, draft: Draft) -> None:
        """This is what there is now."""
        if draft == self._latest:
            return
        self._latest = draft
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._begin)

    def _begin(self) -> None:
        task = asyncio.ensure_future(self._write())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self) -> None:
        latest = self._latest
        if latest is not None and latest != self._kept and await keep(self._shelf, self._ask, self._by, latest):
            self._kept = latest

    async def keep_apart(self) -> None:
        if self._latest is not None:
            await keep_apart(self._shelf, self._ask, self._by, self._latest)

    async def drop(self) -> None:
        """It was sent: there is no draft any more, and none on its way."""
        self._latest = None
        await self.done()
        await keep(self._shelf, self._ask, self._by, None)

    async def done(self) -> None:
        if self._timer:
            self._timer.cancel()
        await asyncio.gather(*self._writing, self._write())
