"""From a model's call to Questions: forgiving in form, strict in substance, and all problems at once."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from askdesk.core.errors import InvalidAsk, Problem
from askdesk.core.limits import CLAUDE, OPEN, SPRING, Limits
from askdesk.core.model import Answer, Answered, Option, Question, Questions
from askdesk.wire.parse import parse
from askdesk.wire.tool import result
from askdesk.wire.written import written

LIMITS = [CLAUDE, SPRING, OPEN]
every_limits = pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: str(limits.name))

WHICH = Question("Which?", [Option("a", "first"), Option("b", "second")], header="H")


def option(label: object = "a", description: object = "first", **fields: object) -> dict[str, Any]:
    return {"label": label, "description": description} | fields


def question(**fields: object) -> dict[str, Any]:
    options = [option("a", "first"), option("b", "second")]
    return {"question": "Which?", "header": "H", "options": options, "multiSelect": False} | fields


def call(*questions: object, **fields: object) -> dict[str, Any]:
    return {"questions": list(questions) or [question()]} | fields


def without(given: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in keys}


def problems(given: Any, limits: Limits = OPEN) -> tuple[Problem, ...]:
    with pytest.raises(InvalidAsk) as caught:
        parse(given, limits)
    assert str(caught.value) == "\n".join(str(problem) for problem in caught.value.problems)
    return caught.value.problems


@every_limits
@pytest.mark.parametrize("form", [lambda value: value, json.dumps, lambda value: json.dumps(value).encode()])
def test_a_plain_call_is_taken_as_an_object_as_text_and_as_bytes(limits: Limits, form: Any) -> None:
    assert parse(form(call()), limits) == Questions([WHICH])


def test_everything_a_call_may_say_is_kept() -> None:
    given = call(
        question(multiSelect=True, options=[option(preview="```\nx\n```"), option("b", "")]),
        question(question="Why?", header=""),
        metadata={"source": "remember"},
    )
    shown = [Option("a", "first", "```\nx\n```"), Option("b", "")]
    why = Question("Why?", [Option("a", "first"), Option("b", "second")])
    assert parse(given, CLAUDE) == Questions(
        [Question("Which?", shown, header="H", multi_select=True), why], source="remember"
    )


@pytest.mark.parametrize(
    ("given", "warnings"),
    [
        (call(without(question(), "multiSelect")), ()),
        (call(question(multiSelect=None)), ()),
        ({"questions": json.dumps([question()])}, ("questions: was text holding an array: read as the array",)),
        ({"questions": json.dumps(call())}, ("questions: was text holding an array: read as the array",)),
        (call(question(priority=1)), ("questions[0].priority: is not a field: dropped",)),
        (
            call(question(options=[option(value="x"), option("b", "second", icon=None)])),
            (
                "questions[0].options[0].value: is not a field: dropped",
                "questions[0].options[1].icon: is not a field: dropped",
            ),
        ),
        (call(answers={"Which?": "a"}), ("answers: come from the person, not from you: dropped",)),
        (
            call(annotations={"Which?": {"notes": "x"}}),
            ("annotations: come from the person, not from you: dropped",),
        ),
        (call(answers={}, annotations=None, metadata=None), ()),
    ],
)
@every_limits
def test_sloppy_forms_are_mended_everywhere(given: dict[str, Any], warnings: tuple[str, ...], limits: Limits) -> None:
    assert parse(given, limits) == Questions([WHICH], warnings=warnings)


@pytest.mark.parametrize("name", ["multiSelect", "multi_select", "multiple"])
@pytest.mark.parametrize("value", [True, False])
@every_limits
def test_multi_select_goes_by_three_names(name: str, value: bool, limits: Limits) -> None:
    found = parse(call(without(question(), "multiSelect") | {name: value}), limits)
    assert found == Questions([Question("Which?", WHICH.options, header="H", multi_select=value)])


@every_limits
def test_markdown_is_the_older_name_of_preview(limits: Limits) -> None:
    found = parse(call(question(options=[option(markdown="**x**"), option("b", "second")])), limits)
    assert found.items[0].options == (Option("a", "first", "**x**"), Option("b", "second"))
    assert written(found)[0]["options"][0] == {"label": "a", "description": "first", "preview": "**x**"}


def test_options_may_be_plain_strings_where_the_limits_are_open() -> None:
    given = call(question(options=["a", option("b", "second")]))
    assert parse(given) == Questions([Question("Which?", [Option("a"), Option("b", "second")], header="H")])
    for limits in (CLAUDE, SPRING):
        rule = 'must be an object with label and description, is "a"'
        assert problems(given, limits) == (Problem("questions[0].options[0]", rule),)


def test_the_parser_is_open_unless_told_otherwise() -> None:
    assert parse({"questions": [{"question": "Which?", "options": ["a", "b"]}]}) == Questions(
        [Question("Which?", ["a", "b"])]
    )


def test_text_and_number_questions_are_taken_where_the_limits_are_open() -> None:
    given = call(
        {"question": "Which name?", "kind": "text", "default": "x"},
        {"question": "How many?", "type": "number", "defaultValue": 3, "minimum": 1, "maximum": 9.5, "options": []},
    )
    assert parse(given) == Questions(
        [
            Question("Which name?", kind="text", default="x"),
            Question("How many?", kind="number", default="3", minimum=1.0, maximum=9.5),
        ]
    )
    for limits in (CLAUDE, SPRING):
        found = {problem for problem in problems(given, limits) if problem.path.endswith("kind")}
        assert found == {
            Problem("questions[0].kind", "must be choice, is text"),
            Problem("questions[1].kind", "must be choice, is number"),
        }


@pytest.mark.parametrize("text", ["Which?", "Which? ", "どれ？", "أيها؟"])
def test_a_question_mark_of_any_script_is_one(text: str) -> None:
    assert parse(call(question(question=text))).warnings == ()


def test_a_missing_question_mark_and_an_own_other_are_warned_about() -> None:
    given = call(question(question="Pick one", options=[option(), option(" other ", "x")]))
    found = parse(given)
    assert found.warnings == (
        'questions[0].question: should end with "?"',
        'questions[0].options[1].label: "Other" is always offered by itself: leave it out',
    )
    assert found.items == (Question("Pick one", [Option("a", "first"), Option(" other ", "x")], header="H"),)


@pytest.mark.parametrize("header", ["", "x" * 13, "x" * 200, None])
def test_a_header_of_any_length_is_taken_but_by_spring(header: str | None) -> None:
    for limits in (CLAUDE, OPEN):
        assert parse(call(question(header=header)), limits).items[0].header == (header or "")
    rule = f"needs 1-12 characters, has {len(header or '')}"
    assert problems(call(question(header=header)), SPRING) == (Problem("questions[0].header", rule),)


REFUSED: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "no questions": ({}, [("questions", "is required")]),
    "null questions": ({"questions": None}, [("questions", "is required")]),
    "not an object": ([], [("input", "must be an object with questions, is []")]),
    "a text": ('"x"', [("input", 'must be an object with questions, is "x"')]),
    "null": ("null", [("input", "must be an object with questions, is null")]),
    "questions of another type": ({"questions": 5}, [("questions", "must be an array, is 5")]),
    "questions as an object": ({"questions": {"a": 1}}, [("questions", 'must be an array, is {"a": 1}')]),
    "questions as other text": ({"questions": "hello"}, [("questions", 'must be an array, is "hello"')]),
    "questions as text of another type": ({"questions": "5"}, [("questions", "must be an array, is 5")]),
    "no question at all": ({"questions": []}, [("questions", "needs 1-4, has 0")]),
    "too many questions": (
        call(*(question(question=f"{n}?") for n in range(5))),
        [("questions", "needs 1-4, has 5")],
    ),
    "unknown parameters": (
        call(title="x", dangerouslySkip=True, __proto__={}),
        [
            ("title", "is not a parameter; the parameters are questions and metadata"),
            ("dangerouslySkip", "is not a parameter; the parameters are questions and metadata"),
            ("__proto__", "is not a parameter; the parameters are questions and metadata"),
        ],
    ),
    "metadata of another type": (call(metadata=5), [("metadata", "must be an object, is 5")]),
    "metadata with more": (
        call(metadata={"source": 5, "user": "x"}),
        [("metadata.user", "is not a parameter; the parameter is source"), ("metadata.source", "must be text, is 5")],
    ),
    "a question of another type": (
        call("Which?", None, 5),
        [
            ("questions[0]", 'must be an object, is "Which?"'),
            ("questions[1]", "must be an object, is null"),
            ("questions[2]", "must be an object, is 5"),
        ],
    ),
    "a question without text": (
        call(without(question(), "question")),
        [("questions[0].question", "is required")],
    ),
    "a blank question": (call(question(question=" \n")), [("questions[0].question", 'must not be blank, is " \\n"')]),
    "an invisible question": (
        call(question(question="\u200b\u3164")),
        [("questions[0].question", 'must not be blank, is "\\u200b\\u3164"')],
    ),
    "a question that is a number": (call(question(question=5)), [("questions[0].question", "must be text, is 5")]),
    "a null question": (call(question(question=None)), [("questions[0].question", "must be text, is null")]),
    "a header of another type": (call(question(header=["H"])), [("questions[0].header", 'must be text, is ["H"]')]),
    "multiSelect as text": (
        call(question(multiSelect="true")),
        [("questions[0].multiSelect", 'must be true or false, is "true"')],
    ),
    "multiSelect as a number": (
        call(question(multiSelect=1)),
        [("questions[0].multiSelect", "must be true or false, is 1")],
    ),
    "multiSelect by two names": (
        call(question(multiple=True)),
        [("questions[0].multiple", "is another name of multiSelect, which is there too")],
    ),
    "no options": (call(without(question(), "options")), [("questions[0].options", "is required")]),
    "options of another type": (call(question(options="ab")), [("questions[0].options", 'must be an array, is "ab"')]),
    "no option at all": (call(question(options=[])), [("questions[0].options", "needs 2-4, has 0")]),
    "one option": (call(question(options=[option()])), [("questions[0].options", "needs 2-4, has 1")]),
    "too many options": (
        call(question(options=[option(str(n)) for n in range(5)])),
        [("questions[0].options", "needs 2-4, has 5")],
    ),
    "an option of another type": (
        call(question(options=[option(), 5])),
        [("questions[0].options[1]", "must be an object with label and description, is 5")],
    ),
    "an option without a label": (
        call(question(options=[option(), {"description": "x"}])),
        [("questions[0].options[1].label", "is required")],
    ),
    "a blank label": (
        call(question(options=[option(), option("\t")])),
        [("questions[0].options[1].label", 'must not be blank, is "\\t"')],
    ),
    "a label of another type": (
        call(question(options=[option(), option(True)])),
        [("questions[0].options[1].label", "must be text, is true")],
    ),
    "a description of another type": (
        call(question(options=[option(), option("b", 5)])),
        [("questions[0].options[1].description", "must be text, is 5")],
    ),
    "a preview of another type": (
        call(question(options=[option(), option("b", preview={})])),
        [("questions[0].options[1].preview", "must be text, is {}")],
    ),
    "a preview by two names": (
        call(question(options=[option(preview="x", markdown="y"), option("b")])),
        [("questions[0].options[0].markdown", "is another name of preview, which is there too")],
    ),
    "equal questions": (
        call(question(), question(question="Why?"), question(question=" Which?")),
        [("questions[2].question", 'must be unique, repeats questions[0]: " Which?"')],
    ),
    "equal labels": (
        call(question(options=[option("a"), option("b"), option("a "), option("b")])),
        [
            ("questions[0].options[2].label", 'must be unique, repeats questions[0].options[0]: "a "'),
            ("questions[0].options[3].label", 'must be unique, repeats questions[0].options[1]: "b"'),
        ],
    ),
    "an unknown kind": (
        call(question(kind="slider")),
        [("questions[0].kind", 'must be choice, text or number, is "slider"')],
    ),
    "NUL": (call(question(question="a\0?")), [("input", "holds a NUL character")]),
    "half a character": (call(question(question="\ud800?")), [("input", "holds a lone surrogate")]),
    "NaN": (call(question(question=float("nan"))), [("input", "holds NaN or Infinity, which are not JSON")]),
    "NaN in text": ('{"questions": NaN}', [("input", "holds NaN, which is not JSON")]),
    "a key twice": ('{"questions":[],"questions":[]}', [("input", 'has the key "questions" twice in one object')]),
    "a key twice deep inside": (
        '{"questions":[{"question":"a?","question":"b?"}]}',
        [("input", 'has the key "question" twice in one object')],
    ),
    "no JSON": ("questions", [("input", "is not JSON: Expecting value at line 1, column 1")]),
    "invalid UTF-8": (b'{"questions":"\xff"}', [("input", "is not UTF-8 at byte 14")]),
    "a set": ({"questions": {1}}, [("input", "holds a set, which JSON does not have")]),
    "a key that is no text": ({1: 2}, [("input", "has a key that is not text but int")]),
    "too deep": (
        {"questions": json.loads("[" * 40 + "]" * 40)},
        [("input", "is nested deeper than 32 levels")],
    ),
    "too deep in text": ("[" * 100_000, [("input", "is nested deeper than 32 levels")]),
    "a number too long in text": ('{"questions":' + "9" * 5000 + "}", [("input", "holds a number that is too long")]),
    "a text too long": (" " * 1_000_001, [("input", "is longer than 1000000 bytes")]),
}


@pytest.mark.parametrize(("given", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_matters_is_refused_with_path_rule_and_value(given: Any, expected: list[tuple[str, str]]) -> None:
    assert problems(given, CLAUDE) == tuple(Problem(*problem) for problem in expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"question": "How many?", "kind": "number", "options": ["a", "b"], "multiSelect": True},
            [
                ("questions[0].options", "must be empty for a number question, has 2"),
                ("questions[0].multiSelect", "must be false for a number question"),
            ],
        ),
        (
            {"question": "How many?", "kind": "number", "min": "1", "max": True, "default": []},
            [
                ("questions[0].default", "must be text or a number, is []"),
                ("questions[0].min", 'must be a number, is "1"'),
                ("questions[0].max", "must be a number, is true"),
            ],
        ),
        (
            {"question": "How many?", "kind": "number", "min": 3, "max": 2},
            [("questions[0].min", "must not be above max 2, is 3")],
        ),
        (
            {"question": "Which?", "options": ["a", "a"]},
            [("questions[0].options[1].label", 'must be unique, repeats questions[0].options[0]: "a"')],
        ),
    ],
)
def test_open_questions_are_checked_as_well(given: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems({"questions": [given]}) == tuple(Problem(*problem) for problem in expected)


def test_a_kind_of_another_type_is_refused() -> None:
    kinds: list[object] = [[], {}, 0, False, 5]
    for kind in kinds:
        (problem,) = problems(call(question(kind=kind)))
        assert problem == Problem("questions[0].kind", f"must be choice, text or number, is {json.dumps(kind)}")


def test_all_problems_are_told_at_once() -> None:
    given = {
        "title": "x",
        "metadata": {"user": 1},
        "questions": [
            {"question": "", "header": 5, "multiSelect": "no", "options": [option("")]},
            "what?",
            question(options=[option("a", 5), option("a"), option("c", preview=1)]),
            question(),
        ],
    }
    assert problems(given, CLAUDE) == (
        Problem("title", "is not a parameter; the parameters are questions and metadata"),
        Problem("metadata.user", "is not a parameter; the parameter is source"),
        Problem("questions[0].header", "must be text, is 5"),
        Problem("questions[0].multiSelect", 'must be true or false, is "no"'),
        Problem("questions[0].options", "needs 2-4, has 1"),
        Problem("questions[0].options[0].label", 'must not be blank, is ""'),
        Problem("questions[0].question", 'must not be blank, is ""'),
        Problem("questions[1]", 'must be an object, is "what?"'),
        Problem("questions[2].options[0].description", "must be text, is 5"),
        Problem("questions[2].options[2].preview", "must be text, is 1"),
        Problem("questions[2].options[1].label", 'must be unique, repeats questions[2].options[0]: "a"'),
        Problem("questions[3].question", 'must be unique, repeats questions[2]: "Which?"'),
    )


def test_an_option_without_a_label_has_its_other_problems_told_too() -> None:
    found = problems(call(question(options=[option(), {"description": 5, "preview": 6}])), CLAUDE)
    assert set(found) == {
        Problem("questions[0].options[1].label", "is required"),
        Problem("questions[0].options[1].description", "must be text, is 5"),
        Problem("questions[0].options[1].preview", "must be text, is 6"),
    }


def test_a_broken_question_has_its_broken_limits_told_too() -> None:
    found = problems(call(question(question="", header="x" * 13)), SPRING)
    assert set(found) == {
        Problem("questions[0].question", 'must not be blank, is ""'),
        Problem("questions[0].header", "needs 1-12 characters, has 13"),
    }


def test_size_and_depth_are_limits_of_their_own() -> None:
    small = Limits("small", (1, 4), (2, 4), size=200, depth=5)
    assert parse(call(), small) == Questions([WHICH])
    long = call(question(question="é" * 100))
    size = len(json.dumps(long, ensure_ascii=False).encode())
    assert problems(long, small) == (Problem("input", f"is longer than 200 bytes: {size}"),)
    assert problems(json.dumps(long, ensure_ascii=False), small) == (Problem("input", "is longer than 200 bytes"),)
    assert problems(call(question(x=[[[1]]])), small) == (Problem("input", "is nested deeper than 5 levels"),)


@pytest.mark.parametrize(
    "text",
    [b"\xef\xbb\xbf{}", "\ufeff{}", *(json.dumps(call()).encode(name) for name in ("utf-16", "utf-16-le", "utf-32"))],
    ids=["bom", "bom in text", "utf-16", "utf-16-le", "utf-32"],
)
def test_only_plain_utf_8_is_read(text: str | bytes) -> None:
    (problem,) = problems(text)
    assert problem.path == "input"
    assert problem.rule.startswith(("is not UTF-8", "is not JSON"))


def test_a_bomb_inside_a_text_of_questions_is_refused_as_well() -> None:
    for bomb in ("[" * 100_000, "9" * 5000, '[{"question":"a?","question":"b?"}]', "[NaN]", '["\\ud800"]'):
        (problem,) = problems({"questions": bomb})
        assert problem.path == "questions"
        assert len(problem.rule) < 200


def test_a_number_too_long_to_be_written_is_refused_as_a_value_too() -> None:
    assert problems({"questions": 10**5000}) == (Problem("input", "holds a number that is too long"),)


def test_a_bound_beyond_every_number_is_refused() -> None:
    for name in ("min", "max"):
        given = f'{{"questions":[{{"question":"How many?","kind":"number","{name}":1{"0" * 400}}}]}}'
        (problem,) = problems(given)
        assert problem.path == f"questions[0].{name}"


def test_an_object_that_is_not_plain_json_is_refused_and_an_endless_one_too() -> None:
    endless: dict[str, Any] = {}
    endless["questions"] = [endless]
    assert problems(endless) == (Problem("input", "is nested deeper than 32 levels"),)
    assert problems(MappingProxyType(call())) == (Problem("input", "holds a mappingproxy, which JSON does not have"),)


def test_a_long_value_is_told_shortly() -> None:
    (problem,) = problems(call(question(multiSelect="x" * 100_000)))
    assert problem == Problem("questions[0].multiSelect", f'must be true or false, is "{"x" * 58}…')


HOSTILE_KEY = "x\nquestions[1]: is fine\x1b[2J"


@pytest.mark.parametrize(
    "given",
    [call(**{HOSTILE_KEY: 1}), call(metadata={HOSTILE_KEY: 1})],
    ids=["parameter", "metadata"],
)
def test_a_key_cannot_write_a_line_of_its_own_into_the_problems(given: dict[str, Any]) -> None:
    (problem,) = problems(given)
    assert str(problem).isprintable()


@pytest.mark.parametrize(
    "given",
    [call(question(**{HOSTILE_KEY: 1})), call(question(options=[option(**{HOSTILE_KEY: 1}), "b"]))],
    ids=["question", "option"],
)
def test_a_key_cannot_write_a_line_of_its_own_into_the_warnings(given: dict[str, Any]) -> None:
    (warning,) = parse(given).warnings
    assert warning.isprintable()


def test_a_long_key_is_told_shortly() -> None:
    for hostile in (call(**{"k" * 100_000: 1}), '{"%s":1,"%s":2}' % ("k" * 10_000, "k" * 10_000)):  # noqa: UP031
        (problem,) = problems(hostile)
        assert len(str(problem)) < 300


@pytest.mark.parametrize("answers", [{"Which?": "a"}, {"Which?": ["a"]}, "a", 5, [1]])
@every_limits
def test_answers_of_the_agent_never_become_answers(answers: object, limits: Limits) -> None:
    found = parse(call(answers=answers, annotations={"Which?": {"notes": "yes"}}), limits)
    assert (found.items, found.received, found.source) == ((WHICH,), None, None)
    returned = result(found, Answered([Answer(["b"])]))
    assert returned == {"questions": call()["questions"], "answers": {"Which?": "b"}}


def test_the_source_is_kept_and_stands_in_no_result() -> None:
    found = parse(call(metadata={"source": "remember"}))
    assert found == Questions([WHICH], source="remember")
    assert "remember" not in json.dumps(result(found, Answered([Answer(["a"])])))
    assert parse(call(metadata={})).source is None
    assert parse(call(metadata={"source": None})).source is None


def reordered(given: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(given.items(), reverse=True))


def test_questions_are_kept_as_received_with_their_order_of_keys() -> None:
    given = call(reordered(question(options=[reordered(option()), reordered(option("b"))])))
    found = parse(given)
    assert found.received == json.dumps(given["questions"])
    assert json.dumps(written(found)) == json.dumps(given["questions"])


@pytest.mark.parametrize(
    "given",
    [
        reordered(without(question(), "multiSelect")),
        reordered(question(extra=1)),
        reordered(without(question(), "multiSelect") | {"multiple": False}),
        reordered(question(multiSelect=None)),
        reordered(without(question(), "question") | {"text": "Which?"}),
    ],
)
def test_mended_questions_are_written_in_our_own_form(given: dict[str, Any]) -> None:
    found = parse(call(given))
    assert found.received is None
    assert json.dumps(written(found)) == json.dumps([question()])


def test_questions_from_a_text_are_written_as_an_array() -> None:
    found = parse({"questions": json.dumps([question()])})
    assert written(found) == [question()]


def test_what_was_written_is_read_as_the_same_questions() -> None:
    given = call(
        {"question": "How many?", "kind": "number", "default": 3, "min": 1, "max": 9},
        {"question": "Which?", "options": ["a", "b"], "multiple": True},
    )
    found = parse(given)
    again = parse({"questions": written(found)})
    assert again.items == found.items
    assert written(again) == written(found)


def parsed(value: Any, limits: Limits = OPEN) -> Questions | InvalidAsk:
    """What came of a call: any other exception is a failure of the test that called."""
    try:
        return parse(value, limits)
    except InvalidAsk as error:
        return error


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)
OPTION = st.dictionaries(
    st.sampled_from(["label", "description", "preview", "markdown", "x"]), st.text(max_size=3) | JSON_VALUES, max_size=4
)
QUESTION = st.dictionaries(
    st.sampled_from(["question", "text", "header", "multiSelect", "multiple", "kind", "type", "default", "min", "max"]),
    st.text(max_size=3) | st.sampled_from(["text", "number", "choice", True, 1, 0.5]) | JSON_VALUES,
    max_size=5,
).flatmap(
    lambda fields: st.builds(
        lambda options: {**fields, "options": options}, st.lists(OPTION | st.text(max_size=3), max_size=5) | JSON_VALUES
    )
)
CALLS = st.fixed_dictionaries(
    {"questions": st.lists(QUESTION | JSON_VALUES, max_size=5) | JSON_VALUES},
    optional={"metadata": JSON_VALUES, "answers": JSON_VALUES, "x": JSON_VALUES},
)


@settings(max_examples=250, deadline=None)
@given(CALLS | JSON_VALUES, st.sampled_from(LIMITS))
def test_any_json_gives_questions_within_the_limits_or_an_invalid_ask(value: Any, limits: Limits) -> None:
    for form in (value, json.dumps(value), json.dumps({"questions": json.dumps(value)})):
        found = parsed(form, limits)
        if isinstance(found, Questions):
            event("parsed")
            assert list(limits.problems(found)) == []
        else:
            assert found.problems
            assert len({problem.path for problem in found.problems}) == len(found.problems)


@settings(max_examples=150)
@given(st.binary(max_size=50) | st.text(max_size=50), st.integers(0, 200), st.binary(max_size=3))
def test_any_bytes_give_questions_or_an_invalid_ask(noise: str | bytes, at: int, inserted: bytes) -> None:
    whole = json.dumps(call()).encode()
    for text in (noise, whole[:at] + inserted + whole[at:], whole[:at] + inserted + whole[at + len(inserted) :]):
        found = parsed(text)
        assert isinstance(found, Questions) or found.problems
