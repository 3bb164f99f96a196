"""Lines of spans: how they wrap, crop and stand beside each other."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.text import Shown, shown, width
from askdesk.surfaces.spans import EMPTY, Line, Span, line, split, styled, text_of
from askdesk.surfaces.terminal.view import Picture, beside, cells, clings, cropped, padded, wrap

FAMILY = "👨\u200d👩\u200d👧"
E_ACUTE = "e\u0301"
MARGIN = line(Shown("| "))
STYLED = line(Span(Shown("one "), "bold", "row:a"), Shown("two "), Span(Shown("three"), "dim"))


def plain(text: str) -> Line:
    return line(Shown(text))


def texts(rows: list[Line]) -> list[str]:
    return [text_of(row) for row in rows]


def test_a_line_is_made_of_texts_and_spans_and_has_no_empty_ones() -> None:
    assert line(Shown("a"), Shown(""), Span(Shown("b"), "bold"), Span(Shown(""), "dim")) == (
        Span(Shown("a")),
        Span(Shown("b"), "bold"),
    )
    assert line() == line(Shown("")) == EMPTY


def test_a_line_has_a_text_and_a_width() -> None:
    assert (text_of(STYLED), cells(STYLED)) == ("one two three", 13)
    assert (text_of(EMPTY), cells(EMPTY)) == ("", 0)
    assert cells(plain(f"日本{E_ACUTE}")) == 5


def test_a_style_and_a_key_go_where_there_are_none() -> None:
    assert styled(STYLED, "focus", "row:b") == (
        Span(Shown("one "), "bold", "row:a"),
        Span(Shown("two "), "focus", "row:b"),
        Span(Shown("three"), "dim", "row:b"),
    )


@pytest.mark.parametrize(
    ("column", "row", "key"),
    [
        *((0, 0, "row:a"), (3, 0, "row:a"), (4, 0, ""), (12, 0, ""), (13, 0, ""), (0, 1, ""), (0, -1, "")),
        *((0, 2, "tab:1"), (3, 2, "tab:1"), (4, 2, "tab:2"), (0, 3, "")),
    ],
)
def test_a_click_presses_the_key_of_the_span_it_falls_on(column: int, row: int, key: str) -> None:
    wide = line(Span(Shown("日本"), key="tab:1"), Span(Shown("x"), key="tab:2"))

    assert Picture((STYLED, EMPTY, wide)).key_at(column, row) == key


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("short", 10, ["short"]),
        ("exactly ten", 11, ["exactly ten"]),
        ("one two three four", 10, ["one two", "three four"]),
        ("a-word-that-is-too-long here", 10, ["a-word-tha", "t-is-too-l", "ong here"]),
        ("a bcdefghijklm", 10, ["a bcdefghi", "jklm"]),
        ("日本語日本語", 5, ["日本", "語日", "本語"]),
        (f"abc{E_ACUTE}{E_ACUTE}", 4, [f"abc{E_ACUTE}", E_ACUTE]),
        (f"ab{FAMILY}", 7, ["ab", FAMILY]),
        ("", 10, [""]),
    ],
)
def test_a_line_wraps_at_blanks_and_tears_no_character_apart(text: str, columns: int, rows: list[str]) -> None:
    assert texts(wrap(plain(text), columns)) == rows


def test_rows_after_the_first_begin_with_the_margin() -> None:
    assert texts(wrap(plain("one two three four"), 11, MARGIN)) == ["one two", "| three", "| four"]


def test_a_margin_that_would_take_half_of_the_row_is_left_out() -> None:
    assert texts(wrap(plain("onetwothree"), 4, MARGIN)) == ["onet", "woth", "ree"]


def test_wrapping_keeps_styles_and_keys() -> None:
    assert wrap(STYLED, 6) == [
        (Span(Shown("one"), "bold", "row:a"),),
        (Span(Shown("two")),),
        (Span(Shown("three"), "dim"),),
    ]


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_wrapping_comes_to_an_end_in_next_to_no_columns(columns: int) -> None:
    assert "".join(texts(wrap(plain("ab 日本"), columns, exact=True))) == "ab 日本"


@given(st.text().map(shown), st.integers(1, 30))
def test_wrapping_leaves_nothing_out_but_blanks_at_the_end_of_rows(text: Shown, columns: int) -> None:
    assert "".join(texts(wrap(line(text), columns, exact=True))) == text
    assert "".join(texts(wrap(line(text), columns))).replace(" ", "") == text.replace(" ", "")


@given(st.text().map(shown), st.integers(4, 30), st.booleans())
def test_no_row_is_wider_than_the_columns(text: Shown, columns: int, exact: bool) -> None:
    assert all(cells(row) <= columns for row in wrap(line(text), columns, exact=exact))


@given(st.lists(st.text(min_size=1).map(shown)), st.integers(-3, 40))
def test_a_line_is_split_after_so_many_characters(parts: list[Shown], at: int) -> None:
    spans = line(*parts)
    head, tail = split(spans, at)

    assert text_of(head) == text_of(spans)[: max(at, 0)]
    assert text_of(head) + text_of(tail) == text_of(spans)


@pytest.mark.parametrize(
    ("columns", "start", "seen"),
    [
        (18, 0, "one two three four"),
        (10, 0, "one two t…"),
        (1, 0, "…"),
        (0, 0, ""),
        (18, 4, "two three four"),
        (6, 4, "two t…"),
        (6, 40, ""),
    ],
)
def test_what_is_cropped_ends_with_an_ellipsis(columns: int, start: int, seen: str) -> None:
    assert text_of(cropped(plain("one two three four"), columns, start)) == seen


def test_cropping_keeps_styles_and_dims_the_ellipsis() -> None:
    assert cropped(STYLED, 7) == (Span(Shown("one "), "bold", "row:a"), Span(Shown("tw")), Span(Shown("…"), "dim"))


@given(st.text().map(shown), st.integers(0, 30), st.integers(0, 30))
def test_what_is_cropped_fits(text: Shown, columns: int, start: int) -> None:
    assert cells(cropped(line(text), columns, start)) <= columns


def test_a_line_is_padded_up_to_a_width_and_never_cut() -> None:
    assert text_of(padded(plain("日本"), 6)) == "日本  "
    assert padded(plain("日本"), 3) == plain("日本")


def test_two_columns_stand_beside_each_other_also_when_one_is_longer() -> None:
    left, right = [plain("a"), plain("bb")], [plain("x"), EMPTY, plain("z")]

    assert texts(beside(left, right, 3, MARGIN)) == ["a  | x", "bb | ", "   | z"]
    assert beside([], [], 3, MARGIN) == []


@pytest.mark.parametrize(
    ("text", "clinging"),
    [
        ("ab", [False]),
        (E_ACUTE, [True]),
        (FAMILY, [True, True, True, True]),
        ("❤\ufe0f", [True]),
        ("می\u200cخ", [False, True, False]),
        ("日本", [False]),
    ],
)
def test_accents_joiners_and_selectors_belong_to_the_character_before(text: str, clinging: list[bool]) -> None:
    assert [clings(text, at) for at in range(1, len(text))] == clinging


@given(st.text(alphabet="ab 日\u0301").map(shown), st.integers(2, 20))
def test_no_row_begins_with_an_accent(text: Shown, columns: int) -> None:
    assert not [row for row in texts(wrap(line(text), columns))[1:] if row and width(Shown(row[0])) == 0]


@given(st.text(alphabet="ab 日é").map(shown), st.integers(2, 30))
def test_every_row_of_a_wrapped_line_fits(text: Shown, columns: int) -> None:
    assert max(map(cells, wrap(line(text), columns))) <= columns


def test_a_long_line_wraps_in_a_moment() -> None:
    started = time.thread_time()
    wrap(line(Shown("palabra más " * 10_000)), 80)
    assert time.thread_time() - started < 3
