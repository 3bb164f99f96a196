"""A store in memory: for tests, and for scripts that need no durability. Gone with the process."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from datetime import datetime

from askdesk.core.errors import UnknownAsk, VersionConflict
from askdesk.core.hints import Heard, Hints, Stop
from askdesk.core.model import Ask, Entry, Settlement
from askdesk.core.search import matches, query
from askdesk.core.store import Document, Page, State, check_document, expiry, position


class MemoryStore:
    """Keeps asks in dictionaries. One event loop."""

    def __init__(self) -> None:
        self.shelf = MemoryShelf()
        self._hints = Hints()
        self._changes = itertools.count(1)
        self._listed: dict[State, dict[str, tuple[int, Entry]]] = {"open": {}, "settled": {}}
        self._keys: dict[tuple[str, str], str] = {}
        self._deadlines: list[tuple[datetime, int, str]] = []

    async def add(self, ask: Ask) -> Ask:
        if ask.key is not None and (first := self._keys.get((ask.asker.project, ask.key))):
            return self._entry(first).ask
        if found := self._found(ask.id):
            return found.ask
        if ask.key is not None:
            self._keys[ask.asker.project, ask.key] = ask.id
        change = next(self._changes)
        self._listed["open"][ask.id] = (change, Entry(ask))
        if ask.deadline is not None:
            heapq.heappush(self._deadlines, (ask.deadline, change, ask.id))
        self._hints.tell(ask.id, new=True)
        return ask

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        return self._settle(ask_id, settlement)

    def _settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        entry = self._entry(ask_id)
        if entry.settlement is not None:
            return entry.settlement
        if entry.ask.is_due(settlement.at):
            settlement = expiry(settlement.at)
        del self._listed["open"][ask_id]
        self._listed["settled"][ask_id] = (next(self._changes), Entry(entry.ask, settlement))
        self._hints.tell(ask_id)
        return settlement

    async def get(self, ask_id: str) -> Entry:
        return self._entry(ask_id)

    def _entry(self, ask_id: str) -> Entry:
        if (found := self._found(ask_id)) is None:
            raise UnknownAsk(ask_id)
        return found

    def _found(self, ask_id: str) -> Entry | None:
        listed = self._listed["open"].get(ask_id) or self._listed["settled"].get(ask_id)
        return listed[1] if listed else None

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        wanted = query(text)
        listed = self._rows(state, position(after), newest)
        found = (row for row in listed if not wanted or matches(row[1], wanted))
        rows = list(itertools.islice(found, limit + 1))
        more = str(rows[limit - 1][0]) if len(rows) > limit else None
        return Page(tuple(entry for _, entry in rows[:limit]), more)

    def _rows(self, state: State, after: int | None, newest: bool) -> Iterator[tuple[int, Entry]]:
        rows = self._listed[state].values()
        for row in reversed(rows) if newest else rows:
            if after is None or (row[0] < after if newest else row[0] > after):
                yield row

    async def expire(self, now: datetime) -> tuple[str, ...]:
        expired = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, _, ask_id = heapq.heappop(self._deadlines)
            if ask_id in self._listed["open"]:
                self._settle(ask_id, expiry(now))
                expired.append(ask_id)
        return tuple(expired)

    def hints(self, heard: Heard, ask_id: str | None = None) -> Stop:
        return self._hints.listen(heard, ask_id)

    async def close(self) -> None:
        """Nothing to let go of."""


class MemoryShelf:
    """Keeps documents in a dictionary."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._versions = itertools.count(1)

    async def get(self, name: str) -> Document | None:
        check_document(name, None)
        return self._documents.get(name)

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        check_document(name, value)
        found = self._documents.get(name)
        version = found.version if found else 0
        if expect is not None and expect != version:
            raise VersionConflict(name, expect, version)
        if value is None:
            self._documents.pop(name, None)
            return None
        document = Document(name, value, next(self._versions))
        self._documents[name] = document
        return document

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        check_document(prefix, None)
        return tuple(self._documents[name] for name in sorted(self._documents) if name.startswith(prefix))
