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

    `aborted` are all that were aborted in the part that is passed.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = deque(sorted(aborted, key=_FIRST_OFFSET))
        self._in_aborted: dict[int, bool] = {}
        """By producer: True once the aborted transaction that it is in has had a batch."""
        self._in_committed: set[int] = set()

    def can_remove(self, batch: Batch) -> bool:
        """Take the next batch; return True if it is of an aborted transaction, or a marker that no batch
        needs."""
        while self._aborted and self._aborted[0].first_offset <= batch.last_offset:
            self._in_aborted.setdefault(self._aborted.popleft().producer_id, False)
        if batch.is_control:
            return self._can_remove_control(batch)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._in_aborted:
            self._in_aborted[batch.producer_id] = True
            return True
        self._in_committed.add(batch.producer_id)
        return False

    def _can_remove_control(self, batch: Batch) -> bool:
        if not batch.count:
            return True
        marker = marker_of(batch.data)
        if marker is None:
            return False
        if not marker.commit:
            return not self._in_aborted.pop(marker.producer_id, False)
        has_batches = marker.producer_id in self._in_committed
        self._in_committed.discard(marker.producer_id)
        return not has_batches
