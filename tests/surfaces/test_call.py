"""What a person sees of a tool call before deciding on it: whole lists of lines."""

import json
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import product
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core import strict
from askdesk.core.model import Permission
from askdesk.core.text import is_blank, shown, shown_json
from askdesk.surfaces.call import call_lines, changed_lines
from askdesk.surfaces.spans import MARGIN, Line, text_of
from askdesk.surfaces.texts import ENGLISH, speak

HOSTILE = "\x1b[2K\u202e"


def texts(lines: Iterable[Line]) -> list[str]:
    return [text_of(spans) for spans in lines]


def call(tool: str, value: dict[str, Any], folder: str = "", description: str = "") -> list[str]:
    return texts(call_lines(Permission(tool, value, folder, description)))


def styles(lines: Iterable[Line], *wanted: str) -> list[tuple[str, str]]:
    """The texts in these styles."""
    return [(span.style, span.text) for spans in lines for span in spans if span.style in wanted]


def test_a_bash_command_is_shown_with_its_folder_and_apart_from_what_the_agent_says() -> None:
    value = {"command": "make clean &&\\\n  make all", "description": "Build it"}

    assert call("Bash", value, "/srv/app", "Build it") == [
        "Bash command · Bash",
        "│ make clean &&\\",
        "│   make all",
        "folder: /srv/app",
        "",
        "the agent says (not checked):",
        "│ Build it",
    ]


def test_what_makes_a_bash_command_special_is_said_plainly() -> None:
    value = {
        "command": "npm test",
        "timeout": 10000,
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
        "shell": "zsh",
    }
    lines = call_lines(Permission("Bash", value))

    assert texts(lines) == [
        "Bash command · Bash",
        "│ npm test",
        "timeout: 10 s (10000)",
        "runs in the background and goes on after this call (run_in_background: true)",
        "runs outside the sandbox (dangerouslyDisableSandbox: true)",
        "also in the input:",
        '│ shell: "zsh"',
    ]
    assert [text for _, text in styles(lines, "warning")] == texts(lines)[3:5]


def test_what_is_not_so_is_said_too() -> None:
    assert call("Bash", {"command": "ls", "run_in_background": False}) == [
        "Bash command · Bash",
        "│ ls",
        "run_in_background: false",
    ]


@pytest.mark.parametrize(
    ("timeout", "words"),
    [
        (0, "0 ms (0)"),
        (-5, "-5 ms (-5)"),
        (999, "999 ms (999)"),
        (1500, "1.5 s (1500)"),
        (600_000, "10 min (600000)"),
        (5_430_000, "1 h 30 min 30 s (5430000)"),
    ],
)
def test_a_timeout_is_said_in_words_and_in_figures(timeout: int, words: str) -> None:
    assert call("Bash", {"command": "x", "timeout": timeout})[-1] == f"timeout: {words}"


def test_two_claims_that_differ_are_both_shown() -> None:
    assert call("Bash", {"command": "ls", "description": "One"}, description="Two\nlines")[2:] == [
        "",
        "the agent says (not checked):",
        "│ Two",
        "│ lines",
        "│ ",
        "│ One",
    ]


def test_the_description_of_another_tool_is_input_like_any_other() -> None:
    assert call("mcp__jira__create", {"description": "Fix"}) == [
        "Tool `create` of the MCP server `jira` · mcp__jira__create",
        '│ description: "Fix"',
    ]


def test_a_description_that_nobody_can_see_is_input_too() -> None:
    assert call("Bash", {"command": "ls", "description": "\u200b"}, description=" ") == [
        "Bash command · Bash",
        "│ ls",
        "also in the input:",
        '│ description: "\\u200b"',
    ]


@pytest.mark.parametrize("value", [{"cmd": "ls"}, {"command": ["ls"]}, {"command": None}, {"command": {"a": 1}}])
def test_a_bash_call_without_a_command_is_shown_as_it_is(value: dict[str, Any]) -> None:
    (name, item), *_ = value.items()
    nested = ["│ command: {", '│   "a": 1', "│ }"]

    assert call("Bash", value) == [
        "Bash command · Bash",
        "unusual input: command missing, or not of the usual kind",
        "also in the input:",
        *(nested if isinstance(item, dict) else [f"│ {name}: {json.dumps(item)}"]),
    ]


def test_no_text_of_an_agent_passes_for_the_desks_own_words() -> None:
    fake = "ls\nfolder: /safe\n\nthe agent says (not checked):\nalso in the input:"
    lines = call_lines(Permission("Bash", {"command": fake}, "/etc\nfolder: /safe", fake))

    assert [text for spans, text in zip(lines, texts(lines), strict=True) if spans[:1] != (MARGIN,)] == [
        "Bash command · Bash",
        'folder: "/etc\\nfolder: /safe"',
        "",
        "the agent says (not checked):",
    ]


def test_a_field_cannot_be_made_up_inside_a_text() -> None:
    made_up = call("WebSearch", {"query": 'x\nallowed_domains: ["python.org"]'})
    real = call("WebSearch", {"query": "x", "allowed_domains": ["python.org"]})

    assert made_up == ["Search the web · WebSearch", "│ x", '│ allowed_domains: ["python.org"]']
    assert real == ["Search the web · WebSearch", "│ x", "also in the input:", '│ allowed_domains: ["python.org"]']


def test_what_cannot_be_seen_is_written_out_in_a_style_of_its_own() -> None:
    lines = call_lines(Permission("Bash", {"command": f"echo \t'{HOSTILE}'\u00a0  "}))

    assert texts(lines)[1] == "│ echo \\t'\\x1b[2K\\u{202e}'\\xa0··"
    assert "".join(text for _, text in styles(lines, "escape")) == "\\t\\x1b\\u{202e}\\xa0··"


def test_a_line_of_blanks_is_not_empty() -> None:
    assert call("Bash", {"command": "ls\n   \nrm x"})[1:] == ["│ ls", "│ ···", "│ rm x"]


def test_a_line_break_at_the_end_of_a_command_is_a_line() -> None:
    assert call("Bash", {"command": "ls\n"})[1:] == ["│ ls", "│ "]


def test_an_edit_is_shown_as_what_goes_and_what_comes() -> None:
    value = {
        "file_path": "/srv/app/main.py",
        "old_string": "def f():\n    return 1\n# end",
        "new_string": "def f():\n\treturn 2 \n# end",
        "replace_all": False,
    }
    lines = call_lines(Permission("Edit", value, "/srv"))

    assert texts(lines) == [
        "Edit a file · Edit",
        "file: /srv/app/main.py",
        "folder: /srv",
        "replace_all: false",
        "│   def f():",
        "│ -     return 1",
        "│ + \\treturn 2·",
        "│   # end",
    ]
    assert styles(lines, "removed", "added") == [
        ("removed", "- "),
        ("removed", "    return 1"),
        ("added", "+ "),
        ("added", "return 2"),
    ]


def test_an_edit_of_every_occurrence_is_a_warning() -> None:
    value = {"file_path": "a", "old_string": "x", "new_string": "", "replace_all": True}
    lines = call_lines(Permission("Edit", value))

    assert texts(lines)[2:] == ["replaces every occurrence (replace_all: true)", "│ - x"]
    assert styles(lines, "warning") == [("warning", "replaces every occurrence (replace_all: true)")]


def test_an_edit_of_nothing_only_adds() -> None:
    assert call("Edit", {"file_path": "a", "old_string": "", "new_string": "x\ny"})[2:] == ["│ + x", "│ + y"]


def test_an_edit_shows_carriage_returns() -> None:
    assert call("Edit", {"file_path": "a", "old_string": "x", "new_string": "x\r"})[2:] == ["│ - x", "│ + x\\x0d"]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a", "a\n", ["│   a", "│ + ", "a line break comes at the end"]),
        ("a\n", "a", ["│   a", "│ - ", "the line break at the end goes"]),
        ("a\n", "b\n", ["│ - a", "│ + b", "│   "]),
    ],
)
def test_a_line_break_that_only_one_text_ends_with_is_told(old: str, new: str, lines: list[str]) -> None:
    assert call("Edit", {"file_path": "a", "old_string": old, "new_string": new})[2:] == lines


def test_several_edits_are_numbered() -> None:
    value = {
        "file_path": "/srv/a\u202e.py",
        "edits": [
            {"old_string": "a", "new_string": "b"},
            {"old_string": "c", "new_string": "d", "replace_all": True, "why": "so"},
            {"old_string": "e"},
            7,
        ],
    }

    assert call("MultiEdit", value) == [
        "Edit a file in several places · MultiEdit",
        'file: "/srv/a\\u202e.py"',
        "edit 1 of 4",
        "│ - a",
        "│ + b",
        "edit 2 of 4",
        "replaces every occurrence (replace_all: true)",
        "│ - c",
        "│ + d",
        "also in the input:",
        '│ why: "so"',
        "edit 3 of 4",
        "unusual input: old_string, new_string missing, or not of the usual kind",
        "also in the input:",
        '│ old_string: "e"',
        "edit 4 of 4",
        "unusual input: edits[3] missing, or not of the usual kind",
        "│ 7",
    ]


@pytest.mark.parametrize("edits", [[], {}, "x", None])
def test_edits_that_are_none_are_shown_as_they_are(edits: object) -> None:
    assert call("MultiEdit", {"edits": edits}) == [
        "Edit a file in several places · MultiEdit",
        "unusual input: file_path missing, or not of the usual kind",
        "unusual input: edits missing, or not of the usual kind",
        "also in the input:",
        f"│ edits: {json.dumps(edits)}",
    ]


def test_a_long_edit_shows_only_what_changes_as_changed() -> None:
    rows = [str(number) for number in range(5_000)]
    value = {
        "file_path": "a",
        "old_string": "\n".join(rows),
        "new_string": "\n".join([*rows[:4000], "x", *rows[4001:]]),
    }

    lines = call("Edit", value)[2:]

    assert [line for line in lines if not line.startswith("│   ")] == ["│ - 4000", "│ + x"]
    assert len(lines) == 5_001


def test_a_rewrite_too_long_to_compare_shows_all_that_goes_then_all_that_comes() -> None:
    old = [f"old {number}" for number in range(1_500)]
    new = [f"new {number}" for number in range(1_500)]
    old[700] = new[700] = "same"

    assert call("Edit", {"file_path": "a", "old_string": "\n".join(old), "new_string": "\n".join(new)})[2:] == [
        *(f"│ - {row}" for row in old),
        *(f"│ + {row}" for row in new),
    ]


def test_lines_that_are_all_alike_take_no_time_to_compare() -> None:
    value = {"file_path": "a", "old_string": "x\n" * 999 + "y", "new_string": "z\n" + "x\ny\n" * 499}
    started = thread_time()

    call("Edit", value)

    assert thread_time() - started < 2  # difflib alone takes more than ten


def test_a_file_to_write_is_shown_with_its_size_and_content() -> None:
    lines = call_lines(Permission("Write", {"file_path": "/srv/hello.py", "content": "import os\n\n# é\n"}))

    assert texts(lines) == [
        "Write a file · Write",
        "file: /srv/hello.py",
        "lines: 3 · bytes: 16",
        "│ import os",
        "│ ",
        "│ # é",
    ]
    assert styles(lines, "keyword", "comment") == [("keyword", "import"), ("comment", "# é")]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", ["lines: 0 · bytes: 0"]),
        ("\n", ["lines: 1 · bytes: 1", "│ "]),
        ("x", ["lines: 1 · bytes: 1", "│ x", "no line break at the end"]),
        ("x\r\n", ["lines: 1 · bytes: 3", "│ x\\x0d"]),
    ],
)
def test_the_end_of_a_file_can_be_told(content: str, lines: list[str]) -> None:
    assert call("Write", {"file_path": "x", "content": content})[2:] == lines


def test_a_write_of_no_text_is_shown_as_it_is() -> None:
    assert call("Write", {"file_path": 1, "content": {"a": "b"}}) == [
        "Write a file · Write",
        "unusual input: file_path missing, or not of the usual kind",
        "unusual input: content missing, or not of the usual kind",
        "also in the input:",
        "│ file_path: 1",
        "│ content: {",
        '│   "a": "b"',
        "│ }",
    ]


def test_a_plan_is_shown_as_it_was_written() -> None:
    value = {"plan": "# Plan\n\n1. Test", "planFilePath": "/home/ana/.claude/plans/a.md"}
    assert call("ExitPlanMode", value) == [
        "Approve a plan and begin · ExitPlanMode",
        "file: /home/ana/.claude/plans/a.md",
        "│ # Plan",
        "│ ",
        "│ 1. Test",
    ]


def test_a_plan_that_is_not_there_is_warned_of() -> None:
    assert call("ExitPlanMode", {}) == [
        "Approve a plan and begin · ExitPlanMode",
        "the call carries no plan: approving it approves whatever the agent has in mind",
    ]


def test_a_fetch_sets_the_host_apart() -> None:
    value = {"url": "https://docs.python.org/3/?q=x", "prompt": "Sum it up\nin a line", "depth": 2}
    lines = call_lines(Permission("WebFetch", value, "/srv"))

    assert texts(lines) == [
        "Fetch from the web · WebFetch",
        "host: docs.python.org",
        "URL: https://docs.python.org/3/?q=x",
        "folder: /srv",
        "prompt:",
        "│ Sum it up",
        "│ in a line",
        "also in the input:",
        "│ depth: 2",
    ]
    assert styles(lines, "host", "warning") == [("host", "docs.python.org")]


USER, DOUBT = "a sign-in name, not the host:", "this URL is written in a way that programs read differently"


@pytest.mark.parametrize(
    ("url", "lines"),
    [
        ("https://google.com@evil.com/", ["host: evil.com", f"{USER} google.com"]),
        ("https://a:b@google.com@evil.com:8443", ["host: evil.com:8443", f"{USER} a:b@google.com"]),
        ("https://evil.com\\@google.com/", ["host: evil.com", DOUBT]),
        ("https:evil.com/google.com", ["host: evil.com", DOUBT]),
        ("https:///evil.com/", ["host: evil.com", DOUBT]),
        ("HTTPS://EVIL.com#@google.com", ["host: evil.com"]),
        ("https://evil.com?@google.com", ["host: evil.com"]),
        ("http://example.com", ["host: example.com", "not https but http"]),
        ("ftp://example.com/x", ["host: example.com", "not https but ftp"]),
        ("foo://example.com/x", ["host: example.com", "not https but foo"]),
        ("https://аpple.com/", ["host: аpple.com (xn--pple-43d.com)"]),
        ("https://straße.de/", ["host: straße.de (xn--strae-oqa.de)"]),
        ("https://BÜCHER.de/", ["host: bücher.de (xn--bcher-kva.de)"]),
        ("https://ｅｖｉｌ。com/", ["host: evil.com"]),
        ("https://goo\u00adgle.com/", ["host: google.com"]),
        ("https://%65vil.com/", ["host: evil.com", DOUBT]),
        ("https://2130706433/", ["host: 127.0.0.1"]),
        ("https://0x7f.1:80/", ["host: 127.0.0.1:80"]),
        ("https://[::1]:8080/", ["host: [::1]:8080"]),
        ("https://evil\t.com/", ["host: evil.com", DOUBT]),
        *(
            (url, ["where this URL leads cannot be told"])
            for url in (
                "example.com",
                "https://",
                "file:/etc/passwd",
                "file:///etc/passwd",
                "https://a b/",
                "https://1.2.3.4.5/",
            )
        ),
        ("https://a:x/", ["where this URL leads cannot be told"]),
        ("https://a%2fb/", ["where this URL leads cannot be told"]),
        ("", ["where this URL leads cannot be told"]),
        (f"https://{'é' * 100_000}.com/", ["where this URL leads cannot be told"]),
    ],
)
def test_the_host_is_the_one_that_will_be_asked(url: str, lines: list[str]) -> None:
    assert call("WebFetch", {"url": url})[1:-1] == lines


@given(st.text(st.sampled_from("ht:/\\\\@.%[]0x17é。\u200dß?# \t"), max_size=15))
def test_any_url_is_shown_and_its_host_looked_for(rest: str) -> None:
    lines = call("WebFetch", {"url": f"https:{rest}"})

    assert lines[1].startswith(("host: ", "where this URL leads cannot be told"))
    assert lines[-1].startswith(("URL: https:", 'URL: "https:'))


def test_a_url_that_cannot_be_seen_as_it_is_is_quoted() -> None:
    assert call("WebFetch", {"url": "https://goo\u00adgle.com/ "})[-1] == 'URL: "https://goo\\u00adgle.com/ "'


@pytest.mark.parametrize(("tool", "field"), [("WebFetch", "url"), ("WebSearch", "query")])
def test_a_call_to_nowhere_is_shown_as_it_is(tool: str, field: str) -> None:
    assert call(tool, {field: 1})[1:] == [
        f"unusual input: {field} missing, or not of the usual kind",
        "also in the input:",
        f"│ {field}: 1",
    ]


def test_any_other_tool_shows_its_whole_input_in_its_own_order() -> None:
    value = {
        "title": "Fix it",
        "body": "## What\n\nIt breaks. \n",
        "labels": ["bug", "ui"],
        "meta": {"z": 1.0, "a": {"text": "x\n│ y", "none": None}, "list": [{"a": True}, {}, "p\nq"]},
        "a b": [],
    }

    assert call("mcp__github__create_issue", value, "/srv", "Open an issue") == [
        "Tool `create_issue` of the MCP server `github` · mcp__github__create_issue",
        "folder: /srv",
        '│ title: "Fix it"',
        "│ body:",
        "│ │ ## What",
        "│ │ ",
        "│ │ It breaks.·",
        "│ │ ",
        '│ labels: ["bug", "ui"]',
        "│ meta: {",
        '│   "z": 1.0,',
        '│   "a": {',
        '│     "text":',
        "│     │ x",
        "│     │ │ y",
        '│     "none": null',
        "│   },",
        '│   "list": [',
        "│     {",
        '│       "a": true',
        "│     },",
        "│     {},",
        '│     "p\\nq"',
        "│   ]",
        "│ }",
        '│ "a b": []',
        "",
        "the agent says (not checked):",
        "│ Open an issue",
    ]


def test_a_long_list_takes_a_line_for_each_item() -> None:
    words = ["word" * 5] * 4

    assert call("x", {"words": words})[1:] == ["│ words: [", *[f'│   "{words[0]}",'] * 3, f'│   "{words[0]}"', "│ ]"]


def test_json_is_coloured_lightly() -> None:
    lines = call_lines(Permission("x", {"a": "b\x1b", "c": [1, None]}))

    assert styles(lines, "name", "string", "escape", "number", "keyword") == [
        ("name", "a"),
        ("string", '"b'),
        ("escape", "\\u001b"),
        ("string", '"'),
        ("name", "c"),
        ("number", "1"),
        ("keyword", "null"),
    ]


def test_a_call_without_input_says_so() -> None:
    assert call("EnterPlanMode", {}) == ["Tool EnterPlanMode", "no input"]


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ("Ba\u200bsh", 'Tool "Ba\\u200bsh"'),
        ("Bash · Bash", 'Tool "Bash · Bash"'),
        ("bash", "Tool bash"),
        ("mcp__x__a__b", "Tool `a__b` of the MCP server `x` · mcp__x__a__b"),
        ("mcp__x__`y`", 'Tool "mcp__x__`y`"'),
        ("mcp__x", "Tool mcp__x"),
    ],
)
def test_the_exact_name_of_a_tool_is_always_seen(tool: str, title: str) -> None:
    lines = call_lines(Permission(tool, {}))

    assert texts(lines)[0] == title
    assert lines[0][0].style == "title"


def test_the_deepest_input_is_shown() -> None:
    value: Any = "leaf"
    for _ in range(400):
        value = {"a": value}

    assert call("x", value)[400].lstrip("│ ") == '"a": "leaf"'


def test_it_speaks_spanish() -> None:
    speak("es")
    try:
        assert call("Bash", {"command": "ls"}, "/srv", "Lista") == [
            "Comando de Bash · Bash",
            "│ ls",
            "carpeta: /srv",
            "",
            "el agente dice (sin comprobar):",
            "│ Lista",
        ]
    finally:
        speak(ENGLISH)


def test_a_change_is_shown_as_what_will_run_instead() -> None:
    before = {"command": "rm -rf build\nmake", "timeout": 5, "list": [{"a": 1}]}
    after = {"command": "rm -r build\nmake", "timeout": 5, "list": [{"a": 1, "b": "x"}], "shell": "sh"}
    lines = changed_lines(json.dumps(before), json.dumps(after))

    assert texts(lines) == [
        "│   command:",
        "│ - │ rm -rf build",
        "│ + │ rm -r build",
        "│   │ make",
        "│   timeout: 5",
        "│   list: [",
        "│     {",
        '│       "a": 1',
        '│ +     "b": "x"',
        "│     }",
        "│   ]",
        '│ + shell: "sh"',
    ]
    assert styles(lines, "removed", "added") == [
        ("removed", "- "),
        ("removed", "rm -rf build"),
        ("added", "+ "),
        ("added", "rm -r build"),
        ("added", "+ "),
        ("added", "    "),
        ("added", '"b"'),
        ("added", ":"),
        ("added", " "),
        ("added", '"x"'),
        ("added", "+ "),
        ("added", "shell"),
        ("added", ":"),
        ("added", " "),
        ("added", '"sh"'),
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ('{"a": 1}', '{"a": 1.0}', ["│ - a: 1", "│ + a: 1.0"]),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', ["│ + b: 2", "│   a: 1", "│ - b: 2"]),
        ('{"a": "x\\ny "}', '{"a": "x\\ny·"}', ["│   a:", "│   │ x", "│ - │ y·", "│ + │ y·"]),
        ('{"a": "x\\n\\u001b"}', '{"a": "x\\n\\\\x1b"}', ["│   a:", "│   │ x", "│ - │ \\x1b", "│ + │ \\x1b"]),
        ("{}", '{"a": "x"}', ['│ + a: "x"']),
        ("{}", "{}", []),
    ],
)
def test_every_change_can_be_seen(before: str, after: str, lines: list[str]) -> None:
    assert texts(changed_lines(before, after)) == lines


KNOWN = {
    "Bash": ("command", "description", "timeout", "run_in_background"),
    "Edit": ("file_path", "old_string", "new_string", "replace_all"),
    "MultiEdit": ("file_path", "edits"),
    "Write": ("file_path", "content"),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query", "allowed_domains"),
    "ExitPlanMode": ("plan", "planFilePath"),
}
NASTY = st.sampled_from('\n\r\t \\·│:"ab1\x1b\x85\u00a0\u200d\u202e\u0301\u3164😀й{}<@/')
TEXTS = st.one_of(
    st.text(NASTY, max_size=12), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


def inputs(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    edit = st.dictionaries(st.sampled_from(KNOWN["Edit"]) | TEXTS, SCALARS | TEXTS | TEXTS, max_size=4)
    names = st.sampled_from(KNOWN[tool]) | TEXTS if tool in KNOWN else TEXTS
    return st.dictionaries(names, TEXTS | VALUES | st.lists(edit | VALUES, max_size=3), max_size=5)


@st.composite
def permissions(draw: st.DrawFn) -> Permission:
    tool = draw(st.sampled_from([*KNOWN, "mcp__a__b"]) | TEXTS.filter(lambda text: not is_blank(text)))
    return Permission(tool, draw(inputs(tool)), draw(TEXTS), draw(TEXTS))


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict | list) and value:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


def unseen(value: dict[str, Any], lines: list[str]) -> list[object]:
    return [leaf for leaf in leaves(value) if value and not is_seen(leaf, lines)]


def is_seen(leaf: object, lines: list[str]) -> bool:
    """Whether a value stands in a line as it is or as JSON, or its lines stand there one after the other."""
    whole = [shown_json(strict.dumps(leaf)), *([leaf] if isinstance(leaf, str) else [])]
    if any(form in line for form in whole for line in lines):
        return True
    return isinstance(leaf, str) and any(are_seen(rows, lines) for rows in forms(leaf))


def forms(text: str) -> Iterator[list[str]]:
    rows = [shown(row, exact=True) for row in text.split("\n")]
    yield [row.rstrip(" ") + "·" * (len(row) - len(row.rstrip(" "))) for row in rows]
    yield [shown(row) for row in text.split("\n")]  # a claim


def are_seen(rows: list[str], lines: list[str]) -> bool:
    left = iter(lines)
    return all(any(line.endswith(row) for line in left) for row in (rows if rows[-1] else rows[:-1]))


@given(permissions())
def test_every_value_of_an_input_can_be_seen(permission: Permission) -> None:
    assert unseen(permission.value, texts(call_lines(permission))) == []


@given(permissions())
def test_nothing_that_a_terminal_obeys_or_hides_reaches_a_line(permission: Permission) -> None:
    spans = [span for line in call_lines(permission) for span in line]
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    exact = "".join(span.text for span in spans if span.style != "quote")

    assert {unicodedata.category(character) for character in exact} & (hidden | {"Mn", "Me"}) == set()
    assert [span.text for span in spans if span.text != shown(span.text)] == []


@given(permissions())
def test_every_line_is_ours_or_stands_behind_the_margin(permission: Permission) -> None:
    nothing = Permission(permission.tool, {})
    ours = {"", *(spans[0].text for spans in call_lines(nothing))}
    words = ("folder:", "file:", "host:", "URL:", "prompt:", "timeout:", "lines:", "edit ", "unusual input:", "also in")
    more = (
        "the agent says",
        "where this",
        "not https",
        USER,
        DOUBT,
        "no line",
        "the line",
        "a line",
        "runs",
        "replaces",
    )

    for spans in call_lines(permission):
        first = spans[0].text if spans else ""
        assert (
            spans[:1] == (MARGIN,) or first in ours or first.startswith((*words, *more, "replace_all: false", "run_in"))
        )


SHORT = ["".join(parts) for length in range(4) for parts in product("\n \t\\t·│", repeat=length)]


@pytest.mark.parametrize(
    ("tool", "field"),
    [("Bash", "command"), ("Write", "content"), ("WebSearch", "query"), ("x", "y"), ("Edit", "file_path")],
)
def test_no_two_texts_look_the_same(tool: str, field: str) -> None:
    assert len({call_lines(Permission(tool, {field: text})) for text in SHORT}) == len(SHORT)


def test_no_two_edits_look_the_same() -> None:
    pairs = list(product([text for text in SHORT if len(text) < 3], repeat=2))
    looks = {call_lines(Permission("Edit", {"old_string": old, "new_string": new})) for old, new in pairs}

    assert len(looks) == len(pairs)


@given(inputs("Bash"), inputs("Bash"))
def test_a_change_shows_all_of_both_inputs(before: dict[str, Any], after: dict[str, Any]) -> None:
    lines = texts(changed_lines(strict.dumps(before), strict.dumps(after)))
    old = [line for line in lines if not line.startswith("│ +")]
    new = [line for line in lines if not line.startswith("│ -")]

    assert (unseen(before, old), unseen(after, new)) == ([], [])
