"""How many questions, options and characters an ask may have. Values, so that every adapter picks its own."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from askdesk.core import strict
from askdesk.core.errors import Problem
from askdesk.core.model import Kind, Permission, Question, Questions
from askdesk.core.text import Shown, cut, shown

HEADER = 12  # cells of a header that surfaces show


class Limits(Struct, frozen=True):
    """The least and the most of everything; `header` is the longest one accepted, None for any."""

    name: str
    questions: tuple[int, int]
    options: tuple[int, int]
    header: int | None = None
    kinds: tuple[Kind, ...] = ("choice",)
    plain_options: bool = False  # options may be plain strings
    size: int = strict.SIZE
    depth: int = strict.DEPTH

    def problems(self, body: Questions | Permission) -> Iterable[Problem]:
        """Every limit that a body breaks."""
        if isinstance(body, Permission):
            if (size := len(body.input.encode())) > self.size:
                yield Problem("input", f"must not be longer than {self.size} bytes, is {size}")
            try:
                strict.check(body.value, depth=self.depth)
            except strict.NotStrict as error:
                yield Problem("input", str(error))
            return
        yield from self.count_problems("questions", len(body.items), self.questions)
        for number, question in enumerate(body.items):
            for problem in self.question_problems(question):
                yield problem.under(f"questions[{number}]")

    def question_problems(self, question: Question) -> Iterable[Problem]:
        if question.kind not in self.kinds:
            yield Problem("kind", f"must be {' or '.join(self.kinds)}, is {question.kind}")
        elif question.kind == "choice":
            yield from self.count_problems("options", len(question.options), self.options)
        yield from self.header_problems(question.header)

    def header_problems(self, header: str) -> Iterable[Problem]:
        if self.header is not None and not 0 < len(header) <= self.header:
            yield Problem("header", f"needs 1-{self.header} characters, has {len(header)}")

    @staticmethod
    def count_problems(path: str, count: int, between: tuple[int, int]) -> Iterable[Problem]:
        least, most = between
        if not least <= count <= most:
            yield Problem(path, f"needs {least}-{most}, has {count}")


CLAUDE = Limits("claude", questions=(1, 4), options=(2, 4))
SPRING = Limits("spring", questions=(1, 10), options=(2, 4), header=HEADER)
OPEN = Limits("open", questions=(1, 20), options=(2, 20), kinds=("choice", "text", "number"), plain_options=True)


def shown_header(question: Question) -> Shown:
    """A header as surfaces show it: cut where it is long."""
    return cut(shown(question.header), HEADER)
