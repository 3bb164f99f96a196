"""Calls to a desk server: each with its token, sent until it is answered; what comes back as values and errors of ours.

Every call may be sent again without harm, so one whose answer was lost is. Knows no verb.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from askdesk.core.errors import (
    AlreadySettled,
    AskdeskError,
    InvalidAsk,
    InvalidDocument,
    InvalidReply,
    InvalidSettings,
    KeyReused,
    Problem,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreGone,
    UnknownAsk,
    VersionConflict,
)
from askdesk.stores.http_connection import Address, Answer, Connections, Lost, Request, Result, Token
from askdesk.stores.patience import PERHAPS, TOLD_AFTER, Pauses
from askdesk.wire.api import ProblemDocument

log = logging.getLogger("askdesk")

_T = TypeVar("_T")
Kind: TypeAlias = Literal["asker", "answerer"]
By: TypeAlias = Kind | Literal["anybody"]

SETTINGS: dict[Kind, str] = {"asker": "ASKDESK_TOKEN", "answerer": "ASKDESK_ANSWER_TOKEN"}
PROBLEM = "urn:askdesk:problem:"
JSON = "application/json"
PROBLEM_TYPE = "application/problem+json"
_ANSWER_SECONDS = 30.0
_LATER = (408, 429, 502, 503, 504)  # what a server, or a proxy before it, says of a moment that passes
_encoder = msgspec.json.Encoder()


class Tokens:
    """The tokens of this client, of which it may have one, both or neither."""

    def __init__(self, asker: str, answerer: str) -> None:
        given: dict[Kind, str] = {"asker": asker, "answerer": answerer}
        for kind, text in given.items():
            if not text.isascii() or not text.isprintable() or " " in text:
                raise InvalidSettings([Problem(SETTINGS[kind], "is not a token")])
        self._texts = {kind: Token(text) for kind, text in given.items()}

    def has(self, kind: Kind) -> bool:
        return bool(self._texts[kind])

    @property
    def for_reading(self) -> Kind:
        return "answerer" if self.has("answerer") else "asker"

    def of(self, kind: By) -> Token:
        if kind == "anybody":
            return Token()
        if not self.has(kind):
            raise InvalidSettings([Problem(SETTINGS[kind], f"is not set; this takes the token of an {kind}")])
        return self._texts[kind]


class Sent(NamedTuple):
    """What came of a call in the end."""

    answer: Answer
    by: By
    again: bool  # it was sent more than once, and may have been done by the first


class Calls:
    def __init__(self, address: Address, tokens: Tokens, *, patience: float, pauses: Pauses) -> None:
        self.url = address.url
        self._prefix, self._tokens = address.prefix, tokens
        self._patience, self._pauses = patience, pauses
        self._connections = Connections(address)
        self._heard_of = asyncio.Event()

    async def send(self, by: By, method: str, path: str, body: Struct | None = None, *, finish: bool = False) -> Sent:
        """Send a request until it is answered. With `finish`, one that is under way is waited for when cancelled."""
        raw = None if body is None else _encoder.encode(body)
        request = Request(method, f"{self._prefix}{path}", self._tokens.of(by), raw)
        end = time.monotonic() + self._patience
        again = False
        for tries, pause in enumerate(self._pauses(), start=1):
            result = await self._once(request, min(_ANSWER_SECONDS, max(end - time.monotonic(), 0.1)), finish)
            if isinstance(result, Answer):
                again = again or result.again
                pause = result.retry_after or pause  # who knows when it is back knows better
            if _is_final(result) or time.monotonic() + pause >= end:
                break
            again = again or isinstance(result, Answer) or result.sent
            if tries == TOLD_AFTER:
                log.warning("%s: %s; trying again for up to %.0f seconds", self.url, _why(result), self._patience)
            await self._pause(pause, to_the_end=isinstance(result, Answer) and result.status == 429)
        if isinstance(result, Lost):
            unsure = method != "GET" and (again or result.sent)
            raise StoreGone(f"{self.url}: {result.why}{PERHAPS if unsure else ''}")
        return Sent(result, by, again)

    async def _pause(self, seconds: float, *, to_the_end: bool) -> None:
        """Before the next try: to the end where the server wants to be left alone, else until it is heard of."""
        heard_of = asyncio.Event() if to_the_end else self._heard_of
        with suppress(TimeoutError):
            await asyncio.wait_for(heard_of.wait(), seconds)

    def hurry(self) -> None:
        """The server was heard of: whoever pauses tries again now."""
        self._heard_of.set()
        self._heard_of = asyncio.Event()

    async def _once(self, request: Request, seconds: float, finish: bool) -> Result:
        under_way = self._connections.send(request, seconds)
        try:
            return await asyncio.shield(under_way)
        except asyncio.CancelledError:
            if finish:  # so that whoever takes it back finds it
                await asyncio.wait([under_way])
            raise

    def read(self, sent: Sent, kind: type[_T], about: str = "") -> _T:
        """The value that was answered; where a problem was, our error of that name."""
        if sent.answer.status not in (200, 201) or sent.answer.type != JSON:
            raise self._error(sent, about)
        return self.decoded(sent.answer.body, kind)

    def decoded(self, raw: bytes | msgspec.Raw, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.ValidationError, AskdeskError) as error:  # JSON, and not as we know it: never a guess
            raise StoreCorrupt(f"{self.url}: the desk sent what this askdesk cannot read: {error}") from None
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            raise StoreGone(f"{self.url}: {_NO_DESK}") from None

    def problem(self, sent: Sent) -> str | None:
        """The kind of problem that a desk answered with."""
        problem = self._problem(sent)
        return problem.type.removeprefix(PROBLEM) if problem else None

    def _problem(self, sent: Sent) -> ProblemDocument | None:
        if sent.answer.type != PROBLEM_TYPE or PROBLEM.encode() not in sent.answer.body:
            return None
        return self.decoded(sent.answer.body, ProblemDocument)

    def _error(self, sent: Sent, about: str) -> AskdeskError:
        """The error of ours that an answer stands for. `about` is the key, id or name that the call named."""
        if (problem := self._problem(sent)) is None:
            return StoreGone(f"{self.url}: {_NO_DESK} (status {sent.answer.status})")
        problems = tuple(Problem(error.path, error.rule) for error in problem.errors) or problem.detail or problem.title
        match problem.type.removeprefix(PROBLEM):
            case "invalid-ask":
                return InvalidAsk(problems)
            case "not-json" | "too-large":
                return InvalidAsk(problems) if sent.by == "asker" else InvalidReply(problems)
            case "invalid-reply":
                return InvalidReply(problems)
            case "invalid-document":
                return InvalidDocument(problems)
            case "key-reused":
                return KeyReused(about, problem.ask_id or "")
            case "unknown-ask":
                return UnknownAsk(about)
            case "already-settled" if problem.settlement:
                return AlreadySettled(about, problem.settlement)
            case "version-conflict":
                return VersionConflict(about, problem.expected or 0, problem.found or 0)
            case "unauthorized" | "forbidden" as refusal:
                return self._refused(sent.by, refusal, problem)
            case "store-busy" | "too-many":
                return StoreBusy(f"{self.url}: {_words(problem)}")
            case "store-full":
                return StoreFull(f"{self.url}: {_words(problem)}")
            case _:
                return StoreGone(f"{self.url}: {_words(problem)}")

    def _refused(self, by: By, refusal: str, problem: ProblemDocument) -> InvalidSettings:
        if refusal == "unauthorized":
            why = f"{self.url} does not take this token: it was revoked, has expired or is another desk's"
        else:
            why = f"{self.url} does not let this token do that: {problem.detail or problem.title}"
        return InvalidSettings([Problem(SETTINGS[by] if by != "anybody" else "", why)])

    def check_usable(self) -> None:
        self._connections.check_usable()

    async def close(self) -> None:
        await self._connections.close()

    def break_off(self) -> None:
        self._connections.break_off()


_NO_DESK = "what answers there is not a desk"


def _is_final(result: Result) -> bool:
    return result.status not in _LATER if isinstance(result, Answer) else result.for_good


def _why(result: Result) -> str:
    return f"not now (status {result.status})" if isinstance(result, Answer) else result.why


def _words(problem: ProblemDocument) -> str:
    return f"{problem.title}{f': {problem.detail}' if problem.detail else ''}"
