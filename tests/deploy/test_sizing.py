"""The tables in docs/deploy.md can be measured anew. What is measured decides no test."""

from __future__ import annotations

from bench import pages, sizing
from bench.sizing import COMMAND, PAGE, Load

LITTLE = Load(connections=(1, 2), waiting=(2, 4), servers=(1, 2), kept=4, seconds=0.1, idle_seconds=0.1, rest=0)


def first_cells(text: str) -> list[str]:
    return [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]


def test_every_row_of_the_tables_is_measured() -> None:
    text = sizing.measured(LITTLE)
    assert first_cells(text) == [
        "one server",
        "---",
        "durable asks a second, on 1 connections",
        "durable asks a second, on 2 connections",
        "memory while nobody is there",
        "2 live pages",
        "2 agents that wait",
        "4 live pages",
        "4 agents that wait",
        "100,000 asks with their answers, in the store",
        "connections to the database",
        "servers on one PostgreSQL",
        "---",
        "durable asks a second, in sum",
    ]


def test_the_page_has_the_rows_that_would_be_measured() -> None:
    cells = first_cells(pages.standing(PAGE.read_text("utf-8"), COMMAND))
    assert "durable asks a second, on 128 connections" in cells
    assert "10,000 agents that wait" in cells
