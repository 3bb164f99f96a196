"""`askdesk hook` and the quick client before it: real processes, with a server, without one, and with broken ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.claude.desk import serving, the_ask
from tests.cli.command import DATABASE, Ran, askdesk, kept, kept_asks, settled, surroundings, until

import askdesk as package
from askdesk.cli import hook_client
from askdesk.core.model import Answer, Answered, Withdrawn

CLIENT = Path(__file__).parents[2] / "src" / "askdesk" / "cli" / "hook_client.py"
PING = b'{"hook_event_name":"Ping"}'
SQLITE = Answered([Answer(["SQLite"])])
EVENT: dict[str, Any] = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "cwd": "/srv/app",
    "tool_name": "AskUserQuestion",
    "tool_use_id": "toolu_1",
    "tool_input": DATABASE,
}
REPLY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {**DATABASE, "answers": {"Which database?": "SQLite"}},
    }
}


def client(*arguments: str, python: tuple[str, ...] = ()) -> list[str]:
    given = arguments or (f"{os.environ['ASKDESK_STORE']}.sock", "desk", "600")
    return [sys.executable, "-I", "-S", *python, str(CLIENT), *given]


def started(command: list[str], event: object = EVENT, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings(env)
    )
    assert process.stdin
    process.stdin.write(event if isinstance(event, bytes) else json.dumps(event).encode())
    process.stdin.close()
    process.stdin = None
    return process


def ended(process: subprocess.Popen[bytes]) -> Ran:
    out, err = process.communicate(timeout=30)
    return Ran(process.returncode, out.decode(), err.decode())


@contextmanager
def a_server_that(does: Callable[[socket.socket], object]) -> Iterator[None]:
    """Something at the socket that is no desk."""
    path = Path(f"{os.environ['ASKDESK_STORE']}.sock")
    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            with suppress(OSError):  # the client has gone, or the test is over
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65_536)
                    does(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield


@pytest.mark.parametrize("command", [client, lambda: [sys.executable, "-m", "askdesk", "hook", "--mode", "desk"]])
def test_a_question_is_answered_through_a_running_server(command: Callable[[], list[str]]) -> None:
    with serving():
        process = started(command())
        settled(the_ask(), SQLITE)
        assert json.loads(ended(process).out) == REPLY


@pytest.mark.parametrize("command", [client, lambda: [sys.executable, "-m", "askdesk", "hook", "--mode", "desk"]])
def test_without_a_server_it_is_answered_at_the_store(command: Callable[[], list[str]]) -> None:
    process = started(command())
    settled(the_ask(), SQLITE)
    ran = ended(process)
    assert (ran.code, json.loads(ran.out), ran.err) == (0, REPLY, "")


def test_the_quick_client_imports_nothing_but_a_socket() -> None:
    def imported(*command: str) -> set[str]:
        ran = subprocess.run(command, input=PING, capture_output=True, check=True)
        return {line.rpartition(b"|")[2].strip().decode() for line in ran.stderr.splitlines()}

    with serving():
        quick = imported(*client(python=("-X", "importtime")))
    nothing = imported(sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass")
    assert quick - nothing <= {"_socket"}


def test_askdesk_hook_loads_nothing_heavy_where_a_server_runs() -> None:
    code = "import sys; sys.argv[1:] = ['hook']; from askdesk.cli.main import main; main(); print(*sys.modules)"
    with serving():
        ran = subprocess.run([sys.executable, "-c", code], input=PING, capture_output=True, check=True)
    assert set(ran.stdout.decode().split()) & {"asyncio", "msgspec", "apsw", "argparse", "starlette"} == set()


def test_when_the_server_is_killed_the_same_ask_is_waited_for_at_the_store() -> None:
    with serving() as server:
        process = started(client())
        ask = the_ask()
        server.kill()
        server.wait()
        settled(ask, SQLITE)
        assert json.loads(ended(process).out) == REPLY
        assert [entry.ask.id for entry in kept_asks()] == [ask.id]


def test_when_the_server_is_stopped_the_ask_stays_open_and_is_waited_for() -> None:
    with serving() as server:
        process = started(client())
        ask = the_ask()
        server.send_signal(signal.SIGTERM)
        server.wait()
        assert not Path(f"{os.environ['ASKDESK_STORE']}.sock").exists()
        settled(ask, SQLITE)
        assert json.loads(ended(process).out) == REPLY


def test_a_permission_without_an_id_is_the_same_ask_after_the_server_was_killed() -> None:
    event = {**EVENT, "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    event = {name: value for name, value in event.items() if name != "tool_use_id"}
    with serving() as server:
        process = started(client(f"{os.environ['ASKDESK_STORE']}.sock", "both", "600"), event)
        ask = the_ask()
        server.kill()
        server.wait()
        askdesk("answer", ask.id, "--allow")
        assert json.loads(ended(process).out) == {
            "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": {"behavior": "allow", "updatedInput": {"command": "ls"}},
            }
        }
        assert len(kept_asks()) == 1


@pytest.mark.parametrize(
    "said",
    [b"", b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"'],
    ids=["0", "half"],
)
def test_a_reply_that_is_not_complete_is_none(said: bytes) -> None:
    with a_server_that(lambda connection: connection.sendall(said)):
        process = started(client())
        ask = the_ask()
        assert process.poll() is None
        settled(ask, SQLITE)
        assert json.loads(ended(process).out) == REPLY


def test_a_server_that_hangs_does_not_keep_claude_code_beyond_its_time() -> None:
    with a_server_that(lambda connection: connection.recv(1)):
        ran = ended(started(client(f"{os.environ['ASKDESK_STORE']}.sock", "desk", "6")))
    said = {"systemMessage": "askdesk: the desk did not answer in time: decide here"}
    assert (ran.code, json.loads(ran.out)) == (0, said)


@pytest.mark.parametrize("with_server", [True, False], ids=["with a server", "without"])
def test_it_ends_before_the_time_limit_and_says_so(with_server: bool) -> None:
    def ran() -> Ran:
        return ended(started(client(f"{os.environ['ASKDESK_STORE']}.sock", "desk", "9")))

    if with_server:
        with serving():
            said = ran()
    else:
        said = ran()
    assert json.loads(said.out) == {"systemMessage": "askdesk: nobody answered at the desk within 1 s: decide here"}
    (entry,) = kept_asks()
    assert entry.settlement
    assert entry.settlement.outcome == Withdrawn("Claude Code's time limit for hooks came before an answer")


def test_a_hook_whose_claude_code_has_died_withdraws_and_ends() -> None:
    script = f"printf '%s' '{json.dumps(EVENT)}' | {' '.join(client())} & echo $!; wait"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, env=surroundings())
    ask = the_ask()
    shell.kill()
    shell.wait()
    until(lambda: kept(ask.id).settlement is not None)
    settlement = kept(ask.id).settlement
    assert settlement
    assert settlement.outcome == Withdrawn("Claude Code stopped waiting")
    assert shell.stdout
    shell.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("with_server", [True, False], ids=["with a server", "without"])
def test_a_hook_that_is_ended_withdraws(number: signal.Signals, with_server: bool) -> None:
    def end_it() -> None:
        process = started(client())
        ask = the_ask()
        process.send_signal(number)
        ended(process)
        until(lambda: kept(ask.id).settlement is not None)
        settlement = kept(ask.id).settlement
        assert settlement
        assert settlement.outcome == Withdrawn("Claude Code stopped waiting")

    if with_server:
        with serving():
            end_it()
    else:
        end_it()


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"{}", b'{"hook_event_name": 1}', b"\xff", b'{"a":1,"a":2}'], ids=str
)
@pytest.mark.parametrize("with_server", [True, False], ids=["with a server", "without"])
def test_what_is_no_event_blocks_nothing(raw: bytes, with_server: bool) -> None:
    def ran() -> Ran:
        return ended(started(client(), raw))

    if with_server:
        with serving():
            said = ran()
    else:
        said = ran()
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["systemMessage"].startswith("askdesk: this is no event of Claude Code's: ")


def test_events_that_are_not_ours_have_no_reply() -> None:
    for event in ({**EVENT, "tool_name": "Read"}, {**EVENT, "hook_event_name": "Stop"}):
        assert ended(started(client(), event)) == Ran(0, "", "")
    assert kept_asks() == []


@pytest.mark.parametrize(
    "arguments",
    [("--bogus",), ("--mode", "none"), ("--timeout", "soon"), ("--store", "ftp://x/y"), ("--nonce", "toolu_1")],
)
def test_it_never_ends_with_2_which_would_be_a_no(arguments: tuple[str, ...]) -> None:
    assert askdesk("hook", *arguments, typed=json.dumps(EVENT)).code in (0, 1)


@pytest.mark.parametrize("nonce", ["toolu_1", "", "A" * 32, "0" * 31], ids=["an id", "empty", "capitals", "too short"])
def test_a_nonce_is_32_digits_or_nobody_is_asked(nonce: str) -> None:
    ran = askdesk("hook", "--nonce", nonce, typed=json.dumps(EVENT))
    assert (ran.code, ran.out) == (1, "")
    assert "argument --nonce: must be 32 hexadecimal digits" in ran.err
    assert kept_asks() == []


def test_a_store_that_is_broken_is_told_and_decides_nothing(tmp_path: Path) -> None:
    store = tmp_path / "broken.db"
    store.write_bytes(b"no database" * 1000)
    ran = ended(started(client("-", "desk", "600", str(store))))
    assert ran.code == 0
    assert list(json.loads(ran.out)) == ["systemMessage"]


def test_the_folder_that_it_runs_in_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "askdesk.py").write_text("print('caught')")
    (tmp_path / "json.py").write_text("print('caught')")
    ran = subprocess.run(client(), input=PING, capture_output=True, cwd=tmp_path, check=True, env=surroundings())
    assert ran.stdout == b'{"pong":"store"}'


@pytest.mark.parametrize("who", ["the file is another's", "another listens"])
def test_a_socket_of_another_user_is_no_server(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{os.environ['ASKDESK_STORE']}.sock"
    said = b'{"hookSpecificOutput":{}}\n'
    with a_server_that(lambda connection: connection.sendall(said)):
        assert hook_client.exchanged(path, b"x", 600) == said
    Path(path).unlink()
    another = os.getuid() + 1
    monkeypatch.setattr("posix.stat", lambda _: os.stat_result((0, 0, 0, 0, another, 0, 0, 0, 0, 0)))
    if who == "another listens":
        monkeypatch.setattr("posix.getuid", lambda: another)
    with a_server_that(lambda connection: connection.sendall(said)):
        assert hook_client.exchanged(path, b"x", 600) is None


def test_without_a_server_it_finds_the_package_that_it_lies_in(tmp_path: Path) -> None:
    """As after pip install --user, or with PYTHONPATH: isolated, Python looks at neither."""
    copy = tmp_path / "a place" / "askdesk"
    shutil.copytree(Path(package.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text(f"print('found')\n{(copy / '__init__.py').read_text()}")
    command = [*client()[:-4], str(copy / "cli" / "hook_client.py"), "-", "desk", "600"]
    ran = subprocess.run(command, input=PING, capture_output=True, check=True, env=surroundings())
    assert ran.stdout == b'found\n{"pong":"store"}'
    in_it = subprocess.run(command, input=PING, capture_output=True, check=True, env=surroundings(), cwd=copy.parent)
    assert in_it.stdout == b'{"pong":"store"}'  # where an agent works nothing is taken from


def test_a_folder_for_temporary_files_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    ran = ended(started(client("-", "desk", "600"), PING, {"TMPDIR": str(tmp_path / "gone")}))
    assert ran == Ran(0, '{"pong":"store"}', "")


def test_an_event_may_be_large() -> None:
    event = {**EVENT, "hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": {"x": "y" * 900_000}}
    with serving():
        process = started(client(f"{os.environ['ASKDESK_STORE']}.sock", "both", "600"), event)
        askdesk("answer", the_ask().id, "--deny")
        assert json.loads(ended(process).out)["hookSpecificOutput"]["decision"]["behavior"] == "deny"
