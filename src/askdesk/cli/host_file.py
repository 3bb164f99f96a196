"""A host's own file of settings, with our entries put in and taken out: text around them is never changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from askdesk.cli.edit import Entries, edited
from askdesk.cli.hosts import Host, Place, Scope
from askdesk.cli.settings_file import SettingsFile
from askdesk.core.errors import InvalidSettings, Problem

_T = TypeVar("_T")
_WRITABLE = 0o200


class HostFile(SettingsFile):
    """The settings of a host, for all projects or for the project in this folder."""

    def __init__(self, host: Host, scope: Scope) -> None:
        path = host.path(scope, Place.here())
        if path is None:
            raise InvalidSettings([Problem("--project", f"{host.title} has no settings of a project")])
        self.host = host
        super().__init__(path)
        if scope == "project" and not self.real.is_relative_to(path.parent.parent.resolve()):
            raise self.wrong("leads out of the project, and was not touched")

    def entry(self) -> Any:
        """The entry of our server, or None."""
        return self._understood(lambda text: self.host.written.entry(text, self.host.where))

    def has_ours(self) -> bool:
        """Whether anything in it is ours."""
        wheres = list(self.host.entries(None))
        return self._understood(lambda text: any(self.host.written.entry(text, where) is not None for where in wheres))

    def installed(self, entries: Entries) -> str:
        """What the file will hold."""
        self._check_writable()
        return self._understood(lambda text: edited(self.host.written, text, entries))

    def without_us(self) -> bytes | None:
        if self.raw is None:
            return None
        return self.installed(self.host.entries(None)).encode()

    def _understood(self, look: Callable[[str], _T]) -> _T:
        try:
            text = (self.raw or b"").decode("utf-8")
            if self.host.is_strict and text.strip():
                json.loads(text)
            return look(text)
        except ValueError as error:
            raise self.wrong(f"is not understood, and was not touched: {error}") from None

    def _check_writable(self) -> None:
        """It would be replaced by a new one, whatever its owner meant by that."""
        if self.raw is not None and not self.real.stat().st_mode & _WRITABLE:
            raise self.wrong("is read-only, and was not touched")
