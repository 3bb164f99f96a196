"""A real PgBouncer before a cluster of our own: what many put between their servers and PostgreSQL.

with Bouncer(cluster, pool_mode="transaction") as bouncer:
    url = bouncer.url(cluster.database())
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, Self

import pytest
from tests.postgres import Cluster, free_port, user

_SECONDS = 30.0


@cache
def executable() -> str:
    """Where PgBouncer is: installed where it may be, and a test that needs it fails where it may not."""
    if not (found := _installed()) and os.geteuid() == 0 and shutil.which("apt-get"):
        print("no PgBouncer here: apt-get install -y pgbouncer", file=sys.stderr)
        subprocess.run(("apt-get", "update"), check=False, stdout=sys.stderr)
        subprocess.run(
            ("apt-get", "install", "-y", "--no-install-recommends", "pgbouncer"), check=False, stdout=sys.stderr
        )
        found = _installed()
    return found or pytest.fail("these tests need PgBouncer: pgbouncer is not on the PATH")


def _installed() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")


class Bouncer:
    """With two connections to each database, so that whoever comes through it shares them."""

    def __init__(self, cluster: Cluster, **options: object) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="askdesk-pgbouncer-"))
        self._user = user()
        self._process: subprocess.Popen[bytes] | None = None
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "default_pool_size": 2,
            "max_client_conn": 500,
            **options,
        }
        lines = ["[databases]", f"* = host=127.0.0.1 port={cluster.port} user=ana", "[pgbouncer]"]
        (self.folder / "ini").write_text(
            "\n".join([*lines, *(f"{name} = {value}" for name, value in settings.items())])
        )
        if self._user:
            for path in (self.folder, self.folder / "ini"):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        user: dict[str, Any] = {}
        if self._user:
            user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with open(self.folder / "log", "ab") as log:
            command = (executable(), "-q", str(self.folder / "ini"))
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **user)
        end = time.monotonic() + _SECONDS
        while not self._listens():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "PgBouncer did not start"
            time.sleep(0.01)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """At once, whoever is connected."""
        assert self._process
        self._process.kill()
        self._process.wait()

    def url(self, url: str) -> str:
        """The way to a database through it."""
        return f"postgresql://ana@127.0.0.1:{self.port}/{url.rpartition('/')[2]}"
