"""MCP over streamable HTTP, in both eras, as an ASGI application: each call is made for whoever the request is from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

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
            return self._followed(tools_of(context.request.scope))

        self._manager = StreamableHTTPSessionManager(
            tool_server(found, tools, version=version, key=key),
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MOST_SESSIONS,
            max_request_body_size=max_body,
        )
        self._app: ASGIApp = AuthContextMiddleware(self._manager.handle_request)
        self._calls: set[asyncio.Task[Any]] = set()

    def _followed(self, tools: Tools) -> Tools:
        return _Followed(tools, self._calls)

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
            await self._app({**scope, "user": user}, receive, send)

        return answered


class _Followed:
    """Tools whose calls can be broken off when the server ends: some run in tasks that are nobody's."""

    def __init__(self, tools: Tools, calls: set[asyncio.Task[Any]]) -> None:
        self._tools, self._calls = tools, calls

    async def call(self, name: str, given: Mapping[str, Any], caller: Caller) -> Told | Wanted:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has one
        self._calls.add(task)
        try:
            return await self._tools.call(name, given, caller)
        finally:
            self._calls.discard(task)
