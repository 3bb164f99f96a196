"""Errors as answers over HTTP: RFC 9457 problems, each with a status, and nothing of the inside in them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from askdesk.core.errors import (
    AlreadySettled,
    AskdeskError,
    InvalidAsk,
    InvalidDocument,
    InvalidReply,
    InvalidSettings,
    KeyReused,
    StoreBusy,
    StoreFull,
    UnknownAsk,
    VersionConflict,
)
from askdesk.core.strict import NotStrict
from askdesk.wire.api import FieldProblem, ProblemDocument

PROBLEM = "urn:askdesk:problem:"

_TITLES = {
    "not-http": "This is not HTTP as this desk speaks it",
    "too-slow": "The request took too long to arrive",
    "not-json": "The body is not JSON that means one thing",
    "invalid-ask": "The ask breaks a rule",
    "invalid-reply": "The reply does not fit the ask",
    "invalid-document": "The shelf cannot keep such a text",
    "key-reused": "This key already names another ask",
    "already-settled": "Somebody else was first",
    "unknown-ask": "There is no such ask",
    "version-conflict": "The document has changed since it was read",
    "store-busy": "The store is locked for too long; try again",
    "store-full": "There is no room left; nothing was written",
    "store-unusable": "The store cannot be used",
    "unauthorized": "This needs a valid token",
    "forbidden": "This token may not do that",
    "not-found": "There is nothing here",
    "not-allowed": "This address does not take that method",
    "wrong-host": "This desk does not answer under that name",
    "wrong-origin": "Another site may not ask this of the desk",
    "wrong-type": "The body must be application/json",
    "too-large": "The body is too large",
    "too-many": "Too many at once; try again later",
    "stopping": "The desk is about to stop; try again",
    "failed": "The desk failed; nothing was settled by this",
}


class Refused(Exception):
    """A request that is turned down, with a status and the kind of problem."""

    def __init__(self, status: int, kind: str, detail: str = "", *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.headers = status, kind, detail, dict(headers or {})


def problem_of(error: Exception) -> ProblemDocument:
    """What to tell about an error. Only those of our own tree have words for others."""
    match error:
        case Refused():
            return _problem(error.status, error.kind, error.detail)
        case NotStrict():
            return _problem(400, "not-json", str(error))
        case InvalidAsk() | InvalidSettings():
            return _invalid("invalid-ask", error)
        case InvalidReply():
            return _invalid("invalid-reply", error)
        case InvalidDocument():
            return _invalid("invalid-document", error)
        case KeyReused():
            return msgspec.structs.replace(_problem(422, "key-reused", str(error)), ask_id=error.ask_id)
        case UnknownAsk():
            return _problem(404, "unknown-ask", str(error))
        case AlreadySettled():
            settled = _problem(409, "already-settled", str(error))
            return msgspec.structs.replace(settled, settlement=error.settlement, ask_id=error.ask_id)
        case VersionConflict():
            conflict = _problem(409, "version-conflict", str(error))
            return msgspec.structs.replace(conflict, expected=error.expected, found=error.found)
        case StoreBusy():
            return _problem(503, "store-busy")
        case StoreFull():
            return _problem(507, "store-full")
        case AskdeskError():
            return _problem(503, "store-unusable")  # its path and its words are for the operator's log
        case _:
            return _problem(500, "failed")


def problem_response(error: Exception) -> Response:
    problem = problem_of(error)
    headers = dict(error.headers) if isinstance(error, Refused) else {}
    if problem.status == 503:
        headers.setdefault("Retry-After", "1")
    return Response(
        msgspec.json.encode(problem), problem.status, headers=headers, media_type="application/problem+json"
    )


def _problem(status: int, kind: str, detail: str = "") -> ProblemDocument:
    return ProblemDocument(f"{PROBLEM}{kind}", _TITLES[kind], status, detail)


def _invalid(kind: str, error: InvalidAsk | InvalidReply | InvalidDocument | InvalidSettings) -> ProblemDocument:
    errors = tuple(FieldProblem(problem.path, problem.rule) for problem in error.problems)
    return msgspec.structs.replace(_problem(422, kind, str(error)), errors=errors)
