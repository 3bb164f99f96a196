"""Two PostgreSQL servers, of which one can be lost; and the ways to them, which can be cut."""

from __future__ import annotations

import time
from contextlib import ExitStack
from enum import Enum

from tests.faults.proxy import Cut, Proxy
from tests.postgres import Cluster

OPTIONS = ("checkpoint_timeout=1h", "max_wal_size=8GB", "wal_keep_size=1GB", "wal_retrieve_retry_interval=100ms")
_CUT_OFF_SECONDS = 15.0  # longer than a client waits for an answer


class Loss(Enum):
    """How a primary is lost."""

    WITH_A_WORD = "its machine says that nothing is there any more"
    WITH_ITS_MACHINE = "nobody answers where it was"
    AFTER_ITS_STANDBY = "that had been cut off from it for so long that clients gave up; it knows nothing since"


class Pair:
    """A primary, and once it is attached, a standby that has every commit before it is acknowledged.

    A client knows the ways to both.
    """

    def __init__(self, ending: ExitStack) -> None:
        self._ending = ending
        self.primary = ending.enter_context(Cluster(*OPTIONS, durable=True))
        name = self.primary.database().rpartition("/")[2]
        self.way, self._other_way, self.replication = (ending.enter_context(Proxy(self.primary.port)) for _ in range(3))
        self.url = f"postgresql://ana@127.0.0.1:{self.way.port},127.0.0.1:{self._other_way.port}/{name}"

    def attach(self) -> None:
        """Give the primary a standby, and let it wait for that one from now on."""
        self.replication.target = self.primary.port
        self.replication.heal()
        source = f"primary_conninfo=host=127.0.0.1 port={self.replication.port} user=ana sslmode=disable"
        standby = Cluster(*OPTIONS, source, durable=True, of=self.primary)
        self._standby = self._ending.enter_context(standby)
        self._other_way.target = standby.port
        self._other_way.heal()
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        while not self.primary.sql("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"):
            time.sleep(0.02)

    def promote(self, loss: Loss) -> None:
        """Lose the primary, and let the standby take its place."""
        if loss is Loss.AFTER_ITS_STANDBY:
            self.replication.cut(Cut.HOLE)
            time.sleep(_CUT_OFF_SECONDS)
        elif loss is Loss.WITH_ITS_MACHINE:
            self.way.cut(Cut.HOLE)
        self.primary.kill()
        self._standby.promote()
        self.primary = self._standby
        self.way, self._other_way = self._other_way, self.way
