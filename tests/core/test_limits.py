"""How many of everything: the three limits, their edges, and headers cut for the screen."""

import pytest

from askdesk.core import strict
from askdesk.core.errors import Problem
from askdesk.core.limits import CLAUDE, OPEN, SPRING, Limits, shown_header
from askdesk.core.model import Kind, Permission, Question, Questions
from askdesk.core.text import Shown, width


def asked(questions: int = 1, options: int = 2, header: str = "Header") -> Questions:
    labels = [f"option {n}" for n in range(options)]
    return Questions([Question(f"Question {n}?", labels, header=header) for n in range(questions)])


def test_the_three_limits_are_these() -> None:
    assert Limits("claude", (1, 4), (2, 4), None, ("choice",), False, strict.SIZE, strict.DEPTH) == CLAUDE
    assert Limits("spring", (1, 10), (2, 4), 12, ("choice",), False, strict.SIZE, strict.DEPTH) == SPRING
    assert Limits("open", (1, 20), (2, 20), None, ("choice", "text", "number"), True, strict.SIZE, strict.DEPTH) == OPEN


@pytest.mark.parametrize(("limits", "most"), [(CLAUDE, 4), (SPRING, 10), (OPEN, 20)])
def test_the_number_of_questions_is_kept_to_its_edges(limits: Limits, most: int) -> None:
    assert list(limits.problems(asked(questions=1))) == []
    assert list(limits.problems(asked(questions=most))) == []
    assert list(limits.problems(asked(questions=most + 1))) == [Problem("questions", f"needs 1-{most}, has {most + 1}")]


@pytest.mark.parametrize(("limits", "most"), [(CLAUDE, 4), (SPRING, 4), (OPEN, 20)])
def test_the_number_of_options_is_kept_to_its_edges(limits: Limits, most: int) -> None:
    for fine in (2, most):
        assert list(limits.problems(asked(options=fine))) == []
    for wrong in (0, 1, most + 1):
        rule = f"needs 2-{most}, has {wrong}"
        assert list(limits.problems(asked(options=wrong))) == [Problem("questions[0].options", rule)]


@pytest.mark.parametrize(
    ("limits", "header", "problems"),
    [
        (SPRING, "x" * 12, []),
        (SPRING, "日" * 12, []),
        (SPRING, "x" * 13, [Problem("questions[0].header", "needs 1-12 characters, has 13")]),
        (SPRING, "", [Problem("questions[0].header", "needs 1-12 characters, has 0")]),
        (CLAUDE, "x" * 100, []),
        (CLAUDE, "", []),
        (OPEN, "x" * 100, []),
        (OPEN, "", []),
    ],
)
def test_only_spring_refuses_a_header(limits: Limits, header: str, problems: list[Problem]) -> None:
    assert list(limits.problems(asked(header=header))) == problems


@pytest.mark.parametrize("kind", ["text", "number"])
def test_only_open_takes_text_and_number_questions(kind: Kind) -> None:
    body = Questions([Question("How many?", kind=kind, header="Count")])
    assert list(OPEN.problems(body)) == []
    for limits in (CLAUDE, SPRING):
        assert list(limits.problems(body)) == [Problem("questions[0].kind", f"must be choice, is {kind}")]


def test_every_broken_limit_is_told_at_once() -> None:
    body = Questions(
        [
            *(Question(f"{n}?", ["a", "b"], header="ok") for n in range(9)),
            Question("one?", ["a"], header="x" * 13),
            Question("text?", kind="text"),
        ]
    )
    assert list(SPRING.problems(body)) == [
        Problem("questions", "needs 1-10, has 11"),
        Problem("questions[9].options", "needs 2-4, has 1"),
        Problem("questions[9].header", "needs 1-12 characters, has 13"),
        Problem("questions[10].kind", "must be choice, is text"),
        Problem("questions[10].header", "needs 1-12 characters, has 0"),
    ]


def test_the_size_of_a_permission_is_limited_in_bytes() -> None:
    small = Limits("small", (1, 1), (2, 2), size=12)
    assert list(small.problems(Permission("Bash", '{"a":"1234"}'))) == []
    longer = Permission("Bash", '{"a":"12345"}')
    assert list(small.problems(longer)) == [Problem("input", "must not be longer than 12 bytes, is 13")]
    wider = Permission("Bash", '{"a":"éééé"}')
    assert list(small.problems(wider)) == [Problem("input", "must not be longer than 12 bytes, is 16")]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ""),
        ("Auth method", "Auth method"),
        ("x" * 12, "x" * 12),
        ("x" * 13, "x" * 11 + "…"),
        ("日本語日本語", "日本語日本語"),
        ("日本語日本語日", "日本語日本…"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_long_header_is_shown_cut(header: str, expected: str) -> None:
    found = shown_header(Question("Which?", ["a", "b"], header=header))
    assert found == Shown(expected)
    assert width(found) <= 12
