"""MCP over streamable HTTP, in both eras, as an ASGI application: each call is made for whoever the request is from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from askdesk.adapters.mcp import Context, Tools, tool_server
from askdesk.adapters.mcp_dialog import Caller, Wanted
from askdesk.adapters.mcp_tools import Told
from askdesk.wire import mcp as wire

_IDLE_SECONDS = 1800.0
_MOST_SESSIONS = 2000
_GONE = "askdesk.gone"  # of a request: set when it has ended, after which nothing that a call returns is heard
_UNHEARD = Told("NOT ANSWERED: the host is gone.", is_error=True)


class Rooms:
    """All conversations of one server. `tools_of` makes the tools of whoever a request's scope is from."""

    def __init__(
        self,
        tools_of: Callable[[Scope], Tools],
        tools: tuple[wire.Tool, ...],
        *,
        version: str,
        key: bytes,
        max_body: int,
    ) -> None:
        async def found(context: Context) -> Tools:
            assert context.request is not None  # noqa: S101 - over HTTP each call is in one
            scope = context.request.scope
            return _Followed(tools_of(scope), self._calls, scope[_GONE])

        self._manager = StreamableHTTPSessionManager(
            tool_server(found, tools, version=version, key=key),
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MOST_SESSIONS,
            max_request_body_size=max_body,
        )
        self._app: ASGIApp = AuthContextMiddleware(self._manager.handle_request)
        self._calls: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """For as long as the block runs; then every call that waits is broken off."""
        async with self._manager.run():
            try:
                yield
            finally:
                for call in tuple(self._calls):
                    call.cancel()

    def app(self, owner: str) -> ASGIApp:
        """The application for a request of this owner: a session is theirs alone, and so is a dialog's state."""
        user = AuthenticatedUser(AccessToken(token=owner, client_id=owner, scopes=[]))

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            gone = asyncio.Event()
            try:
                await self._app({**scope, "user": user, _GONE: gone}, receive, send)
            finally:
                gone.set()

        return answered


class _Followed:
    """Tools whose calls end with the request that they are in, and with the server: some run in tasks of nobody's."""

    def __init__(self, tools: Tools, calls: set[asyncio.Task[Any]], gone: asyncio.Event) -> None:
        self._tools, self._calls, self._gone = tools, calls, gone

    async def call(self, name: str, given: Mapping[str, Any], caller: Caller) -> Told | Wanted:
        followed = caller._replace(is_gone=self._gone.is_set)
        calling = asyncio.ensure_future(self._tools.call(name, given, followed))
        leaving = asyncio.ensure_future(self._gone.wait())
        self._calls.add(calling)
        try:
            await asyncio.wait((calling, leaving), return_when=asyncio.FIRST_COMPLETED)
            return calling.result() if calling.done() else _UNHEARD
        finally:
            leaving.cancel()
            calling.cancel()
            with anyio.CancelScope(shield=True):  # the dialog is taken back while its host still listens
                await asyncio.wait((calling,))
            self._calls.discard(calling)
