"""What the tool returns, exactly as the format has it, and how a person's JSON is read back."""

import json
import logging
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from askdesk.core.checks import likeness
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem
from askdesk.core.limits import Limits
from askdesk.core.model import (
    Answer,
    Answered,
    Declined,
    Expired,
    Option,
    Outcome,
    Question,
    Questions,
    Withdrawn,
)
from askdesk.core.text import is_blank
from askdesk.wire import tool

DATABASE = Question("Which database?", ["Postgres", "SQLite"], header="Database")
FEATURES = Question("Which features?", ["Auth", "Cache", "Red, green", 'Say "hi"'], multi_select=True)
COUNT = Question("How many?", kind="number", minimum=1, maximum=10)
NAME = Question("Which name?", kind="text")
LAYOUT = Question("Which layout?", [Option("A", "", "```\n+--+\n```"), Option("B", "", "|B|"), Option("C")])
LAYOUTS = Question("Which layouts?", LAYOUT.options, multi_select=True)
BOTH = Questions([DATABASE, FEATURES])

DATABASE_WRITTEN = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "Postgres", "description": ""}, {"label": "SQLite", "description": ""}],
    "multiSelect": False,
}


def returned(question: Question, answer: Answer) -> dict[str, Any]:
    """The result for one answered question, without the questions."""
    found = tool.result(Questions([question]), Answered([question.fit(answer)]))
    assert found.pop("questions") == tool.written(Questions([question]))
    return found


def refusal(questions: Questions, given: object, *, blanks: bool = False) -> tuple[Problem, ...]:
    with pytest.raises(InvalidReply) as caught:
        tool.read(questions, given, blanks=blanks)
    return caught.value.problems


def test_a_result_is_questions_answers_and_annotations() -> None:
    questions = Questions([DATABASE])
    answered = Answered([DATABASE.fit(Answer(["SQLite"], note="for now"))])
    assert tool.result(questions, answered) == {
        "questions": [DATABASE_WRITTEN],
        "answers": {"Which database?": "SQLite"},
        "annotations": {"Which database?": {"notes": "for now"}},
    }
    assert list(tool.result(questions, answered)) == ["questions", "answers", "annotations"]


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        (DATABASE, Answer(["SQLite"]), "SQLite"),
        (Question("Which?", ["a, b", 'c "d"']), Answer(["a, b"]), "a, b"),
        (Question("Which?", ["a, b", 'c "d"']), Answer(['c "d"']), 'c "d"'),
        (FEATURES, Answer(["Auth"]), "Auth"),
        (FEATURES, Answer(["Cache", "Auth"]), "Auth, Cache"),
        (FEATURES, Answer(['Say "hi"', "Red, green"]), '"Red, green", "Say \\"hi\\""'),
        (Question("Which?", ["a,b", "c"], multi_select=True), Answer(["a,b", "c"]), "a,b, c"),
        (FEATURES, Answer(["Auth"], other="my own thing"), "Auth, my own thing"),
        (FEATURES, Answer(["Auth"], other="this, that"), 'Auth, "this, that"'),
        (
            DATABASE,
            Answer(other='use DuckDB, "the fast one"\nsecond line '),
            'use DuckDB, "the fast one"\nsecond line ',
        ),
        (FEATURES, Answer(other='this, "that"'), 'this, "that"'),
        (COUNT, Answer(other=" 7"), "7"),
        (NAME, Answer(other=" Ana "), " Ana "),
    ],
)
def test_an_answer_is_the_string_of_the_format(question: Question, answer: Answer, text: str) -> None:
    assert returned(question, answer) == {"answers": {question.text: text}}


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (
            LAYOUT,
            Answer(["A"]),
            {"answers": {"Which layout?": "A"}, "annotations": {"Which layout?": {"preview": "```\n+--+\n```"}}},
        ),
        (
            LAYOUT,
            Answer(["B"], note="but blue"),
            {
                "answers": {"Which layout?": "B"},
                "annotations": {"Which layout?": {"preview": "|B|", "notes": "but blue"}},
            },
        ),
        (LAYOUT, Answer(["C"]), {"answers": {"Which layout?": "C"}}),
        (LAYOUT, Answer(other="mine"), {"answers": {"Which layout?": "mine"}}),
        (
            LAYOUTS,
            Answer(["C", "B", "A"]),
            {
                "answers": {"Which layouts?": "A, B, C"},
                "annotations": {"Which layouts?": {"preview": "A:\n```\n+--+\n```\n\nB:\n|B|"}},
            },
        ),
        (
            LAYOUTS,
            Answer(["B"]),
            {"answers": {"Which layouts?": "B"}, "annotations": {"Which layouts?": {"preview": "B:\n|B|"}}},
        ),
        (
            LAYOUT,
            Answer(note="none of these fits"),
            {"answers": {}, "annotations": {"Which layout?": {"notes": "none of these fits"}}},
        ),
    ],
)
def test_annotations_stand_only_where_there_are_any(
    question: Question, answer: Answer, expected: dict[str, Any]
) -> None:
    assert returned(question, answer) == expected


def test_a_blank_is_left_out() -> None:
    assert tool.result(BOTH, Answered([None, Answer(["Auth"], multi_select=True)])) == {
        "questions": tool.written(BOTH),
        "answers": {"Which features?": "Auth"},
    }


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (Declined("later", (Answer(["SQLite"]), None)), "declined"),
        (Expired(), "expired"),
        (Withdrawn("x"), "withdrawn"),
    ],
)
def test_where_nobody_answered_there_are_no_answers_but_the_outcome(outcome: Outcome, name: str) -> None:
    assert tool.result(BOTH, outcome) == {
        "questions": tool.written(BOTH),
        "outcome": name,
        "message": tool.text(BOTH, outcome),
    }


def test_questions_come_back_as_received_in_their_own_order_of_keys() -> None:
    given = [
        {
            "multiSelect": False,
            "options": [{"description": "", "label": "a"}, {"label": "b", "description": "é"}],
            "header": "H",
            "question": "Which?",
        }
    ]
    questions = tool.parse({"questions": given})
    answered = Answered([Answer.choose(questions.items[0], 0)])
    assert json.dumps(tool.result(questions, answered)["questions"]) == json.dumps(given)
    tool.result(questions, answered)["questions"].clear()
    assert json.dumps(tool.result(questions, answered)["questions"]) == json.dumps(given)


def test_mended_questions_come_back_mended() -> None:
    questions = tool.parse(
        {"questions": [{"header": "H", "question": "Which?", "options": ["a", "b"], "multiple": True}]}
    )
    assert tool.result(questions, Answered([Answer.choose(questions.items[0], 0)])) == {
        "questions": [
            {
                "question": "Which?",
                "header": "H",
                "options": [{"label": "a", "description": ""}, {"label": "b", "description": ""}],
                "multiSelect": True,
            }
        ],
        "answers": {"Which?": "a"},
    }


def test_text_and_number_questions_are_written_with_what_is_theirs() -> None:
    questions = Questions([Question("How many?", kind="number", default="3", minimum=0, maximum=9)])
    assert tool.written(questions) == [
        {
            "question": "How many?",
            "header": "",
            "options": [],
            "multiSelect": False,
            "kind": "number",
            "default": "3",
            "min": 0,
            "max": 9,
        }
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"Which database?": "SQLite", "Which features?": "Auth"}, (["SQLite"], ["Auth"])),
        ({"Which database?": "SQLite", "Which features?": "Auth, Cache"}, (["SQLite"], ["Auth", "Cache"])),
        ({"Which database?": "SQLite", "Which features?": ["Cache", "Auth"]}, (["SQLite"], ["Auth", "Cache"])),
        (
            {"Which database?": ["SQLite"], "Which features?": '"Red, green", Auth'},
            (["SQLite"], ["Auth", "Red, green"]),
        ),
    ],
)
def test_an_exact_label_or_join_is_read_as_choices(
    given: dict[str, Any], expected: tuple[list[str], list[str]]
) -> None:
    one, several = expected
    assert tool.read(BOTH, {"answers": given}) == Answered([Answer(one), Answer(several, multi_select=True)])


@pytest.mark.parametrize(
    "words", ["sqlite", "SQLite ", "Postgres, SQLite", "1", '"SQLite"', "Other", "use both\nplease"]
)
def test_anything_else_is_read_as_own_words(words: str) -> None:
    assert tool.read(Questions([DATABASE]), {"answers": {"Which database?": words}}) == Answered([Answer(other=words)])


@pytest.mark.parametrize("words", ["Auth,Cache", "Auth, Auth", "Red, green", "Auth, mine", "Auth, ", ", Auth", "auth"])
def test_what_is_no_exact_join_is_own_words_too(words: str) -> None:
    found = tool.read(Questions([FEATURES]), {"answers": {"Which features?": words}})
    assert found == Answered([Answer(other=words, multi_select=True)])


def test_a_number_is_read_from_text_and_from_a_number() -> None:
    for value, text in (("7", "7"), (7, "7"), (2.5, "2.5")):
        assert tool.read(Questions([COUNT]), {"answers": {"How many?": value}}) == Answered([Answer(other=text)])


def test_notes_are_read_and_a_note_alone_is_an_answer() -> None:
    given = {
        "questions": [],
        "answers": {"Which database?": "SQLite"},
        "annotations": {
            "Which database?": {"notes": "for now", "preview": "ignored"},
            "Which features?": {"notes": "none fits"},
        },
    }
    assert BOTH.fit(tool.read(BOTH, given).answers) == (
        Answer(["SQLite"], note="for now"),
        Answer(note="none fits", multi_select=True),
    )


@pytest.mark.parametrize("blank", ["", None, []])
def test_every_question_needs_an_answer_unless_blanks_are_allowed(blank: object) -> None:
    for answers in ({"Which database?": "SQLite"}, {"Which database?": "SQLite", "Which features?": blank}):
        assert refusal(BOTH, {"answers": answers}) == (
            Problem('answers["Which features?"]', "needs an answer; every question does"),
        )
        assert tool.read(BOTH, {"answers": answers}, blanks=True) == Answered([Answer(["SQLite"]), None])


def test_every_missing_answer_is_named() -> None:
    assert refusal(BOTH, {"answers": {}}) == (
        Problem('answers["Which database?"]', "needs an answer; every question does"),
        Problem('answers["Which features?"]', "needs an answer; every question does"),
    )


def test_blank_everywhere_is_not_an_answer_even_where_blanks_are_allowed() -> None:
    wanted = (Problem("", "blank everywhere is not an answer"),)
    assert refusal(BOTH, {"answers": {}}, blanks=True) == wanted
    assert refusal(BOTH, {"answers": {"Which database?": "", "Which features?": None}}, blanks=True) == wanted


def test_an_unknown_question_is_warned_about_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    given = {"answers": {"Which database?": "SQLite", "Which?\n": "x"}, "annotations": {"Why?": {"notes": "x"}}}
    with caplog.at_level(logging.WARNING, "askdesk"):
        assert tool.read(Questions([DATABASE]), given) == Answered([Answer(["SQLite"])])
    assert [record.getMessage() for record in caplog.records] == [
        'no question has the text "Which?\\n": left out',
        'no question has the text "Why?": left out',
    ]


@pytest.mark.parametrize("given", [None, [], "SQLite", {}, {"answers": "SQLite"}, {"answers": None}, {"answers": []}])
def test_a_reply_of_another_shape_is_refused(given: object) -> None:
    rule = 'must be an object like {"answers": {"<question>": "<answer>"}}'
    assert refusal(BOTH, given) == (Problem("", rule),)


def test_everything_wrong_with_a_reply_is_told_at_once() -> None:
    given = {
        "answers": {"Which database?": ["MySQL"], "Which features?": {"label": "Auth"}, "How many?": "x"},
        "annotations": {"Which name?": "note"},
        "approved": True,
    }
    assert refusal(Questions([DATABASE, FEATURES, COUNT, NAME]), given) == (
        Problem('"approved"', "is not a part of an answer; the parts are answers and annotations"),
        Problem('annotations["Which name?"]', 'must be an object, is "note"'),
        Problem(
            'answers["Which database?"]',
            'offers no option "MySQL"; own words belong in Other',
        ),
        Problem('answers["Which features?"]', 'must be text or a list of labels, is {"label": "Auth"}'),
        Problem('answers["How many?"]', 'takes a number, got "x"'),
        Problem('answers["Which name?"]', "needs an answer; every question does"),
    )


@pytest.mark.parametrize(
    ("question", "value", "rule"),
    [
        (DATABASE, ["Postgres", "SQLite"], "takes one answer, got 2"),
        (DATABASE, 1, "must be text or a list of labels, is 1"),
        (DATABASE, True, "must be text or a list of labels, is true"),
        (DATABASE, [1], "must be text or a list of labels, is [1]"),
        (DATABASE, "  ", "an answer needs a choice, own words or a note"),
        (FEATURES, ["Auth", "mine"], 'offers no option "mine"; own words belong in Other'),
        (COUNT, 11, "takes a number up to 10, got 11"),
        (COUNT, 0, "takes a number from 1, got 0"),
        (COUNT, True, "must be text or a list of labels, is true"),
        (COUNT, float("nan"), 'takes a number, got "nan"'),
        (COUNT, ["1"], "takes a number, not an option"),
        (NAME, 5, "must be text or a list of labels, is 5"),
    ],
)
def test_an_answer_of_another_shape_is_refused(question: Question, value: object, rule: str) -> None:
    path = f'answers["{question.text}"]'
    assert refusal(Questions([question]), {"answers": {question.text: value}}) == (Problem(path, rule),)


def test_notes_that_are_no_text_are_refused() -> None:
    given = {"answers": {"Which database?": "SQLite"}, "annotations": {"Which database?": {"notes": 5}}}
    wanted = (Problem('answers["Which database?"]', "notes must be text, is 5"),)
    assert refusal(Questions([DATABASE]), given) == wanted
    other = {"answers": {"Which database?": "SQLite"}, "annotations": "x"}
    assert refusal(Questions([DATABASE]), other) == (Problem("annotations", 'must be an object, is "x"'),)


def test_a_number_of_thousands_of_digits_is_refused_to_the_person() -> None:
    (problem,) = refusal(Questions([COUNT]), {"answers": {"How many?": 10**5000}})
    assert problem.path == 'answers["How many?"]'


def test_a_reply_that_does_not_fit_is_the_persons_to_hear_and_not_the_agents() -> None:
    with pytest.raises(InvalidReply) as caught:
        tool.read(BOTH, {"answers": {}})
    assert not isinstance(caught.value, InvalidAsk)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"answers":{"a":"x","a":"y"}}', 'has the key "a" twice in one object'),
        (b"\xff", "is not UTF-8 at byte 0"),
        ("NaN", "holds NaN, which is not JSON"),
        ('["\\ud800"]', "holds a lone surrogate"),
        ("[[[1]]]", "is nested deeper than 2 levels"),
        ('"' + "x" * 100 + '"', "is longer than 99 bytes"),
    ],
)
def test_a_persons_json_is_read_strictly(text: str | bytes, why: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        tool.loads(text, Limits("small", (1, 1), (2, 2), size=99, depth=2))
    assert caught.value.problems == (Problem("", why),)


def test_a_persons_json_is_read() -> None:
    assert tool.loads('{"answers":{"a":"é"}}') == {"answers": {"a": "é"}}


LABEL = (st.text(st.sampled_from('ab,," \\é'), min_size=1, max_size=5) | st.text(min_size=1, max_size=6)).filter(
    lambda label: not is_blank(label) and "\0" not in label
)
WORDS = (st.just("") | LABEL | st.sampled_from(["a, b", '"a", b', "a, "])).map(str)


@st.composite
def answered_questions(draw: st.DrawFn) -> tuple[Questions, Answered]:
    texts = draw(st.lists(LABEL, min_size=1, max_size=3, unique_by=likeness))
    items: list[Question] = []
    answers: list[Answer | None] = []
    for text in texts:
        labels = draw(st.lists(LABEL, min_size=2, max_size=4, unique_by=likeness))
        question = Question(text, labels, multi_select=draw(st.booleans()))
        most = len(labels) if question.multi_select else 1
        chosen = draw(st.lists(st.sampled_from(labels), max_size=most, unique=True))
        other = "" if chosen else draw(WORDS)
        note = draw(WORDS)
        items.append(question)
        answers.append(question.fit(Answer(chosen, other, note)) if chosen or other or note else None)
    assume(any(answers))
    return Questions(items), Answered(answers)


@settings(max_examples=200)
@given(answered_questions())
def test_a_result_reads_back_as_the_answers_it_came_from(drawn: tuple[Questions, Answered]) -> None:
    questions, answered = drawn
    sent = json.loads(json.dumps(tool.result(questions, answered)))
    assert questions.fit(tool.read(questions, sent, blanks=True).answers) == answered.answers


@settings(max_examples=200)
@given(answered_questions(), st.data())
def test_no_two_different_sets_of_choices_give_the_same_result(
    drawn: tuple[Questions, Answered], data: st.DataObject
) -> None:
    questions, _ = drawn
    question = questions.items[0]
    one = Questions([question])
    labels = [option.label for option in question.options]
    most = len(labels) if question.multi_select else 1
    sets = st.lists(st.sampled_from(labels), min_size=1, max_size=most, unique=True)
    first, second = data.draw(sets), data.draw(sets)
    words = data.draw(WORDS), data.draw(WORDS)
    pairs = [
        question.fit(Answer(chosen, other if question.multi_select else ""))
        for chosen, other in zip((first, second), words, strict=True)
    ]
    results = [tool.result(one, Answered([answer]))["answers"] for answer in pairs]
    assert (results[0] == results[1]) == (pairs[0] == pairs[1])
