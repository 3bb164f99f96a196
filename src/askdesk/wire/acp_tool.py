"""Claude's tool calls as an editor shows them: title, kind, content and places. Pure: reads no file, knows no session.

Everything that a model wrote is hostile: what an editor displays of it went through shown(). Only tabs are kept, since
an editor lays a diff beside its file.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from askdesk.core.errors import InvalidAsk
from askdesk.core.limits import CLAUDE, OPEN, Limits
from askdesk.core.model import Permission, Questions
from askdesk.core.text import Shown, cut, is_blank, shown, shown_json
from askdesk.wire import tool

Json: TypeAlias = dict[str, Any]

PLAN_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})  # shown as the plan they make
OWN_TOOL = "mcp__askdesk__ask_people"  # as Claude Code calls it
_LONGEST_TITLE = 200
_STATUSES = ("pending", "in_progress", "completed")
_TICKS = re.compile(r"`+")
_ERROR_TAG = re.compile(r"</?tool_use_error>")


class Info(NamedTuple):
    """A tool call on a screen. `left` are the parts of its input that nothing of this shows."""

    title: Shown
    kind: str
    content: tuple[Json, ...] = ()
    locations: tuple[Json, ...] = ()
    left: frozenset[str] = frozenset()

    @property
    def written(self) -> Json:
        written: Json = {"title": self.title, "kind": self.kind, "content": list(self.content)}
        return {**written, "locations": list(self.locations)} if self.locations else written


def tool_info(name: str, given: Mapping[str, Any], folder: str = "") -> Info:
    """What an editor shows of a call."""
    describe = _TOOLS.get(name)
    if describe is None:
        return Info(_title(name), "other", tuple(_fields(given)))
    return describe(_Input(given, folder))


def permission_info(permission: Permission) -> Info:
    """The same for somebody who decides on the call: the whole of its input, and what the agent says of it apart."""
    given = permission.value
    info = tool_info(permission.tool, given, permission.folder)
    hidden = given.keys() if info.title.endswith("…") else info.left
    content = [*info.content, *_fields({name: given[name] for name in given if name in hidden})]
    if permission.description and permission.tool == "ExitPlanMode" and "plan" not in given:
        content.append(text_content(_prose(permission.description)))
    elif permission.description != given.get("description", "") and permission.description not in info.title:
        content.append(text_content(f"The agent says:\n{fenced(shown(permission.description))}"))
    return info._replace(content=tuple(content), left=frozenset())


class _Input:
    """The input of a call, whatever the model put into it."""

    def __init__(self, given: Mapping[str, Any], folder: str) -> None:
        self.given, self._folder = given, folder

    def text(self, name: str) -> str:
        value = self.given.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        value = self.given.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None

    def short(self, path: str) -> str:
        """A path as people call it: from the project's folder on, where it is inside."""
        inside = self._folder and path.startswith(self._folder.rstrip("/") + "/")
        return os.path.relpath(path, self._folder) if inside else path

    def left(self, *texts: str, numbers: tuple[str, ...] = ()) -> frozenset[str]:
        """What else there is. A text field that does not hold a text was not shown either."""
        seen = {name for name in texts if isinstance(self.given.get(name), str)}
        seen |= {name for name in numbers if self.number(name) is not None}
        return frozenset(self.given) - seen


def _bash(given: _Input) -> Info:
    command = given.text("command")
    content = (text_content(fenced(shown(command, lines=True, exact=True), "sh")),) if command else ()
    title = code(cut(shown(command, exact=True), _LONGEST_TITLE)) if command else "Terminal"
    return Info(Shown(title), "execute", content, left=given.left("command"))


def _edit(given: _Input) -> Info:
    path = given.text("file_path")
    diffs = (diff(path, given.text("old_string") or None, given.text("new_string")),) if path else ()
    left = given.left("file_path", "old_string", "new_string") if path else given.left()
    return Info(_named("Edit", given.short(path)), "edit", diffs, _places(path), left)


def _multi_edit(given: _Input) -> Info:
    path, edits = given.text("file_path"), given.given.get("edits")
    parts = [_Input(edit, "") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    diffs = tuple(diff(path, part.text("old_string") or None, part.text("new_string")) for part in parts)
    shown_whole = isinstance(edits, list) and all(
        isinstance(edit, dict)
        and edit.keys() <= {"old_string", "new_string"}
        and all(isinstance(v, str) for v in edit.values())
        for edit in edits
    )
    left = given.left("file_path") - ({"edits"} if shown_whole and path else set())
    return Info(_named("Edit", given.short(path)), "edit", diffs if path else (), _places(path), left)


def _write(given: _Input) -> Info:
    where = "file_path" if given.text("file_path") else "path"
    what = next((name for name in ("content", "file_text", "file_content") if given.text(name)), "content")
    path = given.text(where)
    diffs = (diff(path, None, given.text(what)),) if path else ()
    left = given.left(where, what) if path else given.left()
    return Info(_named("Write", given.short(path)), "edit", diffs, _places(path), left)


def _notebook(given: _Input) -> Info:
    path, source = given.text("notebook_path"), given.text("new_source")
    content = (text_content(fenced(screened(source))),) if source else ()
    left = given.left("notebook_path", "new_source")
    return Info(_named("Edit notebook", given.short(path)), "edit", content, _places(path), left)


def _read(given: _Input) -> Info:
    path, first, count = given.text("file_path"), given.number("offset"), given.number("limit")
    lines = f" ({first or 1} - {(first or 1) + count - 1})" if count else f" (from line {first})" if first else ""
    title = _title(f"{_named('Read', given.short(path))}{lines}")
    left = given.left("file_path", numbers=("offset", "limit"))
    return Info(title, "read", (), _places(path, max(first or 1, 1)), left)


def _glob(given: _Input) -> Info:
    words = " ".join(code(shown(word)) for word in (given.text("path"), given.text("pattern")) if word)
    return Info(_named("Find", words), "search", (), _places(given.text("path")), given.left("path", "pattern"))


def _grep(given: _Input) -> Info:
    words = f'"{shown(given.text("pattern"))}" {shown(given.text("path") or given.text("file_path"))}'.rstrip()
    return Info(_named("grep", words), "search", left=given.left("pattern", "path"))


def _list_folder(given: _Input) -> Info:
    return Info(
        _named("List", given.short(given.text("path"))), "search", (), _places(given.text("path")), given.left("path")
    )


def _fetch(given: _Input) -> Info:
    prompt = given.text("prompt")
    content = (text_content(fenced(screened(prompt))),) if prompt else ()
    return Info(_named("Fetch", given.text("url")), "fetch", content, left=given.left("url", "prompt"))


def _search(given: _Input) -> Info:
    return Info(_named("Search", f'"{given.text("query")}"'), "fetch", left=given.left("query"))


def _subagent(given: _Input) -> Info:
    prompt = given.text("prompt")
    content = (text_content(fenced(screened(prompt))),) if prompt else ()
    title = _title(given.text("description") or "Task")
    return Info(title, "think", content, left=given.left("description", "prompt"))


def _exit_plan(given: _Input) -> Info:
    plan = given.text("plan")
    content = (text_content(_prose(plan)),) if plan else ()
    return Info(Shown("Approve the plan"), "switch_mode", content, left=given.left("plan", "planFilePath"))


def _enter_plan(given: _Input) -> Info:
    return Info(Shown("Make a plan first"), "switch_mode", left=given.left())


def _planning(given: _Input) -> Info:
    return Info(_named("Update the plan", given.text("subject")), "think", left=given.left())


def _questions(given: _Input) -> Info:
    """As clients of the permission shape know it: the first header, and the questions with their options."""
    return _asked(given, tool.NAME, CLAUDE)


def _ask_people(given: _Input) -> Info:
    """Our own tool, which may ask more than Claude's."""
    return _asked(given, OWN_TOOL, OPEN)


def _asked(given: _Input, name: str, limits: Limits) -> Info:
    try:
        questions = tool.parse({name: given.given[name] for name in ("questions",) if name in given.given}, limits)
    except InvalidAsk:
        return Info(Shown(name), "think", tuple(_fields(given.given)))
    return questions_info(questions)


def questions_info(questions: Questions) -> Info:
    title = next((q.header for q in questions.items if not is_blank(q.header)), "Question")
    text = "\n\n".join(_question_text(questions))
    return Info(_title(title), "think", (text_content(text),))


def _question_text(questions: Questions) -> Iterator[str]:
    for question in questions.items:
        options = [
            f"\n  - {shown(option.label)}" + (f": {shown(option.description)}" if option.description else "")
            for option in question.options
        ]
        yield shown(question.text, lines=True) + "".join(options)


_TOOLS: dict[str, Callable[[_Input], Info]] = {
    "Bash": _bash,
    "PowerShell": _bash,
    "Edit": _edit,
    "MultiEdit": _multi_edit,
    "Write": _write,
    "NotebookEdit": _notebook,
    "Read": _read,
    "Glob": _glob,
    "Grep": _grep,
    "LS": _list_folder,
    "WebFetch": _fetch,
    "WebSearch": _search,
    "Task": _subagent,
    "Agent": _subagent,
    "ExitPlanMode": _exit_plan,
    "EnterPlanMode": _enter_plan,
    tool.NAME: _questions,
    OWN_TOOL: _ask_people,
    **dict.fromkeys(PLAN_TOOLS, _planning),
}


def result_content(name: str, content: object, structure: object, *, failed: bool) -> list[Json]:
    """What came of a call. Of a change to a file it is the change, as Claude Code says that it was made."""
    if not failed and name in ("Edit", "MultiEdit", "Write"):
        return list(_changes(structure))
    texts = [text for text in _texts(content) if not is_blank(text)]
    if failed:
        texts = [_ERROR_TAG.sub("", text) for text in texts]
    is_code = failed or name in ("Bash", "PowerShell", "Read", "Grep", "Glob", "LS")
    shown_texts = (screened(text) for text in texts)
    return [text_content(fenced(text) if is_code else text) for text in shown_texts]


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"]
        elif isinstance(block, dict):
            yield f"[{block.get('type', 'something')}]"


def _changes(structure: object) -> Iterator[Json]:
    """The hunks of a patch, each as a diff of its own."""
    if not isinstance(structure, dict) or not isinstance(path := structure.get("filePath"), str):
        return
    hunks = structure.get("structuredPatch")
    for hunk in hunks if isinstance(hunks, list) else ():
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
            yield diff(path, _side(lines, "-"), _side(lines, "+") or "")
    if not hunks and structure.get("type") == "create" and isinstance(structure.get("content"), str):
        yield diff(path, None, structure["content"])


def _side(lines: Iterable[str], sign: str) -> str | None:
    kept = [line[1:] for line in lines if line[:1] in (" ", sign)]
    return "\n".join(kept) if kept else None


def changed_places(structure: object) -> list[Json]:
    """Where a file was changed."""
    if not isinstance(structure, dict) or not isinstance(path := structure.get("filePath"), str):
        return []
    hunks = structure.get("structuredPatch")
    starts = [hunk.get("newStart") for hunk in hunks if isinstance(hunk, dict)] if isinstance(hunks, list) else []
    lines = [start for start in starts if isinstance(start, int) and start >= 0]
    return [{"path": path, "line": line} for line in lines] or [{"path": path}]


def todo_entries(given: Mapping[str, Any]) -> list[Json]:
    """The plan in a call of TodoWrite."""
    todos = given.get("todos")
    return [plan_entry(todo) for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []


def plan_entry(todo: Mapping[str, Any]) -> Json:
    status = todo.get("status") if todo.get("status") in _STATUSES else "pending"
    said = (todo.get("activeForm") if status == "in_progress" else None) or todo.get("content") or todo.get("subject")
    return {"content": shown(str(said or "")), "status": status, "priority": "medium"}


def text_content(text: str) -> Json:
    return {"type": "content", "content": {"type": "text", "text": text}}


def diff(path: str, old: str | None, new: str) -> Json:
    return {
        "type": "diff",
        "path": path,
        "oldText": None if old is None else screened(old),
        "newText": screened(new),
    }


def _prose(text: str) -> str:
    """Markdown that hides nothing: a comment in it would not be shown."""
    return screened(text).replace("<!", "\\<!")


def fenced(text: str, language: str = "") -> str:
    """A block of code that no text can end from within."""
    fence = "`" * max(_longest_ticks(text) + 1, 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """Code within a line, which no text can end from within."""
    marks = "`" * (_longest_ticks(text) + 1)
    blank = " " if "`" in text[:1] + text[-1:] else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _longest_ticks(text: str) -> int:
    """Wherever they stand: how far a mark may be indented is no concern of ours."""
    return max((len(found) for found in _TICKS.findall(text)), default=0)


def screened(text: str) -> str:
    """Words for a screen, with their lines and tabs."""
    return "\t".join(shown(part, lines=True) for part in text.split("\t"))


def _fields(given: Mapping[str, Any]) -> Iterator[Json]:
    if given:
        yield text_content(fenced(shown_json(json.dumps(given, ensure_ascii=False, indent=2)), "json"))


def _named(verb: str, what: str) -> Shown:
    return _title(f"{verb} {what}".rstrip())


def _title(text: str) -> Shown:
    return cut(shown(text), _LONGEST_TITLE)


def _places(path: str, line: int | None = None) -> tuple[Json, ...]:
    if not path:
        return ()
    return ({"path": path},) if line is None else ({"path": path, "line": line},)
