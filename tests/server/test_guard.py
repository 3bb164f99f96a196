"""Where a request may come from: names, origins and types in one table, and the headers that every answer carries."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime

import pytest
from tests.server.running import ANSWERED, QUESTIONS, Answer, Running, running

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy, StoreFull, StoreGone
from askdesk.core.model import Entry
from askdesk.server import stamps, tokens
from askdesk.server.guard import Origins
from askdesk.server.tokens import Kind, Token
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

# What stands in every answer, whatever it is.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}

PORT, OTHER = "{port}", "{other}"  # of this server, and of another one on this machine

HOSTS: dict[str, int] = {
    f"Host: 127.0.0.1:{PORT}": 200,
    f"Host: localhost:{PORT}": 200,
    f"Host: LocalHost:{PORT}": 200,
    f"Host: [::1]:{PORT}": 200,
    f"Host:   127.0.0.1:{PORT}  ": 200,
    f"host: 127.0.0.1:{PORT}": 200,
    "": 400,  # none
    f"Host: 127.0.0.1:{PORT}\r\nHost: 127.0.0.1:{PORT}": 400,
    f"Host: 127.0.0.1:{PORT}\r\nHost: evil.example": 400,
    f"Host: evil.example\r\nHost: 127.0.0.1:{PORT}": 400,
    "Host:": 421,
    "Host: 127.0.0.1": 421,
    "Host: localhost": 421,
    f"Host: 127.0.0.1:{OTHER}": 421,
    "Host: 127.0.0.1:80": 421,
    f"Host: evil.example:{PORT}": 421,  # a name that was made to lead here
    f"Host: 127.0.0.1.evil.example:{PORT}": 421,
    f"Host: localhost.evil.example:{PORT}": 421,
    f"Host: evil.localhost:{PORT}": 421,
    f"Host: evil-localhost:{PORT}": 421,
    f"Host: 127.0.0.1.nip.io:{PORT}": 421,
    f"Host: localhost.:{PORT}": 421,
    f"Host: 127.0.0.1.:{PORT}": 421,
    f"Host: 0.0.0.0:{PORT}": 421,
    f"Host: 127.1:{PORT}": 421,
    f"Host: 127.0.0.2:{PORT}": 421,
    f"Host: 2130706433:{PORT}": 421,
    f"Host: 0x7f000001:{PORT}": 421,
    f"Host: 0177.0.0.1:{PORT}": 421,
    f"Host: [::ffff:127.0.0.1]:{PORT}": 421,
    f"Host: [0:0:0:0:0:0:0:1]:{PORT}": 421,
    f"Host: ::1:{PORT}": 421,
    f"Host: ana@127.0.0.1:{PORT}": 421,
    f"Host: 127.0.0.1:{PORT}@evil.example": 421,
    f"Host: 127.0.0.1:{PORT}/": 421,
    f"Host: 127.0.0.1:{PORT}#": 421,
    f"Host: 127.0.0.1:0{PORT}": 421,
    f"Host: 127.0.0.1:{PORT}, evil.example": 421,
    f"Host: evil.example 127.0.0.1:{PORT}": 421,
    "Host: 127.0.0.1:": 421,
    f"Host: ⓛocalhost:{PORT}": 421,
    f"Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1:{PORT}": 421,
}

# With a valid token, as POST to /v1/asks: 201 where the origin is taken.
ORIGINS: dict[str, int] = {
    "": 201,  # a program
    f"Origin: http://127.0.0.1:{PORT}": 201,
    f"Origin: http://localhost:{PORT}": 201,
    f"Origin: http://[::1]:{PORT}": 201,
    "Origin:": 403,
    "Origin: null": 403,
    "Origin: *": 403,
    "Origin: http://evil.example": 403,
    f"Origin: http://evil.example:{PORT}": 403,
    f"Origin: https://127.0.0.1:{PORT}": 403,
    f"Origin: http://127.0.0.1:{OTHER}": 403,  # another program's page on this machine
    "Origin: http://127.0.0.1": 403,
    "Origin: http://localhost:3000": 403,
    f"Origin: http://127.0.0.1:{PORT}.evil.example": 403,
    f"Origin: http://127.0.0.1:{PORT}0": 403,
    f"Origin: http://localhost.evil.example:{PORT}": 403,
    f"Origin: http://evil.localhost:{PORT}": 403,
    f"Origin: HTTP://127.0.0.1:{PORT}": 403,
    f"Origin: http://LOCALHOST:{PORT}": 403,
    f"Origin: http://127.0.0.1:{PORT}/": 403,
    f"Origin: http://ana@127.0.0.1:{PORT}": 403,
    f"Origin: http://127.0.0.1:{PORT} http://evil.example": 403,
    f"Origin: http://127.0.0.1:{PORT}, http://evil.example": 403,
    f"Origin: http://127.0.0.1:{PORT}\r\nOrigin: http://evil.example": 400,
    f"Origin: http://evil.example\r\nOrigin: http://127.0.0.1:{PORT}": 400,
    f"Origin: file://127.0.0.1:{PORT}": 403,
    "Origin: file://": 403,
    "Origin: chrome-extension://abcdefgh": 403,
    "Sec-Fetch-Site: same-origin": 201,
    "Sec-Fetch-Site: none": 201,
    "Sec-Fetch-Site: same-site": 403,  # as of another port of this machine
    "Sec-Fetch-Site: cross-site": 403,
    "Sec-Fetch-Site:": 403,
    "Sec-Fetch-Site: Same-Origin": 403,
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site": 400,
    "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document": 403,  # a form elsewhere
    f"Origin: http://127.0.0.1:{PORT}\r\nSec-Fetch-Site: cross-site": 403,
}

# With a valid token, as GET of an ask: what else of another site may lead here.
FETCHES: dict[tuple[str, str, str], int] = {
    ("cross-site", "navigate", "document"): 200,  # a link, of which a person knows
    ("same-site", "navigate", "document"): 200,
    ("cross-site", "navigate", "iframe"): 403,
    ("cross-site", "navigate", "frame"): 403,
    ("cross-site", "navigate", "embed"): 403,
    ("cross-site", "navigate", "object"): 403,
    ("same-site", "navigate", "iframe"): 403,
    ("cross-site", "no-cors", "image"): 403,
    ("cross-site", "no-cors", "script"): 403,
    ("cross-site", "no-cors", "style"): 403,
    ("cross-site", "no-cors", "document"): 403,
    ("cross-site", "cors", "empty"): 403,
    ("same-site", "cors", "empty"): 403,
    ("cross-site", "websocket", "websocket"): 403,
    ("cross-site", "", ""): 403,
    ("same-origin", "cors", "empty"): 200,
    ("none", "navigate", "document"): 200,
}

TYPES: dict[str, int] = {
    "Content-Type: application/json": 201,
    "Content-Type: application/json; charset=utf-8": 201,
    "Content-Type: APPLICATION/JSON": 201,
    "content-type:application/json ;charset=UTF-8": 201,
    "": 415,
    "Content-Type:": 415,
    "Content-Type: text/plain": 415,
    "Content-Type: text/plain; application/json": 415,
    "Content-Type: application/x-www-form-urlencoded": 415,
    "Content-Type: multipart/form-data; boundary=x": 415,
    "Content-Type: application/jsonp": 415,
    "Content-Type: text/json": 415,
    "Content-Type: application/problem+json": 415,
    "Content-Type: */*": 415,
    "Content-Type: text/plain, application/json": 415,
    "Content-Type: application/json\r\nContent-Type: text/plain": 400,
    "Content-Type: application/json\r\nContent-Encoding: gzip": 415,
    "Content-Type: application/json\r\nContent-Encoding: identity": 201,
    "Content-Type: application/json\r\nContent-Encoding: identity\r\nContent-Encoding: gzip": 400,
}


async def told(server: Running, cases: dict[str, int], head: str, body: bytes = b"") -> dict[str, int]:
    """The status that each case gets, with its lines among those of the head."""
    statuses = {}
    for lines in cases:
        written = lines.replace(PORT, f"{server.port}").replace(OTHER, f"{server.port + 1}")
        request = head.replace("{lines}", f"{written}\r\n" if lines else "").encode() + b"\r\n" + body
        statuses[lines] = (await server.raw(request)).status
    return statuses


async def test_the_desk_answers_under_its_own_names_alone(server: Running) -> None:
    assert await told(server, HOSTS, "GET /static/askdesk.css HTTP/1.1\r\n{lines}") == HOSTS


# What balancers and monitors send, which know a server by its address, or as HTTP/1.0 by nothing.
ADDRESSES: dict[str, int] = {
    "": 200,
    "Host: 10.0.0.11:8700": 200,
    "Host: desk-1:8700": 200,
    "Host: 10.0.0.11:8700\r\nHost: desk.example": 400,
    "Host: evil.example\r\nOrigin: http://evil.example": 403,
    "Host: evil.example\r\nSec-Fetch-Site: cross-site": 403,
}


async def test_whether_it_works_is_told_under_any_name_and_to_no_other_site(server: Running) -> None:
    assert await told(server, ADDRESSES, "GET /healthz HTTP/1.1\r\n{lines}") == ADDRESSES
    assert (await server.raw(b"GET /healthz HTTP/1.0\r\n\r\n")).json == {"status": "ok"}


async def test_what_it_counts_is_told_under_any_name_but_to_a_token_alone(server: Running) -> None:
    headers = {"Host": "10.0.0.11:8700"}
    token = await server.token("answerer")
    statuses = [(await server.request("GET", "/metrics", token=each, headers=headers)).status for each in (token, None)]
    assert statuses == [200, 401]


async def test_the_desk_takes_nothing_from_other_origins(server: Running) -> None:
    token, body = await server.token(), json.dumps({"questions": QUESTIONS}).encode()
    head = (
        f"POST /v1/asks HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{{lines}}"
    )
    assert await told(server, ORIGINS, head, body) == ORIGINS


async def test_another_site_may_lead_a_person_here_and_nothing_else(server: Running) -> None:
    token = await server.token()
    path = f"/v1/asks/{await server.post(token)}"
    statuses = {}
    for site, mode, dest in FETCHES:
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
        statuses[site, mode, dest] = (await server.request("GET", path, token=token, headers=headers)).status
    assert statuses == FETCHES


async def test_what_a_form_elsewhere_could_send_is_no_json(server: Running) -> None:
    token, body = await server.token(), json.dumps({"questions": QUESTIONS}).encode()
    head = (
        f"POST /v1/asks HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\n{{lines}}"
    )
    assert await told(server, TYPES, head, body) == TYPES


async def test_every_route_that_takes_a_body_takes_json_alone(server: Running) -> None:
    asker, answerer = await server.token("asker"), await server.token("answerer")
    ask_id = await server.post(asker)
    for method, path, token in (
        ("POST", "/v1/asks", asker),
        ("POST", f"/v1/asks/{ask_id}/settlement", answerer),
        ("POST", f"/v1/asks/{ask_id}/withdrawal", asker),
        ("PUT", "/v1/shelf/draft/x", answerer),
    ):
        answer = await server.request(method, path, token=token, body={}, headers={"Content-Type": "text/plain"})
        assert (answer.status, answer.problem) == (415, "wrong-type")


HOOK = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {}}


async def was_read(server: Running, token: Token) -> None:
    """The server knows whose request it is."""
    await server.until(lambda: f"token/{token.id}" in server.service.recent._read)


async def test_a_token_that_is_revoked_while_a_body_is_on_its_way_holds_for_nothing(server: Running) -> None:
    ask_id = await server.post(await server.token())
    sent_to: list[tuple[str, str, Kind, object]] = [
        ("POST", "/v1/asks", "asker", {"questions": QUESTIONS}),
        ("POST", f"/v1/asks/{ask_id}/settlement", "answerer", {"reply": ANSWERED, "submission": "s"}),
        ("POST", f"/v1/asks/{ask_id}/withdrawal", "asker", {}),
        ("POST", f"/v1/asks/{ask_id}/delivery", "asker", {}),
        ("POST", "/v1/hooks/claude-code", "asker", HOOK),
        ("PUT", "/v1/shelf/draft/x", "answerer", {"value": "1"}),
        ("POST", "/mcp", "asker", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ]
    for method, path, kind, body in sent_to:
        token, text = await tokens.new_token(server.desk.shelf, kind, "x", now=server.desk.now())
        sent = server.written(method, path, token=text, body=body)
        async with server.client() as client:
            await client.send(sent[:-1])
            await was_read(server, token)
            await tokens.revoke(server.desk.shelf, token.id, server.desk.now())
            await client.send(sent[-1:])
            answer = await client.answer(to=method)
        assert (path, answer.status, answer.problem) == (path, 401, "unauthorized")
    assert [entry.ask.id for entry in (await server.desk.page("open")).entries] == [ask_id]
    assert await server.desk.shelf.get("draft/x") is None


async def test_a_host_whose_answerer_is_revoked_while_a_body_is_on_its_way_has_sent_nothing(server: Running) -> None:
    asker, text = await tokens.new_token(server.desk.shelf, "asker", "x", now=server.desk.now())
    answerer, answers = await tokens.new_token(server.desk.shelf, "answerer", "ana", now=server.desk.now())
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    sent = server.written("POST", "/mcp", token=text, body=body, headers={"Askdesk-Answer-Token": answers})
    async with server.client() as client:
        await client.send(sent[:-1])
        await was_read(server, asker)
        await tokens.revoke(server.desk.shelf, answerer.id, server.desk.now())
        await client.send(sent[-1:])
        answer = await client.answer(to="POST")
    assert (answer.status, answer.problem) == (401, "unauthorized")


async def test_who_signs_out_while_a_form_is_on_its_way_has_sent_nothing(server: Running) -> None:
    ask_id = await server.post(await server.token())
    token, text = await tokens.new_token(server.desk.shelf, "page", "ana", now=server.desk.now())
    form = f"form={stamps.form_proof(text)}&action=send&q0=0".encode()
    headers = {
        "Cookie": f"askdesk-{server.port}={text}",
        "Origin": server.url,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    sent = server.written("POST", f"/asks/{ask_id}", body=form, headers=headers)
    async with server.client() as client:
        await client.send(sent[:-1])
        await was_read(server, token)
        await tokens.revoke(server.desk.shelf, token.id, server.desk.now())
        await client.send(sent[-1:])
        assert (await client.answer(to="POST")).status == 401
    assert (await server.desk.get(ask_id)).settlement is None


async def test_a_get_takes_no_body(server: Running) -> None:
    token = await server.token()
    with_length = await server.request("GET", "/v1/asks", token=token, body={})
    chunked = await server.request("GET", "/v1/events", token=token, headers={"Transfer-Encoding": "chunked"})
    empty = await server.request("GET", "/v1/asks", token=token, headers={"Content-Length": "0"})
    assert [answer.status for answer in (with_length, chunked, empty)] == [400, 400, 200]


@pytest.mark.parametrize("path", ["/v1/asks", "/v1/events", "/", "/nowhere", "/healthz"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:{port}"])
async def test_a_preflight_is_granted_to_nobody(server: Running, path: str, origin: str) -> None:
    headers = {
        "Origin": origin.replace(PORT, f"{server.port}"),
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
        "Access-Control-Request-Private-Network": "true",
    }
    answer = await server.request("OPTIONS", path, headers=headers)
    assert answer.status in (403, 404, 405)
    assert [name for name in answer.headers if name.startswith("access-control")] == []


FAILURES = {
    "busy": StoreBusy("/secret/path: locked"),
    "full": StoreFull("/secret/path: full"),
    "gone": StoreGone("/secret/path: gone"),
    "bug": ValueError("a secret"),
}


@pytest.fixture
async def failing(clock: FakeClock) -> AsyncIterator[Running]:
    """A server whose store fails in the way that the id names."""

    class Failing(MemoryStore):
        async def get(self, ask_id: str) -> Entry:
            if ask_id in FAILURES:
                raise FAILURES[ask_id]
            return await super().get(ask_id)

    async with running(Desk(Failing(), clock=clock), asks_a_minute=1) as server:
        yield server


async def test_every_answer_carries_the_headers_whatever_its_status(failing: Running) -> None:
    server, token = failing, await failing.token()
    answers: dict[int, Answer] = {}
    for path in ("/healthz", "/v1/asks/busy", "/v1/asks/full", "/v1/asks/bug", "/v1/asks/none", "/nowhere"):
        answer = await server.request("GET", path, token=token)
        answers[answer.status] = answer
    for sent in (
        server.written("POST", "/v1/asks", token=token, body={"questions": QUESTIONS}),
        server.written("POST", "/v1/asks", token=token, body={"questions": QUESTIONS}),
        server.written("POST", f"/v1/asks/{'0' * 32}/withdrawal", token=token, body={"strange": 1}),
        server.written("POST", f"/v1/asks/{'0' * 32}/withdrawal", token=token, body=b"{"),
        server.written("POST", f"/v1/asks/{'0' * 32}/withdrawal", body=b"{}"),
        server.written("POST", f"/v1/asks/{'0' * 32}/settlement", token=token, body=b"{}"),
        server.written("DELETE", "/v1/asks", token=token),
        server.written("POST", "/v1/asks", token=token, headers={"Content-Length": "99999999"}),
        server.written("POST", "/v1/asks", token=token, body=b"{}", headers={"Content-Type": "text/plain"}),
        server.written("GET", "/", headers={"Host": "evil.example"}),
        server.written("GET", "/healthz", headers={"X-Long": "x" * 40_000}),
        server.written("GET", "/healthz").replace(b"1.1", b"2.0"),
        b"\x16\x03\x01\x02\x00\x01\x00",  # somebody speaks TLS
    ):
        answer = await server.raw(sent)
        answers[answer.status] = answer
    answers[408] = await _slow(server)
    assert sorted(answers) == [200, 201, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 431, 500, 503, 505, 507]
    for answer in answers.values():
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "server" not in answer.headers
        assert parsedate_to_datetime(answer.headers["date"]).tzinfo is not None
        assert answer.status < 400 or answer.headers["content-type"] == "application/problem+json"
        assert answer.status < 400 or answer.json["status"] == answer.status
        assert b"secret" not in answer.body


async def _slow(server: Running) -> Answer:
    """One whose head never ends."""
    async with server.client() as client:
        await client.send(b"GET /healthz HT")
        await server.until(lambda: any(connection._is_in_head for connection in server.connections))
        server.server.look(server.later(11))
        return await client.answer()


async def test_a_store_that_fails_says_when_to_come_again_and_nothing_of_itself(failing: Running) -> None:
    token = await failing.token()
    told = {}
    for name in FAILURES:
        answer = await failing.request("GET", f"/v1/asks/{name}", token=token)
        told[name] = (answer.status, answer.problem, answer.headers.get("retry-after"), answer.json.get("detail"))
    assert told == {
        "busy": (503, "store-busy", "1", None),
        "full": (507, "store-full", None, None),
        "gone": (503, "store-unusable", "1", None),
        "bug": (500, "failed", None, None),
    }


def test_a_desk_behind_a_proxy_answers_under_its_public_name_alone() -> None:
    assert Origins.of("https://desk.example", loopback=False) == Origins(
        frozenset({"desk.example"}), frozenset({"https://desk.example"})
    )


def test_a_desk_on_loopback_answers_under_all_names_that_lead_there() -> None:
    assert Origins.of("http://127.0.0.1:8700", loopback=True) == Origins(
        frozenset({"127.0.0.1:8700", "localhost:8700", "[::1]:8700"}),
        frozenset({"http://127.0.0.1:8700", "http://localhost:8700", "http://[::1]:8700"}),
    )
