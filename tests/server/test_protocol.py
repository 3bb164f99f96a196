"""What is not HTTP as we speak it, what hides one request in another, and what takes too long: over bare sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.server.launch import Launched, launched
from tests.server.running import QUESTIONS, Answer, Client, Running, written

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


HOST = "Host: {host}\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"

# Each is followed by a whole request with a valid token, which must not be found behind it.
SMUGGLING: dict[str, tuple[int, str]] = {
    "a length and chunks": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 4\r\n{CHUNKED}\r\n0\r\n\r\n"),
    "chunks and a length": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}Content-Length: 4\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 4\r\nContent-Length: 0\r\n\r\n"),
    "the same length twice": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
    "a list of lengths": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 0, 0\r\n\r\n"),
    "a length with a plus": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: +0\r\n\r\n"),
    "a length with a minus": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: -1\r\n\r\n"),
    "a length with a blank in it": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 0 0\r\n\r\n"),
    "a hexadecimal length": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: 0x0\r\n\r\n"),
    "an empty length": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length:\r\n\r\n"),
    "a length beyond numbers": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: {'9' * 40}\r\n\r\n"),
    "full-width digits": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Content-Length: ０\r\n\r\n"),
    "chunked, identity": (
        400,
        f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ),
    "identity, chunked": (
        400,
        f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    ),
    "gzip, chunked": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "identity": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding: identity\r\n\r\n"),
    "xchunked": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "chunked twice": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n"),
    "chunked behind a tab": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n"),
    "a blank before the colon": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    "chunks in HTTP/1.0": (400, f"POST /v1/asks HTTP/1.0\r\n{HOST}{CHUNKED}\r\n0\r\n\r\n"),
    "chunks that end in LF": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1\n0\n0\n\n"),
    "a chunk beyond numbers": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}\r\n{'f' * 17}\r\n"),
    "a chunk of no number": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}\r\nxyz\r\n"),
    "an extension with LF": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1;a=b\nc\r\n0\r\n0\r\n\r\n"),
    "a trailer": (400, f"POST /v1/asks HTTP/1.1\r\n{HOST}{CHUNKED}\r\n0\r\nAuthorization: Bearer x\r\n\r\n"),
    "a folded line": (400, f"GET /healthz HTTP/1.1\r\n{HOST}A: b\r\n c\r\n\r\n"),
    "a folded first line": (400, f"GET /healthz HTTP/1.1\r\n {HOST}\r\n"),
    "lines that end in LF": (400, "GET /healthz HTTP/1.1\nHost: {host}\n\n"),
    "one line that ends in LF": (400, "GET /healthz HTTP/1.1\r\nHost: {host}\nA: b\r\n\r\n"),
    "one line that ends in CR": (400, "GET /healthz HTTP/1.1\r\nHost: {host}\rA: b\r\n\r\n"),
    "NUL in a value": (400, f"GET /healthz HTTP/1.1\r\n{HOST}A: b\0c\r\n\r\n"),
    "NUL in a name": (400, f"GET /healthz HTTP/1.1\r\n{HOST}A\0: b\r\n\r\n"),
    "NUL in the path": (400, f"GET /health\0z HTTP/1.1\r\n{HOST}\r\n"),
    "a line without a colon": (400, f"GET /healthz HTTP/1.1\r\n{HOST}Abc\r\n\r\n"),
    "a line without a name": (400, f"GET /healthz HTTP/1.1\r\n{HOST}: b\r\n\r\n"),
    "a blank in the path": (400, f"GET /healthz x HTTP/1.1\r\n{HOST}\r\n"),
    "a tab in the path": (400, f"GET /health\tz HTTP/1.1\r\n{HOST}\r\n"),
    "no ASCII in the path": (400, f"GET /healthé HTTP/1.1\r\n{HOST}\r\n"),
    "a fragment": (400, f"GET /healthz#x HTTP/1.1\r\n{HOST}\r\n"),
    "a whole URL": (400, f"GET http://{{host}}/healthz HTTP/1.1\r\n{HOST}\r\n"),
    "another's URL": (400, f"GET http://evil.example/healthz HTTP/1.1\r\n{HOST}\r\n"),
    "a star": (400, f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n"),
    "HTTP/0.9": (505, "GET /healthz\r\n\r\n"),
    "HTTP/2": (505, f"GET /healthz HTTP/2.0\r\n{HOST}\r\n"),
    "HTTP/1.2": (400, f"GET /healthz HTTP/1.2\r\n{HOST}\r\n"),
    "the preface of HTTP/2": (400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "CONNECT": (405, f"CONNECT evil.example:443 HTTP/1.1\r\n{HOST}\r\n"),
    "TRACE": (405, f"TRACE /healthz HTTP/1.1\r\n{HOST}\r\n"),
    "PROPFIND": (405, f"PROPFIND /healthz HTTP/1.1\r\n{HOST}\r\n"),
    "an unknown method": (400, f"ASK /healthz HTTP/1.1\r\n{HOST}\r\n"),
    "a small method": (400, f"get /healthz HTTP/1.1\r\n{HOST}\r\n"),
    "an upgrade": (400, f"GET /healthz HTTP/1.1\r\n{HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    "an upgrade with a body": (
        400,
        f"POST /v1/asks HTTP/1.1\r\n{HOST}Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 9\r\n\r\n",
    ),
    "a head of 64 kB": (431, f"GET /healthz HTTP/1.1\r\n{HOST}A: {'x' * 65_536}\r\n\r\n"),
    "a path of 64 kB": (431, f"GET /{'x' * 65_536} HTTP/1.1\r\n{HOST}\r\n"),
    "4,000 headers": (431, f"GET /healthz HTTP/1.1\r\n{HOST}" + "A: bcdef\r\n" * 4000 + "\r\n"),
    "garbage": (400, "\x80\x81\x82\r\n\r\n"),
}


def hidden(server: Running, token: str) -> bytes:
    return server.written("POST", "/v1/asks", token=token, body={"questions": QUESTIONS})


@pytest.mark.parametrize("pieces", [1, 7])
async def test_what_two_readers_could_understand_differently_is_refused_and_nothing_behind_it_runs(
    server: Running, pieces: int
) -> None:
    token = await server.token()
    told = {}
    for name, (_, head) in SMUGGLING.items():
        sent = head.replace("{host}", f"127.0.0.1:{server.port}").encode() + hidden(server, token)
        async with server.client() as client:
            for start in range(0, len(sent), len(sent) // pieces + 1):
                client.writer.write(sent[start : start + len(sent) // pieces + 1])
                await server.turn()
            answer = await client.answer()
            told[name] = (answer.status, answer.headers["connection"], await client.is_closed())
    assert told == {name: (status, "close", True) for name, (status, _) in SMUGGLING.items()}
    assert (await server.desk.page("open")).entries == ()


async def test_http_1_0_is_answered_and_closed(server: Running) -> None:
    async with server.client() as client:
        await client.send(server.written("GET", "/healthz").replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = await client.answer()
        assert (answer.status, answer.json, await client.is_closed()) == (200, {"status": "ok"}, True)


async def test_a_head_may_come_in_pieces_however_small(server: Running) -> None:
    async with server.client() as client:
        for byte in server.written("GET", "/healthz", headers={"X-Long": "x" * 3000}):
            client.writer.write(bytes([byte]))
            await server.turn()
        assert (await client.answer()).status == 200


async def test_a_head_of_just_the_longest_is_taken(server: Running) -> None:
    async with server.client() as client:
        for _ in range(2):  # the second is counted from its own beginning
            await client.send(server.written("GET", "/healthz", headers={"X-Long": "x" * 32_000}))
            assert (await client.answer()).status == 200
            await client.send(server.written("POST", "/v1/asks", body=b"x" * 200_000) + b"GET /hea")
            assert (await client.answer()).status == 401
            await client.send(server.written("GET", "/healthz")[len(b"GET /hea") :])
            assert (await client.answer()).status == 200


async def test_a_head_that_never_ends_is_refused_before_it_fills_the_memory(server: Running) -> None:
    async with server.client() as client:
        await client.send(b"GET /healthz HTTP/1.1\r\nA: ")
        for _ in range(100):
            client.writer.write(b"x" * 10_000)
        assert (await client.answer()).status == 431


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_methods_that_a_route_has_not_are_told_with_those_it_has(server: Running, method: str) -> None:
    answer = await server.request(method, "/v1/asks", token=await server.token())
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize(
    "header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"]
)
async def test_headers_that_would_make_another_request_of_it_do_nothing(server: Running, header: str) -> None:
    answer = await server.request("GET", "/healthz", headers={header: "DELETE"})
    assert answer.json == {"status": "ok"}


PATHS = {
    "/../healthz": 404,
    "/v1/../healthz": 404,
    "/v1/..%2fhealthz": 404,
    "/%2e%2e/healthz": 404,
    "/v1/%2e%2e/healthz": 404,
    "//healthz": 404,
    "/healthz/": 404,
    "/healthz%00": 404,
    "/healthz%0a": 404,
    "/./healthz": 404,
    "/HEALTHZ": 404,
    "/healthz;x": 404,
    "/healthz\\": 404,
    "/healthz%2f..": 404,
    "/%ff": 400,
    "/healthz%c3": 400,
    "/static/../healthz": 404,
    "/static/..%2f..%2fpyproject.toml": 404,
    "/static/%2e%2e/%2e%2e/etc/passwd": 404,
    "/static/%00": 404,
    "/%68ealthz": 200,  # the same path, written otherwise
    "/healthz?": 200,
    "/healthz?x=../..": 200,
}


async def test_a_path_leads_where_it_says_and_nowhere_else(server: Running) -> None:
    assert {path: (await server.request("GET", path)).status for path in PATHS} == PATHS


async def test_requests_sent_together_are_answered_in_order_each_with_its_own_token(server: Running) -> None:
    asker, answerer = await server.token("asker", "agent"), await server.token("answerer", "ana")
    ask_id = await server.post(asker)
    together = [
        ("GET", "/v1/me", asker, None),
        ("GET", "/v1/me", None, None),
        ("GET", f"/v1/asks/{ask_id}", asker, None),
        ("GET", "/v1/me", answerer, None),
        ("POST", "/v1/asks", answerer, {"questions": QUESTIONS}),
        ("GET", "/healthz", None, None),
    ]
    async with server.client() as client:
        sent = [server.written(method, path, token=token, body=body) for method, path, token, body in together]
        await client.send(b"".join(sent))
        answers = [await client.answer() for _ in together]
    assert [answer.status for answer in answers] == [200, 401, 200, 200, 403, 200]
    assert [answers[0].json["name"], answers[3].json["name"]] == ["agent", "ana"]


async def test_a_body_may_come_in_parts_behind_another_request(server: Running) -> None:
    first, body = server.written("GET", "/healthz"), json.dumps({"questions": QUESTIONS}).encode()
    second = server.written("POST", "/v1/asks", token=await server.token(), body=body)
    async with server.client() as client:
        await client.send(first + second[:-100])
        assert (await client.answer()).status == 200
        await client.send(second[-100:])
        assert (await client.answer()).status == 201


async def test_behind_what_is_refused_nothing_is_answered_and_before_it_everything(server: Running) -> None:
    """A refusal must not overtake the answers before it: a client would take it for one of theirs."""
    token = await server.token()
    ask_id = await server.post(token)
    async with server.client() as client:
        waiting = server.written("GET", f"/v1/asks/{ask_id}?wait=5", token=token)
        await client.send(waiting + b"GARBAGE\r\n\r\n" + hidden(server, token))
        await server.until(lambda: server.service.metrics.waits == 1)
        await server.desk.withdraw(ask_id, "never mind")
        answer = await client.answer()
        assert answer.json["settlement"]["outcome"] == {"outcome": "withdrawn", "reason": "never mind"}
        assert await client.is_closed()
    assert (await server.desk.page("open")).entries == ()


async def test_more_requests_than_can_queue_are_left_to_be_sent_again(server: Running) -> None:
    async with server.client() as client:
        client.writer.write(server.written("GET", "/healthz") * 1000)
        answers = await _all_answers(client)
    assert 1 <= len(answers) < 1000
    assert {answer.status for answer in answers} == {200}


async def _all_answers(client: Client) -> list[Answer]:
    """Those that come before the server closes."""
    answers = []
    try:
        while True:
            answers.append(await client.answer())
    except (asyncio.IncompleteReadError, ConnectionError):
        return answers


async def test_a_client_that_goes_takes_with_it_what_was_waiting_for_it(server: Running) -> None:
    """Also where more requests stand behind the one that waits: uvicorn then looks at the last of them alone."""
    token = await server.token()
    ask_id = await server.post(token)
    streams: list[Client] = []
    waits: list[Client] = []
    for behind in (b"", server.written("GET", "/healthz")):
        for path, clients in (("/v1/events", streams), (f"/v1/asks/{ask_id}?wait=60", waits)):
            clients.append(await Client.to(server.port))
            await clients[-1].send(server.written("GET", path, token=token) + behind)
    metrics = server.service.metrics
    await server.until(lambda: (metrics.streams, metrics.waits) == (2, 2))
    for client in (*streams, *waits):
        client.writer.transport.abort()
    await server.until(lambda: (metrics.streams, metrics.waits, len(server.connections)) == (0, 0, 0))


async def test_a_head_that_takes_too_long_is_told_so(server: Running) -> None:
    async with server.client() as client:
        await client.send(b"GET /healthz HTTP/1.1\r\nHost: ")
        await server.until(lambda: any(connection._is_in_head for connection in server.connections))
        server.server.look(server.later(9))
        server.server.look(server.later(11))
        answer = await client.answer()
        assert (answer.status, answer.problem, await client.is_closed()) == (408, "too-slow", True)


async def test_a_connection_that_is_never_used_is_closed_without_a_word(server: Running) -> None:
    async with server.client() as client:
        await server.until(lambda: len(server.connections) == 1)
        server.server.look(server.later(11))
        assert await client.is_closed()


@pytest.mark.parametrize("dribble", [b"\r\n", b"G"])
async def test_a_connection_is_not_kept_by_dribbling(server: Running, dribble: bytes) -> None:
    async with server.client() as client:
        await client.send(server.written("GET", "/healthz"))
        assert (await client.answer()).status == 200
        await client.send(dribble)
        await server.until(lambda: all(connection._due < server.later(20) for connection in server.connections))
        server.server.look(server.later(11))
        assert (await client.answer()).status == 408


async def test_a_body_that_takes_too_long_is_told_so_and_nothing_is_done(server: Running) -> None:
    token = await server.token()
    for sent in (
        server.written("POST", "/v1/asks", token=token, body=b'{"questions', headers={"Content-Length": "100"}),
        server.written("POST", "/v1/asks", token=token, headers={"Transfer-Encoding": "chunked", **_JSON}) + b"5\r\n{",
    ):
        async with server.client() as client:
            await client.send(sent)
            await server.until(lambda: any(connection.cycle for connection in server.connections))
            server.server.look(server.later(59))
            server.server.look(server.later(61))
            answer = await client.answer()
            assert (answer.status, answer.problem, await client.is_closed()) == (408, "too-slow", True)
        await server.until(lambda: not server.connections)
    assert (await server.desk.page("open")).entries == ()


async def test_a_wait_and_a_stream_are_not_too_slow(server: Running) -> None:
    token = await server.token()
    ask_id = await server.post(token)
    async with server.stream(token) as stream, server.client() as waiting:
        await waiting.send(server.written("GET", f"/v1/asks/{ask_id}?wait=60", token=token))
        await server.until(lambda: server.service.metrics.waits == 1)
        server.server.look(server.later(10_000))
        await server.desk.withdraw(ask_id)
        assert (await waiting.answer()).status == 200
        assert await stream.chunk() == b'data: {"ask":"%s"}\n\n' % ask_id.encode()


async def test_a_body_shorter_than_it_says_is_nothing(server: Running) -> None:
    token, body = await server.token(), json.dumps({"questions": QUESTIONS}).encode()
    async with server.client() as client:
        await client.send(
            server.written("POST", "/v1/asks", token=token, body=body, headers={"Content-Length": f"{len(body) + 1}"})
        )
        client.writer.write_eof()
        assert await client.is_closed()
    assert (await server.desk.page("open")).entries == ()


async def test_what_is_longer_than_it_says_is_no_part_of_it(server: Running) -> None:
    token, body = await server.token(), json.dumps({"questions": QUESTIONS}).encode()
    async with server.client() as client:
        await client.send(server.written("POST", "/v1/asks", token=token, body=body) + b', "key": "k"}')
        answer = await client.answer()
        assert (answer.status, "key" in answer.json["ask"]) == (201, False)
        assert await client.is_closed()


async def test_a_body_that_is_too_long_is_refused_though_the_client_sends_it_all_first(server: Running) -> None:
    token, most = await server.token(), server.service.max_body
    async with server.client() as client:
        await client.send(server.written("POST", "/v1/asks", token=token, body=b" " * (most + 1)))
        answer = await client.answer()
    assert (answer.status, answer.json["detail"]) == (413, f"must not be longer than {most} bytes")


async def test_a_body_without_end_is_refused_without_being_kept(server: Running) -> None:
    token = await server.token()
    head = server.written("POST", "/v1/asks", token=token, headers={"Transfer-Encoding": "chunked", **_JSON})
    async with server.client() as client:
        client.writer.write(head)
        sending = asyncio.ensure_future(_send_for_ever(client))
        answer = await client.answer()
        sending.cancel()
        with pytest.raises((asyncio.CancelledError, ConnectionError)):
            await sending
    assert (answer.status, answer.problem) == (413, "too-large")


_JSON = {"Content-Type": "application/json"}


async def _send_for_ever(client: Client) -> None:
    while True:
        await client.send(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


async def test_a_refused_request_with_a_large_body_is_read_to_its_end(server: Running) -> None:
    """Clients that send all they have before they read would see a broken connection instead of the refusal."""
    headers = {"Connection": "close", "Authorization": "Bearer wrong"}
    request = server.written("POST", "/v1/asks", body=b" " * 1_900_000, headers=headers)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:

        def send_then_read() -> bytes:
            connection.sendall(request)
            return connection.recv(100)

        assert (await asyncio.to_thread(send_then_read)).startswith(b"HTTP/1.1 401 ")


async def test_who_expects_a_word_before_the_body_gets_the_refusal_instead(server: Running) -> None:
    headers = {"Expect": "100-continue", "Content-Length": "1000"}
    answer = await server.request("POST", "/v1/asks", body=b"", headers=headers)
    assert answer.status == 401


async def test_who_expects_a_word_before_the_body_gets_it(server: Running) -> None:
    body = json.dumps({"questions": QUESTIONS}).encode()
    request = server.written(
        "POST", "/v1/asks", token=await server.token(), body=body, headers={"Expect": "100-continue"}
    )
    async with server.client() as client:
        await client.send(request.removesuffix(body))
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(body)
        assert (await client.answer()).status == 201


async def test_a_client_that_hangs_up_while_it_sends_leaves_nothing_behind(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    token = await server.token()
    async with server.client() as client:
        await client.send(server.written("POST", "/v1/asks", token=token, body=b"{", headers={"Content-Length": "9"}))
        await server.until(lambda: any(connection.cycle for connection in server.connections))
    await server.until(lambda: not server.connections and not server.server.server_state.tasks)
    assert [record for record in caplog.records if record.levelname not in ("DEBUG", "INFO")] == []


async def test_a_client_that_does_not_read_its_answer_is_broken_off(server: Running) -> None:
    token = await server.token()
    text = "x" * 900_000
    for _ in range(10):
        await server.post(await server.token(), questions=[{**QUESTIONS[0], "question": f"{text}?"}])
    reading, stuck = socket.socket(), socket.socket()
    for connection in (reading, stuck):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(server.written("GET", "/v1/asks?limit=10", token=token) * 4)
    await server.until(lambda: [c.flow.write_paused for c in server.connections] == [True, True])

    def sizes() -> list[int]:
        return [connection.transport.get_write_buffer_size() for connection in server.connections]

    before = sizes()
    reading.settimeout(5)
    await server.until(lambda: bool(reading.recv(4096)) and before != sizes())
    server.server.look(server.later(61))
    await server.until(lambda: len(server.connections) == 1)
    assert [c.client[1] for c in server.connections if c.client] == [reading.getsockname()[1]]
    reading.close()
    stuck.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the server has a loop of its own
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_more_connections_than_files_do_not_end_the_server(tmp_path: Path, loop: str) -> None:
    async with launched(tmp_path / "desk.db", loop, files=128) as launch:
        async with AsyncExitStack() as stack:
            flood = [stack.enter_context(socket.create_connection(("127.0.0.1", launch.port))) for _ in range(400)]
            for connection in flood:
                try:
                    connection.sendall(b"GET /healthz HTTP/1.1\r\n")
                except ConnectionError:
                    continue
        assert (await _expiry(launch)).json == {"expired": []}
        launch.process.terminate()
        code, stderr = await launch.ended()
    assert (code, "Traceback" in stderr) == (0, False), stderr


async def _expiry(launch: Launched) -> Answer:
    """Asked for again where there are still too many connections."""
    async with asyncio.timeout(10):
        while True:
            client = await Client.to(launch.port)
            try:
                await client.send(written(launch.port, "POST", "/v1/expiry", token=launch.asker))
                return await client.answer()
            except (ConnectionError, asyncio.IncompleteReadError):
                continue
            finally:
                client.close()
