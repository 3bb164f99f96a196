"""Two browsers and a terminal answer the same ask at the same moment, round after round.

One real server, two Chromiums signed in as two people, and a third person at a real terminal in another process, on one
SQLite file. Each round has one winner, and all three learn who it was.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.async_api import Browser, Page, async_playwright
from tests.browser import ARGUMENTS, executable
from tests.faults.alone import alone
from tests.terminal import Terminal

from askdesk.core.desk import Desk
from askdesk.core.model import Question
from askdesk.server import tokens
from askdesk.stores.sqlite import SQLiteStore

PEOPLE = ("ben", "cleo")
LEARNED_SECONDS = 0.25
_ENDED = re.compile(r"answered by (\w+) on (\w+)")

ATTENDING = """
import asyncio
from askdesk import attend, open_desk
from askdesk.surfaces.terminal.screen import Guard
from askdesk.surfaces.terminal.surface import TerminalSurface

async def main():
    async with open_desk() as desk:
        surface = TerminalSurface(desk.shelf, "ana", guard=Guard(0.05))
        await attend(desk, surface.present, by="ana", surface="terminal", lost=surface.lost, sent=surface.sent)

asyncio.run(main())
"""


class Round(NamedTuple):
    """Who won, who each of the three believes won, and how many seconds after the settlement they knew."""

    winner: str
    believed: tuple[str, ...]
    seconds: tuple[float, ...]

    @property
    def is_right(self) -> bool:
        return set(self.believed) == {self.winner}


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-m", "askdesk.cli.main", "serve", "--port", "0", "--no-link", "--store", str(path)]
    with subprocess.Popen([*command, "--log", "none"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


async def signed_in(browser: Browser, desk: Desk, url: str, name: str) -> Page:
    context = await browser.new_context()
    await context.add_init_script(NOTING)
    page = await context.new_page()
    code = await tokens.new_link(desk.shelf, name, now=desk.now())
    await page.goto(f"{url}/sign-in?code={code}")
    return page


async def raced(desk: Desk, url: str, number: int, pages: tuple[Page, ...], terminal: Terminal) -> Round:
    """One ask, three answers let go together."""
    ask = await desk.post(Question(f"Which way at {number}?", ["left", "right"]))
    await asyncio.to_thread(terminal.shows, f"Which way at {number}?", "right")
    await asyncio.gather(*(ready_to_send(page, f"{url}/asks/{ask.id}") for page in pages))
    await asyncio.to_thread(opened, terminal)
    terminal.screen.scrolled.clear()  # reading all that scrolled away would soon take longer than to learn
    learned = await asyncio.gather(*map(learned_on_page, pages), learned_on_terminal(terminal))
    settlement = (await desk.get(ask.id)).settlement
    assert settlement is not None
    at = settlement.at.timestamp()
    return Round(settlement.by, tuple(who for who, _ in learned), tuple(moment - at for _, moment in learned))


async def ready_to_send(page: Page, address: str) -> None:
    await page.goto(address)
    await page.check("#q0-0")
    await page.locator("button[value=send]:enabled").wait_for()


def opened(terminal: Terminal) -> None:
    """Until the form's keys count: a moment after it was painted."""
    counts = time.monotonic() + 0.1
    terminal.becomes(lambda: time.monotonic() > counts, "the form opens")


# When the page first said how the ask ended, by the browser's own clock: asking it from here would take longer. Kept
# where it outlives the page, for what was sent too late takes the browser to another one.
NOTING = """
new MutationObserver(() => {
  if (document.querySelector(".ended")) sessionStorage[location.pathname] ??= Date.now();
}).observe(document, { childList: true, subtree: true });
"""


def a_moment(least: float = 0.0) -> float:
    """Seconds within which everybody may be the first."""
    return random.uniform(least, 0.2)  # noqa: S311 - no secret


async def learned_on_page(page: Page) -> tuple[str, float]:
    await asyncio.sleep(a_moment())
    await page.evaluate("document.querySelector('button[value=send]')?.click()")  # there no more where it was too late
    words = await page.locator(".ended").inner_text()
    noted = await page.wait_for_function("sessionStorage[location.pathname]")
    return named(words), int(await noted.json_value()) / 1000


async def learned_on_terminal(terminal: Terminal) -> tuple[str, float]:
    learning = asyncio.create_task(asyncio.to_thread(told, terminal, len(ends(terminal))))
    await asyncio.sleep(a_moment(0.05))  # a browser takes so much longer to send
    if not learning.done():
        terminal.press("2")
    return await learning


def told(terminal: Terminal, before: int) -> tuple[str, float]:
    """What the form says at its end, and leaves behind: its own answer, or who was first."""
    terminal.becomes(lambda: len(ends(terminal)) > before, "the form closes")
    moment, end = time.time(), ends(terminal)[-1]
    return "ana" if "✔" in end else named(end), moment


def ends(terminal: Terminal) -> list[str]:
    """How each form ended, in order."""
    return [row for row in terminal.history if row.startswith("✔") or "Closed: answered" in row]


def named(words: str) -> str:
    found = _ENDED.search(words)
    assert found, words
    return found[1]


@asynccontextmanager
async def three(folder: Path) -> AsyncIterator[tuple[Desk, str, tuple[Page, ...], Terminal]]:
    """The desk, its server, two people at browsers and one at a terminal."""
    path = folder / "desk.db"
    store = await SQLiteStore.open(path)
    environment = {"ASKDESK_STORE": str(path)}
    try:
        with serving(path) as url, Terminal("-c", ATTENDING, command=(sys.executable,), env=environment) as terminal:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=executable(), args=[*ARGUMENTS])
                desk = Desk(store)
                pages = [await signed_in(browser, desk, url, name) for name in PEOPLE]
                yield desk, url, tuple(pages), terminal
                await browser.close()
    finally:
        await store.close()


async def rounds(folder: Path, count: int) -> list[Round]:
    async with three(folder) as (desk, url, pages, terminal):
        return [await raced(desk, url, number, pages, terminal) for number in range(count)]


def report(raced: list[Round]) -> int:
    wrong = [race for race in raced if not race.is_right]
    slow = [race for race in raced if max(race.seconds) > LEARNED_SECONDS]
    winners = {name: sum(race.winner == name for race in raced) for name in ("ana", *PEOPLE)}
    times = sorted(seconds for race in raced for seconds in race.seconds)
    print(f"{len(raced)} rounds; won by {', '.join(f'{name}: {count}' for name, count in winners.items())}")
    print(f"wrong beliefs: {len(wrong)}")
    print(f"learned after {median(times) * 1000:.0f} ms (median), {times[-1] * 1000:.0f} ms at most")
    print(f"rounds in which somebody learned it after more than {LEARNED_SECONDS * 1000:.0f} ms: {len(slow)}")
    for race in (*wrong, *slow)[:10]:
        print(f"  {race}")
    return 1 if wrong or slow else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    with alone("race") as folder:
        return report(asyncio.run(rounds(folder, given.rounds)))


if __name__ == "__main__":
    sys.exit(main())
