"""A disk that fails at any one step of whatever SQLite does: a typed error, nothing half-written, and the same store
goes on once the disk is good again. Each is tried at the first step, at the second, and so on, until it comes through.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tests.stores.faulty_disk import KILLED, PLAIN, Fault, FaultyDisk, faulty_disk
from tests.stores.verbs import UPKEEP, VERBS, Seen, Verb, begin, begin_upkeep, seen

from askdesk.core.errors import StoreError, StoreFull, StoreGone
from askdesk.core.store import State
from askdesk.stores.patience import PERHAPS
from askdesk.stores.sqlite import SQLiteStore
from askdesk.stores.sqlite_upkeep import SQLiteUpkeep
from askdesk.testing.store_contract import an_ask

pytestmark = pytest.mark.anyio

ERRORS: dict[Fault, type[StoreError]] = {
    Fault.FULL: StoreFull,
    Fault.HALF: StoreFull,
    Fault.BROKEN: StoreGone,
    Fault.ONCE: StoreGone,
    Fault.POWER: StoreGone,
}
LASTING = (Fault.FULL, Fault.BROKEN)
SOME = (Fault.FULL, Fault.ONCE, Fault.POWER)
FAULTS = list(ERRORS) if os.environ.get("ASKDESK_TEST_FAULTS") == "all" else SOME
STATES: tuple[State, ...] = ("open", "settled")
every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    with faulty_disk() as disk:
        yield disk


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SQLiteStore]:
    store = await SQLiteStore.open(folder / "desk.db")
    try:
        yield store
    finally:
        await store.close()


def copied(folder: Path, name: str) -> Path:
    """The files of a desk as they are now, as after a crash: what only memory holds is gone."""
    copy = folder.with_name(name)
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for found in folder.iterdir():
        if not found.name.endswith("-shm"):
            shutil.copyfile(found, copy / found.name)
    return copy


async def seen_after_a_crash(folder: Path) -> Seen:
    """All that whoever comes next finds, on a good disk."""
    crashed = copied(folder, "crashed")
    database = apsw.Connection(str(crashed / "desk.db"), vfs=PLAIN)
    assert database.pragma("integrity_check") == "ok"
    database.close()
    async with opened(crashed) as store:
        return await seen_and_found(store)


async def seen_and_found(store: SQLiteStore) -> Seen:
    """All that is there; a search finds no less and no more of it."""
    there = await seen(store)
    found = [(await store.page(state, limit=1000, text="which")).entries for state in STATES]
    assert found == [there.open, there.settled]
    return there


class Around(NamedTuple):
    """A desk, and all that can be seen there before a verb and after it."""

    folder: Path
    before: Seen
    after: Seen


async def desk_before(verb: Verb, folder: Path) -> Around:
    async with opened(folder) as store:
        await begin(store)
        before = await seen(store)
    return Around(folder, before, await seen_after(verb, folder))


async def seen_after(verb: Verb, folder: Path) -> Seen:
    async with opened(copied(folder, "after")) as store:
        await verb(store)
        return await seen(store)


async def swept(fails_at: Callable[[int], Awaitable[int]]) -> int:
    """Let it fail at each step in turn until there is none left to fail at; how many there were."""
    at = 1
    while await fails_at(at) >= at:
        at += 1
    return at - 1


async def fails(disk: FaultyDisk, around: Around, verb: Verb, fault: Fault, *, here: bool, at: int) -> int:
    """How many steps the verb took on a disk that failed at one of them."""
    folder = copied(around.folder, "faulty")
    store = await SQLiteStore.open(folder / "desk.db")
    if here:  # by the event loop itself
        store._file._commit_seconds = 0.0
    disk.fail(fault, at)
    error = await error_of(verb(store))
    steps = disk.steps
    if fault is Fault.POWER:
        await loses_power(disk, store)
    elif error:
        if fault in LASTING:
            assert type(await error_of(verb(store))) is ERRORS[fault]
        assert await seen(store) == around.before
    disk.lift()
    found = await seen_after_a_crash(folder)
    if error is None:
        assert found == around.after
    else:
        check_told(error, ERRORS[fault], around, found)
    if fault is not Fault.POWER:
        await verb(store)
        assert await seen_and_found(store) == around.after
        await store.close()
    return steps


def check_told(error: StoreError, kind: type[StoreError], around: Around, found: Seen) -> None:
    """Nothing was done; or all of it, and then that was said to be possible."""
    assert type(error) is kind
    assert found == around.before or (found == around.after and PERHAPS in str(error))


async def error_of(work: Awaitable[object]) -> StoreError | None:
    try:
        await work
    except StoreError as error:
        return error
    return None


async def loses_power(disk: FaultyDisk, store: SQLiteStore) -> None:
    """At once, where it did not before."""
    disk.lose_power()
    await store.close()


@every_fault
@pytest.mark.parametrize("name", list(VERBS))
async def test_all_that_a_verb_changes_is_there_or_nothing(
    name: str, fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    around = await desk_before(VERBS[name], tmp_path / "begun")
    steps = await swept(lambda at: fails(disk, around, VERBS[name], fault, here=False, at=at))
    assert steps >= 7


@every_fault
async def test_so_it_is_where_the_event_loop_itself_commits(fault: Fault, disk: FaultyDisk, tmp_path: Path) -> None:
    around = await desk_before(VERBS["add"], tmp_path / "begun")
    steps = await swept(lambda at: fails(disk, around, VERBS["add"], fault, here=True, at=at))
    assert steps >= 7


def with_a_long_wal(folder: Path, name: str, commits: int) -> Path:
    """A desk as processes left it that were killed after so many commits since its WAL was last put into its file."""
    writer = apsw.Connection(str(folder / "desk.db"))
    writer.pragma("synchronous", "off")
    writer.wal_autocheckpoint(0)
    for number in range(commits):
        writer.execute("UPDATE search_upto SET changed = ?", (1 - number % 2,))
    copy = copied(folder, name)
    writer.close()
    return copy


@every_fault
async def test_what_was_committed_stays_where_the_wal_cannot_be_put_into_the_file(
    fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    before, after = (await desk_before(VERBS["add"], tmp_path / "begun"))[1:]
    short, long = [with_a_long_wal(tmp_path / "begun", f"{commits}", commits) for commits in (900, 998)]
    committed = await steps_of(disk, short)

    async def fails(at: int) -> int:
        folder = copied(long, "faulty")
        store = await SQLiteStore.open(folder / "desk.db")
        disk.fail(fault, at)
        # Of what fails after the commit SQLite itself says nothing; that of a disk made of Python is told all the same.
        error = await error_of(VERBS["add"](store))
        steps = disk.steps
        if fault is Fault.POWER:
            await loses_power(disk, store)
        disk.lift()
        found = await seen_after_a_crash(folder)
        assert found == after or (found == before and error and at <= committed)
        if fault is not Fault.POWER:
            await VERBS["add"](store)
            assert await seen_and_found(store) == after
            await store.close()
        return steps

    assert await swept(fails) > committed + 5


async def steps_of(disk: FaultyDisk, folder: Path) -> int:
    """How many it takes to add an ask."""
    async with opened(copied(folder, "good")) as store:
        disk.steps = 0
        await VERBS["add"](store)
        return disk.steps


async def add_many(store: SQLiteStore) -> list[StoreError | None]:
    return list(await asyncio.gather(*(error_of(store.add(an_ask(number))) for number in range(20, 25))))


@every_fault
async def test_of_many_written_together_each_is_there_or_not_and_each_is_told_which(
    fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    async with opened(tmp_path / "begun") as store:
        await begin(store)

    async def some_fail(at: int) -> int:
        folder = copied(tmp_path / "begun", "faulty")
        store = await SQLiteStore.open(folder / "desk.db")
        disk.fail(fault, at)
        errors = await add_many(store)
        steps = disk.steps
        if fault is Fault.POWER:
            await loses_power(disk, store)
        disk.lift()
        kept = {entry.ask.id for entry in (await seen_after_a_crash(folder)).open}
        acknowledged = {an_ask(20 + place).id for place, error in enumerate(errors) if error is None}
        assert acknowledged <= kept
        assert {type(error) for error in errors if error} <= {ERRORS[fault]}
        if fault is not Fault.POWER:
            assert await add_many(store) == [None] * 5
            assert len((await seen_and_found(store)).open) == 10
            await store.close()
        return steps

    assert await swept(some_fail) >= 7


@every_fault
async def test_a_new_desk_is_made_whole_or_not_at_all(fault: Fault, disk: FaultyDisk, tmp_path: Path) -> None:
    async def is_not_made(at: int) -> int:
        folder = tmp_path / f"{at}"
        disk.fail(fault, at)
        error = await error_of(opens(folder))
        steps = disk.steps
        assert disk.is_synced or fault is Fault.POWER
        disk.lift()
        assert type(error) is ERRORS[fault] or error is None
        assert {found.name for found in folder.iterdir()} <= {"desk.db", "desk.db-wal"}
        await opens(folder)
        assert await seen_after_a_crash(folder) == Seen((), (), ())
        return steps

    assert await swept(is_not_made) >= 60


async def opens(folder: Path) -> None:
    async with opened(folder):
        pass


@every_fault
@pytest.mark.parametrize("name", list(UPKEEP))
async def test_what_the_upkeep_of_a_desk_does_is_done_or_not(
    name: str, fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    async def after(folder: Path) -> Seen:
        upkeep = await SQLiteUpkeep.open(folder / "desk.db", write=True)
        await UPKEEP[name](upkeep)
        await upkeep.close()
        return await seen_after_a_crash(folder)

    async with opened(tmp_path / "begun") as store:
        await begin_upkeep(store)
        before = await seen_and_found(store)
    around = Around(tmp_path / "begun", before, await after(copied(tmp_path / "begun", "after")))

    async def upkeep_fails(at: int) -> int:
        folder = copied(around.folder, "faulty")
        upkeep = await SQLiteUpkeep.open(folder / "desk.db", write=True)
        disk.fail(fault, at)
        error = await error_of(UPKEEP[name](upkeep))
        steps = disk.steps
        if fault is Fault.POWER:
            disk.lose_power()
        await upkeep.close()
        disk.lift()
        found = await seen_after_a_crash(folder)
        if error is None:
            assert found == around.after
        else:
            check_told(error, ERRORS[fault], around, found)
        assert await after(folder) == around.after
        return steps

    assert await swept(upkeep_fails) >= 5


WITHOUT_INDEX = (
    *(f"DROP TABLE {name}" for name in ("search", "search_upto", "search_open", "search_unread")),
    "PRAGMA user_version = 1001",
)


@every_fault
async def test_an_older_desk_is_brought_up_to_date_whole_or_not_at_all(
    fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    around = await desk_before(VERBS["search"], tmp_path / "begun")
    older = apsw.Connection(str(around.folder / "desk.db"))
    for statement in WITHOUT_INDEX:
        older.execute(statement)
    older.close()

    async def stays_older(at: int) -> int:
        folder = copied(around.folder, "faulty")
        disk.fail(fault, at)
        error = await error_of(opens(folder))
        steps = disk.steps
        if fault is Fault.POWER:
            disk.lose_power()
        disk.lift()
        assert type(error) is ERRORS[fault] or error is None
        crashed = apsw.Connection(str(copied(folder, "crashed") / "desk.db"), vfs=PLAIN)
        tables = {name for (name,) in crashed.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'search%'")}
        version = crashed.pragma("user_version")
        crashed.close()
        assert (version, bool(tables)) in ([(1002, True)] if error is None else [(1001, False), (1002, True)])
        assert await seen_after_a_crash(folder) == around.after
        return steps

    assert await swept(stays_older) >= 20


@every_fault
async def test_whatever_fails_while_a_desk_is_closed_nothing_is_lost(
    fault: Fault, disk: FaultyDisk, tmp_path: Path
) -> None:
    async def fails_while_closing(at: int) -> int:
        folder = tmp_path / f"{at}"
        store = await SQLiteStore.open(folder / "desk.db")
        await begin(store)
        before = await seen(store)
        disk.fail(fault, at)
        await store.close()
        steps = disk.steps
        if fault is Fault.POWER:
            disk.lose_power()
        disk.lift()
        assert await seen_after_a_crash(folder) == before
        return steps

    assert await swept(fails_while_closing) >= 10


@pytest.mark.parametrize("name", ["add", "settle", "expire", "put over", "search"])
def test_a_process_that_is_killed_at_any_step_leaves_all_of_it_or_nothing(name: str, tmp_path: Path) -> None:
    around = asyncio.run(desk_before(VERBS[name], tmp_path / "begun"))
    with Doomed() as doomed:

        async def leaves_it_whole(at: int) -> int:
            folder = copied(around.folder, "killed")
            async with opened(folder) as bystander:
                is_killed = doomed.dies_in(folder, name, at)
                left = await seen_and_found(bystander)
                assert left == around.after or (is_killed and left == around.before)
                await VERBS[name](bystander)
                assert await seen_and_found(bystander) == around.after
            assert await seen_after_a_crash(folder) == around.after
            return at if is_killed else at - 1

        assert asyncio.run(swept(leaves_it_whole)) >= 7


class Doomed:
    """Another process, whose children are killed in the midst of a verb."""

    def __init__(self) -> None:
        program = [sys.executable, "-m", "tests.stores.test_sqlite_disk"]
        folder = Path(__file__).parents[2]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)

    def __enter__(self) -> Doomed:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def dies_in(self, folder: Path, name: str, at: int) -> bool:
        """Whether one was killed at this step; else it took fewer."""
        assert self._process.stdin
        assert self._process.stdout
        print(folder, name, at, sep="\t", file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        assert code in (0, KILLED)
        return code == KILLED


def main() -> None:
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            folder, name, at = line.rstrip("\n").split("\t")
            asyncio.run(play(Path(folder), VERBS[name], int(at)))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


async def play(folder: Path, verb: Verb, at: int) -> None:
    """Run a verb on a disk that kills at one of its steps; where it takes fewer, die as soon as it is acknowledged."""
    with faulty_disk() as disk:
        store = await SQLiteStore.open(folder / "desk.db")
        disk.fail(Fault.KILL, at)
        await verb(store)
        os._exit(0)


if __name__ == "__main__":
    main()
