"""An agent that speaks ACP under the desk: what it asks, what people say, and what goes back to it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.acp.process import is_running
from tests.acp.scripted_agent import SESSION

from askdesk.adapters.acp_client import AcpAgent, under_desk
from askdesk.adapters.steps import Called, Ended, Piece, Said, Step
from askdesk.core.desk import Desk
from askdesk.core.errors import AgentFailed, InvalidAsk
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Option,
    Outcome,
    Permission,
    Question,
    Questions,
    Reply,
    Withdrawn,
)
from askdesk.stores.memory import MemoryStore
from askdesk.testing.people import at_desk

pytestmark = pytest.mark.anyio

AGENT = (sys.executable, "-S", str(Path(__file__).with_name("scripted_agent.py")))
OPTIONS = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Yes, and never ask again", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CALL = {
    "toolCallId": "call-1",
    "title": "`rm -r build`",
    "kind": "execute",
    "rawInput": {"command": "rm -r build"},
    "_meta": {"claudeCode": {"toolName": "Bash"}},
}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
LABELS = [
    {"kind": "allow_once", "name": "Jest - Popular", "optionId": "Jest"},
    {"kind": "allow_once", "name": "Vitest - Fast, and new", "optionId": "Vitest"},
]
OTHER = {"kind": "allow_once", "name": "Other (type custom answer)", "optionId": "__other__"}
SKIP = {"kind": "allow_once", "name": "Skip", "optionId": "__skip__"}
CANCEL = {"kind": "reject_once", "name": "Cancel", "optionId": "__cancel__"}


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk(MemoryStore())
    yield desk
    await desk.close()


def permission(**changes: Any) -> list[Any]:
    params = {"sessionId": SESSION, "toolCall": CALL, "options": OPTIONS, **changes}
    return ["request", "session/request_permission", params]


def seed(
    options: Sequence[Any] = (*LABELS, OTHER), text: str = "Which framework?", *, multi: bool = False
) -> list[Any]:
    """The shape of a question in a permission request, as clients of ACP have known it longest."""
    call = {"toolCallId": "call-1", "title": "Testing", "rawInput": {"question": text, "header": "Testing"}}
    meta = {"claudeCode": {"questionType": "askUserQuestion", "multiSelect": multi}}
    return permission(toolCall=call, options=list(options), _meta=meta)


class Person:
    """Gives one reply after the other, and keeps what was asked."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.asks: list[Ask] = []

    async def present(self, ask: Ask) -> Reply | None:
        self.asks.append(ask)
        return self._replies.pop(0) if self._replies else None

    @property
    def bodies(self) -> list[Questions | Permission]:
        return [ask.body for ask in self.asks]


async def steps_of(agent: AcpAgent, *script: Any) -> list[Step]:
    async with aclosing(agent.run(json.dumps(script))) as steps:
        return [step async for step in steps]


async def ran(desk: Desk, person: Person, *script: Any) -> list[Step]:
    async with under_desk(desk, AGENT, folder="/") as agent, at_desk(desk, person.present):
        return await steps_of(agent, *script)


async def returned(desk: Desk, person: Person, *script: Any) -> Any:
    """What came back to the agent for its one request, or for several."""
    steps = await ran(desk, person, *script)
    values = first_said(steps)
    return values[0] if len(values) == 1 else values


def first_said(steps: Sequence[Step]) -> Any:
    return json.loads(next(step.text for step in steps if isinstance(step, Said)))


def heard(steps: Sequence[Step]) -> list[str]:
    return [step.text.removeprefix("heard: ") for step in steps if isinstance(step, Said) if "heard: " in step.text]


async def outcomes(desk: Desk) -> list[Outcome]:
    return [entry.settlement.outcome async for entry in desk.each("settled") if entry.settlement]


async def test_a_call_is_asked_for_with_its_real_input_and_a_yes_chooses_the_option_that_says_once(desk: Desk) -> None:
    person = Person(Allowed())
    assert await returned(desk, person, permission()) == {"outcome": {"outcome": "selected", "optionId": "once"}}
    always = {"optionId": "always", "name": "Yes, and never ask again", "kind": "allow_always"}
    assert person.bodies == [Permission("Bash", {"command": "rm -r build"}, "/", "`rm -r build`", [always])]
    asker = person.asks[0].asker
    assert (asker.agent, asker.session, asker.project, asker.process) == ("scripted", SESSION, "/", os.getpid())


async def test_what_is_remembered_is_the_agents_own_option(desk: Desk) -> None:
    rule = Permission("x", {}, suggestions=[{**OPTIONS[1]}]).suggestions
    person = Person(Allowed(remember=rule))
    assert await returned(desk, person, permission()) == {"outcome": {"outcome": "selected", "optionId": "always"}}


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        (OPTIONS, {"outcome": "selected", "optionId": "no"}),
        ([OPTIONS[0], {"optionId": "never", "name": "Never", "kind": "reject_always"}],
         {"outcome": "selected", "optionId": "never"}),
        (OPTIONS[:2], {"outcome": "cancelled"}),
    ],
)  # fmt: skip
async def test_a_no_is_an_option_that_says_no_and_its_words_follow_as_a_prompt(
    desk: Desk, options: list[Any], outcome: dict[str, Any]
) -> None:
    words = 'DENIED: the person did not allow this call; it did not run. They said: "use make clean"'
    steps = await ran(desk, Person(Denied("use make clean")), permission(options=options))
    (response,) = first_said(steps)
    assert response == {"outcome": outcome, "_meta": {"askdesk": {"message": words}}}
    assert heard(steps) == [f'About the call of Bash {{"command": "rm -r build"}}:\n{words}']


async def test_a_yes_with_changes_is_a_no_that_tells_what_would_be_allowed(desk: Desk) -> None:
    steps = await ran(desk, Person(Allowed('{"command": "rm -ri build"}')), permission())
    (response,) = first_said(steps)
    assert response["outcome"] == {"outcome": "selected", "optionId": "no"}
    (words,) = heard(steps)
    assert words.endswith('so it was refused. The input that they would allow: {"command": "rm -ri build"}')


async def test_a_yes_without_real_changes_is_a_yes(desk: Desk) -> None:
    person = Person(Allowed('{ "command": "rm -r build" }'))
    assert await returned(desk, person, permission()) == {"outcome": {"outcome": "selected", "optionId": "once"}}


async def test_a_yes_for_once_never_becomes_one_for_ever(desk: Desk) -> None:
    answer = await returned(desk, Person(Allowed()), permission(options=[OPTIONS[1]]))
    assert answer["outcome"] == {"outcome": "cancelled"}


async def test_options_of_unknown_kinds_are_never_chosen(desk: Desk) -> None:
    strange = [{"optionId": "x", "name": "Yes", "kind": "_allow"}, {"optionId": "y", "name": "Yes", "kind": 1}]
    answer = await returned(desk, Person(Allowed()), permission(options=[*strange, OPTIONS[2]]))
    assert answer["outcome"] == {"outcome": "selected", "optionId": "no"}


async def test_what_agents_tell_of_a_call_before_belongs_to_it(desk: Desk) -> None:
    told = {"sessionUpdate": "tool_call", **CALL, "status": "pending"}
    bare = {"toolCallId": "call-1", "title": "Delete", "rawInput": None}
    person = Person(Allowed())
    await returned(desk, person, ["notify", "session/update", {"sessionId": SESSION, "update": told}],
                   permission(toolCall=bare, options=[OPTIONS[0]]))  # fmt: skip
    assert person.bodies == [Permission("Bash", {"command": "rm -r build"}, "/", "Delete")]


async def test_a_call_without_an_input_is_shown_with_all_that_is_told_of_it(desk: Desk) -> None:
    diff = {"type": "diff", "path": "/x.py", "oldText": "a", "newText": "b"}
    call = {"toolCallId": "1", "title": "Write x.py", "kind": "edit", "content": [diff]}
    person = Person(Denied())
    await returned(desk, person, permission(toolCall=call, options=OPTIONS[::2]))
    told = {"title": "Write x.py", "kind": "edit", "content": [diff]}
    assert person.bodies == [Permission("edit", told, "/", "Write x.py")]


async def test_what_is_told_of_a_call_beside_its_input_is_shown_as_the_agents_words(desk: Desk) -> None:
    told = {"content": [{"type": "diff", "path": "/etc/hosts", "newText": "b"}], "locations": [{"path": "/etc/hosts"}]}
    person = Person(Denied())
    await returned(desk, person, permission(toolCall={**CALL, **told}, options=[OPTIONS[0], OPTIONS[2]]))
    claim = "\n".join(["`rm -r build`", json.dumps(told["content"]), json.dumps(told["locations"])])
    assert person.bodies == [Permission("Bash", {"command": "rm -r build"}, "/", claim)]


async def test_meta_cannot_overwrite_what_is_asked(desk: Desk) -> None:
    evil = {"sessionId": "evil", "session_id": "evil", "options": [], "toolCall": {}, "tool_call": {}}
    person = Person(Denied())
    answer = await returned(desk, person, permission(_meta=evil))
    assert answer["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert isinstance(person.bodies[0], Permission)
    assert person.bodies[0].value == {"command": "rm -r build"}


@pytest.mark.parametrize(
    ("changes", "place"),
    [({"sessionId": "another"}, "sessionId"), ({"toolCall": {}}, "toolCall.toolCallId"), ({"options": 1}, "options")],
)
async def test_a_request_that_is_none_of_ours_is_refused_and_nobody_is_asked(
    desk: Desk, changes: dict[str, Any], place: str
) -> None:
    person = Person(Allowed())
    answer = await returned(desk, person, permission(**changes))
    assert (answer["error"]["code"], answer["error"]["data"]["problems"][0]["path"]) == (-32602, place)
    assert person.asks == []


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "_x/y"])
async def test_it_has_no_files_and_no_terminals(desk: Desk, method: str) -> None:
    params = {"sessionId": SESSION, "path": "/etc/passwd", "command": "ls", "content": ""}
    assert (await returned(desk, Person(), ["request", method, params]))["error"]["code"] == -32601


async def test_a_question_in_a_permission_is_asked_as_a_question(desk: Desk) -> None:
    person = Person(Answered([Answer(["Vitest"])]))
    assert await returned(desk, person, seed()) == {"outcome": {"outcome": "selected", "optionId": "Vitest"}}
    options = [Option("Jest", "Popular"), Option("Vitest", "Fast, and new")]
    assert person.bodies == [Questions([Question("Which framework?", options, header="Testing")])]


async def test_own_words_go_back_as_custom_text(desk: Desk) -> None:
    answer = await returned(desk, Person(Answered([Answer(other="Mocha")])), seed())
    assert answer == {
        "outcome": {"outcome": "selected", "optionId": "__other__", "_meta": {"customText": "Mocha"}}
    }  # fmt: skip


SEVERAL = Answered([Answer(["Jest", "Vitest"], "Mocha")])


async def test_several_choices_all_go_back(desk: Desk) -> None:
    answer = await returned(desk, Person(SEVERAL), seed(multi=True))
    meta = {"customText": "Jest, Vitest, Mocha"}
    assert answer == {"outcome": {"outcome": "selected", "optionId": "__other__", "_meta": meta}}


async def test_an_agent_that_collects_choices_gets_the_first_and_all_of_them(desk: Desk) -> None:
    answer = await returned(desk, Person(SEVERAL), seed([SKIP, *LABELS, OTHER, CANCEL], multi=True))
    meta = {"selected": ["Jest", "Vitest", "Mocha"]}
    assert answer == {"outcome": {"outcome": "selected", "optionId": "Jest", "_meta": meta}}


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ([SKIP, *LABELS, OTHER, CANCEL], {"outcome": "selected", "optionId": "__cancel__"}),
        ([*LABELS, OTHER], {"outcome": "cancelled"}),
    ],
)
async def test_declined_questions_choose_no_answer(desk: Desk, options: list[Any], outcome: dict[str, Any]) -> None:
    steps = await ran(desk, Person(Declined("let us talk")), seed(options))
    (response,) = first_said(steps)
    assert response["outcome"] == outcome
    assert "let us talk" in heard(steps)[0]


TOOL_QUESTIONS = [
    {"question": "Which db?", "header": "Db", "options": [{"label": "A", "description": "a"}, {"label": "B"}]},
    {"question": "Parts?", "multiSelect": True, "options": [{"label": "C"}, {"label": "D"}]},
]
BOTH = Answered([Answer(["B"]), Answer(["C", "D"], note="soon")])


async def test_questions_beside_a_permission_are_answered_together(desk: Desk) -> None:
    request = permission(_meta={"askUserQuestion": {"questions": TOOL_QUESTIONS}})
    given = {"answers": {"Which db?": "B", "Parts?": "C, D"}, "annotations": {"Parts?": {"notes": "soon"}}}
    answer = await returned(desk, Person(BOTH), request)
    assert answer == {"outcome": {"outcome": "selected", "optionId": "once", "_meta": given}, "_meta": given}


async def test_questions_of_qwen_are_answered_by_number(desk: Desk) -> None:
    call = {**CALL, "_meta": {"qwenInteractionKind": "user_question", "qwenQuestions": TOOL_QUESTIONS}}
    steps = await ran(desk, Person(BOTH), permission(toolCall=call))
    (response,) = first_said(steps)
    assert response == {"outcome": {"outcome": "selected", "optionId": "once"}, "answers": {"0": "B", "1": "C, D"}}
    assert heard(steps) == ['To "Parts?" the person answered "C, D", and noted: "soon"']


NUMBERED = [
    {"optionId": "ask:0:0", "name": "A", "kind": "allow_once"},
    {"optionId": "ask:0:1", "name": "B", "kind": "allow_once"},
    {"optionId": "cancel", "name": "Cancel", "kind": "reject_once"},
]


async def test_options_that_are_numbered_are_those_of_the_question(desk: Desk) -> None:
    call = {**CALL, "rawInput": {"questions": TOOL_QUESTIONS}}
    person = Person(Answered([Answer(["B"])]))
    answer = await returned(desk, person, permission(toolCall=call, options=NUMBERED))
    assert answer == {"outcome": {"outcome": "selected", "optionId": "ask:0:1"}}
    assert person.bodies == [Questions([Question("Which db?", [Option("A", "a"), Option("B")], header="Db")])]


async def test_own_words_that_no_option_can_hold_are_said_afterwards(desk: Desk) -> None:
    steps = await ran(desk, Person(Answered([Answer(other="Mongo")])), permission(options=NUMBERED))
    (response,) = first_said(steps)
    assert response["outcome"] == {"outcome": "selected", "optionId": "cancel"}
    assert '"Mongo"' in heard(steps)[0]


async def test_where_there_is_more_than_one_way_to_say_yes_a_person_chooses_it(desk: Desk) -> None:
    options = [{"optionId": f"{n}", "name": f"Plan {n}", "kind": "allow_once"} for n in (1, 2)]
    person = Person(Answered([Answer(["Plan 2"])]))
    answer = await returned(desk, person, permission(options=[*options, OPTIONS[2]]))
    assert answer == {"outcome": {"outcome": "selected", "optionId": "2"}}
    text = 'The agent says: `rm -r build`\n\n{\n  "command": "rm -r build"\n}'
    assert person.bodies == [Questions([Question(text, ["Plan 1", "Plan 2"])])]


async def test_who_chooses_a_way_to_say_yes_sees_all_that_is_told_of_the_call(desk: Desk) -> None:
    options = [{"optionId": f"{n}", "name": f"Plan {n}", "kind": "allow_once"} for n in (1, 2)]
    change = {"type": "diff", "path": "/etc/hosts", "oldText": "a", "newText": "b"}
    call = {"toolCallId": "call-1", "title": "Tidy up", "kind": "edit", "content": [change]}
    person = Person(Answered([Answer(["Plan 2"])]))
    await returned(desk, person, permission(options=[*options, OPTIONS[2]], toolCall=call))
    seen = json.dumps({"title": "Tidy up", "kind": "edit", "content": [change]}, indent=2)
    assert person.bodies == [Questions([Question(f"The agent says: Tidy up\n\n{seen}", ["Plan 1", "Plan 2"])])]


async def test_questions_that_break_a_rule_are_refused(desk: Desk) -> None:
    person = Person(Allowed())
    answer = await returned(desk, person, permission(_meta={"askUserQuestion": {"questions": [{"question": ""}]}}))
    assert answer["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert person.asks == []


async def test_several_requests_of_one_call_are_asked_one_after_the_other(desk: Desk) -> None:
    person = Person(Answered([Answer(["Jest"])]), Answered([Answer(["Vitest"])]))
    answers = await returned(desk, person, seed(), seed(text="Which db?"))
    assert [answer["outcome"]["optionId"] for answer in answers] == ["Jest", "Vitest"]
    assert [ask.questions[0].text for ask in person.asks] == ["Which framework?", "Which db?"]


async def test_the_same_call_again_is_another_ask(desk: Desk) -> None:
    answers = await returned(desk, Person(Allowed(), Denied()), permission(), permission())
    assert [answer["outcome"]["optionId"] for answer in answers] == ["once", "no"]


async def test_a_request_that_the_agent_takes_back_is_withdrawn(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, ["start", *permission()[1:]], ["wait"], ["cancel"]))
        await asyncio.wait_for(_open_asks(desk, 1), 10)
        await agent._peer.tell("go on", {})
        steps = await asyncio.wait_for(running, 10)
    assert first_said(steps)[0]["error"]["code"] == -32800
    assert await outcomes(desk) == [Withdrawn("the run was interrupted")]


async def test_a_run_that_is_interrupted_withdraws_what_it_asked_and_stops_the_agent(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, ["start", *permission()[1:]], seed()))
        await asyncio.wait_for(_open_asks(desk, 2), 10)
        running.cancel()
        await asyncio.wait((running,))
        assert running.cancelled()
        assert [step async for step in agent.run("more")][-1] == Ended("done", "heard: more", SESSION)
    assert await outcomes(desk) == [Withdrawn("the run was interrupted")] * 2


FRAMEWORK = {"type": "string", "title": "Testing", "oneOf": [
    {"const": "Jest", "title": "Jest", "description": "Popular"},
    {"const": "Vitest", "title": "Vitest", "_meta": {"_claude/askUserQuestionOption": {"preview": "vite.config"}}},
]}  # fmt: skip
OWN = {"type": "string", "title": "Other", "description": "Type your own answer (optional)."}


def form(properties: dict[str, Any], **changes: Any) -> list[Any]:
    schema = {"type": "object", "properties": properties, **changes}
    params = {"sessionId": SESSION, "mode": "form", "message": "Which framework?", "requestedSchema": schema}
    return ["request", "elicitation/create", params]


CLAUDES = form({"question_0": FRAMEWORK, "question_0_custom": OWN})


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (Answer(["Vitest"]), {"question_0": "Vitest"}),
        (Answer(other="Mocha"), {"question_0_custom": "Mocha"}),
        (Answer(["Jest"], note="for now"), {"question_0": "Jest", "question_0_custom": "for now"}),
    ],
)
async def test_a_form_is_asked_as_questions_and_comes_back_filled_in(
    desk: Desk, answer: Answer, content: dict[str, Any]
) -> None:
    person = Person(Answered([answer]))
    assert await returned(desk, person, CLAUDES) == {"action": "accept", "content": content}
    options = [Option("Jest", "Popular"), Option("Vitest", preview="vite.config")]
    assert person.bodies == [Questions([Question("Which framework?", options, header="Testing")])]


async def test_what_does_not_fit_a_form_is_asked_again(desk: Desk) -> None:
    number = {"type": "integer", "title": "Workers", "minimum": 1}
    person = Person(Answered([Answer(other="2.5")]), Answered([Answer(other="3")]))
    answer = await returned(desk, person, form({"workers": number}, required=["workers"]))
    assert answer == {"action": "accept", "content": {"workers": 3}}
    assert [ask.follows for ask in person.asks] == [None, person.asks[0].id]


async def test_a_declined_form_is_declined_and_its_words_follow(desk: Desk) -> None:
    steps = await ran(desk, Person(Declined("none of these")), CLAUDES)
    assert first_said(steps) == [{"action": "decline"}]
    assert "none of these" in heard(steps)[0]


async def test_who_stops_at_a_form_cancels_it_and_the_turn(desk: Desk) -> None:
    steps = await ran(desk, Person(Declined(stop=True)), CLAUDES, ["hold"])
    assert (first_said(steps), steps[-1]) == (
        [{"action": "cancel"}],
        Ended("stopped", '[{"action": "cancel"}]', SESSION),
    )


async def test_a_form_that_wants_a_secret_is_declined_and_nobody_is_asked(desk: Desk) -> None:
    person = Person(Answered([Answer(other="hunter2")]))
    assert await returned(desk, person, form({"password": {"type": "string"}})) == {
        "action": "decline",
        "_meta": {"askdesk": {"message": "properties.password: asks for a secret, which is never asked for in a form"}},
    }
    assert person.asks == []


def page(url: str = "https://example.org/sign-in", **changes: Any) -> list[Any]:
    params = {"sessionId": SESSION, "mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1", **changes}
    return ["request", "elicitation/create", params]


@pytest.mark.parametrize(("label", "action"), [("Open it", "accept"), ("Do not open it", "decline")])
async def test_a_page_is_opened_by_a_person_who_saw_where_it_leads(desk: Desk, label: str, action: str) -> None:
    person = Person(Answered([Answer([label])]))
    done = ["notify", "elicitation/complete", {"elicitationId": "e1"}]
    assert await returned(desk, person, page(), done) == {"action": action}
    assert "Host: example.org" in person.asks[0].questions[0].text


async def test_an_unsafe_page_is_declined_and_nobody_is_asked(desk: Desk) -> None:
    person = Person(Answered([Answer(["Open it"])]))
    assert await returned(desk, person, page("javascript:alert(1)")) == {
        "action": "decline",
        "_meta": {"askdesk": {"message": "url: must say where it leads"}},
    }
    assert person.asks == []


async def test_a_page_that_has_done_its_work_need_not_be_opened_any_more(desk: Desk) -> None:
    done = ["notify", "elicitation/complete", {"elicitationId": "e1"}]
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, ["start", *page()[1:]], ["wait"], done, ["returned"]))
        await asyncio.wait_for(_open_asks(desk, 1), 10)
        await agent._peer.tell("go on", {})
        steps = await asyncio.wait_for(running, 10)
    assert first_said(steps) == [{"action": "cancel"}]
    assert [type(outcome) for outcome in await outcomes(desk)] == [Withdrawn]


@pytest.mark.parametrize(
    "changes",
    [{"sessionId": "another"}, {"sessionId": None, "requestId": 99}, {"mode": "_later"}, {"elicitationId": None}],
)
async def test_an_elicitation_that_is_none_of_ours_is_refused(desk: Desk, changes: dict[str, Any]) -> None:
    person = Person(Answered([Answer(["Open it"])]))
    assert (await returned(desk, person, page(**changes)))["error"]["code"] == -32602
    assert person.asks == []


async def test_what_an_agent_asks_before_there_is_a_session_is_asked_too(desk: Desk) -> None:
    person = Person(Answered([Answer(["Open it"])]))
    async with at_desk(desk, person.present), under_desk(desk, (*AGENT, "early"), folder="/") as agent:
        assert agent.session == SESSION
    assert "Host: example.org" in person.asks[0].questions[0].text


async def _open_asks(desk: Desk, count: int) -> list[Ask]:
    async with desk.watch() as hints:
        while len(found := [entry.ask async for entry in desk.each("open")]) < count:
            await anext(hints)
        return found


async def test_an_agent_that_dies_while_it_asks_withdraws_and_says_how_it_ended(desk: Desk) -> None:
    start = ["start", *permission()[1:]]
    steps = await ran(desk, Person(), start, ["request", "x/sync", {}], ["die", 3])
    assert steps[-1] == Ended("failed", f"{Path(sys.executable).name} ended with 3\nI \\x1b[31mcannot go on", SESSION)
    assert await outcomes(desk) == [Withdrawn("the run was interrupted")]


async def test_a_turn_that_the_agent_ends_after_a_no_was_stopped_by_a_person(desk: Desk) -> None:
    steps = await ran(desk, Person(Denied()), permission(), ["end", "cancelled"])
    assert isinstance(steps[-1], Ended)
    assert steps[-1].how == "stopped"


@pytest.mark.parametrize("reply", [Denied(stop=True), Denied("enough", stop=True)])
async def test_a_person_who_stops_it_ends_its_turn(desk: Desk, reply: Denied) -> None:
    steps = await ran(desk, Person(reply), permission(), ["hold"])
    (response,) = first_said(steps)
    assert response["outcome"] == {"outcome": "cancelled"}
    assert (steps[-1], heard(steps)) == (Ended("stopped", json.dumps([response]), SESSION), [])


async def test_a_new_instruction_stops_it_and_is_its_next_prompt(desk: Desk) -> None:
    steps = await ran(desk, Person(Denied(redirect="write docs instead")), permission(), ["hold"])
    ends = [step for step in steps if isinstance(step, Ended)]
    assert [end.how for end in ends] == ["stopped", "done"]
    assert heard(steps) == ["write docs instead"]


async def test_what_is_stopped_takes_back_all_that_it_asks(desk: Desk) -> None:
    start = ["start", *permission()[1:]]
    asked = seed()
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, start, asked, ["hold"]))
        (first, _) = await asyncio.wait_for(_open_asks(desk, 2), 10)
        assert first.permission
        await desk.settle(first.id, Denied(stop=True), by="ana", surface="x", digest=first.permission.digest)
        steps = await asyncio.wait_for(running, 10)
    assert first_said(steps) == [CANCELLED]
    assert set(await outcomes(desk)) == {Denied(stop=True), Withdrawn("the run was interrupted")}


async def test_what_people_tell_it_is_its_next_prompt_once_its_turn_has_ended(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, permission()))
        (ask,) = await asyncio.wait_for(_open_asks(desk, 1), 10)
        told = await desk.tell(agent.asker, "use tabs", by="ana")
        await asyncio.wait_for(_taken(agent), 10)
        await desk.settle(ask.id, Denied(), by="ana", surface="x")
        steps = await asyncio.wait_for(running, 10)
        assert await desk.heard(agent.asker, told, timeout=10)
    assert heard(steps) == ["use tabs"]


async def _taken(agent: AcpAgent) -> None:
    while agent._next.empty():  # noqa: ASYNC110 - nothing else tells that it was taken
        await asyncio.sleep(0.01)


async def test_who_tells_it_to_stop_ends_its_turn(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, seed()))
        await asyncio.wait_for(_open_asks(desk, 1), 10)
        await desk.tell(agent.asker, stop=True, by="ana")
        steps = await asyncio.wait_for(running, 10)
    assert steps[-1] == Ended("stopped", json.dumps([CANCELLED]), SESSION)


async def test_who_tells_it_to_stop_is_heard_while_something_else_waits_for_its_turn(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/") as agent:
        running = asyncio.ensure_future(steps_of(agent, permission(), ["hold"]))
        await asyncio.wait_for(_open_asks(desk, 1), 10)
        await desk.tell(agent.asker, "use tabs", by="ana")
        await asyncio.wait_for(_taken(agent), 10)
        await desk.tell(agent.asker, stop=True, by="ana")
        steps = await asyncio.wait_for(running, 10)
    assert [step for step in steps if isinstance(step, Ended)] == [
        Ended("stopped", json.dumps([CANCELLED]), SESSION),
        Ended("done", "heard: use tabs", SESSION),
    ]


async def test_nothing_that_an_agent_started_outlives_it(desk: Desk, tmp_path: Path) -> None:
    child = f"sleep 600 </dev/null >/dev/null 2>&1 & echo $! > {tmp_path}/child; exec {' '.join(AGENT)}"
    async with under_desk(desk, ["sh", "-c", child], folder="/") as agent:
        await steps_of(agent, ["die", 3])
        number = int((tmp_path / "child").read_text())
        assert is_running(number)
    async with asyncio.timeout(20):
        while is_running(number):  # noqa: ASYNC110 - nothing tells that it is gone
            await asyncio.sleep(0.01)


async def test_what_it_says_and_does_is_told_step_by_step(desk: Desk) -> None:
    def update(what: str, **fields: Any) -> list[Any]:
        return ["notify", "session/update", {"sessionId": SESSION, "update": {"sessionUpdate": what, **fields}}]

    def chunk(text: str, kind: str = "agent_message_chunk") -> list[Any]:
        return update(kind, content={"type": "text", "text": text})

    plan = [{"content": "Build", "status": "completed"}, {"content": "Test", "status": "in_progress"}]
    steps = await ran(
        desk, Person(), chunk("Let "), chunk("me."), chunk("hm", "agent_thought_chunk"),
        update("tool_call", **CALL), update("tool_call_update", toolCallId="call-1", status="completed"),
        update("plan", entries=plan), ["write", "npm notice: a new version"], update("nonsense"), chunk("Done."),
        ["notify", "session/update", {"sessionId": "another", "update": {"sessionUpdate": "tool_call", **CALL}}],
    )  # fmt: skip
    assert steps == [
        Piece("Let "),
        Piece("me."),
        Said("Let me."),
        Called("Bash", {"command": "rm -r build"}),
        Called("plan", {"entries": "1/2 Test"}),
        Piece("Done."),
        Said("Done."),
        Ended("done", "Done.", SESSION),
    ]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (["end", "max_tokens"], "it ended its turn with max_tokens"),
        (["end", "cancelled"], "it ended its turn as cancelled, though nobody stopped it"),
        (["end", "\x1b"], "it ended its turn with \\x1b"),
        (["fail", -32603, "Out of \x1b[31mwords"], "Out of \\x1b[31mwords"),
        (["fail", -32000, "Sign in"], "somebody has to sign in first (Sign in)\n  API key: Set the \\x1b[31mkey"),
    ],
)
async def test_a_turn_that_ends_otherwise_has_failed(desk: Desk, step: list[Any], text: str) -> None:
    assert (await ran(desk, Person(), step))[-1] == Ended("failed", text, SESSION)


async def test_a_session_of_before_goes_on_and_what_was_said_in_it_is_no_news(desk: Desk) -> None:
    async with under_desk(desk, AGENT, folder="/", resume=SESSION, agent="mine") as agent:
        steps = [step async for step in agent.run("more")]
    assert steps == [Piece("heard: more"), Said("heard: more"), Ended("done", "heard: more", SESSION)]
    assert agent.asker.agent == "mine"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("/nowhere/agent",), "/nowhere/agent cannot be started: No such file or directory"),
        ((), "there is no command to run"),
        ((*AGENT, "shy"), "somebody has to sign in first (Authentication required)\n  API key: Set the \\x1b[31mkey"),
        ((*AGENT, "new"), "it speaks version 7 of ACP, and not 1"),
        ((*AGENT, "strange"), "it does not speak ACP as it should: sessionId: Field required"),
        (("sh", "-c", "echo no key >&2; exit 4"), "sh ended with 4\nno key"),
        (("cat",), "Method not found"),
    ],
)
async def test_an_agent_that_cannot_work_is_said(desk: Desk, command: Sequence[str], error: str) -> None:
    with pytest.raises(AgentFailed) as failed:
        async with under_desk(desk, command):
            pass
    assert str(failed.value) == error


async def test_an_old_agent_cannot_be_resumed(desk: Desk) -> None:
    with pytest.raises(AgentFailed, match="it cannot go on with a session of before"):
        async with under_desk(desk, (*AGENT, "old"), resume="x"):
            pass


async def test_a_command_that_no_shell_would_read_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidAsk, match="command: no closing quotation"):
        async with under_desk(desk, "agent 'x"):
            pass


async def test_an_agent_that_hears_nothing_is_gone_all_the_same(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askdesk.adapters.agent_process._LEAVING", 0.1)
    async with under_desk(desk, (*AGENT, "deaf")) as agent:
        process = agent._process._process
        assert process.returncode is None
    assert process.returncode == -9


async def test_whoever_runs_in_its_shell_is_known_to_be_no_person_and_cannot_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKDESK_TOKEN", "asks")
    monkeypatch.setenv("ASKDESK_ANSWER_TOKEN", "answers")
    with pytest.raises(AgentFailed) as failed:
        async with under_desk(desk, ("sh", "-c", "env | grep 'AI_AGENT\\|ASKDESK_.*TOKEN' | sort >&2")):
            pass
    assert str(failed.value).splitlines()[1:] == ["AI_AGENT=askdesk", "ASKDESK_TOKEN=asks"]


async def test_an_agent_that_dies_while_it_has_nothing_to_do_ends_the_run(desk: Desk) -> None:
    async with under_desk(desk, AGENT) as agent, aclosing(agent.run("hello", stay=True)) as steps:
        async for step in steps:
            if isinstance(step, Ended) and step.how == "done":
                agent._process._process.kill()
    assert step == Ended("failed", f"{Path(sys.executable).name} was killed by signal 9", SESSION)
