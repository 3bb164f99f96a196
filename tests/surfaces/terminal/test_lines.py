"""Lines from and to a person: pipes, files and a terminal, all real."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import pytest
from tests.cli.command import surroundings
from tests.cli.person import Person

from askdesk.core.model import Answer, Answered, Ask, Asker, Permission, Question, Questions, Settlement
from askdesk.core.text import Shown
from askdesk.surfaces.terminal.lines import Lines
from askdesk.surfaces.terminal.plain import PlainSurface
from askdesk.testing.clock import NOON

pytestmark = pytest.mark.anyio


class Pipe(NamedTuple):
    lines: Lines
    writer: int
    screen: io.StringIO


def screen_of(encoding: str) -> tuple[io.BytesIO, TextIO]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    screen = io.StringIO()
    yield Pipe(Lines(reader, screen), writer, screen)
    os.close(reader)


async def test_whole_lines_are_read_one_after_the_other(pipe: Pipe) -> None:
    os.write(pipe.writer, "1\r\n  zwölf \n\n".encode())
    os.close(pipe.writer)

    assert [await pipe.lines.read(Shown(f"{number}: ")) for number in range(4)] == ["1", "  zwölf ", "", None]
    assert pipe.screen.getvalue() == "0: \n1: \n2: \n3: \n"


async def test_what_comes_after_a_line_is_left_in_the_pipe_for_whoever_reads_next() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"1\nof somebody else\n")

    assert await Lines(reader, io.StringIO()).read(Shown("? ")) == "1"
    assert os.read(reader, 100) == b"of somebody else\n"
    os.close(reader)
    os.close(writer)


async def test_a_line_may_come_in_pieces_and_the_loop_goes_on_meanwhile(pipe: Pipe) -> None:
    reading = asyncio.ensure_future(pipe.lines.read(Shown("? ")))
    for piece in (b"Gr\xc3", b"\xbc\xc3\x9f", b"e\n"):
        await asyncio.sleep(0)
        assert not reading.done()
        os.write(pipe.writer, piece)

    assert await reading == "Grüße"
    os.close(pipe.writer)


async def test_a_line_cut_off_in_its_middle_does_not_count(pipe: Pipe) -> None:
    os.write(pipe.writer, b"yes")
    os.close(pipe.writer)

    assert await pipe.lines.read(Shown("? ")) is None


async def test_a_line_without_an_end_does_not_fill_the_memory(pipe: Pipe) -> None:
    os.set_blocking(pipe.writer, False)
    reading = asyncio.ensure_future(pipe.lines.read(Shown("? ")))
    while not reading.done():
        try:
            os.write(pipe.writer, b"1" * 65536)
        except BlockingIOError:
            await asyncio.sleep(0)

    assert await reading is None
    os.close(pipe.writer)


async def test_bytes_that_are_no_text_are_marked(pipe: Pipe) -> None:
    os.write(pipe.writer, b"\xffa\n")
    os.close(pipe.writer)

    assert await pipe.lines.read(Shown("? ")) == "\ufffda"


async def test_a_reader_that_is_cancelled_loses_no_line(pipe: Pipe) -> None:
    reading = asyncio.ensure_future(pipe.lines.read(Shown("? ")))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    os.write(pipe.writer, b"1\n")
    os.close(pipe.writer)

    assert await pipe.lines.read(Shown("? ")) == "1"


async def test_a_pipe_keeps_its_lines_where_a_terminal_forgets_them(pipe: Pipe) -> None:
    os.write(pipe.writer, b"1\n2\n")
    os.close(pipe.writer)

    assert await pipe.lines.read(Shown("? ")) == "1"
    pipe.lines.forget()
    assert await pipe.lines.read(Shown("? ")) == "2"


async def test_a_plain_file_and_nothing_at_all_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("1\n2")
    with file.open("rb") as given, open(os.devnull, "rb") as nothing:  # noqa: ASYNC230
        lines, none = Lines(given.fileno(), io.StringIO()), Lines(nothing.fileno(), io.StringIO())
        assert [await lines.read(Shown("")), await lines.read(Shown("")), await none.read(Shown(""))] == [
            "1",
            None,
            None,
        ]


async def test_a_terminal_forgets_what_was_typed_before() -> None:
    keyboard, terminal = os.openpty()
    lines = Lines(terminal, io.StringIO())
    os.write(keyboard, b"1\nyes\nye")
    assert await lines.read(Shown("? ")) == "1"
    lines.forget()
    os.write(keyboard, b"no\n")

    assert await lines.read(Shown("? ")) == "no"
    os.close(terminal)
    os.close(keyboard)


async def test_a_terminal_that_is_gone_is_the_end_of_input() -> None:
    keyboard, terminal = os.openpty()
    lines = Lines(terminal, io.StringIO())
    os.close(keyboard)
    lines.forget()

    assert await lines.read(Shown("? ")) is None
    os.close(terminal)


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("utf-8", "Größe\n".encode()), ("ascii", b"Gr\\xf6\\xdfe\n"), ("latin-1", "Größe\n".encode("latin-1"))],
)
async def test_what_an_encoding_lacks_is_written_as_an_escape(encoding: str, written: bytes) -> None:
    raw, screen = screen_of(encoding)
    Lines(0, screen).write(Shown("Größe"))

    assert raw.getvalue() == written


async def test_a_screen_that_nobody_reads_is_no_crash() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as screen:
        lines = Lines(0, screen)
        lines.write(Shown("Which database?"))
        lines.write(Shown("Really?"))
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)


async def test_without_a_terminal_there_is_none() -> None:
    code = "from askdesk.surfaces.terminal.lines import Lines; raise SystemExit(Lines.of_terminal() is not None)"
    alone = subprocess.run(  # noqa: ASYNC221
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=surroundings(), check=False
    )
    with Person("-c", code, command=(sys.executable,)) as ana:
        at_one = ana.leaves()

    assert (alone.returncode, at_one.code) == (0, 1)


WHICH = Questions([Question("Which database?", ["SQLite", "Postgres"])])


async def test_a_surface_presents_an_ask_and_returns_the_reply(pipe: Pipe) -> None:
    os.write(pipe.writer, b"4\n2\n")
    os.close(pipe.writer)

    assert await PlainSurface(pipe.lines).present(Ask("a1b2", WHICH, Asker(), NOON)) == Answered([Answer(["Postgres"])])
    assert "There is no number 4 here; choose from 1 to 3.\n" in pipe.screen.getvalue()


async def test_a_surface_allows_nothing_at_the_end_of_input(pipe: Pipe) -> None:
    os.write(pipe.writer, b"y\nyes")
    os.close(pipe.writer)
    call = Ask("a1b2", Permission("Bash", {"command": "ls"}), Asker(), NOON)

    assert await PlainSurface(pipe.lines).present(call) is None


async def test_a_surface_that_lost_says_who_was_first(pipe: Pipe) -> None:
    os.close(pipe.writer)
    settlement = Settlement(Answered([Answer(["SQLite"])]), NOON, "s1", "ben\x1b[2J", "the page")
    PlainSurface(pipe.lines).lost(Ask("a1b2", WHICH, Asker(), NOON), settlement)

    assert pipe.screen.getvalue() == "\nThis ask is closed: answered by ben\\x1b[2J on the page.\n"
