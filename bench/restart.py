"""How soon a server is back with very many open asks, against the same server with none."""

from __future__ import annotations

import time
from statistics import median

from bench.measure import Figure, Ratio, timed
from bench.running import ASK, Keys, asked, id_of, keys_of, serving


def measure(empty: str, full: str, asks: int, rounds: int) -> list[Ratio | Figure]:
    """Of stores without any ask and with so many open ones: until an ask is kept, and then until 50 are listed."""
    keys = keys_of(empty), keys_of(full)
    floor, ours, listed = [], [], []
    for _ in range(rounds):
        floor.append(_restarted(empty, keys[0])[0])
        took, first_page = _restarted(full, keys[1])
        ours.append(took)
        listed.append(first_page)
    return [
        Ratio(f"restart to the first durable ask, {asks:,} open", "the same server, none open", 2, floor, ours),
        Figure(f"the first page of 50 after a restart, {asks:,} open", median(listed) / 1000, "ms", 5),
    ]


def _restarted(store: str, keys: Keys) -> tuple[float, float]:
    """Microseconds from the start of the process, and for the first page. It ends by a kill."""
    started = time.perf_counter()
    with serving(store, keys) as server, server.connected() as connection:
        ask_id = id_of(asked(connection, server.request("POST", "/v1/asks", server.asker, ASK)))
        took = (time.perf_counter() - started) * 1e6
        first_page = timed(lambda: asked(connection, server.request("GET", "/v1/asks?limit=50", server.answerer)))
        asked(connection, server.settlement(ask_id, ask_id))
    return took, first_page
