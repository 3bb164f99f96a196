"""A run of its own: whatever it starts reads nobody's settings, and leaves nothing in anybody's folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askdesk.open import AGENT_VARIABLES


@contextmanager
def alone(name: str) -> Iterator[Path]:
    """A folder for all that is made meanwhile, and home to this process and those it starts."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory(prefix=f"askdesk-{name}-") as folder:
        for variable in [each for each in before if each.startswith("ASKDESK_") or each in AGENT_VARIABLES]:
            del os.environ[variable]
        home = f"{folder}/home"
        os.environ |= {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_DATA_HOME": f"{home}/data"}
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ |= before
