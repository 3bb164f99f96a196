"""What all commands share."""

from argparse import ArgumentTypeError
from datetime import timedelta

import pytest

from askdesk.cli.command import duration, found
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, UnknownAsk
from askdesk.core.model import Question, Withdrawn
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90", timedelta(seconds=90)),
        ("90s", timedelta(seconds=90)),
        ("0.5s", timedelta(seconds=0.5)),
        ("10m", timedelta(minutes=10)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("9999999d", timedelta(days=36_500)),
    ],
)
async def test_a_time_span_is_read_as_people_type_it(text: str, span: timedelta) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "0", "0s", "-5s", "s", "soon", "5 minutes", "1w", "nan", "inf", "1e400d"])
async def test_what_is_no_time_span_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="needs a time span like 90s, 10m, 2h or 3d"):
        duration(text)


async def test_an_ask_is_found_by_its_beginning_while_that_names_one() -> None:
    ids = iter(["abcd1111", "abcd2222", "abce3333", "ab"])
    desk = Desk(MemoryStore(), new_id=lambda: next(ids))
    question = Question("Which database?", ["SQLite", "Postgres"])
    asks = [await desk.post(question) for _ in range(4)]
    settlement = await desk.withdraw("abce3333")

    assert (await found(desk, "abcd1111")).ask == asks[0]
    assert (await found(desk, "abcd2")).ask == asks[1]
    assert (await found(desk, "abce")).settlement == settlement
    assert settlement.outcome == Withdrawn()
    assert (await found(desk, "ab")).ask == asks[3]
    with pytest.raises(InvalidAsk, match="several asks begin with abcd: abcd2222, abcd1111"):
        await found(desk, "abcd")
    for short in ("abc", ""):
        with pytest.raises(InvalidAsk, match=f"^{short}: needs at least 4 characters of an id$"):
            await found(desk, short)
    for unknown in ("abcf", "abcd11112", "ABCD1111"):
        with pytest.raises(UnknownAsk):
            await found(desk, unknown)
