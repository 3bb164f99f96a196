"""Forms of others as questions, and what people say as what goes back: the flat schemas of MCP and ACP."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.peers import node, node_modules

from askdesk.core.errors import InvalidAsk
from askdesk.core.limits import OPEN
from askdesk.core.model import Answer, Answered, Option, Question, Questions
from askdesk.wire import form as our_form
from askdesk.wire.field import Choice
from askdesk.wire.form import PREVIEW_META, Dialect
from askdesk.wire.form_of_others import Flaw, Item, OthersForm, again, amended, content, flaws, read
from askdesk.wire.secret import is_secret

MESSAGE = "What should the server know?"


def form(properties: dict[str, Any], *required: str, message: str = MESSAGE) -> OthersForm:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return read(message, schema | ({"required": list(required)} if required else {}))


def lone(field: dict[str, Any], *, required: bool = True) -> OthersForm:
    return form({"it": field}, *(["it"] if required else []))


def said(made: OthersForm, *texts: str | None) -> Answered:
    """What people say, as a desk would keep it."""
    answers = [None if text is None else q.read(text) for q, text in zip(made.questions.items, texts, strict=True)]
    return Answered(made.questions.fit(tuple(answers)))


def flaw_of(made: OthersForm, answer: Answer | str | None) -> str | None:
    """What is wrong with an answer to the first of two questions, of which the second is fine."""
    question = made.questions.items[0]
    first = question.read(answer) if isinstance(answer, str) else answer and question.fit(answer)
    found = flaws(made, Answered([first]) if len(made.items) == 1 else Answered([first, Answer(other="x")]))
    assert all(flaw.number == 0 for flaw in found)
    return found[0].words if found else None


def test_one_field_is_asked_in_the_words_of_the_message_with_its_title_as_the_header() -> None:
    made = form({"user": {"type": "string", "title": "User", "description": "As on GitHub."}}, "user")
    assert made.questions == Questions(
        [Question(f"{MESSAGE}\n\nAs on GitHub.", header="User", kind="text")],
    )


def test_a_title_that_no_header_has_room_for_stands_in_the_question() -> None:
    made = form({"it": {"type": "string", "title": "Name of the environment"}}, "it")
    assert made.questions.items[0].text == f"{MESSAGE}\n\nName of the environment"


def test_a_field_without_a_title_is_known_by_its_name() -> None:
    assert form({"email": {"type": "string"}}, "email").questions.items[0].header == "email"


def test_of_several_fields_each_is_a_question_and_the_first_has_the_message() -> None:
    made = form(
        {
            "name": {"type": "string", "title": "Name"},
            "age": {"type": "integer", "title": "Age", "description": "In years.", "minimum": 0, "maximum": 150},
        },
        "name",
    )
    assert made.questions == Questions(
        [
            Question(f"{MESSAGE}\n\nName", header="Name", kind="text"),
            Question("Age\nIn years.\n(optional; a whole number)", header="Age", kind="number", minimum=0, maximum=150),
        ]
    )
    assert content(made, said(made, "Ana", "41")) == {"name": "Ana", "age": 41}
    assert content(made, said(made, "Ana", None)) == {"name": "Ana"}


def test_fields_with_one_title_are_told_apart_by_their_names() -> None:
    made = form({"from": {"type": "string", "title": "Name"}, "to": {"type": "string", "title": "Name"}}, "from", "to")
    assert [q.text for q in made.questions.items] == [f"{MESSAGE}\n\nName (from)", "Name (to)"]


def test_what_a_field_takes_is_said_beforehand() -> None:
    made = form(
        {
            "a": {"type": "string", "minLength": 2, "maxLength": 5},
            "b": {"type": "string", "format": "date"},
            "c": {"type": "string", "pattern": "^x+$"},
            "d": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "e": {"type": "array", "items": {"enum": ["p", "q", "r"]}, "minItems": 2, "maxItems": 3},
        },
        *"abcde",
    )
    assert [q.text.splitlines()[-1] for q in made.questions.items] == [
        "(2 to 5 characters)",
        "(a date, such as 2026-07-28)",
        "(of the pattern ^x+$)",
        "(above 0; below 1)",
        "(choose 2 to 3)",
    ]


def test_a_yes_or_no_is_a_choice_whose_default_is_only_a_claim() -> None:
    made = lone({"type": "boolean", "default": True})
    assert made.questions.items[0].options == (Option("Yes (Recommended)"), Option("No"))
    assert content(made, said(made, "No")) == {"it": False}
    assert content(made, said(made, "Yes (Recommended)")) == {"it": True}
    assert content(made, said(made, "Yes")) == {"it": True}  # typed


def test_a_default_of_a_text_or_number_is_a_suggestion() -> None:
    made = form({"a": {"type": "string", "default": "main"}, "b": {"type": "integer", "default": 3}}, "a", "b")
    assert [q.default for q in made.questions.items] == ["main", "3"]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "enum": ["eu-1", "us-1"], "enumNames": ["Europe", "America"], "default": "us-1"},
        {"type": "string", "oneOf": [{"const": "eu-1", "title": "Europe"}, {"const": "us-1", "title": "America"}]}
        | {"default": "us-1"},
    ],
)
def test_people_see_titles_and_the_server_gets_values(field: dict[str, Any]) -> None:
    made = lone(field)
    assert made.questions.items[0].options == (Option("Europe"), Option("America (Recommended)"))
    assert content(made, said(made, "Europe")) == {"it": "eu-1"}
    assert content(made, said(made, "America")) == {"it": "us-1"}  # typed
    assert flaws(made, said(made, "us-1")) == [Flaw(0, 'This takes one of its options, not own words: "us-1".')]


def test_a_default_is_not_marked_where_another_option_would_read_the_same() -> None:
    made = lone({"type": "string", "enum": ["a", "a (Recommended)"], "default": "a"})
    assert content(made, said(made, "a")) == {"it": "a"}
    assert content(made, said(made, "a (Recommended)")) == {"it": "a (Recommended)"}


def test_several_may_be_chosen_within_counts() -> None:
    field = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2}
    made = lone(field | {"default": ["b"]})
    question = made.questions.items[0]
    assert (question.multi_select, question.options) == (True, (Option("a"), Option("b (Recommended)"), Option("c")))
    assert content(made, Answered([Answer.choose(question, 0, 1)])) == {"it": ["a", "b"]}
    assert flaw_of(made, Answer.choose(question, 0, 1, 2)) == "Choose 1 to 2 of these; you chose 3."


def test_options_with_one_title_are_told_apart_by_their_values() -> None:
    made = lone({"type": "string", "oneOf": [{"const": "1", "title": "Main"}, {"const": "2", "title": "Main"}]})
    assert [option.label for option in made.questions.items[0].options] == ["Main (1)", "Main (2)"]
    assert content(made, said(made, "Main (2)")) == {"it": "2"}


@pytest.mark.parametrize("multi", [False, True])
def test_a_single_option_stands_beside_a_way_to_choose_nothing(multi: bool) -> None:
    field = {"type": "array", "items": {"enum": ["terms"]}} if multi else {"type": "string", "enum": ["terms"]}
    made = lone(field, required=False)
    assert [option.label for option in made.questions.items[0].options] == ["terms", "None of these"]
    assert content(made, said(made, "terms")) == {"it": ["terms"] if multi else "terms"}
    assert content(made, said(made, "None of these")) == {}
    assert flaw_of(lone(field), "None of these") == "This needs an answer."


def test_more_options_than_a_desk_takes_are_listed_and_typed() -> None:
    names = [f"zone {number}" for number in range(30)]
    made = lone({"type": "string", "enum": names, "default": "zone 7"})
    question = made.questions.items[0]
    assert (question.kind, question.default) == ("text", "zone 7")
    assert question.text.endswith("(one of: " + ", ".join(names) + ")")
    assert list(OPEN.problems(made.questions)) == []
    assert content(made, said(made, "zone 12")) == {"it": "zone 12"}
    assert flaw_of(made, "zone 31") == 'This takes one of its options, not own words: "zone 31".'
    several = lone({"type": "array", "items": {"enum": names}})
    assert content(several, said(several, "zone 3, zone 1")) == {"it": ["zone 1", "zone 3"]}


def test_a_form_without_fields_asks_for_a_yes() -> None:
    made = form({}, message="Delete 3 files?")
    assert made.questions == Questions([Question("Delete 3 files?", ["Accept", "Do not accept"])])
    assert content(made, said(made, "Accept")) == {}
    assert content(made, said(made, "Do not accept")) is None
    assert flaws(made, said(made, "Accept")) == []
    assert flaws(made, said(made, "only two of them")) == [
        Flaw(0, "Choose Accept or Do not accept, and nothing beside it.")
    ]


@pytest.mark.parametrize(
    ("field", "answer", "words"),
    [
        ({"type": "string"}, None, "This needs an answer."),
        ({"type": "string", "minLength": 3}, "ab", 'This takes at least 3 characters; "ab" has 2.'),
        ({"type": "string", "minLength": 9}, "Björn", 'This takes at least 9 characters; "Björn" has 5.'),
        ({"type": "string", "maxLength": 1}, "ab", 'This takes at most 1 character; "ab" has 2.'),
        ({"type": "string", "format": "email"}, "ana", 'This takes an e-mail address; "ana" is none.'),
        (
            {"type": "string", "format": "uri"},
            "example.com",
            'This takes a whole address, such as https://example.com/; "example.com" is none.',
        ),
        (
            {"type": "string", "format": "date"},
            "2026-02-30",
            'This takes a date, such as 2026-07-28; "2026-02-30" is none.',
        ),
        (
            {"type": "string", "format": "date-time"},
            "2026-07-28 09:30",
            'This takes a date and time with its zone, such as 2026-07-28T09:30:00Z; "2026-07-28 09:30" is none.',
        ),
        ({"type": "string", "pattern": "^v\\d+$"}, "v", 'This takes a text of the pattern ^v\\d+$; "v" is none.'),
        ({"type": "integer"}, "1.5", "This takes a whole number, got 1.5."),
        ({"type": "number", "exclusiveMinimum": 0}, "0", "This takes a number above 0, got 0."),
        (
            {"type": "string", "enum": ["a", "b"]},
            "neither",
            'This takes one of its options, not own words: "neither".',
        ),
        ({"type": "boolean"}, "only on Sundays", 'This takes one of its options, not own words: "only on Sundays".'),
        (
            {"type": "boolean"},
            Answer(["Yes"], note="only on Sundays"),
            "There is no place for a note here, and nobody would read it.",
        ),
    ],
)
def test_what_cannot_go_back_is_told_to_the_person(
    field: dict[str, Any], answer: Answer | str | None, words: str
) -> None:
    assert flaw_of(form({"it": field, "else": {"type": "string"}}, "it"), answer) == words


@pytest.mark.parametrize(
    ("field", "answer", "value"),
    [
        ({"type": "string", "format": "email"}, " ana@example.com\n", "ana@example.com"),
        ({"type": "string", "format": "uri"}, "https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-28"),
        ({"type": "string", "format": "date-time"}, "2026-07-28T09:30:00.5+02:00", "2026-07-28T09:30:00.5+02:00"),
        ({"type": "string"}, " as it is\n", " as it is\n"),
        ({"type": "integer"}, "12345678901234567890", 12345678901234567890),
        ({"type": "integer"}, "1e3", 1000),
        ({"type": "number"}, "2", 2),
        ({"type": "number"}, "0.1", 0.1),
    ],
)
def test_what_was_typed_goes_back_as_the_field_takes_it(field: dict[str, Any], answer: str, value: object) -> None:
    made = lone(field)
    returned = content(made, said(made, answer))
    assert returned == {"it": value}
    assert type(returned["it"]) is type(value)


def test_only_what_was_flawed_is_asked_again_and_the_rest_is_kept() -> None:
    made = form({"name": {"type": "string"}, "age": {"type": "integer"}, "mail": {"type": "string"}}, "age", "name")
    first = said(made, "Ana", "1.5", None)
    found = flaws(made, first)
    questions = again(made, found)
    assert questions == Questions(
        [Question("This takes a whole number, got 1.5.\n\nage\n(a whole number)", header="age", kind="number")]
    )
    later = amended(first, found, Answered([questions.items[0].read("41")]))
    assert (flaws(made, later), content(made, later)) == ([], {"name": "Ana", "age": 41})


SINGLE = {"type": "string", "oneOf": [{"const": "a", "title": "a"}, {"const": "b", "title": "b"}]}
MULTI = {"type": "array", "items": {"anyOf": SINGLE["oneOf"]}}
OTHER = {"type": "string", "title": "Other", "description": "Type your own answer (optional)."}


@pytest.mark.parametrize(
    ("field", "answer", "filled"),
    [
        (SINGLE, Answer(["a"]), {"question_0": "a"}),
        (SINGLE, Answer(other="neither"), {"question_0_custom": "neither"}),
        (SINGLE, Answer(["a"], note="why"), {"question_0": "a", "question_0_custom": "why"}),
        (SINGLE, Answer(other="neither", note="why"), {"question_0_custom": "neither\nwhy"}),
        (MULTI, Answer(["a", "b"], "more"), {"question_0": ["a", "b"], "question_0_custom": "more"}),
    ],
)
def test_own_words_and_notes_go_into_the_one_field_that_claude_agent_acp_has_for_them(
    field: dict[str, Any], answer: Answer, filled: dict[str, Any]
) -> None:
    made = form({"question_0": field | {"title": "DB"}, "question_0_custom": OTHER})
    (question,) = made.questions.items
    assert (question.text, question.header, len(question.options)) == (MESSAGE, "DB", 2)
    answered = Answered([question.fit(answer)])
    assert (flaws(made, answered), content(made, answered)) == ([], filled)


def test_a_note_beside_several_choices_is_not_taken_for_one_more_of_them() -> None:
    made = form({"question_0": MULTI, "question_0_custom": {"type": "string"}})
    words = "There is no place for a note here, and nobody would read it."
    assert flaw_of(made, Answer(["a"], note="why")) == words


def test_previews_come_with_the_options() -> None:
    options = [
        {"const": "a", "title": "a", "description": "the first", "_meta": {PREVIEW_META: {"preview": "# A"}}},
        {"const": "b", "title": "b"},
    ]
    made = form({"question_0": {"type": "string", "oneOf": options}, "question_0_custom": OTHER})
    assert made.questions.items[0].options == (Option("a", "the first", "# A"), Option("b"))


def codex_form() -> OthersForm:
    marks = {"codex": {"isOther": True, "isSecret": False}}
    options = [
        {"const": "Postgres", "title": "Postgres", "description": "a server"},
        {"const": "None of the above", "title": "None of the above", "description": "…in the note field."},
    ]
    note = {"codex": {"questionId": "db", "role": "user_note", "isSecret": False}}
    return form(
        {
            "db": {"title": "Which database?", "description": "DB", "_meta": marks, "type": "string", "oneOf": options},
            "db_note": {"type": "string", "title": "Additional answer or note", "_meta": note},
            "why": {"title": "Why?", "description": "Reason", "_meta": marks, "type": "string"},
        },
        *("db", "why"),
        message="Codex needs your input to continue.",
    )


def test_what_codex_acp_asks_is_a_question_with_its_header() -> None:
    assert codex_form().questions == Questions(
        [
            Question(
                "Codex needs your input to continue.\n\nWhich database?",
                [Option("Postgres", "a server"), Option("None of the above")],
                header="DB",
            ),
            Question("Why?", header="Reason", kind="text"),
        ]
    )


@pytest.mark.parametrize(
    ("answer", "filled"),
    [
        (Answer(["Postgres"]), {"db": "Postgres"}),
        (Answer(["Postgres"], note="16"), {"db": "Postgres", "db_note": "16"}),
        (Answer(["None of the above"]), {"db": "None of the above"}),
        (Answer(other="SQLite"), {"db": "None of the above", "db_note": "SQLite"}),
        (Answer(other="SQLite", note="it is small"), {"db": "None of the above", "db_note": "SQLite\nit is small"}),
    ],
)
def test_own_words_go_to_codex_as_none_of_the_above_with_a_note(answer: Answer, filled: dict[str, str]) -> None:
    answered = Answered([answer, Answer(other="so")])
    assert content(codex_form(), answered) == filled | {"why": "so"}


def test_a_question_of_codex_that_is_called_like_a_note_is_a_question() -> None:
    marks = {"_meta": {"codex": {"isOther": True, "isSecret": False}}}
    note = {"_meta": {"codex": {"questionId": "db", "role": "user_note"}}}
    made = form(
        {
            "db": SINGLE | marks,
            "db_note1": {"type": "string"} | note,
            "db_note": {"type": "string", "title": "Which note?"} | marks,
        }
    )
    assert [[item.field.name, item.note and item.note.name] for item in made.items] == [
        ["db", "db_note1"],
        ["db_note", None],
    ]


def test_a_note_alone_is_no_answer_where_one_is_needed() -> None:
    answered = Answered([Answer(note="hm"), Answer(other="so")])
    assert flaws(codex_form(), answered) == [Flaw(0, "This needs an answer.")]


def test_a_field_that_only_sounds_like_a_companion_is_one_of_its_own() -> None:
    made = form({"pick": SINGLE, "pick_note": {"type": "string"}, "pick_custom": {"type": "string"}})
    assert len(made.items) == 3


TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_categories=("Cc", "Cf")), min_size=1)
PLAIN = TEXT.map(lambda text: f"{text} q").filter(lambda text: text == " ".join(text.split()))


@st.composite
def our_questions(draw: st.DrawFn) -> Questions:
    """Questions without what no form carries apart: suggestions."""
    texts = draw(st.lists(PLAIN, min_size=1, max_size=12, unique_by=lambda text: text.casefold()))
    items = []
    for number, text in enumerate(texts):
        kind = draw(st.sampled_from(["choice", "text", "number"]))
        header = draw(st.sampled_from(["", "Size", "Framework"]))
        if kind != "choice":
            items.append(Question(f"{text} {number}", header=header, kind=kind))  # type: ignore[arg-type]
            continue
        labels = draw(st.lists(PLAIN, min_size=2, max_size=5, unique_by=lambda label: label.casefold()))
        labels = [f"{number} {label}".replace(" - ", " ") for number, label in enumerate(labels)]
        options = [Option(label, draw(st.sampled_from(["", "what it is"]))) for label in labels]
        items.append(Question(f"{text} {number}", options, header=header, multi_select=draw(st.booleans())))
    return Questions(items)


@given(our_questions(), st.sampled_from(["mcp", "acp"]), st.booleans())
def test_our_own_form_as_anothers_asks_the_same_questions(questions: Questions, dialect: Dialect, notes: bool) -> None:
    made = read(*our_form.form(questions, dialect, notes=notes))
    assert made.questions == questions


@given(st.data(), our_questions(), st.sampled_from(["mcp", "acp"]))
def test_answers_in_our_own_form_come_back_as_they_were_given(
    data: st.DataObject, questions: Questions, dialect: Dialect
) -> None:
    made = read(*our_form.form(questions, dialect, notes=True))
    answered = Answered([data.draw(answers_to(question)) for question in questions.items])
    assert flaws(made, answered) == []
    returned = content(made, answered)
    assert returned is not None
    assert our_form.read(questions, returned) == questions.fit(answered.answers)


def answers_to(question: Question) -> st.SearchStrategy[Answer]:
    notes = st.sampled_from(["", "a note"])
    if question.kind == "number":
        return st.builds(Answer, other=st.integers(-1000, 1000).map(str), note=notes)
    if question.kind == "text":
        return st.builds(Answer, other=PLAIN, note=notes)
    labels = [option.label for option in question.options]
    chosen = st.lists(st.sampled_from(labels), min_size=1, max_size=None if question.multi_select else 1, unique=True)
    own = st.sampled_from(["", "own words"]) if question.multi_select else st.just("")
    return st.builds(Answer, chosen, own, notes).map(question.fit) | st.just(Answer(other="own words")).map(
        question.fit
    )


CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp"))
VALUES = st.lists(st.text(CHARACTERS, max_size=6), min_size=1, max_size=25, unique=True)
FORMATTED = {
    "email": "ana@example.com",
    "uri": "https://example.com/",
    "date": "2026-07-28",
    "date-time": "2026-07-28T09:30:00Z",
}


@st.composite
def typed_fields(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A field that a person types into, and what they type."""
    low, more = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    match draw(st.sampled_from(["text", "pattern", "number", "integer", *FORMATTED])):
        case "text":
            words = "x" * draw(st.integers(max(1, low), low + more + 1))
            return {"type": "string", "minLength": low, "maxLength": low + more + 1}, words
        case "pattern":
            return {"type": "string", "pattern": "^[a-f]{2,}\\b"}, draw(st.sampled_from(["ab", "cafe", "bed!"]))
        case ("number" | "integer") as kind:
            return {"type": kind, "minimum": low, "maximum": low + more}, f"{draw(st.integers(low, low + more))}"
        case shape:
            return {"type": "string", "format": shape}, FORMATTED[shape]


@st.composite
def choice_fields(draw: st.DrawFn) -> tuple[dict[str, Any], list[int]]:
    """A field with options, and which of them a person chooses."""
    values = draw(VALUES)
    options = [{"const": value, "title": f"title {number}"} for number, value in enumerate(values)]
    fewest = draw(st.integers(0, len(values)))
    numbers = st.lists(st.integers(0, len(values) - 1), min_size=max(1, fewest), unique=True)
    match draw(st.sampled_from(["boolean", "enum", "oneOf", "items", "anyOf"])):
        case "boolean":
            return {"type": "boolean", "default": draw(st.booleans())}, [draw(st.integers(0, 1))]
        case "enum":
            schema = {"type": "string", "enum": values, "default": draw(st.sampled_from(values))}
            return schema, draw(numbers)[:1]
        case "oneOf":
            return {"type": "string", "oneOf": options}, draw(numbers)[:1]
        case kind:
            items = {"type": "string", "enum": values} if kind == "items" else {"anyOf": options}
            return {"type": "array", "items": items, "minItems": fewest, "maxItems": len(values)}, draw(numbers)


def given_to(item: Item, question: Question, put: str | list[int]) -> Answer:
    if isinstance(put, str):
        return Answer(other=put)
    if question.options:
        return Answer.choose(question, *put)
    assert isinstance(item.field.rule, Choice)
    labels = [item.field.rule.picks[number].label for number in put]
    return Answer(other=Answer(labels, multi_select=item.field.rule.multi).text)


@given(
    st.dictionaries(
        st.text(CHARACTERS, max_size=8)
        .map("f{}".format)
        .filter(lambda name: not is_secret(name, "", {"type": "string"})),
        st.tuples(typed_fields() | choice_fields(), st.booleans(), st.booleans()),
        min_size=1,
        max_size=20,
    )
)
def test_whatever_fits_any_form_goes_back_as_its_schema_wants_it(
    fields: dict[str, tuple[tuple[dict[str, Any], str | list[int]], bool, bool]],
) -> None:
    required = [name for name, (_, _, needed) in fields.items() if needed]
    schema = {
        "type": "object",
        "properties": {name: field for name, ((field, _), _, _) in fields.items()},
        "required": required,
        "additionalProperties": False,
    }
    made = read(MESSAGE, schema)
    given_answers = [
        given_to(item, question, put) if is_said or needed else None
        for item, question, ((_, put), is_said, needed) in zip(
            made.items, made.questions.items, fields.values(), strict=True
        )
    ]
    assume(any(given_answers))
    answered = Answered(made.questions.fit(tuple(given_answers)))
    assert (list(OPEN.problems(made.questions)), flaws(made, answered)) == ([], [])
    returned = content(made, answered)
    jsonschema.validate(returned, schema, format_checker=jsonschema.FormatChecker())
    assert set(returned or {}) == {
        name for name, answer in zip(fields, given_answers, strict=True) if answer is not None
    }


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("x", "the form must have a message and a schema"),
        ({"type": "object"}, "requestedSchema: must be an object with properties"),
        ({"type": "array", "properties": {}}, "requestedSchema: must be an object with properties"),
        ({"properties": {}, "required": ["a"]}, 'required: must name properties, names "a"'),
        ({"properties": {}, "required": [["a"]]}, 'required: must name properties, names ["a"]'),
        ({"properties": {}, "required": "a"}, 'required: must be a list of names, is "a"'),
        ({"properties": {}, "allOf": []}, "allOf: is not part of what a form may have"),
        (
            {"properties": {f"f{n}": {"type": "string"} for n in range(21)}},
            "properties: needs at most 20 fields, has 21",
        ),
        (
            {"properties": {f"f{n}": {"type": "string"} for n in range(61)}},
            "properties: needs at most 20 fields, has 61",
        ),
        (
            {"properties": {"a": {"type": "string"}, "b": float("nan")}},
            "the form holds NaN or Infinity, which are not JSON",
        ),
        ({"properties": {"a": {"type": "string", "title": "\ud800"}}}, "the form holds a lone surrogate"),
    ],
)
def test_what_is_no_form_is_refused(schema: object, problem: str) -> None:
    with pytest.raises(InvalidAsk) as refused:
        read(MESSAGE, schema)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (7, ": must be an object, is 7"),
        ({}, ".type: must be string, number, integer, boolean or array, is null"),
        ({"type": "object"}, '.type: must be string, number, integer, boolean or array, is "object"'),
        (
            {"type": ["string", "null"]},
            '.type: must be string, number, integer, boolean or array, is ["string", "null"]',
        ),
        ({"type": "string", "title": 1}, ".title: must be text, is 1"),
        ({"type": "string", "const": "a"}, ".const: is not part of what a form may have"),
        ({"type": "string", "format": "uuid"}, '.format: must be email, uri, date, date-time, is "uuid"'),
        ({"type": "string", "minLength": -1}, ".minLength: must be a whole number from 0, is -1"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, ".minLength: must not be above maxLength 2, is 3"),
        (
            {"type": "string", "pattern": "(?=a)"},
            '.pattern: must not look around or go deeper than it can be followed: "(?=a)"',
        ),
        ({"type": "string", "default": 1}, ".default: must be text, is 1"),
        ({"type": "number", "minimum": "1"}, '.minimum: must be a number, is "1"'),
        ({"type": "number", "maximum": 10**400}, ".maximum: must be a number within reason"),
        ({"type": "number", "minimum": 2, "maximum": 1}, ".min: must not be above max 1, is 2"),
        ({"type": "number", "multipleOf": 2}, ".multipleOf: is not part of what a form may have"),
        ({"type": "number", "enum": [1, 2]}, ".enum: is not part of what a form may have"),
        ({"type": "integer", "default": 1.5}, ".default: must be a whole number, is 1.5"),
        ({"type": "integer", "maximum": 1, "default": 2}, ".default: takes a number up to 1, got 2"),
        ({"type": "boolean", "default": "yes"}, '.default: must be true or false, is "yes"'),
        ({"type": "string", "enum": []}, ".enum: needs a list of 1-200 options"),
        ({"type": "string", "enum": ["a", 1]}, ".enum[1]: must have a text for its value, is 1"),
        ({"type": "string", "enum": ["a", "a"]}, ".enum: must not have the same value twice"),
        ({"type": "string", "enum": ["a"], "default": "b"}, '.default: must be among the options, is "b"'),
        (
            {"type": "string", "enum": ["a"], "enumNames": []},
            ".enumNames: must be a list with a name for each value of enum",
        ),
        ({"type": "string", "oneOf": [{"title": "a"}]}, ".oneOf[0]: must have a text for its value, is null"),
        ({"type": "array"}, ".items: must be there for an array: a form has lists of options only"),
        ({"type": "array", "items": {"type": "string"}}, ".items.anyOf: needs a list of 1-200 options"),
        ({"type": "array", "items": {"type": "number", "enum": [1]}}, '.items.type: must be string, is "number"'),
        (
            {"type": "array", "items": {"enum": ["a"]}, "minItems": 2},
            ".minItems: must not be above the number of options 1, is 2",
        ),
        ({"type": "array", "items": {"enum": ["a"]}, "default": ["b"]}, '.default: must be among the options, is "b"'),
    ],
)
def test_a_field_that_no_form_may_have_is_refused_with_its_place(field: object, problem: str) -> None:
    with pytest.raises(InvalidAsk) as refused:
        read(MESSAGE, {"properties": {"fine": {"type": "string"}, "a.b": field}})
    assert str(refused.value) == f'properties."a.b"{problem}'


def test_what_only_describes_is_let_be() -> None:
    field = {"type": "string", "examples": ["x"], "$comment": "y", "deprecated": True, "x-order": 1, "default": None}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "M", "properties": {"it": field}}
    assert read(MESSAGE, schema).questions.items[0] == Question(f"{MESSAGE}\n(optional)", header="it", kind="text")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "properties", "items", "enum", "oneOf", "required", "title", "default", "a"]),
                inner | st.sampled_from(["object", "string", "array", "number"]),
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_is_sent_as_a_schema_is_a_form_or_refused(schema: object) -> None:
    with suppress(InvalidAsk):
        assert list(OPEN.problems(read(MESSAGE, schema).questions)) == []


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("password", {"type": "string"}),
        ("value", {"type": "string", "title": "API key"}),
        ("value", {"type": "string", "format": "password"}),
        ("value", {"type": "string", "writeOnly": True}),
        ("value", {"type": "string", "enum": ["a", "b"], "_meta": {"codex": {"isSecret": True}}}),
        ("otp", {"type": "integer"}),
        ("value", {"type": "string", "description": "Your account password"}),
        ("dbpassword", {"type": "string"}),
        ("githubtoken", {"type": "string"}),
        ("value", {"type": "string", "title": "Пароль"}),
        ("value", {"type": "string", "title": "密码"}),
    ],
)
def test_a_form_that_asks_for_a_secret_is_refused_and_the_field_is_named(name: str, field: dict[str, Any]) -> None:
    with pytest.raises(InvalidAsk) as refused:
        read(MESSAGE, {"properties": {"fine": {"type": "string"}, name: field}})
    assert str(refused.value) == f"properties.{name}: asks for a secret, which is never asked for in a form"


CLAUDE_ACP = """
import { askUserQuestionsToCreateRequest as form, applyAskElicitationResponse as apply } from %s;
let given = "";
for await (const part of process.stdin) given += part;
const { questions, content } = JSON.parse(given);
const said = content && apply({ action: "accept", content }, { questions }, questions).updatedInput;
console.log(JSON.stringify(said ?? form(questions, "session", "call")));
"""


def claude_acp(**given: object) -> dict[str, Any]:
    """What claude-agent-acp itself makes of questions, or of a form that was sent."""
    module = node_modules() / "@agentclientprotocol" / "claude-agent-acp" / "dist" / "elicitation.js"
    code = CLAUDE_ACP % json.dumps(module.as_uri())
    ran = subprocess.run(
        [node(), "--input-type=module", "-e", code], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    made: dict[str, Any] = json.loads(ran.stdout)
    return made


def test_the_form_of_claude_agent_acp_asks_claudes_questions_and_takes_every_answer() -> None:
    previews = {"label": "A", "description": "the first", "preview": "# A"}
    asked = [
        {"question": "Which one?", "header": "One", "options": [previews, {"label": "B"}], "multiSelect": False},
        {
            "question": "Which ones?",
            "header": "Ones",
            "options": [{"label": "C, c"}, {"label": "D"}],
            "multiSelect": True,
        },
        {"question": "Else?", "header": "", "options": [{"label": "E"}, {"label": "F"}], "multiSelect": False},
        {"question": "Last?", "header": "", "options": [{"label": "G"}, {"label": "H"}], "multiSelect": False},
    ]
    sent = claude_acp(questions=asked)
    made = read(sent["message"], sent["requestedSchema"])
    assert made.questions == Questions(
        [
            Question("Which one?", [Option("A", "the first", "# A"), Option("B")], header="One"),
            Question("Which ones?", ["C, c", "D"], header="Ones", multi_select=True),
            Question("Else?", ["E", "F"]),
            Question("Last?", ["G", "H"]),
        ]
    )
    answers = (Answer(["A"], note="it is first"), Answer(["C, c", "D"], "more"), Answer(other="neither"), None)
    answered = Answered(made.questions.fit(answers))
    assert flaws(made, answered) == []
    returned = claude_acp(questions=asked, content=content(made, answered))
    assert returned["answers"] == {"Which one?": "A", "Which ones?": '"C, c", D, more', "Else?": "neither"}
    assert returned["annotations"]["Which one?"]["notes"] == "it is first"
