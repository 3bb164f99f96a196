"""What a person has filled in so far: pure, and shared by every terminal surface. No screen, no keys."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply, Problem
from askdesk.core.model import Answer, Answered, Declined, Question
from askdesk.core.text import is_blank
from askdesk.surfaces.texts import say


class Given(Struct, frozen=True, omit_defaults=True):
    """What was put to one question. Own words stay when an option is chosen instead, and the other way round."""

    picked: tuple[int, ...] = ()
    own: str = ""
    owned: bool = False  # whether the own words count
    note: str = ""
    taken: bool = False  # whether the agent's suggestion counts

    @classmethod
    def of(cls, question: Question, answer: Answer, before: Given) -> Given:
        """An answer, with what it leaves unsaid as it was before."""
        labels = [option.label for option in question.options]
        picked = tuple(labels.index(label) for label in answer.chosen)
        return cls(picked, answer.other or before.own, bool(answer.other), answer.note or before.note)

    def answer(self, question: Question) -> Answer | None:
        """The answer it makes, or None for a blank; InvalidReply where it does not fit the question."""
        own = self.own if self.owned else (question.default or "") if self.taken else ""
        counted = self.counted(question)
        if not counted and is_blank(own) and is_blank(self.note):
            return None
        return question.fit(Answer([question.options[number].label for number in counted], own, self.note))

    def counted(self, question: Question) -> tuple[int, ...]:
        """The options that count: where one may be chosen, none does beside own words or the agent's suggestion."""
        return self.picked if question.multi_select or not (self.owned or self.taken) else ()

    def flaw(self, question: Question) -> str | None:
        """Why the own words do not fit, to be told while they are typed; only a number can be wrong."""
        if question.kind != "number" or is_blank(self.own) or not self.owned:
            return None
        return question.number_flaw(self.own)


class Form(Struct, frozen=True):
    """The questions, what was given to each, and which one the person is at; after the last comes the review."""

    questions: tuple[Question, ...]
    given: tuple[Given, ...]
    at: int = 0
    reviewed: bool = False  # once seen, the review is where every change leads back to

    @classmethod
    def start(cls, questions: tuple[Question, ...]) -> Form:
        return cls(questions, (Given(),) * len(questions))

    @property
    def question(self) -> Question:
        return self.questions[self.at]

    @property
    def here(self) -> Given:
        return self.given[self.at]

    @property
    def answer(self) -> Answer | None:
        return self.answers[self.at]

    @property
    def answers(self) -> tuple[Answer | None, ...]:
        """An answer or a blank for each question; what does not fit is a blank, and reply() will say so."""
        return tuple(
            None if given.flaw(question) else given.answer(question)
            for question, given in zip(self.questions, self.given, strict=True)
        )

    @property
    def flaws(self) -> tuple[str | None, ...]:
        return tuple(given.flaw(question) for question, given in zip(self.questions, self.given, strict=True))

    @property
    def in_review(self) -> bool:
        return self.at == len(self.questions)

    @property
    def is_lone(self) -> bool:
        """Whether there is one question, so that nothing is reviewed."""
        return len(self.questions) == 1

    @property
    def blanks(self) -> tuple[int, ...]:
        pairs = zip(self.answers, self.flaws, strict=True)
        return tuple(number for number, (answer, flaw) in enumerate(pairs) if answer is None and not flaw)

    @property
    def is_touched(self) -> bool:
        """Whether anything was chosen or typed that would be a pity to lose."""
        return any(given != Given() for given in self.given)

    def go(self, at: int) -> Form:
        reached = max(0, min(at, len(self.questions)))
        return replace(self, at=reached, reviewed=self.reviewed or reached == len(self.questions))

    def keep(self) -> Form:
        """Leave the question at hand as it is and go on."""
        return self.go(len(self.questions) if self.reviewed else self.at + 1)

    def pick(self, number: int) -> Form:
        """Choose an option, or where several may be chosen turn it on or off."""
        here = self.here
        if not self.question.multi_select:
            return self._put(replace(here, picked=(number,), owned=False, taken=False))
        turned = set(here.picked) ^ {number}
        return self._put(replace(here, picked=tuple(sorted(turned))))

    def own(self, words: str) -> Form:
        """Answer in own words: instead of an option, or beside them where several may be chosen."""
        owned = not is_blank(words)
        return self._put(replace(self.here, own=words, owned=owned, taken=self.here.taken and not owned))

    def take(self) -> Form:
        """Answer as the agent suggests; own words stay, and do not count."""
        return self._put(replace(self.here, taken=True, owned=False))

    def note(self, words: str) -> Form:
        """Put a note to the question at hand, whatever was or will be chosen."""
        return self._put(replace(self.here, note=words))

    def fill(self, answer: Answer) -> Form:
        """Answer the question at hand and go on. A note written before stays; InvalidReply where it does not fit."""
        fitted = self.question.fit(answer)
        return self._put(Given.of(self.question, fitted, self.here)).keep()

    def clear(self) -> Form:
        """Make the question at hand a blank again, but for its note, and go on."""
        return self._put(Given(note=self.here.note)).keep()

    def _put(self, given: Given) -> Form:
        return replace(self, given=(*self.given[: self.at], given, *self.given[self.at + 1 :]))

    def reply(self) -> Answered:
        """Everything, blanks included; InvalidReply where all is blank or something does not fit."""
        if problems := [Problem(f"{at + 1}", flaw) for at, flaw in enumerate(self.flaws) if flaw]:
            raise InvalidReply(problems)
        if not any(self.answers):
            raise InvalidReply(say("form.all_blank"))
        return Answered(self.answers)

    def decline(self, message: str = "", *, stop: bool = False) -> Declined:
        return Declined(message, self.answers, stop)
