"""The real Codex, in a throwaway home, talking to a scripted model on loopback; its agent has our tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.claude.cli import Ran
from tests.cli.command import surroundings
from tests.hosts.responses_api import ScriptedModel
from tests.peers import node_modules

SECONDS = 60.0  # a bound for what should take two


def codex() -> Path:
    """The program itself; what npm puts on the path only starts it."""
    (found,) = node_modules().glob("@openai/codex-*/vendor/*/bin/codex")
    return found


class Codex:
    """One user's Codex. `required` has it wait until our server is there: else its agent may begin without us."""

    def __init__(self, folder: Path, model: ScriptedModel, *options: str) -> None:
        self.home, self.project, self.model = folder / "codex-home", folder / "project", model
        for path in (self.home, self.project):
            path.mkdir()
        ours = {name: os.environ[name] for name in ("ASKDESK_STORE", "HOME")}
        server = {
            "command": sys.executable,
            "args": ["-m", "askdesk.cli.main", "mcp", *options],
            "env": {**ours, "ASKDESK_BY": "ana", "ASKDESK_DIALOG_SECONDS": "30"},
            "required": True,
            "startup_timeout_sec": 60,
        }
        provider = {"name": "script", "base_url": f"{model.url}/v1", "wire_api": "responses", "env_key": "SCRIPT_KEY"}
        lines = [
            'model = "gpt-5"',
            'model_provider = "script"',
            "check_for_update_on_startup = false",
            *_table(f'projects."{self.project}"', {"trust_level": "trusted"}),
            *_table("model_providers.script", provider),
            *_table("mcp_servers.askdesk", server),
        ]
        (self.home / "config.toml").write_text("\n".join(lines))

    @property
    def env(self) -> dict[str, str]:
        return surroundings({"CODEX_HOME": str(self.home), "SCRIPT_KEY": "none"})

    def start(self, *options: str) -> subprocess.Popen[str]:
        """`codex exec` beside the test."""
        return subprocess.Popen(
            [str(codex()), "exec", "--skip-git-repo-check", "--json", *options, "go"],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ends(self, process: subprocess.Popen[str]) -> Ran:
        out, err = process.communicate(timeout=SECONDS)
        return Ran(process.returncode, out, err)

    @property
    def told(self) -> list[str]:
        """What the model read of our tools, in the order of its calls."""
        return [result["content"][-1]["text"] for result in self.model.results.values()]


def _table(name: str, values: dict[str, Any]) -> Sequence[str]:
    return [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)
