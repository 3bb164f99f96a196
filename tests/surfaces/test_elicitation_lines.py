"""A permission in a dialog that cuts long messages: it is asked there only where all of the call is seen."""

from __future__ import annotations

import pytest

from askdesk.core.desk import Desk
from askdesk.core.model import Ask, Permission
from askdesk.surfaces.elicitation import Dialog
from askdesk.wire.form import Form

pytestmark = pytest.mark.anyio

DECISION = {
    "type": "string",
    "title": "Decision",
    "oneOf": [{"const": "deny", "title": "Do not allow it"}, {"const": "allow", "title": "Allow this once"}],
}
REASON = {
    "type": "string",
    "title": "Reason",
    "description": "What to tell the agent where you do not allow it (optional).",
}


async def asked(desk: Desk, *, command: str = "make deploy", folder: str = "/srv/web") -> Ask:
    return await desk.post(Permission("Bash", {"command": command, "timeout": 5}, folder, "All tests are green"))


def cutting(desk: Desk) -> Dialog:
    """A dialog that shows four lines."""
    return Dialog(desk.shelf, "ana", "host dialog", "mcp", lines=4)


async def test_a_short_call_stands_there_exactly_on_as_few_lines_as_it_takes(desk: Desk) -> None:
    assert cutting(desk).form(await asked(desk, command="cd web\nmake deploy")) == Form(
        'May the agent make this call?\nBash {"command": "cd web\\nmake deploy", "timeout": 5}\n/srv/web',
        {"type": "object", "properties": {"decision": DECISION, "reason": REASON}},
    )


@pytest.mark.parametrize(
    "too_long",
    [{"command": "x" * 150}, {"command": "echo '" + "\u202e" * 30 + "'"}, {"folder": "/srv/" + "deep/" * 40}],
)
async def test_a_call_of_which_some_would_be_cut_off_is_not_asked_there(desk: Desk, too_long: dict[str, str]) -> None:
    assert cutting(desk).form(await asked(desk, **too_long)) is None


async def test_what_was_wrong_with_a_form_never_pushes_the_call_out_of_sight(desk: Desk) -> None:
    made = cutting(desk).form(await asked(desk), "That was not taken: decision: allow it or do not")
    assert made
    assert '\nBash {"command": "make deploy", "timeout": 5}\n' in made.message
    assert made.message.count("\n") < 4


async def test_a_host_that_cannot_send_a_blank_text_is_asked_for_the_decision_alone(desk: Desk) -> None:
    made = Dialog(desk.shelf, "ana", "host dialog", "narrow").form(await asked(desk))
    assert made
    assert made.schema == {"type": "object", "properties": {"decision": DECISION}}
