"""What a person has filled in so far."""

import pytest

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Answer, Answered, Declined, Question
from askdesk.surfaces.terminal.form import Form

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging", "Metrics"], multi_select=True)
SQLITE = Answer(["SQLite"])
LOGGING = Answer(["Logging"], multi_select=True)


def test_a_form_starts_blank_at_its_first_question() -> None:
    form = Form.start((DATABASE, PARTS))

    assert form == Form((DATABASE, PARTS), (None, None), 0)
    assert (form.question, form.answer, form.in_review, form.blanks) == (DATABASE, None, False, (0, 1))


def test_filling_every_question_leads_to_the_review_and_to_a_reply() -> None:
    form = Form.start((DATABASE, PARTS)).fill(SQLITE).fill(Answer(["Logging"]))

    assert form.answers == (SQLITE, LOGGING)
    assert (form.at, form.in_review, form.blanks) == (2, True, ())
    assert form.reply() == Answered([SQLITE, LOGGING])


def test_an_answer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidReply, match="takes one answer, got 2"):
        Form.start((DATABASE,)).fill(Answer(["SQLite", "Postgres"]))


def test_a_note_stays_when_an_answer_follows_and_gives_way_to_a_newer_one() -> None:
    noted = Form.start((DATABASE,)).note("for now")

    assert noted.answers == (Answer(note="for now"),)
    assert noted.fill(SQLITE).answers == (Answer(["SQLite"], note="for now"),)
    assert noted.fill(Answer(["SQLite"], note="later too")).answers == (Answer(["SQLite"], note="later too"),)
    assert noted.fill(SQLITE).go(0).note("after all").answers == (Answer(["SQLite"], note="after all"),)


def test_clearing_makes_a_blank_again() -> None:
    form = Form.start((DATABASE, PARTS)).fill(SQLITE).go(0).clear()

    assert form == Form((DATABASE, PARTS), (None, None), 1)


@pytest.mark.parametrize(("wanted", "reached"), [(-5, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
def test_going_never_leaves_the_form(wanted: int, reached: int) -> None:
    assert Form.start((DATABASE, PARTS)).go(wanted).at == reached


def test_blank_everywhere_is_no_reply() -> None:
    with pytest.raises(InvalidReply, match="Every question is still blank"):
        Form.start((DATABASE, PARTS)).reply()


def test_declining_keeps_what_was_chosen_so_far() -> None:
    form = Form.start((DATABASE, PARTS))

    assert form.decline() == Declined()
    assert form.fill(SQLITE).decline("let us talk", stop=True) == Declined("let us talk", (SQLITE, None), stop=True)
