"""What the processes of a load wrote down, compared with what the desk keeps in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.faults.ledger import lines
from tests.faults.load import NEVER_MIND, Door

from askdesk.core.model import Entry, Withdrawn
from askdesk.wire import record

WAKE_SECONDS = 2.0
GO_ON_SECONDS = 10.0  # twice the patience of people, who are told that the desk is away and send the same again


class Fault(NamedTuple):
    """From when until when something was wrong, and whether only for those whose way to the desk is one that is cut."""

    began: float
    healed: float
    is_for_the_far: bool = False


class Books(NamedTuple):
    acknowledged: int
    settled: int
    lost: int  # acknowledged, and not there with the same text
    doubled: int  # two with the same text, of which there are no two
    settled_twice: int  # somebody was told of another winner than the one that stands
    untold: int  # winners without a word
    told_otherwise: int  # agents that heard another outcome than the one that stands
    left_open: int  # in the end, though taken back or though people had settled all
    overwritten: int  # documents that two were told they had written
    stuck: int  # processes that came to no end
    failed: int  # verbs that said that the desk was away; each was used again
    woken: tuple[float, ...]  # how long after a fault an agent heard what was settled during it, of each
    went_on: tuple[float, ...]  # how long after each fault all had gone on, where the next one left time for it
    cut_short: int  # faults that did not
    slowest: float  # how long at most an agent heard nothing of a settlement, over a fault or without one
    late: int  # how often it was longer than it should be

    @property
    def wrong(self) -> int:
        of_asks = self.lost, self.doubled, self.settled_twice, self.untold, self.told_otherwise, self.left_open
        return sum((*of_asks, self.overwritten, self.stuck))

    @property
    def is_right(self) -> bool:
        is_slow = max(self.went_on, default=0.0) > GO_ON_SECONDS
        return self.acknowledged > 0 and not self.wrong and not self.late and not is_slow

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} asks acknowledged, {self.settled} settled, {self.failed} verbs failed and said so; "
            f"{self.lost} lost, {self.doubled} doubled, {self.settled_twice} settled twice, "
            f"{self.untold} winners untold, {self.told_otherwise} told otherwise, {self.left_open} left open, "
            f"{self.overwritten} overwritten, {self.stuck} stuck, {self.late} late, {self.slowest:.2f} s at most; "
            f"woken {_seconds(self.woken)}; all went on {_seconds(self.went_on)}, "
            f"and were cut short by the next fault {self.cut_short} times"
        )


def _seconds(many: tuple[float, ...]) -> str:
    if not many:
        return "never seen"
    return f"after {median(many):.2f} s (median of {len(many)}), {max(many):.2f} s at most"


def compare(folder: Path, doors: Iterable[Door], entries: Iterable[Entry], faults: list[Fault], stuck: int) -> Books:
    desk = {entry.ask.id: entry for entry in entries}
    notes = {door: lines(folder / door.name) for door in doors}
    everything = [note for each in notes.values() for note in each]
    kept = {note["kept"]: note["text"] for note in everything if "kept" in note}
    told = [note for note in everything if "told" in note]
    words = [note for note in everything if "word" in note]
    winners = {ask_id: entry.settlement.submission for ask_id, entry in desk.items() if entry.settlement}
    own = {(note["word"], note["winner"]) for door, each in notes.items() for note in each if _won(door, note)}
    texts = Counter(map(text_of, desk.values()))
    went_on = _went_on(notes, faults)
    waits = list(_waits(notes, faults))
    return Books(
        acknowledged=len(kept),
        settled=len(winners),
        lost=sum(ask_id not in desk or text_of(desk[ask_id]) != text for ask_id, text in kept.items()),
        doubled=sum(many - 1 for many in texts.values()),
        settled_twice=sum(note["winner"] != winners.get(note["word"]) for note in words),
        untold=sum((ask_id, winner) not in own for ask_id, winner in winners.items() if " on " in winner),
        told_otherwise=sum(note["settlement"] != _settlement(desk.get(note["told"])) for note in told),
        left_open=sum(not _is_over(entry) for entry in desk.values()),
        overwritten=sum(many - 1 for many in Counter(n["counted"] for n in everything if "counted" in n).values()),
        stuck=stuck,
        failed=sum("failed" in note for note in everything),
        woken=tuple(seconds for seconds, over_a_fault in waits if over_a_fault),
        went_on=tuple(seconds for seconds in went_on if seconds < inf),
        cut_short=went_on.count(inf),
        slowest=max((seconds for seconds, _ in waits), default=0.0),
        late=sum(seconds > WAKE_SECONDS for seconds, _ in waits),
    )


def text_of(entry: Entry) -> str:
    return entry.ask.questions[0].text.removesuffix("?")


def _won(door: Door, note: Any) -> bool:
    return "word" in note and note["winner"] == f"{door.name} on {note['word']}"


def _settlement(entry: Entry | None) -> str | None:
    return record.encode(entry.settlement) if entry and entry.settlement else None


def _is_over(entry: Entry) -> bool:
    if text_of(entry).startswith(NEVER_MIND):
        return entry.settlement is not None and isinstance(entry.settlement.outcome, Withdrawn)
    return entry.settlement is not None


def _waits(notes: dict[Door, list[Any]], faults: list[Fault]) -> Iterator[tuple[float, bool]]:
    """How long after it could have heard of it each agent heard how an ask ended, and whether a fault came between."""
    settled = {note["word"]: note["at"] for door, each in notes.items() for note in each if _won(door, note)}
    for door, each in notes.items():
        own = [fault for fault in faults if door.is_far or not fault.is_for_the_far]
        for note in each:
            if "told" in note and note["told"] in settled:
                moment = settled[note["told"]]
                due = _due(moment, note["at"], own)
                yield max(note["at"] - due, 0.0), moment < due < note["at"]


def _due(settled: float, told: float, faults: list[Fault]) -> float:
    """From when on nothing kept an agent from hearing: no fault so soon after that it had no time to."""
    due = settled
    for fault in faults:
        if fault.healed > due and fault.began < min(due + WAKE_SECONDS, told):
            due = fault.healed
    return due


def _went_on(notes: dict[Door, list[Any]], faults: list[Fault]) -> list[float]:
    """For each fault how long it took until all had done something; where the next one was sooner, for ever."""
    steps = {door: [note["at"] for note in each if "failed" not in note] for door, each in notes.items()}
    ends = [*(fault.began for fault in faults[1:]), inf]
    all_at = [
        max(min((at for at in each if at > fault.healed), default=inf) for each in steps.values()) for fault in faults
    ]
    return [at - fault.healed if at < end else inf for fault, at, end in zip(faults, all_at, ends, strict=True)]
