"""Claude Code at a terminal and the page in a real browser, both with the same ask: the first answer wins."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.claude.cli import Claude
from tests.claude.desk import install, press_until, serving, settlement_within, the_ask
from tests.claude.model import DATABASE, Call, ScriptedModel
from tests.cli.command import askdesk
from tests.terminal import Terminal

from askdesk.core.model import Answer, Answered, Withdrawn

pytestmark = pytest.mark.anyio
DIALOG = "2. SQLite"
SECONDS = 2_000  # milliseconds in which the page must know


@contextmanager
def asking(folder: Path) -> Iterator[tuple[Claude, Terminal]]:
    """Claude Code shows its dialog, and the desk has the same ask."""
    with serving(), ScriptedModel(Call("AskUserQuestion", DATABASE, "toolu_1")) as model:
        claude = Claude(folder, model)
        install(claude)
        with claude.open("--permission-mode", "default", env={"ASKDESK_BY": "ana"}) as terminal:
            terminal.shows("? for shortcuts")
            terminal.types("go")
            terminal.press("enter")
            terminal.shows(DIALOG)
            yield claude, terminal


async def ask_in_browser(browser: Browser) -> Page:
    """Somebody signs in by a link and opens the ask."""
    page = await (await browser.new_context(locale="en-GB")).new_page()
    await page.goto(askdesk("link", "--by", "ben").out.strip())
    ask = await to_thread(the_ask)
    await page.goto(f"{page.url.rstrip('/')}/asks/{ask.id}")
    await expect(page.get_by_text("Which db?").first).to_be_visible()
    return page


async def test_an_answer_in_the_browser_closes_the_dialog_in_the_terminal(tmp_path: Path, browser: Browser) -> None:
    with asking(tmp_path) as (claude, terminal):
        page = await ask_in_browser(browser)
        await page.get_by_label("SQLite").check()
        await page.get_by_role("button", name="Send", exact=True).click()
        terminal.shows_not(DIALOG)
        terminal.becomes(lambda: bool(claude.model.results), "the model is told")
        assert claude.model.result == (
            'Your questions have been answered: "Which db?"="SQLite". You can now continue with these answers in mind.'
        )
        settlement = await to_thread(settlement_within, 2, await to_thread(the_ask), terminal)
        assert settlement.outcome == Answered([Answer(["SQLite"])])
        assert (settlement.by, settlement.surface) == ("ben", "page")


async def test_an_answer_in_the_terminal_is_seen_in_the_browser(tmp_path: Path, browser: Browser) -> None:
    with asking(tmp_path) as (_, terminal):
        page = await ask_in_browser(browser)
        press_until(terminal, "2", lambda: DIALOG not in terminal.text)
        await expect(page.locator(".ended")).to_contain_text("by ana on claude-code", timeout=SECONDS)
        await expect(page.locator("li.chosen")).to_contain_text("SQLite")


async def test_escape_in_the_terminal_is_seen_in_the_browser(tmp_path: Path, browser: Browser) -> None:
    with asking(tmp_path) as (_, terminal):
        page = await ask_in_browser(browser)
        ask = await to_thread(the_ask)
        press_until(terminal, "escape", lambda: DIALOG not in terminal.text)
        await expect(page.locator(".ended.withdrawn")).to_be_visible(timeout=SECONDS)
        settlement = await to_thread(settlement_within, 2, ask, terminal)
        assert settlement.outcome == Withdrawn("interrupted in Claude Code's terminal")
