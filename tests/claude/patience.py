"""How long Claude Code waits for people, with its limits turned down; it looks at them twice a minute.

`scripts/faults patience` runs it. What goes over the wire meanwhile is tested in tests/adapters/test_mcp.py.
"""

from __future__ import annotations

import subprocess

import pytest
from tests.claude.prompted import Prompted, asked
from tests.cli.command import kept, settled

from askdesk.core.model import Allowed, Withdrawn

IDLE = {"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": "1500"}


def test_claude_code_waits_past_its_limit_for_silence_because_it_hears_that_we_still_wait(prompted: Prompted) -> None:
    prompted.start("--progress", "0.2s", env=IDLE, patience=None)
    ask = asked()
    with pytest.raises(subprocess.TimeoutExpired):
        prompted.process.wait(35)
    settled(ask, Allowed())
    assert prompted.ends()[0] == 0
    assert prompted.made == ["made.txt"]


def test_when_claude_code_gives_up_waiting_nothing_runs_and_the_ask_is_withdrawn(prompted: Prompted) -> None:
    prompted.start("--progress", "1h", env=IDLE, patience=None)
    ask = asked()
    prompted.ends()
    (result,) = prompted.model.results.values()
    settlement = kept(ask.id).settlement
    assert (result["is_error"], prompted.made) == (True, [])
    assert settlement is not None
    assert settlement.outcome == Withdrawn("the agent stopped waiting")
