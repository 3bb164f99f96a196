"""A way to the database that is cut in the midst of any one message: each verb comes through once, or not at all, and
the same store goes on. `scripts/faults disk` cuts at every message, the short form at some.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
import pytest
from tests.stores.cut_wire import CutWire, cut_wire
from tests.stores.verbs import VERBS, Seen, Verb, begin, seen

from askdesk.core.errors import StoreGone, VersionConflict
from askdesk.core.model import Entry
from askdesk.core.store import Store
from askdesk.stores import postgres_migrate
from askdesk.stores.migrate import Migration, migrations
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import an_ask

pytestmark = pytest.mark.anyio

SAVE = """
CREATE SCHEMA saved;
CREATE TABLE saved.asks AS TABLE askdesk.asks;
CREATE TABLE saved.shelf AS TABLE askdesk.shelf;
"""
RESTORE = """
DELETE FROM askdesk.asks; DELETE FROM askdesk.shelf; DELETE FROM askdesk.search;
INSERT INTO askdesk.asks OVERRIDING SYSTEM VALUE TABLE saved.asks;
INSERT INTO askdesk.shelf TABLE saved.shelf;
UPDATE askdesk.search_upto SET changed = 0;
"""
KNOWN = migrations("postgres")
NEWER = Migration(1999, "ALTER TABLE askdesk.asks ADD COLUMN mood text NOT NULL DEFAULT 'calm'")
OLDER = f"""
DROP SCHEMA askdesk CASCADE;
CREATE SCHEMA askdesk;
CREATE TABLE askdesk.schema AS SELECT {KNOWN[0].number} AS version;
{KNOWN[0].sql};
INSERT INTO askdesk.asks OVERRIDING SYSTEM VALUE TABLE saved.asks;
INSERT INTO askdesk.shelf TABLE saved.shelf;
SELECT setval('askdesk.asks_seq_seq', 100), setval('askdesk.changes', 100), setval('askdesk.versions', 100);
"""
EVERYTHING = """
SELECT relname::text FROM pg_class WHERE relnamespace = 'askdesk'::regnamespace
UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'askdesk'::regnamespace
UNION ALL SELECT schema::text FROM askdesk.schema
UNION ALL SELECT asks::text FROM askdesk.asks UNION ALL SELECT shelf::text FROM askdesk.shelf ORDER BY 1
"""
IS_LONG_RUN = os.environ.get("ASKDESK_TEST_FAULTS") == "all"
AT_WORK = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE client_port = ANY ($1))"


class Place(NamedTuple):
    """A desk that is put back before each try, a wire that leads there, and a way of our own that is never cut."""

    store: PostgresStore
    direct: Any
    wire: CutWire

    async def restore(self) -> None:
        await self.direct.execute(RESTORE)

    async def seen(self) -> Seen:
        return await seen(self.store)

    async def left_alone(self) -> None:
        """Until nobody does anything any more for those whose wire was cut."""
        while await self.direct.fetchval(AT_WORK, self.wire.ports):
            pass


@asynccontextmanager
async def opened(url: str, *, patience: float = 30) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, patience=patience)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def place(postgres: str) -> AsyncIterator[Place]:
    direct = await asyncpg.connect(postgres)
    async with opened(postgres) as store, cut_wire(postgres) as wire:
        await begin(store)
        await direct.execute(SAVE)
        yield Place(store, direct, wire)
    await direct.close()


async def messages_of(place: Place, store: PostgresStore, verb: Verb) -> tuple[int, Seen]:
    """How many a verb takes whose way is not cut, and what there is afterwards."""
    for _ in range(2):  # the first time its statements are new to the database
        await place.restore()
        place.wire.messages = 0
        await verb(store)
    return place.wire.messages, await place.seen()


def tried(messages: int, most: int) -> Sequence[int]:
    """Which of so many messages: all of them in the long run, else at the most so many, the last one with them."""
    each = 1 if IS_LONG_RUN else -(-messages // most)
    return range(messages, 0, -each)


async def come_back(place: Place, store: PostgresStore, verb: Verb) -> None:
    """Put everything back, and have the verb's statements known on the connection that it will take."""
    await place.restore()
    await verb(store)
    await place.restore()


@pytest.mark.parametrize("name", list(VERBS))
async def test_a_verb_comes_through_once_where_its_way_is_cut_once_and_else_the_same_store_goes_on_later(
    name: str, place: Place
) -> None:
    async with opened(place.wire.url) as patient, opened(place.wire.url, patience=0.02) as hasty:
        before = await place.seen()
        messages, after = await messages_of(place, patient, VERBS[name])
        for at in tried(messages, 10):
            await come_back(place, patient, VERBS[name])
            place.wire.cut(at, for_good=False)
            await VERBS[name](patient)
            assert place.wire.was_cut
            place.wire.mend()
            assert await place.seen() == after

            await come_back(place, hasty, VERBS[name])
            place.wire.cut(at, for_good=True)
            with pytest.raises(StoreGone):
                await VERBS[name](hasty)
            await place.left_alone()
            assert await place.seen() in (before, after)
            place.wire.mend()
            await VERBS[name](hasty)
            assert await place.seen() == after


async def test_who_may_not_have_removed_a_document_is_never_told_to_have_removed_it(place: Place) -> None:
    """As a link that signs in once: where only the answer is lost, nobody knows who of two removed it."""

    async def remove(store: Store) -> bool:
        old = await store.shelf.get("old")
        assert old is not None
        try:
            await store.shelf.put("old", None, expect=old.version)
        except VersionConflict:
            return False
        return True

    async with opened(place.wire.url) as store:
        messages, after = await messages_of(place, store, remove)
        told = []
        for at in tried(messages, 20):
            await come_back(place, store, remove)
            place.wire.cut(at, for_good=False)
            told.append(await remove(store))
            place.wire.mend()
            assert await place.seen() == after
    assert told[0] is False  # only the answer was lost
    assert told[-1] is True  # it was not even sent


async def test_a_desk_that_is_made_over_a_way_that_is_cut_is_made_whole(postgres: str) -> None:
    direct = await asyncpg.connect(postgres)
    async with cut_wire(postgres) as wire:
        wire.messages = 0
        async with opened(wire.url):
            messages = wire.messages
        for at in tried(messages, 20):
            await direct.execute("DROP SCHEMA askdesk CASCADE")
            wire.cut(at, for_good=True)
            with pytest.raises(StoreGone):
                await PostgresStore.open(wire.url, patience=0.02)
            wire.mend()
            async with opened(wire.url) as store:
                await store.add(an_ask(1))
                assert (await store.page("open", text="which")).entries == (Entry(an_ask(1)),)
    await direct.close()


async def test_an_older_desk_is_brought_up_to_date_over_a_way_that_is_cut_whole_or_not_at_all(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def everything() -> list[str]:
        return [row[0] for row in await place.direct.fetch(EVERYTHING)]

    monkeypatch.setattr(postgres_migrate, "migrations", lambda _: (*KNOWN, NEWER))
    kept = await place.seen()
    await place.direct.execute(OLDER)
    older = await everything()
    place.wire.messages = 0
    async with opened(place.wire.url):
        messages, newer = place.wire.messages, await everything()
    found: list[list[str]] = []
    for at in tried(messages, 20):
        await place.direct.execute(OLDER)
        place.wire.cut(at, for_good=True)
        with pytest.raises(StoreGone):
            await PostgresStore.open(place.wire.url, patience=0.02)
        await place.left_alone()
        found.append(await everything())
        place.wire.mend()
        async with opened(place.wire.url) as store:
            assert await everything() == newer
            assert await seen(store) == kept
            assert (await store.page("open", text="which")).entries == kept.open
            await store.add(an_ask(100))
    assert [state for state in found if state not in (older, newer)] == []
    assert (found[0], found[-1]) == (newer, older)
