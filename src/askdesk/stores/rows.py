"""What the columns of both databases hold, as values of ours. Knows no database."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from askdesk.core.errors import StoreError
from askdesk.core.model import Entry
from askdesk.wire import record

log = logging.getLogger("askdesk")

BEYOND = 2**62  # more than any number of a change
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def entry(text: str, settlement: str | None) -> Entry:
    return Entry(record.decode_ask(text), record.decode_settlement(settlement) if settlement else None)


def readable(text: str, settlement: str | None, ask_id: str) -> Entry | None:
    """The entry, or None where only a newer version can read it: one of them must not hide the others."""
    try:
        return entry(text, settlement)
    except StoreError as error:
        log.warning("ask %s is left out: %s", ask_id, error)
        return None
