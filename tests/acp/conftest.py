"""What the tests of the agent share: one event loop a module, so that one Claude Code can serve several tests."""

import pytest


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"
