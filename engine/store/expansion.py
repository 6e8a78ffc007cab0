"""Records of the log that hold a record batch of Kafka, as the messages that readers of RocketMQ get.

A message of a batch is a record of its own: its queue offset is that of Kafka's record, its position in the
log is the batch's, and its unique key tells queue and offset (`unique_key`). Fields are those of
`record_batches.mapping`. Messages are made as they are asked for, and the last batches are kept, since a
reader often takes a batch in several answers.

What cannot be expanded is reported once, as damaged records are, and skipped. Batches of transactions that
were aborted, and control batches, are skipped.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.extension import native
from mqgateway.engine.message import (
    BATCH_FORMAT,
    PROPERTY_KAFKA,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
    Message,
    SysFlag,
    java_hash,
    properties_text,
    tags_code,
)
from mqgateway.engine.producers.batch import of_header
from mqgateway.engine.record_batches.batches import FLAGS_AT, HEADER_SIZE, TRANSACTIONAL, Batch
from mqgateway.engine.record_batches.compression import compression_of, decompress
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import message_of
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.records import RECORD_SIZE_MIN, Record, read_record
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.record import (
    HEADS,
    SYS_FLAG_AT,
    decode,
    encode,
    properties_of,
    record_size,
    topic_field,
)
from mqgateway.engine.store.results import Record as StoredRecord
from mqgateway.engine.worker import Worker

PROMPT_MAX: Final = 2 << 20
"""Bytes that records may inflate to at once; what has more is inflated by a worker."""
INFLATED_MAX: Final = 32 << 20
"""Bytes that records may inflate to; a batch that has more is not delivered."""
MESSAGE_MAX: Final = 8 << 20
"""Bytes of a message; a larger one is not delivered, as clients of RocketMQ take frames of 16 MiB."""
HEADERS_MAX: Final = 4096
"""Headers of a record; with more than a message can have as properties it is not delivered."""
RECORD_WORK: Final = 4
"""Headers that take as long to expand as a record without any."""
KEPT_MAX: Final = 16
KEPT_BYTES_MAX: Final = 64 << 20
"""Batches that are kept, and their bytes; the last one is kept whatever its size."""
_INNER: Final = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
_HOSTS: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_SYS_FLAG: Final = struct.Struct(f">{SYS_FLAG_AT}xi")
_WRITTEN: Final = f"\2{PROPERTY_KAFKA}\1{BATCH_FORMAT}\2".encode()
_WRITTEN_SIZE: Final = len(_WRITTEN)
_OFFSET_DIGITS: Final = 16
_IDENTITY_SIZE: Final = 88
"""Bytes of a record's head, in which no two records of a log are equal."""
_UNIQUE_KEY: Final = re.compile("K([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{16})")

TOGETHER_MAX: Final = 32
TOGETHER_BYTES: Final = 64 << 10
"""Messages, and bytes of them, that are made together. What an answer has no room for is made again."""

Expanded = tuple[int, int, int, bytes]
"""Queue offset and tags code of a message, how much work its record was, and its stored record."""
IsAborted = Callable[[str, int, int, int], bool]
"""Decides on a transactional batch by its topic, queue id, producer id and base offset."""
Report = Callable[[int, str], None]
"""Told the position of a record in the log and what is wrong with it; see `Inspection.report`."""


def holds_record_batch(record: StoredRecord) -> bool:
    """Return True if a record, which is known to be valid, holds a record batch of Kafka."""
    if int(_SYS_FLAG.unpack_from(record)[0]) & _INNER != SysFlag.INNER_BATCH:
        return False
    # The property is written last. Properties that are shorter than this text have a length before them that
    # is no part of it.
    return bytes(record[-_WRITTEN_SIZE:]) == _WRITTEN or PROPERTY_KAFKA in properties_of(bytes(record))


def unique_key(topic: str, queue_id: int, queue_offset: int) -> str:
    """Return the unique key of a message that is part of a batch: `K`, and hash of the topic, queue and
    offset in hexadecimal digits. With 33 characters no client takes it for an offset message id."""
    queue = f"K{java_hash(topic) & 0xFFFFFFFF:08X}{queue_id & 0xFFFFFFFF:08X}"
    return f"{queue}{queue_offset:0{_OFFSET_DIGITS}X}"


class QueuePosition(NamedTuple):
    """A queue and an offset in it."""

    queue_id: int
    queue_offset: int


def place_of(key: str, topic: str) -> QueuePosition | None:
    """Return where the message with a unique key is, if `unique_key` gives such a key in the topic."""
    found = _UNIQUE_KEY.fullmatch(key)
    if found is None or int(found[1], 16) != java_hash(topic) & 0xFFFFFFFF:
        return None
    return QueuePosition(int(found[2], 16), int(found[3], 16))


def expand(record: bytes, report: Report) -> list[bytes]:
    """Return the ordinary records of a record that holds a batch, without those that cannot be expanded."""
    try:
        batch = ExpandedBatch(record, INFLATED_MAX)
    except CodecError as error:
        report(decode(record).physical_offset, str(error))
        return []
    return [message[3] for message in batch.messages(0, TOGETHER_MAX, report)]


class ExpandedBatch:
    """A record that holds a batch, inflated. Raises `CodecError` if that is damaged, or has more bytes than
    `limit`."""

    def __init__(self, record: bytes, limit: int) -> None:
        stored = decode(record)
        self._batch = batch = Batch(memoryview(stored.body))
        if batch.base_offset != stored.queue_offset:
            raise CodecError(
                f"the batch has the offset {batch.base_offset}, its record {stored.queue_offset}"
            )
        if not 0 <= batch.last_offset_delta < BATCH_COUNT_MAX or batch.count > batch.last_offset_delta + 1:
            raise CodecError(f"{batch.count} records with offsets up to {batch.last_offset}")
        self.base_offset = batch.base_offset
        self._count = 0 if batch.is_control else batch.count
        self._data: bytes | memoryview = b""
        if self._count:
            self._data = decompress(batch.data[HEADER_SIZE:], compression_of(batch.attributes), limit)
            Reader(self._data).check_count(self._count, RECORD_SIZE_MIN)
        self._is_dense = batch.count == batch.last_offset_delta + 1
        self._starts = array("q", (0,))  # where records begin, as far as this is known
        self._topic = topic_field(stored.topic, True)
        self._physical_offset, self._store_timestamp = stored.physical_offset, stored.store_timestamp
        self._model = Message(
            stored.topic,
            stored.queue_id,
            b"",
            {},
            0,
            stored.born_host,
            stored.store_host,
            sys_flag=stored.sys_flag & _HOSTS,
        )
        self.topic, self.queue_id = stored.topic, stored.queue_id
        self._head = self._encoded(b"", b"", 0, 0)[: record_size(self._model.sys_flag, 0, 0, 0) - 2]
        self._key = unique_key(stored.topic, stored.queue_id, 0)[:-_OFFSET_DIGITS].encode()
        self.size = len(record) + len(self._data)

    def messages(self, queue_offset: int, most: int, report: Report) -> Iterator[Expanded]:
        """Yield the messages from a queue offset on; records that are malformed are reported and skipped.

        The caller says how `most` will be taken, so that no more are made.
        """
        base, last = self._batch.base_offset, -1
        try:
            index = self._skip(queue_offset - base) if self._is_dense else 0
            while index < self._count:
                found: list[Expanded] = []
                if native is not None:
                    done, last = self._expand_plain(index, last, queue_offset, most, found)
                    index += done
                    yield from found
                    if done:
                        continue
                record = self._record(index, report)
                index += 1
                if record is None:
                    continue
                if not last < record.offset_delta <= self._batch.last_offset_delta:
                    raise CodecError(f"record {index - 1} has the offset delta {record.offset_delta}")
                last = record.offset_delta
                if base + last >= queue_offset:
                    yield self._expand(record)
        except CodecError as error:
            report(self._physical_offset, f"{error}; nothing behind it in the batch is delivered")

    def _skip(self, index: int) -> int:
        """Find where a record begins, and return its index."""
        starts, count = self._starts, self._count
        if native is not None and len(starts) <= index < count:
            starts.frombytes(native.record_starts(self._data, starts[-1], count - len(starts)))
        reader = Reader(self._data, starts[-1])
        while len(starts) <= index < count:
            length = reader.varint()
            if length < 0:
                raise CodecError(f"record {len(starts) - 1} has {length} bytes")
            reader.take(length)
            starts.append(reader.position)
        return max(index, 0)

    def _expand_plain(
        self, index: int, last: int, queue_offset: int, most: int, found: list[Expanded]
    ) -> tuple[int, int]:
        """Add the messages from a record on to a list, up to the first record that is not like most. Return
        how many records were looked at, and the offset delta of the last one."""
        assert native is not None
        batch = self._batch
        return native.expand_records(
            data=self._data,
            at=self._starts[self._skip(index)],
            count=self._count - index,
            last=last,
            largest=batch.last_offset_delta,
            wanted=queue_offset,
            most=min(most, TOGETHER_MAX),
            room=TOGETHER_BYTES,
            base_offset=batch.base_offset,
            base_timestamp=batch.max_timestamp if batch.has_log_append_time else batch.base_timestamp,
            has_deltas=not batch.has_log_append_time,
            head=self._head,
            topic=self._topic[1],
            key=self._key,
            found=found,
        )

    def _record(self, index: int, report: Report) -> Record | None:
        """Return a record, or None if it cannot be delivered. Raises `CodecError` if its end is not known."""
        self._skip(index + 1)
        end = len(self._data) if index + 1 == self._count else self._starts[index + 1]
        start = self._starts[index]
        try:
            if end - start > MESSAGE_MAX:
                raise CodecError(f"it has {end - start} bytes, more than clients of RocketMQ take")
            return read_record(Reader(self._data[start:end], elements=HEADERS_MAX))
        except CodecError as error:
            error.within(f"records.[{index}]")
            report(self._physical_offset, str(error))
            return None

    def _expand(self, record: Record) -> Expanded:
        """Return the message of a record."""
        message = message_of(self._batch, record, self._store_timestamp, truncates=True)
        properties, offset = message.properties, message.queue_offset
        code = tags_code(properties.get(PROPERTY_TAGS))
        properties[PROPERTY_UNIQ_KEY] = unique_key(self.topic, self.queue_id, offset)
        made = self._encoded(message.body, properties_text(properties), message.born_timestamp, offset)
        return offset, code, RECORD_WORK + len(record.headers), made

    def _encoded(self, body: bytes, text: bytes, born_timestamp: int, queue_offset: int) -> bytes:
        model = self._model
        model.born_timestamp = born_timestamp
        size = record_size(model.sys_flag, len(body), len(self._topic[1]), len(text))
        places = queue_offset, self._physical_offset, self._store_timestamp
        return encode(model, body, text, self._topic, size, model.sys_flag, 0, *places)


class Expansion:
    """Expands batches, and keeps the last ones. What cannot be expanded is reported.

    `is_aborted` is asked of each batch of a transaction; what is read of one that is open is the caller's
    matter.
    """

    def __init__(self, report: Report, is_aborted: IsAborted) -> None:
        self.report = report
        self._is_aborted = is_aborted
        self._kept: dict[bytes, ExpandedBatch | None] = {}

    def find(self, record: bytes, position: int, may_wait: bool) -> ExpandedBatch | None:
        """Return a record's batch expanded; None if that is not possible, which is reported, or if its
        transaction was aborted.

        Raises `LargeBatchRead` if the caller may not wait and it takes long.
        """
        if self._is_of_aborted(record):
            return None
        identity = record[:_IDENTITY_SIZE]
        if identity in self._kept:
            batch = self._kept.pop(identity)
            self._kept[identity] = batch
            return batch
        try:
            batch = ExpandedBatch(record, INFLATED_MAX if may_wait else PROMPT_MAX)
        except CodecError as error:
            if not may_wait:
                raise LargeBatchRead(self, record, position) from None
            return self.keep(record, position, error)
        return self.keep(record, position, batch)

    def _is_of_aborted(self, record: bytes) -> bool:
        """Return True if a record's batch was part of a transaction that was aborted."""
        flags_at = HEADS[int(_SYS_FLAG.unpack_from(record)[0]) & _HOSTS].size + FLAGS_AT
        if len(record) <= flags_at or not record[flags_at] & TRANSACTIONAL:
            return False
        stored = decode(record)
        producer = of_header(stored.body)
        if producer is None:
            return False
        place = stored.topic, stored.queue_id
        return self._is_aborted(*place, producer.producer_id, producer.first_offset)

    def keep(self, record: bytes, position: int, outcome: ExpandedBatch | Exception) -> ExpandedBatch | None:
        """Keep what became of a record."""
        kept = self._kept
        batch = outcome if isinstance(outcome, ExpandedBatch) else None
        if batch is None:
            self.report(position, str(outcome))
        kept[record[:_IDENTITY_SIZE]] = batch
        total = sum([each.size for each in kept.values() if each is not None])
        while len(kept) > KEPT_MAX or (total > KEPT_BYTES_MAX and len(kept) > 1):
            oldest = kept.pop(next(iter(kept)))
            total -= 0 if oldest is None else oldest.size
        return batch


class LargeBatchRead(ColdRead):
    """A batch that takes long to inflate, or cannot be: a worker finds out."""

    def __init__(self, expansion: Expansion, record: bytes, position: int) -> None:
        super().__init__(position, ())
        self._expansion = expansion
        self._record = record

    def bring_by(self, worker: Worker, done: Callable[[], None], *, ahead: bool) -> None:
        """Have a worker inflate the batch, which is kept then."""

        def inflated(outcome: ExpandedBatch | Exception) -> None:
            self._expansion.keep(self._record, self.position, outcome)
            done()

        worker.run(lambda: ExpandedBatch(self._record, INFLATED_MAX), inflated)
