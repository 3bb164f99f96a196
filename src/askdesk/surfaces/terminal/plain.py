"""The plain surface: for pipes, dumb terminals and screen readers. Nothing but lines, top to bottom.

What an agent wrote is indented and goes through shown(), so it cannot pass for the desk's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, assert_never

from askdesk.core import strict
from askdesk.core.errors import named
from askdesk.core.limits import shown_header
from askdesk.core.model import (
    RECOMMENDED,
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Option,
    Permission,
    Question,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.text import shown, shown_json
from askdesk.surfaces.terminal.dialog import Dialog, decide, enter, how_to_answer, prompt
from askdesk.surfaces.terminal.form import Form
from askdesk.surfaces.terminal.lines import Lines


class PlainSurface:
    """Presents asks on a Lines, one after the other."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def present(self, ask: Ask) -> Reply | None:
        """A person's reply; None when the input ends or the person leaves, which is no answer."""
        self._lines.write(f"\n{asker_line(ask.asker)}")
        return await (self._decide(ask.permission) if ask.permission else self._answer(ask))

    def lost(self, ask: Ask, settlement: Settlement) -> None:
        """Somebody else was first."""
        self._lines.forget()  # half a line must not end up in the shell
        self._lines.write(f"\nThis ask is closed: {shown(settlement.summary)}.")

    async def _answer(self, ask: Ask) -> Reply | None:
        dialog = Dialog(Form.start(ask.questions))
        self._show(dialog)
        while (line := await self._lines.read(prompt(dialog))) is not None:
            step = enter(dialog, line)
            if not isinstance(step, Dialog):
                return step
            if step.said:
                self._lines.write(step.said)
            moved = step.form.at != dialog.form.at
            dialog = step
            if moved:
                self._show(dialog)
        return None

    def _show(self, dialog: Dialog) -> None:
        form = dialog.form
        self._lines.write("")
        if form.in_review:
            self._lines.write("\n".join(review_lines(form)))
        else:
            self._lines.write("\n".join(question_lines(form.question, form.at, len(form.questions))))
            if form.answer:
                self._lines.write(f"  Your answer so far: {answer_words(form.answer)}")
            self._lines.write(how_to_answer(form.question))
        self._lines.forget()  # what was typed before this was shown does not answer it

    async def _decide(self, permission: Permission) -> Reply | None:
        self._lines.write("\n".join(permission_lines(permission)))
        self._lines.forget()
        question = 'Allow this call? (only "yes" allows; "no" denies, perhaps with a reason; Enter tells more): '
        while (line := await self._lines.read(question)) is not None:
            decision = decide(line)
            if not isinstance(decision, str):
                return decision
            self._lines.write(decision)
        return None


def asker_line(asker: Asker) -> str:
    parts = [shown(asker.agent), *([f"in {shown(asker.project)}"] if asker.project else [])]
    return f"The agent {' '.join(parts)} asks:"


def question_lines(question: Question, at: int = 0, of: int = 1) -> Iterable[str]:
    """A question with its options, numbered from 1; the number after the last is Other."""
    count = f"Question {at + 1} of {of}. " if of > 1 else ""
    header = shown_header(question)
    yield f"{count}[{header}]" if header else f"{count}".rstrip() or "Question"
    first, *more = _indented(question.text, "  ")
    yield first
    yield from (f"  |{line[1:]}" for line in more)  # marked, so that none can pass for an option
    for number, option in enumerate(question.options, 1):
        yield from option_lines(number, option)
    if question.kind == "choice":
        yield f"  {len(question.options) + 1}. Other: your own words"
    elif question.default is not None:
        yield f"  The agent suggests: {shown(question.default)}"


def option_lines(number: int, option: Option) -> Iterable[str]:
    label = option.label.rstrip()
    if option.recommended:
        label = label[: -len(RECOMMENDED)].rstrip() or label
    yield f"  {number}. {shown(label)}{' (recommended by the agent)' if option.recommended else ''}"
    yield from _indented(option.description, "     ")
    if option.preview:
        yield "     Preview:"
        yield from _indented(option.preview, "     | ")


def review_lines(form: Form) -> Iterable[str]:
    yield "Your answers:"
    for number, (question, answer) in enumerate(zip(form.questions, form.answers, strict=True), 1):
        yield f"  {number}. {shown(question.text)}"
        yield f"     {answer_words(answer)}"
    if form.blanks:
        yield f"Blank: {', '.join(str(number + 1) for number in form.blanks)}. They are sent as blanks."


def answer_words(answer: Answer | None) -> str:
    """An answer for a person to read."""
    if answer is None:
        return "(blank)"
    parts = [*(shown(label) for label in answer.chosen), *([f'"{shown(answer.other)}"'] if answer.other else [])]
    words = ", ".join(parts) or "(nothing chosen)"
    return f"{words}; note: {shown(answer.note)}" if answer.note else words


def permission_lines(permission: Permission) -> Iterable[str]:
    """The whole call, from the text that will run; the agent's own description is marked as its claim."""
    yield f"Permission to use the tool {_exactly(permission.tool)}"
    if permission.folder:
        yield f"  in the folder {_exactly(permission.folder)}"
    yield "  with this input:"
    yield from _input_lines(permission.value)
    if permission.description:
        yield "  The agent says about it (not checked):"
        yield from _indented(permission.description, "    | ")
    if permission.suggestions:
        yield "  It proposes to remember:"
        yield from (f"    | {shown_json(rule)}" for rule in permission.suggestions)
    yield f"  {permission.digest}"


def allowed_lines(permission: Permission, allowed: Allowed) -> Iterable[str]:
    """The call as it was asked for, and as it will run."""
    yield from permission_lines(permission)
    yield from _changed_lines(allowed)


def _changed_lines(allowed: Allowed) -> Iterable[str]:
    if allowed.input is not None:
        yield "  With this input instead:"
        yield from _input_lines(json.loads(allowed.input))


def _input_lines(value: dict[str, Any]) -> Iterable[str]:
    for name, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield f"    {named(name)}:"
            yield from (f"      | {_exactly(line)}" for line in item.split("\n"))
        else:
            yield f"    {named(name)}: {_exactly(item)}"


def _exactly(item: object) -> str:
    """A text as it is where all of it can be seen, else as JSON, where an escape cannot be taken for plain text."""
    if isinstance(item, str) and shown(item, exact=True) == item == item.strip() and not _reads_as_json(item):
        return item
    return shown_json(strict.dumps(item))


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def entry_lines(entry: Entry) -> Iterable[str]:
    """A whole ask, open or settled, for reading only."""
    ask = entry.ask
    yield f"Ask {ask.id} of {ask.created:%Y-%m-%d %H:%M:%S} UTC"
    yield asker_line(ask.asker)
    if ask.permission:
        yield from permission_lines(ask.permission)
    for at, question in enumerate(ask.questions):
        yield from question_lines(question, at, len(ask.questions))
    if entry.settlement:
        yield from settlement_lines(ask, entry.settlement)
    elif ask.deadline:
        yield f"Open until {ask.deadline:%Y-%m-%d %H:%M:%S} UTC."
    else:
        yield "Open."


def settlement_lines(ask: Ask, settlement: Settlement) -> Iterable[str]:
    """How an ask ended, with everything that was said."""
    summary = shown(settlement.summary)
    yield f"{summary[:1].upper()}{summary[1:]} at {settlement.at:%Y-%m-%d %H:%M:%S} UTC."
    match settlement.outcome:
        case Answered(answers):
            yield from _answers(ask, answers)
        case Declined(message, so_far, stop):
            yield from _said("Message", message)
            yield from _said("Stop", "the agent's run" if stop else "")
            yield from _answers(ask, so_far)
        case Denied(message, stop, redirect):
            yield from _said("Message", message)
            yield from _said("Stop", "the agent's run" if stop else "")
            yield from _said("Instead", redirect)
        case Allowed() as allowed:
            yield from _changed_lines(allowed)
            yield from (f"  Remembered: {shown_json(rule)}" for rule in allowed.remember)
        case Withdrawn(reason):
            yield from _said("Reason", reason)
        case Expired():
            pass
        case _:
            assert_never(settlement.outcome)


def _answers(ask: Ask, answers: tuple[Answer | None, ...]) -> Iterable[str]:
    for number, answer in enumerate(answers, 1):
        yield f"  {number}. {answer_words(answer)}" if len(ask.questions) > 1 else f"  {answer_words(answer)}"


def _said(name: str, words: str) -> Iterable[str]:
    if words:
        yield f"  {name}: {shown(words)}"


def _indented(text: str, margin: str) -> Iterable[str]:
    if text:
        yield from (f"{margin}{line}" for line in shown(text, lines=True).split("\n"))
