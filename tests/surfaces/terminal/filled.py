"""Forms as they are after some answers, for tests that do not care how those came."""

from askdesk.core.model import Answer, Question
from askdesk.surfaces.form import Form, Given


def filled(
    questions: tuple[Question, ...], answers: tuple[Answer | None, ...], at: int = 0, reviewed: bool = False
) -> Form:
    given = (Given.of(q, a, Given()) if a else Given() for q, a in zip(questions, answers, strict=True))
    return Form(questions, tuple(given), at, reviewed)
