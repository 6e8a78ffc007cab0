"""Checks of a batch that a client produces, and the changes that a topic's settings ask for.

The batch is stored as the producer sent it, unless the topic has times of the broker or a compression of its
own. Standard: `LogValidator`, `UnifiedLog.analyzeAndValidateRecords`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from mqgateway.engine.record_batches.batches import (
    CRC_AT,
    CRC_START,
    HEADER_SIZE,
    LENGTH_AT,
    LENGTH_MIN,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    Batch,
)
from mqgateway.engine.record_batches.compression import (
    CompressionType,
    check_frame,
    compress,
    compression_of,
    decompress,
)
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.record_batches.errors import BadRecord, CodecError
from mqgateway.engine.record_batches.records import Record, read_records
from mqgateway.engine.record_batches.walk import RecordsCheck, walk_records
from mqgateway.engine.store.expansion import INFLATED_MAX
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.produce_response import BatchIndexAndErrorMessage
from mqgateway.gateway.kafka.topics import Topic

ZSTD_SINCE: Final = 7
"""Version of Produce from which batches may be compressed with zstd."""
NO_TIMESTAMP: Final = -1
LOOKED_AT_MAX: Final = 4096
"""Records of a refused batch that are looked at one by one, to name those that are wrong."""
_CODEC_MASK: Final = 7
_CODECS: Final = {
    "uncompressed": CompressionType.NONE,
    "gzip": CompressionType.GZIP,
    "snappy": CompressionType.SNAPPY,
    "lz4": CompressionType.LZ4,
    "zstd": CompressionType.ZSTD,
}
_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP_AT: Final = 35
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT64: Final = struct.Struct(">q")


class BatchRefused(Exception):
    """A batch that is refused, with Kafka's code, and the records that are at fault."""

    def __init__(
        self, code: ErrorCode, message: str, records: Sequence[BatchIndexAndErrorMessage] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.records = records


class BatchRules(NamedTuple):
    """Demands of a topic's settings on a batch. Times in ms, sizes in bytes."""

    size_max: int
    behind_max: int
    ahead_max: int
    has_log_append_time: bool
    compression: CompressionType | None
    needs_keys: bool


def rules_of(topic: Topic) -> BatchRules:
    """Return the rules of a topic."""
    return BatchRules(
        topic.batch_max,
        int(topic.setting("message.timestamp.before.max.ms")),
        int(topic.setting("message.timestamp.after.max.ms")),
        topic.setting("message.timestamp.type") == "LogAppendTime",
        _CODECS.get(topic.setting("compression.type")),
        "compact" in topic.setting("cleanup.policy").split(","),
    )


def checked(data: memoryview, rules: BatchRules, version: int, now: int) -> Batch:
    """Return the batch that is to be stored. Raises `BatchRefused`.

    `version` is that of the Produce request, `now` the wall time in ms.
    """
    batch = _only_batch(data)
    if len(batch.data) > rules.size_max:
        raise BatchRefused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size is {len(batch.data)} bytes which exceeds the maximum configured value of "
            f"{rules.size_max}.",
        )
    try:
        batch.check_crc()
    except CodecError as error:
        raise BatchRefused(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt: {error.reason}") from error
    kind = _kind(batch, version)
    _check_header(batch)
    try:
        check_frame(batch.data[HEADER_SIZE:], kind)
        records = decompress(batch.data[HEADER_SIZE:], kind, INFLATED_MAX)
    except CodecError as error:  # not CORRUPT_MESSAGE, after which producers try again
        raise BatchRefused(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"The records cannot be inflated: {error.reason}"
        ) from error
    try:
        walk = walk_records(records, batch.count)
    except BadRecord as error:
        raise _bad_records([BatchIndexAndErrorMessage(max(error.index, 0), str(error))]) from error
    except CodecError as error:
        raise BatchRefused(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt: {error.reason}") from error
    if rules.needs_keys and walk.first_keyless >= 0:
        text = "Compacted topic cannot accept message without key in topic partition."
        raise _bad_records(_found(records, batch.count, lambda record: text if record.key is None else None))
    if not rules.has_log_append_time:
        _check_times(batch, records, walk, rules, now)
    return _changed(batch, records, kind, rules, now)


def _only_batch(data: memoryview) -> Batch:
    """Return the batch, of which there must be one and nothing else."""
    try:
        batch = Batch(data)
    except CodecError as error:
        is_newer = len(data) > MAGIC_AT and data[MAGIC_AT] > MAGIC  # of a format that does not exist yet
        code = ErrorCode.CORRUPT_MESSAGE if is_newer else ErrorCode.INVALID_RECORD
        raise BatchRefused(code, error.reason) from error
    if len(batch.data) != len(data):
        raise BatchRefused(
            ErrorCode.INVALID_RECORD, "a partition has exactly one record batch in a Produce request"
        )
    return batch


def _kind(batch: Batch, version: int) -> CompressionType:
    try:
        kind = compression_of(batch.attributes)
    except CodecError as error:
        raise BatchRefused(ErrorCode.UNKNOWN_SERVER_ERROR, error.reason) from error
    if kind is CompressionType.ZSTD and version < ZSTD_SINCE:
        raise BatchRefused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests of version {version} are not allowed to use ZStandard compression",
        )
    return kind


def _check_header(batch: Batch) -> None:
    problem = None
    if batch.base_offset != 0:
        problem = f"Base offset should be 0, but it is {batch.base_offset}"
    elif batch.count <= 0 or batch.last_offset_delta + 1 != batch.count:
        problem = f"{batch.count} records, but a last offset delta of {batch.last_offset_delta}"
    elif batch.is_control:
        problem = "Clients are not allowed to write control records"
    elif batch.is_transactional and batch.producer_id < 0:
        problem = "A transactional batch has no producer id"
    elif batch.producer_id >= 0 and batch.base_sequence < 0:
        problem = f"Invalid sequence number {batch.base_sequence} in a batch of producer {batch.producer_id}"
    if problem is not None:
        raise BatchRefused(ErrorCode.INVALID_RECORD, problem)


def _check_times(
    batch: Batch, records: bytes | memoryview, walk: RecordsCheck, rules: BatchRules, now: int
) -> None:
    if batch.base_timestamp == NO_TIMESTAMP:
        return
    base, least, greatest = batch.base_timestamp, now - rules.behind_max, now + rules.ahead_max
    first, last = base + walk.least_delta, base + walk.greatest_delta
    if least <= first and last <= greatest:
        return

    def problem(record: Record) -> str | None:
        time = base + record.timestamp_delta
        if least <= time <= greatest:
            return None
        return (
            f"Timestamp {time} of message with offset {record.offset_delta} is out of range. "
            f"The timestamp should be within [{least}, {greatest}]"
        )

    found = _found(records, batch.count, problem)
    text = "One or more records have been rejected due to invalid timestamp"
    raise BatchRefused(ErrorCode.INVALID_TIMESTAMP, text, found)


def _found(
    records: bytes | memoryview, count: int, problem: Callable[[Record], str | None]
) -> list[BatchIndexAndErrorMessage]:
    """Return the records that are wrong, among as many as are looked at without holding the loop; `problem`
    says what is wrong with one, None for nothing."""
    looked_at = islice(read_records(records, count), LOOKED_AT_MAX)
    problems = enumerate(map(problem, looked_at))
    return [BatchIndexAndErrorMessage(index, text) for index, text in problems if text is not None]


def _bad_records(records: Sequence[BatchIndexAndErrorMessage]) -> BatchRefused:
    return BatchRefused(
        ErrorCode.INVALID_RECORD, "One or more records have been rejected due to invalid record", records
    )


def _changed(
    batch: Batch, records: bytes | memoryview, kind: CompressionType, rules: BatchRules, now: int
) -> Batch:
    """Return the batch with the time and the compression of the topic; the same one if nothing changes."""
    attributes = batch.attributes & ~LOG_APPEND_TIME
    if rules.has_log_append_time:
        attributes |= LOG_APPEND_TIME
    wanted = kind if rules.compression is None else rules.compression
    attributes = attributes & ~_CODEC_MASK | wanted
    if attributes == batch.attributes and not rules.has_log_append_time:
        return batch
    out = bytearray(batch.data[:HEADER_SIZE])
    if wanted is kind:
        out += batch.data[HEADER_SIZE:]
    else:
        out += compress(records, wanted) if wanted else records
    _INT32.pack_into(out, LENGTH_AT, LENGTH_MIN + len(out) - HEADER_SIZE)
    _INT16.pack_into(out, _ATTRIBUTES_AT, attributes)
    if rules.has_log_append_time:
        _INT64.pack_into(out, _MAX_TIMESTAMP_AT, now)
    _UINT32.pack_into(out, CRC_AT, crc32c(memoryview(out)[CRC_START:]))
    return Batch(memoryview(bytes(out)))
