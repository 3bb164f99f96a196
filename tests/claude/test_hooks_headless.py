"""Claude Code without a terminal, its questions and permissions answered through hooks: the real CLI and desk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import CLAUDE, Claude, Ran
from tests.claude.desk import install, serving, the_ask
from tests.claude.model import DATABASE, Call, ScriptedModel, questions
from tests.cli.command import askdesk, kept_asks, settled, surroundings, until

from askdesk.core.model import Allowed, Answer, Answered, Declined, Denied, Reply

PROMPTED = ("-p", "--permission-prompt-tool", "stdio", "--output-format", "json", "go")
SQLITE = Answered([Answer(["SQLite"])])
OPENS, CLOSES = "Your questions have been answered: ", ". You can now continue with these answers in mind."
OWN = "The user answered: "
CAREFULLY = (
    ". Read the answers carefully — they may request clarification, changes, or that you not proceed — and follow what "
    "they actually say."
)
PARTS = questions("Which parts?", labels=("Auth", "Logs, traces", 'Say "hi"'), multiSelect=True)
LAYOUT = {
    "questions": [
        {
            **DATABASE["questions"][0],
            "options": [
                {"label": "A", "description": "a", "preview": "+--+\n|A |\n+--+"},
                {"label": "B", "description": "b"},
            ],
        }
    ]
}
TWO = {"questions": [*DATABASE["questions"], *PARTS["questions"]]}
NOT_CONSENT = "This is not an answer and not consent: do not act as if a choice had been made."


@contextmanager
def asked(folder: Path, call: Call, *options: str) -> Iterator[Claude]:
    with ScriptedModel(call) as model:
        claude = Claude(folder, model)
        install(claude, *options)
        yield claude


def run_and_settle(claude: Claude, reply: Reply, *arguments: str, **env: str) -> Ran:
    """Run Claude Code to its end, while somebody at the desk replies to the one thing that it asks."""
    process = claude.start(*(arguments or PROMPTED), env=env)
    settled(the_ask(), reply)
    out, err = process.communicate(timeout=30)
    return Ran(process.returncode, out, err)


@pytest.mark.parametrize(
    ("given", "answers", "told"),
    [
        (DATABASE, [Answer(["SQLite"])], f'{OPENS}"Which db?"="SQLite"{CLOSES}'),
        (PARTS, [Answer(["Auth"])], f'{OPENS}"Which parts?"="Auth"{CLOSES}'),
        (
            PARTS,
            [Answer(["Auth", "Logs, traces", 'Say "hi"'])],
            f'{OPENS}"Which parts?"="Auth, "Logs, traces", "Say \\"hi\\"""{CLOSES}',
        ),
        (PARTS, [Answer(["Auth"], "my own")], f'{OWN}"Which parts?"="Auth, my own"{CAREFULLY}'),
        (DATABASE, [Answer(other='DuckDB, "fast"\nok')], f'{OWN}"Which db?"="DuckDB, "fast"\nok"{CAREFULLY}'),
        (DATABASE, [Answer(["SQLite"], note="3.54")], f'{OWN}"Which db?"="SQLite" notes: 3.54{CAREFULLY}'),
        (
            LAYOUT,
            [Answer(["A"])],
            f'{OPENS}"Which db?"="A" selected preview:\n+--+\n|A |\n+--+{CLOSES}',
        ),
        (TWO, [Answer(["SQLite"]), Answer(["Auth"])], f'{OPENS}"Which db?"="SQLite", "Which parts?"="Auth"{CLOSES}'),
        (TWO, [None, Answer(["Auth"])], f'{OPENS}"Which parts?"="Auth"{CLOSES}'),
        (
            DATABASE,
            [Answer(note="none of these")],
            f'{OWN}"Which db?"=(no option selected) notes: none of these{CAREFULLY}',
        ),
    ],
    ids=["one", "one of many", "quoted", "with own", "own words", "note", "preview", "two", "blank", "only a note"],
)
def test_what_is_answered_at_the_desk_is_what_the_model_is_told(
    tmp_path: Path, given: dict[str, Any], answers: list[Answer | None], told: str
) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", given), "--mode", "desk") as claude:
        ran = run_and_settle(claude, Answered(answers))
        assert (ran.json["subtype"], ran.json["result"]) == ("success", "done")
        assert claude.model.results.popitem()[1] == {"content": told, "is_error": False}


def test_a_question_that_is_declined_is_told_in_our_own_words(tmp_path: Path) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", DATABASE), "--mode", "desk") as claude:
        run_and_settle(claude, Declined("Let's talk."))
        assert claude.model.results.popitem()[1] == {
            "content": "PreToolUse:AskUserQuestion hook error: DECLINED: the person saw the questions and chose not to "
            f'answer them. They said: "Let\'s talk."\n{NOT_CONSENT}',
            "is_error": True,
        }


def test_declining_with_stop_ends_the_run(tmp_path: Path) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", DATABASE), "--mode", "desk") as claude:
        run_and_settle(claude, Declined("Stop.", stop=True))
        assert len(claude.model.requests) == 1


def test_without_a_server_the_hook_waits_at_the_store(tmp_path: Path) -> None:
    with asked(tmp_path, Call("AskUserQuestion", DATABASE), "--mode", "desk") as claude:
        run_and_settle(claude, SQLITE)
        assert claude.model.result == f'{OPENS}"Which db?"="SQLite"{CLOSES}'


def test_what_is_withdrawn_at_the_desk_is_asked_by_claude_code_itself(tmp_path: Path) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", DATABASE), "--mode", "desk") as claude:
        process = claude.start(*PROMPTED)
        askdesk("withdraw", the_ask().id)
        process.communicate(timeout=30)
        assert claude.model.result == "Tool permission request failed: AbortError: Stream closed"


def test_where_the_desk_breaks_claude_code_asks_by_itself_and_nothing_is_answered(tmp_path: Path) -> None:
    with asked(tmp_path, Call("AskUserQuestion", DATABASE), "--mode", "desk") as claude:
        broken = tmp_path / "desk" / "desk.db"
        broken.write_bytes(b"no database" * 1000)
        claude.run(*PROMPTED)
        assert claude.model.result == "Tool permission request failed: AbortError: Stream closed"


@contextmanager
def a_silent_host(claude: Claude, *more: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """Claude Code under a program that is asked for permissions too, and never says anything."""
    arguments = (*more, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    process = subprocess.Popen(
        [str(CLAUDE), *arguments, "--permission-prompt-tool", "stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=claude.project,
        env=surroundings({**claude.env, **env}),
    )
    assert process.stdin
    try:
        process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": "go"}}) + "\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def test_beside_a_host_that_waits_the_desk_answers(tmp_path: Path) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", DATABASE)) as claude, a_silent_host(claude):
        settled(the_ask(), SQLITE)
        until(lambda: bool(claude.model.results))
        assert claude.model.result == f'{OPENS}"Which db?"="SQLite"{CLOSES}'


def test_beside_a_host_that_waits_declining_is_told_in_our_own_words_alone(tmp_path: Path) -> None:
    with serving(), asked(tmp_path, Call("AskUserQuestion", DATABASE)) as claude, a_silent_host(claude):
        settled(the_ask(), Declined("Later."))
        until(lambda: bool(claude.model.results))
        assert claude.model.result == (
            f'DECLINED: the person saw the questions and chose not to answer them. They said: "Later."\n{NOT_CONSENT}'
        )


TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make"})


@pytest.mark.parametrize(
    ("reply", "told", "made"),
    [
        (Allowed(), "(Bash completed with no output)", ["made.txt"]),
        (Allowed('{"command": "touch other.txt"}'), "(Bash completed with no output)", ["other.txt"]),
        (
            Denied("No files.", redirect="Use memory."),
            'DENIED: the person did not allow this call; it did not run. They said: "No files." Instead, follow this '
            'new instruction: "Use memory."',
            [],
        ),
    ],
    ids=["allowed", "changed", "denied"],
)
def test_permissions_are_decided_at_the_desk(tmp_path: Path, reply: Reply, told: str, made: list[str]) -> None:
    with serving(), asked(tmp_path, TOUCH, "--permissions", "--mode", "desk") as claude, a_silent_host(claude):
        settled(the_ask(), reply)
        until(lambda: bool(claude.model.results))
        assert claude.model.result == told
        assert [path.name for path in claude.project.iterdir()] == made


def test_two_calls_with_the_same_input_are_two_asks(tmp_path: Path) -> None:
    """The yes to the first is none to the second."""
    rm = {"command": "echo x >> made.txt", "description": "Add"}
    with serving(), ScriptedModel(Call("Bash", rm), Call("Bash", rm)) as model:
        claude = Claude(tmp_path, model)
        install(claude, "--permissions")
        with a_silent_host(claude):
            settled(the_ask(), Allowed())
            until(lambda: len(kept_asks()) == 2)
            (second,) = [entry for entry in kept_asks() if entry.settlement is None]
            settled(second.ask, Denied())
            until(lambda: len(model.results) == 2)
            assert (claude.project / "made.txt").read_text() == "x\n"


def test_the_plugin_folder_does_the_same(tmp_path: Path) -> None:
    with serving(), ScriptedModel(Call("AskUserQuestion", DATABASE)) as model:
        claude = Claude(tmp_path, model)
        folder = askdesk("install", "claude-code", "--plugin").out.strip()
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        with a_silent_host(claude, "--plugin-dir", folder, PATH=path):
            settled(the_ask(), SQLITE)
            until(lambda: bool(model.results))
            assert model.result == f'{OPENS}"Which db?"="SQLite"{CLOSES}'
