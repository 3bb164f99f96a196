"""Snoozes: which asks a person wants out of sight until when. Documents on the shelf; the asks know nothing of them."""

from __future__ import annotations

from datetime import datetime, time, timedelta

import msgspec
from msgspec import Struct

from askdesk.core.store import Shelf

PREFIX = "snooze/"


class Snooze(Struct, frozen=True, kw_only=True):
    v: int
    until: datetime


SPANS = ("10m", "1h", "4h", "tomorrow")


def end_of(span: str, now: datetime) -> datetime:
    """When a snooze of this span ends; tomorrow begins at nine in the morning, as this machine's clock shows it."""
    if span == "tomorrow":
        morning = datetime.combine(now.astimezone() + timedelta(days=1), time(9))  # as clocks show it then, also when
        return morning.astimezone(now.tzinfo)  # they are changed in the night
    unit = {"m": "minutes", "h": "hours"}[span[-1]]
    return now + timedelta(**{unit: int(span[:-1])})


async def kept(shelf: Shelf, by: str) -> dict[str, datetime]:
    """The asks that this person has snoozed, and until when."""
    found: dict[str, datetime] = {}
    for document in await shelf.list(PREFIX):
        _, ask_id, who = document.name.split("/", 2)
        if who == by:
            try:
                found[ask_id] = msgspec.json.decode(document.value, type=Snooze).until
            except msgspec.DecodeError:  # of a newer version; seen too early is better than not at all
                continue
    return found


async def keep(shelf: Shelf, ask_id: str, by: str, until: datetime | None) -> None:
    value = None if until is None else msgspec.json.encode(Snooze(v=1, until=until)).decode()
    await shelf.put(f"{PREFIX}{ask_id}/{by}", value)
