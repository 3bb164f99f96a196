"""A server in a process of its own: prints its port and its tokens as JSON, then serves until a signal.

Arguments: the store's path, the event loop (asyncio or uvloop), how many files it may have open (0: as many as here).
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.server import tokens
from askdesk.server.run import Address, serve
from askdesk.server.service import Service
from askdesk.stores.sqlite import SQLiteStore


async def main(path: str, files: int) -> None:
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    desk = Desk(await SQLiteStore.open(path))
    address = Address(port=0)
    listening = address.listen()
    port = listening.getsockname()[1]
    service = Service(desk, address.url(port), limits=OPEN)
    asker, answerer = [
        (await tokens.new_token(desk.shelf, kind, "ana", now=desk.now()))[1] for kind in ("asker", "answerer")
    ]
    print(json.dumps({"port": port, "asker": asker, "answerer": answerer}), flush=True)
    await serve(service, address, listening)
    await desk.close()


class Launched(NamedTuple):
    process: asyncio.subprocess.Process
    port: int
    asker: str
    answerer: str

    async def ended(self) -> tuple[int | None, str]:
        """The exit code and all that it wrote to stderr."""
        _, stderr = await self.process.communicate()
        return self.process.returncode, stderr.decode()

    def memory(self) -> int:
        """Bytes of it that lie in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def seconds(self) -> float:
        """How long it has used a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@asynccontextmanager
async def launched(path: Path, loop: str = "asyncio", files: int = 0) -> AsyncIterator[Launched]:
    command = (sys.executable, "-m", "tests.server.launch", str(path), loop, str(files))
    pipe = asyncio.subprocess.PIPE
    folder = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, cwd=folder)
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(await process.stdout.readline() or b"{}")
    assert told, await process.communicate()
    try:
        yield Launched(process, **told)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


if __name__ == "__main__":
    _, store, loop, files = sys.argv
    if loop == "uvloop":
        import uvloop

        uvloop.run(main(store, int(files)))
    else:
        asyncio.run(main(store, int(files)))
