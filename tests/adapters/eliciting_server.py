"""An MCP server that asks people whatever it is told to, the way each era of the protocol has for it.

Run as a program it speaks over standard input and output.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    InputResponse,
    ListToolsResult,
    TextContent,
    Tool,
)

Asked: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams
Called: TypeAlias = Callable[
    [ServerRequestContext[Any], CallToolRequestParams], Awaitable[CallToolResult | InputRequiredResult]
]


async def list_tools(context: ServerRequestContext[Any], params: object) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="elicit", input_schema={"type": "object"})])


async def call_tool(
    context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    """Ask what the arguments say, and return what came of it as JSON."""
    asked = _asked(params.arguments or {})
    if context.protocol_version < "2026":
        result = await _elicited(context, asked)
    elif params.input_responses:
        result = params.input_responses["it"]
    else:
        return InputRequiredResult(input_requests={"it": ElicitRequest(params=asked)})
    assert isinstance(result, ElicitResult)
    return saying(result.action, result.content)


async def _elicited(context: ServerRequestContext[Any], asked: Asked) -> InputResponse:
    if isinstance(asked, ElicitRequestFormParams):
        return await context.session.elicit_form(asked.message, asked.requested_schema, context.request_id)
    return await context.session.elicit_url(asked.message, asked.url, "it", context.request_id)


def saying(*values: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(values))])


def _asked(given: dict[str, Any]) -> Asked:
    if "url" in given:
        return ElicitRequestURLParams(message=given["message"], url=given["url"], elicitation_id="it")
    return ElicitRequestFormParams(message=given["message"], requested_schema=given["schema"])


def eliciting_server(called: Called = call_tool) -> Server[Any]:
    return Server("eliciting", version="1", on_list_tools=list_tools, on_call_tool=called)


async def main() -> None:
    server = eliciting_server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
