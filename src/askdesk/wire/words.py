"""What a model reads when an ask has ended.

Each outcome opens with a sentence of its own. Everything a person or agent wrote stands in JSON quotes on one line, so
no text can pass for another outcome or another answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import assert_never

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Declined,
    Denied,
    Expired,
    Outcome,
    Question,
    Questions,
    Withdrawn,
)

_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
_NOT_CONSENT = "This is not an answer and not consent: do not act as if a choice had been made."


def text(questions: Questions, outcome: Outcome) -> str:
    """What the model reads after it asked questions."""
    match outcome:
        case Answered(answers):
            return "\n".join([_opening(answers), *_lines(questions.items, answers)])
        case Declined(message, so_far, stop):
            return "\n".join(_declined(questions.items, message, so_far, stop))
        case Expired():
            return f"EXPIRED: nobody answered before the deadline. {_NOT_CONSENT}"
        case Withdrawn(reason):
            because = f" Reason: {quote(reason)}." if reason else ""
            return f"WITHDRAWN: the questions were taken back before anybody answered.{because} {_NOT_CONSENT}"
        case Allowed() | Denied():
            raise TypeError("questions are answered or declined, not allowed or denied")
        case _:
            assert_never(outcome)


def _opening(answers: tuple[Answer | None, ...]) -> str:
    given = [answer for answer in answers if answer]
    if len(given) < len(answers):
        return (
            f"PARTLY ANSWERED: the person answered {len(given)} of {len(answers)} questions and left the others blank "
            "on purpose. Do not assume an answer to a blank one."
        )
    if any(answer.other or answer.note or not answer.chosen for answer in given):
        return (
            "ANSWERED WITH OWN WORDS: read what the person wrote with care. It may ask you to explain, to change "
            "course or to stop; follow what it says."
        )
    return "ANSWERED: the person chose among your options."


def _lines(questions: Iterable[Question], answers: Iterable[Answer | None]) -> list[str]:
    return [f"- {quote(q.text)} = {_said(q, answer)}" for q, answer in zip(questions, answers, strict=True)]


def _said(question: Question, answer: Answer | None) -> str:
    if answer is None:
        return "(left blank)"
    parts = [quote(label) for label in answer.chosen]
    if answer.other:
        own = "" if question.kind == "number" else "own words: "
        parts.append(f"{own}{quote(answer.other)}")
    said = " + ".join(parts) or "(no option chosen)"
    return f"{said}; note: {quote(answer.note)}" if answer.note else said


def _declined(
    questions: tuple[Question, ...], message: str, so_far: tuple[Answer | None, ...], stop: bool
) -> Iterable[str]:
    said = f" They said: {quote(message)}" if message else " They gave no reason."
    yield f"DECLINED: the person saw the questions and chose not to answer them.{said}"
    if so_far:
        yield "Before that they had picked, without sending it:"
        yield from _lines(questions, so_far)
    yield "Stop what you are doing and wait for the person." if stop else _NOT_CONSENT


def quote(words: str) -> str:
    """Somebody's words in JSON quotes, on one line by every reader's count of lines."""
    return json.dumps(words, ensure_ascii=False).translate(_LINE_BREAKS)
