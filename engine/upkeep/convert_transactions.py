"""Outcomes of Kafka's transactions in a log, for a conversion of its batches.

What a marker decides lies before it. So the whole log is read once more when the first transactional batch is
met; a store without transactions is not.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.producers.batch import of_header
from mqgateway.engine.producers.transactions import KafkaTransactions
from mqgateway.engine.record_batches.batches import CONTROL, FLAGS_AT, TRANSACTIONAL
from mqgateway.engine.store.dispatch_request import producer_of
from mqgateway.engine.store.expansion import holds_record_batch
from mqgateway.engine.store.record import decode
from mqgateway.engine.upkeep.walk import LogWalk

_UNLIMITED = 1 << 62


class TransactionOutcomes:
    """Outcomes of the transactions in one log; `walk` reads it from its begin."""

    def __init__(self, walk: Callable[[], LogWalk]) -> None:
        self._walk = walk
        self._transactions: KafkaTransactions | None = None

    def hides(self, stored: StoredMessage) -> bool:
        """Return True if readers of committed records do not get the batch in a record: it is a marker, or
        its transaction was aborted or has no end."""
        data = stored.body
        flags = data[FLAGS_AT] if len(data) > FLAGS_AT else 0
        if flags & CONTROL:
            return True
        batch = of_header(data) if flags & TRANSACTIONAL else None
        if batch is None:
            return False
        if self._transactions is None:
            self._transactions = self._read()
        queue = self._transactions.queues.get((stored.topic, stored.queue_id))
        if queue is None:
            return False
        first_open = queue.open.get(batch.producer_id)
        if first_open is not None and batch.first_offset >= first_open:
            return True
        place = stored.topic, stored.queue_id
        return self._transactions.is_aborted(*place, batch.producer_id, batch.first_offset)

    def _read(self) -> KafkaTransactions:
        transactions = KafkaTransactions(_UNLIMITED, _UNLIMITED)
        for data, at, position, size in self._walk().records():
            record = data[at : at + size]
            message = decode(record) if holds_record_batch(record) else None
            produced = None if message is None else producer_of(message)
            if message is None or produced is None:
                continue
            place, end = (message.topic, message.queue_id), position + size
            transactions.take(*place, produced, message.queue_offset, end, message.store_timestamp)
        return transactions
