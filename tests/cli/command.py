"""Runs the real command as a program would, and looks into its desk."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from askdesk.core.desk import Body
from askdesk.core.model import Ask, Asker, Entry, Reply, Settlement
from askdesk.open import open_desk

ASKDESK = (sys.executable, "-m", "askdesk.cli.main")
SECONDS = 30.0  # a bound for what should take a fraction of one

DATABASE: dict[str, Any] = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "SQLite", "description": "One file"},
                {"label": "Postgres", "description": "A server"},
            ],
            "multiSelect": False,
        }
    ]
}
TWO: dict[str, Any] = {
    "questions": [
        *DATABASE["questions"],
        {
            "question": "Which parts?",
            "header": "Parts",
            "options": [
                {"label": "Sign-in", "description": "Accounts"},
                {"label": "Logging", "description": "Lines"},
            ],
            "multiSelect": True,
        },
    ]
}
CALL: dict[str, Any] = {"command": "rm -r build", "timeout": 5}


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of this test, without what would change how Python reads and writes."""
    python = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in python} | dict(more or {})


def askdesk(*arguments: str, typed: str | bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
    """Run a command to its end, without a terminal. Whatever happens, it shows nobody a traceback."""
    done = subprocess.run(
        [*ASKDESK, *arguments],
        input=typed.encode() if isinstance(typed, str) else typed,
        capture_output=True,
        env=surroundings(env),
        timeout=SECONDS,
        start_new_session=True,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert_no_traceback(ran.err)
    return ran


def unread(*arguments: str) -> Ran:
    """Run a command whose result goes to a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*ASKDESK, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=surroundings(),
        timeout=SECONDS,
        check=False,
    )
    os.close(writer)
    ran = Ran(done.returncode, "", done.stderr.decode())
    assert_no_traceback(ran.err)
    return ran


def in_shell(redirection: str, *arguments: str) -> Ran:
    """Run a command with a redirection that only a shell can make, like `>&-`."""
    script = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *ASKDESK, *arguments],
        capture_output=True,
        env=surroundings(),
        timeout=SECONDS,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert_no_traceback(ran.err)
    return ran


def assert_no_traceback(text: str) -> None:
    for trace in ("Traceback", "Exception ignored", "Error:", "Warning:", "never awaited"):
        assert trace not in text, text


def in_file(folder: Path, value: object, name: str = "given.json") -> str:
    """A file that holds a value as JSON, or bytes as they are."""
    path = folder / name
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return str(path)


def posted(body: Body, **fields: Any) -> Ask:
    """An ask on the desk that the settings name."""

    async def post() -> Ask:
        async with open_desk() as desk:
            return await desk.post(body, **{"asker": Asker("builder", project="app"), **fields})

    return asyncio.run(post())


def kept(ask_id: str) -> Entry:
    """What the desk keeps of an ask."""

    async def get() -> Entry:
        async with open_desk() as desk:
            return await desk.get(ask_id)

    return asyncio.run(get())


def kept_asks() -> list[Entry]:
    """Everything that the desk keeps: open asks, then settled ones."""

    async def get() -> list[Entry]:
        async with open_desk() as desk:
            return [*[entry async for entry in desk.each("open")], *[entry async for entry in desk.each("settled")]]

    return asyncio.run(get())


def settled(ask: Ask, reply: Reply, by: str = "ana", surface: str = "elsewhere") -> Settlement:
    """Settle an ask as somebody else would."""

    async def settle() -> Settlement:
        async with open_desk() as desk:
            digest = ask.permission.digest if ask.permission else None
            return await desk.settle(ask.id, reply, by=by, surface=surface, digest=digest)

    return asyncio.run(settle())


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
