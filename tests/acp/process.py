"""`askdesk acp` as an editor starts it: a process of its own, on a desk in a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.acp.editor import SECONDS, Editor
from tests.claude.cli import Claude
from tests.cli.command import ASKDESK, surroundings


class Started:
    """The process, and the editor that speaks with it."""

    def __init__(self, process: asyncio.subprocess.Process, editor: Editor, errors: Path) -> None:
        self.process, self.editor, self._errors = process, editor, errors

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def children(self) -> list[int]:
        """The processes that it started and that still run."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in path.read_text().split()] if path.exists() else []


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()


@asynccontextmanager
async def started(claude: Claude, *options: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Started]:
    errors = claude.home / "errors.txt"
    with errors.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *ASKDESK,
            "acp",
            *options,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
            env=surroundings({**claude.env, "ASKDESK_BY": "ana", **(env or {})}),
        )
    assert process.stdin
    assert process.stdout
    editor = Editor(process.stdout, process.stdin)
    running = asyncio.ensure_future(editor.peer.run())
    try:
        yield Started(process, editor, errors)
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await asyncio.wait((running,), timeout=SECONDS)
    assert editor.unlawful == []
