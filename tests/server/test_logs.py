"""What the operator is told: one line of JSON for each request, counters, and nothing that people or agents say."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest
from tests.server.running import QUESTIONS, Answer, Running, running

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy, StoreCorrupt
from askdesk.core.model import Entry, Question
from askdesk.server import tokens
from askdesk.server.app import DOORS
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


def canary(name: str) -> str:
    return f"canary{name}canary"


class Failing(MemoryStore):
    """Fails for ids that say how, in words that must not get out."""

    async def get(self, ask_id: str) -> Entry:
        match ask_id:
            case "bug":
                raise ValueError(canary("bug"))
            case "corrupt":
                raise StoreCorrupt(f"a record cannot be read: {canary('record')}")
            case "busy":
                raise StoreBusy("desk.db: locked")
            case _:
                return await super().get(ask_id)


@pytest.fixture
async def server(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Running]:
    caplog.set_level(logging.DEBUG)
    async with running(Desk(Failing(), clock=clock), asks_a_minute=10) as server:
        logging.getLogger("uvicorn.access").addHandler(caplog.handler)  # as a program around it may do
        yield server
    logging.getLogger("uvicorn.access").removeHandler(caplog.handler)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged, tracebacks and arguments too."""
    formatter = logging.Formatter("%(name)s %(levelname)s %(message)s")
    return "\n".join(f"{formatter.format(record)} {record.args} {record.exc_info}" for record in caplog.records)


def lines(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == "askdesk.requests"]


def questions() -> list[dict[str, Any]]:
    options = [
        {"label": canary("label"), "description": canary("description"), "preview": canary("preview")},
        {"label": "b", "description": ""},
    ]
    return [{**QUESTIONS[0], "question": f"{canary('question')}?", "header": "h", "options": options}]


async def everything(server: Running) -> list[Answer]:
    """Every route, as it should be used and as it should not."""
    asker = await server.token("asker", "agent")
    answerer = await server.token("answerer", "ana")
    page = await server.token("page", "ana")
    code = await tokens.new_link(server.desk.shelf, "ana", now=server.desk.now())
    cookie = {"Cookie": f"askdesk-{server.port}={page}; other={canary('cookie')}"}
    odd = {"X-Odd": canary("header"), "User-Agent": canary("agent"), "Referer": f"http://x/{canary('referer')}"}
    post = {"questions": questions(), "key": canary("key"), "asker": {"project": canary("project")}}
    posted = await server.request("POST", "/v1/asks", token=asker, body=post, headers=odd)
    ask_id = posted.json["ask"]["id"]
    reply = {"outcome": "answered", "answers": [{"other": canary("answer"), "note": canary("note")}]}
    settlement = {"reply": reply, "submission": canary("submission")}
    asked = f"/v1/asks/{ask_id}"
    tries: list[tuple[str, str, str | None, object, dict[str, str]]] = [
        ("GET", f"/v1/asks?text={canary('search')}", asker, None, odd),
        ("GET", f"/v1/asks?{canary('parameter')}=1", asker, None, {}),
        ("GET", f"/v1/asks?state={canary('value')}", asker, None, {}),
        ("GET", asked, asker, None, {}),
        ("GET", f"/v1/asks/{canary('id')}", asker, None, {}),
        ("GET", f"/{canary('path')}", None, None, cookie),
        ("GET", f"/v1/asks?token={asker}", None, None, {}),
        ("GET", "/v1/asks", canary("token"), None, {}),
        ("GET", "/v1/asks", f"{answerer[:-1]}A", None, {}),
        ("POST", "/v1/asks", asker, {**post, "key": canary("otherkey"), "extra": canary("extra")}, {}),
        ("POST", "/v1/asks", asker, {"questions": [{"question": canary("bad")}]}, {}),
        ("POST", "/v1/asks", asker, f"{{{canary('json')}".encode(), {}),
        ("POST", "/v1/asks", asker, {**post, "questions": QUESTIONS}, {}),  # the key names another ask
        ("POST", f"{asked}/settlement", answerer, {"reply": {"outcome": canary("outcome")}, "submission": "s"}, {}),
        ("POST", f"{asked}/settlement", asker, settlement, {}),
        ("POST", f"{asked}/settlement", answerer, settlement, odd),
        ("POST", f"{asked}/settlement", answerer, {**settlement, "submission": "t"}, {}),
        ("POST", f"{asked}/withdrawal", asker, {"reason": canary("reason")}, {}),
        ("POST", "/v1/expiry", asker, None, {}),
        ("PUT", f"/v1/shelf/{canary('name')}", answerer, {"value": canary("document")}, {}),
        ("GET", f"/v1/shelf/{canary('name')}", answerer, None, {}),
        ("GET", f"/v1/shelf?prefix={canary('prefix')}", answerer, None, {}),
        ("PUT", f"/v1/shelf/{canary('name')}", answerer, {"value": "1", "expect": 0}, {}),
        ("PUT", f"/v1/shelf/token/{canary('name')}", answerer, {"value": "1"}, {}),
        ("GET", "/v1/me", asker, None, {}),
        ("GET", "/v1/openapi.json", asker, None, {}),
        ("GET", "/healthz", None, None, odd),
        ("GET", "/v1/asks/bug", asker, None, odd),
        ("GET", "/v1/asks/corrupt", asker, None, {}),
        ("GET", "/v1/asks/busy", asker, None, {}),
        ("POST", "/v1/asks/bug/settlement", answerer, settlement, {}),
        ("DELETE", asked, asker, None, {}),
        ("GET", "/v1/me", None, None, {"Host": canary("host")}),
        ("GET", "/healthz", None, None, {"Origin": f"http://{canary('origin')}"}),
        ("GET", "/", None, None, cookie),
        ("GET", f"/asks/{ask_id}", None, None, cookie),
        ("GET", f"/settled?q={canary('words')}", None, None, cookie),
        ("POST", f"/asks/{ask_id}", None, canary("form").encode(), cookie),
        ("GET", f"/sign-in?code={canary('code')}", None, None, {}),
        ("GET", f"/sign-in?code={code}", None, None, {}),
        ("GET", "/metrics", answerer, None, {}),
    ]
    answers = [posted]
    for method, path, token, body, headers in tries:
        answers.append(await server.request(method, path, token=token, body=body, headers=headers))
    async with server.stream(answerer):
        pass
    answers.append(await server.raw(f"{canary('method')} / HTTP/1.1\r\n\r\n".encode()))
    answers.append(await server.raw(f"GET /{canary('line')} HTTP/9.9\r\n\r\n".encode()))
    secrets = [text[-43:] for text in (asker, answerer, page)]
    server.secrets = [*secrets, code]  # type: ignore[attr-defined]
    return answers


async def test_nothing_that_people_or_agents_say_and_no_secret_is_logged(
    server: Running, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = await everything(server)
    assert {500, 503, 401, 403, 404, 405, 409, 421, 422, 400, 200, 201} <= {answer.status for answer in answers}
    text = logged(caplog) + "".join(capfd.readouterr())
    secrets: list[str] = server.secrets  # type: ignore[attr-defined]
    assert [secret for secret in secrets if secret in text] == []
    assert re.findall(r"canary\w*canary", text) == []


async def test_each_request_is_one_line_of_json(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    answers = await everything(server)
    await server.until(lambda: not server.connections)
    told = lines(caplog)
    assert len(told) == len(answers) + 1  # and the stream
    for line in told:
        assert list(line) == ["time", "method", "route", "status", "ms", "bytes", "token"]
        assert datetime.strptime(line["time"], "%Y-%m-%dT%H:%M:%SZ").year >= 2026
    streamed = [line for line in told if line["route"] == "/v1/events"]
    others = [line["status"] for line in told if line["route"] != "/v1/events"]
    assert [line["status"] for line in streamed] == [200]
    assert others == [answer.status for answer in answers]


async def test_a_line_names_the_route_and_the_token_and_neither_path_nor_secret(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    token, text = await tokens.new_token(server.desk.shelf, "asker", "ana", now=server.desk.now())
    answer = await server.request("GET", "/v1/asks/none?wait=1", token=text)
    (line,) = lines(caplog)
    assert line == {
        "time": line["time"],
        "method": "GET",
        "route": "/v1/asks/{id}",
        "status": 404,
        "ms": line["ms"],
        "bytes": len(answer.body),
        "token": token.id,
    }


HOSTILE = [
    b"GET /%0d%0a%7b%22status%22:200%7d HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /%1b[2J%1b]0;x%07 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /\x1b[2J HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nX: \x1b[31m\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: {host}\x1b[31m\r\n\r\n",
    b'GET /"} HTTP/1.1\r\nHost: {host}\r\n\r\n',
    b'G"ET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n',
    b"G\x1bET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"PROPFIND /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /v1/me HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\x85y\r\n\r\n",
    b"GET /%E2%80%A8%E2%80%AE HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"\x16\x03\x01\x00\x00",
]


async def test_nothing_in_a_request_breaks_its_line(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    for sent in HOSTILE:
        await server.raw(sent.replace(b"{host}", f"127.0.0.1:{server.port}".encode()))
    assert len(lines(caplog)) == len(HOSTILE)
    for record in caplog.records:
        assert record.getMessage().isprintable(), record
        assert record.getMessage().isascii(), record


async def test_a_failure_is_logged_with_its_place(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    token = await server.token()
    for name in ("bug", "corrupt", "busy", "none"):
        await server.request("GET", f"/v1/asks/{name}", token=token)
    failures = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [failure.partition("\n")[0] for failure in failures] == [
        "a request failed: ValueError",
        "a request failed: StoreCorrupt",
        "a request failed: StoreBusy: desk.db: locked",
    ]
    assert 'in get\n    raise ValueError(canary("bug"))' in failures[0]


async def test_what_clients_do_wrong_is_not_the_operators_trouble(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    for sent in HOSTILE:
        await server.raw(sent.replace(b"{host}", f"127.0.0.1:{server.port}".encode()))
    for path in ("/v1/asks/none", "/nowhere", "/v1/asks?limit=x"):
        await server.request("GET", path, token=await server.token())
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\+Inf|-?[0-9.e+-]+)')
LABEL = re.compile(r'([a-z]+)="([^"\\\n]*)"')


def parsed(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The families of a Prometheus text and their samples; an AssertionError where it breaks a rule of the format."""
    kinds: dict[str, str] = {}
    families: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    helped: set[str] = set()
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        match line.split(" ", 3):
            case ["#", "HELP", name, meaning]:
                assert name not in helped
                assert meaning
                helped.add(name)
            case ["#", "TYPE", name, kind]:
                assert name in helped
                assert name not in kinds
                assert kind in ("counter", "gauge", "histogram")
                kinds[name] = kind
            case _:
                sample = SAMPLE.fullmatch(line)
                assert sample, line
                name, labels, value = sample[1], tuple(LABEL.findall(sample[2] or "")), float(sample[3])
                family = next(known for known in (name, re.sub("_(bucket|sum|count)$", "", name)) if known in kinds)
                assert family == name or kinds[family] == "histogram"
                assert kinds[family] != "counter" or name.endswith("_total")
                assert family == [*kinds][-1], "the samples of a family stand together"
                assert labels not in families.setdefault(name, {}), line
                families[name][labels] = value
    return families


async def test_metrics_are_what_prometheus_reads_and_hold_no_contents(server: Running) -> None:
    await everything(server)
    answer = await server.request("GET", "/metrics", token=await server.token("answerer"))
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = parsed(answer.body.decode())
    assert sorted(families) == [
        "askdesk_asks_total",
        "askdesk_open_asks",
        "askdesk_request_seconds_bucket",
        "askdesk_request_seconds_count",
        "askdesk_request_seconds_sum",
        "askdesk_requests_total",
        "askdesk_settlements_total",
        "askdesk_streams",
        "askdesk_waits",
    ]
    assert b"canary" not in answer.body
    assert families["askdesk_asks_total"] == {(): 1}
    assert families["askdesk_settlements_total"] == {(("outcome", "answered"),): 1}
    buckets = [*families["askdesk_request_seconds_bucket"].values()]
    assert buckets == sorted(buckets)
    assert families["askdesk_request_seconds_count"] == {(): buckets[-1]}
    assert sum(families["askdesk_requests_total"].values()) == buckets[-1]
    labels = [dict(each) for each in families["askdesk_requests_total"]]
    assert {label["route"] for label in labels} <= {door.path for door in DOORS} | {""}
    assert {label["method"] for label in labels} <= {"GET", "POST", "PUT", "DELETE"}


async def test_open_asks_are_counted_as_far_as_it_matters(server: Running) -> None:
    answerer = await server.token("answerer")
    for expected, more in ((0, 0), (45, 45), (500, 500)):
        for _ in range(more):
            await server.desk.post(Question("Which?", ["a", "b"]))
        answer = await server.request("GET", "/metrics", token=answerer)
        assert parsed(answer.body.decode())["askdesk_open_asks"] == {(): expected}


async def test_health_tells_nothing_but_whether_the_store_can_be_read(server: Running) -> None:
    assert (await server.request("GET", "/healthz")).body == b'{"status":"ok"}'
