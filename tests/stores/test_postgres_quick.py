"""What keeps the store in PostgreSQL quick, however many asks there are."""

import asyncio
import json
from typing import Any

import asyncpg
import pytest
from bench.rows import COMMON, RARE, fill_postgres

from askdesk.stores.postgres import PostgresStore
from askdesk.stores.postgres_database import statement
from askdesk.stores.rows import BEYOND
from askdesk.testing.store_contract import an_ask

pytestmark = pytest.mark.anyio

ASKS = 30_000


async def run(url: str, *statements: str) -> list[Any]:
    """The rows of the last one."""
    connection = await asyncpg.connect(url)
    try:
        rows: list[Any] = [await connection.fetch(each) for each in statements][-1]
        return rows
    finally:
        await connection.close()


async def looked_at(url: str, first: str, beginning: str) -> int:
    """How many rows of the index a search for a first page looks at."""
    query = statement(f"search_{first}").replace("$1", "true").replace("$2", f"'{beginning}:*'").replace("$4", "51")
    query = query.replace("$3", str(BEYOND if first == "newest" else 0))
    ((plan,),) = await run(url, f"EXPLAIN (ANALYZE, FORMAT JSON) {query}")
    return rows_of("search", json.loads(plan)[0]["Plan"])


def rows_of(table: str, node: dict[str, Any]) -> int:
    """How many rows of a table were looked at."""
    is_scan = node.get("Relation Name") == table and "Scan" in node["Node Type"]
    here = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) if is_scan else 0
    return int(here * node["Actual Loops"]) + sum(rows_of(table, each) for each in node.get("Plans", ()))


async def test_to_settle_one_of_many_asks_no_other_is_looked_at(postgres: str) -> None:
    store, connection = await PostgresStore.open(postgres), await asyncpg.connect(postgres)
    settle = f"EXECUTE settled ('{{{an_ask(7).id}}}', '{{x}}', '{{0}}')"
    try:
        # Planned once for all asks, by a planner who knows of none.
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        await connection.execute(f"PREPARE settled (text[], text[], bigint[]) AS {statement('settle')}")
        await connection.execute(settle)
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(1000)))
        plan = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {settle}")
    finally:
        await store.close()
        await connection.close()
    assert rows_of("asks", json.loads(plan)[0]["Plan"]) == 1


async def test_to_expire_one_of_many_asks_no_other_is_looked_at(postgres: str) -> None:
    await fill_postgres(postgres, ASKS, "open")
    due = "UPDATE askdesk.asks SET deadline = 7 WHERE seq = (SELECT max(seq) FROM askdesk.asks)"
    connection = await asyncpg.connect(postgres)
    try:
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        await connection.execute(f"PREPARE any_due (bigint) AS {statement('any_due')}")
        await connection.execute(f"PREPARE expire (bigint, text, integer) AS {statement('expire')}")
        await connection.execute(due)
        plans = [
            json.loads(await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {each}"))[0]["Plan"]
            for each in ("any_due (8)", "expire (8, 'x', 1000)")
        ]
    finally:
        await connection.close()
    assert [rows_of("asks", plan) for plan in plans] == [1, 2]  # it is found as due, and looked up


async def test_neither_a_common_word_nor_a_rare_one_is_found_by_looking_at_all_asks(postgres: str) -> None:
    await fill_postgres(postgres, ASKS, "open")
    store = await PostgresStore.open(postgres)
    pages = [await store.page("open", text=text, newest=newest) for text in (COMMON, RARE) for newest in (False, True)]
    await store.close()
    assert [len(page.entries) for page in pages] == [50, 50, 3, 3]
    assert [await looked_at(postgres, first, COMMON) for first in ("oldest", "newest")] == [51, 51]
    assert max([await looked_at(postgres, first, RARE) for first in ("oldest", "newest")]) < ASKS / 2
    known = await run(postgres, "SELECT reltuples FROM pg_class WHERE oid = 'askdesk.search'::regclass")
    assert known == [(ASKS,)]  # to the planner, without a wait for the database's own housekeeping


async def test_what_has_changed_since_it_was_indexed_is_passed_over_and_ends_no_page(postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    try:
        for number in range(30):
            await store.add(an_ask(number))
        assert len((await store.page("open", text="which")).entries) == 30
        # Changed by somebody whose changes nobody has indexed yet.
        await run(
            postgres,
            "UPDATE askdesk.asks SET changed = changed + 1000 WHERE changed <= 20",
            "UPDATE askdesk.search_upto SET changed = 10000",
        )
        page = await store.page("open", text="which", limit=4)
        rest = await store.page("open", text="which", limit=10, after=page.after)
    finally:
        await store.close()
    assert [int(entry.ask.id, 16) for entry in page.entries] == [20, 21, 22, 23]
    assert [int(entry.ask.id, 16) for entry in rest.entries] == [24, 25, 26, 27, 28, 29]
