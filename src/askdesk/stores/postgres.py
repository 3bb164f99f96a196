"""Asks and documents in a PostgreSQL database, for any number of servers. The database decides every race."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from askdesk.core import search
from askdesk.core.clock import Clock
from askdesk.core.errors import StoreBusy, StoreGone, UnknownAsk, VersionConflict
from askdesk.core.hints import Heard, Hints, Stop
from askdesk.core.model import Ask, Entry, Settlement
from askdesk.core.store import Document, Page, State, check_document, expiry, position
from askdesk.core.strict import text_flaw
from askdesk.stores.patience import PATIENCE
from askdesk.stores.postgres_database import MOST_CONNECTIONS, Connection, Database, Record, statement
from askdesk.stores.postgres_migrate import migrate_postgres
from askdesk.stores.postgres_search import Index
from askdesk.stores.postgres_session import Session
from askdesk.stores.rows import BEYOND, entry, microseconds, readable
from askdesk.wire import record

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST_IN_A_BATCH, _MOST_CHARACTERS = 500, 1_000_000  # of what is sent together
_MOST_EXPIRED = 1000  # in one commit


class About(NamedTuple):
    """The version of the server, and that of our tables there."""

    version: str
    schema: str


class PostgresStore:
    """Made by `await PostgresStore.open(url)`. Belongs to one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sure = _Together(self._make_sure)
        self.shelf = PostgresShelf(database, self._sure)
        self._index = Index(database)
        self._hints = Hints()
        self._session = Session(database, self._hints)
        self._adding = _Together(self._add, lambda item: len(item.record))
        self._under_way: dict[str, asyncio.Future[bool]] = {}  # asks that are being added
        self._settling = _Together(self._settle, lambda item: len(item.text))

    @classmethod
    async def open(
        cls, url: str, *, patience: float = PATIENCE, connections: int = MOST_CONNECTIONS, create: bool = True
    ) -> PostgresStore:
        """The desk in the database at a URL, made there first where there is none.

        A database that is away is tried again for `patience` seconds before a verb fails. It takes so many connections
        at the most, and one more to listen.
        """
        database = await Database.open(url, patience=patience, most=connections)
        try:
            await migrate_postgres(database, create=create)
        except BaseException:
            await database.close()
            raise
        return cls(database)

    @property
    def clock(self) -> Clock:
        """The database's, for every desk that keeps its asks here."""
        return self._database.clock

    @property
    def address(self) -> str:
        return self._database.address

    @property
    def is_proxied(self) -> bool:
        """Whether a pooling proxy stands before the database, so that changes by others are looked for, not heard."""
        return self._database.is_proxied

    async def about(self) -> About:
        """For whoever looks after the desk."""
        version, schema = (await self._database.fetch("about"))[0]
        return About(version, f"{schema // 1000}.{schema % 1000}")

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in one of all processes that would do this, and in another one once that is gone.

        It may be begun again, and done twice for a moment, where one process has not yet heard that it is out.
        """
        await self._session.alone(name, work)

    async def add(self, ask: Ask) -> Ask:
        new = _Added(ask, record.encode(ask))
        while True:
            adding = self._under_way[ask.id] = self._adding.begin(new)
            adding.add_done_callback(partial(self._is_added, ask.id))
            if await asyncio.shield(adding):
                return ask
            if rows := await self._kept_before(ask):
                await self._sure.send(None)
                kept = rows[0]["record"]
                return ask if kept == new.record else record.decode_ask(kept)  # kept by a try whose answer was lost
            # Else another database took the place of the one in which it was found, and has never heard of it.

    def _is_added(self, ask_id: str, adding: asyncio.Future[bool]) -> None:
        if self._under_way.get(ask_id) is adding:  # else it is being added once more
            del self._under_way[ask_id]

    async def _kept_before(self, ask: Ask) -> list[Record]:
        if ask.key is not None and (rows := await self._database.fetch("by_key", ask.asker.project, ask.key)):
            return rows
        return await self._database.fetch("by_id", ask.id)

    async def _add(self, items: list[_Added]) -> list[bool]:
        """Which of them are new."""
        first: dict[str, _Added] = {}  # of two with one id
        for item in items:
            first.setdefault(item.ask.id, item)
        asks = [item.ask for item in first.values()]
        deadlines = [microseconds(ask.deadline) if ask.deadline else None for ask in asks]
        projects, keys = [ask.asker.project for ask in asks], [ask.key for ask in asks]
        texts = [item.record for item in first.values()]
        rows = await self._database.fetch("add", [ask.id for ask in asks], projects, keys, texts, deadlines)
        added = {row["id"]: row["changed"] for row in rows}
        for ask_id, changed in added.items():
            self._told(ask_id, changed, new=True)
        return [item.ask.id in added and first[item.ask.id] is item for item in items]

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        text, now = record.encode(settlement), microseconds(settlement.at)
        if text_flaw(ask_id):
            raise UnknownAsk(ask_id)
        if adding := self._under_way.get(ask_id):  # whoever asked takes it back: not before it is there
            await asyncio.wait([adding])
        while True:
            if await self._settling.send(_Settled(ask_id, text, now)):
                return settlement
            rows = await self._database.fetch("by_id", ask_id)
            if not rows:
                raise UnknownAsk(ask_id)
            standing, deadline = rows[0]["settlement"], rows[0]["deadline"]
            if standing is not None:
                await self._sure.send(None)
                return record.decode_settlement(standing)
            if deadline is not None and deadline <= now:  # by now it is; whenever it was, it is settled as expired
                await self._settling.send(_Settled(ask_id, record.encode(expiry(settlement.at)), -BEYOND))
            # Else it was added in the very moment in which it was to be settled, and was not seen.

    async def _settle(self, items: list[_Settled]) -> list[bool]:
        """Which of them stand."""
        first = {item.ask_id: item for item in reversed(items)}  # of two that settle the same ask, the first
        ids, texts, moments = (list(column) for column in zip(*first.values(), strict=True))
        rows = await self._database.fetch("settle", ids, texts, moments)
        settled = {row["id"]: row["changed"] for row in rows}
        for ask_id, changed in settled.items():
            self._told(ask_id, changed)
        return [item.ask_id in settled and first[item.ask_id] is item for item in items]

    async def _make_sure(self, items: list[None]) -> list[None]:
        """What was found in the database becomes as durable as what was written there."""
        await self._database.fetch("sure")
        return items

    def _told(self, ask_id: str, changed: int, *, new: bool = False) -> None:
        if self._session.is_news(changed):
            self._hints.tell(ask_id, new=new)

    async def get(self, ask_id: str) -> Entry:
        if text_flaw(ask_id) or not (rows := await self._database.fetch("by_id", ask_id)):
            raise UnknownAsk(ask_id)
        return entry(rows[0]["record"], rows[0]["settlement"])

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        start = position(after)
        if start is None:
            start = BEYOND if newest else 0
        if wanted := search.query(text):
            return await self._index.page(state, wanted, start, limit, newest=newest)
        rows = await self._database.fetch(f"page_{state}_{'newest' if newest else 'oldest'}", start, limit + 1)
        more = str(rows[limit - 1]["changed"]) if len(rows) > limit else None
        entries = (readable(row["record"], row["settlement"], row["id"]) for row in rows[:limit])
        return Page(tuple(each for each in entries if each is not None), more)

    async def expire(self, now: datetime) -> tuple[str, ...]:
        moment, text = microseconds(now), record.encode(expiry(now))
        expired: list[str] = []
        while (await self._database.fetch("any_due", moment))[0][0]:
            for row in await self._database.fetch("expire", moment, text, _MOST_EXPIRED):
                expired.append(row["id"])
                self._told(row["id"], row["changed"])
        return tuple(expired)

    def hints(self, heard: Heard, ask_id: str | None = None) -> Stop:
        self._session.begin()
        return self._hints.listen(heard, ask_id)

    async def close(self) -> None:
        self._database.hurry()
        for sending in (self._adding, self._settling, self._sure):
            await sending.close()
        await self._session.close()
        await self._database.close()


class PostgresShelf:
    """Documents in the same database."""

    def __init__(self, database: Database, sure: _Together[None, None]) -> None:
        self._database, self._sure = database, sure

    async def get(self, name: str) -> Document | None:
        check_document(name, None)
        rows = await self._database.fetch("document", name)
        return Document(*rows[0]) if rows else None

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        check_document(name, value)
        write = _Write(name, value, expect)
        while True:
            if version := await self._database.run(write, writes=True):
                return None if value is None else Document(name, value, version)
            if expect is None:
                return None  # nothing was there to be removed
            there = await self.get(name)
            found = there.version if there else 0
            if found != expect:
                # Written by an earlier try, of which only the answer was lost. Who removed what is gone nobody can
                # tell, and only one may have: a link signs in once.
                if write.tries > 1 and there is not None and there.value == value:
                    await self._sure.send(None)
                    return there
                raise VersionConflict(name, expect, found)
            if value is None:
                return None  # nothing was to be there, and nothing is
            # Else what stood in the way was removed in this very moment.

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        check_document(prefix, None)
        return tuple(Document(*row) for row in await self._database.fetch("documents", prefix))


class _Write:
    """One write of a document, which counts how often it was tried."""

    def __init__(self, name: str, value: str | None, expect: int | None) -> None:
        self.name, self.value, self.expect, self.tries = name, value, expect, 0

    async def __call__(self, connection: Connection) -> int:
        """The version that was written or removed; 0 where nothing was."""
        if (self.value is None and self.expect == 0) or abs(self.expect or 0) > BEYOND:
            return 0  # there is nothing to remove, and no such version
        self.tries += 1
        query, *values = self._query()
        return await connection.fetchval(statement(query), *values) or 0

    def _query(self) -> tuple[Any, ...]:
        name, value, expect = self.name, self.value, self.expect
        if value is None:
            return ("remove", name) if expect is None else ("remove_version", name, expect)
        if expect is None:
            return ("put", name, value)
        return ("put_new", name, value) if expect == 0 else ("put_over", name, value, expect)


class _Added(NamedTuple):
    ask: Ask
    record: str


class _Settled(NamedTuple):
    ask_id: str
    text: str
    at: int


class _Together(Generic[_Item, _Result]):
    """Sends at once what comes alone, and together what gathers while something is under way: one commit serves all.

    What was begun goes on, also where its caller is cancelled. What is large goes alone: each statement has but so
    many seconds, also where the way is slow.
    """

    def __init__(
        self, send: Callable[[list[_Item]], Awaitable[list[_Result]]], size: Callable[[_Item], int] = lambda _: 0
    ) -> None:
        self._send, self._size = send, size
        self._gathered: list[tuple[_Item, asyncio.Future[_Result]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def send(self, item: _Item) -> _Result:
        return await asyncio.shield(self.begin(item))

    def begin(self, item: _Item) -> asyncio.Future[_Result]:
        """What will come of it, also where nobody waits for that any more."""
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._gathered.append((item, done))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.ensure_future(self._send_all())
        return done

    async def _send_all(self) -> None:
        batch: list[tuple[_Item, asyncio.Future[_Result]]] = []
        try:
            while self._gathered:
                batch = self._next_batch()
                items = [item for item, _ in batch]
                for (_, done), result in zip(batch, await self._results(items), strict=True):
                    if isinstance(result, Exception):
                        done.set_exception(result)
                    else:
                        done.set_result(result)
        finally:  # cancelled, as where the event loop ends, while others still want to put something in order
            for _, done in batch:
                done.cancel()
            if self._gathered:
                self._sending = asyncio.ensure_future(self._send_all())

    def _next_batch(self) -> list[tuple[_Item, asyncio.Future[_Result]]]:
        most, room = 0, _MOST_CHARACTERS
        for item, _ in self._gathered[:_MOST_IN_A_BATCH]:
            room -= self._size(item)
            if most and room < 0:
                break
            most += 1
        batch = self._gathered[:most]
        del self._gathered[:most]
        return batch

    async def _results(self, items: list[_Item]) -> list[Any]:
        """What came of each; of a failure, its error: whatever it is, nobody may wait for it for ever."""
        try:
            return await self._send(items)
        except Exception as error:  # noqa: BLE001
            if len(items) == 1 or isinstance(error, StoreGone | StoreBusy):  # for one as for all
                return [error] * len(items)
            # One of them spoils it for all: let each stand for itself.
            return [result for item in items for result in await self._results([item])]

    async def close(self) -> None:
        if self._sending:
            await asyncio.wait([self._sending])
