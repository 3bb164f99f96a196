"""Documents that come in over HTTP: read strictly, with every problem at its place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.errors import InvalidAsk, InvalidReply, Problem
from askdesk.core.model import Allowed, Answer, Answered, Asker, Option, Permission, Question, Questions
from askdesk.core.strict import NotStrict
from askdesk.wire import api
from askdesk.wire.api import NewAsk, NewDocument, NewSettlement, NewWithdrawal

_T = TypeVar("_T")


def read(value: object, kind: type[_T]) -> _T:
    return api.read(json.dumps(value).encode(), kind, size=1_000_000, depth=32)


def problems(value: object, kind: type) -> list[Problem]:
    with pytest.raises((InvalidAsk, InvalidReply)) as caught:
        read(value, kind)
    assert isinstance(caught.value, InvalidReply if kind is NewSettlement else InvalidAsk)
    return list(caught.value.problems)


def test_an_ask_is_read_whole() -> None:
    value = {
        "body": {
            "body": "questions",
            "items": [{"text": "Which?", "options": [{"label": "a", "preview": "p"}, {"label": "b"}]}],
        },
        "asker": {"agent": "builder", "process": 7},
        "id": "0" * 32,
        "key": "k",
        "deadline": "2030-01-01T00:00:00Z",
        "preview_format": "html",
        "follows": "f",
    }
    assert read(value, NewAsk) == NewAsk(
        body=Questions([Question("Which?", [Option("a", preview="p"), Option("b")])]),
        asker=Asker("builder", process=7),
        id="0" * 32,
        key="k",
        deadline=datetime(2030, 1, 1, tzinfo=UTC),
        preview_format="html",
        follows="f",
    )


def test_what_an_ask_need_not_say_has_a_default() -> None:
    body = {"body": "permission", "tool": "Bash", "input": "{}"}
    assert read({"body": body}, NewAsk) == NewAsk(body=Permission("Bash", "{}"))
    assert read({"questions": [1]}, NewAsk) == NewAsk(questions=[1])


def test_a_reply_is_read_whole() -> None:
    value = {"reply": {"outcome": "answered", "answers": [{"chosen": ["a"]}, None]}, "submission": "s", "digest": "d"}
    assert read(value, NewSettlement) == NewSettlement(Answered([Answer(["a"]), None]), "s", digest="d")
    allowed = {"reply": {"outcome": "allowed", "input": "{}"}, "submission": "s", "surface": "web"}
    assert read(allowed, NewSettlement) == NewSettlement(Allowed("{}"), "s", "web")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"x": 1}, "x"),
        ({"asker": {"x": 1}}, "asker.x"),
        ({"body": {"body": "permission", "tool": "t", "input": "{}", "x": 1}}, "body.x"),
        ({"body": {"body": "questions", "items": [{"text": "a", "x": 1}]}}, "body.items[0].x"),
        (
            {
                "body": {
                    "body": "questions",
                    "items": [{"text": "a"}, {"text": "b", "options": [{"label": "c", "x": 1}]}],
                }
            },
            "body.items[1].options[0].x",
        ),
        ({"asker": {"": 1}}, 'asker.""'),
        ({"asker": {"é\n": 1}}, 'asker."\\u00e9\\n"'),
        ({"asker": {"x" * 100: 1}}, 'asker."' + "x" * 58 + "…"),
    ],
)
def test_a_field_that_nobody_knows_is_refused_however_deep_it_lies(value: object, path: str) -> None:
    assert [problem.path for problem in problems(value, NewAsk)] == [path]


def test_fields_that_nobody_knows_are_all_told() -> None:
    value = {"x": 1, "asker": {"y": 1, "z": 1}}
    assert [problem.path for problem in problems(value, NewAsk)] == ["asker.y", "asker.z", "x"]


def test_of_what_is_wrong_the_innermost_is_told_each_with_its_place() -> None:
    value = {
        "body": {
            "body": "questions",
            "items": [
                {"text": "", "options": [{"label": "a"}, {"label": "b"}]},
                {"text": "x", "options": [{"label": " "}, {"label": 1}]},
            ],
        },
        "asker": {"agent": ""},
    }
    assert problems(value, NewAsk) == [
        Problem("body.items[0].question", 'must not be blank, is ""'),
        Problem("body.items[1].options[0].label", 'must not be blank, is " "'),
        Problem("body.items[1].options[1].label", "Expected `str`, got `int`"),
        Problem("asker.agent", 'must not be blank, is ""'),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ([], NewAsk, Problem("", "must be an object, is []")),
        (None, NewDocument, Problem("", "must be an object, is null")),
        ({}, NewDocument, Problem("value", "is required")),
        ({"value": 1}, NewDocument, Problem("value", "Expected `str | null`, got `int`")),
        ({"value": None, "expect": 1.5}, NewDocument, Problem("expect", "Expected `int | null`, got `float`")),
        ({"reason": None}, NewWithdrawal, Problem("reason", "Expected `str`, got `null`")),
        ({"submission": "s"}, NewSettlement, Problem("reply", "is required")),
        ({"reply": {}, "submission": "s"}, NewSettlement, Problem("reply.outcome", "is required")),
        ({"reply": [], "submission": "s"}, NewSettlement, Problem("reply", "Expected `object`, got `array`")),
        ({"body": {"body": 1}}, NewAsk, Problem("body.body", "Expected `str`, got `int`")),
    ],
)
def test_what_is_wrong_is_told_with_its_place(value: object, kind: type, expected: Problem) -> None:
    assert problems(value, kind) == [expected]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["questions", "body", "asker", "id", "key", "deadline", "reply", "submission", "value", "expect", "reason"]
INNER = ["body", "items", "text", "options", "label", "outcome", "answers", "chosen", "agent", "tool", "input"]


@given(
    value=st.dictionaries(
        st.sampled_from(FIELDS),
        JSON
        | st.dictionaries(
            st.sampled_from(INNER), JSON | st.sampled_from(["questions", "permission", "answered", "denied"])
        ),
    )
    | JSON,
    kind=st.sampled_from([NewAsk, NewSettlement, NewWithdrawal, NewDocument]),
)
def test_whatever_comes_in_is_read_or_refused_with_a_reason(value: Any, kind: type[Any]) -> None:
    assert _read_or_refused(value, kind)


def _read_or_refused(value: Any, kind: type[Any]) -> bool:
    try:
        return isinstance(read(value, kind), kind)
    except (InvalidAsk, InvalidReply) as error:
        return bool(error.problems)
    except NotStrict as error:
        return bool(str(error))


@given(raw=st.binary())
def test_bytes_that_are_no_json_are_refused(raw: bytes) -> None:
    with pytest.raises((NotStrict, InvalidAsk)):
        api.read(raw, NewDocument, size=1000, depth=32)
