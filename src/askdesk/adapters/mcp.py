"""MCP over standard input and output: one tool that an agent's host asks before the agent may call another one.

Made for `claude -p --permission-prompt-tool`. The only file that knows the mcp library, whose import takes longer than
everything else here: load this one last. Whatever breaks is a deny in plain words; only a person's yes is an allow.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeAlias, cast

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError, InvalidAsk, KeyReused, MissingGuest, Problem, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Ask, Asker, Permission, PreviewFormat, Questions
from askdesk.wire import permission

try:
    import anyio
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
except ImportError:
    raise MissingGuest("mcp", "mcp") from None

log = logging.getLogger("askdesk")

Tell: TypeAlias = Callable[[float], Awaitable[None]]
"""Tells the client that the call is still alive: how many times by now."""

NAME = "approve"
_GOODBYE_SECONDS = 3.0  # to take an ask back where nobody waits for it any more
_UNASKED = "NOT ALLOWED: nobody could be asked, so the call did not run. This is not consent: do not work around it."
_INVALID = "NOT ALLOWED: the call breaks these rules, so nobody was asked and it did not run.\n{}"
_TOOL = Tool(
    name=NAME,
    description="Ask people whether an agent may call a tool, or put its questions to them.",
    input_schema={
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The tool that the agent wants to call"},
            "input": {"type": "object", "description": "What it would be called with"},
            "tool_use_id": {"type": "string", "description": "The call's id"},
        },
        "required": ["tool_name", "input"],
    },
)


class PermissionPrompt:
    """Puts the calls that a host asks about on a desk, and waits for as long as it takes.

    While it waits it tells the client so, every so many seconds: hosts give up on a tool that is silent.
    """

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        *,
        folder: str = "",
        deadline: timedelta | None = None,
        previews: PreviewFormat = "markdown",
        limits: Limits = OPEN,
        tell_every: float = 30.0,
    ) -> None:
        self._desk, self._asker, self._folder = desk, asker, folder
        self._deadline, self._previews, self._limits = deadline, previews, limits
        self._tell_every = tell_every

    async def decided(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """The verdict on a call, as hosts expect it. Cancelled, it takes the ask back."""
        telling = asyncio.ensure_future(self._keep_telling(tell))
        try:
            body, key = self._read(given)
            return await self._verdict(body, key)
        except InvalidAsk as error:
            return _denied(_INVALID.format(error))
        except AskdeskError as error:
            log.error("a call is denied, because nobody could be asked: %s", error)
            return _denied(_UNASKED)
        except Exception:  # a host would show its text to the model
            log.exception("a call is denied, because nobody could be asked")
            return _denied(_UNASKED)
        finally:
            telling.cancel()

    def _read(self, given: Mapping[str, Any]) -> tuple[Questions | Permission, str | None]:
        name, value, key = given.get("tool_name"), given.get("input"), given.get("tool_use_id") or None
        problems = []
        if not isinstance(name, str):
            problems.append(Problem("tool_name", f"must be text, is {quoted(name)}"))
        if not isinstance(value, Mapping):
            problems.append(Problem("input", f"must be an object, is {quoted(value)}"))
        if not isinstance(key, str | None):
            problems.append(Problem("tool_use_id", f"must be text, is {quoted(key)}"))
        if problems:
            raise InvalidAsk(problems)
        return permission.body(name, value, folder=self._folder, limits=self._limits), key  # type: ignore[arg-type]

    async def _verdict(self, body: Questions | Permission, key: str | None) -> dict[str, Any]:
        ask_id = new_id()  # known before it is kept, so that it can be taken back at any moment
        try:
            ask = await self._posted(body, key, ask_id)
            ask_id = ask.id
            settlement = await self._desk.wait(ask_id)
        except BaseException:  # cancelled: the client takes its call back, or is gone; else the call will be denied
            await self._take_back(ask_id)
            raise
        assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
        return permission.decision(ask.body, settlement.outcome)

    async def _take_back(self, ask_id: str) -> None:
        """Nobody waits for it any more, so nobody should be made to decide."""
        with anyio.move_on_after(_GOODBYE_SECONDS, shield=True), suppress(AskdeskError):
            await self._desk.withdraw(ask_id, "the agent stopped waiting")

    async def _posted(self, body: Questions | Permission, key: str | None, ask_id: str) -> Ask:
        try:
            return await self._desk.post(
                body,
                asker=self._asker,
                key=key,
                deadline=self._deadline,
                preview_format=self._previews if isinstance(body, Questions) else "none",
                id=ask_id,
            )
        except KeyReused as error:
            standing = (await self._desk.get(error.ask_id)).ask
            if isinstance(body, Permission) and standing.permission and standing.permission.digest == body.digest:
                return standing  # the same call, which another door has put with more said about it
            raise

    async def _keep_telling(self, tell: Tell) -> None:
        count = 0.0
        while True:
            await asyncio.sleep(self._tell_every)
            with suppress(Exception):  # whoever is gone is noticed elsewhere
                await tell(count := count + 1)


def _denied(message: str) -> dict[str, Any]:
    return {"behavior": "deny", "message": message}


async def serve(prompt: PermissionPrompt, version: str) -> None:
    """Serve the tool on standard input and output until the client is gone."""

    async def list_tools(context: ServerRequestContext[Any], params: object) -> ListToolsResult:
        return ListToolsResult(tools=[_TOOL])

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name != NAME:
            return CallToolResult(content=[_text(f"there is no tool {quoted(params.name)}")], is_error=True)

        async def tell(count: float) -> None:
            await context.session.report_progress(count, message="waiting for a person")

        verdict = await prompt.decided(params.arguments or {}, tell)
        return CallToolResult(content=[_text(json.dumps(verdict, ensure_ascii=False))])

    server = Server("askdesk", version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", _lines())) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


async def _lines() -> AsyncIterator[str]:
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
