"""Where transcripts lie, and their lines: read in pieces, so that no file and no line is too long for the memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from askdesk.cli.command import say
from askdesk.core.errors import InvalidAsk
from askdesk.wire.transcript import LONGEST, Call, Log, Reader

_PIECE = 1024 * 1024
_ENDINGS = (".jsonl", ".json")
_BESIDE = ".meta.json"  # what Claude Code keeps beside a subagent's transcript
STDIN = "-"


def transcripts_folder(environ: Mapping[str, str]) -> Path:
    """Where this user's Claude Code keeps its transcripts."""
    home = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(home) if home else Path.home() / ".claude") / "projects"


def found(paths: Iterable[str]) -> list[str]:
    """The files that were named, and all transcripts and logs in folders that were: the oldest first."""
    files = dict.fromkeys(file for path in paths for file in _within(path))
    return sorted(files, key=lambda name: (written_at(name), name))


def _within(path: str) -> Iterable[str]:
    if path != STDIN and not os.path.exists(path):
        raise InvalidAsk(f"{path}: there is no such file or folder")
    if not os.path.isdir(path):
        return (path,)
    walk = os.walk(path, onerror=_tell)
    return (os.path.join(folder, name) for folder, _, names in walk for name in names if _is_log(name))


def _is_log(name: str) -> bool:
    return name.endswith(_ENDINGS) and not name.endswith(_BESIDE)


def _tell(error: OSError) -> None:
    """A folder that cannot be looked into keeps nobody from the others."""
    say(f"{error.filename}: {error.strerror}")


def written_at(path: str) -> float:
    """When a file was written last; 0 for standard input, and for a file that is gone meanwhile."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


class LogFile:
    """One file, read as far as it goes; read again, it goes on where it ended."""

    def __init__(self, log: Log, path: str) -> None:
        self.path = path
        self._log = log
        self._start_over()

    def _start_over(self) -> None:
        self._reader: Reader = self._log.file(_name(self.path))
        self._offset = 0
        self._begun: list[bytes] = []  # the pieces of a line whose end has not come
        self._size = 0

    def read(self) -> Iterator[Call | int]:
        """The calls that ended, and after each piece how many bytes it had."""
        try:
            if self.path == STDIN:
                yield from self._pieces(sys.stdin.buffer)
                return
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self._offset:  # cut off, or another file of this name
                    self._start_over()
                if self._offset:  # a pipe has a beginning alone
                    file.seek(self._offset)
                yield from self._pieces(file)
        except OSError as error:
            self._log.flawed(self._reader.place, error.strerror or str(error))

    def _pieces(self, file: BinaryIO) -> Iterator[Call | int]:
        while piece := file.read(_PIECE):
            self._offset += len(piece)
            first, *lines = piece.split(b"\n")
            self._add(first)
            if lines:
                yield from self._end_line()
                for line in lines[:-1]:
                    yield from self._reader.feed(line)
                self._add(lines[-1])
            yield len(piece)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > LONGEST:
            self._begun.clear()
        else:
            self._begun.append(piece)

    def _end_line(self) -> Iterable[Call]:
        line, size = b"".join(self._begun), self._size
        self._begun, self._size = [], 0
        if size > LONGEST:
            self._reader.skip(f"is longer than {LONGEST} bytes")
            return ()
        return self._reader.feed(line)

    def end(self) -> Iterable[Call]:
        """Nothing more will come: a last line need not have an end."""
        yield from self._end_line() if self._size else ()
        self._reader.end()


def _name(path: str) -> str:
    """A path as a text: a file's name may be any bytes."""
    return "standard input" if path == STDIN else os.fsencode(path).decode("utf-8", "backslashreplace")
