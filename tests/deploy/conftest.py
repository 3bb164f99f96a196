"""Servers behind nginx for each test: two, or as many as it says."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.deploy.balanced import Balanced, balanced


@pytest.fixture
async def desks(request: pytest.FixtureRequest, postgres: str, tmp_path: Path) -> AsyncIterator[Balanced]:
    folder = tmp_path / "nginx"
    folder.mkdir()
    async with balanced(postgres, folder, servers=getattr(request, "param", 2)) as desks:
        yield desks
