"""A page: head, a window on the body, foot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.terminal.sheets import rows

from askdesk.core.text import Shown
from askdesk.surfaces.spans import EMPTY, Line, Span, line, text_of
from askdesk.surfaces.terminal.page import LEAST, Row, agent_rows, choice, foot, page
from askdesk.surfaces.terminal.view import Picture, Size, cells

HEAD = [line(Shown("head")), EMPTY]
FOOT = [EMPTY, line(Shown("foot"))]


def body(count: int) -> list[Row]:
    return [Row(line(Shown(f"row {number}")), f"row:{number}") for number in range(count)]


def shown_page(count: int, lines: int, focus: str = "", look: int = 0) -> list[str]:
    return rows(page(HEAD, body(count), FOOT, Size(40, lines), focus, look))


def test_a_page_that_fits_is_shown_whole() -> None:
    assert shown_page(3, 10) == ["head", "", "row 0", "row 1", "row 2", "", "foot"]
    assert shown_page(6, 10) == ["head", "", *(f"row {n}" for n in range(6)), "", "foot"]


def test_a_longer_body_says_how_much_more_there_is() -> None:
    assert shown_page(20, 10) == ["head", "", *(f"row {n}" for n in range(5)), "↓ 15 more lines", "", "foot"]


def test_the_window_follows_the_focus() -> None:
    assert shown_page(20, 10, "row:9") == [
        *("head", "", "↑ 6 more lines", "row 6", "row 7", "row 8", "row 9", "↓ 10 more lines", "", "foot")
    ]
    assert shown_page(20, 10, "row:19") == [
        *("head", "", "↑ 15 more lines", "row 15", "row 16", "row 17", "row 18", "row 19", "", "foot")
    ]


def test_a_page_can_be_scrolled_away_from_the_focus_as_far_as_it_goes() -> None:
    assert shown_page(20, 10, "row:0", 4)[2:4] == ["↑ 5 more lines", "row 5"]
    assert shown_page(20, 10, "row:19", -100)[2] == "row 0"
    assert shown_page(20, 10, "row:0", 100)[-3:] == ["row 19", "", "foot"]


def test_of_a_focus_taller_than_the_window_the_beginning_is_shown() -> None:
    tall = [Row(line(Shown(f"row {number}")), "tall" if number > 2 else "") for number in range(20)]

    assert rows(page(HEAD, tall, FOOT, Size(40, 10), "tall", 0))[2:4] == ["↑ 3 more lines", "row 3"]


def test_the_window_follows_the_cursor_within_the_focus() -> None:
    typed = [Row(line(Shown(f"row {n}")), "own", 7 if n == 15 else None) for n in range(20)]
    picture = page(HEAD, typed, FOOT, Size(40, 10), "own", 0)

    assert rows(picture)[5:8] == ["row 14", "row 15", "↓ 4 more lines"]
    assert picture.cursor == (7, 6)


def test_a_cursor_that_is_scrolled_out_of_sight_is_not_shown() -> None:
    typed = [Row(line(Shown(f"row {n}")), "own", 7 if n == 15 else None) for n in range(20)]

    assert page(HEAD, typed, FOOT, Size(40, 10), "own", -20).cursor is None


@pytest.mark.parametrize("lines", [4, 5, 6, 7])
def test_in_next_to_no_lines_what_has_the_focus_stays(lines: int) -> None:
    drawn = shown_page(20, lines, "row:9")

    assert len(drawn) <= lines
    assert [row for row in drawn if row.startswith("row")][-1] == "row 9"


def test_every_line_is_cropped_to_the_columns() -> None:
    picture = page([line(Shown("a head too long"))], [Row(line(Shown("日本語日本語日本語")))], [], Size(8, 10), "", 0)

    assert rows(picture) == ["a head …", "日本語…"]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(-50, 50), st.integers(LEAST.lines, 30))
def test_a_page_has_no_more_lines_than_there_are_and_shows_the_focus(
    count: int, focus: int, look: int, lines: int
) -> None:
    scrolled, following = shown_page(count, lines, f"row:{focus}", look), shown_page(count, lines, f"row:{focus}")

    assert max(len(scrolled), len(following)) <= lines
    assert (f"row {focus}" in following) == (focus < count)


def test_every_row_of_an_agents_text_stands_behind_a_margin() -> None:
    text = "one two three\n\nSend\r\nfour\x1b[2J"

    assert [text_of(row) for row in agent_rows(text, 12)] == [
        *("│ one two", "│ three", "│ ", "│ Send", "│ four\\x1b[2", "│ J")
    ]


def test_a_click_on_any_part_of_an_agents_text_presses_the_same_key() -> None:
    picture = Picture(tuple(agent_rows("one two", 40, "bold", "row:a")))

    assert [picture.key_at(column, 0) for column in (0, 2, 8, 9)] == ["row:a", "row:a", "row:a", ""]


def test_the_foot_tells_and_then_names_keys_in_two_rows_at_most() -> None:
    keys = [("enter", "take"), ("updown", "move"), ("tab", "switch"), ("n", "note"), ("escape", "leave")]

    assert foot_rows("", keys, 80) == ["", "Enter take it  ↑↓ move  Tab other questions  n note  Esc leave"]
    assert foot_rows("Type something first.", keys, 30) == [
        *("", "Type something first.", "Enter take it  ↑↓ move", "Tab other questions  n note")
    ]
    assert foot_rows("", [], 80) == ["", ""]


def foot_rows(said: str, keys: list[tuple[str, str]], columns: int) -> list[str]:
    return [text_of(spans) for spans in foot(Shown(said), keys, Size(columns, 24))]


@pytest.mark.parametrize(
    ("row", "line_of_it"),
    [
        ("next", (Span(Shown("❯ "), "focus", "row:next"), Span(Shown("Send"), "focus", "row:next"))),
        ("chat", (Span(Shown("  "), "focus", "row:chat"), Span(Shown("Send"), "", "row:chat"))),
    ],
)
def test_a_choice_is_pointed_at_where_it_has_the_focus_and_can_be_clicked(row: str, line_of_it: Line) -> None:
    assert choice(row, "next", Shown("Send")) == line_of_it


@given(st.text(), st.integers(3, 60))
def test_an_agents_text_is_never_without_its_margin(text: str, columns: int) -> None:
    drawn = list(agent_rows(text, columns))

    assert all(text_of(row).startswith("│ ") and cells(row) > 1 for row in drawn)
