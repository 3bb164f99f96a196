"""A tool call for a person to judge: its real input, all of it and exactly, and apart from it what the agent claims.

What an agent wrote stands behind a margin or at the end of one of our own lines, so it cannot pass for our words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from askdesk.core import strict
from askdesk.core.host import Place, place_of
from askdesk.core.model import Permission
from askdesk.core.text import Shown, is_blank, shown
from askdesk.surfaces.diff import diff_lines, text_diff_lines
from askdesk.surfaces.exact import (
    behind_margin,
    exact_lines,
    exact_name,
    exactly,
    field_lines,
    value_lines,
)
from askdesk.surfaces.highlight import language_of
from askdesk.surfaces.spans import EMPTY, Line, Span, Style, line
from askdesk.surfaces.texts import say

_Rest: TypeAlias = dict[str, Any]  # what of an input is not shown yet; whatever takes a field out of it, shows it
_Value = TypeVar("_Value")

_MCP_TOOL = re.compile(r"mcp__([\w.-]+?)__([\w.-]+)", re.ASCII)


def call_lines(permission: Permission) -> tuple[Line, ...]:
    """The whole call, a line for each of its lines, not wrapped."""
    rest = permission.value
    claims = list(_claims(permission, rest))
    show = _TOOLS.get(permission.tool, _other)
    return (
        _title(permission.tool),
        *show(rest, list(_folder(permission.folder))),
        *_also(rest),
        *_said(claims),
    )


def claim_lines(permission: Permission) -> tuple[Line, ...]:
    """The last of these lines: what the agent says about the call."""
    return tuple(_said(list(_claims(permission, permission.value))))


def changed_lines(before: str, after: str) -> tuple[Line, ...]:
    """All of two inputs, given as JSON texts: what goes, what comes and what stays."""
    old, new = (field_lines(json.loads(text), comma="") for text in (before, after))
    return tuple(behind_margin(diff_lines(old, new)))


def same_json(one: str, other: str) -> bool:
    """Whether two JSON texts say the very same: 1, 1.0 and true are equal to Python alone."""
    return strict.dumps(json.loads(one)) == strict.dumps(json.loads(other))


def _title(tool: str) -> Line:
    name = exact_name(tool)
    if tool in _TOOLS:
        return line(Span(say(f"call.{tool}"), "title"), Span(Shown(f" · {name}"), "dim"))
    if not (mcp := _MCP_TOOL.fullmatch(tool)):
        return line(Span(say("call.tool", tool=name), "title"))
    title = say("call.mcp_tool", server=Shown(mcp[1]), tool=Shown(mcp[2]))
    return line(Span(title, "title"), Span(Shown(f" · {name}"), "dim"))


def _bash(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    command = _taken(rest, "command", str)
    if command is None:
        yield _unexpected("command")
    else:
        yield from behind_margin(exact_lines(command, "bash"))
    yield from folder
    timeout = _taken(rest, "timeout", int)
    if timeout is not None:
        yield _labelled("call.timeout", (Span(Shown(f"{_duration(timeout)} ({timeout})")),))
    yield from _flags(rest, "run_in_background", "dangerouslyDisableSandbox")


def _edit(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    yield from _file(rest)
    yield from folder
    yield from _replacement(rest)


def _multi_edit(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    yield from _file(rest)
    yield from folder
    if not rest.get("edits") or not isinstance(rest["edits"], list):
        yield _unexpected("edits")
        return
    edits = rest.pop("edits")
    for number, edit in enumerate(edits, 1):
        yield line(Span(say("call.edit", number=number, count=len(edits)), "heading"))
        if edit and isinstance(edit, dict):
            yield from _replacement(edit)
            yield from _also(edit)
        else:
            yield _unexpected(f"edits[{number - 1}]")
            yield from behind_margin(value_lines(edit))


def _replacement(rest: _Rest) -> Iterator[Line]:
    """One text for another; where it is not that, it is left for others to show."""
    if not all(isinstance(rest.get(name), str) for name in ("old_string", "new_string")):
        yield _unexpected("old_string", "new_string")
        return
    old, new = rest.pop("old_string"), rest.pop("new_string")
    yield from _flags(rest, "replace_all")
    yield from behind_margin(text_diff_lines(old, new))
    if old and new and old.endswith("\n") != new.endswith("\n"):
        yield _warning("call.newline_goes" if old.endswith("\n") else "call.newline_comes")


def _write(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    path = rest.get("file_path")
    yield from _file(rest)
    yield from folder
    content = _taken(rest, "content", str)
    if content is None:
        yield _unexpected("content")
        return
    lines = exact_lines(content, language_of(path) if isinstance(path, str) else "")
    if content.endswith("\n") or not content:
        lines.pop()  # what the last line break leaves
    yield line(Span(say("call.size", lines=len(lines), bytes=len(content.encode())), "dim"))
    yield from behind_margin(lines)
    if content and not content.endswith("\n"):
        yield line(Span(say("call.no_newline"), "dim"))


def _fetch(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    url = _taken(rest, "url", str)
    if url is None:
        yield _unexpected("url")
    else:
        yield from _where(place_of(url))
        yield _labelled("call.url", exactly(url))
    yield from folder
    prompt = _taken(rest, "prompt", str)
    if prompt is not None:
        yield line(Span(say("call.prompt"), "dim"))
        yield from behind_margin(exact_lines(prompt))


def _where(place: Place | None) -> Iterator[Line]:
    if not place:
        yield _warning("call.no_host")
        return
    port = Span(Shown(f":{place.port}" if place.port else ""), "host")
    ascii_host = Span(Shown(f" ({place.ascii})" if place.ascii != place.host else ""), "host")
    yield _labelled("call.host", (*exactly(place.host, "host"), port, ascii_host))
    if place.scheme != "https":
        yield _warning("call.scheme", exactly(place.scheme))
    if place.user:
        yield _warning("call.user", exactly(place.user))
    if place.doubtful:
        yield _warning("call.doubtful")


def _search(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    query = _taken(rest, "query", str)
    if query is None:
        yield _unexpected("query")
    else:
        yield from behind_margin(exact_lines(query))
    yield from folder


def _exit_plan(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    """A plan to approve. Without one there is nothing to see but what the agent claims."""
    yield from folder
    if (path := _taken(rest, "planFilePath", str)) is not None:
        yield _labelled("call.file", exactly(path, "bold"))
    plan = _taken(rest, "plan", str)
    if plan is None:
        yield _warning("call.no_plan")
    else:
        yield from behind_margin(exact_lines(plan, "markdown"))


def _other(rest: _Rest, folder: Sequence[Line]) -> Iterator[Line]:
    yield from folder
    if rest:
        yield from behind_margin(field_lines(rest))
    else:
        yield line(Span(say("call.no_input"), "dim"))
    rest.clear()


_TOOLS: dict[str, Callable[[_Rest, Sequence[Line]], Iterable[Line]]] = {
    "Bash": _bash,
    "Edit": _edit,
    "MultiEdit": _multi_edit,
    "Write": _write,
    "WebFetch": _fetch,
    "WebSearch": _search,
    "ExitPlanMode": _exit_plan,
}


def _taken(rest: _Rest, name: str, kind: type[_Value]) -> _Value | None:
    """A field taken out, if it is there and what it should be; True is no number here."""
    value = rest.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return None
    del rest[name]
    return value


def _file(rest: _Rest) -> Iterator[Line]:
    path = _taken(rest, "file_path", str)
    yield _unexpected("file_path") if path is None else _labelled("call.file", exactly(path, "bold"))


def _folder(folder: str) -> Iterator[Line]:
    if folder:
        yield _labelled("call.folder", exactly(folder))


def _flags(rest: _Rest, *names: str) -> Iterator[Line]:
    """What is said plainly where it is so."""
    for name in names:
        if isinstance(rest.get(name), bool):
            is_so = rest.pop(name)
            yield _warning(f"call.{name}") if is_so else line(Span(Shown(f"{name}: false"), "dim"))


def _also(rest: _Rest) -> Iterator[Line]:
    """What is left, below a line of ours: so a text above it cannot go on with fields of its own making."""
    if rest:
        yield line(Span(say("call.also"), "dim"))
        yield from behind_margin(field_lines(rest))


def _duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    minutes, left = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (left / 1000, "s")]
    return " ".join(f"{count:g} {unit}" if unit == "s" else f"{count} {unit}" for count, unit in parts if count)


def _claims(permission: Permission, rest: _Rest) -> Iterator[str]:
    """What the agent says about the call. Of other tools we cannot know whether a description does something."""
    if not is_blank(permission.description):
        yield permission.description
    said = rest.get("description")
    if permission.tool == "Bash" and isinstance(said, str) and not is_blank(said):
        del rest["description"]
        if said != permission.description:
            yield said


def _said(claims: Sequence[str]) -> Iterator[Line]:
    if claims:
        rows = "\n\n".join(claims).split("\n")
        yield EMPTY
        yield line(Span(say("call.claim"), "dim"))
        yield from behind_margin(line(Span(shown(row), "quote")) for row in rows)


def _labelled(key: str, value: Line, style: Style = "dim") -> Line:
    return line(Span(say(key), style), Shown(" "), *value)


def _warning(key: str, value: Line = EMPTY) -> Line:
    return _labelled(key, value, "warning") if value else line(Span(say(key), "warning"))


def _unexpected(*fields: str) -> Line:
    return line(Span(say("call.unexpected", field=Shown(", ".join(fields))), "warning"))
