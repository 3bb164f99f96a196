"""Store and Shelf: the contracts, in words.

Each sentence of a docstring below has a rule in `askdesk.testing.store_contract`, which every store runs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, InvalidDocument, Problem, quoted
from askdesk.core.hints import Heard, Stop
from askdesk.core.model import Ask, Entry, Expired, Settlement

State: TypeAlias = Literal["open", "settled"]
EXPIRY = "expiry"  # the submission of every expiry: discovered twice, it happened once
WITHDRAWAL = "withdrawal"  # and of every withdrawal


class Page(Struct, frozen=True):
    """Some entries of a listing, and where the next page starts; None at the end."""

    entries: tuple[Entry, ...]
    after: str | None = None


class Document(Struct, frozen=True):
    """A small versioned document. `value` is JSON text; a version is never used twice."""

    name: str
    value: str
    version: int


class Store(Protocol):
    """Keeps asks.

    What a method has acknowledged is durable: it is there after a crash of every process.
    """

    @property
    def shelf(self) -> Shelf: ...

    async def add(self, ask: Ask) -> Ask:
        """Keep an ask and return the one that stands.

        An ask without a key is always new.
        Under a key that this project has used before, the ask kept first stands, and nothing is added.
        Under an id that was used before, likewise.
        The same key in another project is another ask.
        """

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        """Settle an open ask and return the settlement that stands.

        The first settlement stands for ever; whoever comes later gets it back and changes nothing.
        An ask whose deadline has come by `settlement.at` is settled as expired instead.
        An ask that was never added raises UnknownAsk.
        """

    async def get(self, ask_id: str) -> Entry:
        """One ask with its settlement; UnknownAsk where there is none."""

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        """Some asks of one state: open ones in the order they came, settled ones in the order they were settled.

        `newest` turns the order around.
        `after` goes on where an earlier page ended; following it shows each entry once.
        `text` leaves those that match a query of `core.search`: a word of it is the beginning of one in the ask or its
        settlement, whatever its case and accents; a field like `agent:builder` is a whole value.
        All of its words and fields must match, and where it has none, everything does.
        A settlement is found from the moment it is acknowledged.
        No text is refused, whatever is in it.
        """

    async def expire(self, now: datetime) -> tuple[str, ...]:
        """Settle every open ask whose deadline has come, and return their ids, soonest deadline first."""

    def hints(self, heard: Heard, ask_id: str | None = None) -> Stop:
        """Hear of changes to one ask, or to all, until the returned function is called.

        A change made after this call is heard, also when another process made it; a new ask, by those who hear all.
        `heard` is called in the event loop's thread, with the ask's id or with None for "read everything again".
        """

    async def close(self) -> None:
        """Finish what was begun and let go of everything; closing twice is closing once."""


class Shelf(Protocol):
    """Keeps small documents under names like `draft/3f…/ana`."""

    async def get(self, name: str) -> Document | None:
        """The document, or None."""

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        """Write a document, or remove it with None, and return what is there now.

        `expect` is the version that must be there, 0 for none; another one raises VersionConflict and changes nothing.
        Each write gets a version that was never used before, also after a removal. Of those who remove a version only
        one is told that it did; where an answer was lost on the way, perhaps none.
        A name or value that no file could keep (NUL, a lone surrogate) raises InvalidDocument.
        """

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        """The documents whose names start with the prefix, by name."""


def expiry(now: datetime) -> Settlement:
    """How an ask ends when its deadline has come."""
    return Settlement(Expired(), at=now, submission=EXPIRY)


def position(after: str | None) -> int | None:
    """Where a page goes on, as a number."""
    if after is None:
        return None
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise InvalidAsk(f"after: not where a page ended: {quoted(after)}")
    return int(after)


def check_document(name: str, value: str | None) -> None:
    """Refuse what not every store could give back as it was."""
    texts = {"name": name, "value": value or ""}
    if problems := [Problem(path, flaw) for path, text in texts.items() if (flaw := strict.text_flaw(text))]:
        raise InvalidDocument(problems)
