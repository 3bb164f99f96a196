"""How long a hook's process takes to submit a question and get its answer, against an interpreter that does nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import Ratio, timed

from askdesk.adapters.claude_hook import ClaudeHook
from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.core.model import Answer, Answered
from askdesk.server import hooks
from askdesk.stores.sqlite import SQLiteStore
from askdesk.wire import hook

_CLIENT = str(Path(hooks.__file__).parent.parent / "cli" / "hook_client.py")
_EVENT = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "session_id": "bench",
        "cwd": "/srv/app",
        "tool_name": "AskUserQuestion",
        "tool_use_id": "toolu_bench",
        "tool_input": {
            "questions": [
                {
                    "question": "Which database?",
                    "header": "Database",
                    "options": [{"label": name, "description": f"{name} it is"} for name in ("SQLite", "Postgres")],
                    "multiSelect": False,
                }
            ]
        },
    }
).encode()


def measure(rounds: int) -> list[Ratio]:
    """With a server, and without: the question was answered before, so that nobody is waited for."""
    with TemporaryDirectory() as folder:
        store = Path(folder) / "desk.db"
        asyncio.run(_answer(store))
        with _serving(store) as socket:
            live = _measured("hook, with a server; its question was answered before", 1.5, rounds, str(socket), store)
        return [live, _measured("the same, without a server", 12, max(rounds // 4, 2), "-", store)]


def _measured(name: str, aim: float, rounds: int, socket: str, store: Path) -> Ratio:
    floor, ours = [], []
    python = (sys.executable, "-I", "-S")
    for _ in range(rounds):
        floor.append(timed(lambda: _run(*python, "-c", "pass")))
        ours.append(timed(lambda: _answered(_run(*python, _CLIENT, socket, "desk", "600", str(store)))))
    return Ratio(name, "python -I -S -c pass", aim, floor, ours)


def _run(*command: str) -> bytes:
    return subprocess.run(command, input=_EVENT, check=True, stdout=subprocess.PIPE).stdout


def _answered(said: bytes) -> None:
    assert b'"answers":{"Which database?":"SQLite"}' in said, said


async def _answer(store: Path) -> None:
    desk = Desk(await SQLiteStore.open(store))
    event = hook.read(_EVENT)
    ask = await desk.post(event.body(), asker=event.asker(), key=event.call, preview_format="markdown")
    await desk.settle(ask.id, Answered([Answer(["SQLite"])]), by="ana", surface="bench")
    await desk.close()


@contextmanager
def _serving(store: Path) -> Iterator[Path]:
    """A server's socket, in a process of its own."""
    socket = Path(f"{store}.sock")
    process = subprocess.Popen([sys.executable, "-m", "bench.hook", str(store)], stdin=subprocess.PIPE)
    try:
        while not socket.is_socket():
            assert process.poll() is None
            time.sleep(0.01)
        yield socket
    finally:
        process.communicate()


async def _serve(store: Path) -> None:
    desk = Desk(await SQLiteStore.open(store))
    async with hooks.answering(ClaudeHook(desk, by="ana"), Path(f"{store}.sock"), OPEN):
        await asyncio.to_thread(sys.stdin.read)
    await desk.close()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
