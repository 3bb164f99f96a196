"""The desk's verbs over HTTP: whole answers, and what is refused and why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.server.running import ANSWERED, QUESTIONS, Answer, Running, running

from askdesk.core.desk import Desk
from askdesk.core.model import Permission, Withdrawn
from askdesk.core.store import Document
from askdesk.server import tokens
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

ID = "0123456789abcdef0123456789abcdef"
NOON = "2026-01-01T12:00:00Z"
ITEM = {
    "text": "Which database?",
    "options": [
        {"label": "SQLite", "description": "A file"},
        {"label": "Postgres", "description": "A server"},
    ],
    "header": "Database",
}
ASK = {"id": ID, "body": {"body": "questions", "items": [ITEM]}, "asker": {}, "created": NOON}
SETTLED = {"outcome": ANSWERED, "at": NOON, "submission": "s", "by": "ana", "surface": "http"}
PERMISSION = {"body": "permission", "tool": "Bash", "input": '{"command": "make"}', "folder": "/src"}
DIGEST = Permission("Bash", '{"command": "make"}', "/src").digest


@pytest.fixture
async def server(desk: Desk) -> AsyncIterator[Running]:
    async with running(desk) as server:
        yield server


@pytest.fixture
async def asker(server: Running) -> str:
    return await server.token("asker", "builder")


@pytest.fixture
async def answerer(server: Running) -> str:
    return await server.token("answerer", "ana")


def problem(answer: Answer) -> tuple[int, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status, answer.json


async def settle(server: Running, token: str, **parts: Any) -> Answer:
    body = {"reply": ANSWERED, "submission": "s", **parts}
    return await server.request("POST", f"/v1/asks/{ID}/settlement", token=token, body=body)


async def test_questions_in_the_tools_format_become_an_ask(server: Running, asker: str) -> None:
    answer = await server.request("POST", "/v1/asks", token=asker, body={"id": ID, "questions": QUESTIONS})
    assert (answer.status, answer.headers["location"], answer.json) == (201, f"/v1/asks/{ID}", {"ask": ASK})
    assert (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json == {"ask": ASK}


async def test_everything_that_an_ask_may_carry_comes_back(server: Running, asker: str) -> None:
    asker_value = {
        "agent": "builder",
        "session": "s1",
        "project": "/src",
        "parent": "lead",
        "host": "box",
        "process": 7,
    }
    more = {
        "id": ID,
        "asker": asker_value,
        "key": "call_1",
        "deadline": "2026-01-02T12:00:00Z",
        "preview_format": "markdown",
        "follows": "f" * 32,
    }
    item = {
        "text": "How many?",
        "kind": "number",
        "default": "3",
        "minimum": 1.0,
        "maximum": 9.5,
        "header": "Count",
    }
    body = {"body": "questions", "items": [ITEM, item], "source": "tool", "warnings": ["w"]}
    answer = await server.request("POST", "/v1/asks", token=asker, body={"body": body, **more})
    assert answer.json == {"ask": {"body": body, "created": NOON, **more}}


async def test_a_permission_keeps_its_input_as_it_was_written(server: Running, asker: str, answerer: str) -> None:
    body = {"id": ID, "body": {**PERMISSION, "suggestions": ['{"rule": 1}'], "description": "builds"}}
    posted = await server.request("POST", "/v1/asks", token=asker, body=body)
    assert posted.json["ask"]["body"] == body["body"]
    allowed = {"outcome": "allowed", "remember": ['{"rule": 1}']}
    settled = await settle(server, answerer, reply=allowed, digest=DIGEST)
    assert settled.json == {**SETTLED, "outcome": allowed, "digest": DIGEST}
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert entry["result"] == {
        "behavior": "allow",
        "updatedInput": {"command": "make"},
        "updatedPermissions": [{"rule": 1}],
    }


async def test_what_the_agent_sent_comes_back_in_its_own_order(server: Running, asker: str, answerer: str) -> None:
    received = json.dumps([{name: QUESTIONS[0][name] for name in ("options", "header", "multiSelect", "question")}])
    body = {"body": "questions", "items": [ITEM], "received": received}
    await server.request("POST", "/v1/asks", token=asker, body={"id": ID, "body": body})
    await settle(server, answerer)
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert json.dumps(entry["result"]["questions"]) == received


async def test_nobody_allows_what_they_were_not_shown(server: Running, asker: str, answerer: str) -> None:
    await server.request("POST", "/v1/asks", token=asker, body={"id": ID, "body": PERMISSION})
    for digest in (None, "sha256:0"):
        answer = await settle(server, answerer, reply={"outcome": "allowed"}, digest=digest)
        rule = f"digest: the input shown was not the one asked for, which has {DIGEST}"
        assert problem(answer) == (422, invalid("invalid-reply", "The reply does not fit the ask", ("", rule)))
    denied = await settle(server, answerer, reply={"outcome": "denied", "message": "no", "stop": True})
    assert denied.status == 200
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert entry["result"] == {
        "behavior": "deny",
        "message": 'DENIED: the person did not allow this call; it did not run. They said: "no" '
        "Stop what you are doing and wait for the person.",
        "interrupt": True,
    }


async def test_an_answer_reaches_the_agent_in_the_format_that_it_knows(
    server: Running, asker: str, answerer: str
) -> None:
    await server.post(asker, id=ID)
    answer = await settle(server, answerer)
    assert (answer.status, answer.json) == (200, SETTLED)
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert entry == {
        "ask": ASK,
        "settlement": SETTLED,
        "result": {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}},
    }


async def test_the_same_id_again_is_the_same_ask_with_all_that_came_of_it(
    server: Running, asker: str, answerer: str
) -> None:
    body = {"id": ID, "questions": QUESTIONS}
    first = await server.request("POST", "/v1/asks", token=asker, body=body)
    again = await server.request("POST", "/v1/asks", token=asker, body=body)
    await settle(server, answerer)
    settled = await server.request("POST", "/v1/asks", token=asker, body=body)
    assert [first.status, again.status, settled.status] == [201, 200, 200]
    assert [first.json, again.json] == [{"ask": ASK}, {"ask": ASK}]
    assert settled.json == (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert server.service.metrics.asks == 1


async def test_the_same_key_again_is_the_same_ask(server: Running, asker: str) -> None:
    body = {"key": "k", "questions": QUESTIONS}
    first = await server.request("POST", "/v1/asks", token=asker, body=body)
    again = await server.request("POST", "/v1/asks", token=asker, body=body)
    elsewhere = await server.request("POST", "/v1/asks", token=asker, body={**body, "asker": {"project": "p"}})
    assert [first.status, again.status, elsewhere.status] == [201, 200, 201]
    assert first.json == again.json


@pytest.mark.parametrize("name", ["id", "key"])
async def test_another_ask_under_the_same_id_or_key_is_refused(server: Running, asker: str, name: str) -> None:
    await server.post(asker, id=ID, key=ID)
    other = [{**QUESTIONS[0], "question": "Which cache?"}]
    answer = await server.request("POST", "/v1/asks", token=asker, body={name: ID, "questions": other})
    detail = f'key "{ID}": already names ask {ID}, which asks something else'
    assert problem(answer) == (
        422,
        {
            "type": "urn:askdesk:problem:key-reused",
            "title": "This key already names another ask",
            "status": 422,
            "detail": detail,
            "ask_id": ID,
        },
    )


async def test_of_two_answers_the_first_wins_and_the_second_learns_it(server: Running, asker: str) -> None:
    await server.post(asker, id=ID)
    ana, bob = await server.token("answerer", "ana"), await server.token("answerer", "bob")
    assert (await settle(server, ana)).json == SETTLED
    assert (await settle(server, ana)).json == SETTLED  # sent once more, since its answer was lost
    assert problem(await settle(server, bob, submission="t")) == (
        409,
        {
            "type": "urn:askdesk:problem:already-settled",
            "title": "Somebody else was first",
            "status": 409,
            "detail": f"ask {ID} is already settled: answered by ana on http",
            "settlement": SETTLED,
            "ask_id": ID,
        },
    )
    assert server.service.metrics.settlements == {"answered": 1}


async def test_of_twenty_answers_at_once_one_wins_and_all_others_learn_which(server: Running, asker: str) -> None:
    await server.post(asker, id=ID)
    people = [await server.token("answerer", f"person {number}") for number in range(20)]
    answers = await asyncio.gather(
        *(settle(server, token, submission=f"s{number}") for number, token in enumerate(people))
    )
    (winner,) = [answer.json for answer in answers if answer.status == 200]
    assert [answer.json["settlement"] for answer in answers if answer.status == 409] == [winner] * 19


async def test_an_asker_takes_back_what_it_asked_once(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    path, body = f"/v1/asks/{ID}/withdrawal", {"reason": "found it"}
    withdrawn = {"outcome": {"outcome": "withdrawn", "reason": "found it"}, "at": NOON, "submission": "withdrawal"}
    for _ in range(2):
        assert (await server.request("POST", path, token=asker, body=body)).json == withdrawn
    late = await settle(server, answerer)
    assert (late.status, late.json["settlement"]) == (409, withdrawn)
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert entry["result"] == {
        "questions": QUESTIONS,
        "outcome": "withdrawn",
        "message": entry["result"]["message"],
    }
    assert "answers" not in entry["result"]
    assert server.service.metrics.settlements == {"withdrawn": 1}


async def test_what_is_answered_cannot_be_taken_back(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    await settle(server, answerer)
    answer = await server.request("POST", f"/v1/asks/{ID}/withdrawal", token=asker, body={})
    assert (answer.status, answer.problem, answer.json["settlement"]) == (409, "already-settled", SETTLED)


async def test_nobody_passes_for_the_deadline_or_for_the_asker(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    for submission in ("expiry", "withdrawal"):
        answer = await settle(server, answerer, submission=submission)
        assert (answer.status, answer.problem) == (422, "invalid-reply")


async def test_a_deadline_that_has_come_ends_an_ask_for_everybody(
    server: Running, clock: FakeClock, asker: str, answerer: str
) -> None:
    await server.post(asker, id=ID, deadline="2026-01-01T12:00:10Z")
    clock.advance(10)
    late = await settle(server, answerer)
    expired = {"outcome": {"outcome": "expired"}, "at": "2026-01-01T12:00:10Z", "submission": "expiry"}
    assert (late.status, late.json["settlement"]) == (409, expired)
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert (entry["settlement"], entry["result"]["outcome"]) == (expired, "expired")


async def test_what_is_due_is_expired_on_request(server: Running, clock: FakeClock, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID, deadline="2026-01-01T12:00:10Z")
    told = [(await server.request("POST", "/v1/expiry", token=answerer)).json]
    clock.advance(10)
    told += [(await server.request("POST", "/v1/expiry", token=token)).json for token in (asker, answerer)]
    assert told == [{"expired": []}, {"expired": [ID]}, {"expired": []}]


async def waiting(server: Running, token: str, query: str = "wait=60") -> asyncio.Task[Answer]:
    """A request that waits, once it does."""
    before = server.service.metrics.waits
    task = asyncio.ensure_future(server.request("GET", f"/v1/asks/{ID}?{query}", token=token))
    await server.until(lambda: server.service.metrics.waits == before + 1 or task.done())
    return task


async def test_a_wait_ends_when_the_ask_is_settled(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    waits = [await waiting(server, token) for token in (asker, answerer)]
    await settle(server, answerer)
    answers = [await task for task in waits]
    assert [answer.json["settlement"] for answer in answers] == [SETTLED, SETTLED]


@pytest.mark.parametrize(("query", "seconds"), [("wait=5", 5), ("wait=0.5", 0.5), ("wait=999999", 60)])
async def test_a_wait_that_ends_changes_nothing(
    server: Running, clock: FakeClock, asker: str, query: str, seconds: float
) -> None:
    await server.post(asker, id=ID)
    wait = await waiting(server, asker, query)
    await server.until(lambda: len(clock._timers) == 1)
    clock.advance(seconds - 0.1)
    await server.turn()
    assert not wait.done()
    clock.advance(0.1)
    answer = await wait
    assert (answer.status, answer.json) == (200, {"ask": ASK})
    assert (await server.desk.get(ID)).settlement is None


async def test_a_wait_ends_with_the_server_and_changes_nothing(desk: Desk) -> None:
    async with running(desk) as server:
        token = await server.token()
        await server.post(token, id=ID)
        wait = await waiting(server, token)
    answer = await wait
    assert (answer.status, answer.json) == (200, {"ask": ASK})
    assert (await desk.get(ID)).settlement is None


async def test_a_wait_of_a_token_that_is_revoked_meanwhile_tells_it_nothing(server: Running, answerer: str) -> None:
    now = server.desk.now()
    token, text = await tokens.new_token(server.desk.shelf, "asker", "x", now=now)
    await server.post(text, id=ID)
    wait = await waiting(server, text)
    await tokens.revoke(server.desk.shelf, token.id, now)
    await settle(server, answerer)
    answer = await wait
    assert (answer.status, answer.problem) == (401, "unauthorized")


HOOK = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "AskUserQuestion",
    "tool_use_id": "toolu_1",
    "tool_input": {"questions": QUESTIONS},
}


async def hooked(server: Running, token: str) -> tuple[asyncio.Task[Answer], str]:
    """A hook of Claude Code that waits, and its ask."""
    sent = server.request("POST", "/v1/hooks/claude-code?mode=desk", token=token, body=HOOK)
    wait = asyncio.create_task(sent)
    async with asyncio.timeout(10):
        while not (page := await server.desk.page("open")).entries:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    return wait, page.entries[0].ask.id


async def test_what_a_hook_of_claude_code_waits_for_is_withdrawn_when_the_server_stops(desk: Desk) -> None:
    async with running(desk) as server:
        wait, ask_id = await hooked(server, await server.token())
    answer = await wait
    assert (answer.status, answer.problem) == (503, "stopping")
    settlement = (await desk.get(ask_id)).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the server that Claude Code waited at stopped")


async def test_a_settled_ask_is_not_waited_for(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    await settle(server, answerer)
    assert (await server.request("GET", f"/v1/asks/{ID}?wait=60", token=asker)).json["settlement"] == SETTLED


async def test_one_token_does_not_take_all_the_places_of_those_who_wait(server: Running, asker: str) -> None:
    server.service.streams._most_per_token = 2
    await server.post(asker, id=ID)
    wait = await waiting(server, asker)
    async with server.stream(asker):
        third = await server.request("GET", f"/v1/asks/{ID}?wait=60", token=asker)
        assert (third.status, third.problem, third.headers["retry-after"]) == (429, "too-many", "10")
        unknown = await server.request("GET", f"/v1/asks/{'f' * 32}?wait=60", token=asker)
        assert (unknown.status, unknown.problem) == (404, "unknown-ask")
        settled = await server.post(asker)
        await server.desk.withdraw(settled)
        assert (await server.request("GET", f"/v1/asks/{settled}?wait=60", token=asker)).status == 200
        other = await waiting(server, await server.token())
        await server.desk.withdraw(ID)
        assert [(await task).status for task in (wait, other)] == [200, 200]


async def listed(server: Running, token: str, query: str = "") -> tuple[list[str], str | None]:
    page = (await server.request("GET", f"/v1/asks?{query}", token=token)).json
    return [entry["ask"]["id"] for entry in page["entries"]], page.get("after")


async def test_lists_go_on_where_they_ended_in_both_directions(server: Running, asker: str, answerer: str) -> None:
    ids = [await server.post(asker) for _ in range(5)]
    first, after = await listed(server, asker, "limit=2")
    second, after = await listed(server, asker, f"limit=2&after={after}")
    third, end = await listed(server, asker, f"limit=2&after={after}")
    assert (first + second + third, end) == (ids, None)
    assert await listed(server, answerer, "newest=true&limit=5") == (ids[::-1], None)
    for ask_id in ids[:2]:
        await server.desk.withdraw(ask_id)
    assert await listed(server, asker, "state=open") == (ids[2:], None)
    assert await listed(server, asker, "state=settled&newest=true") == (ids[1::-1], None)


async def test_a_list_holds_asks_with_their_settlements(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    assert (await server.request("GET", "/v1/asks", token=asker)).json == {"entries": [{"ask": ASK}]}
    await settle(server, answerer)
    page = (await server.request("GET", "/v1/asks?state=settled", token=asker)).json
    assert page == {"entries": [{"ask": ASK, "settlement": SETTLED}]}


async def test_a_list_is_searched_for_words(server: Running, asker: str) -> None:
    await server.post(asker)
    cache = await server.post(asker, questions=[{**QUESTIONS[0], "question": "Which cache?"}])
    assert await listed(server, asker, "text=CACH") == ([cache], None)
    assert await listed(server, asker, "text=nothing+like+it") == ([], None)


async def test_a_limited_token_gets_all_of_its_own_page_after_page(server: Running) -> None:
    everyone, token = await server.token(), await server.token(projects=["ours"])
    ids = [await server.post(everyone, asker={"project": "ours" if n % 3 == 0 else "theirs"}) for n in range(60)]
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        some, after = await listed(server, token, f"limit=7{f'&after={after}' if after else ''}")
        assert len(some) <= 7
        found += some
    assert found == ids[::3]


async def test_a_list_of_large_asks_comes_in_parts(server: Running) -> None:
    large = [{**QUESTIONS[0], "question": f"{'x' * 400_000}?"}]
    ids = [await server.post(await server.token(), questions=large) for _ in range(30)]
    token = await server.token()
    first, after = await listed(server, token, "limit=200")
    rest, end = await listed(server, token, f"limit=200&after={after}")
    assert (len(first), first + rest, end) == (20, ids, None)


BAD_QUERIES = {
    "/v1/asks?state=pending": ("state", 'must be open or settled, is "pending"'),
    "/v1/asks?state=": ("state", 'must be open or settled, is ""'),
    "/v1/asks?limit=0": ("limit", 'must be a number from 1 to 200, is "0"'),
    "/v1/asks?limit=201": ("limit", 'must be a number from 1 to 200, is "201"'),
    "/v1/asks?limit=-1": ("limit", 'must be a number from 1 to 200, is "-1"'),
    "/v1/asks?limit=1.5": ("limit", 'must be a number from 1 to 200, is "1.5"'),
    "/v1/asks?limit=%EF%BC%91": ("limit", 'must be a number from 1 to 200, is "\\uff11"'),
    "/v1/asks?limit=1_0": ("limit", 'must be a number from 1 to 200, is "1_0"'),
    "/v1/asks?newest=1": ("newest", 'must be true or false, is "1"'),
    "/v1/asks?after=x": ("", 'after: not where a page ended: "x"'),
    "/v1/asks?after=-1": ("", 'after: not where a page ended: "-1"'),
    f"/v1/asks?after={'9' * 30}": ("", f'after: not where a page ended: "{"9" * 30}"'),
    "/v1/asks?text=%00": ("text", "holds a NUL character"),
    "/v1/asks?text=a&text=b": ("", "a parameter of the query stands there twice"),
    "/v1/asks?order=desc": (
        '"order"',
        "is not a parameter; the parameters are state, after, limit, newest, text",
    ),
    f"/v1/asks/{ID}?wait=x": ("wait", 'must be a number of seconds, is "x"'),
    f"/v1/asks/{ID}?wait=-1": ("wait", 'must be a number of seconds, is "-1"'),
    f"/v1/asks/{ID}?wait=nan": ("wait", 'must be a number of seconds, is "nan"'),
    f"/v1/asks/{ID}?wait=inf": ("wait", 'must be a number of seconds, is "inf"'),
    f"/v1/asks/{ID}?wait=1e9": ("wait", 'must be a number of seconds, is "1e9"'),
    f"/v1/asks/{ID}?wait=": ("wait", 'must be a number of seconds, is ""'),
    f"/v1/asks/{ID}?state=open": ('"state"', "is not a parameter; the parameters are wait"),
    "/v1/shelf?prefix=%00": ("prefix", "holds a NUL character"),
    "/v1/shelf?name=x": ('"name"', "is not a parameter; the parameters are prefix"),
}


async def test_a_query_says_only_what_it_may(server: Running, answerer: str) -> None:
    told = {}
    for path in BAD_QUERIES:
        status, document = problem(await server.request("GET", path, token=answerer))
        told[path] = (status, document["errors"])
    assert told == {path: (422, [{"path": at, "rule": rule}]) for path, (at, rule) in BAD_QUERIES.items()}


NOT_STRICT: dict[bytes, str] = {
    b"": "is not JSON: Expecting value at line 1, column 1",
    b"   ": "is not JSON: Expecting value at line 1, column 4",
    b"{": "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    b"{} {}": "is not JSON: Extra data at line 1, column 4",
    b"{}x": "is not JSON: Extra data at line 1, column 3",
    b"{'a': 1}": "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    b'{"a": NaN}': "holds NaN, which is not JSON",
    b'{"a": -Infinity}': "holds -Infinity, which is not JSON",
    b'{"a": 1e999}': "holds NaN or Infinity, which are not JSON",
    b'{"a": 1, "a": 1}': 'has the key "a" twice in one object',
    b'{"a": "\\ud800"}': "holds a lone surrogate",
    b'{"\\udfff": 1}': "holds a lone surrogate",
    b'{"a": "\\u0000"}': "holds a NUL character",
    b'{"a": "\xff"}': "is not UTF-8 at byte 7",
    b'{"a": "\xed\xa0\x80"}': "is not UTF-8 at byte 7",
    b"\xef\xbb\xbf{}": "is not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) at line 1, column 1",
    "{}".encode("utf-16"): "is not UTF-8 at byte 0",
    "{}".encode("utf-16-le"): "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    "{}".encode("utf-32"): "is not UTF-8 at byte 0",
    b'{"a": ' + b"[" * 1000 + b"]" * 1000 + b"}": "is nested deeper than 32 levels",
    b"[" * 100_000: "is nested deeper than 32 levels",
    b'{"a": ' + b"9" * 5000 + b"}": "holds a number that is too long",
    b'{"a": "\x01"}': "is not JSON: Invalid control character at at line 1, column 8",
}


async def test_a_body_that_is_not_strict_json_is_refused_and_told_why(
    server: Running, asker: str, answerer: str
) -> None:
    doors = [
        ("POST", "/v1/asks", asker),
        ("POST", f"/v1/asks/{ID}/settlement", answerer),
        ("POST", f"/v1/asks/{ID}/withdrawal", asker),
        ("PUT", "/v1/shelf/draft/x", answerer),
    ]
    await server.post(asker, id=ID)
    for method, path, token in doors:
        told = {}
        for body in NOT_STRICT:
            status, document = problem(await server.request(method, path, token=token, body=body))
            assert (status, document["type"]) == (400, "urn:askdesk:problem:not-json")
            told[body] = document["detail"]
        assert told == NOT_STRICT


def invalid(kind: str, title: str, *errors: tuple[str, str]) -> dict[str, Any]:
    """A problem with all its errors."""
    return {
        "type": f"urn:askdesk:problem:{kind}",
        "title": title,
        "status": 422,
        "detail": "\n".join(f"{path}: {rule}" if path else rule for path, rule in errors),
        "errors": [{"path": path, "rule": rule} for path, rule in errors],
    }


def with_item(**parts: Any) -> dict[str, Any]:
    return {"body": {"body": "questions", "items": [{**ITEM, **parts}]}}


OPTION_FIELDS = "is not a field; the fields are label, description, preview"
BAD_ASKS: list[tuple[object, list[tuple[str, str]]]] = [
    ([], [("", "must be an object, is []")]),
    (None, [("", "must be an object, is null")]),
    ("x", [("", 'must be an object, is "x"')]),
    ({}, [("", "needs either questions or a body")]),
    ({"questions": QUESTIONS, "body": PERMISSION}, [("", "needs either questions or a body")]),
    ({"questions": {}}, [("questions", "Expected `array | null`, got `object`")]),
    ({"questions": []}, [("questions", "needs 1-20, has 0")]),
    (
        {"questions": [{"question": "Q?", "header": "h", "options": [{"label": "a"}], "multiSelect": 1}]},
        [
            ("questions[0].multiSelect", "must be true or false, is 1"),
            ("questions[0].options", "needs 2-20, has 1"),
        ],
    ),
    ({"questions": QUESTIONS, "id": "X"}, [("id", 'must be 32 hexadecimal digits, is "X"')]),
    ({"questions": QUESTIONS, "id": f"{ID}\n"}, [("id", f'must be 32 hexadecimal digits, is "{ID}\\n"')]),
    ({"questions": QUESTIONS, "id": ID.upper()}, [("id", f'must be 32 hexadecimal digits, is "{ID.upper()}"')]),
    ({"questions": QUESTIONS, "id": 1}, [("id", "Expected `str | null`, got `int`")]),
    ({"questions": QUESTIONS, "key": " "}, [("key", 'must not be blank, is " "')]),
    ({"questions": QUESTIONS, "deadline": "tomorrow"}, [("deadline", "Invalid RFC3339 encoded datetime")]),
    (
        {"questions": QUESTIONS, "deadline": "2026-01-01T12:00:00Z"},
        [("", "deadline: must be a time to come, with a time zone")],
    ),
    (
        {"questions": QUESTIONS, "deadline": "2027-01-01T12:00:00"},
        [("", "deadline: must be a time to come, with a time zone")],
    ),
    ({"questions": QUESTIONS, "deadline": "9999-12-31T23:59:59-23:00"}, [("deadline", "must come within 40000 days")]),
    ({"questions": QUESTIONS, "preview_format": "pdf"}, [("preview_format", "Invalid enum value 'pdf'")]),
    (
        {"questions": QUESTIONS, "asker": {"agent": "", "host": 1}},
        [("asker.host", "Expected `str`, got `int`")],
    ),
    ({"questions": QUESTIONS, "asker": {"agent": " "}}, [("asker.agent", 'must not be blank, is " "')]),
    (
        {"questions": QUESTIONS, "asker": {"name": "x"}},
        [("asker.name", "is not a field; the fields are agent, session, project, parent, host, process")],
    ),
    ({"questions": QUESTIONS, "answers": {}}, [("answers", "is not a field; the fields are")]),
    ({"questions": QUESTIONS, "settlement": {}}, [("settlement", "is not a field; the fields are")]),
    ({"questions": QUESTIONS, "created": NOON}, [("created", "is not a field; the fields are")]),
    ({"questions": QUESTIONS, "__proto__": {}}, [("__proto__", "is not a field; the fields are")]),
    ({"questions": QUESTIONS, "a b\x1b": {}}, [('"a b\\u001b"', "is not a field; the fields are")]),
    ({"body": {"body": "poll"}}, [("body.body", "Invalid value 'poll'")]),
    ({"body": {}}, [("body.body", "is required")]),
    ({"body": {"body": "questions"}}, [("body.items", "is required")]),
    ({"body": {"body": "questions", "items": []}}, [("body.questions", "needs at least 1, has 0")]),
    (with_item(answers={}), [("body.items[0].answers", "is not a field; the fields are")]),
    (with_item(text=""), [("body.items[0].question", 'must not be blank, is ""')]),
    (with_item(text=1), [("body.items[0].text", "Expected `str`, got `int`")]),
    (with_item(kind="poll"), [("body.items[0].kind", "Invalid enum value 'poll'")]),
    (with_item(options=[{"label": "a"}]), [("questions[0].options", "needs 2-20, has 1")]),
    (
        with_item(options=[{"label": "a", "chosen": True}, {"label": " "}]),
        [("body.items[0].options[0].chosen", OPTION_FIELDS)],
    ),
    (
        with_item(options=[{"label": 1}, {"label": " "}]),
        [
            ("body.items[0].options[0].label", "Expected `str`, got `int`"),
            ("body.items[0].options[1].label", 'must not be blank, is " "'),
        ],
    ),
    (
        with_item(options=[{"label": "a"}, {"label": "a"}]),
        [("body.items[0].options[1].label", 'must be unique, repeats options[0]: "a"')],
    ),
    (
        {"body": {"body": "questions", "items": [ITEM], "received": "nonsense"}},
        [("body.received", "must be the items, as the tool's format writes them")],
    ),
    (
        {"body": {"body": "questions", "items": [ITEM], "received": '[{"question": "Another?"}]'}},
        [("body.received", "must be the items, as the tool's format writes them")],
    ),
    *(
        (
            {"body": {"body": "questions", "items": [ITEM], "received": f"{json.dumps(QUESTIONS)}{more}"}},
            [("body.received", "must be the items, as the tool's format writes them")],
        )
        for more in (', "metadata": {}', "}", " 1")  # which could not be read again
    ),
    (
        {"body": {**PERMISSION, "input": json.dumps({"a": [0] * 20_000})}},
        [("body.input", "must not hold more than 20000 values")],
    ),
    ({"body": {**PERMISSION, "tool": ""}}, [("body.tool", 'must not be blank, is ""')]),
    ({"body": {**PERMISSION, "input": {}}}, [("body.input", "Expected `str`, got `object`")]),
    ({"body": {**PERMISSION, "input": "[]"}}, [("body.input", "must be a JSON object, is []")]),
    ({"body": {**PERMISSION, "input": '{"a":1,"a":2}'}}, [("body.input", 'has the key "a" twice in one object')]),
    ({"body": {**PERMISSION, "allowed": True}}, [("body.allowed", "is not a field; the fields are")]),
    ({"body": {**PERMISSION, "input": '{"a":' * 40 + "1" + "}" * 40}}, [("input", "is nested deeper than 32 levels")]),
]


async def test_an_ask_that_breaks_a_rule_is_told_where(server: Running, asker: str) -> None:
    for body, errors in BAD_ASKS:
        sent = json.dumps(body).encode()
        status, document = problem(await server.request("POST", "/v1/asks", token=asker, body=sent))
        expected = (422, "urn:askdesk:problem:invalid-ask", errors)
        assert (status, document["type"], _errors(document, errors)) == expected, body
    assert (await server.desk.page("open")).entries == ()


def _errors(document: Any, expected: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Paths and rules, those only as far as they are expected."""
    told = [(error["path"], error["rule"]) for error in document["errors"]]
    return [(path, rule[: len(beginning)]) for (path, rule), (_, beginning) in zip(told, expected, strict=True)]


REPLY_FIELDS = "is not a field; the fields are"
BAD_SETTLEMENTS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"reply": ANSWERED}, [("submission", "is required")]),
    ({"submission": "s"}, [("reply", "is required")]),
    ({"reply": ANSWERED, "submission": ""}, [("submission", 'must not be blank, is ""')]),
    ({"reply": ANSWERED, "submission": "s", "by": "bob"}, [("by", REPLY_FIELDS)]),
    ({"reply": {**ANSWERED, "by": "bob"}, "submission": "s"}, [("reply.by", REPLY_FIELDS)]),
    (
        {"reply": {"outcome": "answered", "answers": [{"chosen": ["SQLite"], "x": 1}]}, "submission": "s"},
        [("reply.answers[0].x", REPLY_FIELDS)],
    ),
    ({"reply": {"outcome": "expired"}, "submission": "s"}, [("reply.outcome", "Invalid value 'expired'")]),
    ({"reply": {"outcome": "withdrawn"}, "submission": "s"}, [("reply.outcome", "Invalid value 'withdrawn'")]),
    ({"reply": {"outcome": "answered"}, "submission": "s"}, [("reply.answers", "is required")]),
    (
        {"reply": {"outcome": "answered", "answers": []}, "submission": "s"},
        [("reply", "blank everywhere is not an answer")],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [None]}, "submission": "s"},
        [("reply", "blank everywhere is not an answer")],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [{}]}, "submission": "s"},
        [("reply.answers[0]", "an answer needs a choice, own words or a note")],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [{"chosen": [0]}]}, "submission": "s"},
        [("reply.answers[0].chosen[0]", "Expected `str`, got `int`")],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [{"chosen": ["Oracle"]}]}, "submission": "s"},
        [('"Which database?"', 'offers no option "Oracle"; own words belong in Other')],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [{"chosen": ["SQLite", "Postgres"]}]}, "submission": "s"},
        [('"Which database?"', "takes one answer, got 2")],
    ),
    (
        {"reply": {"outcome": "answered", "answers": [{"chosen": ["SQLite"]}] * 2}, "submission": "s"},
        [("", "needs an answer or a blank for each question: 1, got 2")],
    ),
    ({"reply": {"outcome": "allowed"}, "submission": "s"}, [("", "this ask has questions: answer or decline it")]),
    ({"reply": ANSWERED, "submission": "s", "surface": 1}, [("surface", "Expected `str`, got `int`")]),
]


async def test_a_reply_that_does_not_fit_is_told_where_and_the_ask_stays_open(
    server: Running, asker: str, answerer: str
) -> None:
    await server.post(asker, id=ID)
    for body, errors in BAD_SETTLEMENTS:
        answer = await server.request("POST", f"/v1/asks/{ID}/settlement", token=answerer, body=body)
        status, document = problem(answer)
        expected = (422, "urn:askdesk:problem:invalid-reply", errors)
        assert (status, document["type"], _errors(document, errors)) == expected, body
    assert (await server.desk.get(ID)).settlement is None


async def test_a_withdrawal_and_a_document_say_only_what_they_may(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    for method, path, token, body, at in (
        ("POST", f"/v1/asks/{ID}/withdrawal", asker, {"reason": 1}, "reason"),
        ("POST", f"/v1/asks/{ID}/withdrawal", asker, {"by": "bob"}, "by"),
        ("PUT", "/v1/shelf/draft/x", answerer, {}, "value"),
        ("PUT", "/v1/shelf/draft/x", answerer, {"value": {}}, "value"),
        ("PUT", "/v1/shelf/draft/x", answerer, {"value": "1", "expect": True}, "expect"),
        ("PUT", "/v1/shelf/draft/x", answerer, {"value": "1", "version": 1}, "version"),
    ):
        status, document = problem(await server.request(method, path, token=token, body=body))
        assert (status, [error["path"] for error in document["errors"]]) == (422, [at])


async def test_numbers_of_any_size_come_back_as_they_were(server: Running, asker: str, answerer: str) -> None:
    posted = await server.request(
        "POST", "/v1/asks", token=asker, body={"questions": QUESTIONS, "asker": {"process": 10**30}}
    )
    assert posted.json["ask"]["asker"] == {"process": 10**30}
    conflict = await server.request("PUT", "/v1/shelf/a", token=answerer, body={"value": "1", "expect": 10**30})
    assert (conflict.status, conflict.json["expected"]) == (409, 10**30)


async def test_an_agent_that_asks_too_much_has_to_wait(desk: Desk) -> None:
    seconds = 0.0
    async with running(desk, asks_a_minute=3, clock=lambda: seconds) as server:
        asker, other = await server.token(), await server.token()

        async def post(token: str) -> tuple[int, str | None]:
            answer = await server.request("POST", "/v1/asks", token=token, body={"questions": QUESTIONS})
            return answer.status, answer.headers.get("retry-after")

        assert [await post(asker) for _ in range(4)] == [*[(201, None)] * 3, (429, "21")]
        assert await post(other) == (201, None)
        seconds = 21.0
        assert await post(asker) == (201, None)


async def test_a_large_ask_counts_as_many(desk: Desk) -> None:
    async with running(desk, asks_a_minute=100, clock=lambda: 0.0) as server:
        asker = await server.token()
        body = b"[" + b" " * 250_000 + b"]"  # of which nothing has to be valid
        answers = [await server.request("POST", "/v1/asks", token=asker, body=body) for _ in range(3)]
        assert [answer.status for answer in answers] == [422, 429, 429]


async def test_a_large_body_does_not_keep_the_others_waiting(server: Running, asker: str) -> None:
    """A megabyte of tiny values takes a second to look through."""
    body = b'{"questions": [' + b"{}," * 300_000 + b"{}]}"
    posting = asyncio.ensure_future(server.request("POST", "/v1/asks", token=asker, body=body))
    answered = 0
    while not posting.done():
        assert (await server.request("GET", "/healthz")).status == 200
        answered += 1
    assert (await posting).status == 422
    assert answered >= 5  # and not one or two before and one after


async def test_documents_are_written_read_and_removed_by_version(server: Running, answerer: str) -> None:
    path = f"/v1/shelf/draft/{ID}/ana"
    assert (await server.request("GET", path, token=answerer)).status == 404
    put = await server.request("PUT", path, token=answerer, body={"value": '"é"', "expect": 0})
    version = put.json["version"]
    document = {"name": f"draft/{ID}/ana", "value": '"é"', "version": version}
    assert (put.status, put.json) == (200, document)
    assert (await server.request("GET", path, token=answerer)).json == document
    listing = await server.request("GET", "/v1/shelf?prefix=draft/", token=answerer)
    assert listing.json == {"documents": [document]}
    conflict = await server.request("PUT", path, token=answerer, body={"value": "1", "expect": version + 1})
    assert problem(conflict) == (
        409,
        {
            "type": "urn:askdesk:problem:version-conflict",
            "title": "The document has changed since it was read",
            "status": 409,
            "detail": f'document "draft/{ID}/ana": expected version {version + 1}, found {version}',
            "expected": version + 1,
            "found": version,
        },
    )
    removed = await server.request("PUT", path, token=answerer, body={"value": None, "expect": version})
    assert (removed.status, removed.body) == (204, b"")
    assert await server.desk.shelf.get(f"draft/{ID}/ana") is None


NAMES = {
    "a": "a",
    "a/b/c": "a/b/c",
    "a%2Fd": "a/d",
    "a%20b": "a b",
    "%C3%A9": "é",
    "a%0Ab": "a\nb",
    "a//b": "a//b",
    "../../etc/passwd": "../../etc/passwd",
    "%2e%2e%2fetc": "../etc",
    "b?c": "b",
    "a%3Fb%23c": "a?b#c",
    "%F0%9F%98%80": "😀",
    "a+b": "a+b",
}


async def test_a_document_has_any_name_and_exactly_that(server: Running, answerer: str) -> None:
    for written, name in NAMES.items():
        put = await server.request("PUT", f"/v1/shelf/{written}", token=answerer, body={"value": "1"})
        assert put.json["name"] == name
    kept = {document.name for document in await server.desk.shelf.list()}
    assert {name for name in kept if not name.startswith("token/")} == set(NAMES.values())


async def test_a_name_that_no_store_could_keep_is_refused(server: Running, answerer: str) -> None:
    for method, body in (("GET", None), ("PUT", {"value": "1"})):
        answer = await server.request(method, "/v1/shelf/a%00b", token=answerer, body=body)
        assert problem(answer) == (
            422,
            invalid("invalid-document", "The shelf cannot keep such a text", ("name", "holds a NUL character")),
        )


async def test_a_token_can_be_asked_what_it_may(server: Running) -> None:
    token = await server.token(
        "asker", "ci", projects=["p"], agents=["a", "b"], expires=server.desk.now() + timedelta(days=1)
    )
    assert (await server.request("GET", "/v1/me", token=token)).json == {
        "kind": "asker",
        "name": "ci",
        "projects": ["p"],
        "agents": ["a", "b"],
        "expires": "2026-01-02T12:00:00Z",
    }


async def test_what_there_is_not_is_told_as_a_problem(server: Running, asker: str) -> None:
    nowhere = await server.request("GET", "/v1/nowhere", token=asker)
    unknown = await server.request("GET", "/v1/asks/%22x%22", token=asker)
    assert problem(nowhere) == (
        404,
        {"type": "urn:askdesk:problem:not-found", "title": "There is nothing here", "status": 404},
    )
    assert problem(unknown) == (
        404,
        {
            "type": "urn:askdesk:problem:unknown-ask",
            "title": "There is no such ask",
            "status": 404,
            "detail": 'there is no ask "\\"x\\""',
        },
    )


async def test_more_requests_than_it_can_bear_are_told_to_come_again(clock: FakeClock) -> None:
    async with running(Desk(MemoryStore(), clock=clock)) as server:
        guard = server.server.config.loaded_app
        guard._max_requests = 1
        token = await server.token()
        async with server.stream(token):
            answer = await server.request("GET", "/healthz")
            assert (answer.status, answer.problem, answer.headers["retry-after"]) == (429, "too-many", "1")
        await server.until(lambda: not server.connections)
        assert (await server.request("GET", "/healthz")).status == 200


async def test_a_document_of_the_desk_itself_is_what_it_was(server: Running, answerer: str) -> None:
    """What is written in the process and what is read over HTTP are one."""
    document = await server.desk.shelf.put("rule/1", "{}")
    assert isinstance(document, Document)
    answer = await server.request("GET", "/v1/shelf/rule/1", token=answerer)
    assert answer.json == {"name": "rule/1", "value": "{}", "version": document.version}


async def test_a_note_alone_and_own_words_reach_the_agent(server: Running, asker: str, answerer: str) -> None:
    await server.post(asker, id=ID)
    reply = {"outcome": "answered", "answers": [{"other": "DuckDB", "note": "fast"}]}
    await settle(server, answerer, reply=reply)
    entry = (await server.request("GET", f"/v1/asks/{ID}", token=asker)).json
    assert entry["result"] == {
        "questions": QUESTIONS,
        "answers": {"Which database?": "DuckDB"},
        "annotations": {"Which database?": {"notes": "fast"}},
    }
