"""Markdown in the page: readable, drawings untouched, nothing lost, and no agent's character is more than text."""

import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.test_text import HOSTILE, unlawful
from tests.hostile import PAYLOADS
from tests.hostile_html import html_payloads, markdown_payloads
from tests.surfaces.terminal.test_preview import ART, HOSTILE_MARKS, SOURCES, shown_as, source
from tests.surfaces.web.reading import Reading

from askdesk.core.text import shown
from askdesk.surfaces.texts import speaking
from askdesk.surfaces.web.markdown import markdown_html
from askdesk.surfaces.web.markup import CLASSES
from askdesk.surfaces.web.plain import plain_html

TAGS = {
    *(
        "p",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "hr",
        "br",
        "div",
        "span",
        "bdi",
        "strong",
        "em",
        "s",
    ),
    *("code", "table", "thead", "tbody", "tr", "th", "td"),
}


def html(text: str) -> str:
    """The HTML of markdown that stands indented in a test, each element on a line of its own as it is there."""
    return str(markdown_html(source(text)))


def test_words_have_their_emphasis_and_their_line_breaks() -> None:
    text = """
        # Plan **A**
        Soft breaks
        are kept.

        Text with **strong**, *soft*, `a<b` and ~~old~~.
    """
    assert html(text) == (
        '<h4 dir="auto">Plan <strong>A</strong></h4>\n'
        '<p dir="auto">Soft breaks<br>\nare kept.</p>\n'
        '<p dir="auto">Text with <strong>strong</strong>, <em>soft</em>, <code>a&lt;b</code> and <s>old</s>.</p>'
    )


def test_headings_stand_below_those_of_the_page() -> None:
    read = Reading(markdown_html("# 1\n\n## 2\n\n### 3\n\n#### 4\n\n###### 6\n\nSetext\n==="))
    assert [tag for tag, _ in read.elements] == ["h4", "h5", "h6", "h6", "h6", "h4"]


def test_lists_and_quotes_are_nested() -> None:
    text = """
        3. three
           - nested
        4. four

        > quoted
    """
    assert html(text).replace("\n", "") == (
        '<ol start="3" dir="auto"><li dir="auto">three<ul dir="auto"><li dir="auto">nested</li></ul></li>'
        '<li dir="auto">four</li></ol><blockquote dir="auto"><p dir="auto">quoted</p></blockquote>'
    )


def test_a_table_has_its_columns_aligned() -> None:
    assert html("""
        | Name | Price |
        |------|------:|
        | *Tea* | 2 |
    """) == (
        '<div class="table"><table>'
        '<thead><tr><th dir="auto">Name</th><th dir="auto" align="right">Price</th></tr></thead>'
        '<tbody><tr><td dir="auto"><em>Tea</em></td><td dir="auto" align="right">2</td></tr></tbody></table></div>'
    )


def test_code_has_colours_and_says_what_it_is_called() -> None:
    assert html("""
        ```python app.py
        if x:
            y = "<b>"
        ```
    """) == (
        '<div class="info"><bdi>python app.py</bdi></div>\n'
        '<pre class="lines code"><bdi dir="ltr"><span class="s-keyword">if</span> x:</bdi>\n'
        '<bdi dir="ltr">    y = <span class="s-string">"&lt;b&gt;"</span></bdi></pre>'
    )


def test_only_so_much_code_has_colours() -> None:
    block = "```python\n" + "return 1\n" * 300 + "```\n"
    coloured = markdown_html(block * 4).count('class="s-keyword"')
    assert coloured == 2 * 300


def test_links_are_words_with_where_they_lead() -> None:
    text = "[a *b*](https://a.example/x 'T') <https://b.example> [c](javascript:alert(1)) [d](#here)"
    assert html(text) == (
        '<p dir="auto"><span class="s-link">a <em>b</em></span>'
        '<bdi><span class="s-dim"> (https://a.example/x)</span></bdi> '
        '<span class="s-link">https://b.example</span> [c](javascript:alert(1)) <span class="s-link">d</span></p>'
    )


def test_an_image_is_a_place_with_its_words_and_its_host() -> None:
    text = "![a cat](https://a.example/cat.png) ![](b.png)\n![r]\n\n[r]: http://c.example/r.gif"
    assert html(text) == (
        '<p dir="auto"><bdi><span class="s-dim">[image: a cat, from a.example]</span></bdi> '
        '<bdi><span class="s-dim">[image: b.png]</span></bdi><br>\n'
        '<bdi><span class="s-dim">[image: r, from c.example]</span></bdi></p>\n'
        '<div class="source"><bdi>[r]: http://c.example/r.gif</bdi></div>'
    )
    with speaking("es"):
        assert "[imagen: gato, de a.example]" in html("![gato](https://a.example/g.png)")


def test_raw_html_is_text() -> None:
    assert html("<script>alert(1)</script>\n\na <b>c</b>") == (
        '<p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;</p>\n<p dir="auto">a &lt;b&gt;c&lt;/b&gt;</p>'
    )


def test_what_hides_or_reorders_is_seen_also_where_it_was_written_as_an_entity() -> None:
    assert html("a\x1b[31m &#x202e; `\u200b`") == (
        '<p dir="auto">a<span class="s-escape">\\x1b</span>[31m <span class="s-escape">\\u{202e}</span> '
        '<code><span class="s-escape">\\u{200b}</span></code></p>'
    )


@pytest.mark.parametrize("art", [art for name, art in ART.items() if name != "a mountain"], ids=ascii)
def test_ascii_art_stays_as_it_was_drawn(art: str) -> None:
    read = Reading(html(art))
    assert read.text == "\n".join(shown_as(art))
    assert [element for element in read.elements if element[0] != "bdi"] == [("pre", {"class": "lines art"})]


def test_a_drawing_ends_where_prose_begins() -> None:
    assert html(ART["a mountain"]) == (
        '<pre class="lines art"><bdi dir="ltr">   /\\</bdi>\n<bdi dir="ltr">  /  \\</bdi>\n'
        '<bdi dir="ltr"> /____\\</bdi></pre>\n<p dir="auto">a lone line</p>'
    )


def test_art_in_a_quote_or_an_item_keeps_its_shape() -> None:
    quoted = Reading(markdown_html("> before\n>\n>   /\\\n>  /  \\"))
    assert [tag for tag, _ in quoted.elements] == ["blockquote", "p", "pre", "bdi", "bdi"]
    assert quoted.text.split("\n")[-3:-1] == ["  /\\", " /  \\"]
    item = "- a\n\n  +--+\n  |  |\n  +--+"  # as a whole, for its bullet may be part of the drawing
    assert Reading(markdown_html(item)).text == item


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b"], ids=ascii)
def test_an_empty_preview_says_that_there_is_none(text: str) -> None:
    assert markdown_html(text) == plain_html(text)
    assert markdown_html(text) == '<p><bdi><span class="s-dim">no preview for this option</span></bdi></p>'


def test_a_preview_too_long_for_the_parser_is_plain_text() -> None:
    text = "*a* <b>\n" * 3_000
    assert markdown_html(text) == plain_html(text)
    assert Reading(plain_html(text)).text == text.rstrip("\n")


def test_a_preview_too_long_to_read_says_how_much_there_is_more() -> None:
    found = plain_html("x" * 100_007)
    assert found.endswith('</pre><p><bdi><span class="s-warning">7 more characters, not shown here</span></bdi></p>')


def test_a_lone_surrogate_breaks_nothing() -> None:
    assert Reading(markdown_html("*a* \ud800")).text == "a \\u{d800}"


def check(text: str) -> None:
    """Whatever the text, all elements are ours, and nothing that was not shown() is in them."""
    read = Reading(markdown_html(text))
    assert read.tags <= TAGS
    assert read.attributes <= {"class", "dir", "align", "start"}
    assert read.classes <= {*CLASSES.values(), "lines", "code", "art", "table", "info", "source"}
    assert unlawful(read.text) == []


@settings(max_examples=400)
@given(st.one_of(HOSTILE, HOSTILE_MARKS))
@example(">" * 30 + " deep")
@example("1. " * 8 + "deep")
def test_no_text_becomes_an_element_that_is_not_ours(text: str) -> None:
    check(text)


def test_no_hostile_text_becomes_an_element_that_is_not_ours() -> None:
    url = "http://canary.example"
    for text in (*PAYLOADS, *html_payloads(url).values(), *markdown_payloads(url).values()):
        check(text)


@settings(max_examples=400)
@given(SOURCES)
@example([(">" * 30, "")])
@example([("- " * 30, "")])
def test_no_line_is_lost(lines: list[tuple[str, str]]) -> None:
    words = [f"word{number}end" for number in range(len(lines))]
    text = "\n".join(f"{first}{second}{word}" for (first, second), word in zip(lines, words, strict=True))
    seen = Reading(markdown_html(text)).text
    assert [word for word in words if word not in seen] == []


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab <>&\"'é日\u202e\x1b"), min_size=1, max_size=40))
def test_code_shows_every_character(text: str) -> None:
    read = Reading(markdown_html(f"````\n{text}x\n````"))
    assert read.text == shown(f"{text}x", lines=True)


PATTERNS = (
    *(
        ">",
        "> ",
        "[",
        "![",
        "[]",
        "[](",
        "[a](<",
        "*",
        "*a ",
        "**a*",
        "*_",
        "a*_",
        "`",
        "- ",
        "* a\n",
        "* a\n\n",
        "1. a\n",
    ),
    *("<", "<a ", "<a\n", "<!-- ", "&", "&#27;", "\\", "~~a ", "[a]: b\n", "[a]: ", "# a\n", "a\n=\n", "---\n", "a\n"),
    *(
        "```\n",
        "```py\na\n```\n",
        "```java\n_ _ _\n```\n",
        "+--+\n",
        "a    b\n\n",
        "    a\n\n",
        "|",
        "|\n",
        "|a|b|\n|-|-|\n",
    ),
    *(
        "<http://a> ",
        "![a](b) ",
        "[a](b) ",
        "*a* ",
        "`a` ",
        "a  \n",
        "\x1ba",
        "é\n",
        "\u0301",
        "👍\u200d",
        "\t",
        " ",
        "\n",
    ),
)
BLOCKS = (
    *(">" * 10_000 + "a", "*" * 10_000 + "a" + "*" * 9_000, "[" * 6_000 + "a" + "](" * 6_000),
    *("".join("  " * depth + "- a\n" for depth in range(130)), "\n".join(">" * depth + "a" for depth in range(190))),
    *("|a" * 3_000 + "|\n" + "|-" * 3_000 + "|\n" + "|a\n" * 2_000, "|a|b|\n|-|-|\n" + "|a|b|\n" * 160_000),
    *("```java\n" + "_ " * 9_000, "```c\n" + " " * 19_000, "```python\n" + "(1)+\n" * 3_900),
)


@pytest.mark.parametrize(
    "text",
    [*(pattern * (most // len(pattern)) for pattern in PATTERNS for most in (20_000, 100_000)), *BLOCKS],
    ids=lambda text: f"{text[:12]!a} {len(text)}",
)
def test_no_preview_is_slow(text: str) -> None:
    before = time.thread_time()
    markdown_html(text)
    assert time.thread_time() - before < 2  # a tenth of it, where nothing else runs


def test_the_parser_is_loaded_with_the_first_markdown_only() -> None:
    code = (
        "import sys, askdesk.surfaces.web.markdown; print({'markdown_it', 'pygments', 'starlette'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
