"""The inbox on a Textual screen, with a person at it played by Pilot, and with a real desk behind it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from textual import events
from textual.pilot import Pilot

from askdesk.core import work
from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Outcome,
    Permission,
    Question,
    Reply,
    Settlement,
)
from askdesk.core.store import Store
from askdesk.core.work import Instruction
from askdesk.surfaces import draft, snooze
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.inbox_screen import InboxApp
from askdesk.surfaces.terminal.screen import Guard, Interrupted, Paper
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.texts import say
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

DATABASE = Question("Which database?", ["SQLite (Recommended)", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging"], multi_select=True)
LS = Permission("Bash", {"command": "ls"})
BUILDER = Asker("builder", project="/srv/app")
SECONDS = 30.0  # a bound for what should take a fraction of one
OPEN = Guard(0, 0)


class HeldDesk(Desk):
    """A desk on which nothing is settled until it is let go."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        super().__init__(store, clock=clock)
        self.let_go = asyncio.Event()

    async def settle(self, ask_id: str, reply: Reply, **fields: Any) -> Settlement:
        await self.let_go.wait()
        return await super().settle(ask_id, reply, **fields)


class SlowDesk(Desk):
    """A desk that settles one reply whenever it is told to."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        super().__init__(store, clock=clock)
        self.turns = asyncio.Semaphore(0)

    async def settle(self, ask_id: str, reply: Reply, **fields: Any) -> Settlement:
        await self.turns.acquire()
        return await super().settle(ask_id, reply, **fields)


class BusyDesk(Desk):
    """A desk that is busy when the second reply comes."""

    turn = 0

    async def settle(self, ask_id: str, reply: Reply, **fields: Any) -> Settlement:
        self.turn += 1
        if self.turn == 2:
            raise StoreBusy("locked by another process")
        return await super().settle(ask_id, reply, **fields)


@pytest.fixture
def held(store: Store, clock: FakeClock) -> HeldDesk:
    return HeldDesk(store, clock)


class Person:
    """In front of an inbox: types, clicks, reads."""

    def __init__(self, app: InboxApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def types(self, *keys: str) -> None:
        """All of the keys at once."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            character = key if len(key) == 1 else {"enter": "\r", "escape": "\x1b", "tab": "\t"}.get(key)
            event = events.Key({" ": "space"}.get(key, key), character)
            event.set_sender(self.app)
            driver.send_message(event)
        await self.sees()

    async def clicks(self, key: str) -> None:
        """A click on the first place that presses this key."""
        for y, spans in enumerate(self.app.picture.lines):
            for x in range(sum(len(span.text) for span in spans)):
                if self.app.picture.key_at(x, y) == key:
                    await self.pilot.click(Paper, offset=(x, y))
                    await self.sees()
                    return
        raise AssertionError(f"{key} is nowhere")

    async def sees(self, *texts: str) -> list[str]:
        """Wait until everything that was sent was taken in and all the texts can be seen; the screen, row by row."""
        end = time.monotonic() + SECONDS
        while True:
            await self.pilot.pause()
            await self.app.painted()
            rows = self.rows
            if all(any(text in row for row in rows) for text in texts):
                return rows
            assert time.monotonic() < end, "\n".join([f"did not show {texts}", *rows])

    async def sees_not(self, text: str) -> list[str]:
        await self.until(lambda: not any(text in row for row in self.rows))
        return self.rows

    async def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, "\n".join(["it did not happen", *self.rows])
            await self.pilot.pause()

    @property
    def rows(self) -> list[str]:
        """What is on the screen, drawn by Textual, without the blanks at the end of each row."""
        return [row.text.rstrip() for row in self.app.screen._compositor.render_strips()]

    @property
    def asks(self) -> list[str]:
        """The rows of the list, each without its age and names."""
        return [row[38:] if row[3:4] else row for row in self.rows if row[2:3] in ("?", "!") and row[:1] in ("❯", " ")]


@asynccontextmanager
async def inbox(
    desk: Desk, by: str = "ana", *, guard: Guard = OPEN, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Person]:
    app = InboxApp(desk, by, guard=guard)
    try:
        async with app.run_test(size=size) as pilot:
            person = Person(app, pilot)
            open_now = len([entry async for entry in desk.each("open")])
            await person.until(lambda: len(app.dialog.open) == open_now)
            await person.sees()
            yield person
    finally:
        await app.stopped()


async def settlement(desk: Desk, ask: Ask) -> Settlement | None:
    return (await desk.get(ask.id)).settlement


async def outcome(desk: Desk, ask: Ask) -> Outcome | None:
    ended = await settlement(desk, ask)
    return ended.outcome if ended else None


def numbered(number: int) -> Question:
    return Question(f"Question {number:04}?", ["Yes (Recommended)", "No"])


async def posted(desk: Desk, count: int) -> list[Ask]:
    return [await desk.post(numbered(number), asker=BUILDER) for number in range(count)]


async def test_it_shows_what_is_open_and_a_new_ask_comes_by_itself(desk: Desk) -> None:
    await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        assert (await person.sees("Open 1"))[:3] == [
            "askdesk  Open 1  Settled",
            "",
            "❯ ? now   builder       app             Which database?",
        ]
        await desk.post(LS, asker=Asker("tester"))

        assert (await person.sees("Open 2", "permission: Bash ls"))[:4] == [
            "askdesk  Open 2  Settled",
            "",
            "❯ ? now   builder       app             Which database?",
            "  ! now   tester                        permission: Bash ls",
        ]


async def test_an_ask_that_was_settled_elsewhere_goes_and_the_focus_stays_in_its_place(desk: Desk) -> None:
    asks = await posted(desk, 3)
    async with inbox(desk) as person:
        await person.types("down")
        await desk.settle(asks[1].id, Declined(), by="ben", surface="web")
        await person.sees("Open 2")

        assert person.asks == ["  Question 0000?", "  Question 0002?"]
        assert person.app.dialog.at == asks[2].id


async def test_a_question_is_opened_answered_and_counted(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("builder asks in app", "Which database?")
        await person.types("2")
        await person.sees("Open 0", "✔ Which database? → Postgres")
        assert person.app.dialog.sent == 1

    ended = await settlement(desk, ask)
    assert ended is not None
    assert ended == Settlement(Answered([Answer(["Postgres"])]), desk.now(), ended.submission, "ana", "inbox")


async def test_after_an_answer_the_next_ask_opens_by_itself(desk: Desk) -> None:
    first = await desk.post(DATABASE, asker=BUILDER)
    await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("Which database?")
        await person.types("2")
        await person.sees("│ ls", "1. Allow this call, once", "✔ Which database? → Postgres")
        await person.types("d", "enter")
        await person.sees("Open 0")

    assert await outcome(desk, first) == Answered([Answer(["Postgres"])])


async def test_an_enter_held_down_a_little_longer_does_not_answer_the_next_ask(desk: Desk) -> None:
    """Keyboards repeat after 250 to 660 ms: the first repeat comes after the guard."""
    asks = await posted(desk, 3)
    async with inbox(desk, guard=Guard(0.4, 0.15)) as person:
        now = 1000.0
        person.app._clock = lambda: now
        person.app._opens_at = now
        await person.types("enter")
        await person.sees("│ Question 0000?")
        for pause in (0.5, *[0.033] * 10):
            now += pause
            await person.types("enter")
        await person.sees()

    assert [await outcome(desk, ask) for ask in asks] == [None] * 3


async def test_a_permission_is_allowed_by_enter_on_its_row_with_the_digest_that_was_shown(desk: Desk) -> None:
    ask = await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.clicks(f"row:{ask.id}")
        await person.sees("│ ls", "1. Allow this call, once")
        await person.types("enter")
        await person.sees(say("decision.nothing_chosen")[:60])
        await person.types("y")
        await person.sees("❯ 1. Allow this call, once")
        await person.types("enter")
        await person.sees("Open 0", "✔ Allowed once: Bash")

    ended = await settlement(desk, ask)
    assert ended is not None
    assert ended == Settlement(Allowed(), desk.now(), ended.submission, "ana", "inbox", LS.digest)


async def test_an_open_form_closes_when_somebody_else_answers_says_who_and_where_and_keeps_what_was_typed(
    desk: Desk,
) -> None:
    ask = await desk.post([DATABASE, PARTS], asker=BUILDER)
    other = await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("Which database?", "Type something else")
        await person.types("3")
        await person.types(*"MariaDB")
        await person.sees("MariaDB")
        reply = Answered([Answer(["Postgres"]), None])
        await desk.settle(ask.id, reply, by="ben", surface="web")
        rows = await person.sees("Closed: answered by ben on web. What you typed is kept.", "Open 1")

        assert rows[2] == "❯ ! now   builder       app             permission: Bash ls"
        assert person.app.dialog.sent == 0

    kept = await draft.kept(desk.shelf, ask, "ana")
    assert kept is not None
    assert [given.own for given in kept.given] == ["MariaDB", ""]
    assert await outcome(desk, ask) == reply
    assert await outcome(desk, other) is None


async def test_keys_meant_for_a_form_that_closed_do_not_reach_the_list(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    other = await desk.post(PARTS, asker=BUILDER)
    async with inbox(desk, guard=Guard(0.4, 0.15)) as person:
        now = 1000.0
        person.app._clock = lambda: now
        person.app._opens_at = now
        await person.types("enter")
        await person.sees("Type something else")
        now += 1
        await person.types("3")
        await person.types(*"my")
        await desk.settle(ask.id, Declined(), by="ben", surface="web")
        await person.sees("Closed: declined by ben on web.")
        await person.types(*" d", "enter", "a", "d", "enter", "q")

        assert say("sheet.typed_ahead", count=7) in " ".join(person.rows)
        assert not person.app.ended
        assert person.app.dialog.mode == "list"
        assert person.app.dialog.marked == frozenset()
    assert await outcome(desk, other) is None


async def test_keys_typed_ahead_into_a_form_that_is_being_opened_decide_nothing(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk, guard=Guard(0.4, 0.15)) as person:
        now = 1000.0
        person.app._clock = lambda: now
        person.app._opens_at = now
        await person.types("enter")
        await person.sees("builder asks in app")
        await person.types(*["enter", "1", "y", " "] * 50)

        assert say("sheet.typed_ahead", count=200) in "\n".join(person.rows)
        assert isinstance(person.app.dialog.dialog, Sheet)
        assert not person.app.dialog.dialog.form.is_touched
    assert await outcome(desk, ask) is None


async def test_a_reply_that_comes_too_late_says_who_was_first(held: HeldDesk) -> None:
    ask = await held.post(DATABASE, asker=BUILDER)
    async with inbox(held) as person:
        await person.types("enter")
        await person.sees("Which database?")
        await person.types("1")
        await Desk(held.store).settle(ask.id, Declined(), by="ben", surface="web")
        held.let_go.set()
        await person.sees("Closed: declined by ben on web.", "Open 0")

        assert person.app.dialog.sent == 0
    assert await outcome(held, ask) == Declined()


async def test_what_was_sent_leaves_no_draft_behind(desk: Desk) -> None:
    ask = await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("│ ls")
        keeper = person.app._keeper
        assert keeper
        await person.types("4", "enter", *"because", "enter")
        await person.sees("Open 0")
        await keeper.done()  # what its timer would do a moment later

    assert await outcome(desk, ask) == Denied("because")
    assert await draft.kept(desk.shelf, ask, "ana") is None


async def test_who_was_first_stays_on_the_screen_while_keys_are_still_being_typed(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk, guard=Guard(0.4, 0.15)) as person:
        now = 1000.0
        person.app._clock = lambda: now
        person.app._opens_at = now
        await person.types("enter")
        await person.sees("Type something else")
        await desk.settle(ask.id, Declined(), by="ben", surface="web")
        await person.sees("Closed: declined by ben on web.")
        await person.types(*"and so on")

        assert "Closed: declined by ben on web." in "\n".join(person.rows)


async def test_an_ask_whose_deadline_comes_goes_from_the_list(desk: Desk, clock: FakeClock) -> None:
    await desk.post(DATABASE, asker=BUILDER, deadline=timedelta(seconds=10))
    async with inbox(desk) as person:
        clock.advance(11)
        person.app._tick()
        await person.sees("Open 0")


async def test_a_reply_that_is_on_its_way_is_sent_although_the_inbox_is_left(held: HeldDesk) -> None:
    ask = await held.post(DATABASE, asker=BUILDER)
    async with inbox(held) as person:
        await person.types("enter")
        await person.sees("Which database?")
        await person.types("1")
        await person.types("ctrl+c")
        leaving = asyncio.ensure_future(person.app.stopped())
        await checkpoint()
        held.let_go.set()
        await leaving

    assert await outcome(held, ask) == Answered([Answer(["SQLite (Recommended)"])])


async def test_an_ask_that_is_settled_while_it_is_being_opened_does_not_open(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        opening = asyncio.ensure_future(person.app._open(ask))
        await desk.settle(ask.id, Declined(), by="ben", surface="web")
        person.app._go(person.app.dialog.entered([await desk.get(ask.id)]))
        await opening
        await person.sees("Open 0")

        assert person.app.dialog.dialog is None


async def test_an_ask_settled_after_one_looked_back_at_nothing_is_there_when_one_looks_again(desk: Desk) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("tab")
        await person.sees("Nothing has been settled yet.")
        await person.types("tab")
        await desk.settle(ask.id, Declined(), by="ben", surface="web")
        await person.sees("Open 0")
        await person.types("tab")
        await person.sees("declined by ben on web: Which database?")


async def test_when_everything_must_be_read_again_what_is_no_longer_open_goes(desk: Desk) -> None:
    asks = await posted(desk, 2)
    async with inbox(desk) as person:
        hints = desk.store._hints  # type: ignore[attr-defined]
        tell, hints.tell = hints.tell, lambda *_, **__: None
        await desk.settle(asks[0].id, Declined(), by="ben", surface="web")
        hints.tell = tell
        hints.tell_all()
        await person.sees("Open 1")


async def test_a_reply_sent_twice_by_a_double_tap_is_sent_once_and_the_next_ask_stays_open(
    store: Store, clock: FakeClock
) -> None:
    desk = SlowDesk(store, clock)
    first = await desk.post(DATABASE, asker=BUILDER)
    await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("Which database?")
        await person.types("2", "2")
        desk.turns.release()
        await person.sees("│ ls", "✔ Which database? → Postgres")
        await person.types("4", "enter", *"because")
        await person.sees("because")
        desk.turns.release()
        await person.sees()

        assert isinstance(person.app.dialog.dialog, Decision)
        assert person.app.dialog.dialog.words == (("message", "because"),)
        assert person.app.dialog.sent == 1
    assert await outcome(desk, first) == Answered([Answer(["Postgres"])])


async def test_where_the_store_fails_half_way_what_was_sent_goes_and_the_rest_stays(
    store: Store, clock: FakeClock
) -> None:
    desk = BusyDesk(store, clock=clock)
    asks = await posted(desk, 3)
    async with inbox(desk) as person:
        await person.types("a", "d", "enter")
        await person.sees("locked by another process", "Decline")
        await person.types("escape")
        await person.sees("Open 2")
        assert person.asks == ["  Question 0001?", "  Question 0002?"]

    assert [await outcome(desk, ask) for ask in asks] == [Declined(), None, None]


async def test_a_form_that_closes_while_something_else_is_on_the_terminal_leaves_a_whole_list_behind(
    desk: Desk,
) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("Which database?")
        person.app.away = True
        await desk.settle(ask.id, Declined(), by="ben", surface="web")
        await person.until(lambda: person.app.dialog.dialog is None)
        person.app.away = False
        person.app._go(person.app.dialog)
        await person.sees("Closed: declined by ben on web.", "q leave")
        await person.types("enter")
        await person.sees("│ ls")


async def test_the_next_ask_is_opened_without_answering_and_what_was_typed_stays_a_draft(desk: Desk) -> None:
    first = await desk.post(LS, asker=BUILDER)
    await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("│ ls")
        await person.types("4", "enter", *"because")
        await person.sees("because")
        await person.types("ctrl+n")
        await person.sees("Which database?")
        await person.types("ctrl+p")
        await person.sees("│ ls", say("decision.restored"))
        assert isinstance(person.app.dialog.dialog, Decision)
        assert person.app.dialog.dialog.words == (("message", "because"),)

    assert await draft.kept(desk.shelf, first, "ana") == Draft(v=1, words=(("message", "because"),))
    assert await outcome(desk, first) is None


async def test_a_draft_of_another_terminal_is_offered_again(desk: Desk) -> None:
    ask = await desk.post(LS, asker=BUILDER)
    await draft.keep(desk.shelf, ask, "ana", Draft(v=1, words=(("stop", "enough"),)))
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees(say("decision.restored"))
        await person.types("7", "enter")
        await person.sees("enough")
        await person.types("enter")
        await person.sees("Open 0")

    assert await outcome(desk, ask) == Denied("enough", stop=True)
    assert await draft.kept(desk.shelf, ask, "ana") is None


async def test_recommendations_are_sent_only_after_the_list_of_them_was_seen(desk: Desk) -> None:
    asks = await posted(desk, 40)
    permission = await desk.post(LS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("r")
        await person.sees("What following the agents' own recommendations would answer")
        await person.types("tab", "enter")
        await person.sees("Read the whole list first:")
        assert [await outcome(desk, ask) for ask in asks] == [None] * 40
        while not person.app.dialog.passage.is_seen:
            await person.types("pagedown")
        await person.types("enter")
        await person.sees("40 sent.", "Open 1")
        assert person.app.dialog.sent == 40

    assert [await outcome(desk, ask) for ask in asks] == [Answered([Answer(["Yes (Recommended)"])])] * 40
    assert await outcome(desk, permission) is None


async def test_enter_space_and_letters_on_the_list_of_recommendations_send_nothing(desk: Desk) -> None:
    asks = await posted(desk, 3)
    async with inbox(desk) as person:
        await person.types("r")
        await person.sees("What following the agents' own recommendations would answer")
        await person.types("enter", " ", "y", "1", "enter")
        await person.sees(say("inbox.choose_first"))
        await person.types("escape")
        await person.sees("Open 3")

    assert [await outcome(desk, ask) for ask in asks] == [None] * 3


async def test_marked_asks_are_declined_with_one_reason_and_permissions_denied(desk: Desk) -> None:
    first = await desk.post(DATABASE, asker=BUILDER)
    second = await desk.post(LS, asker=BUILDER)
    third = await desk.post(PARTS, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types(" ", " ", "d", *"not now")
        await person.sees("Decline 2 (permissions are denied)", "Which database?", "Bash", "❯ not now")
        await person.types("enter")
        await person.sees("2 sent.", "Open 1")
        assert person.asks == ["  Which parts?"]

    assert [await outcome(desk, ask) for ask in (first, second, third)] == [
        Declined("not now"),
        Denied("not now"),
        None,
    ]


async def test_a_snooze_survives_a_new_inbox_and_is_for_this_person_alone(desk: Desk, clock: FakeClock) -> None:
    asks = await posted(desk, 2)
    async with inbox(desk) as person:
        await person.types("s")
        await person.sees("Snooze 1 until when?")
        await person.types("2", "enter")
        await person.sees("Open 1", "1 snoozed")
        assert person.asks == ["  Question 0001?"]

    assert await snooze.kept(desk.shelf, "ana") == {asks[0].id: desk.now() + timedelta(hours=1)}
    async with inbox(desk) as person:
        await person.sees("Open 1", "1 snoozed")
        assert person.asks == ["  Question 0001?"]
        await person.types("z")
        assert person.asks == ["  Question 0000?", "  Question 0001?"]
        clock.advance(3600)
        await person.sees("Open 2")
    async with inbox(desk, "ben") as person:
        await person.sees("Open 2")
        assert person.asks == ["  Question 0000?", "  Question 0001?"]


async def test_a_snooze_can_be_taken_back(desk: Desk) -> None:
    ask = await desk.post(DATABASE)
    await snooze.keep(desk.shelf, ask.id, "ana", desk.now() + timedelta(hours=1))
    async with inbox(desk) as person:
        await person.sees("Open 0", "1 snoozed")
        await person.types("z", "s", "5", "enter")
        await person.sees("Open 1")

    assert await snooze.kept(desk.shelf, "ana") == {}


async def test_settled_asks_are_looked_back_at_page_after_page(desk: Desk, clock: FakeClock) -> None:
    for ask in await posted(desk, 150):
        clock.advance(1)
        await desk.settle(ask.id, Declined(f"no to {ask.questions[0].text}"), by="ben", surface="web")
    async with inbox(desk) as person:
        await person.types("tab")
        await person.sees("declined by ben on web: Question 0149?", "1 of 100")
        await person.types("end")
        await person.sees("100 of 150")
        await person.types("end")
        await person.sees("150 of 150", "declined by ben on web: Question 0000?")
        await person.types("enter")
        rows = await person.sees("Message: no to Question 0000?")
        assert "Declined by ben on web at 2026-01-01 12:00:01 UTC." in rows
        await person.types("escape")
        await person.sees("150 of 150")
        await person.clicks("tab")
        await person.sees("No agent waits for an answer.")


async def test_a_settled_ask_is_read_with_what_was_typed_and_not_sent(desk: Desk) -> None:
    ask = await desk.post(LS)
    await draft.keep(desk.shelf, ask, "ana", Draft(v=1, words=(("message", "I would rather not"),)))
    await desk.settle(ask.id, Allowed(), by="ben", surface="web", digest=LS.digest)
    async with inbox(desk) as person:
        await person.types("tab")
        await person.sees("allowed by ben on web")
        await person.types("enter")
        await person.sees("command: ls", "Typed by ana and not sent:", "  Message: I would rather not")


async def test_a_thousand_open_asks_are_scrolled_through_and_only_the_screen_is_drawn(desk: Desk) -> None:
    await posted(desk, 1000)
    async with inbox(desk) as person:
        rows = await person.sees("1 of 1000")
        assert len(rows) == len(person.app.picture.lines) == 24
        await person.types(*["down"] * 200)

        assert person.asks == [f"  Question {number:04}?" for number in range(191, 210)]
        assert len(person.rows) == len(person.app.picture.lines) == 24
        await person.types("end")
        assert person.asks == [f"  Question {number:04}?" for number in range(981, 1000)]


async def test_rows_and_tabs_can_be_clicked(desk: Desk) -> None:
    asks = await posted(desk, 3)
    async with inbox(desk) as person:
        await person.clicks(f"row:{asks[1].id}")
        assert person.app.dialog.at == asks[1].id
        await person.clicks(f"row:{asks[1].id}")
        await person.sees("│ Question 0001?")
        await person.types("escape")
        await person.clicks("tab")
        await person.sees(say("inbox.nothing_settled"))
        await person.clicks("tab")
        await person.sees("Question 0000?")


async def test_resizing_keeps_the_open_ask_and_what_was_typed(desk: Desk) -> None:
    await desk.post(DATABASE, asker=BUILDER)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("Which database?")
        await person.types("3", *"own words")
        before = person.app.dialog.dialog
        for columns, lines in ((40, 12), (10, 4), (200, 50), (80, 24)):
            await person.pilot.resize_terminal(columns, lines)
            await person.sees()
        assert person.app.dialog.dialog == before


async def test_in_a_window_that_is_too_small_nothing_is_decided(desk: Desk) -> None:
    ask = await desk.post(LS)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("│ ls")
        await person.types("y")
        await person.pilot.resize_terminal(20, 5)
        await person.sees("Too small")
        await person.types("enter", "enter", "1")
        await person.pilot.resize_terminal(80, 24)
        await person.sees("❯ 1. Allow this call, once")

    assert await outcome(desk, ask) is None


@pytest.mark.parametrize(("key", "end"), [("q", None), ("escape", None), ("ctrl+c", Interrupted())])
async def test_leaving_leaves_everything_as_it_is(desk: Desk, key: str, end: Interrupted | None) -> None:
    asks = await posted(desk, 2)
    async with inbox(desk) as person:
        await person.types("a", key)

    assert (person.app.ended, person.app.return_value) == (True, end)
    assert [await outcome(desk, ask) for ask in asks] == [None, None]


async def test_what_was_typed_is_kept_when_the_inbox_is_interrupted(desk: Desk) -> None:
    ask = await desk.post(LS)
    async with inbox(desk) as person:
        await person.types("enter")
        await person.sees("│ ls")
        await person.types("4", "enter", *"because", "ctrl+c")

    assert person.app.return_value == Interrupted()
    assert await draft.kept(desk.shelf, ask, "ana") == Draft(v=1, words=(("message", "because"),))


CLAUDE = Asker("claude", "s-1", "/srv/site")


async def told(desk: Desk) -> list[tuple[str, bool, str, str]]:
    found = [one.instruction for one in await work.told(desk.shelf, work.address(CLAUDE))]
    return [(one.text, one.stop, one.by, one.surface) for one in found]


async def test_an_agent_is_told_something_and_it_is_said_when_that_has_reached_it(desk: Desk, clock: FakeClock) -> None:
    await desk.post(DATABASE, asker=CLAUDE)
    async with desk.at_work(CLAUDE) as at_work, inbox(desk) as person:
        await person.sees("1 at work", "t tell an agent")
        await person.types("t", *"use tabs")
        await person.sees("Tell claude in site something", "❯ use tabs")
        await person.types("enter")
        await person.sees("Open 1", "Kept for claude, who gets it as soon as it can take it.")
        assert await told(desk) == [("use tabs", False, "ana", "inbox")]

        instruction = await at_work.take()
        assert instruction is not None
        await at_work.delivered(instruction)
        while not any("it reached claude: use tabs" in row for row in person.rows):
            clock.advance(1)
            await person.sees()


async def test_an_agent_is_stopped_once_the_person_is_sure(desk: Desk) -> None:
    async with desk.at_work(CLAUDE), inbox(desk) as person:
        await person.sees("1 at work")
        await person.types("t", "ctrl+x")
        await person.sees("Stop claude in site?")
        await person.types("down", "enter")
        await person.sees("Kept: claude is to stop as soon as it can take it.")
    assert await told(desk) == [("", True, "ana", "inbox")]


async def test_agents_come_and_go_while_the_inbox_is_open(desk: Desk) -> None:
    async with inbox(desk) as person:
        async with desk.at_work(CLAUDE):
            for _ in range(5):
                person.app._tick()
            await person.sees("1 at work")
        for _ in range(5):
            person.app._tick()
        await person.sees_not("at work")


async def test_a_second_enter_tells_nothing_twice(desk: Desk) -> None:
    async with desk.at_work(CLAUDE), inbox(desk) as person:
        await person.sees("1 at work")
        await person.types("t", "x", "enter", "enter", "enter")
        await person.sees("Kept for claude")
    assert await told(desk) == [("x", False, "ana", "inbox")]


async def test_what_cannot_be_kept_stays_in_its_box(store: Store, clock: FakeClock) -> None:
    class Deaf(Desk):
        async def tell(self, *given: Any, **fields: Any) -> Instruction:
            raise StoreBusy("locked by another process")

    desk = Deaf(store, clock=clock)
    async with desk.at_work(CLAUDE), inbox(desk) as person:
        await person.sees("1 at work")
        await person.types("t", *"tabs", "enter")
        await person.sees("Tell claude in site something", "❯ tabs", "locked by another process")
