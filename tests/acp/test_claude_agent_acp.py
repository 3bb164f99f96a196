"""The real claude-agent-acp with its own Claude Code under the desk, and a scripted model on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel, Turn, questions
from tests.peers import node, node_modules

from askdesk.adapters.acp_client import under_desk
from askdesk.adapters.steps import Ended, Said
from askdesk.core.desk import Desk
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Option,
    Permission,
    Question,
    Questions,
    Reply,
)
from askdesk.stores.memory import MemoryStore
from askdesk.testing.people import at_desk

pytestmark = pytest.mark.anyio

PARTS = questions("Which parts?", labels=("Sign-in", "Cache, L2"), multiSelect=True)
TWO = {"questions": [*DATABASE["questions"], *PARTS["questions"]]}
DATABASES = [Option("Postgres", "Postgres desc"), Option("SQLite", "SQLite desc")]
ASKED = Questions([Question("Which db?", DATABASES, header="Choice")])
PART_OPTIONS = [Option("Sign-in", "Sign-in desc"), Option("Cache, L2", "Cache, L2 desc")]


def agent() -> tuple[str, str]:
    return str(node()), str(node_modules() / "@agentclientprotocol" / "claude-agent-acp" / "dist" / "index.js")


class Model(ScriptedModel):
    """Claude Code asks it beside the conversation for a title, and for what the person might say next."""

    def __enter__(self) -> Model:
        return self

    def turns(self, request: Mapping[str, Any]) -> Iterator[Turn]:
        return iter([Say("nothing")]) if self.is_aside(request) else super().turns(request)

    def is_aside(self, request: Mapping[str, Any]) -> bool:
        last = json.dumps(request["messages"][-1])
        return "[SUGGESTION MODE" in last or "</session>" in last


def permission(claude: Claude, command: str) -> Permission:
    place = [{"path": str(claude.project / command.removeprefix("touch "))}]  # where it says that the call writes
    return Permission("Bash", {"command": command}, str(claude.project), f"{command}\n{json.dumps(place)}")


def first_sentence(result: str) -> str:
    """What a tool gave, without what Claude Code tells its model to make of it."""
    return result.partition(". You can now")[0].partition(". Read the answers")[0]


async def test_claude_agent_acp_asks_at_the_desk_and_its_model_reads_what_people_say(tmp_path: Path) -> None:
    """One process for all of it, since it takes long to start: each call of its model, and a person's reply to it."""
    told: list[tuple[Call, Reply]] = [
        (Call("AskUserQuestion", DATABASE, "option"), Answered([Answer(["SQLite"])])),
        (Call("AskUserQuestion", DATABASE, "own"), Answered([Answer(other="DuckDB, embedded")])),
        (Call("AskUserQuestion", DATABASE, "note"), Answered([Answer(["Postgres"], note="for now")])),
        (Call("AskUserQuestion", TWO, "several"), Answered([None, Answer(["Sign-in", "Cache, L2"], "logging")])),
        (Call("AskUserQuestion", DATABASE, "declined"), Declined()),
        (Call("Bash", {"command": "touch allowed"}, "allowed"), Allowed()),
        (Call("Bash", {"command": "touch denied"}, "denied"), Denied("not in here")),
    ]
    redirected = Call("Bash", {"command": "touch redirected"}, "redirected")
    replies = [*(reply for _, reply in told), Denied(redirect="Write docs instead")]
    asks: list[Ask] = []

    async def present(ask: Ask) -> Reply | None:
        asks.append(ask)
        return replies[len(asks) - 1]

    turns: list[Turn] = [*(call for call, _ in told), Say("One done."), redirected]  # and then it says "done"
    with Model(*turns) as model:
        claude = Claude(tmp_path, model)
        claude.settings(permissions={"disableBypassPermissionsMode": "disable"})
        desk = Desk(MemoryStore())
        async with (
            under_desk(desk, agent(), folder=claude.project, env=claude.env) as running,
            at_desk(desk, present),
            aclosing(running.run("Build it")) as steps,
        ):
            said = [step async for step in steps if isinstance(step, Said | Ended)]
    assert [ask.body for ask in asks] == [
        ASKED,
        ASKED,
        ASKED,
        Questions([*ASKED.items, Question("Which parts?", PART_OPTIONS, header="Choice", multi_select=True)]),
        ASKED,
        *(permission(claude, command) for command in ("touch allowed", "touch denied", "touch redirected")),
    ]
    assert (asks[0].asker.agent, asks[0].asker.session) == ("Claude Agent", running.session)
    assert [(claude.project / name).exists() for name in ("allowed", "denied", "redirected")] == [True, False, False]
    results = dict(model.results)
    assert results.pop("redirected")["is_error"]  # in one of two sentences, as the cancellation is first or not
    assert {name: first_sentence(result["content"]) for name, result in results.items()} == {
        "option": 'Your questions have been answered: "Which db?"="SQLite"',
        "own": 'The user answered: "Which db?"="DuckDB, embedded"',
        "note": 'The user answered: "Which db?"="Postgres" notes: for now',
        "several": 'The user answered: "Which parts?"="Sign-in, "Cache, L2", logging"',
        "declined": "The user did not answer the questions.",
        "allowed": "(Bash completed with no output)",
        "denied": "User refused permission to run tool",
    }
    words = 'DENIED: the person did not allow this call; it did not run. They said: "not in here"'
    about = f'About the call of Bash {{"command": "touch denied"}}:\n{words}'
    assert [text for text in said_to(model) if text in ("Build it", about, "Write docs instead")] == [
        "Build it",
        about,
        "Write docs instead",
    ]
    assert [step.how for step in said if isinstance(step, Ended)] == ["done", "stopped", "done"]
    assert (said[0], said[-1]) == (Said("One done."), Ended("done", "done", running.session))


def said_to(model: Model) -> list[str]:
    """What the person said, as the model was shown it in the last request of the conversation."""
    model.requests[:] = [request for request in model.requests if not model.is_aside(request)]
    return model.said_to
