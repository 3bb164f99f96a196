"""Memory, SQLite and PostgreSQL go through the same steps and never differ."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace
from tests.postgres import Cluster

from askdesk.core.errors import AskdeskError, VersionConflict
from askdesk.core.model import Ask, Asker, Declined, Entry, Permission, Settlement, Withdrawn
from askdesk.core.store import WITHDRAWAL, Document, Page, State, Store
from askdesk.stores.memory import MemoryStore
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON
from askdesk.testing.store_contract import ANSWERED, HOSTILE_TEXTS, PERMISSION, QUESTIONS, an_ask

Step: TypeAlias = Callable[[Store], Awaitable[Any]]
Cursors: TypeAlias = tuple[str, ...]
"""Where a page ended, in each of the stores."""

moments = st.integers(0, 12).map(lambda minutes: NOON + timedelta(minutes=10 * minutes))
states: st.SearchStrategy[State] = st.sampled_from(["open", "settled"])
limits = st.integers(1, 4)
names = st.sampled_from(["a", "b", "draft/", "draft/1", "draft/é", "drafts", "𝄞"])
values = st.sampled_from(["1", '"é"', "{}", ""])
outcomes = st.sampled_from([ANSWERED, Declined("let us talk", ANSWERED.answers), Declined()])
calls = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30).map(
    lambda text: Permission("Bash", {"command": text}, description=text)
)
bodies = st.sampled_from([QUESTIONS, PERMISSION]) | calls
parts = st.sampled_from(["wh", "database", "ana", "by:ana", "on:page", "is:declined", "is:open", "project:web", "talk"])
texts = st.lists(parts, max_size=2).map(" ".join) | st.sampled_from(HOSTILE_TEXTS) | st.text(max_size=10)


class StoresAgree(RuleBasedStateMachine):
    asks: Bundle[Ask] = Bundle("asks")
    cursors: Bundle[Cursors] = Bundle("cursors")
    versions: Bundle[tuple[str, tuple[int, ...]]] = Bundle("versions")

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.cluster, self.url = cluster, cluster.database()
        self.memory = MemoryStore()
        self.sqlite = self.run(SQLiteStore.open(self.path))
        self.postgres = self.run(PostgresStore.open(self.url))
        self.count = 0

    @property
    def path(self) -> Path:
        return Path(self.folder.name) / "desk.db"

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(work)

    def each(self, step: Step) -> list[Any]:
        """What each store makes of a step: its result, or its error."""
        return [self.run(_ended(step, store)) for store in (self.memory, self.sqlite, self.postgres)]

    def agree(self, step: Step) -> Any:
        first, *others = self.each(step)
        assert others == [first] * len(others)
        return first

    @rule(
        target=asks,
        key=st.sampled_from([None, None, "k", "l"]),
        project=st.sampled_from(["web", "app"]),
        deadline=st.none() | moments,
        body=bodies,
    )
    def add(self, key: str | None, project: str, deadline: datetime | None, body: Any) -> Ask:
        self.count += 1
        ask = an_ask(self.count, key=key, asker=Asker("builder", project=project), deadline=deadline, body=body)
        self.agree(lambda store: store.add(ask))
        return ask

    @rule(ask=asks)
    def add_the_very_same_ask_again_under_its_key(self, ask: Ask) -> None:
        if ask.key is not None:
            self.agree(lambda store: store.add(ask))

    @rule(ask=asks, body=st.sampled_from([QUESTIONS, PERMISSION]))
    def add_another_ask_under_the_key_of_one(self, ask: Ask, body: Any) -> None:
        if ask.key is not None:
            self.count += 1
            other = replace(ask, id=an_ask(self.count).id, body=body)
            self.agree(lambda store: store.add(other))

    @rule(ask=asks, at=moments, outcome=outcomes, submission=st.sampled_from(["one", "two"]))
    def settle(self, ask: Ask, at: datetime, outcome: Any, submission: str) -> None:
        settlement = Settlement(outcome, at, submission, "ana", "page")
        self.agree(lambda store: store.settle(ask.id, settlement))

    @rule(ask=asks, at=moments)
    def withdraw(self, ask: Ask, at: datetime) -> None:
        settlement = Settlement(Withdrawn("changed my mind"), at, WITHDRAWAL)
        self.agree(lambda store: store.settle(ask.id, settlement))

    @rule(now=moments)
    def expire(self, now: datetime) -> None:
        self.agree(lambda store: store.expire(now))

    @rule(ask=asks)
    def get(self, ask: Ask) -> None:
        self.agree(lambda store: store.get(ask.id))

    @rule(ask_id=st.sampled_from(["", "nothing", "' OR 1 --", "\0", "\ud800", "é" * 1000]))
    def name_an_ask_that_was_never_added(self, ask_id: str) -> None:
        self.agree(lambda store: store.get(ask_id))
        self.agree(lambda store: store.settle(ask_id, Settlement(ANSWERED, NOON, "one")))

    @rule(target=cursors, state=states, newest=st.booleans(), limit=limits, text=st.just("") | texts)
    def page(self, state: State, newest: bool, limit: int, text: str) -> Any:
        return self._page(state, newest, limit, None, text)

    @rule(
        target=cursors,
        cursor=consumes(cursors),
        state=states,
        newest=st.booleans(),
        limit=limits,
        text=st.just("") | texts,
    )
    def page_on(self, cursor: Cursors, state: State, newest: bool, limit: int, text: str) -> Any:
        return self._page(state, newest, limit, cursor, text)

    @rule(ask=asks, state=states, at=st.integers(0, 20), length=st.integers(1, 20))
    def search_for_a_piece_of_a_call(self, ask: Ask, state: State, at: int, length: int) -> None:
        assume(permission := ask.permission)
        assert permission
        self._page(state, False, 50, None, permission.description[at : at + length])

    @rule(after=st.sampled_from(["", "x", "-1", "1.0", "٣", "9" * 30, "1; DROP TABLE asks"]), newest=st.booleans())
    def page_on_from_a_place_that_no_page_gave(self, after: str, newest: bool) -> None:
        self.agree(lambda store: store.page("open", after=after, newest=newest))

    def _page(self, state: State, newest: bool, limit: int, cursor: Cursors | None, text: str) -> Any:
        places = iter(cursor or (None, None, None))
        pages = self.each(lambda store: store.page(state, after=next(places), limit=limit, newest=newest, text=text))
        assert all(isinstance(page, Page) for page in pages)
        assert [page.entries for page in pages] == [pages[0].entries] * 3
        assert [page.after is None for page in pages] == [pages[0].after is None] * 3
        return tuple(page.after for page in pages) if pages[0].after else multiple()

    @rule(target=versions, name=names, value=values)
    def put(self, name: str, value: str) -> Any:
        return self._put(name, value, (None,) * 3)

    @rule(target=versions, name=names, value=st.none() | values)
    def put_where_nothing_is_expected(self, name: str, value: str | None) -> Any:
        return self._put(name, value, (0,) * 3)

    @rule(target=versions, seen=versions, value=st.none() | values)
    def put_over_a_version_seen_before(self, seen: tuple[str, tuple[int, ...]], value: str | None) -> Any:
        name, expected = seen
        return self._put(name, value, expected)

    @rule(name=names)
    def remove(self, name: str) -> None:
        self.agree(lambda store: store.shelf.put(name, None))

    def _put(self, name: str, value: str | None, expect: tuple[int | None, ...]) -> Any:
        expected = iter(expect)
        written = self.each(lambda store: store.shelf.put(name, value, expect=next(expected)))
        assert [_unversioned(result) for result in written] == [_unversioned(written[0])] * 3
        is_there = isinstance(written[0], Document)
        return (name, tuple(document.version for document in written)) if is_there else multiple()

    @rule(name=names)
    def get_document(self, name: str) -> None:
        found = [_unversioned(document) for document in self.each(lambda store: store.shelf.get(name))]
        assert found == [found[0]] * 3

    @rule(prefix=st.sampled_from(["", "draft/", "d", "z", "draft/é"]))
    def list_documents(self, prefix: str) -> None:
        lists = [
            [_unversioned(each) for each in listed] for listed in self.each(lambda store: store.shelf.list(prefix))
        ]
        assert lists == [lists[0]] * 3

    @rule(text=st.sampled_from(["\0", "\ud800", "a\0b"]))
    def name_a_document_that_no_file_could_keep(self, text: str) -> None:
        self.agree(lambda store: store.shelf.get(text))
        self.agree(lambda store: store.shelf.list(text))
        self.agree(lambda store: store.shelf.put(text, "1"))
        self.agree(lambda store: store.shelf.put("a", text))

    @rule()
    def open_them_again(self) -> None:
        self.run(self.sqlite.close())
        self.run(self.postgres.close())
        self.sqlite = self.run(SQLiteStore.open(self.path))
        self.postgres = self.run(PostgresStore.open(self.url))

    @invariant()
    def all_list_the_same(self) -> None:
        for state in ("open", "settled"):
            self.agree(lambda store, state=state: _listed(store, state))  # type: ignore[misc]

    def teardown(self) -> None:
        self.run(self.sqlite.close())
        self.run(self.postgres.close())
        self.loop.close()
        self.folder.cleanup()
        self.cluster.drop(self.url)


async def _listed(store: Store, state: State) -> tuple[Entry, ...]:
    return (await store.page(state, limit=1000)).entries


async def _ended(step: Step, store: Store) -> Any:
    """The result, or which error with which words."""
    try:
        return await step(store)
    except VersionConflict as error:
        return type(error), error.name
    except AskdeskError as error:
        return type(error), str(error)


def _unversioned(result: Any) -> Any:
    return (result.name, result.value) if isinstance(result, Document) else result


def test_the_stores_never_differ(cluster: Cluster) -> None:
    run_state_machine_as_test(
        lambda: StoresAgree(cluster),  # type: ignore[arg-type] # whatever makes one will do
        settings=settings(
            max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
