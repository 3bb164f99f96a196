"""A real Chromium for tests, servers on loopback that count who comes, and a record of all that a page tries.

One Chromium runs for the whole session. Each test talks to it over a connection of its own, on its own event loop, so
that desk, server and person stand in one `async def`; whatever it opened there is gone when the test ends:

    async def test_a_page(browser: Browser) -> None:
        page = await browser.new_page()
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, NamedTuple, Self

import pytest
from playwright.async_api import Browser, Dialog, Error, Frame, Page, Request, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
PATIENCE = 30  # seconds, for what takes a moment on a quiet machine


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Chromium that lives as long as the session."""
    config = tmp_path_factory.mktemp("chromium") / "launch.json"
    config.write_text(json.dumps({"executablePath": executable(), "args": ARGUMENTS, "headless": True}))
    command = (sys.executable, "-m", "playwright", "launch-server", "--browser", "chromium", "--config", str(config))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        assert server.stdout
        try:
            address = server.stdout.readline().strip()
            if not address.startswith("ws://"):
                pytest.fail(f"Chromium did not start: {' '.join(command)}")
            yield address
        finally:
            os.killpg(server.pid, signal.SIGTERM)  # the command itself does not pass a signal on to its browser


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """A connection to it, with contexts of its own."""
    async with async_playwright() as playwright:
        connected = await playwright.chromium.connect(chromium)
        yield connected
        await connected.close()


def executable() -> str:
    """Where Chromium is: installed where it may be, and a test that needs it fails where it may not."""
    if not (found := _installed()) and os.geteuid() == 0 and shutil.which("apt-get"):
        print("no Chromium here: apt-get install -y chromium", file=sys.stderr)
        subprocess.run(("apt-get", "update"), check=False, stdout=sys.stderr)
        subprocess.run(("apt-get", "install", "-y", "chromium"), check=False, stdout=sys.stderr)
        found = _installed()
    return found or pytest.fail(f"these tests need Chromium: none of {', '.join(NAMES)} is on the PATH")


def _installed() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Answer(NamedTuple):
    body: bytes = b""
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = {}


class Site:
    """A server on loopback that answers a path with what a function gives, and keeps what it was asked."""

    def __init__(self, answer: Callable[[str], Answer]) -> None:
        self.answer = answer
        self.connections = 0
        self.requests: list[str] = []  # "GET /path"
        self._open: set[socket] = set()
        self._changed = threading.Condition()
        site = self

        class Handler(_Handler):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(site, *arguments)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._changed:
            for connection in self._open:
                with suppress(OSError):  # it has just gone by itself
                    connection.shutdown(SHUT_RDWR)
            self._changed.wait_for(lambda: not self._open, PATIENCE)

    def has(self, *requests: str, seconds: float = PATIENCE) -> bool:
        """Waits until it was asked all of these; False where that did not happen. It blocks: call it in a thread."""
        with self._changed:
            return self._changed.wait_for(lambda: set(requests) <= set(self.requests), seconds)

    def connected(self, connection: socket) -> None:
        with self._changed:
            self.connections += 1
            self._open.add(connection)

    def left(self, connection: socket) -> None:
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def asked(self, request: str) -> Answer:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return self.answer(request.split(" ")[-1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connection: socket

    def __init__(self, site: Site, *arguments: Any) -> None:
        self._site = site
        super().__init__(*arguments)

    def setup(self) -> None:
        super().setup()
        self._site.connected(self.connection)

    def finish(self) -> None:
        super().finish()
        self._site.left(self.connection)

    def handle(self) -> None:
        with suppress(OSError):  # the browser has gone
            super().handle()

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        if not parsed:  # not HTTP; BaseHTTPRequestHandler has said so
            self._site.asked(f"? {self.requestline}")
        return parsed

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):  # whatever the method is
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self._site.asked(f"{self.command} {self.path}")
        self.send_response(200)
        headers = {"Content-Type": answer.type, "Content-Length": str(len(answer.body)), "Cache-Control": "no-store"}
        for header, value in (headers | dict(answer.headers)).items():
            self.send_header(header, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        pass


_PIXEL = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".gif": "image/gif", ".svg": "image/svg+xml"}


class Canary(Site):
    """Where nothing should arrive: it welcomes everybody, and whoever connects, with or without a word, has leaked."""

    def __init__(self) -> None:
        super().__init__(_welcome)

    @property
    def paths(self) -> list[str]:
        return [request.split(" ", 1)[1] for request in self.requests]


def _welcome(path: str) -> Answer:
    kind = _TYPES.get(Path(path.partition("?")[0]).suffix, "text/html")
    return Answer(_PIXEL if kind == "image/gif" else b"", kind, {"Access-Control-Allow-Origin": "*"})


@dataclass
class Watch:
    """What a page and all in it did, since it is watched."""

    dialogs: list[str] = field(default_factory=list)
    navigations: list[tuple[str, str]] = field(default_factory=list)  # ("top" or "sub", where to)
    popups: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)  # to anything but the allowed origin, blocked ones too


def watch(page: Page, allowed: str) -> Watch:
    """Records from now on; dialogs are dismissed, as they would stop the page."""
    seen = Watch()

    async def dialog(opened: Dialog) -> None:
        seen.dialogs.append(f"{opened.type}: {opened.message}")
        with suppress(Error):  # its page has gone
            await opened.dismiss()

    def navigation(frame: Frame) -> None:
        seen.navigations.append(("sub" if frame.parent_frame else "top", frame.url))

    def request(made: Request) -> None:
        if not made.url.startswith((f"{allowed}/", "data:")):
            seen.requests.append(made.url)

    page.on("framenavigated", navigation)
    page.context.on("page", lambda opened: seen.popups.append(opened.url))
    page.context.on("dialog", dialog)
    page.context.on("console", lambda message: seen.console.append(message.text))
    page.context.on("weberror", lambda error: seen.errors.append(str(error.error)))
    page.context.on("request", request)
    return seen
