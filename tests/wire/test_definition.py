"""The tool as a model sees it: short, with all the guidance, and a schema that draws the original's line."""

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from askdesk.core.checks import likeness
from askdesk.core.limits import CLAUDE, OPEN, SPRING, Limits
from askdesk.core.model import PreviewFormat
from askdesk.core.text import is_blank
from askdesk.wire.definition import NAME, definition, for_chat, for_responses, schema
from askdesk.wire.parse import parse

LIMITS = [CLAUDE, SPRING, OPEN]
PREVIEWS: tuple[PreviewFormat, ...] = get_args(PreviewFormat)
SEED = Draft202012Validator(json.loads(Path(__file__).with_name("seed_schema.json").read_text()))
OURS = Draft202012Validator(definition(CLAUDE)["input_schema"])

every_limits = pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: str(limits.name))
every_preview = pytest.mark.parametrize("previews", PREVIEWS)


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@every_limits
@every_preview
def test_a_definition_costs_at_most_900_tokens(limits: Limits, previews: PreviewFormat) -> None:
    assert len(compact(definition(limits, previews))) / 4 <= 900


@every_limits
@every_preview
def test_a_definition_has_a_name_a_description_and_a_valid_schema(limits: Limits, previews: PreviewFormat) -> None:
    found = definition(limits, previews)
    assert list(found) == ["name", "description", "input_schema"]
    assert found["name"] == NAME == "AskUserQuestion"
    assert found["input_schema"] == schema(limits)
    Draft202012Validator.check_schema(found["input_schema"])


GUIDANCE = {
    "when to ask": "blocked on a decision",
    "only what changes the next step": "changes what you do next",
    "not where there is a default": "conventional default",
    "not for a checkable fact": "check the fact yourself",
    "go on and say so": "take the obvious way, say so, and go on",
    "Other comes by itself": '"Other" is added by itself',
    "so never offer it": "never offer such an option",
    "options without Other": "without an Other",
    "recommended first": "put it first",
    "recommended is marked": '"(Recommended)"',
    "several answers": "multiSelect: true",
    "mutually exclusive": "options must exclude each other",
    "how to enter plan mode": "EnterPlanMode, not this tool",
    "what to ask in plan mode": "before the plan is final",
    "is my plan ready": '"Is my plan ready?"',
    "should I proceed": '"Should I proceed?"',
    "the plan cannot be seen": "cannot see it until ExitPlanMode",
    "question mark": 'ending with "?"',
    "header": "at most 12 characters",
    "label": "1-5 words",
    "description": "trade-offs",
    "preview": "compare by eye",
    "metadata": "not displayed",
}


@pytest.mark.parametrize("words", GUIDANCE.values(), ids=GUIDANCE)
def test_all_the_guidance_is_in_every_definition(words: str) -> None:
    wanting = [
        (limits.name, previews)
        for limits in LIMITS
        for previews in PREVIEWS
        if not any(words in text for text in texts(definition(limits, previews)))
    ]
    assert wanting == []


def texts(value: object) -> list[str]:
    """Every text that a model reads in a definition."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts(inner)]
    return [value] if isinstance(value, str) else []


@every_limits
def test_previews_are_explained_only_where_they_are_shown(limits: Limits) -> None:
    descriptions = {previews: definition(limits, previews)["description"] for previews in PREVIEWS}
    assert {previews: "Previews: " in text for previews, text in descriptions.items()} == {
        "none": False,
        "markdown": True,
        "html": True,
    }
    for previews in ("markdown", "html"):
        assert "compare things by eye" in descriptions[previews]
        assert "not for plain preferences" in descriptions[previews]
    assert "Markdown" in descriptions["markdown"]
    assert "HTML fragment" in descriptions["html"]


def test_only_open_speaks_of_other_kinds_of_questions() -> None:
    assert ['kind "text"' in definition(limits)["description"] for limits in LIMITS] == [False, False, True]
    kinds = ["kind" in schema(limits)["properties"]["questions"]["items"]["properties"] for limits in LIMITS]
    assert kinds == [False, False, True]


def test_the_default_limits_are_those_of_claude_without_previews() -> None:
    assert definition() == definition(CLAUDE, "none")


def test_the_limits_are_in_the_schema() -> None:
    def bounds(limits: Limits) -> tuple[object, ...]:
        array = schema(limits)["properties"]["questions"]
        fields = array["items"]["properties"]
        options = fields["options"]
        header = fields["header"].get("maxLength")
        return array["minItems"], array["maxItems"], options["minItems"], options["maxItems"], header

    assert {limits.name: bounds(limits) for limits in LIMITS} == {
        "claude": (1, 4, 2, 4, None),
        "spring": (1, 10, 2, 4, 12),
        "open": (1, 20, 2, 20, None),
    }


def test_a_definition_is_made_anew_each_time() -> None:
    definition()["input_schema"]["properties"].clear()
    assert list(definition()["input_schema"]["properties"]) == ["questions", "answers", "annotations", "metadata"]


def test_the_seed_schema_carries_no_prose() -> None:
    def prose(node: Any, *, names: bool = False) -> list[str]:
        if not isinstance(node, dict):
            return []
        own = [] if names else [key for key in node if key == "description"]
        return own + [
            found for key, inner in node.items() for found in prose(inner, names=key == "properties" and not names)
        ]

    assert prose(SEED.schema) == []


TEXT = st.text(max_size=6)
OPTION = st.fixed_dictionaries({"label": TEXT, "description": TEXT}, optional={"preview": TEXT})
QUESTION = st.fixed_dictionaries(
    {
        "question": TEXT,
        "header": TEXT,
        "options": st.lists(OPTION, min_size=2, max_size=4),
        "multiSelect": st.booleans(),
    }
)
VALID = st.fixed_dictionaries(
    {"questions": st.lists(QUESTION, min_size=1, max_size=4)},
    optional={
        "answers": st.dictionaries(TEXT, TEXT, max_size=2),
        "annotations": st.dictionaries(
            TEXT, st.fixed_dictionaries({}, optional={"preview": TEXT, "notes": TEXT}), max_size=2
        ),
        "metadata": st.fixed_dictionaries({}, optional={"source": TEXT}),
    },
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    [
        "questions",
        "answers",
        "annotations",
        "metadata",
        "question",
        "header",
        "options",
        "multiSelect",
        "multi_select",
        "label",
        "description",
        "preview",
        "markdown",
        "source",
        "notes",
        "kind",
        "foo",
    ]
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value, from the top down."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        item = pending.pop(0)
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        found += [(item, key) for key in keys]
        pending += [item[key] for key in keys]
    return found


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """A valid input after one or two changes, most of which the schema must notice."""
    top = [deepcopy(draw(VALID))]
    for _ in range(draw(st.integers(1, 2))):
        container, key = draw(st.sampled_from(places(top)))
        value = container[key]
        change = draw(st.sampled_from(["drop", "add", "replace", "nest", "too many", "too few"]))
        event(change)
        if change == "drop" and isinstance(container, dict):
            del container[key]
        elif change == "add" and isinstance(value, dict):
            value[draw(NAMES)] = draw(ANYTHING)
        elif change == "nest":
            container[key] = draw(st.sampled_from([[value], {"": value}, {"question": value}]))
        elif change == "too many" and isinstance(value, list) and value:
            value.extend(deepcopy(value[0]) for _ in range(draw(st.integers(1, 4))))
        elif change == "too few" and isinstance(value, list):
            del value[draw(st.integers(0, 1)) :]
        else:
            container[key] = draw(ANYTHING)
    return top[0]


def test_the_schema_accepts_and_refuses_exactly_what_the_original_does() -> None:
    verdicts: Counter[bool] = Counter()

    @settings(max_examples=700, deadline=None)
    @given(VALID | broken() | broken() | ANYTHING)
    def agree(value: Any) -> None:
        verdict = SEED.is_valid(value)
        verdicts[verdict] += 1
        assert OURS.is_valid(value) is verdict

    agree()
    assert min(verdicts[True], verdicts[False]) > 100


def rich() -> dict[str, Any]:
    """A valid input with everything that the schema has a word about."""
    options = [{"label": "a", "description": "first", "preview": "x"}, {"label": "b", "description": "second"}]
    return {
        "questions": [{"question": "Which?", "header": "H", "options": options, "multiSelect": True}],
        "answers": {"Which?": "a"},
        "annotations": {"Which?": {"preview": "x", "notes": "y"}},
        "metadata": {"source": "remember"},
    }


def single_changes() -> list[Any]:
    """The rich input after each single change there is: every place dropped, added to, retyped, nested, resized."""
    found: list[Any] = []

    def change(number: int, edit: Any) -> None:
        top = [rich()]
        container, key = places(top)[number]
        edit(container, key)
        found.extend(top)

    for number, (container, key) in enumerate(places([rich()])):
        value = container[key]
        for other in (None, True, 0, 1.5, "x", [], {}, [value], {"x": value}):
            change(number, lambda c, k, other=other: c.__setitem__(k, other))
        if isinstance(container, dict):
            change(number, lambda c, k: c.__delitem__(k))
        if isinstance(value, dict):
            for name in ("x", "", "preview", "notes", "kind", "multi_select", "markdown", "source", "questions"):
                for other in ("x", 1, {}, {"x": "x"}):
                    change(number, lambda c, k, name=name, other=other: c[k].__setitem__(name, other))
        if isinstance(value, list):
            for count in range(7):
                change(number, lambda c, k, count=count: c.__setitem__(k, (c[k] * count)[:count]))
    return found


def test_the_schemas_agree_after_every_single_change() -> None:
    changes = single_changes()
    verdicts = [SEED.is_valid(value) for value in changes]
    assert [value for value, verdict in zip(changes, verdicts, strict=True) if OURS.is_valid(value) != verdict] == []
    assert min(Counter(verdicts).values()) > 40


@settings(max_examples=60, deadline=None)
@given(VALID)
def test_both_schemas_accept_what_is_valid(value: Any) -> None:
    assert (SEED.is_valid(value), OURS.is_valid(value)) == (True, True)


def one_question(**fields: object) -> dict[str, Any]:
    options = [{"label": "a", "description": "first"}, {"label": "b", "description": "second"}]
    return {"question": "Which?", "header": "H", "options": options, "multiSelect": False} | fields


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ({"questions": [one_question()]}, True),
        ({"questions": [one_question()] * 4}, True),
        ({"questions": [one_question(header="x" * 100, question="")]}, True),
        ({"questions": [one_question()], "answers": {"x": "y"}, "annotations": {"x": {"notes": "y"}}}, True),
        ({"questions": [one_question()], "metadata": {}}, True),
        ({"questions": []}, False),
        ({"questions": [one_question()] * 5}, False),
        ({}, False),
        ([], False),
        ({"questions": [one_question()], "title": "x"}, False),
        ({"questions": [one_question(kind="choice")]}, False),
        ({"questions": [one_question(multiSelect=None)]}, False),
        ({"questions": [one_question(multiSelect="true")]}, False),
        ({"questions": [one_question(options=[{"label": "a", "description": ""}])]}, False),
        ({"questions": [one_question(options=[{"label": str(n), "description": ""} for n in range(5)])]}, False),
        ({"questions": [one_question(options=["a", "b"])]}, False),
        ({"questions": [one_question(options=[{"label": "a"}, {"label": "b"}])]}, False),
        ({"questions": [one_question()], "answers": {"x": 1}}, False),
        ({"questions": [one_question()], "annotations": {"x": {"other": "y"}}}, False),
        ({"questions": [one_question()], "metadata": {"source": 1}}, False),
        ({"questions": [one_question()], "metadata": {"tool": "x"}}, False),
    ],
)
def test_both_schemas_agree_on_the_cases_that_matter(value: object, verdict: bool) -> None:
    assert (SEED.is_valid(value), OURS.is_valid(value)) == (verdict, verdict)


@every_limits
def test_the_parser_takes_whatever_the_schema_takes_but_blank_and_repeated_text(limits: Limits) -> None:
    seen = TEXT.filter(lambda text: not is_blank(text) and "\0" not in text)
    clean = TEXT.filter(lambda text: "\0" not in text)
    option = st.fixed_dictionaries({"label": seen, "description": clean}, optional={"preview": clean})
    choice = st.fixed_dictionaries(
        {
            "question": seen,
            "header": seen,
            "options": st.lists(option, min_size=2, max_size=4, unique_by=lambda option: likeness(option["label"])),
            "multiSelect": st.booleans(),
        }
    )
    asked = {"question": seen, "header": clean}
    typed = st.fixed_dictionaries({**asked, "kind": st.just("text")}, optional={"default": clean})
    number = st.fixed_dictionaries(
        {**asked, "kind": st.just("number")},
        optional={"default": st.integers(0, 1), "min": st.integers(-9, 0), "max": st.floats(1, 9)},
    )
    question = choice | typed | number if limits is OPEN else choice
    most = limits.questions[1]
    arrays = st.lists(
        question, min_size=1, max_size=min(most, 5), unique_by=lambda question: likeness(str(question["question"]))
    )
    validator = Draft202012Validator(schema(limits))

    @settings(max_examples=60, deadline=None)
    @given(arrays)
    def taken(questions: Any) -> None:
        assert validator.is_valid({"questions": questions})
        assert len(parse({"questions": questions}, limits).items) == len(questions)

    taken()


@every_limits
def test_each_api_gets_the_same_tool_in_its_own_format(limits: Limits) -> None:
    anthropic = definition(limits)
    function = {
        "name": NAME,
        "description": anthropic["description"],
        "parameters": anthropic["input_schema"],
        "strict": False,
    }
    assert for_chat(anthropic) == {"type": "function", "function": function}
    assert for_responses(anthropic) == {"type": "function", **function}


def test_a_tool_of_the_application_may_go_without_a_description() -> None:
    assert for_responses({"name": "now", "input_schema": {"type": "object"}}) == {
        "type": "function",
        "name": "now",
        "description": "",
        "parameters": {"type": "object"},
        "strict": False,
    }
