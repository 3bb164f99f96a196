"""A person at a terminal whose screen is drawn: a real pseudo terminal, emulated by pyte.

Nothing happens in the background. Output is read, drawn and answered while something is waited for, so a program that
draws a lot stands still until then. Lines and columns count from 0.
"""

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import lru_cache
from types import TracebackType
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import pyte
from pyte import modes
from pyte.screens import Char
from tests.cli.command import ASKDESK, Ran, assert_no_traceback, surroundings
from wcwidth import iter_graphemes, wcwidth
from wcwidth import width as cells_of

SECONDS = 15.0  # a bound for what should take a fraction of one
QUIET = 0.05  # without output for so long, a program has drawn what it had to draw
FRAME = 0.01  # and for so long, it is not in the middle of drawing: inline, Textual marks no beginning and no end

Kind: TypeAlias = Literal["text", "control", "escape", "csi", "string", "open"]


class Piece(NamedTuple):
    """A run of text, a control character or a sequence; "open" is a sequence whose end has not come."""

    kind: Kind
    text: str


# As terminals read it (the parser of vt100.net): ESC, CAN and SUB break off what is open; C1 means the same as ESC.
_PIECE = re.compile(
    r"""
    (?P<text>[^\x00-\x1f\x7f-\x9f]+)
    | (?P<csi>(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~])
    | (?P<string>(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*
        (?:\x07|\x1b\\|\x9c|[\x18\x1a]|(?=\x1b[^\\])))
    | (?P<open>(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*\x1b?\Z
        | (?:\x1b\[|\x9b)[0-?]*[ -/]*\Z | \x1b[ -/]*\Z)
    | (?P<escape>(?:\x1b\[|\x9b)[0-?]*[ -/]* | \x1b[ -/]*[0-~]?)
    | (?P<control>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: dict[str | None, Kind] = {kind: kind for kind in ("text", "control", "escape", "csi", "string", "open")}


def pieces(text: str) -> Iterator[Piece]:
    """What a terminal is sent, taken apart. Joined again, the pieces are the text."""
    for match in _PIECE.finditer(text):
        yield Piece(_KINDS[match.lastgroup], match[0])


_ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}
_EDITING = {"insert": 2, "delete": 3, "pageup": 5, "pagedown": 6}
_MODIFIERS = {"shift": 2, "alt": 3, "ctrl": 5}
_KEYS = {
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "escape": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "shift+enter": "\x1b[13;2u",  # no terminal tells it from Enter but in the kitty protocol
    "ctrl+space": "\0",
}


def bytes_of_key(name: str, *, kitty: bool = False) -> bytes:
    """What a terminal sends for a key; `kitty` where a program has asked for the kitty protocol and gets it."""
    *with_modifier, key = name.split("+") if len(name) > 1 else [name]
    modifier = _MODIFIERS[with_modifier[0]] if with_modifier else 0
    if kitty and name == "escape":
        return b"\x1b[27u"
    if kitty and len(key) == 1 and modifier > 2:
        return f"\x1b[{ord(key)};{modifier}u".encode()
    if name in _KEYS:
        return _KEYS[name].encode()
    if key in _ARROWS:
        return f"\x1b[{f'1;{modifier}' if modifier else ''}{_ARROWS[key]}".encode()
    if key in _EDITING:
        return f"\x1b[{_EDITING[key]}{f';{modifier}' if modifier else ''}~".encode()
    assert len(key) == 1, f"there is no key {name!r}"
    return {0: key, 2: key.upper(), 3: f"\x1b{key}", 5: chr(ord(key) & 31)}[modifier].encode()


class Call(NamedTuple):
    """What a control sequence has pyte's screen do."""

    name: str
    numbers: tuple[int, ...]
    more: dict[str, Any]


@lru_cache(maxsize=10_000)
def _call(sequence: str) -> Call | None:
    """As pyte's own parser reads it, which takes it character by character; None where that would do nothing."""
    known = re.fullmatch(r"\x1b\[(?:(\?)([\d;]*)([hlJK])|([\d;]*)([^u]))", sequence)
    if not known or not (name := pyte.Stream.csi.get(known[3] or known[5])):
        return None
    numbers = tuple(min(int(number or 0), 9999) for number in (known[2] or known[4] or "").split(";"))
    return Call(name, numbers, {"private": True} if known[1] else {})


@lru_cache(maxsize=10_000)
def _cell(attributes: Char, glyph: str) -> Char:
    return attributes._replace(data=glyph)


class Screen(pyte.Screen):
    """pyte's screen with what it lacks: characters without width, the alternate screen, and resizing as in xterm.

    And the rows that were scrolled off: pyte's own screen with a history looks twice at every attribute that it reads.
    """

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None], *, clusters: bool) -> None:
        self._answer = answer
        self._clusters = clusters
        self._main: tuple[dict[int, Any], Any] | None = None  # what is under the alternate screen
        self.scrolled: list[Any] = []  # rows that were scrolled off, the oldest first
        super().__init__(columns, lines)

    def reset(self) -> None:
        self._main = None
        self.scrolled.clear()
        super().reset()

    def draw(self, data: str) -> None:
        """pyte drops the rest of a text after a joiner or selector, and lets wide characters overlap the edge."""
        cursor = self.cursor
        if data.isascii() and cursor.x + len(data) <= self.columns:  # most of what is drawn, and quickly
            row, attributes = self.buffer[cursor.y], cursor.attrs
            row.update((at, _cell(attributes, glyph)) for at, glyph in enumerate(data, cursor.x))
            cursor.x += len(data)
            return
        for glyph in iter_graphemes(data) if self._clusters else data:
            cells = cells_of(glyph) if self._clusters else max(wcwidth(glyph), 0)
            self._draw_glyph(glyph, cells)

    def _draw_glyph(self, glyph: str, cells: int) -> None:
        if not cells:
            self._draw_on_last(glyph)
            return
        if self.cursor.x + cells > self.columns:
            if modes.DECAWM in self.mode:
                self.carriage_return()
                self.linefeed()
            else:
                self.cursor.x = max(self.columns - cells, 0)
        row = self.buffer[self.cursor.y]
        row[self.cursor.x] = self.cursor.attrs._replace(data=glyph)
        for stub in range(self.cursor.x + 1, self.cursor.x + cells):
            row[stub] = self.cursor.attrs._replace(data="")
        self.cursor.x += cells

    def _draw_on_last(self, glyph: str) -> None:
        row, column = self.buffer[self.cursor.y], self.cursor.x - 1
        while column > 0 and not row[column].data:
            column -= 1
        if column >= 0:
            row[column] = row[column]._replace(data=row[column].data + glyph)

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self._main is None and self.cursor.y == bottom:  # the alternate screen keeps no history
            self.scrolled.append(self.buffer[top])
        super().index()

    def erase_in_display(self, how: int = 0, *more: Any, **kwargs: Any) -> None:
        super().erase_in_display(how, *more, **kwargs)
        if how == 3:
            self.scrolled.clear()

    def set_mode(self, *numbers: int, **kwargs: Any) -> None:
        if kwargs.get("private") and self._main is None and {47, 1047, 1049} & {*numbers}:
            self._main = dict(self.buffer), copy(self.cursor)
            self.buffer.clear()
        super().set_mode(*numbers, **kwargs)

    def reset_mode(self, *numbers: int, **kwargs: Any) -> None:
        if kwargs.get("private") and self._main is not None and {47, 1047, 1049} & {*numbers}:
            rows, self.cursor = self._main
            self._main = None
            self.buffer.clear()
            self.buffer.update(rows)
        super().reset_mode(*numbers, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """As xterm: no reflow; rows below the cursor are cut off first, then those at the top go into the history."""
        wanted = lines or self.lines
        for _ in range(self.cursor.y - wanted + 1):
            self.scrolled.append(self.buffer[0])
            for line in range(self.lines - 1):
                self.buffer[line] = self.buffer[line + 1]
            self.cursor.y -= 1
        self.lines, self.columns = wanted, columns or self.columns
        for line in [line for line in self.buffer if line >= self.lines]:
            del self.buffer[line]
        for row in self.buffer.values():
            for column in [column for column in row if column >= self.columns]:
                del row[column]
        self.cursor.x = min(self.cursor.x, self.columns - 1)
        self.tabstops = set(range(8, self.columns, 8))
        self.set_margins()

    def report_device_status(self, mode: int) -> None:
        if mode == 5:
            self._answer("\x1b[0n")
        elif mode == 6:
            self._answer(f"\x1b[{self.cursor.y + 1};{min(self.cursor.x, self.columns - 1) + 1}R")

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """Starts a command on a pseudo terminal, presses keys, and sees the screen.

    Standard output is a pipe while `captured`, else the terminal. With `piped`, standard input is a pipe that holds
    this, and only /dev/tty leads to the person. `before` is on the screen before the program starts. A terminal that
    is `synchronized` shows no half-drawn frame, one with `kitty` tells all keys apart, one with `clusters` draws an
    emoji of many characters in two cells (kitty, WezTerm) where others draw each character by itself (xterm).
    """

    def __init__(
        self,
        *arguments: str,
        command: tuple[str, ...] = ASKDESK,
        columns: int = 80,
        lines: int = 24,
        typed_ahead: str = "",
        piped: bytes | None = None,
        captured: bool = True,
        before: tuple[str, ...] = (),
        synchronized: bool = True,
        kitty: bool = False,
        clusters: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.answered: list[str] = []  # all that the terminal itself typed, because the program asked
        self.screen = Screen(columns, lines, self._answer, clusters=clusters)
        self._stream = pyte.Stream(self.screen)
        self._stream.feed("".join(f"{line}\r\n" for line in before))
        self._synchronized, self._kitty = synchronized, kitty
        self._keyboard_flags: list[str] = []
        self._raw, self._out, self._held = bytearray(), bytearray(), ""
        self._pipe: IO[bytes] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._keyboard, self._terminal = os.openpty()
        os.set_blocking(self._keyboard, False)
        self._set_size()
        self._before = termios.tcgetattr(self._terminal)
        self.types(typed_ahead)
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdin=self._terminal if piped is None else subprocess.PIPE,
            stdout=subprocess.PIPE if captured else self._terminal,
            stderr=self._terminal,
            env=_surroundings(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),
        )
        self._pipe = self._process.stdout
        if piped is not None and self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(piped)
                self._process.stdin.close()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        if self._pipe:
            self._pipe.close()
        self._close()

    def _close(self) -> None:
        for descriptor in {self._keyboard, self._terminal} - {-1}:
            os.close(descriptor)
        self._keyboard = self._terminal = -1

    def hangs_up(self) -> int:
        """Close the window: the terminal is gone. Wait for the end; the code."""
        self._close()
        return self._process.wait(SECONDS)

    def press(self, *keys: str) -> None:
        """Keys by name: up, enter, shift+tab, ctrl+x, a, é.

        Without `kitty`, an escape alone is one only after 100 ms in which nothing is typed: wait with shows() for what
        it does before a character, which would make it alt+character. Named keys may follow at once.
        """
        for key in keys:
            self._send(bytes_of_key(key, kitty=self._kitty and bool(self._keyboard_flags)))

    def types(self, text: str) -> None:
        """Text on the keyboard, with Enter for each line break."""
        self._send(text.replace("\n", "\r").encode())

    def pastes(self, text: str) -> None:
        """Text from the clipboard, as it is but for line breaks; bracketed where the program wants to know."""
        pasted = text.replace("\n", "\r").encode()
        self._send(b"\x1b[200~" + pasted + b"\x1b[201~" if 2004 in self.modes else pasted)

    def clicks(self, column: int, line: int) -> None:
        """The left button, down and up. Like all the mouse does, it is sent only where the program wants to know."""
        self.settles()
        if 1003 in self.modes:
            self._mouse(35, column, line)
        self._mouse(0, column, line)
        self._mouse(0, column, line, released=True)

    def scrolls(self, direction: Literal["up", "down"], column: int, line: int) -> None:
        self.settles()
        self._mouse(64 if direction == "up" else 65, column, line)

    def resizes(self, columns: int, lines: int) -> None:
        """Another size; the kernel tells the program."""
        while self._look(0):
            pass
        self.screen.resize(lines, columns)
        self._set_size()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        self._process.send_signal(number)

    @property
    def process(self) -> "subprocess.Popen[Any]":
        return self._process

    @property
    def raw(self) -> bytes:
        """Every byte that came to the terminal."""
        return bytes(self._raw)

    @property
    def modes(self) -> set[int]:
        """The private modes that are on: 25 is the cursor, 1000 the mouse, 2004 bracketed paste."""
        return {mode >> 5 for mode in self.screen.mode if mode >= 32}

    @property
    def rows(self) -> list[str]:
        """What can be seen, row by row, without the blanks at the end of each."""
        return [_text(cells) for cells in self._cells()]

    @property
    def text(self) -> str:
        """What can be seen, without blank rows at the end."""
        return "\n".join(self.rows).rstrip("\n")

    @property
    def history(self) -> list[str]:
        """The rows that were scrolled off, then those that can be seen."""
        scrolled = [[row[column].data for column in range(max(row, default=-1) + 1)] for row in self.screen.scrolled]
        return [*(_text(cells) for cells in scrolled), *self.rows]

    def shows(self, *texts: str, seconds: float = SECONDS) -> str:
        """Wait until all the texts can be seen, each within a row; the whole screen."""
        self._until(lambda: all(text in self.text for text in texts), f"did not show {texts}", seconds)
        return self.text

    def becomes(self, condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
        """Wait until something else is so, reading the terminal meanwhile."""
        self._until(condition, f"never: {what}", seconds)

    def shows_not(self, *texts: str) -> str:
        """Wait until none of the texts can be seen; the whole screen."""
        self._until(lambda: not any(text in self.text for text in texts), f"still shows {texts}")
        return self.text

    def settles(self, seconds: float = QUIET) -> str:
        """Wait until there has been no output for a moment; the whole screen."""
        end = time.monotonic() + SECONDS
        while self._look(seconds):
            assert time.monotonic() < end, f"draws without end\n{self._picture()}"
        return self.text

    def row_of(self, text: str) -> tuple[int, int]:
        """The line and the column at which a text begins; the first of several."""
        for line, cells in enumerate(self._cells()):
            at = "".join(cells).find(text)
            if at >= 0:
                ends = [sum(map(len, cells[: column + 1])) for column in range(len(cells))]
                return line, next(column for column, end in enumerate(ends) if end > at)
        raise AssertionError(f"{text!r} is not there\n{self._picture()}")

    def attributes(self, text: str) -> Char:
        """How the first character of a text looks: fg, bg, bold, italics, underscore, reverse. pyte knows no dim."""
        line, column = self.row_of(text)
        return self.screen.buffer[line][column]

    def unread(self) -> bytes:
        """What was typed and answered and not read by the program: the shell would get it. It is taken away."""
        raw = termios.tcgetattr(self._terminal)
        raw[3] &= ~(termios.ICANON | termios.ECHO)
        raw[6] = [*raw[6]]
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 0, 0
        termios.tcsetattr(self._terminal, termios.TCSANOW, raw)
        try:
            return os.read(self._terminal, 65536)
        finally:
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)

    def leaves(self, *, restored: bool = True) -> Ran:
        """Wait for the end: the code, what was captured, and the screen. The terminal is as it was before.

        A program that was killed by SIGKILL cannot restore it.
        """
        end = time.monotonic() + SECONDS
        while self._process.poll() is None:
            assert time.monotonic() < end, f"did not end\n{self._picture()}"
            self._look(0.02)
        while self._look(FRAME):  # the last of it may be a moment on its way
            pass
        if restored:
            self._assert_restored()
        assert_no_traceback("\n".join(self.history))
        return Ran(self._process.returncode, self._out.decode(), self.text)

    def _assert_restored(self) -> None:
        assert termios.tcgetattr(self._terminal) == self._before, "the line settings of the terminal changed"
        assert self.modes == {7, 25}, f"these modes should be on, the others off: wrap (7), cursor (25); {self.modes}"
        assert not self._keyboard_flags, f"the kitty protocol is still on: {self._keyboard_flags}"
        assert self.screen.cursor.attrs == Char(" "), f"a style is still on: {self.screen.cursor.attrs}"
        assert self.screen.margins is None, f"only a part of the screen scrolls: {self.screen.margins}"

    def _until(self, condition: Callable[[], bool], complaint: str, seconds: float = SECONDS) -> None:
        def reached() -> bool:
            return 2026 not in self.modes and condition()

        end = time.monotonic() + seconds
        while not reached() or self._look(FRAME):
            assert time.monotonic() < end, f"{complaint}\n{self._picture()}"
            assert reached() or self._look(0.2) or self._process.poll() is None or self._look(0), (
                f"ended with {self._process.returncode} and {complaint}\n{self._picture()}"
            )

    def _look(self, seconds: float) -> bool:
        """Take in what has come, to the terminal and to the pipe; whether there was anything."""
        pipe = self._pipe.fileno() if self._pipe else None
        ready = select.select([self._keyboard, *([] if pipe is None else [pipe])], [], [], seconds)[0]
        if pipe in ready and self._pipe:
            more = os.read(self._pipe.fileno(), 65536)
            self._out += more
            if not more:
                self._pipe.close()
                self._pipe = None
        self._take()
        return self._draw_taken() or bool(ready)

    def _take(self) -> None:
        with suppress(BlockingIOError):
            while more := os.read(self._keyboard, 65536):
                self._raw += more
                self._held += self._decoder.decode(more)

    def _draw_taken(self) -> bool:
        """Draw all but a sequence whose end has not come; whether there was anything. Answers may let more come in."""
        taken, self._held, rest = self._held, "", ""
        for piece in pieces(taken):
            if piece.kind == "open":
                rest = piece.text
            else:
                self._draw(piece)
        self._held = rest + self._held
        return taken != rest

    def _draw(self, piece: Piece) -> None:
        text = piece.text
        if "\x80" <= text[0] <= "\x9f":
            text = f"\x1b{chr(ord(text[0]) - 64)}{text[1:]}"
        match piece.kind:
            case "text":
                self.screen.draw(re.sub(r"[\ud800-\udfff]", "\ufffd", text))
            case "csi" if text == "\x1b[?2026$p":
                if self._synchronized:
                    self._answer("\x1b[?2026;2$y")
            case "csi" if keys := re.fullmatch(r"\x1b\[([<>=])([\d;]*)u", text):
                self._set_keyboard(keys[1], keys[2])
            case "csi" if call := _call(text):
                with suppress(TypeError, AssertionError, UnboundLocalError):  # pyte, on senseless numbers
                    getattr(self.screen, call.name)(*call.numbers, **call.more)
            case "string" if re.match(r"\x1b\][012];", text):
                self._stream.feed(text)
            case "escape" | "control" if re.fullmatch(r"\x1b(#8|[78DEHMc])", text):
                self._stream.feed(text)
            case "control" if text in "\a\b\t\n\v\f\r":
                self._stream.feed(text)
            case _:  # what this terminal does not know has no effect
                pass

    def _set_keyboard(self, how: str, flags: str) -> None:
        if how == ">":
            self._keyboard_flags.append(flags or "0")
        elif how == "<":
            del self._keyboard_flags[-int(flags or 1) :]
        else:
            self._keyboard_flags[-1:] = [flags]

    def _answer(self, text: str) -> None:
        self.answered.append(text)
        self._send(text.encode())

    def _send(self, keys: bytes) -> None:
        """Type, and read meanwhile: a program that waits for its own output to be read does not read."""
        end = time.monotonic() + SECONDS
        while keys:
            assert time.monotonic() < end, f"does not read: {keys[:40]!r}\n{self._picture()}"
            _, writable, _ = select.select([], [self._keyboard], [], QUIET)
            if writable:
                with suppress(BlockingIOError):
                    keys = keys[os.write(self._keyboard, keys[:1024]) :]
            else:
                self._take()

    def _mouse(self, button: int, column: int, line: int, *, released: bool = False) -> None:
        if self.modes & {1000, 1002, 1003} and 1006 in self.modes:
            self._send(f"\x1b[<{button};{column + 1};{line + 1}{'m' if released else 'M'}".encode())

    def _set_size(self) -> None:
        size = struct.pack("HHHH", self.screen.lines, self.screen.columns, 0, 0)
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, size)

    def _cells(self) -> list[list[str]]:
        """The characters of every visible row, cell by cell; the second cell of a wide one is empty."""
        screen = self.screen
        return [[screen.buffer[line][column].data for column in range(screen.columns)] for line in range(screen.lines)]

    def _picture(self) -> str:
        rows = [f"{number:3}|{row.ljust(self.screen.columns)}|" for number, row in enumerate(self.rows)]
        cursor = f"cursor: line {self.screen.cursor.y}, column {self.screen.cursor.x}"
        return "\n".join([*rows, cursor, f"at last: {bytes(self._raw[-200:])!r}"])


def _text(cells: list[str]) -> str:
    return "".join(cells).rstrip(" ")


def _surroundings(more: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of this test, on a terminal of 256 colours, without what would change how it is drawn on."""
    drawing = re.compile(r"COLORTERM|(NO|FORCE)_COLOR|COLUMNS|LINES|ESCDELAY|TERM_PROGRAM|LC_TERMINAL|(TEXTUAL|TTY)_.*")
    around = {name: value for name, value in surroundings().items() if not drawing.fullmatch(name)}
    return {**around, "TERM": "xterm-256color", **(more or {})}
