"""The permission requests of ACP: as what people are asked, and their outcome as the option that goes back.

Only what a person said chooses an option, and only one of the kind that says the same. What ACP has no place for, such
as words beside a no or a changed input, is told apart, so that it can be said to the agent in another way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, assert_never

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
from askdesk.core.text import is_blank
from askdesk.wire import permission

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
META = "askdesk"  # under which our own words stand in a response

_LONGEST_MENTION = 300  # characters of an input that only tells which call is meant
_CALL_FIELDS = ("title", "kind", "content", "locations", "rawInput")
_TOLD_FIELDS = ("content", "locations")
_UNCHANGED = (
    "NOT RUN: the person would allow this call only with another input, and ACP cannot pass that on, so it was "
    "refused. The input that they would allow: {}"
)
_NO_YES = (
    "NOT RUN: the person allowed this call once, but the request had no option for that, so it was refused. "
    "Ask again with an option of kind allow_once."
)


class Offered(NamedTuple):
    """An option of a permission request, of a kind that is known."""

    id: str
    name: str
    kind: str


class Replied(NamedTuple):
    """What goes back to the agent, and what is left to do."""

    response: dict[str, Any]
    unsaid: str = ""  # what the response has no place for that agents are known to read
    stop: bool = False
    then: str = ""  # a new instruction, once it has stopped
    is_no: bool = False  # whether a person said it


class Asked(Protocol):
    """A request as what people are asked."""

    @property
    def body(self) -> Questions | Permission: ...

    def reply(self, outcome: Outcome) -> Replied: ...


def selected(option_id: str, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    outcome: dict[str, Any] = {"outcome": "selected", "optionId": option_id}
    return {"outcome": {**outcome, "_meta": dict(meta)} if meta else outcome}


def cancelled() -> dict[str, Any]:
    return {"outcome": {"outcome": "cancelled"}}


def offered(given: Sequence[Mapping[str, Any]]) -> list[Offered]:
    """The options of known kinds; any other is never chosen."""
    return [Offered(option["optionId"], option["name"], option["kind"]) for option in given if option["kind"] in KINDS]


def refusal(options: Sequence[Offered], words: str = "", *, said: bool = False) -> Replied:
    """A no: of a person where it is `said`, and then also one that the agent remembers will do."""
    kinds = ("reject_once", "reject_always") if said else ("reject_once",)
    found = next((option for kind in kinds for option in options if option.kind == kind), None)
    response = selected(found.id) if found else cancelled()
    if words:
        response["_meta"] = {META: {"message": words}}
    return Replied(response, is_no=said)


class Call:
    """A tool call that wants to be allowed."""

    def __init__(self, call: Mapping[str, Any], options: Sequence[Offered], folder: str) -> None:
        self._options = options
        self.body = Permission(
            tool_name(call),
            call_input(call),
            folder,
            _claim(call),
            [_suggestion(option) for option in _always(options)],
        )

    def reply(self, outcome: Outcome) -> Replied:
        match outcome:
            case Allowed():
                return self._allowed(outcome)
            case Denied(redirect=redirect) if redirect:
                return Replied(cancelled(), stop=True, then=redirect)
            case Denied(stop=True):
                return Replied({**cancelled(), "_meta": {META: {"message": permission.text(outcome)}}}, stop=True)
            case Denied(message):
                words = permission.text(outcome)
                return refusal(self._options, words, said=True)._replace(unsaid=self._about(words) if message else "")
            case Expired() | Withdrawn():
                return refusal(self._options, permission.text(outcome))
            case Answered() | Declined():
                raise TypeError("a permission is allowed or denied, not answered or declined")
            case _:
                assert_never(outcome)

    def _allowed(self, allowed: Allowed) -> Replied:
        if allowed.input is not None and json.loads(allowed.input) != self.body.value:
            words = _UNCHANGED.format(allowed.input)
            return refusal(self._options, words)._replace(unsaid=self._about(words))
        if allowed.remember:  # one answer is one option: the first of those that were chosen
            kept = next(o for o in _always(self._options) if _same(_suggestion(o), allowed.remember[0]))
            return Replied(selected(kept.id))
        if once := next((option for option in self._options if option.kind == "allow_once"), None):
            return Replied(selected(once.id))
        return refusal(self._options, _NO_YES)._replace(unsaid=self._about(_NO_YES))

    def _about(self, words: str) -> str:
        return f"About the call of {self.body.tool} {self.body.input[:_LONGEST_MENTION]}:\n{words}"


def tool_name(call: Mapping[str, Any]) -> str:
    """What the agent calls the tool; else the kind of call, or as a last resort its title."""
    meta = found if isinstance(found := call.get("_meta"), Mapping) else {}
    claude = meta.get("claudeCode")
    names = (
        claude.get("toolName") if isinstance(claude, Mapping) else None,
        meta.get("toolName"),
        call.get("kind") if call.get("kind") != "other" else None,
        call.get("title"),
    )
    return next((name for name in names if isinstance(name, str) and not is_blank(name)), "a tool without a name")


def call_input(call: Mapping[str, Any]) -> dict[str, Any]:
    """What was handed over for the tool; of agents that hand over none, all that they tell of the call."""
    raw = call.get("rawInput")
    if isinstance(raw, dict) and raw:
        return raw
    return {field: call[field] for field in _CALL_FIELDS if call.get(field) not in (None, [], {})}


def _claim(call: Mapping[str, Any]) -> str:
    """What the agent tells of the call beside its input: the title, and what it would show of it."""
    title, given = call.get("title"), call_input(call)
    words = title if isinstance(title, str) and title != tool_name(call) else ""
    told = [call.get(field) for field in _TOLD_FIELDS] if given == call.get("rawInput") else []
    shown = [json.dumps(value, ensure_ascii=False) for value in told if value]
    return "\n".join(filter(None, (words, *shown)))


def _always(options: Iterable[Offered]) -> list[Offered]:
    return [option for option in options if option.kind == "allow_always"]


def _suggestion(option: Offered) -> dict[str, str]:
    """An option that the agent would remember, as a rule that a person can choose."""
    return {"optionId": option.id, "name": option.name, "kind": option.kind}


def _same(suggestion: dict[str, str], rule: str) -> bool:
    return bool(suggestion == json.loads(rule))
