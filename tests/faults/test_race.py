"""The short form of `scripts/faults race`."""

from pathlib import Path

import pytest
from tests.faults.race import rounds

pytestmark = pytest.mark.anyio


async def test_of_two_browsers_and_a_terminal_one_wins_and_all_learn_who(tmp_path: Path) -> None:
    raced = await rounds(tmp_path, 5)
    assert [race.is_right for race in raced] == [True] * 5
    assert max(seconds for race in raced for seconds in race.seconds) < 5
