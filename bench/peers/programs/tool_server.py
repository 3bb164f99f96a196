"""The least of an MCP client: starts a server on its standard input and output, and calls its tools, many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Self

_GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class ToolServer:
    """Made by `await ToolServer.start(…)`, which returns once a tool could be called."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, *command: str, env: Mapping[str, str]) -> Self:
        pipe = asyncio.subprocess.PIPE
        server = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=env, limit=2**24))
        await server._send("initialize", _GREETING)
        server._write({"method": "notifications/initialized"})
        return server

    async def call(self, tool: str, **arguments: object) -> str:
        """The text that the tool gives its agent."""
        result = await self._send("tools/call", {"name": tool, "arguments": arguments})
        return "".join(part.get("text", "") for part in result["content"])

    async def stop(self) -> None:
        self._process.kill()
        await self._process.wait()
        await self._listening

    async def _send(self, method: str, params: Mapping[str, object]) -> Any:
        number = len(self._calls)
        self._calls[number] = asyncio.get_running_loop().create_future()
        self._write({"id": number, "method": method, "params": params})
        return await self._calls[number]

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _listen(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message:  # else it is the server that asks or tells something
                self._calls[message["id"]].set_result(message["result"])
