"""Agent hosts that speak MCP: where each keeps its settings, and what an entry for our server looks like there.

All of it is pure: a place is made of a platform, a home and an environment, and nothing here opens a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from askdesk.cli import jsonc, toml_text, yaml_text
from askdesk.cli.edit import Entries, Format
from askdesk.cli.jsonc import Path as Where

Scope: TypeAlias = Literal["user", "project"]

NAME = "askdesk"
TOKEN, ANSWER_TOKEN = "ASKDESK_TOKEN", "ASKDESK_ANSWER_TOKEN"
DAY = 86_400  # seconds for a call, where a host lets us say it: people sleep
START = 30  # seconds until the server is there; a busy machine needs more than most hosts give
_ABOUT = "Ask people questions and for permission, at the desk"
_ANSWER_HEADER = "Askdesk-Answer-Token"
_INPUTS = {TOKEN: ("askdesk-token", "asker"), ANSWER_TOKEN: ("askdesk-answer-token", "answerer")}  # what is asked for


class Place(NamedTuple):
    """Where a host runs."""

    platform: str
    home: Path
    environ: Mapping[str, str]

    @classmethod
    def here(cls) -> Place:
        return cls(sys.platform, Path.home(), os.environ)

    def named(self, variable: str, default: Path) -> Path:
        """A folder that the environment names; hosts leave a relative one aside."""
        given = Path(self.environ.get(variable, ""))
        return given if given.is_absolute() else default

    @property
    def config(self) -> Path:
        """Where programs with a window keep their settings."""
        if self.platform == "win32":
            return self.roaming
        return self.home / "Library" / "Application Support" if self.platform == "darwin" else self.xdg

    @property
    def xdg(self) -> Path:
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def roaming(self) -> Path:
        return self.named("APPDATA", self.home / "AppData" / "Roaming")


class Server(NamedTuple):
    """What a host is to use: a command of this machine, or the URL of a desk server."""

    command: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()  # the variables that it must find
    url: str = ""
    agent: tuple[str, ...] = ()  # the command of an agent that speaks ACP, for editors


class Host(NamedTuple):
    """`local` and `remote` make an entry; where a host cannot have a remote one, `no_remote` tells why."""

    name: str
    title: str
    settings: Callable[[Place], Path]
    written: Format
    where: Where
    local: Callable[[Server], dict[str, Any]]
    project: str = ""
    remote: Callable[[Server], dict[str, Any]] | None = None
    no_remote: str = ""
    limit: int = 0  # seconds for a call that the entry asks for; our server is told the same
    gives_tokens: bool = True  # whether its servers find the variables of its own environment
    asks_token: bool = False  # whether it asks for the token by itself
    variable: str = ""  # what begins a variable, wherever it stands in the settings
    is_strict: bool = False  # whether a comment or a comma too many makes its settings unreadable
    agent_where: Where = ()
    see: str = ""

    def path(self, scope: Scope, place: Place) -> Path | None:
        """None where the host has no settings of that scope."""
        if scope == "user":
            return self.settings(place)
        return Path.cwd() / self.project if self.project else None

    def entries(self, server: Server | None) -> Entries:
        """What should be where; without a server nothing of ours."""
        entries: dict[Where, dict[str, Any] | None] = {self.where: None}
        if self.asks_token:
            entries |= {("inputs", ("id", name[0])): None for name in _INPUTS.values()}
        if self.asks_token and server and server.url:
            entries |= {("inputs", ("id", _INPUTS[name][0])): _input(*_INPUTS[name]) for name in server.tokens}
        if self.agent_where:
            entries[self.agent_where] = _agent(server) if server and server.agent else None
        if server:
            entries[self.where] = self.remote(server) if self.remote and server.url else self.local(server)
        return entries


def _input(name: str, kind: str) -> dict[str, Any]:
    return {"type": "promptString", "id": name, "description": f"askdesk: the {kind}'s token", "password": True}


def _agent(server: Server) -> dict[str, Any]:
    return {"type": "custom", "command": server.agent[0], "args": list(server.agent[1:]), "env": {}}


def _command(server: Server, reference: str = "") -> dict[str, Any]:
    entry: dict[str, Any] = {"command": server.command[0], "args": list(server.command[1:])}
    if server.tokens and reference:
        entry["env"] = {name: reference.format(name) for name in server.tokens}
    return entry


def _headers(server: Server, reference: Callable[[str], str]) -> dict[str, str]:
    """Headers with the tokens that the host puts in: no file has them."""
    answers = {_ANSWER_HEADER: reference(ANSWER_TOKEN)} if ANSWER_TOKEN in server.tokens else {}
    return {"Authorization": f"Bearer {reference(TOKEN)}", **answers}


def _codex(server: Server) -> dict[str, Any]:
    limits = {"startup_timeout_sec": START, "tool_timeout_sec": DAY}
    if server.url:
        answers = {"env_http_headers": {_ANSWER_HEADER: ANSWER_TOKEN}} if ANSWER_TOKEN in server.tokens else {}
        return {"url": server.url, "bearer_token_env_var": TOKEN, **answers, **limits}
    return {**_command(server), **({"env_vars": list(server.tokens)} if server.tokens else {}), **limits}


def _goose(server: Server) -> dict[str, Any]:
    about = {"enabled": True, "name": NAME, "description": _ABOUT}
    if server.url:
        headers = _headers(server, "${{{}}}".format)
        reach: dict[str, Any] = {"uri": server.url, "headers": headers, "env_keys": list(server.tokens)}
        return {"type": "streamable_http", **about, **reach, "timeout": DAY}
    run = {"cmd": server.command[0], "args": list(server.command[1:]), "env_keys": list(server.tokens)}
    return {"type": "stdio", **about, **run, "timeout": DAY}


def _vscode_remote(server: Server) -> dict[str, Any]:
    headers = _headers(server, lambda name: f"${{input:{_INPUTS[name][0]}}}")
    return {"type": "http", "url": server.url, "headers": headers}


def _gemini_remote(server: Server) -> dict[str, Any]:
    return {"httpUrl": server.url, "headers": _headers(server, "${}".format), "timeout": DAY * 1000}


def _cursor_path(place: Place) -> Path:
    return place.home / ".cursor" / "mcp.json"


def _codex_path(place: Place) -> Path:
    return place.named("CODEX_HOME", place.home / ".codex") / "config.toml"


def _gemini_path(place: Place) -> Path:
    return place.named("GEMINI_CLI_HOME", place.home) / ".gemini" / "settings.json"


def _desktop_path(place: Place) -> Path:
    return place.config / "Claude" / "claude_desktop_config.json"


def _goose_path(place: Place) -> Path:
    windows = place.roaming / "Block" / "goose" / "config"
    usual = windows if place.platform == "win32" else place.xdg / "goose"
    root = place.named("GOOSE_PATH_ROOT", Path())
    return (root / "config" if root.is_absolute() else usual) / "config.yaml"


def _zed_path(place: Place) -> Path:
    if place.platform == "win32":
        return place.roaming / "Zed" / "settings.json"
    return (place.home / ".config" if place.platform == "darwin" else place.xdg) / "zed" / "settings.json"


def _vscode_path(place: Place) -> Path:
    portable = place.environ.get("VSCODE_PORTABLE")
    return (Path(portable) / "user-data" if portable else place.config / "Code") / "User" / "mcp.json"


HOSTS = {
    host.name: host
    for host in (
        Host(
            *("cursor", "Cursor", _cursor_path, jsonc, ("mcpServers", NAME)),
            lambda server: _command(server, "${{env:{}}}"),
            project=".cursor/mcp.json",
            remote=lambda server: {"url": server.url, "headers": _headers(server, "${{env:{}}}".format)},
            variable="${",
            see="the server is listed in its settings, under MCP",
        ),
        Host(
            *("vscode", "VS Code", _vscode_path, jsonc, ("servers", NAME)),
            lambda server: {"type": "stdio", **_command(server, "${{env:{}}}")},
            project=".vscode/mcp.json",
            remote=_vscode_remote,
            asks_token=True,
            variable="${",
            see="the command MCP: List Servers shows it",
        ),
        Host(
            *("codex", "Codex", _codex_path, toml_text, ("mcp_servers", NAME), _codex),
            project=".codex/config.toml",
            remote=_codex,
            limit=DAY,
            see="codex mcp list shows it",
        ),
        Host(
            *("gemini", "Gemini CLI", _gemini_path, jsonc, ("mcpServers", NAME)),
            lambda server: _command(server, "${}") | {"timeout": DAY * 1000},
            project=".gemini/settings.json",
            remote=_gemini_remote,
            limit=DAY,
            variable="$",
            see="gemini mcp list shows it",
        ),
        Host(
            *("claude-desktop", "Claude Desktop", _desktop_path, jsonc, ("mcpServers", NAME), _command),
            no_remote="it takes servers elsewhere as connectors in its own settings, not from this file",
            gives_tokens=False,
            is_strict=True,
            see="the server is listed in its settings, under Developer",
        ),
        Host(
            *("goose", "goose", _goose_path, yaml_text, ("extensions", NAME), _goose),
            remote=_goose,
            limit=DAY,
            see="goose configure lists it under its extensions",
        ),
        Host(
            *("zed", "Zed", _zed_path, jsonc, ("context_servers", NAME)),
            lambda server: _command(server) | {"env": {}, "timeout": DAY},
            project=".zed/settings.json",
            no_remote="it sends a header as it is written, so the token would have to be in the file",
            limit=DAY,
            agent_where=("agent_servers", NAME),
            see="the server is listed in its settings, under AI",
        ),
    )
}
