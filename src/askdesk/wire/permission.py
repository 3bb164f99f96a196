"""Allow and deny, in the shape that agents expect of a permission prompt, and in words for a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import (
    Allowed,
    Answered,
    Declined,
    Denied,
    Expired,
    Outcome,
    Permission,
    Questions,
    Withdrawn,
)
from askdesk.wire import tool
from askdesk.wire.words import quote


def body(
    name: str,
    given: Mapping[str, Any],
    *,
    folder: str = "",
    description: str = "",
    suggestions: Iterable[Mapping[str, Any]] = (),
    limits: Limits = OPEN,
) -> Questions | Permission:
    """What to ask people when an agent wants to call a tool: its questions where it asks, else whether it may."""
    if name == tool.NAME:  # what else a host hands over has passed its own rules, such as a title above the questions
        return tool.parse({field: given[field] for field in ("questions", "metadata") if field in given}, limits)
    return Permission(name, given, folder, description, suggestions)


def decision(body: Questions | Permission, outcome: Outcome) -> dict[str, Any]:
    """The verdict on a call, for hosts that put questions through the same door as permissions.

    Answers are an allow that carries them; a host that runs AskUserQuestion without any would tell its model that the
    person had nothing to say.
    """
    if isinstance(body, Permission):
        return result(body, outcome)
    if isinstance(outcome, Answered):
        return {"behavior": "allow", "updatedInput": tool.result(body, outcome)}
    denied: dict[str, Any] = {"behavior": "deny", "message": tool.text(body, outcome)}
    if isinstance(outcome, Declined) and outcome.stop:
        denied["interrupt"] = True
    return denied


def result(permission: Permission, outcome: Outcome) -> dict[str, Any]:
    """`{"behavior": "allow", "updatedInput": …}` or `{"behavior": "deny", "message": …}`. Only an Allowed allows."""
    if isinstance(outcome, Allowed):
        allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": released(permission, outcome)}
        if outcome.remember:
            allowed["updatedPermissions"] = [json.loads(rule) for rule in outcome.remember]
        return allowed
    denied: dict[str, Any] = {"behavior": "deny", "message": text(outcome)}
    if isinstance(outcome, Denied) and outcome.stop:
        denied["interrupt"] = True
    return denied


def released(permission: Permission, allowed: Allowed) -> dict[str, Any]:
    """The input that may run: made from the text that was shown, never from the object that was handed in."""
    value: dict[str, Any] = json.loads(permission.input if allowed.input is None else allowed.input)
    return value


def text(outcome: Outcome, *, by: str = "the person") -> str:
    """What the model reads. `by` is who denied, where that was no person."""
    match outcome:
        case Allowed(input=None):
            return "ALLOWED: the person allowed this call as it is."
        case Allowed():
            return "ALLOWED WITH CHANGES: the person changed the input; the call runs with their version."
        case Denied(message, stop, redirect):
            return _denied(by, message, stop, redirect)
        case Expired():
            return "EXPIRED: nobody decided before the deadline, so the call was not allowed and did not run."
        case Withdrawn(reason):
            because = f" Reason: {quote(reason)}." if reason else ""
            return f"WITHDRAWN: the request was taken back before anybody decided; the call did not run.{because}"
        case Answered() | Declined():
            raise TypeError("a permission is allowed or denied, not answered or declined")
        case _:
            assert_never(outcome)


def _denied(by: str, message: str, stop: bool, redirect: str) -> str:
    parts = [f"DENIED: {by} did not allow this call; it did not run."]
    if message:
        parts.append(f"{'They' if by == 'the person' else 'It'} said: {quote(message)}")
    if redirect:
        parts.append(f"Instead, follow this new instruction: {quote(redirect)}")
    if stop:
        parts.append("Stop what you are doing and wait for the person.")
    return " ".join(parts)
