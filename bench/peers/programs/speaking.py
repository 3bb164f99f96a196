"""What the programs of this folder speak: a line of JSON in, a line of JSON out. Knows no peer and no guest library.

The first line out tells the versions, once the first question could be asked. Then each line in is a list:

    ["exchange", SECONDS]  ask one question; the person answers so many seconds after they could
                           → {"whole": µs, "woken": µs}
    ["wait", COUNT]        ask so many questions that nobody answers; once all are acknowledged → their ids
    ["finish", IDS]        the person answers these, whichever process asked them → how many answers agents got

The end of the input ends the program.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

QUESTION = {"question": "Which database?", "options": ["Postgres", "SQLite"]}
ANSWER = "SQLite"
AGENT_GONE = 5.0  # seconds after its answer in which an agent must have it, else it never will

_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a guest library prints is no part of what is spoken


class Times(NamedTuple):
    """Of one exchange, as `time.perf_counter` has them in the agent's and the person's own code."""

    asked: float  # the agent comes to its question
    answered: float  # the person begins to answer
    woken: float  # the agent's code runs again and has the answer
    had: float  # and the answer is where the peer keeps it

    def told(self) -> dict[str, float]:
        return {"whole": (self.had - self.asked) * 1e6, "woken": (self.woken - self.answered) * 1e6}


class Peer(Protocol):
    def exchange(self, pause: float) -> Times: ...

    def wait(self, count: int) -> list[str]: ...

    def finish(self, ids: list[str]) -> int: ...


class AsyncPeer(Protocol):
    async def exchange(self, pause: float) -> Times: ...

    async def wait(self, count: int) -> list[str]: ...

    async def finish(self, ids: list[str]) -> int: ...


def given() -> dict[str, str]:
    """What the program was started with: at least `folder`, where it keeps what must outlive it."""
    values: dict[str, str] = json.loads(sys.argv[1])
    return values


def versions(*names: str) -> dict[str, str]:
    return {name: version(name) for name in names}


def speak(peer: Peer, of: Mapping[str, str]) -> None:
    _say(of)
    for line in sys.stdin:
        verb, *values = json.loads(line)
        _say(getattr(peer, verb)(*values))


async def speak_async(peer: AsyncPeer, of: Mapping[str, str]) -> None:
    _say(of)
    while line := await asyncio.to_thread(sys.stdin.readline):
        verb, *values = json.loads(line)
        _say(await getattr(peer, verb)(*values))


def _say(what: Any) -> None:
    _out.write(f"{json.dumps(what.told() if isinstance(what, Times) else what)}\n")
    _out.flush()
