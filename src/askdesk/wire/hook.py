"""Claude Code's hooks: its events in, replies out. No I/O.

A reply of None is no decision: the host goes on as if there were no hook. Nothing but an answer or an explicit yes is
ever an allow.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Struct, field

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk
from askdesk.core.model import (
    Allowed,
    Answered,
    Asker,
    Declined,
    Denied,
    Expired,
    Outcome,
    Permission,
    Questions,
    Withdrawn,
)
from askdesk.core.text import shown
from askdesk.wire import permission, tool

AGENT = "claude code"
SURFACE = "claude-code"  # where somebody answered who answered in the host's own dialog

_ENVELOPE = 8  # levels of JSON around a tool's input


class BatchCall(Struct, frozen=True):
    """One call of a PostToolBatch."""

    tool: str = field(default="", name="tool_name")
    input: dict[str, Any] = field(default_factory=dict, name="tool_input")
    call: str = field(default="", name="tool_use_id")
    response: Any = field(default=None, name="tool_response")


class Event(Struct, frozen=True):
    """What a hook is told. Fields that an event does not have are empty; those that we do not know are left out."""

    name: str = field(name="hook_event_name")
    session: str = field(default="", name="session_id")
    folder: str = field(default="", name="cwd")
    transcript: str = field(default="", name="transcript_path")
    tool: str = field(default="", name="tool_name")
    input: dict[str, Any] = field(default_factory=dict, name="tool_input")
    call: str = field(default="", name="tool_use_id")
    response: Any = field(default=None, name="tool_response")
    suggestions: list[dict[str, Any]] = field(default_factory=list, name="permission_suggestions")
    calls: tuple[BatchCall, ...] = field(default=(), name="tool_calls")
    agent_id: str = ""
    agent_type: str = ""
    message: str = ""
    kind: str = field(default="", name="notification_type")

    @property
    def asks_questions(self) -> bool:
        return self.tool == tool.NAME

    def asker(self, host: str = "", process: int | None = None) -> Asker:
        """A subagent asks under its own name, with the session's agent as its parent."""
        agent, parent = (self.agent_type or "subagent", AGENT) if self.agent_id else (AGENT, "")
        return Asker(agent, self.session, self.folder, parent, host, process)

    def body(self) -> Questions | Permission:
        return permission.body(self.tool, self.input, folder=self.folder, suggestions=self.suggestions)


def read(raw: bytes, *, size: int = strict.SIZE, depth: int = strict.DEPTH) -> Event:
    """The event that a hook was sent, or InvalidAsk."""
    try:
        value = strict.loads(raw, size=2 * size, depth=depth + _ENVELOPE)
        return msgspec.convert(value, Event)
    except (strict.NotStrict, msgspec.ValidationError) as error:
        raise InvalidAsk(f"this is no event of Claude Code's: {error}") from None


def before(questions: Questions, outcome: Outcome) -> dict[str, Any] | None:
    """The reply of a PreToolUse hook: answers instead of the dialog, or why there are none."""
    match outcome:
        case Answered():
            return _reply("PreToolUse", permissionDecision="allow", updatedInput=tool.result(questions, outcome))
        case Declined(stop=True):
            denied = _denied_before(tool.text(questions, outcome))
            return {**denied, "continue": False, "stopReason": "Stopped by the person, at the desk."}
        case Declined() | Expired():
            return _denied_before(tool.text(questions, outcome))
        case Withdrawn():
            return None
        case Allowed() | Denied():
            raise TypeError("questions are answered or declined, not allowed or denied")
        case _:
            assert_never(outcome)


def decided(body: Questions | Permission, outcome: Outcome) -> dict[str, Any] | None:
    """The reply of a PermissionRequest hook, beside which the host's own dialog is open."""
    if isinstance(outcome, Withdrawn):
        return None
    return _reply("PermissionRequest", decision=permission.decision(body, outcome))


def notice(words: str) -> dict[str, Any]:
    """No decision, and words for the person at the host's terminal."""
    return {"systemMessage": f"askdesk: {shown(words)}"}


def _denied_before(reason: str) -> dict[str, Any]:
    return _reply("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def _reply(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
