"""The document of an HTML preview: it looks as it was meant to, and what is left of it can do nothing by itself."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.test_text import HOSTILE, unlawful
from tests.hostile import PAYLOADS
from tests.hostile_html import html_payloads
from tests.surfaces.terminal.test_preview import HOSTILE_TAGS
from tests.surfaces.web.reading import Reading

from askdesk.surfaces.web.frame import FRAME_POLICY, frame_document
from askdesk.surfaces.web.plain import plain_html

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="


def body(preview: str) -> str:
    """What a preview became."""
    document = frame_document(preview).decode()
    return document.partition("<body>\n")[2].removesuffix("\n</body>\n</html>\n")


def test_the_policy_forbids_everything_but_inline_styles_and_pictures_in_data() -> None:
    assert FRAME_POLICY == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )


def test_the_document_is_whole_and_has_a_base_style() -> None:
    document = frame_document("<p>é").decode("utf-8")
    head, _, rest = document.partition("<body>")
    assert head.startswith('<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n')
    assert "color-scheme: light" in head
    assert rest == "\n<p>é</p>\n</body>\n</html>\n"


def test_a_mock_up_keeps_its_looks() -> None:
    preview = (
        '<div style="padding:12px; border:1px solid #ddd"><h2 align="center">Users</h2><table border="1"><tbody><tr>'
        '<td colspan="2" bgcolor="#eee">1,284</td></tr></tbody></table><ol start="3"><li>x</li></ol>'
        '<details open=""><summary>More</summary>words</details><font color="red">old</font></div>'
    )
    assert body(preview) == preview


def test_a_drawing_in_svg_stays() -> None:
    preview = '<svg viewBox="0 0 9 9" width="9"><g fill="none" stroke="#000"><path d="M0 0L9 9"></path></g></svg>'
    assert body(preview) == preview


def test_styles_lose_what_fetches() -> None:
    assert body('<p style="color:red;background:url(http://x)">x</p>') == '<p style="color:red">x</p>'
    assert body('<p style="background:\\75rl(http://x)">x</p>') == "<p>x</p>"
    assert body('<svg><rect fill="url(http://x#y)" stroke="red"></rect></svg>') == (
        '<svg><rect stroke="red"></rect></svg>'
    )


def test_only_pictures_written_out_in_the_document_are_pictures() -> None:
    assert body(f'<img src="{PIXEL}" alt="a">') == f'<img src="{PIXEL}" alt="a">'
    for src in (
        "http://x/i.png",
        "//x",
        "i.png",
        "data:image/svg+xml;base64,AAAA",
        "data:text/html,x",
        f"{PIXEL}?",
        "x:",
    ):
        assert body(f'<img src="{src}" srcset="{src}" alt="a">') == '<img alt="a">'


def test_links_lead_nowhere() -> None:
    assert body('<a href="https://x.example" target="_top" ping="y" title="t">words</a>') == '<a title="t">words</a>'


def test_controls_are_seen_and_cannot_be_used() -> None:
    preview = """<form action="x"><input type="password" name="p" value="v" autofocus><input type="file"><select>
        <option selected>a</select><textarea>t</textarea><button formaction="x" type="submit">Allow</button></form>"""
    assert re.sub(r"\s+", " ", body(preview)) == (
        '<input type="password" value="v" disabled=""><input disabled=""><select disabled=""> '
        '<option selected="">a</option></select><textarea disabled="">t</textarea>'
        '<button disabled="">Allow</button>'
    )


def test_scripts_and_sheets_are_gone_with_what_is_in_them() -> None:
    for tag in ("script", "style", "template", "title", "iframe", "object", "noscript"):
        assert body(f"a<{tag}>secret</{tag}>b") == "ab"


def test_what_hides_or_reorders_is_seen() -> None:
    assert body('<p title="&#x202e;">a&#x202e;b \u200b &#27;</p>') == (
        '<p title="\\u{202e}">a\\u{202e}b \\u{200b} \\x1b</p>'
    )


@pytest.mark.parametrize("preview", ["", " \n", "\u200b"], ids=ascii)
def test_an_empty_preview_says_that_there_is_none(preview: str) -> None:
    assert body(preview) == plain_html(preview)


@pytest.mark.parametrize(
    "preview",
    ["<script>only</script>", "<!-- -->", "<b>\ud800</b>", "<div>" * 30_000, "x" * 100_001],
    ids=["nothing left", "a comment", "a lone surrogate", "too deep", "too long"],
)
def test_what_cannot_be_cleaned_is_plain_text(preview: str) -> None:
    assert body(preview) == plain_html(preview)


FETCHES = {"href", "srcset", "poster", "ping", "action", "formaction", "data", "background", "xlink:href", "srcdoc"}
NAMES = {"id", "name", "class", "target", "autofocus", "tabindex", "accesskey", "contenteditable", "popover", "form"}


def check(preview: str) -> None:
    """Whatever the preview, nothing that runs, fetches, leads away or is a name is left of it."""
    read = Reading(body(preview))
    assert (
        read.tags & {"script", "style", "link", "meta", "base", "iframe", "object", "embed", "form", "video"} == set()
    )
    assert read.attributes & FETCHES == set()
    assert read.attributes & (NAMES - {"class"}) == set()
    assert read.classes <= {"lines", "s-escape", "s-dim"}
    assert [name for name in read.attributes if name.startswith("on")] == []
    for _, attributes in read.elements:
        assert attributes.get("src", PIXEL).startswith("data:image/")
        assert "\\" not in attributes.get("style", "")
        assert "url(" not in attributes.get("style", "").lower()
    assert unlawful(read.text) == []


@settings(max_examples=400)
@given(st.one_of(HOSTILE, HOSTILE_TAGS))
def test_nothing_that_acts_is_left_of_any_text(preview: str) -> None:
    check(preview)


def test_nothing_that_acts_is_left_of_a_hostile_preview() -> None:
    for preview in (*html_payloads("http://canary.example").values(), *PAYLOADS):
        check(preview)


HEAVY = {
    "open elements": "<div>" * 6_000,
    "open elements, many ends": "<span>" * 4_000 + "</p>" * 18_000,
    "tables": "<table><tr><td>" * 1_600,
    "reopened": "<p>" + "".join(f"<font color={n}>" for n in range(500)) + "</p>" + "<p>" * 4_000,
    "reopened, just few enough": "<p>" + "".join(f"<b title={n}>" for n in range(200)) + "</p>" + "<p>x</p>" * 1_000,
    "all kinds reopened": "<p>" + "<b><i><u><s><em><code><small><big><tt><font>" * 3 + "</p>" + "<p>" * 4_900,
    "attributes": "<div " + " ".join(f"a{n}=1" for n in range(12_000)) + ">",
    "styles": "<p style=a:b>" * 4_999,
    "a style": f'<p style="{"a:b;" * 24_000}">',
    "comments": "<!--" * 25_000,
    "brackets": "<" * 100_000,
    "entities": "&#27;a" * 16_000,
    "escapes": "\x1ba" * 50_000,
    "megabytes": "<b>x</b>" * 600_000,
}


@pytest.mark.parametrize("preview", HEAVY.values(), ids=HEAVY)
def test_no_preview_is_slow_or_grows_out_of_proportion(preview: str) -> None:
    before = time.thread_time()
    document = frame_document(preview)
    assert time.thread_time() - before < 2  # a tenth of it, where nothing else runs
    assert len(document) < 10_000_000
