"""JSON that means one thing: everything that two readers could take differently is refused, with the reason."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core import strict

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def refusal(text: str | bytes, **limits: int) -> str:
    with pytest.raises(strict.NotStrict) as caught:
        strict.loads(text, **limits)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ('{"b":1,"a":[true,1.5,"é"]}', {"b": 1, "a": [True, 1.5, "é"]}),
        (b'"\xc3\xa9"', "é"),
        (r'"\ud83d\ude00"', "😀"),
        (" [ ] \n", []),
        ('{"":{"":""}}', {"": {"": ""}}),
        ("9" * 4300, int("9" * 4300)),
    ],
)
def test_plain_json_is_read(text: str | bytes, value: object) -> None:
    assert strict.loads(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not JSON: Expecting value at line 1, column 1"),
        ("{", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("{}\n{}", "is not JSON: Extra data at line 2, column 1"),
        ('{"a":1,"a":1}', 'has the key "a" twice in one object'),
        ('[{"x":{"a":1,"b":2,"b":3}}]', 'has the key "b" twice in one object'),
        (r'{"a":1,"\u0061":2}', 'has the key "a" twice in one object'),
        ("NaN", "holds NaN, which is not JSON"),
        ("[Infinity]", "holds Infinity, which is not JSON"),
        ("[-Infinity]", "holds -Infinity, which is not JSON"),
        ("1e999", "holds NaN or Infinity, which are not JSON"),
        ("9" * 5000, "holds a number that is too long"),
        ("-" + "9" * 100_000, "holds a number that is too long"),
        (r'"\ud800"', "holds a lone surrogate"),
        ('"\udc00"', "holds a lone surrogate"),
        (r'{"\ud800":1}', "holds a lone surrogate"),
        (r'"a\u0000b"', "holds a NUL character"),
        (r'{"a\u0000":1}', "holds a NUL character"),
        (b'"\xff"', "is not UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "is not UTF-8 at byte 1"),
        ('"\n"', "is not JSON: Invalid control character at at line 1, column 2"),
    ],
)
def test_what_readers_could_take_differently_is_refused(text: str | bytes, why: str) -> None:
    assert refusal(text) == why


@pytest.mark.parametrize("text", ["\ufeff{}", b"\xef\xbb\xbf{}"], ids=["text", "bytes"])
def test_a_byte_order_mark_is_refused(text: str | bytes) -> None:
    assert refusal(text).startswith("is not JSON: Unexpected UTF-8 BOM")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_no_other_encoding_is_guessed(encoding: str) -> None:
    assert refusal('{"é":1}'.encode(encoding)).startswith(("is not UTF-8", "is not JSON"))


def test_the_size_is_counted_in_bytes_and_up_to_the_limit_is_fine() -> None:
    text = '"éé"'
    assert strict.loads(text, size=6) == "éé"
    assert refusal(text, size=5) == "is longer than 5 bytes"
    assert refusal(text.encode(), size=5) == "is longer than 5 bytes"
    assert refusal('"' + "x" * strict.SIZE + '"') == f"is longer than {strict.SIZE} bytes"


def test_the_depth_is_counted_in_containers_and_up_to_the_limit_is_fine() -> None:
    assert strict.loads("[[1]]", depth=2) == [[1]]
    assert refusal("[[[1]]]", depth=2) == "is nested deeper than 2 levels"
    assert refusal('{"a":[{}]}', depth=2) == "is nested deeper than 2 levels"


@pytest.mark.parametrize("levels", [33, 900, 1_000, 5_000, 400_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_depth_bomb_is_refused_and_nothing_overflows(levels: int, opening: str, closing: str) -> None:
    text = opening * levels + "1" + closing * levels
    expected = "is nested deeper than 32 levels" if len(text) <= strict.SIZE else f"is longer than {strict.SIZE} bytes"
    assert refusal(text) == expected


def test_a_value_is_checked_as_its_text_would_be() -> None:
    endless: list[object] = []
    endless.append(endless)
    bad: list[tuple[object, str]] = [
        (float("nan"), "holds NaN or Infinity, which are not JSON"),
        ([float("inf")], "holds NaN or Infinity, which are not JSON"),
        ({"a": {1, 2}}, "holds a set, which JSON does not have"),
        (b"bytes", "holds a bytes, which JSON does not have"),
        ({1: "a"}, "has a key that is not text but int"),
        (["\ud800"], "holds a lone surrogate"),
        ({"\0": 1}, "holds a NUL character"),
        (endless, "is nested deeper than 32 levels"),
    ]
    for value, why in bad:
        with pytest.raises(strict.NotStrict) as caught:
            strict.check(value)
        assert str(caught.value) == why


def test_a_number_too_long_for_a_text_is_refused_as_a_value_too() -> None:
    with pytest.raises(strict.NotStrict, match="holds a number that is too long"):
        strict.check({"a": [10**5000]})


def test_a_tuple_counts_as_a_list() -> None:
    strict.check({"a": (1, None, True, "x", 0.5)})
    assert strict.dumps({"a": (1, None)}) == '{"a": [1, null]}'


def test_what_we_write_keeps_order_and_escapes_nothing_in_vain() -> None:
    assert strict.dumps({"b": "é\n", "a": "😀"}) == '{"b": "é\\n", "a": "😀"}'
    with pytest.raises(ValueError, match="Out of range float"):
        strict.dumps(float("nan"))


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", None),
        ("plain", None),
        ("é 😀 \u200d \uffff", None),
        ("a\0", "holds a NUL character"),
        ("\ud83d", "holds a lone surrogate"),
        ("\ude00é", "holds a lone surrogate"),
    ],
)
def test_a_text_is_flawed_only_where_stores_would_differ(text: str, flaw: str | None) -> None:
    assert strict.text_flaw(text) == flaw


@settings(max_examples=150)
@given(JSON_VALUES)
def test_a_value_passes_exactly_where_its_text_does(value: Any) -> None:
    def verdict(check: Any, given: object) -> bool:
        try:
            check(given)
        except strict.NotStrict:
            return False
        return True

    assert verdict(strict.check, value) == verdict(strict.loads, json.dumps(value))


@settings(max_examples=150)
@given(st.binary(max_size=60) | st.text(max_size=60))
def test_random_input_gives_a_value_or_a_reason_and_nothing_else(text: str | bytes) -> None:
    try:
        value = strict.loads(text)
    except strict.NotStrict:
        return
    assert value == json.loads(text)
