"""A host's dialog: only an accepted form with something in it is an answer, and only if a person can have sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from askdesk.core.desk import Desk
from askdesk.core.model import Allowed, Answer, Answered, Ask, Declined, Denied, Permission, Question, Questions, Reply
from askdesk.surfaces import draft
from askdesk.surfaces.elicitation import Dialog, Guard
from askdesk.surfaces.texts import speaking
from askdesk.wire.form import Form, Left, Returned, Unfit

pytestmark = pytest.mark.anyio

DATABASE = Question("Which database?", ["Postgres", "SQLite"], header="Database")
COUNT = Question("How many?", kind="number", maximum=3)
CALL = Permission("Bash", {"command": "make deploy"}, "/srv/web", "Deploys")


def dialog(desk: Desk, **options: Any) -> Dialog:
    return Dialog(desk.shelf, "ana", "editor", "mcp", **options)


async def ask_of(desk: Desk, *body: Question | Permission) -> Ask:
    (first, *_) = body
    return await desk.post(first if isinstance(first, Permission) else Questions(body))  # type: ignore[arg-type]


SAID: list[tuple[str, Mapping[str, object], float, Reply | Left]] = [
    ("accept", {"question_0": "SQLite"}, 3.0, Answered([Answer(["SQLite"])])),
    ("accept", {"question_0": "SQLite"}, 0.1, Left(seen=False)),
    ("accept", {"question_0": True}, 0.1, Left(seen=False)),
    ("accept", {}, 3.0, Left(seen=True)),
    ("accept", {}, 0.1, Left(seen=False)),
    ("accept", {"question_0": "", "question_0_custom": " "}, 3.0, Left(seen=True)),
    ("decline", {}, 3.0, Declined()),
    ("decline", {"question_0": "SQLite"}, 3.0, Declined()),
    ("decline", {}, 0.1, Left(seen=False)),
    ("cancel", {}, 3.0, Left(seen=True)),
    ("cancel", {}, 0.1, Left(seen=False)),
    ("_approve", {"question_0": "SQLite"}, 3.0, Left(seen=True)),
    ("", {"question_0": "SQLite"}, 3.0, Left(seen=True)),
]


@pytest.mark.parametrize(("action", "content", "seconds", "meaning"), SAID)
async def test_what_came_of_questions_in_a_dialog(
    desk: Desk, action: str, content: Mapping[str, object], seconds: float, meaning: Reply | Left
) -> None:
    ask = await ask_of(desk, DATABASE)
    assert dialog(desk).said(ask, Returned(action, content, seconds)) == meaning


DECIDED: list[tuple[str, Mapping[str, object], float, Reply | Left]] = [
    ("accept", {"decision": "allow"}, 3.0, Allowed()),
    ("accept", {"decision": "allow"}, 0.1, Left(seen=False)),
    ("accept", {"decision": "deny", "reason": "not on Fridays"}, 3.0, Denied("not on Fridays")),
    ("accept", {"decision": "deny"}, 0.1, Left(seen=False)),
    ("accept", {"reason": "hm"}, 3.0, Left(seen=True)),
    ("accept", {}, 3.0, Left(seen=True)),
    ("decline", {}, 3.0, Denied()),
    ("decline", {}, 0.1, Left(seen=False)),
    ("cancel", {"decision": "allow"}, 3.0, Left(seen=True)),
]


@pytest.mark.parametrize(("action", "content", "seconds", "meaning"), DECIDED)
async def test_what_came_of_a_permission_in_a_dialog(
    desk: Desk, action: str, content: Mapping[str, object], seconds: float, meaning: Reply | Left
) -> None:
    ask = await ask_of(desk, CALL)
    assert dialog(desk).said(ask, Returned(action, content, seconds)) == meaning


@pytest.mark.parametrize("decision", ["yes", "ALLOW", True, ["allow"], {"allow": 1}])
async def test_nothing_but_the_word_itself_allows(desk: Desk, decision: object) -> None:
    ask = await ask_of(desk, CALL)
    assert dialog(desk).said(ask, Returned("accept", {"decision": decision}, 3.0)) == Unfit(
        "That was not taken: decision: allow it or do not"  # type: ignore[arg-type]
    )


async def test_a_permission_shows_the_exact_call_and_what_the_agent_claims_apart_from_it(desk: Desk) -> None:
    made = dialog(desk).form(await ask_of(desk, CALL))
    assert made
    assert made.message.splitlines() == [
        *("May the agent make this call?", "", "Bash command · Bash", "│ make deploy", "folder: /srv/web"),
        *("", "the agent says (not checked):", "│ Deploys"),
    ]
    assert made.schema["properties"]["decision"]["oneOf"] == [
        {"const": "deny", "title": "Do not allow it"},  # the first, which some hosts choose with Enter alone
        {"const": "allow", "title": "Allow this once"},
    ]


async def test_a_call_that_is_too_long_to_be_read_in_a_dialog_is_not_shown_there(desk: Desk) -> None:
    assert dialog(desk).form(await ask_of(desk, Permission("Bash", {"command": "x" * 7000}))) is None


async def test_a_form_that_does_not_fit_is_shown_again_with_the_reason(desk: Desk) -> None:
    ask = await ask_of(desk, COUNT)
    shown: list[str] = []

    async def send(made: Form) -> tuple[str, Mapping[str, object]]:
        shown.append(made.message)
        return "accept", {"question_0": 7 if len(shown) == 1 else 2}

    reply = await dialog(desk, guard=Guard(0, 0)).present(send)(ask)
    assert reply == Answered([Answer(other="2")])
    assert shown == [
        "How many?",
        "That was not taken: question_0: takes a number up to 3, got 7\n\nHow many?",
    ]


async def test_after_three_forms_that_do_not_fit_the_ask_is_left_open(desk: Desk) -> None:
    ask = await ask_of(desk, COUNT)
    shown = 0

    async def send(made: Form) -> tuple[str, Mapping[str, object]]:
        nonlocal shown
        shown += 1
        return "accept", {"question_0": 7}

    host = dialog(desk, guard=Guard(0, 0))
    assert (await host.present(send)(ask), shown, host.left) == (None, 3, Left(seen=False))


async def test_what_was_typed_into_a_form_that_settled_nothing_is_kept_as_a_draft(desk: Desk) -> None:
    ask = await ask_of(desk, DATABASE)

    async def send(made: Form) -> tuple[str, Mapping[str, object]]:
        return "cancel", {"question_0_custom": "MySQL, if it must be"}

    assert await dialog(desk, guard=Guard(0, 0)).present(send)(ask) is None
    ((by, kept),) = await draft.all_kept(desk.shelf, ask)
    assert (by, kept.given[0].own) == ("ana", "MySQL, if it must be")


async def test_a_dialog_speaks_the_language_of_its_reader(desk: Desk) -> None:
    ask = await ask_of(desk, DATABASE, COUNT)
    with speaking("es"):
        made = dialog(desk).form(ask)
    assert made
    assert (made.message, made.schema["properties"]["question_0_custom"]["title"]) == (
        "Responde a las siguientes preguntas.",
        "Otra",
    )
