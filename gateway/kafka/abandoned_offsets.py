"""Pending offsets whose transaction no coordinator has.

Their records were refused, and the log had them all the same; or a coordinator lost the last part of its log.
They are dropped once groups and transactions were read. The coordinators may be in other broker groups.
"""

from __future__ import annotations

import logging
from typing import Final

from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.operations import OperationError
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.open_transactions import OpenTransactions
from mqgateway.gateway.kafka.transactions.status import EPOCH_MAX

log = logging.getLogger(__name__)

PERIOD_MILLIS: Final = 1000


class AbandonedOffsets:
    """Pending offsets of one broker that are to be checked."""

    def __init__(self, clock: Clock, transactions: OpenTransactions, pending: TransactionalCommits) -> None:
        self._clock = clock
        self._transactions = transactions
        self._pending = pending
        self._left: set[int] = set()
        self._begun = 0
        self._next = 0
        self._is_asking = False

    def begin(self) -> None:
        """Check the producers that have pending offsets now, when the log of groups was read."""
        self._left = set(self._pending.producers())
        self._begun += 1
        self._next = 0

    def has(self, producer_id: int) -> bool:
        """Return True if a producer has offsets that are not checked yet. It must not add others meanwhile:
        they would be dropped with those of a transaction that has ended."""
        return producer_id in self._left

    def tick(self) -> None:
        """Check what is left, once a second until all coordinators have answered."""
        now = elapsed_millis(self._clock)
        if not self._left or self._is_asking or now < self._next or not self._transactions.is_known:
            return
        self._next = now + PERIOD_MILLIS
        self._is_asking = True
        asked = frozenset(self._left)
        answer = self._transactions.of(asked).addCallback(self._answered, asked, self._begun)
        answer.addErrback(_not_checked).addBoth(self._ended)

    def _answered(self, known: dict[int, int], producers: frozenset[int], begun: int) -> None:
        if begun != self._begun:  # the log was read again, and has what another master wrote meanwhile
            return
        for producer_id in producers & self._left:
            self._drop(producer_id, known.get(producer_id, EPOCH_MAX))

    def _drop(self, producer_id: int, epoch: int) -> None:
        done = self._pending.complete(producer_id, epoch, False)
        done.addCallbacks(
            lambda _: self._left.discard(producer_id),
            lambda failure: log.warning("pending offsets are kept: %s", failure.getErrorMessage()),
        )

    def _ended(self, _: None) -> None:
        self._is_asking = False


def _not_checked(failure: Failure) -> None:
    """Log why a coordinator did not answer; it is asked again."""
    if isinstance(failure.value, OperationError | ConfigError):
        log.info("pending offsets of transactions are not checked yet: %s", failure.getErrorMessage())
    else:
        log.error("pending offsets of transactions: %s", failure.getTraceback())
