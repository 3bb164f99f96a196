"""The memory of a server with very many open asks, against the same server with none."""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median

from bench.measure import Figure, Ratio
from bench.running import ASK, Keys, asked, id_of, keys_of, serving, stream

_LISTINGS = (
    *("/v1/asks?limit=50", "/v1/asks?limit=50&newest=true", "/v1/asks?limit=50&state=settled"),
    "/v1/asks?limit=50&text=database",
)


def measure(kind: str, empty: str, full: str, asks: int, rounds: int) -> list[Ratio | Figure]:
    """Of stores without any ask and with so many open ones."""
    keys = keys_of(empty), keys_of(full)
    floor, ours = [], []
    for _ in range(rounds):
        floor.append(_used(empty, keys[0]))
        ours.append(_used(full, keys[1]))
    name = f"memory of a server, {asks:,} asks open on {kind}"
    return [
        Ratio(name, "the same server, none open", 1.5, floor, ours, unit="B"),
        Figure(name, median(ours) / 1e6, "MB", 64),
    ]


def _used(store: str, keys: Keys) -> float:
    """After the same warm-up: a live stream, asks that are settled, listings, a search, the page."""
    with serving(store, keys) as server, ExitStack() as stack:
        stream(stack, server)
        connection = stack.enter_context(server.connected())
        for number in range(20):
            ask_id = id_of(asked(connection, server.request("POST", "/v1/asks", server.asker, ASK)))
            asked(connection, server.settlement(ask_id, f"s{number}"))
        for path in _LISTINGS:
            asked(connection, server.request("GET", path, server.answerer))
        asked(connection, server.view("/"))
        return float(server.memory())
