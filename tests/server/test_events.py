"""Live hints: how a stream begins, what it carries and for whom, and how it ends."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from tests.server.launch import Launched, launched
from tests.server.running import ANSWERED, QUESTIONS, Client, Running, running, written

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import StoreBusy
from askdesk.core.model import Asker, Entry, Question
from askdesk.server import tokens
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


QUESTION = Question("Which?", ["a", "b"])


def hint(ask_id: str) -> bytes:
    return b'data: {"ask":"%s"}\n\n' % ask_id.encode()


async def test_a_stream_begins_with_reread(server: Running) -> None:
    async with server.client() as client:
        await client.send(server.written("GET", "/v1/events", token=await server.token()))
        head = (await client.reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 200 ok\r\n")
        assert "\r\ncontent-type: text/event-stream\r\n" in head
        assert "\r\ncache-control: no-store\r\n" in head
        assert "\r\nx-accel-buffering: no\r\n" in head
        assert await client.chunk() == b"event: reread\ndata: {}\n\n"


async def test_every_change_is_told_to_everybody(server: Running, clock: FakeClock) -> None:
    asker, answerer = await server.token("asker"), await server.token("answerer")
    async with server.stream(asker) as agent, server.stream(answerer) as person:
        answered = await server.post(asker)
        withdrawn = await server.post(asker)
        expiring = await server.post(asker, deadline="2026-01-01T12:00:01Z")
        for ask_id in (answered, withdrawn, expiring):
            assert [await agent.chunk(), await person.chunk()] == [hint(ask_id)] * 2
        body = {"reply": ANSWERED, "submission": "s"}
        await server.request("POST", f"/v1/asks/{answered}/settlement", token=answerer, body=body)
        await server.request("POST", f"/v1/asks/{withdrawn}/withdrawal", token=asker, body={})
        clock.advance(2)
        await server.request("POST", "/v1/expiry", token=asker)
        for ask_id in (answered, withdrawn, expiring):
            assert [await agent.chunk(), await person.chunk()] == [hint(ask_id)] * 2


async def test_a_change_by_another_process_is_told_within_a_moment(tmp_path: Path) -> None:
    async with launched(tmp_path / "desk.db") as launch:
        store = await SQLiteStore.open(tmp_path / "desk.db")
        async with asyncio.timeout(10):
            client = await stream(launch)
            started = time.monotonic()
            ask = await Desk(store).post(QUESTION)
            assert await client.chunk() == hint(ask.id)
            assert time.monotonic() - started < 1
        client.close()
        await store.close()


async def stream(launch: Launched) -> Client:
    """A stream of a server in another process, once it has begun."""
    client = await Client.to(launch.port)
    await client.send(written(launch.port, "GET", "/v1/events", token=launch.asker))
    await client.reader.readuntil(b"\r\n\r\n")
    assert await client.chunk() == b"event: reread\ndata: {}\n\n"
    return client


async def test_a_stream_shows_a_sign_of_life(clock: FakeClock) -> None:
    async with (
        running(Desk(MemoryStore(), clock=clock), check_seconds=0.01, beat_seconds=0.02) as server,
        server.stream(await server.token()) as client,
    ):
        assert [await client.chunk() for _ in range(3)] == [b": still here\n\n"] * 3


@pytest.mark.parametrize("how", ["revoked", "expired", "removed"])
async def test_a_token_that_no_longer_holds_ends_its_streams_and_no_others(clock: FakeClock, how: str) -> None:
    async with running(Desk(MemoryStore(), clock=clock), check_seconds=0.01) as server:
        shelf, now = server.desk.shelf, server.desk.now()
        token, text = await tokens.new_token(shelf, "asker", "x", now=now, expires=now + timedelta(seconds=5))
        other = await server.token()
        async with server.stream(text) as first, server.stream(text) as second, server.stream(other) as third:
            match how:
                case "revoked":
                    await tokens.revoke(shelf, token.id, now)
                case "expired":
                    clock.advance(5)
                case _:
                    await shelf.put(f"token/{token.id}", None)
            assert [await first.chunk(), await second.chunk()] == [b"", b""]
            ask_id = await server.post(other)
            assert await third.chunk() == hint(ask_id)


async def test_a_revoked_token_ends_its_streams_within_five_seconds(server: Running) -> None:
    token, text = await tokens.new_token(server.desk.shelf, "asker", "x", now=server.desk.now())
    async with server.stream(text) as client, asyncio.timeout(5):
        await tokens.revoke(server.desk.shelf, token.id, server.desk.now())
        assert await client.chunk() == b""


async def test_a_store_that_fails_for_a_moment_ends_no_stream(clock: FakeClock) -> None:
    class Failing(MemoryStore):
        fails = False

        async def get(self, ask_id: str) -> Entry:
            if self.fails:
                raise StoreBusy("locked")
            return await super().get(ask_id)

    store = Failing()
    desk = Desk(store, clock=clock)
    async with running(desk) as server, server.stream(await server.token(projects=["ours"])) as client:
        store.fails = True
        await desk.post(QUESTION, asker=Asker(project="theirs"))  # nobody can say whose it is
        assert await client.chunk() == b"event: reread\ndata: {}\n\n"
        store.fails = False
        ask = await desk.post(QUESTION, asker=Asker(project="ours"))
        assert await client.chunk() == hint(ask.id)


async def test_an_id_that_could_break_a_line_is_not_told(server: Running) -> None:
    desk = Desk(server.desk.store, new_id=lambda: "x\n\ndata: forged")
    async with server.stream(await server.token()) as client:
        await desk.post(QUESTION)
        ask_id = await server.post(await server.token())
        assert await client.chunk() == hint(ask_id)


async def test_hints_that_come_together_are_told_together_and_each_once(server: Running) -> None:
    async with server.stream(await server.token()) as client:
        asks = [await server.desk.post(QUESTION) for _ in range(3)]
        for ask in asks:
            await server.desk.withdraw(ask.id)
        assert await client.chunk() == b"".join(hint(ask.id) for ask in asks)


async def test_a_client_with_too_much_unheard_is_told_to_read_everything_again(server: Running) -> None:
    store = server.desk.store
    assert isinstance(store, MemoryStore)
    async with server.stream(await server.token()) as client:
        for _ in range(499):
            store._hints.tell(new_id())
        last = new_id()
        for ask_id in (new_id(), new_id(), last):
            store._hints.tell(ask_id)
        told = await client.chunk()
    assert told.startswith(b"event: reread\ndata: {}\n\n")
    assert told.endswith(hint(last))
    assert told.count(b"data: ") <= 500


async def test_clients_that_never_read_cost_little_and_hurt_nobody(server: Running) -> None:
    store = server.desk.store
    assert isinstance(store, MemoryStore)
    request = server.written("GET", "/v1/events", token=await server.token())
    async with AsyncExitStack() as stack:
        for _ in range(100):
            deaf = stack.enter_context(socket.socket())
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", server.port))
            deaf.sendall(request)
        healthy = await stack.enter_async_context(server.stream(await server.token()))
        await server.until(lambda: server.service.metrics.streams == 101)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told = 0
        for _ in range(40):
            for ask_id in (ids := [new_id() for _ in range(400)]):
                store._hints.tell(ask_id)
            received = b""
            while hint(ids[-1]) not in received:
                received = await healthy.chunk()
            told += len(received)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stuck = [connection for connection in server.connections if connection.flow.write_paused]
        assert (len(stuck), told) == (100, 40 * 400 * len(hint(new_id())))
        assert after - before < 40_000  # kB: what waits to be read, and nothing that grows with what is not
        assert len(server.service.streams._unheard) <= 500
        server.server.look(server.later(61))
        await server.until(lambda: server.service.metrics.streams == 1)
        ask_id = await server.post(await server.token())
        assert await healthy.chunk() == hint(ask_id)


async def test_a_client_that_reads_again_is_told_to_read_everything_again(clock: FakeClock) -> None:
    store = MemoryStore()
    async with running(Desk(store, clock=clock), check_seconds=0.01) as server:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", server.port))
            slow.sendall(server.written("GET", "/v1/events", token=await server.token()))
            await server.until(lambda: server.service.metrics.streams == 1)
            (live,) = server.service.streams._live
            while not live._missed:
                for _ in range(400):
                    store._hints.tell(new_id())
                await server.turn()
            slow.setblocking(False)
            received = b""
            async with asyncio.timeout(10):
                while b"reread" not in received[1000:]:
                    received += await asyncio.get_running_loop().sock_recv(slow, 65536)
    assert received.count(b"event: reread\n") == 2  # at its beginning, and now


async def test_nothing_is_left_of_clients_that_have_gone(server: Running) -> None:
    token = await server.token()
    ask_id = await server.post(token)
    before = len(asyncio.all_tasks())
    async with AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(server.stream(token))
            waiting = await stack.enter_async_context(server.client())
            await waiting.send(server.written("GET", f"/v1/asks/{ask_id}?wait=60", token=token))
        await server.until(lambda: server.service.metrics.waits == 50)
    metrics, streams = server.service.metrics, server.service.streams
    await server.until(lambda: (metrics.streams, metrics.waits, len(server.connections)) == (0, 0, 0))
    await server.until(lambda: len(asyncio.all_tasks()) <= before + 1)  # one looks whether there are streams
    assert (len(streams._live), len(streams._waits), len(streams._by_token)) == (0, 0, 0)
    store = server.desk.store
    assert isinstance(store, MemoryStore)
    assert not store._hints


async def test_streams_end_in_order_when_the_server_stops(clock: FakeClock) -> None:
    async with AsyncExitStack() as stack:
        async with running(Desk(MemoryStore(), clock=clock)) as server:
            token = await server.token()
            clients = [await stack.enter_async_context(server.stream(token)) for _ in range(20)]
        assert [await client.chunk() for client in clients] == [b""] * 20
        assert [await client.is_closed() for client in clients] == [True] * 20


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the server has a loop of its own
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_signal_ends_the_server_within_two_seconds_whoever_waits(tmp_path: Path, loop: str) -> None:
    """200 who wait; one that never reads, one that never sends the rest of its body, one that says nothing."""
    async with launched(tmp_path / "desk.db", loop) as launch, AsyncExitStack() as stack:
        ask_id = await _posted(launch)
        clients = [await stream(launch) for _ in range(100)]
        waits = [await Client.to(launch.port) for _ in range(100)]
        for client in waits:
            await client.send(written(launch.port, "GET", f"/v1/asks/{ask_id}?wait=60", token=launch.asker))
        for sent in (
            written(launch.port, "GET", "/v1/events", token=launch.asker),
            written(launch.port, "POST", "/v1/asks", token=launch.asker, body=b"{", headers={"Content-Length": "9"}),
            b"",
        ):
            odd = stack.enter_context(socket.create_connection(("127.0.0.1", launch.port)))
            odd.sendall(sent)
        await _wait_for(launch, streams=101, waits=100)
        started = time.monotonic()
        launch.process.terminate()
        code, stderr = await launch.ended()
        assert time.monotonic() - started < 2
        assert (code, "Traceback" in stderr) == (0, False), stderr
        assert [await client.chunk() for client in clients] == [b""] * 100
        assert {(await client.answer()).status for client in waits} == {200}
        for client in (*clients, *waits):
            client.close()


async def _posted(launch: Launched) -> str:
    client = await Client.to(launch.port)
    await client.send(written(launch.port, "POST", "/v1/asks", token=launch.asker, body={"questions": QUESTIONS}))
    answer = await client.answer()
    client.close()
    return str(answer.json["ask"]["id"])


async def _wait_for(launch: Launched, *, streams: int, waits: int) -> None:
    client = await Client.to(launch.port)
    expected = {f"askdesk_streams {streams}", f"askdesk_waits {waits}"}
    async with asyncio.timeout(10):
        while True:
            await client.send(written(launch.port, "GET", "/metrics", token=launch.answerer))
            if expected <= set((await client.answer()).body.decode().splitlines()):
                break
    client.close()
