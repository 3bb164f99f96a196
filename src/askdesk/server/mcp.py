"""MCP at /mcp, for agents with a token that asks. The library is loaded with the first request.

A host's dialog answers only where the host also has a token that answers, in the header Askdesk-Answer-Token: no token
does both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askdesk.core import seal
from askdesk.core.errors import InvalidAsk
from askdesk.core.model import Asker, Permission, Questions
from askdesk.server import given, shelf_rules, tokens
from askdesk.server.doors import Door
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.surfaces.elicitation import Dialog, Guard

if TYPE_CHECKING:
    from askdesk.adapters.mcp_dialog import Caller, HostDialog, Place, Wanted
    from askdesk.adapters.mcp_http import Rooms
    from askdesk.adapters.mcp_tools import DeskTools, Told

PATH = "/mcp"
ANSWER_TOKEN = "askdesk-answer-token"  # noqa: S105 - the name of a header
_VISITOR = "askdesk.visitor"
_UNNAMED = "mcp host"  # until it says its name
_MOST_VISITORS = 1000
_ENDED = "NOT ANSWERED: the token no longer holds. This is not an answer and not consent."


class Mcp:
    """The conversations of one server: begun with the first request, ended with the server."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._rooms: asyncio.Future[Rooms] | None = None
        self._running: asyncio.Task[None] | None = None
        self._tools: dict[tuple[str, ...], DeskTools] = {}

    async def answer(self, request: Request, token: Token) -> ASGIApp:
        if _begins_session(request):
            given.check_rate(self.service.asks, token, 0, "sessions")
        body = await request.body()  # which may take its time: both tokens must hold once it is here
        await given.check_still_valid(self.service, token)
        answerer = await self._answerer(request)
        request.scope[_VISITOR] = _Visitor(self, token, answerer, _who(request, token))
        app = (await self._opened()).app(" ".join([token.id, answerer.id if answerer else "-"]))

        async def placed(scope: Scope, receive: Receive, send: Send) -> None:
            with self.service.streams.place(token):
                await app(scope, _again(body, receive), send)

        return placed

    async def _answerer(self, request: Request) -> Token | None:
        text = request.headers.get(ANSWER_TOKEN, "")
        found = await tokens.found(self.service.recent, text, self.service.desk.now()) if text else None
        if text and (found is None or found.kind != "answerer"):
            raise Refused(401, "unauthorized", f"{ANSWER_TOKEN} is no valid answerer's token")
        return found

    async def _opened(self) -> Rooms:
        if self._rooms is None:
            self._rooms = asyncio.get_running_loop().create_future()
            self._running = asyncio.ensure_future(self._run(self._rooms))
        return await asyncio.shield(self._rooms)

    async def _run(self, opened: asyncio.Future[Rooms]) -> None:
        """In a task of its own, from beginning to end, as the library wants it."""
        try:
            rooms = await self._made()
            async with rooms.open():
                opened.set_result(rooms)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for it
            if not opened.done():
                opened.set_exception(error)
                self._rooms = None  # the next request tries again

    async def _made(self) -> Rooms:
        from importlib.metadata import version

        from askdesk.wire.mcp import tools

        module = await asyncio.to_thread(import_module, "askdesk.adapters.mcp_http")  # others are served meanwhile
        service = self.service
        made: Rooms = module.Rooms(
            lambda scope: scope[_VISITOR],
            tools(service.limits, "markdown"),
            version=version("askdesk"),
            key=await seal.key(service.desk.shelf, "mcp"),
            max_body=service.max_body,
        )
        return made

    def tools(self, token: Token, answerer: Token | None, asker: Asker) -> DeskTools:
        """The same for the same visitor, so that a dialog that was left is not shown again; of many, the latest."""
        key = (token.id, answerer.id if answerer else "", asker.agent, asker.project, asker.session)
        tools = self._tools.pop(key, None) or self._new_tools(token, answerer, asker)
        self._tools[key] = tools
        if len(self._tools) > _MOST_VISITORS:
            del self._tools[next(iter(self._tools))]
        return tools

    def _new_tools(self, token: Token, answerer: Token | None, asker: Asker) -> DeskTools:
        from askdesk.adapters.mcp_tools import DeskTools

        async def admit(body: Questions | Permission, asker: Asker) -> None:
            await self._admit(token, body, asker)

        return DeskTools(
            self.service.desk,
            lambda _: asker,
            self._place(answerer if answerer and answerer.takes(asker) else None),
            limits=self.service.limits,
            seconds=self.service.host_seconds,
            admit=admit,
        )

    def _place(self, answerer: Token | None) -> Place:
        from askdesk.adapters.mcp_dialog import Place
        from askdesk.wire import mcp as wire

        service = self.service
        guard = Guard(left=service.dialog_seconds)

        def dialog(host: str) -> HostDialog:
            name = answerer.name if answerer else ""
            known, surface = wire.host(host), f"{host or 'host'} dialog"
            return Dialog(service.desk.shelf, name, surface, known.dialect, guard=guard, lines=known.lines)

        async def page() -> str:
            return service.url

        async def attended() -> bool:
            return True

        return Place(dialog if answerer else None, page, attended)

    async def _admit(self, token: Token, body: Questions | Permission, asker: Asker) -> None:
        """Whether there is room for one more: only where one is asked, never where an answer is brought or fetched."""
        given.check_size(body)
        await shelf_rules.check_room(self.service, asker)
        try:
            given.check_rate(self.service.asks, token, len(msgspec.json.encode(body)))
        except Refused as error:
            raise InvalidAsk(f"{error.detail}: try again in a minute") from None
        self.service.metrics.asks += 1

    async def end(self) -> None:
        for tools in self._tools.values():
            tools.is_ending = True  # what is asked stays open
        if self._running:
            self._running.cancel()
            await asyncio.wait((self._running,))


class _Visitor:
    """Whoever one request is from, as the tools see them."""

    def __init__(self, room: Mcp, token: Token, answerer: Token | None, asker: Asker) -> None:
        self._room, self._token, self._answerer, self._asker = room, token, answerer, asker

    async def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Told | Wanted:
        from askdesk.adapters.mcp_tools import Told

        service = self._room.service
        asker = self._asker if self._asker.agent != _UNNAMED else replace(self._asker, agent=caller.name or _UNNAMED)
        try:
            shelf_rules.check_asker(self._token, asker)
        except Refused as error:
            return Told(f"NOT ASKED: {error.detail}", is_error=True)
        tools = self._room.tools(self._token, self._answerer, asker)
        made = await tools.call(name, arguments, caller)
        is_valid = await tokens.is_still_valid(service.recent, self._token, service.desk.now())
        return made if is_valid else Told(_ENDED, is_error=True)


def _again(body: bytes, receive: Receive) -> Receive:
    """For whoever comes after us: a body that we have read already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def _begins_session(request: Request) -> bool:
    """In the era of handshakes the first request of a session has none, and the version is only in its body."""
    headers = request.headers
    return request.method == "POST" and "mcp-session-id" not in headers and "mcp-protocol-version" not in headers


def _who(request: Request, token: Token) -> Asker:
    """Whom the address names, else the only agent and project that the token is for. Each token has its own answers."""
    named = request.query_params.get
    agent = named("agent") or (token.agents[0] if len(token.agents) == 1 else _UNNAMED)
    project = named("project") or (token.projects[0] if len(token.projects) == 1 else "")
    return Asker(agent, session=named("session") or token.id, project=project)


async def speak(service: Service, request: Request, token: Token) -> ASGIApp:
    return await service.mcp.answer(request, token)


DOORS = tuple(Door(method, PATH, speak, ("asker",)) for method in ("POST", "GET", "DELETE"))
