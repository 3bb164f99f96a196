"""Counters of the server in Prometheus' text format. No label holds anything that a person or an agent wrote."""

from __future__ import annotations

from collections import Counter

_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)


class Metrics:
    """What has happened since the server began."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[float] = Counter()
        self._total = 0.0
        self.asks = 0
        self.settlements: Counter[str] = Counter()
        self.streams = 0
        self.waits = 0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method if method.isalpha() and len(method) < 8 else "other", route, status] += 1
        self._total += seconds
        self._seconds[next((bucket for bucket in _BUCKETS if seconds <= bucket), float("inf"))] += 1

    def text(self, open_asks: int) -> str:
        lines = [
            *_family("askdesk_requests_total", "counter", "requests by route and status"),
            *(
                f'askdesk_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                for (method, route, status), count in sorted(self._requests.items())
            ),
            *_family("askdesk_request_seconds", "histogram", "how long requests took"),
            *self._histogram(),
            *_family("askdesk_asks_total", "counter", "asks posted through this server"),
            f"askdesk_asks_total {self.asks}",
            *_family("askdesk_settlements_total", "counter", "asks settled through this server"),
            *(
                f'askdesk_settlements_total{{outcome="{outcome}"}} {count}'
                for outcome, count in sorted(self.settlements.items())
            ),
            *_family("askdesk_open_asks", "gauge", "asks that are open now, counted up to 500"),
            f"askdesk_open_asks {open_asks}",
            *_family("askdesk_streams", "gauge", "live event streams"),
            f"askdesk_streams {self.streams}",
            *_family("askdesk_waits", "gauge", "requests that wait for a settlement"),
            f"askdesk_waits {self.waits}",
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        lines, count = [], 0
        for bucket in _BUCKETS:
            count += self._seconds[bucket]
            lines.append(f'askdesk_request_seconds_bucket{{le="{bucket:g}"}} {count}')
        count += self._seconds[float("inf")]
        return [
            *lines,
            f'askdesk_request_seconds_bucket{{le="+Inf"}} {count}',
            f"askdesk_request_seconds_sum {self._total:.6f}",
            f"askdesk_request_seconds_count {count}",
        ]


def _family(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"
