"""Everybody who uses two desk servers at a steady pace: agents, people, programs, browsers, hosts.

Each goes on until it is cancelled, and writes down what failed and how long an agent waited for its answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, closing, suppress
from datetime import timedelta
from typing import Any, TypeAlias

from tests.server.running import ANSWERED, QUESTIONS, Answer, Client, written

from askdesk.core.desk import Desk
from askdesk.core.model import Asker, Question
from askdesk.server import tokens
from askdesk.server.events import REREAD

Turn: TypeAlias = Callable[[], Awaitable[None]]

STUCK_SECONDS = 30.0
_WAIT = 20  # seconds of one long poll
_FOR_PEOPLE, _NOT_FOR_PEOPLE = "soak", "left alone"  # projects
_OPEN_FOR_EVER = 50
_SOON = 4.0  # seconds until a deadline, which a busy machine must not have passed before it is sent
_TYPES = {"Accept": "application/json, text/event-stream"}
_VERSION = {"Mcp-Protocol-Version": "2025-06-18"}
_INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}


class Wrong(Exception):
    """An answer that should have been another one."""


class Line:
    """One connection to one server, kept for the next request and made anew where it is lost."""

    def __init__(self, port: int, token: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        self.port, self.token, self.headers = port, token, headers or {}
        self._client: Client | None = None

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        wanted: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        if self._client is None:
            self._client = await Client.to(self.port)
        given = {**self.headers, **(headers or {})}
        try:
            await self._client.send(written(self.port, method, path, token=self.token, body=body, headers=given))
            answer = await self._client.answer(to=method)
        except BaseException:
            self.close()
            raise
        if answer.status != wanted:
            raise Wrong(
                f"{method} {path.partition('?')[0]}: {answer.status} instead of {wanted}: {answer.body[:200]!r}"
            )
        return answer

    def close(self) -> None:
        if self._client:
            self._client.close()
            self._client = None


class Load:
    """What two servers at these ports, which share the store of a desk of our own, have to do."""

    def __init__(self, desk: Desk, ports: tuple[int, ...], *, loops_a_second: float, seed: int = 1) -> None:
        self.desk, self.ports = desk, ports
        self.chance = random.Random(seed)  # noqa: S311 - which moment it is need not be a secret
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.took: list[tuple[float, float]] = []  # when an agent had its answer, and how long after it asked
        self._waiting: dict[int, float] = {}  # agents by number: since when
        self._agents = 8
        self._pause = self._agents / loops_a_second
        self._open: list[str] = []
        self._lines: list[Line] = []
        self._over = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Everybody is at work until the block ends, and finishes what they have begun."""
        self._open = [await self._posted(number) for number in range(_OPEN_FOR_EVER)]
        people = [asyncio.ensure_future(work) for work in self._people()]
        others = [asyncio.ensure_future(work) for work in self._others()]
        try:
            yield
            self._over.set()
            _, late = await asyncio.wait(others, timeout=STUCK_SECONDS)
            self.failures += [f"{task.get_coro()} did not come to an end" for task in late]
        finally:
            for task in (*people, *others):
                task.cancel()
            await asyncio.wait((*people, *others))
            for line in self._lines:
                line.close()

    async def _posted(self, number: int) -> str:
        asker = Asker("patient", project=_NOT_FOR_PEOPLE)
        return (await self.desk.post(Question(f"What about number {number}?", ["left", "right"]), asker=asker)).id

    @property
    def stuck(self) -> int:
        """Agents who have waited for far too long."""
        return sum(time.monotonic() - since > STUCK_SECONDS for since in self._waiting.values())

    def _people(self) -> list[Coroutine[Any, Any, None]]:
        return [self._person(number, port) for number, port in enumerate(self.ports)]

    def _others(self) -> list[Coroutine[Any, Any, None]]:
        agents = [self._agent(number, self.ports[number % 2], hears=number % 4 > 1) for number in range(self._agents)]
        at_each = (self._visitor, self._typist, self._reader, self._surfer, self._host, self._leaver)
        once = (self._withdrawer(self.ports[0]), self._expirer(self.ports[1]), self._token_maker())
        return [*agents, *(somebody(port) for port in self.ports for somebody in at_each), *once]

    async def _again(self, name: str, pause: float, turn: Turn) -> None:
        """Do it now and then, until it is over."""
        while not self._over.is_set():
            try:
                await turn()
                self.done[name] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told in the end
                self.failures.append(f"{name}: {type(error).__name__} {error}")
            await self._rest(pause)

    async def _rest(self, pause: float) -> None:
        """About so long, and no longer than until it is over."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), pause * self.chance.uniform(0.5, 1.5))

    async def _token(self, kind: tokens.Kind, name: str) -> str:
        return (await tokens.new_token(self.desk.shelf, kind, name, now=self.desk.now()))[1]

    async def _line(self, port: int, kind: tokens.Kind, name: str) -> Line:
        line = Line(port, await self._token(kind, name))
        self._lines.append(line)
        return line

    async def _agent(self, number: int, port: int, *, hears: bool) -> None:
        """Asks, and waits in a long poll or at a live stream."""
        line = await self._line(port, "asker", f"agent{number}")

        async def ask() -> None:
            self._waiting[number] = started = time.monotonic()
            ask_id = await _asked(line, f"agent{number}", _FOR_PEOPLE)
            await (self._hear(line, ask_id) if hears else self._poll(line, ask_id))
            now = time.monotonic()
            self.took.append((now, now - started))
            del self._waiting[number]

        await self._again("loops by stream" if hears else "loops by poll", self._pause, ask)

    async def _poll(self, line: Line, ask_id: str) -> None:
        while not (await line.request("GET", f"/v1/asks/{ask_id}?wait={_WAIT}")).json.get("settlement"):
            pass

    async def _hear(self, line: Line, ask_id: str) -> None:
        async with stream(line.port, line.token) as client:
            while not (await line.request("GET", f"/v1/asks/{ask_id}")).json.get("settlement"):
                await hinted(client, ask_id)

    async def _person(self, number: int, port: int) -> None:
        """Answers at once whatever half of the asks is hers, as a live stream tells of them."""
        line = await self._line(port, "answerer", f"person{number}")

        async def attend() -> None:
            async with stream(port, line.token) as client:
                told = REREAD
                while told:
                    for ask_id in await self._open_asks(line) if told == REREAD else hints(told):
                        if int(ask_id, 16) % len(self.ports) == number:
                            await self._answer(line, ask_id)
                    told = await client.chunk()

        await self._again("streams of people", 0.1, attend)

    async def _open_asks(self, line: Line) -> list[str]:
        page = (await line.request("GET", "/v1/asks?limit=200&newest=true")).json
        return [entry["ask"]["id"] for entry in page["entries"]]

    async def _answer(self, line: Line, ask_id: str) -> None:
        entry = (await line.request("GET", f"/v1/asks/{ask_id}")).json
        if "settlement" in entry or entry["ask"]["asker"]["project"] != _FOR_PEOPLE:
            return
        reply = {"reply": ANSWERED, "submission": f"of {ask_id}"}
        await line.request("POST", f"/v1/asks/{ask_id}/settlement", reply)
        self.done["answers"] += 1

    async def _visitor(self, port: int) -> None:
        """A live stream that comes and goes."""
        token = await self._token("answerer", "visitor")

        async def visit() -> None:
            async with stream(port, token):
                await asyncio.sleep(self.chance.uniform(0, 3))

        await self._again("visits", 0.5, visit)

    async def _typist(self, port: int) -> None:
        """Drafts that are written, read, listed and removed."""
        name = f"typist{port}"  # each types for themselves: another's could be gone in the midst of it
        line = await self._line(port, "answerer", name)

        async def type_() -> None:
            ask_id = self.chance.choice(self._open)
            draft = f"/v1/shelf/draft/{ask_id}/{name}"
            for words in ("a", "and another", "and a third"):
                await line.request("PUT", draft, {"value": json.dumps({"words": words})})
            await line.request("GET", draft)
            await line.request("GET", f"/v1/shelf?prefix=draft/{ask_id}")
            await line.request("PUT", draft, {"value": None}, wanted=204)

        await self._again("drafts", 1, type_)

    async def _reader(self, port: int) -> None:
        """Lists and searches."""
        line = await self._line(port, "answerer", "reader")
        queries = (
            "state=open",
            "state=settled&newest=true",
            "state=open&text=number",
            "state=settled&text=sqlite&newest=true",
        )

        async def look() -> None:
            for query in queries:
                await line.request("GET", f"/v1/asks?limit=20&{query}")
            await line.request("GET", "/metrics")
            await line.request("GET", "/healthz")

        await self._again("searches", 1, look)

    async def _surfer(self, port: int) -> None:
        """A browser without scripts that signs in, looks around and signs in again."""

        async def surf() -> None:
            code = await tokens.new_link(self.desk.shelf, "surfer", now=self.desk.now())
            with closing(Line(port, headers={"Sec-Fetch-Site": "none"})) as line:
                signed_in = await line.request("GET", f"/sign-in?code={code}", wanted=303)
                line.headers = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
                for _ in range(10):
                    await line.request("GET", "/")
                    await line.request("GET", f"/asks/{self.chance.choice(self._open)}")
                    await line.request("GET", "/fragments/list?current=")
                    await self._rest(1)

        await self._again("sign-ins", 1, surf)

    async def _host(self, port: int) -> None:
        """A host of MCP: a session with a few calls."""
        token = await self._token("asker", "host")

        async def converse() -> None:
            with closing(Line(port, token, _TYPES)) as line:
                begun = await _call(line, "initialize", _INITIALIZE)
                line.headers = {**_TYPES, "Mcp-Session-Id": begun.headers["mcp-session-id"], **_VERSION}
                await _call(line, "notifications/initialized", number=None, wanted=202)
                await _call(line, "tools/list")
                asked = {"name": "ask_user_question", "arguments": {"questions": QUESTIONS}}
                if b"SQLite" not in (said := (await _call(line, "tools/call", asked)).body):
                    raise Wrong(f"ask_user_question: {said[:200]!r}")
                await line.request("DELETE", "/mcp")

        await self._again("MCP sessions", 4, converse)

    async def _leaver(self, port: int) -> None:
        """Asks without waiting and collects."""
        line = await self._line(port, "asker", "leaver")
        agent = f"leaver{port}"

        async def leave() -> None:
            left = {await _asked(line, agent, _FOR_PEOPLE, collect=True) for _ in range(3)}
            while left:
                path = f"/v1/collect?agent={agent}&project={_FOR_PEOPLE}&wait={_WAIT}"
                for entry in (await line.request("GET", path)).json["entries"]:
                    ask_id = entry["ask"]["id"]
                    await line.request("POST", f"/v1/asks/{ask_id}/delivery", {}, wanted=204)
                    left.discard(ask_id)

        await self._again("collections", 3, leave)

    async def _withdrawer(self, port: int) -> None:
        line = await self._line(port, "asker", "withdrawer")

        async def withdraw() -> None:
            ask_id = await _asked(line, "withdrawer", _NOT_FOR_PEOPLE)
            await line.request("POST", f"/v1/asks/{ask_id}/withdrawal", {"reason": "no longer"})

        await self._again("withdrawals", 1, withdraw)

    async def _expirer(self, port: int) -> None:
        line = await self._line(port, "asker", "expirer")

        async def wait_too_long() -> None:
            deadline = (self.desk.now() + timedelta(seconds=_SOON)).isoformat()
            ask_id = await _asked(line, "expirer", _NOT_FOR_PEOPLE, deadline=deadline)
            settlement = (await line.request("GET", f"/v1/asks/{ask_id}?wait={_WAIT}")).json.get("settlement")
            if not settlement or settlement["outcome"] != {"outcome": "expired"}:
                raise Wrong(f"an ask that was due: {settlement}")

        await self._again("expiries", 1, wait_too_long)

    async def _token_maker(self) -> None:
        """Tokens that are made, used at both servers, revoked and used in vain."""

        async def make() -> None:
            token, text = await tokens.new_token(self.desk.shelf, "asker", "passer-by", now=self.desk.now())
            for wanted in (200, 401):
                for port in self.ports:
                    with closing(Line(port, text)) as line:
                        await line.request("GET", "/v1/me", wanted=wanted)
                await tokens.revoke(self.desk.shelf, token.id, self.desk.now())
                await asyncio.sleep(tokens.RECENT_SECONDS)

        await self._again("tokens", 10, make)


async def _asked(line: Line, agent: str, project: str, **more: object) -> str:
    body = {"questions": QUESTIONS, "asker": {"agent": agent, "project": project}, **more}
    return str((await line.request("POST", "/v1/asks", body, wanted=201)).json["ask"]["id"])


async def _call(
    line: Line, method: str, parameters: object = None, *, number: int | None = 1, wanted: int = 200
) -> Answer:
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    body = {name: value for name, value in said.items() if value is not None}
    return await line.request("POST", f"/mcp?agent=host&project={_FOR_PEOPLE}", body, wanted=wanted)


@asynccontextmanager
async def stream(port: int, token: str | None) -> AsyncIterator[Client]:
    """A live stream, once it has said `reread`."""
    client = await Client.to(port)
    try:
        await client.send(written(port, "GET", "/v1/events", token=token))
        head = await client.reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head:
            raise Wrong(f"GET /v1/events: {head!r}")
        if (begun := await client.chunk()) != REREAD:
            raise Wrong(f"GET /v1/events: {begun!r}")
        yield client
    finally:
        client.close()


async def hinted(client: Client, ask_id: str) -> None:
    """Wait until a stream tells of an ask, or of all."""
    while True:
        told = await client.chunk()
        if not told or told == REREAD or ask_id in hints(told):
            return


def hints(told: bytes) -> list[str]:
    """The asks that a part of a stream tells of."""
    return [found.decode() for found in re.findall(rb'"ask":"([0-9a-f]{32})"', told)]
