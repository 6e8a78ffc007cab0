"""Transactions as a pass over the batches of a queue meets them.

Batches of aborted transactions can be removed at once. A marker can be removed once a pass meets no batch of
its transaction any more: readers need it as long as there is one. Kafka: `CleanedTransactionMetadata`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from mqgateway.engine.producers.markers import marker_of
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.record_batches.batches import Batch

_FIRST_OFFSET: Final = attrgetter("first_offset")


class PassedTransactions:
    """Transactions of one queue, in a pass over its batches in their order from the first on.

    `aborted` are all that were aborted in the part that is passed; those too whose markers were removed.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = deque(sorted(aborted, key=_FIRST_OFFSET))
        self._in_aborted: dict[int, AbortedTransaction] = {}
        """By producer: the aborted transaction that it is in, or that it was in last."""
        self._has_batches: set[int] = set()
        """Producers that have had a batch in the transaction that they are in."""

    def can_remove(self, batch: Batch) -> bool:
        """Take the next batch; return True if it is of an aborted transaction, or a marker that no batch
        needs."""
        while self._aborted and self._aborted[0].first_offset <= batch.last_offset:
            aborted = self._aborted.popleft()
            self._in_aborted[aborted.producer_id] = aborted
        if batch.is_control:
            return self._can_remove_control(batch)
        if not batch.is_transactional:
            return False
        self._has_batches.add(batch.producer_id)
        return self._is_in_aborted(batch)

    def _is_in_aborted(self, batch: Batch) -> bool:
        """Return True if a batch of a transaction was aborted."""
        aborted = self._in_aborted.get(batch.producer_id)
        return aborted is not None and batch.last_offset <= aborted.last_offset

    def _can_remove_control(self, batch: Batch) -> bool:
        if not batch.count:
            return True
        if marker_of(batch.data) is None:
            return False
        has_batches = batch.producer_id in self._has_batches
        self._has_batches.discard(batch.producer_id)
        return not has_batches
