"""Others may create things in a schema that the desk's user looks through, as everybody could in `public` before
PostgreSQL 15. Nothing of theirs may ever run with the rights of that user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import Seen, opened
from tests.stores.verbs import UPKEEP, VERBS, begin_upkeep

from askdesk.core.store import State
from askdesk.stores.postgres_upkeep import PostgresUpkeep

pytestmark = pytest.mark.anyio

# What fits words that are written without care better than PostgreSQL's own does: that takes any array, a regclass, a
# name or larger numbers, and is beaten by what takes just this; and a word in quotes is taken for a text first.
BETTER = {
    "unnest": ["text[]", "bigint[]", "integer[]", "boolean[]"],
    "cardinality": ["text[]", "bigint[]"],
    "nextval": ["text"],
    "convert_to": ["text, text"],
    "quote_ident": ["name"],
    "generate_series": ["integer, bigint"],
    "format": ["text, name, name"],
    "pg_advisory_xact_lock": ["text, text", "text"],
    "pg_try_advisory_lock": ["text, text"],
    "pg_advisory_unlock": ["text, text"],
}
JOINED = ["bigint, text", "text, bigint", "text, name", "name, name"]
LETS_IN = """
CREATE SCHEMA shadows; GRANT USAGE, CREATE ON SCHEMA shadows TO public;
CREATE TABLE shadows.ran (what text); GRANT INSERT ON shadows.ran TO public;
ALTER DATABASE {} SET search_path = shadows, public
"""


def shadows() -> Iterator[str]:
    """Each leaves a note when it runs."""
    for name, each in BETTER.items():
        yield from (shadow(name, types) for types in each)
    for number, types in enumerate(JOINED):
        left, right = types.split(", ")
        yield shadow(f"joined_{number}", types)
        yield f"CREATE OPERATOR shadows.|| (FUNCTION = shadows.joined_{number}, LEFTARG = {left}, RIGHTARG = {right})"
    yield shadow("counted", "bigint, text")
    yield "CREATE AGGREGATE shadows.count (text) (SFUNC = shadows.counted, STYPE = bigint)"


def shadow(name: str, types: str) -> str:
    note = f"INSERT INTO shadows.ran VALUES ('{name}({types})')"  # noqa: S608
    return f"CREATE FUNCTION shadows.{name}({types}) RETURNS bigint LANGUAGE sql AS $$ {note}; SELECT NULL::bigint $$"


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    seen = Seen(cluster, postgres)
    seen.run(LETS_IN.format(seen.name))
    for statement in shadows():
        seen.sql(statement)
    return seen


async def test_what_others_put_where_the_desk_looks_first_never_runs(seen: Seen, postgres: str) -> None:
    states: tuple[State, ...] = ("open", "settled")
    async with opened(postgres) as store:
        await begin_upkeep(store)
        for verb in VERBS.values():
            await verb(store)
        for state in states:
            assert (await store.page(state, text="which", newest=True)).entries
        elected = asyncio.Event()
        working = asyncio.ensure_future(store.alone("deadlines", elected.set))  # type: ignore[arg-type]
        async with asyncio.timeout(20):
            await elected.wait()
        working.cancel()
        seen.run("DELETE FROM askdesk.asks; DELETE FROM askdesk.shelf")
        await begin_upkeep(store)
    upkeep = await PostgresUpkeep.open(postgres, write=True)
    for task in (*UPKEEP.values(), PostgresUpkeep.count, PostgresUpkeep.look, PostgresUpkeep.asks):
        await task(upkeep)
    await upkeep.close()
    assert seen.sql("SELECT what FROM shadows.ran") == []
