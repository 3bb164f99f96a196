"""Random `kill -9` of the server while agents wait over HTTP, programs answer over HTTP and a person types on the page.

Agents ask one question after the other and keep what they were told. In the end every ask is there once, each agent was
told what the desk keeps, nobody waits any more, and what the person had typed when the server died is still there.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Error, Page, async_playwright
from tests.browser import ARGUMENTS, executable
from tests.faults.alone import alone
from tests.faults.server import Server

from askdesk.core.desk import Desk
from askdesk.core.errors import AlreadySettled
from askdesk.core.model import Answer, Answered, Asker, Outcome, Question
from askdesk.server import tokens
from askdesk.stores.http import HTTPStore
from askdesk.stores.sqlite import SQLiteStore

AGENTS, ANSWERERS = 6, 2
OWN_WORDS = "textarea[name='q0.own']"
_STUCK_SECONDS = 60
# What was typed may be gone only where the ask has ended.
_IS_THERE = """([field, words]) => document.querySelector(".ended") || document.querySelector(field)?.value === words"""


class Books(NamedTuple):
    """What was asked and what agents were told, against what the desk keeps."""

    asked: int
    kept: int
    told_otherwise: int
    stuck: int
    kills: int
    typed_seen: int  # how often it was looked whether what was typed is there, after it could not be sent
    typed_lost: int

    @property
    def is_right(self) -> bool:
        return (self.asked, 0, 0, 0) == (self.kept, self.told_otherwise, self.stuck, self.typed_lost)


class House:
    def __init__(self, folder: Path, seed: int) -> None:
        self.path = folder / "desk.db"
        self.server = Server(str(self.path))
        self.random = random.Random(seed)  # noqa: S311 - which moment it is need not be a secret
        self.told: dict[str, Outcome] = {}
        self.kills = 0
        self.typed_seen = self.typed_lost = 0

    async def token(self, desk: Desk, kind: tokens.Kind, name: str) -> str:
        return (await tokens.new_token(desk.shelf, kind, name, now=desk.now()))[1]

    @asynccontextmanager
    async def remote(self, asker_token: str = "", answerer_token: str = "") -> AsyncIterator[Desk]:
        store = await HTTPStore.open(self.server.url, asker_token=asker_token, answerer_token=answerer_token)
        try:
            yield Desk(store)
        finally:
            await store.close()

    async def agent(self, name: str, token: str, asks: int) -> None:
        async with self.remote(asker_token=token) as desk:
            for number in range(asks):
                key = f"{name}-{number}"
                self.told[key] = await desk.ask(
                    Question(f"{key}?", ["left", "right"]), asker=Asker(name, project="p"), key=key
                )

    async def answerer(self, token: str) -> None:
        """Answer whatever is open, for ever."""
        async with self.remote(answerer_token=token) as desk, desk.watch() as hints:
            while True:
                for entry in (await desk.page("open", newest=True)).entries[:-1]:  # the oldest is left to the person
                    reply = Answered([Answer.choose(entry.ask.questions[0], self.random.randrange(2))])
                    with suppress(AlreadySettled):
                        await desk.settle(entry.ask.id, reply, by="", surface="program")
                await anext(hints)

    async def person(self, page: Page) -> None:
        """Answer on the page, in own words, for ever; whatever fails is done again, as people do."""
        number = 0
        while True:
            with suppress(Error):  # the server is away, or somebody was quicker
                number += 1
                await self._answered_by_hand(page, f"words number {number} of a person")

    async def _answered_by_hand(self, page: Page, words: str) -> None:
        await page.goto(f"{self.server.url}/", timeout=5000)
        await page.click(".asks a", timeout=5000)
        await page.fill(OWN_WORDS, words, timeout=2000)
        try:
            await page.click("button[value=send]", timeout=2000)
            await page.wait_for_selector(".ended", timeout=5000)
        except Error:
            is_there = await page.evaluate(_IS_THERE, [OWN_WORDS, words])
            self.typed_seen += 1
            self.typed_lost += not is_there
            raise

    async def killer(self, cycles: int) -> None:
        for _ in range(cycles):
            await asyncio.sleep(self.random.uniform(0.2, 1.2))
            self.server.kill()
            self.kills += 1
            await asyncio.sleep(self.random.uniform(0, 0.3))
            await self.server.start()

    async def run(self, cycles: int, asks: int) -> Books:
        store = await SQLiteStore.open(self.path)
        desk = Desk(store)
        await self.server.start()
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=[*ARGUMENTS])
            page = await (await browser.new_context()).new_page()
            code = await tokens.new_link(desk.shelf, "ana", now=desk.now())
            await page.goto(f"{self.server.url}/sign-in?code={code}")
            people = [asyncio.ensure_future(self.person(page))]
            for number in range(ANSWERERS):
                token = await self.token(desk, "answerer", f"answerer {number}")
                people.append(asyncio.ensure_future(self.answerer(token)))
            asker = await self.token(desk, "asker", "agents")
            agents = [asyncio.ensure_future(self.agent(f"agent{n}", asker, asks)) for n in range(AGENTS)]
            await self.killer(cycles)
            stuck = await self._left(agents)
            for task in (*people, *stuck):
                task.cancel()
            await asyncio.gather(*people, *agents, return_exceptions=True)
            await browser.close()
        books = await self._compared(desk, AGENTS * asks, len(stuck))
        self.server.kill(signal.SIGTERM)
        await store.close()
        return books

    async def _left(self, agents: list[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Those who still wait when for long nobody was told anything."""
        left, told = set(agents), -1
        while left and len(self.told) > told:
            told = len(self.told)
            _, left = await asyncio.wait(left, timeout=_STUCK_SECONDS)
        return left

    async def _compared(self, desk: Desk, asked: int, stuck: int) -> Books:
        kept = {entry.ask.key: entry async for entry in desk.each("settled")}
        otherwise = [
            key
            for key, outcome in self.told.items()
            if key not in kept or not (standing := kept[key].settlement) or standing.outcome != outcome
        ]
        return Books(asked, len(kept), len(otherwise), stuck, self.kills, self.typed_seen, self.typed_lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--asks", type=int, default=60, help="of each agent")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311
    given = parser.parse_args()
    print(f"seed {given.seed}")
    with alone("server") as folder:
        books = asyncio.run(House(folder, given.seed).run(given.cycles, given.asks))
    print(books)
    return 0 if books.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
