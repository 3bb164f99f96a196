"""What was asked, said and decided, in the person's language and in a few words."""

from __future__ import annotations

from typing import assert_never

from askdesk.core.limits import shown_header
from askdesk.core.model import (
    RECOMMENDED,
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Entry,
    Option,
    Outcome,
    Question,
    Reply,
    Settlement,
)
from askdesk.core.text import Shown, shown
from askdesk.surfaces.asker import lasted
from askdesk.surfaces.texts import say


def ended_words(settlement: Settlement) -> Shown:
    """What, by whom, where."""
    what = outcome_word(settlement.outcome)
    if settlement.by and settlement.surface:
        return say("ended.by_on", what=what, by=shown(settlement.by), surface=shown(settlement.surface))
    if settlement.surface:
        return say("ended.on", what=what, surface=shown(settlement.surface))
    return say("ended.by", what=what, by=shown(settlement.by)) if settlement.by else what


def took_words(entry: Entry) -> Shown:
    """When an ask was made, and how long it took until it ended."""
    asked = Shown(f"{entry.ask.created.astimezone():%Y-%m-%d %H:%M}")
    if entry.settlement is None or entry.settlement.at < entry.ask.created:
        return say("ended.asked", when=asked)
    return say("ended.took", when=asked, span=Shown(lasted(entry.settlement.at - entry.ask.created)))


def outcome_word(outcome: Outcome) -> Shown:
    return say(f"ended.{type(outcome).__name__.lower()}")


def settled_line(ask: Ask, reply: Reply) -> Shown:
    """What a form leaves behind: what was asked and what was said, on one line."""
    match reply:
        case Answered(answers):
            return say("left.answered", answers=answers_line(ask, answers))
        case Declined(message):
            said = shown(message)
            return say("left.declined", what=subject(ask), message=said) if said else _plainly("left.silent", ask)
        case Allowed(input=None, remember=()):
            return _plainly("left.allowed", ask)
        case Allowed(input=None):
            return _plainly("left.always", ask)
        case Allowed():
            return _plainly("left.changed", ask)
        case Denied(message, _, redirect):
            said = shown(message or redirect)
            return say("left.denied", what=subject(ask), message=said) if said else _plainly("left.denied_silent", ask)
        case _:
            assert_never(reply)


def left_line(ask: Ask, *, drafted: bool) -> Shown:
    return say("left.drafted" if drafted else "left.open", what=subject(ask), id=Shown(ask.id[:8]))


def _plainly(key: str, ask: Ask) -> Shown:
    return say(key, what=subject(ask))


def subject(ask: Ask) -> Shown:
    """What an ask is about, in a few words."""
    if ask.permission:
        return shown(ask.permission.tool)
    return shown(ask.questions[0].text)


def answers_line(ask: Ask, answers: tuple[Answer | None, ...]) -> Shown:
    if len(ask.questions) == 1:
        return say("left.answer", question=subject(ask), answer=answer_words(answers[0]))
    parts = (
        say("left.answer", question=shown_header(question) or shown(question.text), answer=answer_words(answer))
        for question, answer in zip(ask.questions, answers, strict=True)
    )
    return Shown(" · ".join(parts))


def answer_words(answer: Answer | None) -> Shown:
    """An answer for a person to read."""
    if answer is None:
        return say("answer.blank")
    parts = [*(shown(label) for label in answer.chosen), *([f'"{shown(answer.other)}"'] if answer.other else [])]
    words = Shown(", ".join(parts)) or say("answer.nothing_chosen")
    return say("answer.noted", words=words, note=shown(answer.note)) if answer.note else words


def number_words(question: Question) -> Shown:
    """Which numbers a question takes."""
    low, high = (Shown("" if bound is None else f"{bound:.15g}") for bound in (question.minimum, question.maximum))
    if low and high:
        return say("number.between", low=low, high=high)
    if low or high:
        return say("number.from", low=low) if low else say("number.to", high=high)
    return say("number.any")


def until_words(ask: Ask) -> Shown:
    """A deadline as the clock on the wall will show it, with its day where that is not the day of the ask."""
    if ask.deadline is None:
        return Shown("")
    local = ask.deadline.astimezone()
    return Shown(f"{local:%H:%M}" if local.date() == ask.created.astimezone().date() else f"{local:%Y-%m-%d %H:%M}")


def flaw_words(question: Question, own: str) -> Shown:
    """Why a number does not fit, in the person's language."""
    return say("number.flaw", own=shown(own), which=number_words(question))


def label_words(option: Option) -> Shown:
    """A label without the agent's recommendation, which is said apart as the agent's."""
    label = option.label.rstrip()
    if option.recommended:
        label = label[: -len(RECOMMENDED)].rstrip() or label
    return shown(label)
