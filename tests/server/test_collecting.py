"""Asks that nobody waits for, over HTTP: told until they are delivered, and to whom they concern alone."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from tests.server.running import QUESTIONS, Answer, Running, running

from askdesk.core import owed
from askdesk.core.desk import Desk, new_id
from askdesk.core.model import Answer as Given
from askdesk.core.model import Answered, Asker, Permission, Question
from askdesk.core.owed import Owed
from askdesk.core.process import here
from askdesk.server import shelf_rules, tokens
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

OURS, THEIRS = Asker("builder", "s-1", "ours"), Asker("builder", "s-1", "theirs")
SQLITE = Answered([Given(["SQLite"])])


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[Running]:
    minutes = itertools.count(step=60)
    async with running(Desk(MemoryStore(), clock=clock), clock=lambda: float(next(minutes))) as server:
        yield server


def plain(asker: Asker) -> dict[str, Any]:
    return msgspec.to_builtins(asker)  # type: ignore[no-any-return]


async def left(server: Running, token: str, asker: Asker = OURS, **parts: Any) -> str:
    return await server.post(token, asker=plain(asker), collect=True, **parts)


async def collect(server: Running, token: str, asker: Asker = OURS, **more: object) -> Answer:
    query = {**plain(asker), **more}
    return await server.request("GET", f"/v1/collect?{urlencode(query)}", token=token)


async def deliver(server: Running, token: str, ask_id: str, **parts: object) -> Answer:
    return await server.request("POST", f"/v1/asks/{ask_id}/delivery", token=token, body=parts)


async def settle(server: Running, ask_id: str) -> None:
    await server.desk.settle(ask_id, SQLITE, by="ana", surface="page")


def told(answer: Answer) -> tuple[list[str], int]:
    assert answer.status == 200, answer
    return [entry["ask"]["id"] for entry in answer.json["entries"]], answer.json["open"]


async def notes(server: Running) -> list[str]:
    return [document.name for document in await server.desk.shelf.list("owed/")]


async def test_what_was_left_is_told_until_it_was_delivered(server: Running, clock: FakeClock) -> None:
    token = await server.token()
    first, second = await left(server, token), await left(server, token)
    assert told(await collect(server, token)) == ([], 2)
    await settle(server, second)
    clock.advance(1)
    assert told(await collect(server, token)) == ([second], 1)
    (entry,) = (await collect(server, token)).json["entries"]
    assert entry == (await server.request("GET", f"/v1/asks/{second}", token=token)).json
    assert entry["result"] == {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}
    assert [(await deliver(server, token, second)).status for _ in range(2)] == [204, 204]
    assert told(await collect(server, token)) == ([], 1)
    await settle(server, first)
    assert told(await collect(server, token)) == ([first], 0)


async def test_what_is_not_left_is_nobodys_to_collect(server: Running) -> None:
    token = await server.token()
    for parts in ({}, {"collect": False}):
        await settle(server, await server.post(token, asker=plain(OURS), **parts))
    assert told(await collect(server, token)) == ([], 0)


async def test_sent_again_it_is_the_same_ask_and_told_once(server: Running) -> None:
    token, ask_id = await server.token(), new_id()
    body = {"questions": QUESTIONS, "asker": plain(OURS), "collect": True}
    for more in ({"id": ask_id, "key": "k"}, {"id": ask_id, "key": "k"}, {"key": "k"}):
        answer = await server.request("POST", "/v1/asks", token=token, body={**body, **more})
        assert answer.json["ask"]["id"] == ask_id
    await settle(server, ask_id)
    assert told(await collect(server, token)) == ([ask_id], 0)
    assert await notes(server) == [owed.name_of(OURS, ask_id)]


async def test_of_what_is_still_open_there_is_nothing_to_deliver(server: Running) -> None:
    token = await server.token()
    ask_id = await left(server, token)
    answer = await deliver(server, token, ask_id)
    assert (answer.status, answer.json["detail"]) == (
        422,
        f"ask {ask_id} is still open: there is nothing to deliver yet",
    )
    await settle(server, ask_id)
    assert told(await collect(server, token)) == ([ask_id], 0)


async def test_without_a_name_it_is_the_asker_without_a_name(server: Running) -> None:
    token = await server.token()
    ask_id = await server.post(token, collect=True)
    assert told(await server.request("GET", "/v1/collect", token=token)) == ([], 1)
    assert told(await collect(server, token)) == ([], 0)
    await server.desk.withdraw(ask_id)
    assert (await server.request("GET", "/v1/collect?agent=agent", token=token)).json["entries"][0]["result"][
        "outcome"
    ] == "withdrawn"


async def test_a_permission_is_told_with_the_verdict(server: Running) -> None:
    token = await server.token()
    ask = await server.desk.leave(Permission("Bash", '{"command":"ls"}'), asker=OURS, deadline=timedelta(seconds=1))
    clock = server.desk._clock
    assert isinstance(clock, FakeClock)
    clock.advance(2)
    (entry,) = (await collect(server, token)).json["entries"]
    assert (entry["ask"]["id"], entry["result"]["behavior"]) == (ask.id, "deny")


async def test_two_who_left_the_same_key_are_told_and_deliver_each_for_themselves(server: Running) -> None:
    token, reviewer = await server.token(), Asker("reviewer", "s-1", "ours")
    ask_id = await left(server, token, key="k")
    again = {"questions": QUESTIONS, "asker": plain(reviewer), "key": "k", "collect": True}
    assert (await server.request("POST", "/v1/asks", token=token, body=again)).json["ask"]["id"] == ask_id
    await settle(server, ask_id)
    assert (await deliver(server, token, ask_id)).status == 204
    assert told(await collect(server, token)) == ([], 0)
    assert told(await collect(server, token, reviewer)) == ([ask_id], 0)
    assert (await deliver(server, token, ask_id, asker=plain(reviewer))).status == 204
    assert told(await collect(server, token, reviewer)) == ([], 0)


def dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


async def test_a_process_is_told_what_it_left_and_what_a_dead_one_did(server: Running) -> None:
    token = await server.token()
    living, dead, elsewhere = [
        msgspec.structs.replace(OURS, session="", host=host, process=process)
        for host, process in ((here()[0], os.getppid()), (here()[0], dead_process()), ("elsewhere", 7))
    ]
    asks = [await left(server, token, asker) for asker in (living, dead, elsewhere)]
    for ask_id in asks:
        await settle(server, ask_id)
    nobody = msgspec.structs.replace(OURS, session="")
    assert set(told(await collect(server, token, nobody))[0]) == {asks[1]}
    assert set(told(await collect(server, token, living))[0]) == set(asks[:2])
    assert set(told(await collect(server, token, elsewhere))[0]) == {asks[1], asks[2]}


async def test_it_waits_until_something_is_settled(server: Running) -> None:
    token = await server.token()
    ask_id = await left(server, token)
    waiting = asyncio.ensure_future(collect(server, token, wait=30))
    await server.until(lambda: server.service.metrics.waits == 1)
    await settle(server, ask_id)
    async with asyncio.timeout(10):
        assert told(await waiting) == ([ask_id], 0)
    async with asyncio.timeout(10):
        assert told(await collect(server, token, wait=30)) == ([ask_id], 0)
        assert (await deliver(server, token, ask_id)).status == 204
        assert told(await collect(server, token, wait=30)) == ([], 0)  # nothing could come
    assert server.service.metrics.waits == 0


async def test_a_wait_ends_with_its_time_and_with_the_server(server: Running, clock: FakeClock) -> None:
    token = await server.token()
    await left(server, token)
    waiting = asyncio.ensure_future(collect(server, token, wait=1000))
    await server.until(lambda: server.service.metrics.waits == 1)
    await server.turn()
    clock.advance(59)
    await server.turn()
    assert server.service.metrics.waits == 1
    clock.advance(2)
    async with asyncio.timeout(10):
        assert told(await waiting) == ([], 1)
    waiting = asyncio.ensure_future(collect(server, token, wait=60))
    await server.until(lambda: server.service.metrics.waits == 1)
    await server.service.end()
    async with asyncio.timeout(10):
        assert told(await waiting) == ([], 1)


async def test_a_token_that_is_revoked_while_it_waits_is_told_nothing(server: Running) -> None:
    kept, token = await tokens.new_token(server.desk.shelf, "asker", "ci", now=server.desk.now())
    ask_id = await left(server, token)
    waiting = asyncio.ensure_future(collect(server, token, wait=30))
    await server.until(lambda: server.service.metrics.waits == 1)
    await tokens.revoke(server.desk.shelf, kept.id, server.desk.now())
    await settle(server, ask_id)
    async with asyncio.timeout(10):
        answer = await waiting
    assert (answer.status, answer.problem) == (401, "unauthorized")


async def test_a_limited_token_leaves_collects_and_delivers_for_its_own_alone(server: Running) -> None:
    mine, anybody = await server.token(projects=["ours"], agents=["builder"]), await server.token()
    ask_id, theirs = await left(server, mine), await left(server, anybody, THEIRS)
    for one in (ask_id, theirs):
        await settle(server, one)
    assert told(await collect(server, mine)) == ([ask_id], 0)
    refused = [
        await collect(server, mine, THEIRS),
        await collect(server, mine, Asker("reviewer", "s-1", "ours")),
        await server.request("GET", "/v1/collect", token=mine),
        await deliver(server, mine, ask_id, asker=plain(THEIRS)),
    ]
    assert [answer.status for answer in refused] == [403] * 4
    assert (await deliver(server, mine, theirs)).status == 404
    assert (await deliver(server, mine, theirs, asker=plain(OURS))).status == 404
    assert told(await collect(server, anybody, THEIRS)) == ([theirs], 0)


@pytest.mark.parametrize("wait", [0, 30])
async def test_a_note_of_anothers_ask_tells_nothing_about_it(server: Running, wait: int) -> None:
    """Open, settled or never asked: to whom it is unknown, all are the same."""
    mine = await server.token(projects=["ours"])
    open_, settled = [(await server.desk.post(Question("Q?", ["SQLite", "b"]), asker=THEIRS)).id for _ in range(2)]
    await settle(server, settled)
    answers = []
    for ask_id in (open_, settled, new_id()):
        value = msgspec.json.encode(Owed(ask=ask_id, asker=OURS)).decode()
        name = owed.name_of(OURS, ask_id)
        kept = await server.request("PUT", f"/v1/shelf/{name}", token=mine, body={"value": value})
        async with asyncio.timeout(10):
            answers.append((kept.status, told(await collect(server, mine, wait=wait))))
        await server.desk.shelf.put(name, None)
    assert answers == [(200, ([], 0))] * 3


async def test_whoever_leaves_under_anothers_key_or_id_is_owed_nothing(server: Running) -> None:
    theirs = await server.desk.post(Question("Q?", ["SQLite", "b"]), asker=Asker("reviewer", "", "ours"), key="k")
    mine = await server.token(agents=["builder"])
    for again in ({"key": "k"}, {"id": theirs.id}):
        for question in ("Q?", "Another?"):
            items = [{"text": question, "options": [{"label": "SQLite"}, {"label": "b"}]}]
            body = {"body": {"body": "questions", "items": items}, "asker": plain(OURS), "collect": True, **again}
            answer = await server.request("POST", "/v1/asks", token=mine, body=body)
            assert (answer.status, answer.json["detail"]) == (403, "this id or key is another's")
    await settle(server, theirs.id)
    assert told(await collect(server, mine)) == ([], 0)


async def test_an_agent_that_never_collects_is_stopped_before_it_fills_the_shelf(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf_rules, "_MOST_OWED", 2)
    token = await server.token()
    asks = [await left(server, token) for _ in range(2)]
    body = {"questions": QUESTIONS, "asker": plain(OURS), "collect": True}
    answer = await server.request("POST", "/v1/asks", token=token, body=body)
    assert (answer.status, answer.json["detail"]) == (
        422,
        "2 asks of this agent are left and not collected: collect or withdraw some first",
    )
    assert len((await server.desk.page("open")).entries) == 2
    ask_id = new_id()
    value = msgspec.json.encode(Owed(ask=ask_id, asker=OURS)).decode()
    path = f"/v1/shelf/{owed.name_of(OURS, ask_id)}"
    assert (await server.request("PUT", path, token=token, body={"value": value})).status == 422
    await settle(server, asks[0])
    await deliver(server, token, asks[0])
    await left(server, token)


async def test_notes_are_limited_as_asks_are(clock: FakeClock) -> None:
    async with running(Desk(MemoryStore(), clock=clock), asks_a_minute=2, clock=lambda: 0.0) as server:
        token = await server.token()
        statuses = []
        for _ in range(3):
            note = Owed(ask=new_id(), asker=OURS)
            body = {"value": msgspec.json.encode(note).decode()}
            statuses.append((await server.request("PUT", f"/v1/shelf/{note.name}", token=token, body=body)).status)
        assert statuses == [200, 200, 429]


async def test_what_is_too_much_for_one_answer_is_told_once_the_rest_is_delivered(server: Running) -> None:
    token = await server.token()
    asks = []
    for _ in range(4):
        ask = await server.desk.leave(Permission("Write", {"text": "x" * 900_000}), asker=OURS)
        await server.desk.withdraw(ask.id)
        asks.append(ask.id)
    first, _ = told(await collect(server, token))
    assert len(first) == 2
    for ask_id in first:
        await deliver(server, token, ask_id)
    rest, _ = told(await collect(server, token))
    assert sorted(first + rest) == sorted(asks)


INVALID = {
    "agent=": "agent",
    "agent=%20": "agent",
    "process=x": "process",
    "process=-1": "process",
    "process=9999999999": "process",
    "wait=soon": "wait",
    "strange=1": '"strange"',
    "agent=a&agent=b": "",
    "project=%00": "project",
}


@pytest.mark.parametrize("query", INVALID)
async def test_what_makes_no_sense_is_refused_with_its_place(server: Running, query: str) -> None:
    answer = await server.request("GET", f"/v1/collect?{query}", token=await server.token())
    assert (answer.status, [error["path"] for error in answer.json["errors"]]) == (422, [INVALID[query]])
