"""The inbox: what an Inbox looks like. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from askdesk.core.model import Answered, Ask, Entry
from askdesk.core.text import Shown, shown
from askdesk.surfaces.asker import age, is_gone, project_name
from askdesk.surfaces.phrases import answers_line, ended_words, subject, until_words
from askdesk.surfaces.snooze import SPANS
from askdesk.surfaces.spans import EMPTY, Line, Span, Style, line, styled
from askdesk.surfaces.terminal import teller_view
from askdesk.surfaces.terminal.inbox import Inbox
from askdesk.surfaces.terminal.page import Row, choice, foot, page
from askdesk.surfaces.terminal.proposal import proposal_rows
from askdesk.surfaces.terminal.started import drawn
from askdesk.surfaces.terminal.view import Picture, cropped, padded, wrap
from askdesk.surfaces.texts import say


def picture(inbox: Inbox) -> Picture:
    if inbox.dialog:
        return drawn(inbox.dialog)
    match inbox.mode:
        case "read":
            return _read(inbox)
        case "recommended":
            return _recommended(inbox)
        case "decline":
            return _declining(inbox)
        case "snooze":
            return _snoozing(inbox)
        case "tell" if inbox.teller:
            return teller_view.picture(inbox.teller, inbox.now, inbox.size)
        case "help":
            return _help(inbox)
        case _:
            return _list(inbox)


def _title(inbox: Inbox) -> Line:
    here = say("inbox.settled") if inbox.look_back else say("inbox.open", count=len(inbox.open) - inbox.hidden)
    there = say("inbox.open", count=len(inbox.open) - inbox.hidden) if inbox.look_back else say("inbox.settled")
    tabs = [Span(Shown(f" {here} "), "tab"), Span(Shown(f" {there} "), "dim", "tab")]
    counts: list[Span] = []
    if inbox.hidden:
        counts.append(Span(say("inbox.hidden", count=inbox.hidden), "dim"))
    if inbox.working:
        counts.append(Span(say("inbox.at_work", count=len(inbox.working)), "dim"))
    if inbox.marked:
        counts.append(Span(say("inbox.marked", count=len(inbox.marked)), "chosen"))
    return line(Span(Shown("askdesk "), "title"), *(tabs[::-1] if inbox.look_back else tabs), *counts)


def _list(inbox: Inbox) -> Picture:
    entries = inbox.visible
    end = foot(inbox.said, _keys(inbox), inbox.size)
    room = max(inbox.size.lines - 2 - len(end), 1)
    top = max(0, min(inbox.index - room // 2, len(entries) - room))
    rows = [_row(inbox, entry) for entry in entries[top : top + room]]
    if not rows:
        rows = [line(Span(say("inbox.nothing_settled" if inbox.look_back else "inbox.nothing"), "dim"))]
    place = say("inbox.place", number=inbox.index + 1, count=len(entries)) if len(entries) > room else Shown("")
    lines = [_title(inbox), line(Span(place, "dim")), *rows]
    lines += [EMPTY] * (inbox.size.lines - len(lines) - len(end))
    return Picture(tuple(cropped(spans, inbox.size.columns) for spans in (*lines, *end)))


def _row(inbox: Inbox, entry: Entry) -> Line:
    ask = entry.ask
    focused = ask.id == inbox.at
    style: Style = "focus" if focused else ""
    mark = "✔" if ask.id in inbox.marked else "z" if inbox.is_snoozed(ask.id) else " "
    kind = Span(Shown("!" if ask.permission else "?"), "warning" if ask.permission else "good")
    before = line(Span(Shown("❯" if focused else " "), "focus"), Span(Shown(mark), "chosen"), kind, Shown(" "))
    names = [_column(text, cells) for text, cells in _columns(inbox, ask)]
    spans = (*before, *(Span(name, style or "dim") for name in names), Span(what(entry), style))
    return styled(spans, "", f"row:{ask.id}")


def _columns(inbox: Inbox, ask: Ask) -> list[tuple[Shown, int]]:
    """Age, asker and project, as far as there is room for them beside the question."""
    project = shown(project_name(ask.asker))
    columns = [(Shown(age(inbox.now - ask.created)), 4), (shown(ask.asker.agent), 12), (project, 14)]
    return columns[: 1 if inbox.size.columns < 50 else 2 if inbox.size.columns < 72 else 3]


def _column(text: Shown, cells: int) -> Shown:
    fitting = cropped((Span(text),), cells)
    return Shown("".join(span.text for span in padded(fitting, cells + 2)))


def what(entry: Entry) -> Shown:
    ask = entry.ask
    if ask.permission:
        words = say("inbox.permission", tool=subject(ask), input=_gist(ask))
    else:
        more = len(ask.questions) - 1
        words = say("inbox.more", what=subject(ask), count=more) if more else subject(ask)
    if entry.settlement:
        outcome = entry.settlement.outcome
        said = answers_line(ask, outcome.answers) if isinstance(outcome, Answered) else words
        return say("inbox.ended", how=ended_words(entry.settlement), what=said)
    if ask.deadline:
        words = say("inbox.until", what=words, when=until_words(ask))
    return say("inbox.gone", what=words) if is_gone(ask.asker) else words


def _gist(ask: Ask) -> Shown:
    """The first text of a call's input: enough to know it again, never enough to allow it."""
    value = ask.permission.value if ask.permission else {}
    return next((shown(item) for item in value.values() if isinstance(item, str)), Shown(""))


def _keys(inbox: Inbox) -> list[tuple[str, str]]:
    both = [("enter", "open"), ("help", "help"), ("tab", "other_list"), ("q", "quit")]
    told = [("t", "tell_agent")] if inbox.working else []
    acts = [("space", "mark_ask"), ("r", "recommended"), ("d", "decline_ask"), ("s", "snooze")]
    return [*both, *told, *([] if inbox.look_back else acts)]


def _read(inbox: Inbox) -> Picture:
    end = foot(inbox.said, [("page", "read"), ("escape", "back")], inbox.size)
    return page(_place(inbox), _seen(inbox, inbox.read_rows()), end, inbox.size, "", 0)


def _place(inbox: Inbox) -> list[Line]:
    passage = inbox.passage
    place = say("decision.place", first=passage.top + 1, last=passage.bottom, count=passage.rows)
    return [line(Span(place, "title")), EMPTY]


def _seen(inbox: Inbox, rows: Iterable[Line]) -> list[Row]:
    """The part of the rows that is on the screen, each with a name, so that it is known what was seen."""
    passage = inbox.passage
    return [Row(row, seen=f"row:{number}") for number, row in enumerate(rows)][passage.top : passage.bottom]


def _recommended(inbox: Inbox) -> Picture:
    count = sum(reply is not None for _, reply in inbox.proposed)
    end = [EMPTY]
    end.append(choice("send", inbox.row, say("inbox.send_recommended", count=count)))
    end.append(choice("back", inbox.row, say("decision.back")))
    left = inbox.passage.unseen
    said = inbox.said or (say("inbox.unseen", count=left) if left else Shown(""))
    keys = [("page", "read"), ("tab", "move"), ("enter", "take")]
    head = [line(Span(say("inbox.recommended_title"), "title")), EMPTY]
    rows = _seen(inbox, proposal_rows(inbox.proposed, inbox.size.columns))
    return page(head, rows, [*end, *foot(said, keys, inbox.size)], inbox.size, "", 0)


def _declining(inbox: Inbox) -> Picture:
    rows = [Row(line(Span(Shown(f"  {shown(ask.asker.agent)}: "), "dim"), what(Entry(ask)))) for ask in inbox.targets]
    lines, (column, at) = inbox.field.lines(inbox.size.columns - 4, active=True)
    if not inbox.field.text:
        lines[0] = line(Span(Shown(" "), "cursor"), Span(say("inbox.decline_hint"), "dim"))
    for number, spans in enumerate(lines):
        before = Span(Shown("❯ " if number == 0 else "  "), "focus")
        rows.append(Row((before, *spans), "field", 2 + column if number == at else None))
    head = [line(Span(say("inbox.decline_title", count=len(inbox.targets)), "title")), EMPTY]
    keys = [("enter", "decline_ask"), ("escape", "back")]
    return page(head, rows, foot(inbox.said, keys, inbox.size), inbox.size, "field", 0)


def _snoozing(inbox: Inbox) -> Picture:
    rows = [
        Row(choice(row, inbox.row, Shown(f"{number}. {say(f'snooze.{row}')}")), row)
        for number, row in enumerate((*SPANS, "wake"), 1)
    ]
    head = [line(Span(say("snooze.title", count=len(inbox.targets)), "title")), EMPTY]
    keys = [("enter", "take"), ("escape", "back")]
    return page(head, rows, foot(inbox.said, keys, inbox.size), inbox.size, inbox.row, 0)


_HELP = ("move", "open", "mark", "recommended", "decline", "snooze", "tell", "settled", "next", "leave")


def _help(inbox: Inbox) -> Picture:
    rows = [row for name in _HELP for row in wrap(line(Shown("  "), say(f"inbox_help.{name}")), inbox.size.columns)]
    head = [line(Span(say("help.title"), "title")), EMPTY]
    return page(head, [Row(row) for row in rows], [EMPTY, line(Span(say("help.back"), "dim"))], inbox.size, "", 0)


def note_words(entry: Entry) -> Shown:
    """What a bell's note says of a new ask: who, and no more; notes are read on locked screens."""
    return say("inbox.note", agent=shown(entry.ask.asker.agent))
