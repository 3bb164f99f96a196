"""Runs the server: the socket, uvicorn, signals, and an end within two seconds."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import uvicorn

from askdesk.core.errors import InvalidSettings, Problem
from askdesk.server.app import application
from askdesk.server.guard import Origins
from askdesk.server.protocol import Protocol
from askdesk.server.service import Service

log = logging.getLogger(__name__)

PORT = 8700
_ORIGIN = re.compile(r"https://([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?", re.ASCII)
_BACKLOG = 2048
_MOST_UNREAD = 131_072  # bytes
_ACCEPTED_AT_ONCE = 16  # by asyncio, before it looks at any: with more, it would run out of files before it knows
_GOODBYE_SECONDS = 1  # for requests that are being answered; streams and waits are ended at once
_LOOK_SECONDS = 0.005  # and so often it is seen whether they were


class Address(NamedTuple):
    """Where the server listens, and what makes it fit to."""

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    public_url: str | None = None  # behind a proxy: how people and agents reach it

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self) -> None:
        """Refuse to start where tokens would cross a network in the clear."""
        problems = []
        if not 0 <= self.port <= 65_535:
            problems.append(Problem("--port", f"must be a number from 0 to 65535, is {self.port}"))
        if (self.certificate is None) != (self.key is None):
            problems.append(Problem("--tls-cert, --tls-key", "go together"))
        if not (self.is_loopback or self.certificate or self.public_url):
            problems.append(
                Problem(
                    f"--host {self.host}",
                    "others could read every token on the way: give --tls-cert and --tls-key, or --behind-proxy URL "
                    "where something in front of it speaks TLS",
                )
            )
        for path in (self.certificate, self.key):
            if path and not path.is_file():
                problems.append(Problem(str(path), "there is no such file"))
        if self.public_url and not _ORIGIN.fullmatch(self.public_url):
            problems.append(Problem("--behind-proxy", f"must be the https:// URL of the desk, is {self.public_url}"))
        if problems:
            raise InvalidSettings(problems)

    def listen(self) -> socket.socket:
        """The socket; where the port is taken, words that say so."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listening = socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            number = error.errno or 0  # below 0 where it is the name that cannot be found
            why = f"cannot be listened on: {os.strerror(number) if number > 0 else error}; --port names another"
            raise InvalidSettings([Problem(f"{self.host}:{self.port}", why)]) from None
        # For all that connect: an answer is written in two parts, and the second must not wait 40 ms for a receipt of
        # the first. asyncio leaves it off for sockets that do not say that they are TCP, as those of create_server.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # And so much, not megabytes, for each client that does not read what it is sent.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_UNREAD)
        listening.setblocking(False)
        return listening

    def url(self, port: int) -> str:
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        if host in ("0.0.0.0", "[::]"):  # noqa: S104 - to be named, not listened on
            host = socket.gethostname()
        return f"{'https' if self.certificate else 'http'}://{host}:{port}"


async def serve(service: Service, address: Address, listening: socket.socket) -> None:
    """Until SIGINT or SIGTERM."""
    _allow_more_files()
    await Server(configured(service, address), service, signals=(signal.SIGINT, signal.SIGTERM)).serve([listening])


def _allow_more_files() -> None:
    """As many as the system lets this process have: each connection is one."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # where there is a most that is not told
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@asynccontextmanager
async def beside(service: Service, address: Address, listening: socket.socket) -> AsyncIterator[Server]:
    """A server beside other work, until the block ends; signals are not its business."""
    server = Server(configured(service, address), service)
    serving = asyncio.ensure_future(server.serve([listening]))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        yield server
    finally:
        server.stop()
        await serving


def configured(service: Service, address: Address) -> uvicorn.Config:
    origins = Origins.of(service.url, loopback=address.is_loopback and not address.public_url)
    return uvicorn.Config(
        application(service, origins),
        http=Protocol,
        ws="none",
        backlog=_ACCEPTED_AT_ONCE,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who somebody is comes from their token alone
        timeout_keep_alive=75,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )


class Server(uvicorn.Server):
    """Ends streams as soon as it is told to stop: uvicorn would wait for them, and they for ever."""

    def __init__(self, config: uvicorn.Config, service: Service, signals: tuple[int, ...] = ()) -> None:
        super().__init__(config)
        self._service, self._signals = service, signals
        self._told = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Handled here and not raised again afterwards: whoever called has things to put away."""
        loop = asyncio.get_running_loop()
        for number in self._signals:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in self._signals:
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    async def main_loop(self) -> None:
        """Once a second, where uvicorn wakes ten times, and until the very moment when it is told to stop."""
        while not await self.on_tick(0):
            self.look(asyncio.get_running_loop().time())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Until what is being answered has been, and no moment longer: uvicorn looks only ten times a second."""
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                while self._is_answering() and not self.force_exit:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            log.warning("Stopped while %d requests were being answered", len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()

    def _is_answering(self) -> bool:
        """Also whoever has just come is told to go."""
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        is_ending = self._ending is not None and not self._ending.done()
        return is_ending or bool(self.server_state.connections or self.server_state.tasks)

    def look(self, now: float) -> None:
        """Look after all connections; see Protocol.look."""
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, Protocol):
                connection.look(now)

    def stop(self) -> None:
        """Once, to come to an end; twice, to come to it at once."""
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        self._told.set()
        self._ending = asyncio.ensure_future(self._service.end())
