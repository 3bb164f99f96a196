"""Who may do what: every route of the server with every kind of credential, against one table."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import NamedTuple

import pytest
from tests.server.running import ANSWERED, QUESTIONS, Answer, Client, Running, running

from askdesk.core import work
from askdesk.core.desk import Desk, new_id
from askdesk.core.model import Answered, Asker, Question
from askdesk.core.work import Work
from askdesk.server import tokens
from askdesk.server.app import DOORS
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

OURS, THEIRS = Asker("builder", project="ours"), Asker("builder", project="theirs")


class Row(NamedTuple):
    """Which status each credential gets; a stranger has none that holds. Cookie: a page's token where a browser has it.

    The others' tokens are limited to another project than the ask that the path names.
    """

    stranger: int
    asker: int
    answerer: int
    others_asker: int
    others_answerer: int
    page: int
    cookie: int
    others_cookie: int
    body: object = None


SETTLEMENT = {"reply": ANSWERED, "submission": "s"}
EVENT = {"hook_event_name": "PostToolBatch", "session_id": "s", "cwd": "ours", "tool_calls": []}
NEW_ASK = {"questions": QUESTIONS, "asker": {"project": "ours"}}

TABLE: Mapping[tuple[str, str], Row] = {
    ("POST", "/v1/asks"): Row(401, 201, 403, 403, 403, 403, 401, 401, NEW_ASK),
    ("GET", "/v1/asks"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("GET", "/v1/asks/{id}"): Row(401, 200, 200, 404, 404, 403, 401, 401),
    ("POST", "/v1/asks/{id}/settlement"): Row(401, 403, 200, 403, 404, 403, 401, 401, SETTLEMENT),
    ("POST", "/v1/asks/{id}/withdrawal"): Row(401, 200, 403, 404, 403, 403, 401, 401, {}),
    ("POST", "/v1/asks/{id}/delivery"): Row(401, 204, 403, 404, 403, 403, 401, 401, {}),
    ("GET", "/v1/collect"): Row(401, 200, 403, 403, 403, 403, 401, 401),
    ("POST", "/v1/hooks/claude-code"): Row(401, 200, 403, 403, 403, 403, 401, 401, EVENT),
    ("POST", "/v1/expiry"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("GET", "/v1/shelf"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("GET", "/v1/shelf/{name:path}"): Row(401, 403, 200, 403, 403, 403, 401, 401),
    ("PUT", "/v1/shelf/{name:path}"): Row(401, 403, 200, 403, 403, 403, 401, 401, {"value": "1"}),
    ("GET", "/v1/events"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("GET", "/v1/me"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("GET", "/v1/openapi.json"): Row(401, 200, 200, 200, 200, 403, 401, 401),
    ("POST", "/mcp"): Row(401, 406, 403, 406, 403, 403, 401, 401, {}),  # by who says nothing of what they take
    ("GET", "/mcp"): Row(401, 406, 403, 406, 403, 403, 401, 401),
    ("DELETE", "/mcp"): Row(401, 400, 403, 400, 403, 403, 401, 401),  # without a session
    ("GET", "/metrics"): Row(401, 200, 200, 403, 403, 403, 401, 401),
    ("GET", "/healthz"): Row(200, 200, 200, 200, 200, 200, 200, 200),
    **{
        (method, path): Row(401, 401, 401, 401, 401, 401, cookie, others_cookie)
        for method, path, cookie, others_cookie in (
            ("GET", "/", 200, 200),
            ("GET", "/asks/{id}", 200, 404),
            ("POST", "/asks/{id}", 403, 404),  # without the proof that is in the form
            ("POST", "/asks/{id}/draft", 403, 404),
            ("GET", "/asks/{id}/previews/{question}/{option}", 404, 404),  # where there is no preview
            ("GET", "/asks/{id}/compare/{question}", 404, 404),
            ("GET", "/agents/{address}", 200, 404),
            ("POST", "/agents/{address}", 403, 403),
            ("GET", "/fragments/agents/{address}", 200, 404),
            ("GET", "/settled", 200, 200),
            ("GET", "/fragments/list", 200, 200),
            ("GET", "/fragments/asks/{id}", 200, 404),
            ("GET", "/fragments/keys", 200, 200),
            ("GET", "/help", 200, 200),
            ("GET", "/events", 200, 200),
            ("POST", "/sign-out", 403, 403),
        )
    },
    ("GET", "/sign-in"): Row(401, 401, 401, 401, 401, 401, 401, 401),  # without a code
    ("POST", "/sign-in"): Row(403, 403, 403, 403, 403, 403, 403, 403),  # without an Origin of ours
    ("POST", "/language"): Row(303, 303, 303, 303, 303, 303, 303, 303),
    ("GET", "/static/{name}"): Row(404, 404, 404, 404, 404, 404, 404, 404),  # of a name that is none
}
ROUTES = sorted((door.method, door.path) for door in DOORS)
KINDS = {(door.method, door.path): door.kinds for door in DOORS}


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[Running]:
    minutes = itertools.count(step=60)  # at every look of the limiters another one has gone by: they stop nobody
    async with running(Desk(MemoryStore(), clock=clock), clock=lambda: float(next(minutes))) as server:
        yield server


async def an_ask(server: Running, asker: Asker = OURS) -> str:
    """A new one for every request, with a draft, as some requests use it up."""
    ask_id = (await server.desk.post(Question("Which?", ["a", "b"]), asker=asker)).id
    await server.desk.shelf.put(f"draft/{ask_id}/ana", '"x"')
    return ask_id


async def answer_of(server: Running, route: tuple[str, str], headers: Mapping[str, str], query: str = "") -> Answer:
    """The answer of a route, without the id that the request named; of a stream only its head."""
    (method, template), body = route, TABLE[route].body
    ask_id = await an_ask(server)
    await Work(server.desk.shelf, OURS, FakeClock()).begin()
    if template.endswith("/delivery"):  # of what is still open there is nothing to deliver
        await server.desk.withdraw(ask_id)
    path = template.replace("{id}", ask_id).replace("{name:path}", f"draft/{ask_id}/ana")
    path = path.format(question=0, option=0, name="none.css", address=work.address(OURS))
    if body == SETTLEMENT:
        body = {**SETTLEMENT, "reply": {"outcome": "answered", "answers": [{"chosen": ["a"]}]}}
    async with server.client() as client:
        await client.send(server.written(method, path + query, body=body, headers=headers))
        answer = await _head(client) if path.endswith("/events") else await client.answer(to=method)
    return answer._replace(body=answer.body.replace(ask_id.encode(), b"ID"))


async def _head(client: Client) -> Answer:
    head = await client.reader.readuntil(b"\r\n\r\n")
    if b" 200 " in head:
        return Answer(200, {}, b"")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return Answer(int(head.split()[1]), {}, await client.reader.readexactly(length))


async def strangers(server: Running, clock: FakeClock) -> Mapping[str, Mapping[str, str]]:
    """Everything that is no token."""
    now = server.desk.now()
    asker, answerer, page = [await server.token(kind) for kind in ("asker", "answerer", "page")]
    expired = await server.token("answerer", expires=now + timedelta(seconds=1))
    gone, revoked = await tokens.new_token(server.desk.shelf, "answerer", "ana", now=now)
    await tokens.revoke(server.desk.shelf, gone.id, now)
    clock.advance(1)
    return {
        "nothing": {},
        "an empty header": {"Authorization": ""},
        "an empty Bearer": {"Authorization": "Bearer"},
        "a Bearer of blanks": {"Authorization": "Bearer    "},
        "Basic": {"Authorization": f"Basic {answerer}"},
        "no scheme": {"Authorization": answerer},
        "garbage": {"Authorization": "Bearer let-me-in"},
        "a token's beginning": {"Authorization": f"Bearer {answerer[:-1]}"},
        "a token and more": {"Authorization": f"Bearer {answerer}A"},
        "a token twice": {"Authorization": f"Bearer {answerer} {answerer}"},
        "another case": {"Authorization": f"Bearer {answerer.swapcase()}"},
        "another secret": {"Authorization": f"Bearer {answerer[:-43]}{'A' * 43}"},
        "the secret of another": {"Authorization": f"Bearer {answerer[:-43]}{asker[-43:]}"},
        "another kind": {"Authorization": f"Bearer {asker.replace('asker', 'answerer')}"},
        "a page's as an answerer's": {"Authorization": f"Bearer {page.replace('page', 'answerer')}"},
        "not ASCII": {"Authorization": f"Bearer {answerer}é"},
        "only not ASCII": {"Authorization": "Bearer ééé"},
        "a no-break space": {"Authorization": f"Bearer {answerer}\xa0"},
        "full-width digits": {"Authorization": "Bearer askdesk_asker_\xb2"},
        "a long one": {"Authorization": "Bearer " + "a" * 30_000},
        "expired": {"Authorization": f"Bearer {expired}"},
        "revoked": {"Authorization": f"Bearer {revoked}"},
        "in another header": {"X-Authorization": f"Bearer {answerer}", "Proxy-Authorization": f"Bearer {answerer}"},
        "a token as another cookie": {"Cookie": f"token={answerer}; askdesk={page}"},
        "the cookie of another port": {"Cookie": f"askdesk-{server.port + 1}={page}"},
        "a name instead": {"X-Forwarded-User": "ana", "X-Real-IP": "127.0.0.1", "Remote-User": "ana"},
        "a forwarded address": {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1;by=ana"},
    }


def test_every_route_stands_in_the_table() -> None:
    assert sorted(TABLE) == ROUTES


async def test_strangers_are_all_told_the_same(server: Running, clock: FakeClock) -> None:
    wrong = await strangers(server, clock)
    for route in ROUTES:
        told = {name: await answer_of(server, route, headers) for name, headers in wrong.items()}
        expected = TABLE[route].stranger
        assert {name: answer.status for name, answer in told.items()} == dict.fromkeys(wrong, expected), route
        if expected == 401:
            assert {answer.body for answer in told.values()} == {told["nothing"].body}, route


async def test_every_token_gets_what_the_table_says(server: Running) -> None:
    page = await server.token("page")
    cookie = f"askdesk-{server.port}"
    credentials = {
        "asker": {"Authorization": f"Bearer {await server.token('asker')}"},
        "answerer": {"Authorization": f"Bearer {await server.token('answerer')}"},
        "others_asker": {"Authorization": f"Bearer {await server.token('asker', projects=['theirs'])}"},
        "others_answerer": {"Authorization": f"Bearer {await server.token('answerer', projects=['theirs'])}"},
        "page": {"Authorization": f"Bearer {page}"},
        "cookie": {"Cookie": f"{cookie}={page}"},
        "others_cookie": {"Cookie": f"{cookie}={await server.token('page', projects=['theirs'])}"},
    }
    for route in ROUTES:
        statuses = {name: (await answer_of(server, route, held)).status for name, held in credentials.items()}
        assert statuses == {name: getattr(TABLE[route], name) for name in statuses}, route


@pytest.mark.parametrize("kind", ["asker", "answerer"])
async def test_a_programs_token_opens_nothing_as_a_cookie(server: Running, kind: tokens.Kind) -> None:
    token = await server.token(kind)
    for route in ROUTES:
        answer = await answer_of(server, route, {"Cookie": f"askdesk-{server.port}={token}"})
        expected = 403 if KINDS[route] == ("page",) else TABLE[route].stranger
        assert answer.status == expected, route


async def test_a_token_in_the_query_is_none(server: Running) -> None:
    answerer = await server.token("answerer")
    for route in ROUTES:
        for query in (f"?token={answerer}", f"?access_token={answerer}", f"?Authorization=Bearer%20{answerer}"):
            assert (await answer_of(server, route, {}, query)).status == TABLE[route].stranger, route


async def test_a_token_of_a_megabyte_is_too_long_for_a_head(server: Running) -> None:
    answer = await server.request("GET", "/v1/me", headers={"Authorization": "Bearer " + "a" * 1_000_000})
    assert (answer.status, answer.problem) == (431, "too-large")


async def test_a_token_is_taken_whatever_the_case_of_the_scheme(server: Running) -> None:
    token = await server.token("answerer", "ana")
    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = await server.request("GET", "/v1/me", headers={"Authorization": f"{scheme} {token}"})
        assert answer.json == {"kind": "answerer", "name": "ana"}


async def test_two_tokens_in_one_request_are_none(server: Running) -> None:
    asker, answerer = await server.token("asker"), await server.token("answerer")
    request = server.written("GET", "/v1/me", token=asker)
    answer = await server.raw(request.replace(b"\r\n\r\n", f"\r\nAuthorization: Bearer {answerer}\r\n\r\n".encode()))
    assert (answer.status, answer.problem) == (400, "not-http")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_head_is_for_whom_get_is(server: Running, method: str) -> None:
    asker, answerer, ask_id = await server.token("asker"), await server.token("answerer"), await an_ask(server)
    for path, statuses in {
        f"/v1/asks/{ask_id}": (401, 200, 200),
        "/v1/shelf": (401, 200, 200),
        "/metrics": (401, 200, 200),
        "/healthz": (200, 200, 200),
    }.items():
        answers = [await server.request(method, path, token=token) for token in (None, asker, answerer)]
        assert tuple(answer.status for answer in answers) == statuses
        assert method == "GET" or not any(answer.body for answer in answers)


async def test_the_head_of_a_stream_is_told_and_no_stream_begins(server: Running) -> None:
    answer = await server.request("HEAD", "/v1/events", token=await server.token())
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert server.service.metrics.streams == 0


FOREIGN = [
    ("GET", "/v1/asks/{id}", "asker", None),
    ("GET", "/v1/asks/{id}", "answerer", None),
    ("GET", "/v1/asks/{id}?wait=5", "asker", None),
    ("POST", "/v1/asks/{id}/settlement", "answerer", SETTLEMENT),
    ("POST", "/v1/asks/{id}/settlement", "answerer", {}),
    ("POST", "/v1/asks/{id}/withdrawal", "asker", {}),
    ("POST", "/v1/asks/{id}/withdrawal", "asker", {"strange": 1}),
    ("POST", "/v1/asks/{id}/delivery", "asker", {}),
    ("POST", "/v1/asks/{id}/delivery", "asker", {"asker": {"agent": "builder", "project": "theirs"}}),
    ("POST", "/v1/asks/{id}/delivery", "asker", {"asker": {"agent": "builder", "project": "ours"}}),
    ("GET", "/v1/shelf/draft/{id}/ana", "answerer", None),
    ("GET", "/v1/shelf/snooze/{id}/ana", "answerer", None),
    ("PUT", "/v1/shelf/draft/{id}/ana", "answerer", {"value": "1"}),
]


@pytest.mark.parametrize(("method", "path", "kind", "body"), FOREIGN)
async def test_anothers_ask_is_as_unknown_as_one_that_never_was(
    server: Running, method: str, path: str, kind: tokens.Kind, body: object
) -> None:
    theirs = await server.token(kind, projects=["theirs"])
    settled = await an_ask(server)
    await server.desk.settle(settled, Answered([Question("Which?", ["a", "b"]).read("a")]), by="ana", surface="test")
    told = []
    for ask_id in (new_id(), await an_ask(server), settled):
        answer = await server.request(method, path.replace("{id}", ask_id), token=theirs, body=body)
        headers = {name: value for name, value in answer.headers.items() if name != "date"}
        told.append((answer.status, headers, answer.body.replace(ask_id.encode(), b"ID")))
    assert told[1:] == told[:1] * 2


async def test_limited_by_project_or_by_agent_a_token_knows_only_its_own(server: Running) -> None:
    mine = await an_ask(server, Asker("builder", project="ours"))
    await an_ask(server, Asker("builder", project="theirs"))
    await an_ask(server, Asker("reviewer", project="ours"))
    token = await server.token("answerer", projects=["ours"], agents=["builder"])
    listed = (await server.request("GET", "/v1/asks", token=token)).json
    shelf = (await server.request("GET", "/v1/shelf", token=token)).json
    assert [entry["ask"]["id"] for entry in listed["entries"]] == [mine]
    assert [document["name"] for document in shelf["documents"]] == [f"draft/{mine}/ana"]


async def test_a_limited_token_is_told_of_its_own_expiries_alone(server: Running, clock: FakeClock) -> None:
    mine, others = [
        (await server.desk.post(Question("Q?", ["a", "b"]), asker=asker, deadline=timedelta(seconds=1))).id
        for asker in (OURS, THEIRS)
    ]
    clock.advance(2)
    answer = await server.request("POST", "/v1/expiry", token=await server.token(projects=["ours"]))
    assert answer.json == {"expired": [mine]}
    assert (await server.desk.store.get(others)).settlement is not None


async def test_a_limited_token_hears_of_its_own_asks_alone(server: Running) -> None:
    token = await server.token(projects=["ours"])
    async with server.stream(token) as stream:
        await an_ask(server, THEIRS)
        mine = await an_ask(server, OURS)
        assert await stream.chunk() == b'data: {"ask":"%s"}\n\n' % mine.encode()


async def test_a_limited_token_asks_for_its_own_projects_and_agents_alone(server: Running) -> None:
    token = await server.token(projects=["ours"], agents=["builder"])
    askers: dict[tuple[str, ...], dict[str, str]] = {
        ("as it may",): {"agent": "builder", "project": "ours"},
        ("another project",): {"agent": "builder", "project": "theirs"},
        ("another agent",): {"agent": "reviewer", "project": "ours"},
        ("nothing said",): {},
    }
    told = {}
    for (name,), asker in askers.items():
        answer = await server.request("POST", "/v1/asks", token=token, body={"questions": QUESTIONS, "asker": asker})
        told[name] = (answer.status, answer.json.get("detail"))
    assert told == {
        "as it may": (201, None),
        "another project": (403, 'asker.project: this token asks for ["ours"] alone'),
        "another agent": (403, 'asker.agent: this token asks as ["builder"] alone'),
        "nothing said": (403, 'asker.project: this token asks for ["ours"] alone'),
    }


@pytest.mark.parametrize("question", ["Which?", "Which other?"])
async def test_whether_anothers_ask_says_the_same_is_nobodys_to_find_out(server: Running, question: str) -> None:
    theirs = await server.desk.post(Question("Which?", ["a", "b"]), asker=THEIRS, key="k")
    token = await server.token(agents=["builder"], projects=["ours"])
    body = {"body": "questions", "items": [{"text": question, "options": [{"label": "a"}, {"label": "b"}]}]}
    asker = {"agent": "builder", "project": "ours"}
    answer = await server.request("POST", "/v1/asks", token=token, body={"body": body, "asker": asker, "id": theirs.id})
    assert (answer.status, answer.json["detail"]) == (403, "this id or key is another's")


async def test_who_answered_is_what_the_token_says_and_nothing_else(server: Running) -> None:
    ask_id, token = await an_ask(server), await server.token("answerer", "ana")
    body = {"reply": {"outcome": "answered", "answers": [{"chosen": ["a"]}]}, "submission": "s"}
    path = f"/v1/asks/{ask_id}/settlement"
    for claim in ({"by": "bob"}, {"at": "2030-01-01T00:00:00Z"}, {"reply": {**body["reply"], "by": "bob"}}):  # type: ignore[dict-item]
        assert (await server.request("POST", path, token=token, body={**body, **claim})).status == 422
    headers = {"X-Forwarded-User": "bob", "X-Remote-User": "bob", "From": "bob", "Cookie": "user=bob"}
    answer = await server.request("POST", f"{path}?by=bob", token=token, body=body, headers=headers)
    assert answer.json == {
        "outcome": {"outcome": "answered", "answers": [{"chosen": ["a"]}]},
        "at": "2026-01-01T12:00:00Z",
        "submission": "s",
        "by": "ana",
        "surface": "http",
    }


async def test_an_asker_settles_by_no_path(server: Running) -> None:
    token, ask_id = await server.token("asker"), await an_ask(server)
    body = {"reply": {"outcome": "answered", "answers": [{"chosen": ["a"]}]}, "submission": "s"}
    tries: list[tuple[int, str, str, object, dict[str, str]]] = [
        (403, "POST", f"/v1/asks/{ask_id}/settlement", body, {}),
        (405, "PUT", f"/v1/asks/{ask_id}/settlement", body, {}),
        (405, "PATCH", f"/v1/asks/{ask_id}", {"settlement": body}, {}),
        (405, "POST", f"/v1/asks/{ask_id}", body, {}),
        (404, "POST", f"/v1//asks/{ask_id}/settlement", body, {}),
        (404, "POST", f"/v1/asks/{ask_id}/settlement/", body, {}),
        (403, "POST", f"/v1/asks/{ask_id}%2Fsettlement", body, {}),
        (404, "POST", f"/v1/asks/{ask_id}/settlement%0A", body, {}),
        (404, "POST", f"/v1/asks/{ask_id}/./settlement", body, {}),
        (404, "POST", f"/v1/asks/x/../{ask_id}/settlement", body, {}),
        (404, "POST", f"/V1/ASKS/{ask_id}/SETTLEMENT", body, {}),
        (422, "POST", f"/v1/asks/{ask_id}/withdrawal", {**body, "outcome": "answered"}, {}),
        (200, "GET", f"/v1/asks/{ask_id}", None, {"X-HTTP-Method-Override": "POST"}),
        (403, "POST", f"/v1/asks/{ask_id}/settlement", body, {"X-Original-URL": f"/v1/asks/{ask_id}"}),
        (405, "POST", "/v1/me", body, {"X-Original-URL": f"/v1/asks/{ask_id}/settlement"}),
        (422, "POST", "/v1/asks", {"questions": QUESTIONS, "id": ask_id, "settlement": body}, {}),
        (422, "POST", "/v1/asks", {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}, {}),
        (403, "PUT", f"/v1/shelf/draft/{ask_id}/ana", {"value": "1"}, {}),
        (403, "PUT", "/v1/shelf/rule/x", {"value": "1"}, {}),
    ]
    told = [
        ((await server.request(method, path, token=token, body=sent, headers=headers)).status, method, path)
        for _, method, path, sent, headers in tries
    ]
    assert told == [(expected, method, path) for expected, method, path, _, _ in tries]
    assert (await server.desk.page("settled")).entries == ()


async def test_an_answer_that_an_agent_sends_with_its_question_is_kept_nowhere(server: Running) -> None:
    token = await server.token("asker")
    question = {**QUESTIONS[0], "answers": {"Which database?": "SQLite"}, "answer": "SQLite"}
    ask_id = await server.post(token, questions=[question])
    entry = await server.desk.get(ask_id)
    assert entry.settlement is None
    assert entry.ask.body.warnings == (  # type: ignore[union-attr]
        "questions[0].answers: is not a field: dropped",
        "questions[0].answer: is not a field: dropped",
    )


ODD_NAMES = [
    "seal/x",
    "copied/x",
    "token/x",
    "token//x",
    "link/x",
    "%74oken/x",
    "token%2Fx",
    "t%6Fken%2fx",
    "token/",
    "token/../token/x",
]
HARMLESS_NAMES = [
    "token//x/..",
    "./token/x",
    "TOKEN/x",
    "/token/x",
    "draft/../token/x",
    "token",
    "tokens/x",
    "token%00",
]


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_tokens_and_links_are_not_read_or_written_over_http(server: Running, name: str) -> None:
    answerer = await server.token("answerer")
    reading = await server.request("GET", f"/v1/shelf/{name}", token=answerer)
    writing = await server.request("PUT", f"/v1/shelf/{name}", token=answerer, body={"value": "1"})
    removing = await server.request("PUT", f"/v1/shelf/{name}", token=answerer, body={"value": None})
    assert [answer.status for answer in (reading, writing, removing)] == [403, 403, 403]


@pytest.mark.parametrize("name", HARMLESS_NAMES)
async def test_names_that_only_look_like_a_tokens_change_no_token(server: Running, name: str) -> None:
    answerer = await server.token("answerer")
    await tokens.new_link(server.desk.shelf, "ana", now=server.desk.now())
    before = await server.desk.shelf.list("token/"), await server.desk.shelf.list("link/")
    for body in ({"value": "{}"}, {"value": None}):
        await server.request("PUT", f"/v1/shelf/{name}", token=answerer, body=body)
    assert (await server.desk.shelf.list("token/"), await server.desk.shelf.list("link/")) == before


@pytest.mark.parametrize("prefix", ["", "t", "token", "token/", "link/", "%74oken/", "TOKEN/"])
async def test_tokens_and_links_are_not_listed_over_http(server: Running, prefix: str) -> None:
    answerer = await server.token("answerer")
    await tokens.new_link(server.desk.shelf, "ana", now=server.desk.now())
    answer = await server.request("GET", f"/v1/shelf?prefix={prefix}", token=answerer)
    assert answer.json == {"documents": []}


async def test_what_a_person_typed_and_what_servers_tell_each_other_is_written_by_nobody_else(server: Running) -> None:
    token, ask_id = await server.token("answerer", "bob"), await an_ask(server)
    names = {
        f"draft/{ask_id}/bob": 200,
        f"draft/{ask_id}/ana": 403,
        f"snooze/{ask_id}/ana": 403,
        "serving/box/1": 403,
        "told/x": 403,
        "notify/x": 403,
        "rule/x": 200,
    }
    told = {
        name: (await server.request("PUT", f"/v1/shelf/{name}", token=token, body={"value": "1"})).status
        for name in names
    }
    assert told == names


async def test_an_asker_sees_nothing_of_what_people_keep_on_the_shelf(server: Running) -> None:
    token, ask_id = await server.token("asker"), await an_ask(server)
    assert (await server.request("GET", "/v1/shelf", token=token)).json == {"documents": []}
    for path in (f"/v1/shelf/draft/{ask_id}/ana", "/v1/shelf/rule/x"):
        assert (await server.request("GET", path, token=token)).status == 403


async def test_of_many_wrong_tokens_some_have_to_wait_and_right_ones_never(clock: FakeClock) -> None:
    seconds = 0.0
    async with running(Desk(MemoryStore(), clock=clock), clock=lambda: seconds) as server:
        right = await server.token("answerer", "ana")

        async def tell(token: str) -> tuple[int, str | None]:
            answer = await server.request("GET", "/v1/me", token=token)
            return answer.status, answer.headers.get("retry-after")

        assert [await tell("wrong") for _ in range(61)] == [(401, None)] * 60 + [(429, "2")]
        assert await tell(right) == (200, None)
        seconds = 1.0
        assert [await tell("wrong") for _ in range(2)] == [(401, None), (429, "2")]


def test_the_table_says_for_whom_each_door_is() -> None:
    """The doors' own list of kinds, read against the table: neither may change without the other."""
    for route, row in TABLE.items():
        if KINDS[route] != ("page",) and "{name:path}" not in route[1]:  # there the name decides: test_shelf_rules.py
            let_in = tuple(kind for kind in ("asker", "answerer") if getattr(row, kind) not in (401, 403))
            assert KINDS[route] == (let_in if row.stranger == 401 and let_in else ()), route
