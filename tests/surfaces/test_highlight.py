"""Code in colours: the text is what shown() makes of it whatever the colours are, and no text makes it slow."""

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.test_text import HOSTILE

from askdesk.core.text import shown
from askdesk.surfaces.highlight import highlighted, language_of
from askdesk.surfaces.spans import Line, Span, text_of

LANGUAGES = (
    *("python", "bash", "console", "json", "yaml", "toml", "ini", "javascript", "typescript", "tsx", "jsx", "html"),
    *("xml", "css", "sql", "go", "rust", "java", "c", "cpp", "diff", "dockerfile", "makefile", "markdown", "ruby"),
    *("php", "kotlin", "swift"),
)
SIGNS = st.text(st.sampled_from("aB1_ \n\t\"'`#/*-+<>(){}[]$%&\\:;,.|=\x1b\u202eé"), max_size=200)


def pairs(spans: Line) -> list[tuple[str, str]]:
    return [(span.text, span.style) for span in spans]


def test_code_has_the_colours_of_its_tokens() -> None:
    code = 'def twice(x):\n    """Two\n    lines."""\n    return x * 2  # really'
    assert [pairs(row) for row in highlighted(code, "python")] == [
        [("def", "keyword"), (" ", ""), ("twice", "name"), ("(x):", "")],
        [("    ", ""), ('"""Two', "string")],
        [('    lines."""', "string")],
        [("    ", ""), ("return", "keyword"), (" x * ", ""), ("2", "number"), ("  ", ""), ("# really", "comment")],
    ]


def test_a_diff_has_the_colours_of_a_diff() -> None:
    rows = highlighted("@@ -1 +1 @@\n-old\n+new\n same", "diff")
    assert [[span.style for span in row] for row in rows] == [["heading"], ["removed"], ["added"], [""]]


def test_php_has_colours_without_an_opening_tag() -> None:
    assert pairs(highlighted("echo 'a';", "php")[0]) == [("echo", "keyword"), (" ", ""), ("'a'", "string"), (";", "")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_known_language_has_colours(language: str) -> None:
    code = {
        "console": "$ ls",
        "markdown": "# Title\n",
        "diff": "+new",
        "makefile": "a: b # c",
        "html": "<!-- c -->",
        "xml": "<a/>",
        "css": "a { color: red }",
        "dockerfile": "FROM a",
        "ini": "# a",
        "yaml": "# a",
    }
    text = code.get(language, '"text" 12 # // /* */')
    assert {span.style for row in highlighted(text, language) for span in row} - {""} != set()


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("py", "python"),
        (" Python ", "python"),
        ("sh", "bash"),
        ("shell", "bash"),
        ("js", "javascript"),
        ("yml", "yaml"),
    ],
)
def test_a_language_goes_by_its_other_names_too(name: str, language: str) -> None:
    assert highlighted("if 'a': 1 # b", name) == highlighted("if 'a': 1 # b", language)


@pytest.mark.parametrize("name", ["", "text", "brainfuck", "perl", "../python", "\x1b"], ids=ascii)
def test_a_language_that_is_not_on_the_list_has_no_colours(name: str) -> None:
    assert highlighted("def f(): 1", name) == [(Span(shown("def f(): 1")),)]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("/srv/app/main.py", "python"),
        ("C:\\app\\Main.JAVA", "java"),
        ("src/app.tsx", "tsx"),
        ("include/a.hpp", "cpp"),
        ("Dockerfile", "docker"),
        ("build/Dockerfile.dev", "docker"),
        ("Makefile", "make"),
        (".bashrc", "bash"),
        ("config.yml", "yaml"),
        ("notes", ""),
        ("python", ""),
        (".py", ""),
        ("photo.jpeg", ""),
        ("a.py/b", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_file_is_told_by_its_name(path: str, language: str) -> None:
    assert language_of(path) == language


def test_an_escape_is_told_from_text_that_looks_like_one() -> None:
    assert pairs(highlighted("'\x1b' \\x1b", "python")[0]) == [
        ("'", "string"),
        ("\\x1b", "escape"),
        ("'", "string"),
        (" \\x1b", ""),
    ]
    assert pairs(highlighted("a\x1b\u202e", "")[0]) == [("a", ""), ("\\x1b\\u{202e}", "escape")]


def test_tabs_and_odd_blanks_of_exact_code_are_escapes_and_leave_the_colours_right() -> None:
    assert pairs(highlighted("\treturn\u00a01", "go", exact=True)[0]) == [
        ("\\t", "escape"),
        ("return", "keyword"),
        ("\\xa0", "escape"),
        ("1", "number"),
    ]
    assert pairs(highlighted("\treturn", "go")[0]) == [("    ", ""), ("return", "keyword")]


@settings(max_examples=300, deadline=None)
@given(st.one_of(HOSTILE, SIGNS), st.sampled_from((*LANGUAGES, "", "unknown")), st.booleans())
def test_whatever_the_colours_the_text_is_what_is_shown(text: str, language: str, exact: bool) -> None:
    rows = highlighted(text, language, exact=exact)
    assert [text_of(row) for row in rows] == [shown(row, exact=exact) for row in text.split("\n")]
    assert all(span.text for row in rows for span in row)


def test_a_lexer_that_raises_leaves_the_text_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("pygments.lexers.get_lexer_by_name", broken)
    assert highlighted("def f()", "python") == [(Span(shown("def f()")),)]


# Each of these takes one lexer or another from seconds to hours when it is given as it is.
SLOW = {
    "blanks": "a" + " " * 19_000,
    "blank lines": "\n " * 9_500,
    "words": "_ " * 9_500,
    "lines of words": "_\n" * 9_500,
    "dots": "._" * 9_500,
    "a here-document": "a<<" + "a" * 19_000,
    "a rule": "%{" + "a" * 19_000,
    "an attribute": "<<A\n" + "a" * 19_000,
    "comments": "/* " * 6_300,
    "equals": ": " * 9_500,
    "a value in blanks": ("x = " + " " * 95 + "\n") * 190,
    "escapes": "\x1b" * 4_900,
    "strings": "\\'" * 9_500,
    "styles": "<style>" * 2_700,
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_makes_a_lexer_slow(text: str, language: str) -> None:
    before = time.thread_time()
    highlighted(text, language)
    assert time.thread_time() - before < 1


@pytest.mark.parametrize("unit", ["a ", "/*", "é", "\x1b", "a\n", "\t"], ids=ascii)
def test_a_text_of_a_megabyte_is_quick_and_has_no_colours(unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode()))
    before = time.thread_time()
    rows = highlighted(text, "c")
    assert time.thread_time() - before < 10  # half a second for half a million lines, where nothing else runs
    assert {span.style for row in rows for span in row} <= {"", "escape"}


def test_pygments_is_loaded_with_the_first_code_only() -> None:
    code = "from askdesk.surfaces import highlight; import sys; print('pygments' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
