"""What a message of the Claude Agent SDK means to a program that only shows the run."""

from __future__ import annotations

from collections.abc import Iterable

from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolUseBlock
from claude_agent_sdk.types import Message, StreamEvent

from askdesk.adapters.steps import Called, Ended, Piece, Said, Step

__all__ = ["Called", "Ended", "Piece", "Said", "Step", "steps"]


def steps(message: Message) -> Iterable[Step]:
    """Nothing for what subagents say among themselves and for messages about messages."""
    if getattr(message, "parent_tool_use_id", None):
        return
    if isinstance(message, StreamEvent):
        delta = message.event.get("delta", {})
        if delta.get("type") == "text_delta":
            yield Piece(delta["text"])
    elif isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, TextBlock):
                yield Said(block.text)
            elif isinstance(block, ToolUseBlock):
                yield Called(block.name, block.input)
    elif isinstance(message, ResultMessage):
        yield _end(message)


def _end(result: ResultMessage) -> Ended:
    text = result.result or "; ".join(result.errors or ())
    if result.deferred_tool_use:
        return Ended("parked", text, result.session_id)
    if (result.terminal_reason or "").startswith("aborted"):
        return Ended("stopped", text, result.session_id)
    return Ended("failed" if result.is_error else "done", text, result.session_id)
