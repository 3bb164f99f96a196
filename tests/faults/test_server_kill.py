"""The short form of `scripts/faults server`."""

from pathlib import Path

import pytest
from tests.faults.server_kill import AGENTS, Books, House

pytestmark = pytest.mark.anyio


async def test_after_kills_of_the_server_nothing_is_lost_nobody_is_stuck_and_agents_were_told_the_truth(
    tmp_path: Path,
) -> None:
    books = await House(tmp_path, 7).run(cycles=4, asks=6)
    assert books == Books(AGENTS * 6, AGENTS * 6, 0, 0, 4, books.typed_seen, 0)
