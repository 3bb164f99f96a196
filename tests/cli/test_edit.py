"""Somebody else's settings, edited where they stand: our entry comes and goes, all else is there to the byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askdesk.cli import jsonc, toml_text, yaml_text
from askdesk.cli.edit import Format, edited

OURS: dict[str, Any] = {"command": "/bin/py thon", "args": ["-m", 'a"b\\c', "ü"], "timeout": 5, "env": {}}
WHERE = ("mcpServers", "askdesk")
TABLE = ("mcp_servers", "askdesk")
BLOCK = ("extensions", "askdesk")
yaml: Any = import_module("yaml")


def is_inserted(before: str, after: str) -> bool:
    """Whether one text is the other with something put into it in a single place."""
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return after.endswith(before[same:]) and len(after) >= len(before)


GAPS = st.lists(
    st.sampled_from(
        ["", "", " ", "\n", "\r\n\t", "  ", '// it\'s {a}, "b"\n', "/* a, } */", "/* two\n lines */", "\n  "]
    ),
    min_size=1,
    max_size=7,
)
NAMES = st.sampled_from(["mcpServers", "askdesk", "a", "b//c", "ü", "/*", "{", '"'])
SCALARS = st.sampled_from([1, -0.5, True, None, "x", "// no comment", "é", 'a, "b]', 10**20])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=6,
)
HOLDERS = st.fixed_dictionaries({}, optional={"mcpServers": st.dictionaries(NAMES, VALUES, max_size=2) | VALUES})
MEANINGS = st.builds(lambda others, ours: others | ours, st.dictionaries(NAMES, VALUES, max_size=3), HOLDERS)


def written_down(value: object, gaps: Iterator[str]) -> str:
    """JSON with something in every gap, and sometimes a comma too many."""
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(name)}{next(gaps)}:{next(gaps)}{written_down(each, gaps)}" for name, each in value.items()
        ]
    elif isinstance(value, list):
        parts = [written_down(each, gaps) for each in value]
    else:
        return json.dumps(value)
    left, right = ("{", "}") if isinstance(value, dict) else ("[", "]")
    inside = ",".join(f"{next(gaps)}{part}{next(gaps)}" for part in parts)
    return f"{left}{inside}{',' if parts and next(gaps) != '' else ''}{next(gaps)}{right}"


DOCUMENTS = st.tuples(MEANINGS, GAPS).map(lambda each: written_down(each[0], cycle(each[1])))


@given(DOCUMENTS)
def test_whatever_json_with_comments_holds_our_entry_is_all_that_comes_and_goes(text: str) -> None:
    before = jsonc.read(text)
    holder = before.get("mcpServers", {})
    if not isinstance(holder, dict):
        with pytest.raises(ValueError, match="something else"):
            edited(jsonc, text, {WHERE: OURS})
        return
    alone = edited(jsonc, text, {WHERE: None})
    after = edited(jsonc, alone, {WHERE: OURS})
    assert is_inserted(alone, after)
    assert jsonc.read(after) == before | {"mcpServers": holder | {"askdesk": OURS}}
    assert comments(text) == comments(after) or "askdesk" in holder  # a comment within our own goes with it
    if jsonc.read(alone).get("mcpServers"):
        assert edited(jsonc, after, {WHERE: None}) == alone


def comments(text: str) -> list[str]:
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return sorted(part for part in parts if not part.startswith('"'))


@given(MEANINGS, GAPS)
def test_json_with_comments_means_what_it_says_without_them(value: dict[str, Any], gaps: list[str]) -> None:
    assert jsonc.read(written_down(value, cycle(gaps))) == value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "us": {\n      "x": 1\n    }\n  }\n}\n'),
        ("// mine", '// mine\n{\n  "a": {\n    "us": {\n      "x": 1\n    }\n  }\n}\n'),
        ('{"b": 1}', '{"a": {"us": {"x": 1}}, "b": 1}'),
        ('{\r\n\t"a": { // all\r\n\t\t"b": 1\r\n\t}\r\n}', None),
        ('{\n    "a": {},\n}', '{\n    "a": {\n        "us": {\n            "x": 1\n        }\n    },\n}'),
    ],
)
def test_an_entry_is_written_in_the_hand_of_the_file(before: str, after: str | None) -> None:
    written = edited(jsonc, before, {("a", "us"): {"x": 1}})
    if after is None:
        after = '{\r\n\t"a": { // all\r\n\t\t"us": {\r\n\t\t\t"x": 1\r\n\t\t},\r\n\t\t"b": 1\r\n\t}\r\n}'
    assert written == after


def test_an_item_of_an_array_is_known_by_a_field() -> None:
    where, item = ("inputs", ("id", "us")), {"id": "us", "password": True}
    text = '{"inputs": [{"id": "other"}]}'
    after = edited(jsonc, text, {where: item})
    assert jsonc.read(after) == {"inputs": [item, {"id": "other"}]}
    assert edited(jsonc, after, {where: None}) == text


@pytest.mark.parametrize(
    ("after", "left"),
    [
        ('{\n  "a": {"b": 1, "us": {}}\n}', '{\n  "a": {"b": 1}\n}'),
        (
            '{\n  "a": {\n    "b": 1, // one\n    "us": {} // two\n  }\n}',
            '{\n  "a": {\n    "b": 1 // one\n    // two\n  }\n}',
        ),
        ('{"a": {"us": {} /* why */, "b": 1}}', '{"a": { /* why */ "b": 1}}'),
        ('{"z": 1, "a": {"us": {}}}', '{"z": 1}'),
        ('{"a": {"us": {}, /* keep */}}', '{"a": {/* keep */}}'),
    ],
)
def test_an_entry_that_somebody_moved_is_found_and_takes_only_its_own_comma_along(after: str, left: str) -> None:
    cut = edited(jsonc, after, {("a", "us"): None})
    assert cut.replace(" ", "") == left.replace(" ", "")
    assert comments(cut) == comments(after)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "it is no object"),
        ('{"a": 1', "a comma or a } is missing, in line 1"),
        ('{"a": 1}}', "something follows its end, in line 1"),
        ('{\n"a" 1}', "a colon is missing, in line 2"),
        ('{"a": 1, "a": 2}', "'a' is there twice, in line 1"),
        ("{a: 1}", "a text in quotes is missing, in line 1"),
        ('{"a": }', "a value is missing, in line 1"),
        ('{"a": 1 /* ', "a comma or a } is missing, in line 1"),
        ('{"a":' + "[" * 300, "it is nested more than 200 deep"),
        ('{"a": []}', "what should hold 'us' is something else"),
        ('{"a": null}', "what should hold 'us' is something else"),
    ],
)
def test_json_that_is_not_certain_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        edited(jsonc, text, {("a", "us"): {"x": 1}})


TOML_PARTS = st.sampled_from(
    [
        "# a comment",
        "",
        "key{n} = 1",
        "key{n} = 2026-01-01T00:00:00Z  # when",
        'key{n} = "[mcp_servers.askdesk]"',
        'key{n} = """\n[mcp_servers.askdesk]\n\\""" "\n"""',
        "key{n} = '''\n# no comment\n[x]'''",
        "key{n} = [\n  1, # one\n  [2],\n]",
        "key{n} = {{ a = ['[', '{{'] }}",
        "[table{n}]",
        '[table{n}."askdesk".x]',
        "[mcp_servers.other{n}]",
        "[[list]]",
        "  \t",
    ]
)


@given(st.lists(TOML_PARTS, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_whatever_toml_holds_our_table_is_all_that_comes_and_goes(parts: list[str], newline: str) -> None:
    lines = [part.format(n=n) for n, part in enumerate(parts)]
    text = "".join(f"{line}\n" for line in lines).replace("\n", newline)
    after = edited(toml_text, text, {TABLE: OURS})
    assert after.startswith(text)
    assert toml_text.entry(after, TABLE) == OURS
    assert edited(toml_text, after, {TABLE: None}) == text


@pytest.mark.parametrize(
    "there",
    [
        '[mcp_servers.askdesk]\ncommand = "x"\n',
        '[mcp_servers."askdesk"]\ncommand = "x"\n[mcp_servers.askdesk.env]\nA = "b"\n',
        '[mcp_servers]\naskdesk = { command = "x" }\n',
        '[mcp_servers]\naskdesk.command = "x"\naskdesk.args = [\n"a"\n]\n',
        'mcp_servers.askdesk.command = "x"\n',
    ],
)
def test_our_table_is_found_however_it_was_written(there: str) -> None:
    text = f"{there}# mine\n\n[other]\na = 1\n"
    after = edited(toml_text, text, {TABLE: OURS})
    assert toml_text.read(after) == {"mcp_servers": {"askdesk": OURS}, "other": {"a": 1}}
    assert "# mine" in after
    assert toml_text.read(edited(toml_text, after, {TABLE: None})) in (
        {"other": {"a": 1}},
        {"other": {"a": 1}, "mcp_servers": {}},
    )


@pytest.mark.parametrize(
    "text", ["a = ", "mcp_servers = {}\n", "mcp_servers = 1\n", "[mcp_servers\n", "a = 1\na = 2\n"]
)
def test_toml_that_is_not_certain_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        edited(toml_text, text, {TABLE: OURS})


YAML_PARTS = st.sampled_from(
    [
        "# a comment",
        "",
        "KEY{n}: value # it's",
        "KEY{n}: 'quoted: yes'",
        'KEY{n}: "a # b"',
        "KEY{n}: [a, 'b']",
        "KEY{n}:\n- a\n- b: c\n  d: e",
        "KEY{n}:\n  askdesk:\n    cmd: other",
        "KEY{n}: |\n  extensions:\n    askdesk:\n   'odd",
        "KEY{n}: >-\n  folded\n\n  text\n",
        "https_{n}: http://x:1/y",
    ]
)
CHILDREN = st.sampled_from(
    [
        "  # a comment",
        "",
        "  child{n}:\n    type: builtin\n    args:\n    - 'a: b'\n    envs: {{}}",
        "  child{n}:\n    about: |\n      askdesk:\n    enabled: true",
        "  child{n}: null",
    ]
)


@given(
    st.lists(YAML_PARTS, max_size=4), st.lists(CHILDREN, max_size=3), st.lists(YAML_PARTS, max_size=4), st.booleans()
)
def test_whatever_yaml_holds_our_block_is_all_that_comes_and_goes(
    above: list[str], children: list[str], below: list[str], is_there: bool
) -> None:
    parts = [*above, *(["extensions:", *children] if is_there else []), *below]
    text = "".join(f"{part.format(n=n)}\n" for n, part in enumerate(parts))
    after = edited(yaml_text, text, {BLOCK: OURS})
    before = yaml.safe_load(text) or {}
    assert yaml.safe_load(after) == before | {"extensions": (before.get("extensions") or {}) | {"askdesk": OURS}}
    assert is_inserted(text, after)
    alone = edited(yaml_text, after, {BLOCK: None})
    assert yaml.safe_load(alone) == before | {"extensions": before.get("extensions") or {}}
    if before.get("extensions"):
        assert alone == text


def test_a_block_that_the_host_wrote_in_its_own_way_is_read_and_taken_out() -> None:
    others = "  other:\n    a: 1\n"
    text = f"extensions:\n  askdesk:\n    cmd: /bin/py\n    args:\n    - -m\n    - 'it''s'\n    timeout: 5\n{others}"
    assert yaml_text.entry(text, BLOCK) == {"cmd": "/bin/py", "args": ["-m", "it's"], "timeout": 5}
    assert edited(yaml_text, text, {BLOCK: None}) == f"extensions:\n{others}"


@pytest.mark.parametrize(
    "text",
    [
        *("{extensions: {}}", "- a\n- b: 'x", "extensions: {a: {}}", "extensions:\n- a\n", "extensions: *all\n"),
        *("a: 'x\nextensions: y'\n", 'a: "x\n  y"\n', "a: [1,\n2]\n", "a: 1\n---\nb: 2\n", "%YAML 1.2\n---\na: 1\n"),
        *("extensions:\n\ta: 1\n", "extensions:\n  askdesk: {}\n  askdesk: {}\n", "extensions:\nextensions:\n"),
        *("a: &x 'y\n", "plain text\n", "? a\n: b\n"),
    ],
)
def test_yaml_that_is_not_certain_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        edited(yaml_text, text, {BLOCK: OURS})


@pytest.mark.parametrize("written", [jsonc, toml_text, yaml_text], ids=["jsonc", "toml", "yaml"])
def test_an_entry_that_is_there_as_it_should_be_is_left_alone(written: Format) -> None:
    text = edited(written, "", {TABLE: OURS})
    assert edited(written, text, {TABLE: OURS}) == text
    assert written.entry(edited(written, text, {TABLE: {"a": 1}}), TABLE) == {"a": 1}


@pytest.mark.parametrize("written", [jsonc, toml_text], ids=["jsonc", "toml"])
def test_a_byte_order_mark_stays_where_it_is(written: Format) -> None:
    text = edited(written, "\ufeff", {TABLE: OURS})
    assert text.startswith("\ufeff")
    assert written.entry(text, TABLE) == OURS
