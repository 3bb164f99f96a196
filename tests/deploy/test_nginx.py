"""Several servers on one PostgreSQL behind the real nginx, over TLS: people in a real Chromium, agents over HTTP."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Browser, Page, expect
from tests.adapters.test_mcp_tools import ANSWERED as TOLD
from tests.adapters.test_mcp_tools import CALL, DATABASE, ERAS, text_of
from tests.deploy.balanced import SECONDS, Balanced
from tests.pages.house import press
from tests.server.running import ANSWERED, QUESTIONS

from askdesk.core.desk import Desk
from askdesk.core.model import Answer, Answered
from askdesk.stores.http import HTTPStore
from askdesk.wire import mcp

pytestmark = pytest.mark.anyio

HEARS_ONLY = "window.setInterval = () => 0"  # else a page that is told nothing would look by itself after a while
POSTGRES = Answered([Answer(["Postgres"])])
REPLY = {"reply": ANSWERED, "submission": "s1"}


@asynccontextmanager
async def opened(desks: Balanced) -> AsyncIterator[Desk]:
    """The desk as programs of ours on other machines have it."""
    asker, answerer = await desks.token("asker"), await desks.token("answerer")
    desk = Desk(await HTTPStore.open(desks.url, asker_token=asker, answerer_token=answerer))
    yield desk
    await desk.close()


async def signed_in(desks: Balanced, browser: Browser) -> Page:
    """Somebody who has just opened a link that none of the servers made."""
    context = await browser.new_context(base_url=desks.url, ignore_https_errors=True, locale="en-GB")
    await context.add_init_script(HEARS_ONLY)
    page = await context.new_page()
    await page.goto(await desks.link())
    await desks.counts("askdesk_streams", 1)
    return page


async def post(agent: httpx2.AsyncClient) -> str:
    key = token_hex()
    while (answer := await agent.post("/v1/asks", json={"questions": QUESTIONS, "key": key})).status_code == 502:
        pass  # a server has just died over it
    assert answer.status_code in (200, 201)
    return str(answer.json()["ask"]["id"])


async def waited(agent: httpx2.AsyncClient, ask_id: str) -> Any:
    return (await agent.get(f"/v1/asks/{ask_id}", params={"wait": "60"})).json()["settlement"]["outcome"]


async def until(so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not so():  # noqa: ASYNC110 - nobody rings for it
            await asyncio.sleep(0.01)


async def answer(page: Page, ask_id: str) -> None:
    await page.locator(f".asks li[data-id='{ask_id}'] a").click()
    await page.get_by_label("SQLite").check()
    await press(page, "Send")
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")


async def test_an_ask_comes_to_the_page_and_its_answer_to_the_agent(desks: Balanced, browser: Browser) -> None:
    page = await signed_in(desks, browser)
    async with desks.client("asker") as agent, agent.stream("GET", "/v1/events") as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == "event: reread"
        ask_id = await post(agent)
        waiting = asyncio.ensure_future(waited(agent, ask_id))

        await answer(page, ask_id)

        assert await waiting == ANSWERED
        async with asyncio.timeout(SECONDS):
            while await anext(lines) != f'data: {{"ask":"{ask_id}"}}':
                pass
    await page.context.close()


@pytest.mark.parametrize("desks", [3], indirect=True)
async def test_what_hangs_on_a_server_that_is_killed_goes_on_with_another(desks: Balanced, browser: Browser) -> None:
    page = await signed_in(desks, browser)
    async with desks.client("asker") as agent:
        ask_id = await post(agent)
        waiting = [asyncio.ensure_future(waited(agent, ask_id)) for _ in desks.servers for _ in range(2)]
        await desks.counts("askdesk_waits", len(waiting))
        (carries,) = [server for server, count in (await desks.counts("askdesk_streams")).items() if count]
        assert (await desks.counts("askdesk_waits"))[carries]

        carries.end()
        after = await post(agent)

        await expect(page.locator(f".asks li[data-id='{after}']")).to_be_visible()
        await desks.counts("askdesk_streams", 1)
        await desks.counts("askdesk_waits", len(waiting))
        await answer(page, ask_id)
        assert await asyncio.gather(*waiting) == [ANSWERED] * len(waiting)
    await page.context.close()


async def test_of_what_a_server_died_over_the_next_one_gets_only_what_is_done_once(desks: Balanced) -> None:
    stays, dies = desks.servers
    async with desks.client("asker") as agent, desks.client("answerer") as program:
        ask_id = await post(agent)
        requests: dict[str, Callable[[], Awaitable[httpx2.Response]]] = {
            "read": lambda: agent.get("/v1/asks"),
            "answer": lambda: program.post(f"/v1/asks/{ask_id}/settlement", json=REPLY),
            "ask": lambda: agent.post("/v1/asks", json={"questions": QUESTIONS}),
            "document": lambda: program.put("/v1/shelf/draft/x", json={"value": "x"}),
        }
        for server in desks.servers:
            server.send(signal.SIGSTOP)
        sent: dict[str, list[asyncio.Future[httpx2.Response]]] = {}
        for count, (name, request) in enumerate(requests.items(), 1):
            sent[name] = [asyncio.ensure_future(request()) for _ in desks.servers]
            await until(lambda count=count: [server.unread for server in desks.servers] == [count] * 2)  # type: ignore[misc]
        dies.end()
        stays.send(signal.SIGCONT)

        answers = {name: sorted([(await each).status_code for each in sending]) for name, sending in sent.items()}
        assert answers == {
            "read": [200, 200],
            "answer": [200, 200],
            "ask": [201, 502],
            "document": [200, 502],
        }


async def test_servers_are_replaced_one_after_the_other_and_nobody_notices(
    desks: Balanced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(desks.certificate))
    async with opened(desks) as agent, opened(desks) as program:
        asks = [await agent.post(DATABASE) for _ in range(4)]
        waiting = [asyncio.ensure_future(agent.wait(ask.id)) for ask in asks]
        for server, ask in zip(desks.servers, asks, strict=False):
            server.end(signal.SIGTERM)
            await program.settle(ask.id, POSTGRES, by="ana", surface="program")
            waiting.append(asyncio.ensure_future(agent.wait((await agent.post(DATABASE)).id)))
            server.start()
            await asyncio.to_thread(server.listens)
        async for entry in program.each("open"):
            await program.settle(entry.ask.id, POSTGRES, by="ana", surface="program")

        settlements = await asyncio.gather(*waiting)
        assert [settlement.outcome for settlement in settlements if settlement] == [POSTGRES] * 6


@pytest.mark.parametrize("desks", [1], indirect=True)
async def test_plain_http_leads_to_tls_and_no_log_has_what_stands_in_addresses(desks: Balanced) -> None:
    async with desks.client("asker") as agent:
        asked = await agent.get(f"{desks.plain_url}/settled?q=secret")
        await agent.get("/settled?q=secret")
        too_large = await agent.post("/v1/asks", content=b" " * 3_000_000, headers={"Content-Type": "application/json"})
        assert (asked.status_code, asked.headers["location"]) == (301, "https://localhost/settled?q=secret")
        assert (too_large.status_code, too_large.json()["type"]) == (413, "urn:askdesk:problem:too-large")
        assert too_large.headers["strict-transport-security"] == "max-age=31536000"
    await until(lambda: desks.log.read_text().count("\n") == 2)  # each line comes once all was sent
    assert [line.split('"')[1] for line in desks.log.read_text().splitlines()] == ["GET /settled", "POST /v1/asks"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_conversation_of_mcp_stays_with_its_server(desks: Balanced, era: str) -> None:
    async with desks.client("asker") as http:
        transport = streamable_http_client(f"{desks.url}/mcp", http_client=http)
        async with Client(transport, mode=era) as host, asyncio.timeout(SECONDS):
            for _ in range(3):
                assert len((await host.list_tools()).tools) == 4
            calling = asyncio.ensure_future(host.call_tool(mcp.ASK, CALL))
            async with desks.desk.watch() as hints:
                while not (entries := (await desks.desk.page("open")).entries):
                    await anext(hints)
            await desks.desk.settle(entries[0].ask.id, POSTGRES, by="ben", surface="page")
            assert text_of(await calling) == (False, TOLD.format("Postgres"))
