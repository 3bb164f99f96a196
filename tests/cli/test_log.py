"""askdesk log: what was asked and answered, out of files as they lie there; shown, written down, followed, imported."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from tests.cli.command import ASKDESK, DATABASE, Ran, askdesk, kept_asks, posted, settled, surroundings, until
from tests.hostile import PAYLOADS
from tests.terminal import Terminal, pieces

from askdesk.core.model import Answer, Answered, Asker, Declined, Option, Question, Questions
from askdesk.wire import tool

ASKED = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
LAYOUT: dict[str, Any] = {
    "questions": [
        {
            "question": "Which layout?",
            "header": "Layout",
            "options": [
                {"label": "Wide", "description": "One column", "preview": "+------+\n| WIDE |\n+------+"},
                {"label": "Tall", "description": "Two columns", "preview": "+--+\n|T |\n+--+"},
            ],
            "multiSelect": False,
        }
    ]
}


def line(kind: str, block: dict[str, Any], at: datetime = ASKED, **more: Any) -> str:
    record = {
        "type": kind,
        "message": {"role": kind, "content": [block]},
        "sessionId": "s1",
        "cwd": "/srv/shop",
        "timestamp": at.isoformat(),
        **more,
    }
    return f"{json.dumps(record)}\n"


def asks(call_id: str = "toolu_1", given: object = DATABASE, **more: Any) -> str:
    return line("assistant", {"type": "tool_use", "id": call_id, "name": "AskUserQuestion", "input": given}, **more)


def answers(call_id: str = "toolu_1", text: str = "", *, is_error: bool = False, **more: Any) -> str:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
    return line("user", block, **{"at": ASKED + timedelta(minutes=3, seconds=20), **more})


def declines(call_id: str, words: str, **more: Any) -> str:
    return answers(call_id, words, is_error=True, toolDenialKind="permission-rule", **more)


def chose(label: str, call_id: str = "toolu_1", question: str = "Which database?", **more: Any) -> str:
    return answers(call_id, toolUseResult={"answers": {question: label}, **more})


def session(folder: Path, *lines: str, name: str = "session.jsonl") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return str(path)


def found(*arguments: str) -> list[dict[str, Any]]:
    """What the command tells programs."""
    ran = askdesk("log", "--json", *arguments)
    assert ran.code == 0
    return [json.loads(row) for row in ran.out.splitlines()]


def ids(*arguments: str) -> list[str]:
    return [call["id"] for call in found(*arguments)]


def clock(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def test_a_call_is_shown_with_the_chosen_option_marked_the_previews_beside_each_other_and_how_long_it_took(
    tmp_path: Path,
) -> None:
    notes = {"Which layout?": {"notes": "but blue"}}
    path = session(tmp_path, asks(given=LAYOUT), chose("Wide", question="Which layout?", annotations=notes))

    assert askdesk("log", path, env={"COLUMNS": "70"}) == Ran(
        0,
        f"""\
claude code asked  in shop  {clock(ASKED)}
  answered with a note after 3m 20s
  {path}:1

  │ [Layout] Which layout?
    ✔ Wide
      │ One column
    ○ Tall
      │ Two columns

  │ ✔ Wide                          │ ○ Tall
  │ +------+                        │ +--+
  │ | WIDE |                        │ |T |
  │ +------+                        │ +--+

  Answer: Wide; note: but blue

""".replace(f"  {path}:1", wrapped(f"{path}:1", 70)),
        "",
    )


def wrapped(text: str, columns: int) -> str:
    """A long name as the view breaks it."""
    rows, rest = [f"  {text[: columns - 2]}"], text[columns - 2 :]
    while rest:
        rows.append(f"  │ {rest[: columns - 4]}")
        rest = rest[columns - 4 :]
    return "\n".join(rows)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_row_is_wider_than_the_terminal(tmp_path: Path, columns: int) -> None:
    path = session(tmp_path, asks(given=LAYOUT), chose("Wide", question="Which layout?"), asks("toolu_2"))
    with Terminal("log", path, columns=columns, lines=60, captured=False) as terminal:
        terminal.process.wait(30)
        terminal.settles()
        assert "✔ Wide" in terminal.text
        assert b"\x1b[32m" in terminal.raw  # what was chosen is coloured
        drawn = "".join(piece.text for piece in pieces(terminal.raw.decode()) if piece.kind in ("text", "control"))
    assert max(len(row) for row in drawn.replace("\r", "").split("\n")) <= columns


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_left_out_where_nobody_wants_them(tmp_path: Path, env: dict[str, str]) -> None:
    path = session(tmp_path, asks(), chose("SQLite"))
    with Terminal("log", path, columns=80, captured=False, env=env) as terminal:
        terminal.process.wait(30)
        terminal.shows("✔ SQLite")
        assert b"\x1b" not in terminal.raw


def test_every_end_is_told_apart(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        *(asks(f"t{number}") for number in range(9)),
        chose("SQLite", "t0"),
        chose("my own", "t1"),
        chose("SQLite", "t2", annotations={"Which database?": {"notes": "n"}}),
        declines("t3", "not now"),
        answers("t4", "The user doesn't want to proceed with this tool use. STOP", is_error=True),
        answers("t5", toolUseResult={"answers": {}, "afkTimeoutMs": 60000}),
        answers("t6", "<tool_use_error>bad</tool_use_error>", is_error=True),
        answers("t7", "The user did not answer the questions."),
    )
    rows = askdesk("log", path).out.splitlines()
    ends = [rows[at + 1].strip().removesuffix(" after 3m 20s") for at, row in enumerate(rows) if " asked " in row]

    assert ends == [
        "answered",
        "answered in own words",
        "answered with a note",
        "declined",
        "interrupted",
        "timed out",
        "failed, without an answer",
        "not answered",
        "not answered",
    ]
    assert [call["ended"] for call in found(path)] == [
        *["answered"] * 3,
        *("declined", "interrupted", "expired", "refused", "unanswered", "unanswered"),
    ]


def test_programs_get_one_object_a_line(tmp_path: Path) -> None:
    path = session(tmp_path, asks(), chose("SQLite"))

    assert found(path) == [
        {
            "id": "toolu_1",
            "ended": "answered",
            "asked": "2026-03-01T09:30:00Z",
            "answered": "2026-03-01T09:33:20Z",
            "seconds": 200.0,
            "agent": "claude code",
            "parent": "",
            "project": "/srv/shop",
            "session": "s1",
            "source": "claude-code",
            "file": path,
            "line": 1,
            "questions": DATABASE["questions"],
            "answers": [{"chosen": ["SQLite"], "other": "", "note": ""}],
            "message": "",
            "problem": "",
            "input": None,
        }
    ]


def test_a_decision_record_has_the_decision_and_what_was_rejected(tmp_path: Path) -> None:
    notes = {"Which layout?": {"notes": "but blue"}}
    path = session(
        tmp_path,
        asks(given=LAYOUT),
        chose("Wide", question="Which layout?", annotations=notes),
        asks("toolu_2"),
        declines("toolu_2", "not now"),
    )

    about = "asked 2026-03-01 09:30:00 UTC, answered 2026-03-01 09:33:20 UTC (3m 20s)"
    assert (
        askdesk("log", "--md", path).out
        == f"""\
# Decisions

## Which layout?

Asked by claude code in shop, {about}; `{path}:1`.

**Decision: Wide**

Note:

> but blue

One column

```text
+------+
| WIDE |
+------+
```

**Rejected**

- Tall: Two columns

  ```text
  +--+
  |T |
  +--+
  ```


## Which database?

Asked by claude code in shop, {about}; `{path}:3`.

**No decision** (declined)

> not now

**Offered**

- SQLite: One file
- Postgres: A server

"""
    )


@pytest.mark.parametrize("text", ["[x](http://x)", "<b>x</b>", "# x", "1. x", "- x", "![x](y)", "`x`", "&lt;", "https://x.y",
                                  "a\n\n# b", "```\nx", "*x* _y_ ~z~ |w|", "    x", "===", "\\[x](y)"])  # fmt: skip
def test_no_text_makes_anything_but_text_in_a_decision_record(tmp_path: Path, text: str) -> None:
    given = tool.written(Questions([Question(f"Which {text}?", [Option(f"{text} a", text), Option("b", text)])]))
    path = session(tmp_path, asks(given={"questions": given}), chose(f"{text} own", question=f"Which {text}?"))
    record = askdesk("log", "--md", path).out
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(record)

    kinds = {token.type for token in tokens} | {inner.type for token in tokens for inner in token.children or ()}
    assert kinds <= {
        *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "text_special"),
        *("strong_open", "strong_close", "code_inline", "softbreak", "blockquote_open", "blockquote_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    }
    assert sum(token.type == "heading_open" for token in tokens) == 2


def test_hostile_texts_put_nothing_but_text_on_the_terminal(tmp_path: Path) -> None:
    lines = []
    for number, text in enumerate(PAYLOADS):
        given = {
            "questions": [
                {
                    "question": f"{text}?",
                    "header": text,
                    "options": [{"label": f"{text}1", "description": text, "preview": text}, {"label": "b"}],
                }
            ]
        }
        lines += [asks(f"t{number}", given), answers(f"t{number}", text, is_error=number % 2 == 0)]
    path = session(tmp_path, *lines)
    for option in ((), ("--md",), ("--json",)):
        ran = askdesk("log", *option, path)
        assert ran.code == 0
        assert [piece for piece in pieces(ran.out) if piece.kind != "text" and piece.text != "\n"] == []
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2028\u2029]", ran.out)


def test_words_projects_and_times_narrow_it_down(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    path = session(
        tmp_path,
        asks("old"),
        chose("SQLite", "old"),
        asks("new", at=now - timedelta(hours=1), cwd="/srv/api"),
        declines("new", "later", at=now),
        asks("layout", LAYOUT, at=now - timedelta(minutes=5)),
    )

    assert ids(path) == ["old", "new", "layout"]
    assert ids(path, "--text", "lay") == ["layout"]
    assert ids(path, "--text", "is:answered sqlite") == ["old"]
    assert ids(path, "--text", "is:declined on:claude-code") == ["new"]
    assert ids(path, "--project", "api") == ids(path, "--project", "/srv/api") == ["new"]
    assert ids(path, "--since", "2h") == ["new", "layout"]
    assert ids(path, "--limit", "2") == ["new", "layout"]
    assert ids(path, "--limit", "1", "--project", "shop") == ["layout"]


def test_folders_are_searched_through_and_a_call_counts_once(tmp_path: Path) -> None:
    session(tmp_path, asks(), chose("SQLite"), name="one/a.jsonl")
    session(tmp_path, asks(), chose("SQLite"), name="one/copy/b.jsonl")
    session(tmp_path, asks("toolu_2", isSidechain=True, agentId="a1"), name="one/s1/subagents/agent-a1.jsonl")
    session(tmp_path, "{}", name="one/s1/subagents/agent-a1.meta.json")
    session(tmp_path, asks("toolu_3"), name="one/notes.txt")
    api = {"messages": [{"role": "assistant", "content": [{**json.loads(asks("toolu_4"))["message"]["content"][0]}]}]}
    session(tmp_path, json.dumps([api, api]), name="one/log.json")

    assert sorted(ids(str(tmp_path))) == ["toolu_1", "toolu_2", "toolu_4"]


def test_a_file_that_cannot_be_read_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    session(tmp_path, asks(), chose("SQLite"), name="a.jsonl")
    (tmp_path / "b.jsonl").symlink_to("/proc/self/mem")
    ran = askdesk("log", "--json", str(tmp_path))

    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert ran.err == f"askdesk: {tmp_path}/b.jsonl:0: Input/output error\n"


def test_without_a_path_the_transcripts_of_claude_code_are_read(tmp_path: Path) -> None:
    session(tmp_path, asks(), chose("SQLite"), name="config/projects/-srv-shop/s1.jsonl")
    session(tmp_path, asks("toolu_2"), name=".claude/projects/x/s2.jsonl")

    named = askdesk("log", "--json", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")})
    assert [json.loads(row)["id"] for row in named.out.splitlines()] == ["toolu_1"]
    assert ids() == ["toolu_2"]


def test_standard_input_is_a_log_too() -> None:
    ran = askdesk("log", "-", "--json", typed=asks() + chose("SQLite").rstrip("\n"))

    assert [(call["id"], call["file"]) for call in map(json.loads, ran.out.splitlines())] == [
        *(("toolu_1", "standard input"),),
    ]


def test_broken_lines_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = session(tmp_path, "not json\n", asks(), '{"half":\n', chose("SQLite"), asks("t2", {"questions": 7}))
    ran = askdesk("log", path, "--json")

    assert (ran.code, [json.loads(row)["ended"] for row in ran.out.splitlines()]) == (0, ["answered", "unanswered"])
    said = ran.err.splitlines()
    assert [row.split(": ")[1] for row in said] == [f"{path}:1", f"{path}:3", f"{path}:5"]
    assert said[2].endswith("a call breaks the rules: questions: must be an array, is 7")


def test_a_call_that_breaks_the_rules_is_shown_as_it_came(tmp_path: Path) -> None:
    path = session(tmp_path, asks(given={"questions": [{"question": "Only?", "options": ["one"]}]}))
    out = askdesk("log", path).out

    assert "This call breaks the rules: questions[0].options: needs 2-20, has 1" in out
    assert "Only?" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.jsonl",), "nowhere.jsonl: there is no such file or folder"),
        (("--json", "--md", "."), "give one of --json and --md"),
        (("--import", "--json", "."), "--import prints how many; give it without --json and --md"),
        ((), ".claude/projects: Claude Code keeps no transcripts here; name files or folders"),
        (("--since", "soon"), "needs a time span like 90s, 10m, 2h or 3d, got 'soon'"),
        (("--limit", "0"), "needs a number from 1 to 1000000, got '0'"),
        (
            ("--import", ".", "--store", "https://desk.example"),
            "import where the desk is kept, not through https://desk.example",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], says: str) -> None:
    ran = askdesk("log", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.rstrip().endswith(says)


def test_where_nothing_is_found_that_is_told_away_from_the_result(tmp_path: Path) -> None:
    path = session(tmp_path, "{}\n")

    assert askdesk("log", path) == Ran(0, "", "askdesk: no calls of AskUserQuestion found\n")
    assert askdesk("log", path, "--json") == Ran(0, "", "askdesk: no calls of AskUserQuestion found\n")


def following(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ASKDESK, "log", "--follow", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    )


def ended(process: subprocess.Popen[str]) -> Ran:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return Ran(process.returncode, out, err)


def test_a_live_file_is_followed_also_where_a_line_comes_in_pieces_and_a_new_file_comes(tmp_path: Path) -> None:
    path = Path(session(tmp_path, asks(), chose("SQLite")))
    process = following(str(tmp_path), "--json")
    assert process.stdout
    assert json.loads(process.stdout.readline())["id"] == "toolu_1"
    late = asks("toolu_2")
    with path.open("a") as file:
        file.write(late[:50])
        file.flush()
        file.write(late[50:])
        file.flush()
        file.write(chose("Postgres", "toolu_2"))
    assert json.loads(process.stdout.readline())["answers"] == [{"chosen": ["Postgres"], "other": "", "note": ""}]
    session(tmp_path, asks("toolu_3"), chose("SQLite", "toolu_3"), name="new/later.jsonl")
    assert json.loads(process.stdout.readline())["id"] == "toolu_3"
    path.write_text(asks("toolu_4") + chose("SQLite", "toolu_4"))  # begun anew
    assert json.loads(process.stdout.readline())["id"] == "toolu_4"

    assert ended(process) == Ran(0, "", "")


def test_whoever_follows_hears_that_a_question_waits(tmp_path: Path) -> None:
    path = Path(session(tmp_path, asks("old"), asks(), chose("SQLite")))
    process = following(str(path), "--json")
    assert process.stdout
    assert json.loads(process.stdout.readline())["id"] == "toolu_1"
    with path.open("a") as file:
        file.write(asks("toolu_2", LAYOUT))
    assert process.stderr
    assert process.stderr.readline() == "askdesk: waits for an answer: Which layout?\n"

    assert ended(process) == Ran(0, "", "")


def test_imported_calls_are_in_the_history_with_their_own_times_each_once(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        *(asks(), chose("SQLite")),
        *(asks("t2"), declines("t2", "not now")),
        *(asks("t3"), answers("t3", "<tool_use_error>bad</tool_use_error>", is_error=True)),
        asks("t4"),
        asks("t5", {"questions": []}),
    )
    why = "1 that break the rules, 1 that failed, 1 without an answer"
    first, again = (askdesk("log", "--import", path) for _ in range(2))

    assert (first.code, first.out) == (0, f"imported 2, there already 0, left out 3: {why}\n")
    assert again.out == f"imported 0, there already 2, left out 3: {why}\n"
    entries = kept_asks()
    assert [(entry.ask.key, entry.ask.created, entry.ask.asker) for entry in entries] == [
        (key, ASKED, Asker("claude code", "s1", "/srv/shop")) for key in ("toolu_1", "t2")
    ]
    settlements = [entry.settlement for entry in entries if entry.settlement]
    later = ASKED + timedelta(minutes=3, seconds=20)
    assert [(one.outcome, one.at, one.by, one.surface) for one in settlements] == [
        (Answered([Answer(["SQLite"])]), later, "", "claude-code"),
        (Declined("not now"), later, "", "claude-code"),
    ]
    listed = askdesk("list", "--settled", "--text", "sqlite is:answered").out
    assert "answered on claude-code: Which database?" in listed


def test_a_call_that_came_through_the_desk_is_not_doubled(tmp_path: Path) -> None:
    ask = posted(tool.parse(DATABASE), asker=Asker("claude code", project="/srv/shop"), key="toolu_1")
    settled(ask, Declined("talk first"))
    path = session(tmp_path, asks(), chose("SQLite"))

    assert askdesk("log", "--import", path).out == "imported 0, there already 1, left out 0\n"
    (entry,) = kept_asks()
    assert entry.settlement
    assert (entry.ask.id, entry.settlement.outcome) == (ask.id, Declined("talk first"))


def test_an_open_ask_of_the_desk_is_left_to_those_who_answer_it(tmp_path: Path) -> None:
    ask = posted(tool.parse(DATABASE), asker=Asker("claude code", project="/srv/shop"), key="toolu_1")
    askdesk("log", "--import", session(tmp_path, asks(), chose("SQLite")))

    assert [(entry.ask.id, entry.settlement) for entry in kept_asks()] == [(ask.id, None)]


def test_an_id_that_names_two_calls_gives_two_asks(tmp_path: Path) -> None:
    lines = (asks("call_0"), chose("SQLite", "call_0"), asks("call_0", LAYOUT), declines("call_0", "no"))
    path = session(tmp_path, *lines)

    assert askdesk("log", "--import", path).out == "imported 2, there already 0, left out 0\n"
    assert askdesk("log", "--import", path).out == "imported 0, there already 2, left out 0\n"
    assert [entry.ask.questions[0].text for entry in kept_asks()] == ["Which database?", "Which layout?"]


def test_a_followed_log_is_imported_as_it_grows(tmp_path: Path) -> None:
    path = Path(session(tmp_path, asks(), chose("SQLite")))
    process = following(str(path), "--import")
    store = Path(os.environ["ASKDESK_STORE"])
    until(lambda: store.exists() and len(kept_asks()) == 1)
    with path.open("a") as file:
        file.write(asks("toolu_2") + chose("SQLite", "toolu_2"))
    until(lambda: len(kept_asks()) == 2)

    assert ended(process).out == "imported 2, there already 0, left out 0\n"


def test_an_agent_does_not_import(tmp_path: Path) -> None:
    path = session(tmp_path, asks(), chose("SQLite"))
    refused = askdesk("log", "--import", path, env={"CLAUDECODE": "1"})

    assert (refused.code, refused.out, kept_asks()) == (2, "", [])
    assert askdesk("log", "--import", "--force", path, env={"CLAUDECODE": "1"}).code == 0
    assert len(kept_asks()) == 1


def test_a_long_reading_shows_how_far_it_is_and_leaves_no_trace(tmp_path: Path) -> None:
    filler = line("user", {"type": "text", "text": "x" * 100_000})
    path = session(tmp_path, asks(), *[filler] * 50, chose("SQLite"))
    slow = f"{path}.fifo.jsonl"
    os.mkfifo(slow)
    with Terminal("log", slow, columns=80, captured=False) as terminal:
        with open(slow, "w") as fifo:
            for part in (asks(), *[filler] * 100):
                fifo.write(part)
            fifo.flush()
            opens = datetime.now(UTC) + timedelta(seconds=0.8)
            until(lambda: datetime.now(UTC) > opens)
            for part in (*[filler] * 100, chose("SQLite")):
                fifo.write(part)
        terminal.shows("✔ SQLite")
        terminal.process.wait(30)
        terminal.settles()
        assert "%" in terminal.raw.decode()
        assert "%" not in terminal.text


def test_ctrl_c_in_a_long_reading_leaves_no_mess(tmp_path: Path) -> None:
    slow = str(tmp_path / "slow.jsonl")
    os.mkfifo(slow)
    with Terminal("log", slow, columns=80, captured=False) as terminal, open(slow, "w") as fifo:
        fifo.write(asks())
        fifo.flush()
        while terminal.process.poll() is None:  # in the instant before it reads, Python hears of it only with the next
            terminal.press("ctrl+c")
            with suppress(subprocess.TimeoutExpired):
                terminal.process.wait(5)
        assert terminal.process.returncode == 1
        terminal.settles()
        assert "Traceback" not in terminal.text
        assert "stopped" in terminal.text
