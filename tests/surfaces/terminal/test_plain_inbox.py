"""The inbox in plain lines: a real pipe, a real desk."""

import asyncio
import io
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import pytest
from anyio.lowlevel import checkpoint

from askdesk.core import work
from askdesk.core.desk import Desk
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
    Settlement,
)
from askdesk.surfaces import draft, snooze
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Given
from askdesk.surfaces.terminal.lines import Lines
from askdesk.surfaces.terminal.plain_inbox import PlainInbox
from askdesk.surfaces.texts import say
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

DATABASE = Question("Which database?", ["SQLite (Recommended)", "Postgres"])
PARTS = Question("Which parts?", ["Sign-in", "Logging"], multi_select=True)
BASH = Permission("Bash", {"command": "rm -r build"})
BUILDER = Asker("builder", project="/srv/app")
PROMPT = say("plain_inbox.prompt")


class Pipe(NamedTuple):
    lines: Lines
    writer: int
    screen: io.StringIO

    def type(self, *lines: str) -> None:
        os.write(self.writer, "".join(f"{line}\n" for line in lines).encode())

    def read(self) -> str:
        """Everything on the screen since the last time."""
        text = self.screen.getvalue()
        self.screen.seek(0)
        self.screen.truncate()
        return text


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    screen = io.StringIO()
    yield Pipe(Lines(reader, screen), writer, screen)
    os.close(reader)


async def typed(desk: Desk, pipe: Pipe, *lines: str) -> PlainInbox:
    """An inbox in which these lines were typed, and then the input ended."""
    inbox = PlainInbox(desk, pipe.lines, "ana")
    pipe.type(*lines)
    os.close(pipe.writer)
    await inbox.run()
    return inbox


async def outcome(desk: Desk, ask: Ask) -> Outcome | None:
    settlement = (await desk.get(ask.id)).settlement
    return settlement.outcome if settlement else None


async def test_open_asks_are_numbered_in_the_order_they_came(desk: Desk, clock: FakeClock, pipe: Pipe) -> None:
    await desk.post(DATABASE, asker=BUILDER)
    clock.advance(90)
    await desk.post(BASH, asker=Asker("tester"))
    await desk.post([DATABASE, PARTS], asker=BUILDER)

    inbox = await typed(desk, pipe)

    assert inbox.sent == 0
    assert pipe.read() == (
        "  1. Which database? (builder, app, 1m)\n"
        "  2. permission: Bash rm -r build (tester, now)\n"
        "  3. Which database? (+1 more) (builder, app, now)\n"
        f"{PROMPT}\n"
    )


async def test_an_empty_inbox_says_so_and_is_left_with_a_word(desk: Desk, pipe: Pipe) -> None:
    await typed(desk, pipe, "list", "quit", "1")

    assert pipe.read() == (f"No agent waits for an answer.\n{PROMPT}\nNo agent waits for an answer.\n{PROMPT}\n")


@pytest.mark.parametrize("word", ["q", " quit ", "/later"])
async def test_leaving_leaves_everything_open(desk: Desk, pipe: Pipe, word: str) -> None:
    ask = await desk.post(DATABASE)

    assert (await typed(desk, pipe, word, "1", "1")).sent == 0
    assert await outcome(desk, ask) is None


async def test_a_number_opens_an_ask_and_after_its_answer_the_list_comes_again(desk: Desk, pipe: Pipe) -> None:
    first = await desk.post(DATABASE, asker=BUILDER)
    second = await desk.post(PARTS, asker=BUILDER)

    inbox = await typed(desk, pipe, "1", "2", "1", "1,2")

    assert inbox.sent == 2
    assert await outcome(desk, first) == Answered([Answer(["Postgres"])])
    assert await outcome(desk, second) == Answered([Answer(["Sign-in", "Logging"], multi_select=True)])
    assert pipe.read().endswith(f"No agent waits for an answer.\n{PROMPT}\n")


async def test_a_permission_is_opened_with_all_of_its_input_and_only_yes_allows(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(BASH, asker=BUILDER)

    inbox = await typed(desk, pipe, "open 1", "y", "", "yes")

    assert inbox.sent == 1
    assert await outcome(desk, ask) == Allowed()
    assert "    command: rm -r build\n" in pipe.read()


async def test_the_end_of_input_decides_nothing(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(BASH)

    inbox = await typed(desk, pipe, "1")

    assert (inbox.sent, await outcome(desk, ask)) == (0, None)


@pytest.mark.parametrize("word", ["3", "open 0", "show 9", "decline 9999", "snooze 3"])
async def test_a_number_that_is_not_there_is_refused(desk: Desk, pipe: Pipe, word: str) -> None:
    ask = await desk.post(DATABASE)

    await typed(desk, pipe, word)

    number = int(word.split()[-1])
    assert say("plain.no_number", number=number, last=1) in pipe.read()
    assert await outcome(desk, ask) is None


@pytest.mark.parametrize("word", ["help", "yes", "allow 1", "12345", "1.", "decline", "１", "-1", "openx 1"])
async def test_any_other_word_explains_and_does_nothing(desk: Desk, pipe: Pipe, word: str) -> None:
    ask = await desk.post(BASH)

    inbox = await typed(desk, pipe, word)

    assert say("plain_inbox.help") in pipe.read()
    assert (inbox.sent, await outcome(desk, ask)) == (0, None)


async def test_declining_a_question_and_denying_a_permission_may_give_a_reason(desk: Desk, pipe: Pipe) -> None:
    asks = [await desk.post(body) for body in (DATABASE, BASH, PARTS)]

    inbox = await typed(desk, pipe, "decline 1 let us  talk", "decline 2 not here", "decline 3")

    assert inbox.sent == 3
    assert [await outcome(desk, ask) for ask in asks] == [Declined("let us  talk"), Denied("not here"), Declined()]
    settlement = (await desk.get(asks[1].id)).settlement
    assert settlement is not None
    assert (settlement.by, settlement.surface, settlement.digest) == ("ana", "plain", BASH.digest)
    assert "✖ Declined: Which database? → let us  talk\n" in pipe.read()


async def test_an_ask_that_somebody_else_settled_meanwhile_says_so(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)
    inbox = PlainInbox(desk, pipe.lines, "ana")
    running = asyncio.ensure_future(inbox.run())
    while PROMPT not in pipe.screen.getvalue():
        await checkpoint()
    await desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="ben", surface="web")
    pipe.type("decline 1")
    os.close(pipe.writer)
    await running

    assert inbox.sent == 0
    assert "This ask is closed: answered by ben on web.\n" in pipe.read()


async def test_an_ask_that_somebody_else_settles_while_it_is_open_goes_back_to_the_list(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)
    inbox = PlainInbox(desk, pipe.lines, "ana")
    pipe.type("1")
    running = asyncio.ensure_future(inbox.run())
    while say("plain.ask_choice") not in pipe.screen.getvalue():
        await checkpoint()
    await desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="ben", surface="web")
    while not pipe.screen.getvalue().endswith(PROMPT):
        await checkpoint()
    os.close(pipe.writer)
    await running

    assert inbox.sent == 0
    assert f"This ask is closed: answered by ben on web.\nNo agent waits for an answer.\n{PROMPT}" in pipe.read()


async def test_a_snooze_hides_an_ask_from_this_person_until_its_time_has_come(
    desk: Desk, clock: FakeClock, pipe: Pipe
) -> None:
    ask = await desk.post(DATABASE)
    await desk.post(PARTS)

    await typed(desk, pipe, "snooze 1 1h")

    assert await snooze.kept(desk.shelf, "ana") == {ask.id: desk.now() + timedelta(hours=1)}
    assert await snooze.kept(desk.shelf, "ben") == {}
    assert "  1. Which parts? (agent, now)\n" in pipe.read()


async def test_a_snooze_without_a_span_is_the_shortest_and_a_wrong_one_is_refused(
    desk: Desk, clock: FakeClock, pipe: Pipe
) -> None:
    ask = await desk.post(DATABASE)

    await typed(desk, pipe, "snooze 1 forever", "snooze 1", "list")

    assert await snooze.kept(desk.shelf, "ana") == {ask.id: desk.now() + timedelta(minutes=10)}
    assert "A snooze lasts 10m, 1h, 4h, tomorrow.\n" in pipe.read()


async def test_when_a_snooze_is_over_the_ask_is_back(desk: Desk, clock: FakeClock, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)
    await snooze.keep(desk.shelf, ask.id, "ana", desk.now() + timedelta(minutes=10))
    clock.advance(599)
    inbox = PlainInbox(desk, pipe.lines, "ana")
    running = asyncio.ensure_future(inbox.run())
    while PROMPT not in pipe.screen.getvalue():
        await checkpoint()
    assert pipe.read().startswith("No agent waits")
    clock.advance(1)
    pipe.type("list")
    os.close(pipe.writer)
    await running

    assert pipe.read().startswith("\n  1. Which database?")


async def test_recommendations_are_listed_and_only_the_word_yes_sends_them(desk: Desk, pipe: Pipe) -> None:
    asks = [await desk.post(body) for body in (DATABASE, BASH, PARTS)]

    inbox = await typed(desk, pipe, "recommended", "y", "recommended", "", "recommended", "yes")

    assert inbox.sent == 1
    assert [await outcome(desk, ask) for ask in asks] == [Answered([Answer(["SQLite (Recommended)"])]), None, None]
    listed = "  agent: Which database? → SQLite (Recommended)\n"
    question = say("plain_inbox.confirm", count=1)
    nothing = f"{listed}{question}\n{say('plain_inbox.not_sent')}\n{PROMPT}\n"
    sent = f"{listed}{question}\n✔ Which database? → SQLite (Recommended)\n{PROMPT}\n"
    assert pipe.read().endswith(f"{nothing}{nothing}{sent}")


async def test_the_end_of_input_at_the_list_of_recommendations_sends_nothing(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)

    assert (await typed(desk, pipe, "recommended")).sent == 0
    assert await outcome(desk, ask) is None


async def test_what_comes_while_the_recommendations_are_listed_is_not_answered(desk: Desk, pipe: Pipe) -> None:
    first = await desk.post(DATABASE)
    inbox = PlainInbox(desk, pipe.lines, "ana")
    pipe.type("recommended")
    running = asyncio.ensure_future(inbox.run())
    while say("plain_inbox.confirm", count=1) not in pipe.screen.getvalue():
        await checkpoint()
    second = await desk.post(Question("And now?", ["Yes (Recommended)", "No"]))
    pipe.type("yes")
    os.close(pipe.writer)
    await running

    assert await outcome(desk, first) == Answered([Answer(["SQLite (Recommended)"])])
    assert await outcome(desk, second) is None


async def test_where_nothing_is_recommended_nothing_is_asked(desk: Desk, pipe: Pipe) -> None:
    await desk.post(BASH)

    await typed(desk, pipe, "recommended")

    assert say("inbox.none_recommended") in pipe.read()


async def test_settled_asks_can_be_looked_back_at_the_latest_first(desk: Desk, clock: FakeClock, pipe: Pipe) -> None:
    for number in range(3):
        ask = await desk.post(Question(f"Question {number}?", ["A", "B"]))
        clock.advance(1)
        await desk.settle(ask.id, Declined(), by="ben", surface="web")

    await typed(desk, pipe, "settled")

    assert pipe.read() == (
        f"No agent waits for an answer.\n{PROMPT}\n"
        "  1. declined by ben on web: Question 2?\n"
        "  2. declined by ben on web: Question 1?\n"
        "  3. declined by ben on web: Question 0?\n"
        f"{PROMPT}\n"
    )


async def test_settled_asks_go_on_page_after_page_and_are_read_by_their_number(
    desk: Desk, clock: FakeClock, pipe: Pipe
) -> None:
    for number in range(30):
        ask = await desk.post(Question(f"Question {number}?", ["A", "B"]))
        clock.advance(1)
        await desk.settle(ask.id, Declined(f"no to {number}"), by="ben", surface="web")

    inbox = await typed(desk, pipe, "settled", "more", "10", "decline 10", "snooze 10", "list")

    shown = pipe.read()
    assert f"  20. declined by ben on web: Question 10?\n{say('plain_inbox.more')}\n" in shown
    assert f"  10. declined by ben on web: Question 0?\n{PROMPT}" in shown
    assert shown.count("  Message: no to 0\n") == 3  # whatever was typed: nothing but reading can be done to it
    assert (inbox.sent, await snooze.kept(desk.shelf, "ana")) == (0, {})


async def test_what_was_snoozed_can_be_brought_back(desk: Desk, pipe: Pipe) -> None:
    await desk.post(DATABASE)

    await typed(desk, pipe, "snooze 1 4h", "wake")

    assert await snooze.kept(desk.shelf, "ana") == {}
    assert pipe.read().endswith(
        f"No agent waits for an answer.\n{PROMPT}\n  1. Which database? (agent, now)\n{PROMPT}\n"
    )


async def test_where_nothing_was_settled_that_is_said(desk: Desk, pipe: Pipe) -> None:
    await typed(desk, pipe, "settled")

    assert say("inbox.nothing_settled") in pipe.read()


async def test_an_ask_can_be_read_with_what_was_typed_for_it_and_stays_open(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE, asker=BUILDER)
    await draft.keep(desk.shelf, ask, "ben", Draft(v=1, given=(Given(own="MariaDB", owned=True),)))

    await typed(desk, pipe, "show 1")

    shown = pipe.read()
    assert "Which database?\n  1. SQLite (recommended by the agent)\n" in shown
    assert 'Typed by ben and not sent:\n  1. "MariaDB"\n' in shown
    assert await outcome(desk, ask) is None


async def test_what_was_given_and_not_sent_comes_back_and_goes_once_it_is_sent(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post([DATABASE, PARTS])

    await typed(desk, pipe, "1", "2", "/later", "1", "1", "yes", "q")

    assert say("plain.restored") in pipe.read()
    assert await outcome(desk, ask) == Answered([Answer(["Postgres"]), Answer(["Sign-in"], multi_select=True)])
    assert await draft.kept(desk.shelf, ask, "ana") is None


async def test_a_reason_that_cannot_be_kept_is_refused_and_the_inbox_goes_on(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)
    os.write(pipe.writer, b"decline 1 a\x00b\n")

    await typed(desk, pipe, "decline 1 no")

    assert await outcome(desk, ask) == Declined("no")


async def test_keys_that_are_not_text_do_not_become_a_reason(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)

    await typed(desk, pipe, "decline 1 \x1b[A")

    assert await outcome(desk, ask) is None


async def test_what_the_same_person_settled_elsewhere_was_not_sent_from_here(desk: Desk, pipe: Pipe) -> None:
    from anyio.lowlevel import checkpoint

    from askdesk.surfaces.terminal.plain_inbox import PlainInbox

    ask = await desk.post([DATABASE, Question("And?", ["A", "B"])])
    plain = PlainInbox(desk, pipe.lines, "ana")
    pipe.type("1", "2")
    run = asyncio.ensure_future(plain.run())
    while "And?" not in pipe.screen.getvalue():
        await checkpoint()
    await desk.settle(ask.id, Declined(), by="ana", surface="web")
    while "closed" not in pipe.screen.getvalue():
        await checkpoint()
    os.close(pipe.writer)
    await run

    assert plain.sent == 0
    assert await draft.kept(desk.shelf, ask, "ana") is not None


async def test_an_agent_cannot_write_a_row_of_its_own(desk: Desk, pipe: Pipe) -> None:
    await desk.post(
        Question("Fine?\n  2. permission: Bash ls (boss, now)\x1b[2K\u202e", ["A", "B"]),
        asker=Asker("a\n  3. b", project="/p\nq"),
    )

    await typed(desk, pipe)

    assert pipe.read() == (
        f"  1. Fine? 2. permission: Bash ls (boss, now)\\x1b[2K\\u{{202e}} (a 3. b, p q, now)\n{PROMPT}\n"
    )


async def test_settlements_name_who_and_where(desk: Desk, pipe: Pipe) -> None:
    ask = await desk.post(DATABASE)

    await typed(desk, pipe, "1", "1")

    settlement = (await desk.get(ask.id)).settlement
    assert settlement is not None
    assert settlement == Settlement(
        Answered([Answer(["SQLite (Recommended)"])]), desk.now(), settlement.submission, "ana", "plain"
    )


CLAUDE = Asker("claude", "s-1", "/srv/site")


async def told(desk: Desk) -> list[tuple[str, bool, str, str]]:
    found = [one.instruction for one in await work.told(desk.shelf, work.address(CLAUDE))]
    return [(one.text, one.stop, one.by, one.surface) for one in found]


async def test_the_agent_of_an_ask_is_told_something_without_an_answer(desk: Desk, pipe: Pipe) -> None:
    await desk.post(BASH, asker=BUILDER)
    ask = await desk.post(DATABASE, asker=CLAUDE)
    async with desk.at_work(CLAUDE):
        await typed(desk, pipe, "tell 2 use tabs, please")

    assert await told(desk) == [("use tabs, please", False, "ana", "plain")]
    assert "Kept for claude, who gets it as soon as it can take it.\n" in pipe.read()
    assert await outcome(desk, ask) is None


async def test_agents_without_an_ask_are_listed_and_their_numbers_go_with_tell(desk: Desk, pipe: Pipe) -> None:
    await desk.post(BASH, asker=BUILDER)
    async with desk.at_work(CLAUDE):
        await typed(desk, pipe, "agents", "1", "2", "tell 1 hello", "list", "tell 1 hello")

    shown = pipe.read()
    assert "  1. claude in site (has just begun)\n" in shown
    assert say("plain_inbox.no_asks") in shown
    assert say("plain.no_number", number=2, last=1) in shown
    assert "builder in app is not at work now, and could not hear it; agents lists those who are." in shown
    assert await told(desk) == [("hello", False, "ana", "plain")]


async def test_no_word_but_yes_stops_an_agent(desk: Desk, pipe: Pipe) -> None:
    async with desk.at_work(CLAUDE):
        await typed(desk, pipe, "agents", "stop 1", "", "stop 1", "y", "stop 1 wrong branch", "yes")

    assert await told(desk) == [("wrong branch", True, "ana", "plain")]
    assert 'Stop claude in site? (only "yes" stops it): ' in pipe.read()


async def test_tell_without_words_asks_for_them(desk: Desk, pipe: Pipe) -> None:
    async with desk.at_work(CLAUDE):
        await typed(desk, pipe, "agents", "tell 1")

    assert await told(desk) == []
    assert "What should claude in site be told? Type: tell 1 words" in pipe.read()


async def test_it_is_said_once_what_was_told_has_reached_the_agent(desk: Desk, pipe: Pipe) -> None:
    async with desk.at_work(CLAUDE) as at_work:
        run = asyncio.ensure_future(PlainInbox(desk, pipe.lines, "ana").run())
        pipe.type("agents", "tell 1 use tabs")
        while not await told(desk):
            await checkpoint()
        instruction = await at_work.take()
        assert instruction is not None
        await at_work.delivered(instruction)
        pipe.type("", "")
        os.close(pipe.writer)
        await run

    assert pipe.read().count("it reached claude: use tabs\n") == 1
