"""A text while it is being typed, key by key."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.strict import text_flaw
from askdesk.core.text import Shown, shown
from askdesk.surfaces.spans import Line, Span, text_of
from askdesk.surfaces.terminal.field import NEW_LINE, Field
from askdesk.surfaces.terminal.view import cells

COLUMNS = 20
FAMILY = "👨\u200d👩\u200d👧"
HEART = "❤\ufe0f"
E_ACUTE = "e\u0301"
EDITING = (
    *("left", "right", "ctrl+left", "ctrl+right", "alt+b", "alt+f", "home", "end", "ctrl+a", "ctrl+e", "up", "down"),
    *("backspace", "ctrl+h", "delete", "ctrl+d", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+z", "ctrl+underscore", *NEW_LINE),
)


def typed(field: Field, *keys: str) -> Field:
    """The field after these keys; one that does nothing leaves it as it is."""
    for key in keys:
        field = field.press(key, COLUMNS) or field
    return field


def drawn(field: Field, columns: int = COLUMNS) -> tuple[list[str], tuple[int, int]]:
    lines, cursor = field.lines(columns, active=True)
    return [text_of(spans) for spans in lines], cursor


def test_words_go_in_at_the_cursor() -> None:
    field = typed(Field(), *"helo", "left", "l")

    assert (field.text, field.at) == ("hello", 4)
    assert Field.of("hello") == Field("hello", 5)


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        ("one\r\ntwo\rthree\nfour", "one\ntwo\nthree\nfour"),
        ("a\tb", "a    b"),
        ("a\x1b[31mb\0c\x7fd\x9be", "a[31mbcde"),
        ("half a \ud83d pair", "half a  pair"),
        (f"日本 {FAMILY} {E_ACUTE}", f"日本 {FAMILY} {E_ACUTE}"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("", ""),
    ],
    ids=ascii,
)
def test_what_no_text_may_hold_is_left_out(pasted: str, kept: str) -> None:
    field = Field().type(pasted)

    assert (field.text, field.at) == (kept, len(kept))


@pytest.mark.parametrize("key", NEW_LINE)
def test_there_are_keys_for_a_new_line(key: str) -> None:
    assert typed(Field.of("ab"), "left", key).text == "a\nb"


@pytest.mark.parametrize("key", ["enter", "escape", "tab", "shift+tab", "pageup", "ctrl+g", "ctrl+r", "f1", "wheel:up"])
def test_a_key_of_somebody_else_is_left_to_them(key: str) -> None:
    assert Field.of("text").press(key, COLUMNS) is None


@pytest.mark.parametrize("whole", ["a", "日", FAMILY, HEART, E_ACUTE, "a\u0301\u0302\u0323", "\n"], ids=ascii)
def test_a_character_of_many_parts_moves_and_goes_as_one(whole: str) -> None:
    end = Field.of(f"x{whole}")
    start = Field(f"x{whole}", 1)

    assert (typed(end, "left").at, typed(start, "right").at) == (1, len(end.text))
    assert typed(end, "backspace").text == typed(end, "ctrl+h").text == "x"
    assert typed(start, "delete").text == typed(start, "ctrl+d").text == "x"


@pytest.mark.parametrize("key", ["left", "right", "backspace", "delete", "home", "end", "ctrl+w", "ctrl+u", "ctrl+k"])
def test_an_empty_field_takes_every_key(key: str) -> None:
    assert Field().press(key, COLUMNS) == Field()


@pytest.mark.parametrize(
    ("key", "at"),
    [
        *(("home", 8), ("ctrl+a", 8), ("end", 21), ("ctrl+e", 21)),
        *(("ctrl+left", 12), ("alt+b", 12), ("ctrl+right", 16), ("alt+f", 16)),
    ],
)
def test_the_cursor_moves_by_words_and_within_its_own_line(key: str, at: int) -> None:
    field = Field("one two\nthr four five\nsix", 14)

    assert typed(field, key) == Field(field.text, at)


@pytest.mark.parametrize(
    ("key", "text", "at"),
    [
        ("ctrl+w", "one two\nthr ur five\nsix", 12),
        ("ctrl+u", "one two\nur five\nsix", 8),
        ("ctrl+k", "one two\nthr fo\nsix", 14),
    ],
)
def test_a_word_or_the_rest_of_a_line_goes_at_once(key: str, text: str, at: int) -> None:
    field = typed(Field("one two\nthr four five\nsix", 14), key)

    assert (field.text, field.at) == (text, at)


def test_a_change_is_taken_back_and_the_cursor_with_it() -> None:
    start = Field.of("one two")
    erased = typed(start, "left", "ctrl+w")

    assert erased.text == "one o"
    assert typed(erased, "ctrl+z") == Field("one two", 6)
    assert typed(erased, "ctrl+underscore", "ctrl+z", "ctrl+z") == Field("one two", 6)


def test_moving_is_nothing_to_take_back() -> None:
    assert typed(Field(), "a", "left", "right", "home", "ctrl+z") == Field()


def test_the_last_hundred_changes_can_be_taken_back() -> None:
    field = typed(Field(), *"x" * 150, *["ctrl+z"] * 200)

    assert (field.text, field.before) == ("x" * 50, ())


def test_up_and_down_keep_the_column_and_end_at_the_first_and_last_row() -> None:
    field = Field("one\nlonger\ntwo", 9)  # before the e of longer

    assert typed(field, "up") == Field(field.text, 3)
    assert typed(field, "down") == Field(field.text, 14)
    assert typed(field, "up").press("up", COLUMNS) is None
    assert typed(field, "down").press("down", COLUMNS) is None


def test_up_and_down_go_by_rows_as_they_are_wrapped() -> None:
    field = Field.of("one two three four five six")

    assert drawn(field) == (["one two three four ", "five six "], (8, 1))
    assert typed(field, "up").at == 8
    assert field.press("up", 80) is None


def test_up_and_down_go_by_cells_where_characters_are_wide() -> None:
    assert typed(Field.of("日本語\nabcd"), "up").at == 2
    assert typed(Field("abcdef\n日本語", 3), "down").at == 8


def test_the_cursor_stands_on_a_whole_character_or_on_a_blank_at_the_end() -> None:
    assert Field(f"a{FAMILY}b", 1).lines(COLUMNS, active=True) == (
        [(Span(Shown("a")), Span(Shown(FAMILY), "cursor"), Span(Shown("b")))],
        (1, 0),
    )
    assert Field.of("ab").lines(COLUMNS, active=True) == ([(Span(Shown("ab")), Span(Shown(" "), "cursor"))], (2, 0))
    assert Field("ab\n\ncd", 3).lines(COLUMNS, active=True) == (
        [(Span(Shown("ab")),), (Span(Shown(" "), "cursor"),), (Span(Shown("cd")),)],
        (0, 1),
    )


def test_a_field_without_the_focus_shows_no_cursor() -> None:
    assert Field.of("ab").lines(COLUMNS, active=False) == ([(Span(Shown("ab")),)], (2, 0))
    assert Field().lines(COLUMNS, active=False) == ([()], (0, 0))


def test_what_could_harm_a_screen_is_shown_as_an_escape() -> None:
    assert drawn(Field.of("a\u202eb")) == (["a\\u{202e}b "], (10, 0))


PLAIN = st.sampled_from([*"ab é日", "ctrl+j"])
MOVES = st.sampled_from(["left", "right", "home", "end", "backspace", "delete"])


def modelled(text: str, at: int, key: str) -> tuple[str, int]:
    """What a key does to a text and a cursor, said as simply as can be."""
    start, end = text.rfind("\n", 0, at) + 1, (f"{text}\n").find("\n", at)
    match key:
        case "left" | "right":
            return text, max(at - 1, 0) if key == "left" else min(at + 1, len(text))
        case "home" | "end":
            return text, start if key == "home" else end
        case "backspace":
            return text[: max(at - 1, 0)] + text[at:], max(at - 1, 0)
        case "delete":
            return text[:at] + text[at + 1 :], at
        case _:
            return text[:at] + ("\n" if key == "ctrl+j" else key) + text[at:], at + 1


@given(st.lists(st.one_of(PLAIN, MOVES), max_size=40))
def test_typing_moving_and_erasing_do_what_they_say(keys: list[str]) -> None:
    field, model = Field(), ("", 0)
    for key in keys:
        field, model = typed(field, key), modelled(*model, key)
        assert (field.text, field.at) == model


@given(st.text(), st.lists(st.one_of(st.sampled_from(EDITING), st.characters(), st.text().map("paste:".__add__))))
def test_whatever_is_typed_the_cursor_is_in_the_text_and_the_text_can_be_kept(text: str, keys: list[str]) -> None:
    field = Field().type(text)
    for key in keys:
        is_paste = key.startswith("paste:")
        field = field.type(key.removeprefix("paste:")) if is_paste else typed(field, key)

        assert 0 <= field.at <= len(field.text)
        assert text_flaw(field.text) is None
        assert not [c for c in field.text if unicodedata.category(c) == "Cc" and c != "\n"]


@given(st.lists(st.sampled_from([*"ab ", "日", E_ACUTE, HEART, "\n"]), max_size=60).map("".join), st.data())
def test_the_rows_hold_the_whole_text_fit_and_have_the_cursor_in_them(text: str, data: st.DataObject) -> None:
    columns = data.draw(st.integers(3, 30))
    field = Field(text, data.draw(st.integers(0, len(text))))
    lines, (column, row) = field.lines(columns, active=False)

    assert "".join(map(text_of, lines)) == "".join(shown(part) for part in text.split("\n"))
    assert max(map(cells, lines)) < columns
    assert (column < columns, row < len(lines)) == (True, True)


@given(st.lists(st.sampled_from(["a", "日", " ", "\n"]), max_size=40).map("".join), st.integers(3, 20))
def test_up_undoes_down_on_the_way_to_the_last_row(text: str, columns: int) -> None:
    field, rows = Field(text, 0), [0]
    while below := field.press("down", columns):
        field = below
        rows.append(field.lines(columns, active=False)[1][1])

    assert rows == list(range(len(field.lines(columns, active=False)[0])))


def styles(spans: Line) -> list[str]:
    return [span.style for span in spans]


@given(st.text(), st.data())
def test_an_active_field_shows_one_cursor(text: str, data: st.DataObject) -> None:
    clean = Field().type(text).text
    field = Field(clean, data.draw(st.integers(0, len(clean))))
    lines, (_, row) = field.lines(COLUMNS, active=True)

    assert [number for number, spans in enumerate(lines) if "cursor" in styles(spans)] == [row]


@pytest.mark.parametrize("character", ["\u3000", "\u200c", "\u200d", "\u00a0"], ids=ascii)
def test_blanks_and_joiners_of_other_scripts_are_typed(character: str) -> None:
    assert Field().press(character, 20) == Field(character, 1, (("", 0),))


@given(st.lists(st.sampled_from(["a", " ", FAMILY, "\n"]), max_size=30).map("".join), st.integers(10, 30))
def test_rows_with_families_fit(text: str, columns: int) -> None:
    assert max(cells(spans) for spans in Field.of(text).lines(columns, active=False)[0]) < columns


def test_up_and_down_stop_beside_a_family_not_inside() -> None:
    assert Field(f"{FAMILY}\nab", 8).press("up", 20) == Field(f"{FAMILY}\nab", 0)


def test_up_from_the_end_of_a_row_goes_to_the_row_above_also_where_it_is_as_long() -> None:
    field = Field.of("aaaa bbbb ")

    assert field.lines(6, active=False)[1] == (5, 1)
    assert field.press("up", 6) == Field(field.text, 4)


@given(st.text(alphabet="ab \n日", max_size=60), st.integers(3, 20), st.data())
def test_up_and_down_go_to_the_next_row_from_everywhere(text: str, columns: int, data: st.DataObject) -> None:
    field = Field(text, data.draw(st.integers(0, len(text))))
    row = field.lines(columns, active=False)[1][1]
    for key, by in (("up", -1), ("down", 1)):
        if moved := field.press(key, columns):
            assert moved.lines(columns, active=False)[1][1] == row + by


@given(
    st.text(st.sampled_from(["a", " ", "\u200b", "\u200c", "\u200d", "\u0301", "\ufe00"]), max_size=40),
    st.integers(10, 30),
)
def test_the_cursor_stays_in_the_columns_whatever_is_pasted(text: str, columns: int) -> None:
    (column, _) = Field().type(text).lines(columns, active=True)[1]

    assert column < columns
