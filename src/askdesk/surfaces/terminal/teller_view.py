"""Telling an agent something unasked: what a Teller looks like. Pure."""

from __future__ import annotations

from datetime import datetime

from askdesk.core.text import Shown
from askdesk.core.work import Working
from askdesk.surfaces.spans import EMPTY, Line, Span, line
from askdesk.surfaces.telling import agent_words, since_words
from askdesk.surfaces.terminal.page import Row, choice, foot, page
from askdesk.surfaces.terminal.teller import STOPPING, Teller
from askdesk.surfaces.terminal.view import Picture, Size, wrap
from askdesk.surfaces.texts import say


def picture(teller: Teller, now: datetime, size: Size) -> Picture:
    match teller.mode:
        case "choose":
            return _choosing(teller, now, size)
        case "write":
            return _writing(teller, now, size)
        case "stop":
            return _stopping(teller, size)


def _choosing(teller: Teller, now: datetime, size: Size) -> Picture:
    rows = [Row(choice(agent.address, teller.row, _about(agent, now)), agent.address) for agent in teller.agents]
    keys = [("updown", "move"), ("enter", "take"), ("escape", "back")]
    return page(_head(say("tell.whom")), rows, foot(teller.said, keys, size), size, teller.row, 0)


def _about(agent: Working, now: datetime) -> Shown:
    return Shown(f"{agent_words(agent.asker)} · {since_words(agent, now)}")


def _head(title: Shown) -> list[Line]:
    return [line(Span(title, "title")), EMPTY]


def _writing(teller: Teller, now: datetime, size: Size) -> Picture:
    title = say("tell.title", agent=agent_words(teller.to.asker)) if teller.to else Shown("")
    since = since_words(teller.to, now) if teller.to else Shown("")
    head = [line(Span(title, "title")), line(Span(since, "dim")), EMPTY]
    keys = [("enter", "tell"), ("escape", "back"), ("newline", "newline"), ("stop", "stop_agent")]
    if len(teller.agents) > 1:
        keys = [*keys, *[("tab", "other_agent")]]
    return page(head, _typed(teller, size), foot(teller.said, keys, size), size, "field", 0)


def _typed(teller: Teller, size: Size) -> list[Row]:
    lines, (column, at) = teller.field.lines(size.columns - 4, active=True)
    if not teller.field.text:
        lines[0] = line(Span(Shown(" "), "cursor"), Span(say("tell.hint"), "dim"))
    marks = [Span(Shown("❯ " if number == 0 else "  "), "focus") for number in range(len(lines))]
    return [
        Row((mark, *spans), "field", 2 + column if number == at else None)
        for number, (mark, spans) in enumerate(zip(marks, lines, strict=True))
    ]


def _stopping(teller: Teller, size: Size) -> Picture:
    who = agent_words(teller.to.asker) if teller.to else Shown("")
    rows = [Row(row) for row in wrap(line(say("tell.stop_hint")), size.columns)]
    rows += [Row(EMPTY)]
    words = {"back": say("tell.stop_back"), "stop": say("tell.stop_now")}
    rows += [Row(choice(row, teller.row, words[row]), row) for row in STOPPING]
    keys = [("updown", "move"), ("enter", "take"), ("escape", "back")]
    return page(_head(say("tell.stop_whom", agent=who)), rows, foot(teller.said, keys, size), size, teller.row, 0)
