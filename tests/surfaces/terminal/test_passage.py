"""Where one is in a long text, and what of it has been seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.surfaces.terminal.passage import Passage

LONG = Passage(100, 10, 80)
KEYS = ("up", "k", "down", "j", "pageup", "b", "pagedown", " ", "home", "g", "end", "G")


def pressed(passage: Passage, *keys: str) -> Passage:
    for key in keys:
        moved = passage.press(key)
        assert moved is not None
        passage = moved
    return passage


@pytest.mark.parametrize(
    ("keys", "top"),
    [
        (["down"], 1),
        (["j", "j"], 2),
        (["down", "up"], 0),
        (["up"], 0),
        (["j", "k"], 0),
        (["pagedown"], 9),
        ([" ", " "], 18),
        (["pagedown", "pageup"], 0),
        ([" ", "b"], 0),
        (["end"], 90),
        (["G", "down", "pagedown"], 90),
        (["end", "home"], 0),
        (["G", "g"], 0),
        (["end", "pageup"], 81),
    ],
)
def test_keys_scroll_and_stay_in_the_text(keys: list[str], top: int) -> None:
    assert pressed(LONG, *keys) == Passage(100, 10, 80, top)


@pytest.mark.parametrize("key", ["enter", "escape", "x", "left", "wheel:down", ""])
def test_another_key_does_not_scroll(key: str) -> None:
    assert LONG.press(key) is None


@pytest.mark.parametrize("rows", [0, 1, 9, 10])
def test_a_text_that_fits_is_not_long_and_does_not_scroll(rows: int) -> None:
    passage = Passage(rows, 10)

    assert (passage.is_long, pressed(passage, "end", "down").top, passage.bottom) == (False, 0, rows)


def test_a_window_of_one_row_is_paged_through_row_by_row() -> None:
    assert pressed(Passage(3, 1), "pagedown") == Passage(3, 1, top=1)


def test_nothing_is_seen_before_it_was_looked_at() -> None:
    assert (LONG.is_long, LONG.is_seen, LONG.unseen, LONG.bottom) == (True, False, 100, 10)
    assert Passage(0, 10).is_seen


@pytest.mark.parametrize(
    ("looks", "seen"),
    [
        ([(0, 10)], ((0, 10),)),
        ([(0, 10), (10, 20)], ((0, 20),)),
        ([(10, 20), (0, 10)], ((0, 20),)),
        ([(0, 10), (5, 8)], ((0, 10),)),
        ([(0, 10), (20, 30)], ((0, 10), (20, 30))),
        ([(0, 10), (20, 30), (5, 25)], ((0, 30),)),
        ([(5, 5)], ()),
    ],
)
def test_what_was_looked_at_is_kept_in_order_and_not_touching(
    looks: list[tuple[int, int]], seen: tuple[tuple[int, int], ...]
) -> None:
    passage = LONG
    for start, end in looks:
        passage = passage.look(start, end)

    assert passage == Passage(100, 10, 80, seen=seen)


def test_all_is_seen_once_every_row_was_looked_at() -> None:
    passage = LONG.look(0, 50)
    assert (passage.is_seen, passage.unseen) == (False, 50)
    passage = passage.look(51, 100)
    assert (passage.is_seen, passage.unseen) == (False, 1)
    passage = passage.look(50, 51)
    assert (passage.is_seen, passage.unseen) == (True, 0)


def test_paging_to_the_end_shows_every_row() -> None:
    passage = LONG.look(0, 10)
    while passage.bottom < passage.rows:
        passage = pressed(passage, "pagedown")
        passage = passage.look(passage.top, passage.bottom)

    assert passage.is_seen


def test_in_another_height_what_was_seen_stays_seen() -> None:
    assert LONG.move(50).look(50, 60).resized(100, 20, 80) == Passage(100, 20, 80, 50, ((50, 60),))
    assert LONG.move(90).resized(100, 30, 80).top == 70


def test_in_another_width_rows_are_other_rows_so_only_a_whole_that_was_seen_stays_so() -> None:
    assert LONG.look(0, 60).resized(120, 10, 60) == Passage(120, 10, 60)
    assert LONG.look(0, 100).resized(120, 10, 60) == Passage(120, 10, 60, seen=((0, 120),))


def test_in_the_same_shape_it_is_the_same() -> None:
    moved = LONG.move(5).look(5, 15)

    assert moved.resized(100, 10, 80) is moved


@given(st.integers(0, 60), st.integers(1, 20), st.lists(st.sampled_from(KEYS)))
def test_whatever_is_pressed_the_window_is_in_the_text_and_only_its_rows_are_seen(
    rows: int, height: int, keys: list[str]
) -> None:
    passage, looked = Passage(rows, height), set[int]()
    for key in keys:
        passage = pressed(passage, key)
        assert 0 <= passage.top <= passage.bottom <= rows
        passage = passage.look(passage.top, passage.bottom)
        looked |= set(range(passage.top, passage.bottom))

    assert {row for start, end in passage.seen for row in range(start, end)} == looked
    assert passage.unseen == rows - len(looked)
