"""The tools of the MCP server, called by the real client in the same process, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ElicitRequestURLParams, ElicitResult, Implementation

from askdesk.adapters.mcp import Context, tool_server
from askdesk.adapters.mcp_dialog import Caller, HostDialog, Place
from askdesk.adapters.mcp_tools import DeskTools
from askdesk.core.desk import Desk
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Option,
    Permission,
    Question,
    Questions,
    Withdrawn,
)
from askdesk.core.owed import OWED
from askdesk.core.process import here
from askdesk.stores.sqlite import SQLiteStore
from askdesk.surfaces import draft
from askdesk.surfaces.elicitation import Dialog, Guard
from askdesk.testing.clock import FakeClock
from askdesk.wire import mcp

pytestmark = pytest.mark.anyio

SECONDS = 20.0
ERAS = ("legacy", "2026-07-28")
OPTIONS = [{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]
QUESTION = {"question": "Which db?", "header": "Database", "options": OPTIONS}
CALL = {"questions": [QUESTION]}
DATABASE = Question("Which db?", [Option("Postgres", "a server"), Option("SQLite", "a file")], header="Database")
DEPLOY = {"tool_name": "Bash", "input": {"command": "make deploy"}, "reason": "Tests are green"}
ANSWERED = 'ANSWERED: the person chose among your options.\n- "Which db?" = "{}"'
DECLINED = (
    "DECLINED: the person saw the questions and chose not to answer them. They gave no reason.\n"
    "This is not an answer and not consent: do not act as if a choice had been made."
)
NOT_CONSENT = "This is not an answer and not consent: do not act as if a choice had been made."
KEY = b"k" * 32
PAGE = "https://desk.example"


class House:
    """A desk with our server in front of it, and everything that a test wants to turn."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.guard = Guard(0, 0)
        self.is_attended = False
        self.has_dialog = True
        self.page: str | None = None
        self.tools = self.new_tools()

    def new_tools(self, **options: Any) -> DeskTools:
        """As after a restart."""

        def dialog(host: str) -> HostDialog:
            return Dialog(self.desk.shelf, "ana", f"{host} dialog", "mcp", guard=self.guard)

        async def page() -> str | None:
            return self.page

        async def attended() -> bool:
            return self.is_attended

        place = Place(dialog if self.has_dialog else None, page, attended)
        self.tools = DeskTools(self.desk, lambda host: Asker(host, project="web"), place, **options)
        return self.tools

    @property
    def server(self) -> Server[Any]:
        async def tools(_: Context) -> DeskTools:
            return self.tools

        return tool_server(tools, self.tools.tools, version="1", key=KEY)

    async def asked(self) -> Ask:
        """The one open ask, once it is there."""
        async with self.desk.watch() as hints, asyncio.timeout(SECONDS):
            while not (entries := (await self.desk.page("open")).entries):
                await anext(hints)
        (entry,) = entries
        return entry.ask

    async def settle(self, reply: Answered | Declined | Allowed | Denied) -> Ask:
        ask = await self.asked()
        digest = ask.permission.digest if ask.permission else None
        await self.desk.settle(ask.id, reply, by="ben", surface="page", digest=digest)
        return ask

    async def ended(self) -> Entry:
        (entry,) = (await self.desk.page("settled")).entries
        return entry


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - what is looked at tells nobody when it changes
            await asyncio.sleep(0.005)


@pytest.fixture
def house(desk: Desk) -> House:
    return House(desk)


Elicit = Callable[[Any], Awaitable[ElicitResult]]


def returning(action: str, **content: Any) -> Elicit:
    async def elicited(_: Any) -> ElicitResult:
        return ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]

    return elicited


def client(house: House, era: str, elicit: Elicit | None = None, *, name: str = "host") -> Client:
    async def callback(context: Any, params: Any) -> ElicitResult:
        assert elicit
        return await elicit(params)

    return Client(
        house.server,
        mode=era,
        client_info=Implementation(name=name, version="1"),
        elicitation_callback=callback if elicit else None,
    )


async def called(
    house: House, era: str, elicit: Elicit | None = None, name: str = mcp.ASK, given: Mapping[str, Any] | None = None
) -> tuple[bool, str]:
    async with client(house, era, elicit) as host, asyncio.timeout(SECONDS):
        return text_of(await host.call_tool(name, dict(CALL if given is None else given)))


def text_of(result: CallToolResult) -> tuple[bool, str]:
    (block,) = result.content
    assert block.type == "text"
    return result.is_error, block.text


@pytest.mark.parametrize("era", ERAS)
async def test_the_tools_are_few_short_read_only_and_always_loaded(house: House, era: str) -> None:
    async with client(house, era) as host:
        tools = (await host.list_tools()).tools
    assert [tool.name for tool in tools] == [
        *("ask_user_question", "ask_permission", "ask_without_waiting", "collect_answers"),
    ]
    for tool in tools:
        assert tool.annotations
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
        assert tool.meta == {"anthropic/alwaysLoad": True}
        assert len(tool.model_dump_json(exclude_none=True)) < 2600
    assert tools[0].input_schema["required"] == ["questions"]


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_sent_in_the_hosts_dialog_is_the_answer(house: House, era: str) -> None:
    assert await called(house, era, returning("accept", question_0="SQLite")) == (False, ANSWERED.format("SQLite"))
    entry = await house.ended()
    assert entry.ask.body == Questions([DATABASE])
    assert entry.ask.asker == Asker("host", project="web")
    assert entry.settlement
    assert (entry.settlement.outcome, entry.settlement.by, entry.settlement.surface) == (
        *(Answered([Answer(["SQLite"])]), "ana", "host dialog"),
    )


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_dialog_people_answer_at_the_desk(house: House, era: str) -> None:
    calling = asyncio.ensure_future(called(house, era))
    await house.settle(Answered([Answer(["Postgres"])]))
    assert await calling == (False, ANSWERED.format("Postgres"))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("action", "outcome"), [("decline", Declined()), ("cancel", Declined()), ("accept", Declined())]
)
async def test_who_declines_or_closes_the_only_dialog_declines(
    house: House, era: str, action: str, outcome: Declined
) -> None:
    assert await called(house, era, returning(action)) == (True, DECLINED)
    entry = await house.ended()
    assert entry.settlement
    assert (entry.settlement.outcome, entry.settlement.by) == (outcome, "ana")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["cancel", "accept"])
async def test_who_closes_the_dialog_leaves_the_ask_to_the_other_surfaces(house: House, era: str, action: str) -> None:
    house.is_attended = True
    calling = asyncio.ensure_future(called(house, era, returning(action)))
    await house.settle(Answered([Answer(["Postgres"])]))
    assert await calling == (False, ANSWERED.format("Postgres"))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel", "accept"])
async def test_a_dialog_that_ends_sooner_than_a_person_can_was_shown_to_nobody(
    house: House, era: str, action: str
) -> None:
    house.guard = Guard(60, 60)
    content = {"question_0": "Postgres"} if action == "accept" else {}
    calling = asyncio.ensure_future(called(house, era, returning(action, **content)))
    await house.settle(Answered([Answer(["SQLite"])]))
    assert await calling == (False, ANSWERED.format("SQLite"))


async def test_in_the_era_of_handshakes_an_answer_at_the_desk_takes_the_dialog_back(house: House) -> None:
    taken_back = asyncio.Event()

    async def elicited(_: Any) -> ElicitResult:
        await house.settle(Answered([Answer(["Postgres"])]))
        try:
            await asyncio.sleep(SECONDS)
        finally:
            taken_back.set()
        raise AssertionError("nobody took it back")

    assert await called(house, "legacy", elicited) == (False, ANSWERED.format("Postgres"))
    async with asyncio.timeout(SECONDS):
        await taken_back.wait()


async def test_since_2026_a_form_that_comes_too_late_is_kept_as_a_draft_and_the_settled_answer_returned(
    house: House,
) -> None:
    async def elicited(_: Any) -> ElicitResult:
        await house.settle(Answered([Answer(["Postgres"])]))
        return ElicitResult(action="accept", content={"question_0_custom": "MySQL"})

    assert await called(house, "2026-07-28", elicited) == (False, ANSWERED.format("Postgres"))
    entry = await house.ended()
    ((by, kept),) = await draft.all_kept(house.desk.shelf, entry.ask)
    assert (by, kept.given[0].own) == ("ana", "MySQL")


async def test_a_restart_between_the_dialog_and_its_answer_loses_nothing(house: House) -> None:
    """The client goes on with another process of ours, which has the same key and the same desk."""

    async def elicited(_: Any) -> ElicitResult:
        house.new_tools()
        return ElicitResult(action="accept", content={"question_0": "SQLite"})

    assert await called(house, "2026-07-28", elicited) == (False, ANSWERED.format("SQLite"))


async def test_state_that_was_not_sealed_here_is_refused(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=Asker("host", project="web"))
    state = json.dumps([ask.id, house.desk.now().isoformat(), 0, False])
    async with client(house, "2026-07-28", returning("accept", question_0="SQLite")) as host:
        with pytest.raises(Exception, match="Invalid or expired requestState"):
            await host.session.call_tool(mcp.ASK, CALL, request_state=state)
    assert (await house.desk.get(ask.id)).settlement is None


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_that_does_not_fit_is_shown_again_with_the_reason(house: House, era: str) -> None:
    shown: list[str] = []

    async def elicited(params: Any) -> ElicitResult:
        shown.append(params.message)
        return ElicitResult(action="accept", content={"question_0": "many" if len(shown) == 1 else 2})

    number = {"questions": [{"question": "How many?", "header": "Count", "kind": "number", "max": 3}]}
    assert await called(house, era, elicited, given=number) == (
        False,
        "ANSWERED WITH OWN WORDS: read what the person wrote with care. It may ask you to explain, to change course or "
        'to stop; follow what it says.\n- "How many?" = "2"',
    )
    assert shown == ["How many?", 'That was not taken: question_0: takes a number, got "many"\n\nHow many?']


STILL_OPEN = re.compile(r"STILL OPEN: .* no answer and no consent\. Ask id ([0-9a-f]{32})\. .* with `askdesk inbox`\.")


async def waited_in_vain(house: House, era: str, given: Mapping[str, Any] | None = None, name: str = mcp.ASK) -> str:
    """Call without an answer, until the host's time is nearly over: the ask's id."""
    clock = house.desk._clock
    assert isinstance(clock, FakeClock)
    calling = asyncio.ensure_future(called(house, era, name=name, given=given))
    await house.asked()
    async with asyncio.timeout(SECONDS):
        while not calling.done():
            clock.advance(10)
            await asyncio.sleep(0.005)
    is_error, text = calling.result()
    found = STILL_OPEN.fullmatch(text)
    assert found, text
    assert not is_error
    return found[1]


@pytest.mark.parametrize("era", ERAS)
async def test_before_the_host_gives_up_it_is_told_that_the_ask_is_still_open_and_the_same_call_attaches_again(
    house: House, era: str
) -> None:
    ask_id = await waited_in_vain(house, era)
    assert await waited_in_vain(house, era) == ask_id
    await house.settle(Answered([Answer(["SQLite"])]))
    assert await called(house, era) == (False, ANSWERED.format("SQLite"))
    assert await waited_in_vain(house, era) != ask_id  # its answer is delivered, so this is another ask


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", [mcp.ASK, mcp.COLLECT])
async def test_a_call_with_the_ask_id_goes_on_waiting_for_it(house: House, era: str, name: str) -> None:
    ask_id = await waited_in_vain(house, era)
    given = {"ask_id": ask_id} if name == mcp.COLLECT else {**CALL, "ask_id": ask_id}
    calling = asyncio.ensure_future(called(house, era, name=name, given=given))
    await house.settle(Answered([Answer(["SQLite"])]))
    assert await calling == (False, ANSWERED.format("SQLite"))


async def test_nobody_gets_the_answer_to_an_ask_of_somebody_else(house: House) -> None:
    other = await house.desk.leave(DATABASE, asker=Asker("another", project="web"))
    await house.desk.settle(other.id, Answered([Answer(["SQLite"])]), by="ben", surface="page")
    refused = f'NOT ASKED: the call breaks these rules; mend it and call again.\nask_id: there is no ask "{other.id}"'
    assert await called(house, "legacy", name=mcp.COLLECT, given={"ask_id": other.id}) == (True, refused)
    assert await called(house, "legacy", name=mcp.COLLECT, given={}) == (
        False,
        "NOTHING NEW: nothing that you asked is open or waits to be collected.",
    )


async def test_naming_an_ask_of_somebody_else_leaves_it_as_it_was(house: House) -> None:
    other = await house.desk.leave(DATABASE, asker=Asker("another", project="web"))
    is_error, _ = await called(house, "legacy", given={**CALL, "ask_id": other.id})
    assert (is_error, (await house.desk.get(other.id)).settlement) == (True, None)


async def test_a_yes_to_one_call_is_not_told_of_another_under_its_id(house: House) -> None:
    ask_id = await waited_in_vain(house, "legacy", DEPLOY, mcp.PERMIT)
    await house.settle(Allowed())
    for other in ({**DEPLOY, "input": {"command": "rm -r /"}}, DEPLOY):
        is_error, text = await called(house, "legacy", name=mcp.PERMIT, given={**other, "ask_id": ask_id})
        if other is not DEPLOY:
            assert (is_error, text.splitlines()[1:]) == (
                True,
                [f"ask_id: {ask_id} asked something else than these arguments"],
            )
    assert (is_error, text) == (False, "ALLOWED: the person allowed this call as it is.")


async def test_a_yes_that_an_earlier_run_of_the_agent_got_is_not_for_the_next(house: House) -> None:
    earlier = Asker("host", project="web", host=here()[0], process=2**22 - 1)  # which is gone
    call = Permission("Bash", {"command": "make deploy"}, "web", "Tests are green")
    ask = await house.desk.leave(call, asker=earlier, call=call.digest)
    await house.desk.settle(ask.id, Allowed(), by="ben", surface="page", digest=call.digest)
    calling = asyncio.ensure_future(called(house, "legacy", name=mcp.PERMIT, given=DEPLOY))
    assert (await house.settle(Denied())).id != ask.id
    assert (await calling)[0]


async def test_the_same_call_twice_at_once_is_one_ask(house: House) -> None:
    async with client(house, "legacy") as host:
        calls = [asyncio.ensure_future(host.call_tool(mcp.ASK, CALL)) for _ in range(3)]
        await until(lambda: sum(house.tools._waiting.values()) == 3)
        await house.settle(Answered([Answer(["SQLite"])]))
        assert [text_of(await call)[1] for call in calls] == [ANSWERED.format("SQLite")] * 3
    assert (await house.desk.page("open")).entries == ()


async def test_what_was_left_twice_is_left_once(house: House) -> None:
    async with client(house, "legacy") as host:
        one, two = [text_of(await host.call_tool(mcp.LEAVE, CALL)) for _ in range(2)]
    assert one == two


async def test_of_two_calls_for_one_ask_the_one_that_is_taken_back_leaves_the_other_its_ask(house: House) -> None:
    async with client(house, "legacy") as host:
        one, two = [asyncio.ensure_future(host.call_tool(mcp.ASK, CALL)) for _ in range(2)]
        await until(lambda: sum(house.tools._waiting.values()) == 2)
        one.cancel()
        await until(lambda: sum(house.tools._waiting.values()) == 1)
        await house.settle(Answered([Answer(["SQLite"])]))
        assert text_of(await two) == (False, ANSWERED.format("SQLite"))


async def test_what_was_left_is_not_taken_back_with_a_call_that_waited_for_it_too(house: House) -> None:
    async with client(house, "legacy") as host:
        await host.call_tool(mcp.LEAVE, CALL)
        calling = asyncio.ensure_future(host.call_tool(mcp.ASK, CALL))
        await until(lambda: bool(house.tools._waiting))
        calling.cancel()
        await until(lambda: not house.tools._waiting)
        ask = await house.settle(Answered([Answer(["SQLite"])]))
        assert text_of(await host.call_tool(mcp.COLLECT, {}))[1] == f"Ask id {ask.id}. {ANSWERED.format('SQLite')}"


async def test_a_host_that_cannot_hear_any_more_gets_the_answer_when_it_comes_again(house: House) -> None:
    async def tell(_: float) -> None:
        pass

    gone = Caller("host", tell, is_gone=lambda: True)
    calling = asyncio.ensure_future(house.tools.call(mcp.ASK, CALL, gone))
    await house.settle(Answered([Answer(["SQLite"])]))
    await calling
    assert await called(house, "legacy") == (False, ANSWERED.format("SQLite"))


async def test_collected_permissions_say_which_call_each_was(house: House) -> None:
    ask_id = await waited_in_vain(house, "legacy", DEPLOY, mcp.PERMIT)
    await house.settle(Allowed())
    assert await called(house, "legacy", name=mcp.COLLECT, given={}) == (
        False,
        f'Ask id {ask_id}. For "Bash" with "{{\\"command\\": \\"make deploy\\"}}": '
        "ALLOWED: the person allowed this call as it is.",
    )


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_that_lost_the_race_by_a_moment_is_kept_as_a_draft(
    house: House, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = house.desk.settle

    async def somebody_was_quicker(ask_id: str, reply: Any, **how: Any) -> Any:
        monkeypatch.setattr(house.desk, "settle", settle)
        await settle(ask_id, Answered([Answer(["Postgres"])]), by="ben", surface="page")
        return await settle(ask_id, reply, **how)

    monkeypatch.setattr(house.desk, "settle", somebody_was_quicker)
    elicited = returning("accept", question_0_custom="MySQL")
    assert await called(house, era, elicited) == (False, ANSWERED.format("Postgres"))
    ((_, kept),) = await draft.all_kept(house.desk.shelf, (await house.ended()).ask)
    assert kept.given[0].own == "MySQL"


async def test_a_page_that_was_opened_is_not_opened_again_by_the_same_call(house: House) -> None:
    house.page = PAGE
    opened = 0

    async def elicited(_: Any) -> ElicitResult:
        nonlocal opened
        opened += 1
        return ElicitResult(action="accept")

    clock = house.desk._clock
    assert isinstance(clock, FakeClock)
    for _ in range(2):
        calling = asyncio.ensure_future(called(house, "legacy", elicited, given=PREVIEWED))
        await house.asked()
        await until(lambda: opened > 0)
        async with asyncio.timeout(SECONDS):
            while not calling.done():
                clock.advance(10)
                await asyncio.sleep(0.005)
    assert opened == 1


async def test_who_may_not_answer_in_the_dialog_is_still_led_to_the_page(house: House) -> None:
    house.has_dialog, house.page = False, PAGE
    house.new_tools()
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def elicited(params: Any) -> ElicitResult:
        opened.set_result(params.url)
        return ElicitResult(action="decline")

    calling = asyncio.ensure_future(called(house, "legacy", elicited, given=PREVIEWED))
    url = await asyncio.wait_for(opened, SECONDS)
    ask = await house.settle(Answered([Answer(["SQLite"])]))
    assert (await calling, url) == ((False, ANSWERED.format("SQLite")), f"{PAGE}/asks/{ask.id}")


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_host_takes_back_is_withdrawn(house: House, era: str) -> None:
    async with client(house, era) as host:
        calling = asyncio.ensure_future(host.call_tool(mcp.ASK, CALL))
        ask = await house.asked()
        calling.cancel()
        async with asyncio.timeout(SECONDS):
            settlement = await house.desk.wait(ask.id)
    assert settlement
    assert settlement.outcome == Withdrawn("the agent stopped waiting")
    async with asyncio.timeout(SECONDS):
        while await house.desk.shelf.list(OWED):  # noqa: ASYNC110 - the shelf gives no hints
            await asyncio.sleep(0.01)


async def test_when_the_server_ends_what_was_asked_stays_open(house: House) -> None:
    async with client(house, "legacy") as host:
        calling = asyncio.ensure_future(host.call_tool(mcp.ASK, CALL))
        ask = await house.asked()
        house.tools.is_ending = True
        calling.cancel()
    assert (await house.desk.get(ask.id)).settlement is None
    house.new_tools()
    again = asyncio.ensure_future(called(house, "legacy"))
    assert (await house.settle(Answered([Answer(["SQLite"])]))).id == ask.id
    assert await again == (False, ANSWERED.format("SQLite"))


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_goes_on_working_and_collects_what_was_answered_once(house: House, era: str) -> None:
    async with client(house, era) as host:
        left = text_of(await host.call_tool(mcp.LEAVE, CALL))
        ask = await house.asked()
        assert left == (
            False,
            f"ASKED: ask id {ask.id}. Go on with other work; collect_answers has the answer once there is one. The "
            "user can answer with `askdesk inbox`.",
        )
        assert text_of(await host.call_tool(mcp.COLLECT, {})) == (
            False,
            f"NOTHING NEW: nobody has answered since. Still open: {ask.id}.",
        )
        waiting = asyncio.ensure_future(host.call_tool(mcp.COLLECT, {"wait": True}))
        await house.settle(Answered([Answer(["SQLite"])]))
        assert text_of(await waiting) == (False, f"Ask id {ask.id}. {ANSWERED.format('SQLite')}")
        assert text_of(await host.call_tool(mcp.COLLECT, {})) == (
            False,
            "NOTHING NEW: nothing that you asked is open or waits to be collected.",
        )


@pytest.mark.parametrize("era", ERAS)
async def test_a_permission_is_asked_for_as_it_is(house: House, era: str) -> None:
    shown: list[str] = []

    async def elicited(params: Any) -> ElicitResult:
        shown.append(params.message)
        return ElicitResult(action="accept", content={"decision": "allow"})

    assert await called(house, era, elicited, mcp.PERMIT, DEPLOY) == (
        False,
        "ALLOWED: the person allowed this call as it is.",
    )
    entry = await house.ended()
    assert entry.ask.body == Permission("Bash", {"command": "make deploy"}, "web", "Tests are green")
    assert "make deploy" in shown[0]


PERMITTED: list[tuple[Allowed | Denied, bool, str]] = [
    (
        Allowed('{"command": "make -n deploy"}'),
        False,
        "ALLOWED WITH CHANGES: the person changed the input; the call runs with their version. It is: "
        '{"command": "make -n deploy"}',
    ),
    (
        Denied("not on Fridays"),
        True,
        'DENIED: the person did not allow this call; it did not run. They said: "not on Fridays"',
    ),
]


@pytest.mark.parametrize(("reply", "is_error", "text"), PERMITTED)
async def test_what_people_decide_at_the_desk_is_what_the_model_reads(
    house: House, reply: Allowed | Denied, is_error: bool, text: str
) -> None:
    calling = asyncio.ensure_future(called(house, "legacy", name=mcp.PERMIT, given=DEPLOY))
    await house.settle(reply)
    assert await calling == (is_error, text)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_permission_whose_only_dialog_is_closed_is_denied(house: House, action: str) -> None:
    is_error, text = await called(house, "legacy", returning(action), mcp.PERMIT, DEPLOY)
    assert (is_error, text) == (True, "DENIED: the person did not allow this call; it did not run.")


PREVIEWED = {"questions": [{**QUESTION, "options": [{**OPTIONS[0], "preview": "# one"}, OPTIONS[1]]}]}


@pytest.mark.parametrize("era", ERAS)
async def test_previews_are_compared_on_the_page_where_one_is_served_and_the_host_opens_links(
    house: House, era: str
) -> None:
    house.page = PAGE
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def elicited(params: Any) -> ElicitResult:
        opened.set_result(params)
        return ElicitResult(action="accept")

    calling = asyncio.ensure_future(called(house, era, elicited, given=PREVIEWED))
    link = await asyncio.wait_for(opened, SECONDS)
    ask = await house.settle(Answered([Answer(["SQLite"])]))
    assert (await calling)[1] == ANSWERED.format("SQLite")
    assert isinstance(link, ElicitRequestURLParams)
    assert (link.message, link.url) == ("Which db?", f"{PAGE}/asks/{ask.id}")


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_page_previews_stand_in_the_form(house: House, era: str) -> None:
    shown: list[Any] = []

    async def elicited(params: Any) -> ElicitResult:
        shown.append(params.requested_schema["properties"]["question_0"]["description"])
        return ElicitResult(action="accept", content={"question_0": "SQLite"})

    await called(house, era, elicited, given=PREVIEWED)
    assert shown == ["Preview of Postgres:\n# one"]


UNFIT: list[tuple[str, Mapping[str, Any], str]] = [
    (mcp.ASK, {}, "questions: is required"),
    (mcp.ASK, {"questions": []}, "questions: needs 1-20, has 0"),
    (mcp.ASK, {**CALL, "ask_id": 7}, "ask_id: must be text, is 7"),
    (mcp.LEAVE, {"questions": "?"}, 'questions: must be an array, is "?"'),
    (mcp.PERMIT, {}, "tool_name: must be text, is null\ninput: must be an object, is null"),
    (
        mcp.PERMIT,
        {**DEPLOY, "always": True},
        "always: is not a parameter; they are tool_name, input, reason",
    ),
    (mcp.COLLECT, {"ask_id": "nope"}, 'ask_id: there is no ask "nope"'),
    (
        mcp.COLLECT,
        {"wait": "no", "foo": 1},
        'wait: must be true or false, is "no"\nfoo: is not a parameter; they are ask_id, wait',
    ),
    (mcp.LEAVE, {**CALL, "ask_id": "x"}, "ask_id: is not a parameter; the parameters are questions and metadata"),
]


@pytest.mark.parametrize(("name", "given", "problems"), UNFIT)
async def test_a_call_that_breaks_a_rule_is_told_which_and_asks_nobody(
    house: House, name: str, given: Mapping[str, Any], problems: str
) -> None:
    refused = f"NOT ASKED: the call breaks these rules; mend it and call again.\n{problems}"
    assert await called(house, "2026-07-28", name=name, given=given) == (True, refused)
    assert (await house.desk.page("open")).entries == ()


async def test_when_the_store_breaks_nobody_is_said_to_have_answered(tmp_path: Path) -> None:
    store = await SQLiteStore.open(tmp_path / "broken.db")
    await store.close()
    assert await called(House(Desk(store)), "legacy") == (
        True,
        "NOT ANSWERED: nobody could be asked. This is not an answer and not consent: do not work around it.",
    )


@pytest.mark.parametrize("era", ERAS)
async def test_a_host_that_accepts_everything_unread_answers_nothing(house: House, era: str) -> None:
    """Empty forms are what hosts send that approve by themselves: there is nothing required, and no default."""
    house.is_attended = True
    calling = asyncio.ensure_future(called(house, era, returning("accept")))
    await house.settle(Declined("later"))
    is_error, text = await calling
    assert (is_error, text.splitlines()[0].startswith("DECLINED")) == (True, True)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-code", mcp.Host(86_400, lines=4)),
        ("codex-mcp-client", mcp.Host(300, pauses=True, dialect="narrow")),
        ("Cursor", mcp.Host(60)),
        ("nobody knows", mcp.Host(60)),
    ],
)
def test_hosts_are_known_by_their_names(name: str, known: mcp.Host) -> None:
    assert mcp.host(name) == known
