"""What every test shares: an event loop, and surroundings without an agent, a desk or settings of the machine's own."""

from pathlib import Path

import pytest

from askdesk.cli.answer import AGENT_VARIABLES

pytest.register_assert_rewrite("askdesk.testing.store_contract")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*AGENT_VARIABLES, "ASKDESK_CONFIG", "ASKDESK_BY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ASKDESK_STORE", str(tmp_path / "desk" / "desk.db"))
