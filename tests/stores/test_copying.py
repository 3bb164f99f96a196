"""Copies from one store into another: the same texts in the same order, whatever breaks off and whoever is at work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import apsw
import asyncpg
import pytest
from msgspec.structs import replace
from tests.cli.command import Ran, askdesk
from tests.postgres import Cluster

from askdesk.core.errors import StoreClash, StoreTooNew
from askdesk.core.model import Permission
from askdesk.core.store import Store
from askdesk.core.strict import text_flaw
from askdesk.core.text import is_blank
from askdesk.open import open_store, open_upkeep
from askdesk.stores import postgres_upkeep, sqlite_upkeep
from askdesk.stores.copying import Copied, copy
from askdesk.stores.upkeep import Change, Heard, KeptAsk, Upkeep
from askdesk.testing.clock import NOON
from askdesk.testing.store_contract import HOSTILE_TEXTS, a_settlement, an_ask
from askdesk.wire import record

pytestmark = pytest.mark.anyio

SQLITE, POSTGRES = "sqlite", "postgres"
WAYS = [(SQLITE, POSTGRES), (POSTGRES, SQLITE), (SQLITE, SQLITE)]
NUMBERS = '{"one":1.0,"e":1e3,"E":-0.0E+1,"z":0,"a":123456789012345678901234567890,"\\u00e9":"\\u00e9\\/"}'


class Stopped(Exception):
    """The copy was broken off."""


class Desk(NamedTuple):
    """A store as those see it who work there, and its upkeep."""

    store: Store
    upkeep: Upkeep


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> Iterator[str]:
    """One for all tests here: to make one for each takes longer than the tests."""
    url = cluster.database()
    yield url
    cluster.drop(url)


@pytest.fixture
def emptied(database: str, cluster: Cluster) -> Callable[[], str]:
    """That database, with nothing in it."""

    def emptied() -> str:
        cluster.sql("DROP SCHEMA IF EXISTS askdesk CASCADE", database=database.rpartition("/")[2])
        return database

    return emptied


class Desks:
    """Opens the desks of a test, and closes them at its end."""

    def __init__(self, folder: Path, postgres: str, stack: AsyncExitStack) -> None:
        self._folder, self._postgres, self._stack = folder, postgres, stack

    async def open(self, kind: str, name: str) -> Desk:
        url = self._postgres if kind == POSTGRES else str(self._folder / f"{name}.db")
        upkeep = await open_upkeep(url, create=True)
        self._stack.push_async_callback(upkeep.close)
        store = await open_store(url)
        self._stack.push_async_callback(store.close)
        return Desk(store, upkeep)


@pytest.fixture
async def desks(tmp_path: Path, emptied: Callable[[], str]) -> AsyncIterator[Desks]:
    async with AsyncExitStack() as stack:
        yield Desks(tmp_path, emptied(), stack)


@pytest.fixture(params=WAYS, ids="-to-".join)
async def way(request: pytest.FixtureRequest, desks: Desks) -> tuple[Desk, Desk]:
    here, there = request.param
    return await desks.open(here, "here"), await desks.open(there, "there")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sqlite_upkeep, postgres_upkeep):
        monkeypatch.setattr(module, "MOST_ASKS", 7)


def unheard(what: str, done: int, total: int) -> None:
    """Nobody looks."""


async def copied(here: Desk, there: Desk, heard: Heard = unheard) -> Copied:
    return await copy(here.upkeep, there.upkeep, ("attending/",), heard)


async def contents(desk: Desk) -> tuple[list[KeptAsk], dict[str, str]]:
    """Everything, in its order, but for the store's own numbers and marks."""
    asks: list[KeptAsk] = []
    place = 0
    while some := await desk.upkeep.asks(place):
        place = some[-1].changed
        asks += (ask._replace(changed=0) for ask in some)
    documents = (await desk.upkeep.documents()).items()
    return asks, {name: value for name, value in documents if not name.startswith("copied/")}


async def listed(desk: Desk) -> tuple[list[int], list[int]]:
    """The open asks and the settled ones, as people see them."""
    pages = [await desk.store.page("open", limit=100), await desk.store.page("settled", limit=100)]
    opened, settled = ([int(entry.ask.id, 16) for entry in page.entries] for page in pages)
    return opened, settled


async def worked_at(desk: Desk, first: int, count: int) -> None:
    """Agents ask, people answer all but every third, and leave drafts."""
    for number in range(first, first + count):
        await desk.store.add(an_ask(number, key=f"k{number}" if number % 2 else None))
    for number in reversed(range(first, first + count)):
        if number % 3:
            await desk.store.settle(an_ask(number).id, a_settlement(f"by {number}"))
        else:
            await desk.store.shelf.put(f"draft/{an_ask(number).id}/ana", f'"{number}"')


async def test_everything_is_there_as_it_was_kept_and_in_its_order(way: tuple[Desk, Desk], small_batches: None) -> None:
    here, there = way
    await worked_at(here, 0, 30)
    found = await copied(here, there)

    assert await contents(there) == await contents(here)
    assert found == Copied(10, 20, 10, found.sha256, 0)
    assert await listed(there) == await listed(here) == (list(range(0, 30, 3)), [n for n in range(29, 0, -1) if n % 3])


async def test_there_and_back_it_is_the_same_to_the_byte(desks: Desks) -> None:
    here, there, back = [await desks.open(kind, str(n)) for n, kind in enumerate((SQLITE, POSTGRES, SQLITE))]
    for number, text in enumerate(text for text in HOSTILE_TEXTS if not text_flaw(text) and not is_blank(text)):
        await here.store.add(an_ask(number, body=Permission("Bash", NUMBERS, description=text), key=f"k {text}"))
        await here.store.settle(an_ask(number).id, replace(a_settlement(), by=text))
    await here.store.add(an_ask(1000, deadline=NOON))
    await here.store.shelf.put("draft/1", NUMBERS)
    there_found = await copied(here, there)
    back_found = await copied(there, back)

    assert await contents(back) == await contents(there) == await contents(here)
    assert there_found == back_found
    for desk in (here, there, back):
        permission = (await desk.store.get(an_ask(0).id)).ask.permission
        assert permission
        assert permission.input == NUMBERS


async def test_what_only_a_newer_version_knows_comes_along(way: tuple[Desk, Desk]) -> None:
    here, there = way
    known, settlement = record.encode(an_ask(1)), record.encode(a_settlement())
    fields = f'{known[:-1]},"mood":{{"b":1.50,"a":[ ]}}}}'
    newer = known.replace('{"v":1,', '{ "v" : 2, "shape": "round", ')
    asks = [
        KeptAsk(an_ask(1).id, "web", None, fields, None, f'{settlement[:-1]},"witness":"ben"}}', 0),
        KeptAsk(an_ask(2).id, "web", None, newer, None, '{"v":3}', 0),
    ]
    await here.upkeep.keep(asks)
    await copied(here, there)

    assert (await contents(there))[0] == asks


@pytest.mark.parametrize("kinds", WAYS, ids="-to-".join)
async def test_broken_off_at_any_moment_it_goes_on_and_ends_the_same(
    kinds: tuple[str, str], tmp_path: Path, emptied: Callable[[], str], small_batches: None
) -> None:
    for moment in count():
        async with AsyncExitStack() as stack:
            desks = Desks(tmp_path, emptied(), stack)
            here, there = [await desks.open(kind, f"{name}{moment}") for kind, name in zip(kinds, "ab", strict=True)]
            await worked_at(here, 0, 25)
            was_stopped = await stopped(here, there, moment)
            await worked_at(here, 30, 5)
            await here.store.settle(an_ask(0).id, a_settlement())
            await copied(here, there)
            assert await contents(there) == await contents(here)
        if not was_stopped:
            break
    assert moment == 8  # steps: four to copy the asks, four to compare them


async def stopped(here: Desk, there: Desk, at: int) -> bool:
    """Whether a copy came to a step, and ended there as Ctrl-C or a crash would end it."""
    steps = count()

    def heard(what: str, done: int, total: int) -> None:
        if next(steps) == at:
            raise Stopped

    try:
        await copied(here, there, heard)
    except Stopped:
        return True
    return False


async def test_what_is_there_already_is_not_written_again(way: tuple[Desk, Desk], small_batches: None) -> None:
    here, there = way
    await worked_at(here, 0, 20)
    first = await copied(here, there)
    before = await there.upkeep.asks(), await there.store.shelf.list()
    told: set[str] = set()

    assert await copied(here, there, lambda what, done, total: told.add(what)) == first
    assert (await there.upkeep.asks(), await there.store.shelf.list()) == before
    assert told == {"asks looked up", "asks compared"}


async def test_what_agents_and_people_do_meanwhile_comes_along_or_is_told(
    way: tuple[Desk, Desk], small_batches: None
) -> None:
    here, there = way
    await worked_at(here, 0, 60)
    at_work = asyncio.ensure_future(worked_at(here, 100, 60))
    await copied(here, there)
    await at_work
    await here.store.settle(an_ask(0).id, a_settlement("late"))
    found = await copied(here, there)

    assert (found.changed, found.asks) == (0, 120)
    assert await contents(there) == await contents(here)


class AtWork:
    """A store where people do something right after its documents were written, which comes last of all."""

    def __init__(self, upkeep: Upkeep, work: Callable[[], Awaitable[object]]) -> None:
        self._upkeep, self._work = upkeep, work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._upkeep, name)

    async def change(self, changes: Sequence[Change]) -> None:
        await self._upkeep.change(changes)
        await self._work()


async def test_what_changes_after_it_was_copied_is_told_and_follows(way: tuple[Desk, Desk]) -> None:
    here, there = way
    await worked_at(here, 0, 10)
    await here.store.shelf.put("owed/a/b", "{}")

    async def work() -> None:
        await here.store.settle(an_ask(0).id, a_settlement())
        await here.store.add(an_ask(50))
        await here.store.shelf.put(f"draft/{an_ask(3).id}/ana", '"typed on"')
        await here.store.shelf.put("owed/a/b", None)

    watched = Desk(there.store, cast(Upkeep, AtWork(there.upkeep, work)))
    assert (await copied(here, watched)).changed == 4
    assert (await copied(here, there)).changed == 0
    assert await contents(there) == await contents(here)


IS_ANOTHER = f"{{}}: ask {an_ask(4).id}: is another one there"
IS_SETTLED_OTHERWISE = f"{{}}: ask {an_ask(4).id}: is settled otherwise there"
HAS_CHANGED = (
    "asks and documents that have changed since they were copied: 1; "
    "run it again, and it goes on; once nobody works there, all of it is the same"
)
SPOILED = {
    "UPDATE asks SET record = record || ' ' WHERE id LIKE '%4'": IS_ANOTHER,
    "UPDATE asks SET key = 'other' WHERE id LIKE '%4'": IS_ANOTHER,
    "UPDATE asks SET deadline = 1 WHERE id LIKE '%4'": IS_ANOTHER,
    "UPDATE asks SET settlement = settlement || ' ' WHERE id LIKE '%4'": IS_SETTLED_OTHERWISE,
    "UPDATE asks SET settlement = NULL WHERE id LIKE '%4'": HAS_CHANGED,
    "DELETE FROM asks WHERE id LIKE '%4'": HAS_CHANGED,
    "UPDATE shelf SET value = '1 ' WHERE name = 'rule/1'": '{}: document "rule/1": is another one there',
    "DELETE FROM shelf WHERE name = 'rule/1'": '{}: document "rule/1": was removed there',
}


@pytest.mark.parametrize("way", WAYS[:2], indirect=True, ids="-to-".join)
@pytest.mark.parametrize("spoiled", list(SPOILED), ids=lambda spoiled: spoiled.partition(" WHERE")[0])
async def test_where_anything_is_kept_otherwise_than_it_was_given_a_copy_says_so(
    spoiled: str, way: tuple[Desk, Desk]
) -> None:
    here, there = way
    await worked_at(here, 0, 7)
    await here.store.shelf.put("rule/1", "1")
    await spoil(there, spoiled)
    ran = await asyncio.to_thread(askdesk, "store", "copy", here.upkeep.address, there.upkeep.address)

    assert ran == Ran(1, "", f"askdesk: {SPOILED[spoiled].format(there.upkeep.address)}\n")


async def spoil(desk: Desk, statement: str) -> None:
    """Have the database change something by itself whenever anything is put into the same table."""
    address, table = desk.upkeep.address, "asks" if "asks" in statement else "shelf"
    if not address.startswith("postgresql:"):
        with closing(apsw.Connection(address)) as database:
            database.execute(f"CREATE TRIGGER spoil AFTER INSERT ON {table} BEGIN {statement}; END")
        return
    connection = await asyncpg.connect(address)
    await connection.execute(f"""
        SET search_path = askdesk;
        CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql SET search_path = askdesk
        AS $$ BEGIN {statement}; RETURN NULL; END $$;
        CREATE TRIGGER spoil AFTER INSERT ON {table} EXECUTE FUNCTION spoil();
    """)
    await connection.close()


async def test_documents_that_were_touched_there_are_not_written_over(way: tuple[Desk, Desk]) -> None:
    here, there = way
    await worked_at(here, 0, 3)
    for name in ("touched", "removed", "left"):
        await here.store.shelf.put(name, "1")
    await copied(here, there)
    await there.store.shelf.put("touched", "2")
    await there.store.shelf.put("removed", None)
    await here.store.shelf.put("left", None)
    await here.store.add(an_ask(20))
    before = await contents(there)
    with pytest.raises(StoreClash) as error:
        await copied(here, there)

    assert str(error.value).splitlines() == [
        f'{there.upkeep.address}: document "removed": was removed there',
        f'{there.upkeep.address}: document "touched": is another one there',
    ]
    assert await contents(there) == before


async def test_documents_follow_also_where_nothing_was_asked_yet(way: tuple[Desk, Desk]) -> None:
    """As where a server was set up, and its tokens were made."""
    here, there = way
    for name in ("kept", "revoked", "removed"):
        await here.store.shelf.put(f"token/{name}", '"made"')
    await copied(here, there)
    await here.store.shelf.put("token/revoked", '"revoked"')
    await here.store.shelf.put("token/removed", None)
    found = await copied(here, there)

    assert found == Copied(0, 0, 2, found.sha256, 0)
    assert await contents(there) == await contents(here) == ([], {"token/kept": '"made"', "token/revoked": '"revoked"'})


async def test_what_an_earlier_copy_from_another_store_brought_is_not_taken_for_ours(desks: Desks) -> None:
    """At the very path of the one that was copied first."""
    first, there = await desks.open(SQLITE, "here"), await desks.open(POSTGRES, "there")
    await worked_at(first, 0, 3)
    await first.store.shelf.put("rule/1", "1")
    await copied(first, there)
    for desk in first:
        await desk.close()
    for leftover in Path(first.upkeep.address).parent.glob("here.db*"):
        leftover.unlink()
    second = await desks.open(SQLITE, "here")
    await worked_at(second, 50, 3)
    found = await copied(second, there)

    assert (found.asks, found.documents) == (3, 1)
    assert await there.store.shelf.get("rule/1") is not None
    await second.store.shelf.put("rule/1", "2")
    with pytest.raises(StoreClash, match="rule/1"):
        await copied(second, there)


async def test_a_desk_with_asks_of_its_own_keeps_them(way: tuple[Desk, Desk]) -> None:
    here, there = way
    await worked_at(here, 0, 6)
    await worked_at(there, 100, 6)
    await there.store.shelf.put("rule/1", "1")
    before = await contents(there)
    ours = await contents(here)
    await copied(here, there)

    assert await contents(there) == ([*before[0], *ours[0]], {**ours[1], **before[1]})


async def test_where_anything_clashes_all_of_it_is_named_and_nothing_is_written(
    way: tuple[Desk, Desk], small_batches: None
) -> None:
    here, there = way
    await worked_at(here, 0, 20)
    await there.store.add(an_ask(200, key="k19"))
    await there.store.add(an_ask(3, key="k3"))
    await there.store.settle(an_ask(3).id, a_settlement("elsewhere"))
    before = await contents(there)
    with pytest.raises(StoreClash) as error:
        await copied(here, there)

    assert sorted(str(error.value).splitlines()) == [
        f"{there.upkeep.address}: ask {an_ask(3).id}: is settled there, and open here",
        f'{there.upkeep.address}: key "k19": names ask {an_ask(200).id} there, and ask {an_ask(19).id} here',
    ]
    assert await contents(there) == before


async def test_signs_of_life_stay_where_they_are_and_so_do_marks(desks: Desks) -> None:
    here, there, back = [await desks.open(kind, str(n)) for n, kind in enumerate((SQLITE, POSTGRES, SQLITE))]
    await worked_at(here, 0, 3)
    await here.store.shelf.put("attending/host/1", "{}")
    await copied(here, there)
    await copied(there, back)

    marks = [(name, name.startswith("copied/")) for name in await there.upkeep.documents()]
    assert marks[1:] == [(f"draft/{an_ask(0).id}/ana", False)]
    assert marks[0][1]
    assert marks[0][0] not in await back.upkeep.documents()


async def test_one_that_a_newer_version_has_added_to_is_copied_by_that_alone(desks: Desks) -> None:
    here, there = await desks.open(SQLITE, "here"), await desks.open(SQLITE, "there")
    with closing(apsw.Connection(here.upkeep.address)) as database:
        database.pragma("user_version", 1099)
    with pytest.raises(StoreTooNew):
        await copied(here, there)
