"""AskUserQuestion calls in Claude Code transcripts and API logs, each with its answer. Pure: fed with lines, no files.

A log repeats itself: an API request carries the whole conversation, a resumed session copies the one before. Each call
counts once, wherever it is seen again. Only calls that are still open are kept in memory, and a few bytes of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.errors import InvalidAsk, quoted
from askdesk.core.model import (
    Answered,
    Ask,
    Asker,
    Declined,
    Entry,
    Expired,
    Outcome,
    Permission,
    Questions,
    Settlement,
    Withdrawn,
)
from askdesk.wire import tool
from askdesk.wire.ending import Ending, Interrupted, Refused, Result, Told, Unanswered, ending
from askdesk.wire.hook import AGENT, SURFACE
from askdesk.wire.messages import Context, Message, decoded, messages

LONGEST = 64 * 1024 * 1024  # bytes of a line, or of an object over several lines
INTERRUPTED = "interrupted: the person stopped the agent instead of answering"

_NAME, _USE = tool.NAME.encode(), b"tool_use"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRAY = frozenset({b"", b"[", b"]", b",", b"---"})  # between the objects of a file
_skip = msgspec.json.Decoder(msgspec.Raw)


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Flaw(NamedTuple):
    """What could not be read, and where."""

    place: Place
    what: str


class Call(Struct, frozen=True):
    """One call: what was asked and by whom, where it stands, how it ended; `ended` is None while it is open.

    A call that breaks our rules is kept as a tool call, its input as it came, and `problem` says which rule.
    """

    id: str
    body: Questions | Permission
    asker: Asker
    place: Place
    source: str  # the surface that it was answered on
    asked: datetime | None = None
    answered: datetime | None = None
    ended: Ending | None = None
    problem: str = ""

    @property
    def took(self) -> timedelta | None:
        if self.asked is None or self.answered is None or self.answered < self.asked:
            return None
        return self.answered - self.asked

    @property
    def at(self) -> datetime:
        """When it was asked, as far as the log tells."""
        return self.asked or self.answered or _EPOCH

    @property
    def ask(self) -> Ask:
        return Ask(self.id, self.body, self.asker, self.at, self.id, preview_format="markdown")

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, as a desk says it; None where nobody had a say."""
        match self.ended:
            case Answered() | Declined() | Expired() | Withdrawn():
                return self.ended if isinstance(self.body, Questions) else None
            case Interrupted():
                return Withdrawn(INTERRUPTED)
            case Unanswered() | Refused() | Told() | None:
                return None

    @property
    def entry(self) -> Entry:
        """As a desk would keep it."""
        if (outcome := self.outcome) is None:
            return Entry(self.ask)
        return Entry(self.ask, Settlement(outcome, self.answered or self.at, f"log {self.id}", surface=self.source))


class Log:
    """Everything that was read so far: which calls are known, and which wait for their answer."""

    def __init__(self) -> None:
        self._open: dict[bytes, Call] = {}
        self._known: set[bytes] = set()
        self.flaws: list[Flaw] = []
        self.flaw_count = 0
        self.lines = 0

    def file(self, name: str) -> Reader:
        return Reader(self, name)

    def met(self, call: Call) -> bytes | None:
        """Under which mark a call is open; None where its end is known already."""
        mark = blake2b(strict.dumps([call.id, _given(call.body)]).encode(), digest_size=16).digest()
        if mark not in self._known:
            self._known.add(mark)
            self._open[mark] = call
            if call.problem:
                self.flawed(call.place, f"a call breaks the rules: {call.problem}")
        return mark if mark in self._open else None

    def end(self, mark: bytes, result: Result, at: datetime | None) -> Call | None:
        call = self._open.pop(mark, None)
        if call is None:
            return None
        call = _with_asked(call, result.structure)
        questions = call.body if isinstance(call.body, Questions) else None
        return replace(call, ended=ending(questions, result), answered=at)

    @property
    def open(self) -> Iterable[Call]:
        return self._open.values()

    def rest(self) -> Iterator[Call]:
        """What is still open at the end: nobody answered it, as far as anybody wrote down."""
        for call in self._open.values():
            yield replace(call, ended=Unanswered())
        self._open.clear()

    def flawed(self, place: Place, what: str) -> None:
        """Count it, and keep the first ones to be named."""
        self.flaw_count += 1
        if len(self.flaws) < _MOST_NAMED:
            self.flaws.append(Flaw(place, what))


_MOST_NAMED = 20


class Reader:
    """One file, line by line."""

    def __init__(self, log: Log, name: str) -> None:
        self._log, self._name = log, name
        self._line = 0
        self._here: dict[str, bytes] = {}  # calls by id, as this file uses it: the ids of some models come again
        self._watched: dict[str, bytes] = {}  # ids of those without an answer yet, as they stand in a line
        self._block: _Block | None = None  # an object over several lines, begun

    @property
    def place(self) -> Place:
        return Place(self._name, self._line)

    def feed(self, line: bytes) -> Iterable[Call]:
        """The calls that ended with this line."""
        self._line += 1
        self._log.lines += 1
        if self._block is not None:
            return self._go_on(self._block, line)
        place = self.place
        if line[:2] != b'{"':
            bare = line.strip().removesuffix(b",")
            if bare == b"{":
                self._block = _Block([line], line.rstrip().removesuffix(b"{") + b"}", len(line), place)
            if bare in _STRAY or self._block:
                return ()
            line = bare
        return self._record(line, place)

    def skip(self, what: str) -> None:
        """A line that cannot be fed."""
        self._line += 1
        self._log.lines += 1
        self._log.flawed(self.place, what)

    def end(self) -> None:
        """The file is over; an object that was begun is broken."""
        if self._block is not None:
            self._log.flawed(self._block.place, "an object that does not end")
            self._block = None

    def _go_on(self, block: _Block, line: bytes) -> Iterable[Call]:
        """An object laid out for people: it ends with a brace as far to the left as the one that it began with."""
        if block.size + len(line) > LONGEST:
            self._log.flawed(block.place, f"an object of more than {LONGEST} bytes")
            self._block = None
            return ()
        bare = line.rstrip().removesuffix(b",")
        block.lines.append(bare if bare == block.end else line)
        self._block = block._replace(size=block.size + len(line))
        if bare != block.end:
            return ()
        self._block = None
        return self._record(b"".join(block.lines), block.place)

    def _record(self, raw: bytes, place: Place) -> Iterable[Call]:
        """Every line is looked through, and only one that has to do with our tool is made into values."""
        try:
            if not self._concerns(raw):
                _skip.decode(raw)
                return ()
            return self._ended(decoded(raw), place)
        except (ValueError, RecursionError):
            return self._perhaps_broken(raw, place)

    def _concerns(self, raw: bytes) -> bool:
        return (_NAME in raw and _USE in raw) or any(mark in raw for mark in self._watched.values())

    def _perhaps_broken(self, raw: bytes, place: Place) -> Iterable[Call]:
        """The quick look is stricter than need be: with half a character in it a line can be read all the same."""
        try:
            decoded(raw)
        except ValueError as error:
            self._log.flawed(place, f"is not JSON: {quoted(raw[:40].decode('utf-8', 'replace'))}: {error}")
        return ()

    def _ended(self, record: object, place: Place) -> list[Call]:
        return [call for message in messages(record) for call in self._of_message(message, place)]

    def _of_message(self, message: Message, place: Place) -> Iterator[Call]:
        for block in message.content:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and block.get("name") == tool.NAME:
                self._asked(block, message.context, place)
            elif block.get("type") == "tool_result" and (mark := self._here.get(_id(block.get("tool_use_id")))):
                yield from self._answered(block, mark, message.context)

    def _asked(self, block: dict[str, Any], context: Context, place: Place) -> None:
        call = _call(block, context, place)
        self._here.pop(call.id, None)
        if mark := self._log.met(call):
            self._here[call.id] = mark
            self._watched[call.id] = strict.dumps(call.id)[1:-1].encode("utf-8", "replace")

    def _answered(self, block: dict[str, Any], mark: bytes, context: Context) -> Iterator[Call]:
        call_id = _id(block.get("tool_use_id"))
        del self._here[call_id]
        self._watched.pop(call_id, None)
        result = Result(block.get("content"), bool(block.get("is_error")), context.result, context.is_denied)
        if call := self._log.end(mark, result, context.at):
            yield call


class _Block(NamedTuple):
    lines: list[bytes]
    end: bytes
    size: int
    place: Place


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""


def _call(block: dict[str, Any], context: Context, place: Place) -> Call:
    body, problem = _body(block.get("input"))
    return Call(
        _id(block.get("id")).replace("\0", "") or "call",
        body,
        _asker(context),
        place,
        SURFACE if context.is_transcript else "api log",
        context.at,
        problem=problem,
    )


def _body(given: object) -> tuple[Questions | Permission, str]:
    """The questions, or where they break a rule the call as it is, and the rule."""
    try:
        if not isinstance(given, dict | str):
            raise InvalidAsk(f"input: must be an object, is {quoted(given)}")
        return tool.parse(given), ""
    except InvalidAsk as error:
        return _as_it_came(given), str(error).replace("\n", "; ")


def _as_it_came(given: object) -> Permission:
    """The call as a tool call; as a text where no store would take the input itself."""
    try:
        return Permission(tool.NAME, given if isinstance(given, dict) else {"input": given})
    except InvalidAsk:
        return Permission(tool.NAME, {"input": msgspec.json.encode(given).decode("utf-8", "replace")})


def _asker(context: Context) -> Asker:
    if context.is_subagent:
        return Asker(context.agent or "subagent", context.session, context.project, parent=AGENT)
    return Asker(AGENT if context.is_transcript else "claude", context.session, context.project)


def _given(body: Questions | Permission) -> object:
    return tool.written(body) if isinstance(body, Questions) else body.input


def _with_asked(call: Call, structure: object) -> Call:
    """With the questions that the person saw, where the host changed them on the way."""
    asked = structure.get("questions") if isinstance(structure, dict) else None
    if not isinstance(asked, list) or not isinstance(call.body, Questions):
        return call
    body, problem = _body({"questions": asked})
    if problem or not isinstance(body, Questions) or body.items == call.body.items:
        return call
    return replace(call, body=body)
