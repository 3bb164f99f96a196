"""Numbered .sql files that bring a database up to date. Within a major version they only add, so older programs go on.

The schema's number is major * 1000 + the number of the last file applied.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import apsw

from askdesk.core.errors import StoreTooNew

MAJOR = 1


class Migration(NamedTuple):
    number: int
    sql: str


@cache
def migrations(database: str) -> tuple[Migration, ...]:
    """What there is in `sql/sqlite` or `sql/postgres`."""
    folder = Path(__file__).parent / "sql" / database  # importlib.resources takes longer to load than all of this
    scripts = sorted((path for path in folder.iterdir() if path.name.endswith(".sql")), key=lambda path: path.name)
    return tuple(Migration(MAJOR * 1000 + int(path.name[:4]), path.read_text("utf-8")) for path in scripts)


def migrate_sqlite(database: apsw.Connection) -> None:
    """Apply what is missing, in one transaction; StoreTooNew where a newer major version was here."""
    if not _pending(database):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for migration in _pending(database):  # looked at again: another process may have been first
            database.execute(migration.sql)
            database.pragma("user_version", migration.number)
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def check_known(database: apsw.Connection) -> int:
    """The schema's number; StoreTooNew where a newer major version was here."""
    version = int(database.pragma("user_version"))
    if version // 1000 > MAJOR:
        raise too_new(database.db_filename("main"), version)
    return version


def too_new(name: str, version: int) -> StoreTooNew:
    return StoreTooNew(f"{name}: its schema is {version // 1000}.x; this askdesk knows {MAJOR}.x: upgrade it")


def _pending(database: apsw.Connection) -> tuple[Migration, ...]:
    version = check_known(database)
    return tuple(migration for migration in migrations("sqlite") if migration.number > version)
