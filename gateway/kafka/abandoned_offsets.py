"""Pending offsets whose transaction no coordinator has.

Their records were refused, and the log had them all the same; or a coordinator lost the last part of its log.
They are dropped once groups and transactions were read. The coordinators may be in other broker groups.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.operations import OperationError, Operations, Reason
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.status import EPOCH_MAX, TxnState

log = logging.getLogger(__name__)

OPEN_TRANSACTIONS: Final = "openTransactions"
PRODUCERS, EPOCHS = "producers", "epochs"
PERIOD_MILLIS: Final = 1000

Fields = Mapping[str, Any]


class AbandonedOffsets:
    """Pending offsets of one broker that are to be checked. `partitions` are those of transactional ids."""

    def __init__(
        self,
        operations: Operations,
        partitions: CoordinatorPartitions,
        coordinator: TxnCoordinator,
        pending: TransactionalCommits,
    ) -> None:
        self._clock = operations.clock
        self._peers = operations.peers
        self._partitions = partitions
        self._coordinator = coordinator
        self._pending = pending
        self._left: set[int] = set()
        self._begun = 0
        self._next = 0
        self._is_asking = False
        if self._peers is not None:
            self._peers.serve(OPEN_TRANSACTIONS, self._answer)

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
        now, groups = elapsed_millis(self._clock), self._partitions.groups
        if not self._left or self._is_asking or now < self._next or groups is None:
            return
        if "" in groups and not self._coordinator.is_loaded:
            return
        self._next = now + PERIOD_MILLIS
        self._is_asking = True
        asked = frozenset(self._left)
        fields = {PRODUCERS: sorted(asked)}
        others = [
            self._peers.ask(group, OPEN_TRANSACTIONS, fields)
            for group in groups
            if group and self._peers is not None
        ]
        answers: Deferred[list[Fields]] = gatherResults(others, consumeErrors=True)
        answers.addCallback(self._answered, asked, self._begun).addErrback(_not_asked).addBoth(self._ended)

    def _answered(self, answers: Iterable[Fields], producers: frozenset[int], begun: int) -> None:
        if begun != self._begun:  # the log was read again, and has what another master wrote meanwhile
            return
        known = _open(self._coordinator, producers) if self._coordinator.is_loaded else {}
        for answer in answers:
            for text, epoch in json_members.read(answer, EPOCHS, dict[str, Any]()).items():
                known[int(text)] = max(int(epoch), known.get(int(text), -1))
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

    def _answer(self, fields: Fields) -> Fields:
        """Return the producers with transactions here, and the last epoch whose offsets they do not have.

        Raises `ConfigError`, `OperationError`.
        """
        if not self._coordinator.is_loaded:
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, "transactions are not read yet")
        producers = json_members.read(fields, PRODUCERS, list[Any]())
        if not all(isinstance(each, int) for each in producers):
            raise ConfigError(f"{PRODUCERS} has others than numbers: {producers}")
        known = _open(self._coordinator, frozenset(producers))
        return {EPOCHS: {str(producer_id): epoch for producer_id, epoch in known.items()}}


def _open(coordinator: TxnCoordinator, producers: frozenset[int]) -> dict[int, int]:
    """Return, by producer, the last epoch whose offsets its transaction does not have; -1 if it has all.

    Offsets of an open transaction have its epoch.
    """
    table = coordinator.table
    found = {}
    for entry in (*table.open.values(), *table.prepared.values()):
        if entry.status is not None and entry.status.producer_id in producers:
            is_open = entry.status.state is TxnState.ONGOING
            found[entry.status.producer_id] = entry.status.epoch - 1 if is_open else -1
    return found


def _not_asked(failure: Failure) -> None:
    """Log why a coordinator did not answer; it is asked again."""
    error = failure.value.subFailure.value if isinstance(failure.value, FirstError) else failure.value
    if isinstance(error, OperationError | ConfigError | ValueError):
        log.info("pending offsets of transactions are not checked yet: %s", error)
    else:
        log.error("pending offsets of transactions: %s", failure.getTraceback())
