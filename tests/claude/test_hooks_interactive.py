"""Claude Code at a terminal, with the desk beside its dialog or instead of it: the real CLI, server and installer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.claude.cli import Claude
from tests.claude.desk import install, press_until, serving, settlement_within, the_ask
from tests.claude.model import DATABASE, Call, ScriptedModel, Turn
from tests.cli.command import kept, settled, until
from tests.terminal import Terminal

from askdesk.core.model import Allowed, Answer, Answered, Declined, Denied, Reply, Withdrawn

ANSWERED = 'Your questions have been answered: "Which db?"="SQLite". You can now continue with these answers in mind.'
DIALOG = "2. SQLite"
SQLITE = Answered([Answer(["SQLite"])])
QUESTION = Call("AskUserQuestion", DATABASE, "toolu_question")
TOUCH = Call("Bash", {"command": "touch made.txt", "description": "Make a file"}, "toolu_touch")


@contextmanager
def asking(folder: Path, turn: Turn, *options: str) -> Iterator[tuple[Claude, Terminal]]:
    """Somebody has told Claude Code to go, with our hooks in its settings."""
    with ScriptedModel(turn) as model:
        claude = Claude(folder, model)
        install(claude, *options)
        with claude.open("--permission-mode", "default", env={"ASKDESK_BY": "ana"}) as terminal:
            terminal.shows("? for shortcuts")
            terminal.types("go")
            terminal.press("enter")
            yield claude, terminal


def ends(terminal: Terminal, claude: Claude) -> str:
    """What the model was told in the end."""
    terminal.becomes(lambda: bool(claude.model.results), "the model is told")
    return claude.model.result


def test_whoever_answers_at_the_desk_first_closes_the_dialog(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION) as (claude, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        assert (ask.key, ask.asker.agent, ask.asker.project) == ("toolu_question", "claude code", str(claude.project))
        settled(ask, SQLITE)
        assert ends(terminal, claude) == ANSWERED
        terminal.shows_not(DIALOG)


def test_whoever_answers_in_the_terminal_first_settles_the_desks_copy(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION) as (claude, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "2", lambda: DIALOG not in terminal.text)
        settlement = settlement_within(2, ask, terminal)
        assert (settlement.outcome, settlement.by, settlement.surface) == (SQLITE, "ana", "claude-code")
        assert ends(terminal, claude) == ANSWERED


def test_own_words_in_the_terminal_are_own_words_at_the_desk(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION) as (_, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "down", lambda: "❯ 3. Type something." in terminal.text)
        terminal.types("DuckDB, please")
        terminal.shows("DuckDB, please")
        terminal.press("enter")
        assert settlement_within(2, ask, terminal).outcome == Answered([Answer(other="DuckDB, please")])


@pytest.mark.parametrize("with_server", [True, False], ids=["with a server", "without"])
def test_escape_in_the_terminal_withdraws_the_desks_copy(tmp_path: Path, with_server: bool) -> None:
    with maybe_serving(with_server), asking(tmp_path, QUESTION) as (_, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        press_until(terminal, "escape", lambda: DIALOG not in terminal.text)
        assert settlement_within(2, ask, terminal).outcome == Withdrawn("interrupted in Claude Code's terminal")


@contextmanager
def maybe_serving(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    with serving():
        yield


def test_chat_about_this_declines_the_desks_copy(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION) as (_, terminal):
        terminal.shows("Chat about this")
        ask = the_ask()
        press_until(terminal, "down", lambda: "❯ 4. Chat about this" in terminal.text)
        terminal.press("enter")
        settlement = settlement_within(2, ask, terminal)
        assert settlement.outcome == Declined("The user wants to clarify these questions.")
        assert (settlement.by, settlement.surface) == ("ana", "claude-code")


def test_after_the_desk_is_killed_the_dialog_is_there_and_the_ask_is_answered_without_it(tmp_path: Path) -> None:
    with serving() as server, asking(tmp_path, QUESTION) as (claude, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        server.kill()
        server.wait()
        terminal.settles()
        assert DIALOG in terminal.text
        assert claude.model.results == {}
        settled(ask, SQLITE)
        assert ends(terminal, claude) == ANSWERED


def test_after_the_desk_is_killed_the_terminal_answers_and_the_ask_is_settled_with_it(tmp_path: Path) -> None:
    with serving() as server, asking(tmp_path, QUESTION) as (claude, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        server.kill()
        server.wait()
        press_until(terminal, "2", lambda: DIALOG not in terminal.text)
        assert ends(terminal, claude) == ANSWERED
        assert settlement_within(2, ask, terminal).outcome == SQLITE


def test_at_the_desk_alone_there_is_no_dialog(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION, "--mode", "desk") as (claude, terminal):
        ask = the_ask()
        terminal.shows("running PreToolUse hook")
        assert DIALOG not in terminal.settles()
        settled(ask, SQLITE)
        assert ends(terminal, claude) == ANSWERED


def test_at_the_desk_alone_escape_withdraws_too(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION, "--mode", "desk") as (_, terminal):
        ask = the_ask()
        terminal.shows("running PreToolUse hook")
        terminal.press("escape")
        assert settlement_within(2, ask, terminal).outcome == Withdrawn("interrupted in Claude Code's terminal")


def test_without_a_desk_there_is_the_dialog(tmp_path: Path) -> None:
    """What was installed is gone."""
    with ScriptedModel(QUESTION) as model:
        claude = Claude(tmp_path, model)
        install(claude, "--mode", "desk")
        path = claude.config / "settings.json"
        path.write_text(path.read_text().replace("hook_client.py", "not_there.py"))
        with claude.open("--permission-mode", "default") as terminal:
            terminal.shows("? for shortcuts")
            terminal.types("go")
            terminal.press("enter")
            terminal.shows(DIALOG)
            press_until(terminal, "2", lambda: DIALOG not in terminal.text)
            assert ends(terminal, claude) == ANSWERED


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Allowed(), "(Bash completed with no output)"),
        (
            Denied("Not now."),
            'DENIED: the person did not allow this call; it did not run. They said: "Not now."',
        ),
    ],
    ids=["allowed", "denied"],
)
def test_permissions_are_decided_at_the_desk_beside_the_dialog(tmp_path: Path, reply: Reply, told: str) -> None:
    with serving(), asking(tmp_path, TOUCH, "--permissions") as (claude, terminal):
        terminal.shows("Do you want to proceed?")
        settled(the_ask(), reply)
        assert ends(terminal, claude) == told
        assert (claude.project / "made.txt").exists() == isinstance(reply, Allowed)


def test_a_denial_that_stops_ends_the_turn(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, TOUCH, "--permissions") as (claude, terminal):
        terminal.shows("Do you want to proceed?")
        settled(the_ask(), Denied("Stop.", stop=True))
        terminal.shows_not("Do you want to proceed?")
        terminal.shows("Interrupted")
        assert claude.model.results == {}
        assert not (claude.project / "made.txt").exists()


@pytest.mark.parametrize(
    ("key", "outcome"), [("1", Allowed()), ("escape", Denied(stop=True))], ids=["allowed", "escape"]
)
def test_permissions_decided_in_the_terminal_are_settled_at_the_desk(tmp_path: Path, key: str, outcome: Reply) -> None:
    with serving(), asking(tmp_path, TOUCH, "--permissions") as (_, terminal):
        terminal.shows("Do you want to proceed?")
        ask = the_ask()
        press_until(terminal, key, lambda: "Do you want" not in terminal.text)
        settlement = settlement_within(2, ask, terminal)
        assert (settlement.outcome, settlement.by, settlement.surface) == (outcome, "ana", "claude-code")


def test_while_a_call_that_was_allowed_in_the_terminal_runs_nobody_at_the_desk_decides_on_it(tmp_path: Path) -> None:
    call = Call("Bash", {"command": "touch begun.txt; until [ -e end.txt ]; do sleep 0.1; done"}, "toolu_long")
    with serving(), asking(tmp_path, call, "--permissions") as (claude, terminal):
        terminal.shows("Do you want to proceed?")
        ask = the_ask()
        press_until(terminal, "1", (claude.project / "begun.txt").exists)
        settlement = settlement_within(3, ask, terminal)
        assert settlement.outcome == Withdrawn("decided in Claude Code's terminal, which went on")
        assert not claude.model.results
        (claude.project / "end.txt").touch()
        assert ends(terminal, claude) == "(Bash completed with no output)"


def test_when_claude_code_ends_its_ask_is_withdrawn(tmp_path: Path) -> None:
    with serving(), asking(tmp_path, QUESTION) as (_, terminal):
        terminal.shows(DIALOG)
        ask = the_ask()
        terminal.kill()
        until(lambda: kept(ask.id).settlement is not None)
        settlement = kept(ask.id).settlement
        assert settlement
        assert settlement.outcome == Withdrawn("Claude Code stopped waiting")


def test_a_remembered_suggestion_is_one_for_claude_code_too(tmp_path: Path) -> None:
    again = Call("Bash", {"command": "touch made.txt", "description": "Make a file"}, "toolu_again")
    with serving(), ScriptedModel(TOUCH, again) as model:
        claude = Claude(tmp_path, model)
        install(claude, "--permissions")
        with claude.open("--permission-mode", "default") as terminal:
            terminal.shows("? for shortcuts")
            terminal.types("go")
            terminal.press("enter")
            terminal.shows("Do you want to proceed?")
            ask = the_ask()
            assert ask.permission
            settled(ask, Allowed(remember=ask.permission.suggestions))
            terminal.becomes(lambda: len(model.results) == 2, "both calls ran")
            until(lambda: the_ask().id == ask.id)
