"""Desks with many asks, made fast: the product's own tables, statements and records, without its commits in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import apsw
import asyncpg

from askdesk import Answer, Answered, Ask, Asker, Question, Questions, Settlement
from askdesk.core.desk import new_id
from askdesk.core.store import State
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.rows import microseconds
from askdesk.stores.sqlite import INSERT, SETTLE
from askdesk.stores.sqlite_connection import Place
from askdesk.wire.record import encode

COMMON = "database"  # in every ask
RARE = "zanzibar"  # in three of them, however many there are
_START, _NOT_SOON = datetime(2026, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_SYLLABLES = ("ba", "co", "du", "fe", "gi", "lo", "mu", "na", "pe", "ri", "so", "tu")
_WORDS = tuple(f"{one}{two}{three}" for one in _SYLLABLES for two in _SYLLABLES for three in _SYLLABLES)


class Row(NamedTuple):
    """An ask as it is kept."""

    id: str
    project: str
    key: str | None
    record: str
    deadline: int | None
    settlement: str | None


def rows(count: int, state: State) -> Iterator[Row]:
    rare = {count // 4, count // 2, count * 3 // 4}
    for number in range(count):
        ask = _ask(number, is_rare=number in rare)
        answered = Answered([Answer(["SQLite" if number % 2 else "Postgres"])])
        settlement = Settlement(answered, ask.created + timedelta(minutes=5), new_id(), "ana", "page")
        deadline = microseconds(ask.deadline) if ask.deadline else None
        settled = encode(settlement) if state == "settled" else None
        yield Row(ask.id, ask.asker.project, ask.key, encode(ask), deadline, settled)


def _ask(number: int, *, is_rare: bool) -> Ask:
    """Asks of ten agents in fifty projects, of some hundred different words; most with a key, some with a deadline."""
    words = [_WORDS[number * step % len(_WORDS)] for step in (1, 7, 11)]
    about = f"{' '.join(words)}{f' in {RARE}' if is_rare else ''}"
    asked = Question(f"Which {COMMON} should the service for {about} use?", ["Postgres", "SQLite"], header="Database")
    asker = Asker(f"builder-{number % 10}", session=new_id(), project=f"/srv/{_WORDS[number % 50]}")
    return Ask(
        new_id(),
        Questions([asked]),
        asker,
        _START + timedelta(seconds=number),
        deadline=None if number % 3 else _NOT_SOON + timedelta(seconds=number),
        key=f"call-{number}" if number % 3 else None,
    )


def fill_sqlite(path: Path, count: int, state: State) -> None:
    """Make a file with so many asks, all open or all settled."""
    Place(path, busy_seconds=1).make()
    with closing(apsw.Connection(str(path))) as database:
        database.pragma("synchronous", "off")
        database.pragma("cache_size", -1_000_000)
        with database:
            for row in rows(count, state):
                database.execute(INSERT, row[:5])
                if row.settlement:
                    database.execute(SETTLE, {"id": row.id, "settlement": row.settlement, "now": 0})


async def fill_postgres(url: str, count: int, state: State) -> None:
    """The same in an empty database."""
    await (await PostgresStore.open(url)).close()
    connection = await asyncpg.connect(url)
    try:
        columns = ("changed", *Row._fields)
        numbered = ((changed, *row) for changed, row in enumerate(rows(count, state), 1))
        await connection.copy_records_to_table("asks", schema_name="askdesk", columns=columns, records=numbered)
        await connection.execute("SELECT setval('askdesk.changes', $1, false)", count + 1)  # the next one
        await connection.execute("VACUUM ANALYZE askdesk.asks")  # as the database itself does a minute later
    finally:
        await connection.close()
