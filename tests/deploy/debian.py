"""Programs that these tests need and a Debian package has."""

import os
import shutil
import subprocess
import sys

import pytest


def program(name: str, package: str) -> str:
    """Where it is: installed where it may be, and a test that needs it fails where it may not."""
    if not (found := _installed(name)) and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"no {name} here: apt-get install -y {package}", file=sys.stderr)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (("update",), ("install", "-y", "--no-install-recommends", package)):
            subprocess.run(("apt-get", *command), check=False, stdout=sys.stderr, env=quiet)
        found = _installed(name)
    return found or pytest.fail(f"these tests need {name}, which the package {package} has", pytrace=False)


def _installed(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
