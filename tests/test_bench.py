"""The benches run. What they measure decides no test."""

import asyncio

from bench import desks, hook, log, mcp, paint, server, start
from bench.measure import Ratio


def measured(ratio: Ratio) -> tuple[int, int, bool]:
    return len(ratio.floor), len(ratio.ours), min(*ratio.floor, *ratio.ours) > 0


def test_every_bench_measures_ours_and_its_floor_in_turns() -> None:
    ratios = [
        start.measure(2),
        *hook.measure(2),
        mcp.measure(2),
        paint.measure(2),
        asyncio.run(desks.in_memory(2)),
        asyncio.run(desks.on_sqlite(2)),
        asyncio.run(desks.on_sqlite(2, at_once=8)),
        log.measure(2, megabytes=1),
        server.exchange(2),
        server.many(2, connections=4),
    ]
    assert [measured(ratio) for ratio in ratios] == [(2, 2, True)] * 11
    assert all(ratio.row().count("|") == 9 for ratio in ratios)


def test_every_figure_is_measured() -> None:
    figures = [server.stream_memory(50), *server.idle_costs(0.1, 5, rest=0)]
    assert all(figure.row().count("|") == 5 for figure in figures)
