"""The real nginx with the very `deploy/nginx.conf`, before real servers on one PostgreSQL.

`_CHANGED` is all that is replaced in that file: where nginx listens, its name and its log. The certificate and the list
of servers, which lie beside it, are made here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from tests.cli.command import ASKDESK, surroundings
from tests.deploy.debian import program

from askdesk.core.desk import Desk
from askdesk.open import open_desk
from askdesk.server import tokens

DEPLOY = Path(__file__).parents[2] / "deploy"
_ESTABLISHED = "01"
SECONDS = 30.0  # a bound for what should take a fraction of one

_CHANGED = {
    "listen 80;": "listen 127.0.0.1:{plain};",
    "listen [::]:80;": "",  # not every machine has it
    "listen 443 ssl http2;": "listen 127.0.0.1:{port} ssl http2;",
    "listen [::]:443 ssl http2;": "",
    "desk.example;": "localhost;",
    "/var/log/nginx/access.log": "{folder}/requests.log",
}
_AROUND = """
daemon off;
pid nginx.pid;
error_log errors.log;
{user}
events {{}}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include askdesk.conf;
}}
"""


class Server:
    """One of the servers, that can be frozen, killed and started again."""

    def __init__(self, store: str, public_url: str) -> None:
        self.port = free_port()
        options = ("--port", f"{self.port}", "--behind-proxy", public_url, "--no-link", "--log", "none")
        self._command = (*ASKDESK, "serve", *options, "--store", store)
        self._process: subprocess.Popen[str] | None = None

    def lives(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=surroundings())

    def listens(self) -> None:
        """Wait until it does."""
        assert self._process
        assert self._process.stdout
        assert self._process.stdout.readline(), f"no server came up at port {self.port}"

    def send(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    @property
    def unread(self) -> int:
        """On how many connections something lies that it has not read."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ours = [row for row in rows if row[1].endswith(f":{self.port:04X}") and row[3] == _ESTABLISHED]
        return sum(not row[4].endswith(":00000000") for row in ours)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.communicate(timeout=SECONDS)
            self._process = None


@dataclass
class Balanced:
    """Servers behind one address, and their desk as a process of its own sees it."""

    url: str
    plain_url: str
    certificate: Path
    log: Path
    servers: tuple[Server, ...]
    desk: Desk

    async def token(self, kind: tokens.Kind) -> str:
        return (await tokens.new_token(self.desk.shelf, kind, "ana", now=self.desk.now()))[1]

    async def link(self) -> str:
        return f"{self.url}/sign-in?code={await tokens.new_link(self.desk.shelf, 'ana', now=self.desk.now())}"

    @asynccontextmanager
    async def client(self, kind: tokens.Kind) -> AsyncIterator[httpx2.AsyncClient]:
        """A program with a token of its own, that knows nothing but HTTP."""
        headers = {"Authorization": f"Bearer {await self.token(kind)}"}
        trust = ssl.create_default_context(cafile=str(self.certificate))
        async with httpx2.AsyncClient(base_url=self.url, verify=trust, headers=headers, timeout=SECONDS) as client:
            yield client

    async def counts(self, name: str, at_least: int = 0) -> dict[Server, int]:
        """What each server that lives counts, once it is so many at all of them: asked by address, as monitors do."""
        headers = {"Authorization": f"Bearer {await self.token('answerer')}"}
        counted: dict[Server, int] = {}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as monitor, asyncio.timeout(SECONDS):
            while not counted or sum(counted.values()) < at_least:
                for server in filter(Server.lives, self.servers):
                    text = (await monitor.get(f"http://127.0.0.1:{server.port}/metrics")).text
                    counted[server] = int(text.partition(f"\n{name} ")[2].partition("\n")[0])
        return counted


@asynccontextmanager
async def balanced(store: str, folder: Path, *, servers: int) -> AsyncIterator[Balanced]:
    port, plain = free_port(), free_port()
    url = f"https://localhost:{port}"
    started = tuple(Server(store, url) for _ in range(servers))
    log = _configured(folder, port, plain, started)
    certificate = folder / "askdesk.pem"
    try:
        for server in started:
            server.start()
        with _nginx(folder):
            for server in started:
                server.listens()
            async with open_desk(store) as desk:
                yield Balanced(url, f"http://localhost:{plain}", certificate, log, started, desk)
    finally:
        for server in started:
            server.end()


def _configured(folder: Path, port: int, plain: int, servers: tuple[Server, ...]) -> Path:
    """Everything that nginx needs, in a folder; and where its log of requests will be."""
    _make_certificate(folder)
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    for ours, here in _CHANGED.items():
        assert ours in text
        text = text.replace(ours, here.format(port=port, plain=plain, folder=folder))
    (folder / "askdesk.conf").write_text(text)
    line = (DEPLOY / "askdesk-servers.conf").read_text("utf-8").splitlines()[-1]
    lines = [line.replace("127.0.0.1:8703", f"127.0.0.1:{server.port}") for server in servers]
    (folder / "askdesk-servers.conf").write_text("\n".join(lines))
    user = "user root;" if os.geteuid() == 0 else ""  # whom the folder belongs to
    (folder / "nginx.conf").write_text(_AROUND.format(user=user))
    return folder / "requests.log"


def _make_certificate(folder: Path) -> None:
    names = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    files = f"-keyout {folder}/askdesk.key -out {folder}/askdesk.pem"
    make = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 {files} {names}"
    subprocess.run(make.split(), check=True, capture_output=True)


@contextmanager
def _nginx(folder: Path) -> Iterator[None]:
    command = (
        program("nginx", "nginx-light"),
        "-p",
        f"{folder}",
        "-c",
        f"{folder}/nginx.conf",
        "-e",
        f"{folder}/errors.log",
    )
    tested = subprocess.run((*command, "-t"), capture_output=True, text=True, check=False)
    assert (tested.returncode, "[warn]" in tested.stderr) == (0, False), tested.stderr
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.terminate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
