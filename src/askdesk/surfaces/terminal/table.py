"""Asks in a listing, a line each: for a terminal, so every column of agent text is shown() and cut."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from datetime import datetime, timedelta

from askdesk.core.model import Ask, Asker, Entry
from askdesk.core.text import Shown, cut, shown, width

_WIDTHS = (8, 6, 14, 20)
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def table(entries: Iterable[Entry], now: datetime, columns: int = 10_000) -> Iterable[str]:
    """A heading, then a line for each entry, none wider than so many columns."""
    for line in _lines(entries, now):
        yield cut(line, columns)


def _lines(entries: Iterable[Entry], now: datetime) -> Iterable[Shown]:
    yield _row("ID", "AGE", "AGENT", "PROJECT", "ASK")
    for entry in entries:
        ask = entry.ask
        project = os.path.basename(ask.asker.project.rstrip("/")) or ask.asker.project
        yield _row(ask.id[: _WIDTHS[0]], age(now - ask.created), ask.asker.agent, project, _what(entry))


def age(span: timedelta) -> str:
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def is_gone(asker: Asker) -> bool:
    """Whether the process that asked has ended; only its own machine can tell."""
    if asker.process is None or asker.host != socket.gethostname():
        return False
    try:
        os.kill(asker.process, 0)
    except (ProcessLookupError, OverflowError):  # or a number that no process has
        return True
    except OSError:  # it lives, as somebody else's
        return False
    return False


def _what(entry: Entry) -> str:
    if entry.settlement:
        return f"{entry.settlement.summary}: {_subject(entry.ask)}"
    return f"{_subject(entry.ask)}{' [its process is gone]' if is_gone(entry.ask.asker) else ''}"


def _subject(ask: Ask) -> str:
    if ask.permission:
        return f"permission for {ask.permission.tool}"
    more = f" (+{len(ask.questions) - 1} more)" if len(ask.questions) > 1 else ""
    return f"{cut(shown(ask.questions[0].text), 60)}{more}"


def _row(*texts: str) -> Shown:
    columns = [_column(text, cells) for text, cells in zip(texts[:-1], _WIDTHS, strict=True)]
    return Shown("  ".join([*columns, shown(texts[-1])]).rstrip())


def _column(text: str, cells: int) -> str:
    fitting = cut(shown(text), cells)
    return fitting + " " * (cells - width(fitting))
