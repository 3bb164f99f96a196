"""Every error askdesk raises, and who should hear it.

AskdeskError
├── InvalidAsk          the agent: what it asks breaks a rule
├── KeyReused           the agent: this key already names another ask
├── InvalidReply        the person: the reply does not fit the ask
├── AlreadySettled      the person: somebody else was first, and here is how it ended
├── UnknownAsk          whoever named it: there is no such ask
├── Unreachable         the agent: nobody can be reached; the ask stays open
├── VersionConflict     a program: the document on the shelf has changed since it was read
├── InvalidDocument     a program: the shelf cannot keep such a text
├── InvalidSettings     the operator
├── MissingGuest        the operator: an optional library is not installed
├── AgentFailed         the operator: an agent that runs under the desk did not start, refused, or ended
└── StoreError          the operator
    ├── StoreBusy       locked by another process for too long
    ├── StoreFull       no room
    ├── StoreGone       deleted, replaced, unreadable or out of reach
    │   └── NoStore     never made
    ├── StoreCorrupt    damaged, or not ours
    ├── StoreClash      something else is kept there under the same name
    └── StoreTooNew     written by a newer major version
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from askdesk.core.model import Settlement

_LONGEST_VALUE = 60


class Problem(NamedTuple):
    """One broken rule: where, what the rule wants, what was there instead."""

    path: str
    rule: str

    def under(self, parent: str) -> Problem:
        """The same problem, seen from a value that contains this one."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return Problem(f"{parent}{joint}{self.path}", self.rule)

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}" if self.path else self.rule


def quoted(value: object) -> str:
    """A short, printable picture of a value for an error message; never more than a line."""
    text = json.dumps(value, ensure_ascii=True, default=lambda other: f"<{type(other).__name__}>")
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def named(key: str) -> str:
    """A key as it may stand in a path: as it is where it is a plain word, else quoted."""
    return key if key.isascii() and key.isidentifier() and len(key) <= _LONGEST_VALUE else quoted(key)


class AskdeskError(Exception):
    """The root of the tree above."""


class _Invalid(AskdeskError):
    """Carries every problem that was found, not the first one only."""

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        self.problems = (Problem("", problems),) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InvalidAsk(_Invalid):
    """For the agent, in words that a model can act on."""


class InvalidReply(_Invalid):
    """For the person, who can then reply again; never shown to the agent."""


class InvalidDocument(_Invalid):
    """For the program that wrote it."""


class InvalidSettings(_Invalid):
    """For the operator."""


class KeyReused(AskdeskError):
    def __init__(self, key: str, ask_id: str) -> None:
        super().__init__(f"key {quoted(key)}: already names ask {ask_id}, which asks something else")
        self.key, self.ask_id = key, ask_id


class UnknownAsk(AskdeskError):
    def __init__(self, ask_id: str) -> None:
        super().__init__(f"there is no ask {quoted(ask_id)}")
        self.ask_id = ask_id


class AlreadySettled(AskdeskError):
    """Carries the settlement that stands."""

    def __init__(self, ask_id: str, settlement: Settlement) -> None:
        super().__init__(f"ask {ask_id} is already settled: {settlement.summary}")
        self.ask_id, self.settlement = ask_id, settlement


class Unreachable(AskdeskError):
    def __init__(self, ask_id: str, why: str) -> None:
        super().__init__(f"nobody can be reached ({why}); ask {ask_id} stays open")
        self.ask_id = ask_id


class VersionConflict(AskdeskError):
    def __init__(self, name: str, expected: int, found: int) -> None:
        super().__init__(f"document {quoted(name)}: expected version {expected}, found {found}")
        self.name, self.expected, self.found = name, expected, found


class MissingGuest(AskdeskError):
    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: pip install 'askdesk[{extra}]'")
        self.library, self.extra = library, extra


class AgentFailed(AskdeskError):
    """In words for the operator; what the agent wrote in them is shown like all text of agents."""


class StoreError(AskdeskError):
    """Nothing was written; but of what was under way while a store went out of reach, nobody knows."""


class StoreBusy(StoreError):
    pass


class StoreFull(StoreError):
    pass


class StoreGone(StoreError):
    pass


class NoStore(StoreGone):
    pass


class StoreCorrupt(StoreError):
    pass


class StoreClash(StoreError):
    pass


class StoreTooNew(StoreError):
    pass
