"""One desk, three servers on one PostgreSQL database: processes and browser are real, and any server will do."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.cli.command import ASKDESK, DATABASE, in_file, surroundings, until
from tests.pages.house import press
from tests.postgres import Cluster
from tests.stores.remote import Serving, new_tokens, serving

from askdesk.core.desk import Desk
from askdesk.core.model import Ask, Asker, Question
from askdesk.server import tokens
from askdesk.stores.postgres import PostgresStore

pytestmark = pytest.mark.anyio

RESULT = {**DATABASE, "answers": {"Which database?": "SQLite"}}


class Team:
    """Three servers, who may ask and answer there, and a look at the database behind them."""

    def __init__(self, cluster: Cluster, database: str, servers: list[Serving], given: dict[str, str]) -> None:
        self.database, self.servers = database, servers
        self._cluster, self._given = cluster, given

    def agent(self, server: Serving) -> dict[str, str]:
        return {"ASKDESK_STORE": server.url, "ASKDESK_TOKEN": self._given["asker_token"]}

    def started(self, server: Serving, *arguments: str) -> subprocess.Popen[str]:
        """A command of an agent that knows this server alone."""
        return subprocess.Popen(
            [*ASKDESK, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings(self.agent(server)),
        )

    def is_settled(self, ask: Ask) -> bool:
        """As the database has it: to ask a desk would settle what is due."""
        query = "SELECT settlement IS NOT NULL FROM askdesk.asks WHERE id = $1"
        return bool(self._cluster.sql(query, ask.id, database=self.database.rpartition("/")[2])[0][0])


@pytest.fixture
def team(cluster: Cluster, postgres: str) -> Iterator[Team]:
    given = asyncio.run(new_tokens(postgres))
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(postgres)) for _ in range(3)]
        yield Team(cluster, postgres, servers, given)


@pytest.fixture
async def desk(team: Team) -> AsyncIterator[Desk]:
    """The database itself, for what no server is needed for."""
    store = await PostgresStore.open(team.database)
    yield Desk(store, clock=store.clock)
    await store.close()


async def signed_in(browser: Browser, desk: Desk, server: Serving) -> Page:
    page = await browser.new_page()
    code = await tokens.new_link(desk.shelf, "ana", now=desk.now())
    await page.goto(f"{server.url}/sign-in?code={code}")
    return page


async def ended(process: subprocess.Popen[str]) -> tuple[int, object]:
    out, _ = await asyncio.to_thread(process.communicate, timeout=30)
    return process.returncode, json.loads(out)


async def test_an_ask_posted_on_one_server_is_answered_on_another_and_awaited_on_a_third(
    team: Team, desk: Desk, browser: Browser, tmp_path: Path
) -> None:
    first, second, third = team.servers
    page = await signed_in(browser, desk, second)
    with team.started(first, "ask", "--key", "deploy", in_file(tmp_path, DATABASE)) as asking:
        await page.get_by_role("link", name="Which database?").click()
        ask_id = page.url.rpartition("/")[2]
        with team.started(third, "wait", ask_id) as waiting:
            assert waiting.stderr
            assert (
                await asyncio.to_thread(waiting.stderr.readline)
                == f"askdesk: waiting for an answer to ask {ask_id[:8]}\n"
            )
            await page.get_by_role("radio", name="SQLite").check()
            await press(page, "Send")

            assert await ended(waiting) == (0, RESULT)
        assert await ended(asking) == (0, RESULT)
    settlement = (await desk.store.get(ask_id)).settlement
    assert settlement
    assert (settlement.by, settlement.surface) == ("ana", "page")


async def test_a_live_page_goes_on_at_another_server_and_shows_what_it_missed(
    team: Team, desk: Desk, browser: Browser
) -> None:
    page = await signed_in(browser, desk, team.servers[1])
    await expect(page.locator(".large")).to_have_text("No agent waits for an answer")
    team.servers[1].killed()
    await desk.post(Question("Which database?", ["SQLite", "Postgres"]))

    with serving(team.database, team.servers[1].port):
        await expect(page.locator(".asks li")).to_have_count(1)
        await desk.post(Question("Which parts?", ["Stores", "Surfaces"]))
        await expect(page.locator(".asks li")).to_have_count(2)


async def test_what_is_due_expires_at_one_of_the_servers_and_at_the_next_once_that_is_killed(
    team: Team, desk: Desk
) -> None:
    for server in team.servers:
        ask = await desk.post(Question("Now?", ["yes", "no"]), asker=Asker("ci"), deadline=timedelta(seconds=0.1))
        await asyncio.to_thread(until, partial(team.is_settled, ask))
        server.killed()
