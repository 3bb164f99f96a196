"""An editor that follows a script: a client of ACP on a wire of its own, which keeps what it is told and asked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from askdesk.adapters.acp_connection import Peer, schema

SECONDS = 30.0  # a bound for what should take a fraction of one
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
PAGES: dict[str, Any] = {"elicitation": {"url": {}}}

_MODELS: dict[str, Any] = {
    "session/request_permission": schema.RequestPermissionRequest,
    "elicitation/create": schema.CreateElicitationRequest,
}

Answer = Callable[[dict[str, Any]], Awaitable[Any]]


class Editor:
    """Answers with `answers`, by method; what has none there is left waiting."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        asked = ("session/request_permission", "elicitation/create")
        methods = {name: self._asking(name) for name in asked}
        self.peer = Peer(
            {"session/update": self._told, "elicitation/complete": self._completed, **methods}, writer, reader
        )
        self.answers: dict[str, Answer] = {}
        self.updates: list[dict[str, Any]] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.taken_back: list[str] = []
        self.completed: list[str] = []
        self.unlawful: list[str] = []  # what breaks the protocol's own schema
        self.news = asyncio.Event()

    def _check(self, model: Any, params: dict[str, Any]) -> None:
        try:
            TypeAdapter(model).validate_python(params)
        except ValidationError as error:
            self.unlawful.append(f"{params}: {error}")

    async def _told(self, params: dict[str, Any]) -> None:
        self._check(schema.SessionNotification, params)
        self.told.append((params["sessionId"], params["update"]))
        self.updates.append(params["update"])
        self.news.set()

    async def _completed(self, params: dict[str, Any]) -> None:
        self.completed.append(params["elicitationId"])
        self.news.set()

    def _asking(self, name: str) -> Answer:
        async def asked(params: dict[str, Any]) -> Any:
            self._check(_MODELS[name], params)
            self.asked.append((name, params))
            self.news.set()
            try:
                if answer := self.answers.get(name):
                    return await answer(params)
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.taken_back.append(name)
                self.news.set()
                raise

        return asked

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                self.news.clear()
                await self.news.wait()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of a kind."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def said(self) -> str:
        return "".join(update["content"]["text"] for update in self.of("agent_message_chunk"))

    async def leave(self) -> None:
        """Hang up, as an editor that crashes does."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def request(self, method: str, **params: Any) -> Any:
        async with asyncio.timeout(SECONDS):
            return await self.peer.request(method, params)

    async def initialize(self, **capabilities: Any) -> dict[str, Any]:
        result: dict[str, Any] = await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return result

    async def open(self, folder: object) -> str:
        session: str = (await self.request("session/new", cwd=str(folder), mcpServers=[]))["sessionId"]
        return session

    async def prompt(self, session: str, text: str = "go") -> str:
        prompt = [{"type": "text", "text": text}]
        stop: str = (await self.request("session/prompt", sessionId=session, prompt=prompt))["stopReason"]
        return stop


def returning(value: Any, *, after: float = 0.0) -> Answer:
    """The same to whatever is asked, as soon as a person could."""

    async def answer(params: dict[str, Any]) -> Any:
        await asyncio.sleep(after)
        return value

    return answer


def accepting(**content: Any) -> Answer:
    return returning({"action": "accept", "content": content})


def picking(option: str, **meta: Any) -> Answer:
    outcome = {"outcome": "selected", "optionId": option, **({"_meta": meta} if meta else {})}
    return returning({"outcome": outcome})


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Editor, asyncio.StreamReader, asyncio.StreamWriter]]:
    """An editor, and the other end of its wire."""
    ours, theirs = socket.socketpair()
    editor = Editor(*await asyncio.open_connection(sock=ours))
    reader, writer = await asyncio.open_connection(sock=theirs)
    running = asyncio.ensure_future(editor.peer.run())
    try:
        yield editor, reader, writer
    finally:
        await editor.leave()
        await asyncio.wait((running,), timeout=SECONDS)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    assert editor.unlawful == []
