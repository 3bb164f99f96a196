"""Questions on a screen: what a Sheet looks like. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from askdesk.core.limits import shown_header
from askdesk.core.model import Ask, Option, Question
from askdesk.core.text import Shown, is_blank, shown
from askdesk.surfaces.phrases import answer_words, flaw_words, label_words, number_words, until_words
from askdesk.surfaces.spans import EMPTY, MARGIN, Line, Span, Style, line
from askdesk.surfaces.terminal.page import Row, agent_rows, choice, foot, page
from askdesk.surfaces.terminal.preview import preview_lines
from askdesk.surfaces.terminal.sheet import LEAVING, Sheet
from askdesk.surfaces.terminal.view import Picture, Size, beside, cells, cropped, wrap
from askdesk.surfaces.texts import say

_LEAST_PREVIEW = 5  # rows of a preview below the list, whatever else there is
_BETWEEN: Line = (Span(Shown(" ")), MARGIN)


def picture(sheet: Sheet) -> Picture:
    if sheet.mode == "help":
        back = [line(Span(say("help.back"), "dim"))]
        return page([], _help(sheet), back, _inner(sheet.size), "", sheet.look)
    head = [asker_line(sheet.ask, sheet.size), *_tabs(sheet), EMPTY]
    return page(head, _body(sheet), _foot(sheet), _inner(sheet.size), sheet.row, sheet.look)


def _inner(size: Size) -> Size:
    """A line stays free below the form, so that a terminal does not scroll."""
    return Size(size.columns, max(size.lines - 1, 1))


def asker_line(ask: Ask, size: Size) -> Line:
    """Who asks, about what, and how long it can be answered."""
    asker = ask.asker
    until = (Shown(" "), Span(say("asker.until", when=until_words(ask)), "warning")) if ask.deadline else ()
    project = shown(asker.project.rstrip("/").rsplit("/", 1)[-1])
    parent = (Shown(" "), Span(say("asker.parent", parent=shown(asker.parent)), "dim")) if asker.parent else ()
    where = (Shown(" "), Span(say("asker.project", project=project), "dim")) if project else ()
    return cropped(
        line(Span(say("asker.asks", agent=shown(asker.agent)), "title"), *until, *where, *parent), size.columns
    )


def _tabs(sheet: Sheet) -> list[Line]:
    """Where one is among several questions; what does not fit is left out around the tab one is at."""
    form = sheet.form
    if form.is_lone:
        return []
    tabs = [_tab(sheet, number) for number in range(len(form.questions) + 1)]
    first, last = form.at, form.at
    room = sheet.size.columns - 6
    used = cells(tabs[form.at])
    while True:  # as many neighbours as fit, to the right first
        if last + 1 < len(tabs) and used + cells(tabs[last + 1]) + 1 <= room:
            last += 1
            used += cells(tabs[last]) + 1
        elif first > 0 and used + cells(tabs[first - 1]) + 1 <= room:
            first -= 1
            used += cells(tabs[first]) + 1
        else:
            break
    left = Span(Shown("‹ " if first else "  "), "dim", f"tab:{form.at - 1}")
    right = Span(Shown(" ›" if last + 1 < len(tabs) else ""), "dim", f"tab:{form.at + 1}")
    spans = [span for tab in tabs[first : last + 1] for span in (*tab, Span(Shown(" ")))]
    return [line(left, *spans, right)]


def _tab(sheet: Sheet, number: int) -> Line:
    form, key = sheet.form, f"tab:{number}"
    style: Style = "tab" if number == form.at else ""
    if number == len(form.questions):
        return line(Span(say("tab.review"), style or "dim", key))
    done = form.answers[number] is not None
    mark = Span(Shown(" ✔ " if done else " ○ "), style or ("good" if done else "dim"), key)
    header = shown_header(form.questions[number]) or say("tab.question", number=number + 1)
    return line(mark, Span(Shown(f"{header} "), style, key))


def _body(sheet: Sheet) -> list[Row]:
    if sheet.mode == "leave":
        return _leaving(sheet)
    if sheet.mode == "chat":
        return _chatting(sheet)
    if sheet.form.in_review:
        return _review(sheet)
    question = [*(Row(row) for row in _question(sheet)), Row(EMPTY)]
    if not sheet.has_previews:
        return [*question, *_rows(sheet, sheet.size.columns)]
    if sheet.list_columns < sheet.size.columns:
        return [*question, *_beside(sheet, len(question))]
    return [*question, *_below(sheet, len(question))]


def _question(sheet: Sheet) -> Iterable[Line]:
    question = sheet.form.question
    yield from agent_rows(question.text, sheet.size.columns, "bold")
    if question.multi_select:
        yield line(Span(say("sheet.several"), "dim"))
    if question.kind == "number":
        yield line(Span(number_words(question), "dim"))


def _rows(sheet: Sheet, columns: int) -> list[Row]:
    """Everything that can have the focus."""
    rows: list[Row] = []
    for number, option in enumerate(sheet.form.question.options):
        rows += _option(sheet, number, option, columns)
    rows += _own(sheet, columns)
    if sheet.form.question.default is not None:
        rows += _default(sheet, columns)
    rows.append(Row(EMPTY))
    rows += _note(sheet, columns)
    rows.append(Row(choice("next", sheet.row, _next_words(sheet)), "next"))
    rows.append(Row(choice("chat", sheet.row, say("sheet.chat")), "chat"))
    return rows


def _next_words(sheet: Sheet) -> Shown:
    form = sheet.form
    if form.is_lone:
        return say("sheet.send")
    return say("sheet.review") if form.reviewed or form.at + 1 == len(form.questions) else say("sheet.next")


def _mark(sheet: Sheet, on: bool) -> Span:
    if sheet.form.question.multi_select:
        return Span(Shown("[✔] " if on else "[ ] "), "chosen" if on else "")
    return Span(Shown("● " if on else "○ "), "chosen" if on else "")


def _option(sheet: Sheet, number: int, option: Option, columns: int) -> list[Row]:
    row, on = f"option:{number}", number in sheet.form.here.counted(sheet.form.question)
    focused = sheet.row == row and sheet.mode == "list"
    before = (Span(Shown("❯ " if focused else "  "), "focus"), Span(Shown(f"{number + 1}. ")), _mark(sheet, on))
    label = Span(label_words(option), "focus" if focused else "chosen" if on else "")
    claim = (Shown(" "), Span(Shown(f"({say('option.claim')})"), "good")) if option.recommended else ()
    indent = (Span(Shown(" " * cells(before))), MARGIN)
    rows = wrap(line(*before, label, *claim), columns, indent)
    rows += (
        [(indent[0], *part) for part in agent_rows(option.description, columns - cells(before), "dim")]
        if (option.description)
        else []
    )
    key = f"row:{row}"
    return [Row(tuple(span._replace(key=key) for span in spans), row) for spans in rows]


def _own(sheet: Sheet, columns: int) -> list[Row]:
    question, given = sheet.form.question, sheet.form.here
    focused = sheet.row == "own" and sheet.mode == "list"
    pointer = Span(Shown("❯ " if focused else "  "), "focus")
    if question.kind == "choice":
        before: Line = (pointer, Span(Shown(f"{len(question.options) + 1}. ")), _mark(sheet, given.owned))
    else:
        before = (pointer,)
    rows = field_rows(sheet, "own", before, given.own, _own_hint(sheet), focused, columns)
    if given.flaw(question):
        flaw = line(Shown("  "), Span(flaw_words(question, given.own), "error"))
        rows += [Row(row, "own") for row in wrap(flaw, columns)]
    return rows


def _default(sheet: Sheet, columns: int) -> list[Row]:
    """The agent's suggestion, all of it: it is sent as it stands."""
    on = sheet.form.here.taken
    words = say("sheet.default", value=shown(sheet.form.question.default or ""))
    spans = choice("default", sheet.row, Shown(f"● {words}" if on else words), style="chosen" if on else "")
    return [Row(row, "default") for row in wrap(spans, columns, (Span(Shown("    "), key="row:default"),))]


def _own_hint(sheet: Sheet) -> Shown:
    kind = sheet.form.question.kind
    return say("sheet.own") if kind == "choice" else say("sheet.text") if kind == "text" else say("sheet.number")


def field_rows(sheet: Sheet, row: str, before: Line, text: str, hint: Shown, active: bool, columns: int) -> list[Row]:
    """A field: what was typed, or a hint of what can be; its cursor where it is being typed in."""
    indent = cells(before)
    key = f"row:{row}"
    if not active:
        words = line(Span(shown(text), "chosen")) if not is_blank(text) else line(Span(hint, "dim"))
        rows = wrap((*before, *words), columns, (Span(Shown(" " * indent)),))
        return [Row(tuple(span._replace(key=key) for span in spans), row) for spans in rows]
    lines, (column, at) = sheet.field.lines(columns - indent, active=True)
    if not text:
        lines[0] = line(Span(Shown(" "), "cursor"), Span(hint, "dim"))
    blank = line(Shown(" " * indent))
    return [
        Row((*(before if n == 0 else blank), *spans), row, indent + column if n == at else None)
        for n, spans in enumerate(lines)
    ]


def _note(sheet: Sheet, columns: int) -> list[Row]:
    note, active = sheet.form.here.note, sheet.mode == "note"
    focused = active or (sheet.row == "note" and sheet.mode == "list")
    before = (Span(Shown("❯ " if focused else "  "), "focus"), Span(Shown(f"{say('sheet.note')} "), "dim"))
    return field_rows(sheet, "note", before, note, say("sheet.note_hint"), active, columns)


def _preview(sheet: Sheet, columns: int, height: int) -> list[Line]:
    """A preview in so many columns and at most so many rows, and how much of it there is beyond them."""
    option = sheet.previewed
    if option is None:
        return [line(Span(say("preview.choose"), "dim"))]
    title = cropped(line(Span(say("preview.of", label=label_words(option)), "title")), columns)
    down, right = sheet.scroll
    rows = preview_lines(option.preview or "", sheet.ask.preview_format, columns, start=right)
    room = max(height - 2, 1)
    if len(rows) <= room + 1:
        return [title, *rows]
    down = min(down, len(rows) - room)
    more = line(Span(say("preview.more", first=down + 1, last=min(down + room, len(rows)), count=len(rows)), "dim"))
    return [title, *rows[down : down + room], more]


def _room(sheet: Sheet, above: int) -> int:
    """Rows between what stands above and the foot."""
    return max(_inner(sheet.size).lines - above - 3 - len(_foot(sheet)), _LEAST_PREVIEW)


def _beside(sheet: Sheet, above: int) -> list[Row]:
    columns = sheet.list_columns
    left = _rows(sheet, columns)
    right = _preview(sheet, sheet.preview_columns, max(_room(sheet, above), len(left)))
    height = max(len(left), len(right))
    left += [Row(EMPTY)] * (height - len(left))
    joined = beside([row.line for row in left], right, columns, _BETWEEN)
    return [Row(spans, row.id, row.cursor) for spans, row in zip(joined, left, strict=True)]


def _below(sheet: Sheet, above: int) -> list[Row]:
    rows = _rows(sheet, sheet.size.columns)
    room = max(_room(sheet, above) - len(rows) - 1, _LEAST_PREVIEW)
    preview = _preview(sheet, sheet.preview_columns, room)
    options = [number for number, row in enumerate(rows) if row.id.startswith("option")]
    at = options[-1] + 1
    pane = [Row((MARGIN, *spans)) for spans in preview]
    return [*rows[:at], *pane, *rows[at:]]


def _review(sheet: Sheet) -> list[Row]:
    form = sheet.form
    rows = [Row(line(Span(say("review.title"), "bold"))), Row(EMPTY)]
    for number, question in enumerate(form.questions):
        rows += _reviewed(sheet, number, question)
    rows.append(Row(EMPTY))
    if form.blanks:
        words = say("review.blanks", count=len(form.blanks), of=len(form.questions))
        rows += [Row(row) for row in wrap(line(Span(words, "warning")), sheet.size.columns)]
    send = say("review.send_partly", count=len(form.blanks)) if form.blanks else say("review.send")
    rows.append(Row(choice("send", sheet.row, send), "send"))
    rows.append(Row(choice("chat", sheet.row, say("sheet.chat")), "chat"))
    return rows


def _reviewed(sheet: Sheet, number: int, question: Question) -> list[Row]:
    row, columns = f"question:{number}", sheet.size.columns
    answer, given = sheet.form.answers[number], sheet.form.given[number]
    mark = Span(Shown("✔ " if answer else "○ "), "good" if answer else "warning")
    words = Span(shown(question.text), "focus" if sheet.row == row else "")
    asked = line(Span(Shown("❯ " if sheet.row == row else "  "), "focus"), Shown(f"{number + 1}. "), mark, words)
    indent = (Span(Shown("       ")),)
    if given.flaw(question):
        said = line(*indent, Span(flaw_words(question, given.own), "error"))
    else:
        said = line(*indent, Span(answer_words(answer), "chosen" if answer else "warning"))
    rows = [*wrap(asked, columns, (*indent, MARGIN)), *wrap(said, columns, (*indent, MARGIN))]
    return [Row(tuple(span._replace(key=f"row:{row}") for span in spans), row) for spans in rows]


def _chatting(sheet: Sheet) -> list[Row]:
    columns = sheet.size.columns
    rows = [Row(line(Span(say("chat.title"), "bold"))), Row(EMPTY)]
    rows += field_rows(sheet, "chat", (Span(Shown("❯ "), "focus"),), sheet.message, say("chat.hint"), True, columns)
    rows.append(Row(EMPTY))
    kept = [(number, answer) for number, answer in enumerate(sheet.form.answers) if answer]
    if kept:
        rows.append(Row(line(Span(say("chat.along"), "dim"))))
    for number, answer in kept:
        header = shown_header(sheet.form.questions[number]) or say("tab.question", number=number + 1)
        rows += [Row(row) for row in wrap(line(Shown(f"  {header}: "), answer_words(answer)), columns)]
    return rows


def _leaving(sheet: Sheet) -> list[Row]:
    rows = [Row(line(Span(say("leave.title"), "bold"))), Row(EMPTY)]
    for number, row in enumerate(LEAVING, 1):
        words = Shown(f"{number}. {say(f'leave.{row}')}")
        rows.append(Row(choice(row, sheet.row, words), row))
    if not is_blank(sheet.message):
        words = say("leave.message", message=shown(sheet.message))
        rows += [Row(EMPTY), *(Row(row) for row in wrap(line(Span(words, "dim")), sheet.size.columns))]
    return rows


def _foot(sheet: Sheet) -> list[Line]:
    return foot(sheet.said, _keys(sheet), sheet.size)


def _keys(sheet: Sheet) -> list[tuple[str, str]]:
    """The keys that do something here, the most useful first."""
    match sheet.mode:
        case "chat":
            return [("enter", "decline"), ("newline", "newline"), ("editor", "editor"), ("escape", "back")]
        case "note":
            return [("enter", "done"), ("newline", "newline"), ("editor", "editor"), ("escape", "done")]
        case "leave":
            return [("updown", "move"), ("enter", "take"), ("escape", "stay")]
        case _:
            pass
    on = [] if sheet.form.is_lone else [("tab", "switch")]
    if sheet.form.in_review:
        return [("enter", "take"), ("escape", "leave"), ("updown", "move"), *on]
    if sheet.row == "own":
        return [("enter", "use"), ("newline", "newline"), ("editor", "editor"), *on, ("escape", "leave_field")]
    if sheet.row in ("note", "next", "chat", "default"):
        return [("enter", "take"), ("escape", "leave"), ("help", "help"), ("updown", "move"), *on, ("n", "note")]
    several = [("space", "toggle"), ("send", _enter(sheet) if sheet.form.is_lone else "go_on")]
    take = several if sheet.form.question.multi_select else [("enter", _enter(sheet)), ("space", "mark")]
    read = [("page", "read"), ("o", "browser")] if sheet.has_previews else []
    return [*take, ("escape", "leave"), ("help", "help"), ("updown", "move"), *on, *read, ("n", "note")]


def _enter(sheet: Sheet) -> str:
    if sheet.form.question.multi_select:
        return "just_send"
    return "send" if sheet.form.is_lone else "choose"


def _help(sheet: Sheet) -> list[Row]:
    rows = [line(Span(say("help.title"), "title")), EMPTY]
    for name in _HELP:
        rows += wrap(line(Shown("  "), say(f"help.{name}")), sheet.size.columns, (Span(Shown("    ")),))
    return [Row(row) for row in rows]


_HELP = (
    "move",
    "choose",
    "send",
    "digits",
    "own",
    "note",
    "tabs",
    "preview",
    "chat",
    "editor",
    "anew",
    "escape",
    "mouse",
)
