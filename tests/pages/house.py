"""A desk with its server, and people who look at its page in a real Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect
from tests.browser import PATIENCE
from tests.server.running import Running, running

from askdesk.core.desk import Desk
from askdesk.core.model import Option, Permission, Question
from askdesk.server import tokens

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

DATABASE = Question(
    "Which database should it use?",
    [
        Option("SQLite (Recommended)", "One file, nothing to run."),
        Option("Postgres", "A server of its own."),
    ],
    header="Database",
)
PARTS = Question(
    "Which parts should be tested?",
    [Option("Stores", "All three of them."), Option("Surfaces", "Terminal and page."), Option("Adapters")],
    header="Tests",
    multi_select=True,
)
NAME = Question("What should it be called?", kind="text", default="askdesk")
COUNT = Question("How many workers?", kind="number", minimum=1, maximum=8)
SIMPLE = Permission("Bash", {"command": "rm -rf build && make"}, folder="/srv/app", description="Cleans up")

expect.set_options(timeout=PATIENCE * 1000)


class House:
    """One desk, one server, and the browsers of everybody in a test."""

    def __init__(self, server: Running, browser: Browser) -> None:
        self.server, self.browser = server, browser
        self.desk = server.desk
        self.complaints: list[str] = []  # of any page: scripts that failed, things that a policy refused
        self._contexts: list[BrowserContext] = []

    async def link(self, name: str = "ana", **limits: Any) -> str:
        """A one-time link."""
        code = await tokens.new_link(self.desk.shelf, name, now=self.desk.now(), **limits)
        return f"{self.server.url}/sign-in?code={code}"

    async def person(self, name: str = "ana", path: str = "/", **options: Any) -> Page:
        """Somebody signs in with a browser of their own."""
        page = await self.stranger(**options)
        await page.goto(await self.link(name))
        if path != "/":
            await page.goto(path)
        return page

    async def stranger(self, **options: Any) -> Page:
        """A browser that nobody signed in with yet."""
        context = await self.browser.new_context(base_url=self.server.url, **({"locale": "en-GB"} | options))
        self._contexts.append(context)
        context.on("console", self._heard)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        return await context.new_page()

    def _heard(self, message: ConsoleMessage) -> None:
        is_status = message.text.startswith("Failed to load resource")  # an answer of ours, or the server is down
        if message.type in ("error", "warning") and not is_status:
            self.complaints.append(message.text)

    async def until(self, so: Callable[[], bool]) -> None:
        """Wait for something on this side of the wire."""
        async with asyncio.timeout(PATIENCE):
            while not so():  # noqa: ASYNC110 - nobody rings for it
                await asyncio.sleep(0.01)

    def stay(self) -> None:
        """The browsers outlive the server."""
        self._contexts.clear()

    async def leave(self) -> None:
        for context in self._contexts:
            await context.close()


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


async def press(page: Page, name: str) -> None:
    """A button that leads to another page, and wait for that: Chromium may hang when it is closed on its way."""
    await button(page, name).scroll_into_view_if_needed()  # what lets a call run must be seen first
    async with page.expect_navigation():
        await button(page, name).click()


@asynccontextmanager
async def house_of(desk: Desk, browser: Browser, **options: Any) -> AsyncIterator[House]:
    async with running(desk, **options) as server:
        house = House(server, browser)
        try:
            yield house
        finally:
            await house.leave()
