"""The doors for Python programs."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.command import SECONDS, Ran, kept_asks, settled, surroundings
from tests.cli.person import Person

from askdesk.core.errors import AskdeskError, InvalidAsk, InvalidSettings, StoreError
from askdesk.core.model import (
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Expired,
    Permission,
    Question,
    Questions,
    Withdrawn,
)
from askdesk.open import ask, open_desk, open_store, sqlite_path
from askdesk.settings import load
from askdesk.stores.http import HTTPStore
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore

WHICH = Question("Which database?", ["SQLite", "Postgres"])


def call(options: str = "") -> str:
    return f'askdesk.ask(askdesk.Question("Which database?", ["SQLite", "Postgres"]), {options})'


def script(code: str, typed: str = "") -> Ran:
    """Run a program of somebody else's."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", f"import askdesk\n{code}"],
        input=typed.encode(),
        capture_output=True,
        env=surroundings(),
        timeout=SECONDS,
        start_new_session=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///home/ana/desk.db", "/home/ana/desk.db"),
        ("sqlite:///home/ana/my%20desk.db", "/home/ana/my desk.db"),
        ("/home/ana/desk.db", "/home/ana/desk.db"),
        ("/home/ana/100%25 #1?.db", "/home/ana/100%25 #1?.db"),
        ("desk.db", "desk.db"),
    ],
)
async def test_an_sqlite_url_or_a_path_names_a_file(url: str, path: str) -> None:
    assert sqlite_path(url) == Path(path)


@pytest.mark.anyio
async def test_a_path_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert sqlite_path("~/desk.db") == tmp_path / "desk.db"


@pytest.mark.anyio
@pytest.mark.parametrize("folder", ["plain", "with space", "100%41", "a#b", "a?b", "ü"])
async def test_the_default_store_lies_in_the_users_data_folder_whatever_its_name(folder: str, tmp_path: Path) -> None:
    store = load({"XDG_DATA_HOME": str(tmp_path / folder), "XDG_CONFIG_HOME": str(tmp_path)}).store

    assert sqlite_path(store) == tmp_path / folder / "askdesk" / "askdesk.db"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/y",
        "http://desk.example",
        "https://",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/path",
        "://",
        ":memory:",
    ],
)
async def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettings, match="store: "):
        await open_store(url)


@pytest.mark.anyio
async def test_each_url_opens_its_store(tmp_path: Path) -> None:
    memory = await open_store("memory:")
    file = await open_store(f"sqlite://{tmp_path}/new/desk.db")
    server = await open_store("https://desk.example")

    assert (type(memory), type(file), type(server)) == (MemoryStore, SQLiteStore, HTTPStore)
    assert (tmp_path / "new" / "desk.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    await memory.close()
    await file.close()
    await server.close()


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/dev/null/desk.db", "/", "x" * 300])
async def test_a_file_that_cannot_be_one_is_an_error_of_the_store(path: str) -> None:
    with pytest.raises(StoreError):
        await open_store(path)


@pytest.mark.anyio
async def test_opening_a_desk_expires_what_is_due() -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    due = Ask("due", Questions([WHICH]), Asker(), long_ago, deadline=long_ago + timedelta(hours=1))
    async with open_desk() as desk:
        await desk.store.add(due)
        later = await desk.post(WHICH, deadline=timedelta(hours=1))
        before = await desk.store.get("due")
    async with open_desk() as desk:
        after = [await desk.store.get(posted.id) for posted in (due, later)]

    assert before.settlement is None
    assert [entry.settlement and entry.settlement.outcome for entry in after] == [Expired(), None]


@pytest.mark.anyio
async def test_an_opened_desk_keeps_to_the_operators_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKDESK_MAX_BYTES", "30")
    async with open_desk("memory:") as desk:
        with pytest.raises(InvalidAsk, match="30 bytes"):
            await desk.post(Permission("Bash", {"command": "x" * 30}))


def test_a_script_is_answered_through_a_pipe_where_it_asks_for_that() -> None:
    code = call('surface="plain", agent="sorter"')
    ran = script(f"print({code})", "2 /note why not\n")

    assert (ran.code, ran.out) == (0, f"{Answered([Answer(['Postgres'], note='why not')])}\n")
    assert "sorter in " in ran.err
    assert "  1. SQLite\n  2. Postgres\n" in ran.err


def test_a_script_without_a_terminal_reaches_nobody_and_its_ask_stays_open() -> None:
    code = f"try:\n    {call()}\nexcept askdesk.Unreachable as error:\n    print(error.ask_id)"
    alone = script(code, "1\n")
    ended = script(code.replace(call(), call('surface="plain"')), "1")

    assert (alone.code, alone.err) == (0, "")
    assert ended.code == 0
    assert [entry.settlement for entry in kept_asks()] == [None, None]
    assert [entry.ask.id for entry in kept_asks()] == [alone.out.strip(), ended.out.strip()]


def test_a_script_finds_what_was_answered_elsewhere_by_its_key() -> None:
    code = "print(" + call('key="k1"') + ")"
    first = script(code)
    (entry,) = kept_asks()
    settled(entry.ask, Declined("let us talk"))
    again = script(code)

    assert first.code == 1
    assert "Unreachable: nobody can be reached" in first.err.splitlines()[-1]
    assert (again.code, again.out) == (0, f"{Declined('let us talk')}\n")


def test_a_script_may_wait_for_somebody_elsewhere_until_a_deadline() -> None:
    code = "from datetime import timedelta\nprint("
    code += call('surface="none", deadline=timedelta(seconds=0.1)') + ")"

    assert script(code) == Ran(0, f"{Expired()}\n", "")


def test_a_script_that_is_stopped_takes_its_ask_back_unless_it_has_a_key() -> None:
    for key in ("None", '"k1"'):
        with Person("-c", f"import askdesk\n{call(f'key={key}')}", command=(sys.executable,)) as ana:
            ana.reads("Your choice: ")
            ana.process.send_signal(2)
            ana.reads("KeyboardInterrupt")

    outcomes = [(entry.ask.key, entry.settlement and entry.settlement.outcome) for entry in kept_asks()]
    assert outcomes == [("k1", None), (None, Withdrawn("the agent stopped waiting"))]


def test_inside_a_running_loop_a_script_is_told_to_open_a_desk() -> None:
    code = "import asyncio\nasync def main(): " + call() + "\nasyncio.run(main())"
    ran = script(code)

    assert (ran.code, ran.out) == (1, "")
    assert "never awaited" not in ran.err
    assert "open_desk" in ran.err.splitlines()[-1]
    assert kept_asks() == []


def test_what_is_no_ask_is_refused_before_anybody_sees_it() -> None:
    with pytest.raises(AskdeskError, match=r"questions\[0\].options: needs 2-20, has 1"):
        ask(Question("Which database?", ["SQLite"]), surface="none")
    assert kept_asks() == []
