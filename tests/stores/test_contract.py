"""Every store of ours keeps the shipped contracts."""

from pathlib import Path

import pytest

from askdesk.core.store import Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.store_contract import SHELF_RULES, STORE_RULES, Reopen, Rule

pytestmark = pytest.mark.anyio
RULES = [*STORE_RULES, *SHELF_RULES]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    memory = MemoryStore()

    async def reopen() -> Store:
        return memory if request.param == "memory" else await SQLiteStore.open(tmp_path / "desk.db")

    return reopen


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
async def test_contract(rule: Rule, reopen: Reopen) -> None:
    await rule(reopen)
