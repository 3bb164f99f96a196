"""Allow and deny, in the shape that agents expect of a permission prompt, and in words for a model."""

from __future__ import annotations

import json
from typing import Any, assert_never

from askdesk.core.model import Allowed, Answered, Declined, Denied, Expired, Outcome, Permission, Withdrawn
from askdesk.wire.words import quote


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


def text(outcome: Outcome) -> str:
    """What the model reads."""
    match outcome:
        case Allowed(input=None):
            return "ALLOWED: the person allowed this call as it is."
        case Allowed():
            return "ALLOWED WITH CHANGES: the person changed the input; the call runs with their version."
        case Denied(message, stop, redirect):
            return _denied(message, stop, redirect)
        case Expired():
            return "EXPIRED: nobody decided before the deadline, so the call was not allowed and did not run."
        case Withdrawn(reason):
            because = f" Reason: {quote(reason)}." if reason else ""
            return f"WITHDRAWN: the request was taken back before anybody decided; the call did not run.{because}"
        case Answered() | Declined():
            raise TypeError("a permission is allowed or denied, not answered or declined")
        case _:
            assert_never(outcome)


def _denied(message: str, stop: bool, redirect: str) -> str:
    parts = ["DENIED: the person did not allow this call; it did not run."]
    if message:
        parts.append(f"They said: {quote(message)}")
    if redirect:
        parts.append(f"Instead, follow this new instruction: {quote(redirect)}")
    if stop:
        parts.append("Stop what you are doing and wait for the person.")
    return " ".join(parts)
