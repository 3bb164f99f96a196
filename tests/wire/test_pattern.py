"""Patterns of others: what is found is what Python finds, and no pattern keeps us busy."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askdesk.core.errors import InvalidAsk
from askdesk.wire.pattern import pattern

PARTS = [
    *("a", "b", "[ab]", "[^a]", "[a-b1]", "(a|b)", "(?:ab)*", "(?<n>a)", "a*", "b+?", "a?", "(a*)*", "a{2}", "b{1,2}"),
    *("a{2,}", "^", "\\b", "\\B", "\\d", "\\W", "\\s", ".", "\\.", "\\x61", "|", "(", ")", "\\u0062"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=6).map("".join), st.text("ab1. \n", max_size=7))
def test_a_pattern_is_found_where_python_finds_it(written: str, text: str) -> None:
    try:
        known = re.compile(written.replace("(?<", "(?P<"), re.ASCII)
        found = pattern(written)
    except (re.error, InvalidAsk):
        assume(False)
    assume(text or "\\B" not in written)  # which some versions of Python do not find in nothing; JavaScript does
    assert found.is_in(text) == bool(known.search(text))


@pytest.mark.parametrize(
    ("written", "text", "is_found"),
    [
        ("\\B", "", True),
        ("^[a-z]+$", "abc\n", False),  # the end is the end, as in JavaScript
        ("^\\d+$", "١٢", False),
        ("^\\w+$", "é", False),
        ("^\\s$", "\ufeff", True),
        ("^.$", "\u2028", False),
        ("^[\\w.-]+@[\\w-]+\\.[a-z]{2,4}$", "ana@example.com", True),
        ("^(v|V)?\\d+(\\.\\d+){2}$", "v1.20.3", True),
        ("^#?([a-f0-9]{6}|[a-f0-9]{3})$", "#ffcc0", False),
        ("^\\u{1F600}$", "😀", True),
        ("^[\\b]$", "\b", True),
        ("", "anything", True),
    ],
)
def test_patterns_mean_what_they_mean_in_json_schema(written: str, text: str, is_found: bool) -> None:
    assert pattern(written).is_in(text) == is_found


@pytest.mark.parametrize("written", ["^(a+)+$", "^(a|a)*$", "^(.*)*x$", "(.?){300}b", "a*a*a*a*a*a*a*a*c"])
def test_no_pattern_keeps_us_busy(written: str) -> None:
    found, started = pattern(written), time.monotonic()
    assert not found.is_in("a" * 500 + "!")
    assert not found.is_in("a" * 1_000_000)  # too long to be looked through
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "written",
    [
        *("(", ")", "a)", "(a", "[a", "[]", "[^]", "[b-a]", "[\\d-z]", "*", "a**", "a{2,1}", "a{x}", "^*", "\\"),
        *("(?=a)", "(?!a)", "(?<=a)", "(a)\\1", "\\k<n>", "\\p{L}", "\\u{ffffff}", "\\01", "(?i)a"),
        *("a" * 501, "a{3000}", "((a{50}){50}){50}", "(" * 40 + ")" * 40),
    ],
)
def test_what_is_no_pattern_or_cannot_be_followed_is_refused(written: str) -> None:
    with pytest.raises(InvalidAsk, match=r"^pattern: "):
        pattern(written)
