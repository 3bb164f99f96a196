"""`askdesk mcp --permission-prompt` with the real `claude -p`: what people decide is what happens, and nothing else."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.claude.cli import SECONDS
from tests.claude.model import DATABASE, Say
from tests.claude.prompted import QUESTION, TOUCH, Prompted, asked
from tests.cli.command import kept, settled, until

from askdesk.core.model import Allowed, Answer, Answered, Declined, Denied, Permission, Questions, Withdrawn
from askdesk.wire import tool

DENIED = "DENIED: the person did not allow this call; it did not run."

asking_first = pytest.mark.parametrize("prompted", [[QUESTION, Say("bye")]], indirect=True)


@asking_first
def test_a_question_is_answered_at_the_desk(prompted: Prompted) -> None:
    prompted.start()
    ask = asked()
    assert ask.body == tool.parse(DATABASE)
    assert (ask.asker.agent, ask.asker.project, ask.key, ask.preview_format) == (
        "claude",
        str(prompted.claude.project),
        "toolu_ask",
        "markdown",
    )
    settled(ask, Answered([Answer(["SQLite"], note="for now")]))
    code, printed = prompted.ends()
    assert (code, printed["result"], printed["session_id"]) == (0, "bye", ask.asker.session)
    assert prompted.model.results == {
        "toolu_ask": {
            "content": 'The user answered: "Which db?"="SQLite" notes: for now. Read the answers carefully — they may '
            "request clarification, changes, or that you not proceed — and follow what they actually say.",
            "is_error": False,
        }
    }


@asking_first
def test_a_declined_question_is_no_answer(prompted: Prompted) -> None:
    prompted.start()
    settled(asked(), Declined("let us talk"))
    assert prompted.ends()[0] == 0
    assert prompted.model.results == {
        "toolu_ask": {
            "content": 'DECLINED: the person saw the questions and chose not to answer them. They said: "let us talk"\n'
            "This is not an answer and not consent: do not act as if a choice had been made.",
            "is_error": True,
        }
    }


@asking_first
def test_a_question_may_be_declined_with_a_stop_too(prompted: Prompted) -> None:
    prompted.start()
    settled(asked(), Declined(stop=True))
    assert (prompted.ends()[0], len(prompted.model.requests)) == (1, 1)


def test_an_allowed_call_runs_as_it_was_shown(prompted: Prompted) -> None:
    prompted.start()
    ask = asked()
    assert ask.body == Permission("Bash", TOUCH.input, str(prompted.claude.project))
    assert ask.key == "toolu_touch"
    assert prompted.made == []
    settled(ask, Allowed())
    assert prompted.ends()[0] == 0
    assert prompted.model.results == {"toolu_touch": {"content": "(Bash completed with no output)", "is_error": False}}
    assert prompted.made == ["made.txt"]


def test_a_call_that_was_changed_runs_as_the_person_changed_it(prompted: Prompted) -> None:
    prompted.start()
    settled(asked(), Allowed('{"command": "touch other.txt", "description": "Make another"}'))
    assert prompted.ends()[0] == 0
    assert prompted.model.results == {"toolu_touch": {"content": "(Bash completed with no output)", "is_error": False}}
    assert prompted.made == ["other.txt"]


def test_a_denied_call_does_not_run_and_the_model_reads_why(prompted: Prompted) -> None:
    prompted.start()
    settled(asked(), Denied("too early", redirect="write a test first"))
    code, printed = prompted.ends()
    assert (code, printed["result"]) == (0, "bye")
    assert prompted.model.results == {
        "toolu_touch": {
            "content": f'{DENIED} They said: "too early" Instead, follow this new instruction: "write a test first"',
            "is_error": True,
        }
    }
    assert prompted.made == []


def test_a_stop_ends_claude_code_and_the_model_is_not_called_again(prompted: Prompted) -> None:
    prompted.start()
    settled(asked(), Denied("no", stop=True))
    code, _ = prompted.ends()
    assert (code, len(prompted.model.requests), prompted.made) == (1, 1, [])


def test_what_nobody_decides_before_the_deadline_does_not_run(prompted: Prompted) -> None:
    prompted.start("--deadline", "0.5s")
    assert prompted.ends()[0] == 0
    assert prompted.model.results == {
        "toolu_touch": {
            "content": "EXPIRED: nobody decided before the deadline, so the call was not allowed and did not run.",
            "is_error": True,
        }
    }
    assert prompted.made == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_when_claude_code_ends_the_ask_is_withdrawn_and_nothing_ran(prompted: Prompted, number: int) -> None:
    prompted.start()
    ask = asked()
    prompted.process.send_signal(number)
    prompted.process.communicate(timeout=SECONDS)
    until(lambda: kept(ask.id).settlement is not None)
    settlement = kept(ask.id).settlement
    assert settlement is not None
    assert (settlement.outcome, prompted.made) == (Withdrawn("the agent stopped waiting"), [])


@pytest.mark.parametrize("prompted", [[TOUCH, QUESTION, Say("bye")]], indirect=True)
def test_when_a_hook_of_claude_code_decides_first_the_ask_is_withdrawn(prompted: Prompted, tmp_path: Path) -> None:
    go = tmp_path / "go"
    allow = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
    command = f"while ! test -e {go}; do sleep 0.02; done; echo '{json.dumps(allow)}'"
    hooks = [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]
    prompted.claude.settings(hooks={"PermissionRequest": hooks})
    prompted.start()
    ask = asked()
    go.touch()
    until(lambda: kept(ask.id).settlement is not None)
    settlement = kept(ask.id).settlement
    assert settlement is not None
    assert settlement.outcome == Withdrawn("the agent stopped waiting")
    settled(asked(), Declined())  # the server goes on with the next call
    assert (prompted.ends()[0], prompted.made) == (0, ["made.txt"])


def test_when_the_server_is_killed_nothing_runs_and_the_ask_stays(prompted: Prompted) -> None:
    prompted.start()
    ask = asked()
    assert ask.asker.process is not None
    os.kill(ask.asker.process, signal.SIGKILL)
    prompted.ends()
    assert prompted.model.results == {
        "toolu_touch": {
            "content": "<tool_use_error>Error calling tool (Bash): Connection closed</tool_use_error>",
            "is_error": True,
        }
    }
    assert (prompted.made, kept(ask.id).settlement) == ([], None)


@pytest.mark.parametrize("prompted", [[[QUESTION, TOUCH], Say("bye")]], indirect=True)
def test_several_calls_of_one_turn_each_get_their_own_decision(prompted: Prompted) -> None:
    prompted.start()
    for _ in range(2):
        ask = asked()
        reply = Answered([Answer(["SQLite"])]) if isinstance(ask.body, Questions) else Denied()
        settled(ask, reply)
    assert prompted.ends()[0] == 0
    assert prompted.model.results == {
        "toolu_ask": {
            "content": 'Your questions have been answered: "Which db?"="SQLite". You can now continue with these '
            "answers in mind.",
            "is_error": False,
        },
        "toolu_touch": {"content": DENIED, "is_error": True},
    }
    assert prompted.made == []
