"""The form for hosts that show nothing but texts and choices of one: what they show, and what comes back from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.model import Answer, Option, Question, Questions
from askdesk.wire.form import Form, filled, form, read

PARTS = Question(
    "Which parts?",
    [Option("Sign-in", "Accounts"), Option("Logging", "")],
    header="Parts",
    multi_select=True,
)
COUNT = Question("How many?", kind="number", header="Count", minimum=1, maximum=9, default="3")
YES_OR_NO = [{"const": "no", "title": "No"}, {"const": "yes", "title": "Yes"}]
SEND = {"type": "string", "title": "Done?", "oneOf": [{"const": "send", "title": "Send the answers"}]}
OTHER = "Type your own answer to add to your selection above (optional)."


def test_each_of_several_options_is_asked_for_by_itself_numbers_are_texts_and_a_choice_sends() -> None:
    assert form(Questions([PARTS, COUNT]), "narrow") == Form(
        "Please answer the following questions.",
        {
            "type": "object",
            "properties": {
                "question_0_choice_0": {
                    "type": "string",
                    "title": "Sign-in - Accounts",
                    "description": "Which parts?",
                    "oneOf": YES_OR_NO,
                },
                "question_0_choice_1": {
                    "type": "string",
                    "title": "Logging",
                    "description": "Which parts?",
                    "oneOf": YES_OR_NO,
                },
                "question_0_custom": {"type": "string", "title": "Other", "description": OTHER},
                "question_1": {"type": "string", "title": "Count", "description": "How many? Suggested: 3"},
                "send": SEND,
            },
        },
    )


def test_hosts_that_sort_fields_by_name_show_them_in_the_same_order() -> None:
    many = [Question(text, [f"o{n}" for n in range(12)], multi_select=True) for text in ("Which?", "And which?")]
    names = list(form(Questions([*many, COUNT]), "narrow", notes=True).schema["properties"])
    assert names == sorted(names)


@pytest.mark.parametrize("content", [{}, {"send": "send"}, {"send": "send", "question_0_choice_0": "no"}])
def test_a_form_that_is_sent_with_nothing_in_it_says_nothing(content: dict[str, object]) -> None:
    assert read(Questions([PARTS]), content) == (None,)


def test_own_words_are_added_to_what_was_chosen() -> None:
    content = {"question_0_choice_1": "yes", "question_0_custom": "Search", "send": "send"}
    assert read(Questions([PARTS]), content) == (PARTS.fit(Answer(["Logging"], "Search")),)


TEXTS = st.text("abc ,-é1", min_size=1, max_size=8).filter(lambda text: text.strip() == text)
LABELS = st.lists(TEXTS, min_size=2, max_size=12, unique_by=str.casefold)


@st.composite
def answered(draw: st.DrawFn) -> tuple[Question, Answer | None]:
    labels, many = draw(LABELS), draw(st.booleans())
    question = Question("Which?", labels, multi_select=many)
    chosen = draw(st.lists(st.sampled_from(labels), unique=True, max_size=None if many else 1))
    own = draw(TEXTS) if draw(st.booleans()) and (many or not chosen) else ""
    if own in labels:  # then it is chosen, whoever types it
        own = ""
    answer = question.fit(Answer(chosen, own)) if chosen or own else None
    return question, answer


@given(st.lists(answered(), min_size=1, max_size=12))
def test_whatever_is_answered_comes_back_as_it_was_meant(given: list[tuple[Question, Answer | None]]) -> None:
    asked = (Question(f"{n}?", q.options, multi_select=q.multi_select) for n, (q, _) in enumerate(given))
    questions = Questions(list(asked))
    answers = tuple(answer for _, answer in given)
    assert read(questions, filled(questions, answers, dialect="narrow")) == answers
