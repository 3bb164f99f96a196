"""The desk's rules, on both stores of this machine and on a clock that a test turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest
from anyio.lowlevel import checkpoint

from askdesk.core.desk import Body, Desk, new_id
from askdesk.core.errors import AlreadySettled, AskdeskError, InvalidAsk, InvalidReply, KeyReused, Problem, UnknownAsk
from askdesk.core.limits import CLAUDE, SPRING
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Permission,
    Question,
    Questions,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.store import EXPIRY, WITHDRAWAL, Page, State
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON, FakeClock

pytestmark = pytest.mark.anyio

T = TypeVar("T")
OurStore: TypeAlias = MemoryStore | SQLiteStore

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
EXTRAS = Question("Which extras?", ["Cache", "Search", "Mail"], multi_select=True)
PERMISSION = Permission("Bash", {"command": "ls"}, suggestions=[{"rule": "Bash(ls)"}])
SQLITE = Answered([Answer(["SQLite"])])
POSTGRES = Answered([Answer(["Postgres"])])
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


async def begun(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that has run until it waits for something."""
    task = asyncio.create_task(work)
    for _ in range(5):
        await checkpoint()
    return task


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def listed(desk: Desk, state: State) -> list[str]:
    return [entry.ask.id async for entry in desk.each(state)]


async def opened(desk: Desk, count: int) -> list[Ask]:
    """The open asks, once there are so many."""
    async with asyncio.timeout(10), desk.watch() as hints:
        while len(asks := [entry.ask async for entry in desk.each("open")]) < count:
            await anext(hints)
    return asks


def by_ana(reply: Reply, submission: str, at: datetime = NOON) -> Settlement:
    return Settlement(reply, at, submission, "ana", "page")


async def test_what_was_posted_is_on_the_desk_as_it_was_given(desk: Desk) -> None:
    asker = Asker("builder", "s1", "web", "main", "box", 7)
    ask = await desk.post(
        [DATABASE, EXTRAS], asker=asker, key="k", deadline=HOUR, preview_format="html", follows="earlier"
    )
    assert ask == Ask(ask.id, Questions([DATABASE, EXTRAS]), asker, NOON, "k", NOON + HOUR, "html", "earlier")
    assert await desk.get(ask.id) == Entry(ask)
    assert await desk.page("open") == Page((Entry(ask),))


@pytest.mark.parametrize("body", [DATABASE, [DATABASE], (DATABASE,), iter([DATABASE]), Questions([DATABASE])])
async def test_one_question_or_any_sequence_of_them_is_a_body(body: Body) -> None:
    assert (await Desk(MemoryStore()).post(body)).body == Questions([DATABASE])


async def test_ids_are_128_random_bits_and_never_the_same() -> None:
    ids = {new_id() for _ in range(1000)}
    assert (len(ids), {len(found) for found in ids}) == (1000, {32})
    assert all(int(found, 16) >= 0 for found in ids)


async def test_the_ids_are_those_that_were_brought_along(store: OurStore, clock: FakeClock) -> None:
    desk = Desk(store, clock=clock, new_id=iter(["first", "second"]).__next__)
    assert [(await desk.post(DATABASE)).id, (await desk.post(DATABASE)).id] == ["first", "second"]


async def test_an_ask_that_nobody_posted_is_unknown_at_every_door(desk: Desk, store: OurStore) -> None:
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: desk.get("nothing"),
        lambda: desk.wait("nothing"),
        lambda: desk.wait("nothing", timeout=1),
        lambda: desk.withdraw("nothing"),
        lambda: desk.settle("nothing", SQLITE, by="ana", surface="page"),
    ]
    for attempt in attempts:
        with pytest.raises(UnknownAsk, match='there is no ask "nothing"'):
            await attempt()
    assert not store._hints


async def test_a_listing_shows_open_and_settled_asks_page_after_page(desk: Desk) -> None:
    asks = [await desk.post(DATABASE) for _ in range(5)]
    settlements = [await desk.settle(ask.id, SQLITE, by="ana", surface="page") for ask in asks[:2]]
    first = await desk.page("open", limit=2)
    assert first == Page((Entry(asks[2]), Entry(asks[3])), first.after)
    assert await desk.page("open", after=first.after, limit=2) == Page((Entry(asks[4]),))
    assert await desk.page("settled", newest=True) == Page(
        (Entry(asks[1], settlements[1]), Entry(asks[0], settlements[0]))
    )


async def test_each_goes_through_all_pages_in_order(desk: Desk) -> None:
    ids = [(await desk.post(DATABASE)).id for _ in range(120)]
    assert await listed(desk, "open") == ids
    assert [entry.ask.id async for entry in desk.each("open", newest=True)] == ids[::-1]
    assert await listed(desk, "settled") == []


async def test_a_body_beyond_the_limits_is_refused_with_every_problem(store: OurStore) -> None:
    desk = Desk(store, limits=SPRING)
    lonely = Question("Which one?", ["this"], header="much too long a header")
    number = Question("How many?", kind="number")
    with pytest.raises(InvalidAsk) as caught:
        await desk.post([lonely, number, *(Question(f"Question {n}?", ["a", "b"], header="h") for n in range(9))])
    assert caught.value.problems == (
        Problem("questions", "needs 1-10, has 11"),
        Problem("questions[0].options", "needs 2-4, has 1"),
        Problem("questions[0].header", "needs 1-12 characters, has 22"),
        Problem("questions[1].kind", "must be choice, is number"),
        Problem("questions[1].header", "needs 1-12 characters, has 0"),
    )
    assert await listed(desk, "open") == []


async def test_what_the_limits_allow_at_most_is_taken(store: OurStore) -> None:
    questions = [Question(f"Question {n}?", ["a", "b", "c", "d"]) for n in range(4)]
    assert (await Desk(store, limits=CLAUDE).post(questions)).questions == tuple(questions)


async def test_no_questions_are_no_ask(desk: Desk) -> None:
    with pytest.raises(InvalidAsk, match="questions: needs at least 1, has 0"):
        await desk.post([])


@pytest.mark.parametrize("key", ["", " ", "\u200b", "a\0b", "\ud800"])
async def test_a_key_that_nobody_could_write_down_is_refused(desk: Desk, key: str) -> None:
    with pytest.raises(InvalidAsk, match=r"^key: "):
        await desk.post(DATABASE, key=key)
    assert await listed(desk, "open") == []


async def test_the_same_key_and_body_is_the_same_ask(desk: Desk, clock: FakeClock) -> None:
    first = await desk.post([DATABASE, EXTRAS], key="k", deadline=HOUR)
    clock.advance(60)
    assert await desk.post([DATABASE, EXTRAS], key="k") == first
    assert await listed(desk, "open") == [first.id]


async def test_the_same_permission_under_its_key_is_the_same_ask(desk: Desk) -> None:
    first = await desk.post(PERMISSION, key="toolu_1")
    assert await desk.post(PERMISSION, key="toolu_1") == first


async def test_a_key_that_names_another_ask_is_an_error(desk: Desk) -> None:
    first = await desk.post(DATABASE, key="k")
    with pytest.raises(KeyReused) as caught:
        await desk.post(EXTRAS, key="k")
    assert (caught.value.key, caught.value.ask_id) == ("k", first.id)
    with pytest.raises(KeyReused):
        await desk.ask(PERMISSION, key="k")
    assert await listed(desk, "open") == [first.id]


async def test_a_key_keeps_its_ask_after_settling(desk: Desk) -> None:
    first = await desk.post(DATABASE, key="k")
    await desk.settle(first.id, SQLITE, by="ana", surface="page")
    assert await desk.ask(DATABASE, key="k") == SQLITE
    with pytest.raises(KeyReused):
        await desk.post(EXTRAS, key="k")
    assert await listed(desk, "open") == []


async def test_the_same_key_in_another_project_is_another_ask(desk: Desk) -> None:
    here = await desk.post(DATABASE, key="k", asker=Asker(project="here"))
    there = await desk.post(EXTRAS, key="k", asker=Asker(project="there"))
    assert await listed(desk, "open") == [here.id, there.id]


async def test_fifty_who_ask_at_once_under_one_key_get_one_ask_and_one_answer(desk: Desk) -> None:
    asking = [asyncio.create_task(desk.ask(DATABASE, key="k")) for _ in range(50)]
    (ask,) = await opened(desk, 1)
    await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await asyncio.gather(*asking) == [SQLITE] * 50
    assert await listed(desk, "settled") == [ask.id]


async def test_an_answer_settles_the_ask_and_says_who_where_and_when(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE)
    clock.advance(60)
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one")
    assert settlement == by_ana(SQLITE, "one", NOON + timedelta(minutes=1))
    assert await desk.get(ask.id) == Entry(ask, settlement)
    assert await desk.wait(ask.id) == settlement


async def test_an_ask_that_was_just_read_is_not_read_again_to_be_settled() -> None:
    class ReadOnce(MemoryStore):
        reads = 0

        async def get(self, ask_id: str) -> Entry:
            self.reads += 1
            return await super().get(ask_id)

    store = ReadOnce()
    desk = Desk(store)
    entry = await desk.get((await desk.post(DATABASE)).id)
    with pytest.raises(InvalidReply):
        await desk.settle(entry.ask.id, Allowed(), by="ana", surface="plain", entry=entry)
    settlement = await desk.settle(entry.ask.id, SQLITE, by="ana", surface="plain", entry=entry)
    assert store.reads == 1
    with pytest.raises(AlreadySettled) as second:  # the store decides, whatever was read
        await desk.settle(entry.ask.id, POSTGRES, by="ben", surface="plain", entry=entry)
    assert second.value.settlement == settlement


async def test_of_two_answers_the_first_wins_and_the_second_learns_it(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    first = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    with pytest.raises(AlreadySettled) as caught:
        await desk.settle(ask.id, POSTGRES, by="ben", surface="terminal")
    assert (caught.value.ask_id, caught.value.settlement) == (ask.id, first)
    assert str(caught.value) == f"ask {ask.id} is already settled: answered by ana on page"
    assert await desk.get(ask.id) == Entry(ask, first)


async def test_the_same_submission_twice_succeeds_twice(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    first = await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one")
    clock.advance(7200)
    assert await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one") == first
    with pytest.raises(AlreadySettled):
        await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="two")
    assert await listed(desk, "settled") == [ask.id]


async def test_two_replies_without_a_submission_are_two_submissions(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    with pytest.raises(AlreadySettled):
        await desk.settle(ask.id, SQLITE, by="ana", surface="page")


@pytest.mark.parametrize("submission", [EXPIRY, WITHDRAWAL])
async def test_a_submission_that_is_no_persons_is_refused(desk: Desk, submission: str) -> None:
    ask = await desk.post(DATABASE)
    with pytest.raises(InvalidReply, match=f"submission: {submission} is not a person's"):
        await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission=submission)
    await desk.withdraw(ask.id)
    with pytest.raises(InvalidReply):
        await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission=submission)


async def test_an_answer_is_kept_in_its_canonical_form(desk: Desk) -> None:
    ask = await desk.post([DATABASE, EXTRAS])
    typed = Answered([Answer(other="SQLite"), Answer(["Mail", "Cache"], "a queue", "soon")])
    settlement = await desk.settle(ask.id, typed, by="ana", surface="page", submission="one")
    kept = Answered([Answer(["SQLite"]), Answer(["Cache", "Mail"], "a queue", "soon", multi_select=True)])
    assert settlement == by_ana(kept, "one")
    assert await desk.get(ask.id) == Entry(ask, settlement)


UNFIT: list[tuple[Body, Reply, str | None, str]] = [
    (DATABASE, Allowed(), None, "this ask has questions: answer or decline it"),
    (DATABASE, Denied("no"), None, "this ask has questions: answer or decline it"),
    (PERMISSION, SQLITE, PERMISSION.digest, "this ask is a permission: allow or deny it"),
    (PERMISSION, Declined(), PERMISSION.digest, "this ask is a permission: allow or deny it"),
    (
        DATABASE,
        Answered([Answer(["Oracle"])]),
        None,
        '"Which database?": offers no option "Oracle"; own words belong in Other',
    ),
    (DATABASE, Answered([Answer(["SQLite", "Postgres"])]), None, '"Which database?": takes one answer, got 2'),
    (DATABASE, Answered([Answer(["SQLite"], "or not")]), None, '"Which database?": takes one answer, got 2'),
    (
        [DATABASE, EXTRAS],
        SQLITE,
        None,
        "needs an answer or a blank for each question: 2, got 1",
    ),
    (
        DATABASE,
        Answered([Answer(["SQLite"]), None]),
        None,
        "needs an answer or a blank for each question: 1, got 2",
    ),
    (
        DATABASE,
        Declined("no", (Answer(["Oracle"]),)),
        None,
        '"Which database?": offers no option "Oracle"; own words belong in Other',
    ),
    (
        Question("How many?", kind="number", maximum=3),
        Answered([Answer(other="4")]),
        None,
        '"How many?": takes a number up to 3, got 4',
    ),
    (
        PERMISSION,
        Allowed(),
        None,
        f"digest: the input shown was not the one asked for, which has {PERMISSION.digest}",
    ),
    (
        PERMISSION,
        Allowed(),
        Permission("Bash", {"command": "rm -r /"}).digest,
        f"digest: the input shown was not the one asked for, which has {PERMISSION.digest}",
    ),
    (
        PERMISSION,
        Denied(),
        "sha256:0",
        f"digest: the input shown was not the one asked for, which has {PERMISSION.digest}",
    ),
    (
        PERMISSION,
        Allowed(remember=('{"rule":"Bash(*)"}',)),
        PERMISSION.digest,
        'remember: not among the suggestions: "{\\"rule\\":\\"Bash(*)\\"}"',
    ),
]


@pytest.mark.parametrize(("body", "reply", "digest", "message"), UNFIT)
async def test_a_reply_that_does_not_fit_is_refused_and_the_ask_stays_open(
    desk: Desk, body: Body, reply: Reply, digest: str | None, message: str
) -> None:
    ask = await desk.post(body)
    with pytest.raises(InvalidReply) as caught:
        await desk.settle(ask.id, reply, by="ana", surface="page", digest=digest)
    assert str(caught.value) == message
    assert await desk.get(ask.id) == Entry(ask)
    assert await desk.page("open") == Page((Entry(ask),))


async def test_every_answer_that_does_not_fit_is_named(desk: Desk) -> None:
    ask = await desk.post([DATABASE, EXTRAS])
    with pytest.raises(InvalidReply) as caught:
        await desk.settle(ask.id, Answered([Answer(["SQLite", "Postgres"]), Answer(["Fax"])]), by="ana", surface="page")
    assert caught.value.problems == (
        Problem('"Which database?"', "takes one answer, got 2"),
        Problem('"Which extras?"', 'offers no option "Fax"; own words belong in Other'),
    )
    assert await desk.get(ask.id) == Entry(ask)


async def test_after_a_reply_that_did_not_fit_the_person_may_reply_again(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    with pytest.raises(InvalidReply):
        await desk.settle(ask.id, Answered([Answer(["Oracle"])]), by="ana", surface="page", submission="one")
    again = await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one")
    assert await desk.get(ask.id) == Entry(ask, again)


@pytest.mark.parametrize("other", ["", " ", "\n\t", "\u200b", "\u2060\ufeff", "\u3164", "\u00a0\u200d "])
async def test_own_words_that_nobody_can_see_are_no_answer(other: str) -> None:
    with pytest.raises(InvalidReply):
        Answered([Answer(other=other)])
    assert DATABASE.fit(Answer(["SQLite"], other)) == Answer(["SQLite"])


async def test_blank_everywhere_is_no_answer() -> None:
    with pytest.raises(InvalidReply, match="blank everywhere is not an answer"):
        Answered([None, None])


async def test_a_permission_is_allowed_only_for_what_was_shown(desk: Desk) -> None:
    ask = await desk.post(PERMISSION)
    allowed = Allowed(remember=PERMISSION.suggestions)
    settlement = await desk.settle(
        ask.id, allowed, by="ana", surface="page", submission="one", digest=PERMISSION.digest
    )
    assert settlement == Settlement(allowed, NOON, "one", "ana", "page", PERMISSION.digest)
    assert await desk.get(ask.id) == Entry(ask, settlement)


async def test_a_no_needs_no_digest(desk: Desk) -> None:
    ask = await desk.post(PERMISSION)
    denied = Denied("not here", redirect="use git")
    assert await desk.settle(ask.id, denied, by="ana", surface="page", submission="one") == by_ana(denied, "one")


async def test_a_decline_keeps_what_was_chosen_so_far(desk: Desk) -> None:
    ask = await desk.post([DATABASE, EXTRAS])
    declined = Declined("let us talk", (Answer(["SQLite"]), None), stop=True)
    assert await desk.settle(ask.id, declined, by="ana", surface="page", submission="one") == by_ana(declined, "one")


async def test_withdrawing_twice_is_withdrawing_once(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE)
    first = await desk.withdraw(ask.id, "not needed", by="builder")
    assert first == Settlement(Withdrawn("not needed"), NOON, WITHDRAWAL, "builder")
    clock.advance(60)
    assert await desk.withdraw(ask.id, "another reason") == first


async def test_after_an_answer_withdrawing_learns_of_it(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    answered = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    with pytest.raises(AlreadySettled) as caught:
        await desk.withdraw(ask.id)
    assert caught.value.settlement == answered


async def test_an_answer_to_a_withdrawn_ask_learns_of_it(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    withdrawn = await desk.withdraw(ask.id)
    with pytest.raises(AlreadySettled) as caught:
        await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert caught.value.settlement == withdrawn
    assert await desk.get(ask.id) == Entry(ask, withdrawn)


async def test_a_wait_ends_with_the_settlement(desk: Desk, store: OurStore) -> None:
    ask = await desk.post(DATABASE)
    waiting = await begun(desk.wait(ask.id))
    assert not waiting.done()
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await waiting == settlement
    assert not store._hints


async def test_all_who_wait_for_one_ask_wake(desk: Desk, store: OurStore) -> None:
    ask = await desk.post(DATABASE)
    waiting = [await begun(desk.wait(ask.id)) for _ in range(20)]
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await asyncio.gather(*waiting) == [settlement] * 20
    assert not store._hints


async def test_a_settled_ask_is_not_waited_for(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    withdrawn = await desk.withdraw(ask.id)
    assert await desk.wait(ask.id) == withdrawn
    assert await desk.wait(ask.id, timeout=0) == withdrawn


async def test_another_asks_settlement_ends_no_wait(desk: Desk) -> None:
    ask, other = await desk.post(DATABASE), await desk.post(DATABASE)
    waiting = await begun(desk.wait(ask.id))
    await desk.settle(other.id, SQLITE, by="ana", surface="page")
    await checkpoint()
    assert not waiting.done()
    await cancelled(waiting)


async def test_a_thousand_waits_that_end_change_nothing(desk: Desk, store: OurStore, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    for _ in range(10):
        waiting = [asyncio.create_task(desk.wait(ask.id, timeout=1)) for _ in range(100)]
        await checkpoint()
        clock.advance(1)
        assert await asyncio.gather(*waiting) == [None] * 100
    assert await desk.get(ask.id) == Entry(ask)
    assert await desk.page("open") == Page((Entry(ask),))
    assert not store._hints
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await desk.wait(ask.id) == settlement


async def test_a_wait_of_no_time_looks_once(store: OurStore) -> None:
    desk = Desk(store)
    ask = await desk.post(DATABASE)
    async with asyncio.timeout(5):
        assert await desk.wait(ask.id, timeout=0) is None
        assert await desk.wait(ask.id, timeout=-1) is None
    assert not store._hints


async def test_a_wait_of_no_time_needs_no_turn_of_the_clock(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    async with asyncio.timeout(2):
        assert await desk.wait(ask.id, timeout=0) is None


async def test_a_wait_that_ends_with_its_answer_leaves_no_timer(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    waiting = await begun(desk.wait(ask.id, timeout=60))
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await waiting == settlement
    assert {number for _, number, _ in clock._timers} == clock._stopped


async def test_without_a_deadline_an_ask_waits_for_days(desk: Desk, clock: FakeClock) -> None:
    asking = await begun(desk.ask(DATABASE, key="k"))
    (ask,) = await opened(desk, 1)
    clock.advance(3 * 86_400)
    await checkpoint()
    assert not asking.done()
    assert await desk.get(ask.id) == Entry(ask)
    await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await asking == SQLITE


async def test_cancelling_a_wait_leaves_the_ask_open(desk: Desk, store: OurStore) -> None:
    ask = await desk.post(DATABASE)
    await cancelled(await begun(desk.wait(ask.id)))
    assert await desk.get(ask.id) == Entry(ask)
    assert not store._hints


async def test_an_agent_gets_what_the_person_said(desk: Desk) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE))
    (ask,) = await opened(desk, 1)
    await desk.settle(ask.id, Answered([Answer(other="neither, use a file")]), by="ana", surface="page")
    assert await asking == Answered([Answer(other="neither, use a file")])


async def test_cancelling_an_ask_without_a_key_withdraws_it(desk: Desk, store: OurStore) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE))
    (ask,) = await opened(desk, 1)
    await cancelled(asking)
    withdrawn = Settlement(Withdrawn("the agent stopped waiting"), NOON, WITHDRAWAL)
    assert await desk.get(ask.id) == Entry(ask, withdrawn)
    assert not store._hints


async def test_cancelling_an_ask_with_a_key_leaves_it_open(desk: Desk) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE, key="k"))
    (ask,) = await opened(desk, 1)
    await cancelled(asking)
    assert await desk.get(ask.id) == Entry(ask)
    again = await begun(desk.ask(DATABASE, key="k"))
    await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await again == SQLITE


async def test_an_ask_that_is_cancelled_at_any_step_is_never_left_open(desk: Desk) -> None:
    for steps in range(12):
        asking = asyncio.create_task(desk.ask(DATABASE))
        for _ in range(steps):
            await checkpoint()
        await cancelled(asking)
    last = await desk.post(EXTRAS)  # written after all of the above
    assert await listed(desk, "open") == [last.id]


async def test_an_ask_that_is_cancelled_as_it_is_answered_stays_answered(desk: Desk) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE))
    (ask,) = await opened(desk, 1)
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    asking.cancel()
    await asyncio.wait([asking])
    assert await desk.get(ask.id) == Entry(ask, settlement)


async def test_cancelling_an_ask_twice_withdraws_it_all_the_same(desk: Desk) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE))
    (ask,) = await opened(desk, 1)
    asking.cancel()
    await checkpoint()
    await cancelled(asking)
    withdrawn = Settlement(Withdrawn("the agent stopped waiting"), NOON, WITHDRAWAL)
    async with asyncio.timeout(5):
        assert await desk.wait(ask.id) == withdrawn


async def test_a_cancelled_ask_whose_store_is_closed_is_cancelled_and_nothing_else(tmp_path: Path) -> None:
    store = await SQLiteStore.open(tmp_path / "desk.db")
    desk = Desk(store)
    asking = asyncio.create_task(desk.ask(DATABASE))
    await opened(desk, 1)
    await desk.close()
    await cancelled(asking)


async def test_two_hundred_asks_at_once_each_get_only_their_own_answer(desk: Desk, store: OurStore) -> None:
    asking = {
        f"Question {n}?": asyncio.create_task(desk.ask(Question(f"Question {n}?", ["yes", "no"]))) for n in range(200)
    }
    asks = await opened(desk, 200)
    asks = [asks[n * 73 % 200] for n in range(200)]  # each once, in another order than they came
    for start in range(0, 200, 10):  # ten at a time, so that answers and wakes are interleaved
        await asyncio.gather(*(_told_its_own_text(desk, ask) for ask in asks[start : start + 10]))
    assert {text: await task for text, task in asking.items()} == {
        text: Answered([Answer(other=f"answer to {text}")]) for text in asking
    }
    assert not store._hints


async def _told_its_own_text(desk: Desk, ask: Ask) -> None:
    (question,) = ask.questions
    await desk.settle(ask.id, Answered([Answer(other=f"answer to {question.text}")]), by="ana", surface="page")


def expired(at: datetime) -> Settlement:
    return Settlement(Expired(), at, EXPIRY)


async def test_an_ask_expires_while_its_agent_waits(desk: Desk, store: OurStore, clock: FakeClock) -> None:
    asking = asyncio.create_task(desk.ask(DATABASE, deadline=HOUR))
    (ask,) = await opened(desk, 1)
    clock.advance(3599)
    await checkpoint()
    assert not asking.done()
    clock.advance(1)
    async with asyncio.timeout(5):
        assert await asking == Expired()
    assert await desk.get(ask.id) == Entry(ask, expired(NOON + HOUR))
    assert not store._hints


@pytest.mark.parametrize("end_of_time", [timedelta.max, datetime.max.replace(tzinfo=UTC)])
async def test_no_deadline_is_further_away_than_every_calendar_can_show(
    desk: Desk, clock: FakeClock, end_of_time: timedelta | datetime
) -> None:
    ask = await desk.post(DATABASE, deadline=end_of_time)
    assert ask.deadline == clock.now() + timedelta(days=36_500)


async def test_a_deadline_years_away_is_kept(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=timedelta(days=3650))
    waiting = await begun(desk.wait(ask.id))
    clock.advance(3649 * 86_400)
    await checkpoint()
    assert not waiting.done()
    clock.advance(86_400)
    async with asyncio.timeout(5):
        assert await waiting == expired(NOON + timedelta(days=3650))


async def test_an_ask_that_is_due_is_expired_when_it_is_read(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    clock.advance(3600)
    assert await desk.get(ask.id) == Entry(ask, expired(NOON + HOUR))


async def test_an_ask_that_is_due_is_expired_when_a_wait_begins(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    clock.advance(3600)
    assert await desk.wait(ask.id) == expired(NOON + HOUR)


@pytest.mark.parametrize("state", ["open", "settled"])
async def test_asks_that_are_due_are_expired_when_they_are_listed(desk: Desk, clock: FakeClock, state: State) -> None:
    due, later = await desk.post(DATABASE, deadline=HOUR), await desk.post(DATABASE, deadline=2 * HOUR)
    clock.advance(3600)
    expected = {"open": Entry(later), "settled": Entry(due, expired(NOON + HOUR))}
    assert await desk.page(state) == Page((expected[state],))


async def test_an_answer_at_the_very_instant_of_the_deadline_is_too_late(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    clock.advance(3600)
    with pytest.raises(AlreadySettled) as caught:
        await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one")
    assert caught.value.settlement == expired(NOON + HOUR)
    with pytest.raises(AlreadySettled):
        await desk.settle(ask.id, SQLITE, by="ana", surface="page", submission="one")
    assert await desk.get(ask.id) == Entry(ask, expired(NOON + HOUR))


async def test_an_answer_just_before_the_deadline_is_in_time(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    clock.advance(3599.999999)
    settlement = await desk.settle(ask.id, SQLITE, by="ana", surface="page")
    clock.advance(3600)
    assert await desk.get(ask.id) == Entry(ask, settlement)


async def test_withdrawing_an_ask_that_is_due_learns_that_it_expired(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    clock.advance(3600)
    with pytest.raises(AlreadySettled) as caught:
        await desk.withdraw(ask.id)
    assert caught.value.settlement == expired(NOON + HOUR)


async def test_an_expired_ask_is_never_revived(desk: Desk, store: OurStore, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, key="k", deadline=HOUR)
    clock.advance(3600)
    await desk.get(ask.id)
    slow = Desk(store, clock=FakeClock(NOON))  # another machine, whose clock is an hour behind
    with pytest.raises(AlreadySettled):
        await slow.settle(ask.id, SQLITE, by="ana", surface="page")
    assert await slow.ask(DATABASE, key="k", deadline=HOUR) == Expired()
    assert await slow.get(ask.id) == Entry(ask, expired(NOON + HOUR))
    assert await listed(slow, "open") == []


async def test_expiry_found_by_many_at_once_happened_once(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=HOUR)
    waiting = [await begun(desk.wait(ask.id)) for _ in range(10)]
    clock.advance(3600)
    entries = await asyncio.gather(*(desk.get(ask.id) for _ in range(10)))
    assert entries == [Entry(ask, expired(NOON + HOUR))] * 10
    assert await asyncio.gather(*waiting) == [expired(NOON + HOUR)] * 10
    assert await listed(desk, "settled") == [ask.id]


@pytest.mark.parametrize(
    "deadline",
    [
        timedelta(0),
        timedelta(seconds=-1),
        NOON,
        NOON - HOUR,
        (NOON + HOUR).replace(tzinfo=None),
        (NOON - HOUR).replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=9))),
    ],
)
async def test_a_deadline_that_is_past_or_has_no_time_zone_is_refused(
    desk: Desk, deadline: datetime | timedelta
) -> None:
    with pytest.raises(InvalidAsk, match=r"^deadline: must be a time to come, with a time zone$"):
        await desk.post(DATABASE, deadline=deadline)
    assert await listed(desk, "open") == []


async def test_a_deadline_may_be_told_in_any_time_zone(desk: Desk, clock: FakeClock) -> None:
    ask = await desk.post(DATABASE, deadline=(NOON + HOUR).astimezone(timezone(timedelta(hours=9))))
    clock.advance(3599)
    assert (await desk.get(ask.id)).settlement is None
    clock.advance(1)
    assert (await desk.get(ask.id)).settlement == expired(NOON + HOUR)


async def test_a_watcher_hears_of_asks_and_settlements(desk: Desk, store: OurStore) -> None:
    before = await desk.post(DATABASE)
    async with asyncio.timeout(5), desk.watch() as hints:
        ask = await desk.post(DATABASE)
        await heard_of(ask.id, hints)
        await desk.withdraw(before.id)
        await heard_of(before.id, hints)
        later = new_id()
        listening = await begun(heard_of(later, hints))
        assert not listening.done()
        await desk.post(DATABASE, id=later)
        await listening
    assert not store._hints


async def heard_of(ask_id: str, hints: AsyncIterator[str | None]) -> None:
    """Whatever else is told again before."""
    while await anext(hints) != ask_id:
        pass


async def test_a_slow_watcher_hears_of_each_ask_once(desk: Desk) -> None:
    async with asyncio.timeout(5), desk.watch() as hints:
        first, second = await desk.post(DATABASE), await desk.post(DATABASE)
        await desk.settle(first.id, SQLITE, by="ana", surface="page")
        last = await desk.post(DATABASE)
        heard: list[str | None] = []
        while last.id not in heard:
            heard.append(await anext(hints))
    assert heard == [first.id, second.id, last.id]


async def test_a_watcher_who_leaves_while_listening_leaves_nothing_behind(desk: Desk, store: OurStore) -> None:
    async def watching() -> None:
        async with desk.watch() as hints:
            async for _ in hints:
                pass

    await cancelled(await begun(watching()))
    assert not store._hints


def check_one_won(results: list[Settlement | BaseException], standing: Settlement | None) -> None:
    """Whoever won has the settlement that stands, and whoever lost was told it."""
    won = [result for result in results if isinstance(result, Settlement)]
    told = [result.settlement for result in results if isinstance(result, AlreadySettled)]
    assert (won, told) == ([standing], [standing] * (len(results) - 1))


async def together(*works: Coroutine[Any, Any, T]) -> list[T | BaseException]:
    """Runs all of them, let go at one moment."""
    barrier = asyncio.Barrier(len(works))

    async def held(work: Coroutine[Any, Any, T]) -> T:
        await barrier.wait()
        return await work

    return await asyncio.gather(*(held(work) for work in works), return_exceptions=True)


async def test_of_answers_at_once_one_stands_and_all_others_learn_it(desk: Desk) -> None:
    for _ in range(50):
        ask = await desk.post(DATABASE)
        waiting = await begun(desk.wait(ask.id))
        results = await together(
            *(desk.settle(ask.id, reply, by="ana", surface="page") for reply in (SQLITE, POSTGRES, Declined()))
        )
        check_one_won(results, await waiting)


async def test_of_an_answer_and_a_withdrawal_at_once_one_stands(desk: Desk) -> None:
    for round_ in range(100):
        ask = await desk.post(DATABASE)
        waiting = await begun(desk.wait(ask.id))
        sides = [desk.settle(ask.id, SQLITE, by="ana", surface="page"), desk.withdraw(ask.id)]
        results = await together(*(sides if round_ % 2 else reversed(sides)))
        check_one_won(results, await waiting)


async def test_of_an_answer_and_the_expiry_at_once_one_stands(desk: Desk, store: OurStore) -> None:
    late = Desk(store, clock=FakeClock(NOON + HOUR))  # two desks, one a moment before the deadline and one at it
    for round_ in range(100):
        ask = await desk.post(DATABASE, deadline=HOUR)
        waiting = await begun(desk.wait(ask.id))
        sides = [desk.settle(ask.id, SQLITE, by="ana", surface="page"), _found(late, ask.id)]
        results = await together(*(sides if round_ % 2 else reversed(sides)))
        standing = await waiting
        told = [result.settlement if isinstance(result, AlreadySettled) else result for result in results]
        assert told == [standing, standing]
        assert standing is not None
        lost = sum(isinstance(result, AlreadySettled) for result in results)
        assert (standing.outcome, lost) in [(SQLITE, 0), (Expired(), 1)]


async def _found(desk: Desk, ask_id: str) -> Settlement | None:
    return (await desk.get(ask_id)).settlement


Act: TypeAlias = Callable[[Desk, str], Awaitable[Settlement | None]]


def one_side(path: Path, now: datetime, ask_ids: list[str], barrier: threading.Barrier, act: Act) -> list[object]:
    """A thread with a loop, a desk and an opening of the file to itself; it meets the other one every minute."""

    async def acted() -> list[object]:
        clock = FakeClock(now)
        desk = Desk(await SQLiteStore.open(path), clock=clock)
        results: list[object] = []
        for ask_id in ask_ids:
            barrier.wait(10)
            try:
                results.append(await act(desk, ask_id))
            except AskdeskError as error:
                results.append(error)
            clock.advance(60)
        await desk.close()
        return results

    return asyncio.run(acted())


def run_both_sides(
    path: Path, ask_ids: list[str], one: tuple[datetime, Act], other: tuple[datetime, Act]
) -> list[tuple[object, object]]:
    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        sides = [threads.submit(one_side, path, now, ask_ids, barrier, act) for now, act in (one, other)]
        return list(zip(sides[0].result(), sides[1].result(), strict=True))


async def answer(desk: Desk, ask_id: str) -> Settlement:
    return await desk.settle(ask_id, SQLITE, by="ana", surface="page")


async def withdraw(desk: Desk, ask_id: str) -> Settlement:
    return await desk.withdraw(ask_id)


@pytest.mark.parametrize(("late", "other"), [(NOON, withdraw), (NOON + MINUTE, _found)], ids=["withdrawal", "expiry"])
async def test_two_openings_of_one_file_agree_on_every_outcome(tmp_path: Path, late: datetime, other: Act) -> None:
    path = tmp_path / "desk.db"
    desk = Desk(await SQLiteStore.open(path), clock=FakeClock())
    asks = [await desk.post(DATABASE, deadline=MINUTE * (n + 1)) for n in range(200)]
    ids = [ask.id for ask in asks]
    results = await asyncio.to_thread(run_both_sides, path, ids, (NOON, answer), (late, other))
    for ask, pair in zip(asks, results, strict=True):
        standing = (await desk.store.get(ask.id)).settlement
        told = [result.settlement if isinstance(result, AlreadySettled) else result for result in pair]
        assert told == [standing, standing]
        assert isinstance(pair[0], AlreadySettled) == (standing is not None and standing.outcome != SQLITE)
    await desk.close()
