"""Inline styles: what makes a mock-up look right stays, and nothing that could name an address."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.surfaces.web.inline_style import safe_style


@pytest.mark.parametrize(
    "style",
    [
        "padding:12px; border:1px solid #ddd; border-radius:8px",
        "font:600 28px/1.2 'Segoe UI', \"A b\", sans-serif",
        "color:rgba(0, 0, 0, .5) !important",
        "background:linear-gradient(90deg, #fff 0%, hsl(120 50% 50% / 0.5))",
        "width:calc((100% - 2 * 12px) / 3); --gap:4px; margin:var(--gap)",
        "grid-template-columns:[start] repeat(2, minmax(0, 1fr)) [end]",
        "transform:translateX(-50%) rotate(.5turn)",
        "content:'https://example.org; not {fetched}'",
        "display:flex",
    ],
)
def test_what_fetches_nothing_stays(style: str) -> None:
    assert safe_style(style) == style
    assert safe_style(f" {style} ;") == style


@pytest.mark.parametrize(
    "value",
    [
        "url(x)",
        "URL( 'x' )",
        'url("x")',
        "#fff url(data:image/png;base64,AAAA) no-repeat",
        "image-set('x' 1x)",
        "-webkit-image-set(url(x) 1x)",
        "cross-fade(url(x), red)",
        "image('x')",
        "src('x')",
        "element(#x)",
        "paint(x)",
        "attr(href)",
        "env(x)",
        "expression(alert(1))",
        "linear-gradient(red, url(x))",
        "url(a b(c)",
        "1url(x)",
        ".url(x)",
        "--url(x)",
        "é",
    ],
)
def test_a_declaration_that_may_fetch_is_left_out_and_the_others_stay(value: str) -> None:
    assert safe_style(f"color:red;background:{value};margin:0") == "color:red; margin:0"


@pytest.mark.parametrize(
    "style",
    [
        "background:\\75rl(x)",
        "background:u\\72 l(x)",
        "color:red}body{color:blue",
        "&{color:red}",
        "@import 'x'",
        "content:'\nx:'",
        "content:'x",
        "color:red/* never closed",
        "background:url('x",
        'background:url(x"y)',
        "color:red<!--",
        "color:\x00red",
        "filter:progid:x(a='b')",
    ],
)
def test_a_style_that_is_not_plainly_tokens_is_left_out_whole(style: str) -> None:
    assert safe_style(f"margin:0;{style};padding:0") == ""


def test_comments_and_strings_hide_nothing_from_each_other() -> None:
    assert safe_style("a:/*'*/b;background:url(x);c:/*'*/d") == "a: b; c: d"
    assert safe_style("a:'/*';background:url(x);c:'*/'") == "a:'/*'; c:'*/'"
    assert safe_style("a:#url(/*);b:'*/url(x)/*'") == "b:'*/url(x)/*'"
    assert safe_style("background:url/**/(x)") == "background:url (x)"
    assert safe_style("") == safe_style(" ;; ") == ""


PIECES = st.sampled_from(
    [
        *("url(", "URL(", "u", "rl(", "image-set(", "src(", "calc(", "rgb(", "(", ")", "'", '"', "/*", "*/", "/", "*"),
        *(
            ";",
            ":",
            "\\",
            "{",
            "}",
            "@import ",
            "a",
            "é",
            " ",
            "\n",
            "\u00a0",
            "\u202e",
            "\x00",
            "#",
            ".",
            "-",
            "x.gif",
        ),
    ]
)
OUTSIDE = re.compile(r"'[^']*'|\"[^\"]*\"")


@settings(max_examples=1000)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_nothing_that_fetches_comes_out_and_what_comes_out_stays(style: str) -> None:
    safe = safe_style(style)
    assert not re.search(r"\\|[{}@]|/\*|(?:url|src|image-set)\(", OUTSIDE.sub("''", safe), re.IGNORECASE)
    assert "\\" not in safe
    assert safe_style(safe) == safe


@pytest.mark.parametrize(
    "style",
    [
        piece * (100_000 // len(piece))
        for piece in ("/*", "/**/", "'", "''", "url(", "url(' ", "(", "a:b;", "rgb(", ";")
    ],
    ids=lambda style: ascii(style[:6]),
)
def test_no_style_is_slow(style: str) -> None:
    before = time.thread_time()
    safe_style(style)
    assert time.thread_time() - before < 2  # a tenth of it, where nothing else runs
