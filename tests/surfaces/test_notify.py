"""Notifications: what they say, that each ask is told once, and that nothing that breaks holds up anything else."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from anyio.lowlevel import checkpoint
from tests.hostile import PAYLOADS

from askdesk.core.desk import Desk
from askdesk.core.errors import MissingGuest, StoreBusy
from askdesk.core.model import Answer, Answered, Ask, Asker, Declined, Option, Permission, Question, Questions
from askdesk.core.store import Document
from askdesk.core.text import shown, width
from askdesk.stores.memory import MemoryShelf, MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.surfaces.notify import Detail, Message, Notifier, message, trial
from askdesk.surfaces.texts import speaking
from askdesk.surfaces.through_apprise import ThroughApprise, scheme
from askdesk.testing.clock import NOON, FakeClock

# Loading Apprise loads everything it knows, and some of that is old.
pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")]

OurStore: TypeAlias = MemoryStore | SQLiteStore

DATABASE = Question("Which database?", ["SQLite", "Postgres"])
SQLITE = Answered([Answer(["SQLite"])])
BUILDER = Asker("builder", project="/home/ana/app")
DETAILS: tuple[Detail, ...] = ("nothing", "names", "text")
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TOLD_AFTER = 7  # seconds: five of grace, two to gather others


def made(body: Question | Questions | Permission = DATABASE, asker: Asker = BUILDER, id: str = "3f") -> Ask:
    return Ask(id, Questions((body,)) if isinstance(body, Question) else body, asker, NOON)


def link(ask_id: str) -> str:
    return f"https://desk.example/asks/{ask_id}"


class TestMessage:
    def test_of_one_ask_it_tells_who_what_and_where(self) -> None:
        assert message([made()], "text", link) == Message(
            shown("askdesk: builder in app waits"),
            shown("Question: Which database?\nAnswer here: https://desk.example/asks/3f", lines=True),
        )

    def test_of_several_questions_it_tells_the_first(self) -> None:
        ask = made(Questions((DATABASE, Question("Why?", kind="text"))))

        assert message([ask], "text", link).body.split("\n")[0] == "First of 2 questions: Which database?"

    def test_of_a_permission_it_tells_the_tool_and_never_the_input(self) -> None:
        ask = made(Permission("Bash", {"command": "CANARY"}, folder="CANARY", description="CANARY"))
        told = message([ask], "text", link)

        assert told.body.split("\n")[0] == "Permission to use the tool Bash"
        assert "CANARY" not in "".join(told)

    def test_of_a_burst_it_tells_how_many_and_the_first_few(self) -> None:
        asks = [made(Question(f"Question {n}?", kind="text")) for n in range(6)]

        assert message(asks, "text", link) == Message(
            shown("askdesk: 6 asks wait"),
            shown(
                "• builder in app: Question: Question 0?\n"
                "• builder in app: Question: Question 1?\n"
                "• builder in app: Question: Question 2?\n"
                "• builder in app: Question: Question 3?\n"
                "• and 2 more\n"
                "Answer here: https://desk.example/asks/",
                lines=True,
            ),
        )

    def test_without_a_page_it_names_the_command(self) -> None:
        assert message([made()], "nothing", None) == Message(
            shown("askdesk: an agent waits"), shown("Answer with: askdesk inbox")
        )

    def test_it_speaks_the_person_s_language(self) -> None:
        with speaking("es"):
            told = message([made()], "text", None)

        assert told.title == "askdesk: builder en app espera"
        assert told.body == "Pregunta: Which database?\nResponde con: askdesk inbox"

    @pytest.mark.parametrize(
        ("project", "named"),
        [
            *(("/home/ana/app", "builder in app"), ("/home/ana/app//", "builder in app"), ("app", "builder in app")),
            *(("C:\\Users\\ana\\app", "builder in app"), ("", "builder"), ("/", "builder"), ("/ /", "builder")),
        ],
    )
    def test_of_a_folder_only_the_last_part_leaves_the_machine(self, project: str, named: str) -> None:
        assert (
            message([made(asker=Asker("builder", project=project))], "names", None).title == f"askdesk: {named} waits"
        )

    @pytest.mark.parametrize("count", [1, 2, 9])
    @pytest.mark.parametrize(
        ("detail", "leaves"),
        [("nothing", set()), ("names", {"AGENT", "PROJECT"}), ("text", {"AGENT", "PROJECT", "TEXT"})],
    )
    def test_no_more_leaves_the_machine_than_it_may(self, detail: Detail, leaves: set[str], count: int) -> None:
        asker = Asker("AGENT", "SESSION", "/FOLDER/PROJECT", "PARENT", "HOST", 4711)
        question = Question("TEXT", [Option("LABEL", "DESCRIPTION", "PREVIEW"), Option("OTHER")], header="HEADER")
        ask = Ask("ID", Questions((question,), "SOURCE"), asker, NOON, key="KEY")
        told = "".join(message([ask] * count, detail, lambda _: "https://desk.example/"))

        assert set(re.findall("[A-Z]{3,}|4711", told)) == leaves

    @pytest.mark.parametrize("detail", DETAILS)
    def test_hostile_texts_stay_words_on_the_line_they_are_given(self, detail: Detail) -> None:
        for payload in PAYLOADS:
            asker = Asker(payload, project=payload)
            asks = [made(Question(payload, kind="text"), asker), made(Permission(payload, {}), asker)]
            for told in (*(message([ask], detail, link) for ask in asks), message(asks * 3, detail, link)):
                assert_harmless(told)

    def test_a_question_as_long_as_a_book_is_cut(self) -> None:
        told = message([made(Question("long " * 200_000, kind="text"))], "text", link)

        assert told.body.split("\n")[0].endswith("…")
        assert_harmless(told)

    def test_marks_in_heaps_are_cut_too(self) -> None:
        assert_harmless(message([made(Question("a\u0301\u0302\u0303" * 500, kind="text"))], "text", link))

    @pytest.mark.parametrize(
        ("written", "told"),
        [
            ("See https://evil.example/?q=secret", "See https: //evil.example/?q=secret"),
            ("[Allow](https://evil.example)", "[Allow] (https: //evil.example)"),
            ("@everyone <!channel> **now**", "﹫everyone ‹!channel› ∗∗now∗∗"),
            ("Delete `__init__.py`?", "Delete ˋˍˍinitˍˍ.pyˋ?"),
        ],
    )
    def test_what_services_take_for_markup_is_written_with_what_looks_alike(self, written: str, told: str) -> None:
        assert message([made(Question(written, kind="text"))], "text", link).body.split("\n")[0] == f"Question: {told}"

    def test_of_a_url_only_the_scheme_is_told(self) -> None:
        urls = ["slack://SECRET/SECRET", "MAILTO://ana:SECRET@x", "SECRET", "SECRET:SECRET@x", "://SECRET", ""]

        assert [scheme(url) for url in urls] == ["slack://…", "mailto://…", *["a URL without a scheme"] * 4]


def assert_harmless(told: Message) -> None:
    """Short, of as many lines as were meant, each begun by us, and nothing in it but words."""
    lines = told.body.split("\n")
    assert width(told.title) <= 80
    assert len(told.title) <= 80
    assert len(told.body) <= 650
    assert len(lines) <= 6
    assert [shown(line) for line in (told.title, *lines)] == [told.title, *lines]
    assert all(re.match("askdesk: |Question: |Permission to |• |Answer here: ", line) for line in (told.title, *lines))
    *agents, ours = lines
    assert re.fullmatch("Answer here: https://desk.example/asks/(3f)?", ours)
    assert re.findall(r"[*_`~|<>@]|://|\]\(|\]\[", "\n".join([told.title, *agents])) == []


class Alarms(FakeClock):
    """A clock that knows how many wait for it. A notifier at rest does, once for itself and once for each pause."""

    @property
    def waiting(self) -> int:
        return len(self._rung())

    def _rung(self) -> list[object]:
        """What will be set when a timer rings."""
        return [getattr(wake, "__self__", None) for _, number, wake in self._timers if number not in self._stopped]

    def is_resting(self, notifier: Notifier) -> bool:
        """Whether it has nothing to do and nothing to write before a timer of its own rings."""
        return notifier._woken in self._rung() and not notifier._woken.is_set()


class Post:
    """Where messages go in tests: keeps them, with the time, and works or not as it is told."""

    def __init__(self, clock: FakeClock, works: Callable[[str], bool] = lambda _: True) -> None:
        self._clock, self.works = clock, works
        self.tried: list[tuple[datetime, str, Message]] = []
        self.got: list[tuple[datetime, str, Message]] = []

    async def __call__(self, url: str, message: Message) -> bool:
        self.tried.append((self._clock.now(), url, message))
        await checkpoint()
        if self.works(url):
            self.got.append((self._clock.now(), url, message))
            return True
        return False

    @property
    def titles(self) -> list[str]:
        return [message.title for _, _, message in self.got]

    @property
    def count(self) -> int:
        """Of how many asks was told."""
        numbers = (re.fullmatch(r"askdesk: (\d+) asks wait", title) for title in self.titles)
        return sum(int(number[1]) if number else 1 for number in numbers)

    def seconds(self, url: str = "a://") -> list[float]:
        """When a URL was tried."""
        return [(moment - NOON).total_seconds() for moment, tried, _ in self.tried if tried == url]


@pytest.fixture
async def clock() -> AsyncIterator[Alarms]:
    """After a test no task and no timer of a notifier remains."""
    clock = Alarms()
    yield clock
    left = [task for task in asyncio.all_tasks() if "otif" in str(task.get_coro()) and "test_" not in str(task)]
    assert (left, clock.waiting) == ([], 0)


@pytest.fixture
def post(clock: Alarms) -> Post:
    return Post(clock)


@pytest.fixture
def quick(clock: Alarms) -> Desk:
    """A desk where everything has happened after a few turns of the event loop."""
    return Desk(MemoryStore(), clock=clock)


@asynccontextmanager
async def notifying(
    desk: Desk, clock: FakeClock, post: Post | ThroughApprise, *urls: str, **options: Any
) -> AsyncIterator[Notifier]:
    options = {"random": lambda: 0.0, "send": post, **options}
    notifier = Notifier(desk, urls or ["a://"], clock=clock, **options)
    task = asyncio.create_task(notifier.run())
    try:
        yield notifier
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await checkpoint()


async def turns(count: int = 40) -> None:
    for _ in range(count):
        await checkpoint()


async def passing(clock: Alarms, seconds: float, step: float = 1.0) -> None:
    """Let time pass as it does, a step after the other, on a desk where everything has happened after a few turns."""
    await turns()
    for _ in range(int(seconds / step)):
        clock.advance(step)
        await turns()


async def asked(desk: Desk, text: str = "Which database?", **fields: Any) -> Ask:
    return await desk.post(Question(text, ["SQLite", "Postgres"]), asker=BUILDER, **fields)


async def answered(desk: Desk, ask: Ask) -> None:
    await desk.settle(ask.id, SQLITE, by="ana", surface="test")


async def states(desk: Desk) -> dict[str, str]:
    """What the shelf says of asks, by id."""
    documents = await desk.shelf.list("told/")
    return {document.name.removeprefix("told/"): json.loads(document.value)["state"] for document in documents}


async def test_an_ask_that_waits_is_told_once_and_stays_open(desk: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(desk, clock, post, link=link):
        ask = await asked(desk)
        await turns()
        clock.advance(TOLD_AFTER)
        await until(lambda: len(post.got) == 1)
        later = await asked(desk, "And then?")
        clock.advance(60)
        await until(lambda: len(post.got) == 2)

    assert [told for _, _, told in post.got] == [message([ask], "text", link), message([later], "text", link)]
    assert (await desk.get(ask.id)).settlement is None
    assert await states(desk) == {ask.id: "told", later.id: "told"}


async def test_an_ask_is_told_when_its_grace_and_the_window_are_over(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post, after=20 * SECOND):
        await asked(quick)
        await passing(clock, 21)
        assert post.got == []
        await passing(clock, 60)

    assert post.seconds() == [22]


async def test_who_wants_that_is_told_again_until_it_is_settled(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post, again=MINUTE):
        ask = await asked(quick)
        await passing(clock, 140)
        await answered(quick, ask)
        await passing(clock, 140)

    assert post.seconds() == [7, 69, 131]  # a window after each time


async def test_of_two_notifiers_one_tells_again(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post, again=MINUTE), notifying(quick, clock, post, again=MINUTE):
        await asked(quick)
        await passing(clock, 140)

    assert len(post.got) == 3


async def test_an_ask_settled_within_its_grace_is_not_told(desk: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(desk, clock, post):
        quickly = await asked(desk)
        other = await asked(desk, "And this?")
        await answered(desk, quickly)
        clock.advance(TOLD_AFTER)
        await until(lambda: len(post.got) == 1)

    assert [told for _, _, told in post.got] == [message([other], "text", None)]
    assert list(await states(desk)) == [other.id]


async def test_an_ask_settled_in_the_window_is_not_told(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        ask = await asked(quick)
        await passing(clock, 6)
        await answered(quick, ask)
        await passing(clock, 60)

    assert (post.got, await states(quick)) == ([], {})


async def test_an_ask_that_expires_first_is_not_told(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        await asked(quick, deadline=6 * SECOND)
        await passing(clock, 60)

    assert post.got == []


async def test_asks_that_come_together_are_told_together(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        asks = [await asked(quick)]
        await passing(clock, 1)
        asks += [await asked(quick, f"And {n}?") for n in range(2)]
        await passing(clock, 20)

    assert [told for _, _, told in post.got] == [message(asks, "text", None)]


async def test_nobody_is_told_more_often_than_every_ten_seconds(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        for number in range(60):
            await asked(quick, f"Question {number}?")
            await passing(clock, 1)
        await passing(clock, 20)

    moments = post.seconds()
    assert post.count == 60
    assert len(post.got) < 9
    assert all(later - earlier >= 10 for earlier, later in pairwise(moments))


async def test_two_servers_do_not_tell_more_often_either(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post), notifying(quick, clock, post):
        for number in range(60):
            await asked(quick, f"Question {number}?")
            await passing(clock, 1)
        await passing(clock, 20)

    moments = post.seconds()
    assert post.count == 60
    assert all(later - earlier >= 10 for earlier, later in pairwise(moments))


async def test_a_second_server_waits_for_its_turn(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        await asked(quick)
        await passing(clock, 8)
        async with notifying(quick, clock, post, after=SECOND):  # so that it is the first to want to tell
            await asked(quick, "And then?")
            await passing(clock, 30)

    assert post.seconds() == [7, 17]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_each_of_fifty_asks_is_told_once_by_two_servers(
    kind: str, tmp_path: Path, clock: Alarms, post: Post
) -> None:
    one: OurStore = MemoryStore() if kind == "memory" else await SQLiteStore.open(tmp_path / "desk.db")
    two: OurStore = one if isinstance(one, MemoryStore) else await SQLiteStore.open(tmp_path / "desk.db")
    desks = [Desk(one, clock=clock), Desk(two, clock=clock)]
    async with notifying(desks[0], clock, post) as ana, notifying(desks[1], clock, post) as ben:

        async def passing_slowly() -> None:
            clock.advance(2)
            await until(lambda: clock.is_resting(ana) and clock.is_resting(ben))

        asks: list[Ask] = []
        for wave in range(1, 6):
            asks += [await asked(desks[n % 2], f"Question {wave} {n}?") for n in range(10)]
            while post.count < 10 * wave:
                await passing_slowly()
        for _ in range(60):  # so long that each would have looked again at what the other claimed
            await passing_slowly()

    assert (post.count, await states(desks[0])) == (50, {ask.id: "told" for ask in asks})
    await one.close()
    await two.close()


async def test_after_a_restart_only_what_was_not_told_is_told(desk: Desk, clock: Alarms, post: Post) -> None:
    before = await asked(desk)
    async with notifying(desk, clock, post):
        clock.advance(TOLD_AFTER)
        await until(lambda: len(post.got) == 1)
    while_down = await asked(desk, "While you were down?")
    clock.advance(3 * 3600)
    async with notifying(desk, clock, post):
        await until(lambda: len(post.got) == 2)

    assert [told for _, _, told in post.got] == [message([before], "text", None), message([while_down], "text", None)]


async def test_what_lay_there_long_before_the_first_start_is_no_flood(desk: Desk, clock: Alarms, post: Post) -> None:
    for number in range(30):
        await asked(desk, f"Long ago {number}?")
    clock.advance(3601)
    recent = await asked(desk)
    clock.advance(60)
    async with notifying(desk, clock, post):
        await until(lambda: len(post.got) == 1)
    clock.advance(3 * 3600)
    later = await asked(desk, "Later?")
    clock.advance(60)
    async with notifying(desk, clock, post):
        await until(lambda: len(post.got) == 2)

    assert [told for _, _, told in post.got] == [message([recent], "text", None), message([later], "text", None)]


def claim(state: str, at: datetime = NOON, v: int = 1) -> str:
    return json.dumps({"v": v, "at": at.isoformat(), "state": state})


async def test_the_claim_of_a_server_that_died_is_taken_over(quick: Desk, clock: Alarms, post: Post) -> None:
    ask = await asked(quick)
    await quick.shelf.put(f"told/{ask.id}", claim("sending"))
    async with notifying(quick, clock, post):
        await passing(clock, 60)
        assert post.got == []
        await passing(clock, 60)

    assert [told for _, _, told in post.got] == [message([ask], "text", None)]
    assert await states(quick) == {ask.id: "told"}


@pytest.mark.parametrize(
    "value", [claim("told"), claim("failed"), claim("asleep"), claim("sending", v=2), "{}", "[]", '"sending"']
)
async def test_what_was_told_or_is_of_a_newer_version_is_left_alone(
    quick: Desk, clock: Alarms, post: Post, value: str
) -> None:
    ask = await asked(quick)
    kept = await quick.shelf.put(f"told/{ask.id}", value)
    async with notifying(quick, clock, post):
        await passing(clock, 200, step=10)

    assert (post.got, await quick.shelf.get(f"told/{ask.id}")) == ([], kept)


async def test_a_server_that_still_tries_keeps_its_claim(quick: Desk, clock: Alarms, post: Post) -> None:
    broken = Post(clock, lambda _: False)
    async with notifying(quick, clock, broken):
        await asked(quick)
        await passing(clock, 10)
        async with notifying(quick, clock, post):
            await passing(clock, 300)
            assert (len(broken.tried) > 3, post.got) == (True, [])
        broken.works = lambda _: True
        await passing(clock, 200)

    assert (broken.count, post.got) == (1, [])


async def test_a_server_that_slept_loses_its_claim_and_does_not_tell_again(quick: Desk, clock: Alarms) -> None:
    asleep = Post(clock, lambda _: False)
    async with notifying(quick, clock, asleep):
        ask = await asked(quick)
        await passing(clock, 10)
        assert len(asleep.tried) == 1
        asleep.works = lambda _: True
        await quick.shelf.put(f"told/{ask.id}", claim("told"))  # as one who took it over writes
        clock.advance(200)
        await passing(clock, 100)

    assert (asleep.got, len(asleep.tried)) == ([], 1)


async def test_a_server_that_slept_alone_goes_on(quick: Desk, clock: Alarms, post: Post) -> None:
    post.works = lambda _: False
    async with notifying(quick, clock, post):
        await asked(quick)
        await passing(clock, 10)
        post.works = lambda _: True
        clock.advance(200)
        await passing(clock, 10)

    assert post.count == 1


async def test_a_service_that_fails_is_tried_less_and_less_often_and_then_given_up(
    quick: Desk, clock: Alarms, post: Post, caplog: pytest.LogCaptureFixture
) -> None:
    post.works = lambda _: False
    async with notifying(quick, clock, post):
        ask = await asked(quick)
        await passing(clock, 1200)

    assert post.seconds() == [7, 17, 37, 77, 157, 277, 397, 517, 637]
    assert await states(quick) == {ask.id: "failed"}
    assert [record.getMessage() for record in caplog.records] == [
        "no notification went through a://…: it will be tried again",
        "no notification went through a://…: given up for 1 asks",
    ]


async def test_chance_makes_the_pauses_longer(quick: Desk, clock: Alarms, post: Post) -> None:
    post.works = lambda _: False
    async with notifying(quick, clock, post, random=lambda: 1.0):
        await asked(quick)
        await passing(clock, 120)

    assert post.seconds() == [7, 22, 52, 112]


async def test_a_broken_service_does_not_stop_another(quick: Desk, clock: Alarms, post: Post) -> None:
    post.works = lambda url: url == "b://"
    async with notifying(quick, clock, post, "a://", "b://", "b://"):
        first = await asked(quick)
        await passing(clock, 30)
        second = await asked(quick, "And then?")
        await passing(clock, 30)

    assert [told for _, _, told in post.got] == [message([first], "text", None), message([second], "text", None)]
    assert (post.seconds("a://"), post.seconds("b://")) == ([7, 17, 37], [7, 37])
    assert await states(quick) == {first.id: "told", second.id: "told"}


async def test_a_service_that_works_again_hears_all_that_is_still_open_at_once(
    quick: Desk, clock: Alarms, post: Post
) -> None:
    post.works = lambda _: False
    async with notifying(quick, clock, post):
        asks = [await asked(quick, f"Question {number}?") for number in range(3)]
        await passing(clock, 20)
        asks.append(await asked(quick, "Meanwhile?"))
        await answered(quick, asks[1])
        await passing(clock, 10)
        post.works = lambda _: True
        await passing(clock, 60)

    assert [told for _, _, told in post.got] == [message([asks[0], asks[2], asks[3]], "text", None)]


async def test_when_all_are_settled_nothing_is_tried_any_more(quick: Desk, clock: Alarms, post: Post) -> None:
    post.works = lambda _: False
    async with notifying(quick, clock, post):
        ask = await asked(quick)
        await passing(clock, 10)
        await answered(quick, ask)
        await passing(clock, 100)

    assert post.seconds() == [7]


async def test_a_service_that_raises_has_failed_and_its_words_are_not_logged(
    quick: Desk, clock: Alarms, post: Post, caplog: pytest.LogCaptureFixture
) -> None:
    def works(url: str) -> bool:
        if len(post.tried) == 1:
            raise RuntimeError("CANARY")
        return True

    post.works = works
    async with notifying(quick, clock, post, "slack://CANARY"):
        await asked(quick)
        await passing(clock, 30)

    assert len(post.got) == 1
    assert "a notification through slack://… failed with RuntimeError" in caplog.text
    assert "CANARY" not in caplog.text


async def test_without_urls_there_is_nothing_to_do(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)

    await Notifier(desk, []).run()


async def test_without_apprise_the_operator_is_told_what_to_install(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)

    with pytest.raises(MissingGuest, match=r"^apprise is not installed: pip install 'askdesk\[notify\]'$"):
        Notifier(desk, ["json://127.0.0.1"])


async def test_cancelled_at_any_turn_it_leaves_nothing_behind(quick: Desk, clock: Alarms, post: Post) -> None:
    assert isinstance(quick.store, MemoryStore)
    for count in range(60):
        await asked(quick, f"Question {count}?")
        clock.advance(20)
        async with notifying(quick, clock, post):
            await turns(count)
        assert not quick.store._hints
        assert list((await states(quick)).values()).count("told") == post.count  # so nothing is told again


class MoodyShelf(MemoryShelf):
    """A shelf that fails after so many writes."""

    left = 1000

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        if name.startswith("told/"):
            if self.left == 0:
                raise StoreBusy("locked")
            self.left -= 1
        return await super().put(name, value, expect=expect)


async def test_a_store_that_fails_delays_what_is_told(
    quick: Desk, clock: Alarms, post: Post, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(quick.store, MemoryStore)
    quick.store.shelf = shelf = MoodyShelf()
    async with notifying(quick, clock, post):
        asks = [await asked(quick, f"Question {number}?") for number in range(3)]
        shelf.left = 1
        await passing(clock, 35)
        assert [told for _, _, told in post.got] == [message(asks[:1], "text", None)]
        shelf.left = 1000
        await passing(clock, 30)

    assert [told for _, _, told in post.got] == [message(asks[:1], "text", None), message(asks[1:], "text", None)]
    assert await states(quick) == {ask.id: "told" for ask in asks}
    assert {record.getMessage() for record in caplog.records} == {"notifications wait for the store: locked"}


async def test_what_stands_for_asks_settled_long_ago_is_removed(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        asks = [await asked(quick, f"Question {number}?") for number in range(3)]
        await passing(clock, 10)
        await answered(quick, asks[0])
        await passing(clock, DAY.total_seconds() - 1800, step=60)
        assert len(await states(quick)) == 3
        await answered(quick, asks[1])
        await passing(clock, HOUR.total_seconds() + 60, step=60)

    assert await states(quick) == {asks[1].id: "told", asks[2].id: "told"}


async def test_cleaning_takes_a_little_at_a_time_and_comes_to_an_end(quick: Desk, clock: Alarms, post: Post) -> None:
    old = (await asked(quick)).id
    for number in range(1200):
        await quick.shelf.put(f"told/{number:032x}", claim("told", NOON - 2 * DAY))
    await quick.shelf.put(f"told/{old}", claim("told", NOON - 2 * DAY))
    async with notifying(quick, clock, post):
        await turns(5000)
        assert len(await states(quick)) == 701
        await passing(clock, 60, step=60)
        await turns(5000)
        assert len(await states(quick)) == 201
        await passing(clock, 60, step=60)
        await turns(5000)

    assert await states(quick) == {old: "told"}


class Receiver:
    """A service on loopback that does as its script says: answer with a status, lead elsewhere, or hang."""

    def __init__(self, *script: int | str) -> None:
        self.script: list[int | str] = list(script)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.requests.append((self.path, body))
                step = receiver.script.pop(0) if receiver.script else 200
                if step == "hang":
                    receiver.released.wait(20)
                    return
                self.send_response(307 if step == "redirect" else int(step))  # 307: with all that was sent
                if step == "redirect":
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *values: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"json://ana:CANARYpassword@127.0.0.1:{self.port}/CANARYpath"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    @property
    def messages(self) -> list[Message]:
        return [Message(body["title"], body["message"]) for _, body in self.requests]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receivers() -> Iterator[Callable[..., Receiver]]:
    made: list[Receiver] = []

    def make(*script: int | str) -> Receiver:
        made.append(Receiver(*script))
        return made[-1]

    yield make
    for receiver in made:
        receiver.close()


Receivers: TypeAlias = Callable[..., Receiver]


async def test_a_real_service_gets_the_message_as_plain_text(desk: Desk, clock: Alarms, receivers: Receivers) -> None:
    service = receivers()
    async with notifying(desk, clock, ThroughApprise(), service.url, link=link):
        ask = await asked(desk, "Tabs & <b>spaces</b>?\nReally?")
        await turns()
        clock.advance(TOLD_AFTER)
        await until(lambda: clock.waiting == 2)

    assert service.messages == [message([ask], "text", link)]
    assert service.paths == ["/CANARYpath"]
    assert "Tabs & ‹b›spaces‹/b›? Really?" in service.messages[0].body


@pytest.mark.parametrize("trouble", [500, 404, "hang", "redirect"])
async def test_a_real_service_that_fails_is_tried_again_with_the_same_words(
    quick: Desk, clock: Alarms, receivers: Receivers, trouble: int | str
) -> None:
    broken, works = receivers(trouble, trouble), receivers()
    ask = await asked(quick)
    clock.advance(TOLD_AFTER)
    async with notifying(quick, clock, ThroughApprise(), f"{broken.url}?rto=1", works.url):
        await until(lambda: clock.waiting == 3)  # both have been tried, and pause
        assert (len(works.requests), len(broken.requests)) == (1, 1)
        for _ in range(2):
            clock.advance(30)
            await until(lambda: clock.waiting == 2)  # the broken one has been tried again

    assert broken.messages == [message([ask], "text", None)] * 3
    assert broken.paths == ["/CANARYpath"] * 3  # and none to where it was led
    assert works.messages == [message([ask], "text", None)]


async def test_a_service_that_hangs_holds_up_neither_the_end_nor_an_ask(
    quick: Desk, clock: Alarms, receivers: Receivers
) -> None:
    service = receivers("hang")
    ask = await asked(quick)
    clock.advance(TOLD_AFTER)
    async with notifying(quick, clock, ThroughApprise(), f"{service.url}?rto=15"):
        await until(lambda: len(service.requests) == 1)
        await answered(quick, ask)

    assert (await quick.get(ask.id)).settlement is not None
    threads = [thread for thread in threading.enumerate() if thread.name == "askdesk-notify"]
    assert [thread.daemon for thread in threads] == [True]
    service.released.set()
    await until(lambda: not threads[0].is_alive())


async def test_a_url_that_hangs_has_one_thread_however_often_it_is_tried(receivers: Receivers) -> None:
    service = receivers("hang")
    url = f"{service.url}?rto=15"
    send = ThroughApprise(seconds=0.5)

    assert [await send(url, trial()) for _ in range(3)] == [False, False, False]
    assert len(service.requests) <= 1
    service.released.set()
    await until(lambda: not any(thread.name == "askdesk-notify" for thread in threading.enumerate()))
    assert await ThroughApprise()(service.url, trial())


async def test_what_is_logged_holds_no_secret_and_no_text(
    quick: Desk,
    clock: Alarms,
    receivers: Receivers,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(1)
    for name in ("apprise", "urllib3"):
        logging.getLogger(name).setLevel(1)
    works, broken = receivers(), receivers(500)
    unknown = ["slack://CANARYtoken", "nosuch://ana:CANARYpassword@host/CANARYpath", "CANARY", "json://CANARY:CANARY@"]
    await asked(quick, "CANARYtext")
    clock.advance(TOLD_AFTER)
    try:
        async with notifying(quick, clock, ThroughApprise(), works.url, broken.url, *unknown):
            await until(lambda: clock.waiting == 7)
    finally:
        for name in ("apprise", "urllib3"):
            logging.getLogger(name).setLevel(logging.NOTSET)

    assert (len(works.requests), len(broken.requests)) == (1, 1)
    logged = [record.getMessage() for record in caplog.records]
    assert "no notification went through slack://…: it will be tried again" in logged
    assert [line for line in logged if "CANARY" in line] == []
    assert "CANARY" not in "".join(capfd.readouterr())


async def test_others_may_still_log_through_the_same_library(
    receivers: Receivers, caplog: pytest.LogCaptureFixture
) -> None:
    await ThroughApprise()(receivers().url, trial())
    logging.getLogger("apprise").warning("of somebody else")

    assert "of somebody else" in caplog.text


async def test_a_declined_ask_is_as_settled_as_an_answered_one(quick: Desk, clock: Alarms, post: Post) -> None:
    async with notifying(quick, clock, post):
        ask = await asked(quick)
        await quick.settle(ask.id, Declined(), by="ana", surface="test")
        await passing(clock, 30)

    assert post.tried == []
