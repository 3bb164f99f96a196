"""What a person has filled in so far: pure, and shared by every terminal surface. No screen, no keys."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Answer, Answered, Declined, Question


class Form(Struct, frozen=True):
    """The questions, an answer or a blank for each, and which one the person is at; after the last comes the review."""

    questions: tuple[Question, ...]
    answers: tuple[Answer | None, ...]
    at: int = 0
    reviewed: bool = False  # once seen, the review is where every change leads back to

    @classmethod
    def start(cls, questions: tuple[Question, ...]) -> Form:
        return cls(questions, (None,) * len(questions))

    @property
    def question(self) -> Question:
        return self.questions[self.at]

    @property
    def answer(self) -> Answer | None:
        return self.answers[self.at]

    @property
    def in_review(self) -> bool:
        return self.at == len(self.questions)

    @property
    def blanks(self) -> tuple[int, ...]:
        return tuple(number for number, answer in enumerate(self.answers) if answer is None)

    def go(self, at: int) -> Form:
        reached = max(0, min(at, len(self.questions)))
        return replace(self, at=reached, reviewed=self.reviewed or reached == len(self.questions))

    @property
    def _next(self) -> int:
        return len(self.questions) if self.reviewed else self.at + 1

    def fill(self, answer: Answer) -> Form:
        """Answer the question at hand and go on. A note written before stays; InvalidReply where it does not fit."""
        kept = answer if answer.note or self.answer is None else replace(answer, note=self.answer.note)
        return self._put(self.question.fit(kept)).go(self._next)

    def keep(self) -> Form:
        """Leave the answer at hand as it is and go on."""
        return self.go(self._next)

    def note(self, words: str) -> Form:
        """Put a note to the question at hand, whatever was or will be chosen."""
        answer = replace(self.answer, note=words) if self.answer else Answer(note=words)
        return self._put(self.question.fit(answer))

    def clear(self) -> Form:
        """Make the question at hand a blank again, but for its note, and go on."""
        note = self.answer.note if self.answer else ""
        return self._put(self.question.fit(Answer(note=note)) if note else None).go(self._next)

    def _put(self, answer: Answer | None) -> Form:
        return replace(self, answers=(*self.answers[: self.at], answer, *self.answers[self.at + 1 :]))

    def reply(self) -> Answered:
        """Everything, blanks included; InvalidReply where all is blank."""
        if not any(self.answers):
            raise InvalidReply("Every question is still blank. Answer at least one, or /decline.")
        return Answered(self.answers)

    def decline(self, message: str = "", *, stop: bool = False) -> Declined:
        return Declined(message, self.answers, stop)
