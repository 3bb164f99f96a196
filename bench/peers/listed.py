"""Who is measured, what each keeps where, and what it does not do; and who is not measured, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.peers.environments import pinned

_ROOT = Path(__file__).parents[2]


class Peer(NamedTuple):
    """A program of bench/peers/programs, and what is to be told of it beside its figures."""

    name: str
    script: str
    on_disk: str
    does_not: str
    requirements: str
    given: Mapping[str, str] = {}
    npm: bool = False
    postgres: bool = False
    ours: bool = False


def _our_requirements(*extras: str) -> str:
    """What pip brings along with us; our own files are beside it."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    return "\n".join([*project["dependencies"], *(line for extra in extras for line in optional[extra])])


def _ours(where: str, *extras: str, more: str = "", **given: str) -> Peer:
    on_postgres = "postgres" in extras
    disk = "each committed by PostgreSQL" if on_postgres else "WAL, synchronous=FULL, 2 fdatasync an exchange"
    return Peer(
        f"askdesk, {where}",
        "on_askdesk.py",
        f"the ask, then its settlement; {disk}",
        f"does not run the agent's code again: an agent comes back and waits for the same ask{more}",
        _our_requirements(*extras),
        given,
        postgres=on_postgres,
        ours=True,
    )


OURS = (
    _ours("one process, SQLite"),
    _ours(
        "two desks on one SQLite file",
        more="; both are in one process here, as if in two; looks every 25 ms for what others wrote, and every 100 ms "
        "after a quiet minute",
        apart="yes",
    ),
    _ours("a server, SQLite", "speed", servers="1"),
    _ours("one process, PostgreSQL", "postgres"),
    _ours("two servers, PostgreSQL", "postgres", "speed", servers="2"),
)

_NO_PLACE = "no place to answer: you write it, and tell it what waits; does not check options, nor keep who answered"
_DROPPED = f"{_NO_PLACE}; a second answer is dropped, and nobody is told"
_LANGGRAPH = f"{_DROPPED}; nobody waits: whoever has the answer runs the graph, and the node again from its start"

OTHERS = (
    Peer(
        "LangGraph interrupt + resume, SQLite",
        "on_langgraph.py",
        "checkpoints of the graph at the interrupt and at its end; WAL, synchronous=FULL, 3 fdatasync an exchange",
        _LANGGRAPH,
        pinned("langgraph-sqlite"),
    ),
    Peer(
        "LangGraph interrupt + resume, PostgreSQL",
        "on_langgraph.py",
        "checkpoints of the graph at the interrupt and at its end; committed by PostgreSQL",
        _LANGGRAPH,
        pinned("langgraph-postgres"),
        postgres=True,
    ),
    Peer(
        "DBOS set_event + recv + send, SQLite",
        "on_dbos.py",
        "the workflow, the question and the answer; journal_mode=DELETE, synchronous=FULL, 24 fdatasync an exchange",
        f"{_DROPPED}; an agent looks for its answer once a second",
        pinned("dbos"),
    ),
    Peer(
        "DBOS set_event + recv + send, PostgreSQL",
        "on_dbos.py",
        "the workflow, the question and the answer; committed by PostgreSQL",
        _DROPPED,
        pinned("dbos"),
        postgres=True,
    ),
    Peer(
        "Restate awakeable",
        "on_restate.py",
        "the journal of the handler; RocksDB, 7 fdatasync an exchange",
        f"{_DROPPED}; a server under the Business Source License",
        pinned("restate"),
        npm=True,
    ),
    Peer(
        "mcp-feedback-enhanced",
        "on_feedback_enhanced.py",
        "nothing: memory; what was answered goes to a file in the folder for temporary ones",
        "free text alone, no options; one question at a time: a second takes the place of the first on its page, and "
        "with more than it has threads none is heard; nobody signs in to its page; no answer is heard in the first "
        "0.2 s, and for the first question of all 2 s",
        pinned("feedback-enhanced"),
    ),
    Peer(
        "LlamaIndex Workflows events",
        "on_llama_workflows.py",
        "nothing: memory; your code may write its context down",
        _NO_PLACE,
        pinned("llama-workflows"),
    ),
)

NOT_MEASURED = {
    "Absurd 0.5.1": "its schema for PostgreSQL is fetched from a code host, not from a registry",
    "ask-human-mcp 0.1.1": 'does not start: mcp 2 lacks a module of it, and with mcp 1.30 "Already running asyncio …"',
    "AUQ (ask-user-questions-mcp)": "is not in the npm registry that was within reach",
    "Claude Code's AskUserQuestion": "needs its model; the question lives in its process and is lost with it",
    "humanlayer 0.7.9": "asks a service of its own on the internet, and looks for the answer every 3 s (its source)",
    "mcp-feedback-collector 2.1.3": "as shipped it may end a process that has its port",
    "mcp-interactive 0.1.8": "an older mcp-feedback-enhanced under another name",
    "OpenAI Agents, Pydantic AI": "do not wait: they give back their state, and keeping it is left to you",
    "Prefect 3.9.0": "pause_flow_run looks for the answer every 10 s (its source)",
    "Temporal": "its server is in no registry",
}
