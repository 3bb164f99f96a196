"""Questions as a form and back: nothing is lost, nothing is required, and both protocols take what is sent."""

from typing import Any

import pytest
from acp.schema import ElicitationSchema
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types._v2025_11_25 import PrimitiveSchemaDefinition as Field2025
from mcp_types._v2026_07_28 import PrimitiveSchemaDefinition as Field2026
from pydantic import TypeAdapter

from askdesk.core.checks import likeness
from askdesk.core.errors import InvalidReply, Problem
from askdesk.core.model import Answer, Kind, Option, Question, Questions
from askdesk.core.text import is_blank, shown
from askdesk.wire import form
from askdesk.wire.form import Dialect

DATABASE = Question("Which database?", [Option("Postgres", "a server"), Option("SQLite", "a file", "# a file")])
FEATURES = Question("Which features?", ["Auth", "Cache, L2"], header="Features", multi_select=True)
COUNT = Question("How many?", kind="number", minimum=1, maximum=10, default="3")
NAME = Question("Which name?", kind="text", header="Name")
ALL = Questions([DATABASE, FEATURES, COUNT, NAME])
OTHER = {
    "type": "string",
    "title": "Other",
    "description": "Type your own answer, or add a note to the option you chose above (optional).",
}
OTHERS = {
    "type": "string",
    "title": "Other",
    "description": "Type your own answer to add to your selection above (optional).",
}
NOTE = {"type": "string", "title": "Note", "description": "Anything to say beside it (optional)."}


def test_one_question_is_the_message_itself_and_its_options_have_descriptions_and_previews_in_acp() -> None:
    options = [
        {"const": "Postgres", "title": "Postgres", "description": "a server"},
        {
            "const": "SQLite",
            "title": "SQLite",
            "description": "a file",
            "_meta": {"_claude/askUserQuestionOption": {"preview": "# a file"}},
        },
    ]
    assert form.form(Questions([DATABASE]), "acp") == form.Form(
        "Which database?",
        {
            "type": "object",
            "properties": {"question_0": {"type": "string", "oneOf": options}, "question_0_custom": OTHER},
        },
    )


def test_in_mcp_descriptions_are_folded_into_titles_and_previews_into_the_texts() -> None:
    options = [{"const": "Postgres", "title": "Postgres - a server"}, {"const": "SQLite", "title": "SQLite - a file"}]
    assert form.form(Questions([DATABASE]), "mcp", notes=True).schema["properties"] == {
        "question_0": {"type": "string", "description": "Preview of SQLite:\n# a file", "oneOf": options},
        "question_0_custom": OTHER,
        "question_0_note": NOTE,
    }


def test_several_questions_say_each_what_they_are() -> None:
    made = form.form(ALL, "acp")
    assert made.message == "Please answer the following questions."
    fields = made.schema["properties"]
    assert [*fields] == [
        *("question_0", "question_0_custom", "question_1", "question_1_custom", "question_2", "question_3"),
    ]
    assert fields["question_1"] == {
        "type": "array",
        "title": "Features",
        "description": "Which features?",
        "items": {"anyOf": [{"const": "Auth", "title": "Auth"}, {"const": "Cache, L2", "title": "Cache, L2"}]},
    }
    assert fields["question_1_custom"] == OTHERS
    assert fields["question_2"] == {
        "type": "number",
        "description": "How many?\n\nSuggested: 3",
        "minimum": 1,
        "maximum": 10,
    }
    assert fields["question_3"] == {"type": "string", "title": "Name", "description": "Which name?"}


def test_above_nine_questions_the_names_still_sort_as_the_questions_do() -> None:
    made = form.form(Questions([Question(f"Q{n}?", ["a", "b"]) for n in range(12)]), "acp", notes=True)
    names = [*made.schema["properties"]]
    assert names[:4] == ["question_00", "question_00_custom", "question_00_note", "question_01"]
    assert names == sorted(names)


def test_a_label_that_is_more_than_text_goes_under_a_name_of_ours() -> None:
    hostile = Question("Which?", ["\x1b[2Jclear", "option_0", "plain"])
    options = form.form(Questions([hostile]), "mcp").schema["properties"]["question_0"]["oneOf"]
    assert options == [
        {"const": "option_0", "title": "\\x1b[2Jclear"},
        {"const": "option_1", "title": "option_0"},
        {"const": "plain", "title": "plain"},
    ]
    assert form.read(Questions([hostile]), {"question_0": "option_0"}) == (Answer(["\x1b[2Jclear"]),)
    assert form.read(Questions([hostile]), {"question_0": "option_1"}) == (Answer(["option_0"]),)


READ: list[tuple[Question, dict[str, Any], Answer | None]] = [
    (DATABASE, {}, None),
    (DATABASE, {"question_0": "", "question_0_custom": " \u200b"}, None),
    (DATABASE, {"question_0": None}, None),
    (DATABASE, {"question_0": "SQLite"}, Answer(["SQLite"])),
    (DATABASE, {"question_0": ["SQLite"]}, Answer(["SQLite"])),
    (DATABASE, {"question_0": "MySQL"}, Answer(other="MySQL")),
    (DATABASE, {"question_0": 7}, Answer(other="7")),
    (DATABASE, {"question_0_custom": "MySQL"}, Answer(other="MySQL")),
    (DATABASE, {"question_0_custom": "SQLite"}, Answer(["SQLite"])),
    (DATABASE, {"question_0": "SQLite", "question_0_custom": "for now"}, Answer(["SQLite"], note="for now")),
    (
        DATABASE,
        {"question_0": "SQLite", "question_0_custom": "for now", "question_0_note": "and later?"},
        Answer(["SQLite"], note="for now\nand later?"),
    ),
    (DATABASE, {"question_0_note": "neither"}, Answer(note="neither")),
    (FEATURES, {"question_0": []}, None),
    (FEATURES, {"question_0": ["Cache, L2", "Auth"]}, Answer(["Auth", "Cache, L2"], multi_select=True)),
    (
        FEATURES,
        {"question_0": ["Auth", "Mail"], "question_0_custom": "Chat"},
        Answer(["Auth"], "Mail, Chat", multi_select=True),
    ),
    (COUNT, {"question_0": 4}, Answer(other="4")),
    (COUNT, {"question_0": 4.0}, Answer(other="4")),
    (COUNT, {"question_0": 4.5}, Answer(other="4.5")),
    (COUNT, {"question_0": "4"}, Answer(other="4")),
    (NAME, {"question_0": "Ana"}, Answer(other="Ana")),
    (DATABASE, {"question_0": "SQLite", "stranger": "x"}, Answer(["SQLite"])),
]


@pytest.mark.parametrize(("question", "content", "answer"), READ)
def test_what_a_host_sends_is_read_as_a_person_meant_it(
    question: Question, content: dict[str, Any], answer: Answer | None
) -> None:
    assert form.read(Questions([question]), content) == (answer,)


def test_every_field_that_does_not_fit_is_named() -> None:
    content = {"question_0": {"a": 1}, "question_1": [True], "question_2": 11, "question_3": float("inf")}
    with pytest.raises(InvalidReply) as caught:
        form.read(ALL, content)
    assert caught.value.problems == (
        Problem("question_0", 'must be text, is {"a": 1}'),
        Problem("question_1", "must be text, is true"),
        Problem("question_2", "takes a number up to 10, got 11"),
        Problem("question_3", "takes a number, got one that is beyond reason"),
    )


FIELD_2025: TypeAdapter[Any] = TypeAdapter(Field2025)
FIELD_2026: TypeAdapter[Any] = TypeAdapter(Field2026)
FORM_ACP: TypeAdapter[Any] = TypeAdapter(ElicitationSchema)

texts = st.text(min_size=1, max_size=12).filter(lambda text: not is_blank(text) and "\0" not in text)
numbers = st.floats(-1e6, 1e6).map(lambda number: f"{number:.3f}") | st.integers(-1000, 1000).map(str)


@st.composite
def questions_with_answers(draw: st.DrawFn) -> tuple[Questions, tuple[Answer | None, ...]]:
    count = draw(st.integers(1, 12))
    wordings = draw(st.lists(texts, min_size=count, max_size=count, unique_by=likeness))
    items = [draw(_question(wording)) for wording in wordings]
    return Questions(items), tuple(draw(st.none() | _answer(item)) for item in items)


@st.composite
def _question(draw: st.DrawFn, text: str) -> Question:
    header = draw(st.just("") | texts)
    kinds: list[Kind] = ["choice", "choice", "choice", "text", "number"]
    kind = draw(st.sampled_from(kinds))
    if kind != "choice":
        return Question(text, header=header, kind=kind)
    labels = draw(st.lists(texts | st.just("option_1"), min_size=2, max_size=5, unique_by=likeness))
    options = [Option(label, draw(st.just("") | texts), draw(st.none() | texts)) for label in labels]
    return Question(text, options, header=header, multi_select=draw(st.booleans()))


def _answer(question: Question) -> st.SearchStrategy[Answer]:
    notes = st.just("") | texts
    if question.kind != "choice":
        words = numbers if question.kind == "number" else texts
        return st.builds(lambda other, note: question.fit(Answer(other=other, note=note)), words, notes)
    labels = st.lists(st.sampled_from([option.label for option in question.options]), min_size=1, unique=True)
    chosen = labels if question.multi_select else labels.map(lambda found: found[:1])
    both = st.builds(lambda labels, note: question.fit(Answer(labels, note=note)), chosen, notes)
    own = st.builds(lambda other, note: question.fit(Answer(other=other, note=note)), texts, notes)
    if not question.multi_select:
        return both | own
    beside = st.builds(lambda labels, other, note: question.fit(Answer(labels, other, note)), chosen, texts, notes)
    return both | own | beside


def _said(answers: tuple[Answer | None, ...], questions: Questions) -> list[object]:
    """Numbers as numbers: a form does not keep how one was written."""
    return [
        (float(answer.other) if answer.other else None, answer.note) if answer and question.kind == "number" else answer
        for question, answer in zip(questions.items, answers, strict=True)
    ]


@pytest.mark.parametrize("dialect", ["mcp", "acp"])
@settings(max_examples=300)
@given(asked=questions_with_answers())
def test_no_form_loses_anything_and_each_protocol_takes_it(
    dialect: Dialect, asked: tuple[Questions, tuple[Answer | None, ...]]
) -> None:
    questions, answers = asked
    made = form.form(questions, dialect, notes=True)
    _check_schema(dialect, made)
    content = form.filled(questions, answers, notes=True)
    Draft202012Validator(made.schema).validate(content)
    assert _said(form.read(questions, content), questions) == _said(answers, questions)


def _check_schema(dialect: Dialect, made: form.Form) -> None:
    """As the libraries of both protocols check it; and nothing is required, filled in, or more than text."""
    Draft202012Validator.check_schema(made.schema)
    if dialect == "acp":
        FORM_ACP.validate_python(made.schema)
    else:
        for field in made.schema["properties"].values():
            FIELD_2025.validate_python(field)
            FIELD_2026.validate_python(field)
    assert "required" not in made.schema
    assert not any("default" in field for field in made.schema["properties"].values())
    titles = [field.get("title", "") for field in made.schema["properties"].values()]
    assert all(shown(title) == title for title in titles)
