"""A desk server in a process of its own, on one port, that can be killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import IO

from askdesk.open import AGENT_VARIABLES


class Server:
    def __init__(self, store: str, errors: IO[str] | None = None) -> None:
        """The desk it serves, and where it says what is wrong: on standard error, unless told otherwise."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._store, self._errors = store, errors
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Ready when this returns."""
        surroundings = {name: value for name, value in os.environ.items() if name not in AGENT_VARIABLES}
        options = ["--port", str(self.port), "--no-link", "--log", "none", "--store", self._store]
        command = [sys.executable, "-m", "askdesk.cli.main", "serve", *options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=surroundings
        )
        assert self._process.stdout
        self._process.stdout.readline()  # its address

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()
            self._process = None
