"""Claude Code's hooks on a desk, without Claude Code: whatever it sends, nothing is allowed but by a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from askdesk.adapters import claude_hook, claude_session, claude_transcript
from askdesk.adapters.claude_hook import ClaudeHook, Visit
from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Outcome,
    Question,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.stores.memory import MemoryStore
from askdesk.wire import hook
from askdesk.wire.permission import body

pytestmark = pytest.mark.anyio

INPUT: dict[str, Any] = {
    "questions": [
        {
            "question": "Which?",
            "header": "H",
            "options": [{"label": "a", "description": "A"}, {"label": "b", "description": "B"}],
            "multiSelect": False,
        }
    ]
}
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file)."
)
STOP = f"{REJECTED} STOP what you are doing and wait for the user to tell you how to proceed."
UNKNOWN = "ended in Claude Code's terminal, without an answer that is known here"
OF_THE_HOST = (
    "<tool_use_error>InputValidationError: [ ]</tool_use_error>",
    "Error: ENOSPC: no space left on device",
    "Tool ran without output",
    "Permission to use AskUserQuestion has been denied.",
    "[Request interrupted",
)
A = Answered([Answer(["a"])])


def event(name: str, tool: str = "AskUserQuestion", given: Any = INPUT, **more: Any) -> hook.Event:
    fields = {"hook_event_name": name, "session_id": "s", "cwd": "/srv/app", "tool_name": tool, "tool_input": given}
    return hook.read(json.dumps({**fields, **more}).encode())


def asked(desk: Desk, visit: Visit, **options: Any) -> asyncio.Task[dict[str, Any] | None]:
    return asyncio.create_task(ClaudeHook(desk, by="ana", look_every=0.001, **options).handled(visit))


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once the transcript was looked at: what is in it then had ended before."""
    looked, news = asyncio.Event(), claude_transcript.Transcript.news

    def looking(self: claude_transcript.Transcript) -> Iterator[bytes]:
        yield from news(self)
        looked.set()

    monkeypatch.setattr(claude_transcript.Transcript, "news", looking)
    return looked


async def the_ask(desk: Desk, count: int = 1) -> Ask:
    async with asyncio.timeout(10):
        while len(entries := (await desk.page("open", newest=True)).entries) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)
    return entries[0].ask


async def outcome(desk: Desk, ask: Ask) -> tuple[Outcome, str, str]:
    settlement = await desk.wait(ask.id, timeout=10)
    assert settlement
    return settlement.outcome, settlement.by, settlement.surface


@pytest.fixture
def desk() -> Desk:
    return Desk(MemoryStore())


class Slow(MemoryStore):
    """Has kept an ask before it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.may_say = asyncio.Event()

    async def add(self, ask: Ask) -> Ask:
        kept = await super().add(ask)
        await self.may_say.wait()
        return kept


async def test_a_hook_that_is_left_while_its_ask_is_being_kept_leaves_nothing_open() -> None:
    store = Slow()
    desk, visit = Desk(store), Visit(event("PreToolUse"), mode="desk")
    waiting = asked(desk, visit)
    ask = await the_ask(desk)
    waiting.cancel()
    await asyncio.wait((waiting,))
    leaving = asyncio.create_task(ClaudeHook(desk, by="ana").left(visit))
    store.may_say.set()
    await leaving

    assert await outcome(desk, ask) == (Withdrawn("Claude Code stopped waiting"), "", "")


BASH = {"command": "rm -r build"}


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        (Allowed(), {"behavior": "allow", "updatedInput": BASH}),
        (
            Denied("No."),
            {
                "behavior": "deny",
                "message": 'DENIED: the person did not allow this call; it did not run. They said: "No."',
            },
        ),
        (
            Denied(stop=True),
            {
                "behavior": "deny",
                "message": "DENIED: the person did not allow this call; it did not run. Stop what you are doing and "
                "wait for the person.",
                "interrupt": True,
            },
        ),
    ],
    ids=["allowed", "denied", "stopped"],
)
async def test_a_permission_is_decided_by_the_reply(desk: Desk, reply: Reply, decision: dict[str, Any]) -> None:
    waiting = asked(desk, Visit(event("PermissionRequest", "Bash", BASH)))
    ask = await the_ask(desk)
    assert ask.permission
    await desk.settle(ask.id, reply, by="ana", surface="page", digest=ask.permission.digest)
    assert await waiting == {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


async def test_a_withdrawal_decides_nothing(desk: Desk) -> None:
    for name, mode in (("PermissionRequest", "both"), ("PreToolUse", "desk")):
        waiting = asked(desk, Visit(event(name, tool_use_id=f"of {name}"), mode="desk" if mode == "desk" else "both"))
        await desk.withdraw((await the_ask(desk)).id)
        assert await waiting is None


async def test_two_permissions_with_the_same_input_never_share_a_yes(desk: Desk) -> None:
    first = asked(desk, Visit(event("PermissionRequest", "Bash", BASH), nonce="1"))
    ask = await the_ask(desk)
    assert ask.permission
    await desk.settle(ask.id, Allowed(), by="ana", surface="page", digest=ask.permission.digest)
    await first
    second = asked(desk, Visit(event("PermissionRequest", "Bash", BASH), nonce="2"))
    assert (await the_ask(desk)).id != ask.id
    assert not second.done()
    second.cancel()


async def test_the_id_of_the_call_before_is_the_key_of_the_questions(desk: Desk) -> None:
    assert await asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1"))) is None
    assert (await desk.page("open")).entries == ()  # a request may never come
    waiting = asked(desk, Visit(event("PermissionRequest")))
    ask = await the_ask(desk)
    assert (ask.key, ask.asker) == ("toolu_1", Asker("claude code", "s", "/srv/app"))
    await desk.settle(ask.id, A, by="ben", surface="page")
    await waiting
    assert await desk.shelf.list("claude-code/") == ()


async def test_a_subagent_asks_under_its_own_name(desk: Desk) -> None:
    waiting = asked(desk, Visit(event("PermissionRequest", "Bash", BASH, agent_id="x", agent_type="Explore")))
    assert (await the_ask(desk)).asker == Asker("Explore", "s", "/srv/app", "claude code")
    waiting.cancel()


@pytest.mark.parametrize(
    ("response", "end"),
    [
        ({**INPUT, "answers": {"Which?": "a"}, "annotations": {}}, (A, "ana", "claude-code")),
        ({**INPUT, "answers": {"Which?": "mine"}}, (Answered([Answer(other="mine")]), "ana", "claude-code")),
        (
            {**INPUT, "answers": {}},
            (Withdrawn(UNKNOWN), "", ""),
        ),
        (
            {"answers": {"Another?": "x"}},
            (Withdrawn(UNKNOWN), "", ""),
        ),
        (
            {**INPUT, "answers": {}, "afkTimeoutMs": 60_000},
            (Withdrawn("nobody answered in Claude Code's terminal either, and it went on by itself"), "", ""),
        ),
        ("a", (A, "ana", "claude-code")),
        *((text, (Withdrawn(UNKNOWN), "", "")) for text in OF_THE_HOST),
        ("[Request interrupted by user]", (Withdrawn("interrupted in Claude Code's terminal"), "", "")),
    ],
    ids=["answered", "own words", "nothing", "something else", "timed out", "bare", *OF_THE_HOST, "interrupted"],
)
async def test_what_was_answered_in_the_terminal_settles_the_copy(desk: Desk, response: Any, end: object) -> None:
    await asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1")))
    waiting = asked(desk, Visit(event("PermissionRequest")))
    ask = await the_ask(desk)
    await asked(desk, Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response=response)))
    assert await outcome(desk, ask) == end
    assert await waiting is None  # the dialog is gone: nothing is to be decided


async def test_chat_about_this_comes_in_a_batch(desk: Desk) -> None:
    await asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1")))
    waiting = asked(desk, Visit(event("PermissionRequest")))
    ask = await the_ask(desk)
    words = f"{REJECTED} To tell you how to proceed, the user said:\nThe user wants to clarify these questions."
    call = {"tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "tool_response": words}
    await asked(desk, Visit(event("PostToolBatch", tool_calls=[call])))
    assert await outcome(desk, ask) == (Declined("The user wants to clarify these questions."), "ana", "claude-code")
    assert await waiting is None


async def test_whoever_may_not_settle_tells_what_was_answered(desk: Desk) -> None:
    claude = ClaudeHook(desk, by=None)
    await claude.handled(Visit(event("PreToolUse", tool_use_id="toolu_1")))
    waiting = asyncio.create_task(claude.handled(Visit(event("PermissionRequest"))))
    ask = await the_ask(desk)
    await claude.handled(Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response={"answers": {"Which?": "b"}})))
    assert await outcome(desk, ask) == (Withdrawn('answered in Claude Code\'s terminal: "Which?" = "b"'), "", "")
    assert await waiting is None


async def test_an_answer_at_the_desk_that_came_too_late_is_told_in_the_terminal(desk: Desk) -> None:
    await asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1")))
    waiting = asked(desk, Visit(event("PermissionRequest")))
    await desk.settle((await the_ask(desk)).id, A, by="ben", surface="page")
    await waiting
    late = Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response={"answers": {"Which?": "b"}}))
    assert await asked(desk, late) == {
        "systemMessage": "askdesk: the desk has this answered by ben on page, "
        "but Claude had the answer given here first"
    }
    same = Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response={"answers": {"Which?": "a"}}))
    assert await asked(desk, same) is None


async def test_a_resumed_session_asks_anew_what_was_withdrawn_and_keeps_what_was_answered(desk: Desk) -> None:
    visit = Visit(event("PreToolUse", tool_use_id="toolu_1"), mode="desk", nonce="1")
    waiting = asked(desk, visit)
    first = await the_ask(desk)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await ClaudeHook(desk, by="ana").left(visit)
    again = asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1"), mode="desk", nonce="2"))
    second = await the_ask(desk)
    assert second.id != first.id
    await desk.settle(second.id, A, by="ben", surface="page")
    assert await again is not None


@pytest.mark.parametrize("given", [{}, {"questions": []}, {"questions": [{"question": ""}]}], ids=str)
async def test_questions_that_cannot_be_shown_are_left_to_the_dialog(desk: Desk, given: Any) -> None:
    reply = await asked(desk, Visit(event("PermissionRequest", given=given)))
    assert reply
    assert list(reply) == ["systemMessage"]
    assert reply["systemMessage"].endswith("decide here")


async def test_a_store_that_fails_decides_nothing(desk: Desk) -> None:
    await desk.close()

    class Broken(MemoryStore):
        async def add(self, ask: Ask) -> Ask:
            raise RuntimeError("a bug")

    reply = await asked(Desk(Broken()), Visit(event("PermissionRequest", "Bash", BASH)))
    assert reply == {
        "systemMessage": "askdesk: the desk could not be asked (it failed, and its log says why): decide here"
    }


async def test_an_answer_in_the_last_moment_counts() -> None:
    """Somebody settles when the time is over and the ask is about to be withdrawn."""

    class LastMoment(Desk):
        async def wait(self, ask_id: str, *, timeout: float | None = None) -> Settlement | None:
            await self.settle(ask_id, A, by="ben", surface="page")
            return None

    reply = await asked(LastMoment(MemoryStore()), Visit(event("PreToolUse", tool_use_id="t"), mode="desk", seconds=1))
    assert reply
    assert reply["hookSpecificOutput"]["updatedInput"]["answers"] == {"Which?": "a"}


@pytest.mark.parametrize("error", [StoreBusy("busy"), RuntimeError("a bug")], ids=["an error of ours", "a bug"])
async def test_when_waiting_fails_the_ask_is_withdrawn_and_no_transcript_is_followed(
    tmp_path: Path, error: Exception
) -> None:
    class Failing(Desk):
        async def wait(self, ask_id: str, *, timeout: float | None = None) -> Settlement | None:
            raise error

    desk = Failing(MemoryStore())
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(tmp_path / "session.jsonl"))
    visit = Visit(named, is_local=True)
    reply = await asked(desk, visit)
    assert reply
    assert list(reply) == ["systemMessage"]
    assert visit.ask
    assert visit.following
    await asyncio.wait((visit.following,), timeout=10)
    assert visit.following.cancelled()
    settlement = (await desk.get(visit.ask.id)).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("the hook of Claude Code failed")


async def test_a_call_that_was_withdrawn_again_and_again_is_asked_anew_each_time(desk: Desk) -> None:
    ids = set()
    for _ in range(3):
        waiting = asked(desk, Visit(event("PreToolUse", tool_use_id="toolu_1"), mode="desk"))
        ask = await the_ask(desk)
        ids.add(ask.id)
        await desk.withdraw(ask.id)
        assert await waiting is None
    assert len(ids) == 3


async def test_asks_that_somebody_may_not_know_are_not_theirs_to_end(desk: Desk) -> None:
    ask = await desk.post(Question("Which?", ["a", "b"]), asker=Asker("x", "s"), key="toolu_1")
    late = Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response={"answers": {"Which?": "b"}}))
    assert await asked(desk, late, knows=lambda _: False) is None
    assert (await desk.get(ask.id)).settlement is None


def assistant(call: str, tool: str = "Bash", given: Any = None) -> str:
    block = {"type": "tool_use", "id": call, "name": tool, "input": BASH if given is None else given}
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [block]}})


def result(call: str, content: str, **more: Any) -> str:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": content.startswith("The user")}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [block]}, **more})


BY_PERSON = {"permissionDecision": {"decision": "accept", "source": "user_temporary"}}
BY_RULE = {"permissionDecision": {"decision": "accept", "source": "config"}}


@pytest.mark.parametrize(
    ("line", "end"),
    [
        (result("t2", "ok", **BY_PERSON), (Allowed(), "ana", "claude-code")),
        (result("t2", "ok", **BY_RULE), (Withdrawn("decided in Claude Code's terminal"), "", "")),
        (result("t2", "ok"), (Withdrawn("decided in Claude Code's terminal"), "", "")),
        (result("t2", STOP), (Denied(stop=True), "ana", "claude-code")),
        (
            result("t2", f"{REJECTED} To tell you how to proceed, the user said:\nUse mv."),
            (Denied("Use mv."), "ana", "claude-code"),
        ),
    ],
    ids=["allowed", "by a rule", "unknown", "refused", "refused with words"],
)
async def test_how_a_permission_ended_is_read_in_the_transcript(
    desk: Desk, tmp_path: Path, looked: asyncio.Event, line: str, end: object
) -> None:
    """Of several calls with the same input it is the one that is still open."""
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(f"{assistant('t1')}\n{result('t1', 'ok', **BY_PERSON)}\n{assistant('t2')}\n")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(transcript))
    waiting = asked(desk, Visit(named, is_local=True))
    ask = await the_ask(desk)
    await looked.wait()
    with transcript.open("a") as file:
        file.write(f"not JSON\n{json.dumps({'type': 'x'})}\n{line[:20]}")
        file.flush()
        file.write(f"{line[20:]}\n")
    assert await outcome(desk, ask) == end
    assert await waiting is None


DECIDED = (Withdrawn("decided in Claude Code's terminal"), "", "")


@pytest.mark.parametrize("end", [result("t1", "ok", **BY_PERSON), result("t1", STOP)], ids=["allowed", "refused"])
@pytest.mark.parametrize(
    "calls", [[assistant("t1"), assistant("t2")], [assistant("t1", given={"command": "ls"})]], ids=["twins", "another"]
)
async def test_an_end_that_may_be_that_of_another_call_is_no_decision(
    desk: Desk, tmp_path: Path, looked: asyncio.Event, calls: list[str], end: str
) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("".join(f"{call}\n" for call in calls))
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(transcript))
    waiting = asked(desk, Visit(named, is_local=True))
    ask = await the_ask(desk)
    await looked.wait()
    with transcript.open("a") as file:
        file.write(f"{end}\n")
    assert await outcome(desk, ask) == DECIDED
    assert await waiting is None


async def test_the_end_of_another_call_beside_it_ends_nothing(
    desk: Desk, tmp_path: Path, looked: asyncio.Event
) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(f"{assistant('t1', given={'command': 'ls'})}\n{assistant('t2')}\n")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(transcript))
    waiting = asked(desk, Visit(named, is_local=True))
    ask = await the_ask(desk)
    await looked.wait()
    with transcript.open("a") as file:
        file.write(f"{result('t1', STOP)}\n{result('t2', 'ok', **BY_PERSON)}\n")
    assert await outcome(desk, ask) == (Allowed(), "ana", "claude-code")
    assert await waiting is None


async def test_a_permission_never_joins_one_that_came_in_by_another_door(desk: Desk) -> None:
    """Or a forged transcript would settle it, and that door would let the call run."""
    others = await desk.post(
        body("Bash", BASH, folder="/srv/app"), asker=Asker("claude", "s", "/srv/app"), key="0" * 32
    )
    waiting = asked(desk, Visit(event("PermissionRequest", "Bash", BASH), nonce="0" * 32))
    own = await the_ask(desk, 2)
    assert (own.id == others.id, own.key) == (False, f"hook {'0' * 32}")
    waiting.cancel()


async def test_questions_of_another_door_are_answered_by_no_transcript_and_no_event(desk: Desk, tmp_path: Path) -> None:
    others = await desk.post(
        event("PreToolUse").body(), asker=Asker("claude", "s", "/srv/app"), key="toolu_1", preview_format="markdown"
    )
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(f"{result('toolu_1', '', toolUseResult={'answers': {'Which?': 'a'}})}\n")
    named = event("PreToolUse", tool_use_id="toolu_1", transcript_path=str(transcript))
    visit = Visit(named, mode="desk", is_local=True)
    waiting = asked(desk, visit)
    async with asyncio.timeout(10):
        while not visit.ask:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert (visit.ask.id, visit.following) == (others.id, None)
    await asked(desk, Visit(event("PostToolUse", tool_use_id="toolu_1", tool_response={"answers": {"Which?": "a"}})))
    assert (await desk.get(others.id)).settlement is None
    await desk.settle(others.id, A, by="ben", surface="page")
    assert await waiting is not None


async def test_the_transcript_of_another_machine_is_never_read(desk: Desk, tmp_path: Path) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(transcript))
    visit = Visit(named)
    waiting = asked(desk, visit)
    await the_ask(desk)
    assert visit.following is None
    waiting.cancel()


async def test_a_subagents_transcript_is_its_own(desk: Desk, tmp_path: Path, looked: asyncio.Event) -> None:
    (tmp_path / "session" / "subagents").mkdir(parents=True)
    own = tmp_path / "session" / "subagents" / "agent-a1.jsonl"
    own.write_text(f"{assistant('t1')}\n")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(tmp_path / "session.jsonl"), agent_id="a1")
    waiting = asked(desk, Visit(replace(named), is_local=True))
    ask = await the_ask(desk)
    await looked.wait()
    with own.open("a") as file:
        file.write(f"{result('t1', STOP)}\n")
    assert await outcome(desk, ask) == (Denied(stop=True), "ana", "claude-code")
    assert await waiting is None


async def test_once_the_dialog_is_closed_and_nothing_is_told_the_permission_is_withdrawn(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code notes that it waited for somebody and then went on; the call it went on with may run for long."""
    monkeypatch.setattr(claude_hook, "_LAST_WORDS", 0.001)
    seen, read = asyncio.Event(), claude_session._status

    def looking(path: Path, session: str) -> str:
        if (status := read(path, session)) == "waiting":
            seen.set()
        return status

    monkeypatch.setattr(claude_session, "_status", looking)
    (tmp_path / "projects" / "p").mkdir(parents=True)
    (tmp_path / "sessions").mkdir()
    transcript, note = tmp_path / "projects" / "p" / "s.jsonl", tmp_path / "sessions" / "7.json"
    transcript.write_text(f"{assistant('t1')}\n")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=str(transcript))
    waiting = asked(desk, Visit(named, is_local=True, process=7))
    ask = await the_ask(desk)
    statuses = [read(note, "s")]
    for written in ("{", '{"sessionId": "another", "status": "busy"}', '{"sessionId": "s", "status": "waiting"}'):
        note.write_text(written)
        statuses.append(read(note, "s"))
    assert statuses == ["", "", "", "waiting"]
    await seen.wait()
    assert (await desk.get(ask.id)).settlement is None
    note.write_text('{"sessionId": "s", "status": "busy"}')
    assert await outcome(desk, ask) == (Withdrawn("decided in Claude Code's terminal, which went on"), "", "")
    assert await waiting is None


async def test_a_dialog_that_closed_before_the_next_one_opened_need_not_have_been_this_one(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code tells its session's status alone, and that is busy for a moment between two dialogs."""
    monkeypatch.setattr(claude_hook, "_LAST_WORDS", 0.001)
    statuses, looks = ["waiting", "busy", "waiting", "waiting"], asyncio.Event()

    def status(path: Path, session: str) -> str:
        if len(statuses) > 1:
            return statuses.pop(0)
        looks.set()
        return statuses[0]

    monkeypatch.setattr(claude_session, "_status", status)
    transcript = str(tmp_path / "projects" / "p" / "s.jsonl")
    named = event("PermissionRequest", "Bash", BASH, transcript_path=transcript)
    waiting = asked(desk, Visit(named, is_local=True, process=7))
    ask = await the_ask(desk)
    await asyncio.wait((asyncio.create_task(looks.wait()), waiting), timeout=10, return_when=asyncio.FIRST_COMPLETED)
    assert (await desk.get(ask.id)).settlement is None
    statuses[:] = ["busy"]
    assert await outcome(desk, ask) == (Withdrawn("decided in Claude Code's terminal, which went on"), "", "")
    assert await waiting is None
