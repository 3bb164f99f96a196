"""Every store of ours keeps the shipped contracts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.stores.remote import in_step

from askdesk.core.store import Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.store_contract import SHELF_RULES, STORE_RULES, Reopen, Rule

pytestmark = pytest.mark.anyio
RULES = [*STORE_RULES, *SHELF_RULES]


@pytest.fixture(params=["memory", "sqlite", "http to memory", "http to sqlite"])
async def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reopen]:
    memory = MemoryStore()

    async def reopen() -> Store:
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
