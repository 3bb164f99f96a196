"""Each scripted person does at a desk what the script says."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, TypeAlias

import pytest
from anyio.lowlevel import checkpoint

from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidReply
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Entry,
    Expired,
    Outcome,
    Permission,
    Question,
    Reply,
    Settlement,
)
from askdesk.core.surface import Present
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON, FakeClock
from askdesk.testing.people import allowing, answering, at_desk, declining, late, never, partial, twice

pytestmark = pytest.mark.anyio

OurStore: TypeAlias = MemoryStore | SQLiteStore

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
EXTRAS = Question("Which extras?", ["Cache", "Search", "Mail"], multi_select=True)
PERMISSION = Permission("Bash", {"command": "ls"})
SQLITE = Answered([Answer(["SQLite"])])


class NotingDesk(Desk):
    """A desk that notes how each settle() ended."""

    def __init__(self, store: OurStore, clock: FakeClock) -> None:
        super().__init__(store, clock=clock)
        self.settled: list[Settlement] = []

    async def settle(self, *ask: Any, **fields: Any) -> Settlement:
        settlement = await super().settle(*ask, **fields)
        self.settled.append(settlement)
        return settlement


@pytest.fixture
def desk(store: OurStore, clock: FakeClock) -> NotingDesk:
    return NotingDesk(store, clock)


async def asked(desk: Desk, person: Present, *body: Question) -> Outcome:
    async with asyncio.timeout(5), at_desk(desk, person):
        return await desk.ask(body)


async def permitted(desk: Desk, person: Present) -> Outcome:
    async with asyncio.timeout(5), at_desk(desk, person):
        return await desk.ask(PERMISSION)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await checkpoint()


async def test_a_person_at_the_desk_has_a_name_and_a_surface(desk: NotingDesk) -> None:
    async with at_desk(desk, answering({"Which database?": "SQLite"}), by="ben", surface="pager"):
        await desk.ask(DATABASE)
    (settlement,) = desk.settled
    assert settlement == Settlement(SQLITE, NOON, settlement.submission, "ben", "pager")


async def test_a_person_stays_as_long_as_the_block_runs_and_leaves_nothing_behind(
    desk: NotingDesk, store: OurStore
) -> None:
    async with at_desk(desk, answering({"Which database?": "SQLite"})):
        assert [await desk.ask(DATABASE) for _ in range(3)] == [SQLITE] * 3
    ask = await desk.post(DATABASE)
    await turns()
    assert await desk.get(ask.id) == Entry(ask)
    assert not store._hints


async def test_a_person_leaves_also_when_the_block_fails(desk: NotingDesk, store: OurStore) -> None:
    with pytest.raises(LookupError, match="of the test's own"):
        async with at_desk(desk, never()):
            raise LookupError("of the test's own")
    assert not store._hints


async def test_a_person_whose_script_fails_ends_the_block_and_does_not_hang_it(desk: NotingDesk) -> None:
    async def present(ask: Ask) -> Reply | None:
        raise LookupError("the script has no such page")

    async def block() -> None:
        async with at_desk(desk, present):
            await desk.ask(DATABASE)

    running = asyncio.create_task(block())
    by_itself, _ = await asyncio.wait([running], timeout=2)
    running.cancel()
    with pytest.RaisesGroup(LookupError, allow_unwrapped=True):
        await running
    assert by_itself == {running}


async def test_answering_goes_by_the_text_of_the_question(desk: NotingDesk) -> None:
    person = answering({"Which database?": "a file", "Which extras?": "Mail, Cache"})
    assert await asked(desk, person, DATABASE, EXTRAS) == Answered(
        [Answer(other="a file"), Answer(["Cache", "Mail"], multi_select=True)]
    )


async def test_answering_may_go_by_a_function(desk: NotingDesk) -> None:
    person = answering(lambda text: "SQLite" if "database" in text else None)
    assert await asked(desk, person, DATABASE, EXTRAS) == Answered([Answer(["SQLite"]), None])


async def test_what_answering_has_no_rule_for_is_a_blank(desk: NotingDesk) -> None:
    assert await asked(desk, answering({"Which extras?": "Mail"}), DATABASE, EXTRAS) == Answered(
        [None, Answer(["Mail"], multi_select=True)]
    )


async def test_answering_with_nothing_is_no_reply(desk: NotingDesk) -> None:
    ask = await desk.post(DATABASE)
    with pytest.raises(InvalidReply, match="blank everywhere is not an answer"):
        await answering({})(ask)


async def test_a_partial_person_takes_the_first_option_and_leaves_the_rest_blank(desk: NotingDesk) -> None:
    assert await asked(desk, partial(), EXTRAS, DATABASE) == Answered([Answer(["Cache"], multi_select=True), None])


async def test_a_declining_person_says_why_and_may_stop_the_agent(desk: NotingDesk) -> None:
    assert await asked(desk, declining(), DATABASE) == Declined()
    assert await asked(desk, declining("later", stop=True), DATABASE) == Declined("later", stop=True)
    assert await permitted(desk, declining("not here", stop=True)) == Denied("not here", stop=True)


async def test_an_allowing_person_allows_what_was_shown(desk: NotingDesk) -> None:
    assert await permitted(desk, allowing()) == Allowed()
    (settlement,) = desk.settled
    assert settlement.digest == PERMISSION.digest


@pytest.mark.parametrize("person", [answering(lambda _: "yes"), partial()])
async def test_people_who_answer_questions_allow_nothing(desk: NotingDesk, person: Present) -> None:
    ask = await desk.post(PERMISSION)
    async with at_desk(desk, person):
        await turns()
    assert await desk.get(ask.id) == Entry(ask)


async def test_a_person_who_allows_answers_no_question(desk: NotingDesk) -> None:
    ask = await desk.post(DATABASE)
    async with at_desk(desk, allowing()):
        await turns()
    assert await desk.get(ask.id) == Entry(ask)


async def test_whoever_never_answers_lets_the_ask_expire(desk: NotingDesk, clock: FakeClock) -> None:
    async with asyncio.timeout(5), at_desk(desk, never()):
        ask = await desk.post(DATABASE, deadline=timedelta(hours=1))
        await turns()
        assert await desk.get(ask.id) == Entry(ask)
        clock.advance(3600)
        settlement = await desk.wait(ask.id)
    assert settlement is not None
    assert settlement.outcome == Expired()


async def test_a_late_person_answers_when_the_time_has_come(desk: NotingDesk, clock: FakeClock) -> None:
    async with asyncio.timeout(5), at_desk(desk, late(60, answering({"Which database?": "SQLite"}), clock=clock)):
        ask = await desk.post(DATABASE)
        while not clock._timers:
            await checkpoint()
        clock.advance(59)
        await turns()
        assert await desk.get(ask.id) == Entry(ask)
        clock.advance(1)
        settlement = await desk.wait(ask.id)
    assert settlement == Settlement(SQLITE, NOON + timedelta(seconds=60), desk.settled[0].submission, "ana", "script")


async def test_a_person_who_is_too_late_changes_nothing(desk: NotingDesk, clock: FakeClock) -> None:
    person = late(3600, answering({"Which database?": "SQLite"}), clock=clock)
    async with asyncio.timeout(5), at_desk(desk, person):
        ask = await desk.post(DATABASE, deadline=timedelta(seconds=60))
        while not clock._timers:
            await checkpoint()
        clock.advance(7200)
        settlement = await desk.wait(ask.id)
    assert settlement is not None
    assert (settlement.outcome, desk.settled) == (Expired(), [])


async def test_whoever_sends_one_submission_twice_succeeds_twice(desk: NotingDesk) -> None:
    person = twice(answering({"Which database?": "SQLite"}), desk)
    async with asyncio.timeout(3), at_desk(desk, person):
        ask = await desk.post(DATABASE)
        settlement = await desk.wait(ask.id)
        while len(desk.settled) < 2:
            await checkpoint()
    assert settlement == Settlement(SQLITE, NOON, "double click", "ana", "script")
    assert desk.settled == [settlement, settlement]
    assert await desk.get(ask.id) == Entry(ask, settlement)


async def test_whoever_allows_twice_allows_once(desk: NotingDesk) -> None:
    assert await permitted(desk, twice(allowing(), desk)) == Allowed()
    assert {settlement.digest for settlement in desk.settled} == {PERMISSION.digest}


async def test_whoever_says_nothing_twice_says_nothing(desk: NotingDesk) -> None:
    ask = await desk.post(DATABASE)
    async with at_desk(desk, twice(allowing(), desk)):
        await turns()
    assert (await desk.get(ask.id), desk.settled) == (Entry(ask), [])


async def test_a_partial_person_copes_with_a_question_without_options(desk: NotingDesk) -> None:
    ask = await desk.post([Question("What name?", kind="text"), DATABASE])
    reply = await partial()(ask)
    assert isinstance(reply, Answered)
    assert reply.answers.count(None) == 1
