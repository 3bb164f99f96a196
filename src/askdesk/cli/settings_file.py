"""A file of another program's settings, changed and put back with care. Knows nothing of what is written in it.

A file is written whole or not at all, with what it was before beside it, and a note of what we made of it: where nobody
changed it since, it is put back to the byte.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from askdesk.core.errors import InvalidSettings, Problem


class Kept(NamedTuple):
    """A file of settings and what we had beside it, to the byte; None where there was no such file."""

    settings: bytes | None
    backup: bytes | None
    note: bytes | None


class SettingsFile(ABC):
    """Where it is a link, what it leads to is changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.real = path.resolve()
        self._backup = self.real.with_name(f"{self.real.name}.askdesk-backup")
        self._note = self.real.with_name(f"{self.real.name}.askdesk-installed")
        self.raw = self._read(self.real)

    @property
    def text(self) -> str:
        return "" if self.raw is None else self.raw.decode("utf-8", "replace")

    @abstractmethod
    def without_us(self) -> bytes | None:
        """What the file holds without what is ours, for when somebody changed it since we were installed."""

    def uninstalled(self) -> bytes | None:
        """What the file will hold without us: to the byte what it was, unless somebody changed it since."""
        note, backup = self._noted(), self._read(self._backup)
        if note == {"v": 1, "installed": _digest(self.raw), "before": _digest(backup)}:
            return backup
        return self.without_us()

    def install(self, text: str) -> Kept:
        """Write it, and return what was there, for `restore` where it turns out not to work."""
        before = self.uninstalled()
        kept = Kept(self.raw, self._read(self._backup), self._read(self._note))
        self._make_folder()
        self._put(self._backup, before)
        note = {"v": 1, "installed": _digest(text.encode()), "before": _digest(before)}
        self._put(self._note, json.dumps(note).encode())
        self._put(self.real, text.encode())
        self.raw = text.encode()
        return kept

    def restore(self, kept: Kept) -> None:
        """As it was; where somebody changed it meanwhile, as they left it, without us."""
        now = self._read(self.real)
        is_ours, self.raw = now == self.raw, now
        before = kept.settings if is_ours else self.without_us()
        self._put(self.real, before)
        self._put(self._backup, kept.backup)
        self._put(self._note, kept.note)
        self.raw = before

    def uninstall(self) -> None:
        before = self.uninstalled()
        self._put(self.real, before)
        self._put(self._backup, None)
        self._put(self._note, None)
        self.raw = before

    def wrong(self, why: str) -> InvalidSettings:
        return InvalidSettings([Problem(str(self.path), why)])

    def _noted(self) -> object:
        with suppress(ValueError):
            return json.loads(self._read(self._note) or b"")
        return None

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.wrong(f"{error.strerror}") from None

    def _make_folder(self) -> None:
        try:
            self.real.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.wrong(f"its folder cannot be made: {error.strerror}") from None

    def _put(self, path: Path, data: bytes | None) -> None:
        """All of it or nothing: beside it first, safe on the disk, then in its place."""
        try:
            if data is None:
                with suppress(FileNotFoundError):
                    path.unlink()
                return
            mode = self.real.stat().st_mode & 0o777 if self.real.exists() else 0o600
            beside = path.with_name(f"{path.name}.{os.getpid()}")
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise self.wrong(f"{path.name} cannot be written: {error.strerror}") from None


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()
