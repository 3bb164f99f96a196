"""What may reach a screen: nothing that moves the cursor, reorders, hides or pads; living scripts stay readable."""

import json
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core.text import Shown, cut, is_blank, shown, shown_json, shown_parts, width, wrapped

CONTROLS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))]
BIDI = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Default-ignorable characters and fillers: nothing of them can be seen on a screen.
IGNORABLE = [
    *"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u2800\u3164\ufeff\uffa0",
    *map(chr, range(0x2060, 0x2070)),
    *map(chr, range(0xFE00, 0xFE0E)),
    *map(chr, range(0xFFF0, 0xFFFC)),
    *map(chr, range(0x1BCA0, 0x1BCA4)),
    *map(chr, range(0x1D173, 0x1D17B)),
]
TAGS = [*map(chr, range(0xE0000, 0xE0080))]
SUPPLEMENT = [*map(chr, range(0xE0100, 0xE01F0))]
LAWFUL_JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # may stand inside an emoji or a joining script, nowhere else
HIDDEN = {*CONTROLS, *BIDI, *IGNORABLE, *TAGS, *SUPPLEMENT}

SEQUENCES = {
    "colour": "\x1b[31mred",
    "clear": "\x1b[2J\x1b[H",
    "cursor report": "\x1b[6n",
    "title report": "\x1b[21t",
    "reset": "\x1bc",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;https://example.org\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "notification": "\x1b]777;notify;a;b\x1b\\",
    "image": "\x1b]1337;File=inline=1:AAAA\x07",
    "unterminated": "\x1b]0;never ends",
    "device control": "\x1bPq#0;2;0;0;0\x1b\\",
    "application": "\x1b_Gf=24\x1b\\",
    "privacy": "\x1b^secret\x1b\\",
    "start of string": "\x1bXtext\x1b\\",
    "eight bit": "\x9b31m\x9d0;t\x9c\x90q\x9c",
    "backspace": "safe\b\b\b\bevil",
    "overwrite": "allow\rdeny ",
}


def unlawful(text: str) -> list[str]:
    """Every character that hides, moves or reorders, by the Unicode database and by our own list."""
    categories = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return [
        f"U+{ord(character):04X}"
        for character in text
        if (unicodedata.category(character) in categories or character in HIDDEN)
        and character not in LAWFUL_JOINERS
        and character != "\n"
    ]


@pytest.mark.parametrize("character", CONTROLS, ids=lambda c: f"{ord(c):02x}")
def test_no_control_character_comes_out(character: str) -> None:
    text = f"a{character}b"
    assert unlawful(shown(text)) == []
    assert unlawful(shown(text, lines=True)) == []
    assert unlawful(shown(text, exact=True)) == []
    assert "\n" not in shown(text) + shown(text, exact=True)
    if character not in "\t\n\r":
        assert shown(text) == shown(text, lines=True) == shown(text, exact=True) == f"a\\x{ord(character):02x}b"


@pytest.mark.parametrize("character", BIDI, ids=lambda c: f"{ord(c):04x}")
def test_every_bidi_control_is_written_out(character: str) -> None:
    assert shown(f"a{character}b") == shown(f"a{character}b", exact=True) == f"a\\u{{{ord(character):x}}}b"


@pytest.mark.parametrize("characters", [IGNORABLE, TAGS, SUPPLEMENT], ids=["ignorable", "tags", "variation supplement"])
def test_every_invisible_character_is_written_out(characters: list[str]) -> None:
    def escape(character: str) -> str:
        return f"\\x{ord(character):02x}" if character < "\u0100" else f"\\u{{{ord(character):x}}}"

    expected = {f"U+{ord(c):04X}": f"a{escape(c)}b" for c in characters}
    assert {f"U+{ord(c):04X}": str(shown(f"a{c}b")) for c in characters} == expected
    assert {f"U+{ord(c):04X}": str(shown(f"a{c}b", exact=True)) for c in characters} == expected


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
def test_no_terminal_sequence_comes_out_and_its_text_stays_visible(text: str) -> None:
    for found in (shown(text), shown(text, lines=True), shown(text, exact=True)):
        assert unlawful(found) == []
        assert [c for c in found if c.isalnum() and c in text][:3] != []


def test_a_sequence_is_written_out_whole() -> None:
    assert shown("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m"
    assert shown("\x9b31m") == "\\x9b31m"
    assert shown("a\u202eb") == "a\\u{202e}b"
    assert shown("safe\b\bx") == "safe\\x08\\x08x"


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with (punctuation) and 100 %",
        "Größe, façade, Ελληνικά, Кириллица",
        "مرحبا بالعالم",
        "مُحَمَّد",
        "می‌خواهم",  # Persian needs its zero-width non-joiner
        "שלום עולם",
        "שָׁלוֹם",
        "日本語 と 漢字、中文，한국어",
        "全角　空白",
        "नमस्ते क्षत्रिय",
        "क्‍ष",  # Devanagari with a joiner
        "ไทย น้ำ",
        "Việt Nam",
        "e\u0301 decomposed",
        "👨‍👩‍👧‍👦 family",
        "👩🏽‍💻 👩‍⚕️ 🏳️‍🌈 👁️‍🗨️ ❤️‍🔥 🐻‍❄️",
        "❤️ ☺️ ⚠️ ✔️ ☎︎",
        "1️⃣ #️⃣ *️⃣",
        "🇩🇪 🇯🇵",
    ],
)
def test_living_scripts_and_emoji_stay_as_they_are(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize("text", ["ℹ️", "‼️", "⁉️", "↔️", "⤴️", "〰️", "◾️", "🙂‍↔️"], ids=ascii)
def test_symbols_with_an_emoji_selector_stay_as_they_are(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u200db", "a\\u{200d}b"),
        ("a\u200cb", "a\\u{200c}b"),
        ("a\ufe0fb", "a\\u{fe0f}b"),
        ("\ufe0f", "\\u{fe0f}"),
        ("👍\u200d", "👍\\u{200d}"),
        ("👍\u200dx", "👍\\u{200d}x"),
        ("\u200d👍", "\\u{200d}👍"),
        ("👍\u200d\u200d👍", "👍\\u{200d}\\u{200d}👍"),
        ("1\u200d2", "1\\u{200d}2"),
        ("^\u200d^", "^\\u{200d}^"),
        ("م\u200dx", "م\\u{200d}x"),
    ],
    ids=ascii,
)
def test_a_joiner_without_lawful_work_is_written_out(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_marks_are_stacked_three_high_and_the_rest_is_written_out() -> None:
    assert shown("a" + "\u0301" * 3) == "a" + "\u0301" * 3
    assert shown("a" + "\u0301" * 200 + "b") == "a" + "\u0301" * 3 + "\\u{301}" * 197 + "b"
    assert shown("\u0301a") == "\\u{301}a"


def test_a_joiner_does_not_let_marks_be_stacked_higher() -> None:
    found = shown("ب" + "\u064b\u064b\u064b\u200d" * 50 + "ب")
    assert sum(unicodedata.category(character) == "Mn" for character in found) == 3


def test_line_breaks_become_blanks_unless_lines_are_kept() -> None:
    text = "one\r\n  two\n\n\nthree\n"
    assert shown(text) == "one two three"
    assert shown(text, lines=True) == "one\n  two\n\n\nthree\n"
    assert shown("one\u2028two\u2029three") == "one\\u{2028}two\\u{2029}three"
    assert shown("one\rtwo", lines=True) == "one\\x0dtwo"


def test_unusual_blanks_are_plain_in_prose_and_visible_in_exact_text() -> None:
    text = "a\u00a0b\tc\u2003d\u3000e f"
    assert shown(text) == "a b    c d\u3000e f"
    assert shown(text, exact=True) == "a\\xa0b\\tc\\u{2003}d\\u{3000}e f"


def test_exact_text_shows_breaks_joiners_and_marks() -> None:
    assert shown("a\r\nb", exact=True) == "a\\x0d\\nb"
    assert shown("a\r\nb", exact=True, lines=True) == "a\\x0d\nb"
    assert shown("👩\u200d⚕\ufe0f e\u0301", exact=True) == "👩\\u{200d}⚕\\u{fe0f} e\\u{301}"
    assert shown("  padded  ", exact=True) == "  padded  "


GROUPS = (CONTROLS, BIDI, IGNORABLE, TAGS, SUPPLEMENT, "a1 👍م\u0301\n\t", LAWFUL_JOINERS)
HOSTILE = st.lists(st.one_of(st.characters(codec="utf-8"), *map(st.sampled_from, GROUPS)), max_size=30).map("".join)


@settings(max_examples=300)
@given(HOSTILE, st.booleans(), st.booleans())
def test_nothing_unlawful_comes_out_of_any_text(text: str, lines: bool, exact: bool) -> None:
    found = shown(text, lines=lines, exact=exact)
    assert unlawful(found) == []
    assert ("\n" in found) <= lines
    assert not (exact and set(found) & set(LAWFUL_JOINERS))


@settings(max_examples=300)
@given(HOSTILE)
def test_showing_twice_is_showing_once(text: str) -> None:
    once = shown(text, lines=True)
    assert shown(once, lines=True) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("plain \\x1b", [("plain \\x1b", False)]),
        ("é\x1b\x1b[31m \\x1b", [("é", False), ("\\x1b\\x1b", True), ("[31m \\x1b", False)]),
        ("a\u202eb", [("a", False), ("\\u{202e}", True), ("b", False)]),
        ("a\tb\u00a0c", [("a    b c", False)]),
    ],
    ids=ascii,
)
def test_what_is_written_for_a_character_is_told_from_text_that_looks_like_it(
    text: str, expected: list[tuple[str, bool]]
) -> None:
    assert list(shown_parts(text)) == expected


def test_in_exact_text_blanks_and_breaks_are_told_from_text_too() -> None:
    expected = [("a", False), ("\\t", True), ("\\t", False), ("\\xa0\\n", True), ("\\n", False)]
    assert list(shown_parts("a\t\\t\u00a0\n\\n", exact=True)) == expected
    assert list(shown_parts("a\r\n\\n", exact=True, lines=True)) == [("a", False), ("\\x0d", True), ("\n\\n", False)]


@settings(max_examples=300)
@given(HOSTILE, st.booleans(), st.booleans())
def test_the_parts_of_a_text_are_the_text_that_is_shown(text: str, lines: bool, exact: bool) -> None:
    parts = list(shown_parts(text, lines=lines, exact=exact))
    assert "".join(part for part, _ in parts) == shown(text, lines=lines, exact=exact)
    assert [escaped for _, escaped in parts[1:]] == [not escaped for _, escaped in parts[:-1]]


@pytest.mark.parametrize(
    "text",
    ["é" + " " * 40_000 + "x", "é" + " \n" * 20_000, "👍\u200d" * 250_000, "é" * 500_000, "a\u0301" * 250_000],
    ids=["blanks", "blank lines", "joiners", "letters", "marks"],
)
def test_a_long_text_is_shown_in_time_that_grows_with_its_length_only(text: str) -> None:
    before = time.thread_time()
    shown(text)
    assert time.thread_time() - before < 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "plain"}, '{"a": "plain"}'),
        ("é 日本 👍 مرحبا", '"é 日本 👍 مرحبا"'),
        ("\x1b[2J\x7f\x9b", '"\\u001b[2J\\u007f\\u009b"'),
        ("a\u202eb\u200bc\u00a0d", '"a\\u202eb\\u200bc\\u00a0d"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("\\x1b", '"\\\\x1b"'),
    ],
    ids=ascii,
)
def test_json_is_shown_as_json_of_the_same_value(value: object, expected: str) -> None:
    assert shown_json(json.dumps(value, ensure_ascii=False)) == expected


@settings(max_examples=200)
@given(HOSTILE)
def test_any_value_is_shown_as_json_of_that_value_without_anything_unlawful(text: str) -> None:
    found = shown_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(found) == text
    assert unlawful(found) == []
    assert not set(found) & set(LAWFUL_JOINERS)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\t ", "\u00a0", "\u3000", "\u200b", "\u200d\u200b", "\ufeff", "\u2800", "\u3164", "\u115f \u00ad"],
    ids=ascii,
)
def test_a_text_that_nobody_can_see_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["\ufe0f", "\ufe00", "\u034f", "\u180b", "\U000e0101"], ids=ascii)
def test_invisible_marks_alone_are_blank_too(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " a ", "é", "日", "👍", "م", "\u200ba", "…", "。"], ids=ascii)
def test_a_text_with_anything_to_see_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 1),
        ("日本", 4),
        ("ｗ", 2),
        ("ﾊ", 1),
        ("👍", 2),
        ("مرحبا", 5),
        ("מ\u05b8", 1),
        ("🇩🇪", 2),
        ("…", 1),
    ],
    ids=ascii,
)
def test_width_counts_terminal_cells(text: str, cells: int) -> None:
    assert width(shown(text)) == cells


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 2, "…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("", 1, ""),
    ],
    ids=ascii,
)
def test_a_cut_text_ends_with_an_ellipsis(text: str, cells: int, expected: str) -> None:
    assert cut(shown(text), cells) == Shown(expected)


@settings(max_examples=150)
@given(HOSTILE, st.integers(1, 20))
def test_a_cut_text_never_takes_more_cells_and_stays_where_it_fits(text: str, cells: int) -> None:
    whole = shown(text)
    found = cut(whole, cells)
    assert width(found) <= cells
    assert (found == whole) == (width(whole) <= cells)
    assert found == whole or (found.endswith("…") and whole.startswith(found[:-1]))


def test_a_long_line_is_wrapped_with_a_margin_that_no_line_of_ours_has() -> None:
    padded = Shown("    command: ls" + " " * 70 + '  sha256:0000 Allow this call? (only "yes" allows): ')
    rows = wrapped(padded, 60)
    assert [width(row) <= 60 for row in rows] == [True] * len(rows)
    assert all(row.startswith("      | ") for row in rows[1:])
    assert rows[0] + "".join(row[8:] for row in rows[1:]) == padded


@settings(max_examples=150)
@given(HOSTILE, st.integers(20, 60))
def test_wrapping_loses_nothing_and_fits(text: str, cells: int) -> None:
    line = Shown(f"  {shown(text)}")
    first, *more = wrapped(line, cells)
    margin = len(line) - len(line.lstrip(" ")) + 4
    if cells > 2 * margin:
        assert all(width(row) <= cells for row in (first, *more))
    assert first + "".join(row[margin:] for row in more) == line
