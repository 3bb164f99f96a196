"""Claude Code's settings: the hooks that we want there, and how they are put in and taken out. All of it is pure but
the file itself, which `settings_file` changes."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from askdesk.cli.hook_start import SECONDS
from askdesk.cli.settings_file import SettingsFile
from askdesk.wire import tool

Hooks: TypeAlias = dict[str, list[dict[str, Any]]]
Mode: TypeAlias = Literal["both", "desk"]
Scope: TypeAlias = Literal["user", "project"]

CLIENT = Path(__file__).with_name("hook_client.py")
PLUGIN = Path(__file__).parent.parent / "plugins" / "claude-code"
ROUTE = "/v1/hooks/claude-code"
TOKEN = "ASKDESK_TOKEN"  # noqa: S105 - the name of a variable
_MOMENT = 60  # seconds for hooks that only tell
_GONE = '{"systemMessage":"askdesk is not where it was: install it again, or remove its hooks from the settings"}'
_OR_GONE = f"; fi; echo {shlex.quote(_GONE)}"
_OURS = re.compile(r"askdesk[/\\]cli[/\\]hook_client\.py|\baskdesk hook\b")


class Way(NamedTuple):
    """How hooks reach the desk: by a command on this machine, or straight to a server."""

    mode: Mode = "both"
    permissions: bool = False
    socket: str = "-"
    store: str = ""
    url: str = ""

    def hook(self, seconds: int) -> dict[str, Any]:
        if self.url:
            return {
                "type": "http",
                "url": f"{self.url.rstrip('/')}{ROUTE}?mode={self.mode}&seconds={seconds}",
                "timeout": seconds,
                "headers": {"Authorization": f"Bearer ${TOKEN}"},
                "allowedEnvVars": [TOKEN],
            }
        return {"type": "command", "command": self._command(seconds), "timeout": seconds}

    def _command(self, seconds: int) -> str:
        """Python ends with 2 where it cannot read its file, and 2 blocks the call: so it is looked for first."""
        python, client = shlex.quote(sys.executable), shlex.quote(str(CLIENT))
        given = shlex.join([self.socket, self.mode, str(seconds), *([self.store] if self.store else [])])
        return f"if [ -x {python} ] && [ -r {client} ]; then {_run()} {given}{_OR_GONE}"


def _run() -> str:
    return f"exec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(CLIENT))}"


def is_our_command(hook: Mapping[str, Any]) -> bool:
    """Whether a hook runs nothing but our own client: a file in a project may be anybody's."""
    command = str(hook.get("command"))
    _, found, rest = command.partition(f"then {_run()} ")
    given = rest.removesuffix(_OR_GONE)
    try:
        words = shlex.split(given)
    except ValueError:
        return False
    if not found or len(words) not in (3, 4) or shlex.join(words) != given:  # quoted, so that no shell sees more in it
        return False
    socket, mode, seconds, store = (*words, "")[:4]
    is_known = mode in ("both", "desk") and seconds.isascii() and seconds.isdigit()
    return is_known and command == Way(mode, socket=socket, store=store).hook(int(seconds))["command"]  # type: ignore[arg-type]


def wanted(way: Way) -> Hooks:
    """The hooks for a way. Straight to a server, one more tells what it cannot read in the transcript."""
    waits_before = way.mode == "desk"
    hooks: Hooks = {"PreToolUse": [_entry(way.hook(SECONDS if waits_before else _MOMENT), tool.NAME)]}
    if way.mode == "both" or way.permissions:
        hooks["PermissionRequest"] = [_entry(way.hook(SECONDS), "*" if way.permissions else tool.NAME)]
    if way.mode == "both":
        hooks["PostToolUse"] = [_entry(way.hook(_MOMENT), tool.NAME)]
    name = "PostToolBatch" if way.url else "Notification"  # a server tells people by itself
    return {**hooks, name: [_entry(way.hook(_MOMENT))]}


def _entry(hook: dict[str, Any], matcher: str = "") -> dict[str, Any]:
    return {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}


def added(settings: Mapping[str, Any], hooks: Hooks) -> dict[str, Any]:
    """Settings with these hooks behind those that are there."""
    there = dict(settings.get("hooks", {}))
    return {**settings, "hooks": there | {name: [*there.get(name, []), *mine] for name, mine in hooks.items()}}


def removed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without any hook of ours, and without what only they had made necessary."""
    if not any(ours(settings)):
        return dict(settings)
    hooks = {name: _others(entries) for name, entries in settings["hooks"].items()}
    kept = {name: entries for name, entries in hooks.items() if entries or not settings["hooks"][name]}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {name: kept if name == "hooks" else value for name, value in settings.items()} if kept else rest


def _others(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = []
    for entry in entries:
        others = [hook for hook in entry["hooks"] if not _is_ours(hook)]
        if len(others) == len(entry["hooks"]):
            kept.append(entry)
        elif others:
            kept.append({**entry, "hooks": others})
    return kept


def ours(settings: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every hook of ours, with the name of its event."""
    return [
        (name, hook)
        for name, entries in settings.get("hooks", {}).items()
        for entry in entries
        for hook in entry["hooks"]
        if _is_ours(hook)
    ]


def _is_ours(hook: Mapping[str, Any]) -> bool:
    if hook.get("type") == "http":
        return ROUTE in str(hook.get("url"))
    return bool(_OURS.search(str(hook.get("command"))))


def settings_path(scope: Scope) -> Path:
    """The user's settings, or those of this machine for the project in this folder."""
    if scope == "project":
        return Path.cwd() / ".claude" / "settings.local.json"
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path.home() / ".claude") / "settings.json"


class ClaudeSettings(SettingsFile):
    """A file of Claude Code's settings."""

    @property
    def settings(self) -> dict[str, Any]:
        """What is in it; InvalidSettings where that is nothing that we dare to change."""
        if self.raw is None or not self.raw.strip():
            return {}
        try:
            value = json.loads(self.raw.decode("utf-8"))
        except ValueError as error:
            raise self.wrong(f"is not JSON, and was not touched: {error}") from None
        if not isinstance(value, dict) or not _is_hooks(value.get("hooks", {})):
            raise self.wrong("does not have the form of Claude Code's settings, and was not touched")
        return value

    def written(self, settings: Mapping[str, Any]) -> str:
        """Settings in the hand that the file was written in."""
        indent = re.search(r"^[{\[]\r?\n([ \t]+)", self.text)
        text = json.dumps(settings, ensure_ascii=False, indent=indent[1] if indent else 2)
        return text if self.raw is not None and not self.text.endswith("\n") else f"{text}\n"

    def installed(self, hooks: Hooks) -> str:
        """What the file will hold: hooks of ours that are there already are replaced."""
        return self.written(added(removed(self.settings), hooks))

    def without_us(self) -> bytes | None:
        if not ours(self.settings):
            return self.raw
        return self.written(removed(self.settings)).encode()


def _is_hooks(hooks: object) -> bool:
    return isinstance(hooks, dict) and all(
        isinstance(entries, list)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("hooks"), list)
            and all(isinstance(hook, dict) for hook in entry["hooks"])
            for entry in entries
        )
        for entries in hooks.values()
    )
