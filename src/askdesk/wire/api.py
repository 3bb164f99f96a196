"""The documents of the HTTP API, in and out: what the server and the store that speaks to it share.

What comes in is strict JSON; unknown fields are refused, so that nothing an agent adds passes for more. What goes out
holds asks and settlements as records.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem
from askdesk.core.model import (
    Allowed,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Permission,
    PreviewFormat,
    Questions,
    Settlement,
)
from askdesk.core.store import Document

_T = TypeVar("_T")
_AT = re.compile(r"^(.*?) - at `\$(.*)`$", re.DOTALL)
ID = r"^[0-9a-f]{32}$"


class NewAsk(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An ask to be put on the desk: `questions` in the AskUserQuestion tool's format, or a `body` as in records."""

    questions: list[Any] | None = None
    body: Questions | Permission | None = None
    asker: Asker = Asker()
    id: str | None = None  # 128 random bits as 32 hexadecimal digits; sent again, it is the same ask
    key: str | None = None
    deadline: datetime | None = None
    preview_format: PreviewFormat = "none"
    follows: str | None = None


class NewSettlement(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person's reply. Who they are is what their token says; when it was is what the server's clock says."""

    reply: Answered | Declined | Allowed | Denied
    submission: str
    surface: str = "http"
    digest: str | None = None


class NewWithdrawal(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    reason: str = ""


class NewDocument(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to write on the shelf; null removes it. `expect` is the version that must be there, 0 for none."""

    value: str | None
    expect: int | None = None


class EntryDocument(Struct, frozen=True, omit_defaults=True):
    """An ask, how it ended, and then also what the agent gets in the format it knows."""

    ask: Ask
    settlement: Settlement | None = None
    result: dict[str, Any] | None = None


class PageDocument(Struct, frozen=True, omit_defaults=True):
    entries: tuple[EntryDocument, ...]
    after: str | None = None


class ExpiryDocument(Struct, frozen=True):
    expired: tuple[str, ...]


class ShelfDocument(Struct, frozen=True):
    documents: tuple[Document, ...]


class MeDocument(Struct, frozen=True, omit_defaults=True):
    """What the token that was sent may do."""

    kind: str
    name: str
    projects: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    expires: datetime | None = None


class FieldProblem(Struct, frozen=True):
    path: str
    rule: str


class ProblemDocument(Struct, frozen=True, omit_defaults=True):
    """Why something was refused (RFC 9457), with every broken rule and, where somebody else was first, who."""

    type: str
    title: str
    status: int
    detail: str = ""
    errors: tuple[FieldProblem, ...] = ()
    settlement: Settlement | None = None
    ask_id: str | None = None
    expected: int | None = None
    found: int | None = None


def read(raw: bytes, kind: type[_T], *, size: int, depth: int) -> _T:
    """A document that came in; NotStrict or InvalidAsk where it is none of its kind."""
    value = strict.loads(raw, size=size, depth=depth)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidAsk([_problem(str(error))]) from None
    except InvalidReply as error:
        raise InvalidReply(problem.under("reply") for problem in error.problems) from None


def _problem(message: str) -> Problem:
    """Where msgspec found it, as a path of ours."""
    found = _AT.match(message)
    return Problem(found[2].removeprefix("."), found[1]) if found else Problem("", message)


def entry_document(entry: Entry) -> EntryDocument:
    return EntryDocument(entry.ask, entry.settlement)
