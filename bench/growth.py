"""What each verb costs where there are more and more asks: open ones, and settled ones, through a desk on each store.

All sizes take turns, so that they see the same machine.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from bench.desks import ANSWERED, ASKER, QUESTIONS
from bench.measure import Figure, shown, timed_async
from bench.plot import Panel, Series
from bench.rows import COMMON, RARE, fill_postgres, fill_sqlite
from tests.postgres import Cluster

from askdesk import Desk
from askdesk.core.desk import new_id
from askdesk.core.store import State
from askdesk.open import open_store

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
Kind = Literal["SQLite", "PostgreSQL"]
_WARM_UP = 3
_SOON = timedelta(hours=1)


class Curve(NamedTuple):
    """What one thing takes, in microseconds, at each number of asks."""

    what: str
    kind: Kind
    state: State
    samples: dict[int, list[float]]

    @property
    def series(self) -> str:
        return f"{self.kind}, {'open' if self.state == 'open' else 'history'}"

    @property
    def points(self) -> list[tuple[int, float]]:
        return [(size, median(times)) for size, times in self.samples.items()]

    @property
    def growth(self) -> float:
        """How many times the smallest the largest takes."""
        return self.points[-1][1] / self.points[0][1]

    @property
    def aim(self) -> float:
        """As a logarithm grows: for every ten times as many asks, once more what the smallest takes."""
        return 1 + math.log10(self.points[-1][0] / self.points[0][0])

    def row(self) -> str:
        times = [shown(each) for _, each in self.points]
        within = "yes" if self.growth <= self.aim else "NO"
        cells = (self.what, self.series, *times, f"{self.growth:.1f}x", f"{self.aim:.1f}x", within)
        return f"| {' | '.join(cells)} |"


def heading(curves: Sequence[Curve]) -> str:
    sizes = [f"{size:,}" for size, _ in curves[0].points]
    return f"| what | where | {' | '.join(sizes)} | grows | aim | within |\n|---|---|{'---:|' * (len(sizes) + 2)}---|"


def panels(curves: Sequence[Curve]) -> list[Panel]:
    titles = dict.fromkeys(curve.what for curve in curves)
    return [
        Panel(title, [Series(each.series, each.points) for each in curves if each.what == title]) for title in titles
    ]


class Grown:
    """A desk with very many asks, and another process's view of it."""

    def __init__(self, desk: Desk, other: Desk, state: State) -> None:
        self._desk, self._other, self._state = desk, other, state
        self._posted = ""

    async def post(self) -> float:
        return await timed_async(self._post)

    async def _post(self) -> None:
        self._posted = (await self._desk.post(QUESTIONS, asker=ASKER, key=new_id())).id

    async def settle(self) -> float:
        """What was posted last."""
        return await timed_async(lambda: _settle(self._desk, self._posted))

    async def expire(self) -> float:
        """One that is due, among all that are not."""
        await self._desk.post(QUESTIONS, asker=ASKER, deadline=_SOON)
        late = self._desk.now() + 2 * _SOON
        return await timed_async(lambda: self._desk.store.expire(late))

    async def list_first(self) -> float:
        return await timed_async(lambda: self._desk.page(self._state))

    async def list_newest(self) -> float:
        return await timed_async(lambda: self._desk.page(self._state, newest=True))

    async def search_common(self) -> float:
        return await self._search(COMMON)

    async def search_rare(self) -> float:
        return await self._search(RARE)

    async def catch_up(self) -> float:
        """Bring the index up to date, as whoever searches first does."""
        return await self._search(RARE)

    async def _search(self, text: str) -> float:
        """As people do: what is open from the oldest on, what is settled from the newest on."""
        newest = self._state == "settled"
        return await timed_async(lambda: self._desk.page(self._state, newest=newest, text=text))

    async def wake(self) -> float:
        """Until somebody who waits has what was settled elsewhere."""
        await self._post()
        waiting = asyncio.ensure_future(self._desk.wait(self._posted))
        await self._desk.get(self._posted)  # after the first look of whoever waits

        async def settled() -> None:
            await _settle(self._other, self._posted)
            await waiting

        return await timed_async(settled)


async def _settle(desk: Desk, ask_id: str) -> None:
    await desk.settle(ask_id, ANSWERED, by="ana", surface="bench")


Operation = Callable[[Grown], Awaitable[float]]
_TURNS: tuple[dict[str, Operation], ...] = (
    {"post": Grown.post, "settle": Grown.settle, "expire": Grown.expire},
    {"the first page": Grown.list_first, "the newest page": Grown.list_newest},
    {"search a common word": Grown.search_common, "search a rare word": Grown.search_rare},
    {"settle elsewhere, wake here": Grown.wake},
)
_INDEX = "index an ask for searches"
_WHATS = (*(what for turn in _TURNS for what in turn), _INDEX)


def measure(
    cluster: Cluster, rounds: int, sizes: Sequence[int] = SIZES, tell: Callable[[str], None] = lambda _: None
) -> list[Curve]:
    kinds: tuple[Kind, ...] = ("SQLite", "PostgreSQL")
    states: tuple[State, ...] = ("open", "settled")
    curves: list[Curve] = []
    for kind in kinds:
        for state in states:
            with ExitStack() as stack:
                stores = {}
                for size in sizes:
                    tell(f"{kind}, {state}: {size:,} asks")
                    stores[size] = stack.enter_context(_filled(kind, state, cluster, size))
                tell(f"{kind}, {state}: all sizes in turns")
                curves += asyncio.run(_measured(kind, state, stores, rounds))
    return sorted(curves, key=lambda curve: _WHATS.index(curve.what))


def figures(curves: Sequence[Curve]) -> list[Figure]:
    """What the largest index takes to build, for each 100,000 asks in it."""
    built = [(curve, *curve.points[-1]) for curve in curves if curve.what == _INDEX]
    return [
        Figure(f"to index 100,000 asks, as {size:,} were, {curve.series}", each * 0.1, "s", 10)
        for curve, size, each in built
    ]


@contextmanager
def _filled(kind: Kind, state: State, cluster: Cluster, size: int) -> Iterator[str]:
    """The address of a store with so many asks, for as long as it is needed."""
    if kind == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "desk.db"
            fill_sqlite(path, size, state)
            yield str(path)
        return
    url = cluster.database()
    try:
        asyncio.run(fill_postgres(url, size, state))
        yield url
    finally:
        cluster.drop(url)


async def _measured(kind: Kind, state: State, stores: dict[int, str], rounds: int) -> list[Curve]:
    samples: dict[str, dict[int, list[float]]] = {what: {size: [] for size in stores} for what in _WHATS}
    async with AsyncExitStack() as stack:
        desks = {size: await stack.enter_async_context(_grown(state, url)) for size, url in stores.items()}
        for size, grown in desks.items():
            samples[_INDEX][size].append(await grown.catch_up() / size)
        for turn in _TURNS:
            for grown in desks.values():
                await grown.catch_up()
            for number in range(_WARM_UP + rounds):
                for size, grown in desks.items():
                    for what, operation in turn.items():
                        took = await operation(grown)
                        if number >= _WARM_UP:
                            samples[what][size].append(took)
    return [Curve(what, kind, state, times) for what, times in samples.items()]


@asynccontextmanager
async def _grown(state: State, url: str) -> AsyncIterator[Grown]:
    desks = Desk(await open_store(url)), Desk(await open_store(url))
    try:
        yield Grown(*desks, state)
    finally:
        for desk in desks:
            await desk.close()
