"""Clients of other people against `askdesk acp`: the TypeScript SDK's, and acpx as a command and as a library."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel
from tests.cli.command import ASKDESK, surroundings
from tests.peers import node, node_modules

from askdesk.core.model import Answer, Answered, Entry
from askdesk.open import open_desk

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
SECONDS = 60.0  # a bound for a few
POSTGRES = Answered((Answer(("Postgres",)),))
ANSWERED = 'Your questions have been answered: "Which db?"="Postgres". You can now continue with these answers in mind.'


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    with ScriptedModel() as model:
        yield Claude(tmp_path, model)


def command(*options: str) -> tuple[str, ...]:
    return (*ASKDESK, "acp", *options)


@asynccontextmanager
async def running(claude: Claude, *arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        str(node()),
        *map(str, arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=claude.project,
        env=surroundings({**claude.env, "ASKDESK_BY": "ana"}),
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.communicate(), SECONDS)


async def ran(claude: Claude, *arguments: object) -> dict[str, Any]:
    """What a script printed."""
    async with running(claude, *arguments) as process:
        out, errors = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, errors.decode()
    value: dict[str, Any] = json.loads(out)
    return value


def acpx(*options: str, agent: tuple[str, ...]) -> tuple[str, ...]:
    script = node_modules() / "acpx" / "dist" / "cli.js"
    return (str(script), "--approve-all", *options, "--agent", shlex.join(agent), "exec", "go")


async def the_open_ask() -> Entry:
    async with open_desk() as desk, asyncio.timeout(SECONDS):
        while True:
            async for entry in desk.each("open"):
                return entry
            await asyncio.sleep(0.02)


async def settled() -> list[Entry]:
    async with open_desk() as desk:
        return [entry async for entry in desk.each("settled")]


async def test_the_typescript_client_answers_the_form_and_allows_the_call(claude: Claude) -> None:
    path = claude.project / "new.txt"
    claude.model._turns = iter(
        [
            Call("AskUserQuestion", DATABASE, "toolu_1"),
            Call("Write", {"file_path": str(path), "content": "hi"}, "toolu_2"),
            Say("all done"),
        ]
    )
    entry = node_modules() / "@agentclientprotocol" / "sdk" / "dist" / "v1" / "stable" / "acp.js"
    seen = await ran(claude, HERE / "sdk_client.mjs", entry, claude.project, *command())
    assert (seen["stopReason"], seen["code"]) == ("end_turn", 0)
    assert claude.model.results["toolu_1"]["content"] == ANSWERED
    assert path.read_text() == "hi"
    (form,) = seen["forms"]
    assert (form["mode"], form["toolCallId"], form["requestedSchema"]["type"]) == ("form", "toolu_1", "object")
    (permission,) = seen["permissions"]
    assert permission["toolCall"]["content"] == [{"type": "diff", "path": str(path), "oldText": None, "newText": "hi"}]
    kinds = [update["sessionUpdate"] for update in seen["updates"]]
    assert kinds == [
        "available_commands_update",
        *("tool_call", "tool_call_update", "tool_call_update"),
        *("tool_call", "tool_call_update", "tool_call_update"),
        "agent_message_chunk",
        "usage_update",
    ]


async def test_acpx_as_a_library_answers_the_form(claude: Claude, tmp_path: Path) -> None:
    claude.model._turns = iter([Call("AskUserQuestion", DATABASE, "toolu_1"), Say("thanks")])
    entry = node_modules() / "acpx" / "dist" / "runtime.js"
    seen = await ran(claude, HERE / "acpx_runtime.mjs", entry, claude.project, tmp_path / "acpx", *command())
    assert seen["result"]["status"] == "completed"
    assert [form["toolCallId"] for form in seen["forms"]] == ["toolu_1"]
    assert claude.model.results["toolu_1"]["content"] == ANSWERED
    ((settlement),) = [entry.settlement for entry in await settled()]
    assert settlement
    assert (settlement.outcome, settlement.surface) == (POSTGRES, "editor")


@pytest.mark.parametrize("options", [(), ("--permission-shape", "safe")], ids=["alone", "safe"])
async def test_acpx_approves_everything_and_answers_nothing_so_the_desk_does(
    claude: Claude, options: tuple[str, ...]
) -> None:
    claude.model._turns = iter([Call("AskUserQuestion", DATABASE, "toolu_1"), Say("thanks")])
    async with running(claude, *acpx(agent=command(*options))) as process:
        reading = asyncio.ensure_future(process.communicate())
        entry = await the_open_ask()
        async with open_desk() as desk:
            assert await desk.wait(entry.ask.id, timeout=1.0) is None  # whatever it approved meanwhile
            await desk.settle(entry.ask.id, POSTGRES, by="ben", surface="page")
        out, _ = await asyncio.wait_for(reading, SECONDS)
    assert claude.model.results["toolu_1"]["content"] == ANSWERED
    assert "thanks" in out.decode()
    assert [(each.settlement.by, each.settlement.surface) for each in await settled() if each.settlement] == [
        ("ben", "page")
    ]


async def test_acpx_answers_the_exact_shape_which_is_why_that_is_not_safe(claude: Claude) -> None:
    claude.model._turns = iter([Call("AskUserQuestion", DATABASE, "toolu_1"), Say("thanks")])
    async with running(claude, *acpx(agent=command("--permission-shape", "exact"))) as process:
        await asyncio.wait_for(process.communicate(), SECONDS)
    assert claude.model.results["toolu_1"]["content"] == ANSWERED
