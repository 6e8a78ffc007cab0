"""The view of Kafka's transactions: which are open in a queue, and which were aborted.

See `engine.producers.transactions`. Readers of committed records stop where the oldest open transaction of
the queue begins. Slaves have the view too, as they dispatch the same log. Kafka: `ProducerStateManager`,
`TransactionIndex`.

    state    = number of producers i4, producers, queues
    producer = length of the topic h2, queue id i4, producer id i8, epoch i2, coordinator epoch i4,
               first offset i8, end i8, store time i8, without batches i1, topic
    queue    = length of the topic h2, queue id i4, end i8, number of aborted i4, topic, aborted
    aborted  = producer id i8, first offset i8, last offset i8, last stable offset i8
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.batch import Produced, ProducerBatch
from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.producers.state import BatchRefusal, Key
from mqgateway.engine.producers.transactions import (
    NONE,
    AbortedTransaction,
    KafkaTransactions,
    MarkerRefusal,
    ProducerTransaction,
    Queue,
    QueueTransactions,
    begins,
    first_offset_of,
)
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.dispatch_request import DispatchRequest, enters_queue, producer_of
from mqgateway.engine.store.older_messages import OlderMessages
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.unit_queue import UnitQueue
from mqgateway.engine.store.views.snapshot import SnapshotView

EXPIRE_MILLIS: Final = 600_000
"""Interval between looks for expired producers. Kafka: `producer.id.expiration.check.interval.ms`."""

FOLDER: Final = "kafkatransactions"
"""Name of the folder with the snapshots."""

_COUNT: Final = struct.Struct(">i")
_PRODUCER: Final = struct.Struct(">hiqhiqqq?")
_QUEUE: Final = struct.Struct(">hiqi")
_ABORTED: Final = struct.Struct(">qqqq")
_FORGET_TOGETHER: Final = 100
"""Queues of which aborted transactions are forgotten in one step."""
_ENDLESS: Final = 1 << 62
"""Stands for the last offset of an open transaction."""


class TransactionsView(SnapshotView):
    """Keeps transactions, and limits readers of committed records.

    `check` and `check_marker` are for what is about to be appended, of which `append` learns later.
    """

    def __init__(
        self,
        options: StoreOptions,
        disk: Disk,
        clock: Clock,
        root: str,
        queues: ConsumeQueues,
        older: OlderMessages | None,
    ) -> None:
        super().__init__(disk, f"{root}/{FOLDER}")
        self._clock = clock
        self._queues = queues
        self._older = older
        self._transactions = KafkaTransactions(
            options.kafka_producers_max, options.kafka_producer_id_expiration_millis
        )
        self._expired_at = elapsed_millis(clock)

    # Decisions on what is to be written.

    def check(self, topic: str, queue_id: int, batch: ProducerBatch) -> BatchRefusal | None:
        """Decide on a batch that is to be appended now, but for the order of its sequence."""
        if self._transactions.is_idle:
            return None
        return self._transactions.check(topic, queue_id, batch, self._clock.millis())

    def check_marker(
        self, topic: str, queue_id: int, marker: Marker, *, has_new_epoch: bool = False
    ) -> MarkerRefusal | None:
        """Decide on a marker that is to be appended now. See `KafkaTransactions.check_marker`."""
        now = self._clock.millis()
        return self._transactions.check_marker(topic, queue_id, marker, now, has_new_epoch=has_new_epoch)

    def is_open(self, topic: str, queue_id: int, producer_id: int, epoch: int) -> bool:
        """Return True if a producer has an open transaction of an epoch in a queue, dispatched or not."""
        known = self._transactions.newest(topic, queue_id, producer_id, self._clock.millis())
        return known is not None and known.first_offset != NONE and known.epoch == epoch

    # Questions.

    def knows(self, topic: str, queue_id: int, producer_id: int) -> bool:
        """Return True if a queue has had a transaction of a producer that is not forgotten, dispatched or
        not."""
        now = self._clock.millis()
        return self._transactions.newest(topic, queue_id, producer_id, now) is not None

    def aborted(self, topic: str, queue_id: int, begin: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have batches from the offset `begin` to `end`, in the
        order of their markers.

        Those that ended in the compacted part have none. Their markers may be gone, and a client would skip
        later batches of the producer.
        """
        queue, of_queue = self._transactions.queues.get((topic, queue_id)), self._queues.get(topic, queue_id)
        if queue is None:
            return []
        return queue.aborted_in(begin if of_queue is None else max(begin, self._begin_of(of_queue)), end)

    def is_aborted(self, topic: str, queue_id: int, producer_id: int, offset: int) -> bool:
        """Return True if a transactional batch of a producer at an offset was aborted."""
        return self._transactions.is_aborted(topic, queue_id, producer_id, offset)

    def of_topic(self, topic: str) -> Mapping[int, dict[int, ProducerTransaction]]:
        """Return the producers of each queue of a topic that has any, by producer id."""
        return self._transactions.of_topic(topic, self._clock.millis())

    def open_in_queues(self) -> list[tuple[Key, ProducerTransaction]]:
        """Return the open transactions of all queues, by topic, queue and producer id."""
        return self._transactions.open_in_queues()

    @property
    def limits_reading(self) -> bool:
        """See `View`."""
        return True

    def read_limit(self, queue: UnitQueue) -> int | None:
        """See `View`. Kafka: `UnifiedLog.lastStableOffset`."""
        if not self._transactions.queues:
            return None
        transactions = self._transactions.queues.get((queue.topic, queue.queue_id))
        first = None if transactions is None else transactions.first_open()
        return None if first is None else max(first, queue.min_offset)

    # Following the log. Once anything is known, every message is needed: it moves the end of its queue.

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        """See `View`."""
        super().append(run, arrivals)
        self.ignores_plain = self._transactions.is_idle

    def _take(self, request: DispatchRequest) -> bool:
        queue, produced = request.queue, request.producer
        if queue is None or self._passes_over(produced):
            return False
        offset, end = request.queue_offset, request.physical_offset + request.size
        stored = request.store_timestamp
        return self._transactions.take(request.topic, queue.queue_id, produced, offset, end, stored)

    def _passes_over(self, produced: Produced | None) -> bool:
        """Return True if a record changes nothing, as nearly all do where there are no transactions."""
        return self._transactions.is_idle and (produced is None or not begins(produced))

    def _repeat(self, message: StoredMessage) -> bool:
        self.ignores_plain = False
        if not enters_queue(message.sys_flag):
            return False
        offset, end = message.queue_offset, message.physical_offset + message.size
        produced, stored = producer_of(message), message.store_timestamp
        return self._transactions.take(message.topic, message.queue_id, produced, offset, end, stored)

    def expect(self, request: DispatchRequest) -> None:
        """See `View`."""
        produced, queue = request.producer, request.queue
        if produced is not None and queue is not None and not self._passes_over(produced):
            end = request.physical_offset + request.size
            first = first_offset_of(produced, request.queue_offset)
            stored = request.store_timestamp
            self.ignores_plain = False
            self._transactions.expect(request.topic, queue.queue_id, produced, first, end, stored)

    def expect_nothing(self) -> None:
        """See `View`."""
        self._transactions.expect_nothing()

    def delete_topic(self, topic: str) -> bool:
        """See `View`."""
        return self._transactions.forget_topic(topic)

    def delete_before(self, oldest: int) -> Steps[None]:
        """Forget aborted transactions whose records have all left the log. If some may be elsewhere, they are
        kept until that is known."""
        if self._older is not None and not self._older.is_known(oldest):
            return
        for number, key in enumerate(list(self._transactions.queues), 1):
            queue = self._queues.get(*key)
            if queue is not None and key in self._transactions.queues:
                self._transactions.drop_before(key, self._begin_of(queue))
            if not number % _FORGET_TOGETHER:
                yield
        yield

    # The state.

    @property
    def _is_empty(self) -> bool:
        return not self._transactions.producers and not self._transactions.queues

    def _clear(self) -> None:
        self._transactions.clear()

    def _encoder(self) -> Callable[[], bytes]:
        transactions = self._transactions
        ended = [(key, queue.end, list(queue.aborted)) for key, queue in transactions.queues.items()]
        return partial(_encode, dict(transactions.producers), ended)

    def _restore(self, state: bytes) -> None:
        producers, queues = _decode(state)
        self.ignores_plain = False
        self._transactions.producers, self._transactions.queues = producers, queues

    # Being open.

    def tick(self, is_failing: bool) -> None:
        """Forget expired producers when it is time."""
        now = elapsed_millis(self._clock)
        if now - self._expired_at >= EXPIRE_MILLIS:
            self._expired_at = now
            self._transactions.expire(self._clock.millis())

    def state(self, oldest: int) -> object:
        """Return epochs, open and aborted transactions.

        If the log has lost records, the first of the transactions of each producer in a queue is left out: a
        view that was rebuilt may know only its end. Coordinators' epochs are left out then too.
        """
        transactions, now, is_whole = self._transactions, self._clock.millis(), not oldest
        epochs = {
            key: (known.epoch, known.coordinator_epoch if is_whole else NONE)
            for key, known in transactions.producers.items()
            if known.end > oldest and not transactions.is_expired(known, now)
        }
        found: dict[Queue, list[tuple[int, int, int]]] = {}
        for key, queue in transactions.queues.items():
            of_queue, seen = self._queues.get(*key), set[int]()
            begin = 0 if of_queue is None else self._begin_of(of_queue)
            for one in _all_of(queue):
                if one[2] >= begin and (is_whole or one[0] in seen):
                    found.setdefault(key, []).append(one)
                if one[2] >= begin:
                    seen.add(one[0])
        return epochs, found

    def _begin_of(self, queue: AnyQueue) -> int:
        """Return the offset from which on a queue may have batches of aborted transactions."""
        begin = queue.min_offset if self._older is None else self._older.min_offset(queue)
        return max(begin, queue.compacted_end) if isinstance(queue, BatchConsumeQueue) else begin


def _all_of(queue: QueueTransactions) -> Iterator[tuple[int, int, int]]:
    """Yield producer, first and last offset of transactions; open ones are last and have no end."""
    aborted = [(one.producer_id, one.first_offset, one.last_offset) for one in queue.aborted]
    opened = [(producer_id, first, _ENDLESS) for producer_id, first in queue.open.items()]
    return chain(aborted, opened)


def _encode(
    producers: Mapping[Key, ProducerTransaction],
    queues: Sequence[tuple[Queue, int, Sequence[AbortedTransaction]]],
) -> bytes:
    parts = [_COUNT.pack(len(producers))]
    for (topic, queue_id, producer_id), known in producers.items():
        name = topic.encode()
        parts += (_PRODUCER.pack(len(name), queue_id, producer_id, *known), name)
    for (topic, queue_id), end, aborted in queues:
        name = topic.encode()
        parts += (_QUEUE.pack(len(name), queue_id, end, len(aborted)), name)
        parts += [_ABORTED.pack(*one) for one in aborted]
    return b"".join(parts)


def _decode(state: bytes) -> tuple[dict[Key, ProducerTransaction], dict[Queue, QueueTransactions]]:
    """Decode producers, in their order, and queues. Raises `ValueError` and `struct.error`."""
    producers: dict[Key, ProducerTransaction] = {}
    queues: dict[Queue, QueueTransactions] = {}
    at = _COUNT.size
    for _ in range(_COUNT.unpack_from(state)[0]):
        length, queue_id, producer_id, *fields = _PRODUCER.unpack_from(state, at)
        at += _PRODUCER.size
        topic = state[at : at + length].decode()
        at += length
        producers[topic, queue_id, producer_id] = ProducerTransaction(*fields)
    while at < len(state):
        length, queue_id, end, count = _QUEUE.unpack_from(state, at)
        at += _QUEUE.size
        key = state[at : at + length].decode(), queue_id
        at += length
        queue = queues[key] = QueueTransactions()
        queue.end = end
        for _ in range(count):
            queue.aborted.append(AbortedTransaction(*_ABORTED.unpack_from(state, at)))
            at += _ABORTED.size
    if at != len(state):
        raise ValueError("the last entry is cut short")
    _open_again(producers, queues)
    return producers, queues


def _open_again(
    producers: Mapping[Key, ProducerTransaction], queues: Mapping[Queue, QueueTransactions]
) -> None:
    """Enter the open transactions of producers into their queues. Raises `ValueError`."""
    opened = [(known.first_offset, key) for key, known in producers.items() if known.first_offset != NONE]
    for first_offset, (topic, queue_id, producer_id) in sorted(opened):
        queue = queues.get((topic, queue_id))
        if queue is None:
            raise ValueError(f"queue {queue_id} of topic {topic} is missing")
        queue.open[producer_id] = first_offset
