"""Peers on the same work, in the same run: an agent asks a question with options, a person answers, the agent goes on.

Each peer is a program (programs/) with an environment of its own (environments.py), and goes through its own real door
as its documentation recommends; what is timed for each stands at the top of its program. What the columns tell:

- ask → answer: from the agent's code that comes to its question to the same code with the answer, kept where the peer
  keeps it. The person is a program that answers as soon as it is told of the question. Exchanges go turn by turn; who
  takes more than 150 ms on the average takes part in every tenth turn.
- answer → woken: from the moment a person begins to answer to the agent's code that has it, where they answer 0.25 to
  1.25 s after they could: who looks from time to time is met at any moment, as by a real person.
- CPU: a share of one core for 20 s while 100 questions wait and nobody does anything, of all processes and of the
  database. Then all are answered: the next column counts the agents that got their answer.
- open at a kill -9: one acknowledged question; all processes are killed, started again, and then a person answers.
- start → ready: until a question could be asked; first answer: until the first exchange is over. Medians of what was
  started during the run.
- RSS: the program with the agent and the person in it, then its other processes, while those questions wait; without
  PostgreSQL, which is installed beside all of this.
- installed: what pip and npm put on the disk for it, without compiled files and without Python.

Where nobody has to be woken (LangGraph), the answer is what runs the agent. PostgreSQL runs on loopback with fsync on.
"""

from __future__ import annotations

from bench.peers.listed import NOT_MEASURED, OTHERS, OURS
from bench.peers.rows import Row
from bench.peers.rows import table as table_of
from bench.peers.turns import measured


def measure(rounds: int) -> list[Row]:
    """Ours and the others; some ten minutes for 100 rounds, most of which is waiting."""
    return measured((*OURS, *OTHERS), rounds)


def table(rows: list[Row]) -> str:
    """In Markdown, with those who are not measured, and why."""
    return table_of(rows, NOT_MEASURED)


def raw(rows: list[Row]) -> list[dict[str, object]]:
    """For JSON."""
    return [row.raw() for row in rows]
