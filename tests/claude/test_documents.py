"""The code of docs/claude.md runs as it stands, with the real SDK and the real Claude Code."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel
from tests.cli.command import surroundings

from askdesk.open import open_desk
from askdesk.testing.people import answering, at_desk

pytestmark = pytest.mark.anyio
PAGE = (Path(__file__).parents[2] / "docs" / "claude.md").read_text("utf-8")
OPTIONS, TOLD = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


async def printed(code: str, claude: Claude) -> str:
    """What the code prints while somebody at the desk answers."""
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdout=subprocess.PIPE, cwd=claude.project, env=surroundings(claude.env)
    )
    async with open_desk() as desk, at_desk(desk, answering({"Which db?": "Postgres"})):
        out, _ = await asyncio.wait_for(running.communicate(), 60)
    assert running.returncode == 0
    return out.decode()


async def test_options_with_a_desk(tmp_path: Path) -> None:
    sudo = Call("Bash", {"command": "sudo reboot"}, "toolu_2")
    with ScriptedModel(Call("AskUserQuestion", DATABASE, "toolu_1"), sudo, Say("Set up.")) as model:
        assert await printed(OPTIONS, Claude(tmp_path, model)) == "Set up.\n"
        assert model.results["toolu_1"]["content"].startswith(
            'Your questions have been answered: "Which db?"="Postgres"'
        )
        assert model.results["toolu_2"]["content"] == (
            'DENIED: the application did not allow this call; it did not run. It said: "never as root"'
        )


async def test_told_while_it_works(tmp_path: Path) -> None:
    with ScriptedModel(Say("Writing tests."), Say("With tabs.")) as model:
        assert await printed(TOLD, Claude(tmp_path, model)) in ("Writing tests.\nWith tabs.\n", "Writing tests.\n")
        assert "Use tabs" in json.dumps(model.requests)
