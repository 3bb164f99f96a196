"""Asks out of sight for a while."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from askdesk.core.desk import Desk
from askdesk.surfaces.snooze import SPANS, end_of, keep, kept
from askdesk.testing.clock import NOON

pytestmark = pytest.mark.anyio

LATER = NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("span", "passed"), [("10m", timedelta(minutes=10)), ("1h", timedelta(hours=1)), ("4h", timedelta(hours=4))]
)
def test_a_span_ends_so_much_later(span: str, passed: timedelta) -> None:
    assert end_of(span, NOON) == NOON + passed


@pytest.mark.parametrize("hour", [0, 8, 9, 23])
def test_tomorrow_begins_at_nine_on_this_machine(hour: int) -> None:
    now = datetime(2026, 6, 15, hour, 30, 59, 999, tzinfo=UTC)
    end = end_of("tomorrow", now).astimezone()

    assert (end.date(), end.time().isoformat()) == (now.astimezone().date() + timedelta(days=1), "09:00:00")


@pytest.mark.parametrize("span", SPANS)
def test_every_span_ends_in_the_future_and_within_two_days(span: str) -> None:
    assert NOON < end_of(span, NOON) < NOON + timedelta(days=2)


async def test_a_snooze_is_kept_for_each_ask_and_person(desk: Desk) -> None:
    await keep(desk.shelf, "one", "ana", LATER)
    await keep(desk.shelf, "two", "ana", NOON)
    await keep(desk.shelf, "one", "bob/ana", NOON)

    assert await kept(desk.shelf, "ana") == {"one": LATER, "two": NOON}
    assert await kept(desk.shelf, "bob/ana") == {"one": NOON}
    assert await kept(desk.shelf, "bob") == {}


async def test_a_snooze_can_be_changed_and_ended(desk: Desk) -> None:
    await keep(desk.shelf, "one", "ana", NOON)
    await keep(desk.shelf, "one", "ana", LATER)
    assert await kept(desk.shelf, "ana") == {"one": LATER}

    await keep(desk.shelf, "one", "ana", None)
    await keep(desk.shelf, "one", "ana", None)
    assert await kept(desk.shelf, "ana") == {}


@pytest.mark.parametrize("value", ["{}", '{"v":2,"before":"noon"}', '{"v":1,"until":"soon"}', "[]"])
async def test_what_cannot_be_read_is_no_snooze_so_the_ask_is_seen(desk: Desk, value: str) -> None:
    await desk.shelf.put("snooze/one/ana", value)
    await keep(desk.shelf, "two", "ana", LATER)

    assert await kept(desk.shelf, "ana") == {"two": LATER}


def test_tomorrow_is_at_nine_also_when_clocks_are_changed_in_the_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Madrid")
    time.tzset()
    try:
        end = end_of("tomorrow", datetime(2026, 3, 28, 20, tzinfo=UTC))
    finally:
        monkeypatch.undo()
        time.tzset()

    assert end == datetime(2026, 3, 29, 7, tzinfo=UTC)
