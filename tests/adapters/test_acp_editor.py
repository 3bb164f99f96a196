"""An ask in an editor, over a real wire: which way it is shown, and what each way of closing it comes to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultDeny, ToolPermissionContext
from tests.acp.editor import Editor, accepting, connected, picking, returning
from tests.acp.room import house

from askdesk.adapters import acp_editor
from askdesk.adapters.acp_connection import Peer, RequestError
from askdesk.adapters.acp_updates import Updates
from askdesk.adapters.claude_gate import CalledOff, Gate
from askdesk.core.desk import Desk
from askdesk.core.model import Answer, Answered, Ask, Asker, Declined, Outcome, Question, Questions, Withdrawn
from askdesk.stores.memory import MemoryStore
from askdesk.surfaces.elicitation import Guard
from askdesk.wire import tool
from askdesk.wire.acp import Client

pytestmark = pytest.mark.anyio

DATABASE = Question("Which db?", options=["Postgres", "SQLite"], header="Choice")
PARTS = Question("Which parts?", options=["Sign-in", "Logs", "Mail"], header="Parts", multi_select=True)
POSTGRES = Answered((Answer(("Postgres",)),))
FORM, URL, BARE = Client(form=True), Client(url=True), Client()
WAITS = "This waits for an answer at the desk: askdesk inbox"
PAGE = "http://127.0.0.1:1"
SLOW = Guard(60, 60)  # nobody is so quick as the script is here


class Shown:
    """An ask that is being shown."""

    def __init__(self, desk: Desk, ask: Ask, editor: Editor, showing: asyncio.Future[None]) -> None:
        self.desk, self.ask, self.editor, self.showing = desk, ask, editor, showing

    async def outcome(self) -> Outcome:
        settlement = await self.desk.wait(self.ask.id, timeout=30)
        assert settlement
        return settlement.outcome

    async def ended(self) -> Outcome:
        await self.showing
        return await self.outcome()

    async def waits(self) -> None:
        """It is open, and the editor says where to answer it; then somebody does."""
        await self.editor.until(lambda: WAITS in self.editor.said)
        assert (await self.desk.get(self.ask.id)).settlement is None
        await self.desk.withdraw(self.ask.id)
        assert await self.ended() == Withdrawn()


@asynccontextmanager
async def shown(
    client: Client, *questions: Question, answers: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[Shown]:
    desk = Desk(MemoryStore())
    async with connected() as (editor, reader, writer):
        editor.answers.update(answers or {})
        peer = Peer({}, writer, reader)
        hearing = asyncio.ensure_future(peer.run())
        surface = acp_editor.Editor(desk, peer, client, house(desk, **more), "session_1", Updates("/srv"))
        ask = await desk.post(Questions(questions or (DATABASE,)), asker=Asker("claude"), key="toolu_1")
        showing = asyncio.ensure_future(surface.show(ask))
        try:
            yield Shown(desk, ask, editor, showing)
        finally:
            showing.cancel()
            await asyncio.wait((showing,))
            hearing.cancel()
            await asyncio.wait((hearing,))


def form(answer: Any) -> dict[str, Any]:
    return {"elicitation/create": answer}


def permission(*answers: Any) -> dict[str, Any]:
    """Answers one request after the other; the last one answers all that follow."""
    left = list(answers)

    async def answer(params: dict[str, Any]) -> Any:
        return await (left.pop(0) if len(left) > 1 else left[0])(params)

    return {"session/request_permission": answer}


async def test_own_words_in_a_form_are_an_answer() -> None:
    async with shown(FORM, answers=form(accepting(question_0="Oracle"))) as here:
        assert await here.ended() == Answered((Answer(other="Oracle"),))
    async with shown(FORM, answers=form(accepting(question_0_custom="Oracle"))) as here:
        assert await here.ended() == Answered((Answer(other="Oracle"),))


async def test_an_empty_form_declines_where_nobody_else_could_answer() -> None:
    async with shown(FORM, answers=form(accepting())) as here:
        assert await here.ended() == Declined()


async def test_an_empty_form_leaves_it_to_those_who_attend_the_desk() -> None:
    async with shown(FORM, answers=form(accepting()), attended=True) as here:
        await here.waits()


async def test_a_form_that_does_not_fit_is_shown_again_with_the_reason() -> None:
    tried = iter([{"question_0": {"no": "text"}}, {"question_0": "Postgres"}])

    async def answer(params: dict[str, Any]) -> Any:
        return {"action": "accept", "content": next(tried)}

    async with shown(FORM, answers=form(answer)) as here:
        assert await here.ended() == POSTGRES
        first, second = [params["message"] for _, params in here.editor.asked]
    assert first == "Which db?"
    assert second.startswith("That was not taken: question_0: must be text")


async def test_a_closed_form_leaves_it_to_those_who_attend_the_desk() -> None:
    async with shown(FORM, answers=form(returning({"action": "cancel"})), attended=True) as here:
        await here.waits()


async def test_a_form_that_is_closed_is_called_off_where_nobody_else_could_answer() -> None:
    async with shown(FORM, answers=form(returning({"action": "cancel"}))) as here:
        with pytest.raises(CalledOff, match=r"^User cancelled the question$"):
            await here.showing
        assert await here.outcome() == Declined(stop=True)


@pytest.mark.parametrize("result", [{"action": "_else"}, {}, None, [1]])
async def test_what_is_no_result_of_a_form_is_nobodys_decision(result: Any) -> None:
    async with shown(FORM, answers=form(returning(result))) as here:
        await here.waits()


async def test_a_form_that_was_sent_when_somebody_else_had_answered_is_kept_as_a_draft() -> None:
    async with shown(FORM, answers={}) as here:

        async def answer(params: dict[str, Any]) -> Any:
            here.desk.settle = _too_late(here.desk)  # type: ignore[method-assign]
            return {"action": "accept", "content": {"question_0": "SQLite"}}

        here.editor.answers.update(form(answer))
        assert await here.ended() == POSTGRES
        assert await _drafts(here) == ['{"v":1,"given":[{"picked":[1]}]}']


def _too_late(desk: Desk) -> Any:
    """Somebody else is first by a hair."""
    settle = desk.settle

    async def settled(ask_id: str, *args: Any, **more: Any) -> Any:
        await settle(ask_id, POSTGRES, by="ben", surface="page")
        return await settle(ask_id, *args, **more)

    return settled


async def _drafts(here: Shown) -> list[str]:
    return [document.value for document in await here.desk.shelf.list(f"draft/{here.ask.id}/") if document.value]


@pytest.mark.parametrize(
    "result",
    [
        {"action": "accept", "content": {"question_0": "Postgres"}},
        {"action": "accept", "content": {}},
        {"action": "decline"},
        {"action": "cancel"},
    ],
)
async def test_a_form_that_comes_back_sooner_than_from_a_person_was_shown_to_nobody(result: Any) -> None:
    async with shown(FORM, answers=form(returning(result)), guard=SLOW) as here:
        await here.waits()


async def test_a_client_that_refuses_the_form_says_where_to_answer() -> None:
    async def refuse(params: dict[str, Any]) -> Any:
        raise RequestError.invalid_params()

    async with shown(FORM, answers=form(refuse)) as here:
        await here.waits()


async def test_air_gets_its_marks_and_others_do_not() -> None:
    mark = {"questionId": "question_0", "isCustomAnswer": True}
    for client, meta in (
        (FORM, None),
        (
            FORM._replace(air=True),
            {
                "_askUserQuestionCustomAnswer": mark,
                "jetbrains": {"air": {"version": 1, "customAnswer": mark}},
            },
        ),
    ):
        async with shown(client, answers=form(accepting(question_0="Postgres"))) as here:
            await here.ended()
            ((_, params),) = here.editor.asked
        assert params["requestedSchema"]["properties"]["question_0_custom"].get("_meta") == meta


async def test_without_forms_the_editor_leads_to_the_page_and_hears_when_it_is_done() -> None:
    async with shown(URL, answers=form(returning({"action": "accept"})), page=PAGE) as here:
        await here.editor.until(lambda: here.editor.asked)
        ((_, params),) = here.editor.asked
        assert {name: params[name] for name in params if name != "_meta"} == {
            "mode": "url",
            "sessionId": "session_1",
            "toolCallId": "toolu_1",
            "message": "Which db?",
            "url": f"{PAGE}/asks/{here.ask.id}",
            "elicitationId": here.ask.id,
        }
        assert (await here.desk.get(here.ask.id)).settlement is None
        await here.desk.settle(here.ask.id, POSTGRES, by="ben", surface="page")
        assert await here.ended() == POSTGRES
        await here.editor.until(lambda: here.editor.completed)
        assert here.editor.completed == [here.ask.id]


async def test_a_declined_page_is_declined_and_a_closed_one_is_not() -> None:
    async with shown(URL, answers=form(returning({"action": "decline"})), page=PAGE, attended=True) as here:
        assert await here.ended() == Declined()
    async with shown(URL, answers=form(returning({"action": "cancel"})), page=PAGE, attended=True) as here:
        await here.waits()


async def test_an_editor_without_any_way_says_where_to_answer() -> None:
    for client, page in ((BARE, None), (BARE, PAGE), (URL, None)):
        async with shown(client, page=page) as here:
            await here.waits()
            assert here.editor.asked == []


async def test_an_editor_that_may_not_settle_says_where_to_answer() -> None:
    async with shown(FORM, settles=False) as here:
        await here.waits()
        assert here.editor.asked == []


async def test_an_editor_that_may_not_settle_leads_to_the_page_where_people_can() -> None:
    async with shown(URL, settles=False, page=PAGE, answers=form(returning({"action": "accept"}))) as here:
        await here.editor.until(lambda: here.editor.asked)
        assert here.editor.asked[0][1]["url"] == f"{PAGE}/asks/{here.ask.id}"
        await here.desk.settle(here.ask.id, POSTGRES, by="ben", surface="page")
        assert await here.ended() == POSTGRES
    async with shown(URL, settles=False, page=PAGE, answers=form(returning({"action": "decline"}))) as here:
        await here.waits()


async def test_in_the_safe_shape_each_question_is_one_request_and_several_are_collected() -> None:
    answers = permission(
        picking("SQLite"), picking("Logs"), picking("__other__", customText="Chat"), picking("__done__")
    )
    async with shown(BARE, DATABASE, PARTS, answers=answers, shape="safe") as here:
        assert await here.ended() == Answered((Answer(("SQLite",)), Answer(("Logs",), "Chat", multi_select=True)))
        offered = [[option["optionId"] for option in params["options"]] for _, params in here.editor.asked]
    assert offered == [
        ["__skip__", "Postgres", "SQLite", "__other__", "__cancel__"],
        ["__skip__", "Sign-in", "Logs", "Mail", "__other__", "__cancel__"],
        ["__done__", "Sign-in", "Mail", "__other__", "__cancel__"],
        ["__done__", "Sign-in", "Mail", "__other__", "__cancel__"],
    ]


async def test_in_the_safe_shape_who_approves_everything_at_once_has_answered_nothing() -> None:
    async def approve(params: dict[str, Any]) -> Any:
        first = next(option for option in params["options"] if option["kind"].startswith("allow"))
        return {"outcome": {"outcome": "selected", "optionId": first["optionId"]}}

    answers = {"session/request_permission": approve}
    async with shown(BARE, DATABASE, PARTS, answers=answers, shape="safe") as here:  # and takes its time
        assert await here.ended() == Declined()
    async with shown(BARE, DATABASE, PARTS, answers=answers, shape="safe", guard=Guard()) as here:
        await here.waits()
    async with shown(BARE, DATABASE, answers=answers, shape="exact", guard=Guard()) as here:  # which is not safe
        assert await here.ended() == POSTGRES


async def test_in_the_safe_shape_who_picks_too_quickly_has_answered_nothing() -> None:
    async with shown(BARE, answers=permission(picking("Postgres")), shape="safe", guard=Guard()) as here:
        await here.waits()


async def test_in_the_safe_shape_what_was_answered_before_a_cancel_is_kept_in_it() -> None:
    answers = permission(picking("SQLite"), picking("__cancel__"))
    async with shown(BARE, DATABASE, PARTS, answers=answers, shape="safe") as here:
        with pytest.raises(CalledOff):
            await here.showing
        assert await here.outcome() == Declined(so_far=(Answer(("SQLite",)), None), stop=True)


async def test_in_the_safe_shape_what_was_answered_before_a_pick_that_does_not_count_is_kept_as_a_draft() -> None:
    answers = permission(picking("SQLite"), picking("Elsewhere"))
    async with shown(BARE, DATABASE, PARTS, answers=answers, shape="safe") as here:
        await here.editor.until(lambda: WAITS in here.editor.said)
        assert await _drafts(here) == ['{"v":1,"given":[{"picked":[1]},{}]}']
        await here.waits()


@pytest.mark.parametrize("shape", ["safe", "exact"])
async def test_a_cancelled_question_is_called_off(shape: str) -> None:
    answers = permission(returning({"outcome": {"outcome": "cancelled"}}))
    async with shown(BARE, answers=answers, shape=shape, attended=True) as here:
        with pytest.raises(CalledOff, match=r"^User cancelled the question$"):
            await here.showing
        assert await here.outcome() == Declined(stop=True)


async def test_what_was_not_offered_is_no_answer_in_either_shape() -> None:
    for shape, option in (("safe", "MongoDB"), ("exact", "__skip__"), ("exact", "__cancel__"), ("exact", "")):
        async with shown(BARE, answers=permission(picking(option)), shape=shape) as here:
            await here.waits()


async def test_an_editor_that_vanishes_settles_nothing() -> None:
    async with shown(FORM) as here:
        await here.editor.until(lambda: here.editor.asked)
        await here.editor.leave()
        assert await here.desk.wait(here.ask.id, timeout=0.05) is None


async def test_a_question_that_is_called_off_denies_and_interrupts_with_the_message_that_clients_know() -> None:
    desk = Desk(MemoryStore())

    async def show(ask: Ask) -> None:
        await desk.settle(ask.id, Declined(stop=True), by="ana", surface="editor")
        raise CalledOff("User cancelled the question")

    gate = Gate(desk, Asker("claude"), config=Path("/nowhere"), show=show)
    given = {"questions": [{"question": "Which db?", "header": "Db", "options": [{"label": "A"}, {"label": "B"}]}]}
    verdict = await gate(tool.NAME, given, ToolPermissionContext(tool_use_id="toolu_1"))
    assert verdict == PermissionResultDeny(message="User cancelled the question", interrupt=True)
