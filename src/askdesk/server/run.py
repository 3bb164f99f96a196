"""Runs the server: the socket, uvicorn, signals, and an end within two seconds."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
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
_GOODBYE_SECONDS = 1  # for requests that are being answered; streams and waits are ended at once


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
        if self.public_url and not self.public_url.startswith("https://"):
            problems.append(Problem("--behind-proxy", f"must be the https:// URL of the desk, is {self.public_url}"))
        if problems:
            raise InvalidSettings(problems)

    def listen(self) -> socket.socket:
        """The socket; where the port is taken, words that say so."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listening = socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            raise InvalidSettings(
                [Problem(f"{self.host}:{self.port}", f"cannot be listened on: {error.strerror}; --port names another")]
            ) from None
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
    await Server(configured(service, address), service, signals=(signal.SIGINT, signal.SIGTERM)).serve([listening])


def configured(service: Service, address: Address) -> uvicorn.Config:
    origins = Origins.of(service.url, loopback=address.is_loopback and not address.public_url)
    return uvicorn.Config(
        application(service, origins),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who somebody is comes from their token alone
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GOODBYE_SECONDS,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )


class Server(uvicorn.Server):
    """Ends streams as soon as it is told to stop: uvicorn would wait for them, and they for ever."""

    def __init__(self, config: uvicorn.Config, service: Service, signals: tuple[int, ...] = ()) -> None:
        super().__init__(config)
        self._service, self._signals = service, signals
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

    def stop(self) -> None:
        """Once, to come to an end; twice, to come to it at once."""
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        self._ending = asyncio.ensure_future(self._service.end())
