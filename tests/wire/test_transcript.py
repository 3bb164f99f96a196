"""Transcripts of several versions and logs of many shapes: each call once, with its answer, and nothing is fatal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core.model import (
    Answer,
    Answered,
    Asker,
    Declined,
    Expired,
    Option,
    Outcome,
    Permission,
    Question,
    Questions,
    Withdrawn,
)
from askdesk.core.text import is_blank
from askdesk.wire import tool
from askdesk.wire.call_record import plain
from askdesk.wire.ending import Ending, Interrupted, Refused, Result, Told, Unanswered, ending
from askdesk.wire.transcript import LONGEST, Call, Flaw, Log, Place

DB: dict[str, Any] = {
    "questions": [
        {
            "question": "Which db?",
            "header": "DB",
            "options": [
                {"label": "Postgres", "description": "A server"},
                {"label": "SQLite", "description": "A file", "preview": "one.db"},
            ],
            "multiSelect": False,
        }
    ]
}
TWO: dict[str, Any] = {
    "questions": [
        *DB["questions"],
        {
            "question": "Which parts?",
            "header": "Parts",
            "options": [{"label": label, "description": ""} for label in ("Auth", "Cache, fast", "Logs")],
            "multiSelect": True,
        },
    ]
}
NINE = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SQLITE = Answered([Answer(["SQLite"])])
TOLD = 'Your questions have been answered: "Which db?"="SQLite". You can now continue with these answers in mind.'
CAREFUL = (
    " Read the answers carefully — they may request clarification, changes, or that you not proceed — "
    "and follow what they actually say."
)
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)


def use(call_id: str = "toolu_1", questions: object = DB, name: str = "AskUserQuestion") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": questions}


def result(content: object = TOLD, call_id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(role: str, *blocks: object) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def line(kind: str, *blocks: object, minute: int = 0, **more: Any) -> dict[str, Any]:
    """A line of a transcript."""
    return {
        "type": kind,
        "message": said(kind, *blocks),
        "sessionId": "s1",
        "cwd": "/srv/shop",
        "timestamp": f"2026-03-01T09:{minute:02}:00.000Z",
        **more,
    }


def denied(words: str, call_id: str = "toolu_1") -> dict[str, Any]:
    return line("user", result(words, call_id, is_error=True), toolDenialKind="permission-rule")


def read(*records: object, log: Log | None = None, name: str = "log.jsonl") -> list[Call]:
    """What is found in these lines; those without an answer last."""
    log = log or Log()
    reader = log.file(name)
    lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    calls = [call for one in lines for call in reader.feed(one)]
    reader.end()
    return [*calls, *log.rest()]


def the_end(*records: object) -> Ending | None:
    (call,) = read(*records)
    return call.ended


def test_a_call_is_paired_with_its_answer_in_a_later_line() -> None:
    asked = line("assistant", {"type": "text", "text": "hm"}, use())
    other = line("user", result("unrelated", "toolu_9"), minute=1)

    assert read(asked, other, line("user", result(), minute=3)) == [
        Call(
            "toolu_1",
            tool.parse(DB),
            Asker("claude code", "s1", "/srv/shop"),
            Place("log.jsonl", 1),
            "claude-code",
            NINE,
            NINE + timedelta(minutes=3),
            SQLITE,
        )
    ]


def test_a_call_knows_how_long_it_took_and_what_a_desk_would_keep() -> None:
    (call,) = read(line("assistant", use()), line("user", result(), minute=3))

    assert call.took == timedelta(minutes=3)
    assert call.entry.settlement is not None
    assert (call.entry.ask.created, call.entry.settlement.at, call.entry.settlement.outcome) == (
        *(NINE, NINE + timedelta(minutes=3), SQLITE),
    )


@pytest.mark.parametrize(
    ("structure", "ended"),
    [
        ({"answers": {"Which db?": "SQLite"}}, SQLITE),
        ({"answers": {"Which db?": ["SQLite"]}}, SQLITE),
        ({"answers": {"Which db?": "my own"}, "annotations": {}}, Answered([Answer(other="my own")])),
        (
            {"answers": {"Which db?": "(notes only)"}, "annotations": {"Which db?": {"notes": "n"}}},
            Answered([Answer(note="n")]),
        ),
        ({"answers": {}, "response": "let us talk"}, Declined("let us talk")),
        (
            {"answers": {"Which db?": "SQLite"}, "followUp": True},
            Declined("The user asked for more questions before you proceed.", SQLITE.answers),
        ),
        ({"answers": {}, "afkTimeoutMs": 60000}, Expired()),
        ({"answers": {}}, Unanswered("The user did not answer the questions.")),
        ({"answers": {"Nope?": "SQLite"}}, Unanswered("The user did not answer the questions.")),
        ("User has answered", SQLITE),  # not a structure: the text is read
        ({"answers": 7}, SQLITE),
    ],
)
def test_the_structure_beside_a_result_says_what_was_answered(structure: object, ended: Ending) -> None:
    assert the_end(line("assistant", use()), line("user", result(), toolUseResult=structure)) == ended


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        (TOLD, SQLITE),
        ('User has answered your questions: "Which db?"="SQLite". You can now continue with the user\'s answers in '
         "mind.", SQLITE),
        ('Your questions have been answered: "Which db?"="SQLite" selected preview:\none.db. You can now continue '
         "with these answers in mind.", SQLITE),
        (f'The user answered: "Which db?"="SQLite" selected preview:\none.db notes: v3.{CAREFUL}',
         Answered([Answer(["SQLite"], note="v3")])),
        (f'The user answered: "Which db?"=(no option selected) notes: neither.{CAREFUL}',
         Answered([Answer(note="neither")])),
        (f'The user answered: "Which db?"="use "Duck", please".{CAREFUL}',
         Answered([Answer(other='use "Duck", please')])),
        ("The user did not answer the questions.", Unanswered("The user did not answer the questions.")),
        ("The user responded: later", Declined("later")),
        ('The user asked for more questions before you proceed. So far they answered: "Which db?"="SQLite". Call '
         "AskUserQuestion again with follow-up questions that build on these answers (do not repeat these); do not "
         "start the task yet.", Declined("The user asked for more questions before you proceed.", SQLITE.answers)),
        ("No response after 60s — the user may be away from keyboard. Proceed using your best judgment.", Expired()),
        ("[Request interrupted by user for tool use]", Interrupted()),
        ("SQLite", SQLITE),
        ("whatever you think", Told("whatever you think")),
        ("SQLite, I think", Told("SQLite, I think")),
        ("Tool ran without output", Told("Tool ran without output")),
        ("Permission to use AskUserQuestion has been denied.", Told(
            "Permission to use AskUserQuestion has been denied.")),
        ("<tool_use_error>InputValidationError: [ ]</tool_use_error>", Refused("InputValidationError: [ ]")),
        ("", Unanswered()),
    ],
)  # fmt: skip
def test_the_text_of_a_result_says_what_was_answered(text: str, ended: Ending) -> None:
    assert the_end(said("assistant", use()), {"messages": [said("user", result(text))]}) == ended
    blocks = [{"type": "text", "text": text}]
    assert the_end(said("assistant", use()), {"messages": [said("user", result(blocks))]}) == ended


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("not now", Refused("not now")),
        ("", Refused()),
        ("PreToolUse:AskUserQuestion hook error: not now", Refused(
            "PreToolUse:AskUserQuestion hook error: not now")),
        ("Error: ENOSPC: no space left on device", Refused("ENOSPC: no space left on device")),
        ("Permission to use AskUserQuestion has been denied.", Refused(
            "Permission to use AskUserQuestion has been denied.")),
        (f"{REJECTED}STOP what you are doing and wait for the user to tell you how to proceed.", Interrupted()),
        (f"{REJECTED}To tell you how to proceed, the user said:\nuse Duck\nplease", Declined("use Duck\nplease")),
        ("<tool_use_error>InputValidationError: [ ]</tool_use_error>", Refused("InputValidationError: [ ]")),
        ("Tool permission request failed: Error: boom", Refused("Tool permission request failed: Error: boom")),
        ("The app reported that nobody answered this question, but …", Unanswered(
            "The app reported that nobody answered this question, but …")),
    ],
)  # fmt: skip
def test_an_error_is_the_hosts_unless_a_persons_words_are_in_it(text: str, ended: Ending) -> None:
    assert the_end(line("assistant", use()), line("user", result(text, is_error=True))) == ended


@pytest.mark.parametrize(
    "says", [{"toolDenialKind": "permission-rule"}, {"permissionDecision": {"decision": "reject"}}]
)
@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("not now", Declined("not now")),
        ("", Declined()),
        ("PreToolUse:AskUserQuestion hook error: not now", Declined("not now")),
        ("MCP server is the wrong word", Declined("MCP server is the wrong word")),
        ("<tool_use_error>bad</tool_use_error>", Refused("bad")),
        ("Permission to use AskUserQuestion has been denied because Claude Code is running in don't ask mode.", Refused(
            "Permission to use AskUserQuestion has been denied because Claude Code is running in don't ask mode.")),
    ],
)  # fmt: skip
def test_an_error_that_the_record_calls_a_denial_is_a_person_who_declined_but_for_a_rule(
    says: dict[str, Any], text: str, ended: Ending
) -> None:
    assert the_end(line("assistant", use()), line("user", result(text, is_error=True), **says)) == ended


@pytest.mark.parametrize(
    "outcome",
    [
        Answered([Answer(["SQLite"]), Answer(["Auth", "Cache, fast"], 'own, "words"', 'a "note"', True)]),
        Answered([None, Answer(other="own; note: x", multi_select=True)]),
        Declined('not "now"', (Answer(["SQLite"]), None)),
        Declined(),
        Expired(),
        Withdrawn("found it"),
    ],
)
def test_what_our_own_doors_tell_a_model_is_read_back(outcome: Outcome) -> None:
    told = tool.text(tool.parse(TWO), outcome)

    assert ending(tool.parse(TWO), Result(told)) == outcome
    structure = json.dumps(tool.result(tool.parse(TWO), outcome))
    assert not isinstance(outcome, Answered) or ending(tool.parse(TWO), Result(structure)) == outcome


def test_answers_that_could_be_read_in_two_ways_are_kept_whole() -> None:
    both = '"Which db?"="a", "Which db?"="b", "Which parts?"="Auth"'
    text = f"The user answered: {both}.{CAREFUL}"

    assert ending(tool.parse(TWO), Result(text)) == Told(both)


def test_a_call_without_an_answer_is_unanswered_at_the_end() -> None:
    assert the_end(line("assistant", use())) == Unanswered()


def test_older_versions_had_other_names_and_fewer_fields() -> None:
    old = {"questions": [{"question": "Which?", "header": "H", "options": [
        {"label": "A", "description": "a", "markdown": "# A"}, {"label": "B", "description": "b"}]}]}  # fmt: skip
    (call,) = read(
        line("assistant", use(questions=old)), line("user", result(), toolUseResult={"answers": {"Which?": ["A"]}})
    )

    assert call.body == Questions(
        [Question("Which?", [Option("A", "a", "# A"), Option("B", "b")], header="H")], warnings=call_warnings(call)
    )
    assert call.ended == Answered([Answer(["A"])])


def call_warnings(call: Call) -> tuple[str, ...]:
    return call.body.warnings if isinstance(call.body, Questions) else ()


def test_a_subagents_call_names_its_parent() -> None:
    about: dict[str, Any] = {"isSidechain": True, "agentId": "a1", "attributionAgent": "explorer"}
    inner = line("assistant", use(), **about)
    kept_inside = {**line("progress"), "data": {"message": {**inner, "sessionId": "s2"}}}
    expected = Asker("explorer", "s1", "/srv/shop", parent="claude code")

    assert [call.asker for call in read(inner)] == [expected]
    assert [call.asker.parent for call in read(kept_inside)] == ["claude code"]


def test_lines_of_a_transcript_that_repeat_what_was_said_do_not_count() -> None:
    blob = {"type": "api-request-blob", "sessionId": "s1", "message": said("user", result("earlier, without a time"))}

    (call,) = read(line("assistant", use()), blob, line("user", result(), minute=2))
    assert (call.ended, call.answered) == (SQLITE, NINE + timedelta(minutes=2))


def test_questions_that_a_host_changed_are_those_that_were_answered() -> None:
    changed = {"questions": TWO["questions"][1:], "answers": {"Which parts?": "Auth"}}
    (call,) = read(line("assistant", use()), line("user", result(), toolUseResult=changed))

    assert isinstance(call.body, Questions)
    assert [question.text for question in call.body.items] == ["Which parts?"]
    assert call.ended == Answered([Answer(["Auth"], multi_select=True)])


ASKED, DONE = said("assistant", use()), said("user", result())
STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hm"}},
    {"type": "content_block_start", "index": 1, "content_block": {**use(), "input": {}}},
    *(
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in (json.dumps(DB)[:50], json.dumps(DB)[50:])
    ),
    {"type": "message_stop"},
]
SSE = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in STREAM)
FIRST, SECOND = {"model": "m", "messages": []}, {"model": "m", "messages": [ASKED, DONE]}


@pytest.mark.parametrize(
    "records",
    [
        [{"request": FIRST, "response": ASKED}, {"request": SECOND, "response": said("assistant")}],
        [{"request": {"body": FIRST}, "response": {"body": ASKED}}, {"request": {"body": SECOND}, "response": {}}],
        [{"request": {"body": json.dumps(FIRST)}, "response": {"body": json.dumps(ASKED)}}, {"request": SECOND}],
        [{"request": FIRST, "response": {"body_raw": SSE}}, {"request": SECOND}],
        [{"request": FIRST, "response": {"body": SSE}}, {"request": SECOND}],
        [{"request": FIRST, "response": {"events": STREAM}}, {"request": SECOND}],
        [{"request": FIRST, "response": STREAM}, {"request": SECOND}],
        [{"request": FIRST, "response": [{"event": e["type"], "data": json.dumps(e)} for e in STREAM]}, SECOND],
        [{"body": FIRST, "url": "/v1/messages", "response": {"status": 200, "body": ASKED}}, {"body": SECOND}],
        [{"seq": 1, "t": "append", "msgs": [ASKED]}, {"seq": 2, "t": "append", "msgs": [DONE]}],
        [FIRST, ASKED, SECOND],
        [SECOND],
        [SECOND, SECOND, {"messages": [ASKED, DONE, said("user", {"type": "text", "text": "on"})]}],
    ],
)
def test_every_shape_that_logs_have_gives_the_call_once(records: list[Any]) -> None:
    """In lines, as one array, as an array laid out for people, and as objects over several lines."""
    spread = [piece for record in records for piece in (*json.dumps(record, indent=2).splitlines(), "---")]
    forms: list[Iterable[object]] = [
        records,
        [json.dumps(records).encode()],
        [one.encode() for one in json.dumps(records, indent=2).splitlines()],
        [one.encode() for one in spread],
    ]
    for form in forms:
        (call,) = read(*form)
        assert (call.body, call.ended, call.source) == (tool.parse(DB), SQLITE, "api log")


def test_a_log_says_when_it_was_asked_and_answered_and_in_which_session() -> None:
    user = {"user_id": "user_x_account__session_7339e977-c8c2-4eda-a156-bdd980fc70cf"}
    first = {
        "request": {"timestamp": 1772355600, "body": {**FIRST, "metadata": user}},
        "response": {"timestamp": 1772355605.5, "body": ASKED},
    }
    second = {"timestamp": "2026-03-01T09:02:00+00:00", "project": "shop", "body": {**SECOND, "metadata": user}}
    (call,) = read(first, second)

    assert (call.asked, call.answered) == (NINE + timedelta(seconds=5.5), NINE + timedelta(minutes=2))
    assert [one.asker.session for one in read(second)] == ["7339e977-c8c2-4eda-a156-bdd980fc70cf"]
    assert [(one.asker.project, one.took) for one in read(second)] == [("shop", timedelta(0))]


def test_a_resumed_session_in_another_file_is_no_second_call_and_may_hold_the_answer() -> None:
    log = Log()
    first = log.file("one")
    assert [*first.feed(json.dumps(line("assistant", use())).encode())] == []

    calls = read(line("assistant", use(), sessionId="s2"), line("user", result()), log=log, name="two")
    again = read(line("assistant", use(), sessionId="s3"), line("user", result()), log=log, name="three")

    assert [(call.place, call.ended) for call in calls] == [(Place("one", 1), SQLITE)]
    assert again == []


def test_an_id_that_a_model_uses_again_names_another_call() -> None:
    records = [line("assistant", use("call_0")), line("user", result(call_id="call_0"))]
    other = [line("assistant", use("call_0", TWO)), denied("not now", "call_0")]

    assert [call.ended for call in read(*records, *records, *other)] == [SQLITE, Declined("not now")]


def test_two_questions_at_once_are_answered_each_for_itself() -> None:
    asked = line("assistant", use("toolu_1"), use("toolu_2", TWO))
    replies = [denied("no", "toolu_2"), line("user", result(call_id="toolu_1"))]

    assert [(call.id, call.ended) for call in read(asked, *replies)] == [
        *(("toolu_2", Declined("no")), ("toolu_1", SQLITE)),
    ]


def test_a_call_that_breaks_the_rules_is_shown_as_it_came_and_named() -> None:
    log = Log()
    (call,) = read(line("assistant", use(questions={"questions": []})), line("user", result()), log=log)

    assert call.body == Permission("AskUserQuestion", {"questions": []})
    assert (call.problem, call.ended, call.outcome) == ("questions: needs 1-20, has 0", Told(TOLD_ALONE), None)
    assert log.flaws == [Flaw(Place("log.jsonl", 1), f"a call breaks the rules: {call.problem}")]


TOLD_ALONE = '"Which db?"="SQLite"'


@pytest.mark.parametrize("broken", [None, 7, "text", [], "[1", {"questions": "\0"}, {"questions": [{"a": "\ud800"}]}])
def test_no_input_of_a_call_is_fatal(broken: object) -> None:
    (call,) = read(line("assistant", use(questions=broken)), denied("no"))

    assert isinstance(call.body, Permission)
    assert (bool(call.problem), call.ended) == (True, Declined("no"))
    json.dumps(plain(call))


def test_broken_lines_are_counted_and_named_and_the_rest_is_read() -> None:
    log = Log()
    half = json.dumps(line("assistant", use("toolu_2"))).encode()[:-30]
    calls = read(b"not json", line("assistant", use()), b'{"a": }', half, b"\xff\xfe", line("user", result()), log=log)
    assert [call.ended for call in calls] == [SQLITE]
    assert [flaw.place.line for flaw in log.flaws] == [1, 3, 4, 5]
    assert (log.flaw_count, log.lines) == (4, 6)


def test_an_object_over_several_lines_that_does_not_end_is_named_where_it_began() -> None:
    log = Log()

    assert read(b"{", b'  "a": 1,', log=log) == []
    assert log.flaws == [Flaw(Place("log.jsonl", 1), "an object that does not end")]


def test_of_many_broken_lines_the_first_are_named_and_all_are_counted() -> None:
    log = Log()
    read(*[b"x"] * 1000, log=log)

    assert (len(log.flaws), log.flaw_count) == (20, 1000)


def test_a_line_with_half_a_character_is_read_all_the_same() -> None:
    asked = json.dumps(line("assistant", {"type": "text", "text": "\ud83d"}, use())).encode()
    log = Log()

    assert [call.ended for call in read(asked, line("user", result()), log=log)] == [SQLITE]
    assert log.flaws == []


def test_an_object_that_is_too_long_is_named_and_let_go() -> None:
    log = Log()
    piece = b" " * (LONGEST // 4)

    assert read(b"{", piece, piece, piece, piece, b"}", line("assistant", use()), line("user", result()), log=log)
    assert log.flaws[0] == Flaw(Place("log.jsonl", 1), f"an object of more than {LONGEST} bytes")


def test_only_open_calls_are_kept() -> None:
    log = Log()
    reader = log.file("log")
    for number in range(1000):
        for record in (line("assistant", use(f"t{number}")), line("user", result(call_id=f"t{number}"))):
            assert len(list(reader.feed(json.dumps(record).encode()))) == (record["type"] == "user")

    assert (list(log.open), reader._here, reader._watched) == ([], {}, {})


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_are_fatal(lines: list[bytes]) -> None:
    read(*lines)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "id", "input", "content", "message", "messages", "request", "response", "body"]
            )
            | st.sampled_from(
                ["tool_use_id", "questions", "sessionId", "data", "timestamp", "metadata", "delta", "index"]
            ),
            inner
            | st.sampled_from(["tool_use", "tool_result", "AskUserQuestion", "assistant", "user", "progress", "x"]),
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(st.lists(JSON, max_size=4), JSON, JSON)
@settings(max_examples=300)
def test_no_record_is_fatal(records: list[Any], inside: Any, structure: Any) -> None:
    blocks = [use(questions=inside), result(inside), use(questions=DB), result(structure)]
    shapes = [line("assistant", *blocks), line("user", *blocks, toolUseResult=structure), {"messages": blocks}]
    marked = [{"AskUserQuestion": "tool_use", "response": record, "messages": record} for record in records]
    for call in read(*records, *marked, *shapes):
        assert call.entry.ask.id == call.id
        json.dumps(plain(call))


def claudes_text(questions: Questions, answers: tuple[Answer | None, ...]) -> str:
    """What Claude Code tells the model, by the rule of its version 2.1.325."""
    parts = []
    for question, answer in zip(questions.items, answers, strict=True):
        if answer is None:
            continue
        text = f'"{answer.text}"' if answer.text else "(no option selected)"
        preview = next((o.preview for o in question.options if [o.label] == list(answer.chosen) and o.preview), "")
        shown = f" selected preview:\n{preview}" if preview and not question.multi_select else ""
        parts.append(f'"{question.text}"={text}{shown}{f" notes: {answer.note}" if answer.note else ""}')
    said = ", ".join(parts)
    if any(answer and (answer.other or answer.note) for answer in answers):
        return f"The user answered: {said}.{CAREFUL}"
    return f"Your questions have been answered: {said}. You can now continue with these answers in mind."


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12).filter(
    lambda text: not is_blank(text)
)


@st.composite
def answered_questions(draw: st.DrawFn) -> tuple[Questions, tuple[Answer | None, ...]]:
    """Any questions, each with some of its very labels chosen, or left blank."""
    items = []
    answers: list[Answer | None] = []
    for number in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(WORDS, min_size=2, max_size=4, unique_by=lambda text: " ".join(text.split()).casefold()))
        options = [Option(label, preview=draw(st.none() | WORDS)) for label in labels]
        try:
            question = Question(f"{number}. {draw(WORDS)}?", options, multi_select=draw(st.booleans()))
        except ValueError:
            continue
        most = len(labels) if question.multi_select else 1
        chosen = draw(st.lists(st.sampled_from(labels), min_size=1, max_size=most, unique=True))
        items.append(question)
        answers.append(None if draw(st.booleans()) and any(answers) else question.fit(Answer(chosen)))
    if not items:
        items, answers = [Question("Q?", ["a", "b"])], [Answer(["a"])]
    return Questions(items), tuple(answers)


@given(answered_questions())
def test_choices_survive_the_way_through_the_text_unless_it_could_be_read_in_two_ways(
    asked: tuple[Questions, tuple[Answer | None, ...]],
) -> None:
    questions, answers = asked
    ended = ending(questions, Result(claudes_text(questions, answers)))

    assert ended == Answered(answers) or isinstance(ended, Told)
    texts = "".join(o.label + (o.preview or "") for question in questions.items for o in question.options)
    assert not ('"' not in texts and isinstance(ended, Told))


def test_the_fields_for_programs_are_these() -> None:
    (call,) = read(line("assistant", use()), line("user", result(), minute=1))

    assert plain(call) == {
        "id": "toolu_1",
        "ended": "answered",
        "asked": "2026-03-01T09:00:00Z",
        "answered": "2026-03-01T09:01:00Z",
        "seconds": 60.0,
        "agent": "claude code",
        "parent": "",
        "project": "/srv/shop",
        "session": "s1",
        "source": "claude-code",
        "file": "log.jsonl",
        "line": 1,
        "questions": DB["questions"],
        "answers": [{"chosen": ["SQLite"], "other": "", "note": ""}],
        "message": "",
        "problem": "",
        "input": None,
    }
