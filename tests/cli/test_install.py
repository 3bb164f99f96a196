"""`askdesk install claude-code` and `uninstall`: another program's settings, changed with care and put back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.claude.desk import serving
from tests.cli.command import Ran, askdesk

from askdesk import __version__
from askdesk.cli import claude_code

STRANGE = b'{\n\t"model":   "opus",\r\n\t"hooks": {"Stop": [{"hooks": [{"type":"command","command":"say done"}]}]}\n}'
OTHER = {"type": "command", "command": "say done"}
DAYS = 604_800


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Claude Code's user settings are; nothing is there yet."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude" / "settings.json"


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def hooks_in(path: Path) -> dict[str, list[tuple[str, int]]]:
    """For each event, the matchers and time limits of our hooks."""
    found: dict[str, Any] = json.loads(path.read_bytes()).get("hooks", {})
    ours = {
        event: [(e.get("matcher", ""), h["timeout"]) for e in entries for h in e["hooks"] if h != OTHER]
        for event, entries in found.items()
    }
    return {event: each for event, each in ours.items() if each}


def commands_in(path: Path) -> list[str]:
    found = json.loads(path.read_bytes())["hooks"].values()
    return [hook["command"] for entries in found for entry in entries for hook in entry["hooks"] if hook != OTHER]


def break_store(folder: Path) -> None:
    written(folder / "desk" / "desk.db", b"no database at all" * 1000)
    for name in ("desk.db-wal", "desk.db-shm"):
        (folder / "desk" / name).unlink(missing_ok=True)


def install(*options: str) -> Ran:
    ran = askdesk("install", "claude-code", *options)
    assert ran.code == 0, ran
    return ran


def folder_of(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir()) if path.parent.exists() else []


BOTH = {
    "PreToolUse": [("AskUserQuestion", 60)],
    "PermissionRequest": [("AskUserQuestion", DAYS)],
    "PostToolUse": [("AskUserQuestion", 60)],
    "Notification": [("", 60)],
}


@pytest.mark.parametrize(
    ("options", "hooks"),
    [
        ((), BOTH),
        (("--permissions",), BOTH | {"PermissionRequest": [("*", DAYS)]}),
        (("--mode", "desk"), {"PreToolUse": [("AskUserQuestion", DAYS)], "Notification": [("", 60)]}),
        (
            ("--mode", "desk", "--permissions"),
            {
                "PreToolUse": [("AskUserQuestion", DAYS)],
                "PermissionRequest": [("*", DAYS)],
                "Notification": [("", 60)],
            },
        ),
    ],
    ids=["both", "with permissions", "desk", "desk with permissions"],
)
def test_each_way_has_its_hooks(settings: Path, options: tuple[str, ...], hooks: object) -> None:
    ran = install(*options)
    assert hooks_in(settings) == hooks
    assert ran.err == f"askdesk: done: the hooks in {settings} answer. New sessions of Claude Code use them\n"


def test_what_changes_is_shown_and_the_rest_is_kept_in_its_order(settings: Path) -> None:
    written(settings, b'{\n  "z": 1,\n  "model": "\xc3\xbc",\n  "a": {"b": [1.0]}\n}\n')
    ran = install()
    assert list(json.loads(settings.read_bytes())) == ["z", "model", "a", "hooks"]
    assert '"model": "ü"' in settings.read_text("utf-8")
    assert '+    "PreToolUse": [' in ran.out
    assert ran.out.startswith(f"--- {settings}\n+++ {settings}\n")


def test_hooks_of_others_stay(settings: Path) -> None:
    written(settings, STRANGE)
    install()
    assert json.loads(settings.read_bytes())["hooks"]["Stop"] == [{"hooks": [OTHER]}]


@pytest.mark.parametrize("before", [STRANGE, b"{}", b'{"hooks": {}}', b"", None], ids=str)
def test_uninstalling_puts_back_every_byte(settings: Path, before: bytes | None) -> None:
    if before is not None:
        written(settings, before).chmod(0o640)
    install()
    install("--mode", "desk", "--permissions")
    ran = askdesk("uninstall", "claude-code")
    assert ran.code == 0
    assert (settings.read_bytes() if settings.exists() else None) == before
    assert folder_of(settings) == ([] if before is None else ["settings.json"])
    if before is not None:
        assert settings.stat().st_mode & 0o777 == 0o640


def test_once_somebody_changed_the_settings_only_our_hooks_are_removed(settings: Path) -> None:
    written(settings, STRANGE)
    install()
    changed = json.loads(settings.read_bytes())
    changed["theme"] = "dark"
    changed["hooks"]["PreToolUse"][0]["hooks"].append(OTHER)
    settings.write_text(json.dumps(changed))
    askdesk("uninstall", "claude-code")
    assert json.loads(settings.read_bytes()) == {
        "model": "opus",
        "hooks": {
            "Stop": [{"hooks": [OTHER]}],
            "PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [OTHER]}],
        },
        "theme": "dark",
    }


def test_without_its_backup_nothing_but_our_hooks_is_removed(settings: Path) -> None:
    written(settings, b'{"model": "opus"}')
    install()
    (settings.parent / "settings.json.askdesk-backup").unlink()
    askdesk("uninstall", "claude-code")
    assert json.loads(settings.read_bytes()) == {"model": "opus"}


def test_installing_twice_is_installing_once(settings: Path) -> None:
    install()
    first = settings.read_bytes()
    ran = install()
    assert (ran.out, settings.read_bytes()) == ("", first)
    assert ran.err.startswith(f"askdesk: {settings} has these hooks already\n")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_dry_run_changes_nothing(settings: Path, command: str) -> None:
    written(settings, STRANGE)
    if command == "uninstall":
        install()
    before = settings.read_bytes(), folder_of(settings)
    ran = askdesk(command, "claude-code", "--dry-run")
    assert (ran.code, ran.err) == (0, "askdesk: nothing was changed\n")
    assert ran.out.startswith("---")
    assert (settings.read_bytes(), folder_of(settings)) == before


@pytest.mark.parametrize(
    "before",
    [b"{,}", b"[]", b'{"hooks": []}', b'{"hooks": {"Stop": {}}}', b'{"hooks": {"Stop": [{"hooks": ["x"]}]}}', b"\xff"],
    ids=str,
)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_what_is_not_understood_is_not_touched(settings: Path, command: str, before: bytes) -> None:
    written(settings, before)
    ran = askdesk(command, "claude-code")
    assert (ran.code, ran.out) == (2, "")
    assert str(settings) in ran.err
    assert "was not touched" in ran.err
    assert (settings.read_bytes(), folder_of(settings)) == (before, ["settings.json"])


def test_hooks_that_do_not_answer_are_taken_out_again(settings: Path, tmp_path: Path) -> None:
    written(settings, STRANGE)
    break_store(tmp_path)
    ran = askdesk("install", "claude-code")
    assert ran.code == 1
    assert f"the hooks did not answer: {settings} is as it was before" in ran.err
    assert (settings.read_bytes(), folder_of(settings)) == (STRANGE, ["settings.json"])


def test_hooks_that_do_not_answer_do_not_take_earlier_ones_along(settings: Path) -> None:
    written(settings, STRANGE)
    install()
    before = {path.name: path.read_bytes() for path in settings.parent.iterdir()}
    ran = askdesk("install", "claude-code", "--http", "http://127.0.0.1:1")
    assert (ran.code, ran.err.splitlines()[-1]) == (
        *(1, f"askdesk: the hooks did not answer: {settings} is as it was before"),
    )
    assert {path.name: path.read_bytes() for path in settings.parent.iterdir()} == before
    assert askdesk("uninstall", "claude-code").code == 0
    assert settings.read_bytes() == STRANGE


def test_hooks_that_are_there_already_and_do_not_answer_stay_and_are_told(settings: Path, tmp_path: Path) -> None:
    written(settings, STRANGE)
    install()
    before = {path.name: path.read_bytes() for path in settings.parent.iterdir()}
    break_store(tmp_path)
    ran = askdesk("install", "claude-code")
    assert ran.code == 1
    assert ran.err.startswith(f"askdesk: {settings} has these hooks already\n")
    assert ran.err.endswith(f"askdesk: the hooks did not answer: {settings} is as it was before\n")
    assert {path.name: path.read_bytes() for path in settings.parent.iterdir()} == before


def test_with_a_server_the_hooks_must_answer_without_it_too(settings: Path) -> None:
    """Here the server answers from a store that nobody else can open any more."""
    written(settings, STRANGE)
    with serving():
        install()
        assert askdesk("uninstall", "claude-code").code == 0
        store = Path(os.environ["ASKDESK_STORE"])
        for each in store.parent.glob(f"{store.name}*"):
            if each.is_file():
                each.unlink()
        store.write_bytes(b"no database at all" * 1000)
        ran = askdesk("install", "claude-code")
    assert ran.code == 1
    assert "the hooks did not answer" in ran.err


def test_a_link_is_followed(settings: Path, tmp_path: Path) -> None:
    real = written(tmp_path / "dotfiles" / "claude.json", STRANGE)
    settings.parent.mkdir()
    settings.symlink_to(real)
    install()
    assert settings.is_symlink()
    assert hooks_in(real) == BOTH
    askdesk("uninstall", "claude-code")
    assert (settings.is_symlink(), real.read_bytes()) == (True, STRANGE)


def test_a_project_has_its_own(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    install("--project")
    assert hooks_in(tmp_path / ".claude" / "settings.local.json") == BOTH
    assert not settings.exists()
    assert "has no hooks of ours" in askdesk("uninstall", "claude-code").err
    assert askdesk("uninstall", "claude-code", "--project").code == 0
    assert not (tmp_path / ".claude" / "settings.local.json").exists()


def test_an_agent_may_look_and_not_put_hooks_in(settings: Path) -> None:
    ran = askdesk("install", "claude-code", env={"CLAUDECODE": "1"})
    assert (ran.code, ran.out, settings.exists()) == (2, "", False)
    assert "this is an agent's shell (CLAUDECODE is set)" in ran.err
    for look in ("--dry-run", "--plugin"):
        assert askdesk("install", "claude-code", look, env={"CLAUDECODE": "1"}).code == 0
    assert not settings.exists()
    assert askdesk("install", "claude-code", "--force", env={"CLAUDECODE": "1"}).code == 0
    assert hooks_in(settings) == BOTH


def test_an_agent_may_not_take_the_hooks_out(settings: Path) -> None:
    install()
    before = settings.read_bytes()
    ran = askdesk("uninstall", "claude-code", env={"CLAUDECODE": "1"})
    assert (ran.code, settings.read_bytes()) == (2, before)
    assert askdesk("uninstall", "claude-code", "--force", env={"CLAUDECODE": "1"}).code == 0


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)


@pytest.mark.parametrize("gone", ["hook_client.py", "python"])
def test_where_askdesk_is_gone_the_hook_blocks_nothing_and_says_so(settings: Path, gone: str) -> None:
    install()
    ran = shell(commands_in(settings)[0].replace(gone, f"{gone}-gone"))
    assert ran.returncode == 0
    assert json.loads(ran.stdout) == {
        "systemMessage": "askdesk is not where it was: install it again, or remove its hooks from the settings"
    }


def test_hooks_that_a_strange_folder_must_not_break(settings: Path, tmp_path: Path) -> None:
    store = tmp_path / "it's $HOME; a `desk`" / "desk.db"
    install("--store", str(store))
    ran = shell(commands_in(settings)[0])
    assert ran.returncode == 0
    assert store.exists()


def test_a_store_that_hooks_cannot_share_is_refused(settings: Path) -> None:
    ran = askdesk("install", "claude-code", "--store", "memory:")
    assert ran.code == 2
    assert not settings.exists()


@pytest.mark.parametrize("url", ["postgresql://ana:s3cret@db/desk", "postgresql://db/desk?password=s3cret"])
def test_a_password_of_a_store_is_in_no_hook(url: str, settings: Path, tmp_path: Path) -> None:
    refused = askdesk("install", "claude-code", "--dry-run", "--store", url)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("askdesk: store: has a password: it goes into")
    written(tmp_path / ".config" / "askdesk" / "askdesk.toml", f'store = "{url}"\n'.encode())
    found = askdesk("install", "claude-code", "--dry-run", env={"ASKDESK_STORE": url})
    assert (found.code, "hook_client.py" in found.out) == (0, True)
    assert "s3cret" not in refused.err + found.out + found.err


@pytest.mark.parametrize(
    ("url", "why"),
    [
        *(
            (url, "must be https://, or http:// on this machine")
            for url in (
                *("http://desk.example", "http://localhost.evil.com", "http://127.0.0.1.evil.com:80/"),
                *("http://127.0.0.1@evil.com", "http://localhost:80@evil.com/"),
                *("ftp://localhost", "localhost", "https://"),
            )
        ),
        *(
            (url, "must have nothing but the host and its port before the path")
            for url in ("https://ana:secret@desk.example", "http://evil.com@localhost", "http://evil.com\\@localhost")
        ),
        ("https://desk.example/?a=1", "must end with its path: no ? and no #"),
        ("https://desk.example/#a", "must end with its path: no ? and no #"),
        ("http://[::1", "is no URL: Invalid IPv6 URL"),
    ],
)
def test_a_url_to_which_no_token_should_go_is_refused(settings: Path, url: str, why: str) -> None:
    ran = askdesk("install", "claude-code", "--dry-run", "--http", url)
    assert (ran.code, ran.out, ran.err) == (2, "", f"askdesk: --http: {why}\n")


@pytest.mark.parametrize(
    "url", ["https://desk.example/desk/", "http://127.0.0.1:8800", "http://LOCALHOST:8800/", "http://[::1]:8800"]
)
def test_https_and_this_machine_are_taken(settings: Path, url: str) -> None:
    ran = askdesk("install", "claude-code", "--dry-run", "--http", url)
    assert ran.code == 0
    assert f'"url": "{url.rstrip("/")}/v1/hooks/claude-code?' in ran.out


def test_http_without_a_token_is_put_back(settings: Path) -> None:
    ran = askdesk("install", "claude-code", "--http", "http://127.0.0.1:1")
    assert ran.code == 1
    assert "ASKDESK_TOKEN is not set" in ran.err
    assert not settings.exists()


def test_the_plugin_is_a_folder_with_the_same_hooks(settings: Path) -> None:
    ran = install("--plugin")
    folder = Path(ran.out.strip())
    assert not settings.exists()
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["version"] == __version__
    assert hooks_in(folder / "hooks" / "hooks.json") == BOTH
    limits = [(h["command"].split()[-1], h["timeout"]) for h in _hooks(folder / "hooks" / "hooks.json")]
    assert all(int(told) == limit for told, limit in limits)


def _hooks(path: Path) -> list[dict[str, Any]]:
    events = json.loads(path.read_text())["hooks"].values()
    return [hook for entries in events for entry in entries for hook in entry["hooks"]]


def test_the_doctor_knows_whether_hooks_are_there_and_answer(settings: Path) -> None:
    def told() -> dict[str, str]:
        return {each["about"]: each["says"] for each in json.loads(askdesk("doctor", "--json").out)}

    assert told()["hooks, user"] == f"none in {settings}"
    install()
    assert told()["hooks, user"] == f"4 in {settings}; answered by the store"
    assert told()["hooks, server"] == "none runs: hooks wait at the store themselves"
    settings.write_text(settings.read_text().replace("hook_client.py", "gone.py"))
    assert told()["hooks, user"] == f"none in {settings}"


HOSTILE = [
    "touch {there}; : askdesk/cli/hook_client.py",
    "{ours}; touch {there}",
    "{begins} `touch {there}` both 60{ends}",
]


@pytest.mark.parametrize("command", HOSTILE)
def test_the_doctor_runs_nothing_that_a_project_made_look_like_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ours = claude_code.Way(socket="-", store="").hook(60)["command"]
    begins, _, ends = ours.partition(" - both 60")
    there = tmp_path / "ran"
    hook = {"type": "command", "command": command.format(there=there, ours=ours, begins=begins, ends=ends)}
    project = tmp_path / ".claude" / "settings.local.json"
    project.parent.mkdir(exist_ok=True)
    project.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    assert "not tried, as others can have written them" in askdesk("doctor").out
    assert not there.exists()


def test_the_doctor_tries_the_hooks_of_a_project_that_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    install("--project")
    path = tmp_path / ".claude" / "settings.local.json"
    assert f"4 in {path}; answered by the store" in askdesk("doctor").out


def test_the_doctor_finds_hooks_that_do_not_answer(settings: Path, tmp_path: Path) -> None:
    install()
    break_store(tmp_path)
    ran = askdesk("doctor")
    assert ran.code == 1
    assert "WRONG  hooks, user" in ran.out


def test_settings_that_cannot_be_written_are_told(settings: Path) -> None:
    settings.parent.mkdir()
    settings.mkdir()
    ran = askdesk("install", "claude-code")
    assert ran.code == 2
    assert f"{settings}: {os.strerror(21)}" in ran.err
