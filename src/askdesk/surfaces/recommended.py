"""What it would mean to follow an agent's own recommendation. Pure."""

from __future__ import annotations

from askdesk.core.model import Answer, Answered, Ask, Question


def recommended(ask: Ask) -> Answered | None:
    """The answers that the agent recommends; None where it leaves any question to the person, or asks a permission."""
    answers = [_answer(question) for question in ask.questions]
    return Answered(answers) if answers and all(answers) else None


def _answer(question: Question) -> Answer | None:
    numbers = [number for number, option in enumerate(question.options) if option.recommended]
    if not numbers or (len(numbers) > 1 and not question.multi_select):
        return None
    return Answer.choose(question, *numbers)
