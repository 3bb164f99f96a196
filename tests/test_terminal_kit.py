"""The kit that tests the terminal form: its screen, its keyboard and its eye for what an agent sent."""

import json
import re
import signal
import sys

import pytest
from tests.hostile import BIDI, HARMFUL, PAYLOADS, TRICKY, controls, marker
from tests.terminal import Screen, Terminal, bytes_of_key, pieces

from askdesk.core import strict
from askdesk.core.text import is_blank, shown

ECHO = """
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(2, f"{sys.argv[1] if len(sys.argv) > 1 else ''}ready".encode())
keys = b""
while not keys.endswith(b"q"):
    keys += os.read(0, 1000)
    os.write(2, f"\\r\\x1b[J{len(keys)} {keys[-60:]!r}".encode())
termios.tcsetattr(0, termios.TCSANOW, before)
os.write(2, b"\\x1b[<u\\x1b[?1000;1003;1006;2004l\\r\\n")
"""

APP = """
import sys
from textual.app import App
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

class Said(Static):
    said = ""
    def render(self):
        return Content(f"{self.said}, {self.size.width} wide")

class Bare(App):
    CSS = "Screen { height: auto; max-height: 12; } VerticalScroll { height: 3; } Said { height: 1; }"
    def compose(self):
        yield Said()
        yield Static(Content(sys.argv[2]))
        yield Input()
        with VerticalScroll(can_focus=False):
            yield Static(Content("\\\\n".join(f"row {number}" for number in range(9))))
    def say(self, text):
        said = self.query_one(Said)
        said.said = text
        said.refresh()
    def on_key(self, event):
        self.say(f"key {event.key}")
    def on_click(self, event):
        self.say(f"clicked {event.screen_x},{event.screen_y}")
    def on_input_changed(self, event):
        self.say(f"now {event.value}")

app = Bare()
app.run(inline=sys.argv[1] == "inline")
print("goodbye")
""".replace("\\\\n", "\\n")


def running(code: str, *arguments: str, **how: object) -> Terminal:
    return Terminal("-c", code, *arguments, command=(sys.executable,), **how)  # type: ignore[arg-type]


def printing(text: str, **how: object) -> Terminal:
    return running("import os, sys; os.write(2, sys.argv[1].encode())", text, **how)


def test_the_command_is_the_real_one_unless_another_is_given() -> None:
    with Terminal("--help") as ana:
        assert ana.leaves().out.startswith("usage: askdesk")


def test_rows_text_and_history_are_what_the_program_wrote() -> None:
    with printing("".join(f"row {number}\n" for number in range(12)), columns=20, lines=5) as ana:
        ana.shows("row 11")
        ended = ana.leaves()

    assert ana.rows == ["row 8", "row 9", "row 10", "row 11", ""]
    assert ended == (0, "", "row 8\nrow 9\nrow 10\nrow 11")
    assert ana.history == [*(f"row {number}" for number in range(12)), ""]
    assert ana.raw == "".join(f"row {number}\r\n" for number in range(12)).encode()


def test_what_was_there_before_stays_above() -> None:
    with printing("mine\n", lines=4, before=("$ ls", "one", "two")) as ana:
        ana.leaves()

    assert (ana.rows, ana.history[0], b"ls" in ana.raw) == (["one", "two", "mine", ""], "$ ls", False)


def test_the_place_and_the_look_of_a_text() -> None:
    with printing("漢字 👨\u200d👩 \x1b[1;7;38;5;196;44mred\x1b[0m plain\n") as ana:
        ana.leaves()

    red, plain = ana.attributes("red"), ana.attributes("plain")
    assert ana.row_of("字") == (0, 2)
    assert ana.row_of("red") == (0, 10)
    assert (red.fg, red.bg, red.bold, red.reverse) == ("ff0000", "blue", True, True)
    assert (plain.fg, plain.bg, plain.bold, plain.reverse) == ("default", "default", False, False)
    with pytest.raises(AssertionError, match=r"'green' is not there\n +0\|漢字"):
        ana.row_of("green")


def test_a_text_that_does_not_come_is_named_together_with_the_screen() -> None:
    with printing("something else") as ana, pytest.raises(AssertionError) as caught:
        ana.shows("this", "something")

    assert "ended with 0 and did not show ('this', 'something')\n  0|something else" in str(caught.value)
    assert "cursor: line 0, column 14" in str(caught.value)


def test_waiting_until_a_text_is_gone() -> None:
    code = "import os; os.write(2, b'wait'); os.read(0, 9); os.write(2, b'\\x1b[2J')"
    with running(code) as ana:
        ana.shows("wait")
        ana.press("enter")
        assert ana.shows_not("wait") == ""


def test_standard_output_is_captured_and_standard_input_piped() -> None:
    code = "import sys; got = sys.stdin.read(); print(len(got), got[-1]); print(open('/dev/tty').readline(), end='')"
    with running(code, piped=b"x" * 100_000) as ana:
        ana.types("hello\n")
        ended = ana.leaves()
    assert ended == (0, "100000 x\nhello\n", "hello")

    with running("print('seen')", captured=False) as ana:
        assert ana.leaves() == (0, "", "seen")

    with running("print('x' * 300_000)") as ana:
        assert len(ana.leaves().out) == 300_001


def test_the_environment_is_that_of_a_plain_terminal_of_256_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLORTERM", "NO_COLOR", "COLUMNS", "TEXTUAL_ANIMATIONS"):
        monkeypatch.setenv(name, "1")
    code = "import json, os; print(json.dumps([os.environ.get(n) for n in ('TERM', 'COLORTERM', 'COLUMNS', 'MORE')]))"
    with running(code, env={"MORE": "1"}) as ana:
        assert json.loads(ana.leaves().out) == ["xterm-256color", None, None, "1"]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        *[("up", b"\x1b[A"), ("left", b"\x1b[D"), ("home", b"\x1b[H"), ("shift+up", b"\x1b[1;2A"), ("tab", b"\t")],
        *[("pageup", b"\x1b[5~"), ("delete", b"\x1b[3~"), ("ctrl+delete", b"\x1b[3;5~"), ("shift+tab", b"\x1b[Z")],
        *[("enter", b"\r"), ("shift+enter", b"\x1b[13;2u"), ("escape", b"\x1b"), ("backspace", b"\x7f")],
        *[("space", b" "), ("ctrl+c", b"\x03"), ("alt+x", b"\x1bx"), ("shift+x", b"X")],
        *[("é", "é".encode()), ("+", b"+")],
    ],
)
def test_keys_are_sent_as_xterm_sends_them(name: str, sent: bytes) -> None:
    assert bytes_of_key(name) == sent


def test_a_key_that_no_keyboard_has() -> None:
    with pytest.raises(AssertionError, match="no key 'anykey'"):
        bytes_of_key("anykey")


def test_keys_and_text_reach_the_program() -> None:
    with running(ECHO) as ana:
        ana.shows("ready")
        ana.press("down", "ctrl+a", "x")
        ana.types("é\n")
        ana.shows(repr(b"\x1b[B\x01x\xc3\xa9\r"))
        ana.press("q")
        ana.leaves()


def test_a_kitty_terminal_tells_keys_apart_once_it_is_asked_to() -> None:
    with running(ECHO, "\x1b[>1u", kitty=True) as ana:
        ana.shows("ready")
        ana.press("escape", "ctrl+i", "tab", "q")
        ana.shows(repr(b"\x1b[27u\x1b[105;5u\tq"))
        ana.leaves()


def test_a_long_paste_is_bracketed_where_the_program_asked_for_it() -> None:
    with running(ECHO, "\x1b[?2004h") as ana:
        ana.shows("ready")
        ana.pastes("a\n" * 20_000)
        ana.shows("40012 ", r"a\ra\r\x1b[201~")
        ana.press("q")
        ana.leaves()

    with running(ECHO) as ana:
        ana.shows("ready")
        ana.pastes("a\nq")
        ana.shows(r"3 b'a\rq'")
        ana.leaves()


def test_the_mouse_is_sent_where_the_program_asked_for_it() -> None:
    with running(ECHO, "\x1b[?1000;1003;1006h") as ana:
        ana.shows("ready")
        ana.clicks(4, 2)
        ana.scrolls("down", 0, 0)
        ana.press("q")
        ana.shows(repr(b"\x1b[<35;5;3M\x1b[<0;5;3M\x1b[<0;5;3m\x1b[<65;1;1Mq"))
        ana.leaves()

    with running(ECHO) as ana:
        ana.shows("ready")
        ana.clicks(4, 2)
        ana.press("q")
        ana.shows("1 b'q'")
        ana.leaves()


@pytest.mark.parametrize(
    ("question", "how", "answer"),
    [
        ("\r\nxy\x1b[6n", {}, "\x1b[2;3R"),
        ("x" * 20 + "\x1b[6n", {"columns": 20}, "\x1b[1;20R"),
        ("\x1b[5n", {}, "\x1b[0n"),
        ("\x1b[c", {}, "\x1b[?6c"),
        ("\x1b[?2026$p", {}, "\x1b[?2026;2$y"),
        ("\x1b[?2026$p\x1b[5n", {"synchronized": False}, "\x1b[0n"),
        ("\x1b[?6n\x1b[>c\x1b[21t\x1b]11;?\a\x1b[5n", {}, "\x1b[0n"),
    ],
)
def test_the_terminal_answers_what_it_is_asked(question: str, how: dict[str, object], answer: str) -> None:
    with running(ECHO, question, **how) as ana:
        ana.shows("b'")
        assert ana.answered == [answer]
        assert re.search(re.escape(repr(answer.encode())), "".join(ana.rows))


def test_a_new_size_reaches_the_program() -> None:
    code = """
import os, signal
show = lambda *_: os.write(2, ("\\r%dx%d " % os.get_terminal_size(2)).encode())
signal.signal(signal.SIGWINCH, show)
show()
while True: signal.pause()
"""
    with running(code, columns=50, lines=10) as ana:
        ana.shows("50x10")
        ana.resizes(30, 8)
        assert ana.shows("30x8") == "30x8"
        ana.kill(signal.SIGTERM)
        assert ana.leaves().code == -signal.SIGTERM


def test_a_program_that_asks_a_lot_and_reads_late_is_answered_in_order() -> None:
    code = """
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
for number in range(2000): os.write(2, b"\\r%d\\x1b[6n" % (number % 10))
got = b""
while got.count(b"R") < 2000: got += os.read(0, 9999)
termios.tcsetattr(0, termios.TCSANOW, before)
os.write(2, b" right" if got == b"\\x1b[1;2R" * 2000 else got)
"""
    with running(code) as ana:
        ana.shows("9 right")
        ana.leaves()


def test_a_smaller_screen_loses_the_rows_below_the_cursor_first_then_those_at_the_top() -> None:
    with printing("".join(f"row {number}\n" for number in range(5)) + "\x1b[3A", columns=10, lines=8) as ana:
        ana.leaves()
    ana.screen.resize(4, 4)
    assert (ana.rows, ana.screen.cursor.y) == (["row", "row", "row", "row"], 2)
    ana.screen.resize(2, 10)
    assert (ana.history, ana.screen.cursor.y) == (["row", "row", "row"], 1)
    ana.screen.resize(3, 10)
    assert ana.rows == ["row", "row", ""]


def test_settling_waits_for_the_last_of_many_writes() -> None:
    code = "import os, time\nfor n in range(20): os.write(2, b'%d ' % n); time.sleep(0.005)"
    with running(code) as ana:
        ana.shows("0 ")
        assert ana.settles().endswith("19")


def test_half_a_frame_is_not_shown_where_frames_are_marked() -> None:
    code = """
import os
os.write(2, b"\\x1b[?2026hfirst")
os.read(0, 9)
os.write(2, b" second\\x1b[?2026l")
"""
    with running(code) as ana:
        ana.settles()
        ana.press("enter")
        assert "second" in ana.shows("first")


@pytest.mark.parametrize(
    "left_on",
    [
        *[f"\x1b[?{mode}h" for mode in (1000, 1002, 1003, 1004, 1006, 1015, 1049, 2004, 2026)],
        *["\x1b[?25l", "\x1b[?7l", "\x1b[>1u", "\x1b[31m", "\x1b[2;5r"],
    ],
)
def test_a_program_that_leaves_the_terminal_changed_is_found_out(left_on: str) -> None:
    with printing(left_on) as ana:
        with pytest.raises(AssertionError):
            ana.leaves()
        assert ana.leaves(restored=False).code == 0


def test_a_program_that_leaves_the_line_settings_changed_is_found_out() -> None:
    with running("import tty; tty.setraw(0)") as ana, pytest.raises(AssertionError, match="line settings"):
        ana.leaves()


def test_a_program_that_was_killed_restores_nothing() -> None:
    with running(ECHO, "\x1b[?1000h") as ana:
        ana.shows("ready")
        ana.kill()
        assert ana.leaves(restored=False) == (-signal.SIGKILL, "", "ready")


def test_a_program_that_dies_of_an_error_is_found_out() -> None:
    with running("1 / 0") as ana, pytest.raises(AssertionError, match="ZeroDivisionError"):
        ana.leaves()


def test_what_the_program_did_not_read_would_go_to_the_shell() -> None:
    with running("import os; os.read(0, 9)", typed_ahead="yes\n") as ana:
        ana.types("rm -rf ~")
        ana.leaves()
        assert (ana.unread(), ana.unread()) == (b"rm -rf ~", b"")


def test_the_alternate_screen_leaves_the_main_one_as_it_was() -> None:
    full = "".join(f"\r\nother {number}" for number in range(30))
    with printing(f"mine\x1b[?1049h\x1b[2J\x1b[H{full}\x1b[?1049l.\n", lines=5, before=("above",)) as ana:
        assert ana.leaves().err == "above\nmine."
    assert ana.history == ["above", "mine.", "", "", ""]


@pytest.mark.parametrize(
    ("clusters", "row"), [(False, ["👨", "", "👩", "", "👍", "", "🏽", ""]), (True, ["👨\u200d👩", "", "👍🏽", ""])]
)
def test_an_emoji_of_many_characters_is_one_glyph_or_many(clusters: bool, row: list[str]) -> None:
    screen = Screen(10, 2, lambda _: None, clusters=clusters)
    screen.draw("👨\u200d👩👍🏽.")
    cells = [screen.buffer[0][column].data for column in range(len(row) + 1)]
    assert [cell.replace("\u200d", "") if not clusters else cell for cell in cells] == [*row, "."]


def test_a_wide_character_does_not_fit_into_the_last_cell_of_a_row() -> None:
    with printing("xxx漢y e\u0301\u200b!", columns=4, lines=5) as ana:
        ana.leaves()
    assert ana.rows == ["xxx", "漢y", "e\u0301\u200b!", "", ""]


def test_pieces_are_the_whole_text() -> None:
    assert ["".join(piece.text for piece in pieces(payload)) for payload in PAYLOADS] == [*PAYLOADS]


def test_no_payload_breaks_the_emulated_screen() -> None:
    code = """
import os, sys
from tests.hostile import PAYLOADS
for payload in PAYLOADS:
    os.write(2, payload.encode() + b"\\x1b\\\\\\x1bc")
os.write(2, b"the end")
"""
    with running(code, lines=10, columns=40) as ana:
        ana.shows("the end")


def test_payloads_are_many_and_an_ask_may_hold_each() -> None:
    assert len({re.sub(marker(payload), "", payload) for payload in PAYLOADS}) > 900
    assert len({marker(payload) for payload in PAYLOADS}) == len(PAYLOADS)
    assert [payload for payload in PAYLOADS if strict.text_flaw(payload) or is_blank(payload)] == []


def test_every_control_of_a_payload_is_found_alone_and_in_a_styled_run() -> None:
    missed = [payload for payload in HARMFUL if not controls(payload.encode())]
    missed += [payload for payload in HARMFUL if not controls(f"\x1b[1;38;5;1m{payload}\x1b[0m\r\n".encode())]
    assert missed == []


def test_nothing_is_found_in_text_that_may_be_shown() -> None:
    found = [payload for payload in TRICKY if controls(payload.encode())]
    found += [payload for payload in PAYLOADS if controls(shown(payload, lines=True).replace("\n", "\r\n").encode())]
    assert found == []


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"plain \x1b[1;31mred\x1b[0m plain\r\n", []),
        (b"\x1b[31mred\r\n", [b"\x1b[31m"]),
        (b"\x1b[31mred\x1b[32mgreen\x1b[0m", [b"\x1b[32m"]),
        (b"\x1b[31mred\x1b[0mplain\x1b[0m", [b"\x1b[0m"]),
        (b"\x1b[31;1mred\x1b[0m", [b"\x1b[31;1m", b"\x1b[0m"]),
        (b"\x1b[31ma\x07b\x1b[2Jc\x1b[0m", [b"\x07", b"\x1b[2J"]),
        (b"text\x1b[3A\r\x1b[6n\x1b[2C", []),
        (b"text\x1b[3Atext", [b"\x1b[3A"]),
        (b"text\r\x1b[6n", []),
        (b"text\x1b[6n", [b"\x1b[6n"]),
        (b"text\rtext", [b"\r"]),
        (b"\x1b]22;default\x07", []),
        (b"\x1b]22;default\x1b\\", [b"\x1b]22;default\x1b\\"]),
        (b"a\x9bb\xc2\x9b31mc\xff", [b"\x9b", b"\xc2\x9b31m", b"\xff"]),
        (b"a\x1b]52;c;", [b"\x1b]52;c;"]),
        (f"a{BIDI}".encode(), [character.encode() for character in BIDI]),
    ],
)
def test_what_stands_where_textual_would_not_put_it_is_found(raw: bytes, found: list[bytes]) -> None:
    assert controls(raw) == found


def test_more_may_be_allowed() -> None:
    raw = b"\a\x1b]8;id=1;https://example.org\x1b\\here\x1b]8;;\x1b\\"
    assert controls(raw, allowed=(r"\a", r"\x1b\]8;.*")) == []
    assert len(controls(raw)) == 3


def test_a_textual_form_is_filled_in_on_the_terminal() -> None:
    with running(APP, "inline", "words", captured=False, before=("$ askdesk", "above")) as ana:
        ana.shows(", 80 wide", "words", "row 0")
        ana.press("tab")
        ana.shows("key tab")
        ana.press("end")
        ana.types("é7")
        ana.shows("now é7")
        ana.pastes("pasted\nx")
        ana.shows("now é7pasted")
        ana.press("escape")
        ana.shows("key escape")
        line, column = ana.row_of("words")
        ana.clicks(column + 2, line)
        ana.shows(f"clicked {column + 2},{line - 3}")
        ana.scrolls("down", *reversed(ana.row_of("row 1")))
        ana.shows("row 3")
        assert ana.rows[:2] == ["$ askdesk", "above"]
        ana.press("ctrl+q")
        assert ana.leaves() == (0, "", "$ askdesk\nabove\ngoodbye")

    assert controls(ana.raw) == []
    assert {answer for answer in ana.answered if not answer.endswith("R")} == {"\x1b[?2026;2$y"}


def test_a_textual_form_is_resized() -> None:
    with running(APP, "inline", "words", captured=False, before=("above",)) as ana:
        ana.shows(", 80 wide")
        ana.resizes(100, 30)
        ana.shows(", 100 wide")
        ana.press("ctrl+q")
        assert ana.leaves().err == "\ngoodbye"  # what was above is cleared: Textual's doing

    assert controls(ana.raw) == []


def test_a_textual_app_on_the_full_screen_writes_nothing_foreign_either() -> None:
    with running(APP, "full", "words", before=("above",), env={"COLORTERM": "truecolor"}) as ana:
        ana.shows("words")
        ana.press("tab", "x")
        ana.shows("now x")
        ana.press("ctrl+q")
        assert ana.leaves()[1:] == ("goodbye\n", "above")

    assert controls(ana.raw) == []


def test_what_textual_lets_through_is_found() -> None:
    with running(APP, "inline", "a\x1b[3mb\x1b]52;c;eA==\x1b\\c\u202ed") as ana:
        ana.shows("wide")
        ana.press("ctrl+q")
        ana.leaves()

    assert {*controls(ana.raw)} == {b"\x1b[3m", b"\x1b]52;c;eA==\x1b\\", "\u202e".encode()}
