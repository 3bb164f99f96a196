"""The elicitations of an ACP agent at a desk: its forms as questions, and addresses that a person opens first.

Only an answer of a person is accepted. Declined is their no, and what a rule of ours lets nobody be asked, so that the
agent does not ask it again; `_meta` says which rule. Whatever else ends an ask is cancelled.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from askdesk.adapters.acp_connection import RequestError
from askdesk.adapters.form_rounds import FormDesk
from askdesk.core.model import Answered, Declined, Outcome, Questions
from askdesk.wire import form_of_others, tool, url_of_others
from askdesk.wire.acp_permission import META, Replied

log = logging.getLogger("askdesk")

CANCELLED = {"action": "cancel"}
DECLINED = {"action": "decline"}


def refused(why: str) -> dict[str, Any]:
    """What goes back for what nobody may be asked."""
    return {**DECLINED, "_meta": {META: {"message": why}}}


async def replied(desk: FormDesk, params: Mapping[str, Any]) -> Replied:
    """What people say to an elicitation. InvalidAsk where nobody should be asked that; cancelled, it takes it back."""
    match params:
        case {"mode": "form", "message": str(message), "requestedSchema": schema}:
            return await _filled(desk, message, schema)
        case {"mode": "url", "message": str(message), "url": str(url), "elicitationId": str()}:
            return await _opened(desk, message, url)
        case _:
            rule = "must be a form with message and requestedSchema, or a url with message, url and elicitationId"
            raise RequestError.invalid_params({"problems": [{"path": "mode", "rule": rule}]})


async def _filled(desk: FormDesk, message: str, schema: object) -> Replied:
    form = form_of_others.read(message, schema)
    filled = await desk.filled(form)
    if isinstance(filled, dict):
        return Replied({"action": "accept", "content": filled})
    return _unanswered(form.questions, filled)


async def _opened(desk: FormDesk, message: str, url: str) -> Replied:
    questions = url_of_others.read(message, url)
    outcome = await desk.asked(questions)
    if not isinstance(outcome, Answered):
        return _unanswered(questions, outcome)
    if url_of_others.is_wanted(outcome):
        return Replied({"action": "accept"})
    said = any(answer and (answer.other or answer.note) for answer in outcome.answers)
    return Replied(DECLINED, unsaid=tool.text(questions, outcome) if said else "", is_no=True)


def _unanswered(questions: Questions, outcome: Outcome) -> Replied:
    match outcome:
        case Declined(stop=True):
            return Replied(CANCELLED, stop=True)
        case Declined(message):
            return Replied(DECLINED, unsaid=tool.text(questions, outcome) if message else "", is_no=True)
        case _:
            return Replied(CANCELLED)
