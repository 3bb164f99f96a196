"""The plain dialog: numbered lines out, typed lines in. Pure: `enter` and what it shows need no terminal.

Only numbers are choices. Anything else is the person's own words, except the few commands below, typed exactly.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Answer, Denied, Question, Reply
from askdesk.surfaces.terminal.form import Form

Mode: TypeAlias = Literal["answer", "other", "message", "stop"]

HELP = """\
  2              choose option 2
  1,3            choose several, where several may be chosen
  1 /note words  choose option 1 and add a note
  other words    answer in your own words
  /say           take the next line as your own words, whatever it looks like
  /note words    add a note to this question; it stays when you choose
  /skip          leave this question blank
  /back          go to the question before; Enter alone then keeps its answer
  /decline       do not answer, and perhaps tell the agent why
  /stop          do not answer, and stop the agent
  /later         leave without answering; the ask stays open
  /help          show this"""

PERMISSION_HELP = """\
  yes              allow this very call, once
  no               deny it
  no words         deny it and tell the agent why
  /instead words   deny it and give the agent a new instruction
  /stop words      deny it and stop the agent
  /later           leave without deciding; the ask stays open"""

_KEYS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMBERS = re.compile(r"\d+(?:[\s,]+\d+)*,?", re.ASCII)
_WORD = re.compile(r"/(\w*)\W*")
_COMMANDS = ("later", "help", "back", "decline", "stop", "note", "say", "skip")


class Dialog(Struct, frozen=True):
    """A form, what the next line means, and what the person should be told now."""

    form: Form
    mode: Mode = "answer"
    picked: tuple[int, ...] = ()  # options chosen together with Other, while its words are awaited
    said: str = ""


def enter(dialog: Dialog, line: str) -> Dialog | Reply | None:
    """The next state, the reply to send, or None to leave the ask open."""
    dialog = replace(dialog, said="")
    if _KEYS.search(line):  # an arrow, say: typed to move about, not to be sent
        return replace(dialog, said="That line held keys that are not text; type it again.")
    try:
        match dialog.mode:
            case "message" | "stop":
                return _declined(dialog, line.strip())
            case "other":
                return _own_words(dialog, line)
            case "answer":
                return _command(dialog, line.strip()) if line.strip().startswith("/") else _line(dialog, line.strip())
    except InvalidReply as error:
        return replace(dialog, said=f"That cannot be sent: {error}")


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
        return replace(
            dialog, said="Nothing was typed. /skip leaves this question blank, /help shows what can be done."
        )
    numbers, with_note, note = line.partition(" /note")
    is_note = not note or note[0].isspace()
    if dialog.form.question.kind == "choice" and is_note and _NUMBERS.fullmatch(numbers.strip()):
        if with_note and not note.strip():
            return replace(dialog, said="A note needs words: 1 /note words")
        return _choose(dialog, [int(number[:9]) for number in re.findall(r"\d+", numbers)], note.strip())
    return _filled(dialog, Answer(other=line))


def _choose(dialog: Dialog, numbers: list[int], note: str) -> Dialog | Reply:
    question = dialog.form.question
    last = len(question.options) + 1
    if wrong := [number for number in numbers if not 1 <= number <= last]:
        return replace(dialog, said=f"There is no number {wrong[0]} here; choose from 1 to {last}.")
    if not question.multi_select and len(set(numbers)) > 1:
        return replace(dialog, said="Only one may be chosen here.")
    options = tuple(number - 1 for number in numbers if number < last)
    if note:
        dialog = replace(dialog, form=dialog.form.note(note))
    if last in numbers:
        return replace(dialog, mode="other", picked=options)
    return _filled(dialog, Answer.choose(question, *options))


def _own_words(dialog: Dialog, line: str) -> Dialog | Reply:
    dialog, picked = replace(dialog, mode="answer", picked=()), dialog.picked
    if not line.strip():
        return replace(dialog, said="Nothing was typed, so nothing was chosen.")
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
    return replace(dialog, said=f'Type "yes" to send, 1 to {count} to change an answer, or /decline.')


def _command(dialog: Dialog, line: str) -> Dialog | Reply | None:
    name, _, words = line.partition(" ")
    form, words = dialog.form, words.strip()
    match name:
        case "/later" if not words:
            return None
        case "/help" if not words:
            return replace(dialog, said=HELP)
        case "/back" if not words:
            return replace(dialog, form=form.go(form.at - 1), said="" if form.at else "This is the first question.")
        case "/decline":
            return form.decline(words) if words else replace(dialog, mode="message")
        case "/stop":
            return form.decline(words, stop=True) if words else replace(dialog, mode="stop")
        case "/note" if words and not form.in_review:
            return replace(dialog, form=form.note(words), said="Noted. Now choose, or /skip to send the note alone.")
        case "/say" if not words and not form.in_review:
            return replace(dialog, mode="other")
        case "/skip" if not words and not form.in_review:
            return _skipped(dialog)
        case _:
            return _no_command(dialog, line)


def _no_command(dialog: Dialog, line: str) -> Dialog | Reply:
    """A path or the like is own words; what could be a command mistyped is asked again."""
    word = _WORD.match(line)
    looks_mistyped = word is not None and (word[1].lower() in _COMMANDS or word[0] == line)
    if looks_mistyped and not dialog.form.in_review:
        said = "That is not a command as /help lists them; /say takes the next line as it is, whatever it is."
        return replace(dialog, said=said)
    return _line(dialog, line)


def _skipped(dialog: Dialog) -> Dialog | Reply:
    form = dialog.form.clear()
    return form.reply() if len(form.questions) == 1 else replace(dialog, form=form)


def prompt(dialog: Dialog) -> str:
    match dialog.mode:
        case "other":
            return "Your own words: "
        case "message":
            return "A word to the agent (Enter for none): "
        case "stop":
            return "Why should it stop? (Enter for no reason): "
        case "answer":
            pass
    if dialog.form.in_review:
        return "Send this? (yes, or a number to change): "
    return "Your choice: " if dialog.form.question.kind == "choice" else "Your answer: "


def decide(line: str) -> Reply | str | None:
    """The reply to a permission, what to tell the person, or None to leave it open. Only the word yes allows."""
    if _KEYS.search(line):
        return "Nothing was decided: that line held keys that are not text."
    try:
        return _decision(line)
    except InvalidReply as error:
        return f"That cannot be sent: {error}"


def _decision(line: str) -> Reply | str | None:
    word, _, words = line.strip().partition(" ")
    words = words.strip()
    match word.lower(), words:
        case "yes", "":
            return Allowed()
        case (("no" | "n"), _):
            return Denied(words)
        case "/instead", words if words:
            return Denied(redirect=words)
        case "/stop", _:
            return Denied(words, stop=True)
        case "/later", "":
            return None
        case _:
            return f"Nothing was decided. Type one of these:\n{PERMISSION_HELP}"


def how_to_answer(question: Question) -> str:
    match question.kind:
        case "text":
            return "Type your answer, or /help."
        case "number":
            bounds = [
                *(["from " + f"{question.minimum:g}"] if question.minimum is not None else []),
                *(["up to " + f"{question.maximum:g}"] if question.maximum is not None else []),
            ]
            return f"Type a number{' ' if bounds else ''}{' '.join(bounds)}, or /help."
        case "choice" if question.multi_select:
            return "Type numbers like 1,3 (several may be chosen), your own words, or /help."
        case "choice":
            return "Type a number, your own words, or /help."
