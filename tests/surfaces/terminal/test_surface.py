"""The real form on a real terminal: `askdesk ask` and `askdesk answer` in a pty, seen through an emulator."""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli.command import CALL, DATABASE, TWO, askdesk, in_file, kept, kept_asks, posted, settled, until
from tests.terminal import Terminal

from askdesk.core.model import Allowed, Answer, Answered, Ask, Declined, Denied, Option, Outcome, Permission, Question
from askdesk.open import open_desk
from askdesk.surfaces import serving
from askdesk.wire import tool

WHICH, BOTH = tool.parse(DATABASE), tool.parse(TWO)
ABOVE = ("a line of an earlier command", "and one more")
ANA = {"ASKDESK_BY": "ana"}


def form(ask: Ask, *options: str, env: dict[str, str] | None = None, **how: Any) -> Terminal:
    return Terminal("answer", ask.id, *options, env={**ANA, **(env or {})}, **how)


def shown(terminal: Terminal, *texts: str) -> Terminal:
    """Wait until the form is there, and until its keys count."""
    terminal.shows(*texts)
    terminal.settles(0.45)  # a form that is painted again takes no keys for as long again
    return terminal


def outcome(ask: Ask) -> Outcome | None:
    settlement = kept(ask.id).settlement
    return settlement.outcome if settlement else None


def rows_of(terminal: Terminal) -> list[str]:
    return [row for row in terminal.history if row]


def settled_words(ask: Ask, how: str) -> str:
    return f"askdesk: ask {ask.id} is settled: {how} by ana on terminal"


def test_an_answer_leaves_one_line_behind_and_what_stood_above_untouched() -> None:
    ask = posted(WHICH)
    with form(ask, before=ABOVE, columns=120) as person:
        shown(person, "Which database?", "Postgres").press("down", "enter")
        ran = person.leaves()

        assert (ran.code, outcome(ask)) == (0, Answered([Answer(["Postgres"])]))
        assert rows_of(person) == [*ABOVE, "✔ Which database? → Postgres", settled_words(ask, "answered")]


def test_questions_from_a_pipe_are_asked_on_the_terminal_and_the_result_goes_to_the_pipe() -> None:
    with Terminal("ask", "-", piped=json.dumps(DATABASE).encode(), columns=40) as person:
        shown(person, "Which database?").press("2")
        ran = person.leaves()

    assert ran.code == 0
    assert json.loads(ran.out)["answers"] == {"Which database?": "Postgres"}


def test_tabs_notes_own_words_and_a_review_make_one_answer() -> None:
    ask = posted(BOTH)
    with form(ask) as person:
        shown(person, "○ Database", "○ Parts", "Review").press("space", "n")
        person.types("for now")
        person.shows("Note: for now")
        person.press("enter", "tab")
        person.shows("Which parts?", "✔ Database")
        person.press("2", "down")
        person.types("metrics")
        person.press("enter", "tab")
        person.shows("Your answers", "SQLite; note: for now", 'Logging, "metrics"', "❯ Send")
        person.press("enter")

        assert person.leaves().code == 0
    assert outcome(ask) == Answered(
        [Answer(["SQLite"], note="for now"), Answer(["Logging"], "metrics", multi_select=True)]
    )


def test_blanks_are_sent_only_from_the_review_that_lists_them() -> None:
    ask = posted(BOTH)
    with form(ask) as person:
        shown(person, "Which database?").press("enter", "tab")
        person.shows("Blank: 1 of 2.", "Send, leaving 1 blank")
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(["SQLite"]), None])


def test_own_words_may_have_several_lines() -> None:
    ask = posted(WHICH)
    with form(ask, kitty=True) as person:
        shown(person, "Which database?").press("3")
        person.types("one")
        person.press("ctrl+j")
        person.types("two")
        person.press("shift+enter")
        person.types("three")
        person.shows("one", "two", "three")
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="one\ntwo\nthree")])


def test_the_editor_takes_what_is_typed_and_gives_it_back(tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t + ' and more\\nlines\\n')")
    ask = posted(WHICH)
    with form(ask, env={"EDITOR": f"{sys.executable} {editor}"}) as person:
        shown(person, "Which database?").press("3")
        person.types("words")
        person.press("ctrl+g")
        shown(person, "words and more", "lines").press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="words and more\nlines")])


def test_an_editor_that_fails_changes_nothing_and_says_so() -> None:
    ask = posted(WHICH)
    with form(ask, env={"EDITOR": "/no/such/editor"}) as person:
        shown(person, "Which database?").press("3")
        person.types("words")
        person.press("ctrl+g")
        shown(person, "the text is as it was", "words").press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="words")])


def test_pasted_text_goes_into_the_field_and_decides_nothing() -> None:
    ask = posted(WHICH)
    with form(ask) as person:
        shown(person, "Which database?").pastes("1\n2\n")
        person.shows("Pasted text was left out")
        person.press("3")
        person.pastes("two\nlines")
        person.shows("two", "lines")
        assert outcome(ask) is None
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="two\nlines")])


def test_chatting_declines_with_a_message_and_what_was_chosen() -> None:
    ask = posted(BOTH)
    with form(ask) as person:
        shown(person, "Which database?").press("2", "c")
        person.shows("What would you rather say?", "Database: Postgres")
        person.types("what of DuckDB?")
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Declined("what of DuckDB?", (Answer(["Postgres"]), None))


def test_the_mouse_chooses_and_sends_only_on_the_row_that_says_so() -> None:
    ask = posted(WHICH)
    with form(ask, before=ABOVE) as person:
        shown(person, "Which database?")
        line, column = person.row_of("Postgres")
        person.clicks(column, line)
        person.shows("● Postgres")
        assert outcome(ask) is None
        line, column = person.row_of("Send")
        person.clicks(column, line)
        person.leaves()

    assert outcome(ask) == Answered([Answer(["Postgres"])])


def test_two_hundred_keys_typed_ahead_decide_nothing() -> None:
    for body, words in ((WHICH, "Which database?"), (Permission("Bash", CALL), "rm -r build")):
        ask = posted(body)
        with form(ask, typed_ahead="1\r y\ra" * 20) as person:
            person.types("\r1 y\r" * 20)
            person.shows(words)
            person.types("1\ry \r" * 8)
            person.shows("thrown away", words)
            assert outcome(ask) is None
            person.press("ctrl+c")
            person.leaves()
        assert outcome(ask) is None


def test_escape_leaves_the_field_then_asks_and_the_ask_stays_open() -> None:
    ask = posted(WHICH)
    with form(ask, columns=100) as person:
        shown(person, "Which database?").press("3")
        person.types("half a thought")
        person.press("escape")
        person.shows("❯ Send", "half a thought")
        person.press("escape")
        person.shows("Leave this ask?", "❯ 1. No, go on answering")
        person.press("2", "enter")
        ran = person.leaves()

    assert (ran.code, outcome(ask)) == (6, None)
    assert f"○ Left open, draft kept: Which database? (askdesk answer {ask.id[:8]})" in ran.err


def test_a_draft_is_offered_again_in_another_terminal() -> None:
    ask = posted(BOTH)
    with form(ask) as person:
        shown(person, "Which database?").press("2", "3")
        person.types("a long story")
        person.press("escape", "escape")
        person.shows("Leave this ask?")
        person.press("2", "enter")
        person.leaves()
    with form(ask, columns=60) as person:
        shown(person, "Your draft is back", "Which parts?", "a long story", "✔ Database").press("tab")
        person.shows("Postgres", '"a long story"')
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(["Postgres"]), Answer(other="a long story", multi_select=True)])
    with form(ask) as person:
        assert person.leaves().code == 8  # settled: there is no draft to go on with


def test_a_killed_terminal_leaves_a_draft() -> None:
    ask = posted(WHICH)
    with form(ask) as person:
        shown(person, "Which database?").press("3")
        person.types("almost sent")
        person.shows("almost sent")
        until(lambda: "almost sent" in askdesk("show", ask.id).out)
        person.kill(signal.SIGKILL)
        person.leaves(restored=False)
    with form(ask) as person:
        shown(person, "Your draft is back", "almost sent")


def test_a_lost_race_closes_the_form_at_once_and_says_who_and_where() -> None:
    ask = posted(WHICH)
    with form(ask, before=ABOVE, columns=100) as person:
        shown(person, "Which database?").press("3")
        person.types("I was typing")
        person.shows("I was typing")
        settled(ask, Answered([Answer(["SQLite"])]), by="ben", surface="web")
        before = time.monotonic()
        person.shows("Closed: answered by ben on web. What you typed is kept.")
        within = time.monotonic() - before
        ran = person.leaves()

        closed = "Closed: answered by ben on web. What you typed is kept."
        assert rows_of(person)[:3] == [*ABOVE, closed]
    assert (ran.code, outcome(ask)) == (8, Answered([Answer(["SQLite"])]))
    assert within < 0.25 + 0.5  # across processes, with slack for a busy machine
    assert '1. "I was typing"' in askdesk("show", ask.id).out


IN_ONE_PROCESS = """
import asyncio, signal, time
from askdesk import Answer, Answered, Question, open_desk
from askdesk.open import settled_on, surface_here

async def main():
    async with open_desk("memory:") as desk:
        ask = await desk.post(Question("Which database?", ["SQLite", "Postgres"]))
        showing = asyncio.ensure_future(settled_on(surface_here(desk, "ana"), desk, ask, by="ana"))
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, told.set)
        await told.wait()
        await desk.settle(ask.id, Answered([Answer(["SQLite"])]), by="ben", surface="web")
        settled = time.monotonic()
        await showing
    print(settled)

asyncio.run(main())
"""


def test_a_lost_race_in_one_process_is_seen_within_a_tenth_of_a_second() -> None:
    with Terminal("-c", IN_ONE_PROCESS, command=(sys.executable,)) as person:
        person.shows("Which database?")
        person.kill(signal.SIGUSR1)
        person.shows("Closed: answered by ben on web")
        within = time.monotonic()
        ran = person.leaves()

    assert within - float(ran.out) < 0.1 + 0.4  # with slack for a busy machine


def test_resizing_keeps_what_was_typed_and_what_stood_above() -> None:
    ask = posted(WHICH)
    with form(ask, before=ABOVE, columns=100, lines=30) as person:
        shown(person, "Which database?").press("3")
        person.types("still here")
        person.shows("still here")
        for columns, lines in ((60, 30), (40, 20), (120, 40)):
            person.resizes(columns, lines)
            person.shows("still here", "Which database?", *ABOVE)
            person.settles()
            assert person.text.count("Which database?") == 1
        person.press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="still here")])


def test_a_terminal_made_too_small_decides_nothing_until_it_is_larger_again() -> None:
    ask = posted(WHICH)
    with form(ask) as person:
        shown(person, "Which database?").resizes(20, 5)
        person.shows("Too small")
        person.press("1", "enter", "space")
        person.settles()
        assert outcome(ask) is None
        person.resizes(80, 24)
        person.shows("❯ 1. ○ SQLite")
        person.press("1")
        person.leaves()

    assert outcome(ask) == Answered([Answer(["SQLite"])])


@pytest.mark.parametrize(
    ("env", "options", "size"),
    [
        ({"TERM": "dumb"}, (), (80, 24)),
        ({"ASKDESK_PLAIN": "1"}, (), (80, 24)),
        ({"ASKDESK_SCREEN_READER": "1"}, (), (80, 24)),
        ({}, ("--plain",), (80, 24)),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, (), (80, 24)),
        ({}, (), (1, 24)),
        ({}, (), (20, 24)),
        ({}, (), (80, 5)),
    ],
)
def test_where_no_form_can_be_drawn_or_is_wanted_plain_lines_take_its_place(
    env: dict[str, str], options: tuple[str, ...], size: tuple[int, int]
) -> None:
    ask = posted(WHICH)
    columns, lines = size
    with form(ask, *options, env=env, columns=columns, lines=lines) as person:
        until(lambda: "".join(person.settles().split()).endswith("Yourchoice:"))
        assert 25 in person.modes  # nothing was drawn: the cursor was never hidden
        person.types("2\n")
        assert person.leaves().code == 0

    assert outcome(ask) == Answered([Answer(["Postgres"])])


@pytest.mark.parametrize("env", [{"LANG": "es_ES.UTF-8"}, {"ASKDESK_LANGUAGE": "es"}])
def test_the_form_speaks_spanish(env: dict[str, str]) -> None:
    ask = posted(WHICH)
    with form(ask, env=env) as person:
        shown(person, "Escribe otra cosa…", "Mejor hablemos de esto", "Intro elegir y enviar").press("1")
        assert "✔ Which database? → SQLite" in person.leaves().err


def test_without_colour_nothing_but_weight_and_reverse_is_used() -> None:
    ask = posted(WHICH)
    with form(ask, env={"NO_COLOR": "1"}) as person:
        shown(person, "Which database?")
        cells = [cell for row in person.screen.buffer.values() for cell in row.values()]
        person.press("ctrl+c")
        person.leaves()

    assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}
    assert any(cell.bold for cell in cells)


def test_only_the_sixteen_colours_of_the_terminal_are_used() -> None:
    ask = posted(Permission("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    with form(ask, env={"TERM": "xterm-256color", "COLORTERM": "truecolor"}) as person:
        shown(person, "x = 2")
        added, removed = person.attributes("+ x = 2"), person.attributes("- x = 1")
        raw = bytes(person.raw)
        person.press("ctrl+c")
        person.leaves()

    assert (added.fg, removed.fg) == ("green", "red")
    assert b"\x1b[38" not in raw.replace(b";38", b"\x1b[38")
    assert b"48;" not in raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_form_and_leaves_the_terminal_as_it_was(number: signal.Signals) -> None:
    ask = posted(WHICH)
    with form(ask, before=ABOVE) as person:
        shown(person, "Which database?").press("3")
        person.types("kept")
        person.shows("kept")
        person.kill(number)
        ran = person.leaves()
        assert rows_of(person)[:2] == [*ABOVE]

    assert (ran.code, outcome(ask)) == (-number, None)
    assert '"kept"' in askdesk("show", ask.id).out


def test_a_closed_window_ends_the_program_and_keeps_the_draft() -> None:
    ask = posted(WHICH)
    with form(ask) as person:
        shown(person, "Which database?").press("3")
        person.types("not lost")
        person.shows("not lost")
        assert person.hangs_up() != 0

    assert outcome(ask) is None
    assert '"not lost"' in askdesk("show", ask.id).out


def test_ctrl_c_withdraws_what_was_asked_without_a_key_and_leaves_no_mess(tmp_path: Path) -> None:
    with Terminal("ask", in_file(tmp_path, DATABASE), before=ABOVE) as person:
        shown(person, "Which database?").press("ctrl+c")
        ran = person.leaves()
        (entry,) = kept_asks()
        assert rows_of(person) == [*ABOVE, f"askdesk: ask {entry.ask.id} is withdrawn"]

    assert ran.code == 5


def test_a_call_is_shown_as_it_would_run_and_allowed_by_moving_to_the_row_and_enter() -> None:
    ask = posted(Permission("Bash", CALL, folder="/srv/app", description="tidy up"))
    with form(ask) as person:
        shown(person, "rm -r build", "/srv/app", "tidy up", "not checked").press("enter")
        person.shows("Nothing is chosen yet")
        person.press("y")
        person.shows("❯ 1. Allow this call, once")
        assert outcome(ask) is None
        person.press("enter")
        assert person.leaves().code == 0

    assert outcome(ask) == Allowed()


def test_a_long_call_is_allowed_only_after_all_of_it_was_seen() -> None:
    command = "\n".join(f"echo line {number}" for number in range(100))
    ask = posted(Permission("Bash", {"command": command}))
    with form(ask) as person:
        shown(person, "echo line 0", "echo line 99", "lines hidden").press("y", "enter")
        person.shows("It can be allowed once all of it was seen")
        person.press("v")
        person.shows("Lines 1 to")
        while "all of it was seen" not in person.text:
            person.press("pagedown")
            person.settles()
        person.press("escape")
        person.shows("all of them read", "Allow this call")
        assert outcome(ask) is None
        person.press("y", "enter")
        person.leaves()

    assert outcome(ask) == Allowed()


def test_a_call_is_allowed_with_changes_after_they_were_shown() -> None:
    ask = posted(Permission("Bash", {"command": "rm -r build"}))
    with form(ask) as person:
        shown(person, "rm -r build").press("e", "enter")
        person.shows('"command": "rm -r build"')
        person.press("up", "end", "left")
        person.types("/old")
        person.press("enter")
        person.shows("This would run instead:", "rm -r build/old")
        person.press("1", "enter")
        person.leaves()

    allowed = outcome(ask)
    assert isinstance(allowed, Allowed)
    assert json.loads(allowed.input or "") == {"command": "rm -r build/old"}


def test_broken_json_is_refused_where_it_is_typed() -> None:
    ask = posted(Permission("Bash", {"command": "ls"}))
    with form(ask) as person:
        shown(person, "ls").press("e", "enter")
        person.shows('"command": "ls"')
        person.press("backspace", "enter")
        person.shows("is not JSON")
        assert outcome(ask) is None


def test_a_rule_is_remembered_after_its_scope_was_spelled_out() -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "behavior": "allow"}
    ask = posted(Permission("Bash", {"command": "ls"}, suggestions=[{**rule, "destination": "session"}]))
    with form(ask) as person:
        shown(person, "ls").press("a", "enter")
        person.shows("ls:*", "session")
        person.press("1", "space")
        person.shows("[✔]", "remember what is ticked (1)")
        person.press("down", "enter")
        person.leaves()

    permission = ask.permission
    assert permission is not None
    assert outcome(ask) == Allowed(remember=permission.suggestions)


@pytest.mark.parametrize(
    ("row", "words", "reply"),
    [
        ("Deny it and say why", "not today", Denied("not today")),
        ("Suggest another way", "make clean", Denied("Another way: make clean")),
        ("Deny it and give a new instruction", "list the files", Denied(redirect="list the files")),
        ("Deny it and stop the agent", "wrong folder", Denied("wrong folder", stop=True)),
    ],
)
def test_a_denial_carries_what_the_person_says(row: str, words: str, reply: Denied) -> None:
    ask = posted(Permission("Bash", CALL))
    with form(ask) as person:
        shown(person, "rm -r build", row)
        while not any(line.startswith("❯") and row in line for line in person.rows):
            person.press("down")
            person.settles()
        person.press("enter")
        person.types(words)
        person.shows(words)
        person.press("enter")
        assert person.leaves().code == 0

    assert outcome(ask) == reply


def test_a_form_on_a_terminal_is_what_python_scripts_get_too() -> None:
    code = "import askdesk; print(askdesk.ask(askdesk.Question('Which?', ['One', 'Two'])))"
    with Terminal("-c", code, command=(sys.executable,)) as person:
        shown(person, "Which?").press("2")
        assert person.leaves().out == f"{Answered([Answer(['Two'])])}\n"


def test_previews_stand_beside_the_list_and_below_it_where_that_is_narrow() -> None:
    art = "+----+\n| ab |\n+----+"
    question = {"question": "Which?", "header": "Q", "multiSelect": False}
    options = [{"label": "Box", "description": "A box", "preview": art}, {"label": "None", "description": "Nothing"}]
    ask = posted(tool.parse({"questions": [{**question, "options": options}]}), preview_format="markdown")
    with form(ask, columns=100) as person:
        shown(person, "Preview of Box", "| ab |", "A box", "Nothing")
        assert person.row_of("| ab |")[0] > person.row_of("Preview of Box")[0]
        assert person.row_of("Preview of Box")[0] == person.row_of("1. ○ Box")[0]
        person.press("down")
        person.shows("no preview for this option")
        person.press("up")
        person.resizes(40, 30)
        person.shows("| ab |")
        assert person.row_of("| ab |")[0] > person.row_of("2. ○ None")[0]


def test_what_one_window_of_a_person_typed_survives_the_answer_from_their_other_one() -> None:
    ask = posted(WHICH)
    with form(ask) as first, form(ask) as second:
        shown(first, "Which database?").press("3")
        first.types("my own long words")
        first.shows("my own long words")
        shown(second, "Which database?").press("2")
        assert second.leaves().code == 0
        assert first.leaves().code == 8

    assert '"my own long words"' in askdesk("show", ask.id).out


def test_an_editor_that_is_named_badly_is_told_and_the_form_goes_on() -> None:
    ask = posted(WHICH)
    with form(ask, env={"EDITOR": "vim '"}) as person:
        shown(person, "Which database?").press("3")
        person.types("words")
        person.press("ctrl+g")
        shown(person, "EDITOR: No closing", "words").press("enter")
        person.leaves()

    assert outcome(ask) == Answered([Answer(other="words")])


SIGNALS_AFTER = """
import askdesk, signal
mine = lambda *_: None
signal.signal(signal.SIGTERM, mine)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
askdesk.ask(askdesk.Question("Which?", ["One", "Two"]), store="memory:")
print(signal.getsignal(signal.SIGTERM) is mine, signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)
"""


def test_a_script_has_its_own_signal_handlers_again_after_a_form() -> None:
    with Terminal("-c", SIGNALS_AFTER, command=(sys.executable,)) as person:
        shown(person, "Which?").press("1")
        assert person.leaves().out == "True True\n"


LOGGED = """
import logging, sys
from askdesk.surfaces.terminal.tty import on_terminal
logging.basicConfig(format="%(message)s")
with on_terminal(drawing=True):
    logging.warning("logged")
    print("drawn", file=sys.__stderr__, flush=True)
"""


def test_what_is_logged_comes_after_what_is_drawn() -> None:
    with Terminal("-c", LOGGED, command=(sys.executable,)) as person:
        person.leaves()
        assert rows_of(person) == ["drawn", "logged"]


def test_a_reply_is_told_of_only_once_it_stands(tmp_path: Path) -> None:
    ask = posted(WHICH)
    with form(ask, env={"ASKDESK_BUSY_SECONDS": "0.2"}) as person:
        shown(person, "Which database?")
        locked = apsw.Connection(str(tmp_path / "desk" / "desk.db"))
        locked.execute("BEGIN EXCLUSIVE")
        person.press("2")
        ran = person.leaves()
        locked.execute("ROLLBACK")
        locked.close()

    assert (ran.code, outcome(ask)) == (1, None)
    assert "✔" not in ran.err


BROWSER = """#!/bin/sh
printf '%s' "$1" > "$SEEN"
"""
SKETCHED = Question("Which layout?", [Option("Sidebar", "", "<b>side</b>"), Option("Top", "", "<i>top</i>")])


def test_a_preview_is_opened_on_the_page_while_the_form_stays(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    ask = posted(SKETCHED)
    asyncio.run(_serving("http://127.0.0.1:8700"))
    with form(ask, env={"BROWSER": f"{browser} %s", "SEEN": str(seen)}) as person:
        shown(person, "Which layout?", "o in a browser").press("o")
        person.shows("Opened in your browser: http://127.0.0.1:8700/asks/")
        person.press("escape")
        person.press("enter")
    until(seen.exists)
    assert seen.read_text() == f"http://127.0.0.1:8700/asks/{ask.id}#q0"


def test_without_a_server_the_form_says_how_to_start_one() -> None:
    with form(posted(SKETCHED)) as person:
        shown(person, "Which layout?").press("o")
        person.shows("No page runs for this desk: askdesk serve starts one.")


async def _serving(url: str) -> None:
    async with open_desk() as desk:
        await serving.begin(desk.shelf, url, desk.now())
