"""One connection to Chromium and one event loop a module; a desk, a server and browsers of their own for each test."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright
from tests.pages.house import House, house_of

from askdesk.core.desk import Desk
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        connected = await playwright.chromium.connect(chromium)
        yield connected
        await connected.close()


@pytest.fixture
async def house(browser: Browser) -> AsyncIterator[House]:
    async with house_of(Desk(MemoryStore()), browser) as house:
        yield house
    assert house.complaints == []


@pytest.fixture
async def still_house(browser: Browser, clock: FakeClock) -> AsyncIterator[House]:
    """A house where time only passes when it is told to; not in its browsers."""
    async with house_of(Desk(MemoryStore(), clock=clock), browser) as house:
        yield house
    assert house.complaints == []
