"""A call out of a log as plain JSON values, for programs that read our output. Fields are only added."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, assert_never

from askdesk.core.model import Answer, Answered, Declined, Expired, Questions, Withdrawn
from askdesk.wire import tool
from askdesk.wire.ending import Ending, Interrupted, Refused, Told, Unanswered
from askdesk.wire.transcript import Call


def plain(call: Call) -> dict[str, Any]:
    message, answers = _said(call.ended)
    return {
        "id": call.id,
        "ended": ending_name(call.ended),
        "asked": _moment(call.asked),
        "answered": _moment(call.answered),
        "seconds": None if call.took is None else call.took.total_seconds(),
        "agent": call.asker.agent,
        "parent": call.asker.parent,
        "project": call.asker.project,
        "session": call.asker.session,
        "source": call.source,
        "file": call.place.file,
        "line": call.place.line,
        "questions": tool.written(call.body) if isinstance(call.body, Questions) else [],
        "answers": answers,
        "message": message,
        "problem": call.problem,
        "input": None if isinstance(call.body, Questions) else call.body.value,
    }


def ending_name(ended: Ending | None) -> str:
    return "open" if ended is None else type(ended).__name__.lower()


def _said(ended: Ending | None) -> tuple[str, list[dict[str, Any] | None]]:
    match ended:
        case Answered(answers):
            return "", _answers(answers)
        case Declined(message, so_far):
            return message, _answers(so_far)
        case Withdrawn(reason):
            return reason, []
        case Unanswered(message) | Refused(message) | Told(message):
            return message, []
        case Expired() | Interrupted() | None:
            return "", []
        case _:
            assert_never(ended)


def _answers(answers: Iterable[Answer | None]) -> list[dict[str, Any] | None]:
    return [_answer(answer) if answer else None for answer in answers]


def _answer(answer: Answer) -> dict[str, Any]:
    return {"chosen": [*answer.chosen], "other": answer.other, "note": answer.note}


def _moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
