"""How long `askdesk mcp` takes until a host has its tools, against a server of the same library that has none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Ratio, timed

_EMPTY = """
import asyncio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult

async def list_tools(context, params):
    return ListToolsResult(tools=[])

async def main():
    server = Server("empty", on_list_tools=list_tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

asyncio.run(main())
"""
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def measure(rounds: int) -> Ratio:
    askdesk = (str(Path(sys.executable).with_name("askdesk")), "mcp")
    floor, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "ASKDESK_STORE": f"{folder}/desk.db"}
        _greeted(askdesk, env)  # the first one makes the file
        for _ in range(rounds):
            floor.append(timed(lambda: _greeted((sys.executable, "-c", _EMPTY), env)))
            ours.append(timed(lambda: _greeted(askdesk, env)))
    return Ratio("askdesk mcp: start, initialize, tools/list", "an empty server of the mcp library", 1.3, floor, ours)


def _greeted(command: tuple[str, ...], env: dict[str, str]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as server:
        assert server.stdin
        assert server.stdout
        _say(server, {"id": 0, "method": "initialize", "params": _CLIENT})
        assert json.loads(server.stdout.readline())["id"] == 0
        _say(server, {"method": "notifications/initialized"})
        _say(server, {"id": 1, "method": "tools/list"})
        assert json.loads(server.stdout.readline())["id"] == 1
        server.kill()


def _say(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
