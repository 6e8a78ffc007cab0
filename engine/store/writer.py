"""Putting messages: how a send reaches the commit log.

A message is validated, encoded and written in one call. Queue offset, log offset and store time are assigned
when it is written. A message that cannot be stored is answered with RocketMQ's status and a reason, and
nothing of it is kept. RocketMQ: `CommitLog.asyncPutMessage`, `asyncPutMessages`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.errors import LogBusy, MessageIllegal
from mqgateway.engine.message import (
    BATCH_FORMAT,
    PROPERTY_CRC32,
    PROPERTY_INNER_BASE,
    PROPERTY_INNER_NUM,
    PROPERTY_KAFKA,
    PROPERTY_KAFKA_PRODUCER,
    Message,
    SysFlag,
    properties_text,
)
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.batch import of_record
from mqgateway.engine.record_batches.batches import assigned
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX, BatchConsumeQueue
from mqgateway.engine.store.client_batch import ClientBatch, cut
from mqgateway.engine.store.client_elements import count_batch, place_batch
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueue, ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.dispatch_request import Batch, DispatchRequest, enters_queue, producer_of_rows
from mqgateway.engine.store.large_batch import LargeBatch, made_ready
from mqgateway.engine.store.lmq import LmqQueues, LmqQuotaExceeded
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.record import (
    PROPERTIES_LENGTH_MAX,
    encode,
    fill_crc,
    record_size,
    sys_flag_for,
    topic_field,
    with_room_for_crc,
)
from mqgateway.engine.store.results import PutResult, PutStatus
from mqgateway.engine.store.statistics import Statistics

log = logging.getLogger(__name__)

_RECORD_OVERHEAD_MAX: Final = 64 * 1024
_TOPIC_FIELDS_MAX: Final = 10_000
_PUT_OK: Final = PutStatus.PUT_OK  # a look-up in an enumeration is slow


class Writer:
    """Appends messages and queues them for `dispatch`.

    `store_host` is the default for messages without one.
    """

    def __init__(
        self,
        options: StoreOptions,
        clock: Clock,
        commit_log: Log,
        queues: ConsumeQueues,
        dispatch: Dispatch,
        statistics: Statistics,
        store_host: bytes,
    ) -> None:
        self._options = options
        self._clock = clock
        self._log = commit_log
        self._queues = queues
        self._lmqs = LmqQueues(options, queues)
        self._dispatch = dispatch
        self._statistics = statistics
        self._store_host = store_host
        self._has_crc = options.enabled_append_prop_crc
        self._lead = commit_log.files.framing.lead
        self._topic_fields: dict[str, tuple[int, bytes]] = {}
        self._write_failure = ""
        self.cut: Callable[[bytes, bool], ClientBatch] = cut
        """Parser of a client's batch body."""

    @property
    def _record_size_max(self) -> int:
        """Maximum length of a record, computed each time, as `maxMessageSize` may change."""
        return min(self._options.max_message_size + _RECORD_OVERHEAD_MAX, self._log.record_size_max)

    def put(self, message: Message, refusal: str) -> PutResult:
        """See `MessageStore.put`; a non-empty `refusal` is the reason to refuse."""
        began = self._clock.monotonic()
        if PROPERTY_CRC32 in message.properties:
            del message.properties[PROPERTY_CRC32]  # it is the store's, of another record
        if PROPERTY_KAFKA_PRODUCER in message.properties:
            del message.properties[PROPERTY_KAFKA_PRODUCER]  # a single message ends no batch of a producer
        properties = properties_text(message.properties)
        if self._has_crc:
            properties = with_room_for_crc(properties)
        if len(properties) > PROPERTIES_LENGTH_MAX:
            return self._refuse(
                PutStatus.PROPERTIES_SIZE_EXCEEDED, f"the properties have {len(properties)} bytes"
            )
        body = message.body
        try:
            topic, queue = self._place(message, len(body))
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if refusal:
            return self._refuse(PutStatus.SERVICE_NOT_AVAILABLE, refusal)
        if not message.store_host:
            message.store_host = self._store_host
        sys_flag = sys_flag_for(message)
        size = record_size(sys_flag, len(body), len(topic[1]), len(properties))
        if size > self._record_size_max:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, f"the record has {size} bytes")
        offset = self._reserve(size)
        if isinstance(offset, PutResult):
            return offset
        now = self._clock.millis()
        queue_offset = 0 if queue is None else queue.next_offset
        record = encode(
            message, body, properties, topic, size, sys_flag, message.flag, queue_offset, offset, now
        )
        failed = self._write(fill_crc(record) if self._has_crc else record)
        if failed is not None:
            return failed
        if queue is not None:
            queue.next_offset = queue_offset + 1
        kept = message.properties
        producer = of_record(sys_flag, kept, body, queue_offset) if sys_flag & SysFlag.INNER_BATCH else None
        self._dispatch.add(
            DispatchRequest(message.topic, queue, kept, sys_flag, queue_offset, offset, size, now, producer)
        )
        self._log.last_timestamp = now
        self._statistics.put(1, size, self._clock.monotonic() - began)
        return PutResult(_PUT_OK, message.store_host, queue_offset, offset, offset + size, now)

    def put_into_lmqs(self, message: Message, refusal: str) -> PutResult:
        """Put a message that names LMQ queues, as `put`."""
        try:
            queues = self._lmqs.note(message)
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        except LmqQuotaExceeded:
            return self._refuse(PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED, "there are too many LMQ queues")
        result = self.put(message, refusal)
        if result.status is _PUT_OK:
            for queue in queues:
                queue.next_offset += 1
        return result

    def put_inner_batch(self, message: Message, refusal: str) -> PutResult:
        """See `MessageStore.put_inner_batch`."""
        properties = message.properties
        text = properties.get(PROPERTY_INNER_NUM)
        try:
            count = int(text) if text is not None and text.isdecimal() else 0
            if text is None:
                count = count_batch(message.body, BATCH_COUNT_MAX)
            if not 0 < count <= BATCH_COUNT_MAX:
                raise MessageIllegal(f"the batch has {count} messages")
            _, queue = self._place(message, len(message.body))
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if not isinstance(queue, BatchConsumeQueue):
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, "only a queue of batches can hold a batch as one")
        message.sys_flag |= SysFlag.INNER_BATCH
        properties.pop(PROPERTY_KAFKA, None)
        properties[PROPERTY_INNER_NUM] = str(count)
        properties[PROPERTY_INNER_BASE] = str(queue.next_offset)
        result = self.put(message, refusal)
        if result.status is _PUT_OK:
            queue.next_offset += count - 1
            result.count = count
        return result

    def put_record_batch(
        self,
        message: Message,
        data: bytes | memoryview,
        count: int,
        leader_epoch: int,
        refusal: str,
        copied_from: int = -1,
    ) -> PutResult:
        """See `WholeBatches.put`, and with the offset `copied_from` `WholeBatches.put_copy`."""
        try:
            if not 0 < count <= BATCH_COUNT_MAX:
                raise MessageIllegal(f"the batch has {count} records, at most {BATCH_COUNT_MAX} are allowed")
            _, queue = self._place(message, len(data))
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if not isinstance(queue, BatchConsumeQueue):
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, "only a queue of batches can hold a batch as one")
        base_offset = queue.next_offset = max(queue.next_offset, copied_from)
        message.sys_flag = SysFlag.INNER_BATCH
        message.properties = {
            PROPERTY_INNER_NUM: str(count),
            PROPERTY_INNER_BASE: str(base_offset),
            PROPERTY_KAFKA: BATCH_FORMAT,
        }
        message.body = assigned(data, base_offset, leader_epoch)
        result = self.put(message, refusal)
        if result.status is _PUT_OK:
            queue.next_offset = base_offset + count
            result.count = count
        return result

    def put_messages(self, messages: Sequence[Message], refusal: str) -> PutResult:
        """See `WholeBatches.put_messages`."""
        began = self._clock.monotonic()
        texts = [properties_text(message.properties) for message in messages]
        if self._has_crc:
            texts = [with_room_for_crc(text) for text in texts]
        if max(map(len, texts)) > PROPERTIES_LENGTH_MAX:
            remark = f"the properties of a message have {max(map(len, texts))} bytes"
            return self._refuse(PutStatus.PROPERTIES_SIZE_EXCEEDED, remark)
        first = messages[0]
        try:
            topic, queue = self._place(first, max([len(message.body) for message in messages]))
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if queue is None:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be part of a transaction")
        if refusal:
            return self._refuse(PutStatus.SERVICE_NOT_AVAILABLE, refusal)
        sys_flag = sys_flag_for(first)
        rows = [
            (record_size(sys_flag, len(message.body), len(topic[1]), len(text)), text)
            for message, text in zip(messages, texts, strict=True)
        ]
        sizes = [size for size, _ in rows]
        total = sum(sizes)
        offset = self._reserve_for_batch(sizes, total)
        if isinstance(offset, PutResult):
            return offset
        now = self._clock.millis()
        queue_offset, at, parts = queue.next_offset, offset, list[bytes]()
        for number, (message, (size, text)) in enumerate(zip(messages, rows, strict=True), queue_offset):
            record = encode(message, message.body, text, topic, size, sys_flag, message.flag, number, at, now)
            parts.append(fill_crc(record) if self._has_crc else record)
            at += size
        if self._lead:
            records = bytearray(b"".join(parts))
            return self._put_each(first, queue, records, rows, sys_flag, began)
        failed = self._write(b"".join(parts))
        if failed is not None:
            return failed
        queue.next_offset = queue_offset + len(rows)
        producer = producer_of_rows(rows, queue_offset)
        self._dispatch.add(
            DispatchRequest(first.topic, queue, rows, sys_flag, queue_offset, offset, total, now, producer)
        )
        return self._batch_put(first, sizes, total, queue_offset, offset, now, began)

    def put_batch(self, message: Message, elements: bytes, refusal: str) -> PutResult:
        """See `MessageStore.put_batch`."""
        began = self._clock.monotonic()
        try:
            batch = self.cut(elements, self._has_crc)
            topic, queue = self._place(message, len(elements))
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if queue is None:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be part of a transaction")
        if refusal:
            return self._refuse(PutStatus.SERVICE_NOT_AVAILABLE, refusal)
        if not message.store_host:
            message.store_host = self._store_host
        sys_flag = sys_flag_for(message)
        sizes = batch.sizes(topic, sys_flag)
        total = sum(sizes)
        offset = self._reserve_for_batch(sizes, total)
        if isinstance(offset, PutResult):
            return offset
        if self._lead:
            records = bytearray(batch.records(message, topic, sizes, sys_flag, 0, 0, 0))
            return self._put_each(message, queue, records, batch.rows(sizes), sys_flag, began)
        now = self._clock.millis()
        queue_offset = queue.next_offset
        failed = self._write(batch.records(message, topic, sizes, sys_flag, queue_offset, offset, now))
        if failed is not None:
            return failed
        queue.next_offset = queue_offset + len(sizes)
        is_keyed = isinstance(queue, ConsumeQueue) and not self._dispatch.reads_properties
        left = batch.keyed(sizes) if is_keyed else None
        rows = batch.rows(sizes) if left is None else left
        self._dispatch.add(
            DispatchRequest(message.topic, queue, rows, sys_flag, queue_offset, offset, total, now)
        )
        return self._batch_put(message, sizes, total, queue_offset, offset, now, began)

    def make_ready(self, message: Message, elements: bytes) -> Steps[LargeBatch | PutResult]:
        """See `MessageStore.make_ready`."""
        if not message.store_host:
            message.store_host = self._store_host
        try:
            topic, _ = self._place(message, len(elements))
            most = self._options.max_batch_messages
            batch = yield from made_ready(
                message, elements, topic, sys_flag_for(message), self._has_crc, most
            )
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        return batch

    def put_large_batch(self, message: Message, batch: LargeBatch, refusal: str) -> PutResult:
        """Put a batch encoded before, as `put_batch`."""
        began = self._clock.monotonic()
        try:
            _, queue = self._place(message, batch.length)
        except MessageIllegal as error:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, str(error))
        if queue is None:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be part of a transaction")
        if refusal:
            return self._refuse(PutStatus.SERVICE_NOT_AVAILABLE, refusal)
        sys_flag, sizes, total = sys_flag_for(message), batch.sizes, len(batch.records)
        offset = self._reserve_for_batch(sizes, total)
        if isinstance(offset, PutResult):
            return offset
        if self._lead:
            rows = [row for part in batch.parts for row in part]
            return self._put_each(message, queue, batch.records, rows, sys_flag, began)
        now = self._clock.millis()
        queue_offset = queue.next_offset
        place_batch(batch.records, sizes, sys_flag, queue_offset, offset, now, self._has_crc)
        failed = self._write(bytes(batch.records))
        if failed is not None:
            return failed
        queue.next_offset = queue_offset + len(sizes)
        at, number = offset, queue_offset
        for part in batch.parts:
            length = sum([size for size, _ in part])
            self._dispatch.add(DispatchRequest(message.topic, queue, part, sys_flag, number, at, length, now))
            at += length
            number += len(part)
        return self._batch_put(message, sizes, total, queue_offset, offset, now, began)

    def _put_each(
        self,
        message: Message,
        queue: AnyQueue,
        records: bytearray,
        rows: Batch,
        sys_flag: int,
        began: float,
    ) -> PutResult:
        """Append the records of a batch one by one, as each has a lead in this log.

        Those before a failed one are kept. RocketMQ: `DLedgerCommitLog.asyncPutMessages`.
        """
        now, first, offsets, at = self._clock.millis(), queue.next_offset, list[int](), 0
        for row in rows:
            size = row[0]
            offset = self._reserve(size)
            if isinstance(offset, PutResult):
                return offset
            record, number = records[at : at + size], queue.next_offset
            place_batch(record, [size], sys_flag, number, offset, now, self._has_crc)
            failed = self._write(bytes(record))
            if failed is not None:
                return failed
            queue.next_offset = number + 1
            producer = producer_of_rows([row], number)
            self._dispatch.add(
                DispatchRequest(message.topic, queue, [row], sys_flag, number, offset, size, now, producer)
            )
            offsets.append(offset)
            at += size
        self._log.last_timestamp = now
        self._statistics.put(len(offsets), at, self._clock.monotonic() - began)
        end = self._log.end_offset
        return PutResult(_PUT_OK, message.store_host, first, offsets[0], end, now, offsets)

    def _reserve_for_batch(self, sizes: list[int], total: int) -> int | PutResult:
        most = self._options.max_batch_messages
        if len(sizes) > most:
            remark = f"the batch has more than the {most} messages that maxBatchMessages allows"
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, remark)
        if max(sizes) > self._record_size_max or total > self._log.record_size_max:
            return self._refuse(PutStatus.MESSAGE_ILLEGAL, f"the batch has {total} bytes of records")
        return self._reserve(total)

    def _batch_put(
        self,
        message: Message,
        sizes: list[int],
        total: int,
        queue_offset: int,
        offset: int,
        now: int,
        began: float,
    ) -> PutResult:
        self._log.last_timestamp = now
        self._statistics.put(len(sizes), total, self._clock.monotonic() - began)
        offsets = list(accumulate(sizes[:-1], initial=offset))
        return PutResult(_PUT_OK, message.store_host, queue_offset, offset, offset + total, now, offsets)

    def _place(self, message: Message, body_length: int) -> tuple[tuple[int, bytes], AnyQueue | None]:
        """Return topic field and queue of a message. Raises `MessageIllegal`."""
        if body_length > self._options.max_message_size:
            raise MessageIllegal(f"the body has {body_length} bytes")
        field = self._topic_fields.get(message.topic)
        if field is None:
            if len(self._topic_fields) >= _TOPIC_FIELDS_MAX:
                self._topic_fields.clear()
            field = self._topic_fields[message.topic] = topic_field(message.topic, True)
        if not enters_queue(message.sys_flag):
            return field, None
        queues = self._queues.table.get(message.topic)
        queue = queues.get(message.queue_id) if queues is not None else None
        return field, queue or self._queues.open(message.topic, message.queue_id)

    def _reserve(self, size: int) -> int | PutResult:
        try:
            return self._log.reserve(size)
        except LogBusy as busy:
            return self._refuse(PutStatus.OS_PAGE_CACHE_BUSY, str(busy))
        except OSError as error:
            return self._failed(error)

    def _write(self, data: bytes) -> PutResult | None:
        try:
            self._log.write(data)
        except OSError as error:
            return self._failed(error)
        self._write_failure = ""
        return None

    def _failed(self, error: OSError) -> PutResult:
        """Return the result of a failed write; log it once for all failures in a row."""
        said, self._write_failure = self._write_failure, f"the commit log cannot be written: {error}"
        if not said:
            log.error("%s", self._write_failure)
        return self._refuse(PutStatus.SERVICE_NOT_AVAILABLE, self._write_failure)

    def _refuse(self, status: PutStatus, remark: str) -> PutResult:
        self._statistics.put_failed += 1
        return PutResult(status, remark=remark)
