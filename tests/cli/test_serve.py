"""`askdesk serve`, `askdesk link` and `askdesk token`: the real commands, over real sockets."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.command import Ran, askdesk, posted
from tests.terminal import Terminal

from askdesk.cli import serve
from askdesk.core.desk import Desk
from askdesk.core.model import Question
from askdesk.core.store import Document
from askdesk.open import open_desk
from askdesk.stores.memory import MemoryStore

OPENED = {"Sec-Fetch-Site": "none"}  # as a browser says of what a person opened
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/sign-in\?code=([A-Za-z0-9_-]{32})")


class Served(NamedTuple):
    process: "subprocess.Popen[str]"
    said: str  # its first line

    @property
    def url(self) -> str:
        return self.said.partition("/sign-in")[0]


@contextmanager
def served(*options: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "askdesk.cli.main", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield Served(process, process.stdout.readline().strip())
        finally:
            process.kill()


def fetched(address: str, token: str = "", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - a server of ours
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Set-Cookie") or error.read().decode()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Redirects are looked at, not followed."""


def test_it_prints_a_link_that_signs_in_once() -> None:
    with served("--by", "ana") as server:
        assert LINK.fullmatch(server.said)
        assert fetched(server.said)[0] == 200  # whatever looks at links by itself uses none up
        status, cookie = fetched(server.said, **OPENED)
        port = server.url.rpartition(":")[2]
        assert status == 303
        assert re.fullmatch(
            rf"askdesk-{port}=askdesk_page_\w+?_[\w-]+; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", cookie
        )
        assert fetched(f"{server.url}/", Cookie=cookie.partition(";")[0])[0] == 200
        assert fetched(server.said, **OPENED)[0] == 401
        assert fetched(f"{server.url}/")[0] == 401


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_two_seconds_with_streams_and_waits_open(number: signal.Signals) -> None:
    asker = askdesk("token", "new", "asker", "--name", "ci").out.strip()
    ask = posted(Question("Which?", ["a", "b"]))
    with served("--no-link") as server:
        port = int(server.said.rpartition(":")[2])
        connections = [_waiting(port, asker, path) for path in ["/v1/events", f"/v1/asks/{ask.id}?wait=60"] * 20]
        for connection in connections[::2]:
            assert b"event: reread" in _read_until(connection, b"reread")
        began = time.monotonic()
        server.process.send_signal(number)
        out, err = server.process.communicate(timeout=10)
        assert time.monotonic() - began < 2
        assert (server.process.returncode, out) == (0, "")
        assert [line for line in err.splitlines() if not line.startswith("{")] == ["askdesk: the desk is closed"]
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_as_soon_as_it_has_said_where_it_is_it_leads_nobody_there(number: signal.Signals) -> None:
    with served("--no-link") as server:
        server.process.send_signal(number)
        server.process.communicate(timeout=10)
        assert server.process.returncode == 0
    assert askdesk("link").err.startswith("askdesk: no server runs for this store")
    assert asyncio.run(_notes()) == ()


async def _notes() -> tuple[Document, ...]:
    async with open_desk() as desk:
        return await desk.shelf.list("serving/")


def _waiting(port: int, token: str, path: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def _read_until(connection: socket.socket, end: bytes) -> bytes:
    received = b""
    while end not in received:
        received += connection.recv(4096)
    return received


def test_what_it_does_for_all_servers_and_breaks_is_told_and_begun_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_AGAIN_SECONDS", 0)

    words = "what somebody wrote"

    async def main() -> None:
        is_kept = asyncio.Event()

        async def keep() -> None:
            if not caplog.messages:
                raise ValueError(words)
            is_kept.set()
            await asyncio.Event().wait()

        async with serve._for_all(Desk(MemoryStore()), "deadlines", keep), asyncio.timeout(10):
            await is_kept.wait()

    asyncio.run(main())
    (told,) = caplog.messages
    assert told.startswith("deadlines: ended by ValueError, and is begun again\n")
    assert words not in told


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 - refused
def test_it_refuses_to_be_reached_by_others_in_the_clear(host: str) -> None:
    ran = askdesk("serve", "--host", host, "--port", "0")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"askdesk: --host {host}: others could read every token on the way: give --tls-cert")


def test_it_says_what_is_wrong_with_its_options(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.pem")
    assert askdesk("serve", "--tls-cert", missing) == Ran(
        2, "", f"askdesk: --tls-cert, --tls-key: go together\naskdesk: {missing}: there is no such file\n"
    )
    assert askdesk("serve", "--behind-proxy", "http://desk.example") == Ran(
        2, "", "askdesk: --behind-proxy: must be the https:// URL of the desk, is http://desk.example\n"
    )


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = askdesk("serve", "--port", port)
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err == f"askdesk: 127.0.0.1:{port}: cannot be listened on: Address already in use; --port names another\n"
    )


def test_behind_a_proxy_it_answers_under_the_proxys_name_alone() -> None:
    with served("--behind-proxy", "https://desk.example", "--log", "none") as server:
        assert server.said.startswith("https://desk.example/sign-in?code=")


def test_each_request_is_one_line_of_json_without_its_query() -> None:
    with served("--no-link") as server:
        fetched(f"{server.url}/settled?q=secret-words")
        server.process.send_signal(signal.SIGTERM)
        err = server.process.communicate(timeout=10)[1]
    (line,) = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert (line["method"], line["route"], line["status"], line["token"]) == ("GET", "/settled", 401, "")
    assert "secret-words" not in err


def test_on_a_terminal_it_shows_a_qr_code_and_no_requests() -> None:
    with Terminal("serve", "--port", "0", "--qr", captured=False, columns=120, lines=60) as person:
        person.shows("/sign-in?code=", "▄▄▄▄▄", "askdesk link makes another. Ctrl-C ends")
        url = LINK.search(person.text.replace("\n", ""))
        assert url
        assert fetched(f"{url[1]}/healthz") == (200, '{"status":"ok"}')
        person.press("ctrl+c")
        person.shows("askdesk: the desk is closed")
        assert person.leaves().code == 0
        assert "healthz" not in person.text


def test_a_link_leads_to_the_server_that_runs() -> None:
    none = askdesk("link")
    assert none == Ran(
        2, "", "askdesk: no server runs for this store: start askdesk serve, or name its address with --url\n"
    )
    with served("--no-link") as server:
        ran = askdesk("link", "--by", "Ben", "--project", "web", "--within", "1h")
        assert LINK.fullmatch(ran.out.strip())
        assert ran.out.startswith(f"{server.said}/sign-in?code=")
        assert fetched(ran.out.strip(), **OPENED)[0] == 303
        (session,) = json.loads(askdesk("token", "list", "--json").out)
        assert (session["kind"], session["name"], session["projects"]) == ("page", "Ben", ["web"])
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=10)
    assert askdesk("link").code == 2


def test_a_link_shows_itself_as_a_qr_code() -> None:
    ran = askdesk("link", "--url", "https://desk.example", "--qr")
    link, *code = ran.out.splitlines()
    assert (ran.code, link.partition("=")[0]) == (0, "https://desk.example/sign-in?code")
    assert set("".join(code)) <= set("█▀▄ \x1b[0;7m49")


def test_tokens_are_made_listed_and_revoked() -> None:
    made = askdesk("token", "new", "answerer", "--name", "ana", "--project", "web", "--agent", "ci", "--expires", "30d")
    text = made.out.strip()
    assert re.fullmatch(r"askdesk_answerer_[0-9a-f]{16}_[\w-]{43}", text)
    token_id = text.split("_")[2]
    assert made.err == f"askdesk: this is token {token_id}; it is shown this once\n"
    listed = askdesk("token", "list")
    assert re.fullmatch(rf"{token_id}  answerer  until \d\d-\d\d \d\d:\d\d  +ana  project web, agent ci\n", listed.out)
    with served("--no-link", "--log", "none") as server:
        assert json.loads(fetched(f"{server.said}/v1/me", text)[1])["name"] == "ana"
        assert askdesk("token", "revoke", token_id[:6]).err == f"askdesk: token {token_id} of ana is revoked\n"
        assert fetched(f"{server.said}/v1/me", text)[0] == 401
    assert " revoked " in askdesk("token", "list").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new"], "which kind? askdesk token new asker, or askdesk token new answerer"),
        (["new", "admin", "--name", "x"], "which kind? askdesk token new asker, or askdesk token new answerer"),
        (["new", "asker"], "a token needs a --name, to know it again"),
        (["new", "asker", "--name", " "], 'name: must not be blank, is " "'),
        (["revoke"], "which one? askdesk token list shows their ids"),
        (["revoke", "ffff"], "no tokens begin with ffff; askdesk token list shows them"),
    ],
)
def test_what_is_missing_is_asked_for(arguments: list[str], message: str) -> None:
    assert askdesk("token", *arguments) == Ran(2, "", f"askdesk: {message}\n")


def test_it_speaks_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    names = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -days 1 -keyout {key} -out {certificate} {names}"
    subprocess.run(make.split(), check=True, capture_output=True)
    with served("--tls-cert", str(certificate), "--tls-key", str(key)) as server:
        assert server.said.startswith("https://127.0.0.1:")
        environment = {**os.environ, "SSL_CERT_FILE": str(certificate)}
        code = f"import urllib.request; print(urllib.request.urlopen('{server.url}/healthz').status)"
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        assert run.stdout == "200\n", run.stderr


@pytest.mark.parametrize("command", [("link",), ("token", "new", "answerer", "--name", "ana")])
def test_an_agent_does_not_let_itself_in(command: tuple[str, ...]) -> None:
    refused = askdesk(*command, env={"CLAUDECODE": "1"})
    why = "this is an agent's shell (CLAUDECODE is set); a person should do this, or use --force"
    assert refused == Ran(2, "", f"askdesk: {why}\n")
    assert askdesk("token", "new", "asker", "--name", "ci", env={"CLAUDECODE": "1"}).code == 0


def test_an_agent_that_starts_the_server_is_given_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    with served() as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.said)
