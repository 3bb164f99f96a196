"""The checker of histories is held against one that tries all orders, and against good and planted bad histories."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.faults.history import EXPIRED, History, Operation, Settled, Told, Verb, violations

LEFT, RIGHT = Settled("left", "ana on plum"), Settled("right", "ben on plum")
BACK = Settled("taken back", "withdrawal")
DUE = Settled(EXPIRED, "expiry")
VERBS: tuple[Verb, ...] = ("post", "settle", "settle", "withdraw", "get", "wait", "list open", "list settled")
THERE, OPEN, ABSENT = Told("there"), Told("open"), Told("absent")


def settled(settlement: Settled, *, won: bool | None = None) -> Told:
    return Told("settled", settled=settlement, won=won)


# One ask is answered, with two people at it; the other is left alone until its deadline at 30 ms.
PLUM, FIG = "1a", "2b"
ON_FIG = Settled("north", "ben on fig")
LATE = replace(DUE, at=31_000)
GOOD = (
    Operation(1, "builder", "post", 0, 2_000, "plum", told=Told("there", id=PLUM)),
    Operation(2, "tester", "post", 1_000, 3_000, "plum", told=Told("there", id=PLUM)),
    Operation(3, "builder", "post", 2_000, 4_000, "fig", told=Told("there", id=FIG, deadline=30_000)),
    Operation(4, "cleo", "list open", 5_000, 6_000, listed={"plum": Told("open", id=PLUM), "fig": OPEN}),
    Operation(5, "ana", "settle", 7_000, 12_000, "plum", LEFT, settled(LEFT, won=True)),
    Operation(6, "ben", "settle", 8_000, 13_000, "plum", RIGHT, settled(LEFT, won=False)),
    Operation(7, "tester", "wait", 4_000, 14_000, "plum", told=settled(LEFT)),
    Operation(8, "ana", "settle", 14_000, 15_000, "plum", LEFT, settled(LEFT, won=True)),
    Operation(9, "cleo", "list open", 16_000, 17_000, listed={"fig": OPEN}),
    Operation(10, "cleo", "list settled", 18_000, 19_000, listed={"plum": settled(LEFT)}),
    Operation(11, "ben", "settle", 31_000, 33_000, "fig", ON_FIG, settled(LATE, won=False)),
    Operation(12, "builder", "get", 34_000, 35_000, "fig", told=settled(LATE)),
    Operation(13, "builder", "withdraw", 36_000, 37_000, "plum", BACK, settled(LEFT, won=False)),
    Operation(14, "cleo", "list open", 38_000, 39_000),
)


class Planted(NamedTuple):
    """What is told otherwise in the good history, and what the checker says of it."""

    kind: str
    changes: dict[int, dict[str, Any]]
    words: str


def more(client: str, verb: Verb, began: int, ended: int, **fields: Any) -> dict[int, dict[str, Any]]:
    """One more operation at the end of the good history."""
    return {15: {"client": client, "verb": verb, "began": began, "ended": ended, **fields}}


ANA_WON = "ana's settle (#5) at 7.000 ms to 12.000 ms was told that it is left, so it won"
NO_ORDER = "No order explains what was told of ask"
PLANTED = (
    Planted(
        "an acknowledged ask is lost",
        {12: {"told": ABSENT}, 11: {"told": ABSENT}},
        f"{NO_ORDER} fig: cleo's list open (#9) at 16.000 ms to 17.000 ms showed it as open, "
        "and builder's get (#12) at 34.000 ms to 35.000 ms was told that it is absent.",
    ),
    Planted(
        "an ask is settled twice",
        {7: {"told": settled(RIGHT)}},
        f"Ask plum was settled twice: {ANA_WON}, "
        "and tester's wait (#7) at 4.000 ms to 14.000 ms was told that it is right.",
    ),
    Planted(
        "two people win",
        {6: {"told": settled(RIGHT, won=True)}},
        f"Ask plum was settled twice: {ANA_WON}, "
        "and ben's settle (#6) at 8.000 ms to 13.000 ms was told that it is right, so it won.",
    ),
    Planted(
        "a read is older than what was acknowledged before it",
        more("cleo", "get", 15_500, 16_000, ask="plum", told=OPEN),
        f"{NO_ORDER} plum: ana's settle (#8) at 14.000 ms to 15.000 ms was told that it is left, so it won, "
        "and cleo's get (#15) at 15.500 ms to 16.000 ms was told that it is open.",
    ),
    Planted(
        "a loser is told a settlement that does not stand",
        {6: {"told": settled(BACK, won=False)}},
        f"Ask plum was settled twice: {ANA_WON}, "
        "and ben's settle (#6) at 8.000 ms to 13.000 ms was told that it is taken back, so it lost.",
    ),
    Planted(
        "a loser is told another moment than the winner",
        {5: {"told": settled(replace(LEFT, at=9_000), won=True)}, 6: {"told": settled(replace(LEFT, at=1), won=False)}},
        f"Ask plum was settled twice: {ANA_WON} (settled at 9.000 ms), "
        "and ben's settle (#6) at 8.000 ms to 13.000 ms was told that it is left, so it lost (settled at 0.001 ms).",
    ),
    Planted(
        "an expired ask is answered",
        {12: {"told": settled(ON_FIG)}},
        "Ask fig was settled twice: ben's settle (#11) at 31.000 ms to 33.000 ms was told that it is expired, so it "
        "lost (settled at 31.000 ms), and builder's get (#12) at 34.000 ms to 35.000 ms was told that it is north.",
    ),
    Planted(
        "an ask that was taken back is answered",
        {13: {"began": 5_000, "ended": 6_000, "told": settled(BACK, won=True)}},
        f"Ask plum was settled twice: {ANA_WON}, "
        "and builder's withdraw (#13) at 5.000 ms to 6.000 ms was told that it is taken back, so it won.",
    ),
    Planted(
        "one key has two asks",
        {2: {"told": Told("there", id="3c")}},
        "Two asks have the key plum: builder's post (#1) was told 1a, and tester's post (#2) was told 3c.",
    ),
    Planted(
        "one id is told of two asks",
        {3: {"told": Told("there", id=PLUM, deadline=30_000)}},
        "Asks fig and plum have one id: 1a.",
    ),
    Planted(
        "the winner is told that it lost",
        {5: {"told": settled(LEFT, won=False)}},
        "Of ask plum, ana's settle (#5) at 7.000 ms to 12.000 ms was told that it is left, so it lost, but it won.",
    ),
    Planted(
        "the same submission succeeds only once",
        {8: {"told": settled(LEFT, won=False)}},
        "Of ask plum, ana's settle (#8) at 14.000 ms to 15.000 ms was told that it is left, so it lost, but it won.",
    ),
    Planted(
        "a loser is told that it won",
        {6: {"told": settled(LEFT, won=True)}},
        "Of ask plum, ben's settle (#6) at 8.000 ms to 13.000 ms was told that it is left, so it won, but it lost.",
    ),
    Planted(
        "an outcome comes from nobody",
        {11: {"told": None}, 12: {"told": settled(Settled("south", "x"))}},
        "Of ask fig, builder's get (#12) at 34.000 ms to 35.000 ms was told that it is south, but nobody sent that.",
    ),
    Planted(
        "who waits is told the outcome of another ask",
        {11: {"told": None}, 12: {"told": settled(LEFT)}},
        "Of ask fig, builder's get (#12) at 34.000 ms to 35.000 ms was told that it is left, "
        "but ana's settle (#5) sent that to ask plum.",
    ),
    Planted(
        "an outcome is told before anybody sent it",
        {7: {"ended": 6_500}},
        "Of ask plum, tester's wait (#7) at 4.000 ms to 6.500 ms was told that it is left, "
        "before ana's settle (#5) at 7.000 ms to 12.000 ms had begun.",
    ),
    Planted(
        "a settled ask is listed as open",
        {9: {"listed": {"plum": OPEN, "fig": OPEN}}},
        f"{NO_ORDER} plum: ana's settle (#8) at 14.000 ms to 15.000 ms was told that it is left, so it won, "
        "and cleo's list open (#9) at 16.000 ms to 17.000 ms showed it as open.",
    ),
    Planted(
        "an open ask is not listed",
        {9: {"listed": {}}},
        f"{NO_ORDER} fig: cleo's list open (#4) at 5.000 ms to 6.000 ms showed it as open, "
        "and cleo's list open (#9) at 16.000 ms to 17.000 ms did not show it.",
    ),
    Planted(
        "a settled ask is not listed",
        {10: {"listed": {}}},
        f"{NO_ORDER} plum: ana's settle (#8) at 14.000 ms to 15.000 ms was told that it is left, so it won, "
        "and cleo's list settled (#10) at 18.000 ms to 19.000 ms did not show it.",
    ),
    Planted(
        "an ask expires before its deadline",
        {11: {"told": None}, 12: {"told": settled(replace(DUE, at=29_000))}},
        "Of ask fig, builder's get (#12) at 34.000 ms to 35.000 ms was told that it is expired (settled at 29.000 ms), "
        "but its deadline was 30.000 ms.",
    ),
    Planted(
        "an ask is answered after its deadline",
        {11: {"told": settled(ON_FIG, won=True)}, 12: {"told": settled(ON_FIG)}},
        "Ask fig was settled by ben's settle (#11) at 31.000 ms to 33.000 ms, after its deadline at 30.000 ms.",
    ),
    Planted(
        "an ask is shown as open after its deadline",
        {14: {"listed": {"fig": OPEN}}},
        "Of ask fig, cleo's list open (#14) at 38.000 ms to 39.000 ms showed it as open, "
        "but its deadline had come at 30.000 ms.",
    ),
    Planted(
        "an ask expires that has no deadline",
        {3: {"told": Told("there", id=FIG)}},
        "Of ask fig, ben's settle (#11) at 31.000 ms to 33.000 ms was told that it is expired, so it lost, "
        "but it has no deadline.",
    ),
)


def changed(changes: dict[int, dict[str, Any]]) -> History:
    kept = {op.number: op for op in GOOD}
    for number, fields in changes.items():
        kept[number] = replace(kept.get(number, Operation(number, "", "get", 0)), **fields)
    return History(tuple(kept.values()))


def test_nothing_is_said_of_a_good_history() -> None:
    assert violations(History(GOOD)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.kind.replace(" ", "-"))
def test_a_bad_history_is_told_by_what_is_wrong_with_it(planted: Planted) -> None:
    assert violations(changed(planted.changes)) == [planted.words]


@pytest.mark.parametrize(
    "told", [more("cleo", "get", 28_000, 28_500, ask="fig", told=settled(DUE)), {9: {"began": 31_500, "ended": 31_600}}]
)
def test_a_deadline_may_come_as_much_earlier_or_later_as_clocks_are_apart(told: dict[int, dict[str, Any]]) -> None:
    history = changed({**told, 11: {"told": None}, 12: {"told": settled(DUE)}})
    assert violations(replace(history, apart=2_000)) == []
    assert violations(replace(history, apart=1_000)) != []


def test_nothing_is_said_of_500_good_histories() -> None:
    for number in range(500):
        history = Desk(random.Random(number)).history(30)  # noqa: S311 - no secret
        assert violations(history) == [], number


class Desk:
    """One in memory, which clients reach through wires that take a while and may lose what is said."""

    def __init__(self, chance: random.Random, asks: tuple[str, ...] = ("plum", "fig", "kiwi")) -> None:
        self.chance, self.asks = chance, asks
        self.deadlines = {ask: chance.choice([None, chance.randrange(20, 100)]) for ask in asks}
        self.standing: dict[str, Settled | None] = {}

    def history(self, count: int) -> History:
        begun = [self.begun(number) for number in range(count)]
        moments = [(moment, op.number, ask) for op in begun for moment, ask in self.moments(op)]
        told: dict[int, dict[str, Told]] = {op.number: {} for op in begun}
        for moment, number, ask in sorted(moments):
            told[number][ask] = self.done(moment, begun[number], ask)
        return History(tuple(self.heard(op, told[op.number]) for op in begun))

    def begun(self, number: int) -> Operation:
        verb = self.chance.choice(VERBS)
        began = self.chance.randrange(100)
        ended = math.inf if self.chance.random() < 0.2 else began + self.chance.randrange(1, 30)
        ask, name = self.chance.choice(self.asks), self.chance.choice(["ana", "ben"])
        sent = {"settle": Settled(f"what {name} says", name), "withdraw": Settled(f"back for {name}", BACK.submission)}
        return Operation(number, name, verb, began, ended, "" if "list" in verb else ask, sent.get(verb))

    def moments(self, op: Operation) -> Iterator[tuple[float, str]]:
        """When it does what to which ask; without a word perhaps nothing."""
        if op.ended < math.inf or self.chance.random() < 0.5:
            for ask in [op.ask] if op.ask else self.asks:
                yield self.chance.uniform(op.began, min(op.ended, 200)), ask

    def done(self, moment: float, op: Operation, ask: str) -> Told:
        deadline = self.deadlines[ask]
        if op.verb == "post":
            self.standing.setdefault(ask, None)
            return Told("there", id=f"id of {ask}", deadline=deadline)
        if ask not in self.standing:
            return ABSENT
        stamp = self.chance.uniform(op.began, moment) if op.sent else moment
        if self.standing[ask] is None and deadline is not None and deadline <= stamp:
            self.standing[ask] = replace(DUE, at=math.ceil(stamp))
        elif self.standing[ask] is None and op.sent:
            self.standing[ask] = replace(op.sent, at=math.floor(stamp))
        standing = self.standing[ask]
        if standing is None:
            return Told("open", id=f"id of {ask}", deadline=deadline)
        won = standing.submission == op.sent.submission if op.sent else None
        return Told("settled", deadline=deadline, settled=standing, won=won)

    def heard(self, op: Operation, told: dict[str, Told]) -> Operation:
        """The operation, with what its client hears in the end."""
        if op.ended == math.inf:
            return op
        if op.ask:
            return replace(op, told=told[op.ask])
        return replace(op, listed={ask: one for ask, one in told.items() if op.verb == f"list {one.state}"})


State: TypeAlias = Settled | str | None


def is_linearizable(history: History) -> bool:
    """The same of one ask, the slow way: some order in which all may have happened fits all that was told."""
    deadline = next((op.told.deadline for op in history.operations if op.told and op.told.deadline is not None), None)
    ops = list(history.operations)
    due = math.inf if deadline is None else float(deadline)
    if deadline is not None:
        ops.append(Operation(-1, "", "expire", due - history.apart))

    def ordered(left: list[Operation], state: State) -> bool:
        """Whether some order of what is left fits; what has no word need not have happened."""
        ended = [op for op in left if op.told]
        if not ended:
            return True
        first = min(op.ended for op in ended)
        nexts = (op for op in left if op.began <= first)
        return any(
            ordered([other for other in left if other is not op], after)
            for op in nexts
            for after in _after(op, state, op.began > due + history.apart)
        )

    return ordered(ops, None)


def _after(op: Operation, state: State, is_late: bool) -> Iterator[State]:
    """What the ask is after an operation, if the client can have been told what it was told."""
    after = state
    if op.verb == "post":
        after = state or "open"
    elif op.verb == "expire":
        after = DUE if state == "open" else state
    elif state == "open" and op.sent and not is_late:
        after = op.sent
    if op.told is None or _is_told(op, op.told, after, is_late):
        yield after


def _is_told(op: Operation, told: Told, state: State, is_late: bool) -> bool:
    match told.state:
        case "absent":
            return state is None
        case "there":
            return state is not None
        case "open":
            return state == "open" and not is_late
        case "settled":
            won = isinstance(state, Settled) and op.sent and state.submission == op.sent.submission
            return state == told.settled and told.won == (won if op.sent else None)
        case "not open":
            return state != "open"
        case "not settled":
            return state is None or (state == "open" and not is_late)


ENDS = (LEFT, RIGHT, BACK, DUE)
TOLD: dict[str, list[Told]] = {
    "post": [THERE],
    "get": [ABSENT, OPEN, *(settled(end) for end in ENDS)],
    "list open": [OPEN, Told("not open")],
    "list settled": [Told("not settled"), *(settled(end) for end in ENDS)],
}


@st.composite
def tellings(draw: st.DrawFn, verb: Verb, sent: Settled | None, deadline: int | None) -> Told:
    if sent:
        end = draw(st.sampled_from(ENDS))
        is_misled = draw(st.integers(0, 9)) == 0
        told = settled(end, won=(end.submission == sent.submission) is not is_misled)
        told = draw(st.sampled_from([ABSENT, told, told, told]))
    else:
        told = draw(st.sampled_from(TOLD.get(verb, TOLD["get"])))
    return replace(told, deadline=deadline)


@st.composite
def operations(draw: st.DrawFn, number: int, deadline: int | None) -> Operation:
    """On plum, with whatever was told; a listing is of this one ask."""
    verb = draw(st.sampled_from(["post", *VERBS]))
    sent = {"settle": draw(st.sampled_from([LEFT, RIGHT])), "withdraw": BACK}.get(verb)
    began = draw(st.integers(0, 8))
    if draw(st.integers(0, 3)) == 0:
        return Operation(number, "somebody", verb, began, ask="plum", sent=sent)
    told, ended = draw(tellings(verb, sent, deadline)), began + draw(st.integers(0, 6))
    return Operation(number, "somebody", verb, began, ended, "plum", sent, told)


@st.composite
def histories(draw: st.DrawFn) -> History:
    deadline = draw(st.sampled_from([None, 3, 6]))
    count = draw(st.integers(1, 6))
    return History(tuple(draw(operations(n, deadline)) for n in range(count)), apart=draw(st.sampled_from([0, 2])))


def listed(op: Operation) -> Operation:
    """The same, as a listing is recorded."""
    if "list" not in op.verb or op.told is None:
        return op
    return replace(op, ask="", told=None, listed={} if "not" in op.told.state else {"plum": op.told})


def unlisted(op: Operation) -> Operation:
    if "list" in op.verb and op.ended < math.inf:
        missing = Told("not open" if op.verb == "list open" else "not settled")
        op = replace(op, ask="plum", told=op.listed.get("plum", missing), listed={})
    if op.told and op.told.settled:
        op = replace(op, told=replace(op.told, settled=replace(op.told.settled, at=0)))
    return op


def check(history: History) -> None:
    is_good = is_linearizable(history)
    event(f"good: {is_good}")
    recorded = replace(history, operations=tuple(map(listed, history.operations)))
    assert (violations(recorded) == []) is is_good


@settings(max_examples=500, deadline=None)
@given(histories())
def test_of_whatever_was_told_it_says_the_same_as_one_that_tries_all_orders(history: History) -> None:
    check(history)


@settings(max_examples=300, deadline=None)
@given(st.integers(0), st.integers(0, 6), st.data())
def test_of_a_good_history_with_one_thing_told_otherwise_it_says_the_same_too(
    seed: int, which: int, data: st.DataObject
) -> None:
    history = Desk(random.Random(seed), asks=("plum",)).history(7)  # noqa: S311 - no secret
    ops = list(map(unlisted, history.operations))
    if told := ops[which].told:
        otherwise = data.draw(tellings(ops[which].verb, ops[which].sent, told.deadline))
        ops[which] = replace(ops[which], told=otherwise)
    check(History(tuple(ops)))
