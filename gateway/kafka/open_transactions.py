"""Producers with transactions that have not ended, at the coordinators of all broker groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.operations import OperationError, Operations, Reason
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.status import TxnState

OPEN_TRANSACTIONS: Final = "openTransactions"
PRODUCERS, EPOCHS = "producers", "epochs"

Fields = Mapping[str, Any]


class OpenTransactions:
    """Transactions at the coordinators. `partitions` are those of transactional ids, `coordinator` is this
    broker's."""

    def __init__(
        self, operations: Operations, partitions: CoordinatorPartitions, coordinator: TxnCoordinator
    ) -> None:
        self._peers = operations.peers
        self._partitions = partitions
        self._coordinator = coordinator
        if self._peers is not None:
            self._peers.serve(OPEN_TRANSACTIONS, self._answer)

    @property
    def is_known(self) -> bool:
        """True if all coordinators can be asked: they are known, and this broker has read its log if it has
        one."""
        groups = self._partitions.groups
        return groups is not None and ("" not in groups or self._coordinator.is_loaded)

    def of(self, producers: frozenset[int]) -> Deferred[dict[int, int]]:
        """Return, by producer, the last epoch whose pending offsets its transaction does not have; -1 if it
        has all. A producer without a transaction is not there. Fails with `OperationError`, `ConfigError`.
        """
        peers, fields = self._peers, {PRODUCERS: sorted(producers)}
        groups = self._partitions.groups or ()
        others = [peers.ask(group, OPEN_TRANSACTIONS, fields) for group in groups if group and peers]
        answers: Deferred[list[Fields]] = gatherResults(others, consumeErrors=True)
        return answers.addCallbacks(self._merged, _failed, callbackArgs=(producers,))

    def _merged(self, answers: Iterable[Fields], producers: frozenset[int]) -> dict[int, int]:
        found = _open(self._coordinator, producers)
        for answer in answers:
            for text, epoch in json_members.read(answer, EPOCHS, dict[str, Any]()).items():
                if not text.isdecimal() or not isinstance(epoch, int):
                    raise ConfigError(f"{EPOCHS} has others than numbers: {text}, {epoch}")
                found[int(text)] = max(epoch, found.get(int(text), -1))
        return found

    def _answer(self, fields: Fields) -> Fields:
        """Return the transactions of this broker's coordinator. Raises `ConfigError`, `OperationError`."""
        if not self._coordinator.is_loaded:
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, "transactions are not read yet")
        producers = json_members.read(fields, PRODUCERS, list[Any]())
        if not all(isinstance(each, int) for each in producers):
            raise ConfigError(f"{PRODUCERS} has others than numbers: {producers}")
        found = _open(self._coordinator, frozenset(producers))
        return {EPOCHS: {str(producer_id): epoch for producer_id, epoch in found.items()}}


def _open(coordinator: TxnCoordinator, producers: frozenset[int]) -> dict[int, int]:
    """Return the transactions of one coordinator, none before it is loaded. Offsets of an open transaction
    have its epoch."""
    if not coordinator.is_loaded:
        return {}
    table = coordinator.table
    found = {}
    for entry in (*table.open.values(), *table.prepared.values()):
        if entry.status is not None and entry.status.producer_id in producers:
            is_open = entry.status.state is TxnState.ONGOING
            found[entry.status.producer_id] = entry.status.epoch - 1 if is_open else -1
    return found


def _failed(failure: Failure) -> dict[int, int]:
    """Raise the error of the first coordinator that did not answer."""
    if isinstance(failure.value, FirstError):
        failure.value.subFailure.raiseException()
    failure.raiseException()
