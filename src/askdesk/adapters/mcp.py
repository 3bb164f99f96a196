"""MCP, in both of its eras: our tools for any host, over standard input and output or as an ASGI application.

The only file that knows how the mcp library serves; its import takes longer than everything else here, so load it last.
What the tools do is in `mcp_tools` and `mcp_prompt`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, cast

from askdesk.adapters import mcp_prompt
from askdesk.adapters.mcp_dialog import Caller, Link, Show, Wanted
from askdesk.adapters.mcp_prompt import PermissionPrompt
from askdesk.adapters.mcp_tools import Told
from askdesk.core.errors import MissingGuest, quoted
from askdesk.wire import mcp as wire
from askdesk.wire.form import Form

try:
    import anyio
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
    from mcp.server.stdio import stdio_server
    from mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        ElicitRequest,
        ElicitRequestFormParams,
        ElicitRequestURLParams,
        ElicitResult,
        InputRequiredResult,
        ListToolsResult,
        TextContent,
        Tool,
        ToolAnnotations,
    )
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ImportError:
    raise MissingGuest("mcp", "mcp") from None

log = logging.getLogger("askdesk")

Context: TypeAlias = ServerRequestContext[Any, Any]
Handled: TypeAlias = CallToolResult | InputRequiredResult

NAME = "askdesk"
_KEY = "dialog"  # of the one thing that a host is asked to show
_LINK_VERSIONS = ("2025-11-25", *MODERN_PROTOCOL_VERSIONS)
_AS_LONG_AS_IT_TAKES = 10 * 365 * 86_400.0  # seconds that sealed state holds: whether the ask is open is looked up


class Tools(Protocol):
    """Whoever does what a call asks for."""

    async def call(self, name: str, given: Mapping[str, Any], caller: Caller) -> Told | Wanted: ...


def tool_server(
    tools_of: Callable[[Context], Awaitable[Tools]], tools: tuple[wire.Tool, ...], *, version: str, key: bytes
) -> Server[Any]:
    """A server of our tools. What a host brings back from a dialog is sealed with the key: with the same one after a
    restart, it still holds."""

    async def call_tool(context: Context, params: CallToolRequestParams) -> Handled:
        desk_tools = await tools_of(context)
        return _handled(await desk_tools.call(params.name, params.arguments or {}, _caller(context, params)))

    server = _server(tools, call_tool, version)
    security = RequestStateSecurity(keys=[key], ttl=_AS_LONG_AS_IT_TAKES)
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    return server


def prompt_server(prompt: PermissionPrompt, *, version: str) -> Server[Any]:
    """A server of the one tool that `claude -p` asks before it runs another."""

    async def call_tool(context: Context, params: CallToolRequestParams) -> Handled:
        if params.name != mcp_prompt.NAME:
            return _handled(Told(f"there is no tool {quoted(params.name)}", is_error=True))
        verdict = await prompt.decided(params.arguments or {}, _teller(context))
        return _handled(Told(json.dumps(verdict, ensure_ascii=False)))

    return _server((mcp_prompt.TOOL,), call_tool, version)


def _server(
    tools: tuple[wire.Tool, ...],
    call_tool: Callable[[Context, CallToolRequestParams], Awaitable[Handled]],
    version: str,
) -> Server[Any]:
    listed = ListToolsResult(tools=[_tool(tool) for tool in tools])

    async def list_tools(context: Context, params: object) -> ListToolsResult:
        return listed

    schemas = {tool.name: tool.schema for tool in tools}
    return Server(
        NAME, version=version, on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=schemas.get
    )


def _tool(tool: wire.Tool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations.model_validate(tool.annotations) if tool.annotations else None,
        _meta=tool.metadata or None,
    )


def _handled(made: Told | Wanted) -> Handled:
    if isinstance(made, Told):
        return CallToolResult(content=[TextContent(type="text", text=made.text)], is_error=made.is_error)
    shows = made.shows
    params: ElicitRequestFormParams | ElicitRequestURLParams
    if isinstance(shows, Link):
        params = ElicitRequestURLParams(message=shows.message, url=shows.url)
    else:
        params = ElicitRequestFormParams(message=shows.message, requested_schema=shows.schema)
    return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=params)}, request_state=made.state)


def _caller(context: Context, params: CallToolRequestParams) -> Caller:
    """Who calls, and what they can show. In the era of handshakes they are asked while they wait, if they can be."""
    session = context.session
    client = session.client_params
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    can_show = modern or session.can_send_request
    elicitation = session.client_capabilities.elicitation if session.client_capabilities and can_show else None
    has_links = elicitation is not None and elicitation.url is not None
    returned = (params.input_responses or {}).get(_KEY)
    return Caller(
        name=client.client_info.name if client else "",
        tell=_teller(context),
        has_forms=elicitation is not None and (elicitation.form is not None or not has_links),
        has_links=has_links and context.protocol_version in _LINK_VERSIONS,
        show=None if modern else _shower(context),
        done=_completer(context),
        state=params.request_state,
        returned=_returned(returned),
    )


def _returned(response: object) -> tuple[str, Mapping[str, object]] | None:
    return (response.action, response.content or {}) if isinstance(response, ElicitResult) else None


def _teller(context: Context) -> Callable[[float], Awaitable[None]]:
    async def tell(count: float) -> None:
        await context.session.report_progress(count, message="waiting for a person")

    return tell


def _shower(context: Context) -> Show:
    async def show(shows: Form | Link) -> tuple[str, Mapping[str, object]]:
        session, related = context.session, context.request_id
        try:
            if isinstance(shows, Link):
                result = await session.elicit_url(shows.message, shows.url, shows.id, related)
            else:
                result = await session.elicit_form(shows.message, shows.schema, related)
        except Exception as error:  # noqa: BLE001 - of the library, the client and pydantic: nobody has seen it
            log.warning("the host could not show its dialog: %s", type(error).__name__)
            return "cancel", {}
        return result.action, result.content or {}

    return show


def _completer(context: Context) -> Callable[[Link], Awaitable[None]]:
    async def complete(link: Link) -> None:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            with suppress(Exception):  # who is gone need not close anything
                await context.session.send_elicit_complete(link.id, context.request_id)

    return complete


async def serve(server: Server[Any], ending: Callable[[], None] = lambda: None) -> None:
    """Serve on standard input and output until the client is gone; `ending` is told when it goes."""
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", _lines(ending))) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _lines(ending: Callable[[], None]) -> AsyncIterator[str]:
    """The lines of standard input, read where nothing waits for the read to end: a signal must be able to end us."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def deliver(line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        rest = b""
        with suppress(OSError):
            while more := os.read(0, 65536):  # not sys.stdin, whose lock an interpreter that ends would wait for
                *whole, rest = (rest + more).split(b"\n")
                for line in whole:
                    deliver(line.decode("utf-8", "replace"))
        deliver(None)

    threading.Thread(target=read, daemon=True, name="askdesk-stdin").start()
    while (line := await lines.get()) is not None:
        yield line
    ending()
