"""The plain surface: for pipes, dumb terminals and screen readers. Nothing but lines, top to bottom.

What an agent wrote is indented and goes through shown(), so it cannot pass for the desk's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, assert_never

from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.errors import InvalidReply
from askdesk.core.limits import shown_header
from askdesk.core.model import (
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
from askdesk.core.store import Shelf
from askdesk.core.text import Shown, shown, shown_json
from askdesk.surfaces import draft
from askdesk.surfaces.call import changed_lines
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.exact import exact_name, exactly
from askdesk.surfaces.form import Form, Given
from askdesk.surfaces.phrases import answer_words, ended_words, label_words
from askdesk.surfaces.rule import rule_lines
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.terminal.dialog import Dialog, edited, enter, how_to_answer, prompt
from askdesk.surfaces.terminal.editor import edited as typed_in_editor
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.lines import Lines
from askdesk.surfaces.terminal.verdict import Verdict, changed, decide
from askdesk.surfaces.texts import say


class PlainSurface:
    """Presents asks on a Lines, one after the other; with a shelf it keeps drafts."""

    name = "plain"

    def __init__(self, lines: Lines, shelf: Shelf | None = None, by: str = "") -> None:
        self._lines = lines
        self._shelf = shelf
        self._by = by
        self._before = Draft(v=1)  # what was kept of the ask at hand

    def sent(self, ask: Ask, settlement: Settlement) -> None:
        """The person has just read and typed it all: there is nothing to add."""

    async def present(self, ask: Ask) -> Reply | None:
        """A person's reply; None when the input ends or the person leaves, which is no answer."""
        self._lines.write(Shown(f"\n{asker_line(ask.asker)}"))
        before = await draft.kept(self._shelf, ask, self._by) if self._shelf else None
        self._before = before or Draft(v=1)
        if ask.permission:
            return await self._decide(ask, _begun(ask.permission, self._before.input))
        form = Form.start(ask.questions)
        if before and before.given:
            form = Form(ask.questions, before.given).go(before.at)
            self._lines.write(say("plain.restored"))
        return await self._answer(ask, Dialog(form))

    def lost(self, ask: Ask, settlement: Settlement) -> None:
        """Somebody else was first."""
        self._lines.forget()  # half a line must not end up in the shell
        self._lines.write(Shown(f"\n{say('plain.closed', how=ended_words(settlement))}"))

    async def _answer(self, ask: Ask, dialog: Dialog) -> Reply | None:
        self._show(dialog)
        while (line := await self._lines.read(prompt(dialog))) is not None:
            step = enter(dialog, line)
            if isinstance(step, Edit):
                step = await self._own_words(dialog, step)
            if not isinstance(step, Dialog):
                await self._keep_reply(ask, step)
                return step
            if step.said:
                self._lines.write(step.said)
            moved = step.form.at != dialog.form.at
            dialog = step
            await self._keep(ask, replace(self._before, given=dialog.form.given, at=dialog.form.at))
            if moved:
                self._show(dialog)
        return None

    async def _own_words(self, dialog: Dialog, wish: Edit) -> Dialog | Reply:
        text = await self._typed(wish)
        return dialog if text is None else edited(dialog, text)

    async def _typed(self, wish: Edit) -> str | None:
        """What comes back from the person's editor; only a terminal has room for one."""
        if not self._lines.is_terminal:
            self._lines.write(say("plain.no_terminal"))
            return None
        try:
            return await typed_in_editor(wish)
        except InvalidReply as error:
            self._lines.write(shown(str(error)))
            return None

    async def _keep_reply(self, ask: Ask, reply: Reply | None) -> None:
        """Until it is settled, what was said is a draft: the store may fail, or somebody may be quicker."""
        if isinstance(reply, Answered):
            pairs = zip(ask.questions, reply.answers, strict=True)
            given = tuple(Given.of(question, answer, Given()) if answer else Given() for question, answer in pairs)
            await self._keep(ask, replace(self._before, given=given))
        elif isinstance(reply, Declined):
            await self._keep(ask, replace(self._before, message=reply.message))

    async def _keep(self, ask: Ask, kept: Draft) -> None:
        if self._shelf:
            await draft.keep(self._shelf, ask, self._by, kept)

    def _show(self, dialog: Dialog) -> None:
        form = dialog.form
        self._lines.write(Shown(""))
        if form.in_review:
            self._write(review_lines(form))
        else:
            self._write(question_lines(form.question, form.at, len(form.questions)))
            if form.answer:
                self._lines.write(say("plain.so_far", answer=answer_words(form.answer)))
            elif form.here.own:
                self._lines.write(say("plain.typed", words=shown(form.here.own)))
            self._lines.write(how_to_answer(form.question))
        self._lines.forget()  # what was typed before this was shown does not answer it

    def _write(self, lines: Iterable[Shown]) -> None:
        self._lines.write(Shown("\n".join(lines)))

    async def _decide(self, ask: Ask, verdict: Verdict) -> Reply | None:
        self._write(permission_lines(verdict.permission))
        if verdict.input:
            self._write(_instead(verdict))
        self._lines.forget()
        while (
            line := await self._lines.read(say("verdict.ask_changed" if verdict.input else "verdict.ask"))
        ) is not None:
            step = decide(verdict, line)
            if isinstance(step, Edit):
                step = await self._changed(verdict, step)
            if not isinstance(step, Verdict):
                return step
            if step.said:
                self._lines.write(step.said)
            if step.input and step.input != verdict.input:
                self._write(_instead(step))
                self._lines.forget()
            verdict = step
            await self._keep(ask, replace(self._before, input=verdict.input))
        return None

    async def _changed(self, verdict: Verdict, wish: Edit) -> Verdict:
        text = await self._typed(wish)
        try:
            return verdict if text is None else changed(verdict, text)
        except InvalidReply as error:
            return Verdict(verdict.permission, verdict.input, say("plain.cannot", why=shown(str(error))))


def _begun(permission: Permission, before: str) -> Verdict:
    """A call with the change that was begun before, as far as that is one."""
    verdict = Verdict(permission)
    try:
        return changed(verdict, before) if before else verdict
    except InvalidReply:  # half typed
        return verdict


def _instead(verdict: Verdict) -> Iterable[Shown]:
    """What would run instead, beside what was asked for."""
    yield say("decision.changed_title")
    for spans in changed_lines(verdict.permission.input, verdict.input):
        yield Shown(f"  {text_of(spans)}")


def asker_line(asker: Asker) -> Shown:
    if not asker.project:
        return say("plain.asks", agent=shown(asker.agent))
    return say("plain.asks_in", agent=shown(asker.agent), project=shown(asker.project))


def question_lines(question: Question, at: int = 0, of: int = 1) -> Iterable[Shown]:
    """A question with its options, numbered from 1; the number after the last is Other."""
    count = say("plain.question_of", number=at + 1, of=of) if of > 1 else Shown("")
    header = shown_header(question)
    title = " ".join(part for part in (count, f"[{header}]" if header else "") if part)
    yield Shown(title) or say("plain.question")
    first, *more = _indented(question.text, "  ")
    yield first
    yield from (Shown(f"  |{line[1:]}") for line in more)  # marked, so that none can pass for an option
    for number, option in enumerate(question.options, 1):
        yield from option_lines(number, option)
    if question.kind == "choice":
        yield say("plain.other", number=len(question.options) + 1)
    elif question.default is not None:
        yield say("plain.suggests", value=shown(question.default))


def option_lines(number: int, option: Option) -> Iterable[Shown]:
    label = label_words(option)
    claim = f" ({say('option.recommended')})" if option.recommended else ""
    yield Shown(f"  {number}. {label}{claim}")
    yield from _indented(option.description, "     ")
    if option.preview:
        yield Shown(f"     {say('plain.preview')}")
        yield from _indented(option.preview, "     | ")


def review_lines(form: Form) -> Iterable[Shown]:
    yield say("plain.answers")
    for number, (question, answer) in enumerate(zip(form.questions, form.answers, strict=True), 1):
        yield Shown(f"  {number}. {shown(question.text)}")
        yield Shown(f"     {answer_words(answer)}")
    if form.blanks:
        yield say("plain.blanks", numbers=Shown(", ".join(str(number + 1) for number in form.blanks)))


def permission_lines(permission: Permission) -> Iterable[Shown]:
    """The whole call, from the text that will run; the agent's own description is marked as its claim."""
    yield say("plain.permission", tool=_exactly(permission.tool))
    if permission.folder:
        yield say("plain.folder", folder=_exactly(permission.folder))
    yield say("plain.input")
    yield from _input_lines(permission.value)
    if permission.description:
        yield say("plain.agent_says")
        yield from _indented(permission.description, "    | ")
    if permission.suggestions:
        yield say("plain.proposes")
        for number, rule in enumerate(permission.suggestions, 1):
            first, *more = rule_lines(rule)
            yield Shown(f"    {number}. {text_of(first)}")
            yield from (Shown(f"       {text_of(spans)}") for spans in more)
    yield Shown(f"  {permission.digest}")


def allowed_lines(permission: Permission, allowed: Allowed) -> Iterable[Shown]:
    """The call as it was asked for, and as it will run."""
    yield from permission_lines(permission)
    yield from _changed_lines(allowed)


def _changed_lines(allowed: Allowed) -> Iterable[Shown]:
    if allowed.input is not None:
        yield say("plain.instead_input")
        yield from _input_lines(json.loads(allowed.input))


def _input_lines(value: dict[str, Any]) -> Iterable[Shown]:
    for name, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield Shown(f"    {exact_name(name)}:")
            yield from (Shown(f"      | {_exactly(line)}") for line in item.split("\n"))
        else:
            yield Shown(f"    {exact_name(name)}: {_exactly(item)}")


def _exactly(item: object) -> Shown:
    return text_of(exactly(item)) if isinstance(item, str) else shown_json(strict.dumps(item))


def entry_lines(entry: Entry, drafts: Iterable[tuple[str, Draft]] = ()) -> Iterable[Shown]:
    """A whole ask, open or settled, for reading only; with what people typed and did not send."""
    ask = entry.ask
    yield say("entry.title", id=Shown(ask.id), when=Shown(f"{ask.created:%Y-%m-%d %H:%M:%S} UTC"))
    yield asker_line(ask.asker)
    if ask.permission:
        yield from permission_lines(ask.permission)
    for at, question in enumerate(ask.questions):
        yield from question_lines(question, at, len(ask.questions))
    if entry.settlement:
        yield from settlement_lines(ask, entry.settlement)
    elif ask.deadline:
        yield say("entry.until", when=Shown(f"{ask.deadline:%Y-%m-%d %H:%M:%S} UTC"))
    else:
        yield say("entry.open")
    for by, kept in drafts:
        yield from draft_lines(ask, by, kept)


def draft_lines(ask: Ask, by: str, kept: Draft) -> Iterable[Shown]:
    """What somebody typed and did not send."""
    yield say("entry.draft", by=shown(by))
    for number, given in enumerate(kept.given, 1):
        labels = [shown(ask.questions[number - 1].options[at].label) for at in given.picked]
        own = [f'"{shown(given.own)}"'] if given.own else []
        words = Shown(", ".join([*labels, *own]))
        note = [say("entry.note", note=shown(given.note))] if given.note else []
        if words or note:
            yield Shown(f"  {number}. {'; '.join([*([words] if words else []), *note])}")
    yield from _said("entry.message", kept.message)
    for _, typed in kept.words:
        yield from _said("entry.message", typed)
    yield from _said("entry.input", kept.input)


def settlement_lines(ask: Ask, settlement: Settlement) -> Iterable[Shown]:
    """How an ask ended, with everything that was said."""
    how = ended_words(settlement)
    when = Shown(f"{settlement.at:%Y-%m-%d %H:%M:%S} UTC")
    yield say("entry.ended", how=Shown(f"{how[:1].upper()}{how[1:]}"), when=when)
    match settlement.outcome:
        case Answered(answers):
            yield from _answers(ask, answers)
        case Declined(message, so_far, stop):
            yield from _said("entry.message", message)
            yield from _stopped(stop)
            yield from _answers(ask, so_far)
        case Denied(message, stop, redirect):
            yield from _said("entry.message", message)
            yield from _stopped(stop)
            yield from _said("entry.instead", redirect)
        case Allowed() as allowed:
            yield from _changed_lines(allowed)
            yield from (say("entry.remembered", rule=shown_json(rule)) for rule in allowed.remember)
        case Withdrawn(reason):
            yield from _said("entry.reason", reason)
        case Expired():
            pass
        case _:
            assert_never(settlement.outcome)


def _answers(ask: Ask, answers: tuple[Answer | None, ...]) -> Iterable[Shown]:
    for number, answer in enumerate(answers, 1):
        words = answer_words(answer)
        yield Shown(f"  {number}. {words}" if len(ask.questions) > 1 else f"  {words}")


def _said(key: str, words: str) -> Iterable[Shown]:
    if words:
        yield say(key, words=shown(words))


def _stopped(stop: bool) -> Iterable[Shown]:
    if stop:
        yield say("entry.stop")


def _indented(text: str, margin: str) -> Iterable[Shown]:
    if text:
        yield from (Shown(f"{margin}{line}") for line in shown(text, lines=True).split("\n"))
