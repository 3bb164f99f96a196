"""Restate: a handler that asks with an awakeable, a person who resolves it over HTTP, its server on loopback.

Timed from the handler that comes to its question until it has the answer, which its server has then kept. The person
hears of the question in memory, once a step of the handler has kept it. The handler is served by hypercorn over HTTP/2,
as its documentation does, and the person has a connection that stays open. Its server is as shipped, except that it
listens on loopback alone and tells nobody that it runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from speaking import AGENT_GONE, ANSWER, QUESTION, Times, given, speak_async, versions

_service = restate.Service("Agent")
_came: asyncio.Queue[tuple[str, float]] = asyncio.Queue()
_woken: dict[str, float] = {}


@_service.handler()
async def ask(context: restate.Context, question: dict[str, Any]) -> str:
    came = time.perf_counter()
    name, answered = context.awakeable(type_hint=str)
    await context.run_typed("keep the question", lambda: question)
    _came.put_nowait((name, came))
    answer = str(await answered)
    _woken[name] = time.perf_counter()
    return answer


class Agent:
    def __init__(self, person: Http, ingress: Http) -> None:
        self._person, self._ingress = person, ingress

    async def exchange(self, pause: float) -> Times:
        run, name, came = await self._begun()
        await asyncio.sleep(pause)
        answered = time.perf_counter()
        await self._person.send("POST", f"/restate/awakeables/{name}/resolve", ANSWER)
        assert await self._ended(run) == ANSWER
        woken = _woken.pop(name)
        return Times(came, answered, woken, woken)

    async def wait(self, count: int) -> list[str]:
        return [" ".join((await self._begun())[:2]) for _ in range(count)]

    async def finish(self, ids: list[str]) -> int:
        runs = [run.split() for run in ids]
        for _, name in runs:
            await self._person.send("POST", f"/restate/awakeables/{name}/resolve", ANSWER)
        return sum([await self._ended(run) == ANSWER for run, _ in runs])

    async def _begun(self) -> tuple[str, str, float]:
        """One after the other, so that it is known whose the name is."""
        run = (await self._ingress.send("POST", "/Agent/ask/send", QUESTION))["invocationId"]
        return (run, *await _came.get())

    async def _ended(self, run: str) -> Any:
        return await asyncio.wait_for(self._ingress.send("GET", f"/restate/invocation/{run}/attach"), 6 * AGENT_GONE)


class Http:
    """A connection that stays open: JSON there, JSON back."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._port, self._reader, self._writer = port, reader, writer

    @classmethod
    async def to(cls, port: int) -> Http:
        while True:
            try:
                return cls(port, *await asyncio.open_connection("127.0.0.1", port))
            except ConnectionError:
                await asyncio.sleep(0.01)

    async def send(self, method: str, path: str, body: Any = None) -> Any:
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        if sent:
            head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n"
        self._writer.write(f"{head}\r\n".encode() + sent)
        status, headers = await self._head()
        received = await self._reader.readexactly(int(headers.get("content-length", 0)))
        assert 200 <= status < 300, (path, status, received)
        return json.loads(received) if received else None

    async def _head(self) -> tuple[int, dict[str, str]]:
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = (line.partition(":") for line in lines if line)
        return int(status.split()[1]), {name.lower(): value.strip() for name, _, value in headers}


def _ports(file: Path) -> dict[str, int]:
    """The same ones after a restart, as the server keeps the address of the service."""
    if not file.exists():
        sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in ("ingress", "admin", "node", "service")}
        file.write_text(json.dumps({name: listening.getsockname()[1] for name, listening in sockets.items()}))
        for listening in sockets.values():
            listening.close()
    ports: dict[str, int] = json.loads(file.read_text())
    return ports


@asynccontextmanager
async def _server(ports: dict[str, int]) -> AsyncIterator[None]:
    settings = {
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_BIND_PORT": str(ports["node"]),
        "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
        "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]),
    }
    command = (_program(), "--base-dir", f"{given()['folder']}/restate")
    server = await asyncio.create_subprocess_exec(*command, env={**os.environ, **settings})
    try:
        yield
    finally:
        server.kill()
        await server.wait()


def _program() -> Path:
    return next(Path(given()["modules"]).glob("@restatedev/restate-server-*/bin/restate-server"))


def _server_version() -> str:
    return str(json.loads((_program().parents[1] / "package.json").read_text())["version"])


async def main() -> None:
    ports, stopped = _ports(Path(given()["folder"]) / "ports.json"), asyncio.Event()
    config = Config.from_mapping(bind=f"127.0.0.1:{ports['service']}", loglevel="ERROR")
    serving = asyncio.create_task(serve(restate.app([_service]), config, shutdown_trigger=stopped.wait))
    async with _server(ports):
        admin = await Http.to(ports["admin"])
        await admin.send("POST", "/deployments", {"uri": f"http://127.0.0.1:{ports['service']}"})
        agent = Agent(await Http.to(ports["ingress"]), await Http.to(ports["ingress"]))
        await speak_async(agent, {**versions("restate-sdk"), "restate-server": _server_version()})
    stopped.set()
    await serving


if __name__ == "__main__":
    asyncio.run(main())
