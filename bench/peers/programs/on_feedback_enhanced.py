"""mcp-feedback-enhanced: an agent that calls its tool over MCP, a person who answers on its WebSocket as its page does.

Timed from the call until its result is there. The page stays open, as it would in a browser; no browser is started.
Woken is the result too: the server tells nobody when it has the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import websockets
from speaking import AGENT_GONE, ANSWER, QUESTION, Times, given, speak_async, versions
from tool_server import ToolServer


class Agent:
    def __init__(self, server: ToolServer, port: int) -> None:
        self._server, self._page = server, Page(port)
        self._calls: list[asyncio.Task[str]] = []

    async def exchange(self, pause: float) -> Times:
        came = time.perf_counter()
        call = self._asked()
        await self._page.shown()
        await asyncio.sleep(pause)
        answered = time.perf_counter()
        await self._page.answer()
        assert ANSWER in await call
        had = time.perf_counter()
        return Times(came, answered, had, had)

    async def wait(self, count: int) -> list[str]:
        self._calls = [self._asked() for _ in range(count)]
        for _ in range(count):
            await self._page.shown()
        return [str(number) for number in range(count)]

    async def finish(self, ids: list[str]) -> int:
        """Its page shows one question, the latest: so there is one that can be answered."""
        if not self._calls:  # they were of another process, and this one has no page before it is asked something
            return 0
        await self._page.answer()
        done, _ = await asyncio.wait(self._calls, timeout=AGENT_GONE)
        return sum(ANSWER in call.result() for call in done)

    def _asked(self) -> asyncio.Task[str]:
        summary = f"{QUESTION['question']}\n\n- Postgres\n- SQLite"
        return asyncio.create_task(self._server.call("interactive_feedback", summary=summary, timeout=86_400))


class Page:
    """What its page does on its WebSocket: hears of each question, and sends what was written."""

    def __init__(self, port: int) -> None:
        self._url = f"ws://127.0.0.1:{port}/ws?lang=en"
        self._socket: Any = None
        self._seen: set[str] = set()  # it may be told of the same question twice

    async def shown(self) -> None:
        """Until it shows another question."""
        if self._socket is None:
            self._socket = await self._connected()
        count = len(self._seen)
        while len(self._seen) == count:
            message = json.loads(await self._socket.recv())
            if message["type"] == "session_updated":
                self._seen.add(message["session_info"]["session_id"])

    async def answer(self) -> None:
        await self._socket.send(
            json.dumps({"type": "submit_feedback", "feedback": ANSWER, "images": [], "settings": {}})
        )

    async def _connected(self) -> Any:
        while True:  # the first question starts the server of the page
            try:
                return await websockets.connect(self._url)
            except ConnectionError:
                await asyncio.sleep(0.01)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


async def main() -> None:
    port = _free_port()
    env = {
        **os.environ,
        "HOME": given()["folder"],  # where it keeps its settings
        "TMPDIR": given()["folder"],  # and the answers
        "MCP_WEB_PORT": str(port),
        "BROWSER": "true %s",  # the command that does nothing
    }
    server = await ToolServer.start(str(Path(sys.executable).with_name("mcp-feedback-enhanced")), env=env)
    await speak_async(Agent(server, port), versions("mcp-feedback-enhanced"))
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main())
