"""How long a store that is away is tried again, and how often. Knows no store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

Pauses: TypeAlias = Callable[[], Iterator[float]]

PATIENCE = 60.0  # seconds: longer than a desk server or a database takes to start anew
PERHAPS = "; what was sent may have arrived, and can be sent again"
TOLD_AFTER = 5  # failures: about a second, which a restart takes and nobody needs to hear of


def pauses(chance: Callable[[], float] = random.random) -> Iterator[float]:
    """How long to wait before each next try: longer and longer, and no two clients as long."""
    pause = 0.05
    while True:
        yield pause * (0.5 + chance() / 2)
        pause = min(2 * pause, 2.0)
