"""Proofs that the page gave out: that a form is ours, that an agent was known, that a call was shown and when.

Made with the browser's own token as the key, so that nothing is kept and no other browser's hold.
"""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

LEAST = timedelta(milliseconds=500)  # a call must be before a person's eyes before they can allow it
_MOST = timedelta(days=1)


class Seen(NamedTuple):
    """What a stamp proves."""

    digest: str
    changed: str  # the mark of the changed input that was shown instead; empty for the call as asked
    is_whole: bool
    at: datetime

    def is_ripe(self, now: datetime) -> bool:
        return now - self.at >= LEAST

    def is_stale(self, now: datetime) -> bool:
        return now - self.at > _MOST


def form_proof(key: str) -> str:
    return _proof(key, "form")


def is_form(key: str, proof: str) -> bool:
    return hmac.compare_digest(form_proof(key).encode(), proof.encode("utf-8", "surrogatepass"))


def given(key: str, address: str) -> str:
    """That this browser was given the box of an agent."""
    return _proof(key, f"agent {address}")


def is_given(key: str, address: str, proof: str) -> bool:
    return hmac.compare_digest(given(key, address).encode(), proof.encode("utf-8", "surrogatepass"))


def stamp(key: str, ask_id: str, seen: Seen) -> str:
    said = _said(seen)
    return f"{said}.{_proof(key, f'{ask_id} {said}')}"


def read(key: str, ask_id: str, text: str) -> Seen | None:
    """What a stamp of ours proves about an ask; None where it is not ours."""
    said, _, proof = text.rpartition(".")
    if not hmac.compare_digest(_proof(key, f"{ask_id} {said}").encode(), proof.encode("utf-8", "surrogatepass")):
        return None
    digest, changed, whole, moment = said.split(" ")
    return Seen(digest, changed, whole == "whole", datetime.fromisoformat(moment))


def mark(text: str) -> str:
    """What tells one text from another; nothing for nothing."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


def _said(seen: Seen) -> str:
    return f"{seen.digest} {seen.changed} {'whole' if seen.is_whole else 'part'} {seen.at.isoformat()}"


def _proof(key: str, said: str) -> str:
    return hmac.new(key.encode(), said.encode("utf-8", "surrogatepass"), sha256).hexdigest()
