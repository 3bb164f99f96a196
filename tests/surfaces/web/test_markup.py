"""Lines as HTML: every character of an agent is text, in a class of ours or in none, and reorders nothing around it."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from tests.core.test_text import HOSTILE, unlawful
from tests.surfaces.web.reading import Reading

from askdesk.core.text import Shown
from askdesk.surfaces.highlight import highlighted, visible
from askdesk.surfaces.spans import Line, Span, Style, line, text_of
from askdesk.surfaces.web.markup import CLASSES, html_lines, html_of, html_text, html_within

STYLES = st.sampled_from([style for style in get_args(Style) if style])
SIGNS = st.text(st.sampled_from("<>&\"'`/=! abscript-\x1b\u202e\u05d0{}\\"), max_size=60)
LINES: st.SearchStrategy[Line] = st.lists(
    st.builds(lambda text, style: visible(text, style), st.one_of(HOSTILE, SIGNS), STYLES), max_size=5
).map(lambda parts: tuple(span for part in parts for span in part))


def test_a_line_has_a_class_for_each_style_and_keeps_its_direction_to_itself() -> None:
    spans = line(Shown("a "), Span(Shown("b"), "added"), Span(Shown("\\x1b"), "escape"))
    assert html_of(spans) == ('<bdi>a <span class="s-added">b</span><span class="s-escape">\\x1b</span></bdi>')
    assert html_of(()) == ""


def test_lines_stand_below_each_other_and_read_from_the_left() -> None:
    lines = [line(Shown("if x:")), (), line(Span(Shown("    y"), "name"))]
    assert html_lines(lines) == (
        '<bdi dir="ltr">if x:</bdi>\n<bdi dir="ltr"></bdi>\n<bdi dir="ltr"><span class="s-name">    y</span></bdi>'
    )
    assert html_lines(lines[:1], "auto") == '<bdi dir="auto">if x:</bdi>'
    assert html_lines([]) == ""


def test_plain_text_is_lines_with_its_escapes_apart() -> None:
    assert html_text("a<b>\r\n\x1b\n") == (
        '<bdi dir="auto">a&lt;b&gt;</bdi>\n<bdi dir="auto"><span class="s-escape">\\x1b</span></bdi>'
    )


def test_what_was_made_is_not_escaped_again_in_a_template() -> None:
    assert Markup("<p>{}</p>").format(html_of(line(Shown("&")))) == "<p><bdi>&amp;</bdi></p>"


def test_a_style_that_does_not_exist_is_an_error_and_no_class() -> None:
    made_up: Any = '"><script>'
    with pytest.raises(KeyError):
        html_of((Span(Shown("x"), made_up),))


@given(st.lists(LINES, max_size=4))
def test_no_text_becomes_anything_but_text(lines: list[Line]) -> None:
    for html in (html_lines(lines), html_lines(lines, "auto"), Markup("\n").join(map(html_within, lines))):
        read = Reading(html)
        assert read.tags <= {"bdi", "span"}
        assert read.attributes <= {"class", "dir"}
        assert read.classes <= set(CLASSES.values())
        assert read.text == "\n".join(map(text_of, lines))
        assert unlawful(read.text) == []


@given(st.one_of(HOSTILE, SIGNS))
def test_plain_text_shows_what_lines_of_it_would_show(text: str) -> None:
    rows = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    assert html_text(text) == html_lines([visible(row, lines=True) for row in rows], "auto")


@given(SIGNS)
def test_code_in_colours_is_the_same_text(text: str) -> None:
    rows = highlighted(text, "html")
    assert Reading(html_lines(rows)).text == "\n".join(map(text_of, rows))
