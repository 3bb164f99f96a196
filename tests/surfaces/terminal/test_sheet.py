"""What each key does to questions on a screen: no terminal."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.surfaces.terminal.sheets import (
    COUNT,
    DATABASE,
    LAYOUT,
    NAME,
    PARTS,
    Step,
    ask,
    going_on,
    keys_in,
    pressed,
    sheet,
)
from tests.surfaces.terminal.test_sheet_view import SMALL

from askdesk.core.model import Answer, Answered, Declined, Option, Question
from askdesk.core.text import Shown
from askdesk.surfaces.form import Given
from askdesk.surfaces.terminal.field import NEW_LINE, Edit, Field
from askdesk.surfaces.terminal.sheet import LEAVING, Sheet
from askdesk.surfaces.terminal.sheet_view import picture
from askdesk.surfaces.terminal.view import Size, cells

SUGGESTED = Question("Which name?", kind="text", default="desk")

POSTGRES = Answer(["Postgres (Recommended)"])
SQLITE = Answer(["SQLite"])
ALL = (DATABASE, PARTS, NAME, COUNT)


def parts(*labels: str, other: str = "", note: str = "") -> Answer:
    return Answer(labels, other, note, multi_select=True)


def given_to(questions: tuple[Question, ...] | Question, *keys: str) -> Given:
    """What the keys have given to the question one is at."""
    return going_on(sheet(*((questions,) if isinstance(questions, Question) else questions)), *keys).form.here


def row_after(questions: tuple[Question, ...] | Question, *keys: str) -> str:
    return going_on(sheet(*((questions,) if isinstance(questions, Question) else questions)), *keys).row


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        (DATABASE, ("option:0", "option:1", "option:2", "own", "note", "next", "chat")),
        (PARTS, ("option:0", "option:1", "option:2", "own", "note", "next", "chat")),
        (NAME, ("own", "note", "next", "chat")),
        (Question("How many?", kind="number", default="3"), ("own", "default", "note", "next", "chat")),
    ],
)
def test_a_question_has_a_row_for_each_thing_to_do_and_starts_at_the_first(
    question: Question, rows: tuple[str, ...]
) -> None:
    start = sheet(question)

    assert (start.rows(), start.row, start.mode) == (rows, rows[0], "list")


def test_up_and_down_go_round_the_rows() -> None:
    assert row_after(DATABASE, "down", "down") == "option:2"
    assert row_after(DATABASE, "up") == "chat"
    assert row_after(DATABASE, "up", "down") == "option:0"
    assert row_after(DATABASE, "end") == "chat"
    assert row_after(DATABASE, "end", "home") == "option:0"


def test_moving_chooses_nothing() -> None:
    assert given_to(DATABASE, *["down"] * 10, "up", "home", "end", "pagedown") == Given()


def test_enter_chooses_and_a_lone_question_is_sent_at_once() -> None:
    assert pressed(sheet(DATABASE), "enter") == Answered([POSTGRES])
    assert pressed(sheet(DATABASE), "down", "enter") == Answered([SQLITE])


def test_enter_chooses_and_goes_on_where_there_are_more_questions() -> None:
    step = going_on(sheet(DATABASE, PARTS), "down", "enter")

    assert (step.form.at, step.row, step.form.answers) == (1, "option:0", (SQLITE, None))


def test_space_chooses_and_stays() -> None:
    step = going_on(sheet(DATABASE), "down", " ")

    assert (step.row, step.form.here) == ("option:1", Given((1,)))
    assert pressed(step, "enter") == Answered([SQLITE])


def test_a_digit_is_enter_on_that_option() -> None:
    assert pressed(sheet(DATABASE), "2") == Answered([SQLITE])
    step = going_on(sheet(DATABASE, PARTS), "2")
    assert (step.form.at, step.form.answers) == (1, (SQLITE, None))


def test_the_digit_after_the_last_option_leads_to_own_words_and_chooses_nothing() -> None:
    assert (row_after(DATABASE, "4"), given_to(DATABASE, "4")) == ("own", Given())


@pytest.mark.parametrize("digit", ["5", "9"])
def test_a_digit_without_an_option_says_so(digit: str) -> None:
    step = going_on(sheet(DATABASE), digit)

    assert (step.said, step.form.here) == (f"There is no number {digit} here.", Given())
    assert going_on(step, "down").said == ""


@pytest.mark.parametrize("key", ["0", "x", "y", "f5", "ctrl+k", "²", "１"])
def test_other_keys_do_nothing(key: str) -> None:
    assert pressed(sheet(DATABASE), key) == sheet(DATABASE)


def test_another_choice_takes_the_place_of_the_first() -> None:
    assert given_to(DATABASE, " ", "down", " ") == Given((1,))


def test_send_takes_what_was_marked_and_refuses_a_blank() -> None:
    assert pressed(sheet(DATABASE), "down", " ", "end", "up", "enter") == Answered([SQLITE])
    step = going_on(sheet(DATABASE), "end", "up", "enter")
    assert (step.row, step.said) == ("next", "Every question is still blank. Answer at least one, or decline.")


def test_space_sends_no_lone_question() -> None:
    assert going_on(sheet(DATABASE), " ", "end", "up", " ").row == "next"


@pytest.mark.parametrize("keys", [(" ", "down", "down", " "), ("enter", "3"), ("1", "3"), ("1", "2", "3", "2")])
def test_space_enter_and_digits_turn_an_option_on_and_off(keys: tuple[str, ...]) -> None:
    step = going_on(sheet(PARTS), *keys)

    assert step.form.here == Given((0, 2))
    assert pressed(step, "end", "up", "enter") == Answered([parts("Sign-in", "Metrics")])


def test_own_words_stand_beside_the_options() -> None:
    step = going_on(sheet(PARTS), "1", "4", *"audit", "enter")

    assert (step.row, step.form.here) == ("note", Given((0,), "audit", True))
    assert pressed(step, "down", "enter") == Answered([parts("Sign-in", other="audit")])


def test_options_can_still_be_turned_on_and_off_after_own_words() -> None:
    assert given_to(PARTS, "4", *"audit", "escape", "1", "2", "1") == Given((1,), "audit", True)


def test_own_words_that_are_erased_leave_the_options() -> None:
    assert given_to(PARTS, "1", "4", "x", "backspace") == Given((0,))


def test_printable_keys_are_typed_into_own_words() -> None:
    assert given_to(DATABASE, "4", *"2 ?nc") == Given((), "2 ?nc", True)


def test_enter_sends_own_words() -> None:
    assert pressed(sheet(DATABASE), "4", *"MariaDB", "enter") == Answered([Answer(other="MariaDB")])
    step = going_on(sheet(DATABASE, PARTS), "4", *"MariaDB", "enter")
    assert (step.form.at, step.form.answers) == (1, (Answer(other="MariaDB"), None))


@pytest.mark.parametrize("keys", [(), (" ", " "), ("ctrl+j",)])
def test_enter_without_own_words_asks_for_them(keys: tuple[str, ...]) -> None:
    step = going_on(sheet(DATABASE), "4", *keys, "enter")

    assert (step.row, step.said) == ("own", "Type something first.")


@pytest.mark.parametrize("key", NEW_LINE)
def test_own_words_may_have_several_lines(key: str) -> None:
    assert pressed(sheet(NAME), "a", key, "b", "enter") == Answered([Answer(other="a\nb")])


def test_the_editor_is_asked_for_with_what_was_typed_and_brings_it_back() -> None:
    step = going_on(sheet(DATABASE), "4", *"one")

    assert step.press("ctrl+g") == Edit("one")
    assert step.edited("one\ntwo\n").form.here == Given((), "one\ntwo", True)
    assert step.edited("").form.here == Given()


def test_pasted_text_goes_in_at_the_cursor_and_sends_nothing() -> None:
    step = going_on(sheet(DATABASE), "4", *"ac", "left").paste("b\r\n1\r\n")

    assert (step.form.here, step.field.at) == (Given((), "ab\n1\nc", True), 5)


def test_pasted_text_without_a_field_is_left_out_and_said_so() -> None:
    for start in (sheet(DATABASE), going_on(sheet(DATABASE), "escape"), going_on(sheet(DATABASE), "?")):
        assert start.paste("1\n") == start.told(
            Shown("Pasted text was left out: it goes into your own words, a note or a message.")
        )


def test_own_words_stay_when_an_option_is_chosen_and_count_again_when_used_again() -> None:
    step = going_on(sheet(DATABASE), "4", *"MariaDB", "escape", "home", " ")

    assert step.form.here == Given((0,), "MariaDB", False)
    assert pressed(step, "4", "enter") == Answered([Answer(other="MariaDB")])


def test_passing_over_own_words_leaves_the_choice() -> None:
    assert given_to(DATABASE, "4", *"MariaDB", "escape", "home", " ", "end", *["up"] * 6) == Given(
        (0,), "MariaDB", False
    )


def test_up_and_down_move_in_the_text_first_and_then_leave_it() -> None:
    step = going_on(sheet(DATABASE), "4", *"one", "ctrl+j", *"two")

    assert (going_on(step, "up").row, going_on(step, "up", "up").row) == ("own", "option:2")
    assert going_on(step, "down").row == "note"


def test_the_keys_of_an_editor_edit() -> None:
    assert given_to(NAME, *"one two", "ctrl+w", *"tree", "left", "left", "left", "h") == Given((), "one three", True)
    assert given_to(NAME, *"one", "home", "delete", "end", "backspace", "ctrl+z") == Given((), "ne", True)


def test_a_number_is_sent_as_it_is() -> None:
    assert pressed(sheet(COUNT), "7", "enter") == Answered([Answer(other="7")])


def test_what_is_no_number_is_told_and_not_sent() -> None:
    step = going_on(sheet(COUNT), *"seven", "enter")

    assert (step.row, step.said) == ("own", "“seven” does not fit here. A number from 1 to 64.")
    assert going_on(sheet(COUNT), *"65", "enter").said == "“65” does not fit here. A number from 1 to 64."


def test_a_flaw_is_a_blank_until_it_is_mended_and_cannot_be_sent() -> None:
    step = going_on(sheet(DATABASE, COUNT), "1", *"65", "tab")

    assert (step.form.in_review, step.form.answers) == (True, (POSTGRES, None))
    assert going_on(step, "enter").said == "“65” does not fit here. A number from 1 to 64."
    assert pressed(step, "shift+tab", "backspace", "enter", "enter") == Answered([POSTGRES, Answer(other="6")])


def test_the_agents_suggestion_is_taken_with_enter() -> None:
    suggested = Question("How many?", kind="number", default="3")

    assert pressed(sheet(suggested), "down", "enter") == Answered([Answer(other="3")])
    assert going_on(sheet(suggested, DATABASE), "down", "enter").form.answers == (Answer(other="3"), None)


@pytest.mark.parametrize(("row", "keys"), [("option:0", ()), ("option:1", ("down",)), ("next", ("end", "up"))])
@pytest.mark.parametrize("back", ["enter", "escape", "tab", "shift+tab"])
def test_n_opens_the_note_and_it_ends_where_the_focus_was(row: str, keys: tuple[str, ...], back: str) -> None:
    noting = going_on(sheet(DATABASE), *keys, "n")
    assert (noting.mode, noting.row) == ("note", "note")

    noted = going_on(noting, *"why 1?", back)
    assert (noted.mode, noted.row, noted.form.here) == ("list", row, Given(note="why 1?"))


def test_from_the_row_of_the_note_the_focus_goes_on_to_what_sends() -> None:
    assert row_after(DATABASE, "end", "up", "up", "enter", *"why", "enter") == "next"
    assert row_after(DATABASE, "row:note", *"why", "enter") == "next"


def test_a_note_never_changes_the_choice() -> None:
    assert given_to(DATABASE, "down", " ", "up", "n", *"why", "enter") == Given((1,), note="why")
    assert given_to(PARTS, "1", "3", "n", *"why", "escape") == Given((0, 2), note="why")
    assert given_to(DATABASE, "4", *"own", "escape", "n", *"why", "enter") == Given((), "own", True, "why")


def test_a_note_goes_along_with_the_answer() -> None:
    assert pressed(sheet(DATABASE), "n", *"why", "enter", "enter") == Answered(
        [Answer(["Postgres (Recommended)"], note="why")]
    )


def test_a_note_alone_is_an_answer() -> None:
    assert pressed(sheet(DATABASE), "n", *"none", "enter", "end", "up", "enter") == Answered([Answer(note="none")])


def test_a_note_is_typed_on_and_takes_the_editor_and_pasted_text() -> None:
    step = going_on(sheet(DATABASE), "n", *"one", "enter", "n")

    assert (step.press("ctrl+g"), step.field) == (Edit("one"), Field.of("one"))
    assert step.paste(" two").form.here == step.edited("one two\n").form.here == Given(note="one two")


def test_enter_declines_with_the_message_and_what_was_chosen() -> None:
    step = going_on(sheet(DATABASE, PARTS), "2", "c", *" ask less ")

    assert (step.mode, step.message) == ("chat", " ask less ")
    assert step.press("enter") == Declined("ask less", (SQLITE, None))


def test_the_row_at_the_end_opens_the_message_too() -> None:
    for keys in (("up", "enter"), ("up", " "), ("row:chat",), ("c",)):
        assert pressed(sheet(DATABASE), *keys, *"no", "enter") == Declined("no")


def test_the_message_is_kept_when_one_goes_back() -> None:
    step = going_on(sheet(DATABASE), "down", "c", *"hm", "escape")

    assert (step.mode, step.row, step.message) == ("list", "option:1", "hm")
    assert pressed(step, "c", "m", "enter") == Declined("hmm")


def test_the_message_takes_the_editor_and_pasted_text() -> None:
    step = going_on(sheet(DATABASE), "c", *"one")

    assert step.press("ctrl+g") == Edit("one")
    assert step.paste(" two").message == step.edited("one two\n").message == "one two"


def test_talking_is_open_in_the_review_too() -> None:
    assert pressed(sheet(DATABASE, PARTS), "tab", "tab", "c", *"no", "enter") == Declined("no")
    assert pressed(sheet(DATABASE, PARTS), "tab", "tab", "down", "enter", *"no", "enter") == Declined("no")


@pytest.mark.parametrize(("on", "back"), [("tab", "shift+tab"), ("right", "left")])
def test_tab_and_arrows_go_to_the_other_questions_and_to_the_review(on: str, back: str) -> None:
    start = sheet(DATABASE, PARTS)

    assert [going_on(start, *[on] * count).form.at for count in range(4)] == [0, 1, 2, 2]
    assert going_on(start, on, on, back).form.at == 1
    assert going_on(start, back).form.at == 0


def test_in_a_lone_question_tab_and_arrows_move_the_focus() -> None:
    assert (row_after(DATABASE, "tab"), row_after(DATABASE, "right")) == ("option:1", "option:1")
    assert (row_after(DATABASE, "shift+tab"), row_after(DATABASE, "left")) == ("chat", "chat")


def test_a_click_on_a_tab_goes_there() -> None:
    assert going_on(sheet(*ALL), "tab:3").form.at == 3
    assert going_on(sheet(*ALL), "c", *"no", "tab:4").form.in_review


def test_coming_back_the_focus_is_on_what_was_chosen() -> None:
    assert going_on(sheet(DATABASE, PARTS), "2", "shift+tab").row == "option:1"
    assert going_on(sheet(DATABASE, PARTS), "4", *"own", "tab", "shift+tab").row == "own"
    assert going_on(sheet(DATABASE, NAME), "tab").row == "own"


def test_the_review_has_a_row_for_each_question_and_starts_at_send() -> None:
    step = going_on(sheet(DATABASE, PARTS), "1", "tab")

    assert (step.rows(), step.row) == (("question:0", "question:1", "send", "chat"), "send")


def test_blanks_are_sent_from_the_review() -> None:
    assert pressed(sheet(DATABASE, PARTS), "1", "tab", "enter") == Answered([POSTGRES, None])


def test_blank_everywhere_is_not_sent() -> None:
    step = going_on(sheet(DATABASE, PARTS), "tab", "tab", "enter")

    assert step.said == "Every question is still blank. Answer at least one, or decline."


def test_from_the_review_one_goes_back_anywhere_and_every_change_leads_to_it_again() -> None:
    step = going_on(sheet(DATABASE, PARTS, NAME), "1", "tab", "tab")
    for keys in (("1",), ("home", "enter"), ("home", " "), ("row:question:0",)):
        assert (going_on(step, *keys).form.at, going_on(step, *keys, "2").form.in_review) == (0, True)


def test_digits_in_the_review_never_send() -> None:
    step = going_on(sheet(DATABASE, PARTS), "1", "tab")

    assert (going_on(step, "3").row, going_on(step, "4").row) == ("send", "chat")
    assert going_on(step, "5").said == "There is no number 5 here."


def test_space_in_the_review_never_sends() -> None:
    assert going_on(sheet(DATABASE, PARTS), "1", "tab", " ").row == "send"


def test_no_note_is_taken_in_the_review() -> None:
    assert going_on(sheet(DATABASE, PARTS), "1", "tab", "n").mode == "list"


def test_all_kinds_of_questions_are_answered_one_after_the_other() -> None:
    keys = ("2", "1", "3", "tab", *"desk", "enter", "8", "enter", "enter")

    assert pressed(sheet(*ALL), *keys) == Answered(
        [SQLITE, parts("Sign-in", "Metrics"), Answer(other="desk"), Answer(other="8")]
    )


def test_esc_leaves_a_field_first_and_then_asks() -> None:
    step = going_on(sheet(DATABASE), "4", *"own", "escape")
    assert (step.mode, step.row, step.form.here.own) == ("list", "next", "own")

    asked = going_on(step, "escape")
    assert (asked.mode, asked.row, asked.rows()) == ("leave", "stay", LEAVING)


def test_esc_leaves_the_field_of_a_text_too() -> None:
    assert row_after(NAME, *"own", "escape") == "next"
    assert row_after(NAME, "escape") == "next"
    assert going_on(sheet(NAME), "escape", "escape").mode == "leave"


@pytest.mark.parametrize("keys", [("escape",), ("enter",), ("row:stay",)])
def test_staying_changes_nothing(keys: tuple[str, ...]) -> None:
    start = going_on(sheet(DATABASE, PARTS), "2", "1")

    assert going_on(start, "escape", *keys) == start


def test_later_leaves_the_ask_open() -> None:
    for keys in (("down", "enter"), ("2", "enter"), ("row:later", "row:later")):
        assert pressed(sheet(DATABASE), " ", "escape", *keys) is None


def test_declining_keeps_what_was_chosen_and_may_stop_the_agent() -> None:
    start = going_on(sheet(DATABASE, PARTS), "2", "escape")

    assert pressed(start, "3", "enter") == Declined(so_far=(SQLITE, None))
    assert pressed(start, "4", "enter") == pressed(start, "up", "enter") == Declined("", (SQLITE, None), stop=True)


@pytest.mark.parametrize("key", ["1", "2", "3", "4", " ", "x", "y", "n", "c", "tab", "pagedown"])
def test_no_key_but_enter_leaves(key: str) -> None:
    assert going_on(sheet(DATABASE), "escape", key).mode == "leave"


def test_a_first_click_moves_and_a_second_one_takes_it() -> None:
    asked = going_on(sheet(DATABASE), "escape")

    assert going_on(asked, "row:decline").row == "decline"
    assert pressed(asked, "row:decline", "row:decline") == Declined()


def test_one_key_blanks_all_and_brings_it_back() -> None:
    start = going_on(sheet(DATABASE, PARTS), "n", *"why", "enter", "2", "1", "4", *"own", "tab")
    blank = going_on(start, "ctrl+r")

    assert (blank.form.given, blank.mode, blank.form.at) == ((Given(), Given()), "list", 1)
    assert going_on(blank, "ctrl+r").form.given == start.form.given
    assert going_on(blank, "ctrl+r", "ctrl+r").form.given == blank.form.given


def test_what_was_typed_since_is_brought_back_too() -> None:
    first = going_on(sheet(NAME), *"first")
    second = going_on(first, "ctrl+r", *"second")

    assert (second.form.here.own, going_on(second, "ctrl+r").form.here.own) == ("second", "first")
    assert going_on(second, "ctrl+r", "ctrl+r").form.here.own == "second"


def test_a_message_stays_when_all_is_blanked() -> None:
    assert going_on(sheet(DATABASE), "c", *"hm", "ctrl+r").message == "hm"


def test_a_click_on_an_option_chooses_and_does_not_send() -> None:
    assert given_to(DATABASE, "row:option:1") == Given((1,))
    assert given_to(PARTS, "row:option:1", "row:option:2", "row:option:1") == Given((2,))


def test_a_click_on_own_words_puts_the_cursor_there() -> None:
    assert (row_after(DATABASE, "row:own"), given_to(DATABASE, "row:own", "x")) == ("own", Given((), "x", True))


def test_a_click_sends_on_the_row_that_says_so() -> None:
    assert pressed(sheet(DATABASE), "row:option:1", "row:next") == Answered([SQLITE])
    assert pressed(sheet(DATABASE, PARTS), "row:option:1", "tab:2", "row:send") == Answered([SQLITE, None])


def test_a_click_elsewhere_ends_a_note_and_keeps_it() -> None:
    step = going_on(sheet(DATABASE), "n", *"why", "row:option:2")

    assert (step.mode, step.form.here) == ("list", Given((2,), note="why"))


def test_page_keys_and_the_wheel_scroll_a_long_page() -> None:
    long = sheet(Question("\n".join(f"line {n}" for n in range(60)), ["Yes", "No"]))

    assert (going_on(long, "pageup").look, going_on(long, "wheel:up").look) == (-8, -3)
    assert going_on(long, "pageup", "pageup", "pagedown").look == -8
    assert going_on(long, "pageup", "down").look == 0


def test_page_keys_and_the_wheel_scroll_a_preview_and_another_option_starts_at_its_top() -> None:
    start = going_on(sheet(LAYOUT), "down")

    assert (going_on(start, "pagedown").scroll, going_on(start, "wheel:down").scroll) == ((8, 0), (3, 0))
    assert going_on(start, "pagedown", "pageup", "pageup").scroll == (0, 0)
    assert going_on(start, "pagedown", "up", "down").scroll == (0, 0)
    assert going_on(start, "pagedown", " ").scroll == (8, 0)


def test_the_preview_is_of_the_option_at_hand_or_else_of_the_one_chosen() -> None:
    start = sheet(LAYOUT)
    options = LAYOUT.options

    assert (start.previewed, going_on(start, "down").previewed) == options
    assert going_on(start, "end").previewed is None
    assert going_on(start, "down", " ", "end").previewed == options[1]


def test_reading_chooses_nothing() -> None:
    assert given_to(LAYOUT, "pagedown", "pageup", "ctrl+right", "ctrl+left", "wheel:down", "wheel:up") == Given()


def test_any_key_ends_the_help_and_does_nothing_else() -> None:
    start = sheet(DATABASE)
    assert going_on(start, "?").mode == "help"

    for key in ("1", "enter", "escape", " ", "c", "?"):
        assert pressed(start, "?", key) == start


def test_a_question_mark_is_typed_where_text_is_taken() -> None:
    assert going_on(sheet(NAME), "?").form.here.own == "?"
    assert going_on(sheet(DATABASE), "n", "?").form.here.note == "?"


def test_another_size_keeps_everything() -> None:
    start = going_on(sheet(DATABASE, PARTS), "1", "4", *"own", "left", "n", *"why")

    assert start.resized(Size(40, 12)) == replace(start, size=Size(40, 12))
    assert start.resized(Size(40, 12)).resized(Size(80, 24)) == start


def test_a_draft_is_gone_on_with_where_it_was_left() -> None:
    given = (Given((1,), "own", False, "why"), Given((0, 2), "more", True))
    step = Sheet.start(ask(DATABASE, PARTS), Size(80, 24), given, at=1, message="hm")

    assert (step.form.given, step.form.at, step.row, step.message) == (given, 1, "own", "hm")
    assert step.field == Field.of("more")


KEYS = (
    *(
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "tab",
        "shift+tab",
        "pageup",
        "pagedown",
        "ctrl+left",
        "ctrl+right",
    ),
    *("wheel:up", "wheel:down", "enter", "enter", " ", "escape", "ctrl+g", "ctrl+r", "backspace", "delete", "ctrl+w"),
    *("ctrl+u", "ctrl+k", "ctrl+z", "ctrl+a", "ctrl+e", "alt+b", *NEW_LINE, *"123456789ncyxq?", "é", "日", "f1"),
)
SIZES = st.builds(Size, st.integers(24, 200), st.integers(10, 50))
ASKED = [
    (DATABASE,),
    (PARTS,),
    (NAME,),
    (COUNT,),
    (LAYOUT,),
    (SUGGESTED, DATABASE),
    ALL,
    (LAYOUT, Question("Which of these, taken together?", ["日本語", Option("b", "c\nd", "e")], multi_select=True)),
]


class Click(NamedTuple):
    number: int  # among what the picture offers


class Paste(NamedTuple):
    words: str


SEEN = st.characters(exclude_categories=["Cs"])
ACTS = st.lists(
    st.one_of(
        st.sampled_from(KEYS),
        st.sampled_from(KEYS),
        SEEN,
        st.builds(Click, st.integers(0, 30)),
        st.builds(Paste, st.text(SEEN, max_size=20)),
        SIZES,
    ),
    max_size=25,
)


def acted(before: Sheet, act: str | Click | Paste | Size) -> Step:
    match act:
        case Size():
            return before.resized(act)
        case Paste(words):
            return before.paste(words)
        case Click(number):
            keys = keys_in(picture(before))
            return before.press(keys[number % len(keys)]) if keys else before
        case _:
            return before.press(act)


def assert_fair(before: Sheet, act: object, reply: Answered | Declined) -> None:
    """A reply fits the ask, says what stood there, and comes of a key that is meant to send."""
    said = reply.answers if isinstance(reply, Answered) else reply.so_far
    assert act in ("enter", *"123456789") or isinstance(act, Click)
    assert before.ask.fit(reply, None) == reply
    for number, (old, new) in enumerate(zip(before.form.answers, said, strict=False)):
        assert old == new or number == before.form.at


def assert_fits(start: Sheet) -> None:
    drawn = picture(start)
    assert len(drawn.lines) < start.size.lines
    assert max(map(cells, drawn.lines)) <= start.size.columns
    if drawn.cursor:
        column, row = drawn.cursor
        assert (column < start.size.columns, row < len(drawn.lines)) == (True, True)


@given(st.sampled_from(ASKED), SIZES, ACTS)
@settings(max_examples=200, deadline=None)
def test_whatever_is_pressed_the_picture_fits_and_so_does_the_reply(
    questions: tuple[Question, ...], size: Size, acts: list[str | Click | Paste | Size]
) -> None:
    before = sheet(*questions, size=size)
    for act in acts:
        assert_fits(before)
        step = acted(before, act)
        if isinstance(step, Answered | Declined):
            assert_fair(before, act, step)
        before = step if isinstance(step, Sheet) else before
    assert_fits(before)


ERASING = ("backspace", "delete", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+z", "ctrl+h", "ctrl+d", "ctrl+underscore")


def typed_words(start: Sheet) -> list[str]:
    return [text for given in start.form.given for text in (given.own, given.note)]


@given(st.sampled_from(ASKED), ACTS)
@settings(max_examples=200, deadline=None)
def test_nothing_typed_is_lost_by_a_key_that_does_not_erase(
    questions: tuple[Question, ...], acts: list[str | Click | Paste | Size]
) -> None:
    before = sheet(*questions)
    for act in acts:
        step = acted(before, act)
        if not isinstance(step, Sheet):
            continue
        if act == "ctrl+r":
            assert typed_words(going_on(step, "ctrl+r")) == typed_words(before)
        elif act not in ERASING:
            for old, new in zip(typed_words(before), typed_words(step), strict=True):
                assert len(new) >= len(old)
                assert is_within(old, new)
        before = step


def is_within(old: str, new: str) -> bool:
    """Whether one text is another with something put in somewhere."""
    return any(new.startswith(old[:at]) and new.endswith(old[at:]) for at in range(len(old) + 1))


@pytest.mark.parametrize("key", ["left", "right", "home", "end", "ctrl+left", "ctrl+z", "up"])
def test_moving_in_own_words_that_do_not_count_leaves_the_choice(key: str) -> None:
    chosen = going_on(sheet(DATABASE), "4", *"one", "ctrl+j", *"two", "escape", "home", "down", " ")

    assert going_on(chosen, "end", "up", "up", "up", key).form.here == Given((1,), "one\ntwo", False)


def test_own_words_are_not_lost_by_taking_the_agents_suggestion() -> None:
    step = going_on(sheet(SUGGESTED, DATABASE), *"a long answer", "down", "enter")

    assert (step.form.at, step.form.answers[0], step.form.given[0].own) == (1, Answer(other="desk"), "a long answer")
    assert going_on(step, "shift+tab", "up", "enter").form.answers[0] == Answer(other="a long answer")


@pytest.mark.parametrize("keys", [("row:default",), ("down", " ")])
def test_neither_a_click_nor_space_sends_the_agents_suggestion(keys: tuple[str, ...]) -> None:
    step = going_on(sheet(SUGGESTED), *keys)

    assert (step.form.answers, pressed(step, "row:next")) == ((Answer(other="desk"),), Answered([Answer(other="desk")]))


@pytest.mark.parametrize("words", ["a\0b", "a\x1b[31mb", "a\r\nb\tc"])
def test_what_an_editor_brings_back_is_cleaned_like_anything_typed(words: str) -> None:
    step = going_on(sheet(DATABASE, PARTS), "4").edited(words)

    assert step.form.here.own == Field().type(words).text
    assert picture(step)
    assert going_on(step, "ctrl+z").form.here.own == ""


LONG = Question("\n".join(f"line {n}" for n in range(60)), ["Yes", "No"])


def test_the_wheel_goes_on_scrolling() -> None:
    assert going_on(sheet(LONG), *["wheel:up"] * 4).look == -12


@pytest.mark.parametrize(
    ("there", "back"), [("pagedown", "pageup"), ("pageup", "pagedown"), ("wheel:down", "wheel:up")]
)
def test_scrolling_beyond_the_end_need_not_be_undone(there: str, back: str) -> None:
    far = going_on(sheet(LONG, size=SMALL), *[there] * 60)

    assert picture(going_on(far, back)) != picture(far)


@pytest.mark.parametrize(
    ("question", "keys"), [(LAYOUT, "3"), (LAYOUT, "n"), (DATABASE, "4"), (PARTS, "c"), (NAME, "")]
)
def test_up_and_down_move_by_the_rows_as_they_are_drawn(question: Question, keys: str) -> None:
    typed = going_on(sheet(question, size=Size(80, 50)), *keys).paste("word " * 40)
    _, row = picture(typed).cursor or (0, 0)

    assert (picture(going_on(typed, "up")).cursor or (0, 0))[1] == row - 1


def test_bringing_back_does_not_say_that_one_starts_anew() -> None:
    step = going_on(sheet(DATABASE), "4", *"own", "ctrl+r")

    assert (step.said, going_on(step, "ctrl+r").said) == (
        "Started anew. Ctrl+R brings back what stood here.",
        "Brought back what stood here before.",
    )


def test_an_empty_message_declines_nothing() -> None:
    assert going_on(sheet(DATABASE), "c", "enter").said == "Type something first."


def test_what_is_typed_on_the_row_of_the_note_is_a_note_and_no_choice() -> None:
    step = going_on(sheet(DATABASE), "end", "up", "up", *"2 servers")

    assert (step.mode, step.form.here) == ("note", Given(note="2 servers"))


def test_a_choice_comes_back_when_own_words_are_erased_again() -> None:
    assert going_on(sheet(DATABASE), "down", " ", "4", "x", "backspace").form.answers == (Answer(["SQLite"]),)


def test_ctrl_s_goes_on_and_sends_a_lone_question_and_the_review() -> None:
    assert pressed(sheet(PARTS), "1", "3", "ctrl+s") == Answered([Answer(["Sign-in", "Metrics"], multi_select=True)])
    assert going_on(sheet(DATABASE, PARTS), " ", "n", *"why", "ctrl+s").form.at == 1
    assert pressed(sheet(DATABASE, PARTS), " ", "ctrl+s", "ctrl+s", "ctrl+s") == Answered(
        [Answer([DATABASE.options[0].label]), None]
    )


def test_ctrl_s_sends_nothing_that_is_blank_or_does_not_fit() -> None:
    assert going_on(sheet(PARTS), "ctrl+s").said == "Every question is still blank. Answer at least one, or decline."
    assert going_on(sheet(COUNT), *"65", "ctrl+s").said == "“65” does not fit here. A number from 1 to 64."


def test_sending_what_does_not_fit_goes_to_it_and_says_why() -> None:
    step = going_on(sheet(DATABASE, COUNT), "tab", *"65", "tab", "enter")

    assert (step.form.at, step.row, step.said) == (1, "own", "“65” does not fit here. A number from 1 to 64.")
