"""An agent that speaks the Agent Client Protocol, run under a desk: what it asks goes to people.

    async with under_desk(desk, "claude-agent-acp", folder="/src/app") as agent:
        async for step in agent.run("Build the service"):
            ...

It has no files and no terminals of ours: agents bring their own, and theirs need a permission. People can tell it
something while it works; ACP hears that between two turns, or at once where the turn is stopped for it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import timedelta
from importlib.metadata import version
from typing import Any, NamedTuple, TypeVar

from askdesk.adapters.acp_asks import Asks
from askdesk.adapters.acp_connection import Peer, RequestError, read, schema
from askdesk.adapters.acp_steps import Told
from askdesk.adapters.agent_process import AgentProcess, running
from askdesk.adapters.asking import Show
from askdesk.adapters.ear import listen
from askdesk.adapters.steps import Ended, Step
from askdesk.core.desk import Desk
from askdesk.core.errors import AgentFailed, InvalidAsk
from askdesk.core.model import Asker
from askdesk.core.process import here
from askdesk.core.text import is_blank, shown
from askdesk.core.work import Instruction

_Answer = TypeVar("_Answer", schema.InitializeResponse, schema.NewSessionResponse)

VERSION = 1
_SIGN_IN_FIRST = -32000
_BEGINNING = 180.0  # seconds in which an agent answers at all; some are fetched first
_STOPPING = 2.0  # seconds in which a turn that was stopped may say so
_ABILITIES = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    "elicitation": {"form": {}, "url": {}},
}


@asynccontextmanager
async def under_desk(
    desk: Desk,
    command: str | Sequence[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    agent: str = "",
    resume: str | None = None,
    deadline: timedelta | None = None,
    show: Show | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[AcpAgent]:
    """Run a command, which no shell sees, as an agent that asks at a desk, for as long as the block runs.

    `agent` is how people know it, by default as it calls itself. `resume` is a session to go on with. `show` shows an
    ask to somebody here until it is settled. AgentFailed tells why it cannot work.
    """
    project = _absolute(folder)
    async with running(_words(command), project, env) as process:
        made = AcpAgent(desk, process, project, agent, deadline=deadline, show=show)
        hearing = asyncio.ensure_future(made.hear())
        try:
            await made.begin(resume)
            yield made
        finally:
            await _over(hearing)


def _absolute(folder: str | os.PathLike[str] | None) -> str:
    return os.path.abspath(folder or os.getcwd())


def _words(command: str | Sequence[str]) -> list[str]:
    try:
        return shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise InvalidAsk(f"command: {str(error).lower()}: {command}") from None


async def _over(hearing: asyncio.Future[None]) -> None:
    """Hear no more; once more where it is stuck in writing to an agent that does not read."""
    for _ in range(2):
        hearing.cancel()
        await asyncio.wait((hearing,), timeout=_STOPPING)
    if hearing.done() and not hearing.cancelled():
        hearing.exception()  # of a stream that broke; who needed to know does


class _Words(NamedTuple):
    """What the agent is told next, and somebody who waits until it was."""

    text: str
    sent: asyncio.Future[None] | None = None


class AcpAgent:
    """Made by under_desk(). `asker` is who asks, `session` what it can be resumed with."""

    def __init__(
        self,
        desk: Desk,
        process: AgentProcess,
        project: str,
        name: str,
        *,
        deadline: timedelta | None,
        show: Show | None,
    ) -> None:
        self._desk, self._process, self._name, self._folder = desk, process, name, project
        host, number = here()
        asker = Asker(project=os.fsencode(project).decode("utf-8", "backslashreplace"), host=host, process=number)
        self._told = Told()
        self._asks = Asks(desk, asker, self._told, self, deadline=deadline, show=show)
        self._peer = Peer({**self._asks.methods, "session/update": self._updated}, process.writer, process.reader)
        self.session = ""
        self._agreed: schema.InitializeResponse | None = None
        self._next: asyncio.Queue[_Words | None] = asyncio.Queue()  # None once it is gone
        self._telling = asyncio.Lock()  # so that it is told in order what was told in order
        self._unsaid: list[str] = []
        self._steps: asyncio.Queue[Step | None] | None = None  # of the turn that runs
        self._is_gone = self._was_stopped = False

    @property
    def asker(self) -> Asker:
        return self._asks.asker

    def awaits(self, number: object) -> bool:
        return self._peer.awaits(number)

    async def hear(self) -> None:
        """Until it is gone."""
        try:
            await self._peer.run()
        finally:
            self._is_gone = True
            self._next.put_nowait(None)

    async def begin(self, resume: str | None) -> None:
        """Agree on the protocol and open a session, or one of before."""
        try:
            async with asyncio.timeout(_BEGINNING):
                self._agreed = _read(schema.InitializeResponse, await self._peer.request("initialize", _introduction()))
            if self._agreed.protocol_version != VERSION:
                raise AgentFailed(f"it speaks version {self._agreed.protocol_version} of ACP, and not {VERSION}")
            self.session = await self._opened(self._agreed, resume)
        except RequestError as error:
            raise AgentFailed(self._refused(error)) from None
        except ConnectionError:
            raise AgentFailed(await self._process.ended()) from None
        except TimeoutError:
            raise AgentFailed("it does not answer; does it speak ACP on its standard streams?") from None
        self._asks.asker = self._named(self._agreed)

    async def _opened(self, agreed: schema.InitializeResponse, resume: str | None) -> str:
        where = {"cwd": self._folder, "mcpServers": []}
        if resume is None:
            return _read(schema.NewSessionResponse, await self._peer.request("session/new", where)).session_id
        if agreed.agent_capabilities is None or not agreed.agent_capabilities.load_session:
            raise AgentFailed("it cannot go on with a session of before")
        self.session = resume  # all that was said in it is told again, before the answer to this
        await self._peer.request("session/load", {**where, "sessionId": resume})
        return resume

    def _named(self, agreed: schema.InitializeResponse) -> Asker:
        info = agreed.agent_info
        names = (self._name, (info.title if info else "") or "", info.name if info else "", self._process.name)
        before = self._asks.asker
        name = next(name for name in names if not is_blank(name))
        try:
            return Asker(name, self.session, before.project, host=before.host, process=before.process)
        except InvalidAsk as error:
            if name == self._name:
                raise
            raise AgentFailed(f"nobody can be asked in its name: {error}") from None

    async def run(self, prompt: str | None = None, *, stay: bool = False) -> AsyncGenerator[Step]:
        """What the agent does with a prompt, and with what people tell it meanwhile, until it has done all of it.

        With `stay` it goes on for ever: each thing that people tell it is a new task.
        """
        if prompt is not None:
            self.say(prompt)
        async with self._desk.at_work(self.asker) as work:
            listening = asyncio.ensure_future(listen(work, self._deliver, "the agent"))
            try:
                while not self._is_gone and (words := await self._upcoming(stay)):
                    async with aclosing(self._turn(words)) as turn:
                        async for step in turn:
                            yield step
                if self._is_gone:
                    yield Ended("failed", await self._process.ended(), self.session)
            finally:
                listening.cancel()

    async def _upcoming(self, stay: bool) -> _Words | None:
        if self._unsaid:
            unsaid, self._unsaid = self._unsaid, []
            return _Words("\n\n".join(unsaid))
        return await self._next.get() if stay or not self._next.empty() else None

    async def _turn(self, words: _Words) -> AsyncGenerator[Step]:
        steps = self._steps = asyncio.Queue()
        self._told.begin()
        self._was_stopped = self._asks.was_refused = False
        prompt = {"sessionId": self.session, "prompt": [{"type": "text", "text": words.text}]}
        prompting = asyncio.ensure_future(self._peer.request("session/prompt", prompt))
        prompting.add_done_callback(lambda _: steps.put_nowait(None))
        if words.sent and not words.sent.done():
            words.sent.set_result(None)
        try:
            while step := await steps.get():
                yield step
            for said in self._told.said():
                yield said
            if ended := await self._ended(prompting):
                yield ended
        finally:
            if not prompting.done():
                await asyncio.shield(self._end_turn(prompting))
            self._steps = None

    async def _end_turn(self, prompting: asyncio.Future[Any]) -> None:
        """Nobody hears what comes of it: the agent may say that it stopped, but not for ever."""
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_STOPPING):
                await self.stop()
                await asyncio.wait((prompting,))
        prompting.cancel()

    async def _ended(self, prompting: asyncio.Future[Any]) -> Ended | None:
        """How a turn ended; None where the agent is gone, which is told once."""
        try:
            result = await prompting
        except RequestError as error:
            return Ended("failed", self._refused(error), self.session)
        except ConnectionError:
            self._is_gone = True
            return None
        match result:
            case {"stopReason": "end_turn"}:
                return Ended("done", self._told.last, self.session)
            case {"stopReason": "cancelled"} if self._was_stopped or self._asks.was_refused:
                return Ended("stopped", self._told.last, self.session)
            case {"stopReason": "cancelled"}:
                return Ended("failed", "it ended its turn as cancelled, though nobody stopped it", self.session)
            case {"stopReason": str(reason)}:
                return Ended("failed", f"it ended its turn with {shown(reason)}", self.session)
            case _:
                return Ended("failed", "it ended its turn without saying why", self.session)

    async def _updated(self, params: dict[str, Any]) -> None:
        """At once and without waiting for anything, so that updates stay in order."""
        update = params.get("update")
        if params.get("sessionId") != self.session or not isinstance(update, dict):
            return
        for step in self._told.steps(update):
            if self._steps:
                self._steps.put_nowait(step)

    def say(self, words: str) -> None:
        """Tell it something: a turn of its own begins with it, once the others have ended."""
        self._next.put_nowait(_Words(words))

    def mention(self, words: str) -> None:
        """Say something about what it asked, which ACP has no place for, once its turn has ended."""
        self._unsaid.append(words)

    async def stop(self) -> None:
        """Stop what it is doing; what it asked is taken back, and what was left to say about it too."""
        self._asks.end()
        self._unsaid.clear()
        self._was_stopped = True
        await self._peer.tell("session/cancel", {"sessionId": self.session})

    async def _deliver(self, instruction: Instruction) -> None:
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        async with self._telling:
            if instruction.stop:
                await self.stop()
            if instruction.text:
                self._next.put_nowait(_Words(instruction.text, sent))
        if instruction.text:
            await sent

    def _refused(self, error: RequestError) -> str:
        """Why the agent will not, in its own words."""
        data = error.data if isinstance(error.data, dict) else {}
        details = next((data[name] for name in ("details", "message") if isinstance(data.get(name), str)), "")
        words = shown(": ".join(filter(None, (str(error), details))))
        if error.code != _SIGN_IN_FIRST:
            return words
        methods = (self._agreed.auth_methods or []) if self._agreed else []
        ways = [": ".join(filter(None, (method.name, method.description))) for method in methods]
        return "\n".join([f"somebody has to sign in first ({words})", *(f"  {shown(way)}" for way in ways)])


def _read(model: type[_Answer], result: Any) -> _Answer:
    try:
        return read(model, result)
    except RequestError as error:
        first = error.data["problems"][0] if error.data else {}
        place, rule = shown(f"{first.get('path')}"), shown(f"{first.get('rule')}")
        raise AgentFailed(f"it does not speak ACP as it should: {place}: {rule}") from None


def _introduction() -> dict[str, Any]:
    info = {"name": "askdesk", "title": "askdesk", "version": version("askdesk")}
    return {"protocolVersion": VERSION, "clientCapabilities": _ABILITIES, "clientInfo": info}
