"""The sends of a leader's broker that wait until a majority of its group has them.

Standard: `DLedgerCommitLog.asyncPutMessage`, which says IN_SYNC_REPLICAS_NOT_ENOUGH where that takes
too long.
"""

from __future__ import annotations

from mqgateway.engine.ha.feed import LogEnds
from mqgateway.engine.ha.replicas import Done, Replicas
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.store.results import PutStatus

MAJORITY = 1 << 30
"""As many logs as are a majority."""


class QuorumReplicas(Replicas):
    """`ledger` says how far the majority has the log; `wait_millis` is how long a send waits for that."""

    def __init__(self, options: StoreOptions, ends: LogEnds, ledger: LedgerLog, wait_millis: int) -> None:
        super().__init__(options, ends)
        self.ledger = ledger
        self._wait_millis = wait_millis

    @property
    def wanted(self) -> int:
        """How many logs a send is to be in."""
        return MAJORITY

    @property
    def patience(self) -> int:
        """How long a send waits, in ms."""
        return self._wait_millis

    def need(self, now: int) -> int:
        """How many logs a send of now must be in: it finds out by waiting whether they are there."""
        return MAJORITY

    def high_water_mark(self, need: int) -> int:
        """Up to where the majority has the log."""
        return self.ledger.committed

    def wait(self, end: int, now: int, need: int, done: Done) -> None:
        """Call `done` once a majority has everything before `end`, or it has taken too long."""

        def told(status: PutStatus) -> None:
            done(status if status is PutStatus.PUT_OK else PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH)

        super().wait(end, now, need, told)
