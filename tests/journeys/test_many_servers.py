"""Several servers on one PostgreSQL, all of them real processes: what one does for all, and what becomes of everything
when that one is killed or frozen, and when the database goes away and comes back.
"""

from __future__ import annotations

import asyncio
import signal
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic

import httpx2
import pytest
from tests.cli.command import SECONDS, Ran, askdesk, until
from tests.pgbouncer import Bouncer
from tests.postgres import Cluster
from tests.server.running import ANSWERED, QUESTIONS
from tests.stores.on_postgres import LISTENING, WAITING, Seen, held
from tests.stores.remote import Serving, new_tokens, serving
from tests.stores.test_postgres_connections import beaten
from tests.surfaces.test_notify import Receiver

NAMES = ("one", "two", "three")
SOON = timedelta(seconds=0.5)
ELECTIONS = 1095977797  # the first number of their locks, also in servers of other versions beside ours


class House:
    """A database, and servers that reach it under names of their own, so that it tells which of them does what."""

    def __init__(self, cluster: Cluster, stack: ExitStack) -> None:
        self.cluster, self._stack = cluster, stack
        self.database = cluster.database()
        self.seen = Seen(cluster, self.database)
        self._given = asyncio.run(new_tokens(self.database))

    def serve(self, name: str = NAMES[0], *options: str, url: str = "") -> Serving:
        return self._stack.enter_context(serving(url or self.database.replace("ana@", f"{name}@"), 0, *options))

    def agent(self, server: Serving) -> httpx2.Client:
        return self._client(server, "asker")

    def person(self, server: Serving) -> httpx2.Client:
        return self._client(server, "answerer")

    def _client(self, server: Serving, kind: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self._given[f'{kind}_token']}"}
        return self._stack.enter_context(httpx2.Client(base_url=server.url, headers=headers, timeout=SECONDS))

    def elected(self, office: str) -> list[str]:
        """Who holds its lock."""
        number = zlib.crc32(office.encode()) ^ 2**31  # as the database shows a number that has a sign
        query = "SELECT usename FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = $1 AND granted"
        locks = self.cluster.sql(f"{query} AND (classid, objid) = ($2, $3)", self.seen.name, ELECTIONS, number)
        return [name for (name,) in locks]

    def elects(self, office: str, *, after: str = "") -> str:
        """Wait for a new one."""
        until(lambda: self.elected(office) not in ([], [after]))
        (name,) = self.elected(office)
        return name

    def keeps_a_deadline(self, server: Serving) -> bool:
        ask_id = posted(self.agent(server), deadline=(datetime.now(UTC) + SOON).isoformat())
        until(partial(self._is_settled, ask_id))
        return True

    def _is_settled(self, ask_id: str) -> bool:
        """As the database has it: to ask a server would settle what is due."""
        return self.seen.sql("SELECT settlement IS NOT NULL FROM askdesk.asks WHERE id = $1", ask_id) == [(True,)]


def posted(agent: httpx2.Client, **more: object) -> str:
    answer = agent.post("/v1/asks", json={"questions": QUESTIONS, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ask"]["id"])


def settle(person: httpx2.Client, ask_id: str) -> None:
    answer = person.post(f"/v1/asks/{ask_id}/settlement", json={"reply": ANSWERED, "submission": "s1"})
    assert answer.status_code == 200, answer.text


@contextmanager
def waiting(house: House, server: Serving, ask_id: str) -> Iterator[Future[httpx2.Response]]:
    """An agent waits at a server, in one request; the answer to it."""
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(house.agent(server).get, f"/v1/asks/{ask_id}?wait=60")
        monitor = house.person(server)
        until(lambda: "\naskdesk_waits 1\n" in monitor.get("/metrics").text)
        yield answer


@contextmanager
def away(cluster: Cluster) -> Iterator[None]:
    cluster.stop()
    try:
        yield
    finally:
        cluster.start()


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """Which may be stopped, and knows servers by their names."""
    with Cluster() as cluster:
        for name in NAMES:
            cluster.sql(f"CREATE ROLE {name} SUPERUSER LOGIN")
        yield cluster


@pytest.fixture
def house(own_cluster: Cluster) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(own_cluster, stack)


def test_one_of_three_keeps_the_deadlines_and_another_once_that_is_killed_and_the_third_once_that_is_frozen(
    house: House,
) -> None:
    servers = {name: house.serve(name) for name in NAMES}
    first = house.elects("deadlines")
    assert house.keeps_a_deadline(servers[first])
    servers[first].killed()

    second = house.elects("deadlines", after=first)
    assert house.keeps_a_deadline(servers[second])
    servers[second].process.send_signal(signal.SIGSTOP)

    third = house.elects("deadlines", after=second)  # the database lets go of who is silent for ten seconds
    assert {first, second, third} == {*NAMES}
    assert house.keeps_a_deadline(servers[third])
    servers[second].process.send_signal(signal.SIGCONT)
    is_back = f"usename = '{second}' AND {LISTENING} AND query_start > backend_start + interval '1 s'"
    until(lambda: house.seen.backends(is_back) != [])  # and has stood for election
    assert house.elected("deadlines") == [third]
    assert house.keeps_a_deadline(servers[second])


@pytest.fixture
def service() -> Iterator[Receiver]:
    with closing(Receiver()) as service:
        yield service


@pytest.fixture
def in_haste(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that tell soon: otherwise ten seconds go by from one message to the next, and hide what is told twice."""
    code = "from datetime import timedelta; from askdesk.surfaces import told; told.APART = timedelta(seconds=0.2)"
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("ASKDESK_NOTIFY_AFTER", "0.1")


def told(service: Receiver) -> list[str]:
    """Where people were told to answer: the address names the server that told them."""
    return [message.body.rpartition(" ")[2] for message in service.messages]


@pytest.mark.usefixtures("in_haste")
def test_of_two_that_notify_one_tells_each_ask_once_and_the_other_goes_on_when_that_is_killed(
    house: House, service: Receiver
) -> None:
    servers = {name: house.serve(name, "--notify", service.url) for name in NAMES[:2]}
    first = house.elects("notifications")
    one = posted(house.agent(servers[first]))
    until(lambda: len(service.messages) > 0)
    servers[first].killed()

    second = house.elects("notifications", after=first)
    other = posted(house.agent(servers[second]))
    until(lambda: len(service.messages) > 1)
    assert told(service) == [f"{servers[first].url}/asks/{one}", f"{servers[second].url}/asks/{other}"]


@pytest.mark.usefixtures("in_haste")
def test_of_two_that_notify_one_reminds_of_an_open_ask_once_in_each_interval(
    house: House, service: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_NOTIFY_AGAIN", "2")
    servers = {name: house.serve(name, "--notify", service.url) for name in NAMES[:2]}
    ask_id = posted(house.agent(servers["one"]))
    until(lambda: len(service.messages) > 0)
    began = monotonic()
    until(lambda: len(service.messages) > 1)
    assert monotonic() - began > 1.5  # told somewhat sooner than it was seen here
    (name,) = house.elected("notifications")
    assert told(service) == [f"{servers[name].url}/asks/{ask_id}"] * 2


def test_while_the_database_is_away_whoever_asks_is_told_to_come_again_and_whoever_waits_goes_on_waiting(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_BUSY_SECONDS", f"{SECONDS}")
    patient = house.serve("one")
    monkeypatch.setenv("ASKDESK_BUSY_SECONDS", "0.2")
    hasty = house.serve("two")
    agent = house.agent(hasty)
    ask_id = posted(agent)

    with waiting(house, patient, ask_id) as answer:
        with away(house.cluster):
            assert agent.get("/healthz").status_code == 503
            refused = agent.post("/v1/asks", json={"questions": QUESTIONS})
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
            assert not answer.done()
        until(lambda: agent.get("/healthz").status_code == 200)
        posted(agent)
        settle(house.person(hasty), ask_id)
        assert answer.result().json()["settlement"]["outcome"] == ANSWERED


def test_a_server_started_while_the_database_is_away_ends_and_says_why_without_the_password(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_BUSY_SECONDS", "0.2")
    with away(house.cluster):
        ran = askdesk("serve", "--port", "0", "--no-link", "--store", house.database.replace("@", ":CANARY@"))
    assert ran == Ran(1, "", f"askdesk: {house.database}: cannot be reached (Connection refused)\n")


def test_a_server_started_before_its_database_waits_while_that_recovers_and_then_serves(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASKDESK_BUSY_SECONDS", f"{SECONDS}")
    with Cluster() as cluster, ExitStack() as stack, ThreadPoolExecutor() as pool:
        house, gate = House(cluster, stack), cluster.folder / "gate"
        cluster.sql(f"ALTER SYSTEM SET restore_command = 'until test -e {gate}; do sleep 0.1; done; false'")
        cluster.kill()
        (cluster.folder / "data" / "recovery.signal").touch()  # so it recovers for as long as that command takes
        starting = pool.submit(house.serve, url=house.database)
        until(lambda: "cannot be reached (Connection refused); trying again" in capfd.readouterr().err)
        begun = len(cluster.log.read_text())
        cluster.start(wait=False)
        until(lambda: "the database system is starting up" in cluster.log.read_text()[begun:])
        assert not starting.done()
        gate.touch()
        posted(house.agent(starting.result()))


def test_behind_a_proxy_that_pools_servers_look_for_what_others_did_and_each_keeps_the_deadlines(
    house: House, capfd: pytest.CaptureFixture[str]
) -> None:
    with Bouncer(house.cluster, pool_mode="transaction") as bouncer:
        url = bouncer.url(house.database)
        first, second = house.serve(url=url), house.serve(url=url)
        ask_id = posted(house.agent(first))
        with waiting(house, first, ask_id) as answer:
            settle(house.person(second), ask_id)
            assert answer.result().json()["settlement"]["outcome"] == ANSWERED
        assert house.elected("deadlines") == []
        second.killed()
        assert house.keeps_a_deadline(first)
    said = "a pooling proxy stands before this database, so changes by others are looked for every 0.1 s"
    assert capfd.readouterr().err.count(f"askdesk: {url}: {said}") == 2


@pytest.mark.anyio
async def test_a_server_has_no_more_connections_than_it_may_however_many_come_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_POSTGRES_CONNECTIONS", "2")
    monkeypatch.setenv("ASKDESK_BUSY_SECONDS", f"{SECONDS}")
    server = house.serve()
    async with (
        httpx2.AsyncClient(timeout=SECONDS) as monitor,
        held(house.database, "LOCK TABLE askdesk.shelf IN ACCESS EXCLUSIVE MODE") as release,
    ):
        looking = asyncio.gather(*(monitor.get(f"{server.url}/healthz") for _ in range(32)))
        await asyncio.to_thread(until, lambda: len(house.seen.backends(WAITING)) >= 2)
        await beaten(house.seen, 3)
        assert len(house.seen.backends()) == 2 + 1  # the one that listens
        await release()
        assert [answer.status_code for answer in await looking] == [200] * 32
