"""The peers that tests get from npm."""

import json
import subprocess

from tests.peers import PINNED, node, node_modules


def test_every_peer_is_there_in_the_version_that_is_pinned() -> None:
    pinned = json.loads(PINNED.read_text())["dependencies"]

    found = {name: json.loads((node_modules() / name / "package.json").read_text())["version"] for name in pinned}

    assert found == pinned


def test_node_is_the_one_that_is_pinned_and_not_the_machines() -> None:
    pinned = json.loads(PINNED.read_text())["optionalDependencies"]
    package = node().parent.parent.name

    said = subprocess.run((node(), "--version"), capture_output=True, text=True, check=True).stdout

    assert said == f"v{pinned[package]}\n"
