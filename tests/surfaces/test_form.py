"""What a person has filled in so far."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.terminal.filled import filled

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Answer, Answered, Declined, Question
from askdesk.surfaces.form import Form, Given

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging", "Metrics"], multi_select=True)
COUNT = Question("How many?", kind="number", minimum=1, maximum=5)
SQLITE = Answer(["SQLite"])
LOGGING = Answer(["Logging"], multi_select=True)


def test_a_form_starts_blank_at_its_first_question() -> None:
    form = Form.start((DATABASE, PARTS))

    assert form == filled((DATABASE, PARTS), (None, None), 0)
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

    assert form == filled((DATABASE, PARTS), (None, None), 1)


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


def test_own_words_stay_when_an_option_is_chosen_instead_and_count_when_used_again() -> None:
    typed = Form.start((DATABASE,)).own("MariaDB")
    picked = typed.pick(1)

    assert (typed.here, typed.answers) == (Given((), "MariaDB", True), (Answer(other="MariaDB"),))
    assert (picked.here, picked.answers) == (Given((1,), "MariaDB", False), (Answer(["Postgres"]),))
    assert picked.own(picked.here.own).answers == (Answer(other="MariaDB"),)


def test_one_option_takes_the_place_of_another() -> None:
    assert Form.start((DATABASE,)).pick(0).pick(1).pick(1).here == Given((1,))


def test_where_several_may_be_chosen_options_turn_on_and_off_beside_own_words() -> None:
    form = Form.start((PARTS,)).pick(2).own("audit").pick(0)

    assert form.here == Given((0, 2), "audit", True)
    assert form.answers == (Answer(["Sign-in", "Metrics"], "audit", multi_select=True),)
    assert form.pick(0).pick(2).answers == (Answer(other="audit", multi_select=True),)
    assert form.own(" ").here == Given((0, 2), " ", False)


def test_own_words_that_read_as_a_label_are_that_choice() -> None:
    assert Form.start((DATABASE,)).own("SQLite").answers == (SQLITE,)
    assert Form.start((PARTS,)).pick(0).own("Logging").answers == (Answer(["Sign-in", "Logging"], multi_select=True),)


def test_a_note_never_changes_the_choice() -> None:
    for chosen in (Form.start((DATABASE,)), Form.start((DATABASE,)).pick(1), Form.start((DATABASE,)).own("MariaDB")):
        noted = chosen.note("why").note("").note("why not")
        assert noted.here == msgspec.structs.replace(chosen.here, note="why not")
        assert noted.note("").here == chosen.here


def test_invisible_words_and_notes_are_a_blank() -> None:
    assert Form.start((DATABASE,)).own("\u200b").note(" \n").answers == (None,)


@pytest.mark.parametrize(
    ("words", "flaw"),
    [
        ("", None),
        (" ", None),
        ("3", None),
        (" 2.5 ", None),
        ("0", "takes a number from 1, got 0"),
        ("6", "takes a number up to 5, got 6"),
        ("many", 'takes a number, got "many"'),
    ],
)
def test_what_is_wrong_with_a_number_is_known_while_it_is_typed(words: str, flaw: str | None) -> None:
    assert Form.start((COUNT,)).own(words).flaws == (flaw,)


def test_only_a_number_can_be_wrong() -> None:
    name = Question("Which name?", kind="text")

    assert Form.start((name, DATABASE)).own("many").go(1).own("6").flaws == (None, None)


def test_a_number_that_does_not_fit_is_no_blank_and_cannot_be_sent() -> None:
    form = Form.start((DATABASE, COUNT)).fill(SQLITE).own("6")

    assert (form.answers, form.blanks, form.is_touched) == ((SQLITE, None), (), True)
    with pytest.raises(InvalidReply, match=r"^2: takes a number up to 5, got 6$"):
        form.reply()
    assert form.decline("talk") == Declined("talk", (SQLITE, None))
    assert form.own("5").reply() == Answered([SQLITE, Answer(other="5")])


def test_a_number_that_does_not_count_is_not_looked_at() -> None:
    assert Form((COUNT,), (Given((), "many", False),)).flaws == (None,)


def test_once_reviewed_every_change_leads_back_to_the_review() -> None:
    form = Form.start((DATABASE, PARTS, COUNT)).fill(SQLITE)
    assert (form.at, form.go(3).go(0).keep().at) == (1, 3)


@given(st.builds(Given, st.lists(st.integers(0, 2), unique=True).map(tuple), st.text(), st.booleans(), st.text()))
def test_what_was_given_comes_back_from_a_draft_as_it_was(given: Given) -> None:
    assert msgspec.json.decode(msgspec.json.encode(given), type=Given) == given


def test_an_answer_is_given_as_it_was_filled_in_and_keeps_what_it_leaves_unsaid() -> None:
    before = Given((1,), "MariaDB", True, "why")

    assert Given.of(DATABASE, SQLITE, before) == Given((0,), "MariaDB", False, "why")
    assert Given.of(DATABASE, Answer(other="DuckDB", note="so"), before) == Given((), "DuckDB", True, "so")
