"""`askdesk install` and `uninstall` for hosts that speak MCP: our server in their settings, all else to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import Any, TypeAlias

import pytest
from tests.cli.command import Ran
from tests.cli.test_serve import served
from tests.peers import node, node_modules

from askdesk.cli import jsonc
from askdesk.cli.host_file import HostFile
from askdesk.cli.hosts import HOSTS, Place, Server
from askdesk.cli.main import main

NAMES = list(HOSTS)
TRIED = ["cursor", "codex", "goose"]  # one for each way to write settings down; a trial takes its time
Askdesk: TypeAlias = Callable[..., Ran]
yaml: Any = import_module("yaml")

COMMENTED = b"""// mine
{\r
\t"theme": "dark", // and not light\r
\t"mcpServers": {\r
\t\t/* the other one */\r
\t\t"other": { "command": "x", "env": { "KEY": "1" }, },\r
\t},\r
\t"servers": { "one": {} },\r
\t"context_servers": { "two": {} },\r
}\r
"""
STRICT = b'{"globalShortcut": "",\n "mcpServers": {"other": {"command": "x"}}}'
TOML = b'# mine\nmodel = "gpt"  # the new one\n\n[mcp_servers.other]\ncommand = "x"\n\n# the end'
YAML = (
    b"# mine\nMODEL: gpt # the new one\nextensions:\n  developer:\n    type: builtin\n    args:\n    - a\n# the end\n"
)
BEFORE = {
    **dict.fromkeys(("cursor", "vscode", "gemini", "zed"), COMMENTED),
    "codex": TOML,
    "claude-desktop": STRICT,
    "goose": YAML,
}
GOOD, BAD = {"ASKDESK_TOKEN": "good"}, {"ASKDESK_TOKEN": "bad"}
TOOLS = "ask_user_question, ask_permission, ask_without_waiting, collect_answers"


def settings_of(name: str, before: bytes | None = None) -> Path:
    """Where a host's settings are in this test's home; they are written where there are any before."""
    path = HOSTS[name].settings(Place.here())
    if before is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before)
    return path


def entry_in(name: str, path: Path) -> Any:
    """Our entry, as a parser that is not ours reads it, where there is one."""
    text, where = path.read_text("utf-8"), HOSTS[name].where
    parsed: Any = {"codex": tomllib.loads, "goose": yaml.safe_load}.get(name, jsonc.read)(text)
    return parsed.get(where[0], {}).get(where[1])


def command(*options: str) -> list[str]:
    return [
        os.path.abspath(sys.executable),
        "-P",
        "-m",
        "askdesk",
        "mcp",
        *options,
        "--store",
        os.environ["ASKDESK_STORE"],
    ]


def local(name: str) -> dict[str, Any]:
    """What each host should have for a server on this machine."""
    day = command("--limit", "24h")
    plain, limited = ({"command": run[0], "args": run[1:]} for run in (command(), day))
    goose = {"type": "stdio", "enabled": True, "name": "askdesk", "cmd": day[0], "args": day[1:], "env_keys": []}
    entries: dict[str, dict[str, Any]] = {
        "cursor": plain,
        "vscode": {"type": "stdio", **plain},
        "codex": {**limited, "startup_timeout_sec": 30, "tool_timeout_sec": 86400},
        "gemini": {**limited, "timeout": 86_400_000},
        "claude-desktop": plain,
        "goose": {**goose, "description": "Ask people questions and for permission, at the desk", "timeout": 86400},
        "zed": {**limited, "env": {}, "timeout": 86400},
    }
    return entries[name]


@pytest.fixture
def askdesk(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Askdesk:
    """Runs a command within this process: what it starts is real."""

    def run(*arguments: str, **env: str) -> Ran:
        with monkeypatch.context() as patched:
            for name, value in env.items():
                patched.setenv(name, value)
            code = main(list(arguments))
        return Ran(code, *capsys.readouterr())

    return run


def folder_of(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


@pytest.mark.parametrize("name", TRIED)
def test_a_host_gets_the_server_tried_and_loses_it_again_to_the_byte(name: str, askdesk: Askdesk) -> None:
    path = settings_of(name, BEFORE[name])
    path.chmod(0o640)
    ran = askdesk("install", name)
    assert ran.code == 0, ran
    assert ran.err.startswith(f"askdesk: done: the server in {path} answers, with {TOOLS}. {HOSTS[name].title} uses it")
    assert ran.out.startswith(f"--- {path}\n+++ {path}\n")
    assert entry_in(name, path) == local(name)
    assert folder_of(path) == [path.name, f"{path.name}.askdesk-backup", f"{path.name}.askdesk-installed"]
    ran = askdesk("uninstall", name)
    assert (ran.code, ran.err) == (0, f"askdesk: done: {path} is as it was before\n")
    assert (path.read_bytes(), folder_of(path)) == (BEFORE[name], [path.name])
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", NAMES)
def test_each_host_has_the_entry_that_it_understands_and_nothing_else_is_changed(name: str) -> None:
    path = settings_of(name, BEFORE[name])
    file = HostFile(HOSTS[name], "user")
    limit = ("--limit", "24h") if HOSTS[name].limit else ()
    file.install(file.installed(HOSTS[name].entries(Server(tuple(command(*limit))))))
    assert entry_in(name, path) == local(name)
    assert is_inserted(BEFORE[name], path.read_bytes())
    assert HostFile(HOSTS[name], "user").uninstalled() == BEFORE[name]


def is_inserted(before: bytes, after: bytes) -> bool:
    """Whether one is the other with something put into it in a single place."""
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return after.endswith(before[same:]) and len(after) > len(before)


def test_settings_that_are_not_there_are_made_and_taken_away_and_twice_is_once(askdesk: Askdesk) -> None:
    path = settings_of("cursor")
    assert askdesk("install", "cursor").code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    first = path.read_bytes()
    ran = askdesk("install", "cursor")
    assert (ran.code, ran.out, path.read_bytes()) == (0, "", first)
    assert ran.err.startswith(f"askdesk: {path} has this server already\n")
    assert askdesk("uninstall", "cursor").err == f"askdesk: done: {path} is gone, as it was before\n"
    assert folder_of(path) == []
    assert askdesk("uninstall", "cursor").err == f"askdesk: {path} has no server of ours\n"


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"// nothing yet", b"{}"], ids=str)
def test_settings_that_hold_nothing_get_it_behind_what_is_there(before: bytes) -> None:
    path = settings_of("vscode", before)
    file = HostFile(HOSTS["vscode"], "user")
    file.install(file.installed(HOSTS["vscode"].entries(Server(("/bin/x", "y")))))
    assert jsonc.read(path.read_text("utf-8")) == {
        "servers": {"askdesk": {"type": "stdio", "command": "/bin/x", "args": ["y"]}}
    }
    assert path.read_bytes().startswith(before.rstrip(b"}"))
    assert HostFile(HOSTS["vscode"], "user").uninstalled() == before


@pytest.mark.parametrize("name", NAMES)
def test_once_somebody_changed_the_settings_only_our_entry_is_removed(name: str) -> None:
    path = settings_of(name, BEFORE[name])
    file = HostFile(HOSTS[name], "user")
    file.install(file.installed(HOSTS[name].entries(Server(("/bin/x", "y")))))
    added = {"codex": b"\n[later]\n", "goose": b"LATER: 1\n"}.get(name)
    path.write_bytes(path.read_bytes() + added if added else path.read_bytes().replace(b'"other"', b'"another"'))
    HostFile(HOSTS[name], "user").uninstall()
    changed = BEFORE[name] + added if added else BEFORE[name].replace(b'"other"', b'"another"')
    assert b"".join(path.read_bytes().split()) == b"".join(changed.split())
    assert folder_of(path) == [path.name]


@pytest.mark.parametrize("name", NAMES)
def test_a_dry_run_shows_it_and_changes_nothing(name: str, askdesk: Askdesk) -> None:
    path = settings_of(name, BEFORE[name])
    ran = askdesk("install", name, "--dry-run", CLAUDECODE="1")
    assert (ran.code, ran.err) == (0, "askdesk: nothing was changed\n")
    assert sys.executable in ran.out
    assert (path.read_bytes(), folder_of(path)) == (BEFORE[name], [path.name])


def test_an_agent_may_look_and_not_put_a_server_in_or_take_it_out(askdesk: Askdesk) -> None:
    path = settings_of("codex", TOML)
    for deed in ("install", "uninstall"):
        ran = askdesk(deed, "codex", CLAUDECODE="1")
        assert (ran.code, ran.out) == (2, "")
        assert "this is an agent's shell (CLAUDECODE is set)" in ran.err
    assert path.read_bytes() == TOML


@pytest.mark.parametrize(
    ("name", "before", "why"),
    [
        ("cursor", b'{"a": 1', "a comma or a } is missing, in line 1"),
        ("cursor", b'{"mcpServers": []}', "what should hold 'askdesk' is something else"),
        ("vscode", b"\xff", "'utf-8' codec can't decode byte 0xff"),
        ("claude-desktop", COMMENTED, "Expecting value: line 1"),
        ("codex", b"a = 1\na = 2\n", "Cannot overwrite a value"),
        ("codex", b"mcp_servers = {}\n", "Cannot declare"),
        ("goose", b"{extensions: {}}\n", "line 1 is not understood"),
        ("goose", b"extensions: [a]\n", "extensions is not one mapping with a name a line"),
    ],
)
def test_settings_that_are_not_understood_are_not_touched(name: str, before: bytes, why: str, askdesk: Askdesk) -> None:
    path = settings_of(name, before)
    ran = askdesk("install", name)
    assert (ran.code, ran.out) == (2, "")
    assert f"{path}: is not understood, and was not touched: " in ran.err
    assert why in ran.err
    assert (path.read_bytes(), folder_of(path)) == (before, [path.name])


def test_a_server_that_does_not_answer_is_taken_out_again_and_an_earlier_one_stays(
    tmp_path: Path, askdesk: Askdesk
) -> None:
    path = settings_of("codex", TOML)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all" * 1000)
    ran = askdesk("install", "codex", "--store", str(broken))
    assert ran.code == 1
    assert ran.err.endswith(f"askdesk: the server did not answer: {path} is as it was before\n")
    assert (path.read_bytes(), folder_of(path)) == (TOML, [path.name])
    assert askdesk("install", "codex").code == 0
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    assert askdesk("install", "codex", "--store", str(broken)).code == 1
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before


def test_a_link_is_followed_and_what_is_read_only_is_not_touched(tmp_path: Path, askdesk: Askdesk) -> None:
    real = tmp_path / "dotfiles" / "codex.toml"
    real.parent.mkdir()
    real.write_bytes(TOML)
    path = settings_of("codex")
    path.parent.mkdir()
    path.symlink_to(real)
    assert askdesk("install", "codex").code == 0
    assert path.is_symlink()
    assert entry_in("codex", real) == local("codex")
    assert askdesk("uninstall", "codex").code == 0
    assert real.read_bytes() == TOML
    real.chmod(0o444)
    ran = askdesk("install", "codex")
    assert (ran.code, ran.err) == (2, f"askdesk: {path}: is read-only, and was not touched\n")


def test_what_somebody_changed_while_the_server_was_tried_is_kept_when_it_is_taken_out() -> None:
    path = settings_of("codex", TOML)
    file = HostFile(HOSTS["codex"], "user")
    kept = file.install(file.installed(HOSTS["codex"].entries(Server(("/bin/x", "y")))))
    path.write_bytes(path.read_bytes() + b"\n[later]\n")
    file.restore(kept)
    assert tomllib.loads(path.read_text()) == {**tomllib.loads(TOML.decode()), "later": {}}
    assert folder_of(path) == [path.name]


PROJECTS = {"cursor", "vscode", "codex", "gemini", "zed"}


@pytest.mark.parametrize("name", NAMES)
def test_a_project_has_settings_of_its_own_where_the_host_has_such(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, askdesk: Askdesk
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    ran = askdesk("install", name, "--project", "--dry-run")
    if name in PROJECTS:
        assert ran.out.startswith(f"--- {project / HOSTS[name].project}\n")
    else:
        assert (ran.code, ran.err) == (2, f"askdesk: --project: {HOSTS[name].title} has no settings of a project\n")


def test_settings_of_a_project_that_lead_out_of_it_are_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, askdesk: Askdesk
) -> None:
    outside = settings_of("zed", COMMENTED)
    project = tmp_path / "project"
    (project / ".zed").mkdir(parents=True)
    (project / ".zed" / "settings.json").symlink_to(outside)
    monkeypatch.chdir(project)
    ran = askdesk("install", "zed", "--project")
    assert ran.code == 2
    assert ran.err.endswith("leads out of the project, and was not touched\n")
    assert outside.read_bytes() == COMMENTED


HOME = PurePosixPath("/home/ana")
APPS = "Library/Application Support"
PLACES = {
    ("cursor", "linux"): ".cursor/mcp.json",
    ("cursor", "win32"): ".cursor/mcp.json",
    ("vscode", "linux"): ".config/Code/User/mcp.json",
    ("vscode", "darwin"): f"{APPS}/Code/User/mcp.json",
    ("vscode", "win32"): "AppData/Roaming/Code/User/mcp.json",
    ("codex", "linux"): ".codex/config.toml",
    ("gemini", "darwin"): ".gemini/settings.json",
    ("claude-desktop", "linux"): ".config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): f"{APPS}/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "AppData/Roaming/Claude/claude_desktop_config.json",
    ("goose", "linux"): ".config/goose/config.yaml",
    ("goose", "darwin"): ".config/goose/config.yaml",
    ("goose", "win32"): "AppData/Roaming/Block/goose/config/config.yaml",
    ("zed", "linux"): ".config/zed/settings.json",
    ("zed", "darwin"): ".config/zed/settings.json",
    ("zed", "win32"): "AppData/Roaming/Zed/settings.json",
}
NAMED = {
    ("vscode", "XDG_CONFIG_HOME"): "/etc/x/Code/User/mcp.json",
    ("vscode", "VSCODE_PORTABLE"): "/etc/x/user-data/User/mcp.json",
    ("codex", "CODEX_HOME"): "/etc/x/config.toml",
    ("gemini", "GEMINI_CLI_HOME"): "/etc/x/.gemini/settings.json",
    ("goose", "XDG_CONFIG_HOME"): "/etc/x/goose/config.yaml",
    ("goose", "GOOSE_PATH_ROOT"): "/etc/x/config/config.yaml",
    ("zed", "XDG_CONFIG_HOME"): "/etc/x/zed/settings.json",
}


def test_settings_are_where_each_platform_and_the_environment_have_them() -> None:
    home = Path(HOME)
    usual = {key: HOSTS[key[0]].settings(Place(key[1], home, {})).relative_to(home).as_posix() for key in PLACES}
    named = {key: HOSTS[key[0]].settings(Place("linux", home, {key[1]: "/etc/x"})).as_posix() for key in NAMED}
    assert (usual, named) == (PLACES, NAMED)
    assert HOSTS["codex"].settings(Place("linux", home, {"CODEX_HOME": "x"})) == home / ".codex" / "config.toml"


REMOTE: dict[str, Any] = {
    "cursor": {"url": "URL", "headers": {"Authorization": "Bearer ${env:ASKDESK_TOKEN}"}},
    "vscode": {"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${input:askdesk-token}"}},
    "codex": {
        "url": "URL",
        "bearer_token_env_var": "ASKDESK_TOKEN",
        "startup_timeout_sec": 30,
        "tool_timeout_sec": 86400,
    },
    "gemini": {"httpUrl": "URL", "headers": {"Authorization": "Bearer $ASKDESK_TOKEN"}, "timeout": 86_400_000},
    "goose": {
        "type": "streamable_http",
        "enabled": True,
        "name": "askdesk",
        "description": "Ask people questions and for permission, at the desk",
        "uri": "URL",
        "headers": {"Authorization": "Bearer ${ASKDESK_TOKEN}"},
        "env_keys": ["ASKDESK_TOKEN"],
        "timeout": 86400,
    },
}


@pytest.fixture(scope="module")
def desk_server() -> Iterator[str]:
    """As much of a desk server as a trial sees: it wants a token, and tells its tools, in events or plainly."""
    server = HTTPServer(("127.0.0.1", 0), Door)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Door(BaseHTTPRequestHandler):
    def do_DELETE(self) -> None:
        self.answer(200, b"")

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = {"initialize": {"serverInfo": {}}, "tools/list": {"tools": [{"name": "ask_user_question"}]}}
        if self.path == "/moved/mcp":
            return self.answer(307, b"", Location="/mcp")
        if self.headers["Authorization"] != "Bearer good":
            return self.answer(401, b"")
        if said["method"] not in results:
            return self.answer(202, b"")
        if said["method"] == "tools/list" and self.headers["Mcp-Session-Id"] != "one":
            return self.answer(400, b"")
        data = json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": results[said["method"]]}).encode()
        if said["method"] == "initialize":
            return self.answer(200, data, **{"Content-Type": "application/json", "Mcp-Session-Id": "one"})
        told = b': hello\nevent: message\ndata: {"method": "notifications/message"}\n\ndata: ' + data + b"\n\n"
        return self.answer(200, told, **{"Content-Type": "text/event-stream"})

    def answer(self, code: int, data: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("name", NAMES)
def test_a_desk_server_is_named_with_its_token_in_no_file(name: str, desk_server: str, askdesk: Askdesk) -> None:
    path = settings_of(name, BEFORE[name])
    ran = askdesk("install", name, "--http", desk_server, **GOOD)
    if name not in REMOTE:
        assert (ran.code, path.read_bytes()) == (2, BEFORE[name])
        assert ran.err.startswith(f"askdesk: --http: is not for {HOSTS[name].title}: ")
        return
    assert ran.code == 0, ran
    assert ran.err.startswith(f"askdesk: done: the server in {path} answers, with ask_user_question. ")
    assert json.loads(json.dumps(entry_in(name, path)).replace(f"{desk_server}/mcp", "URL")) == REMOTE[name]
    assert "good" not in path.read_text("utf-8")
    if name == "vscode":
        (asked,) = jsonc.read(path.read_text("utf-8"))["inputs"]
        assert (asked["id"], asked["type"], asked["password"]) == ("askdesk-token", "promptString", True)
        assert ran.err.endswith("askdesk: VS Code asks for the token once, and keeps it\n")
    else:
        assert "must have ASKDESK_TOKEN in its environment" in ran.err
    assert askdesk("uninstall", name).code == 0
    assert path.read_bytes() == BEFORE[name]


def test_a_desk_server_that_refuses_is_not_installed(desk_server: str, askdesk: Askdesk) -> None:
    path = settings_of("codex", TOML)

    def refused(url: str, **env: str) -> str:
        ran = askdesk("install", "codex", "--http", url, **env)
        assert (ran.code, path.read_bytes()) == (1, TOML)
        return ran.err.splitlines()[0].removeprefix("askdesk: ")

    assert refused(desk_server) == "ASKDESK_TOKEN is not set: Codex would send no token"
    assert refused(desk_server, **BAD) == "the server refused: 401 Unauthorized"
    assert refused(f"{desk_server}/moved", **GOOD) == "the server refused: 307 Temporary Redirect"
    assert refused("http://127.0.0.1:1", **GOOD).startswith("the server cannot be reached: ")


def test_a_real_desk_server_is_tried_with_both_tokens(askdesk: Askdesk) -> None:
    path = settings_of("codex", TOML)
    tokens = {
        "ASKDESK_TOKEN": askdesk("token", "new", "asker", "--name", "codex").out.strip(),
        "ASKDESK_ANSWER_TOKEN": askdesk("token", "new", "answerer", "--name", "ana").out.strip(),
    }
    with served() as server:
        ran = askdesk("install", "codex", "--http", server.url, **tokens)
        assert ran.code == 0, ran
        assert f"answers, with {TOOLS}" in ran.err
        found = told(askdesk("doctor", "--json", **tokens))
        swapped = {**tokens, "ASKDESK_ANSWER_TOKEN": tokens["ASKDESK_TOKEN"]}
        assert askdesk("install", "codex", "--http", server.url, **swapped).code == 1
    assert entry_in("codex", path)["env_http_headers"] == {"Askdesk-Answer-Token": "ASKDESK_ANSWER_TOKEN"}
    assert found == {"codex, user": (f"in {path}; answers with {TOOLS}", False)}
    assert not any(token in path.read_text("utf-8") for token in tokens.values())


def test_a_host_that_asks_for_the_token_needs_none_to_be_installed(desk_server: str, askdesk: Askdesk) -> None:
    settings_of("vscode", COMMENTED)
    ran = askdesk("install", "vscode", "--http", f"{desk_server}/mcp/")
    assert (ran.code, "answers, and wants a token" in ran.err) == (0, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_store_on_a_server_is_named_and_its_tokens_are_only_referred_to(name: str, askdesk: Askdesk) -> None:
    tokens = {"ASKDESK_TOKEN": "sesame", "ASKDESK_ANSWER_TOKEN": "mustard"}
    ran = askdesk("install", name, "--dry-run", "--store", "https://desk.example", **tokens)
    assert "sesame" not in ran.out
    assert "mustard" not in ran.out
    if name == "claude-desktop":
        assert ran.code == 2
        assert "Claude Desktop gives no variables to its servers: put token into " in ran.err
        return
    referred = {
        "cursor": '"ASKDESK_TOKEN": "${env:ASKDESK_TOKEN}"',
        "vscode": '"ASKDESK_TOKEN": "${env:ASKDESK_TOKEN}"',
        "codex": 'env_vars = ["ASKDESK_TOKEN", "ASKDESK_ANSWER_TOKEN"]',
        "gemini": '"ASKDESK_ANSWER_TOKEN": "$ASKDESK_ANSWER_TOKEN"',
        "goose": 'env_keys: ["ASKDESK_TOKEN", "ASKDESK_ANSWER_TOKEN"]',
        "zed": '"env": {}',
    }[name]
    assert "https://desk.example" in ran.out
    assert referred in ran.out


def test_a_token_that_the_server_finds_by_itself_is_not_referred_to(tmp_path: Path, askdesk: Askdesk) -> None:
    config = tmp_path / ".config" / "askdesk" / "askdesk.toml"
    config.parent.mkdir(parents=True)
    config.write_text('store = "https://desk.example"\ntoken = "sesame"\n')
    ran = askdesk("install", "claude-desktop", "--dry-run", ASKDESK_STORE="https://desk.example")
    assert ran.code == 0
    assert "--store" not in ran.out
    assert "sesame" not in ran.out


def test_a_store_is_made_absolute_and_one_that_hosts_cannot_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, askdesk: Askdesk
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f'"{tmp_path}/here.db"' in askdesk("install", "codex", "--dry-run", "--store", "here.db").out
    for store, why in {
        "memory:": "memory: is another desk for every process; hosts need one to share",
        "postgresql://ana:secret@db/desk": "has a password",
    }.items():
        ran = askdesk("install", "codex", "--dry-run", "--store", store)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"askdesk: store: {why}")
        assert "secret" not in ran.err
    for name, why in {"gemini": "Gemini CLI takes what follows $ ", "cursor": "Cursor takes what follows ${ "}.items():
        assert why in askdesk("install", name, "--dry-run", "--store", "/srv/${HOME}/x.db").err


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("cursor", ("--acp",), "--acp: is not for cursor"),
        ("codex", ("--mode", "both"), "--mode: is not for codex"),
        ("codex", ("--permissions",), "--permissions: is not for codex"),
        ("zed", ("--plugin",), "--plugin: is not for zed"),
        ("claude-code", ("--acp",), "--acp: is not for claude-code"),
        ("zed", ("--acp", "--project"), "--acp: Zed takes agents from the settings of the user alone"),
        ("codex", ("--http", "http://desk.example"), "--http: must be https://, or http:// on this machine"),
        ("codex", ("--http", "https://x", "--store", "y"), "--store: is the server's own, where there is --http"),
    ],
)
def test_an_option_that_is_not_for_the_host_is_refused(
    name: str, options: tuple[str, ...], why: str, askdesk: Askdesk
) -> None:
    ran = askdesk("install", name, "--dry-run", *options)
    assert (ran.code, ran.out, ran.err) == (2, "", f"askdesk: {why}\n")


def test_zed_gets_an_agent_too_where_that_is_asked_for(askdesk: Askdesk) -> None:
    path = settings_of("zed", COMMENTED)
    file = HostFile(HOSTS["zed"], "user")
    server = Server(("/bin/x", "mcp"), agent=("/bin/x", "acp"))
    path.write_text(file.installed(HOSTS["zed"].entries(server)), "utf-8", newline="")
    both = jsonc.read(path.read_text("utf-8"))
    assert both["agent_servers"] == {"askdesk": {"type": "custom", "command": "/bin/x", "args": ["acp"], "env": {}}}
    assert set(both["context_servers"]) == {"askdesk", "two"}
    assert '"agent_servers": {' in askdesk("install", "zed", "--dry-run", "--acp").out
    without = HostFile(HOSTS["zed"], "user").installed(HOSTS["zed"].entries(server._replace(agent=())))
    assert "agent_servers" not in jsonc.read(without)


def told(ran: Ran) -> dict[str, tuple[str, bool]]:
    findings = json.loads(ran.out)
    return {each["about"]: (each["says"], each["wrong"]) for each in findings if each["about"].split(",")[0] in HOSTS}


def test_the_doctor_tries_the_server_of_a_host_and_only_looks_at_a_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, askdesk: Askdesk
) -> None:
    settings_of("cursor", COMMENTED)
    settings_of("goose", b"[not, understood")
    project = tmp_path / "project"
    trap = tmp_path / "trap"
    (project / ".gemini").mkdir(parents=True)
    (project / ".vscode").mkdir()
    monkeypatch.chdir(project)
    assert told(askdesk("doctor", "--json")) == {}
    path = settings_of("codex", TOML)
    file = HostFile(HOSTS["codex"], "user")
    file.install(file.installed(HOSTS["codex"].entries(Server(tuple(command())))))
    run = json.dumps({"mcpServers": {"askdesk": {"command": "/bin/touch", "args": [str(trap)]}}})
    (project / ".gemini" / "settings.json").write_text(run)
    (project / ".vscode" / "mcp.json").write_text('{"servers": {"askdesk": {"command": "/gone"}}}')
    settings_of("zed", b'{"context_servers": {"askdesk": ')
    found = told(askdesk("doctor", "--json"))
    assert found.pop("zed, user")[1] is True
    assert found == {
        "codex, user": (f"in {path}; answers with {TOOLS}", False),
        "gemini, project": (f"in {project / '.gemini' / 'settings.json'}", False),
        "vscode, project": (f"in {project / '.vscode' / 'mcp.json'}: there is no /gone", True),
    }
    assert not trap.exists()


def test_the_real_codex_reads_what_we_wrote(tmp_path: Path) -> None:
    path = settings_of("codex", TOML)
    file = HostFile(HOSTS["codex"], "user")
    file.install(file.installed(HOSTS["codex"].entries(Server(("/bin/x", "-m", "a b"), ("ASKDESK_TOKEN",)))))
    ran = subprocess.run(
        [node(), node_modules() / "@openai" / "codex" / "bin" / "codex.js", "mcp", "list", "--json"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CODEX_HOME": str(path.parent)},
        capture_output=True,
        check=True,
        timeout=30,
    )
    servers = {each["name"]: each for each in json.loads(ran.stdout)}
    assert set(servers) == {"askdesk", "other"}
    ours = servers["askdesk"]
    assert (ours["enabled"], ours["startup_timeout_sec"], ours["tool_timeout_sec"]) == (True, 30, 86400)
    transport = {name: ours["transport"][name] for name in ("type", "command", "args", "env_vars")}
    assert transport == {"type": "stdio", "command": "/bin/x", "args": ["-m", "a b"], "env_vars": ["ASKDESK_TOKEN"]}
