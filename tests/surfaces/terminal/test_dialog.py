"""What each typed line does: no terminal, no desk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.terminal.filled import filled

from askdesk.core.model import Answer, Answered, Declined, Question, Questions, Reply
from askdesk.core.text import Shown
from askdesk.surfaces.form import Form
from askdesk.surfaces.terminal.dialog import Dialog, edited, enter, how_to_answer, prompt
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.texts import say

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging", "Metrics"], multi_select=True)
NAME = Question("Which name?", kind="text")
COUNT = Question("How many?", kind="number", minimum=1, maximum=5)


def start(*questions: Question) -> Dialog:
    return Dialog(Form.start(questions))


def typed(questions: tuple[Question, ...] | Question, *lines: str) -> Dialog | Reply | Edit | None:
    """What has come of a dialog after these lines."""
    step: Dialog | Reply | Edit | None = start(*((questions,) if isinstance(questions, Question) else questions))
    for line in lines:
        assert isinstance(step, Dialog), f"the dialog ended before {line!r}"
        step = enter(step, line)
    return step


def going_on(questions: tuple[Question, ...] | Question, *lines: str) -> Dialog:
    step = typed(questions, *lines)
    assert isinstance(step, Dialog)
    return step


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1", Answer(["SQLite"])),
        ("2", Answer(["Postgres"])),
        (" 2 ", Answer(["Postgres"])),
        ("01", Answer(["SQLite"])),
        ("1,", Answer(["SQLite"])),
        ("1,1", Answer(["SQLite"])),
        ("1 /note only for now", Answer(["SQLite"], note="only for now")),
        ("something else", Answer(other="something else")),
        ("2 servers", Answer(other="2 servers")),
        ("1.", Answer(other="1.")),
        ("-1", Answer(other="-1")),
        ("1_0", Answer(other="1_0")),
        ("１", Answer(other="１")),
        ("١", Answer(other="١")),
        ("²", Answer(other="²")),
        ("yes", Answer(other="yes")),
        ("SQLite", Answer(["SQLite"])),
        ("/etc/hosts", Answer(other="/etc/hosts")),
        ("/notebooks are nice", Answer(other="/notebooks are nice")),
    ],
)
def test_only_numbers_are_choices_and_anything_else_is_own_words(line: str, answer: Answer) -> None:
    assert typed(DATABASE, line) == Answered([answer])


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1,3", Answer(["Sign-in", "Metrics"], multi_select=True)),
        ("3 1", Answer(["Sign-in", "Metrics"], multi_select=True)),
        ("3, 1,", Answer(["Sign-in", "Metrics"], multi_select=True)),
        ("2", Answer(["Logging"], multi_select=True)),
        ("2,2", Answer(["Logging"], multi_select=True)),
        ("1,2 /note in this order", Answer(["Sign-in", "Logging"], note="in this order", multi_select=True)),
        ("1 and 3", Answer(other="1 and 3", multi_select=True)),
        ("none of them", Answer(other="none of them", multi_select=True)),
    ],
)
def test_several_numbers_choose_several_where_several_may_be_chosen(line: str, answer: Answer) -> None:
    assert typed(PARTS, line) == Answered([answer])


@pytest.mark.parametrize("line", ["1,2", "1 2", "2,1 /note both"])
def test_two_numbers_where_one_may_be_chosen_are_asked_again(line: str) -> None:
    assert typed(DATABASE, line) == Dialog(Form.start((DATABASE,)), said=Shown("Only one may be chosen here."))


def test_an_option_and_other_where_one_may_be_chosen_are_asked_again() -> None:
    assert typed(DATABASE, "1,3") == Dialog(Form.start((DATABASE,)), said=Shown("Only one may be chosen here."))


@pytest.mark.parametrize(
    ("question", "line", "said"),
    [
        (DATABASE, "0", "There is no number 0 here; choose from 1 to 3."),
        (DATABASE, "4", "There is no number 4 here; choose from 1 to 3."),
        (PARTS, "1,5", "There is no number 5 here; choose from 1 to 4."),
        (PARTS, "1,2,99 /note all", "There is no number 99 here; choose from 1 to 4."),
    ],
)
def test_a_number_out_of_range_is_asked_again_and_never_dropped(question: Question, line: str, said: str) -> None:
    assert typed(question, line) == Dialog(Form.start((question,)), said=Shown(said))


def test_a_number_of_thousands_of_digits_is_out_of_range_too() -> None:
    step = typed(DATABASE, "1" * 5000)

    assert isinstance(step, Dialog)
    assert step.form == Form.start((DATABASE,))


def test_an_empty_line_is_asked_again() -> None:
    said = "Nothing was typed. /skip leaves this question blank, /help shows what can be done."

    for line in ("", "   ", "\t"):
        assert typed(DATABASE, line) == Dialog(Form.start((DATABASE,)), said=Shown(said))


def test_words_that_nobody_could_see_are_asked_again() -> None:
    said = "That cannot be sent: an answer needs a choice, own words or a note"

    assert typed(DATABASE, "\u200b") == Dialog(Form.start((DATABASE,)), said=Shown(said))


def test_a_note_before_a_choice_stays() -> None:
    noted = going_on(DATABASE, "/note only for now")

    assert noted == Dialog(
        filled((DATABASE,), (Answer(note="only for now"),)),
        said=Shown("Noted. Now choose, or /skip to send the note alone."),
    )
    assert enter(noted, "2") == Answered([Answer(["Postgres"], note="only for now")])
    assert enter(noted, "neither") == Answered([Answer(other="neither", note="only for now")])
    assert enter(noted, "1 /note after all") == Answered([Answer(["SQLite"], note="after all")])
    assert enter(noted, "/skip") == Answered([Answer(note="only for now")])


@pytest.mark.parametrize("line", ["1", "3", "/back", "/stop", "/note x", "yes", "  two blanks before", "1,2"])
def test_other_takes_the_next_line_literally(line: str) -> None:
    asked = going_on(DATABASE, "3")

    assert asked == Dialog(Form.start((DATABASE,)), mode="other")
    assert prompt(asked) == "Your own words: "
    assert enter(asked, line) == Answered([Answer(other=line)])


def test_other_without_words_chooses_nothing() -> None:
    nothing = Dialog(Form.start((DATABASE,)), said=Shown("Nothing was typed, so nothing was chosen."))

    assert typed(DATABASE, "3", "") == nothing
    assert typed(DATABASE, "3", " \t ") == nothing


def test_other_with_invisible_words_is_asked_again() -> None:
    step = going_on(DATABASE, "3", "\u200b\u3164")

    assert step.form == Form.start((DATABASE,))
    assert step.said == "That cannot be sent: an answer needs a choice, own words or a note"


def test_options_and_other_go_together_where_several_may_be_chosen() -> None:
    asked = going_on(PARTS, "1,4,2")

    assert asked == Dialog(Form.start((PARTS,)), mode="other", picked=(0, 1))
    assert enter(asked, "1") == Answered([Answer(["Sign-in", "Logging"], "1", multi_select=True)])
    assert enter(asked, "") == Dialog(Form.start((PARTS,)), said=Shown("Nothing was typed, so nothing was chosen."))


def test_a_note_may_stand_beside_other() -> None:
    assert typed(DATABASE, "3 /note really", "MariaDB") == Answered([Answer(other="MariaDB", note="really")])


def test_say_takes_the_next_line_as_own_words() -> None:
    assert typed(DATABASE, "/say", "1") == Answered([Answer(other="1")])
    assert typed(NAME, "/say", "/skip") == Answered([Answer(other="/skip")])


@pytest.mark.parametrize("line", ["askdesk", "1", "1,2", "１"])
def test_a_text_question_takes_any_words_also_numbers(line: str) -> None:
    assert typed(NAME, line) == Answered([Answer(other=line)])


@pytest.mark.parametrize("line", ["1", "5", " 2.5 ", "+3", "1e0"])
def test_a_number_question_takes_a_number_within_its_bounds(line: str) -> None:
    assert typed(COUNT, line) == Answered([Answer(other=line.strip())])


@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        ("0", "takes a number from 1, got 0"),
        ("6", "takes a number up to 5, got 6"),
        ("1e400", 'takes a number, got "1e400"'),
        ("nan", 'takes a number, got "nan"'),
        ("two", 'takes a number, got "two"'),
        ("1_0", 'takes a number, got "1_0"'),
        ("٣", 'takes a number, got "\\u0663"'),
        ("1,2", 'takes a number, got "1,2"'),
    ],
)
def test_a_number_question_asks_again_for_anything_else(line: str, flaw: str) -> None:
    assert typed(COUNT, line) == Dialog(Form.start((COUNT,)), said=Shown(f"That cannot be sent: {flaw}"))


def test_back_goes_to_the_question_before_and_no_further() -> None:
    both = (DATABASE, PARTS)

    assert going_on(both, "1").form.at == 1
    assert going_on(both, "1", "/back").form == filled(both, (Answer(["SQLite"]), None), 0)
    assert going_on(both, "1", "/back", "/back").form.at == 0
    assert going_on(both, "1", "2", "/back").form.at == 1


def test_a_question_that_is_answered_again_takes_the_new_answer() -> None:
    assert going_on((DATABASE, PARTS), "1", "/back", "2").form == filled(
        (DATABASE, PARTS), (Answer(["Postgres"]), None), 1
    )


def test_skip_leaves_a_blank_also_where_there_was_an_answer() -> None:
    both = (DATABASE, PARTS)

    assert going_on(both, "/skip").form == filled(both, (None, None), 1)
    assert going_on(both, "1", "/back", "/skip").form == filled(both, (None, None), 1)


def test_skip_keeps_nothing_but_the_note() -> None:
    both = (DATABASE, PARTS)

    assert going_on(both, "/note why", "/skip").form == filled(both, (Answer(note="why"), None), 1)
    assert going_on(both, "1 /note why", "/back", "/skip").form == filled(both, (Answer(note="why"), None), 1)


def test_skipping_the_only_question_is_no_answer() -> None:
    assert typed(DATABASE, "/skip") == Dialog(
        Form.start((DATABASE,)),
        said=Shown("That cannot be sent: Every question is still blank. Answer at least one, or decline."),
    )


def test_declining_with_words_says_them_and_keeps_what_was_chosen() -> None:
    assert typed(DATABASE, "/decline let us talk") == Declined("let us talk")
    assert typed((DATABASE, PARTS), "2", "/decline  ask differently ") == Declined(
        "ask differently", (Answer(["Postgres"]), None)
    )


def test_declining_without_words_asks_for_them_once() -> None:
    asked = going_on(DATABASE, "/decline")

    assert asked == Dialog(Form.start((DATABASE,)), mode="message")
    assert prompt(asked) == "A word to the agent (Enter for none): "
    assert enter(asked, "") == Declined()
    assert enter(asked, " not now ") == Declined("not now")
    assert enter(asked, "1") == Declined("1")


def test_stopping_declines_and_stops_the_agent() -> None:
    asked = going_on(DATABASE, "/stop")

    assert asked == Dialog(Form.start((DATABASE,)), mode="stop")
    assert prompt(asked) == "Why should it stop? (Enter for no reason): "
    assert enter(asked, "") == Declined(stop=True)
    assert typed(DATABASE, "/stop wrong project") == Declined("wrong project", stop=True)


def test_later_leaves_the_ask_open() -> None:
    assert typed(DATABASE, "/later") is None
    assert typed((DATABASE, PARTS), "1", "/later") is None


def test_help_names_every_command_and_changes_nothing() -> None:
    assert typed(DATABASE, "/help") == Dialog(Form.start((DATABASE,)), said=say("plain.help"))
    assert [word for word in say("plain.help").split() if word.startswith("/")] == [
        *("/note", "/say", "/edit", "/note", "/skip", "/back", "/anew", "/decline", "/stop", "/later", "/help")
    ]


KEYS = Shown("That line held keys that are not text; type it again.")
MISTYPED = Shown("That is not a command as /help lists them; /say takes the next line as it is, whatever it is.")


@pytest.mark.parametrize("line", ["\x1b[A", "1\x1b[D", "/decline a\0b", "SQLite\x7f", "\x9b31m"], ids=ascii)
def test_keys_that_are_not_text_are_asked_again(line: str) -> None:
    assert typed(DATABASE, line) == Dialog(Form.start((DATABASE,)), said=Shown(KEYS))


@pytest.mark.parametrize(
    "line",
    ["/skp", "/SKIP", "/Later", "/later.", "/later thanks", "/back to the roots", "/skip it", "/help me", "/note", "/"],
)
def test_what_may_be_a_command_mistyped_is_asked_again(line: str) -> None:
    assert typed(DATABASE, line) == Dialog(Form.start((DATABASE,)), said=Shown(MISTYPED))


def test_what_may_be_a_command_is_own_words_after_say() -> None:
    assert typed(DATABASE, "/say", "/later thanks") == Answered([Answer(other="/later thanks")])


def test_a_word_that_begins_like_note_is_no_note() -> None:
    assert typed(DATABASE, "1 /notebook") == Answered([Answer(other="1 /notebook")])


def test_one_can_come_back_from_declining() -> None:
    assert typed(DATABASE, "/decline", "/back", "1") == Answered([Answer(["SQLite"])])
    assert typed(DATABASE, "/decline", "/later") is None


def test_edit_asks_for_an_editor_with_the_own_words_so_far() -> None:
    assert typed(DATABASE, "/edit") == Edit("")
    assert typed((DATABASE, NAME), "my own", "/back", "/edit") == Edit("my own")
    assert typed((DATABASE, NAME), "my own", "/back", "1", "/back", "/edit") == Edit("my own")


@pytest.mark.parametrize("line", ["/edit this", "/EDIT", "/anew please", "/Anew"])
def test_edit_and_anew_stand_alone(line: str) -> None:
    assert typed(DATABASE, line) == Dialog(Form.start((DATABASE,)), said=Shown(MISTYPED))


def test_what_comes_back_from_the_editor_is_the_answer_with_its_lines() -> None:
    assert edited(start(DATABASE), "one\n\n  two\n") == Answered([Answer(other="one\n\n  two")])
    assert edited(start(DATABASE), "1\n") == Answered([Answer(other="1")])
    assert edited(start(DATABASE), "SQLite\n") == Answered([Answer(["SQLite"])])
    assert edited(start(DATABASE, NAME), "my own") == Dialog(
        filled((DATABASE, NAME), (Answer(other="my own"), None), 1)
    )


def test_a_note_stays_beside_what_comes_back_from_the_editor() -> None:
    assert edited(going_on(DATABASE, "/note why"), "my own\n") == Answered([Answer(other="my own", note="why")])


@pytest.mark.parametrize("words", ["", "\n\n", " \t", "\u200b"])
def test_an_editor_left_empty_chooses_nothing(words: str) -> None:
    assert edited(start(DATABASE), words) == Dialog(
        Form.start((DATABASE,)), said=Shown("Nothing was typed, so nothing was chosen.")
    )


@pytest.mark.parametrize(
    ("question", "words", "said"),
    [
        (COUNT, "six\n", 'That cannot be sent: takes a number, got "six"'),
        (DATABASE, "a\0b", 'That cannot be sent: other: holds a NUL character: "a\\u0000b"'),
    ],
)
def test_what_comes_back_and_does_not_fit_is_asked_again(question: Question, words: str, said: str) -> None:
    assert edited(start(question), words) == Dialog(Form.start((question,)), said=Shown(said))


def test_edit_is_own_words_where_own_words_are_awaited() -> None:
    assert typed(DATABASE, "/say", "/edit") == Answered([Answer(other="/edit")])


def test_anew_blanks_everything_and_starts_at_the_first_question() -> None:
    blank = Dialog(Form.start((DATABASE, PARTS)), said=Shown("Started anew."))

    assert typed((DATABASE, PARTS), "1 /note why", "/anew") == blank
    assert typed((DATABASE, PARTS), "1", "2", "/anew") == blank
    assert typed((DATABASE, PARTS), "1", "2", "/anew", "2", "3") == Dialog(
        Form.start((DATABASE, PARTS)).fill(Answer(["Postgres"])).fill(Answer(["Metrics"]))
    )


BOTH = (DATABASE, PARTS)
FILLED = Form.start(BOTH).fill(Answer(["SQLite"])).fill(Answer(["Metrics"]))


def test_more_than_one_question_is_reviewed_before_it_is_sent() -> None:
    assert typed(BOTH, "1", "3") == Dialog(FILLED)
    assert prompt(Dialog(FILLED)) == "Send this? (yes, or a number to change): "


@pytest.mark.parametrize("line", ["yes", "y", "send", "YES", " Send "])
def test_the_review_is_sent_by_a_clear_word(line: str) -> None:
    assert enter(Dialog(FILLED), line) == Answered(FILLED.answers)


@pytest.mark.parametrize("line", ["", "ok", "0", "3", "1,2", "１", "yes please", "/note x", "/skip", "no", "9" * 5000])
def test_the_review_is_sent_by_nothing_else(line: str) -> None:
    said = 'Type "yes" to send, 1 to 2 to change an answer, or /decline.'

    assert enter(Dialog(FILLED), line) == Dialog(FILLED, said=Shown(said))


def test_a_number_in_the_review_changes_that_answer_and_keeps_the_others() -> None:
    changing = enter(Dialog(FILLED), "1")

    assert isinstance(changing, Dialog)
    assert (changing.form.at, changing.form.answers) == (0, FILLED.answers)
    changed = enter(changing, "2")
    assert isinstance(changed, Dialog)
    assert changed.form.answers == (Answer(["Postgres"]), FILLED.answers[1])
    assert changed.form.in_review


def test_the_review_can_be_declined_or_left() -> None:
    assert enter(Dialog(FILLED), "/decline no") == Declined("no", FILLED.answers)
    assert enter(Dialog(FILLED), "/later") is None


def test_blanks_are_sent_when_the_person_sends_them() -> None:
    assert typed(BOTH, "/skip", "1", "yes") == Answered([None, Answer(["Sign-in"], multi_select=True)])


def test_blank_everywhere_is_refused_in_the_review() -> None:
    assert typed(BOTH, "/skip", "/skip", "yes") == Dialog(
        Form.start(BOTH).go(2),
        said=Shown("That cannot be sent: Every question is still blank. Answer at least one, or decline."),
    )


def test_the_prompt_fits_the_question() -> None:
    assert [prompt(start(question)) for question in (DATABASE, PARTS, NAME, COUNT)] == [
        *("Your choice: ", "Your choice: ", "Your answer: ", "Your answer: ")
    ]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (DATABASE, "Type a number, your own words, or /help."),
        (PARTS, "Type numbers like 1,3 (several may be chosen), your own words, or /help."),
        (NAME, "Type your answer, or /help."),
        (COUNT, "A number from 1 to 5. Type it, or /help."),
        (Question("How many?", kind="number"), "A number. Type it, or /help."),
        (Question("How many?", kind="number", minimum=0.5), "A number from 0.5. Type it, or /help."),
        (Question("How many?", kind="number", maximum=9), "A number up to 9. Type it, or /help."),
    ],
)
def test_each_kind_of_question_says_how_it_is_answered(question: Question, words: str) -> None:
    assert how_to_answer(question) == words


COMMANDS = ("/skip", "/back", "/note n", "/say", "/decline", "/stop", "/edit", "/anew")
LINES = st.one_of(st.text(), st.sampled_from(["1", "2", "3", "1,2", "yes", "", "send", *COMMANDS]))


@given(st.lists(LINES, max_size=12))
def test_whatever_is_typed_gives_a_dialog_or_a_reply_that_fits(lines: list[str]) -> None:
    step: Dialog | Reply | Edit | None = start(*BOTH)
    line = ""
    for line in lines:
        assert isinstance(step, Dialog)
        assert prompt(step)
        before, step = step, enter(step, line)
        if isinstance(step, Edit):
            step = edited(before, f"{step.text}{line}\n")
        if not isinstance(step, Dialog):
            break

    assert step is None or isinstance(step, Dialog | Declined | Answered)
    if isinstance(step, Answered):
        assert line.strip().lower() in ("yes", "y", "send")
        assert Questions(BOTH).fit(step.answers) == step.answers
