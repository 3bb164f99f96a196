"""The name of one run of a hook, by which it finds its ask again. Loads nothing: hooks are in a hurry."""

from __future__ import annotations

_DIGITS = frozenset("0123456789abcdef")


def is_nonce(text: str) -> bool:
    """32 hexadecimal digits: nothing else that a caller chooses becomes a part of a key."""
    return len(text) == 32 and _DIGITS.issuperset(text)
