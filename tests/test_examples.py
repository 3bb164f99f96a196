"""The examples as somebody runs them: real loops of the official packages, a person at the desk, a scripted model."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Call, Say, ScriptedModel
from tests.cli.command import DATABASE, SECONDS, Ran, kept_asks, surroundings

from askdesk.core.model import Allowed, Answer, Answered, Ask, Denied, Permission, Reply
from askdesk.open import open_desk
from askdesk.testing.people import at_desk

EXAMPLES = Path(__file__).parent.parent / "examples"
TELLS = "The agent may ask: askdesk inbox, in another terminal, shows what.\n"
DENIED = "DENIED: the person did not allow this call; it did not run."
TOUCH = Call("Bash", {"command": "touch made.txt"}, "call_touch")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def at(name: str, url: str) -> dict[str, str]:
    """The settings that lead an example to a model."""
    if name == "anthropic_messages":
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none"}


def run(folder: Path, name: str, *arguments: str, replies: Callable[[Ask], Reply], env: Mapping[str, str]) -> Ran:
    """Run an example to its end in a folder, with a person at the desk of the settings."""

    async def present(ask: Ask) -> Reply:
        return replies(ask)

    def example() -> Ran:
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env=surroundings(env),
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    async def both() -> Ran:
        async with open_desk() as desk, at_desk(desk, present):
            return await asyncio.to_thread(example)

    return asyncio.run(both())


every_example = pytest.mark.parametrize("name", ["anthropic_messages", "openai_chat", "openai_responses"])


@every_example
def test_without_a_key_an_example_asks_runs_what_is_allowed_and_nothing_else(name: str, folder: Path) -> None:
    def replies(ask: Ask) -> Reply:
        if ask.questions:
            return Answered([Answer.choose(ask.questions[0], 1)])
        assert ask.permission is not None
        return Allowed() if "echo" in ask.permission.input else Denied("not here")

    ran = run(folder, name, "--scripted", replies=replies, env={})
    assert ran == Ran(0, "That is all I wanted to do.\n", TELLS)
    assert list(folder.iterdir()) == []
    asks = [entry.ask for entry in kept_asks()]
    assert {(ask.asker.agent, ask.asker.project) for ask in asks} == {("example", str(folder))}
    assert [ask.permission for ask in sorted(asks, key=lambda ask: str(ask.body)) if ask.permission] == [
        Permission("Bash", {"command": "echo hello from the agent"}, str(folder)),
        Permission("Bash", {"command": "touch made-by-the-agent.txt"}, str(folder)),
    ]


def shown(model: ScriptedModel, name: str) -> dict[str, dict[str, Any]]:
    """What the model was shown; only the Messages API has a mark for errors."""
    if name == "anthropic_messages":
        return model.results
    assert not any(result["is_error"] for result in model.results.values())
    return {
        call: {**result, "is_error": result["content"].startswith(DENIED)} for call, result in model.results.items()
    }


@every_example
def test_the_model_reads_what_ran_and_what_was_denied(name: str, folder: Path) -> None:
    question = Call("AskUserQuestion", DATABASE, "call_ask")
    echo = Call("Bash", {"command": "echo hello"}, "call_echo")

    def replies(ask: Ask) -> Reply:
        if ask.questions:
            return Answered([Answer(other="neither, use files")])
        return Allowed('{"command": "echo changed"}') if ask.key == "call_echo" else Denied("not here")

    with ScriptedModel(question, [echo, TOUCH], Say("bye")) as model:
        ran = run(folder, name, "do it", replies=replies, env=at(name, model.url))
        results = shown(model, name)
    assert ran == Ran(0, "bye\n", TELLS)
    assert results == {
        "call_ask": {
            "content": "ANSWERED WITH OWN WORDS: read what the person wrote with care. It may ask you to explain, to "
            "change course or to stop; follow what it says.\n"
            '- "Which database?" = own words: "neither, use files"',
            "is_error": False,
        },
        "call_echo": {
            "content": "ALLOWED WITH CHANGES: the person changed the input; the call runs with their version. It is: "
            '{"command": "echo changed"}\n{"exit_code": 0, "output": "changed\\n"}',
            "is_error": False,
        },
        "call_touch": {"content": f'{DENIED} They said: "not here"', "is_error": True},
    }
    assert list(folder.iterdir()) == []


@every_example
def test_a_stop_ends_the_loop_and_the_model_is_not_called_again(name: str, folder: Path) -> None:
    with ScriptedModel(TOUCH) as model:
        ran = run(folder, name, replies=lambda ask: Denied(stop=True), env=at(name, model.url))
        assert len(model.requests) == 1
    assert ran == Ran(0, "stopped by the person\n", TELLS)
    assert list(folder.iterdir()) == []


@every_example
def test_a_new_instruction_reaches_the_model_as_the_persons(name: str, folder: Path) -> None:
    with ScriptedModel(TOUCH, Say("as you wish")) as model:
        ran = run(folder, name, replies=lambda ask: Denied(redirect="write a test"), env=at(name, model.url))
        request = model.requests[-1]
        last = (request["messages"] if "messages" in request else request["input"])[-1]
    assert ran == Ran(0, "as you wish\n", TELLS)
    assert last["role"] == "user"
    said = last["content"][-1] if isinstance(last["content"], list) else {"type": "text", "text": last["content"]}
    assert said == {"type": "text", "text": "write a test"}


@every_example
def test_the_services_packages_send_the_tools_in_their_own_format(name: str, folder: Path) -> None:
    with ScriptedModel(Say("hello")) as model:
        assert run(folder, name, replies=lambda ask: Denied(), env=at(name, model.url)).code == 0
        (request,) = model.requests
    names = [tool.get("name") or tool["function"]["name"] for tool in request["tools"]]
    assert names == ["AskUserQuestion", "Bash"]


def test_the_table_lists_every_example() -> None:
    table = re.findall(r"^\| \[`(\w+\.py)`\]", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(table) == sorted(path.name for path in EXAMPLES.glob("*.py"))
