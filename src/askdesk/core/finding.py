"""What was looked at, what is to be said of it, and whether it is wrong. Knows nothing of what is looked at."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    about: str
    says: str
    wrong: bool = False
