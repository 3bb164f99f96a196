"""What Claude says and does, as updates of an editor's session. Nothing is sent here, and no ask is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from claude_agent_sdk.types import Message, StreamEvent

from askdesk.wire import acp
from askdesk.wire.acp_tool import PLAN_TOOLS, Info, Json, screened, tool_info

_DELTAS = {"text_delta": ("agent_message", "text"), "thinking_delta": ("agent_thought", "thinking")}
_HELD_BACK = 8  # characters at the end of a piece, to which what the next one begins with may belong
_PRINTED = re.compile(r"<local-command-std(?:out|err)>(.*?)</local-command-std(?:out|err)>", re.DOTALL)


class Updates:
    """The updates of one session. A call is announced once, by whoever hears of it first."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[str, tuple[str, Json]] = {}  # calls without a result yet: their tools and inputs
        self._announced: set[str] = set()
        self._plan = acp.Plan()
        self._streamed: set[tuple[str, str]] = set()  # what was said of the message that is being streamed
        self._message = ""
        self._pieces = _Pieces()
        self._used: Json = {}  # tokens, by the last message

    def of(self, message: Message) -> Iterator[Json]:
        if isinstance(message, StreamEvent):
            if not message.parent_tool_use_id:
                yield from self._event(message.event)
            return
        yield from self._pieces.rest()
        if isinstance(message, AssistantMessage):
            yield from self._said(message)
        elif isinstance(message, UserMessage):
            yield from self._heard(message)
        elif isinstance(message, ResultMessage):
            yield from _usage(message, self._used)

    def announce(self, call_id: str, name: str, given: Json, info: Info, *, parent: str = "") -> Iterator[Json]:
        """The update that makes a call known, where it is not."""
        if call_id not in self._announced:
            self._announced.add(call_id)
            yield acp.tool_call(call_id, name, given, info, parent=parent)

    def open_calls(self, name: str) -> dict[str, Json]:
        """The inputs of the calls of a tool that have no result yet."""
        return {number: given for number, (tool, given) in self._open.items() if tool == name}

    def given_up(self) -> Iterator[Json]:
        """Calls that a cancelled turn leaves without a result."""
        for number in list(self._open):
            del self._open[number]
            if number in self._announced:
                yield acp.tool_status(number, "failed")

    def _event(self, event: Json) -> Iterator[Json]:
        if event.get("type") == "message_start":
            self._message = event.get("message", {}).get("id", "")
            self._streamed.clear()
        if event.get("type") in ("content_block_stop", "message_stop"):
            yield from self._pieces.rest()
        delta = event.get("delta") or {}
        if (known := _DELTAS.get(delta.get("type", ""))) and isinstance(text := delta.get(known[1]), str):
            self._streamed.add((self._message, known[0]))
            yield from self._pieces.add(known[0], text)

    def _said(self, message: AssistantMessage) -> Iterator[Json]:
        parent = message.parent_tool_use_id or ""
        if not parent and message.usage:
            self._used = message.usage
        for block in message.content:
            if isinstance(block, ToolUseBlock | ServerToolUseBlock):
                yield from self._called(block.id, block.name, block.input, parent)
            elif isinstance(block, TextBlock) and not parent:  # a subagent's words are for the agent that sent it
                yield from self._whole("agent_message", block.text, message.message_id)
            elif isinstance(block, ThinkingBlock) and not parent:
                yield from self._whole("agent_thought", block.thinking, message.message_id)

    def _whole(self, kind: str, text: str, message_id: str | None) -> Iterator[Json]:
        """A text that was not streamed before."""
        if text and (message_id, kind) not in self._streamed:
            yield acp.chunk(kind, screened(text))

    def _called(self, call_id: str, name: str, given: Json, parent: str) -> Iterator[Json]:
        self._open[call_id] = (name, given)
        if name not in PLAN_TOOLS:
            yield from self.announce(call_id, name, given, tool_info(name, given, self._folder), parent=parent)

    def _heard(self, message: UserMessage) -> Iterator[Json]:
        if isinstance(message.content, str):
            for printed in _PRINTED.findall(message.content):
                yield acp.chunk("agent_message", screened(printed))
            return
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                yield from self._ended(block, message.tool_use_result)

    def _ended(self, block: ToolResultBlock, structure: object) -> Iterator[Json]:
        name, given = self._open.pop(block.tool_use_id, ("", {}))
        failed = bool(block.is_error)
        if not failed and (update := self._plan.ended(name, given, block.content, structure)):
            yield update
        if block.tool_use_id in self._announced:
            yield acp.tool_result(block.tool_use_id, name, block.content, structure, failed=failed)


class _Pieces:
    """Words as they are said. The end of a piece is held back: a character may be put together from two."""

    def __init__(self) -> None:
        self._kind = self._held = ""

    def add(self, kind: str, text: str) -> Iterator[Json]:
        if kind != self._kind:
            yield from self.rest()
        self._kind, text = kind, self._held + text
        at = len(text)
        while at > 0 and not text[at - 1].isascii() and len(text) - at < _HELD_BACK:
            at -= 1
        self._held = text[at:]
        if at > 0:
            yield acp.chunk(kind, screened(text[:at]))

    def rest(self) -> Iterator[Json]:
        if self._held:
            yield acp.chunk(self._kind, screened(self._held))
        self._held = ""


def _usage(result: ResultMessage, used: Json) -> Iterator[Json]:
    windows: list[Any] = [usage.get("contextWindow") for usage in (result.model_usage or {}).values()]
    window = max((size for size in windows if isinstance(size, int)), default=None)
    if update := acp.usage_update(used, window, result.total_cost_usd):
        yield update
