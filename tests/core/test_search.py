"""What an entry is found by, and how a query is read."""

import re
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askdesk.core.desk import Desk
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
from askdesk.core.search import Wanted, matches, query, terms
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import NOON
from askdesk.testing.store_contract import HOSTILE_TEXTS

WHICH = Questions([Question("Which database?", [Option("SQLite", "One file", "*.db"), "Postgres"], header="Data")])
CALL = Permission(
    "Bash",
    '{"command": "rm -r \\u0062uild\\nls", "timeout": 1.50e3, "more": [{"deep": [true, null, 7]}]}',
    "/srv/app",
    "tidies up",
    ['{"rule": "hidden"}'],
)
BUILDER = Asker("builder")
KEPT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
TOKEN = re.compile("[a-z0-9\u0080-\U0010ffff]+")  # what FTS5's ascii tokenizer leaves whole and as it is


def entry(body: Questions | Permission = WHICH, outcome: Outcome | None = None, asker: Asker = BUILDER) -> Entry:
    ask = Ask("1", body, asker, NOON)
    return Entry(ask, Settlement(outcome, NOON, "one", "ana", "page") if outcome else None)


def saying(text: str) -> Entry:
    """An entry with this text in it."""
    return entry(Permission("Bash", {"command": text}))


def found(text: str, where: Entry) -> bool:
    return matches(where, query(text))


def words(where: Entry) -> set[str]:
    return {term for term in terms(where) if "·" not in term}


def test_an_open_ask_is_found_by_everything_in_it() -> None:
    asker = Asker("builder", "s-1", "web", "main")
    asked = "which database data sqlite one file db postgres"
    assert " ".join(terms(entry(asker=asker))) == (
        f"·agent·builder ·project·web ·is·questions ·is·open builder web s 1 main {asked}"
    )


def test_a_permission_is_found_by_its_input_without_what_json_adds_and_without_what_was_not_shown() -> None:
    assert [term for term in terms(entry(CALL)) if "·" in term] == [
        "·agent·builder",
        "·project·",
        "·tool·bash",
        "·is·permission",
        "·is·open",
    ]
    called = {"bash", "srv", "app", "tidies", "up", "command", "rm", "r", "build", "ls", "timeout", "more", "deep"}
    assert words(entry(CALL)) == {"builder", *called, "1", "50e3", "7"}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Answered([Answer(["SQLite"], note="Be quick"), None, Answer(other="Own words")]), "sqlite be quick own words"),
        (Declined("Let us talk", (Answer(["Postgres"]), None)), "let us talk postgres"),
        (Allowed(), ""),
        (Allowed('{"command": "ls"}', ('{"rule": "hidden"}',)), "command ls"),
        (Denied("Never", redirect="Do this"), "never do this"),
        (Withdrawn("No more"), "no more"),
        (Expired(), ""),
    ],
)
def test_a_settled_ask_is_found_by_what_was_said_by_whom_and_where(outcome: Outcome, said: str) -> None:
    kind = type(outcome).__name__.lower()
    settled = entry(outcome=outcome)
    assert set(terms(settled)) - set(terms(entry())) - {"·is·settled"} == {
        *{f"·is·{kind}", "·by·ana", "·on·page", "ana", "page"},
        *(set(said.split()) - words(entry())),
    }
    assert set(said.split()) <= words(settled)
    assert set(terms(entry())) - set(terms(settled)) == {"·is·open"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        (" \n", []),
        ("!!! -- ()", []),
        ("data base", ["data*", "base*"]),
        ("Café CAFE cafe\u0301", ["cafe*"]),
        ('"new service"', ["new*", "service*"]),
        ('"new by:ana', ["new*", "by*", "ana*"]),
        ("colour:red", ["colour*", "red*"]),
        ('colour:"dark red" x', ["colour*", "dark*", "red*", "x*"]),
        ("https://by.example/on:x", ["https*", "by*", "example*", "on*", "x*"]),
        ("-x", ["x*"]),
        ("snake_case", ["snake*", "case*"]),
        ("数字で", ["数*", "字*", "て*"]),
        ("한글", [normalize("NFKD", "한글") + "*"]),
        ("x²½", ["x21*", "2*"]),
        ("agent:Builder", ["·agent·builder"]),
        ("AGENT:builder agent:BUILDER", ["·agent·builder"]),
        ('project:"new service"', ["·project·new·20·service"]),
        ('project:"new service', ["·project·new·20·service"]),
        ("project:/srv/a_b·c", ["·project··2f·srv·2f·a·5f·b·b7·c"]),
        ("tool:Bash,x", ["·tool·bash·2c·x"]),
        ("by:", ["·by·"]),
        ('by:"" on:', ["·by·", "·on·"]),
        ('on:page"x"', ["·on·page·22·x·22·"]),
        ("by:\0\ud800", ["·by··0··d800·"]),
        ("by:cafe\u0301 by:café", ["·by·café"]),
        ("is:what", ["·is·what"]),
    ],
)
def test_a_query_is_words_and_fields(text: str, wanted: list[str]) -> None:
    assert [term if whole else f"{term}*" for term, whole in query(text)] == wanted


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("which", True),
        ("DATAB", True),
        ("base", False),
        ("databases", False),
        ("file one", True),
        ("file two", False),
        ("agent", False),
        ("open", False),
        ("is:open", True),
        ("is:questions which", True),
        ("is:questions what", False),
        ("agent:build", False),
        ("agent:builder is:permission", False),
        ("tool:", False),
        ('project:""', True),
    ],
)
def test_everything_in_a_query_must_be_there(text: str, is_found: bool) -> None:
    assert found(text, entry()) == is_found


def test_of_a_word_the_first_hundred_characters_count() -> None:
    there = saying("x" * 150)
    assert [found("x" * length, there) for length in (1, 99, 100, 101, 5000)] == [True] * 5
    assert not found("x" * 99 + "y", there)
    assert max(map(len, terms(there))) == 100


def test_of_a_value_every_character_counts() -> None:
    long = "/srv/" + "x" * 5000
    there = entry(asker=Asker(project=long))
    assert found(f"project:{long.upper()}", there)
    assert not found(f"project:{long}x", there)
    assert not found(f"project:{long[:-1]}", there)
    assert max(map(len, terms(there))) <= 100


def test_of_a_query_the_first_fifty_terms_count() -> None:
    fifty = " ".join(f"w{number}" for number in range(50))
    assert query(f"{fifty} W0 w1 and:more") == query(fifty) == tuple(Wanted(f"w{n}", False) for n in range(50))


@given(st.text() | st.lists(st.sampled_from([*HOSTILE_TEXTS, " ", '"', "is:", ":"])).map("".join))
@example("".join(map(chr, range(0x3000))))
def test_whatever_a_query_is_it_becomes_whole_tokens(text: str) -> None:
    wanted = query(text)
    assert [term for term, _ in wanted if not TOKEN.fullmatch(term)] == []
    assert len(set(wanted)) == len(wanted) <= 50
    matches(entry(), wanted)


@given(KEPT, KEPT.filter(str.strip))
@example("".join(map(chr, range(1, 0x3000))), "·")
def test_whatever_an_entry_holds_it_becomes_whole_tokens(text: str, by: str) -> None:
    there = Entry(saying(text).ask, Settlement(Denied(text), NOON, "one", by, text))
    assert [term for term in terms(there) if not TOKEN.fullmatch(term)] == []
    assert len(set(terms(there))) == len(terms(there))


@given(KEPT)
@example("ΑΙ\u0345 ŉ ǰ İstanbul ﬀ Ω K Å ẞ 数字で ไทย हिन्दी 한글 x²")
def test_an_entry_is_found_by_its_own_text(text: str) -> None:
    plain = text.replace(":", " ").replace('"', " ")  # or it would be read as fields
    assert found(plain, saying(text))


@given(KEPT, KEPT)
@example("a b", "a\u00b720\u00b7b")
@example("x" * 101, "x" * 102)
@example("\u00b7", "\u0387")
def test_two_values_are_one_only_if_their_case_alone_differs(one: str, other: str) -> None:
    one, other = one.replace('"', ""), other.replace('"', "")
    same = normalize("NFC", one).casefold() == normalize("NFC", other).casefold()
    assert (query(f'project:"{one}"') == query(f'project:"{other}"')) == same
    assert found(f'project:"{other}"', entry(asker=Asker(project=one))) == same


@pytest.mark.anyio
async def test_a_desk_lists_what_matches() -> None:
    desk = Desk(MemoryStore())
    asks = [await desk.post(CALL if number % 2 else WHICH) for number in range(120)]
    page = await desk.page("open", limit=2, text="which data")
    assert [shown.ask for shown in page.entries] == [asks[0], asks[2]]
    assert [shown.ask async for shown in desk.each("open", text="tool:bash")] == asks[1::2]
    assert [shown.ask async for shown in desk.each("open", text="tidies", newest=True)] == asks[::-2]
    assert [shown.ask async for shown in desk.each("settled", text="which")] == []
