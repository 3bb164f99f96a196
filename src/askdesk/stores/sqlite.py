"""Asks and documents in one SQLite file, shared by all processes of a machine. The database decides every race."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import apsw

from askdesk.core import search
from askdesk.core.errors import StoreError, UnknownAsk, VersionConflict
from askdesk.core.hints import Heard, Hints, Stop
from askdesk.core.model import Ask, Entry, Settlement
from askdesk.core.store import Document, Page, State, check_document, expiry, position
from askdesk.core.strict import text_flaw
from askdesk.stores.rows import BEYOND, entry, microseconds, readable
from askdesk.stores.sqlite_file import SQLiteFile, Version
from askdesk.wire import record

Values: TypeAlias = tuple[str | int | None, ...] | dict[str, str | int]

# How often another process's changes are looked for: often within a minute of the last one, then at rest.
_YOUNG_SECONDS, _YOUNG_PAUSE, _OLD_PAUSE = 60.0, 0.025, 0.1

# Two partial indexes hold the numbers, so the latest one is two look-ups. Whoever deletes rows must leave the newest.
LATEST = """max(coalesce((SELECT max(changed) FROM asks WHERE settlement IS NULL), 0),
                 coalesce((SELECT max(changed) FROM asks WHERE settlement IS NOT NULL), 0))"""
INSERT = f"""INSERT INTO asks (id, project, key, record, deadline, changed)
              VALUES (?, ?, ?, ?, ?, {LATEST} + 1) ON CONFLICT (id) DO NOTHING"""  # noqa: S608
_BY_KEY = "SELECT record FROM asks WHERE project = ? AND key = ?"
_BY_ID = "SELECT record, settlement FROM asks WHERE id = ?"
SETTLE = f"""UPDATE asks SET settlement = :settlement, changed = {LATEST} + 1
              WHERE id = :id AND settlement IS NULL AND (deadline IS NULL OR deadline > :now)"""  # noqa: S608
_EXPIRE = f"""UPDATE asks SET settlement = :settlement, changed = {LATEST} + 1
              WHERE id = :id AND settlement IS NULL"""  # noqa: S608
_STANDING = "SELECT settlement FROM asks WHERE id = ?"
_DUE = "SELECT id FROM asks WHERE settlement IS NULL AND deadline <= ? ORDER BY deadline, changed"
_CHANGED = """SELECT id FROM asks WHERE settlement IS NULL AND changed > :seen
              UNION ALL SELECT id FROM asks WHERE settlement IS NOT NULL AND changed > :seen"""
_PAGES = {
    ("open", False): "settlement IS NULL AND {place} > ? ORDER BY {place}",
    ("open", True): "settlement IS NULL AND {place} < ? ORDER BY {place} DESC",
    ("settled", False): "settlement IS NOT NULL AND {place} > ? ORDER BY {place}",
    ("settled", True): "settlement IS NOT NULL AND {place} < ? ORDER BY {place} DESC",
}
_LISTED = "SELECT record, settlement, changed, id FROM asks WHERE"
# The index goes first, in the order of the page: so a page is found without looking at every match.
_FOUND = """SELECT record, settlement, changed, id FROM search CROSS JOIN asks ON changed = search.rowid
            WHERE search MATCH ? AND"""

# The words of the index, of which one can be looked up without the others.
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_words USING fts5vocab(main, search, instance)"
_NEXT_WORD = "SELECT term FROM temp.search_words WHERE term >= ? LIMIT 1"
_MOST_WORDS = 64
_FEW_ASKS = 300  # to look at takes some ten milliseconds

_PROGRESS = f"SELECT changed, {LATEST} FROM search_upto"  # noqa: S608
_UNINDEXED = """SELECT seq, changed, record, settlement, id FROM asks WHERE settlement IS NULL AND changed > :indexed
                UNION ALL SELECT seq, changed, record, settlement, id FROM asks
                WHERE settlement IS NOT NULL AND changed > :indexed ORDER BY changed LIMIT :most"""
_UNREAD = "SELECT seq, changed, record, settlement, id FROM search_unread JOIN asks ON seq = ask"
# So much is indexed in one commit: some ten milliseconds, in which nobody else can write.
_MOST_ASKS, _MOST_CHARACTERS = 200, 1_000_000


class SQLiteStore:
    """Made by `await SQLiteStore.open(path)`."""

    def __init__(self, path: Path | str, busy_seconds: float, create: bool) -> None:
        self._file = SQLiteFile(Path(path), busy_seconds, create)
        self.shelf = SQLiteShelf(self._file)
        self._index = _Index(self._file)
        self._hints = Hints()
        self._looking: asyncio.Task[None] | None = None
        self._young_until = 0.0
        self._seen: tuple[Version, int] = ((None, 0), 0)

    @classmethod
    async def open(cls, path: Path | str, *, busy_seconds: float = 5.0, create: bool = True) -> SQLiteStore:
        """Open the file, making it first where there is none; wait so long for a lock that others hold."""
        store = cls(path, busy_seconds, create)
        await store._file.open()
        return store

    async def add(self, ask: Ask) -> Ask:
        text = record.encode(ask)

        def add(database: apsw.Connection) -> Ask:
            if ask.key is not None and (rows := _fetch(database, _BY_KEY, (ask.asker.project, ask.key))):
                return record.decode_ask(rows[0][0])
            deadline = microseconds(ask.deadline) if ask.deadline else None
            database.execute(INSERT, (ask.id, ask.asker.project, ask.key, text, deadline))
            if not database.changes():
                return record.decode_ask(_fetch(database, _BY_ID, (ask.id,))[0][0])
            return ask

        def tell(standing: Ask) -> None:
            if standing is ask:
                self._hints.tell(ask.id, new=True)

        return await self._file.write(add, tell)

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        text = record.encode(settlement)
        if text_flaw(ask_id):
            raise UnknownAsk(ask_id)

        def settle(database: apsw.Connection) -> Settlement | None:
            now = microseconds(settlement.at)
            database.execute(SETTLE, {"id": ask_id, "settlement": text, "now": now})
            if database.changes():
                return settlement
            if not (rows := _fetch(database, _STANDING, (ask_id,))):
                return None
            if (standing := rows[0][0]) is not None:
                return record.decode_settlement(standing)
            expired = expiry(settlement.at)
            database.execute(_EXPIRE, {"id": ask_id, "settlement": record.encode(expired)})
            return expired

        if (standing := await self._file.write(settle, lambda _: self._hints.tell(ask_id))) is None:
            raise UnknownAsk(ask_id)
        return standing

    async def get(self, ask_id: str) -> Entry:
        query = (ask_id,)
        if text_flaw(ask_id) or not (rows := self._file.read(lambda database: _fetch(database, _BY_ID, query))):
            raise UnknownAsk(ask_id)
        return entry(*rows[0])

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        start = position(after)
        if start is None:
            start = BEYOND if newest else 0
        if wanted := search.query(text):
            wanted = (*search.query(f"is:{state}"), *wanted)
            await self._index.catch_up()
        select, place = (_FOUND, "search.rowid") if wanted else (_LISTED, "changed")
        query = f"{select} {_PAGES[state, newest].format(place=place)} LIMIT ?"

        def page(database: apsw.Connection) -> Page:
            most = limit + 1
            rows = _found(database, query, wanted, start, most) if wanted else _fetch(database, query, (start, most))
            more = str(rows[limit - 1][2]) if len(rows) > limit else None
            entries = (readable(asked, settlement, ask_id) for asked, settlement, _, ask_id in rows[:limit])
            return Page(tuple(entry for entry in entries if entry is not None), more)

        return await self._file.read_apart(page)

    async def expire(self, now: datetime) -> tuple[str, ...]:
        moment = (microseconds(now),)
        if not self._file.read(lambda database: _fetch(database, f"{_DUE} LIMIT 1", moment)):
            return ()
        text = record.encode(expiry(now))

        def expire(database: apsw.Connection) -> tuple[str, ...]:
            due = tuple(ask_id for (ask_id,) in _fetch(database, _DUE, moment))
            for ask_id in due:
                database.execute(_EXPIRE, {"id": ask_id, "settlement": text})
            return due

        return await self._file.write_apart(expire, self._tell)

    def hints(self, heard: Heard, ask_id: str | None = None) -> Stop:
        loop = asyncio.get_running_loop()
        if self._looking is None or self._looking.done():
            self._young_until = loop.time() + _YOUNG_SECONDS
            self._seen = self._look()
            self._looking = loop.create_task(self._look_for_changes())
        return self._hints.listen(heard, ask_id)

    async def _look_for_changes(self) -> None:
        """Follow what other processes commit, for as long as anybody listens."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_YOUNG_PAUSE if clock() < self._young_until else _OLD_PAUSE)
            if not self._hints:
                return
            try:
                self._look_once()
            except StoreError:
                self._hints.tell_all()  # so that whoever waits reads, and hears what is wrong

    def _look_once(self) -> None:
        version, latest = self._seen
        if self._file.version() == version:
            return
        self._seen = self._look()
        self._young_until = asyncio.get_running_loop().time() + _YOUNG_SECONDS
        if self._seen[0][0] != version[0]:  # another file lies there now
            self._hints.tell_all()
            return
        rows = self._file.read(lambda database: _fetch(database, _CHANGED, {"seen": latest}))
        self._tell(tuple(ask_id for (ask_id,) in rows))

    def _look(self) -> tuple[Version, int]:
        """The version of the file, then the number of the latest change: in this order nothing falls between them."""
        version = self._file.version()
        return version, self._file.read(lambda database: int(_fetch(database, f"SELECT {LATEST}")[0][0]))

    def _tell(self, changed: tuple[str, ...]) -> None:
        for ask_id in changed:
            self._hints.tell(ask_id)

    async def close(self) -> None:
        if self._looking:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await self._file.close()


class SQLiteShelf:
    """Documents in the same file."""

    def __init__(self, file: SQLiteFile) -> None:
        self._file = file

    async def get(self, name: str) -> Document | None:
        check_document(name, None)
        return self._file.read(lambda database: _document(database, name))

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        check_document(name, value)

        def put(database: apsw.Connection) -> Document | int | None:
            found = _document(database, name)
            version = found.version if found else 0
            if expect is not None and expect != version:
                return version
            database.execute("DELETE FROM shelf WHERE name = ?", (name,))
            if value is None:
                return None
            database.execute("INSERT INTO shelf (name, value) VALUES (?, ?)", (name, value))
            return Document(name, value, database.last_insert_rowid())

        written = await self._file.write(put)
        if isinstance(written, int):
            raise VersionConflict(name, expect or 0, written)
        return written

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        check_document(prefix, None)

        def listed(database: apsw.Connection) -> tuple[Document, ...]:
            query = "SELECT name, value, version FROM shelf WHERE name >= ? AND substr(name, 1, ?) = ? ORDER BY name"
            rows = _fetch(database, query, (prefix, len(prefix), prefix))
            return tuple(Document(*row) for row in rows)

        return await self._file.read_apart(listed)


class _Indexed(NamedTuple):
    """An ask as it goes into the index."""

    seq: int
    changed: int
    is_open: bool
    terms: str | None  # None where only a newer version can read it


class _Batch(NamedTuple):
    """What comes next in an index that reaches so far."""

    indexed: int
    asks: list[_Indexed]


class _Index:
    """Brings the index up to date before a search, so that neither posting nor settling has to, nor older programs."""

    def __init__(self, file: SQLiteFile) -> None:
        self._file = file
        self._turn = asyncio.Lock()
        self._is_new = True

    async def catch_up(self) -> None:
        """Index every change that was made before this call."""
        async with self._turn:  # whoever comes second finds it done
            if self._is_new:
                await self._catch_up_with_older_versions()
            indexed, latest = self._file.read(_progress)
            while indexed < latest:
                batch = await self._file.read_apart(_next_batch)  # its words are read before others have to wait for it
                if not batch.asks:
                    return
                indexed = await self._file.write_apart(partial(_index_batch, batch), _tell_nobody)

    async def _catch_up_with_older_versions(self) -> None:
        """Index what they could not read and this one perhaps can."""
        if self._file.read(lambda database: _fetch(database, "SELECT ask FROM search_unread LIMIT 1")):
            await self._file.write_apart(_index_unread, _tell_nobody)
        self._is_new = False


def _progress(database: apsw.Connection) -> tuple[int, int]:
    """Up to which change the index reaches, and the latest one."""
    indexed, latest = _fetch(database, _PROGRESS)[0]
    return indexed, latest


def _next_batch(database: apsw.Connection) -> _Batch:
    indexed, _ = _progress(database)
    rows = database.execute(_UNINDEXED, {"indexed": indexed, "most": _MOST_ASKS})
    asks: list[_Indexed] = []
    characters = 0
    try:
        for row in rows:
            asks.append(_indexed(row))
            characters += len(row[2])
            if characters > _MOST_CHARACTERS:
                break
    finally:
        rows.close()
    return _Batch(indexed, asks)


def _indexed(row: tuple[int, int, str, str | None, str]) -> _Indexed:
    seq, changed, text, settlement, ask_id = row
    entry = readable(text, settlement, ask_id)
    return _Indexed(seq, changed, settlement is None, " ".join(search.terms(entry)) if entry is not None else None)


def _index_batch(batch: _Batch, database: apsw.Connection) -> int:
    """Up to which change the index reaches now."""
    indexed, _ = _progress(database)
    if indexed != batch.indexed:  # another process was first
        return indexed
    _index(database, batch.asks)
    database.execute("UPDATE search_upto SET changed = ?", (batch.asks[-1].changed,))
    return batch.asks[-1].changed


def _index_unread(database: apsw.Connection) -> None:
    asks = [_indexed(row) for row in _fetch(database, _UNREAD)]
    database.execute("DELETE FROM search_unread")
    _index(database, asks)


def _index(database: apsw.Connection, asks: list[_Indexed]) -> None:
    for ask in asks:
        for was in _fetch(database, "DELETE FROM search_open WHERE ask = ? RETURNING changed", (ask.seq,)):
            database.execute("DELETE FROM search WHERE rowid = ?", was)
        if ask.terms is None:
            database.execute("INSERT OR IGNORE INTO search_unread VALUES (?)", (ask.seq,))
            continue
        database.execute("REPLACE INTO search (rowid, terms) VALUES (?, ?)", (ask.changed, ask.terms))
        if ask.is_open:
            database.execute("INSERT INTO search_open VALUES (?, ?)", (ask.seq, ask.changed))


def _found(
    database: apsw.Connection, query: str, wanted: tuple[search.Wanted, ...], start: int, most: int
) -> list[Any]:
    """So many rows that match. What begins very many words is looked for in the next few asks first: most have it."""
    database.execute(_WORDS)
    terms = {one: _followed(database, one) for one in wanted}
    if broad := tuple(one for one, term in terms.items() if term is None):
        few = _fetch(database, query, (" AND ".join(filter(None, terms.values())), start, _FEW_ASKS))
        rows = [row for row in few if _has(row, broad)][:most]
        if len(rows) == most or len(few) < _FEW_ASKS:
            return rows
    # A term holds no quote, nothing that FTS5 would split or fold.
    expression = " AND ".join(term or f'"{one.term}"*' for one, term in terms.items())
    return _fetch(database, query, (expression, start, most))


def _followed(database: apsw.Connection, wanted: search.Wanted) -> str | None:
    """The words that begin as wanted, which FTS5 follows in order; of a beginning it first gathers all that match.

    None where they are too many to be followed.
    """
    if wanted.whole:
        return f'"{wanted.term}"'
    words: list[str] = []
    start = wanted.term
    while found := _fetch(database, _NEXT_WORD, (start,)):
        (word,) = found[0]
        if not word.startswith(wanted.term):
            break
        if len(words) == _MOST_WORDS:
            return None
        words.append(word)
        start = f"{word}\0"  # what comes next
    either = " OR ".join(f'"{word}"' for word in words or [wanted.term])
    return f"({either})"


def _has(row: tuple[str, str | None, int, str], wanted: tuple[search.Wanted, ...]) -> bool:
    text, settlement, _, ask_id = row
    entry = readable(text, settlement, ask_id)
    return entry is not None and search.matches(entry, wanted)


def _tell_nobody(_: object) -> None:
    """To index is no change of an ask."""


def _fetch(database: apsw.Connection, query: str, values: Values = ()) -> list[Any]:
    """All rows: a query left unfinished would keep the WAL from shrinking."""
    return database.execute(query, values).fetchall()


def _document(database: apsw.Connection, name: str) -> Document | None:
    rows = _fetch(database, "SELECT name, value, version FROM shelf WHERE name = ?", (name,))
    return Document(*rows[0]) if rows else None
