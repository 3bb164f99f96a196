"""On what was measured: the kind of machine and the versions of everything, never whose machine it is."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import apsw
from tests.browser import NAMES
from tests.postgres import programs

_PACKAGES = ("askdesk", "apsw", "asyncpg", "httptools", "mcp", "msgspec", "starlette", "textual", "uvicorn", "uvloop")


def machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{os.cpu_count()} x {_processor()}",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        "disk": f"{_file_system()} that writes 4 kB through in {_write_through() * 1000:.2f} ms",
    }


def is_in_memory() -> bool:
    """Whether what is called durable here would be gone with the power."""
    return _file_system() in ("tmpfs", "ramfs")


def _file_system() -> str:
    """Of the folder in which stores are made."""
    told = subprocess.run(
        ("stat", "--file-system", "--format=%T", tempfile.gettempdir()), capture_output=True, text=True, check=False
    )
    return told.stdout.strip().replace("ext2/ext3", "ext4") or "a disk"  # they share a number


def _write_through() -> float:
    """Seconds, the median."""
    took = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(200):
            started = time.perf_counter()
            file.write(bytes(4096))
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            took.append(time.perf_counter() - started)
    return median(took)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    return {
        "Python": platform.python_version(),
        "SQLite": apsw.sqlite_lib_version(),
        "PostgreSQL": _told(str(programs() / "postgres")),
        **({"Chromium": _told(chromium)} if chromium else {}),
        **{name: version(name) for name in _PACKAGES},
    }


def _told(program: str) -> str:
    """The number in what it says of itself: a name, the number, perhaps more."""
    said = subprocess.run((program, "--version"), capture_output=True, text=True, check=True).stdout
    return next(word for word in said.split() if word[0].isdigit())
