"""The documents of the HTTP API, in and out: what the server and the store that speaks to it share.

What comes in is strict JSON; unknown fields are refused, so that nothing an agent adds passes for more. What goes out
holds asks and settlements as records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, inspect

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem, named, quoted
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
_FOUND = re.compile(r"(.*?) - at `\$(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`", re.ASCII)
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
    collect: bool = False  # nobody waits for it: its end is kept for the asker to collect


class NewSettlement(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person's reply. Who they are is what their token says; when it was is what the server's clock says."""

    reply: Answered | Declined | Allowed | Denied
    submission: str
    surface: str = "http"
    digest: str | None = None


class NewWithdrawal(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    reason: str = ""


class NewDelivery(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The asker has heard how an ask ended; without one, it is the ask's own."""

    asker: Asker | None = None


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


class CollectDocument(Struct, frozen=True):
    """What an asker left and was settled since, each until it was delivered; and how many are open."""

    entries: tuple[EntryDocument, ...]
    open: int


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
    """A document that came in; NotStrict, InvalidAsk or InvalidReply where it is none of its kind."""
    value = strict.loads(raw, size=size, depth=depth)
    problems = list(_strangers(value, kind))
    try:
        if not problems:
            return msgspec.convert(value, kind)
    except (msgspec.ValidationError, InvalidAsk, InvalidReply):
        problems = list(_flaws(value, kind))
    raise InvalidReply(problems) if kind is NewSettlement else InvalidAsk(problems)


def _strangers(value: object, kind: type) -> Iterator[Problem]:
    """The fields, at any depth, that nobody here knows."""
    for path, part, struct in _parts(value, _type_info(kind), ""):
        known = [field.encode_name for field in struct.fields]
        for name in part:
            if name not in known and name != struct.tag_field:
                yield _at(path, Problem(named(name), f"is not a field; the fields are {', '.join(known)}"))


def _flaws(value: object, kind: type) -> Iterator[Problem]:
    """What is wrong in the innermost parts; those around them are wrong for that alone."""
    wrong: list[str] = []
    for path, part, struct in _parts(value, _type_info(kind), ""):
        if any(inner.startswith(path) for inner in wrong):
            continue
        try:
            msgspec.convert(part, struct.cls)
        except msgspec.ValidationError as error:
            wrong.append(path)
            yield _at(path, _problem(str(error)))
        except (InvalidAsk, InvalidReply) as error:
            wrong.append(path)
            yield from (_at(path, problem) for problem in error.problems)
    if not wrong:
        yield Problem("", f"must be an object, is {quoted(value)}")


def _parts(value: object, kind: inspect.Type, path: str) -> Iterator[tuple[str, dict[str, Any], inspect.StructType]]:
    """Every object in a value that is one of our types, with its place; the inner ones first."""
    match kind, value:
        case inspect.UnionType(types), _:
            for one in types:
                yield from _parts(value, one, path)
        case inspect.VarTupleType(item_type=item), list():
            for number, inner in enumerate(value):
                yield from _parts(inner, item, f"{path}[{number}]")
        case inspect.StructType(), dict() if kind.tag_field is None or value.get(kind.tag_field) == kind.tag:
            for field in kind.fields:
                if isinstance(inner := value.get(field.encode_name), dict | list):
                    place = f"{path}.{field.encode_name}" if path else field.encode_name
                    yield from _parts(inner, field.type, place)
            yield path, value, kind


@cache
def _type_info(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


def _at(path: str, problem: Problem) -> Problem:
    return problem.under(path) if path else problem


def _problem(message: str) -> Problem:
    """What msgspec found, with its place as a path of ours."""
    found = _FOUND.fullmatch(message)
    what, path = (found[1], found[2].removeprefix(".")) if found else (message, "")
    missing = _MISSING.fullmatch(what)
    return _at(path, Problem(missing[1], "is required") if missing else Problem("", what))


def entry_document(entry: Entry) -> EntryDocument:
    return EntryDocument(entry.ask, entry.settlement)
