"""AskUserQuestion, the tool that models already know: its definition, its input, its result.

The schema is strict where the original is; the parser also takes what sloppy models send and says what it mended.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from askdesk.core import strict
from askdesk.core.errors import InvalidReply, Problem, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Answer, Answered, Outcome, Question, Questions
from askdesk.core.text import is_blank
from askdesk.wire.definition import NAME, definition, for_chat, for_responses
from askdesk.wire.parse import parse
from askdesk.wire.words import text
from askdesk.wire.written import written

__all__ = ["NAME", "definition", "for_chat", "for_responses", "parse", "read", "result", "text", "written"]

log = logging.getLogger("askdesk")


def result(questions: Questions, outcome: Outcome) -> dict[str, Any]:
    """What the tool returns: questions, answers and annotations.

    Where nobody answered there is no `answers` at all, but the outcome's name and what the model should read.
    """
    if not isinstance(outcome, Answered):
        name = type(outcome).__name__.lower()
        return {"questions": written(questions), "outcome": name, "message": text(questions, outcome)}
    answered = [(q, answer) for q, answer in zip(questions.items, outcome.answers, strict=True) if answer]
    returned: dict[str, Any] = {
        "questions": written(questions),
        "answers": {question.text: answer.text for question, answer in answered if answer.text},
    }
    notes = {question.text: _annotation(question, answer) for question, answer in answered}
    if annotations := {question: annotation for question, annotation in notes.items() if annotation}:
        returned["annotations"] = annotations
    return returned


def _annotation(question: Question, answer: Answer) -> dict[str, str]:
    previews = [(o.label, o.preview) for o in question.options if o.label in answer.chosen and o.preview]
    annotation = {}
    if previews and question.multi_select:
        annotation["preview"] = "\n\n".join(f"{label}:\n{preview}" for label, preview in previews)
    elif previews:
        annotation["preview"] = previews[0][1]
    if answer.note:
        annotation["notes"] = answer.note
    return annotation


def read(questions: Questions, given: object, *, blanks: bool = False) -> Answered:
    """The answers in `{"answers": {question: text}, "annotations": {question: {"notes": text}}}`.

    Every question needs one unless blanks are allowed; "" is a blank. InvalidReply names everything that is wrong.
    A key that names no question is logged and left out.
    """
    answers, notes, problems = _given(given)
    _warn_of_strangers(questions, [*answers, *notes])
    found: list[Answer | None] = []
    for question in questions.items:
        try:
            found.append(_read_one(question, answers.get(question.text), notes.get(question.text), blanks))
        except InvalidReply as error:
            problems += (problem.under(f"answers[{quoted(question.text)}]") for problem in error.problems)
    if problems:
        raise InvalidReply(problems)
    return Answered(found)


def _given(given: object) -> tuple[Mapping[str, object], dict[str, object], list[Problem]]:
    if not isinstance(given, Mapping) or not isinstance(answers := given.get("answers"), Mapping):
        raise InvalidReply('must be an object like {"answers": {"<question>": "<answer>"}}')
    problems = [
        Problem(quoted(key), "is not a part of an answer; the parts are answers and annotations")
        for key in given
        if key not in ("questions", "answers", "annotations")
    ]
    annotations = given.get("annotations") or {}
    if not isinstance(annotations, Mapping):
        return answers, {}, [*problems, Problem("annotations", f"must be an object, is {quoted(annotations)}")]
    notes: dict[str, object] = {}
    for question, annotation in annotations.items():
        if isinstance(annotation, Mapping):
            notes[question] = annotation.get("notes", "")
        else:
            problems.append(Problem(f"annotations[{quoted(question)}]", f"must be an object, is {quoted(annotation)}"))
    return answers, notes, problems


def _warn_of_strangers(questions: Questions, keys: list[str]) -> None:
    known = {question.text for question in questions.items}
    for key in dict.fromkeys(keys):
        if key not in known:
            log.warning("no question has the text %s: left out", quoted(key))


def _read_one(question: Question, value: object, note: object, blanks: bool) -> Answer | None:
    if not isinstance(note := note or "", str):
        raise InvalidReply(f"notes must be text, is {quoted(note)}")
    if value is None or value in ("", []):
        if not is_blank(note):
            return question.fit(Answer(note=note))
        if blanks:
            return None
        raise InvalidReply("needs an answer; every question does")
    if isinstance(value, str):
        read = question.read(value)
        return question.fit(Answer(read.chosen, read.other, note))
    if isinstance(value, list) and all(isinstance(label, str) for label in value):
        return question.fit(Answer(value, note=note))
    if question.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return question.fit(Answer(other=_digits(value), note=note))
    raise InvalidReply(f"must be text or a list of labels, is {quoted(value)}")


def _digits(value: float) -> str:
    try:
        return f"{value}"
    except ValueError:  # thousands of digits, which Python will not write out
        raise InvalidReply("takes a number, got one that is too long") from None


def loads(text: str | bytes, limits: Limits = OPEN) -> object:
    """A person's JSON reply, strictly read; InvalidReply where it is not JSON."""
    try:
        return strict.loads(text, size=limits.size, depth=limits.depth)
    except strict.NotStrict as error:
        raise InvalidReply(str(error)) from None
