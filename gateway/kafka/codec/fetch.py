"""Fetch by hand: requests from bytes, and answers as chunks, so that stored batches are not copied."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, cast

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.gateway.kafka.codec import plans
from mqgateway.gateway.kafka.codec.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from mqgateway.gateway.kafka.codec.messages.fetch_response import FetchResponse, PartitionData
from mqgateway.gateway.kafka.codec.plain import (
    NOT_PLAIN,
    UUID_SIZE,
    read_count,
    read_end,
    read_name,
    write_count,
    write_topic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Records

Chunk = bytes | bytearray | memoryview
START_OFFSET_SINCE: Final = 5
SESSION_SINCE: Final = 7
EPOCH_SINCE: Final = 9
RACK_SINCE: Final = 11
FLEXIBLE_SINCE: Final = 12
TOPIC_ID_SINCE: Final = 13
REPLICA_STATE_SINCE: Final = 15
COPIED_MAX: Final = 1024
"""Bytes of a span that are copied, because a chunk more costs more than that."""
_HEAD: Final = struct.Struct(">iiib")
_INT32: Final = struct.Struct(">i")
_SESSION: Final = struct.Struct(">ii")
_PARTITION_4: Final = struct.Struct(">iqi")
_PARTITION_5: Final = struct.Struct(">iqqi")
_PARTITION_9: Final = struct.Struct(">iiqqi")
_PARTITION_12: Final = struct.Struct(">iiqiqi")
_ANSWER: Final = struct.Struct(">ihi")
_DATA_4: Final = struct.Struct(">ihqq")
_DATA_5: Final = struct.Struct(">ihqqq")
_ABORTED: Final = struct.Struct(">qq")


def owned(chunk: Chunk) -> Chunk:
    """Return a chunk that stays as it is: a copy if it is borrowed, a view of memory that may change."""
    if isinstance(chunk, memoryview) and not isinstance(chunk.obj, (bytes, bytearray)):
        return bytes(chunk)
    return chunk


def read_request(reader: Reader, version: int) -> FetchRequest:
    """Read a request."""
    position, elements = reader.position, reader.elements
    try:
        return _read(reader, version)
    except NOT_PLAIN:
        reader.position, reader.elements = position, elements
        return plans.read(FetchRequest, reader, version)


def _read(reader: Reader, version: int) -> FetchRequest:
    flexible = version >= FLEXIBLE_SINCE
    has_id = version >= TOPIC_ID_SINCE
    least = 18 if has_id else 3 if flexible else 6
    replica_id = -1 if version >= REPLICA_STATE_SINCE else reader.int32()
    max_wait_ms, min_bytes, max_bytes, isolation_level = reader.unpack(_HEAD)
    session_id, session_epoch = reader.unpack(_SESSION) if version >= SESSION_SINCE else (0, -1)
    topics: list[FetchTopic] = []
    for _ in range(read_count(reader, flexible, least)):
        name = "" if has_id else read_name(reader, flexible)
        topic_id = bytes(reader.take(UUID_SIZE)) if has_id else NO_UUID
        partitions = _read_partitions(reader, version, flexible)
        topics.append(FetchTopic(name, topic_id, partitions))
        if flexible:
            read_end(reader)
    forgotten: list[ForgottenTopic] = []
    for _ in range(read_count(reader, flexible, least) if version >= SESSION_SINCE else 0):
        name = "" if has_id else read_name(reader, flexible)
        topic_id = bytes(reader.take(UUID_SIZE)) if has_id else NO_UUID
        count = read_count(reader, flexible, 4)
        forgotten.append(ForgottenTopic(name, topic_id, tuple([reader.int32() for _ in range(count)])))
        if flexible:
            read_end(reader)
    rack_id = read_name(reader, flexible) if version >= RACK_SINCE else ""
    if flexible:
        read_end(reader)
    return FetchRequest(
        None,
        replica_id,
        None,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        tuple(topics),
        tuple(forgotten),
        rack_id,
    )


def _read_partitions(reader: Reader, version: int, flexible: bool) -> tuple[FetchPartition, ...]:
    partitions: list[FetchPartition] = []
    epoch = last_epoch = log_start = -1
    if flexible:
        for _ in range(read_count(reader, True, _PARTITION_12.size + 1)):
            index, epoch, offset, last_epoch, log_start, size = reader.unpack(_PARTITION_12)
            partitions.append(FetchPartition(index, epoch, offset, last_epoch, log_start, size))
            read_end(reader)
        return tuple(partitions)
    layout = (
        _PARTITION_9
        if version >= EPOCH_SINCE
        else _PARTITION_5
        if version >= START_OFFSET_SINCE
        else _PARTITION_4
    )
    for _ in range(read_count(reader, False, layout.size)):
        if version >= EPOCH_SINCE:
            index, epoch, offset, log_start, size = reader.unpack(layout)
        elif version >= START_OFFSET_SINCE:
            index, offset, log_start, size = reader.unpack(layout)
        else:
            index, offset, size = reader.unpack(layout)
        partitions.append(FetchPartition(index, epoch, offset, -1, log_start, size))
    return tuple(partitions)


def write_response(out: bytearray, message: FetchResponse, version: int) -> list[Chunk]:
    """Append an answer, and return it in chunks, of which `out` is the first.

    The records of a partition may be a list of batches, each of which becomes a chunk.
    """
    try:
        return run(_chunks(out, message, version))
    except NOT_PLAIN:
        _join_records(message)
        plans.encode_into(out, message, version)
        return [out]


def writing(out: bytearray, message: FetchResponse, version: int) -> Steps[list[Chunk]]:
    """Do the same as a cooperative task. The message must be one that `write_response` accepts.

    Records that are borrowed are copied at once.
    """
    for topic in message.responses:
        for partition in topic.partitions:
            if isinstance(partition.records, list):
                partition.records = cast(Records, [owned(span) for span in partition.records])
    try:
        return (yield from _chunks(out, message, version))
    except NOT_PLAIN:
        _join_records(message)
        yield from plans.writing(out, message, version)
        return [out]


def _chunks(out: bytearray, message: FetchResponse, version: int) -> Steps[list[Chunk]]:
    """Append an answer without tagged fields; append nothing if it fails."""
    start = len(out)
    chunks: list[Chunk] = [out]
    try:
        yield from _Writing(chunks, out, version).write(message)
    except NOT_PLAIN:
        del out[start:]
        raise
    return chunks


def _join_records(message: FetchResponse) -> None:
    for topic in message.responses:
        for partition in topic.partitions:
            if isinstance(partition.records, list):
                partition.records = b"".join(partition.records)


class _Writing:
    """Chunks of an answer; `out` is the last of them, which fields are appended to."""

    def __init__(self, chunks: list[Chunk], out: bytearray, version: int) -> None:
        self._chunks = chunks
        self._out = out
        self._version = version
        self._flexible = version >= FLEXIBLE_SINCE

    def write(self, message: FetchResponse) -> Steps[None]:
        """Append the whole answer."""
        version, flexible = self._version, self._flexible
        if message.node_endpoints or (version < SESSION_SINCE and message.session_id):
            raise CodecError("tagged fields, or a field that the version does not have")
        if version < SESSION_SINCE:
            self._out += _INT32.pack(message.throttle_time_ms)
        else:
            self._out += _ANSWER.pack(message.throttle_time_ms, message.error_code, message.session_id)
        write_count(self._out, flexible, len(message.responses))
        for topic in message.responses:
            write_topic(self._out, flexible, version >= TOPIC_ID_SINCE, topic.topic, topic.topic_id)
            write_count(self._out, flexible, len(topic.partitions))
            for part in in_parts(topic.partitions):
                for partition in part:
                    self._write_partition(partition)
                yield
            if flexible:
                self._out.append(0)
        if flexible:
            self._out.append(0)

    def _write_partition(self, data: PartitionData) -> None:
        out, version = self._out, self._version
        self._check_tags(data)
        index, code = data.partition_index, data.error_code
        high, stable = data.high_watermark, data.last_stable_offset
        if version >= START_OFFSET_SINCE:
            out += _DATA_5.pack(index, code, high, stable, data.log_start_offset)
        else:
            out += _DATA_4.pack(index, code, high, stable)
        aborted = data.aborted_transactions
        write_count(out, self._flexible, -1 if aborted is None else len(aborted))
        for transaction in aborted or ():
            out += _ABORTED.pack(transaction.producer_id, transaction.first_offset)
            if self._flexible:
                out.append(0)
        if version >= RACK_SINCE:
            out += _INT32.pack(data.preferred_read_replica)
        elif data.preferred_read_replica != -1:
            raise CodecError("the version does not have this field")
        self._write_records(data)
        if self._flexible:
            self._out.append(0)

    def _check_tags(self, data: PartitionData) -> None:
        diverging, leader, snapshot = data.diverging_epoch, data.current_leader, data.snapshot_id
        if not (
            diverging.epoch
            == diverging.end_offset
            == leader.leader_id
            == leader.leader_epoch
            == snapshot.end_offset
            == snapshot.epoch
            == -1
        ):
            raise CodecError("tagged fields")

    def _write_records(self, data: PartitionData) -> None:
        records = data.records
        if records is None:
            write_count(self._out, self._flexible, -1)
            return
        spans = cast(Sequence[Chunk], records) if isinstance(records, list) else [records]
        sizes = [len(span) for span in spans]
        write_count(self._out, self._flexible, sum(sizes))
        for span, size in zip(spans, sizes, strict=True):
            if size <= COPIED_MAX:
                self._out += span
            elif self._out:
                self._out = bytearray()
                self._chunks += (span, self._out)
            else:
                self._chunks[-1] = span  # before the bytes that follow, of which there are none yet
                self._chunks.append(self._out)
