"""Records: version 1, read forgivingly within it, and an error instead of a guess for everything else."""

import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core.errors import StoreCorrupt, StoreTooNew
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Option,
    Outcome,
    Permission,
    Question,
    Questions,
    Settlement,
    Withdrawn,
)
from askdesk.wire import record, tool

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
QUESTIONS = Questions(
    [
        Question("Which database?", [Option("Postgres", "big", "```\n+--+\n```"), "SQLite"], header="Database"),
        Question("Which features?", ["Red, green", 'Say "hi"'], multi_select=True),
        Question("How many?", kind="number", default="3", minimum=1, maximum=10),
    ],
    source="remember",
    received='[{"header": "H"}]',
    warnings=("questions[0].x: is not a field: dropped",),
)
ASKER = Asker("builder", "session-1", "site", "planner", "box", 42)
ASK = Ask("ask-1", QUESTIONS, ASKER, NOW, "key-1", NOW + timedelta(hours=1), "markdown", "ask-0")
SMALL = Ask("ask-2", Questions([Question("Which?", ["a", "b"])]), Asker("builder"), NOW)
PERMISSION = Ask("ask-3", Permission("Bash", '{"a":  1}', "/srv/site", "claim", ['{"r":1}']), Asker("builder"), NOW)
OUTCOMES: list[Outcome] = [
    Answered([Answer(["Postgres"], note="é 😀"), None, Answer(other="7")]),
    Answered([Answer(["a", "b"], "mine", "note", multi_select=True)]),
    Declined("let us talk", (Answer(["SQLite"]), None, None), True),
    Declined(),
    Allowed(),
    Allowed('{"a":2}', ('{"r":1}',)),
    Denied("no", True, "do that"),
    Denied(),
    Expired(),
    Withdrawn("solved"),
    Withdrawn(),
]


def changed(text: str, **fields: Any) -> str:
    return json.dumps({**json.loads(text), **fields})


def test_a_record_is_one_line_that_begins_with_its_version() -> None:
    assert record.encode(SMALL) == (
        '{"v":1,"id":"ask-2","body":{"body":"questions","items":[{"text":"Which?","options":[{"label":"a"},'
        '{"label":"b"}]}]},"asker":{"agent":"builder"},"created":"2026-03-01T12:30:15.123456Z"}'
    )
    for text in (record.encode(ASK), record.encode(Settlement(Expired(), NOW, "s"))):
        assert text.startswith('{"v":1,')
        assert text.splitlines() == [text]


@pytest.mark.parametrize("ask", [ASK, SMALL, PERMISSION], ids=lambda ask: str(ask.id))
def test_an_ask_is_read_as_it_was_written(ask: Ask) -> None:
    assert record.decode_ask(record.encode(ask)) == ask


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_a_settlement_is_read_as_it_was_written(outcome: Outcome) -> None:
    settlement = Settlement(outcome, NOW, "submission-1", "ana", "terminal", "sha256:00")
    assert record.decode_settlement(record.encode(settlement)) == settlement
    bare = Settlement(outcome, NOW, "submission-1")
    assert record.decode_settlement(record.encode(bare)) == bare


def test_version_one_is_read_for_ever() -> None:
    written = (
        '{"v":1,"id":"a","body":{"body":"permission","tool":"Bash","input":"{}"},"asker":{"agent":"builder"},'
        '"created":"2026-03-01T12:00:00Z"}'
    )
    created = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert record.decode_ask(written) == Ask("a", Permission("Bash", "{}"), Asker("builder"), created)
    settled = (
        '{"v":1,"outcome":{"outcome":"answered","answers":[{"chosen":["a"]},null]},"at":"2026-03-01T12:00:00Z",'
        '"submission":"s"}'
    )
    assert record.decode_settlement(settled) == Settlement(Answered([Answer(["a"]), None]), created, "s")


def test_fields_of_later_versions_are_ignored_at_every_level() -> None:
    document = json.loads(record.encode(ASK))
    document["later"] = {"x": [1]}
    document["asker"]["later"] = 1
    document["body"]["later"] = None
    document["body"]["items"][0]["later"] = "x"
    document["body"]["items"][0]["options"][0]["later"] = 1.5
    assert record.decode_ask(json.dumps(document)) == ASK
    settlement = Settlement(Denied("no"), NOW, "s")
    settled = json.loads(record.encode(settlement))
    settled["later"] = settled["outcome"]["later"] = True
    assert record.decode_settlement(json.dumps(settled)) == settlement


def test_the_order_and_spacing_of_a_record_do_not_matter() -> None:
    document = json.loads(record.encode(ASK))
    assert record.decode_ask(json.dumps(dict(reversed(document.items())), indent=1)) == ASK


@pytest.mark.parametrize("version", [2, 3, 1000])
def test_a_newer_version_is_too_new_whatever_else_it_holds(version: int) -> None:
    why = f"a record has version {version}; this askdesk reads up to 1: upgrade it"
    for text in (
        changed(record.encode(ASK), v=version),
        f'{{"v":{version},"body":"another shape"}}',
        f'{{"v": {version}}}',
    ):
        with pytest.raises(StoreTooNew) as caught:
            record.decode_ask(text)
        assert str(caught.value) == why
        with pytest.raises(StoreTooNew):
            record.decode_settlement(text)


@pytest.mark.parametrize("outcome", ["approved", "Answered", "", None, 1])
def test_an_unknown_outcome_is_an_error_and_never_a_guess(outcome: object) -> None:
    text = record.encode(Settlement(Allowed(), NOW, "s"))
    with pytest.raises(StoreCorrupt):
        record.decode_settlement(changed(text, outcome={"outcome": outcome}))
    with pytest.raises(StoreCorrupt):
        record.decode_settlement(changed(text, outcome={}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"v":1}',
        '{"v":1,',
        '{"v":"1","id":"x"}',
        '{"v":1,"id":"\ufeff',
        record.encode(ASK)[:-1],
        record.encode(ASK) + "x",
        changed(record.encode(ASK), body={"body": "poem"}),
        changed(record.encode(ASK), id=5),
        changed(record.encode(ASK), created="yesterday"),
        changed(record.encode(ASK), preview_format="pdf"),
        changed(record.encode(ASK), body={"body": "questions", "items": []}),
        changed(record.encode(ASK), body={"body": "permission", "tool": "Bash", "input": "not JSON"}),
        "[" * 100_000,
        '{"v":1,"x":' + "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_a_broken_record_is_corrupt(text: str) -> None:
    with pytest.raises(StoreCorrupt):
        record.decode_ask(text)


def test_a_record_with_half_a_character_is_corrupt() -> None:
    with pytest.raises(StoreCorrupt):
        record.decode_ask('{"v":1,"id":"\ud800"}')


def test_a_message_about_a_broken_record_is_short() -> None:
    with pytest.raises(StoreCorrupt) as caught:
        record.decode_ask("x" * 100_000)
    assert len(str(caught.value)) < 300


@settings(max_examples=150)
@given(st.text(max_size=40) | st.text(max_size=40).map('{{"v":1,{}'.format), st.integers(0, 400), st.text(max_size=3))
def test_no_text_at_all_gives_anything_but_a_record_or_a_store_error(text: str, at: int, inserted: str) -> None:
    whole = record.encode(ASK)
    for broken in (text, whole[:at] + inserted + whole[at:], whole[:at] + inserted + whole[at + 1 :]):
        with contextlib.suppress(StoreCorrupt, StoreTooNew):
            assert isinstance(record.decode_ask(broken), Ask)
        with contextlib.suppress(StoreCorrupt, StoreTooNew):
            assert isinstance(record.decode_settlement(broken), Settlement)


def test_an_entry_is_plain_json_for_programs() -> None:
    settlement = Settlement(Expired(), NOW, "s")
    ask = {
        "v": 1,
        "id": "ask-2",
        "body": {"body": "questions", "items": [{"text": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]},
        "asker": {"agent": "builder"},
        "created": "2026-03-01T12:30:15.123456Z",
    }
    settled = {"v": 1, "outcome": {"outcome": "expired"}, "at": "2026-03-01T12:30:15.123456Z", "submission": "s"}
    assert record.plain(Entry(SMALL, settlement)) == {"ask": ask, "settlement": settled}
    assert record.plain(Entry(SMALL)) == {"ask": ask, "settlement": None}


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(max_examples=100)
@given(WORDS, WORDS, WORDS, st.booleans())
def test_parsed_questions_survive_a_record_and_give_the_same_result(
    words: str, description: str, header: str, multi_select: bool
) -> None:
    given = {
        "questions": [
            {
                "multiSelect": multi_select,
                "question": f"Q{words}?",
                "options": [
                    {"description": description, "label": f"a{words}", "preview": words},
                    {"label": f"b{words}", "description": ""},
                ],
                "header": header,
            }
        ]
    }
    questions = tool.parse(given)
    ask = Ask("ask-1", questions, Asker("builder"), NOW)
    kept = record.decode_ask(record.encode(ask))
    assert kept == ask
    assert isinstance(kept.body, Questions)
    outcome = Answered([Answer.choose(questions.items[0], 1)])
    assert tool.result(kept.body, outcome) == tool.result(questions, outcome)
    assert json.dumps(tool.result(kept.body, outcome)["questions"]) == json.dumps(given["questions"])
