"""Where the page is: the notes of servers, on this machine and on others."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from askdesk.core.desk import Desk
from askdesk.surfaces import serving
from askdesk.surfaces.serving import Serving
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio

HERE, THERE = "https://here.example", "https://there.example"
MINUTE = timedelta(minutes=1)
ELSEWHERE = Serving(url=THERE, host="another machine", process=1, since=NOON - MINUTE, seen=NOON)


async def left(desk: Desk, note: Serving) -> None:
    await desk.shelf.put(f"serving/{note.host}/{note.process}", msgspec.json.encode(note).decode())


async def notes(desk: Desk) -> list[Serving]:
    return [msgspec.json.decode(document.value, type=Serving) for document in await desk.shelf.list("serving/")]


async def page(desk: Desk) -> str | None:
    return await serving.url(desk.shelf, desk.now())


async def test_while_a_server_runs_its_page_is_known(desk: Desk) -> None:
    assert await page(desk) is None
    async with serving.serving(desk, HERE):
        assert await page(desk) == HERE
    assert await page(desk) is None


async def test_of_several_servers_the_one_that_began_last_is_named(desk: Desk) -> None:
    await left(desk, ELSEWHERE)
    async with serving.serving(desk, HERE):
        assert await page(desk) == HERE
    assert await page(desk) == THERE


async def test_a_server_that_shows_no_sign_of_life_is_gone_and_its_note_goes_with_the_next_that_begins(
    desk: Desk, clock: FakeClock
) -> None:
    await left(desk, ELSEWHERE)
    clock.advance(181)
    assert await page(desk) is None
    async with serving.serving(desk, HERE):
        assert [note.url for note in await notes(desk)] == [HERE]


async def test_a_server_shows_signs_of_life(desk: Desk, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SIGN_OF_LIFE", timedelta(milliseconds=1))
    async with serving.serving(desk, HERE), asyncio.timeout(10):
        clock.advance(100)
        while (await notes(desk))[0].seen != NOON + timedelta(seconds=100):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.001)


async def test_a_server_that_ends_waits_no_longer_than_a_moment_for_a_store_that_is_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def put(name: str, value: str | None) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(serving, "_LEAVING_SECONDS", 0.01)
    async with asyncio.timeout(10):
        async with serving.serving(desk, HERE):
            monkeypatch.setattr(desk.shelf, "put", put)


async def test_a_server_of_this_machine_whose_process_has_ended_is_gone_at_once(desk: Desk) -> None:
    await serving.begin(desk.shelf, HERE, desk.now())
    (note,) = await notes(desk)
    await desk.shelf.put(f"serving/{note.host}/{note.process}", None)
    await left(desk, replace(note, process=2**22 + 1))  # more than a kernel gives out
    assert await page(desk) is None


async def test_a_note_of_an_older_version_counts_until_its_own_machine_knows_better(
    desk: Desk, clock: FakeClock
) -> None:
    await left(desk, replace(ELSEWHERE, seen=None))
    clock.advance(3600)
    assert await page(desk) == THERE


async def test_what_only_a_newer_version_can_read_is_left_alone(desk: Desk) -> None:
    await desk.shelf.put("serving/x/1", '{"v":2}')
    async with serving.serving(desk, HERE):
        assert await page(desk) == HERE
    assert await desk.shelf.get("serving/x/1") is not None
