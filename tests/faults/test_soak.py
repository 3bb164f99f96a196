"""The short form of `scripts/faults soak`."""

from __future__ import annotations

import pytest
from tests.faults.alone import alone
from tests.faults.flat import Footprint, Sample, rows
from tests.faults.soak import soak

pytestmark = pytest.mark.anyio

EVERYBODY = {
    *("loops by poll", "loops by stream", "answers", "visits", "drafts", "searches", "sign-ins", "MCP sessions"),
    *("collections", "withdrawals", "expiries", "tokens"),
}


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_under_a_mixed_load_two_servers_fail_nobody_and_nobody_is_left_waiting(store: str) -> None:
    with alone("soak"):
        ran = await soak(store, 2, every=0.5)
    assert (ran.failures, ran.stuck, ran.complaints, ran.left_over) == ([], 0, [], [])
    assert set(ran.done) == EVERYBODY
    assert len(ran.samples) >= 3
    assert all(server.memory_mb > 10 and server.files > 5 for sample in ran.samples for server in sample.servers)
    assert any(sample.loops for sample in ran.samples)


def an_hour(
    *,
    memory_an_hour: float = 0.0,
    files_an_hour: float = 0.0,
    connections_an_hour: float = 0.0,
    slower: float = 1.0,
    slowest: float = 0.02,
    answers_until: int = 11,
) -> list[Sample]:
    return [
        Sample(
            at=360.0 * turn,
            servers=(
                Footprint(80.0, 30, 5),
                Footprint(80.0 + turn % 2 + memory_an_hour * turn / 10, int(30 + files_an_hour * turn / 10), 5),
            ),
            connections=int(20 + connections_an_hour * turn / 10),
            store_mb=8.0 + turn,
            documents=turn,
            loops=(*[0.01] * 500, *[0.02 * slower if turn > 7 else 0.02] * 20, *[slowest] * (turn == 5))
            if turn < answers_until
            else (),
        )
        for turn in range(11)
    ]


@pytest.mark.parametrize(
    ("samples", "wrong"),
    [
        (an_hour(), []),
        (an_hour(memory_an_hour=4), []),
        (an_hour(memory_an_hour=6), ["server 2: memory, MB"]),
        (an_hour(files_an_hour=10), ["server 2: open files"]),
        (an_hour(connections_an_hour=10), ["connections to the database"]),
        (an_hour(slower=1.4), []),
        (an_hour(slower=2), ["ask to answer, p99 ms"]),
        (an_hour(slowest=20), ["ask to answer, slowest ms"]),
        (an_hour(answers_until=8), ["ask to answer, p50 ms", "ask to answer, p99 ms"]),
    ],
    ids=[
        "flat",
        "little memory",
        "memory",
        "files",
        "connections",
        "little slower",
        "slower",
        "one late",
        "none in the end",
    ],
)
def test_what_rises_is_not_flat(samples: list[Sample], wrong: list[str]) -> None:
    assert [row.what for row in rows(samples) if row.is_flat is False] == wrong
