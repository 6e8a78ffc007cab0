"""Transactions of Kafka producers in queues: which are open, and which were aborted.

A producer's first transactional batch in a queue opens a transaction there; a marker ends it. Readers of
committed records stop before the first batch of the oldest open transaction, and skip the batches of a
producer from the first offset to the last one, the marker's, of a transaction that was aborted.

For each queue and producer there is also what later writes are judged by: the epochs that its last batch and
its last marker had. That expires some time after its last record was stored, but never while its transaction
is open. Kafka: `ProducerStateManager`, `ProducerAppendInfo`, `TransactionIndex`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from enum import Enum
from operator import attrgetter
from typing import Final, NamedTuple

from mqgateway.engine.producers.batch import Produced, ProducerBatch
from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.producers.state import BatchRefusal, Key

NONE: Final = -1
_LAST_OFFSET: Final = attrgetter("last_offset")

Queue = tuple[str, int]
"""Topic and queue id."""


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted in a queue: its first batch, and its marker at `last_offset`.

    Every transaction that is aborted later begins at `last_stable_offset` or after it. Kafka: `AbortedTxn`.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerTransaction(NamedTuple):
    """A producer's state in a queue. `first_offset` is that of its open transaction, -1 if none is open.

    `coordinator_epoch` is that of its last marker, -1 if there is none. Its last record ends at `end` of the
    log and was stored at `stored`, ms. `is_new` is True until the epoch has a batch.
    """

    epoch: int
    coordinator_epoch: int
    first_offset: int
    end: int
    stored: int
    is_new: bool = False


class MarkerRefusal(Enum):
    """A reason to write no marker."""

    OLD_COORDINATOR = "a newer coordinator has ended a transaction of the producer"
    OLD_EPOCH = "the producer has a newer epoch"


class QueueTransactions:
    """Transactions of one queue.

    `open` has the first offset of each open one by producer id, in the order of these offsets. `aborted` is
    in the order of the markers. `end` is the offset after the last record that the state has.
    """

    __slots__ = ("aborted", "end", "open")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.aborted: list[AbortedTransaction] = []
        self.end = 0

    @property
    def is_empty(self) -> bool:
        """True if there is no transaction."""
        return not self.open and not self.aborted

    def first_open(self) -> int | None:
        """Return the first offset of the oldest open transaction, None if none is open."""
        for offset in self.open.values():
            return offset
        return None

    def aborted_in(self, begin: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have batches in a range of offsets, in the order of their
        markers."""
        found: list[AbortedTransaction] = []
        aborted = self.aborted
        for index in range(bisect_left(aborted, begin, key=_LAST_OFFSET), len(aborted)):
            transaction = aborted[index]
            if transaction.first_offset < end:
                found.append(transaction)
            if transaction.last_stable_offset >= end:
                break
        return found

    def close(self, marker: Marker, offset: int) -> None:
        """End the producer's transaction, if it has one, by a marker at an offset."""
        first = self.open.pop(marker.producer_id, None)
        if first is not None and not marker.commit:
            oldest = self.first_open()
            stable = offset + 1 if oldest is None else oldest
            self.aborted.append(AbortedTransaction(marker.producer_id, first, offset, stable))

    def drop_before(self, offset: int) -> None:
        """Forget the aborted transactions that ended before an offset."""
        del self.aborted[: bisect_left(self.aborted, offset, key=_LAST_OFFSET)]


def after_record(
    before: ProducerTransaction | None, produced: Produced, first_offset: int, end: int, stored: int
) -> ProducerTransaction:
    """Return the state after a record of the log whose first message is at `first_offset`."""
    if isinstance(produced, Marker):
        epoch = produced.producer_epoch
        is_new = before is None or before.is_new or before.epoch != epoch
        return ProducerTransaction(epoch, produced.coordinator_epoch, NONE, end, stored, is_new)
    coordinator_epoch = NONE if before is None else before.coordinator_epoch
    begin = NONE if before is None else before.first_offset
    if begin == NONE and produced.is_transactional:
        begin = first_offset
    return ProducerTransaction(produced.epoch, coordinator_epoch, begin, end, stored)


class KafkaTransactions:
    """Transactions of all queues.

    `producers`, those first whose last record is oldest, and `queues`, of those that have a transaction, say
    what has been dispatched; `expect` adds what is in the log and waits for that. At most `limit` producers
    without an open transaction are kept, and a tenth more for a while; they expire `expires_after` ms after
    their last record.
    """

    def __init__(self, limit: int, expires_after: int) -> None:
        self.limit = self._evict_above = limit
        self.expires_after = expires_after
        self.producers: dict[Key, ProducerTransaction] = {}
        self.queues: dict[Queue, QueueTransactions] = {}
        self._expected: dict[Key, ProducerTransaction] = {}

    @property
    def is_idle(self) -> bool:
        """True if nothing is known of any producer or queue."""
        return not self.producers and not self.queues and not self._expected

    # Decisions on what is to be written.

    def check(self, topic: str, queue_id: int, batch: ProducerBatch, now: int) -> BatchRefusal | None:
        """Decide on a batch that is to be appended at `now`, ms. Of its sequence it is only known that an
        epoch, which a marker may have raised, begins with 0."""
        known = self.newest(topic, queue_id, batch.producer_id, now)
        if known is None:
            return None
        if batch.epoch < known.epoch:
            return BatchRefusal.OLD_EPOCH
        if batch.first_sequence and (known.is_new or batch.epoch > known.epoch):
            return BatchRefusal.OUT_OF_ORDER
        if known.first_offset != NONE and not batch.is_transactional:
            return BatchRefusal.NOT_TRANSACTIONAL
        return None

    def check_marker(
        self, topic: str, queue_id: int, marker: Marker, now: int, *, has_new_epoch: bool = False
    ) -> MarkerRefusal | None:
        """Decide on a marker that is to be appended at `now`, ms.

        With `has_new_epoch` it is one of a transaction of version 2 (KIP-890), which raises the epoch: a
        marker with the last epoch is late, and would end the transaction after its own.
        """
        known = self.newest(topic, queue_id, marker.producer_id, now)
        if known is None:
            return None
        if marker.producer_epoch < known.epoch + has_new_epoch:
            return MarkerRefusal.OLD_EPOCH
        if marker.coordinator_epoch < known.coordinator_epoch:
            return MarkerRefusal.OLD_COORDINATOR
        return None

    def newest(self, topic: str, queue_id: int, producer_id: int, now: int) -> ProducerTransaction | None:
        """Return a producer's state after everything that was written, None for an unknown producer."""
        key = topic, queue_id, producer_id
        known = self._expected.get(key) or self.producers.get(key)
        return None if known is None or self.is_expired(known, now) else known

    def is_expired(self, known: ProducerTransaction, now: int) -> bool:
        """Return True if a producer without an open transaction has stored nothing for long."""
        return known.first_offset == NONE and now - known.stored >= self.expires_after

    # Following the log.

    def expect(
        self, topic: str, queue_id: int, produced: Produced, first_offset: int, end: int, stored: int
    ) -> None:
        """Take note of a record that was written and will be dispatched."""
        known = self.newest(topic, queue_id, produced.producer_id, stored)
        if known is not None or begins(produced):
            after = after_record(known, produced, first_offset, end, stored)
            self._expected[topic, queue_id, produced.producer_id] = after

    def expect_nothing(self) -> None:
        """Forget the records that were to be dispatched."""
        self._expected.clear()

    def take(
        self, topic: str, queue_id: int, produced: Produced | None, queue_offset: int, end: int, stored: int
    ) -> bool:
        """Take a record of the log, whatever it is; return True if it changes the state."""
        has_changed = self.follow(topic, queue_id, queue_offset)
        if produced is None:
            return has_changed
        first = first_offset_of(produced, queue_offset)
        return self.add(topic, queue_id, produced, first, end, stored) or has_changed

    def follow(self, topic: str, queue_id: int, first_offset: int) -> bool:
        """Take note of the offset of a record; return True if that changes the state.

        A record before the end of what is known shows that the queue began again, as its topic was deleted.
        What it had is forgotten then.
        """
        queue = self.queues.get((topic, queue_id))
        if queue is None or first_offset >= queue.end:
            return False
        self._forget((topic, queue_id))
        return True

    def add(
        self, topic: str, queue_id: int, produced: Produced, first_offset: int, end: int, stored: int
    ) -> bool:
        """Take a record of the log that has a producer; return True if the state has it."""
        key = topic, queue_id, produced.producer_id
        known = self.producers.pop(key, None)
        if known is not None and self.is_expired(known, stored):
            known = None
        if known is None and not begins(produced):
            return False
        self.producers[key] = after = after_record(known, produced, first_offset, end, stored)
        count = produced.count if isinstance(produced, ProducerBatch) else 1
        self._place((topic, queue_id), produced, after, first_offset + count - 1)
        expected = self._expected.get(key)
        if expected is not None and expected.end <= end:
            del self._expected[key]
        if len(self.producers) > self._evict_above:
            self._evict()
        return True

    def _place(self, key: Queue, produced: Produced, after: ProducerTransaction, offset: int) -> None:
        """Note what a record, whose last message is at `offset`, does to the transactions of its queue."""
        queue = self.queues.get(key)
        if queue is None:
            if after.first_offset == NONE:
                return
            queue = self.queues[key] = QueueTransactions()
        queue.end = offset + 1
        if isinstance(produced, Marker):
            queue.close(produced, offset)
            if queue.is_empty:
                del self.queues[key]
        elif after.first_offset != NONE:
            queue.open.setdefault(produced.producer_id, after.first_offset)

    def _evict(self) -> None:
        """Forget producers above the limit that have no open transaction, those first whose last record is
        oldest. All of them are looked at, so the next time is after a tenth of the limit."""
        idle = [key for key, known in self.producers.items() if known.first_offset == NONE]
        open_count = len(self.producers) - len(idle)
        for key in idle[: max(0, len(idle) - self.limit)]:
            del self.producers[key]
        self._evict_above = open_count + self.limit + self.limit // 10

    def _forget(self, key: Queue) -> None:
        for producer_id in self.queues.pop(key).open:
            self.producers.pop((*key, producer_id), None)

    def forget_topic(self, topic: str) -> bool:
        """Forget the transactions of a topic; return True if there were any."""
        before = len(self.producers) + len(self.queues)
        self.producers = {key: known for key, known in self.producers.items() if key[0] != topic}
        self.queues = {key: queue for key, queue in self.queues.items() if key[0] != topic}
        self._expected = {key: known for key, known in self._expected.items() if key[0] != topic}
        return len(self.producers) + len(self.queues) < before

    def drop_before(self, key: Queue, offset: int) -> None:
        """Forget the aborted transactions of a queue that ended before an offset."""
        queue = self.queues[key]
        queue.drop_before(offset)
        if queue.is_empty:
            del self.queues[key]

    def expire(self, now: int) -> None:
        """Forget the producers that have expired."""
        for key in [key for key, known in self.producers.items() if self.is_expired(known, now)]:
            del self.producers[key]

    def clear(self) -> None:
        """Forget everything."""
        self.producers.clear()
        self.queues.clear()
        self._expected.clear()

    # Questions.

    def is_aborted(self, topic: str, queue_id: int, producer_id: int, offset: int) -> bool:
        """Return True if a transactional batch of a producer at an offset was aborted."""
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            return False
        for transaction in queue.aborted_in(offset, offset + 1):
            if transaction.producer_id == producer_id:
                return True
        return False

    def of_topic(self, topic: str, now: int) -> Mapping[int, dict[int, ProducerTransaction]]:
        """Return the producers of each queue of a topic that has any, by producer id."""
        found: dict[int, dict[int, ProducerTransaction]] = {}
        for (name, queue_id, producer_id), known in self.producers.items():
            if name == topic and not self.is_expired(known, now):
                found.setdefault(queue_id, {})[producer_id] = known
        return found

    def open_in_queues(self) -> list[tuple[Key, ProducerTransaction]]:
        """Return the open transactions of all queues, without those whose marker is written."""
        found: list[tuple[Key, ProducerTransaction]] = []
        for (topic, queue_id), queue in self.queues.items():
            for producer_id in queue.open:
                key = topic, queue_id, producer_id
                known = self._expected.get(key) or self.producers.get(key)
                if known is not None and known.first_offset != NONE:
                    found.append((key, known))
        return found


def first_offset_of(produced: Produced, queue_offset: int) -> int:
    """Return the offset of the first message of a batch or marker, whose record is at `queue_offset`."""
    return produced.first_offset if isinstance(produced, ProducerBatch) else queue_offset


def begins(produced: Produced) -> bool:
    """Return True if a record makes its producer one with transactions."""
    return isinstance(produced, Marker) or produced.is_transactional
