"""Reading record batches of Kafka from a queue, as spans of bytes.

A record with the property `__KAFKA` holds one batch whole: its body is given as it is, a view of the bytes
that were read or, for a reader that may borrow them, of the log's memory. All other messages become batches
when they are read, a run of them one. So a queue may hold both.
A batch is never split: the one that holds the offset comes first, although it may begin before it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, StoredMessage, SysFlag, parse_properties
from mqgateway.engine.record_batches.batches import EPOCH_AT, HEADER_SIZE
from mqgateway.engine.record_batches.mapping import BatchBuilder
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.batch_records import batch_place
from mqgateway.engine.store.client_elements import split_batch
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import UNLIMITED, GetResult, GetStatus, PutResult, PutStatus, Record
from mqgateway.engine.store.write_gate import WriteGate
from mqgateway.engine.store.writer import Writer

Span = bytes | bytearray | memoryview
"""A batch. See `results.Record` for borrowed views."""
Read = Callable[[int, int], GetResult]
"""Reads records from a queue offset on, of so many bytes; see `MessageStore.get`."""

BUILT_RECORDS_MAX: Final = 1024
BUILT_BYTES_MAX: Final = 1 << 20
"""Messages, and bytes of their records, that one batch is built of."""
_INT: Final = struct.Struct(">i")
_RECORD_COUNT_AT: Final = HEADER_SIZE - 4

_PASSING: Final = frozenset((GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING))
"""After which there may be messages further on."""


class Store(Protocol):
    """The part of a `MessageStore` that is needed here."""

    gate: WriteGate | None

    @property
    def refusal(self) -> str:
        """See `MessageStore`."""

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        *,
        max_bytes: int | None = None,
        may_wait: bool = True,
        whole: bool = False,
        uncommitted: bool = False,
    ) -> GetResult:
        """See `MessageStore`."""


class WholeBatches:
    """The record batches of one store."""

    def __init__(self, store: Store, queues: ConsumeQueues, writer: Writer) -> None:
        self._store = store
        self._queues = queues
        self._writer = writer

    def put(self, message: Message, data: bytes | memoryview, count: int, leader_epoch: int) -> PutResult:
        """Append a record batch as one record, with `count` consecutive queue offsets.

        Base offset and leader epoch are written into the batch. Only for queues of batches. Topic, queue,
        hosts and time of birth are the message's; its body and properties are replaced.
        """
        if self._store.gate is not None:
            return self._store.gate.refused()
        return self._writer.put_record_batch(message, data, count, leader_epoch, self._store.refusal)

    def put_copy(self, message: Message, data: bytes | memoryview, offset: int, count: int) -> PutResult:
        """Append a batch of another queue as it is, at its own offset; one before the end of this queue is
        refused. `count` is the number of offsets that it has. See `put`."""
        if self._store.gate is not None:
            return self._store.gate.refused()
        queue = self._queues.get(message.topic, message.queue_id)
        if queue is not None and offset < queue.next_offset:
            remark = f"the queue has offset {offset}, its end is {queue.next_offset}"
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=remark)
        [epoch] = _INT.unpack_from(data, EPOCH_AT)
        return self._writer.put_record_batch(message, data, count, epoch, self._store.refusal, offset)

    def put_messages(self, messages: Sequence[Message]) -> PutResult:
        """Append messages of one queue together, in their order; all or none are stored."""
        if self._store.gate is not None:
            return self._store.gate.refused()
        return self._writer.put_messages(messages, self._store.refusal)

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_bytes: int,
        *,
        most_built: int = BUILT_RECORDS_MAX,
        leader_epoch: int = 0,
        may_wait: bool = True,
        may_borrow: bool = False,
        uncommitted: bool = False,
    ) -> BatchesResult:
        """Return the batches of a queue from the one with the message at `offset` on: at least one, else as
        many as `max_bytes` allow.

        Messages that are not stored in one become batches; `most_built` limits how many do, and how many
        batches are read of a compacted part, which takes as long. See `MessageStore.get` for `may_wait` and
        `uncommitted`. With `may_borrow` spans may be borrowed.
        """
        queue, most = self._queues.get(topic, queue_id), max(1, min(most_built, BUILT_RECORDS_MAX))
        is_compacted = isinstance(queue, BatchConsumeQueue) and offset < queue.compacted_end
        if isinstance(queue, BatchConsumeQueue) and not is_compacted:
            most = UNLIMITED

        def read(position: int, size: int) -> GetResult:
            return self._store.get(
                topic,
                queue_id,
                position,
                most,
                max_bytes=size,
                may_wait=may_wait,
                whole=True,
                uncommitted=uncommitted,
            )

        result = read_batches(read, offset, max_bytes, most_built, leader_epoch, may_borrow)
        if is_compacted:
            result.built = max(result.built, len(result.spans))
        return result


class BatchesResult:
    """Batches of one queue.

    `spans` are the batches, `size` is their bytes together and `count` the messages in them. `built` is how
    many of these are in batches that were built. `next_offset` is where to read next; `min_offset` and
    `max_offset` are the queue's.
    """

    __slots__ = ("built", "count", "max_offset", "min_offset", "next_offset", "size", "spans", "status")

    def __init__(self, status: GetStatus, next_offset: int, min_offset: int, max_offset: int) -> None:
        self.status = status
        self.next_offset = next_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.spans: list[Span] = []
        self.size = 0
        self.count = 0
        self.built = 0

    def __repr__(self) -> str:
        return f"BatchesResult({self.status.name}, {len(self.spans)} batches, next {self.next_offset})"


def read_batches(
    read: Read, offset: int, max_bytes: int, most_built: int, leader_epoch: int, may_borrow: bool
) -> BatchesResult:
    """Read the batches from a queue offset on: at least one, and no more than `max_bytes` allow.

    Batches are built of `most_built` messages at most. Where records are damaged or gone, reading continues
    behind them.
    """
    next_offset = offset
    while True:
        found = read(next_offset, max_bytes)
        result = BatchesResult(found.status, found.next_offset, found.min_offset, found.max_offset)
        if found.status is GetStatus.FOUND:
            records = found.records or records_in(found.body)
            _Collecting(result, offset, most_built, leader_epoch, may_borrow).collect(records)
        elif found.status not in _PASSING:
            return result
        if result.spans or result.next_offset <= next_offset:
            return result
        next_offset = result.next_offset


class _Collecting:
    """Puts the batches of records into a result, without messages before `offset`."""

    def __init__(
        self, result: BatchesResult, offset: int, most_built: int, leader_epoch: int, may_borrow: bool
    ) -> None:
        self._result = result
        self._offset = offset
        self._most_built = most_built
        self._leader_epoch = leader_epoch
        self._may_borrow = may_borrow
        self._run = BatchBuilder()

    def collect(self, records: Sequence[Record]) -> None:
        """Take records."""
        result, spans, may_borrow = self._result, self._result.spans, self._may_borrow
        size = count = 0
        for record in records:
            place = batch_place(record)
            if place is None:
                if self._takes(bytes(record)):
                    continue
                break
            if self._run.count:
                self._build()
            begin, end = place
            if isinstance(record, bytes):
                spans.append(memoryview(record)[begin:end])
            else:
                spans.append(record[begin:end] if may_borrow else bytes(record[begin:end]))
            size += end - begin
            count += int(_INT.unpack_from(record, begin + _RECORD_COUNT_AT)[0])
        result.size += size
        result.count += count
        self._build()

    def _takes(self, record: bytes) -> bool:
        """Take a record that holds no batch whole; return False if there are enough."""
        return self._takes_plain(record) or self._take_messages(decode(record))

    def _takes_plain(self, record: bytes) -> bool:
        """Take a message that is like most, in C; return False for any other, or if there is no room."""
        most = min(BUILT_RECORDS_MAX, self._most_built - self._result.built)
        return self._run.add_plain(record, 0, self._offset, most, BUILT_BYTES_MAX) == len(record)

    def _take_messages(self, record: StoredMessage) -> bool:
        """Take the messages of a record that holds no batch whole; return False if there are enough."""
        for message in messages_in(record):
            if message.queue_offset < self._offset:
                continue
            run = self._run
            if self._result.built + run.count >= self._most_built:
                self._result.next_offset = message.queue_offset
                return False
            if run.count >= BUILT_RECORDS_MAX or run.body_bytes >= BUILT_BYTES_MAX:
                self._build()
            self._run.add(message)
        return True

    def _build(self) -> None:
        run, result = self._run, self._result
        if run.count:
            span = run.built(self._leader_epoch)
            result.spans.append(span)
            result.size += len(span)
            result.count += run.count
            result.built += run.count
            self._run = BatchBuilder()


def messages_in(record: StoredMessage) -> Sequence[StoredMessage]:
    """Return the messages of a record: those of a client's batch that is stored as one record, else itself.

    A batch that a client put together in another way is one message.
    """
    place = inner_batch(record.properties) if record.sys_flag & SysFlag.INNER_BATCH else None
    if place is None:
        return (record,)
    try:
        elements = split_batch(record.body)
    except MessageIllegal:
        return (record,)
    return [_part_of(record, offset, *element) for offset, element in enumerate(elements, place[0])]


def _part_of(
    record: StoredMessage, queue_offset: int, flag: int, body: bytes, properties: bytes
) -> StoredMessage:
    message = StoredMessage(
        record.topic,
        record.queue_id,
        body,
        parse_properties(properties[2:].decode("utf-8", "replace")),
        record.born_timestamp,
        record.born_host,
        record.store_host,
        flag,
        record.sys_flag & ~(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP),
        record.reconsume_times,
    )
    message.queue_offset = queue_offset
    message.physical_offset = record.physical_offset
    message.store_timestamp = record.store_timestamp
    message.size, message.body_crc = record.size, record.body_crc
    return message


def records_in(data: bytes) -> list[bytes]:
    """Return records that lie back to back one by one."""
    records: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + int(_INT.unpack_from(data, at)[0])
        records.append(data[at:end])
        at = end
    return records
