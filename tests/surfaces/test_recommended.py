"""What following an agent's own recommendation would answer."""

import pytest

from askdesk.core.model import Answer, Answered, Ask, Asker, Permission, Question, Questions
from askdesk.surfaces.recommended import recommended
from askdesk.testing.clock import NOON

DATABASE = Question("Which database?", ["SQLite (Recommended)", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in (Recommended)", "Logging", "Metrics (recommended)"], multi_select=True)
OPEN = Question("Which colour?", ["Red", "Blue"])


def followed(*questions: Question) -> Answered | None:
    return recommended(Ask("a", Questions(questions), Asker(), NOON))


def test_the_recommended_option_of_every_question_is_taken() -> None:
    assert followed(DATABASE) == Answered([Answer(["SQLite (Recommended)"])])
    assert followed(DATABASE, PARTS) == Answered(
        [
            Answer(["SQLite (Recommended)"]),
            Answer(["Sign-in (Recommended)", "Metrics (recommended)"], multi_select=True),
        ]
    )


@pytest.mark.parametrize(
    "question",
    [
        OPEN,
        Question("Which of two?", ["Red (Recommended)", "Blue (Recommended)"]),
        Question("Which name?", kind="text", default="desk"),
        Question("How many?", kind="number", default="3"),
        Question("Which part?", ["Sign-in", "Logging"], multi_select=True),
    ],
)
def test_an_ask_that_leaves_a_question_to_the_person_has_no_recommended_answer(question: Question) -> None:
    assert (followed(question), followed(DATABASE, question)) == (None, None)


def test_no_permission_has_a_recommended_answer() -> None:
    assert recommended(Ask("a", Permission("Bash", {"command": "ls"}), Asker(), NOON)) is None
