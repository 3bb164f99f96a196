"""Asks and settlements as versioned JSON documents, for stores and HTTP.

Within version 1 fields are only added. A reader ignores fields it does not know; an outcome it does not know is an
error, never a guess.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from askdesk.core.errors import AskdeskError, StoreCorrupt, StoreTooNew, quoted
from askdesk.core.model import Ask, Entry, Settlement

VERSION = 1

_T = TypeVar("_T")
_PREFIX = f'{{"v":{VERSION},'.encode()
_encoder = msgspec.json.Encoder()
_asks = msgspec.json.Decoder(Ask)
_settlements = msgspec.json.Decoder(Settlement)


class _Version(msgspec.Struct):
    v: int


def encode(value: Ask | Settlement) -> str:
    """One document, on one line."""
    return (_PREFIX + _encoder.encode(value)[1:]).decode()


def decode_ask(text: str) -> Ask:
    return _decoded(_asks, text)


def decode_settlement(text: str) -> Settlement:
    return _decoded(_settlements, text)


def plain(entry: Entry) -> dict[str, Any]:
    """An entry as plain JSON values, for programs that read our output."""
    settlement = json.loads(encode(entry.settlement)) if entry.settlement else None
    return {"ask": json.loads(encode(entry.ask)), "settlement": settlement}


def _decoded(decoder: msgspec.json.Decoder[_T], text: str) -> _T:
    try:
        raw = text.encode()
        if not raw.startswith(_PREFIX):
            _check_version(raw)
        return decoder.decode(raw)
    except StoreTooNew:
        raise
    except (msgspec.MsgspecError, AskdeskError, RecursionError, UnicodeError) as error:
        raise StoreCorrupt(f"a record cannot be read: {error}: {quoted(text)}") from None


def _check_version(raw: bytes) -> None:
    version = msgspec.json.decode(raw, type=_Version).v
    if version > VERSION:
        raise StoreTooNew(f"a record has version {version}; this askdesk reads up to {VERSION}: upgrade it")
