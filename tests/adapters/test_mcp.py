"""The MCP server as a host speaks to it: what comes over the wire, whatever is sent, and when the host goes away."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import (
    ASKDESK,
    SECONDS,
    Ran,
    askdesk,
    assert_no_traceback,
    kept,
    kept_asks,
    posted,
    settled,
    surroundings,
    until,
)
from tests.stores.remote import new_tokens, serving

from askdesk import __version__
from askdesk.core.model import Allowed, Ask, Asker, Denied, Permission, Withdrawn

CALL = {"tool_name": "Bash", "input": {"command": "make deploy"}, "tool_use_id": "toolu_1"}
INVALID = "NOT ALLOWED: the call breaks these rules, so nobody was asked and it did not run.\n"
UNASKED = "NOT ALLOWED: nobody could be asked, so the call did not run. This is not consent: do not work around it."


class Host:
    """A client that says what it likes, byte for byte."""

    def __init__(self, *options: str, mode: str = "--permission-prompt") -> None:
        self._process = subprocess.Popen(
            [*ASKDESK, "mcp", *filter(None, (mode,)), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=surroundings(),
            bufsize=0,
        )
        self._unread = b""

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._process

    def says(self, message: object) -> None:
        assert self._process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()  # type: ignore[dict-item]
        self._process.stdin.write(line + b"\n")

    def reads(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        end = time.monotonic() + SECONDS
        while b"\n" not in self._unread:
            assert select.select([self._process.stdout], [], [], max(0, end - time.monotonic()))[0], "nothing came"
            more = os.read(self._process.stdout.fileno(), 65536)
            assert more, f"it ended: {self._unread!r}"
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        read: dict[str, Any] = json.loads(line)
        return read

    def greets(self, **capabilities: Any) -> dict[str, Any]:
        info = {"name": "host", "version": "1"}
        client = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        self.says({"id": 0, "method": "initialize", "params": client})
        greeting = self.reads()
        self.says({"method": "notifications/initialized"})
        return greeting

    def calls(self, arguments: object, number: int = 1, name: str = "approve", **meta: Any) -> None:
        params = {"name": name, "arguments": arguments, "_meta": meta}
        self.says({"id": number, "method": "tools/call", "params": params})

    def verdict(self, number: int = 1) -> dict[str, Any]:
        """What the answer to a call says, which is one text and no error."""
        answer = self.reads()
        assert answer["id"] == number
        (block,) = answer["result"]["content"]
        assert (block["type"], answer["result"].get("isError", False)) == ("text", False)
        verdict: dict[str, Any] = json.loads(block["text"])
        return verdict

    def leaves(self) -> Ran:
        """Close the wire and wait for the end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.sees_the_end()

    def sees_the_end(self) -> Ran:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        code = self._process.wait(SECONDS)
        err = self._process.stderr.read().decode()
        assert_no_traceback(err)
        return Ran(code, (self._unread + self._process.stdout.read()).decode(), err)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    host = Host(*getattr(request, "param", ()))
    host.greets()
    yield host
    host.close()


def asked(count: int = 1) -> list[Ask]:
    """The open asks, oldest first, once there are so many."""

    def opened() -> list[Ask]:
        return [entry.ask for entry in kept_asks() if entry.settlement is None]

    until(lambda: len(opened()) == count)
    return opened()


def withdrawn(ask: Ask) -> None:
    until(lambda: kept(ask.id).settlement is not None)
    settlement = kept(ask.id).settlement
    assert settlement is not None
    assert settlement.outcome == Withdrawn("the agent stopped waiting")


def test_a_host_learns_the_one_tool(host: Host) -> None:
    host.says({"id": 5, "method": "tools/list"})
    (tool,) = host.reads()["result"]["tools"]
    assert tool == {
        "name": "approve",
        "description": "Ask people whether an agent may call a tool, or put its questions to them.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string", "description": "The tool that the agent wants to call"},
                "input": {"type": "object", "description": "What it would be called with"},
                "tool_use_id": {"type": "string", "description": "The call's id"},
            },
            "required": ["tool_name", "input"],
        },
    }


def test_a_host_that_probes_for_a_newer_protocol_first_is_answered_and_may_go_on() -> None:
    host = Host()
    try:
        host.says({"id": "probe", "method": "server/discover", "params": {}})
        assert host.reads()["id"] == "probe"
        assert host.greets()["result"]["serverInfo"] == {"name": "askdesk", "version": __version__}
    finally:
        host.close()


def test_what_people_decide_is_what_the_host_is_told(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    folder = os.getcwd()
    assert ask.body == Permission("Bash", {"command": "make deploy"}, folder)
    assert (ask.key, ask.asker) == (
        "toolu_1",
        Asker("claude", project=folder, host=os.uname().nodename, process=host.process.pid),
    )
    settled(ask, Allowed('{"command": "make -n deploy"}'))
    assert host.verdict() == {"behavior": "allow", "updatedInput": {"command": "make -n deploy"}}


@pytest.mark.parametrize("host", [("--agent", "qwen", "--project", "web", "--session", "s1")], indirect=True)
def test_who_asks_may_be_named(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    assert (ask.asker.agent, ask.asker.project, ask.asker.session) == ("qwen", "web", "s1")


GARBAGE: list[tuple[object, str]] = [
    ({}, "tool_name: must be text, is null\ninput: must be an object, is null"),
    (None, "tool_name: must be text, is null\ninput: must be an object, is null"),
    ({"tool_name": 7, "input": {}}, "tool_name: must be text, is 7"),
    ({"tool_name": "Bash", "input": "ls"}, 'input: must be an object, is "ls"'),
    ({"tool_name": "Bash", "input": [{}]}, "input: must be an object, is [{}]"),
    ({**CALL, "tool_use_id": 7}, "tool_use_id: must be text, is 7"),
    ({**CALL, "tool_name": " "}, 'tool: must not be blank, is " "'),
    ({**CALL, "tool_use_id": "\x00"}, 'key: holds a NUL character: "\\u0000"'),
    ({"tool_name": "AskUserQuestion", "input": {}}, "questions: is required"),
    ({"tool_name": "AskUserQuestion", "input": {"questions": []}}, "questions: needs 1-20, has 0"),
]


@pytest.mark.parametrize(("arguments", "problems"), GARBAGE)
def test_arguments_that_make_no_sense_are_denied_without_asking_anybody(
    host: Host, arguments: object, problems: str
) -> None:
    host.calls(arguments)
    assert host.verdict() == {"behavior": "deny", "message": INVALID + problems}
    assert kept_asks() == []


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b'{"jsonrpc": "2.0"',
        b"\xff\xfe",
        b"[]",
        b"",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "approve", "arguments": "x"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "approve", "arguments": [1]}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
    ],
)
def test_after_a_line_that_is_no_message_the_server_goes_on_and_has_allowed_nothing(host: Host, line: bytes) -> None:
    host.says(line)
    host.says({"id": 9, "method": "ping"})
    answers = [host.reads()]
    while answers[-1].get("id") != 9:
        answers.append(host.reads())
    assert all("error" in answer or "method" in answer for answer in answers[:-1])
    assert answers[-1]["result"] == {}
    assert kept_asks() == []


def test_a_tool_that_is_not_there_is_an_error(host: Host) -> None:
    host.calls({}, name="allow")
    assert host.reads()["result"] == {
        "content": [{"type": "text", "text": 'there is no tool "allow"'}],
        "isError": True,
    }


def test_a_call_that_the_host_takes_back_is_withdrawn_and_never_answered(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    host.says({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "somebody was quicker"}})
    withdrawn(ask)
    host.says({"id": 2, "method": "ping"})
    assert host.reads() == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_when_the_host_is_gone_every_ask_is_withdrawn(host: Host) -> None:
    host.calls(CALL)
    host.calls({**CALL, "tool_use_id": "toolu_2"}, 2)
    asks = asked(2)
    ran = host.leaves()
    assert (ran.code, ran.err, "allow" in ran.out) == (0, "", False)
    for ask in asks:
        withdrawn(ask)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_withdraws_and_ends(host: Host, number: int) -> None:
    host.calls(CALL)
    (ask,) = asked()
    host.process.send_signal(number)
    ran = host.sees_the_end()
    assert (ran.code, ran.err, "allow" in ran.out) == (0, "", False)
    withdrawn(ask)


@pytest.mark.parametrize("host", [("--progress", "0.05s")], indirect=True)
def test_while_people_think_the_host_hears_that_somebody_is_waited_for(host: Host) -> None:
    host.calls(CALL, progressToken="p1")
    (ask,) = asked()
    heard = [host.reads() for _ in range(3)]
    assert heard == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "p1", "progress": float(n), "message": "waiting for a person"},
        }
        for n in (1, 2, 3)
    ]
    settled(ask, Denied())
    while "result" not in (last := host.reads()):
        pass
    assert last["id"] == 1


@pytest.mark.parametrize("host", [("--progress", "0.02s")], indirect=True)
def test_a_host_that_did_not_ask_for_progress_hears_nothing_but_the_verdict(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    settled(ask, Denied())
    assert host.verdict() == {
        "behavior": "deny",
        "message": "DENIED: the person did not allow this call; it did not run.",
    }


def test_calls_without_an_id_are_asked_each_for_itself(host: Host) -> None:
    call = {"tool_name": "Bash", "input": {"command": "ls"}}
    host.calls(call, 1)
    host.calls({**call, "tool_use_id": ""}, 2)
    one, two = asked(2)
    assert (one.key, two.key) == (None, None)


def test_the_same_call_again_gets_the_decision_that_stands(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    settled(ask, Denied("no"))
    first = host.verdict()
    host.calls(CALL, 2)
    assert host.verdict(2) == first


def test_the_same_call_put_through_another_door_is_the_same_ask(host: Host) -> None:
    permission = Permission("Bash", {"command": "make deploy"}, os.getcwd(), "Deploys", [{"type": "setMode"}])
    ask = posted(permission, asker=Asker("claude", project=os.getcwd()), key="toolu_1")
    host.calls(CALL)
    settled(ask, Allowed())
    assert host.verdict() == {"behavior": "allow", "updatedInput": {"command": "make deploy"}}


def test_an_id_that_names_another_call_is_denied(host: Host) -> None:
    other = posted(Permission("Bash", {"command": "ls"}), asker=Asker("claude", project=os.getcwd()), key="toolu_1")
    settled(other, Allowed())
    host.calls(CALL)
    assert host.verdict() == {"behavior": "deny", "message": UNASKED}


def test_when_the_store_is_gone_every_call_is_denied(host: Host) -> None:
    host.calls(CALL)
    (ask,) = asked()
    settled(ask, Allowed())
    assert host.verdict()["behavior"] == "allow"
    Path(os.environ["ASKDESK_STORE"]).unlink()
    host.calls({**CALL, "tool_use_id": "toolu_2"}, 2)
    assert host.verdict(2) == {"behavior": "deny", "message": UNASKED}
    ran = host.leaves()
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert ran.err.startswith("askdesk: a call is denied, because nobody could be asked: ")


def test_a_desk_on_another_machine_serves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = asyncio.run(new_tokens(tmp_path / "desk.db"))
    with serving(tmp_path / "desk.db") as server:
        monkeypatch.setenv("ASKDESK_STORE", server.url)
        monkeypatch.setenv("ASKDESK_TOKEN", tokens["asker_token"])
        host = Host()  # which has no token to answer with
        monkeypatch.setenv("ASKDESK_ANSWER_TOKEN", tokens["answerer_token"])
        try:
            host.greets()
            host.calls(CALL)
            (ask,) = asked()
            settled(ask, Allowed())
            assert host.verdict() == {"behavior": "allow", "updatedInput": {"command": "make deploy"}}
            host.calls({**CALL, "tool_use_id": "toolu_2"}, 2)
            (ask,) = asked()
            assert host.leaves().code == 0
            withdrawn(ask)
        finally:
            host.close()


def test_without_the_library_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('none')")
    ran = askdesk("mcp", "--permission-prompt", env={"PYTHONPATH": str(tmp_path)})
    assert ran == Ran(1, "", "askdesk: mcp is not installed: pip install 'askdesk[mcp]'\n")


def test_a_store_that_cannot_be_opened_is_told_and_nothing_is_served(tmp_path: Path) -> None:
    (tmp_path / "desk.db").write_bytes(b"no database, but longer than a header of one would be" * 4)
    ran = askdesk("mcp", "--permission-prompt", "--store", str(tmp_path / "desk.db"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("askdesk: ")
