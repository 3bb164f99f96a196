"""Calls out of logs on a terminal: what was offered, what was chosen, when, and how long it took. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

from askdesk.core.limits import shown_header
from askdesk.core.model import Answer, Answered, Declined, Expired, Option, Permission, Question, Withdrawn
from askdesk.core.text import Shown, shown
from askdesk.surfaces.asker import lasted, project_name
from askdesk.surfaces.call import call_lines
from askdesk.surfaces.phrases import answer_words, label_words
from askdesk.surfaces.spans import EMPTY, MARGIN, Line, Span, Style, line
from askdesk.surfaces.terminal.page import agent_rows
from askdesk.surfaces.terminal.preview import preview_lines
from askdesk.surfaces.terminal.view import beside, cropped, wrap
from askdesk.surfaces.texts import say
from askdesk.wire.ending import Ending, Interrupted, Refused, Told, Unanswered
from askdesk.wire.transcript import Call

_INDENT = Span(Shown("  "))
_NARROWEST = 30  # columns in which a preview can be read beside another
_MOST_ROWS = 40  # of a preview; the rest is in the file that is named
_BETWEEN: Line = (Span(Shown(" ")), MARGIN)


def log_lines(call: Call, columns: int) -> Iterable[Line]:
    """A call in rows of at most so many columns."""
    yield from wrap(_title(call), columns, (_INDENT, MARGIN))
    yield from wrap(line(_INDENT, Span(ended_how(call), _style(call.ended))), columns, (_INDENT,))
    yield from wrap(line(_INDENT, Span(shown(str(call.place)), "dim")), columns, (_INDENT, MARGIN))
    if isinstance(call.body, Permission):
        yield from _broken(call, call.body, columns)
    else:
        answers = _answers(call.ended, len(call.body.items))
        for question, answer in zip(call.body.items, answers, strict=True):
            yield EMPTY
            yield from _question(question, answer, isinstance(call.ended, Answered), columns)
    yield from _said(call.ended, columns)


def _title(call: Call) -> Line:
    asker = call.asker
    where = say("log.in_project", project=shown(project_name(asker))) if asker.project else Shown("")
    parent = say("log.for_parent", parent=shown(asker.parent)) if asker.parent else Shown("")
    parts = [Span(say("log.title", agent=shown(asker.agent)), "title"), Span(where), Span(parent, "dim")]
    parts.append(Span(moment_words(call.asked), "dim"))
    spans = [part for span in parts if span.text for part in (span, Span(Shown("  ")))]
    return line(*spans[:-1])


def moment_words(at: datetime | None) -> Shown:
    """A time on the reader's clock."""
    return Shown(f"{at.astimezone():%Y-%m-%d %H:%M:%S}") if at else say("log.at_unknown")


def ended_how(call: Call) -> Shown:
    """How it ended, and after how long."""
    how = ending_words(call.ended)
    if call.took is None or isinstance(call.ended, Refused):
        return how
    return say("log.ended", how=how, span=Shown(lasted(call.took)))


def ending_words(ended: Ending | None) -> Shown:
    match ended:
        case Answered(answers):
            return _answered_words(answers)
        case Declined():
            return say("log.declined")
        case Expired():
            return say("log.expired")
        case Withdrawn():
            return say("log.withdrawn")
        case Interrupted():
            return say("log.interrupted")
        case Unanswered():
            return say("log.unanswered")
        case Refused():
            return say("log.refused")
        case Told():
            return say("log.told")
        case None:
            return say("log.open")
        case _:
            assert_never(ended)


def _answered_words(answers: tuple[Answer | None, ...]) -> Shown:
    given = [answer for answer in answers if answer]
    if any(answer.other for answer in given):
        return say("log.own_words")
    if any(answer.note for answer in given):
        return say("log.with_note")
    return say("log.answered") if len(given) == len(answers) else say("log.partly")


def _style(ended: Ending | None) -> Style:
    match ended:
        case Answered():
            return "good"
        case Refused():
            return "error"
        case _:
            return "warning"


def _answers(ended: Ending | None, count: int) -> Sequence[Answer | None]:
    match ended:
        case Answered(answers) | Declined(so_far=answers) if answers:
            return answers
        case _:
            return [None] * count


def _question(question: Question, answer: Answer | None, is_sent: bool, columns: int) -> Iterable[Line]:
    header = shown_header(question)
    tag = Span(Shown(f"[{header}] " if header else ""), "dim")
    for row in shown(question.text, lines=True).split("\n"):
        yield from wrap(line(_INDENT, MARGIN, tag, Span(Shown(row), "bold")), columns, (_INDENT, MARGIN))
        tag = Span(Shown(""))
    for option in question.options:
        yield from _option(option, answer is not None and option.label in answer.chosen, columns)
    if any(option.preview for option in question.options):
        yield from _previews(question, answer, columns)
    if answer is not None:
        label = "log.answer" if is_sent else "log.so_far"
        yield from wrap(_labelled(label, answer_words(answer), "chosen"), columns, (_INDENT, MARGIN))


def _labelled(key: str, words: Shown, style: Style = "") -> Line:
    return line(_INDENT, Span(Shown(f"{say(key)} "), "dim"), Span(words, style))


def _option(option: Option, on: bool, columns: int) -> Iterable[Line]:
    mark = Span(Shown("    ✔ " if on else "    ○ "), "chosen" if on else "dim")
    claim = (Shown(" "), Span(Shown(f"({say('option.claim')})"), "dim")) if option.recommended else ()
    indent = (Span(Shown("      ")), MARGIN)
    yield from wrap(line(mark, Span(label_words(option), "chosen" if on else ""), *claim), columns, indent)
    if option.description:
        yield from ((indent[0], *row) for row in agent_rows(option.description, columns - 6, "dim"))


def _previews(question: Question, answer: Answer | None, columns: int) -> Iterable[Line]:
    """Side by side, as many as there is room for; the chosen one is marked."""
    shown_ones = [option for option in question.options if option.preview]
    across = max(1, min(len(shown_ones), (columns - 4) // (_NARROWEST + 3)))
    wide = (columns - 4 - 3 * (across - 1)) // across
    for at in range(0, len(shown_ones), across):
        yield EMPTY
        boxes = [_preview(option, answer, wide) for option in shown_ones[at : at + across]]
        rows = boxes[0]
        for number, box in enumerate(boxes[1:], 1):
            rows = beside(rows, box, number * (wide + 3) - 3, _BETWEEN)
        yield from ((_INDENT, MARGIN, *row) for row in rows)
    yield EMPTY


def _preview(option: Option, answer: Answer | None, columns: int) -> list[Line]:
    on = answer is not None and option.label in answer.chosen
    title = line(Span(Shown("✔ " if on else "○ "), "chosen" if on else "dim"), Span(label_words(option), "title"))
    rows = preview_lines(option.preview or "", "markdown", columns)
    more = [line(Span(say("preview.more", first=1, last=_MOST_ROWS, count=len(rows)), "dim"))]
    kept = [*rows[:_MOST_ROWS], *(more if len(rows) > _MOST_ROWS else [])]
    return [cropped(row, columns) for row in (title, *kept)]


def _said(ended: Ending | None, columns: int) -> Iterable[Line]:
    match ended:
        case Declined(message):
            return _words("log.said", message, columns)
        case Withdrawn(message) | Unanswered(message) | Refused(message):
            return _words("log.why", message, columns)
        case Told(text):
            return _words("log.whole", text, columns)
        case Answered() | Expired() | Interrupted() | None:
            return ()
        case _:
            assert_never(ended)


def _words(key: str, text: str, columns: int) -> Iterable[Line]:
    if not text:
        return
    yield EMPTY
    if "\n" not in text:
        yield from wrap(_labelled(key, shown(text)), columns, (_INDENT, MARGIN))
        return
    yield line(_INDENT, Span(say(key), "dim"))
    yield from ((_INDENT, *row) for row in agent_rows(text, columns - 2))


def _broken(call: Call, body: Permission, columns: int) -> Iterable[Line]:
    """A call that is not one of questions as we know them: what is wrong, and all of it."""
    yield EMPTY
    yield from wrap(_labelled("log.problem", shown(call.problem), "error"), columns, (_INDENT, MARGIN))
    yield line(_INDENT, Span(say("log.call"), "dim"))
    for spans in call_lines(body):
        yield from ((_INDENT, MARGIN, *row) for row in wrap(spans, columns - 4))
