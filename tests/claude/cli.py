"""The real Claude Code, as the SDK brings it along: in a throwaway home, talking to a scripted model on loopback."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import claude_agent_sdk
from tests.claude.model import ScriptedModel
from tests.cli.command import surroundings
from tests.terminal import Terminal

CLAUDE = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
KEY = "sk-ant-dummy"
SECONDS = 60.0  # a bound for what should take a second


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What `--output-format json` printed."""
        value: dict[str, Any] = json.loads(self.out)
        return value


class Claude:
    """One user's Claude Code: a home, a project folder, settings, and the model that it talks to."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.home, self.project, self.model = folder / "claude-home", folder / "project", model
        self.config = self.home / ".claude"
        self.more: dict[str, str] = {}  # of the surroundings
        for path in (self.config, self.project):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            **self.more,
        }

    def settings(self, **values: Any) -> None:
        """The user's settings.json."""
        (self.config / "settings.json").write_text(json.dumps(values, indent=2))

    def run(self, *arguments: str, typed: str = "", env: Mapping[str, str] | None = None) -> Ran:
        """Run it to its end, without a terminal."""
        done = subprocess.run(
            [str(CLAUDE), *arguments],
            input=typed,
            capture_output=True,
            text=True,
            cwd=self.project,
            env=surroundings({**self.env, **(env or {})}),
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Run it beside the test."""
        return subprocess.Popen(
            [str(CLAUDE), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.project,
            env=surroundings({**self.env, **(env or {})}),
        )

    def open(self, *arguments: str, env: Mapping[str, str] | None = None) -> Terminal:
        """At a terminal, past everything that it asks a new user."""
        known = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": (CLAUDE.parent / "claude.version").read_text().split()[0],
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {
                str(self.project): {
                    "hasTrustDialogAccepted": True,
                    "hasCompletedProjectOnboarding": True,
                    "allowedTools": [],
                }
            },
        }
        (self.config / ".claude.json").write_text(json.dumps(known))
        return Terminal(
            *arguments,
            command=("env", "-C", str(self.project), str(CLAUDE)),
            columns=110,
            lines=40,
            captured=False,
            env={**self.env, **(env or {})},
        )

    @property
    def transcripts(self) -> list[Path]:
        return sorted(self.config.glob("projects/*/*.jsonl"))

    def transcript(self) -> Iterable[dict[str, Any]]:
        (only,) = self.transcripts
        return [json.loads(line) for line in only.read_text().splitlines()]


SDK = version("claude-agent-sdk")
