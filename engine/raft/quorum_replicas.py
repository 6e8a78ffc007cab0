"""Sends of a leader's broker that wait until a majority of its group has them.

RocketMQ: `DLedgerCommitLog.asyncPutMessage`, which answers IN_SYNC_REPLICAS_NOT_ENOUGH if that takes too
long.
"""

from __future__ import annotations

from mqgateway.engine.ha.feed import LogEnds
from mqgateway.engine.ha.replicas import Done, Replicas
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.store.results import PutStatus

MAJORITY = 1 << 30
"""A number of logs that stands for a majority."""


class QuorumReplicas(Replicas):
    """`ledger` has the position up to which the majority, of `majority` members, has the log; `wait_millis`
    is the maximum wait of a send.
    """

    def __init__(
        self, options: StoreOptions, ends: LogEnds, ledger: LedgerLog, majority: int, wait_millis: int
    ) -> None:
        super().__init__(options, ends)
        self.ledger = ledger
        self._majority = majority
        self._wait_millis = wait_millis

    @property
    def wanted(self) -> int:
        """Number of logs that must have a send."""
        return MAJORITY

    @property
    def patience(self) -> int:
        """Maximum wait of a send, in ms."""
        return self._wait_millis

    def in_sync(self) -> int:
        """Return the number of logs that have every acknowledged message."""
        return self._majority

    def need(self, now: int) -> int:
        """Return the number of logs that must have a send; its wait shows if there are enough."""
        return MAJORITY

    def high_water_mark(self, need: int) -> int:
        """Return the position up to which the majority has the log."""
        return self.ledger.committed

    def wait(self, end: int, now: int, need: int, done: Done) -> None:
        """Call `done` once a majority has everything before `end`, or it has taken too long."""

        def report(status: PutStatus) -> None:
            done(status if status is PutStatus.PUT_OK else PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH)

        super().wait(end, now, need, report)
