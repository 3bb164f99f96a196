"""A desk with its server, and people who look at its page in a real Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect
from tests.browser import PATIENCE
from tests.server.running import Running, running

from askdesk.core.desk import Desk
from askdesk.core.model import Option, Permission, Question
from askdesk.server import tokens
from askdesk.server.doors import cookie_name

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
        """Somebody with a browser of their own, in which they signed in before."""
        page = await self.stranger(**options)
        code = await tokens.new_link(self.desk.shelf, name, now=self.desk.now())
        redeemed = await tokens.redeem(self.desk.shelf, code, self.desk.now())
        assert redeemed is not None
        name, value = cookie_name(self.server.service), redeemed[1]
        await page.context.add_cookies(
            [{"name": name, "value": value, "url": self.server.url, "httpOnly": True, "sameSite": "Strict"}]
        )
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
            await _closed(context)


async def _closed(context: BrowserContext) -> None:
    """Chromium may never answer when it closes a page on its way to another one; asked again, it does."""
    for _ in range(3):
        with suppress(TimeoutError):
            async with asyncio.timeout(3):
                await context.close()
                return
    raise TimeoutError("Chromium does not close a page")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


async def press(page: Page, name: str) -> None:
    """A button of an ask, and wait for how it looks then."""
    await button(page, name).scroll_into_view_if_needed()  # what lets a call run must be seen first
    await page.eval_on_selector("#ask", "ask => ask.dataset.before = ''")
    await button(page, name).click()
    await page.wait_for_selector("#ask:not([data-before])")


async def follow(page: Page, name: str) -> None:
    """A button that leads to another page, and wait for that."""
    async with page.expect_navigation():
        await button(page, name).click()


@asynccontextmanager
async def house_of(desk: Desk, browser: Browser, **options: Any) -> AsyncIterator[House]:
    async with running(desk, **{"recent_seconds": tokens.RECENT_SECONDS, **options}) as server:
        house = House(server, browser)
        try:
            yield house
        finally:
            await house.leave()
