"""A desk server in a process of its own, which can be killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path


class Server:
    """On one port and one store; settings are variables of its environment. What it says goes to a log, or to ours."""

    def __init__(self, store: str, log: Path | None = None, **settings: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._store, self._log, self._settings = store, log, settings
        self._process: subprocess.Popen[str] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        options = ["--port", str(self.port), "--no-link", "--log", "none", "--store", self._store]
        command = [sys.executable, "-m", "askdesk.cli.main", "serve", *options]
        self._process = await asyncio.to_thread(self._started, command, os.environ | self._settings)

    def _started(self, command: list[str], surroundings: dict[str, str]) -> subprocess.Popen[str]:
        """The process, once it has told its address."""
        with self._log.open("ab") if self._log else nullcontext() as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=surroundings)
        assert process.stdout
        if not process.stdout.readline():
            raise AssertionError(f"a server ended before it served: {' '.join(command)}")
        return process

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()
            self._process = None
