"""askdesk: an agent that asks with `desk.ask`, a person's program that hears of it with `desk.watch` and settles it.

Timed from `ask` until it returns, which is also woken. Both are in this process and share a desk; with `apart` each
opens the store for itself, as two processes on one machine do; with `servers` each goes over HTTP to `askdesk serve`,
to the same one or one each. SQLite is written with synchronous=FULL, as always.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from speaking import AGENT_GONE, ANSWER, QUESTION, Times, given, speak_async, versions

from askdesk import Answer, Answered, Asker, Desk, Question, Settlement, open_desk
from askdesk.server import tokens
from askdesk.stores.http import HTTPStore

_QUESTION = Question(str(QUESTION["question"]), QUESTION["options"], header="Database")
_ANSWERED = Answered([Answer([ANSWER])])
_ASKER = Asker("bench")


class Agent:
    """And its person."""

    def __init__(self, agent: Desk, person: Desk) -> None:
        self._agent, self._person = agent, person
        self._shown: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Task[Settlement | None]] = {}

    async def hear(self) -> None:
        """What the person is told: each ask once, when it is new."""
        seen: set[str] = set()
        async with self._person.watch() as hints:
            async for hint in hints:
                for ask_id in [hint] if hint else await self._open():
                    if ask_id not in seen:
                        seen.add(ask_id)
                        self._shown.put_nowait(ask_id)

    async def _open(self) -> list[str]:
        return [entry.ask.id async for entry in self._person.each("open")]

    async def exchange(self, pause: float) -> Times:
        came = time.perf_counter()
        asking = asyncio.create_task(self._agent.ask(_QUESTION, asker=_ASKER))
        ask_id = await self._shown.get()
        await asyncio.sleep(pause)
        answered = time.perf_counter()
        settling = asyncio.create_task(self._settle(ask_id))
        assert await asking == _ANSWERED
        had = time.perf_counter()
        await settling
        return Times(came, answered, had, had)

    async def wait(self, count: int) -> list[str]:
        asks = [await self._agent.post(_QUESTION, asker=_ASKER) for _ in range(count)]
        self._waiting = {ask.id: self._wait(ask.id) for ask in asks}
        return list(self._waiting)

    async def finish(self, ids: list[str]) -> int:
        waiting = [self._waiting.get(ask_id) or self._wait(ask_id) for ask_id in ids]
        for ask_id in ids:
            await self._settle(ask_id)
        done, _ = await asyncio.wait(waiting, timeout=AGENT_GONE)
        settled = (task.result() for task in done)
        return sum(settlement is not None and settlement.outcome == _ANSWERED for settlement in settled)

    async def _settle(self, ask_id: str) -> None:
        await self._person.settle(ask_id, _ANSWERED, by="ana", surface="bench")

    def _wait(self, ask_id: str) -> asyncio.Task[Settlement | None]:
        return asyncio.create_task(self._agent.wait(ask_id))


@asynccontextmanager
async def _desks() -> AsyncIterator[tuple[Desk, Desk]]:
    """The agent's and the person's."""
    store = given().get("database") or f"{given()['folder']}/desk.db"
    async with AsyncExitStack() as stack:
        if count := int(given().get("servers", 0)):
            asker, answerer = await _tokens(store)
            urls = [await stack.enter_async_context(_server(store)) for _ in range(count)]
            agent: Desk = Desk(await HTTPStore.open(urls[0], asker_token=asker))
            person: Desk = Desk(await HTTPStore.open(urls[-1], answerer_token=answerer))
            stack.push_async_callback(agent.close)
            stack.push_async_callback(person.close)
        else:
            agent = await stack.enter_async_context(open_desk(store))
            person = await stack.enter_async_context(open_desk(store)) if "apart" in given() else agent
        yield agent, person


async def _tokens(store: str) -> list[str]:
    """New ones at each start: no more is known of those before than their hash."""
    async with open_desk(store) as desk:
        made = [await tokens.new_token(desk.shelf, kind, "ana", now=desk.now()) for kind in ("asker", "answerer")]
    return [text for _, text in made]


@asynccontextmanager
async def _server(store: str) -> AsyncIterator[str]:
    """The command as anybody would run it, with nobody's settings; the limit of asks a minute is out of the way."""
    command = (Path(sys.executable).with_name("askdesk"), "serve", "--store", store, "--port=0", "--no-link")
    around = {name: value for name, value in os.environ.items() if not name.startswith("ASKDESK_")}
    home = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME"), given()["folder"])
    env = {**around, **home, "ASKDESK_ASKS_A_MINUTE": "1000000"}
    process = await asyncio.create_subprocess_exec(*command, "--log=none", stdout=asyncio.subprocess.PIPE, env=env)
    assert process.stdout
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def main() -> None:
    async with _desks() as (agent, person):
        both = Agent(agent, person)
        hearing = asyncio.create_task(both.hear())
        await speak_async(both, versions("askdesk"))
        hearing.cancel()


if __name__ == "__main__":
    asyncio.run(main())
