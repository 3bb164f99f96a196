"""Claude Code that asks the desk, through `askdesk mcp --permission-prompt`, before it does anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import SECONDS, Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel, Turn
from tests.cli.command import kept_asks, until

from askdesk.core.model import Ask

TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make a file"}, "toolu_touch")
QUESTION = Call("AskUserQuestion", DATABASE, "toolu_ask")
TOOL = "mcp__askdesk__approve"


class Prompted:
    """Claude Code that asks the desk before it does anything."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.model, self.claude = model, Claude(folder, model)
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str, env: dict[str, str] | None = None, patience: int | None = 2147483647) -> None:
        arguments = ["-m", "askdesk.cli.main", "mcp", "--permission-prompt", *options]
        server: dict[str, Any] = {"command": sys.executable, "args": arguments}
        if patience is not None:
            server["timeout"] = patience
        config = self._folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"askdesk": server}}))
        self._process = self.claude.start(
            *("-p", "go", "--output-format", "json"),
            *("--mcp-config", str(config), "--permission-prompt-tool", TOOL),
            env={"ASKDESK_STORE": os.environ["ASKDESK_STORE"], **(env or {})},
        )

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def ends(self) -> tuple[int, dict[str, Any]]:
        """The exit code, and what Claude Code printed."""
        out, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, json.loads(out)

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    @property
    def made(self) -> list[str]:
        return [path.name for path in self.claude.project.iterdir()]


@pytest.fixture
def prompted(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Prompted]:
    turns: list[Turn] = getattr(request, "param", [TOUCH, Say("bye")])
    with ScriptedModel(*turns) as model:
        made = Prompted(tmp_path, model)
        yield made
        made.stop()


def asked() -> Ask:
    """The one open ask, once it is there."""
    until(lambda: len(opened()) == 1)
    return opened()[0]


def opened() -> list[Ask]:
    return [entry.ask for entry in kept_asks() if entry.settlement is None]
