"""What MCP servers ask their client is asked at a desk: the real client and real servers, in both eras."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import anyio
import mcp
import pytest
from mcp.client.session import ClientSession, ElicitationFnT
from mcp.client.stdio import StdioServerParameters
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.memory import create_client_server_memory_streams
from mcp.types import CallToolRequestParams, CallToolResult, InputRequiredResult
from pydantic import BaseModel, Field
from tests.adapters.eliciting_server import call_tool, eliciting_server, saying
from tests.cli.command import surroundings

from askdesk.adapters.mcp_client import elicitation_callback
from askdesk.core.desk import Desk
from askdesk.core.errors import StoreGone
from askdesk.core.model import Answered, Ask, Asker, Declined, Entry, Question, Questions, Reply, Withdrawn
from askdesk.core.store import State
from askdesk.open import open_desk
from askdesk.stores.memory import MemoryStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import FakeClock
from askdesk.testing.people import answering, at_desk, declining

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
SERVER = Path(__file__).with_name("eliciting_server.py")

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "age": {"type": "integer", "title": "Age", "minimum": 0},
        "plan": {
            "type": "string",
            "title": "Plan",
            "oneOf": [{"const": "f", "title": "Free"}, {"const": "p", "title": "Pro"}],
        },
        "tags": {"type": "array", "title": "Tags", "items": {"enum": ["a", "b", "c"]}},
        "news": {"type": "boolean", "title": "News", "default": True},
    },
    "required": ["name", "plan"],
}
NAME, AGE, PLAN = "Who are you?\n\nName\n(at least 2 characters)", "Age\n(optional; a whole number)", "Plan"
TAGS, NEWS = "Tags\n(optional)", "News\n(optional)"


@pytest.fixture
def desk() -> Desk:
    return Desk(MemoryStore())


async def elicited(callback: ElicitationFnT, era: str, message: str = "Who are you?", **asked: Any) -> list[Any]:
    """What a server gets back when it asks through a client that has this callback."""
    async with mcp.Client(eliciting_server(), mode=era, elicitation_callback=callback) as client:
        return await told(client, message=message, **(asked or {"schema": FORM}))


async def told(client: mcp.Client, **asked: Any) -> list[Any]:
    result = await client.call_tool("elicit", asked)
    block = result.content[0]
    assert block.type == "text"
    answer: list[Any] = json.loads(block.text)
    return answer


def in_turn(*replies: Callable[[Ask], Reply]) -> tuple[list[Ask], Callable[[Ask], Any]]:
    """A person who replies to one ask after the other, and what they saw."""
    seen: list[Ask] = []

    async def present(ask: Ask) -> Reply | None:
        seen.append(ask)
        return replies[len(seen) - 1](ask)

    return seen, present


def read(*texts: str | None) -> Callable[[Ask], Reply]:
    def reply(ask: Ask) -> Reply:
        pairs = zip(ask.questions, texts, strict=True)
        return Answered([None if text is None else question.read(text) for question, text in pairs])

    return reply


@ERAS
async def test_a_form_is_an_ask_and_the_answers_go_back_as_the_schema_wants_them(desk: Desk, era: str) -> None:
    person = answering({NAME: "Ana", AGE: "41", PLAN: "Pro", TAGS: "a, c", NEWS: "No"})
    async with at_desk(desk, person):
        came = await elicited(elicitation_callback(desk, server="crm"), era)
    assert came == ["accept", {"name": "Ana", "age": 41, "plan": "p", "tags": ["a", "c"], "news": False}]
    (entry,) = (await desk.page("settled")).entries
    assert entry.ask.asker == Asker("crm", host=os.uname().nodename, process=os.getpid())


@ERAS
async def test_blanks_that_nobody_needs_are_left_out(desk: Desk, era: str) -> None:
    async with at_desk(desk, answering({NAME: "Ana", PLAN: "Free"})):
        assert await elicited(elicitation_callback(desk), era) == ["accept", {"name": "Ana", "plan": "f"}]


@ERAS
async def test_what_does_not_fit_is_asked_again_alone_until_it_does(desk: Desk, era: str) -> None:
    seen, person = in_turn(read("A", "41", "whatever is cheap", None, None), read("Ana", None), read("Free"))
    async with at_desk(desk, person):
        came = await elicited(elicitation_callback(desk, server="crm"), era)
    assert came == ["accept", {"name": "Ana", "age": 41, "plan": "f"}]
    assert [ask.body for ask in seen[1:]] == [
        Questions(
            [
                Question(f'This takes at least 2 characters; "A" has 1.\n\n{NAME}', header="Name", kind="text"),
                Question(
                    'This takes one of its options, not own words: "whatever is cheap".\n\nPlan',
                    ["Free", "Pro"],
                    header="Plan",
                ),
            ]
        ),
        Questions([Question("This needs an answer.\n\nPlan", ["Free", "Pro"], header="Plan")]),
    ]
    assert [ask.follows for ask in seen] == [None, seen[0].id, seen[1].id]
    assert {ask.asker.agent for ask in seen} == {"crm"}


async def test_somebody_who_never_fits_it_in_is_asked_five_times(desk: Desk) -> None:
    seen, person = in_turn(*[read("x")] * 5)
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}, "required": ["a"]}
    async with at_desk(desk, person):
        assert await elicited(elicitation_callback(desk), "legacy", schema=schema) == ["decline", None]
    assert len(seen) == 5


@ERAS
async def test_whoever_declines_declines_also_when_asked_again(desk: Desk, era: str) -> None:
    async with at_desk(desk, declining("not today")):
        assert await elicited(elicitation_callback(desk), era) == ["decline", None]
    _, person = in_turn(read("A", None, "Free", None, None), lambda ask: Declined())
    async with at_desk(desk, person):
        assert await elicited(elicitation_callback(desk), era) == ["decline", None]


@ERAS
async def test_what_nobody_answers_in_time_is_cancelled(era: str) -> None:
    clock = FakeClock()
    desk = Desk(MemoryStore(), clock=clock)
    callback = elicitation_callback(desk, deadline=timedelta(minutes=5))
    asking = asyncio.create_task(elicited(callback, era))
    await opened(desk)
    clock.advance(300)
    assert await asking == ["cancel", None]


async def test_the_deadline_counts_for_all_that_comes_of_a_form() -> None:
    clock = FakeClock()
    desk = Desk(MemoryStore(), clock=clock)
    asking = asyncio.create_task(elicited(elicitation_callback(desk, deadline=timedelta(minutes=5)), "legacy"))
    first = await opened(desk)
    clock.advance(180)
    await desk.settle(first.id, read("A", None, "Free", None, None)(first), by="ana", surface="test")
    second = await opened(desk)
    assert second.deadline == first.deadline
    clock.advance(120)
    assert await asking == ["cancel", None]


@ERAS
async def test_what_is_withdrawn_is_cancelled(desk: Desk, era: str) -> None:
    asking = asyncio.create_task(elicited(elicitation_callback(desk), era))
    await desk.withdraw((await opened(desk)).id)
    assert await asking == ["cancel", None]


@ERAS
async def test_a_call_that_is_given_up_takes_its_ask_back(tmp_path: Path, era: str) -> None:
    store = await SQLiteStore.open(tmp_path / "desk.db")
    desk = Desk(store)
    asking = asyncio.create_task(elicited(elicitation_callback(desk), era))
    ask = await opened(desk)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    settlement = (await desk.get(ask.id)).settlement
    assert settlement is not None
    assert settlement.outcome == Withdrawn("the agent stopped waiting")
    await store.close()


async def test_a_server_that_gives_up_takes_its_ask_back(desk: Desk) -> None:
    patience = anyio.CancelScope()

    async def called(
        context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        with patience:
            return await call_tool(context, params)
        return saying("gave up")

    callback = elicitation_callback(desk)
    async with mcp.Client(eliciting_server(called), mode="legacy", elicitation_callback=callback) as client:
        asking = asyncio.create_task(told(client, message="Who?", schema=FORM))
        await opened(desk)
        patience.cancel()
        assert await asking == ["gave up"]
        entry = await listed(desk, "settled")
    assert entry.settlement is not None
    assert entry.settlement.outcome == Withdrawn("the agent stopped waiting")


@ERAS
async def test_a_store_that_breaks_cancels_and_the_client_lives(
    desk: Desk, era: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(ask: Ask) -> Ask:
        raise StoreGone("the disk is away")

    callback = elicitation_callback(desk, server="crm")
    async with mcp.Client(eliciting_server(), mode=era, elicitation_callback=callback) as client:
        with monkeypatch.context() as patch:
            patch.setattr(desk.store, "add", broken)
            assert await told(client, message="Who?", schema=FORM) == ["cancel", None]
        assert 'the MCP server "crm" asks is cancelled, because nobody could be asked: the disk is away' in caplog.text
        async with at_desk(desk, declining()):
            assert await told(client, message="Who?", schema=FORM) == ["decline", None]


@ERAS
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            {"schema": {"type": "object", "properties": {"apiKey": {"type": "string"}}}},
            "properties.apiKey: asks for a secret",
        ),
        ({"schema": {"type": "object", "properties": {"a": {"type": "object"}}}}, "properties.a.type: must be string"),
        ({"url": "http://example.com/token=hush"}, "url: must be https outside this machine"),
        ({"url": "javascript:alert('hush')"}, "url: must say where it leads"),
        ({"url": "https://google.com@evil.com/hush"}, "url: must not have a name before its host"),
    ],
)
async def test_what_nobody_should_be_asked_is_declined_and_the_log_says_why(
    desk: Desk, era: str, asked: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "askdesk")
    assert await elicited(elicitation_callback(desk, server="crm"), era, **asked) == ["decline", None]
    (record,) = [record for record in caplog.records if record.name == "askdesk"]
    assert record.getMessage().startswith(f'what the MCP server "crm" wants to ask people is declined: {why}')
    assert "hush" not in record.getMessage()
    assert (await desk.page("open")).entries == (await desk.page("settled")).entries == ()


@ERAS
async def test_an_address_is_opened_once_a_person_chose_to(desk: Desk, era: str) -> None:
    opened_urls: list[str] = []
    callback = elicitation_callback(desk, open_url=opened_urls.append)
    seen, person = in_turn(read("Do not open it"), read("is it safe?"), read("Open it"))
    url = "https://auth.example.com/start?state=1"
    async with at_desk(desk, person):
        came = [await elicited(callback, era, message="Sign in.", url=url) for _ in range(2)]
        assert (came, opened_urls) == ([["decline", None]] * 2, [])
        assert await elicited(callback, era, message="Sign in.", url=url) == ["accept", None]
    assert opened_urls == [url]
    assert seen[0].questions[0].text.splitlines()[:3] == [
        "Open this page?",
        "Host: auth.example.com",
        f"Address: {url}",
    ]


async def test_an_address_that_a_person_opens_by_hand_is_accepted_too(desk: Desk) -> None:
    _, person = in_turn(read("Open it"))
    async with at_desk(desk, person):
        came = await elicited(elicitation_callback(desk), "legacy", message="Sign in.", url="https://example.com/")
    assert came == ["accept", None]


@pytest.mark.parametrize("is_raised", [False, True])
async def test_an_address_that_could_not_be_opened_is_cancelled(desk: Desk, is_raised: bool) -> None:
    async def open_url(url: str) -> bool:
        if is_raised:
            raise OSError("no browser")
        return False

    _, person = in_turn(read("Open it"))
    async with at_desk(desk, person):
        callback = elicitation_callback(desk, open_url=open_url)
        came = await elicited(callback, "2026-07-28", message="Sign in.", url="https://example.com/")
    assert came == ["cancel", None]


async def test_a_form_without_fields_is_accepted_by_a_person_only(desk: Desk) -> None:
    schema = {"type": "object", "properties": {}}
    _, person = in_turn(read("Accept"), read("Do not accept"))
    async with at_desk(desk, person):
        came = [await elicited(elicitation_callback(desk), "legacy", schema=schema) for _ in range(2)]
    assert came == [["accept", {}], ["decline", None]]


async def test_an_asker_of_your_own_is_the_parent_of_the_server_that_asks(desk: Desk) -> None:
    seen, person = in_turn(lambda ask: Declined(), lambda ask: Declined())
    own = Asker("builder", session="s1", project="/p")
    async with at_desk(desk, person):
        await elicited(elicitation_callback(desk, asker=own, server="crm"), "legacy")
        await elicited(elicitation_callback(desk, asker=own), "legacy")
    assert [ask.asker for ask in seen] == [Asker("crm", "s1", "/p", parent="builder"), own]


class Booking(BaseModel):
    """What a server of the usual kind asks for."""

    guests: int = Field(gt=0, le=12, description="How many of you come?")
    window: bool = True
    mail: Annotated[str, Field(pattern=r"^[^@]+@[^@]+$")] | None = None


async def test_a_form_that_the_sdk_makes_of_a_model_is_answered(desk: Desk) -> None:
    server = MCPServer("restaurant")

    @server.tool()
    async def book(context: Context) -> str:
        result = await context.elicit("A table for whom?", Booking)
        return repr(result.data) if result.action == "accept" else result.action

    seen, person = in_turn(read("0", None, None), read("4"))
    async with at_desk(desk, person):
        callback = elicitation_callback(desk, server="restaurant")
        async with mcp.Client(server, mode="legacy", elicitation_callback=callback) as client:
            result = await client.call_tool("book", {})
    assert result.content[0].type == "text"
    assert result.content[0].text == repr(Booking(guests=4))
    assert seen[1].questions[0].text.startswith("This takes a number above 0, got 0.")


async def test_a_session_takes_the_same_callback(desk: Desk) -> None:
    server = eliciting_server()
    async with (
        at_desk(desk, answering({NAME: "Ana", PLAN: "Pro"})),
        create_client_server_memory_streams() as (client_streams, server_streams),
        asyncio.TaskGroup() as tasks,
    ):
        serving = tasks.create_task(server.run(*server_streams, server.create_initialization_options()))
        async with ClientSession(*client_streams, elicitation_callback=elicitation_callback(desk)) as session:
            await session.initialize()
            result = await session.call_tool("elicit", {"message": "Who are you?", "schema": FORM})
        serving.cancel()
    assert isinstance(result, mcp.types.CallToolResult)
    assert result.content[0].type == "text"
    assert json.loads(result.content[0].text) == ["accept", {"name": "Ana", "plan": "p"}]


async def test_a_server_in_another_process_is_answered_over_its_standard_streams(desk: Desk) -> None:
    server = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with at_desk(desk, answering({NAME: "Ana", PLAN: "Pro"})):
        callback = elicitation_callback(desk, server="crm")
        async with mcp.Client(server, mode="legacy", elicitation_callback=callback) as client:
            assert await told(client, message="Who are you?", schema=FORM) == ["accept", {"name": "Ana", "plan": "p"}]


async def test_the_code_of_the_page_on_mcp_runs(tmp_path: Path) -> None:
    """The other era over standard streams: the client finds out that the server has it."""
    client, server = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[:2]
    (tmp_path / "booking.py").write_text(server, "utf-8")
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", client), stdout=subprocess.PIPE, cwd=tmp_path, env=surroundings()
    )
    guests = "A table on 2026-11-20: for how many, and where?\n\nGuests\n(a whole number)"
    async with open_desk() as desk, at_desk(desk, answering({guests: "4", "Place\n(optional)": "garden"})):
        out, _ = await asyncio.wait_for(running.communicate(), 60)
    assert (running.returncode, out) == (0, b"Booked for 4, garden.\n")


async def opened(desk: Desk) -> Ask:
    return (await listed(desk, "open")).ask


async def listed(desk: Desk, state: State) -> Entry:
    """The newest ask in a state, once there is one."""
    changed = asyncio.Event()
    stop = desk.store.hints(lambda _: changed.set())
    try:
        async with asyncio.timeout(20):
            while not (entries := (await desk.page(state, newest=True)).entries):
                await changed.wait()
                changed.clear()
    finally:
        stop()
    return entries[0]
