"""The short form of `scripts/faults histories`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.crowd import record

pytestmark = pytest.mark.anyio


async def check(store: str, folder: Path) -> None:
    figures = await record(store, folder, histories=16, kills=6, seed=7)
    assert figures.is_right, figures
    assert (figures.histories, figures.servers_killed + figures.members_killed) == (16, 6)
    assert figures.operations > 500


async def test_histories_on_sqlite_are_true_whoever_is_killed(tmp_path: Path) -> None:
    await check(str(tmp_path / "desk.db"), tmp_path)


async def test_histories_on_postgres_are_true_whoever_is_killed(tmp_path: Path, postgres: str) -> None:
    await check(postgres, tmp_path)
