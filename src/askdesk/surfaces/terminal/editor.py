"""The person's own editor, for what is being typed."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from askdesk.core.errors import InvalidReply
from askdesk.core.text import shown
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.texts import say

_USUAL = ("nano", "vi", "vim", "emacs")


def command() -> list[str] | None:
    """The editor as VISUAL or EDITOR names it, else a usual one."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(name, ""))
        except ValueError as error:  # a quote without its other half
            raise InvalidReply(say("sheet.editor_failed", why=shown(f"{name}: {error}"))) from None
        if words:
            return words
    found = next((path for name in _USUAL if (path := shutil.which(name))), None)
    return [found] if found else None


async def edited(edit: Edit) -> str:
    """The text as it comes back from the editor; InvalidReply, saying why, where it does not."""
    if not (editor := command()):
        raise InvalidReply(say("sheet.no_editor"))
    try:
        with tempfile.TemporaryDirectory(prefix="askdesk-") as folder:
            path = Path(folder) / f"text{edit.suffix}"
            path.write_text(edit.text, "utf-8")
            path.chmod(0o600)
            await _run([*editor, str(path)])
            return path.read_text("utf-8", "replace")
    except OSError as error:
        raise InvalidReply(say("sheet.editor_failed", why=shown(str(error.strerror or error)))) from None


async def _run(words: list[str]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*words)
    except OSError as error:
        raise InvalidReply(say("sheet.editor_failed", why=shown(f"{words[0]}: {error.strerror}"))) from None
    if code := await process.wait():
        raise InvalidReply(say("sheet.editor_failed", why=shown(f"{words[0]} ended with {code}")))
