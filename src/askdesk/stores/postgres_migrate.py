"""Brings a PostgreSQL database up to date, while servers of this and of older versions go on."""

from __future__ import annotations

from askdesk.core.errors import NoStore, StoreGone
from askdesk.stores.migrate import MAJOR, Migration, migrations, too_new
from askdesk.stores.postgres_database import NOT_ALLOWED, Connection, Database

_LOCK = (1095977796, 0)  # the number of the lock that whoever migrates holds
# A table that others use is waited for shortly, and then again: whoever comes after us in its queue waits for us.
_FOR_A_TABLE = "SET LOCAL lock_timeout = '200ms'; SET LOCAL statement_timeout = 0"
_FOR_ANOTHER = "SET LOCAL lock_timeout = '2s'"
_SECONDS = 3600.0  # that a migration may take
_SCHEMA = "SELECT to_regnamespace('askdesk') IS NOT NULL AS is_there, quote_ident(current_user::text) AS user"
_KEEP = "CREATE TABLE IF NOT EXISTS askdesk.schema (version integer NOT NULL)"


async def migrate_postgres(database: Database, *, create: bool = True) -> None:
    """Apply what is missing, in one transaction; StoreTooNew where a newer major version was here.

    Without `create`, a database without a desk is NoStore.
    """

    async def migrate(connection: Connection) -> None:
        version = await schema_version(connection, database.address)
        if version is None and not create:
            raise NoStore(f"{database.address}: there is no desk here; the first ask makes it")
        if _pending(version):
            async with connection.transaction(isolation="read_committed"):  # so that it sees what another did
                await _apply(connection, database.address)

    await database.run(migrate)


async def _apply(connection: Connection, address: str) -> None:
    await connection.execute(_FOR_ANOTHER)
    await connection.execute("SELECT pg_advisory_xact_lock($1::integer, $2::integer)", *_LOCK)
    await connection.execute(_FOR_A_TABLE)
    await _make_schema(connection, address)
    await connection.execute(_KEEP)
    version = await schema_version(connection, address)  # looked at again: another process may have been first
    for migration in _pending(version):
        await connection.execute(migration.sql, timeout=_SECONDS)
        await connection.execute("DELETE FROM askdesk.schema")
        await connection.execute("INSERT INTO askdesk.schema VALUES ($1)", migration.number)


async def _make_schema(connection: Connection, address: str) -> None:
    is_there, user = await connection.fetchrow(_SCHEMA)
    if is_there:  # whoever may not make one may have been given one
        return
    try:
        await connection.execute("CREATE SCHEMA askdesk")
    except NOT_ALLOWED as error:
        raise StoreGone(
            f"{address}: {error}; CREATE SCHEMA askdesk AUTHORIZATION {user}, by who may, is enough"
        ) from None


async def schema_version(connection: Connection, address: str) -> int | None:
    """The schema's number; None where there is no desk; StoreTooNew where a newer major version was here."""
    if await connection.fetchval("SELECT to_regclass('askdesk.schema')") is None:
        return None
    version: int | None = await connection.fetchval("SELECT version FROM askdesk.schema")
    if version is not None and version // 1000 > MAJOR:
        raise too_new(address, version)
    return version


def _pending(version: int | None) -> tuple[Migration, ...]:
    return tuple(migration for migration in migrations("postgres") if migration.number > (version or 0))
