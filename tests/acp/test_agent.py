"""The agent that an editor starts: the real Claude Code, a scripted model, an editor that follows a script."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.acp.editor import FORMS, accepting, picking, returning
from tests.acp.room import Room, entries, house, room
from tests.claude.model import DATABASE, Call, Say, questions

from askdesk.adapters import acp
from askdesk.adapters.acp_connection import Peer, RequestError
from askdesk.adapters.acp_session import How, Start
from askdesk.adapters.claude_sdk import ASK_TOOL
from askdesk.core.desk import Desk
from askdesk.core.model import Allowed, Answer, Answered, Declined, Denied, Withdrawn
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

ANSWERED = 'Your questions have been answered: "Which db?"="Postgres". You can now continue with these answers in mind.'
ASK = Call("AskUserQuestion", DATABASE, "toolu_ask")


async def test_of_two_openings_of_one_session_the_first_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[str] = []

    class Fake:
        def __init__(self, *_: Any) -> None:
            pass

        async def open(self) -> None:
            alive.append("one")
            await asyncio.sleep(0)

        async def close(self) -> None:
            alive.pop()

        async def tell_commands(self) -> None:
            pass

    monkeypatch.setattr(acp, "Session", Fake)
    desk = Desk(MemoryStore())
    agent = acp.Agent(desk, house(desk), How(), "1")
    agent._peer = cast("Peer", object())
    start = Start("session", "/")
    await asyncio.gather(agent._opened(start), agent._opened(start))
    assert alive == ["one"]


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Room, str]]:
    """One Claude Code for all tests that leave it as they find it."""
    async with room(tmp_path_factory.mktemp("acp")) as made:
        await made.editor.initialize(**FORMS)
        yield made, await made.editor.open(made.claude.project)


def shown(update: dict[str, Any]) -> dict[str, Any]:
    return {name: update[name] for name in update if name != "_meta"}


async def test_a_question_is_a_form_in_the_editor_and_its_answer_goes_to_claude(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call("AskUserQuestion", DATABASE, "toolu_1"), Say("Postgres it is"))
    here.editor.answers["elicitation/create"] = accepting(question_0="Postgres")
    assert await here.editor.prompt(session) == "end_turn"
    assert here.model.results["toolu_1"] == {"content": ANSWERED, "is_error": False}
    ((method, request),) = here.editor.asked
    entry = await here.last()
    assert (method, request) == (
        "elicitation/create",
        {
            "mode": "form",
            "sessionId": session,
            "toolCallId": "toolu_1",
            "message": "Which db?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "question_0": {
                        "type": "string",
                        "title": "Choice",
                        "oneOf": [
                            {"const": "Postgres", "title": "Postgres", "description": "Postgres desc"},
                            {"const": "SQLite", "title": "SQLite", "description": "SQLite desc"},
                        ],
                    },
                    "question_0_custom": {
                        "type": "string",
                        "title": "Other",
                        "description": "Type your own answer, or add a note to the option you chose above (optional).",
                    },
                },
            },
            "_meta": {"askdesk/ask": {"id": entry.ask.id, "questions": DATABASE["questions"]}},
        },
    )
    assert [shown(update) for update in here.editor.updates if update["sessionUpdate"] != "usage_update"] == [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "toolu_1",
            "title": "Choice",
            "kind": "think",
            "content": [
                {
                    "type": "content",
                    "content": {
                        "type": "text",
                        "text": "Which db?\n  - Postgres: Postgres desc\n  - SQLite: SQLite desc",
                    },
                }
            ],
            "status": "pending",
            "rawInput": DATABASE,
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "toolu_1", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "toolu_1",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": ANSWERED}}],
            "rawOutput": ANSWERED,
        },
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Postgres it is"}},
    ]
    assert entry.settlement
    assert (entry.settlement.outcome, entry.settlement.by, entry.settlement.surface) == (
        Answered((Answer(("Postgres",)),)),
        "ana",
        "editor",
    )


async def test_who_answers_at_the_desk_first_has_answered_and_the_form_is_taken_back(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(ASK._replace(id="toolu_2"), Say("thanks"))
    prompting = asyncio.ensure_future(here.editor.prompt(session))
    await here.editor.until(lambda: here.editor.asked)
    (entry,) = [entry async for entry in here.desk.each("open")]
    await here.desk.settle(entry.ask.id, Answered((Answer(("Postgres",)),)), by="ben", surface="page")
    assert await prompting == "end_turn"
    assert here.model.results["toolu_2"]["content"] == ANSWERED
    await here.editor.until(lambda: here.editor.taken_back)
    assert here.editor.taken_back == ["elicitation/create"]
    assert "Settled at the desk by ben (page)." in here.editor.said


async def test_a_declined_form_is_declined(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(ASK._replace(id="toolu_3"), Say("then not"))
    here.editor.answers["elicitation/create"] = returning({"action": "decline"})
    assert await here.editor.prompt(session) == "end_turn"
    assert here.model.results["toolu_3"]["is_error"]
    settlement = (await here.last()).settlement
    assert settlement
    assert settlement.outcome == Declined()


async def test_a_form_that_is_closed_where_nobody_else_looks_stops_claude(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(ASK._replace(id="toolu_4"), Say("never said"))
    here.editor.answers["elicitation/create"] = returning({"action": "cancel"})
    assert await here.editor.prompt(session) == "cancelled"
    settlement = (await here.last()).settlement
    assert settlement
    assert settlement.outcome == Declined(stop=True)
    assert "never said" not in here.editor.said
    (ended,) = [update for update in here.editor.of("tool_call_update") if update["status"] != "in_progress"]
    assert ended["status"] == "failed"


async def test_a_permission_shows_the_whole_call_and_runs_what_was_shown(shared: tuple[Room, str]) -> None:
    here, session = shared
    path = here.claude.project / "allowed.txt"
    here.says(Call("Write", {"file_path": str(path), "content": "hi\n"}, "toolu_5"), Say("written"))
    here.editor.answers["session/request_permission"] = picking("allow")
    assert await here.editor.prompt(session) == "end_turn"
    assert path.read_text() == "hi\n"
    ((_, request),) = here.editor.asked
    assert request == {
        "sessionId": session,
        "toolCall": {
            "toolCallId": "toolu_5",
            "title": "Write allowed.txt",
            "kind": "edit",
            "content": [{"type": "diff", "path": str(path), "oldText": None, "newText": "hi\n"}],
            "locations": [{"path": str(path)}],
            "status": "pending",
            "rawInput": {"file_path": str(path), "content": "hi\n"},
        },
        "options": [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {
                "optionId": "allow_always_0",
                "name": "Allow, and switch to the mode acceptEdits (this session)",
                "kind": "allow_always",
            },
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ],
    }
    assert [update["status"] for update in here.editor.of("tool_call_update")] == ["in_progress", "completed"]
    assert here.editor.of("tool_call_update")[-1]["content"] == request["toolCall"]["content"]


async def test_a_rejected_call_does_not_run_and_claude_goes_on(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call("Bash", {"command": "touch rejected.txt"}, "toolu_6"), Say("as you like"))
    here.editor.answers["session/request_permission"] = picking("reject")
    assert await here.editor.prompt(session) == "end_turn"
    assert not (here.claude.project / "rejected.txt").exists()
    settlement = (await here.last()).settlement
    assert settlement
    assert settlement.outcome == Denied()
    assert "as you like" in here.editor.said


async def test_a_turn_that_the_editor_says_was_cancelled_stops_claude(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call("Bash", {"command": "touch cancelled.txt"}, "toolu_7"), Say("never said"))
    here.editor.answers["session/request_permission"] = returning({"outcome": {"outcome": "cancelled"}})
    assert await here.editor.prompt(session) == "cancelled"
    assert not (here.claude.project / "cancelled.txt").exists()
    settlement = (await here.last()).settlement
    assert settlement
    assert settlement.outcome == Denied(stop=True)


async def test_what_was_not_offered_allows_nothing_and_waits_for_the_desk(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call("Bash", {"command": "touch odd.txt"}, "toolu_8"), Say("done"))
    here.editor.answers["session/request_permission"] = picking("allow_everything")
    prompting = asyncio.ensure_future(here.editor.prompt(session))
    await here.editor.until(lambda: "This waits for an answer at the desk: askdesk inbox" in here.editor.said)
    assert not (here.claude.project / "odd.txt").exists()
    (entry,) = [entry async for entry in here.desk.each("open")]
    assert entry.ask.permission
    await here.desk.settle(entry.ask.id, Denied(), by="ben", surface="page", digest=entry.ask.permission.digest)
    assert await prompting == "end_turn"


async def test_session_cancel_answers_cancelled_and_withdraws_what_is_open(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(ASK._replace(id="toolu_9"), Say("never said"))
    prompting = asyncio.ensure_future(here.editor.prompt(session))
    queued = asyncio.ensure_future(here.editor.prompt(session, "and then"))
    await here.editor.until(lambda: here.editor.asked)
    await here.editor.peer.tell("session/cancel", {"sessionId": session})
    assert (await prompting, await queued) == ("cancelled", "cancelled")
    await here.editor.until(lambda: here.editor.taken_back)
    settlement = (await here.last()).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the run was interrupted")
    here.says(Say("still here"))
    assert await here.editor.prompt(session) == "end_turn"
    assert here.editor.said == "still here"


async def test_people_at_the_desk_can_tell_the_session_something_between_prompts(shared: tuple[Room, str]) -> None:
    here, _ = shared
    here.says(Say("on my way"))
    (working,) = await here.desk.working()
    await here.desk.tell(working.asker, "also mend the docs", by="ben", surface="page")
    await here.editor.until(lambda: "on my way" in here.editor.said)
    assert "also mend the docs" in here.model.said_to


async def test_a_prompt_brings_links_files_and_pictures(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Say("seen"))
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    prompt = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "uri": "file:///src/a%20b.py", "name": "a b.py"},
        {"type": "resource", "resource": {"uri": "file:///src/c.py", "text": "print(1)", "mimeType": "text/plain"}},
        {"type": "image", "data": picture, "mimeType": "image/png"},
    ]
    assert await here.editor.request("session/prompt", sessionId=session, prompt=prompt) == {"stopReason": "end_turn"}
    texts = here.model.said_to
    assert "[@a b.py](file:///src/a%20b.py)" in texts
    assert any('<context ref="file:///src/c.py">\nprint(1)\n</context>' in text for text in texts)
    blocks = [block for message in here.model.requests[-1]["messages"] for block in message["content"]]
    assert {"type": "base64", "media_type": "image/png", "data": picture} in [
        block.get("source") for block in blocks if isinstance(block, dict)
    ]


async def test_modes_are_set_and_told_and_a_plan_is_shown_before_it_is_approved(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call("ExitPlanMode", {"plan": "# First this\nthen that"}, "toolu_plan"), Say("now doing it"))
    assert await here.editor.request("session/set_mode", sessionId=session, modeId="plan") == {}
    here.editor.answers["session/request_permission"] = picking("allow")
    assert await here.editor.prompt(session) == "end_turn"
    ((_, request),) = here.editor.asked
    call = request["toolCall"]
    assert (call["title"], call["kind"]) == ("Approve the plan", "switch_mode")
    assert "# First this\nthen that" in [each["content"]["text"] for each in call["content"]]
    assert here.editor.of("current_mode_update") == [
        {"sessionUpdate": "current_mode_update", "currentModeId": "default"}
    ]
    with pytest.raises(RequestError) as refused:
        await here.editor.request("session/set_mode", sessionId=session, modeId="bypassPermissions")
    assert refused.value.data == {"path": "modeId", "rule": "there is no mode bypassPermissions here"}


async def test_allow_always_gives_claude_code_the_rule_that_it_proposed(shared: tuple[Room, str]) -> None:
    here, session = shared
    first, second = here.claude.project / "one.txt", here.claude.project / "two.txt"
    here.says(
        Call("Write", {"file_path": str(first), "content": "1"}, "toolu_10"),
        Call("Write", {"file_path": str(second), "content": "2"}, "toolu_11"),
    )
    here.editor.answers["session/request_permission"] = picking("allow_always_0")
    assert await here.editor.prompt(session) == "end_turn"
    assert (first.read_text(), second.read_text(), len(here.editor.asked)) == ("1", "2", 1)
    settlement = (await here.last()).settlement
    assert settlement
    rule = '{"type":"setMode","destination":"session","mode":"acceptEdits"}'
    assert isinstance(settlement.outcome, Allowed)
    assert [text.replace(" ", "") for text in settlement.outcome.remember] == [rule]
    assert here.editor.of("current_mode_update")[-1]["currentModeId"] == "acceptEdits"
    await here.editor.request("session/set_mode", sessionId=session, modeId="default")


async def test_two_sessions_at_once_ask_apart(shared: tuple[Room, str]) -> None:
    here, first = shared
    here.says()
    second = await here.editor.open(here.claude.project)
    here.says(ASK._replace(id="toolu_a"), ASK._replace(id="toolu_b"))

    async def once_both_ask(params: dict[str, Any]) -> Any:
        await here.editor.until(lambda: len(here.editor.asked) == 2)
        return {"action": "accept", "content": {"question_0": "Postgres"}}

    here.editor.answers["elicitation/create"] = once_both_ask
    stops = await asyncio.gather(here.editor.prompt(first), here.editor.prompt(second))
    assert [*stops] == ["end_turn", "end_turn"]
    assert {params["sessionId"] for _, params in here.editor.asked} == {first, second}
    assert await here.editor.request("session/close", sessionId=second) == {}
    with pytest.raises(RequestError, match="Resource not found"):
        await here.editor.prompt(second)


async def test_a_session_is_listed_and_loaded_again_with_what_was_said(shared: tuple[Room, str]) -> None:
    here, _ = shared
    here.says()
    session = await here.editor.open(here.claude.project)
    here.says(Say("a word"), Call("Bash", {"command": "echo hi"}, "toolu_echo"), Say("bye"))
    assert await here.editor.prompt(session, "remember this") == "end_turn"
    assert await here.editor.prompt(session, "and echo") == "end_turn"
    listed = await here.editor.request("session/list", cwd=str(here.claude.project))
    assert session in [each["sessionId"] for each in listed["sessions"]]
    assert {each["cwd"] for each in listed["sessions"]} == {str(here.claude.project)}
    await here.editor.request("session/close", sessionId=session)
    here.says(Say("of course"))
    loaded = await here.editor.request("session/load", sessionId=session, cwd=str(here.claude.project), mcpServers=[])
    assert loaded["modes"]["currentModeId"] == "default"
    kinds = [update["sessionUpdate"] for update in here.editor.updates if "commands" not in update["sessionUpdate"]]
    assert kinds == [
        "user_message_chunk",
        "agent_message_chunk",
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert here.editor.updates[0]["content"]["text"] == "remember this"
    assert await here.editor.prompt(session, "go on") == "end_turn"
    assert "remember this" in here.model.said_to
    with pytest.raises(RequestError, match="Resource not found"):
        await here.editor.request("session/load", sessionId="nonsense", cwd=str(here.claude.project), mcpServers=[])


async def test_what_is_no_session_and_no_folder_is_refused_by_name(shared: tuple[Room, str]) -> None:
    here, _ = shared
    with pytest.raises(RequestError) as refused:
        await here.editor.request("session/new", cwd="relative", mcpServers=[])
    assert refused.value.data == {
        "path": "cwd",
        "rule": "must be the absolute path of a folder that is there, is relative",
    }
    with pytest.raises(RequestError) as refused:
        await here.editor.request("authenticate", methodId="magic")
    assert "claude /login" in str(refused.value.data)
    with pytest.raises(RequestError, match="Method not found"):
        await here.editor.request("session/fly")


async def test_the_plan_of_an_agent_is_the_plan_in_the_editor(shared: tuple[Room, str]) -> None:
    here, session = shared
    task = {"subject": "Mend it", "description": "Soon", "activeForm": "Mending it"}
    here.says(
        Call("TaskCreate", task, "toolu_t1"), Call("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "toolu_t2")
    )
    assert await here.editor.prompt(session) == "end_turn"
    assert [update["entries"] for update in here.editor.of("plan")] == [
        [{"content": "Mend it", "status": "pending", "priority": "medium"}],
        [{"content": "Mending it", "status": "in_progress", "priority": "medium"}],
    ]
    assert here.editor.of("tool_call") == []


async def test_our_own_tool_asks_in_the_editor_too(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(Call(ASK_TOOL, DATABASE, "toolu_own"), Say("thanks"))
    here.editor.answers["elicitation/create"] = accepting(question_0="Postgres")
    assert await here.editor.prompt(session) == "end_turn"
    assert "Postgres" in here.model.results["toolu_own"]["content"]
    ((_, request),) = here.editor.asked
    assert request["toolCallId"] == "toolu_own"


async def test_a_prompt_that_the_editor_takes_back_is_stopped_before_the_next_begins(shared: tuple[Room, str]) -> None:
    here, session = shared
    here.says(ASK._replace(id="toolu_back"), Say("never said"))
    prompting = asyncio.ensure_future(here.editor.prompt(session))
    await here.editor.until(lambda: here.editor.asked)
    prompting.cancel()
    await asyncio.wait((prompting,))
    await here.editor.until(lambda: here.editor.taken_back)
    here.says(Say("the next"))
    assert await here.editor.prompt(session) == "end_turn"
    assert here.editor.said == "the next"


async def test_an_editor_that_is_gone_ends_claude_code_and_withdraws_what_it_asked(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.editor.initialize(**FORMS)
        session = await here.editor.open(here.claude.project)
        here.says(Call("AskUserQuestion", questions("Which db?", "Which port?"), "toolu_1"))
        prompting = asyncio.ensure_future(here.editor.prompt(session))
        await here.editor.until(lambda: here.editor.asked)
    with pytest.raises(ConnectionError):
        await prompting
    (entry,) = await entries(here.desk)
    assert entry.settlement
    assert entry.settlement.outcome == Withdrawn("the run was interrupted")


async def test_a_claude_code_that_dies_ends_the_prompt_with_words_for_the_person(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.editor.initialize(**FORMS)
        before = children()
        session = await here.editor.open(here.claude.project)
        here.says(ASK)
        prompting = asyncio.ensure_future(here.editor.prompt(session))
        await here.editor.until(lambda: here.editor.asked)
        for number in children() - before:
            os.kill(number, signal.SIGKILL)
        with pytest.raises(RequestError, match="Claude Code has ended"):
            await prompting
        with pytest.raises(RequestError, match="Claude Code has ended"):
            await here.editor.prompt(session)
        (entry,) = await entries(here.desk)
        assert entry.settlement
        assert entry.settlement.outcome == Withdrawn("the run was interrupted")


def children() -> set[int]:
    """The processes that this one started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(number) for path in tasks for number in path.read_text().split()}
