"""Real peers from npm for tests: agents, editors and clients of other people, and the Node that runs them.

`tests/npm/package.json` pins them. They are installed once for each machine, on first use, into the user's cache
folder, under a name made of what is pinned: later runs, other clones and all workers of one run share them.

    subprocess.run((node(), node_modules() / "acpx" / "dist" / "cli.js", "--version"))
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

PINNED = Path(__file__).parent / "npm" / "package.json"
SECONDS = 420.0  # a bound for half a minute's work
INSTALL = (
    *("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier"),
    *("--loglevel=error", "--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"),
    "--fetch-timeout=60000",
)
AROUND = dict(os.environ)  # as the run found it: a test has a home of its own, and npm's settings are not there


def node_modules() -> Path:
    """The folder with all peers, installed where they are not; a test that needs them fails where they cannot be."""
    folder, trouble = _installed()
    if trouble:
        pytest.fail(trouble, pytrace=False)
    return folder / "node_modules"


def node() -> Path:
    """The Node that the peers need, whatever the machine has."""
    for found in node_modules().glob("node-*/bin/node"):
        return found
    return pytest.fail(f"these tests need Node, and {PINNED} pins none for {_machine()}", pytrace=False)


@cache
def _installed() -> tuple[Path, str]:
    """Where they are, and what went wrong: once for this process, as the next test would wait as long for the same."""
    named = hashlib.sha256(PINNED.read_bytes() + _machine().encode()).hexdigest()[:16]
    folder = _cache() / named
    with _alone(folder.with_suffix(".lock")):
        return folder, "" if folder.exists() else _install(folder)


def _install(folder: Path) -> str:
    part = folder.with_suffix(".part")  # of an installation that was stopped, if it is there
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    shutil.copy(PINNED, part)
    print(f"installing the peers of the tests into {folder} (only this once)", file=sys.stderr)
    try:
        done = subprocess.run(
            INSTALL, cwd=part, env=AROUND, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        return f"these tests need npm, which is not on the PATH, to install {PINNED}"
    except subprocess.TimeoutExpired:
        return f"these tests need {PINNED}: npm did not install it in {SECONDS:.0f} s; is its registry within reach?"
    if done.returncode:
        return f"these tests need {PINNED}: npm could not install it; is its registry within reach?\n{done.stderr}"
    part.rename(folder)
    return ""


def _cache() -> Path:
    home = AROUND.get("XDG_CACHE_HOME") or Path(AROUND.get("HOME") or Path.home()) / ".cache"
    folder = Path(home) / "askdesk-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}"


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Whoever comes second waits, and finds the work done."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
