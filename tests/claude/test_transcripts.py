"""What the real Claude Code writes into its transcripts, read back: every way in which a question can end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.claude.cli import Claude
from tests.claude.desk import press_until
from tests.claude.model import DATABASE, Call, Say, ScriptedModel, Turn, questions
from tests.cli.command import Ran, askdesk, kept_asks
from tests.terminal import Terminal

from askdesk.cli.log_files import LogFile, found
from askdesk.core.model import Answer, Answered, Asker, Declined, Withdrawn
from askdesk.wire import transcript
from askdesk.wire.ending import Ending, Interrupted, Refused, Unanswered
from askdesk.wire.transcript import Log

LAYOUT = {
    "questions": [
        {
            "question": "Which layout?",
            "header": "Layout",
            "options": [
                {"label": "Wide", "description": "One column", "preview": "+------+\n| WIDE |\n+------+"},
                {"label": "Tall", "description": "Two columns", "preview": "+--+\n|T |\n+--+"},
            ],
            "multiSelect": False,
        }
    ]
}
PARTS = questions("Which parts?", labels=("Auth", "Cache, fast", "Logs"), multiSelect=True)
CLARIFY = "The user wants to clarify these questions."


def calls_in(claude: Claude) -> list[transcript.Call]:
    """Everything that was asked in this Claude Code's transcripts, those without an answer last."""
    log = Log()
    calls: list[transcript.Call] = []
    for name in found([str(claude.config / "projects")]):
        file = LogFile(log, name)
        calls += [step for step in file.read() if not isinstance(step, int)]
        calls += file.end()
    assert log.flaws == []
    return [*calls, *log.rest()]


def the_call(claude: Claude) -> transcript.Call:
    (call,) = calls_in(claude)
    return call


@contextmanager
def asking(folder: Path, given: dict[str, Any]) -> Iterator[tuple[Claude, Terminal]]:
    """Claude Code at a terminal, with its dialog open."""
    with ScriptedModel(Call("AskUserQuestion", given, "toolu_asked")) as model:
        claude = Claude(folder, model)
        with claude.open("go") as terminal:
            terminal.shows(given["questions"][0]["question"])
            yield claude, terminal


def ends(claude: Claude, terminal: Terminal) -> Ending | None:
    """How the transcript says it ended, once it does."""

    def is_over() -> bool:
        return any(not isinstance(call.ended, Unanswered) for call in calls_in(claude))

    terminal.becomes(is_over, "the transcript tells how it ended")
    return the_call(claude).ended


def hooked(folder: Path, given: dict[str, Any], **decision: Any) -> Claude:
    """A run without a terminal, in which a hook answers."""
    with ScriptedModel(Call("AskUserQuestion", given, "toolu_asked")) as model:
        claude = Claude(folder, model)
        said = folder / "said.json"
        said.write_text(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}))
        hook = {"type": "command", "command": f"cat {said}"}
        claude.settings(hooks={"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [hook]}]})
        assert claude.run("-p", "go", "--permission-prompt-tool", "stdio").code == 0
    return claude


def answered(folder: Path, given: dict[str, Any], **more: Any) -> Claude:
    return hooked(folder, given, permissionDecision="allow", updatedInput={**given, **more})


def test_a_choice_made_in_the_dialog_is_read_with_who_asked_when_and_where(tmp_path: Path) -> None:
    with asking(tmp_path, DATABASE) as (claude, terminal):
        press_until(terminal, "2", lambda: "2. SQLite" not in terminal.text)
        assert ends(claude, terminal) == Answered([Answer(["SQLite"])])
        call = the_call(claude)
        (file,) = claude.transcripts

        assert (call.id, call.source, call.problem) == ("toolu_asked", "claude-code", "")
        assert call.asker == Asker("claude code", session=file.stem, project=str(claude.project))
        assert call.place.file == str(file)
        assert '"name":"AskUserQuestion"' in file.read_text().splitlines()[call.place.line - 1]
        assert call.took is not None
        assert 0 < call.took.total_seconds() < 60


def type_own_words(terminal: Terminal) -> None:
    press_until(terminal, "3", lambda: "❯ 3." in terminal.text)
    terminal.types('use "Duck", please')
    terminal.shows('use "Duck", please')
    terminal.press("enter")


def test_own_words_are_read_as_they_were_typed(tmp_path: Path) -> None:
    with asking(tmp_path, DATABASE) as (claude, terminal):
        type_own_words(terminal)
        assert ends(claude, terminal) == Answered([Answer(other='use "Duck", please')])


def test_a_note_without_a_choice_is_a_note(tmp_path: Path) -> None:
    with asking(tmp_path, LAYOUT) as (claude, terminal):
        press_until(terminal, "n", lambda: "Enter to" in terminal.text and "Add notes" in terminal.text)
        terminal.types("but blue")
        terminal.shows("but blue")
        terminal.press("enter")
        ended = ends(claude, terminal)
        assert isinstance(ended, Answered)
        assert [answer and answer.note.endswith("but blue") for answer in ended.answers] == [True]


def test_escape_is_an_interruption(tmp_path: Path) -> None:
    with asking(tmp_path, DATABASE) as (claude, terminal):
        press_until(terminal, "escape", lambda: "2. SQLite" not in terminal.text)
        assert ends(claude, terminal) == Interrupted()


def test_talking_about_it_first_is_declining_with_what_was_chosen_so_far(tmp_path: Path) -> None:
    two = {"questions": [*DATABASE["questions"], *questions("Which cache?", labels=("Redis", "None"))["questions"]]}
    with asking(tmp_path, two) as (claude, terminal):
        press_until(terminal, "2", lambda: "Which cache?" in terminal.text and "1. Redis" in terminal.text)
        press_until(terminal, "4", lambda: "1. Redis" not in terminal.text)
        assert ends(claude, terminal) == Declined(CLARIFY, (Answer(["SQLite"]), None))


def test_a_dialog_that_is_still_open_has_no_answer(tmp_path: Path) -> None:
    with asking(tmp_path, DATABASE) as (claude, terminal):
        terminal.becomes(lambda: bool(calls_in(claude)), "the question is in the transcript")
        assert the_call(claude).ended == Unanswered()


@pytest.mark.parametrize(
    ("given", "said", "ended"),
    [
        (DATABASE, {"answers": {"Which db?": "Postgres"}}, Answered([Answer(["Postgres"])])),
        (
            DATABASE,
            {"answers": {"Which db?": "Postgres"}, "annotations": {"Which db?": {"notes": "16"}}},
            Answered([Answer(["Postgres"], note="16")]),
        ),
        (
            LAYOUT,
            {"answers": {"Which layout?": "Tall"}, "annotations": {"Which layout?": {"preview": "+--+\n|T |\n+--+"}}},
            Answered([Answer(["Tall"])]),
        ),
        (
            PARTS,
            {"answers": {"Which parts?": 'Auth, "Cache, fast"'}},
            Answered([Answer(["Auth", "Cache, fast"], multi_select=True)]),
        ),
        (
            PARTS,
            {"answers": {"Which parts?": ["Auth", "Logs"]}},
            Answered([Answer(["Auth", "Logs"], multi_select=True)]),
        ),
        (
            PARTS,
            {"answers": {"Which parts?": "Logs, my own thing"}},
            Answered([Answer(["Logs"], "my own thing", multi_select=True)]),
        ),
        (DATABASE, {"answers": {}}, Unanswered("The user did not answer the questions.")),
    ],
)
def test_every_answer_of_a_host_is_read_alike_from_the_transcript_and_from_what_the_model_was_told(
    tmp_path: Path, given: dict[str, Any], said: dict[str, Any], ended: Ending
) -> None:
    claude = answered(tmp_path, given, **said)
    log = Log()
    reader = log.file("api")
    heard = [call for request in claude.model.requests for call in reader.feed(json.dumps(request).encode())]

    assert the_call(claude).ended == ended
    if not isinstance(said["answers"].get("Which parts?"), list):  # which the model is told without blanks between
        assert [call.ended for call in heard] == [ended]


def test_a_denial_with_a_message_is_declining(tmp_path: Path) -> None:
    claude = hooked(tmp_path, DATABASE, permissionDecision="deny", permissionDecisionReason="not now")
    assert the_call(claude).ended == Declined("not now")


def test_a_subagents_call_is_read_from_its_own_file(tmp_path: Path) -> None:
    start = {"description": "x", "prompt": "SUBWORK", "subagent_type": "general-purpose", "run_in_background": False}
    asks: dict[str, list[Turn]] = {"SUBWORK": [Call("AskUserQuestion", DATABASE, "toolu_inner"), Say("ok")]}
    with ScriptedModel(Call("Agent", start), subagents=asks) as model:
        claude = Claude(tmp_path, model)
        claude.run("-p", "go")
    call = the_call(claude)

    assert (call.asker.agent, call.asker.parent, "subagents" in call.place.file) == (
        *("general-purpose", "claude code", True),
    )
    assert isinstance(call.ended, Refused)
    assert "not available inside subagents" in call.ended.message


def test_a_resumed_session_is_the_same_call_answered_later(tmp_path: Path) -> None:
    claude = hooked(tmp_path, DATABASE, permissionDecision="defer")
    assert the_call(claude).ended == Unanswered()
    (file,) = claude.transcripts
    said = {"permissionDecision": "allow", "updatedInput": {**DATABASE, "answers": {"Which db?": "Postgres"}}}
    (tmp_path / "said.json").write_text(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}))
    with ScriptedModel() as model:
        claude.model = model
        claude.run("-p", "--resume", file.stem, "--permission-prompt-tool", "stdio")

    assert the_call(claude).ended == Answered([Answer(["Postgres"])])


def with_its_folder(claude: Claude) -> Callable[..., Ran]:
    return lambda *arguments: askdesk("log", *arguments, env={"CLAUDE_CONFIG_DIR": str(claude.config)})


def test_the_command_finds_the_transcripts_of_claude_code_and_imports_them_once(tmp_path: Path) -> None:
    claude = answered(tmp_path, DATABASE, answers={"Which db?": "Postgres"})
    log = with_its_folder(claude)

    assert "✔ Postgres" in log().out
    assert log("--import") == Ran(0, "imported 1, there already 0, left out 0\n", "")
    assert log("--import") == Ran(0, "imported 0, there already 1, left out 0\n", "")
    (entry,) = kept_asks()
    call = the_call(claude)
    assert entry.settlement
    assert (entry.ask.created, entry.ask.key, entry.ask.asker) == (call.asked, "toolu_asked", call.asker)
    assert (entry.settlement.outcome, entry.settlement.at, entry.settlement.surface) == (
        *(Answered([Answer(["Postgres"])]), call.answered, "claude-code"),
    )


def test_an_interrupted_question_is_imported_as_withdrawn(tmp_path: Path) -> None:
    with asking(tmp_path, DATABASE) as (claude, terminal):
        press_until(terminal, "escape", lambda: "2. SQLite" not in terminal.text)
        assert ends(claude, terminal) == Interrupted()
        with_its_folder(claude)("--import")
    (entry,) = kept_asks()

    assert entry.settlement
    assert entry.settlement.outcome == Withdrawn(transcript.INTERRUPTED)
