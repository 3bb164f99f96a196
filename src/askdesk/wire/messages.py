"""Messages in whatever people keep them in: Claude Code transcripts and logs of the Messages API. Pure.

A log viewer keeps a request and its response in one object, their bodies as objects, as JSON text or as the stream that
came; others keep bare requests and bare responses. What is none of these has no messages, and is no error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

_DEEPEST = 8  # envelopes around a message
_REQUEST = ("request", "body", "body_raw", "messages", "msgs")
_RESPONSE = ("response", "events", "chunks", "message", "data", "result")
_TIMES = ("timestamp", "logged_at", "created_at", "time", "ts", "date")
_MILLISECONDS = 10_000_000_000  # a number of seconds beyond it would be in the year 2286
_SESSION = re.compile(r'session(?:_id)?["_:\s]+([0-9a-fA-F-]{36})')
_EVENTS = frozenset(
    {
        *("message_start", "message_delta", "message_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop", "ping"),
    }
)


class Context(NamedTuple):
    """What is known around a message."""

    at: datetime | None = None
    session: str = ""
    project: str = ""
    agent: str = ""  # the name of a subagent
    is_subagent: bool = False
    is_transcript: bool = False
    result: object = None  # a transcript's `toolUseResult`: the answers as they were given
    is_denied: bool = False  # a transcript says that somebody, not something, kept the tool from running


class Message(NamedTuple):
    content: list[Any]
    context: Context


def decoded(raw: bytes) -> object:
    """The value of a JSON text; ValueError where it is none."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _mended(raw)


def _mended(raw: bytes) -> object:
    """The same for texts with bytes that are no UTF-8 and halves of characters, which some programs write."""
    try:
        value = json.loads(raw.decode("utf-8", "replace"))
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def messages(record: object) -> Iterator[Message]:
    """Every message of a record, in the order of the conversation."""
    if isinstance(record, dict) and _is_transcript(record):
        yield from _of_transcript(record)
    else:
        yield from _of_log(record, Context(), _DEEPEST)


def _is_transcript(record: dict[str, Any]) -> bool:
    return "sessionId" in record and isinstance(record.get("type"), str) and "request" not in record


def _of_transcript(record: dict[str, Any]) -> Iterator[Message]:
    """What was said; lines of other types repeat it, without a time and without its structure."""
    if record["type"] == "progress":  # how some versions kept what a subagent said
        data = record.get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        if not isinstance(inner, dict) or inner.get("type") not in ("assistant", "user"):
            return
        record = {**record, **inner, "isSidechain": True}
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if record["type"] in ("assistant", "user") and isinstance(content, list):
        yield Message(content, _around(record))


def _around(record: dict[str, Any]) -> Context:
    is_subagent = bool(record.get("isSidechain"))
    decision = record.get("permissionDecision")
    rejected = isinstance(decision, dict) and decision.get("decision") == "reject"
    return Context(
        at=moment(record.get("timestamp")),
        session=_text(record.get("sessionId")),
        project=_text(record.get("cwd")),
        agent=(_text(record.get("attributionAgent")) or _text(record.get("agentId"))) if is_subagent else "",
        is_subagent=is_subagent,
        is_transcript=True,
        result=record.get("toolUseResult"),
        is_denied=rejected or "toolDenialKind" in record,
    )


def _of_log(value: object, around: Context, depth: int) -> Iterator[Message]:
    if depth == 0:
        return
    if isinstance(value, str):
        value = _opened(value)
    if isinstance(value, list):
        yield from _of_list(value, around, depth)
    elif isinstance(value, dict):
        yield from _of_object(value, _known(value, around), depth)


def _of_list(items: list[Any], around: Context, depth: int) -> Iterator[Message]:
    events = [event for item in items if (event := _event(item))]
    if events:
        yield Message(_joined(events), around)
        return
    for item in items:
        yield from _of_log(item, around, depth - 1)


def _of_object(value: dict[str, Any], around: Context, depth: int) -> Iterator[Message]:
    if isinstance(content := value.get("content"), list) and value.get("role") in ("assistant", "user", None):
        yield Message(content, around)
        return
    for name in _REQUEST:
        if name in value:
            yield from _of_log(value[name], around, depth - 1)
    if "response" in value and isinstance(took := value.get("duration"), int | float) and around.at:
        around = around._replace(at=_later(around.at, took))
    for name in _RESPONSE:
        if name in value:
            yield from _of_log(value[name], around, depth - 1)


def _known(value: dict[str, Any], around: Context) -> Context:
    """What an object says of everything in it."""
    at = next((found for name in _TIMES if (found := moment(value.get(name)))), None)
    metadata = value.get("metadata")
    user = _text(metadata.get("user_id")) if isinstance(metadata, dict) else ""
    session = named[1] if (named := _SESSION.search(user)) else ""
    return around._replace(
        at=at or around.at,
        session=session or _text(value.get("session_id")) or around.session,
        project=_text(value.get("project")) or _text(value.get("cwd")) or around.project,
    )


def _later(at: datetime, milliseconds: float) -> datetime:
    try:
        return at + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return at


def _opened(text: str) -> object:
    """A body that was kept as text: JSON, or the stream as it came."""
    text = text.lstrip()
    if text.startswith(("{", "[")):
        try:
            return decoded(text.encode("utf-8", "replace"))
        except ValueError:
            return None
    if not text.startswith(("event:", "data:", ":")):
        return None
    return [event for line in text.splitlines() if line.startswith("data:") and (event := _opened(line[5:]))]


def _event(item: object) -> dict[str, Any] | None:
    """An event of a stream, bare or as `{"event": …, "data": {…}}`."""
    if isinstance(item, str):
        item = _opened(item.removeprefix("data:"))
    if isinstance(item, dict) and _text(item.get("type")) not in _EVENTS and "data" in item:
        data = item["data"]
        item = _opened(data) if isinstance(data, str) else data
    return item if isinstance(item, dict) and _text(item.get("type")) in _EVENTS else None


def _joined(events: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The blocks of a streamed message, a tool's input put together from its pieces."""
    blocks: dict[object, dict[str, Any]] = {}
    pieces: dict[object, list[str]] = {}
    for event in events:
        index = event.get("index") if isinstance(event.get("index"), int | str) else None
        block, delta = event.get("content_block"), event.get("delta")
        if event["type"] == "content_block_start" and isinstance(block, dict):
            blocks[index], pieces[index] = block, []
        elif isinstance(delta, dict) and isinstance(piece := delta.get("partial_json"), str) and index in pieces:
            pieces[index].append(piece)
    return [_whole(block, "".join(pieces[index])) for index, block in blocks.items()]


def _whole(block: dict[str, Any], given: str) -> dict[str, Any]:
    if block.get("type") != "tool_use" or not given:
        return block
    opened = _opened(given)
    return {**block, "input": given if opened is None else opened}  # a stream that broke off leaves half of it


def moment(value: object) -> datetime | None:
    """A time as logs write it: ISO 8601, or seconds or milliseconds since 1970; UTC where no zone is named."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _text(value: object) -> str:
    return value.replace("\0", "") if isinstance(value, str) else ""
