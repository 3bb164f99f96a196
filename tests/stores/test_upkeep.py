"""The upkeep of both kinds of store keeps the contract of `askdesk.stores.upkeep`, a sentence a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import asyncpg
import pytest
from tests.postgres import Cluster
from tests.stores.on_postgres import WAITING, Seen, until

from askdesk.core import owed
from askdesk.core.errors import NoStore, StoreClash, StoreTooNew
from askdesk.core.model import Ask, Asker, Entry
from askdesk.core.store import Store
from askdesk.open import open_store, open_upkeep
from askdesk.stores import postgres_database, postgres_upkeep
from askdesk.stores.rows import microseconds
from askdesk.stores.upkeep import MOST_ASKS, MOST_CHARACTERS, Change, Count, KeptAsk, Removed, Upkeep, outstanding
from askdesk.testing.clock import NOON
from askdesk.testing.store_contract import HOSTILE_TEXTS, a_settlement, an_ask
from askdesk.wire import record

pytestmark = pytest.mark.anyio

Sql: TypeAlias = Callable[[str], list[Any]]

TOMORROW = NOON + timedelta(days=1)
SECONDS = 30  # for what takes a moment, and would take minutes


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> Iterator[str]:
    """One for all tests here: to make one for each takes longer than the tests."""
    url = cluster.database()
    yield url
    cluster.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where nothing is yet."""
    if request.param == "sqlite":
        return str(tmp_path / "desk.db")
    url: str = request.getfixturevalue("database")
    request.getfixturevalue("cluster").sql("DROP SCHEMA IF EXISTS askdesk CASCADE", database=url.rpartition("/")[2])
    return url


@pytest.fixture
async def upkeep(url: str) -> AsyncIterator[Upkeep]:
    async with opened(url) as upkeep:
        yield upkeep


@pytest.fixture
async def store(upkeep: Upkeep, url: str) -> AsyncIterator[Store]:
    """The same desk, as those see it who work at it."""
    store = await open_store(url)
    yield store
    await store.close()


@pytest.fixture
def sql(url: str, request: pytest.FixtureRequest) -> Sql:
    """Runs SQL as somebody else would; {} stands before a table."""

    def run(statement: str) -> list[Any]:
        if is_postgres(url):
            cluster: Cluster = request.getfixturevalue("cluster")
            return cluster.sql(statement.format("askdesk."), database=url.rpartition("/")[2])
        with closing(apsw.Connection(url)) as database:
            return database.execute(statement.format("")).fetchall()

    return run


def is_postgres(url: str) -> bool:
    return url.startswith("postgresql:")


@asynccontextmanager
async def opened(url: str, *, create: bool = True) -> AsyncIterator[Upkeep]:
    upkeep = await open_upkeep(url, create=create)
    try:
        yield upkeep
    finally:
        await upkeep.close()


def kept(ask: Ask, *, settled: bool = False, changed: int = 0, submission: str = "one") -> KeptAsk:
    """An ask as it is kept."""
    settlement = record.encode(a_settlement(submission)) if settled else None
    deadline = microseconds(ask.deadline) if ask.deadline else None
    return KeptAsk(ask.id, ask.asker.project, ask.key, record.encode(ask), deadline, settlement, changed)


async def all_asks(upkeep: Upkeep) -> list[KeptAsk]:
    found: list[KeptAsk] = []
    while some := await upkeep.asks(found[-1].changed if found else 0):
        found += some
    return found


def numbers(asks: Sequence[KeptAsk]) -> list[int]:
    return [int(ask.id, 16) for ask in asks]


async def listed(store: Store, **query: Any) -> tuple[list[int], list[int]]:
    """The open asks and the settled ones, in the order of their listings."""
    pages = [await store.page(state, limit=10_000, **query) for state in ("open", "settled")]
    opened, settled = ([int(entry.ask.id, 16) for entry in page.entries] for page in pages)
    return opened, settled


async def raised(work: Awaitable[object]) -> str:
    with pytest.raises(StoreClash) as error:
        await work
    return str(error.value)


async def test_asks_are_read_as_they_are_kept_in_the_order_of_their_latest_change(upkeep: Upkeep, store: Store) -> None:
    asks = [an_ask(1, key="k"), an_ask(2, deadline=TOMORROW), an_ask(3)]
    for ask in asks:
        await store.add(ask)
    await store.settle(asks[0].id, a_settlement())
    await store.shelf.put("draft/1", '"words"')

    found = await upkeep.asks()
    assert [ask._replace(changed=0) for ask in found] == [kept(asks[1]), kept(asks[2]), kept(asks[0], settled=True)]
    assert sorted(ask.changed for ask in found) == [ask.changed for ask in found]
    assert await upkeep.count() == Count(2, 1, 1)
    assert await upkeep.documents() == {"draft/1": '"words"'}


async def test_following_a_place_shows_each_ask_once_and_once_more_when_it_has_changed(
    upkeep: Upkeep, store: Store
) -> None:
    count = MOST_ASKS + 5
    await upkeep.keep([kept(an_ask(number)) for number in range(count)])
    first = await upkeep.asks()
    await store.settle(an_ask(3).id, a_settlement())
    rest = await upkeep.asks(first[-1].changed)

    assert numbers([*first, *rest]) == [*range(count), 3]
    assert await upkeep.asks(rest[-1].changed) == []


async def test_of_long_asks_fewer_are_read_at_once(upkeep: Upkeep) -> None:
    long = "x" * (MOST_CHARACTERS // 3)
    await upkeep.keep([kept(an_ask(number))._replace(record=long) for number in range(6)])
    batches = [numbers(first := await upkeep.asks()), numbers(await upkeep.asks(first[-1].changed))]

    assert batches == [[0, 1, 2, 3], [4, 5]]


async def test_what_stands_is_found_by_id_and_by_key(upkeep: Upkeep) -> None:
    here = [kept(an_ask(1, key="k")), kept(an_ask(2)), kept(an_ask(3, key="k", asker=Asker("b", project="other")))]
    await upkeep.keep(here)
    wanted = [kept(an_ask(9, key="k")), kept(an_ask(2)), kept(an_ask(8))]

    standing = await upkeep.standing(wanted)
    assert {ask_id: ask._replace(changed=0) for ask_id, ask in standing.items()} == {ask.id: ask for ask in here[:2]}


async def test_what_is_kept_is_there_for_all_who_work_at_the_desk(upkeep: Upkeep, store: Store) -> None:
    heard: set[str | None] = set()
    told = asyncio.Event()

    def hear(ask_id: str | None) -> None:
        heard.add(ask_id)
        if None in heard or {ask.id for ask in asks[1:]} <= heard:
            told.set()

    store.hints(hear)
    asks = [an_ask(number, key=f"k{number}", deadline=TOMORROW) for number in range(5)]
    await store.add(asks[0])
    await upkeep.keep([kept(asks[1]), kept(asks[3], settled=True), kept(asks[2]), kept(asks[4], settled=True)])

    assert await listed(store) == ([0, 1, 2], [3, 4])
    assert await listed(store, text="which ana") == ([], [3, 4])
    assert await store.get(asks[4].id) == Entry(asks[4], a_settlement())
    assert await store.add(an_ask(9, key="k1")) == asks[1]
    assert await store.expire(TOMORROW) == (asks[0].id, asks[1].id, asks[2].id)
    await asyncio.wait_for(told.wait(), 10)


async def test_open_asks_that_are_settled_meanwhile_are_settled_and_keep_the_order(
    upkeep: Upkeep, store: Store
) -> None:
    await upkeep.keep([kept(an_ask(1)), kept(an_ask(2)), kept(an_ask(3))])
    await upkeep.keep([kept(an_ask(4), settled=True), kept(an_ask(1), settled=True), kept(an_ask(5), settled=True)])

    assert await listed(store) == ([2, 3], [4, 1, 5])
    assert (await store.get(an_ask(1).id)).settlement == a_settlement()


async def test_what_is_there_already_stays_where_it_is(upkeep: Upkeep) -> None:
    asks = [kept(an_ask(1)), kept(an_ask(2), settled=True)]
    await upkeep.keep(asks)
    before = await all_asks(upkeep)
    await upkeep.keep([asks[1], asks[0]])

    assert await all_asks(upkeep) == before


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (kept(an_ask(1, key="k", follows="f" * 32)), "is another one there"),
        (kept(an_ask(1, key="k"))._replace(record="{}"), "is another one there"),
        (kept(an_ask(2), settled=True, submission="two"), "is settled otherwise there"),
        (kept(an_ask(2)), "is settled there, and open here"),
        (kept(an_ask(7, key="k")), f'key "k": names ask {an_ask(1).id} there, and ask {an_ask(7).id} here'),
    ],
)
async def test_where_something_else_stands_it_is_named_and_nothing_is_kept(
    upkeep: Upkeep, other: KeptAsk, words: str
) -> None:
    await upkeep.keep([kept(an_ask(1, key="k")), kept(an_ask(2), settled=True), kept(an_ask(3))])
    before = await all_asks(upkeep)
    said = await raised(upkeep.keep([kept(an_ask(4)), kept(an_ask(3), settled=True), other]))

    assert said == f"{upkeep.address}: {words if words.startswith('key') else f'ask {other.id}: {words}'}"
    assert await all_asks(upkeep) == before


async def test_of_many_that_clash_some_are_named_and_all_are_counted(upkeep: Upkeep) -> None:
    await upkeep.keep([kept(an_ask(number)) for number in range(15)])
    said = await raised(upkeep.keep([kept(an_ask(number))._replace(record="{}") for number in range(15)]))

    assert len(said.splitlines()) == 11
    assert said.endswith(": and 5 more")


async def test_two_who_keep_the_same_asks_at_once_keep_each_once(url: str, upkeep: Upkeep) -> None:
    asks = [kept(an_ask(number, key=f"k{number}"), settled=number % 2 == 0) for number in range(300)]
    async with opened(url) as other:
        await asyncio.gather(*(each.keep(asks[n : n + 30]) for n in range(0, 300, 30) for each in (upkeep, other)))

    assert await upkeep.count() == Count(150, 150, 0)


async def test_agents_and_people_at_work_meanwhile_lose_nothing(upkeep: Upkeep, store: Store) -> None:
    mine = [an_ask(number) for number in range(100, 200)]
    kept_ones = [kept(an_ask(number)) for number in range(100)]
    adding = [store.add(ask) for ask in mine]
    keeping = [upkeep.keep(kept_ones[n : n + 20]) for n in range(0, 100, 20)]
    await asyncio.gather(*adding, *keeping)
    await asyncio.gather(*(store.settle(ask.id, a_settlement()) for ask in mine), upkeep.keep(kept_ones))

    opened_ones, settled = await listed(store)
    # Of what is kept at once, either part may come first.
    assert (sorted(opened_ones), sorted(settled)) == (list(range(100)), list(range(100, 200)))


async def test_documents_are_written_and_removed_all_or_none(upkeep: Upkeep, store: Store) -> None:
    first = await store.shelf.put("a", "1")
    assert first
    await upkeep.change([Change("a", "1", "2"), Change("b", None, '"é\U0001f600"'), Change("none", None, None)])
    assert await upkeep.documents() == {"a": "2", "b": '"é\U0001f600"'}
    said = await raised(
        upkeep.change([Change("b", '"é\U0001f600"', None), Change("c", None, "3"), Change("a", "1", "4")])
    )

    assert said == f'{upkeep.address}: document "a": has changed there meanwhile'
    assert await upkeep.documents() == {"a": "2", "b": '"é\U0001f600"'}
    changed = await store.shelf.get("a")
    assert changed
    assert changed.version > first.version
    await upkeep.change([Change("a", "2", None), Change("b", '"é\U0001f600"', "4")])
    assert await upkeep.documents() == {"b": "4"}


async def test_a_document_that_comes_while_another_is_put_there_is_not_written_over(
    postgres: str, cluster: Cluster
) -> None:
    put = "INSERT INTO askdesk.shelf VALUES (nextval('askdesk.versions'), 'a', 'theirs')"
    async with opened(postgres) as upkeep:
        other = await asyncpg.connect(postgres)
        async with other.transaction():
            await other.execute("LOCK TABLE askdesk.shelf IN SHARE ROW EXCLUSIVE MODE")  # others can read, not write
            changing = asyncio.ensure_future(raised(upkeep.change([Change("a", None, "ours")])))
            await until(lambda: Seen(cluster, postgres).backends(WAITING))
            await other.execute(put)
        await other.close()
        assert await changing == f'{upkeep.address}: document "a": has changed there meanwhile'
        assert await upkeep.documents() == {"a": "theirs"}


async def test_a_change_that_was_made_already_is_no_clash(upkeep: Upkeep) -> None:
    changes = [Change("a", None, "1"), Change("b", None, "")]
    await upkeep.change(changes)
    await upkeep.change(changes)

    assert await upkeep.documents() == {"a": "1", "b": ""}


async def test_a_process_that_stands_still_in_the_midst_of_a_change_keeps_nobody_waiting_and_makes_it_later(
    postgres: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_upkeep, "_NO_STANDING_STILL", "SET LOCAL idle_in_transaction_session_timeout = '50ms'")
    backends = Seen(cluster, postgres)
    ended: list[int] = []

    def stand_still(*given: Any) -> Any:
        if not ended:
            ended.extend(backends.backends("state = 'idle in transaction'"))
            while backends.backends(f"pid = {ended[0]}"):
                pass
        return outstanding(*given)

    monkeypatch.setattr(postgres_upkeep, "outstanding", stand_still)
    async with opened(postgres) as upkeep:
        await upkeep.change([Change("a", None, "1")])
        assert (len(ended), await upkeep.documents()) == (1, {"a": "1"})


async def test_documents_stand_in_the_order_of_their_names(upkeep: Upkeep) -> None:
    names = ["draft/2", "draft/10", "Draft", "draft/é", "rule/%", "𝄞", "z", *(text for text in HOSTILE_TEXTS if text)]
    allowed = [name for name in names if "\0" not in name and name.isprintable()]
    await upkeep.change([Change(name, None, "1") for name in allowed])

    assert list(await upkeep.documents()) == sorted(allowed)


async def test_settled_asks_are_removed_with_what_belongs_to_them(upkeep: Upkeep, store: Store) -> None:
    await upkeep.keep([kept(an_ask(number, key=f"k{number}"), settled=number < 4) for number in range(1, 6)])
    assert await listed(store, text="which") == ([4, 5], [1, 2, 3])
    belonging = [f"draft/{an_ask(1).id}/ana", f"draft/{an_ask(1).id}/ben", f"told/{an_ask(1).id}"]
    others = [f"draft/{an_ask(3).id}/ana", f"draft/{an_ask(1).id}0/ana", f"rule/{an_ask(1).id}", "draft/", "told/x"]
    await upkeep.change([Change(name, None, "1") for name in (*belonging, *others)])
    removed = await upkeep.remove([an_ask(1).id, an_ask(2).id, an_ask(9).id], ["draft/", "told/"])

    assert removed == Removed(2, 3)
    assert list(await upkeep.documents()) == sorted(others)
    assert await listed(store) == await listed(store, text="which") == ([4, 5], [3])
    assert numbers(await all_asks(upkeep)) == [3, 4, 5]


async def test_an_open_ask_is_never_removed_nor_one_whose_end_is_owed(upkeep: Upkeep, store: Store) -> None:
    asker = Asker("builder", "s", "web")
    await upkeep.keep([kept(an_ask(1), settled=True), kept(an_ask(2)), kept(an_ask(3), settled=True), kept(an_ask(4))])
    await owed.note(store.shelf, owed.Owed(ask=an_ask(1).id, asker=asker))

    assert await upkeep.remove([an_ask(1).id, an_ask(2).id], ["owed/"]) == Removed(0, 0)
    await owed.delivered(store.shelf, asker, an_ask(1).id)
    assert await upkeep.remove([an_ask(1).id, an_ask(2).id], []) == Removed(1, 0)


async def test_the_number_of_the_latest_change_is_never_given_again(upkeep: Upkeep, store: Store) -> None:
    """A listener and an index that have seen it would take what comes next for what they know."""
    await upkeep.keep([kept(an_ask(number), settled=True) for number in range(1, 4)])
    latest = (await all_asks(upkeep))[-1].changed
    assert await upkeep.remove([an_ask(number).id for number in range(1, 4)], []) == Removed(2, 0)
    assert await listed(store, text="which") == ([], [3])
    await store.add(an_ask(4))

    assert (await all_asks(upkeep))[-1].changed > latest
    assert await listed(store, text="which") == ([4], [3])


async def test_a_key_of_what_was_removed_may_be_used_anew(upkeep: Upkeep, store: Store) -> None:
    await upkeep.keep([kept(an_ask(1, key="k"), settled=True), kept(an_ask(2), settled=True)])
    assert await store.add(an_ask(3, key="k")) == an_ask(1, key="k")
    await upkeep.remove([an_ask(1).id], [])

    assert await store.add(an_ask(3, key="k")) == an_ask(3, key="k")


async def test_removed_asks_leave_nothing_in_the_index(upkeep: Upkeep, store: Store, sql: Sql) -> None:
    """Also one that was indexed while it was open, and one that was never indexed."""
    for number in range(1, 5):
        await store.add(an_ask(number))
    assert await listed(store, text="which") == ([1, 2, 3, 4], [])
    await upkeep.keep([kept(an_ask(5), settled=True)])
    for number in (4, 3):
        await store.settle(an_ask(number).id, a_settlement())
    assert await upkeep.remove([an_ask(5).id, an_ask(4).id], []) == Removed(2, 0)
    assert sql("SELECT count(*) FROM {}search")[0][0] == 3
    for number in (6, 7):
        await store.add(an_ask(number))

    assert await listed(store, text="which") == ([1, 2, 6, 7], [3])
    assert sql("SELECT count(*) FROM {}search")[0][0] == 5
    assert [finding for finding in await upkeep.look() if finding.wrong] == []
    await store.settle(an_ask(1).id, a_settlement())
    await store.settle(an_ask(2).id, a_settlement())
    assert await listed(store, text="which") == ([6, 7], [3, 1, 2])
    assert await upkeep.remove([an_ask(1).id, an_ask(3).id], []) == Removed(2, 0)
    assert sql("SELECT count(*) FROM {}search")[0][0] == 3


async def test_vacuum_loses_nothing_and_tells_how_much_room_there_was(upkeep: Upkeep, store: Store) -> None:
    asks = [kept(an_ask(number), settled=True) for number in range(2000)]
    await upkeep.keep(asks)
    assert len((await listed(store, text="which"))[1]) == 2000
    await upkeep.remove([ask.id for ask in asks[:-1]], [])
    adding = asyncio.gather(*(store.add(an_ask(number)) for number in range(3000, 3020)))
    room = await upkeep.vacuum()
    await adding

    assert room.before > 1_000_000
    assert is_postgres(upkeep.address) or room.after < room.before / 4
    assert await listed(store, text="which") == (list(range(3000, 3020)), [1999])


async def test_who_takes_long_over_a_snapshot_keeps_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    haste = {"statement_timeout": "50ms", "idle_in_transaction_session_timeout": "50ms"}
    monkeypatch.setattr(postgres_database, "_HASTE_OF_THE_DATABASE", haste)
    async with opened(url) as upkeep, upkeep.snapshot() as moment:
        before = await moment.count()
        await asyncio.sleep(0.2)  # over what was read
        assert await moment.count() == before


async def test_within_a_snapshot_all_is_as_it_was_at_one_moment(upkeep: Upkeep, store: Store) -> None:
    await store.add(an_ask(1))
    await store.shelf.put("a", "1")
    async with upkeep.snapshot() as moment:
        before = await all_asks(moment)
        await store.settle(an_ask(1).id, a_settlement())
        await store.add(an_ask(2))
        await store.shelf.put("a", "2")
        assert (await all_asks(moment), await moment.documents()) == (before, {"a": "1"})
        assert await moment.standing([kept(an_ask(2)), kept(an_ask(1))]) == {an_ask(1).id: before[0]}
        assert await moment.count() == Count(1, 0, 1)

    assert await upkeep.count() == Count(1, 1, 1)


async def test_a_file_is_written_that_every_askdesk_opens(upkeep: Upkeep, store: Store, tmp_path: Path) -> None:
    await upkeep.keep([kept(an_ask(1), settled=True), kept(an_ask(2))])
    await upkeep.change([Change("a", None, "1")])
    async with upkeep.snapshot() as moment:
        await store.add(an_ask(3))
        await moment.write_file(tmp_path / "file.db", lambda *_: None)
    file = await open_store(str(tmp_path / "file.db"), create=False)
    there = await listed(file), await file.shelf.get("a") is not None
    await file.close()

    assert there == (([2], [1]), True)
    assert oct((tmp_path / "file.db").stat().st_mode & 0o777) == "0o600"


async def test_a_desk_with_nothing_wrong_has_nothing_wrong(upkeep: Upkeep, store: Store) -> None:
    await store.add(an_ask(1))
    found = {finding.about: finding.says for finding in await upkeep.look() if not finding.wrong}

    assert found.pop("integrity", "ok") == "ok"
    assert found == {
        "schema": "1002",
        "tables": "nothing but ours",
        "search index": "reaches change 0 of 1; the next search goes on from there",
    }


async def test_an_index_that_is_ahead_of_the_desk_is_wrong(upkeep: Upkeep, store: Store, sql: Sql) -> None:
    await store.add(an_ask(1))
    sql("UPDATE {}search_upto SET changed = 7")
    (finding,) = [finding for finding in await upkeep.look() if finding.wrong]

    assert finding == (
        "search index",
        "reaches change 7, and the latest is 1: asks that come next are not found",
        True,
    )


async def test_only_who_says_so_makes_a_desk_where_there_is_none(url: str) -> None:
    with pytest.raises(NoStore):
        await open_upkeep(url)
    with pytest.raises(NoStore):
        await open_upkeep(url, write=True)
    assert is_postgres(url) or not Path(url).exists()  # noqa: ASYNC240 - nothing else runs here


async def test_what_a_newer_version_has_added_is_known_to_be_unknown(upkeep: Upkeep, url: str, sql: Sql) -> None:
    await upkeep.check_known()
    sql("UPDATE {}schema SET version = 1099" if is_postgres(url) else "PRAGMA user_version = 1099")
    with pytest.raises(StoreTooNew, match="its schema is 1099; this askdesk knows all of it up to 1002: upgrade it"):
        await upkeep.check_known()
    assert (await upkeep.look())[0].says == "1099; of a newer askdesk, whose desk this one can use"
    async with opened(url) as again:
        assert await again.count() == Count(0, 0, 0)


async def test_a_desk_that_an_older_version_left_is_read_as_it_is(upkeep: Upkeep, url: str, sql: Sql) -> None:
    """Before it is brought up to date by the first who writes."""
    await upkeep.keep([kept(an_ask(1)), kept(an_ask(2), settled=True)])
    for table in ("search", "search_upto", "search_unread", *([] if is_postgres(url) else ["search_open"])):
        sql(f"DROP TABLE {{}}{table}")
    sql("UPDATE {}schema SET version = 1001" if is_postgres(url) else "PRAGMA user_version = 1001")
    async with opened(url, create=False) as older:
        findings = await older.look()
        assert (numbers(await older.asks()), await older.count()) == ([1, 2], Count(1, 1, 0))
    async with opened(url) as newer:
        assert await newer.remove([an_ask(2).id], []) == Removed(0, 0)
        assert (await newer.look())[0].says == "1002"

    assert [finding for finding in findings if finding.wrong] == []
    assert findings[0].says == "1001; whoever works here next brings it to 1002"


async def test_leaving_a_snapshot_ends_what_was_begun_in_it(tmp_path: Path) -> None:
    url = str(tmp_path / "desk.db")
    async with opened(url) as upkeep:
        with closing(apsw.Connection(url)) as database:
            database.pragma("ignore_check_constraints", True)
            database.execute("CREATE TABLE slow (x CHECK (length(hex(randomblob(20000000))) > 0))")  # to look at
            database.execute("INSERT INTO slow SELECT value FROM json_each(?)", (str([0] * 3000),))
        async with asyncio.timeout(SECONDS):
            with pytest.raises(TimeoutError):
                async with upkeep.snapshot() as moment, asyncio.timeout(0.3):
                    await moment.look()
        assert await upkeep.count() == Count(0, 0, 0)


async def test_closing_ends_what_was_begun(upkeep: Upkeep, url: str) -> None:
    other = await open_upkeep(url)
    looking = [asyncio.ensure_future(other.look()) for _ in range(3)]
    await asyncio.sleep(0)
    for look in looking:
        look.cancel()
    await other.close()
    await other.close()

    assert await asyncio.gather(*looking, return_exceptions=True) != []
    assert await upkeep.count() == Count(0, 0, 0)
