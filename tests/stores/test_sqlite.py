"""What the SQLite store does beyond the contract: with real files, real processes, and everything that befalls them."""

# ruff: noqa: ASYNC240 - nothing else runs in this event loop meanwhile

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.other import Other, Raised
from tests.stores.small_disk import can_mount, needs_a_small_disk, small_disk

from askdesk.core.errors import StoreBusy, StoreCorrupt, StoreError, StoreGone, StoreTooNew
from askdesk.core.model import Ask, Entry, Permission
from askdesk.core.store import State
from askdesk.stores.sqlite import INSERT, SETTLE, SQLiteStore
from askdesk.testing.store_contract import PERMISSION, a_settlement, an_ask
from askdesk.wire import record

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "desk.db"


@pytest.fixture
def other() -> Iterator[Other]:
    with Other() as other:
        yield other


@asynccontextmanager
async def opened(path: Path, *, busy_seconds: float = 10.0) -> AsyncIterator[SQLiteStore]:
    store = await SQLiteStore.open(path, busy_seconds=busy_seconds)
    try:
        yield store
    finally:
        await store.close()


async def numbers(store: SQLiteStore, state: State = "open", text: str = "") -> list[int]:
    return [int(entry.ask.id, 16) for entry in (await store.page(state, limit=10_000, text=text)).entries]


async def numbers_in(path: Path) -> list[int]:
    async with opened(path) as store:
        return await numbers(store)


async def made(path: Path, *asks: int) -> Path:
    """A desk with these asks."""
    async with opened(path) as store:
        for number in asks:
            await store.add(an_ask(number))
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir()}


def sql(path: Path, *statements: str) -> list[Any]:
    """Run SQL as another program would, and give the rows of the last statement."""
    database = apsw.Connection(str(path))
    try:
        return [database.execute(statement).fetchall() for statement in statements][-1]
    finally:
        database.close()


def beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")]


def modes(*paths: Path) -> list[str]:
    return [oct(found.stat().st_mode & 0o777) for found in paths]


async def test_the_file_and_those_beside_it_are_for_their_owner_only(path: Path) -> None:
    earlier = os.umask(0)
    try:
        async with opened(path) as store:
            await store.add(an_ask())
            assert modes(path.parent, path, *beside(path)) == ["0o700", "0o600", "0o600", "0o600"]
    finally:
        os.umask(earlier)


async def test_opening_leaves_no_other_files(path: Path) -> None:
    await made(path, 1)
    assert sorted(snapshot(path.parent)) == ["desk.db"]


async def test_a_second_opening_keeps_earlier_asks(path: Path) -> None:
    await made(path, 1)
    await made(path, 2)
    assert await numbers_in(path) == [1, 2]


async def test_eight_processes_that_open_a_new_desk_at_once_share_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(Other()) for _ in range(8)]
        for other in others:
            other.do("files", str(tmp_path))  # it has started
        for turn in range(12):
            path = tmp_path / f"{turn}" / "deep" / "desk.db"
            at = time.monotonic() + 0.05
            for other in others:
                other.tell("open", str(path), at)
            for other in others:
                other.told()
            for number, other in enumerate(others):
                other.do("add", number)
            assert [other.do("numbers") for other in others] == [list(range(8))] * 8
            for other in others:
                other.do("close")
            assert sorted(snapshot(path.parent)) == ["desk.db"]


async def test_four_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(Other()) for _ in range(4)]
        for other in others:
            other.do("open", str(path))
        for turn, other in enumerate(others):
            other.tell("add_one_by_one", *range(turn, 400, 4))
        for other in others:
            other.told()
    assert sorted(await numbers_in(path)) == list(range(400))


async def test_of_four_processes_that_settle_at_once_each_learns_the_same_winner(path: Path) -> None:
    await made(path, *range(20))
    with ExitStack() as stack:
        others = {name: stack.enter_context(Other()) for name in ("ana", "ben", "cleo", "dan")}
        for other in others.values():
            other.do("open", str(path))
        for number in range(20):
            for name, other in others.items():
                other.tell("settle", number, name)
            standing = [other.told() for other in others.values()]
            assert standing == [standing[0]] * 4
    assert await numbers_in(path) == []


async def test_a_waiter_in_another_process_is_woken(path: Path, other: Other) -> None:
    async with opened(path) as store:
        other.do("open", str(path))
        for number in range(3):
            other.do("listen")
            started = time.monotonic()
            await store.add(an_ask(number))
            assert other.do("heard")
            assert time.monotonic() - started < 3


async def test_what_a_killed_process_was_told_is_there_and_the_file_is_free(path: Path, other: Other) -> None:
    other.do("open", str(path))
    other.do("add", *range(50))
    other.do("lock", str(path))
    other.kill()
    async with opened(path, busy_seconds=0.5) as store:
        assert sorted(await numbers(store)) == list(range(50))
        await store.add(an_ask(50))


async def test_in_the_child_of_a_fork_everything_is_refused_and_nothing_hangs(path: Path, other: Other) -> None:
    other.do("open", str(path))
    other.do("add", 1)
    tries = ("add", "settle", "get", "page", "put", "hints", "close")
    assert other.do("fork") == [f"{name}: StoreError" for name in tries]
    other.do("add", 2)
    assert other.do("numbers") == [1, 2]


async def test_a_newer_major_schema_is_refused_and_left_alone(path: Path) -> None:
    await made(path, 1)
    sql(path, "PRAGMA user_version = 2001")
    before = snapshot(path.parent)
    with pytest.raises(StoreTooNew, match=r"2\.x"):
        await SQLiteStore.open(path)
    assert snapshot(path.parent) == before


NEWER_MINOR = (
    "ALTER TABLE asks ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",
    "ALTER TABLE shelf ADD COLUMN owner TEXT",
    "CREATE TABLE audit (line TEXT)",
    "PRAGMA user_version = 1999",
)
AS_NEWER = "UPDATE asks SET mood = 'keen', record = json_set(record, '$.mood', 'keen')"


async def test_an_older_version_works_on_a_newer_minor_schema_and_leaves_what_it_does_not_know(path: Path) -> None:
    await made(path, 1, 2)
    sql(path, *NEWER_MINOR, AS_NEWER)
    records = sql(path, "SELECT record FROM asks ORDER BY seq")
    async with opened(path) as store:
        assert await store.get(an_ask(1).id) == Entry(an_ask(1))
        assert await store.settle(an_ask(1).id, a_settlement()) == a_settlement()
        assert await store.add(an_ask(3)) == an_ask(3)
        assert (await numbers(store), await numbers(store, "settled")) == ([2, 3], [1])
        document = await store.shelf.put("a", "1")
        assert await store.shelf.list() == (document,)
    assert sql(path, "SELECT mood FROM asks ORDER BY seq") == [("keen",), ("keen",), ("calm",)]
    assert sql(path, "SELECT record FROM asks ORDER BY seq")[:2] == records
    assert sql(path, "PRAGMA user_version") == [(1999,)]


async def test_a_newer_version_may_come_while_an_older_one_has_the_file_open(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        sql(path, *NEWER_MINOR, AS_NEWER)
        await store.add(an_ask(2))
        sql(path, AS_NEWER)
        await store.settle(an_ask(2).id, a_settlement())
        assert await store.get(an_ask(1).id) == Entry(an_ask(1))
        assert await store.get(an_ask(2).id) == Entry(an_ask(2), a_settlement())
    assert sql(path, "SELECT mood FROM asks") == [("keen",), ("keen",)]


def another_programs(path: Path) -> None:
    sql(path, "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")


def another_programs_with_wal(path: Path) -> None:
    sql(path, "PRAGMA journal_mode = wal", "CREATE TABLE asks (id TEXT)")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("dear diary\n" * 1000)


def half_a_header(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(20))


@pytest.mark.parametrize("write", [another_programs, another_programs_with_wal, empty, text, half_a_header])
async def test_a_file_that_is_no_desk_is_refused_and_left_as_it_was(write: Any, tmp_path: Path) -> None:
    write(tmp_path / "desk.db")
    before = snapshot(tmp_path)
    with pytest.raises(StoreCorrupt, match=r"desk\.db"):
        await SQLiteStore.open(tmp_path / "desk.db")
    assert snapshot(tmp_path) == before


def damaged_schema(whole: bytes) -> bytes:
    return whole[:100] + b"\xa5" * 3996 + whole[4096:]


def damaged_pages(whole: bytes) -> bytes:
    return whole[:4096] + b"\xa5" * (len(whole) - 4096)


def cut_off(whole: bytes) -> bytes:
    return whole[:8192]


@pytest.mark.parametrize("damage", [damaged_schema, damaged_pages, cut_off])
async def test_a_damaged_desk_is_named_so_and_left_as_it_was(damage: Any, path: Path) -> None:
    await made(path, *range(40))
    path.write_bytes(damage(path.read_bytes()))
    before = snapshot(path.parent)
    for step in ("get", "add", "settle", "page"):
        with pytest.raises(StoreCorrupt):
            async with opened(path) as store:
                await _step(store, step)
        assert snapshot(path.parent) == before


async def _step(store: SQLiteStore, step: str) -> None:
    match step:
        case "get":
            await store.get(an_ask(20).id)
        case "add":
            await store.add(an_ask(99))
        case "settle":
            await store.settle(an_ask(20).id, a_settlement())
        case _:
            await store.page("open")


async def test_a_deleted_file_is_noticed_and_works_again_once_it_is_back(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        path.rename(path.with_name("away"))
        for work in (store.add(an_ask(2)), store.get(an_ask(1).id), store.page("open"), store.shelf.put("a", "1")):
            with pytest.raises(StoreGone, match="deleted"):
                await work
        path.with_name("away").rename(path)
        await store.add(an_ask(3))
        assert await numbers(store) == [1, 3]
    assert await numbers_in(path) == [1, 3]


async def test_whoever_waits_learns_that_the_file_is_gone(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        woken = asyncio.Event()
        stop = store.hints(lambda _: woken.set(), an_ask(1).id)
        path.rename(path.with_name("away"))
        await asyncio.wait_for(woken.wait(), 5)
        stop()
        path.with_name("away").rename(path)


async def test_after_something_strange_took_the_place_of_the_file_it_works_again_once_it_is_back(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        assert await numbers(store) == [1]
        path.rename(path.with_name("away"))
        text(path)
        for step in ("get", "add", "page"):
            with pytest.raises(StoreError):
                await _step(store, step)
        path.with_name("away").replace(path)
        await store.add(an_ask(2))
        assert await store.get(an_ask(2).id) == Entry(an_ask(2))
        assert await numbers(store) == [1, 2]


async def test_after_another_desk_takes_the_place_of_the_file_that_one_is_used(path: Path) -> None:
    other = await made(path.with_name("other.db"), 7, 8)
    async with opened(path) as store:
        await store.add(an_ask(1))
        for leftover in beside(path):
            leftover.unlink()
        other.replace(path)
        assert await numbers(store) == [7, 8]
        await store.add(an_ask(9))
        assert await store.get(an_ask(8).id) == Entry(an_ask(8))
    assert await numbers_in(path) == [7, 8, 9]


async def test_what_was_written_beside_the_old_file_never_gets_into_the_new_one(path: Path) -> None:
    other = await made(path.with_name("other.db"), *range(100, 200))
    async with opened(path) as store:
        for number in range(30):
            await store.add(an_ask(number))
        other.replace(path)
        with suppress(StoreError):
            await numbers(store)
        with suppress(StoreError):
            await store.add(an_ask(300))
    for leftover in beside(path):
        leftover.unlink(missing_ok=True)
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]
    assert (await numbers_in(path))[:100] == list(range(100, 200))


async def test_where_only_the_wal_is_left_no_new_desk_is_made_over_it(path: Path, other: Other) -> None:
    other.do("open", str(path))
    other.do("add", *range(30))
    other.kill()
    path.rename(path.with_name("away"))
    before = snapshot(path.parent)
    with pytest.raises(StoreGone):
        await SQLiteStore.open(path)
    assert snapshot(path.parent) == before
    path.with_name("away").rename(path)
    assert await numbers_in(path) == list(range(30))


def newer_desk(path: Path) -> None:
    asyncio.run(made(path, 1))
    sql(path, "PRAGMA user_version = 2001")


@pytest.mark.parametrize(
    ("write", "error"), [(text, StoreCorrupt), (another_programs, StoreCorrupt), (newer_desk, StoreTooNew)]
)
async def test_a_file_that_is_no_desk_of_ours_is_refused_also_when_it_comes_later(
    write: Any, error: type[StoreError], path: Path
) -> None:
    strange = path.with_name("strange")
    async with opened(path) as store:
        await asyncio.to_thread(write, strange)
        for leftover in beside(path):
            leftover.unlink()
        before = strange.read_bytes()
        strange.replace(path)
        for step in ("get", "add", "settle", "page"):
            with pytest.raises(error):
                await _step(store, step)
    assert path.read_bytes() == before


async def test_a_lock_held_too_long_is_told_and_nothing_else_stands_still_meanwhile(path: Path, other: Other) -> None:
    async with opened(path, busy_seconds=1.0) as store:
        await store.add(an_ask(1))
        other.do("lock", str(path))
        started = time.monotonic()
        adding = asyncio.create_task(store.add(an_ask(2)))
        for _ in range(20):
            assert await store.get(an_ask(1).id) == Entry(an_ask(1))
            assert await numbers(store) == [1]
        assert not adding.done()
        with pytest.raises(StoreBusy, match="try again"):
            await adding
        assert 1 <= time.monotonic() - started < 10
        other.do("unlock")
        await store.add(an_ask(3))
        assert await numbers(store) == [1, 3]


@pytest.mark.parametrize("before", [0, 3])
async def test_a_lock_that_is_let_go_in_time_is_waited_for(before: int, path: Path, other: Other) -> None:
    async with opened(path) as store:
        for number in range(before):  # after the first, a lone write is committed by the event loop if it can be
            await store.add(an_ask(number))
        other.do("lock", str(path))
        adding = asyncio.create_task(store.add(an_ask(9)))
        await store.page("open")
        assert not adding.done()
        other.do("unlock")
        assert await adding == an_ask(9)
        assert await numbers(store) == [*range(before), 9]


async def test_a_write_behind_one_that_waits_for_a_lock_comes_through_as_well(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        async with held(path):
            adding = [asyncio.create_task(store.add(an_ask(2)))]
            await store.page("open")
            adding.append(asyncio.create_task(store.add(an_ask(3))))
            await store.page("open")
            assert not any(task.done() for task in adding)
        assert await asyncio.gather(*adding) == [an_ask(2), an_ask(3)]
        assert await numbers(store) == [1, 2, 3]


async def test_lone_writes_and_many_together_mix_and_keep_their_order(path: Path) -> None:
    async with opened(path) as store:
        for first in range(0, 100, 10):
            await store.add(an_ask(first))
            await asyncio.gather(*(store.add(an_ask(first + more)) for more in range(1, 10)))
        assert await numbers(store) == list(range(100))


async def test_a_locked_desk_can_be_opened_and_read(path: Path, other: Other) -> None:
    await made(path, 1)
    other.do("lock", str(path))
    async with opened(path, busy_seconds=0.2) as store:
        assert await numbers(store) == [1]


async def test_a_desk_that_another_process_is_closing_is_waited_for(path: Path, other: Other) -> None:
    await made(path, 1)
    other.do("lock_whole", str(path))
    opening = asyncio.create_task(SQLiteStore.open(path))
    assert not (await asyncio.wait([opening], timeout=0.05))[0]
    other.do("unlock")
    store = await opening
    assert await numbers(store) == [1]
    await store.close()


@pytest.fixture(params=["limit", *(["disk"] if can_mount() else [])])
def cramped(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Other, list[Any], list[Any]]]:
    """Another process, and what takes its room away and gives it back."""
    if request.param == "limit":
        with Other() as other:
            yield other, ["limit", 100_000], ["limit", -1]
    else:
        with Other(*small_disk("1m"), str(tmp_path)) as other:
            yield other, ["fill", str(tmp_path)], ["empty", str(tmp_path)]


async def test_without_room_nothing_is_half_written_and_it_goes_on_when_there_is_room(
    cramped: tuple[Other, list[Any], list[Any]], tmp_path: Path
) -> None:
    other, take, give = cramped
    path = str(tmp_path / "desk.db")
    other.do("open", path)
    other.do("add", 0)
    other.do(*take)
    kept = [0, *other.do("add_until_it_fails", 1)]
    if take[0] == "limit":
        other.do("limit", 4096)  # where an ask did not fit, a settlement might still
    for _ in range(2):
        with pytest.raises(Raised, match="StoreFull"):
            other.do("add", 1000, 1001, 1002)
        with pytest.raises(Raised, match="StoreFull"):
            other.do("settle", 0, "one")
        assert other.do("numbers") == kept
    other.do(*give)
    assert other.do("integrity", path) == "ok"
    assert other.do("numbers") == kept
    other.do("add", 2000)
    assert other.do("settle", 0, "two") == "two"
    assert other.do("numbers") == [*kept[1:], 2000]
    other.do("close")
    other.do("open", path)
    assert other.do("numbers") == [*kept[1:], 2000]


async def test_without_room_no_desk_is_made_and_nothing_is_left_behind(
    cramped: tuple[Other, list[Any], list[Any]], tmp_path: Path
) -> None:
    other, take, give = cramped
    other.do("files", str(tmp_path))
    other.do(*(["limit", 100] if take[0] == "limit" else take))
    before = other.do("files", str(tmp_path))
    with pytest.raises(Raised, match="StoreFull"):
        other.do("open", str(tmp_path / "desk.db"))
    assert other.do("files", str(tmp_path)) == before
    other.do(*give)
    other.do("open", str(tmp_path / "desk.db"))
    other.do("add", 1)
    assert other.do("numbers") == [1]


@needs_a_small_disk
async def test_on_however_small_a_disk_a_desk_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    came_of_it = []
    for size in range(20, 260, 20):
        with Other(*small_disk(f"{size}k"), str(tmp_path)) as other:
            try:
                other.do("open", str(tmp_path / "desk.db"))
            except Raised as error:
                came_of_it.append((str(error), other.do("files", str(tmp_path))))
                continue
            other.do("close")
            other.do("open", str(tmp_path / "desk.db"))
            came_of_it.append((other.do("integrity", str(tmp_path / "desk.db")), other.do("numbers")))
    too_small = came_of_it.index(("ok", []))
    assert too_small
    assert came_of_it == [("StoreFull", [])] * too_small + [("ok", [])] * (len(came_of_it) - too_small)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: S103
        yield Path(folder)
        os.chmod(folder, 0o755)  # noqa: S103


async def test_in_a_folder_that_may_not_be_written_no_desk_is_made(public: Path, other: Other) -> None:
    public.chmod(0o555)
    other.do("become_nobody")
    for path in (public / "desk.db", public / "deeper" / "desk.db"):
        with pytest.raises(Raised, match="StoreGone"):
            other.do("open", str(path))
    assert snapshot(public) == {}


@pytest.mark.parametrize("mode", [0o000, 0o444])
async def test_a_desk_that_may_not_be_written_is_out_of_reach_and_stays_as_it_is(
    mode: int, public: Path, other: Other
) -> None:
    path = await made(public / "desk.db", 1)
    before = snapshot(public)
    path.chmod(mode)
    public.chmod(0o555)
    other.do("become_nobody")
    with pytest.raises(Raised, match="StoreGone"):
        other.do("open", str(path))
    path.chmod(0o600)
    assert snapshot(public) == before


async def test_a_desk_that_may_only_be_read_refuses_every_write(public: Path, other: Other) -> None:
    path = await made(public / "desk.db", 1)
    path.chmod(0o444)
    public.chmod(0o777)
    other.do("become_nobody")
    other.do("open", str(path))
    assert other.do("numbers") == [1]
    with pytest.raises(Raised, match="StoreGone"):
        other.do("add", 2)
    assert other.do("numbers") == [1]


@asynccontextmanager
async def held(path: Path) -> AsyncIterator[None]:
    """While the block runs, every write waits."""
    database = apsw.Connection(str(path))
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.execute("ROLLBACK")
        database.close()


async def test_the_write_of_a_cancelled_caller_goes_through(path: Path) -> None:
    async with opened(path) as store:
        async with held(path):
            adding = [asyncio.create_task(store.add(an_ask(number))) for number in range(3)]
            await asyncio.sleep(0)
            adding[1].cancel()
            with pytest.raises(asyncio.CancelledError):
                await adding[1]
        assert [await adding[0], await adding[2]] == [an_ask(0), an_ask(2)]
        assert await numbers(store) == [0, 1, 2]


async def test_a_write_that_waits_while_the_file_is_deleted_is_not_acknowledged(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        async with held(path):
            adding = asyncio.create_task(store.add(an_ask(2)))
            for _ in range(5):
                assert await numbers(store) == [1]
            path.rename(path.with_name("away"))
        with pytest.raises(StoreGone):
            await adding
        path.with_name("away").rename(path)
        assert await numbers(store) == [1]


def breaking(database: apsw.Connection) -> None:
    database.execute("INSERT INTO asks (id) VALUES (NULL)")


async def test_one_broken_write_does_not_spoil_those_committed_with_it(path: Path) -> None:
    async with opened(path) as store:
        await store.add(an_ask(1))
        async with held(path):
            writing: list[Coroutine[Any, Any, Any]] = [store.add(an_ask(0)), store.add(an_ask(2))]
            tasks = [
                asyncio.create_task(work) for work in (*writing, store._file.write(breaking), store.add(an_ask(3)))
            ]
            await asyncio.sleep(0)
        first, second, broken, third = await asyncio.gather(*tasks, return_exceptions=True)
        assert (first, second, third) == (an_ask(0), an_ask(2), an_ask(3))
        assert isinstance(broken, StoreError)
        assert await numbers(store) == [1, 0, 2, 3]


async def test_closing_finishes_what_was_begun(path: Path) -> None:
    store = await SQLiteStore.open(path)
    adding = [asyncio.create_task(store.add(an_ask(number))) for number in range(700)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*adding) == [an_ask(number) for number in range(700)]
    assert await numbers_in(path) == list(range(700))


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await SQLiteStore.open(path)
    await store.close()
    reads = [store.page("open"), store.page("open", text="which"), store.shelf.get("a")]
    for work in (store.add(an_ask()), store.get(an_ask().id), *reads):
        with pytest.raises(StoreError, match="closed"):
            await work


async def test_a_program_that_ends_without_closing_loses_nothing(path: Path, other: Other) -> None:
    other.do("open", str(path))
    other.do("add", *range(10))
    async with held(path):
        other.do("leave", *range(10, 1200))
    assert other.ended() == 0
    assert sorted(await numbers_in(path)) == list(range(1200))


async def test_a_record_that_cannot_be_read_hides_no_other(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(path) as store:
        for number in (1, 2, 3):
            await store.add(an_ask(number))
        database = apsw.Connection(str(path))
        database.execute("UPDATE asks SET record = replace(record, '\"v\":1', '\"v\":9') WHERE id = ?", (an_ask(2).id,))
        database.close()
        page = await store.page("open")
        with pytest.raises(StoreTooNew):
            await store.get(an_ask(2).id)
    assert page.entries == (Entry(an_ask(1)), Entry(an_ask(3)))
    assert an_ask(2).id in caplog.text


async def test_whoever_waits_reads_the_file_that_took_the_place(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    async with opened(path) as store:
        await store.add(an_ask())
        apsw.Connection(str(path)).execute("VACUUM INTO ?", (str(other),))
    async with opened(other) as restored:
        await restored.settle(an_ask().id, a_settlement())
    async with opened(path) as store:
        heard = asyncio.Event()
        stop = store.hints(lambda _: heard.set(), an_ask().id)
        os.replace(other, path)
        for leftover in (f"{path}-wal", f"{path}-shm"):
            Path(leftover).unlink(missing_ok=True)
        await asyncio.wait_for(heard.wait(), 10)
        stop()
        assert (await store.get(an_ask().id)).settlement == a_settlement()


async def test_a_listener_that_fails_keeps_nobody_else_waiting(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(path) as store:

        def fail(_: str | None) -> None:
            raise ValueError("of the listener's own")

        store.hints(fail)
        added = await asyncio.wait_for(asyncio.gather(*(store.add(an_ask(n)) for n in range(5))), 10)
    assert added == [an_ask(n) for n in range(5)]
    assert "a listener failed" in caplog.text


INDEXED = "SELECT changed FROM search_upto"
INDEX_ROWS = "SELECT id FROM search_docsize ORDER BY id"
CHECK_INDEX = "INSERT INTO search (search) VALUES ('integrity-check')"
WITHOUT_INDEX = (
    *(f"DROP TABLE {name}" for name in ("search", "search_upto", "search_open", "search_unread")),
    "PRAGMA user_version = 1001",
)


def insert(path: Path, ask: Ask) -> None:
    """Keep an ask as a program does that knows nothing of an index."""
    database = apsw.Connection(str(path))
    database.execute(INSERT, (ask.id, ask.asker.project, ask.key, record.encode(ask), None))
    database.close()


def settle(path: Path, number: int) -> None:
    """The same for a settlement."""
    database = apsw.Connection(str(path))
    database.execute(SETTLE, {"id": an_ask(number).id, "settlement": record.encode(a_settlement()), "now": 0})
    database.close()


async def test_what_a_program_without_an_index_wrote_is_found(path: Path) -> None:
    await made(path, 1, 2)
    sql(path, *WITHOUT_INDEX)
    insert(path, an_ask(3, body=PERMISSION))
    async with opened(path) as store:
        insert(path, an_ask(4, body=PERMISSION))
        assert (await numbers(store, text="which"), await numbers(store, text="tool:bash")) == ([1, 2], [3, 4])
        insert(path, an_ask(5))
        settle(path, 2)
        assert (await numbers(store, text="which"), await numbers(store, "settled", "which own")) == ([1, 5], [2])


async def test_posting_and_settling_leave_the_index_alone_until_somebody_searches(path: Path) -> None:
    async with opened(path) as store:
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(3)))
        await store.settle(an_ask(1).id, a_settlement())
        assert await numbers(store, text="!!!") == [0, 2]
        assert (sql(path, INDEXED), sql(path, INDEX_ROWS)) == ([(0,)], [])
        assert await numbers(store, text="which") == [0, 2]
        assert (sql(path, INDEXED), sql(path, INDEX_ROWS)) == ([(4,)], [(1,), (3,), (4,)])


async def test_the_index_keeps_one_row_for_an_ask(path: Path) -> None:
    async with opened(path) as store:
        for number in range(4):
            await store.add(an_ask(number))
            assert await numbers(store, text="which") == [number]
            await store.settle(an_ask(number).id, a_settlement())
            assert await numbers(store, "settled", "which") == [*range(number + 1)]
    assert sql(path, CHECK_INDEX, INDEX_ROWS) == [(2,), (4,), (6,), (8,)]
    assert sql(path, "SELECT * FROM search_open") == []


async def test_more_than_is_indexed_at_once_is_found(path: Path) -> None:
    large = Permission("Bash", {"command": "x " * 400_000})
    async with opened(path) as store:
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(450)))
        for number in range(450, 454):
            await store.add(an_ask(number, body=large))
        assert await numbers(store, text="builder") == [*range(454)]
        assert await numbers(store, text="tool:bash") == [*range(450, 454)]


async def pages(store: SQLiteStore, text: str, *, newest: bool) -> list[int]:
    """The asks of all pages."""
    found: list[int] = []
    after: str | None = None
    while True:
        page = await store.page("open", text=text, newest=newest, after=after, limit=30)
        found += [int(entry.ask.id, 16) for entry in page.entries]
        if (after := page.after) is None:
            return found


@pytest.mark.parametrize("newest", [False, True])
async def test_a_beginning_finds_all_that_begin_so_however_many_words_they_are(path: Path, newest: bool) -> None:
    """Few words are followed, many are looked for in the next 300 asks, and in all where those are too few."""
    async with opened(path) as store:
        names = [f"part{number}" if number % 400 < 100 else "whole" for number in range(1000)]
        calls = [Permission("Bash", {"command": f"{name} of{number % 7}"}) for number, name in enumerate(names)]
        await asyncio.gather(*(store.add(an_ask(number, body=call)) for number, call in enumerate(calls)))
        parts = [number for number in range(1000) if number % 400 < 100]
        expected = {
            "part": parts,
            "part of3": [number for number in parts if number % 7 == 3],
            "whole part": [],
            "part1": [number for number in parts if str(number).startswith("1")],
            "part99 pa": [99],
            "par wholes": [],
        }
        found = {text: await pages(store, text, newest=newest) for text in expected}
    assert found == {text: numbers[::-1] if newest else numbers for text, numbers in expected.items()}


async def test_many_searches_at_once_find_the_same(path: Path) -> None:
    async with opened(path) as store:
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(500)))
        searches = (numbers(store, text="which") for _ in range(10))
        assert await asyncio.gather(*searches) == [[*range(500)]] * 10


async def test_while_the_index_grows_asks_are_posted_and_settled(path: Path) -> None:
    async with opened(path) as store:
        await asyncio.gather(*(store.add(an_ask(number)) for number in range(1000)))
        searching = asyncio.create_task(numbers(store, text="which"))
        for number in range(10):
            await store.settle(an_ask(number).id, a_settlement())
            await store.add(an_ask(1000 + number))
        assert set(range(10, 1000)) <= set(await searching)
        assert await numbers(store, text="which") == [*range(10, 1010)]
        assert await numbers(store, "settled", "which") == [*range(10)]
    assert len(sql(path, CHECK_INDEX, INDEX_ROWS)) == 1010


async def test_four_processes_that_search_at_once_find_the_same_and_share_one_index(path: Path) -> None:
    await made(path)
    with ExitStack() as stack:
        others = [stack.enter_context(Other()) for _ in range(4)]
        writer = stack.enter_context(Other())
        for other in (*others, writer):
            other.do("open", str(path))
        for first in (0, 500, 1000):
            writer.do("add", *range(first, first + 500))
            at = time.monotonic() + 0.05
            for other in others:
                other.tell("search", "which builder", at)
            writer.tell("settle", first, "one")  # while they search, so it may be found or not
            lasting = [number for number in range(first + 500) if number % 500]
            assert [[n for n in other.told() if n % 500] for other in others] == [lasting] * 4
            writer.told()
        assert [other.do("search", "which") for other in others] == [lasting] * 4
        for other in others:
            other.do("close")
    assert len(sql(path, CHECK_INDEX, INDEX_ROWS)) == 1500
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_process_that_is_killed_while_it_indexes_leaves_a_sound_index(path: Path, other: Other) -> None:
    other.do("open", str(path))
    other.do("add", *range(2000))
    other.tell("search", "which")
    while sql(path, INDEXED) == [(0,)]:
        pass
    other.kill()
    async with opened(path) as store:
        assert sorted(await numbers(store, text="which")) == [*range(2000)]
    assert len(sql(path, CHECK_INDEX, INDEX_ROWS)) == 2000


async def test_a_record_that_cannot_be_read_is_found_by_the_version_that_can(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(path) as store:
        for number in (1, 2, 3, 4):
            await store.add(an_ask(number))
        sql(path, "UPDATE asks SET record = replace(record, '\"v\":1', '\"v\":9') WHERE seq IN (2, 4)")
        assert [await numbers(store, text="which") for _ in range(2)] == [[1, 3]] * 2
    assert caplog.text.count(an_ask(2).id) == 1
    async with opened(path) as store:  # which cannot read them either
        assert await numbers(store, text="which") == [1, 3]
    sql(path, "UPDATE asks SET record = replace(record, '\"v\":9', '\"v\":1')")
    async with opened(path) as store:
        assert await numbers(store, text="which") == [1, 2, 3, 4]
        await store.settle(an_ask(2).id, a_settlement())
        assert (await numbers(store, text="which"), await numbers(store, "settled", "which")) == ([1, 3, 4], [2])
    assert sql(path, CHECK_INDEX, "SELECT * FROM search_unread") == []


async def test_a_locked_desk_is_searched_where_nothing_is_new_and_else_that_is_told(path: Path, other: Other) -> None:
    async with opened(path, busy_seconds=0.2) as store:
        await store.add(an_ask(1))
        assert await numbers(store, text="which") == [1]
        await store.add(an_ask(2))
        other.do("lock", str(path))
        with pytest.raises(StoreBusy, match="try again"):
            await numbers(store, text="which")
        assert await numbers(store) == [1, 2]
        other.do("unlock")
        assert await numbers(store, text="which") == [1, 2]
        other.do("lock", str(path))
        assert await numbers(store, text="which") == [1, 2]


async def test_without_room_a_search_says_so_and_goes_on_when_there_is_room(
    cramped: tuple[Other, list[Any], list[Any]], tmp_path: Path
) -> None:
    other, take, give = cramped
    path = str(tmp_path / "desk.db")
    other.do("open", path)
    other.do("add", *range(100))
    other.do(*take)
    kept = [*range(100), *other.do("add_until_it_fails", 100)]
    for _ in range(2):
        with pytest.raises(Raised, match="StoreFull"):
            other.do("search", "which")
        assert other.do("numbers") == kept
    other.do(*give)
    assert other.do("search", "which") == kept
    assert other.do("integrity", path) == "ok"


async def test_a_desk_that_may_only_be_read_is_searched_where_nothing_is_new(public: Path, other: Other) -> None:
    path = await made(public / "desk.db", 1)
    async with opened(path) as store:
        assert await numbers(store, text="which") == [1]
    path.chmod(0o444)
    public.chmod(0o777)
    other.do("become_nobody")
    other.do("open", str(path))
    assert other.do("search", "which") == [1]
    for file in public.iterdir():  # its WAL, too, was made with the mode of the file
        file.chmod(0o644)
    insert(path, an_ask(2))
    for file in public.iterdir():
        file.chmod(0o444)
    with pytest.raises(Raised, match="StoreGone"):
        other.do("search", "which")
    assert other.do("numbers") == [1, 2]
