"""The Agent Client Protocol's updates of a session, and a prompt as Claude takes it. Pure: nothing is sent here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from askdesk.core.text import shown
from askdesk.wire.acp_tool import (
    PLAN_TOOLS,
    Info,
    Json,
    changed_places,
    plan_entry,
    result_content,
    screened,
    todo_entries,
    tool_info,
)

PROTOCOL = 1
_CREATED = re.compile(r"Task #(\S+) created successfully")
MODES: tuple[Json, ...] = (
    {"id": "default", "name": "Ask first", "description": "Claude asks before it changes anything"},
    {"id": "acceptEdits", "name": "Accept edits", "description": "Changes to files need no permission"},
    {"id": "plan", "name": "Plan", "description": "Claude makes a plan before it changes anything"},
    {"id": "auto", "name": "Auto", "description": "A model decides which calls need no permission"},
)


class Client(NamedTuple):
    """What an editor can do, as far as it says so. A way to ask that it does not name it does not have."""

    form: bool = False
    url: bool = False
    air: bool = False  # it is JetBrains' AIR


def client(capabilities: object) -> Client:
    """The client that these capabilities tell of."""
    found = capabilities if isinstance(capabilities, dict) else {}
    asked, meta = found.get("elicitation"), found.get("_meta")
    ways = asked if isinstance(asked, dict) else {}
    air = isinstance(meta, dict) and isinstance(meta.get("jetbrains"), dict) and "air" in meta["jetbrains"]
    return Client(isinstance(ways.get("form"), dict), isinstance(ways.get("url"), dict), air)


def modes(current: str) -> Json:
    """The modes that there are; one of the person's own settings is offered too, so that they can come back to it."""
    known = [dict(mode) for mode in MODES]
    if current not in {mode["id"] for mode in known}:
        known.append({"id": current, "name": current})
    return {"currentModeId": current, "availableModes": known}


def chunk(kind: str, text: str) -> Json:
    """Some words: kind is agent_message, agent_thought or user_message."""
    return {"sessionUpdate": f"{kind}_chunk", "content": {"type": "text", "text": text}}


def tool_call(call_id: str, name: str, given: Mapping[str, Any], info: Info, *, parent: str = "") -> Json:
    """A call that is announced, before it runs."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        **info.written,
        "status": "pending",
        "rawInput": dict(given),
        "_meta": _claude_meta(name, parent),
    }


def tool_status(call_id: str, status: str) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status}


def tool_result(call_id: str, name: str, content: object, structure: object, *, failed: bool) -> Json:
    """How a call ended."""
    update = tool_status(call_id, "failed" if failed else "completed")
    update["_meta"] = _claude_meta(name, "")
    if found := result_content(name, content, structure, failed=failed):
        update["content"] = found
    if not failed and name in ("Edit", "MultiEdit", "Write") and (places := changed_places(structure)):
        update["locations"] = places
    if isinstance(content, str | list):
        update["rawOutput"] = content
    return update


def _claude_meta(name: str, parent: str) -> Json:
    """Where clients of Claude look for a tool's name, and for the call that a subagent works for."""
    return {"claudeCode": {"toolName": name, **({"parentToolUseId": parent} if parent else {})}}


class Plan:
    """What an agent is going to do, as far as its tools tell: TodoWrite as a whole, the task tools bit by bit."""

    def __init__(self) -> None:
        self._tasks: dict[str, Json] = {}

    def ended(self, name: str, given: Mapping[str, Any], content: object, structure: object) -> Json | None:
        """The update that the result of a call makes; a transcript keeps only the text of it."""
        found = structure if isinstance(structure, dict) else {}
        match name:
            case "TodoWrite":
                return _plan(todo_entries(given))
            case "TaskCreate" if number := _created(found, content):
                self._tasks[number] = {**given, "status": "pending"}
            case "TaskUpdate" if (number := str(given.get("taskId"))) in self._tasks:
                self._tasks[number] |= {key: value for key, value in given.items() if key != "taskId"}
                if given.get("status") == "deleted":
                    del self._tasks[number]
            case "TaskList" if isinstance(listed := found.get("tasks"), list):
                kept = {str(each["id"]): each for each in listed if isinstance(each, dict) and "id" in each}
                self._tasks = {number: {**self._tasks.get(number, {}), **each} for number, each in kept.items()}
            case _:
                return None
        return _plan(plan_entry(each) for each in self._tasks.values())


def _created(found: Mapping[str, Any], content: object) -> str:
    """The number of a task that was made."""
    task = found.get("task")
    if isinstance(task, dict) and isinstance(number := task.get("id"), str):
        return number
    said = _CREATED.match(content) if isinstance(content, str) else None
    return said[1] if said else ""


def _plan(entries: Iterable[Json]) -> Json:
    return {"sessionUpdate": "plan", "entries": list(entries)}


def mode_update(mode: str) -> Json:
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def commands_update(commands: object) -> Json:
    """The slash commands that Claude Code says it has."""
    found = [command for command in commands if isinstance(command, dict)] if isinstance(commands, list) else []
    return {"sessionUpdate": "available_commands_update", "availableCommands": [_command(each) for each in found]}


def _command(command: Mapping[str, Any]) -> Json:
    written: Json = {
        "name": shown(str(command.get("name", ""))),
        "description": shown(str(command.get("description", ""))),
    }
    if hint := command.get("argumentHint"):
        hints = hint if isinstance(hint, list) else [hint]
        written["input"] = {"hint": shown(" ".join(str(each) for each in hints))}
    return written


def usage_update(usage: Mapping[str, Any] | None, window: int | None, cost: float | None) -> Json | None:
    """How full the model's context is; None where nobody says."""
    if not usage or not window:
        return None
    parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    used = sum(value for name in parts if isinstance(value := usage.get(name), int))
    update: Json = {"sessionUpdate": "usage_update", "used": used, "size": window}
    return {**update, "cost": {"amount": cost, "currency": "USD"}} if cost is not None else update


def prompt_blocks(prompt: Iterable[Mapping[str, Any]]) -> list[Json]:
    """A prompt as Claude takes it. What an editor embeds comes last, and the text says where it was."""
    blocks: list[Json] = []
    context: list[Json] = []
    for block in prompt:
        match block:
            case {"type": "text", "text": str(text)}:
                blocks.append({"type": "text", "text": text})
            case {"type": "resource_link", "uri": str(uri)}:
                blocks.append({"type": "text", "text": _link(uri)})
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                blocks.append({"type": "text", "text": _link(uri)})
                context.append({"type": "text", "text": f'\n<context ref="{uri}">\n{text}\n</context>'})
            case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data), "mimeType": str(kind)}}:
                blocks.append({"type": "text", "text": _link(uri)})
                if kind.startswith("image/"):
                    blocks.append(_image(data, kind))
            case {"type": "image", "data": str(data), "mimeType": str(kind)} if data:
                blocks.append(_image(data, kind))
            case {"type": "image", "uri": str(uri)} if uri.startswith(("http://", "https://")):
                blocks.append({"type": "image", "source": {"type": "url", "url": uri}})
    return [*blocks, *context]


def _image(data: str, kind: str) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _link(uri: str) -> str:
    """A file as Claude Code's own `@` names it, anything else as a link."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return f"[@{unquote(parts.path).rsplit('/', 1)[-1]}]({uri})"
    return uri


def replayed(message: Mapping[str, Any], calls: dict[str, tuple[str, Json]], plan: Plan, folder: str) -> list[Json]:
    """A message of a transcript as the updates that it was. `calls` remembers the tools of the calls so far."""
    role, content = message.get("role"), message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    found = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return [update for block in found for update in _replayed_block(role, block, calls, plan, folder)]


def _replayed_block(
    role: object, block: Mapping[str, Any], calls: dict[str, tuple[str, Json]], plan: Plan, folder: str
) -> list[Json]:
    match block:
        case {"type": "text", "text": str(text)}:
            return [chunk("agent_message" if role == "assistant" else "user_message", screened(text))]
        case {"type": "thinking", "thinking": str(text)} if text:
            return [chunk("agent_thought", screened(text))]
        case {"type": "tool_use", "id": str(number), "name": str(name), "input": dict(given)}:
            calls[number] = (name, given)
            info = tool_info(name, given, folder)
            return [] if name in PLAN_TOOLS else [tool_call(number, name, given, info)]
        case {"type": "tool_result", "tool_use_id": str(number)} if number in calls:
            name, given = calls[number]
            content, failed = block.get("content"), bool(block.get("is_error"))
            if name in PLAN_TOOLS:
                update = None if failed else plan.ended(name, given, content, None)
                return [update] if update else []
            return [tool_result(number, name, content, None, failed=failed)]
    return []
