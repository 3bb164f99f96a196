"""What keeps the store in PostgreSQL quick, however many asks there are."""

import pytest

from askdesk.stores.postgres import PostgresStore
from askdesk.stores.postgres_database import statement
from askdesk.testing.store_contract import an_ask

pytestmark = pytest.mark.anyio


async def test_where_no_proxy_stands_statements_are_prepared_once(postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    try:
        for number in range(3):
            await store.add(an_ask(number))
        prepared = await store._database.run(lambda each: each.fetch("SELECT statement FROM pg_prepared_statements"))
    finally:
        await store.close()
    assert (statement("add"),) in prepared
