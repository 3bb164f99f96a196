"""askdesk store: copies, backups, looks, room and purges, while agents and people are at work."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import apsw
import asyncpg
import pytest
from tests.cli.command import ASKDESK, SECONDS, Ran, askdesk, surroundings, until
from tests.cli.person import Person
from tests.postgres import Cluster
from tests.stores.small_disk import needs_a_small_disk, small_disk

from askdesk.cli.main import main
from askdesk.core import owed
from askdesk.core.errors import InvalidSettings, NoStore, StoreError
from askdesk.core.model import Answer, Answered, Asker, Permission, Question
from askdesk.core.store import Store
from askdesk.open import open_store, open_upkeep
from askdesk.stores.backup import back_up
from askdesk.testing.store_contract import a_settlement, an_ask
from askdesk.wire import record

T = TypeVar("T")

LONG = Permission("Bash", {"command": "x" * 350_000})  # three of them are all that is copied at once
QUESTION = Question("Which database?", ["SQLite", "Postgres"])
FIRST = Answered([Answer(["SQLite"])])
TURN = "1095977796, 1"  # the lock of whoever changes asks in PostgreSQL
PURGE = [*ASKDESK, "store", "purge", "--older-than", "1s", "--yes"]
VACUUM = [*ASKDESK, "store", "vacuum", "--json"]
NOW = datetime.now(UTC)
KINDS = [("draft", "/ana"), ("snooze", "/ana"), ("told", "")]  # of documents that belong to an ask
WAYS = ["sqlite to postgres", "postgres to sqlite"]


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> Iterator[str]:
    """One for all tests here: to make one for each takes longer than the tests."""
    url = cluster.database()
    yield url
    cluster.drop(url)


@pytest.fixture
def postgres(database: str, cluster: Cluster) -> str:
    """That database, with nothing in it."""
    cluster.sql("DROP SCHEMA IF EXISTS askdesk CASCADE", database=database.rpartition("/")[2])
    return database


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store that the settings name."""
    url = request.getfixturevalue("postgres") if request.param == "postgres" else str(tmp_path / "desk.db")
    monkeypatch.setenv("ASKDESK_STORE", url)
    return str(url)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, an SQLite file."""
    monkeypatch.setenv("ASKDESK_STORE", str(tmp_path / "desk.db"))
    return tmp_path / "desk.db"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, postgres: str, tmp_path: Path) -> tuple[str, str]:
    file = str(tmp_path / "desk.db")
    return (file, postgres) if request.param == WAYS[0] else (postgres, file)


def at(url: str, *work: Any) -> Any:
    """Do something at a store, as a program would, and give the last result."""

    async def run() -> Any:
        store = await open_store(url)
        try:
            return [await step(store) for step in work][-1]
        finally:
            await store.close()

    return asyncio.run(run())


async def fill(store: Store, count: int = 9, first: int = 0, **fields: Any) -> None:
    """Asks with settlements but for every third, and drafts."""
    for number in range(first, first + count):
        await store.add(an_ask(number, key=f"k{number}", **fields))
        if number % 3:
            await store.settle(an_ask(number).id, a_settlement(f"by {number}"))
        else:
            await store.shelf.put(f"draft/{an_ask(number).id}/ana", '{"v":1}')


async def fill_long(store: Store) -> None:
    await fill(store, 12, body=LONG)


async def fill_many(store: Store) -> None:
    await fill(store, 600, body=Permission("Bash", {"command": "x" * 3500}))


async def everything(store: Store) -> tuple[Any, ...]:
    pages = [(await store.page(state, limit=10_000)).entries for state in ("open", "settled")]
    return *pages, [(d.name, d.value) for d in await store.shelf.list() if not d.name.startswith("copied/")]


def sql(url: str, cluster: Cluster, statement: str) -> None:
    """Change something as somebody else would; @ stands before a table."""
    if url.startswith("postgresql:"):
        cluster.sql(statement.replace("@", "askdesk."), database=url.rpartition("/")[2])
    else:
        with closing(apsw.Connection(url)) as database:
            database.execute(statement.replace("@", "")).fetchall()


def spoil(url: str, cluster: Cluster, number: int, column: str, value: str) -> None:
    """Write something into a column of an ask."""
    text = value.replace("'", "''")
    sql(url, cluster, f"UPDATE @asks SET {column} = '{text}' WHERE id = '{an_ask(number).id}'")  # noqa: S608


def content(ran: Ran) -> str:
    """The SHA-256 that was told."""
    assert ran.code == 0, ran
    return str(json.loads(ran.out)["sha256"])


def test_a_copy_there_and_back_is_the_same_and_says_so(postgres: str, tmp_path: Path) -> None:
    here, back = str(tmp_path / "here.db"), str(tmp_path / "back.db")
    at(here, fill)
    there = askdesk("store", "copy", here, postgres)
    sha256 = content(askdesk("store", "copy", postgres, back, "--json"))

    assert there == Ran(0, f"{postgres}: asks: 9 (open: 3), documents: 3, all compared\nsha256 {sha256}\n", "")
    assert at(back, everything) == at(postgres, everything) == at(here, everything)
    assert (
        askdesk("store", "copy", here, f"sqlite://{back}", "--json").out
        == json.dumps({"to": back, "open": 3, "settled": 6, "documents": 3, "sha256": sha256, "changed": 0}) + "\n"
    )


def copying(source: str, target: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*ASKDESK, "store", "copy", source, target], env=surroundings(), stderr=subprocess.DEVNULL)


def count_of(url: str) -> int:
    """How many asks are there; none where there is no desk yet."""

    async def count() -> int:
        try:
            upkeep = await open_upkeep(url)
        except NoStore:
            return 0
        try:
            return (await upkeep.count()).asks
        finally:
            await upkeep.close()

    return asyncio.run(count())


def test_a_copy_that_is_killed_again_and_again_ends_as_if_it_never_was(way: tuple[str, str], tmp_path: Path) -> None:
    here, there = way
    at(here, fill_long)
    for count in (3, 6, 9):
        process = copying(here, there)
        until(lambda count=count: count_of(there) >= count)  # type: ignore[misc]
        process.kill()
        process.wait()
    again, anew = (askdesk("store", "copy", here, to, "--json") for to in (there, str(tmp_path / "anew.db")))

    assert content(again) == content(anew)
    assert at(there, everything) == at(here, everything)


@contextmanager
def connected(url: str) -> Iterator[Callable[..., Any]]:
    """Runs SQL in one session of PostgreSQL."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))
        try:
            yield lambda statement: runner.run(connection.fetch(statement))
        finally:
            connection.terminate()


class Gate:
    """Holds the turn of whoever changes asks in PostgreSQL, and lets them pass one after the other."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run
        run(f"SELECT pg_advisory_lock({TURN})")

    def pass_until(self, count: int) -> None:
        """Until so many asks are there."""

        def is_there() -> bool:
            self._run(f"SELECT pg_advisory_unlock({TURN}), pg_advisory_lock({TURN})")
            return int(self._run("SELECT count(*) FROM askdesk.asks")[0][0]) >= count

        until(lambda: bool(self._run("SELECT to_regclass('askdesk.asks') IS NOT NULL")[0][0]))
        until(is_there)


def test_a_copy_goes_on_while_agents_ask_and_people_answer(way: tuple[str, str]) -> None:
    here, there = way
    at(here, fill_long)

    async def at_work(store: Store) -> int | None:
        """Until the copy has ended."""
        process = await asyncio.create_subprocess_exec(*ASKDESK, "store", "copy", here, there, stderr=subprocess.PIPE)
        ending = asyncio.ensure_future(process.communicate())
        number = 100
        while not ending.done():
            await asyncio.gather(*(store.add(an_ask(n)) for n in range(number, number + 3)))
            await store.settle(an_ask(number).id, a_settlement())
            await store.settle(an_ask(number % 12 // 3 * 3).id, a_settlement())
            await store.shelf.put("draft/x/ana", str(number))
            number += 3
        _, said = ending.result()
        assert process.returncode == 0 or b"run it again" in said
        return process.returncode

    assert at(here, at_work) in (0, 1)
    assert askdesk("store", "copy", here, there).code == 0
    assert at(there, everything) == at(here, everything)


def test_ctrl_c_says_that_it_goes_on_and_it_does(postgres: str, tmp_path: Path) -> None:
    here = str(tmp_path / "here.db")
    at(here, fill_long)
    with connected(postgres) as run, Person("store", "copy", here, postgres) as person:
        gate = Gate(run)
        for count in (3, 6, 9):
            gate.pass_until(count)
            time.sleep(0.6)  # sooner, nobody wants to know how far it is
        assert re.search(r"█+░+  \d\d%  [369] of 12 asks copied$", person.reads("of 12 asks copied"))
        person.types("\x03")
        ran = person.leaves()

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("askdesk: stopped; run it again, and it goes on where it was\n")
    assert count_of(postgres) == 9
    assert askdesk("store", "copy", here, postgres).code == 0
    assert at(postgres, everything) == at(here, everything)


def test_what_clashes_is_named_and_nothing_is_harmed(url: str, tmp_path: Path) -> None:
    here = str(tmp_path / "here.db")
    at(here, fill)
    at(url, lambda store: store.add(an_ask(50, key="k5")))
    before = at(url, everything)
    ran = askdesk("store", "copy", here, url)

    words = f'key "k5": names ask {an_ask(50).id} there, and ask {an_ask(5).id} here'
    assert ran == Ran(1, "", f"askdesk: {url}: {words}\n")
    assert at(url, everything) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("copy", "memory:", "x.db"), "memory: keeps nothing beyond its process, so there is nothing to look after"),
        (("copy", "some.db", "https://desk.example.com"), "run this on its machine, with the server's store URL"),
        (("check", "--store", "http://127.0.0.1:8700"), "run this on its machine, with the server's store URL"),
        (("check", "--store", "mysql://ana:SECRET@db/desk"), "must be sqlite:///path, a path or postgresql://… here"),
        (("copy", "none.db", "x.db"), "none.db: there is no store here"),
        (("vacuum", "--store", "none.db"), "none.db: there is no store here"),
        (("backup", "x.db", "--store", "none.db"), "none.db: there is no store here"),
    ],
)
def test_what_cannot_be_looked_after_is_refused_and_nothing_is_made(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at("some.db", fill)
    ran = askdesk(
        "store", *("some.db" if word == "x.db" and "https:" in str(arguments) else word for word in arguments)
    )

    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "SECRET" not in ran.err
    assert os.listdir(tmp_path) == ["some.db"]


def test_copy_takes_two_stores_and_no_other(url: str) -> None:
    at(url, fill)

    assert askdesk("store", "copy", url, url) == Ran(2, "", f"askdesk: {url}: is one and the same store\n")
    parameters = f"{url}?sslmode=disable" if url.startswith("postgresql:") else url
    assert askdesk("store", "copy", parameters, parameters).code == 2
    words = "askdesk: --store: is not for copy, which names both stores: FROM TO\n"
    assert askdesk("store", "--store", "x", "copy", "x", "y") == Ran(2, "", words)


def test_two_databases_that_differ_in_parameters_alone_are_two(postgres: str) -> None:
    at(postgres, fill)
    name = postgres.rpartition("/")[2]
    with Cluster() as elsewhere:
        elsewhere.sql(f"CREATE DATABASE {name}")
        ports = [postgres.partition("127.0.0.1:")[2].partition("/")[0], elsewhere.port]
        urls = [f"postgresql://ana@/{name}?host=127.0.0.1&port={port}" for port in ports]
        assert askdesk("store", "copy", *urls).code == 0
        assert at(urls[1], everything) == at(postgres, everything)


def test_a_password_is_never_told(postgres: str, tmp_path: Path) -> None:
    secret = postgres.replace("ana@", "ana:SECRET@")
    file = str(tmp_path / "backup.db")
    at(postgres, fill)
    runs = [
        askdesk("store", "copy", secret, str(tmp_path / "there.db")),
        askdesk("store", "copy", secret, f"{secret}_none"),
        askdesk("store", "backup", file, "--store", secret),
        askdesk("store", "check", "--store", secret),
        askdesk("store", "purge", "--older-than", "1s", "--yes", "--store", secret),
    ]
    assert [ran.code for ran in runs] == [0, 1, 0, 0, 0]
    assert [ran for ran in runs if "SECRET" in ran.out + ran.err] == []
    assert [d for d in at(str(tmp_path / "there.db"), lambda store: store.shelf.list()) if "SECRET" in d.name] == []


def test_a_backup_is_a_desk_in_a_file_for_its_owner_alone(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    at(url, fill)
    ran = askdesk("store", "backup", str(folder / "monday.db"), "--json")
    told = json.loads(ran.out)

    assert at(str(folder / "monday.db"), everything) == at(url, everything)
    assert told == {
        "to": str(folder / "monday.db"),
        "open": 3,
        "settled": 6,
        "documents": 3,
        "sha256": content(askdesk("store", "copy", url, str(tmp_path / "there.db"), "--json")),
        "bytes": (folder / "monday.db").stat().st_size,
    }
    assert os.listdir(folder) == ["monday.db"]
    assert oct((folder / "monday.db").stat().st_mode & 0o777) == "0o600"


def test_a_backup_is_put_back_by_a_copy_and_by_putting_it_in_place(url: str, tmp_path: Path) -> None:
    at(url, fill)
    before = at(url, everything)
    file = tmp_path / "backup.db"
    assert askdesk("store", "backup", str(file)).code == 0

    assert askdesk("store", "copy", str(file), str(tmp_path / "new.db")).code == 0
    file.rename(tmp_path / "moved.db")
    for restored in ("new.db", "moved.db"):
        assert at(str(tmp_path / restored), everything) == before
        assert askdesk("store", "check", "--store", str(tmp_path / restored)).code == 0


def test_a_backup_writes_over_nothing(url: str, tmp_path: Path) -> None:
    at(url, fill)
    for name in ("backup.db", "other.db-wal"):
        (tmp_path / name).write_bytes(b"precious")
    (tmp_path / "gone.db").symlink_to(tmp_path / "nowhere")
    before = sorted(os.listdir(tmp_path))
    for name in ("backup.db", "other.db", "gone.db"):
        ran = askdesk("store", "backup", str(tmp_path / name))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.endswith(": is there already, and a backup writes over nothing\n")

    assert (tmp_path / "backup.db").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == before
    lost = askdesk("store", "backup", str(tmp_path / "none" / "x.db"))
    assert lost == Ran(2, "", f"askdesk: {tmp_path / 'none'}: there is no such folder\n")


async def backed_up(url: str, path: Path) -> None:
    upkeep = await open_upkeep(url)
    try:
        await back_up(upkeep, path, (), lambda *_: None)
    finally:
        await upkeep.close()


def test_a_backup_that_cannot_be_put_in_its_place_leaves_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "desk.db")

    def refused(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    at(url, fill)
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refused)
        patched.setattr(Path, "replace", refused)
        with pytest.raises(StoreError):
            asyncio.run(backed_up(url, tmp_path / "backup.db"))
    assert os.listdir(tmp_path) == ["desk.db"]


@pytest.mark.parametrize("comes_meanwhile", [False, True])
def test_a_backup_writes_over_nothing_where_a_file_can_have_no_second_name(
    comes_meanwhile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a stick with exFAT."""
    url, backup = str(tmp_path / "desk.db"), tmp_path / "backup.db"

    def link(source: Path, target: Path) -> None:
        if comes_meanwhile:
            target.write_bytes(b"precious")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    at(url, fill)
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", link)
        with pytest.raises(InvalidSettings, match="came there meanwhile") if comes_meanwhile else nullcontext():
            asyncio.run(backed_up(url, backup))

    assert sorted(os.listdir(tmp_path)) == ["backup.db", "desk.db"]
    if comes_meanwhile:
        assert backup.read_bytes() == b"precious"
    else:
        assert backup.stat().st_mode & 0o777 == 0o600
        assert at(str(backup), everything) == at(url, everything)


def test_a_backup_is_whole_while_agents_ask_and_people_answer(url: str, tmp_path: Path) -> None:
    """Each ask is there as it was at one moment: what was added before another one is there where that is."""
    at(url, fill_long)
    file = str(tmp_path / "backup.db")

    async def at_work(store: Store) -> None:
        process = await asyncio.create_subprocess_exec(*ASKDESK, "store", "backup", file, stdout=subprocess.DEVNULL)
        number = 100
        while process.returncode is None:
            await store.add(an_ask(number))
            await store.settle(an_ask(number).id, a_settlement())
            await store.shelf.put("draft/x/ana", str(number))
            number += 1
        assert process.returncode == 0

    at(url, at_work)
    opened, ended, documents = at(file, everything)
    numbers = [int(entry.ask.id, 16) for entry in ended if int(entry.ask.id, 16) >= 100]
    draft = int(dict(documents).get("draft/x/ana", "99"))
    assert numbers == list(range(100, 100 + len(numbers)))
    assert 100 + len(numbers) - 2 <= draft < 100 + len(numbers)
    assert len([entry for entry in opened if int(entry.ask.id, 16) >= 100]) <= 1


def test_where_there_is_no_room_there_is_no_backup_and_nothing_is_left(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    at(url, fill_long)
    little = ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *ASKDESK]
    ran = subprocess.run(
        [*little, "store", "backup", str(folder / "x.db")], env=surroundings(), capture_output=True, check=False
    )

    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.endswith(b": no room left on the disk; nothing was written\n")
    assert os.listdir(folder) == []


@needs_a_small_disk
def test_on_however_small_a_disk_a_backup_is_whole_or_there_is_none(postgres: str, tmp_path: Path) -> None:
    at(postgres, fill_many)
    seen = set()
    for size in range(2, 8):
        looking = ["sh", "-c", BACK_UP_AND_LOOK, str(tmp_path), postgres, *ASKDESK]
        command = [*small_disk(f"{size}m"), str(tmp_path), *looking]
        ran = subprocess.run(command, env=surroundings(), capture_output=True, text=True, check=True)
        seen.add(ran.stdout)
        assert ("no room left on the disk" in ran.stderr) == (ran.stdout == "1, left: \n")
    assert seen == {"1, left: \n", "0, left: x.db, looked at: 0\n"}


BACK_UP_AND_LOOK = """
cd "$0"; store="$1"; shift
"$@" store backup x.db --store "$store" >&2; echo -n "$?, left: $(ls -A)"
[ ! -e x.db ] || { "$@" store check --store x.db >&2; echo -n ", looked at: $?"; }
echo
"""


def test_a_backup_that_is_broken_off_leaves_nothing(postgres: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    at(postgres, fill)
    with connected(postgres) as run:
        run("BEGIN")
        run("LOCK TABLE askdesk.shelf IN ACCESS EXCLUSIVE MODE")
        with Person("store", "backup", str(folder / "backup.db"), "--store", postgres) as person:
            until(lambda: any(folder.glob(".backup.db-*")))
            person.types("\x03")
            ran = person.leaves()

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("askdesk: stopped; there is no backup\n")
    assert os.listdir(folder) == []


def test_the_file_of_a_newer_askdesk_is_backed_up_whole_and_else_left_to_that(file: Path, tmp_path: Path) -> None:
    at(str(file), fill)
    with closing(apsw.Connection(str(file))) as database:
        database.execute("CREATE TABLE moods (ask INTEGER); INSERT INTO moods VALUES (7); PRAGMA user_version = 1099")

    assert askdesk("store", "backup", str(tmp_path / "backup.db")).code == 0
    with closing(apsw.Connection(str(tmp_path / "backup.db"))) as database:
        assert database.execute("SELECT * FROM moods").get == 7
    assert askdesk("store", "check", "--store", str(tmp_path / "backup.db")).code == 0
    copy, purge = ("copy", str(file), str(tmp_path / "x.db")), ("purge", "--older-than", "1s", "--yes")
    for arguments in (copy, purge):
        ran = askdesk("store", *arguments)
        assert (ran.code, ran.out) == (1, "")
        assert "its schema is 1099; this askdesk knows all of it up to 1002: upgrade it" in ran.err


def findings(ran: Ran) -> dict[str, str]:
    return {finding["about"]: finding["says"] for finding in json.loads(ran.out)}


def wrong(ran: Ran) -> dict[str, str]:
    return {finding["about"]: finding["says"] for finding in json.loads(ran.out) if finding["wrong"]}


def test_a_desk_with_nothing_wrong_is_told_so_thing_by_thing(url: str) -> None:
    at(url, fill)
    ran = askdesk("store", "check", "--json")
    found = findings(ran)

    assert (ran.code, ran.err, wrong(ran)) == (0, "", {})
    assert found.pop("content").startswith("sha256 ")
    assert found.pop("integrity", "ok") == "ok"
    assert found == {
        "store": url,
        "schema": "1002",
        "tables": "nothing but ours",
        "search index": "reaches change 0 of 15; the next search goes on from there",
        "asks": "open: 3, settled: 6",
        "listings": "have every ask, and each is found by its id",
        "records": "all can be read",
        "documents": "3",
    }
    assert "ok     asks                   open: 3, settled: 6" in askdesk("store", "check").out.splitlines()


def test_to_look_changes_nothing(file: Path) -> None:
    at(str(file), fill)
    before = file.read_bytes()

    assert askdesk("store", "check").code == 0
    assert askdesk("store", "purge", "--older-than", "1s", "--dry-run").code == 0
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == ["desk.db"]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("record", '{"v":1', "a record cannot be read: "),
        ("settlement", "x", "a record cannot be read: "),
        ("key", "other", "its key is another one in its record"),
        ("deadline", "7", "its deadline is another one in its record"),
    ],
)
def test_what_is_wrong_with_an_ask_is_told_and_ends_with_1(
    file: Path, cluster: Cluster, column: str, value: str, says: str
) -> None:
    at(str(file), fill)
    spoil(str(file), cluster, 4, column, value)
    ran = askdesk("store", "check", "--json")

    assert (ran.code, list(wrong(ran))) == (1, ["records"])
    assert wrong(ran)["records"].startswith(f"ask {an_ask(4).id}: {says}")


def test_what_somebody_else_put_into_a_desk_is_named(url: str, cluster: Cluster) -> None:
    at(url, fill)
    if url.startswith("postgresql:"):
        sql(url, cluster, "CREATE RULE never AS ON DELETE TO @asks DO INSTEAD NOTHING")
        sql(url, cluster, "CREATE VIEW @seen AS SELECT id FROM @asks")
        sql(
            url,
            cluster,
            "CREATE TRIGGER always BEFORE UPDATE ON @asks EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        )
        named = "not ours: rule never, table notes, trigger always, view seen"
    else:
        sql(url, cluster, "CREATE TRIGGER never AFTER UPDATE ON asks BEGIN SELECT 1; END")
        named = "not ours: table notes, trigger never"
    sql(url, cluster, "CREATE TABLE @notes (text text)")

    assert wrong(askdesk("store", "check", "--json")) == {"tables": named}


def test_it_is_named_whoever_the_desk_belongs_to(postgres: str, cluster: Cluster) -> None:
    """Whose name is that of our schema has it on the search path, as in docs/deploy.md: names are told without it."""
    cluster.sql("CREATE ROLE askdesk LOGIN SUPERUSER")
    url = postgres.replace("ana@", "askdesk@")
    try:
        at(url, fill)
        assert wrong(askdesk("store", "check", "--store", url, "--json")) == {}
        sql(url, cluster, "CREATE RULE never AS ON DELETE TO @asks DO INSTEAD NOTHING")
        sql(
            url,
            cluster,
            "CREATE TRIGGER always BEFORE UPDATE ON @asks EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        )
        told = wrong(askdesk("store", "check", "--store", url, "--json"))
    finally:
        cluster.sql("DROP SCHEMA askdesk CASCADE", database=url.rpartition("/")[2])
        cluster.sql("DROP ROLE askdesk")
    assert told == {"tables": "not ours: rule never, trigger always"}


def test_a_text_that_is_none_is_told_of_and_no_backup_is_made_of_it(file: Path, cluster: Cluster) -> None:
    """SQLite's own look at the file finds nothing wrong there."""
    at(str(file), fill)
    sql(str(file), cluster, f"UPDATE @asks SET record = CAST(x'7bff' AS TEXT) WHERE id = '{an_ask(4).id}'")  # noqa: S608
    ran = askdesk("store", "check", "--json")
    damaged = f"{file}: damaged: a text in it is not UTF-8; restore a backup"

    assert (ran.code, findings(ran)["integrity"], wrong(ran)) == (1, "ok", {"reading": damaged})
    assert askdesk("show", an_ask(4).id) == Ran(1, "", f"askdesk: {damaged}\n")
    assert askdesk("store", "backup", str(file.with_name("backup.db"))) == Ran(1, "", f"askdesk: {damaged}\n")
    assert os.listdir(file.parent) == ["desk.db"]


@pytest.mark.parametrize("where", [0.3, 0.5, 0.9])
def test_a_file_with_a_damaged_page_is_told_of_and_no_backup_is_made_of_it(where: float, file: Path) -> None:
    at(str(file), lambda store: fill(store, 200))
    raw = bytearray(file.read_bytes())
    place = int(len(raw) * where) // 4096 * 4096
    raw[place : place + 4096] = b"\xff" * 4096
    file.write_bytes(raw)
    ran = askdesk("store", "check", "--json")

    assert ran.code == 1
    assert {"integrity", "reading"} & wrong(ran).keys()
    assert findings(ran)["store"] == str(file)
    assert askdesk("store", "backup", str(file.with_name("backup.db"))).code == 1
    assert os.listdir(file.parent) == ["desk.db"]


def test_what_only_a_newer_askdesk_can_read_is_counted_and_not_wrong(url: str, cluster: Cluster) -> None:
    at(url, fill)
    newer = record.encode(an_ask(4, key="k4")).replace('{"v":1,', '{"v":2,')
    spoil(url, cluster, 4, "record", newer)
    ran = askdesk("store", "check", "--json")

    assert (ran.code, wrong(ran)) == (0, {})
    assert findings(ran)["newer records"] == "left to a newer askdesk: 1"


def test_room_is_given_back_while_others_are_at_work(url: str) -> None:
    async def at_work(store: Store) -> tuple[bytes, int]:
        await fill(store, 120, body=Permission("Bash", {"command": "x" * 20_000}))
        await store.page("open", text="x")
        purging = await asyncio.create_subprocess_exec(*PURGE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        await purging.wait()
        vacuuming = await asyncio.create_subprocess_exec(*VACUUM, stdout=subprocess.PIPE)
        ending = asyncio.ensure_future(vacuuming.communicate())
        number = 1000
        while not ending.done():
            await store.add(an_ask(number))
            assert (await store.get(an_ask(number).id)).settlement is None
            number += 1
        return ending.result()[0], number - 1000

    out, added = at(url, at_work)
    room = json.loads(out)
    assert url.startswith("postgresql:") or room["after"] < room["before"] / 2
    assert re.fullmatch(r"\d+\.\d MB before, \d+\.\d MB now\n", askdesk("store", "vacuum").out)
    assert len(at(url, everything)[0]) == 40 + added


def days_ago(days: int) -> datetime:
    return NOW - timedelta(days=days)


async def fill_of_ages(store: Store) -> None:
    """Asks 1 to 6: settled 400, 200, 100 and 10 days ago, open, and imported late though it was 300 days ago."""
    for number, days in ((1, 400), (2, 200), (3, 100), (4, 10)):
        await store.add(an_ask(number, key=f"k{number}"))
        await store.settle(an_ask(number).id, a_settlement(at=days_ago(days)))
    await store.add(an_ask(5))
    await store.add(an_ask(6))
    await store.settle(an_ask(6).id, a_settlement(at=days_ago(300)))
    await store.add(an_ask(7))
    await store.settle(an_ask(7).id, a_settlement(at=days_ago(1)))
    for number in (1, 4, 5):
        for kind, end in KINDS:
            await store.shelf.put(f"{kind}/{an_ask(number).id}{end}", "{}")


async def numbers(store: Store) -> list[int]:
    pages = [(await store.page(state)).entries for state in ("open", "settled")]
    return sorted(int(entry.ask.id, 16) for page in pages for entry in page)


def purge(*options: str, env: dict[str, str] | None = None) -> Ran:
    return askdesk("store", "purge", "--older-than", "90d", *options, env=env)


def test_what_was_settled_long_ago_goes_with_what_belongs_to_it_and_nothing_else(url: str) -> None:
    at(url, fill_of_ages)
    ran = purge("--yes")
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d"

    assert (ran.code, ran.out) == (0, "removed: 4 asks and 3 documents\n")
    assert re.fullmatch(rf"askdesk: asks settled before {moment} that would go for ever: 4\n", ran.err)
    assert at(url, numbers) == [4, 5, 7]
    kept = sorted(f"{kind}/{an_ask(number).id}{end}" for number in (4, 5) for kind, end in KINDS)
    assert [document.name for document in at(url, lambda store: store.shelf.list())] == kept
    assert askdesk("store", "check").code == 0


def test_a_dry_run_tells_what_would_go_and_changes_nothing(url: str) -> None:
    at(url, fill_of_ages)
    before = at(url, everything)
    ran = purge("--dry-run", env={"CLAUDECODE": "1"})
    found = json.loads(purge("--dry-run", "--json").out)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(" that would go for ever: 4\n")
    moment = datetime.fromisoformat(found["before"])
    assert timedelta(days=90) <= datetime.now(UTC) - moment < timedelta(days=90, minutes=5)
    assert found == {
        "before": found["before"],
        "found": 4,
        "owed": 0,
        "latest": 0,
        "unread": 0,
        "removed": 0,
        "documents": 0,
    }
    assert at(url, everything) == before


def test_what_an_agent_has_not_heard_what_nobody_can_read_and_what_changed_last_stays(
    url: str, cluster: Cluster
) -> None:
    asker = Asker("builder", project="web")

    async def fill(store: Store) -> None:
        for number in range(1, 6):
            await store.add(an_ask(number))
            await store.settle(an_ask(number).id, a_settlement(at=days_ago(100)))
        await owed.note(store.shelf, owed.Owed(ask=an_ask(1).id, asker=asker))
        await store.shelf.put(f"owed/another/{an_ask(2).id}", "only a newer version can read this")

    at(url, fill)
    spoil(url, cluster, 3, "settlement", '{"v":2}')
    ran = purge("--yes")

    assert (ran.code, ran.out) == (0, "removed: 1 asks and 0 documents\n")
    assert ran.err.splitlines()[1:] == [
        "askdesk: asks that stay, whose end an agent has not heard yet: 2",
        "askdesk: asks that stay, that changed last of all: 1",
        "askdesk: asks that stay, that this askdesk cannot read, whenever they were settled: 1",
    ]
    assert at(url, numbers) == [1, 2, 5]  # and the third, which only a newer version can read


@pytest.mark.parametrize(
    ("typed", "left"), [("yes\n", [4, 5, 7]), ("y\n", [1, 2, 3, 4, 5, 6, 7]), ("\x04", [1, 2, 3, 4, 5, 6, 7])]
)
def test_on_a_terminal_only_yes_removes(file: Path, typed: str, left: list[int]) -> None:
    at(str(file), fill_of_ages)
    with Person("store", "purge", "--older-than", "90d") as person:
        person.reads("that would go for ever: 4\nRemove them? Only yes does: ")
        person.types(typed)
        ran = person.leaves()

    assert ran.code == 0
    assert ran.out == ("removed: 4 asks and 3 documents\n" if left == [4, 5, 7] else "")
    assert ("nothing was removed" in ran.err) == (left != [4, 5, 7])
    assert at(str(file), numbers) == left


def test_where_nobody_can_be_asked_it_needs_a_yes(file: Path) -> None:
    at(str(file), fill_of_ages)

    words = "askdesk: nobody can be asked here: give --yes, or look first with --dry-run\n"
    assert purge() == Ran(2, "", words)
    assert at(str(file), numbers) == [1, 2, 3, 4, 5, 6, 7]


def test_an_agent_removes_nothing_unless_it_is_forced(file: Path) -> None:
    at(str(file), fill_of_ages)
    ran = purge("--yes", env={"CLAUDECODE": "1"})

    assert (ran.code, ran.out) == (2, "")
    assert "this is an agent's shell" in ran.err
    assert at(str(file), numbers) == [1, 2, 3, 4, 5, 6, 7]
    assert purge("--yes", "--force", env={"CLAUDECODE": "1"}).out == "removed: 4 asks and 3 documents\n"


def test_who_waits_hears_of_what_comes_after_a_purge(url: str) -> None:
    """A change that got the number of one that was removed would be taken for that, and nobody would hear of it."""

    async def wait(store: Store) -> str:
        await fill_of_ages(store)
        await store.settle(an_ask(7).id, a_settlement())
        await store.page("settled", text="which")
        heard: asyncio.Queue[str | None] = asyncio.Queue()
        store.hints(lambda ask_id: heard.put_nowait(ask_id))
        purging = await asyncio.create_subprocess_exec(*PURGE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        assert await purging.wait() == 0
        other = await open_store(url)
        await other.add(an_ask(8, key="k1"))
        await other.close()
        async with asyncio.timeout(SECONDS):
            while await heard.get() != an_ask(8).id:
                pass
        return " ".join(str(int(e.ask.id, 16)) for e in (await store.page("open", text="which")).entries)

    assert at(url, wait) == "5 8"


@pytest.mark.parametrize("what", ["copy", "backup", "check", "vacuum", "purge"])
def test_each_tells_what_it_does(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", what, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: askdesk store {what}")
    assert main(["store", what, "--no-such-option"]) == 2
