"""How a call ended in Claude Code's own dialog: from its transcript, or from what its hooks tell afterwards. No I/O.

Where that is not known for certain, the desk's copy is withdrawn; nothing is guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, assert_never

from askdesk.core import strict
from askdesk.core.model import Allowed, Answered, Declined, Denied, Expired, Permission, Questions, Reply, Withdrawn
from askdesk.wire.ending import Interrupted, Refused, Result, Told, Unanswered, ending, text_of
from askdesk.wire.messages import decoded

DECIDED = "decided in Claude Code's terminal"
_SAID = "the user said:\n"
_REJECTED = "The user doesn't want to proceed with this tool use."
_ERRORS = (_REJECTED, "<tool_use_error>", "Error: ", "[Request interrupted")  # what begins so, no person answered


class Line(NamedTuple):
    """What one line of a transcript says of calls: those that were made, and how one ended."""

    made: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()  # id, tool, input
    ended: str = ""
    result: Result = Result("")
    by_person: bool = False  # whether a person allowed it


SILENT = Line()


def line(raw: bytes) -> Line:
    """A line of a transcript, read for calls; one that has none, or that is no JSON, says nothing."""
    if b'"tool_use' not in raw and b'"tool_result"' not in raw:
        return SILENT
    try:
        value: Any = decoded(raw)
        content = value["message"]["content"] if value.get("type") in ("assistant", "user") else None
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        made = tuple((b["id"], b["name"], b["input"]) for b in blocks if b.get("type") == "tool_use")
        ended = next((block for block in blocks if block.get("type") == "tool_result"), None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return SILENT
    if ended is None:
        return Line(made)
    decision = value.get("permissionDecision")
    decision = decision if isinstance(decision, dict) else {}
    denied = decision.get("decision") == "reject" or "toolDenialKind" in value
    result = Result(ended.get("content", ""), bool(ended.get("is_error")), value.get("toolUseResult"), denied)
    by_person = decision.get("decision") == "accept" and str(decision.get("source")).startswith("user")
    return Line(made, str(ended.get("tool_use_id")), result, by_person)


def of_response(response: object) -> Result:
    """What a PostToolUse or a PostToolBatch tells of a call's end: a structure, or the text that the model reads."""
    if isinstance(response, Mapping):
        return Result("", structure=response)
    return Result(response, is_error=text_of(response).startswith(_ERRORS))


def ended_there(body: Questions | Permission, result: Result, *, by_person: bool = False) -> Reply | Withdrawn:
    """How a call ended in the host's own dialog; where that is not known for certain, it is a withdrawal."""
    if isinstance(body, Permission):
        return _decided_there(text_of(result.content) if result.is_error else "", by_person)
    match ending(body, result):
        case Answered() | Declined() as reply:
            return reply
        case Interrupted():
            return Withdrawn("interrupted in Claude Code's terminal")
        case Expired():
            return Withdrawn("nobody answered in Claude Code's terminal either, and it went on by itself")
        case Withdrawn() | Unanswered() | Refused() | Told():
            return Withdrawn("ended in Claude Code's terminal, without an answer that is known here")
        case other:
            assert_never(other)


def _decided_there(refusal: str, by_person: bool) -> Reply | Withdrawn:
    if refusal.startswith(_REJECTED):
        words = "".join(sign for sign in refusal.partition(_SAID)[2] if not strict.text_flaw(sign))
        return Denied(words.strip(), stop=not words)
    return Allowed() if by_person else Withdrawn(DECIDED)
