"""A running server on a desk in memory, with a clock that only moves when it is told to."""

from collections.abc import AsyncIterator

import pytest
from tests.server.running import Running, running

from askdesk.core.desk import Desk
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[Running]:
    async with running(Desk(MemoryStore(), clock=clock)) as server:
        yield server
