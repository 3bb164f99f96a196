"""askdesk doctor: what is installed, which store, what is wrong."""

import asyncio
import json
import os
import platform
import time
from pathlib import Path

import pytest
from tests.cli.command import Ran, askdesk, in_shell, posted
from tests.postgres import Cluster

from askdesk import __version__
from askdesk.core.model import Question
from askdesk.stores.postgres import PostgresStore


def findings(ran: Ran) -> dict[str, str]:
    return {finding["about"]: finding["says"] for finding in json.loads(ran.out)}


def wrong(ran: Ran) -> list[str]:
    return [finding["about"] for finding in json.loads(ran.out) if finding["wrong"]]


def test_a_healthy_desk_has_nothing_wrong() -> None:
    posted(Question("Which database?", ["SQLite", "Postgres"]))
    ran = askdesk("doctor", "--json")
    found = findings(ran)

    assert (ran.code, ran.err, wrong(ran)) == (0, "", [])
    assert (found["askdesk"], found["Python"]) == (__version__, platform.python_version())
    assert (found["store"], found["store file"]) == (os.environ["ASKDESK_STORE"], "only you may open it")
    assert found["open asks"] == "1"
    assert found["terminal"] == "no: asks are answered elsewhere, or through a pipe"
    assert found["agent's shell"] == "no"
    assert found["settings"].endswith("askdesk.toml (not there; defaults hold)")


async def made(url: str) -> None:
    """A desk in a database."""
    await (await PostgresStore.open(url)).close()


def test_the_password_of_a_database_is_told_to_nobody(postgres: str) -> None:
    asyncio.run(made(postgres))
    ran = askdesk("doctor", "--json", "--store", postgres.replace("ana@", "ana:SECRET@"))

    assert (findings(ran)["store"], findings(ran)["open asks"]) == (postgres, "0")
    assert "SECRET" not in ran.out + ran.err


def test_people_get_a_line_for_each_finding() -> None:
    ran = askdesk("doctor", env={"CLAUDECODE": "1"})

    assert (ran.code, ran.err) == (0, "")
    assert f"ok     askdesk                {__version__}" in ran.out.splitlines()
    assert "ok     agent's shell          yes, CLAUDECODE is set: askdesk answer refuses here" in ran.out.splitlines()
    assert all(line.startswith("ok     ") for line in ran.out.splitlines())


def test_looking_at_a_desk_does_not_make_one() -> None:
    ran = askdesk("doctor", "--json")

    assert findings(ran)["store file"] == "not there yet; the first ask makes it"
    assert not Path(os.environ["ASKDESK_STORE"]).exists()


def test_a_file_that_others_may_open_is_wrong() -> None:
    posted(Question("Which database?", ["SQLite", "Postgres"]))
    store = Path(os.environ["ASKDESK_STORE"])
    store.chmod(0o644)
    ran = askdesk("doctor", "--json")

    assert (ran.code, wrong(ran)) == (1, ["store file"])
    assert findings(ran)["store file"] == f"others may open it (mode 044): chmod 600 {store}"


def test_stores_that_do_not_work_are_wrong(tmp_path: Path) -> None:
    corrupt = tmp_path / "corrupt.db"
    corrupt.write_bytes(b"not a database at all" * 100)
    corrupt.chmod(0o600)

    for store in (str(corrupt), str(tmp_path), "ftp://x/y", "sqlite://host/x", f"/{'x' * 300}/{'y' * 300}"):
        ran = askdesk("doctor", "--json", "--store", store)
        assert ran.code == 1
        assert "store" in wrong(ran) or "store file" in wrong(ran)


def test_a_store_in_memory_has_no_file() -> None:
    ran = askdesk("doctor", "--json", "--store", "memory:")

    assert (ran.code, "store file" in findings(ran)) == (0, False)


def test_a_database_is_told_without_its_password_and_looking_at_it_makes_no_desk(
    cluster: Cluster, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_STORE", f"{postgres.replace('ana@', 'ana:s3cret@')}?sslpassword=s3cret")
    for says in ("there is no desk in it yet; the first ask makes it", "PostgreSQL "):
        ran = askdesk("doctor", "--json")
        assert (ran.code, wrong(ran), "s3cret" in ran.out + ran.err) == (0, [], False)
        assert findings(ran)["store"] == postgres
        assert findings(ran)["database"].startswith(says)
        posted(Question("Which database?", ["SQLite", "Postgres"]))
    (server,) = cluster.sql("SHOW server_version")[0]
    assert findings(ran)["database"] == f"PostgreSQL {server}, schema 1.2"
    assert (findings(ran)["proxy"], findings(ran)["open asks"]) == ("none that pools", "1")


def test_a_database_that_is_not_there_is_wrong_and_its_password_not_told(postgres: str) -> None:
    missing = postgres.replace("ana@", "ana:s3cret@") + "_not"
    started = time.monotonic()
    ran = askdesk("doctor", "--json", "--store", missing)
    assert (ran.code, wrong(ran), "s3cret" in ran.out + ran.err) == (1, ["store"], False)
    assert findings(ran)["store"].endswith("does not exist; createdb makes one")
    assert time.monotonic() - started < 15


def test_wrong_settings_are_found_and_named(tmp_path: Path) -> None:
    (tmp_path / "askdesk.toml").write_text('colour = "red"\nmax_bytes = -1\n')
    ran = askdesk("doctor", "--json", env={"ASKDESK_CONFIG": str(tmp_path / "askdesk.toml")})

    assert ran.code == 1
    assert wrong(ran) == ["settings"]
    assert "colour" in findings(ran)["settings"]
    assert "max_bytes" in findings(ran)["settings"]


def test_the_doctor_works_without_standard_input() -> None:
    assert in_shell("<&-", "doctor").code == 0
