"""Histories of a desk, and whether they can be true. Knows no store and no server: only who was told what, and when.

A history is what some clients did on one desk at the same time: of each operation the moments at which it began and
ended, what was sent, and what its client was told. One without a word (its client was killed, or the call failed) may
have happened at any moment since it began, or never.

An ask is a write-once cell: it is absent, then it is open, then it is settled for ever. So it changes at two moments at
the most, when it came and when it was settled, and these two decide what each of its operations had to be told. A
history is linearizable where each ask has two moments that fit all that was told of it: asks share nothing, so each
may be looked at alone. A listing is a read of each ask by itself; a desk promises no more of it.

Why it is enough to try the moments at which operations begin: each rule says that an operation began before a change or
ended after it (`_fits`, `_spans`). Whatever two moments keep all rules, let each go back to the latest begin before it.
No operation begins in between, so all that began before a change still did; and what ended after it still does. So the
rules are kept there as well, and where no two begins keep them, no two moments do.

A deadline is an operation that begins when it comes and that nobody has word of: it settles the ask as expired. A reply
that begins later settles nothing, and whoever looks later sees no open ask.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

State: TypeAlias = Literal["absent", "there", "open", "settled", "not open", "not settled"]
Verb: TypeAlias = Literal["post", "ask", "settle", "withdraw", "get", "wait", "list open", "list settled", "expire"]

EXPIRED = "expired"  # the outcome that nobody sends
_NEVER = math.inf
_UNLISTED: dict[Verb, State] = {"list open": "not open", "list settled": "not settled"}


class Settled(Struct, frozen=True, omit_defaults=True):
    """A settlement, as somebody sent it or was told it; what they were not told is left out.

    Each submission sends an outcome of its own, so an outcome tells whose it is.
    """

    outcome: str
    submission: str = ""
    at: int = 0  # microseconds, by the desk's clock

    def agrees(self, other: Settled) -> bool:
        """Whether both can be one settlement."""
        pairs = ((self.submission, other.submission), (self.at, other.at))
        return self.outcome == other.outcome and all(one == two or not one or not two for one, two in pairs)


class Told(Struct, frozen=True, omit_defaults=True):
    """What a client was told of one ask; what it was not told is left out."""

    state: State
    id: str = ""
    deadline: int | None = None  # microseconds, by the desk's clock
    settled: Settled | None = None
    won: bool | None = None


class Operation(Struct, frozen=True, omit_defaults=True):
    """What one client did once."""

    number: int
    client: str
    verb: Verb
    began: float  # microseconds, by one clock for all clients
    ended: float = _NEVER
    ask: str = ""  # its key; a listing has none
    sent: Settled | None = None
    told: Told | None = None  # None: no word came
    listed: dict[str, Told] = {}

    @property
    def is_listing(self) -> bool:
        return self.verb in _UNLISTED

    @property
    def has_ended(self) -> bool:
        return self.ended < _NEVER


class History(Struct, frozen=True):
    operations: tuple[Operation, ...]
    wall: int = 0  # what the desk's clock shows where that of the operations shows 0
    apart: int = 0  # so many microseconds two of the desk's clocks may be apart


def violations(history: History) -> list[str]:
    """Why this history cannot be true, in a sentence for each ask that it tells wrong; none where it can."""
    names = {op.ask for op in history.operations} | {name for op in history.operations for name in op.listed}
    cells = [Cell(name, history) for name in sorted(names - {""})]
    return [*_shared(cells), *(flaw for cell in cells if (flaw := cell.flaw))]


def _shared(cells: Iterable[Cell]) -> Iterator[str]:
    """Ids that are told of two asks."""
    names: dict[str, str] = {}
    for cell in cells:
        for ask_id in cell.ids:
            if (name := names.setdefault(ask_id, cell.ask)) != cell.ask:
                yield f"Asks {name} and {cell.ask} have one id: {ask_id}."


class Cell:
    """One ask, and all that was done to it."""

    def __init__(self, ask: str, history: History) -> None:
        self.ask, self.history = ask, history

    @cached_property
    def operations(self) -> list[Operation]:
        return [part for op in self.history.operations for part in _parts(op, self.ask)]

    @cached_property
    def told(self) -> list[tuple[Operation, Told]]:
        return [(op, op.told) for op in self.operations if op.told]

    @cached_property
    def endings(self) -> list[tuple[Operation, Settled]]:
        return [(op, told.settled) for op, told in self.told if told.settled]

    @cached_property
    def ids(self) -> dict[str, Operation]:
        """Each with who was told it first."""
        return {told.id: op for op, told in reversed(self.told) if told.id}

    @cached_property
    def deadline(self) -> int | None:
        return next((told.deadline for _, told in self.told if told.deadline is not None), None)

    @cached_property
    def due(self) -> float:
        """When the deadline comes, by the clock of the operations."""
        return _NEVER if self.deadline is None else self.deadline - self.history.wall

    def is_late(self, op: Operation) -> bool:
        """Whether it began when the deadline had come, whosever clock one looks at."""
        return op.began > self.due + self.history.apart

    @cached_property
    def posts(self) -> list[Operation]:
        """What may have made the ask."""
        return [op for op in self.operations if op.verb == "post"]

    @cached_property
    def senders(self) -> list[Operation]:
        """What may have settled it; where somebody was told how it ended, with just that."""
        senders = [op for op in self.operations if op.sent and not (op.told and op.told.state == "absent")]
        if self.deadline is not None:
            expiry = Operation(0, "the deadline", "expire", self.due - self.history.apart, sent=Settled(EXPIRED))
            senders.append(expiry)
        return [op for op in senders if op.sent and all(op.sent.agrees(ending) for _, ending in self.endings)]

    @property
    def flaw(self) -> str | None:
        """Why what was told of it cannot be true."""
        rules = (self._doubled, self._settled_twice, self._unsent, self._misled, self._out_of_time, self._out_of_order)
        return next((flaw for rule in rules if (flaw := rule())), None)

    def _doubled(self) -> str | None:
        if len(self.ids) < 2:
            return None
        told = _and(f"{_name(op)} was told {ask_id}" for ask_id, op in self.ids.items())
        return f"Two asks have the key {self.ask}: {told}."

    def _settled_twice(self) -> str | None:
        for first, one in self.endings:
            for second, other in self.endings:
                if not one.agrees(other):
                    words = (f"{self._words(op)}{self._at(end)}" for op, end in ((first, one), (second, other)))
                    return f"Ask {self.ask} was settled twice: {_and(words)}."
        return None

    def _unsent(self) -> str | None:
        if not self.endings or self.senders:
            return None
        op, settled = self.endings[0]
        others = (other for other in self.history.operations if other.sent and other.sent.outcome == settled.outcome)
        if settled.outcome == EXPIRED:
            why = "it has no deadline"
        elif sender := next(others, None):
            elsewhere = f"{_name(sender)} sent that to ask {sender.ask}"
            why = elsewhere if sender.ask != self.ask else self._words(sender)
        else:
            why = "nobody sent that"
        return f"Of ask {self.ask}, {self._words(op)}, but {why}."

    def _misled(self) -> str | None:
        for op, settled in self.endings:
            won = settled.submission == op.sent.submission if op.sent else None
            if op.told and op.told.won is not won:
                return f"Of ask {self.ask}, {self._words(op)}, but it {'won' if won else 'lost'}."
        return None

    def _out_of_time(self) -> str | None:
        """The deadline was not kept, whatever the order was."""
        due = self._ms(self.due)
        for op, told in self.told:
            if told.state == "open" and self.is_late(op):
                return f"Of ask {self.ask}, {self._words(op)}, but its deadline had come at {due}."
        for op, settled in self.endings:
            if settled.at and (settled.outcome == EXPIRED) is not self._is_due(settled.at):
                return f"Of ask {self.ask}, {self._words(op)}{self._at(settled)}, but its deadline was {due}."
        if self.endings and all(map(self.is_late, self.senders)):
            return f"Ask {self.ask} was settled by {self._name(self.senders[0])}, after its deadline at {due}."
        return None

    def _is_due(self, moment: int) -> bool:
        return self.deadline is not None and self.deadline <= moment

    def _out_of_order(self) -> str | None:
        """No two moments fit; explained by as few operations as contradict each other."""
        told = [op for op, _ in self.told]
        if self._possible(told):
            return None
        for op in tuple(told):
            if not self._possible(others := [other for other in told if other is not op]):
                told = others
        told.sort(key=lambda op: (op.began, op.ended))
        words = _and(self._words(op) for op in told)
        first = min(self.senders, key=lambda op: op.began, default=None)
        if len(told) == 1 and self.endings and first and first.began > told[0].ended:
            return f"Of ask {self.ask}, {words}, before {self._name(first)} had begun."
        return f"No order explains what was told of ask {self.ask}: {words}."

    def _possible(self, told: list[Operation]) -> bool:
        """Whether two moments fit what these operations were told; of the others it is forgotten."""
        posts, senders = ([_known(op, told) for op in ops] for ops in (self.posts, self.senders))
        begins = sorted({op.began for op in (*self.operations, *senders)})
        comings = [*(m for m in begins if any(_spans(op, m) for op in posts)), _NEVER]
        settlings = [*(m for m in begins if any(_spans(op, m) for op in senders)), _NEVER]
        return any(
            all(self._fits(op, came, settled) for op in told)
            for came in comings
            for settled in settlings
            if came <= settled
        )

    def _fits(self, op: Operation, came: float, settled: float) -> bool:
        """Whether the ask was once, while the operation ran, what its client was told; at one moment all orders do."""
        match op.told and op.told.state:
            case "absent":
                return op.began <= came
            case "there":
                return came <= op.ended
            case "open":
                return came <= op.ended and op.began <= settled
            case "settled":
                return settled <= op.ended
            case "not open":
                return op.began <= came or settled <= op.ended
            case "not settled":
                return op.began <= (came if self.is_late(op) else settled)
            case _:
                return True

    def _words(self, op: Operation) -> str:
        """An operation and what it was told, as a clause."""
        name = self._name(op)
        if op.told is None:
            return name
        outcome = op.told.settled.outcome if op.told.settled else ""
        if op.is_listing:
            shown = "did not show it" if op.told.state in _UNLISTED.values() else f"showed it as {outcome or 'open'}"
            return f"{name} {shown}"
        end = {True: ", so it won", False: ", so it lost", None: ""}[op.told.won]
        return f"{name} was told that it is {outcome or op.told.state}{end}"

    def _name(self, op: Operation) -> str:
        if op.verb == "expire":
            return f"the deadline at {self._ms(self.due)}"
        lasted = f"at {self._ms(op.began)}" + (f" to {self._ms(op.ended)}" if op.has_ended else "")
        return f"{_name(op)} {lasted}"

    def _at(self, settled: Settled) -> str:
        return f" (settled at {self._ms(settled.at - self.history.wall)})" if settled.at else ""

    def _ms(self, moment: float) -> str:
        begin = min(op.began for op in self.history.operations)
        return f"{(moment - begin) / 1000:.3f} ms"


def _parts(op: Operation, ask: str) -> Iterator[Operation]:
    """What an operation did to one ask: a listing reads it, and `ask` is to post and to wait."""
    if op.is_listing and op.has_ended:
        yield replace(op, ask=ask, told=op.listed.get(ask, Told(_UNLISTED[op.verb])))
    elif op.ask == ask and op.verb == "ask":
        yield replace(op, verb="post", told=op.told and Told("there"))
        yield replace(op, verb="wait")
    elif op.ask == ask:
        yield op


def _known(op: Operation, told: list[Operation]) -> Operation:
    """The operation, with its end where one knows of it."""
    return op if op in told else replace(op, ended=_NEVER)


def _spans(op: Operation, moment: float) -> bool:
    """Whether it may have made the change that was made then."""
    return op.began <= moment <= op.ended


def _name(op: Operation) -> str:
    return f"{op.client}'s {op.verb} (#{op.number})"


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)}, and {last}" if most else last
