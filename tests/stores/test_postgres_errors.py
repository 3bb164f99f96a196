"""What is wrong with a PostgreSQL store is said in one line, by an error of the right kind, and no password with it."""

from __future__ import annotations

import asyncio
import re
import socket
import traceback
from collections.abc import Iterator

import pytest
from tests.cli.command import askdesk
from tests.postgres import Cluster
from tests.stores.on_postgres import Seen, numbers, opened

from askdesk.core.errors import InvalidSettings, StoreError, StoreGone
from askdesk.open import open_store
from askdesk.stores.postgres import PostgresStore
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

CANARY = "c4n4ry"


@pytest.fixture
def seen(cluster: Cluster, postgres: str) -> Seen:
    return Seen(cluster, postgres)


@pytest.fixture
def guarded(cluster: Cluster, postgres: str) -> Iterator[str]:
    """The same database for somebody who needs a password, without one."""
    rules = cluster.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    cluster.sql("CREATE ROLE carol LOGIN SUPERUSER PASSWORD 'right'")
    rules.write_text(f"host all carol 127.0.0.1/32 scram-sha-256\n{before}")
    cluster.sql("SELECT pg_reload_conf()")
    yield postgres.replace("ana@", "carol@")
    rules.write_text(before)
    cluster.sql("SELECT pg_reload_conf()")
    cluster.sql("REASSIGN OWNED BY carol TO ana", database=postgres.rpartition("/")[2])
    cluster.sql("DROP ROLE carol")


def nobody() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        return int(nobody.getsockname()[1])


async def refused(url: str, patience: float = 0.0) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await PostgresStore.open(url, patience=patience)
    assert "\n" not in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:c4n4ry@127.0.0.1:port/desk",
        "postgresql://ana:c4n4ry@127.0.0.1:99999/desk",
        "postgresql://ana:c4n4ry@[::1/desk",
        "postgresql://ana:c4n4ry@127.0.0.1/desk?sslmode=sometimes",
        "postgresql://ana:c4n4ry@127.0.0.1/desk?target_session_attrs=nice",
        "postgresql://ana:c4n4/ry@127.0.0.1/desk",
        "postgresql://ana:c4n4?ry@127.0.0.1/desk",
        "postgresql://ana:c4n4#ry@127.0.0.1/desk",
        "postgresql://127.0.0.1:x/desk?password=c4n4ry",
    ],
)
async def test_what_is_no_url_of_a_database_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidSettings, match="store: is not the URL of a PostgreSQL database: ") as caught:
        async with asyncio.timeout(10):
            await PostgresStore.open(url)
    assert not re.search("c4n4|ry@", "".join(traceback.format_exception(caught.value)))


async def test_a_url_under_another_name_is_told_without_its_password() -> None:
    for url in (f"postgress://ana:{CANARY}@db/desk", f"ana:{CANARY}@db/desk", f"mysql://db/desk?password={CANARY}"):
        with pytest.raises(InvalidSettings, match="store: takes sqlite:///path, a path") as caught:
            await open_store(url)
        assert CANARY not in "".join(traceback.format_exception(caught.value))


async def test_a_wrong_password_is_told_and_not_shown(guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f'{guarded}: password authentication failed for user "carol"'
    wrong = guarded.replace("carol@", f"carol:{CANARY}@")
    assert str(await refused(wrong, patience=60)) == said  # at once: it will be as wrong in a moment
    assert str(await refused(f"{guarded}?password={CANARY}")) == said
    monkeypatch.setenv("PGPASSWORD", CANARY)
    assert str(await refused(guarded)) == said
    monkeypatch.setenv("PGPASSWORD", "right")
    async with opened(guarded) as store:
        await store.add(an_ask(1))


async def test_no_command_shows_a_password(guarded: str) -> None:
    wrong, right = (guarded.replace("carol@", f"carol:{word}@") for word in (CANARY, "right"))
    away = f"postgresql://ana:{CANARY}@127.0.0.1:{nobody()}/desk"
    amiss = f"postgresql://ana:{CANARY}/@127.0.0.1/desk"
    told = [askdesk("doctor", "--store", url) for url in (wrong, away, amiss)]
    told += [askdesk(command, env={"ASKDESK_STORE": f"{guarded}?password={CANARY}"}) for command in ("list", "serve")]
    assert [ran.code for ran in told] == [1] * 5
    assert not [ran for ran in told if CANARY in ran.out + ran.err]
    assert ":right" not in askdesk("doctor", env={"ASKDESK_STORE": right}).out


async def test_a_database_or_a_user_that_is_not_there_is_told(postgres: str, seen: Seen) -> None:
    unknown = postgres.replace(seen.name, "nothing")
    assert str(await refused(unknown)) == f'{unknown}: database "nothing" does not exist; createdb makes one'
    stranger = postgres.replace("ana@", "dan@")
    assert str(await refused(stranger)) == f'{stranger}: role "dan" does not exist'


async def test_where_no_server_is_that_is_told() -> None:
    url = f"postgresql://ana:{CANARY}@127.0.0.1:{nobody()}/desk"
    assert str(await refused(url)).startswith(f"{url.replace(f':{CANARY}', '')}: cannot be reached (")
    assert "cannot be reached" in str(await refused(f"postgresql://ana:{CANARY}@no.host.invalid/desk"))
    assert "cannot be reached" in str(await refused(f"postgresql://ana:{CANARY}@/desk?host=/nowhere"))


async def test_a_database_that_keeps_no_unicode_is_refused(cluster: Cluster) -> None:
    cluster.sql("CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0")
    try:
        error = await refused(cluster.url("latin"))
        assert str(error).endswith("its encoding is LATIN1; askdesk needs a database in UTF8")
    finally:
        cluster.sql("DROP DATABASE latin")


async def test_a_server_that_is_too_old_is_refused(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askdesk.stores.postgres_database.OLDEST", 99)
    assert str(await refused(postgres)).endswith("; askdesk needs 99 or newer")


async def test_tables_that_somebody_dropped_are_gone(seen: Seen, postgres: str) -> None:
    async with opened(postgres, patience=0) as store:
        seen.sql("DROP SCHEMA askdesk CASCADE")
        with pytest.raises(StoreGone, match=r'relation "askdesk\.asks" does not exist'):
            await store.get(an_ask(1).id)


async def test_a_standby_can_be_read_and_says_that_nothing_else_can_be_done(cluster: Cluster, postgres: str) -> None:
    async with opened(postgres) as primary:
        await primary.add(an_ask(1))
        assert await numbers(primary, text="which") == [1]
    with Cluster(of=cluster) as standby:
        url = standby.url(postgres.rpartition("/")[2])
        async with opened(url, patience=0) as store:
            assert (await numbers(store), await numbers(store, text="which")) == ([1], [1])
            for verb in (store.add(an_ask(2)), store.settle(an_ask(1).id, a_settlement()), store.shelf.put("a", "1")):
                with pytest.raises(StoreGone, match=r"in a read-only transaction|during recovery"):
                    await verb
        several = url.replace("127.0.0.1", f"127.0.0.1:{standby.port},127.0.0.1").replace(
            f":{standby.port}/", f":{cluster.port}/"
        )
        async with opened(several) as store:
            assert await store.add(an_ask(2)) == an_ask(2)
