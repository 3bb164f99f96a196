"""Our tools as MCP hosts and their models see them, and what is known of the hosts. Every word costs tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import PreviewFormat
from askdesk.wire import definition

ASK, PERMIT, LEAVE, COLLECT = "ask_user_question", "ask_permission", "ask_without_waiting", "collect_answers"

_ASK = (
    "Ask the user, and wait for the answer, when a decision is really theirs and changes what you do next; not where a "
    'sensible default exists or you can check for yourself. They can always type their own answer: offer no "Other". '
    'Put a recommended option first and end its label with "(Recommended)". Each question must stand on its own.'
)
_PERMIT = (
    "Ask the user to allow one exact action before you take it, and wait. Do only what was allowed, with their input "
    "where they changed it. Anything but ALLOWED means no."
)
_LEAVE = (
    "Like ask_user_question, but does not wait: returns an ask id at once. Go on with work that does not depend on the "
    "answer, and fetch it with collect_answers."
)
_COLLECT = (
    "Answers given since to what you asked without waiting, or that was still open. Each is told once. With ask_id, "
    "wait for that one."
)
_ASK_ID = {"type": "string", "description": "Only after STILL OPEN: the ask id, to go on waiting"}
_METADATA = {"anthropic/alwaysLoad": True}  # or Claude Code leaves the tool out until a search finds it
_PREVIEWS = {
    "none": "",
    "markdown": " Options may have a preview, in Markdown, to compare by eye.",
    "html": " Options may have a preview, an HTML fragment with inline styles, to compare by eye.",
}


class Tool(NamedTuple):
    """A tool without the words of any library."""

    name: str
    title: str
    description: str
    schema: dict[str, Any]
    metadata: dict[str, Any] = _METADATA
    annotations: dict[str, bool] = {  # noqa: RUF012 - hosts refuse to run what might change something, or ask first
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": False,
    }


def tools(limits: Limits = OPEN, previews: PreviewFormat = "none") -> tuple[Tool, ...]:
    """All that a host gets."""
    questions = definition.schema(limits)["properties"]["questions"]
    if previews == "none":
        questions["items"]["properties"]["options"]["items"]["properties"].pop("preview")
    permission = {
        "tool_name": {"type": "string", "description": "What kind of action, e.g. Bash, Edit, deploy"},
        "input": {"type": "object", "description": 'Exactly what would be done, e.g. {"command": "make deploy"}'},
        "reason": {"type": "string", "description": "Why, in one sentence"},
    }
    ask_schema = _object({"questions": questions, "ask_id": _ASK_ID}, ["questions"])
    wait = {"type": "boolean", "description": "Wait until there is an answer (default: only with ask_id)"}
    return (
        Tool(ASK, "Ask the user", _ASK + _PREVIEWS[previews], ask_schema),
        Tool(PERMIT, "Ask for permission", _PERMIT, _object({**permission, "ask_id": _ASK_ID}, ["tool_name", "input"])),
        Tool(LEAVE, "Ask without waiting", _LEAVE, _object({"questions": questions}, ["questions"])),
        Tool(COLLECT, "Collect answers", _COLLECT, _object({"ask_id": {"type": "string"}, "wait": wait}, [])),
    )


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made


class Host(NamedTuple):
    """How long a host lets one call of a tool take, and whether that clock stands while its dialog is open."""

    seconds: float
    pauses: bool = False


DAY = 86_400.0
UNKNOWN = Host(60)  # what most clients give up after
_HOSTS = {
    "claude-code": Host(DAY),  # a day, as long as it hears of progress
    "claude-ai": Host(60),
    "codex-mcp-client": Host(300, pauses=True),
    "cursor": Host(60),
    "gemini-cli": Host(600),
    "goose": Host(300),
    "visual studio code": Host(300),
    "zed": Host(60),
}


def host(name: str) -> Host:
    """What is known of a host by the name that it gives itself; the beginning of it decides."""
    known = (found for start, found in _HOSTS.items() if name.lower().startswith(start))
    return next(known, UNKNOWN)
