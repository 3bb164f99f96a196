"""The plain dialog: numbered lines out, typed lines in. Pure: `enter` and what it shows need no terminal.

Only numbers are choices. Anything else is the person's own words, except the few commands below, typed exactly.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Answer, Question, Reply
from askdesk.core.text import Shown, is_blank, shown
from askdesk.surfaces.form import Form
from askdesk.surfaces.phrases import number_words
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.texts import say

Mode: TypeAlias = Literal["answer", "other", "message", "stop"]

KEYS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMBERS = re.compile(r"\d+(?:[\s,]+\d+)*,?", re.ASCII)
_WORD = re.compile(r"/(\w*)\W*")
_COMMANDS = ("later", "help", "back", "decline", "stop", "note", "say", "skip", "edit", "anew")


class Dialog(Struct, frozen=True):
    """A form, what the next line means, and what the person should be told now."""

    form: Form
    mode: Mode = "answer"
    picked: tuple[int, ...] = ()  # options chosen together with Other, while its words are awaited
    said: Shown = Shown("")


def enter(dialog: Dialog, line: str) -> Dialog | Reply | Edit | None:
    """The next state, the reply to send, the wish for an editor, or None to leave the ask open."""
    dialog = replace(dialog, said=Shown(""))
    if KEYS.search(line):  # an arrow, say: typed to move about, not to be sent
        return replace(dialog, said=say("plain.keys"))
    try:
        match dialog.mode:
            case "message" | "stop":
                return _declined(dialog, line.strip())
            case "other":
                return _own_words(dialog, line)
            case "answer":
                return _command(dialog, line.strip()) if line.strip().startswith("/") else _line(dialog, line.strip())
    except InvalidReply as error:
        return replace(dialog, said=say("plain.cannot", why=shown(str(error))))


def _declined(dialog: Dialog, message: str) -> Dialog | Reply | None:
    if message == "/later":
        return None
    if message == "/back":
        return replace(dialog, mode="answer")
    return dialog.form.decline(message, stop=dialog.mode == "stop")


def _line(dialog: Dialog, line: str) -> Dialog | Reply:
    if dialog.form.in_review:
        return _review(dialog, line)
    if not line and dialog.form.answer and len(dialog.form.questions) > 1:
        return replace(dialog, form=dialog.form.keep())
    if not line:
        return replace(dialog, said=say("plain.nothing_typed"))
    numbers, with_note, note = line.partition(" /note")
    is_note = not note or note[0].isspace()
    if dialog.form.question.kind == "choice" and is_note and _NUMBERS.fullmatch(numbers.strip()):
        if with_note and not note.strip():
            return replace(dialog, said=say("plain.note_needs_words"))
        return _choose(dialog, [int(number[:9]) for number in re.findall(r"\d+", numbers)], note.strip())
    return _filled(dialog, Answer(other=line))


def _choose(dialog: Dialog, numbers: list[int], note: str) -> Dialog | Reply:
    question = dialog.form.question
    last = len(question.options) + 1
    if wrong := [number for number in numbers if not 1 <= number <= last]:
        return replace(dialog, said=say("plain.no_number", number=wrong[0], last=last))
    if not question.multi_select and len(set(numbers)) > 1:
        return replace(dialog, said=say("plain.only_one"))
    options = tuple(number - 1 for number in numbers if number < last)
    if note:
        dialog = replace(dialog, form=dialog.form.note(note))
    if last in numbers:
        return replace(dialog, mode="other", picked=options)
    return _filled(dialog, Answer.choose(question, *options))


def _own_words(dialog: Dialog, line: str) -> Dialog | Reply:
    dialog, picked = replace(dialog, mode="answer", picked=()), dialog.picked
    if not line.strip():
        return replace(dialog, said=say("plain.nothing_chosen"))
    labels = [dialog.form.question.options[number].label for number in picked]
    return _filled(dialog, Answer(labels, line))


def _filled(dialog: Dialog, answer: Answer) -> Dialog | Reply:
    form = dialog.form.fill(answer)
    if len(form.questions) == 1:
        return form.reply()
    return replace(dialog, form=form)


def _review(dialog: Dialog, line: str) -> Dialog | Reply:
    if line.lower() in ("y", "yes", "send"):
        return dialog.form.reply()
    count = len(dialog.form.questions)
    if re.fullmatch(r"\d{1,9}", line, re.ASCII) and 1 <= int(line) <= count:
        return replace(dialog, form=dialog.form.go(int(line) - 1))
    return replace(dialog, said=say("plain.review_how", count=count))


def _command(dialog: Dialog, line: str) -> Dialog | Reply | Edit | None:
    name, _, words = line.partition(" ")
    form, words = dialog.form, words.strip()
    match name:
        case "/later" if not words:
            return None
        case "/help" if not words:
            return replace(dialog, said=say("plain.help"))
        case "/back" if not words:
            return replace(dialog, form=form.go(form.at - 1), said=Shown("") if form.at else say("plain.first"))
        case "/decline":
            return form.decline(words) if words else replace(dialog, mode="message")
        case "/stop":
            return form.decline(words, stop=True) if words else replace(dialog, mode="stop")
        case "/note" if words and not form.in_review:
            return replace(dialog, form=form.note(words), said=say("plain.noted"))
        case "/say" if not words and not form.in_review:
            return replace(dialog, mode="other")
        case "/edit" if not words and not form.in_review:
            return Edit(form.here.own)
        case "/anew" if not words:
            return replace(dialog, form=Form.start(form.questions), said=say("plain.anew"))
        case "/skip" if not words and not form.in_review:
            return _skipped(dialog)
        case _:
            return _no_command(dialog, line)


def _no_command(dialog: Dialog, line: str) -> Dialog | Reply:
    """A path or the like is own words; what could be a command mistyped is asked again."""
    word = _WORD.match(line)
    looks_mistyped = word is not None and (word[1].lower() in _COMMANDS or word[0] == line)
    if looks_mistyped and not dialog.form.in_review:
        return replace(dialog, said=say("plain.no_command"))
    return _line(dialog, line)


def _skipped(dialog: Dialog) -> Dialog | Reply:
    form = dialog.form.clear()
    return form.reply() if len(form.questions) == 1 else replace(dialog, form=form)


def edited(dialog: Dialog, words: str) -> Dialog | Reply:
    """Own words come back from an editor; there they may have several lines."""
    if is_blank(words):
        return replace(dialog, said=say("plain.nothing_chosen"))
    try:
        return _filled(dialog, Answer(other=words.rstrip("\n")))
    except InvalidReply as error:
        return replace(dialog, said=say("plain.cannot", why=shown(str(error))))


def prompt(dialog: Dialog) -> Shown:
    match dialog.mode:
        case "other":
            return say("plain.ask_own")
        case "message":
            return say("plain.ask_message")
        case "stop":
            return say("plain.ask_stop")
        case "answer":
            pass
    if dialog.form.in_review:
        return say("plain.ask_review")
    return say("plain.ask_choice") if dialog.form.question.kind == "choice" else say("plain.ask_answer")


def how_to_answer(question: Question) -> Shown:
    match question.kind:
        case "text":
            return say("plain.how_text")
        case "number":
            return say("plain.how_number", which=number_words(question))
        case "choice" if question.multi_select:
            return say("plain.how_several")
        case "choice":
            return say("plain.how_one")
