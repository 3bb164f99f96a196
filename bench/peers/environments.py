"""Where a peer's program runs: an environment of its own, made once for each machine in the user's cache folder.

It is named by a hash of what is pinned, so later runs and other clones share it, and nothing ever gets into `.venv`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_SECONDS = 600.0  # a bound for half a minute's work
_PIP = ("install", "--quiet", "--disable-pip-version-check", "--compile")
_NPM = (
    *("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier"),
    *("--loglevel=error", "--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"),
)


class NotInstalled(Exception):
    """For whoever reads the table: why a peer is not in it."""


class Environment(NamedTuple):
    """What runs a program, and what was installed for it."""

    python: Path
    modules: Path | None
    megabytes: float


def prepared(requirements: str, *, npm: bool = False) -> Environment:
    """The environment with these requirements, each a line as pip takes them, and the pinned servers from npm."""
    folder = _made(requirements, lambda folder: _install(folder, requirements))
    modules = _modules() if npm else None
    installed = [*folder.glob("lib/python*/site-packages"), *([modules] if modules else [])]
    return Environment(folder / "bin" / "python", modules, sum(size(place) for place in installed))


def pinned(name: str) -> str:
    return (_HERE / "requirements" / f"{name}.txt").read_text()


def _modules() -> Path:
    package = _HERE / "npm" / "package.json"

    def install(folder: Path) -> None:
        folder.mkdir()
        shutil.copy(package, folder)
        _run(*_NPM, folder=folder)

    return _made(package.read_text(), install) / "node_modules"


def _install(folder: Path, requirements: str) -> None:
    """Without a pip of its own: what is in there is what the peer needs."""
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    wanted = folder / "requirements.txt"
    wanted.write_text(requirements)
    _run(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), *_PIP, "-r", str(wanted))


def _made(of: str, make: Callable[[Path], None]) -> Path:
    """The folder named by what it is made of; made by whoever comes first."""
    what = f"{of}{platform.system()} {platform.machine()} {platform.python_version()}"
    folder = _cache() / hashlib.sha256(what.encode()).hexdigest()[:16]
    stamp = folder.with_suffix(
        ".made"
    )  # beside it: an environment holds its own path, so it cannot be moved into place
    with _alone(folder.with_suffix(".lock")):
        if not stamp.exists():
            print(f"bench: installing into {folder} (only this once)", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)  # of an installation that was stopped, if it is there
            make(folder)
            stamp.touch()
    return folder


def _run(*command: str, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise NotInstalled(f"{command[0]} is not on the PATH") from None
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{command[0]} took longer than {_SECONDS:.0f} s") from None
    if done.returncode:
        raise NotInstalled((done.stderr.strip().splitlines() or ["it failed without a word"])[-1])


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askdesk-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def size(folder: Path) -> float:
    """Megabytes of its files, but for compiled ones, which are made where they are missing."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc") / 1e6


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Whoever comes second waits, and finds the work done."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
