"""Who was told: claims, turns and what is forgotten."""

import json
from datetime import datetime, timedelta
from itertools import count

import pytest

from askdesk.core.desk import Desk
from askdesk.core.errors import VersionConflict
from askdesk.core.model import Question
from askdesk.stores.memory import MemoryStore
from askdesk.surfaces.told import Standing, forget, since, standing, take_turn, write
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
EVER = datetime.min.replace(tzinfo=NOON.tzinfo)


async def test_an_ask_that_nobody_claimed_is_free(desk: Desk) -> None:
    assert await standing(desk.shelf, "one") == Standing(0, EVER)


async def test_a_claim_is_free_again_when_nobody_has_renewed_it_for_a_minute(desk: Desk) -> None:
    version = await write(desk.shelf, "one", "sending", NOON, expect=0)
    assert await standing(desk.shelf, "one") == Standing(version, NOON + MINUTE)

    renewed = await write(desk.shelf, "one", "sending", NOON + SECOND, expect=version)
    assert await standing(desk.shelf, "one") == Standing(renewed, NOON + SECOND + MINUTE)


async def test_what_was_told_or_failed_is_never_free(desk: Desk) -> None:
    version = await write(desk.shelf, "one", "told", NOON, expect=0)
    other = await write(desk.shelf, "two", "failed", NOON, expect=0)

    assert await standing(desk.shelf, "one") == Standing(version, None)
    assert await standing(desk.shelf, "two") == Standing(other, None)


async def test_of_two_claims_the_first_stands(desk: Desk) -> None:
    version = await write(desk.shelf, "one", "sending", NOON, expect=0)
    with pytest.raises(VersionConflict):
        await write(desk.shelf, "one", "sending", NOON, expect=0)

    document = await desk.shelf.get("told/one")
    assert document
    assert (document.version, json.loads(document.value)) == (
        version,
        {"v": 1, "at": "2026-01-01T12:00:00Z", "state": "sending"},
    )


async def test_the_first_start_is_remembered(desk: Desk) -> None:
    assert await since(desk.shelf, NOON) == NOON
    assert await since(desk.shelf, NOON + DAY) == NOON


async def test_turns_are_ten_seconds_apart(desk: Desk) -> None:
    assert await take_turn(desk.shelf, NOON) is None
    assert await take_turn(desk.shelf, NOON) == NOON + 10 * SECOND
    assert await take_turn(desk.shelf, NOON + 9 * SECOND) == NOON + 10 * SECOND
    assert await take_turn(desk.shelf, NOON + 10 * SECOND) is None


async def test_a_clock_that_was_ahead_holds_nobody_up(desk: Desk) -> None:
    await take_turn(desk.shelf, NOON + DAY)

    assert await take_turn(desk.shelf, NOON) is None


@pytest.mark.parametrize("value", ['{"v":2,"moment":5}', '{"v":1,"at":"2026-01-01T12:00:00"}', "[]"])
async def test_moments_that_cannot_be_read_are_none(desk: Desk, value: str) -> None:
    await desk.shelf.put("notify/since", value)
    await desk.shelf.put("notify/turn", value)

    assert (await since(desk.shelf, NOON), await take_turn(desk.shelf, NOON)) == (NOON, None)


async def test_forgetting_goes_on_where_it_ended_so_open_asks_do_not_hide_what_is_old() -> None:
    numbers = count()
    desk = Desk(MemoryStore(), clock=FakeClock(), new_id=lambda: f"{next(numbers):032x}")
    for number in range(600):
        await desk.post(Question(f"Question {number}?", kind="text"))
        await write(desk.shelf, f"{number:032x}", "told", NOON - 2 * DAY, expect=0)
    await write(desk.shelf, "unknown", "told", NOON - 2 * DAY, expect=0)

    place = await forget(desk, NOON)
    assert (place, len(await desk.shelf.list("told/"))) == (f"told/{499:032x}", 601)
    assert (await forget(desk, NOON, place), len(await desk.shelf.list("told/"))) == ("", 600)
    assert await desk.shelf.get("told/unknown") is None
