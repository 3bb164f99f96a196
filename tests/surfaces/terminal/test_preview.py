"""Previews in rows: readable, drawings untouched, nothing lost, and hostile text is neither slow nor harmful."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.test_text import HOSTILE, unlawful

from askdesk.core.model import PreviewFormat
from askdesk.core.text import Shown
from askdesk.surfaces.spans import Span, text_of
from askdesk.surfaces.terminal.preview import preview_lines, preview_width
from askdesk.surfaces.terminal.view import cells
from askdesk.surfaces.texts import say, speak

FORMATS: tuple[PreviewFormat, ...] = ("none", "markdown", "html")


@pytest.fixture
def spanish() -> Iterator[None]:
    speak("es")
    yield
    speak("en")


def texts(text: str, format: PreviewFormat = "markdown", columns: int = 60, start: int = 0) -> list[str]:
    return [text_of(row) for row in preview_lines(text, format, columns, start=start)]


def styles(text: str, format: PreviewFormat = "markdown") -> list[list[tuple[str, str]]]:
    return [[(span.text, span.style) for span in row] for row in preview_lines(text, format, 60)]


def shown_as(drawn: str) -> list[str]:
    """The rows of a text that stands indented in a test."""
    rows = drawn.strip("\n").rstrip().split("\n")
    indent = min(len(row) - len(row.lstrip(" ")) for row in rows if row.strip())
    return [row[indent:] for row in rows]


def source(drawn: str) -> str:
    return "\n".join(shown_as(drawn))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["", " \n\t", "\u200b"], ids=ascii)
def test_an_empty_preview_says_that_there_is_none(text: str, format: PreviewFormat) -> None:
    assert preview_lines(text, format, 60) == ((Span(say("preview.none"), "dim"),),)
    assert preview_width(text, format) == 0


@pytest.mark.usefixtures("spanish")
def test_what_the_desk_says_follows_the_language() -> None:
    assert texts("", columns=80) == ["esta opción no tiene vista previa"]
    assert texts("![gato](https://a.example/g.png)") == ["[imagen: gato, de a.example]"]


def test_plain_text_is_shown_line_by_line_and_long_lines_wrap() -> None:
    text = "# no *markdown*\r\n  kept   blanks\n\n<b>one two three four</b>\x1b[2J\n"
    assert texts(text, "none", 20) == ["# no *markdown*", "  kept   blanks", "", "<b>one two three", "four</b>\\x1b[2J"]
    assert styles("a\x1bb\\x1b", "none") == [[("a", ""), ("\\x1b", "escape"), ("b\\x1b", "")]]


def test_markdown_is_rendered_with_its_line_breaks() -> None:
    text = """
        # Plan **A**
        Soft breaks
        are kept.

        Setext
        ------

        Text with **strong**, *soft*, `code` and ~~old~~.
    """
    assert styles(source(text)) == [
        [("Plan ", "heading"), ("A", "heading")],
        [("Soft breaks", "")],
        [("are kept.", "")],
        [],
        [("Setext", "heading")],
        [],
        [
            ("Text with ", ""),
            ("strong", "strong"),
            (", ", ""),
            ("soft", "emphasis"),
            (", ", ""),
            ("code", "code"),
            (" and ", ""),
            ("~~", "dim"),
            ("old", "dim"),
            ("~~", "dim"),
            (".", ""),
        ],
    ]


def test_lists_are_nested_numbered_and_may_have_tasks() -> None:
    text = """
        3. three
           goes on
        4. four
           * nested
             - deeper
           * [ ] to do
           * [x] done

             with a paragraph

        - a
        -
        - b
    """
    assert texts(source(text)) == [
        *("3. three", "   goes on", "4. four", "   • nested", "     • deeper", "   • [ ] to do", "   • [x] done"),
        *("     ", "     with a paragraph", ""),
        *("• a", "• ", "• b"),
    ]


def test_a_wrapped_item_goes_on_below_its_words() -> None:
    assert texts("- one two three four", columns=12) == ["• one two", "  three four"]
    assert texts("> one two three four", columns=12) == ["│ one two", "│ three four"]


def test_quotes_have_a_margin() -> None:
    assert texts("> one\n> two\n>\n> > three\nlazy\n\nafter") == [
        "│ one",
        "│ two",
        "│ ",
        "│ │ three",
        "│ │ lazy",
        "",
        "after",
    ]


def test_code_is_highlighted_verbatim_and_cropped_rather_than_wrapped() -> None:
    text = "```python title=a\nif x:\n    return   1 # " + "x" * 60 + "\n```\n\n    indented\n      more"
    rows = preview_lines(text, "markdown", 30)
    assert [text_of(row) for row in rows] == [
        "python title=a",
        "if x:",
        "    return   1 # xxxxxxxxxxxx…",
        "",
        "    indented",
        "      more",
    ]
    assert rows[1] == (Span(Shown("if"), "keyword"), Span(Shown(" x:"), "code"))
    assert preview_width(text, "markdown") == 77


def test_verbatim_lines_are_scrolled_sideways_and_others_stay() -> None:
    text = "prose stays\n\n```\n0123456789abcdef\n```\n\n> ```\n> 0123456789abcdef\n> ```"
    assert texts(text, columns=12) == ["prose stays", "", "0123456789a…", "", "│ 012345678…"]
    assert texts(text, columns=12, start=8) == ["prose stays", "", "89abcdef", "", "│ 89abcdef"]
    assert preview_width(text, "markdown") == 18


def test_a_table_is_aligned() -> None:
    text = "| Name | Price |\n|:--|--:|\n| **Coffee** | 3.00 |\n| 茶 | 12.00 |\n| short |"
    assert texts(text) == ["Name   │ Price", "───────┼──────", "Coffee │  3.00", "茶     │ 12.00", "short  │ "]
    assert styles(text)[0] == [("Name", "strong"), ("  ", ""), (" │ ", "dim"), ("Price", "strong")]


def test_the_cells_of_a_table_that_is_too_wide_are_wrapped() -> None:
    text = "|a|b|\n|-|-|\n|one|two three four five|"
    assert texts(text, columns=16) == ["a   │ b", "────┼───────────", "one │ two three", "    │ four five"]


def test_a_table_far_too_wide_is_shown_cell_by_cell() -> None:
    text = "|name|b|c|\n|-|-|-|\n|one two|three|four|\n|five||six|"
    assert texts(text, columns=14) == ["name: one two", "b: three", "c: four", "", "name: five", "c: six"]


def test_cells_that_a_table_would_drop_are_seen() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 | hidden |"
    assert texts(text) == text.split("\n")


def test_a_rule_goes_across() -> None:
    assert texts("above\n\n***\n\nbelow", columns=8) == ["above", "", "────────", "", "below"]


def test_links_show_where_they_lead_and_cannot_be_followed() -> None:
    text = (
        "[bank](https://evil.example) <https://a.example> [x](javascript:alert) <me@a.example> [https://b](https://c)"
    )
    assert styles(text) == [
        [("bank", "link"), (" (https://evil.example)", "dim"), (" ", ""), ("https://a.example", "link")],
        [
            ("[x](javascript:alert) ", ""),
            ("me@a.example", "link"),
            (" ", ""),
            ("https://b", "link"),
            (" (https://c)", "dim"),
        ],
    ]


def test_an_image_is_a_place_with_its_words_and_its_host() -> None:
    assert texts("![a *cat*](https://img.example:81/c.png)") == ["[image: a *cat*, from img.example]"]
    assert texts("![](pictures/cat.png)") == ["[image: pictures/cat.png]"]
    assert texts('<img src="https://img.example/c.png" alt="a cat">', "html") == ["[image: a cat, from img.example]"]
    assert texts('<img src="http://[bad/" alt="a cat">', "html") == ["[image: a cat]"]


def test_raw_html_in_markdown_stays_text() -> None:
    text = "<script>alert(1)</script>\n\n<!-- hidden --> a <b onclick=x>b</b>"
    assert texts(text) == text.split("\n")


def test_where_references_lead_is_shown_too() -> None:
    assert texts("See [it].\n\n[it]: https://a.example 'T'\n> [that]: /b\n- [third]: /c\n") == [
        "See it (https://a.example).",
        "",
        "[it]: https://a.example 'T'",
        "│ [that]: /b",
        "• [third]: /c",
    ]


ART = {
    "boxes": """
        +--------+     +--------+
        | *Client* | --> | _Server_ |
        +--------+     +--------+
             |
             v

            deep below
    """,
    "box drawing": """
        ┌───────────┬────────┐
        │ *Sidebar* │ Main   │
        ├───────────┼────────┤
        └───────────┴────────┘
    """,
    "blocks": """
        Usage ████████░░░ 72%
    """,
    "a tree": """
        src/
        ├── main.py
        │   └── *.txt
        └── README.md
    """,
    "a mountain": r"""
           /\
          /  \
         /____\

        a lone line
    """,
    "hashes": """
        #######
        #     #
        #######
    """,
    "stars": """
           *
          * *
         * * *
        * * * *
    """,
    "columns": """
        Title          Price
        --------------------
        Coffee         3.00
        Tea            2.00
    """,
    "a frame": """
        | Login   |
        |---------|
        | [____]  |
    """,
    "framed": """
        -----------
        |  *Hi*   |
        -----------
    """,
    "arrows": """
        >----<
        >>-->
    """,
    "an outline": """
        root
          child _one_
            leaf
    """,
    "dots": """
        . . . .
        . X O .
    """,
    "buttons": """
        ( ) One
        (o) Two     [Save]  [Cancel]
    """,
}


@pytest.mark.parametrize("art", ART.values(), ids=ART)
def test_ascii_art_is_shown_as_it_is(art: str) -> None:
    assert texts(source(art)) == shown_as(art)


@pytest.mark.parametrize("art", [art for name, art in ART.items() if name != "a mountain"], ids=ascii)
def test_art_is_cropped_where_it_is_too_wide_and_its_width_is_known(art: str) -> None:
    wide = max(map(len, shown_as(art)))
    assert preview_width(source(art), "markdown") == wide
    assert texts(source(art), columns=8) == [row if len(row) <= 8 else row[:7] + "…" for row in shown_as(art)]


def test_art_in_a_quote_or_an_item_keeps_its_shape() -> None:
    assert texts("> before\n>\n>   /\\\n>  /  \\\n\n- +--+\n  |  |\n  +--+\n\n1. a    b\n2. ccc  d") == [
        *("│ before", "│ ", "│   /\\", "│  /  \\", ""),
        *("- +--+", "  |  |", "  +--+", ""),
        *("1. a    b", "2. ccc  d"),
    ]


def test_prose_with_two_blanks_after_a_full_stop_still_wraps() -> None:
    assert texts("One sentence.  Another *one* here.", columns=20) == ["One sentence.", "Another one here."]


def test_a_long_line_of_prose_above_art_wraps() -> None:
    prose = "word " * 30 + "end"
    assert texts(f"{prose}\n+--+\n+--+", columns=50)[-2:] == ["+--+", "+--+"]
    assert " ".join(texts(f"{prose}\n+--+", columns=50)[:-1]) == prose


def test_html_is_shown_as_what_there_is_to_read() -> None:
    text = """<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
        <h1>Hello <em>you</em></h1><p>Some   text
        with <b>bold</b> &amp; <a href="https://x.example">link</a>.<p>Second &lt;p&gt;
        <!-- hidden --><script>alert("</p>")</script><template>no</template>
        <div>one</div><div>two<br>three</div><hr>end"""
    assert texts(text, "html", 40) == [
        "Hello you",
        "",
        "Some text with bold & link",
        "(https://x.example).",
        "",
        "Second <p>",
        "one",
        "two",
        "three",
        "",
        "─" * 40,
        "",
        "end",
    ]
    assert styles("<h2>a <i>b</i></h2><b>c<code>d", "html") == [
        [("a ", "heading"), ("b", "heading")],
        [],
        [("c", "strong"), ("d", "code")],
    ]


def test_lists_and_quotes_of_html_have_margins() -> None:
    text = """<ul><li>one<li>two<ul><li>nested</ul></li><li><p>par</p></ul>
        <ol start=9><li>nine<li>ten and more words</ol><blockquote><p>a</p><p>b</blockquote>
        <dl><dt>Term<dd>Words</dl>"""
    assert texts(text, "html", 16) == [
        *("• one", "• two", "  • nested", "• par", ""),
        *("9. nine", "10. ten and more", "    words", ""),
        *("│ a", "│ ", "│ b", ""),
        *("Term", "  Words"),
    ]


def test_tables_of_html_are_aligned() -> None:
    text = """<table><caption>Menu</caption><tr><th>Name<th align=right>Price
        <tr><td>Coffee<td>3.00<tr><td><p>Tea</p><p>green</p><td>12.00</table>after"""
    assert texts(text, "html") == [
        *("Menu", ""),
        *("Name   │ Price", "───────┼──────", "Coffee │  3.00", "Tea    │ 12.00", "green  │ ", ""),
        "after",
    ]


def test_a_table_in_a_cell_is_words() -> None:
    text = "<table><tr><td>a<td><table><tr><td>b<td>c<tr><td>d</table><tr><td>e</table>"
    assert texts(text, "html") == ["a │ b  c", "  │ d", "e │ "]


def test_preformatted_html_is_verbatim_and_in_colours() -> None:
    text = '<pre><code class="language-python">\nif x:\n    return   1\n</code></pre><pre>+--+\n| <b>x</b> |</pre>'
    assert texts(text, "html", 12) == ["if x:", "    return …", "", "+--+", "| x |"]
    assert styles(text, "html")[0] == [("if", "keyword"), (" x:", "code")]
    assert preview_width(text, "html") == 14


def test_the_controls_of_a_form_are_marks() -> None:
    text = """<label>Name <input placeholder=yours></label> <input value=me> <input> <input type=hidden value=h><br>
        <input type=checkbox checked>A <input type=radio>B <select><option>one<option>two</select>
        <textarea></textarea> <textarea>words</textarea> <button>Save</button> <button></button> <input type=submit>"""
    assert texts(text, "html", 100) == [
        "Name [yours____] [me] [____]",
        "[x] A ( ) B [ one | two ] [ ____ ] [ words ] [ Save ] [ ____ ] [ submit ]",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b and c > d", ["a < b and c > d"]),
        ("</p></ul></li></table></td></pre>x", ["x"]),
        ("<b>a", ["a"]),
        ("<p", ["<p"]),
        ("<ul><li>a<table><tr><td>b</ul>c", ["• a", "  ", "  b", "  c"]),
        ("<head><title>t</title><body>x", ["x"]),
        ("<![CDATA[x]]>y<![if z]>", ["y"]),
        ("a<!-- never closed", ["a"]),
        ("&#27;[2J &#x202e; &bogus; &amp", ["[2J \\u{202e} &bogus; &"]),
        ("<script>only</script>", ["<script>only</script>"]),
        ('<a title="a > b" href="#x">y</a>', ["y"]),
        ("<li>alone", ["• alone"]),
        ("<table></table>x", ["x"]),
        ("<td>alone", ["alone"]),
    ],
    ids=ascii,
)
def test_broken_html_is_read_as_it_comes(text: str, expected: list[str]) -> None:
    assert texts(text, "html") == expected


def test_a_preview_too_long_for_a_parser_is_shown_as_plain_text() -> None:
    text = "*a* <b>b</b>\n" * 2_000
    assert texts(text, "markdown") == texts(text, "html") == ["*a* <b>b</b>"] * 2_000


def test_a_preview_too_long_to_read_says_how_much_there_is_more() -> None:
    rows = texts("a" * 100_000 + "\nmore", "none", 100)
    assert rows == [*["a" * 100] * 1_000, "5 more characters, not shown here"]


HOSTILE_MARKS = st.text(
    st.sampled_from("ab1 \n\t>*_`~#-+|=[]()!<>&;:/\\\"'.x\r│─é日\u0301👍\u200d\x1b\u202e\u00a0"), max_size=120
)
TAGS = (
    *("ul", "ol", "li", "dl", "dt", "dd", "p", "div", "b", "a", "pre", "code", "table", "tr", "td", "th", "blockquote"),
    *(
        "h1",
        "br",
        "hr",
        "button",
        "select",
        "option",
        "textarea",
        "input",
        "img",
        "script",
        "style",
        "head",
        "template",
    ),
)
FORMS = ("<{}>", "</{}>", "<{} href=x class='language-c'>", "<{}/>", "<{} ")
WORDS = ("a b ", "\n", "\x1b", "日本", "<!--", "-->", "<", "&", "</", "<![", "&#0;", "wordwordword")
HOSTILE_TAGS = st.lists(
    st.one_of(st.builds(str.format, st.sampled_from(FORMS), st.sampled_from(TAGS)), st.sampled_from(WORDS)), max_size=40
).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.one_of(HOSTILE, HOSTILE_MARKS, HOSTILE_TAGS), st.sampled_from(FORMATS), st.integers(2, 30), st.integers(0, 9))
@example(">" * 30 + " deep", "markdown", 10, 0)
@example("1. " * 8 + "deep", "markdown", 4, 3)
def test_no_preview_raises_or_is_wider_than_its_columns_or_does_harm(
    text: str, format: PreviewFormat, columns: int, start: int
) -> None:
    rows = preview_lines(text, format, columns, start=start)
    assert [row for row in rows if cells(row) > columns] == []
    assert [unlawful(text_of(row)) for row in rows if unlawful(text_of(row))] == []
    assert not any("\n" in span.text or not span.text for row in rows for span in row)
    assert preview_width(text, format) >= 0


OPENINGS = (
    "",
    "> ",
    ">",
    "- ",
    "1. ",
    "# ",
    "    ",
    "  ",
    "* * ",
    "| ",
    "[x]: ",
    "***\n",
    "```\n",
    "+--+\n",
    "<b> ",
    "\n",
)
SOURCES = st.lists(st.tuples(st.sampled_from(OPENINGS), st.sampled_from(OPENINGS)), min_size=1, max_size=12)


@settings(max_examples=400, deadline=None)
@given(SOURCES)
@example([(">" * 30, "")])
@example([("- " * 30, "")])
def test_no_line_of_markdown_is_lost(lines: list[tuple[str, str]]) -> None:
    words = [f"word{number}end" for number in range(len(lines))]
    text = "\n".join(f"{first}{second}{word}" for (first, second), word in zip(lines, words, strict=True))
    seen = "\n".join(texts(text, columns=200))
    assert [word for word in words if word not in seen] == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            ">" * 10_000 + "a",
            "> " * 9_000,
            "[" * 10_000,
            "![" * 9_000,
            "*" * 10_000 + "a" + "*" * 9_000,
            "*a " * 6_000,
        ),
        *(
            "`" * 19_000,
            "- " * 9_000,
            "".join("  " * depth + "- a\n" for depth in range(130)),
            "<" * 19_000,
            "&" * 19_000,
        ),
        *("|a" * 3_000 + "|\n" + "|-" * 3_000 + "|\n" + "|a\n" * 2_000, "|a|b|\n|-|-|\n" + "|a|b|\n" * 160_000),
        *("<a " * 6_000, "<a\n" * 6_000, "<!--" * 4_000, "<script>" * 2_000, "<div>" * 3_900, "<ul><li>a" * 2_000),
        *(
            "<table><tr><td>" * 1_200,
            "<b>" * 6_000 + "</i>" * 400,
            "é" * 500_000,
            "👍\u200d" * 200_000,
            "\x1b" * 900_000,
        ),
        *(
            "a\n" * 450_000,
            "\u0301" * 400_000,
            " " * 900_000 + "a",
            "```java\n" + "_ " * 9_000,
            "```c\n" + " " * 19_000,
        ),
    ],
    ids=lambda text: ascii(text[:12]),
)
@pytest.mark.parametrize("format", FORMATS)
def test_no_preview_is_slow(text: str, format: PreviewFormat) -> None:
    before = time.thread_time()
    preview_lines(text, format, 78)
    assert time.thread_time() - before < 2  # a tenth of it, where nothing else runs


def test_the_parser_of_markdown_is_loaded_with_the_first_markdown_only() -> None:
    code = "import sys, askdesk.surfaces.terminal.preview; print({'markdown_it', 'pygments'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
