"""The Claude Agent SDK with a desk: the real SDK and the real Claude Code, a scripted model, a scripted person."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    ResultError,
    ResultMessage,
    TextBlock,
    ToolPermissionContext,
    query,
)
from claude_agent_sdk.types import HookJSONOutput, Message
from tests.claude.cli import Claude
from tests.claude.model import DATABASE, Call, Say, ScriptedModel, Turn, questions

from askdesk.adapters import claude_sdk
from askdesk.adapters.claude_sdk import ASK_TOOL, ClaudeDesk, can_use_tool, with_desk, with_questions
from askdesk.core import work
from askdesk.core.desk import Desk
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Entry,
    Permission,
    Questions,
    Reply,
    Withdrawn,
)
from askdesk.core.store import State
from askdesk.core.surface import Present
from askdesk.stores.memory import MemoryStore
from askdesk.testing.people import allowing, answering, at_desk, declining, never
from askdesk.wire import tool

pytestmark = pytest.mark.anyio
INTERRUPTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
UNDECIDED = "NOT RUN: nobody could decide on this call. This is not consent: do not work around it."
POSTGRES = answering({"Which db?": "Postgres"})
ANSWERED = 'Your questions have been answered: "Which db?"="Postgres". You can now continue with these answers in mind.'


@pytest.fixture
def desk() -> Desk:
    return Desk(MemoryStore())


class Home:
    """One run after the other of the same Claude Code with the same desk."""

    def __init__(self, folder: Path, desk: Desk) -> None:
        self._folder, self.desk = folder, desk
        self.model = ScriptedModel()
        self.claude = Claude(folder, self.model)

    def says(self, *turns: Turn, subagents: Mapping[str, list[Turn]] | None = None) -> None:
        self.model = self.claude.model = ScriptedModel(*turns, subagents=subagents)

    def options(self, **given: Any) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(cwd=self.claude.project, env=self.claude.env, **given)

    async def asks(self, options: ClaudeAgentOptions, prompt: str = "go") -> ResultMessage:
        """Run to the end with plain `query()`, which raises after the result where that is an error."""
        messages: list[Message] = []
        with suppress(ResultError):
            async for message in query(prompt=prompt, options=options):
                messages.append(message)
        (result,) = [message for message in messages if isinstance(message, ResultMessage)]
        return result

    async def run(self, present: Present, *turns: Turn, **given: Any) -> ResultMessage:
        """Say these turns to a person at the desk."""
        self.says(*turns)
        async with at_desk(self.desk, present):
            return await self.asks(with_desk(self.desk, self.options(), **given))

    async def kept(self) -> list[Entry]:
        states: tuple[State, ...] = ("open", "settled")
        return [entry for state in states async for entry in self.desk.each(state)]


@pytest.fixture
async def home(tmp_path: Path, desk: Desk) -> AsyncIterator[Home]:
    made = Home(tmp_path, desk)
    with made.model:
        yield made


async def test_questions_are_answered_at_the_desk(home: Home) -> None:
    result = await home.run(POSTGRES, Call("AskUserQuestion", DATABASE, "toolu_1"), Say("Postgres it is"))
    assert home.model.results == {"toolu_1": {"content": ANSWERED, "is_error": False}}
    assert (result.subtype, result.result, result.permission_denials) == ("success", "Postgres it is", [])
    (entry,) = await home.kept()
    assert (entry.ask.key, entry.ask.asker.agent, entry.ask.asker.project, entry.ask.asker.session) == (
        "toolu_1",
        "claude",
        str(home.claude.project),
        result.session_id,
    )
    assert entry.ask.body == tool.parse(DATABASE)


async def test_the_callback_alone_does_too(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"))
    async with at_desk(home.desk, POSTGRES):
        await home.asks(home.options(can_use_tool=can_use_tool(home.desk)))
    assert home.model.result == ANSWERED


@pytest.mark.parametrize("hook", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("stream", [False, True], ids=["text", "stream"])
async def test_the_dummy_hook_is_not_needed_and_does_no_harm(home: Home, hook: bool, stream: bool) -> None:
    async def dummy(*_: object) -> HookJSONOutput:
        return {"continue_": True}

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "go"}}

    home.says(Call("AskUserQuestion", DATABASE))
    hooks: Any = {"PreToolUse": [HookMatcher(None, [dummy])]} if hook else None
    options = with_desk(home.desk, home.options(hooks=hooks))
    async with at_desk(home.desk, POSTGRES):
        async for _ in query(prompt=prompts() if stream else "go", options=options):
            pass
    assert home.model.result == ANSWERED


LABELS = ("Auth", "Logs, traces", 'Say "hi"')
FEATURES = questions("Which features?", labels=LABELS, multiSelect=True)
LAYOUT = questions("Which layout?", labels=("A", "B"))
LAYOUT["questions"][0]["options"][0]["preview"] = "```\n+--+\n```"
BOTH = {"questions": [*DATABASE["questions"], *FEATURES["questions"]]}
CHOSEN = "Your questions have been answered: {}. You can now continue with these answers in mind."
OWN_WORDS = (
    "The user answered: {}. Read the answers carefully — they may request clarification, changes, or that you not "
    "proceed — and follow what they actually say."
)
ROWS: dict[str, tuple[dict[str, Any], list[Answer | None], str]] = {
    "one": (DATABASE, [Answer(["Postgres"])], CHOSEN.format('"Which db?"="Postgres"')),
    "several": (FEATURES, [Answer(["Auth"])], CHOSEN.format('"Which features?"="Auth"')),
    "labels with commas and quotes": (
        FEATURES,
        [Answer(LABELS)],
        CHOSEN.format('"Which features?"="Auth, "Logs, traces", "Say \\"hi\\"""'),
    ),
    "several and own words": (
        FEATURES,
        [Answer(["Auth"], other="my own thing")],
        OWN_WORDS.format('"Which features?"="Auth, my own thing"'),
    ),
    "own words": (
        DATABASE,
        [Answer(other='use DuckDB, "the fast one"\nsecond line')],
        OWN_WORDS.format('"Which db?"="use DuckDB, "the fast one"\nsecond line"'),
    ),
    "a note": (
        DATABASE,
        [Answer(["Postgres"], note="version 16")],
        OWN_WORDS.format('"Which db?"="Postgres" notes: version 16'),
    ),
    "a note alone": (
        DATABASE,
        [Answer(note="none of these fit")],
        OWN_WORDS.format('"Which db?"=(no option selected) notes: none of these fit'),
    ),
    "a preview": (
        LAYOUT,
        [Answer(["A"])],
        CHOSEN.format('"Which layout?"="A" selected preview:\n```\n+--+\n```'),
    ),
    "a preview and a note": (
        LAYOUT,
        [Answer(["A"], note="but blue")],
        OWN_WORDS.format('"Which layout?"="A" selected preview:\n```\n+--+\n``` notes: but blue'),
    ),
    "one of two": (BOTH, [Answer(["Postgres"]), None], CHOSEN.format('"Which db?"="Postgres"')),
    "both of two": (
        BOTH,
        [Answer(["SQLite"]), Answer(["Auth", "Logs, traces"])],
        CHOSEN.format('"Which db?"="SQLite", "Which features?"="Auth, "Logs, traces""'),
    ),
}


async def test_what_the_model_reads_for_each_kind_of_answer(home: Home) -> None:
    async def present(ask: Ask) -> Reply | None:
        return Answered(ROWS[str(ask.key)][1])

    await home.run(present, *[Call("AskUserQuestion", given, name) for name, (given, _, _) in ROWS.items()])
    assert home.model.results == {name: {"content": text, "is_error": False} for name, (_, _, text) in ROWS.items()}


def asked_of(given: dict[str, Any]) -> Questions:
    return tool.parse(given)


async def test_who_does_not_answer_gives_the_model_our_own_words(home: Home) -> None:
    replies: dict[str, Reply] = {
        "declined": Declined("Let us talk first"),
        "so far": Declined(so_far=(Answer(["SQLite"]),)),
    }

    async def present(ask: Ask) -> Reply | None:
        return replies[str(ask.key)]

    result = await home.run(present, *[Call("AskUserQuestion", DATABASE, name) for name in replies])
    assert home.model.results == {
        name: {"content": tool.text(asked_of(DATABASE), reply), "is_error": True} for name, reply in replies.items()
    }
    assert result.subtype == "success"
    assert [denial["tool_use_id"] for denial in result.permission_denials or []] == [*replies]


async def test_what_nobody_answers_in_time_is_denied(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"), Call("Bash", {"command": "touch x"}, "toolu_2"))
    await home.asks(with_desk(home.desk, home.options(), deadline=timedelta(seconds=0.2)))
    expired = "EXPIRED: nobody decided before the deadline, so the call was not allowed and did not run."
    not_answered = (
        "EXPIRED: nobody answered before the deadline. This is not an answer and not consent: do not act as if a "
        "choice had been made."
    )
    assert home.model.results == {
        "toolu_1": {"content": not_answered, "is_error": True},
        "toolu_2": {"content": expired, "is_error": True},
    }
    assert not (home.claude.project / "x").exists()


async def test_what_is_withdrawn_is_denied(home: Home) -> None:
    async def present(ask: Ask) -> Reply | None:
        await home.desk.withdraw(ask.id, "asked elsewhere")
        return None

    await home.run(present, Call("Bash", {"command": "touch x"}, "toolu_1"))
    assert home.model.result == (
        'WITHDRAWN: the request was taken back before anybody decided; the call did not run. Reason: "asked elsewhere".'
    )
    assert not (home.claude.project / "x").exists()


@pytest.mark.parametrize(
    "call", [Call("AskUserQuestion", DATABASE, "toolu_1"), Call("Bash", {"command": "touch x"}, "toolu_1")]
)
async def test_a_person_who_stops_ends_the_run(home: Home, call: Call) -> None:
    result = await home.run(declining("enough", stop=True), call, Say("never said"))
    assert (result.subtype, result.terminal_reason) == ("error_during_execution", "aborted_tools")
    assert len(home.model.requests) == 1
    lines = [line for line in home.claude.transcript() if line["type"] == "user"]
    assert lines[-2]["message"]["content"][0]["content"] == INTERRUPTED
    assert lines[-1]["message"]["content"][0]["text"] == "[Request interrupted by user for tool use]"


def by_command(replies: Mapping[str, Callable[[Permission], Reply]]) -> Present:
    async def present(ask: Ask) -> Reply | None:
        assert ask.permission
        return replies[ask.permission.value["command"]](ask.permission)

    return present


async def test_a_call_runs_as_it_is_or_as_the_person_changed_it_or_not_at_all(home: Home) -> None:
    replies: dict[str, Callable[[Permission], Reply]] = {
        "touch one": lambda _: Allowed(),
        "touch two": lambda _: Allowed(input='{"command": "touch changed"}'),
        "touch three": lambda _: Denied("not now"),
        "touch four": lambda _: Denied.another_way("write a test first"),
        "touch five": lambda _: Denied(redirect="Write the docs instead"),
    }
    await home.run(by_command(replies), *[Call("Bash", {"command": command}, command) for command in replies])
    assert sorted(path.name for path in home.claude.project.iterdir()) == ["changed", "one"]
    none = "(Bash completed with no output)"
    no = "DENIED: the person did not allow this call; it did not run."
    assert home.model.results == {
        "touch one": {"content": none, "is_error": False},
        "touch two": {"content": none, "is_error": False},
        "touch three": {"content": f'{no} They said: "not now"', "is_error": True},
        "touch four": {"content": f'{no} They said: "Another way: write a test first"', "is_error": True},
        "touch five": {
            "content": f'{no} Instead, follow this new instruction: "Write the docs instead"',
            "is_error": True,
        },
    }


async def test_a_permission_shows_the_call_and_what_claude_code_proposes_to_remember(home: Home) -> None:
    await home.run(declining(), Call("Bash", {"command": "touch x", "description": "Make x"}, "toolu_1"))
    (entry,) = await home.kept()
    project = str(home.claude.project)
    assert entry.ask.body == Permission(
        "Bash",
        {"command": "touch x", "description": "Make x"},
        project,
        "Make x",
        [
            {
                "type": "addRules",
                "destination": "localSettings",
                "rules": [{"toolName": "Bash", "ruleContent": "touch x *"}],
                "behavior": "allow",
            },
            {"type": "addDirectories", "destination": "session", "directories": [project]},
            {"type": "setMode", "destination": "session", "mode": "acceptEdits"},
        ],
    )


async def test_what_is_to_be_remembered_is_not_asked_again(home: Home) -> None:
    asked: list[str] = []

    async def present(ask: Ask) -> Reply | None:
        assert ask.permission
        asked.append(ask.permission.input)
        return Allowed(remember=ask.permission.suggestions[:1])

    await home.run(present, *[Call("Bash", {"command": "touch x"}, f"toolu_{n}") for n in range(2)])
    assert asked == ['{"command": "touch x"}']
    kept = json.loads((home.claude.project / ".claude" / "settings.local.json").read_text())
    assert kept["permissions"]["allow"] == ["Bash(touch x *)"]


async def test_a_rule_for_a_whole_tool_can_be_remembered_too(home: Home) -> None:
    async def present(ask: Ask) -> Reply | None:
        assert ask.permission
        return Allowed(remember=ask.permission.suggestions)

    url = "http://127.0.0.1:9/x"
    await home.run(present, Call("WebFetch", {"url": url, "prompt": "what"}, "toolu_1"))
    kept = json.loads((home.claude.project / ".claude" / "settings.local.json").read_text())
    assert kept["permissions"]["allow"] == ["WebFetch(domain:127.0.0.1)"]


async def test_the_application_decides_before_people_do(home: Home) -> None:
    def before(call: Permission) -> Allowed | Denied | None:
        match call.value.get("command"):
            case "touch allowed":
                return Allowed()
            case "touch changed":
                return Allowed(input='{"command": "touch by-application"}')
            case "touch denied":
                return Denied("never in here")
            case "touch stopped":
                return Denied(stop=True)
            case _:
                return None

    commands = ("touch allowed", "touch changed", "touch denied", "touch asked", "touch stopped", "touch later")
    calls = [Call("Bash", {"command": command}, command) for command in commands]
    await home.run(allowing(), *calls, before=before)
    assert sorted(path.name for path in home.claude.project.iterdir()) == ["allowed", "asked", "by-application"]
    assert home.model.results["touch denied"] == {
        "content": 'DENIED: the application did not allow this call; it did not run. It said: "never in here"',
        "is_error": True,
    }
    assert "touch later" not in home.model.results
    assert [entry.ask.key for entry in await home.kept()] == ["touch asked"]


async def test_no_application_answers_a_question(home: Home) -> None:
    await home.run(POSTGRES, Call("AskUserQuestion", DATABASE), before=lambda _: Allowed())
    assert home.model.result == ANSWERED


async def test_what_breaks_denies_and_says_nothing_of_itself(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    def before(call: Permission) -> None:
        raise RuntimeError("the secret is 42")

    await home.run(allowing(), Call("Bash", {"command": "touch x"}, "toolu_1"), before=before)
    assert home.model.results == {"toolu_1": {"content": UNDECIDED, "is_error": True}}
    assert not (home.claude.project / "x").exists()
    assert "RuntimeError" in caplog.text


async def test_a_desk_that_is_gone_denies(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"), Call("Bash", {"command": "touch x"}, "toolu_2"))
    options = with_desk(home.desk, home.options())
    await home.desk.close()
    home.desk.store = _Broken()
    await home.asks(options)
    assert home.model.results == {name: {"content": UNDECIDED, "is_error": True} for name in ("toolu_1", "toolu_2")}
    assert not (home.claude.project / "x").exists()


class _Broken:
    def __getattr__(self, name: str) -> Any:
        raise OSError("the disk is gone")


async def test_what_claude_code_passes_and_we_cannot_ask_is_told_to_the_model(home: Home) -> None:
    await home.run(never(), Call("AskUserQuestion", questions(""), "toolu_1"))
    assert home.model.results == {
        "toolu_1": {
            "content": "NOT ASKED: the call breaks these rules; mend it and call again, or go on without it.\n"
            'questions[0].question: must not be blank, is ""',
            "is_error": True,
        }
    }


async def test_two_questions_at_once_wait_side_by_side_and_the_tool_after_them(home: Home) -> None:
    home.says(
        [
            Call("AskUserQuestion", DATABASE, "toolu_1"),
            Call("AskUserQuestion", questions("Which colour?", labels=("Red", "Blue")), "toolu_2"),
            Call("Bash", {"command": "touch x"}, "toolu_3"),
        ]
    )
    running = asyncio.ensure_future(home.asks(with_desk(home.desk, home.options())))
    one, other = await open_asks(home.desk, 2)
    await home.desk.settle(other.id, Answered([Answer(["Blue"])]), by="ana", surface="script")
    await home.desk.settle(one.id, Answered([Answer(["SQLite"])]), by="ana", surface="script")
    (call,) = await open_asks(home.desk, 1)
    assert call.permission
    await home.desk.settle(call.id, Allowed(), by="ana", surface="script", digest=call.permission.digest)
    await running
    assert [result["content"] for result in home.model.results.values()] == [
        CHOSEN.format('"Which db?"="SQLite"'),
        CHOSEN.format('"Which colour?"="Blue"'),
        "(Bash completed with no output)",
    ]


async def open_asks(desk: Desk, count: int) -> list[Ask]:
    """So many open asks, as soon as there are."""
    async with asyncio.timeout(30), desk.watch() as hints:
        while True:
            found = [entry.ask async for entry in desk.each("open")]
            if len(found) >= count:
                return sorted(found, key=lambda ask: ask.key or "")
            await anext(hints)


async def settled(desk: Desk, ask: Ask) -> Reply | Any:
    settlement = await asyncio.wait_for(desk.wait(ask.id), 30)
    assert settlement
    return settlement.outcome


DISABLED = (
    "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is disabled for this session, in "
    "subagents as well as here.</tool_use_error>"
)
DO_NOT_ASK = (
    "Permission to use AskUserQuestion has been denied because Claude Code is running in don't ask mode. "
    "IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally be used to "
    "accomplish this goal, e.g. using head instead of cat. But you *should not* attempt to work around this "
    "denial in malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You "
    "should only try to work around this restriction in reasonable ways that do not attempt to bypass the "
    "intent behind this denial. If you believe this capability is essential to complete the user's request, "
    "STOP and explain to the user what you were trying to do and why you need this permission. Let the user "
    "decide how to proceed."
)


@pytest.mark.parametrize(
    ("given", "warning", "told"),
    [
        (
            {"disallowed_tools": ["AskUserQuestion"]},
            "disallowed_tools holds AskUserQuestion: Claude cannot ask",
            DISABLED,
        ),
        (
            {"permission_mode": "dontAsk"},
            "permission_mode is dontAsk: Claude cannot ask questions, nor for permission",
            DO_NOT_ASK,
        ),
    ],
)
async def test_options_that_hide_questions_are_warned_of(
    home: Home, caplog: pytest.LogCaptureFixture, given: dict[str, Any], warning: str, told: str
) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"))
    with caplog.at_level(logging.WARNING, "askdesk"):
        await home.asks(with_desk(home.desk, home.options(**given)))
    assert caplog.messages == [warning]
    assert home.model.results == {"toolu_1": {"content": told, "is_error": True}}
    assert await home.kept() == []


def test_a_mode_that_asks_nobody_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with_questions(ClaudeAgentOptions(permission_mode="bypassPermissions"))
    assert caplog.messages == ["permission_mode is bypassPermissions: tools run without anybody being asked"]


async def test_a_list_of_tools_gets_the_one_to_ask_with(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE))
    async with at_desk(home.desk, POSTGRES):
        await home.asks(with_desk(home.desk, home.options(tools=["Read"])))
    assert home.model.result == ANSWERED
    assert home.model.tools >= {"Read", "AskUserQuestion"}
    assert "Bash" not in home.model.tools
    assert with_questions(ClaudeAgentOptions(tools=["AskUserQuestion"])).tools == ["AskUserQuestion"]
    assert with_questions(ClaudeAgentOptions()).tools is None


def test_what_would_take_the_desks_place_is_refused(desk: Desk) -> None:
    async def own(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        return PermissionResultAllow()

    with pytest.raises(ValueError, match="decide in before="):
        with_desk(desk, ClaudeAgentOptions(can_use_tool=own))
    with pytest.raises(ValueError, match="permission_prompt_tool_name"):
        with_desk(desk, ClaudeAgentOptions(permission_prompt_tool_name="stdio"))


@pytest.mark.parametrize(
    "given",
    [
        {"permission_mode": "acceptEdits"},
        {"permission_mode": "plan"},
        {"permission_mode": "auto"},
        {"allowed_tools": ["AskUserQuestion"]},
        {"settings": '{"permissions": {"allow": ["AskUserQuestion"]}}'},
    ],
)
@pytest.mark.filterwarnings("ignore:.*can_use_tool will not be invoked.*")  # as the SDK says of it, wrongly
async def test_no_mode_and_no_rule_answers_for_the_person(home: Home, given: dict[str, Any]) -> None:
    home.says(Call("AskUserQuestion", DATABASE))
    async with at_desk(home.desk, POSTGRES):
        await home.asks(with_desk(home.desk, home.options(**given)))
    assert home.model.result == ANSWERED


@pytest.mark.parametrize(("previews", "words"), [("markdown", "rendered as markdown"), ("html", "self-contained HTML")])
async def test_previews_are_asked_for_and_kept_in_their_format(home: Home, previews: Any, words: str) -> None:
    given = questions("Which layout?", labels=("A", "B"))
    given["questions"][0]["options"][0]["preview"] = "<pre>+--+</pre>"
    await home.run(answering({"Which layout?": "A"}), Call("AskUserQuestion", given), previews=previews)
    described = next(t["description"] for t in home.model.requests[0]["tools"] if t["name"] == "AskUserQuestion")
    assert words in described
    (entry,) = await home.kept()
    assert entry.ask.preview_format == previews
    assert home.model.result == CHOSEN.format('"Which layout?"="A" selected preview:\n<pre>+--+</pre>')


PLAN = "# The plan\n\n1. Write a test\n"


class Planner(ScriptedModel):
    """Writes its plan to the file that Claude Code names, and then wants it approved."""

    def turns(self, request: Mapping[str, Any]) -> Iterator[Turn]:
        if len(self.requests) > 1:
            return iter([Call("ExitPlanMode", {}, "toolu_plan")] if len(self.requests) == 2 else [])
        return iter([Call("Write", {"file_path": _plan_file(request), "content": PLAN}, "toolu_write")])


async def test_a_plan_is_shown_as_the_call_it_is_and_can_be_changed(home: Home) -> None:
    """With a plan file Claude Code hands the plan over; what the person makes of it is what the model gets."""
    home.model = home.claude.model = Planner()
    seen: list[Permission] = []

    async def present(ask: Ask) -> Reply | None:
        assert ask.permission
        seen.append(ask.permission)
        return Allowed(input=json.dumps({**ask.permission.value, "plan": "# Another plan\n"}))

    async with at_desk(home.desk, present):
        await home.asks(with_desk(home.desk, home.options(permission_mode="plan")))
    (plan,) = seen
    assert (plan.tool, plan.value["plan"], plan.description) == ("ExitPlanMode", PLAN, "")
    assert home.model.results["toolu_plan"]["content"].endswith("## Approved Plan (edited by user):\n# Another plan\n")


def _plan_file(request: Mapping[str, Any]) -> str:
    words = json.dumps(request).replace("\\n", " ").replace('"', " ").split()
    return next(word.rstrip(".") for word in words if "/plans/" in word and word.rstrip(".").endswith(".md"))


async def test_a_plan_that_is_not_in_a_file_is_found_in_the_transcript(home: Home) -> None:
    home.says(Call("ExitPlanMode", {"plan": PLAN}, "toolu_plan"))
    async with at_desk(home.desk, declining()):
        await home.asks(with_desk(home.desk, home.options(permission_mode="plan")))
    (entry,) = await home.kept()
    assert entry.ask.body == Permission("ExitPlanMode", {}, str(home.claude.project), PLAN)


async def test_a_plan_that_is_nowhere_is_said_to_be_nowhere(home: Home) -> None:
    home.says(Call("ExitPlanMode", {}, "toolu_plan"))
    async with at_desk(home.desk, declining()):
        await home.asks(with_desk(home.desk, home.options(permission_mode="plan")))
    (entry,) = await home.kept()
    assert entry.ask.body == Permission(
        "ExitPlanMode",
        {},
        str(home.claude.project),
        "The plan cannot be shown: it was not written to the plan file, and is not in the transcript.",
    )


LOOK = Call(
    "Agent", {"description": "Look", "prompt": "Look around", "subagent_type": "general-purpose"}, "toolu_agent"
)


async def test_a_subagent_asks_through_the_tool_of_the_desk(home: Home) -> None:
    number = {"question": "How many?", "header": "Count", "kind": "number", "min": 1}
    asking = Call(ASK_TOOL, {"questions": [number]}, "toolu_ask")
    home.says(LOOK, subagents={"Look around": [asking, Say("seven")]})
    async with at_desk(home.desk, answering({"How many?": "7"})), ClaudeDesk(home.desk, home.options()) as claude:
        [message async for message in claude.run("go")]
    assert home.model.results["toolu_ask"] == {
        "content": "ANSWERED WITH OWN WORDS: read what the person wrote with care. It may ask you to explain, to "
        'change course or to stop; follow what it says.\n- "How many?" = "7"',
        "is_error": False,
    }
    (entry,) = await home.kept()
    assert entry.ask.asker.parent.startswith("a")
    assert ASK_TOOL in home.model.tools


async def test_a_subagent_has_no_ask_user_question(home: Home) -> None:
    home.says(LOOK, subagents={"Look around": [Call("AskUserQuestion", DATABASE, "toolu_ask")]})
    async with at_desk(home.desk, never()), ClaudeDesk(home.desk, home.options()) as claude:
        [message async for message in claude.run("go")]
    assert home.model.results["toolu_ask"] == {
        "content": "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is not available "
        "inside subagents. Complete the task with the tools provided and return findings to the orchestrator."
        "</tool_use_error>",
        "is_error": True,
    }
    assert await home.kept() == []


async def test_the_permission_of_a_subagent_names_it(home: Home) -> None:
    home.says(LOOK, subagents={"Look around": [Call("Bash", {"command": "touch x"}, "toolu_bash")]})
    async with at_desk(home.desk, allowing()), ClaudeDesk(home.desk, home.options()) as claude:
        [message async for message in claude.run("go")]
    (entry,) = await home.kept()
    assert entry.ask.asker.parent.startswith("a")
    assert (entry.ask.asker.agent, entry.ask.asker.session) == (claude.asker.agent, claude.asker.session)
    assert (home.claude.project / "x").exists()


@asynccontextmanager
async def running(claude: ClaudeDesk, prompt: str | None = "go") -> AsyncIterator[asyncio.Task[list[Message]]]:
    async def run() -> list[Message]:
        return [message async for message in claude.run(prompt)]

    async with asyncio.timeout(60):
        task = asyncio.ensure_future(run())
        try:
            yield task
        finally:
            task.cancel()


def texts(messages: list[Message]) -> list[str]:
    return [
        block.text
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, TextBlock)
    ]


async def test_a_new_instruction_instead_of_a_permission_is_a_new_turn(home: Home) -> None:
    home.says(Call("Bash", {"command": "touch x"}, "toolu_1"), Say("The docs are written"))
    redirecting = by_command({"touch x": lambda _: Denied(redirect="Write the docs instead")})
    async with at_desk(home.desk, redirecting), ClaudeDesk(home.desk, home.options()) as claude:
        messages = [message async for message in claude.run("go")]
    assert texts(messages) == ["The docs are written"]
    assert home.model.said_to[-1] == "Write the docs instead"
    assert home.model.result == INTERRUPTED
    assert not (home.claude.project / "x").exists()


async def test_what_a_person_tells_it_reaches_claude_while_it_works(home: Home) -> None:
    home.says(Call("Bash", {"command": "touch x"}, "toolu_1"), Say("With tabs, then"))
    async with ClaudeDesk(home.desk, home.options()) as claude, running(claude) as task:
        (ask,) = await open_asks(home.desk, 1)
        told = await home.desk.tell(ask.asker, "Use tabs", by="ana", surface="page")
        await until_heard(home.desk, claude, 1)
        assert ask.permission
        await home.desk.settle(ask.id, Allowed(), by="ana", surface="page", digest=ask.permission.digest)
        messages = await task
    assert texts(messages) == ["With tabs, then"]
    last = json.dumps(home.model.requests[-1])
    assert last.count("Use tabs") == 1
    assert [told.instruction for told in await work.told(home.desk.shelf, work.address(claude.asker))] == [told]


async def until_heard(desk: Desk, claude: ClaudeDesk, count: int) -> None:
    address = work.address(claude.asker)  # the shelf gives no hints
    while sum(told.heard is not None for told in await work.told(desk.shelf, address)) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_person_stops_it_and_what_it_asked_is_withdrawn(home: Home) -> None:
    home.says(Call("Bash", {"command": "touch x"}, "toolu_1"), Say("never said"))
    async with ClaudeDesk(home.desk, home.options()) as claude, running(claude) as task:
        (ask,) = await open_asks(home.desk, 1)
        await home.desk.tell(ask.asker, stop=True, by="ana", surface="page")
        messages = await task
    result = messages[-1]
    assert isinstance(result, ResultMessage)
    assert (result.subtype, texts(messages)) == ("error_during_execution", [])
    assert await settled(home.desk, ask) == Withdrawn("the run was interrupted")


async def test_a_person_stops_it_with_something_else_to_do(home: Home) -> None:
    home.says(Call("Bash", {"command": "touch x"}, "toolu_1"), Say("The docs are written"))
    async with ClaudeDesk(home.desk, home.options()) as claude, running(claude) as task:
        (ask,) = await open_asks(home.desk, 1)
        await home.desk.tell(ask.asker, "Write the docs", stop=True, by="ana", surface="page")
        messages = await task
    assert texts(messages) == ["The docs are written"]
    assert home.model.said_to[-1] == "Write the docs"


async def test_what_was_told_while_it_was_away_is_the_first_it_hears(home: Home) -> None:
    home.says(Say("hello"), Say("and the docs"))
    async with ClaudeDesk(home.desk, home.options()) as claude:
        await home.desk.tell(claude.asker, "And then the docs", by="ana", surface="page")
        messages = [message async for message in claude.run("go")]
    assert "And then the docs" in json.dumps(home.model.requests)
    assert texts(messages)[0] == "hello"
    assert await home.desk.working() == ()


async def test_a_claude_code_that_does_not_say_when_it_is_idle_ends_with_its_result(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_sdk, "_STATES", "NO_SUCH_VARIABLE")
    home.says(Say("hello"))
    async with asyncio.timeout(30), ClaudeDesk(home.desk, home.options()) as claude:
        messages = [message async for message in claude.run("go")]
    assert texts(messages) == ["hello"]
    assert isinstance(messages[-1], ResultMessage)


async def test_a_question_that_is_parked_ends_the_run_and_stays_open(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"), Say("Postgres it is"))
    async with ClaudeDesk(home.desk, home.options(), park_after=timedelta(seconds=0.1)) as claude:
        *_, parked = [message async for message in claude.run("go")]
    assert claude_sdk.is_parked(parked)
    (ask,) = await open_asks(home.desk, 1)
    assert ask.key == "toolu_1"
    await home.desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="ana", surface="page")
    again = replace(home.options(), resume=claude.asker.session)
    async with ClaudeDesk(home.desk, again, park_after=timedelta(seconds=0.1)) as claude:
        messages = [message async for message in claude.run()]
    assert texts(messages) == ["Postgres it is"]
    assert home.model.results == {"toolu_1": {"content": ANSWERED, "is_error": False}}


async def test_a_question_that_is_answered_in_time_is_not_parked(home: Home) -> None:
    await home.run(POSTGRES, Call("AskUserQuestion", DATABASE), park_after=timedelta(seconds=30))
    assert home.model.result == ANSWERED


async def test_what_waits_is_shown_here_while_it_is_not_parked_yet(home: Home) -> None:
    shown: list[str | None] = []

    async def show(ask: Ask) -> None:
        shown.append(ask.key)
        await home.desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="ana", surface="terminal")

    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"))
    async with ClaudeDesk(home.desk, home.options(), park_after=timedelta(seconds=30), show=show) as claude:
        [message async for message in claude.run("go")]
    assert shown == ["toolu_1"]
    assert home.model.result == ANSWERED


async def test_what_a_subagent_asks_is_shown_here_too(home: Home) -> None:
    async def show(ask: Ask) -> None:
        await home.desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="ana", surface="terminal")

    home.says(LOOK, subagents={"Look around": [Call(ASK_TOOL, DATABASE, "toolu_ask")]})
    async with ClaudeDesk(home.desk, home.options(), show=show) as claude:
        [message async for message in claude.run("go")]
    assert home.model.results["toolu_ask"]["content"] == (
        'ANSWERED: the person chose among your options.\n- "Which db?" = "Postgres"'
    )


async def test_a_question_that_was_withdrawn_while_parked_is_asked_anew(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"))
    async with ClaudeDesk(home.desk, home.options(), park_after=timedelta(seconds=0.1)) as claude:
        [message async for message in claude.run("go")]
    (ask,) = await open_asks(home.desk, 1)
    await home.desk.withdraw(ask.id, "put away")
    again = replace(home.options(), resume=claude.asker.session)
    async with at_desk(home.desk, POSTGRES), ClaudeDesk(home.desk, again) as claude:
        [message async for message in claude.run()]
    assert home.model.result == ANSWERED


async def test_a_resumed_session_parks_again_while_nobody_answers(home: Home) -> None:
    home.says(Call("AskUserQuestion", DATABASE, "toolu_1"))
    given = home.options()
    for _ in range(2):
        async with ClaudeDesk(home.desk, given, park_after=timedelta(seconds=0.1)) as claude:
            *_, parked = [message async for message in claude.run("go" if not given.resume else None)]
        assert claude_sdk.is_parked(parked)
        given = replace(home.options(), resume=claude.asker.session)
    assert len(await home.kept()) == 1


async def test_a_subagent_of_yours_needs_the_tool_in_its_list(home: Home) -> None:
    agents = {"looker": AgentDefinition(description="Looks", prompt="Look", tools=["Read", ASK_TOOL])}
    call = Call("Agent", {"description": "Look", "prompt": "Look around", "subagent_type": "looker"}, "toolu_agent")
    asking = Call(ASK_TOOL, DATABASE, "toolu_ask")
    home.says(call, subagents={"Look around": [asking]})
    async with at_desk(home.desk, POSTGRES), ClaudeDesk(home.desk, home.options(agents=agents)) as claude:
        [message async for message in claude.run("go")]
    assert home.model.results["toolu_ask"] == {
        "content": 'ANSWERED: the person chose among your options.\n- "Which db?" = "Postgres"',
        "is_error": False,
    }
