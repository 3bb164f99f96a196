"""The store and shelf contracts as rules that any store can be held to, also a third party's.

Each rule is an async function named as a sentence. It takes `reopen`, which opens the same store again each time it is
called, as another process would; a store in memory may hand out the same one.

    @pytest.mark.parametrize("rule", STORE_RULES + SHELF_RULES)
    async def test_store(rule, tmp_path):
        await rule(lambda: SQLiteStore.open(tmp_path / "desk.db"))
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec.structs import replace

from askdesk.core.errors import AskdeskError, InvalidDocument, UnknownAsk, VersionConflict
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
    Permission,
    Question,
    Questions,
    Settlement,
    Withdrawn,
)
from askdesk.core.search import matches, query
from askdesk.core.store import EXPIRY, WITHDRAWAL, Document, Page, State, Store
from askdesk.testing.clock import NOON

Reopen: TypeAlias = Callable[[], Awaitable[Store]]
Rule: TypeAlias = Callable[[Reopen], Awaitable[None]]

STORE_RULES: list[Rule] = []
SHELF_RULES: list[Rule] = []

# The same three questions as an agent wrote them: some stores check that what is given back is what was asked.
RECEIVED = r"""[
    {"options": [{"preview": "```\nx\n```", "description": "one file", "label": "SQLite"}, {"label": "Postgres"}],
     "header": "DB", "question": "Which database?"},
    {"multiSelect": true, "options": [{"label": "a, b"}, {"label": "say \"x\""}], "question": "¿Qué más? 数字 🧑‍💻"},
    {"max": 9.5, "min": 1, "default": 3, "kind": "number", "question": "How many?"}
]"""
QUESTIONS = Questions(
    [
        Question("Which database?", [Option("SQLite", "one file", "```\nx\n```"), "Postgres"], header="DB"),
        Question("¿Qué más? 数字 🧑‍💻", ["a, b", 'say "x"'], multi_select=True),
        Question("How many?", kind="number", minimum=1, maximum=9.5, default="3"),
    ],
    source="contract",
    received=RECEIVED,
)
PERMISSION = Permission("Bash", '{"command":"ls","n":1.0,"n2":1e3}', "/srv", "list", ['{"rule":"Bash(ls)"}'])
ANSWERED = Answered([Answer(["SQLite"], note="now"), Answer(["a, b"], "own", multi_select=True), None])


def an_ask(number: int = 1, **fields: object) -> Ask:
    """An ask like those that a desk would add."""
    ask = Ask(f"{number:032x}", QUESTIONS, Asker("builder", "s1", "web"), NOON + timedelta(seconds=number))
    return replace(ask, **fields)


def a_settlement(submission: str = "one", *, at: datetime = NOON + timedelta(minutes=1)) -> Settlement:
    return Settlement(ANSWERED, at, submission, "ana", "page")


def _store_rule(rule: Callable[[Store], Awaitable[None]]) -> Rule:
    """A rule that needs the store open once."""

    async def run(reopen: Reopen) -> None:
        store = await reopen()
        try:
            await rule(store)
        finally:
            await store.close()

    run.__name__, run.__doc__ = rule.__name__, rule.__doc__
    STORE_RULES.append(run)
    return run


def _shelf_rule(rule: Callable[[Store], Awaitable[None]]) -> Rule:
    run = _store_rule(rule)
    SHELF_RULES.append(STORE_RULES.pop())
    return run


async def _raised(kind: type[AskdeskError], work: Awaitable[object]) -> AskdeskError:
    try:
        await work
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def _all(store: Store, state: State, *, limit: int = 50, newest: bool = False, text: str = "") -> list[str]:
    ids: list[str] = []
    after: str | None = None
    while True:
        page = await store.page(state, after=after, limit=limit, newest=newest, text=text)
        ids += (entry.ask.id for entry in page.entries)
        if (after := page.after) is None:
            return ids


@_store_rule
async def an_ask_comes_back_whole(store: Store) -> None:
    ask = an_ask(key="k", deadline=NOON + timedelta(days=1), preview_format="markdown", follows="f" * 32)
    assert await store.add(ask) == ask
    assert await store.get(ask.id) == Entry(ask)


@_store_rule
async def a_permission_comes_back_to_the_byte(store: Store) -> None:
    ask = an_ask(body=PERMISSION)
    await store.add(ask)
    kept = (await store.get(ask.id)).ask
    assert kept == ask
    assert kept.permission is not None
    assert (kept.permission.input, kept.permission.digest) == (PERMISSION.input, PERMISSION.digest)


@_store_rule
async def every_outcome_comes_back_whole(store: Store) -> None:
    digest = PERMISSION.digest
    settlements = [
        Settlement(ANSWERED, NOON, "s0", "ana", "page"),
        Settlement(Declined("let us talk", ANSWERED.answers, stop=True), NOON, "s1", "ana", "page"),
        Settlement(Allowed('{"command":"ls -l"}', ('{"rule":"Bash(ls)"}',)), NOON, "s2", "ana", "page", digest),
        Settlement(Denied("no", stop=True, redirect="do this"), NOON, "s3", "ana", "page", digest),
        Settlement(Withdrawn("changed my mind"), NOON, WITHDRAWAL),
    ]
    for number, settlement in enumerate(settlements):
        decided = isinstance(settlement.outcome, Allowed | Denied)
        ask = an_ask(number, body=PERMISSION) if decided else an_ask(number)
        await store.add(ask)
        assert await store.settle(ask.id, settlement) == settlement
        assert await store.get(ask.id) == Entry(ask, settlement)


async def what_was_acknowledged_is_there_when_opened_again(reopen: Reopen) -> None:
    store = await reopen()
    await store.add(an_ask(1))
    await store.add(an_ask(2))
    await store.settle(an_ask(1).id, a_settlement())
    document = await store.shelf.put("draft/1", '"hello"')
    await store.close()
    again = await reopen()
    try:
        assert await again.get(an_ask(1).id) == Entry(an_ask(1), a_settlement())
        assert await again.get(an_ask(2).id) == Entry(an_ask(2))
        assert await again.shelf.get("draft/1") == document
    finally:
        await again.close()


STORE_RULES.append(what_was_acknowledged_is_there_when_opened_again)


@_store_rule
async def an_ask_without_a_key_is_always_new(store: Store) -> None:
    assert [(await store.add(an_ask(n))).id for n in (1, 2)] == [an_ask(1).id, an_ask(2).id]
    assert await _all(store, "open") == [an_ask(1).id, an_ask(2).id]


@_store_rule
async def under_a_used_key_the_first_ask_stands(store: Store) -> None:
    first = an_ask(1, key="k")
    await store.add(first)
    assert await store.add(an_ask(2, key="k", body=PERMISSION)) == first
    assert await _all(store, "open") == [first.id]
    await store.settle(first.id, a_settlement())
    assert await store.add(an_ask(3, key="k")) == first
    assert await _all(store, "open") == []


@_store_rule
async def under_a_used_id_the_first_ask_stands(store: Store) -> None:
    first = an_ask(1)
    await store.add(first)
    assert await store.add(an_ask(1, key="k")) == first
    await store.settle(first.id, a_settlement())
    assert await store.add(first) == first
    assert await _all(store, "open") == []
    assert await store.add(an_ask(2, key="k")) == an_ask(2, key="k")


@_store_rule
async def of_two_at_once_under_one_id_the_one_that_is_kept_is_told(store: Store) -> None:
    first = await store.add(an_ask(1, key="k"))
    asks = [an_ask(2, key="k", body=PERMISSION), an_ask(2, key="l")]
    assert await asyncio.gather(*(store.add(ask) for ask in asks)) == [first, asks[1]]
    assert await _all(store, "open") == [first.id, asks[1].id]


@_store_rule
async def the_same_key_in_another_project_is_another_ask(store: Store) -> None:
    asks = [an_ask(1, key="k"), an_ask(2, key="k", asker=Asker("builder", project="app"))]
    assert [await store.add(ask) for ask in asks] == asks


@_store_rule
async def fifty_asks_at_once_under_one_key_are_one_ask(store: Store) -> None:
    standing = await asyncio.gather(*(store.add(an_ask(n, key="k")) for n in range(50)))
    assert len({ask.id for ask in standing}) == 1
    assert await _all(store, "open") == [standing[0].id]


@_store_rule
async def the_first_settlement_stands_for_ever(store: Store) -> None:
    await store.add(an_ask())
    first, second = a_settlement("one"), Settlement(Withdrawn(), NOON, WITHDRAWAL)
    assert await store.settle(an_ask().id, first) == first
    assert await store.settle(an_ask().id, second) == first
    assert await store.settle(an_ask().id, a_settlement("one", at=NOON + timedelta(days=9))) == first
    assert await store.get(an_ask().id) == Entry(an_ask(), first)


@_store_rule
async def of_many_settlements_at_once_one_stands(store: Store) -> None:
    await store.add(an_ask())
    tries = [a_settlement(f"s{n}") for n in range(50)]
    standing = await asyncio.gather(*(store.settle(an_ask().id, settlement) for settlement in tries))
    assert len({settlement.submission for settlement in standing}) == 1
    assert (await store.get(an_ask().id)).settlement == standing[0]


async def of_settlements_through_two_openings_one_stands(reopen: Reopen) -> None:
    async with AsyncExitStack() as stack:
        stores = [await reopen(), await reopen()]
        for store in stores:
            stack.push_async_callback(store.close)
        for number in range(20):
            ask = an_ask(number)
            await stores[0].add(ask)
            standing = await asyncio.gather(*(s.settle(ask.id, a_settlement(f"s{n}")) for n, s in enumerate(stores)))
            assert standing[0] == standing[1]


STORE_RULES.append(of_settlements_through_two_openings_one_stands)


@_store_rule
async def an_ask_that_is_due_is_settled_as_expired(store: Store) -> None:
    deadline = NOON + timedelta(minutes=1)
    await store.add(an_ask(deadline=deadline))
    expired = Settlement(Expired(), deadline, EXPIRY)
    assert await store.settle(an_ask().id, a_settlement(at=deadline)) == expired
    assert (await store.get(an_ask().id)).settlement == expired


@_store_rule
async def an_ask_is_settled_up_to_its_deadline(store: Store) -> None:
    deadline = NOON + timedelta(minutes=1)
    await store.add(an_ask(deadline=deadline))
    in_time = a_settlement(at=deadline - timedelta(microseconds=1))
    assert await store.settle(an_ask().id, in_time) == in_time


@_store_rule
async def an_ask_that_was_never_added_is_unknown(store: Store) -> None:
    await _raised(UnknownAsk, store.get("nothing"))
    await _raised(UnknownAsk, store.settle("nothing", a_settlement()))


@_store_rule
async def pages_show_each_entry_once_in_order(store: Store) -> None:
    assert await store.page("open") == Page(())
    ids = [an_ask(n).id for n in range(7)]
    for number in range(7):
        await store.add(an_ask(number))
    for limit in (1, 2, 7, 50):
        assert await _all(store, "open", limit=limit) == ids
        assert await _all(store, "open", limit=limit, newest=True) == ids[::-1]
    for number in (5, 0, 3):
        await store.settle(ids[number], a_settlement())
    for limit in (1, 2, 3, 50):
        assert await _all(store, "settled", limit=limit) == [ids[5], ids[0], ids[3]]
        assert await _all(store, "settled", limit=limit, newest=True) == [ids[3], ids[0], ids[5]]
        assert await _all(store, "open", limit=limit) == [ids[1], ids[2], ids[4], ids[6]]


@_store_rule
async def a_page_goes_on_after_entries_that_were_settled_meanwhile(store: Store) -> None:
    ids = [an_ask(n).id for n in range(5)]
    for number in range(5):
        await store.add(an_ask(number))
    page = await store.page("open", limit=2)
    for ask_id in ids[:3]:
        await store.settle(ask_id, a_settlement())
    rest = await store.page("open", after=page.after, limit=2)
    assert [entry.ask.id for entry in rest.entries] == ids[3:]


@_store_rule
async def a_place_that_no_page_gave_is_refused(store: Store) -> None:
    await _raised(AskdeskError, store.page("open", after="1; DROP TABLE asks"))


async def _finds(store: Store, state: State, expected: Mapping[tuple[int, ...], Iterable[str]]) -> None:
    """Hold a store to it that each of the texts finds the asks with these numbers."""
    wanted = {text: numbers for numbers, texts in expected.items() for text in texts}
    found = {text: tuple(int(ask_id, 16) for ask_id in await _all(store, state, text=text)) for text in wanted}
    assert found == wanted


@_store_rule
async def a_word_of_a_text_is_the_beginning_of_one_in_the_ask(store: Store) -> None:
    questions = Questions([Question("Alpha?", [Option("bravo", "charlie", "delta"), "else"], header="echo")])
    call = Permission("Juliett", '{"kilo": ["lima", {"mike": 8080}]}', "/november", "(oscar)")
    await store.add(an_ask(1, body=questions, asker=Asker("foxtrot", "golf", "hotel", "india")))
    await store.add(an_ask(2, body=call))
    await store.add(an_ask(3))
    asked = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india"]
    called = ["juliett", "kilo", "lima", "mike", "8080", "november", "oscar"]
    await _finds(store, "open", {(1,): asked, (2,): called, (): ["lpha", "alphabet", "080"]})
    await _finds(store, "open", {(1,): [word[:3] for word in asked], (2,): [word[:3] for word in called]})


@_store_rule
async def case_and_accents_of_a_word_do_not_matter(store: Store) -> None:
    await store.add(an_ask(1, body=Questions([Question("Café, Straße, ПРИВЕТ, 数字?", ["yes", "no"])])))
    texts = ["cafe", "CAFÉ", "Cafe\u0301", "\uff43afe", "STRASSE", "привет", "数", "字"]
    await _finds(store, "open", {(1,): texts})


@_store_rule
async def the_words_of_a_settlement_are_found_once_it_is_acknowledged(store: Store) -> None:
    answers = (Answer(["SQLite"], note="alpha"), Answer(["a, b"], "bravo", multi_select=True), None)
    digest = PERMISSION.digest
    settlements = [
        ("alpha bravo", Settlement(Answered(answers), NOON, "s0", "ana", "page")),
        ("charlie alpha", Settlement(Declined("charlie", answers), NOON, "s1", "ana", "page")),
        ("delta", Settlement(Allowed('{"command":"delta"}'), NOON, "s2", "ana", "page", digest)),
        ("echo foxtrot", Settlement(Denied("echo", redirect="foxtrot"), NOON, "s3", "ana", "page", digest)),
        ("golf", Settlement(Withdrawn("golf"), NOON, WITHDRAWAL)),
    ]
    for number, (words, settlement) in enumerate(settlements):
        decided = isinstance(settlement.outcome, Allowed | Denied)
        ask = an_ask(number, body=PERMISSION) if decided else an_ask(number)
        await store.add(ask)
        await _finds(store, "open", {(number,): ["builder"], (): [words]})
        await store.settle(ask.id, settlement)
        await _finds(store, "open", {(): ["builder", words]})
        await _finds(store, "settled", {tuple(range(number + 1)): ["builder"], (number,): [f"builder {words}"]})
    await _finds(store, "settled", {(0, 1, 2, 3): ["an", "page"], (0, 1): ["alpha"]})


@_store_rule
async def a_field_of_a_text_is_a_whole_value(store: Store) -> None:
    await store.add(an_ask(1, asker=Asker("Builder", project="new service")))
    await store.add(an_ask(2, asker=Asker("builder 2", project="/srv/new"), body=PERMISSION))
    asked = {
        (1,): ["agent:builder", "Agent:BUILDER", 'project:"New Service"', 'project:"new service', "is:questions"],
        (2,): ['agent:"builder 2"', "project:/srv/new", "tool:bash", "is:permission"],
        (1, 2): ["is:open"],
        (): ["agent:build", "agent:", "project:new", "tool:ls", "is:settled", "is:allowed", "is:what", "by:ana"],
    }
    settled = {
        (2,): ['agent:"builder 2"', "by:Ana", "on:page", "is:allowed", "is:settled", "is:permission"],
        (): ["agent:builder", "by:an", "on:ana", "is:denied", "is:open"],
    }
    await _finds(store, "open", asked)
    await store.settle(an_ask(2).id, Settlement(Allowed(), NOON, "one", "ana", "page", PERMISSION.digest))
    await _finds(store, "settled", settled)


@_store_rule
async def all_words_and_fields_of_a_text_must_match(store: Store) -> None:
    await store.add(an_ask(1))
    await store.add(an_ask(2, body=PERMISSION))
    expected = {
        (1,): ["which database", "datab WHI builder", '"database which"', "database:which", "-which/database?!"],
        (2,): ["tool:Bash list", "list tool:Bash agent:builder"],
        (1, 2): ["builder web", "agent:builder"],
        (): ["which bash", "tool:Bash which", "tool:Bash tool:ls", "nothing", "nothing:at all"],
    }
    await _finds(store, "open", expected)


@_store_rule
async def a_text_without_words_and_fields_matches_everything(store: Store) -> None:
    await store.add(an_ask(1))
    await store.add(an_ask(2))
    await _finds(store, "open", {(1, 2): ["", " \t", "!!!", '""', "*", "\u0301", "🧑‍💻"]})


@_store_rule
async def pages_of_matches_show_each_entry_once_in_order(store: Store) -> None:
    ids = [an_ask(n).id for n in range(9)]
    for number in range(9):
        await store.add(an_ask(number, body=PERMISSION if number % 3 == 1 else QUESTIONS))
    asked = [ids[n] for n in (0, 2, 3, 5, 6, 8)]
    for limit in (1, 2, 6, 50):
        assert await _all(store, "open", limit=limit, text="which") == asked
        assert await _all(store, "open", limit=limit, newest=True, text="which") == asked[::-1]
    page = await store.page("open", limit=2, text="which")
    await store.settle(ids[4], Settlement(Withdrawn(), NOON, WITHDRAWAL))
    for number in (5, 0, 3):
        await store.settle(ids[number], a_settlement())
    rest = await store.page("open", after=page.after, text="which")
    assert [entry.ask.id for entry in rest.entries] == [ids[6], ids[8]]
    for limit in (1, 2, 3, 50):
        assert await _all(store, "settled", limit=limit, text="which") == [ids[5], ids[0], ids[3]]
        assert await _all(store, "settled", limit=limit, newest=True, text="which") == [ids[3], ids[0], ids[5]]


HOSTILE_TEXTS = (
    '" OR 1=1 --', "'; DROP TABLE asks; --", "NEAR(", "NEAR(a b, 2)", "which AND", "NOT which", "which OR bash", "(",
    "*", "which*", "^which", "-which", "{terms}: which", "terms:which", "rowid:1", "which + database", "%", "_", "\\",
    '"', '"which', 'which"', '""""', 'agent:"', 'agent:"builder', "agent:builder:", ":", "is:", "::which", "a:b:c",
    "\0", "which\0database", "\ud800", "agent:\udfff", "which\ud83d", "\u0301", "\u202ewhich", "·agent·builder", "İ",
    "wh\u200bich", "ﬁle", "ſqlite", "\x1b[31mwhich", "which\r\ndatabase", "w" * 300, " ".join("abcdefgh" * 9),
)  # fmt: skip


@_store_rule
async def no_text_is_refused(store: Store) -> None:
    await store.add(an_ask(1))
    await store.add(an_ask(2, body=PERMISSION))
    entries = (await store.page("open")).entries
    for text in HOSTILE_TEXTS:
        matching = tuple(entry for entry in entries if matches(entry, query(text)))
        assert await store.page("open", text=text) == Page(matching), text


async def what_was_kept_through_another_opening_is_found(reopen: Reopen) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await reopen(), await reopen()
        stack.push_async_callback(here.close)
        stack.push_async_callback(elsewhere.close)
        for number in range(3):
            await elsewhere.add(an_ask(number))
            await _finds(here, "open", {(number,): ["which"]})
            await elsewhere.settle(an_ask(number).id, a_settlement())
            await _finds(here, "settled", {tuple(range(number + 1)): ["which own"]})


STORE_RULES.append(what_was_kept_through_another_opening_is_found)


@_store_rule
async def expiring_settles_what_is_due_soonest_first(store: Store) -> None:
    minutes = {1: 30, 2: 10, 3: 20, 4: 40}
    for number, minute in minutes.items():
        await store.add(an_ask(number, deadline=NOON + timedelta(minutes=minute)))
    await store.add(an_ask(5))
    await store.settle(an_ask(3).id, a_settlement())
    now = NOON + timedelta(minutes=30)
    assert await store.expire(NOON) == ()
    assert await store.expire(now) == (an_ask(2).id, an_ask(1).id)
    assert await store.expire(now) == ()
    assert (await store.get(an_ask(1).id)).settlement == Settlement(Expired(), now, EXPIRY)
    assert await _all(store, "open") == [an_ask(4).id, an_ask(5).id]


async def a_change_is_heard_also_through_another_opening(reopen: Reopen) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await reopen(), await reopen()
        stack.push_async_callback(here.close)
        stack.push_async_callback(elsewhere.close)
        ask = an_ask()
        await _heard(here, None, ask.id, elsewhere.add(ask))
        await _heard(here, ask.id, ask.id, elsewhere.settle(ask.id, a_settlement()))
        await _heard(here, None, an_ask(2).id, here.add(an_ask(2)))


STORE_RULES.append(a_change_is_heard_also_through_another_opening)


async def _heard(store: Store, listening_for: str | None, changed: str, change: Awaitable[object]) -> None:
    woken = asyncio.Event()
    stop = store.hints(lambda ask_id: woken.set() if ask_id in (changed, None) else None, listening_for)
    try:
        await change
        await asyncio.wait_for(woken.wait(), 5)
    finally:
        stop()


@_store_rule
async def nothing_is_heard_after_stopping(store: Store) -> None:
    heard: list[str | None] = []
    stop = store.hints(heard.append)
    stop()
    stop()
    await store.add(an_ask())
    await asyncio.sleep(0)
    assert heard == []


@_store_rule
async def closing_twice_is_closing_once(store: Store) -> None:
    await store.close()
    await store.close()


@_shelf_rule
async def a_document_is_written_read_and_removed(store: Store) -> None:
    shelf = store.shelf
    assert await shelf.get("draft/1") is None
    written = await shelf.put("draft/1", '{"α": "\\n"}')
    assert written == Document("draft/1", '{"α": "\\n"}', written.version if written else 0)
    assert await shelf.get("draft/1") == written
    assert await shelf.put("draft/1", None) is None
    assert await shelf.get("draft/1") is None
    assert await shelf.put("draft/1", None) is None


@_shelf_rule
async def a_write_that_expects_another_version_changes_nothing(store: Store) -> None:
    shelf = store.shelf
    await _raised(VersionConflict, shelf.put("a", "1", expect=7))
    first = await shelf.put("a", "1", expect=0)
    assert first is not None
    await _raised(VersionConflict, shelf.put("a", "2", expect=0))
    second = await shelf.put("a", "2", expect=first.version)
    await _raised(VersionConflict, shelf.put("a", "3", expect=first.version))
    await _raised(VersionConflict, shelf.put("a", None, expect=first.version))
    assert await shelf.get("a") == second


@_shelf_rule
async def of_many_writes_that_expect_nothing_there_one_goes_through(store: Store) -> None:
    tries = (store.shelf.put("claim/1", f"{n}", expect=0) for n in range(20))
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, Document) for result in results) == 1
    assert sum(isinstance(result, VersionConflict) for result in results) == 19


@_shelf_rule
async def a_version_is_never_used_twice(store: Store) -> None:
    versions = []
    for _ in range(3):
        document = await store.shelf.put("a", "1")
        assert document is not None
        versions.append(document.version)
        await store.shelf.put("a", None)
    assert versions == sorted(set(versions))


@_shelf_rule
async def a_list_holds_the_names_with_the_prefix_in_order(store: Store) -> None:
    names = ["draft/2", "draft/10", "drafts", "draft/", "rule/é", "rule/%", "Draft/1", "draft/ÿ", "draft/𝄞"]
    for name in names:
        await store.shelf.put(name, "1")
    assert [document.name for document in await store.shelf.list()] == sorted(names)
    drafts = sorted(name for name in names if name.startswith("draft/"))
    assert [document.name for document in await store.shelf.list("draft/")] == drafts
    assert await store.shelf.list("nothing") == ()


@_shelf_rule
async def a_text_that_no_file_could_keep_is_refused(store: Store) -> None:
    for name, value in (("a\0", "1"), ("a", '"\0"'), ("\ud800", "1"), ("a", '"\udfff"')):
        await _raised(InvalidDocument, store.shelf.put(name, value))
    assert await store.shelf.list() == ()
