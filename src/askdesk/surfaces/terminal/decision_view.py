"""A permission on a screen: what a Decision looks like. Pure."""

from __future__ import annotations

from askdesk.core.text import Shown
from askdesk.surfaces.spans import EMPTY, Line, Span, line, styled
from askdesk.surfaces.terminal.decision import TICK, Decision
from askdesk.surfaces.terminal.page import Row, choice, foot, page
from askdesk.surfaces.terminal.sheet_view import asker_line
from askdesk.surfaces.terminal.view import Picture, Size, padded, wrap
from askdesk.surfaces.texts import say


def picture(decision: Decision) -> Picture:
    size = Size(decision.size.columns, max(decision.size.lines - 1, 1))
    if decision.mode == "view":
        return _viewed(decision, size)
    if decision.mode == "help":
        return _help(size)
    head = [asker_line(decision.ask, size), EMPTY]
    return page(head, _body(decision), _foot(decision), size, decision.row, decision.look)


def _body(decision: Decision) -> list[Row]:
    match decision.mode:
        case "change" | "words":
            return _typing(decision)
        case "always":
            return _always(decision)
        case "leave":
            title = [Row(line(Span(say("leave.title"), "bold"))), Row(EMPTY)]
            return [*title, *_choices(decision, "leave")]
        case "changed":
            title = [Row(line(Span(say("decision.changed_title"), "bold")))]
            return [*title, *_call(decision), Row(EMPTY), *_choices(decision, "decision")]
        case _:
            return [*_call(decision), Row(EMPTY), *_choices(decision, "decision")]


def _call(decision: Decision) -> list[Row]:
    """The call, with its middle left out where it is too long, and how much that is."""
    rows, (before, after) = _read(decision), decision.ends
    if len(before) == len(rows):
        return rows
    count = len(rows) - len(before) - len(after)
    if decision.read.unseen:
        gap = Row(line(Span(say("decision.hidden", count=count), "warning", "v")))
    else:
        gap = Row(line(Span(say("decision.hidden_read", count=count), "good", "v")))
    return [*(rows[number] for number in before), gap, *(rows[number] for number in after)]


def _read(decision: Decision) -> list[Row]:
    """What is read, each row with a name, so that it is known which of them were on the screen."""
    return [Row(row, seen=f"call:{number}") for number, row in enumerate(decision.text_rows)]


def _choices(decision: Decision, table: str) -> list[Row]:
    rows: list[Row] = []
    for number, row in enumerate(decision.rows(), 1):
        words = Shown(f"{number}. {say(f'{table}.{row}')}")
        locked = row in ("allow", "change", "always", "run") and not decision.is_seen
        rows.append(Row(choice(row, decision.row, words, style="dim" if locked and row != decision.row else ""), row))
    return rows


def _typing(decision: Decision) -> list[Row]:
    title = "decision.change_title" if decision.mode == "change" else f"decision.{decision.row}_title"
    rows = [Row(line(Span(say(title), "bold"))), Row(EMPTY)]
    lines, (column, at) = decision.field.lines(decision.size.columns - 4, active=True)
    pointer, blank = Span(Shown("❯ "), "focus"), Span(Shown("  "))
    for number, spans in enumerate(lines):
        before = pointer if number == 0 else blank
        rows.append(Row((before, *spans), decision.row, 2 + column if number == at else None))
    return rows


def _always(decision: Decision) -> list[Row]:
    """The suggestions, each with its scope spelled out."""
    rows = [Row(line(Span(say("decision.always_title"), "bold"))), Row(EMPTY)]
    before = -1
    for at, (number, spans) in enumerate(decision.rule_rows):
        start = _tick(decision, number) if number != before else line(Shown(" " * TICK))
        rows.append(Row(styled((*start, *spans), "", f"row:rule:{number}"), f"rule:{number}", seen=f"rule:{at}"))
        before = number
    rows.append(Row(EMPTY))
    for row in ("remember", "back"):
        rows.append(Row(choice(row, decision.row, say(f"decision.{row}", count=len(decision.ticked))), row))
    return rows


def _tick(decision: Decision, number: int) -> Line:
    ticked = number in decision.ticked
    pointer = Span(Shown("❯ " if decision.row == f"rule:{number}" else "  "), "focus")
    mark = Span(Shown("[✔] " if ticked else "[ ] "), "chosen" if ticked else "")
    return padded((pointer, Span(Shown(f"{number + 1}. ")), mark), TICK)


def _viewed(decision: Decision, size: Size) -> Picture:
    """A part of what is read, and where in it that is; VIEWER_ROWS is what stands around it."""
    read = decision.read
    place = say("decision.place", first=read.top + 1, last=read.bottom, count=read.rows)
    left = say("decision.to_read", count=read.unseen) if read.unseen else say("decision.all_read")
    head = [asker_line(decision.ask, size), line(Span(place, "title"))]
    end = [EMPTY, line(Span(left, "warning" if read.unseen else "good")), *foot(Shown(""), _keys(decision), size)[1:2]]
    return page(head, _read(decision)[read.top : read.bottom], end, size, "", 0)


_HELP = ("move", "decide", "letters", "read", "fields", "leave")


def _help(size: Size) -> Picture:
    rows = [row for name in _HELP for row in wrap(line(Shown("  "), say(f"decision_help.{name}")), size.columns)]
    head = [line(Span(say("help.title"), "title")), EMPTY]
    return page(head, [Row(row) for row in rows], [EMPTY, line(Span(say("help.back"), "dim"))], size, "", 0)


def _foot(decision: Decision) -> list[Line]:
    return foot(decision.said, _keys(decision), decision.size)


def _keys(decision: Decision) -> list[tuple[str, str]]:
    match decision.mode:
        case "change":
            return [("enter", "check"), ("newline", "newline"), ("editor", "editor"), ("escape", "back")]
        case "words":
            return [("enter", "deny"), ("newline", "newline"), ("editor", "editor"), ("escape", "back")]
        case "changed":
            view = [("view", "view")] if decision.is_long else []
            return [("updown", "move"), ("enter", "decide"), *view, ("escape", "back")]
        case "view":
            return [("page", "read"), ("escape", "back")]
        case "always":
            return [("updown", "move"), ("space", "toggle"), ("enter", "take"), ("escape", "back")]
        case "leave":
            return [("updown", "move"), ("enter", "take"), ("escape", "stay")]
        case _:
            view = [("view", "view")] if decision.is_long else []
            return [("updown", "move"), ("enter", "decide"), *view, ("escape", "leave"), ("help", "help")]
