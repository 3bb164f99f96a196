"""How peers are measured: with stand-ins, as nothing is installed for a test."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from bench import peers
from bench.peers.listed import NOT_MEASURED, OTHERS, OURS, Peer
from bench.peers.program import Failed, Program, family
from bench.peers.rows import Row, table
from bench.peers.turns import measured

STAND_IN = str(Path(__file__).with_name("stand_in_peer.py"))
ROW = Row(
    "LangGraph",
    "checkpoints",
    "no page",
    {"langgraph": "1.2", "saver": "3.1"},
    whole=[4_100, 4_300, 1_204_000],
    woken=[2_000, 2_200],
    ready=[649_000],
    first=[660_000],
    waiting=100,
    processor=0.04,
    memory=[78.2, 3.9],
    answered=99,
    survived=True,
    megabytes=53.2,
)


@pytest.fixture(autouse=True)
def _environments_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def stand_in(name: str, requirements: str = "", **given: str) -> Peer:
    return Peer(name, STAND_IN, f"what {name} keeps", f"what {name} does not", requirements, given)


def test_the_table_has_figures_and_words_of_whom_was_measured_and_why_the_others_were_not() -> None:
    rows = [ROW, Row("DBOS", "rows", "no page", trouble="no wheel for this machine")]

    assert table(rows, {"Temporal": "its server is in no registry"}).splitlines() == [
        "| what | versions | ask → answer p50 ms | p99 | n | answer → woken p50 ms | CPU % while many wait "
        "| of these answered | open at a kill -9 | start → ready / first answer ms | RSS MB | installed MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|",
        "| LangGraph | langgraph 1.2, saver 3.1 | 4.30 | 1,204 | 3 | 2.10 | 0.0 | 99 of 100 | answered "
        "| 649 / 660 | 78 + 4 | 53 |",
        "",
        "| what | on disk when acknowledged | does not do |",
        "|---|---|---|",
        "| LangGraph | checkpoints | no page |",
        "",
        "| not measured | why |",
        "|---|---|",
        "| DBOS | no wheel for this machine |",
        "| Temporal | its server is in no registry |",
    ]


def test_what_was_not_measured_of_a_peer_is_a_dash() -> None:
    broke_off = Row("DBOS", "rows", "no page", whole=[5_000], trouble="it last wrote: str | None")

    lines = table([broke_off]).splitlines()

    assert lines[2] == "| DBOS |  | 5.00 | 5.00 | 1 | – | – | – | – | – / – | – | – |"
    assert lines[-1] == r"| DBOS | it last wrote: str \| None |"


def test_the_raw_numbers_are_json() -> None:
    told = json.loads(json.dumps(peers.raw([ROW, Row("DBOS", "", "")]), allow_nan=False))

    assert [row["whole"] for row in told] == [[4_100, 4_300, 1_204_000], []]
    assert [row["processor"] for row in told] == [0.04, None]


def test_every_peer_is_measured_and_what_goes_wrong_with_one_is_told_in_its_row() -> None:
    listed = [
        stand_in("keeper", keeps="yes"),
        stand_in("forgetter", slow="yes"),
        stand_in("breaker", breaks="no /home/ana/bin/peer today"),
        stand_in("stranger", "no-such-peer==1"),
    ]

    rows = measured(listed, 12, count=5, rest=0.1, later=(0, 0))

    assert [(row.name, row.on_disk, row.does_not) for row in rows] == [
        (peer.name, peer.on_disk, peer.does_not) for peer in listed
    ]
    assert [row.survived for row in rows] == [True, False, None, None]
    assert [(row.answered, row.waiting) for row in rows] == [(5, 5), (5, 5), (0, 0), (0, 0)]
    assert [len(row.whole) for row in rows] == [12, 4, 0, 0]  # who is slow has three turns, and every tenth
    assert [len(row.woken) for row in rows] == [2, 2, 0, 0]
    assert [(len(row.ready), len(row.first)) for row in rows] == [(3, 3), (3, 3), (0, 0), (0, 0)]
    assert [row.trouble for row in rows[:3]] == ["", "", "it last wrote: no …/peer today"]
    assert "no-such-peer==1" in rows[3].trouble
    assert all(math.isclose(value, 4_000, rel_tol=1e-6) for value in rows[0].whole)
    assert all(math.isclose(value, 2_000, rel_tol=1e-6) for value in rows[0].woken)
    assert len(rows[0].memory) == 3  # of the program, and of those that it started
    assert rows[0].versions == {"stand-in": "1.0"}


def test_ours_must_not_fail() -> None:
    with pytest.raises(Failed, match="nothing works today"):
        measured([stand_in("ours", breaks="nothing works today")._replace(ours=True)], 1)


def test_a_program_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    with Program(Path(sys.executable), STAND_IN, {"folder": str(tmp_path)}) as program:
        started = [int(pid) for pid in program.wait(2)]
        assert [[process.pid for process in family(pid)] for pid in started] == [[pid] for pid in started]

    assert [family(pid) for pid in started] == [[], []]


def test_who_is_listed_says_what_it_keeps_and_what_it_does_not_do() -> None:
    listed = [*OURS, *OTHERS]

    assert len({peer.name for peer in listed}) == len(listed)
    assert all(peer.on_disk and peer.does_not and peer.requirements for peer in listed)
    assert all((Path(peers.__file__).parent / "programs" / peer.script).exists() for peer in listed)
    assert all(NOT_MEASURED.values())
