"""A disk of so many bytes, for a command and what it starts: in mounts of its own, which end with it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress

import pytest

OWN_MOUNTS = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]


def small_disk(size: str) -> list[str]:
    """What runs a command with such a disk at the folder that is named first."""
    return [*OWN_MOUNTS, "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"']


def can_mount() -> bool:
    """Whether one can be had here: in some containers not even root may mount anything."""
    with tempfile.TemporaryDirectory() as folder, suppress(FileNotFoundError):
        return subprocess.run([*small_disk("1m"), folder, "true"], capture_output=True, check=False).returncode == 0
    return False


needs_a_small_disk = pytest.mark.skipif(not can_mount(), reason="nothing can be mounted here")
