"""Asks and agents in a listing, a line each: for a terminal, so every column of agent text is shown() and cut."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from askdesk.core.model import Ask, Entry
from askdesk.core.text import Shown, cut, shown, width
from askdesk.core.work import Working
from askdesk.surfaces.asker import age, is_gone, project_name

_WIDTHS = (8, 6, 14, 20)


def table(entries: Iterable[Entry], now: datetime, columns: int = 10_000) -> Iterable[str]:
    """A heading, then a line for each entry, none wider than so many columns."""
    for line in _lines(entries, now):
        yield cut(line, columns)


def _lines(entries: Iterable[Entry], now: datetime) -> Iterable[Shown]:
    yield _row("ID", "AGE", "AGENT", "PROJECT", "ASK")
    for entry in entries:
        ask = entry.ask
        yield _row(ask.id[: _WIDTHS[0]], age(now - ask.created), ask.asker.agent, project_name(ask.asker), _what(entry))


def agent_table(agents: Iterable[Working], now: datetime, columns: int = 10_000) -> Iterable[str]:
    """A heading, then a line for each agent at work."""
    yield cut(_row("ADDRESS", "SINCE", "AGENT", "PROJECT", "SESSION"), columns)
    for agent in agents:
        asker = agent.asker
        since = age(now - agent.since)
        yield cut(_row(agent.address[: _WIDTHS[0]], since, asker.agent, project_name(asker), asker.session), columns)


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
