"""Every store of ours keeps the shipped contracts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.stores.remote import in_step

from askdesk.core.store import Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.store_contract import SHELF_RULES, STORE_RULES, Reopen, Rule

pytestmark = pytest.mark.anyio
RULES = [*STORE_RULES, *SHELF_RULES]


@pytest.fixture(params=["memory", "sqlite", "postgres", "http to memory", "http to sqlite", "http to postgres"])
async def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reopen]:
    memory = MemoryStore()
    postgres = request.getfixturevalue("postgres") if request.param.endswith("postgres") else ""

    async def reopen() -> Store:
        if postgres:
            return await PostgresStore.open(postgres)
        return memory if request.param.endswith("memory") else await SQLiteStore.open(tmp_path / "desk.db")

    if not request.param.startswith("http"):
        yield reopen
        return
    kept = await reopen()
    async with in_step(kept) as reopen_remotely:
        yield reopen_remotely
    await kept.close()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
async def test_contract(rule: Rule, reopen: Reopen) -> None:
    await rule(reopen)
