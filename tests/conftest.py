"""What every test shares: an event loop, a desk on each store, and nothing of the machine around it."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.browser import browser, chromium  # noqa: F401 - fixtures
from tests.postgres import cluster, postgres  # noqa: F401 - fixtures

from askdesk.core.desk import Desk
from askdesk.open import AGENT_VARIABLES
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import FakeClock

settings.register_profile("askdesk", deadline=None)  # how long an example takes on a busy machine decides no test
settings.load_profile("askdesk")

pytest.register_assert_rewrite("askdesk.testing.store_contract")

# A shell that runs the tests in its background has them, and all they start, ignore Ctrl-C, and nohup has them ignore a
# window that closes; some of them press the one and close the other.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = ("ASKDESK_CONFIG", "ASKDESK_BY", "ASKDESK_TOKEN", "ASKDESK_ANSWER_TOKEN")
    for name in (*AGENT_VARIABLES, *ours, "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ASKDESK_STORE", str(tmp_path / "desk" / "desk.db"))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore | SQLiteStore]:
    opened = MemoryStore() if request.param == "memory" else await SQLiteStore.open(tmp_path / "desk.db")
    yield opened
    await opened.close()


@pytest.fixture
def desk(store: MemoryStore | SQLiteStore, clock: FakeClock) -> Desk:
    return Desk(store, clock=clock)
