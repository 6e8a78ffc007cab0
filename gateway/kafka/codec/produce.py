"""Produce by hand: requests from bytes and answers to bytes, as the plans of their classes have them."""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec import plans
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.messages.produce_response import PartitionProduceResponse, ProduceResponse
from mqgateway.gateway.kafka.codec.plain import (
    NOT_PLAIN,
    UUID_SIZE,
    read_count,
    read_end,
    read_name,
    read_text,
    write_count,
    write_name,
    write_topic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID

START_OFFSET_SINCE: Final = 5
RECORD_ERRORS_SINCE: Final = 8
FLEXIBLE_SINCE: Final = 9
TOPIC_ID_SINCE: Final = 13
_ACKS_TIMEOUT: Final = struct.Struct(">hi")
_INT32: Final = struct.Struct(">i")
_PARTITION: Final = struct.Struct(">ihqq")
_PARTITION_WITH_START: Final = struct.Struct(">ihqqq")
_NOTHING_SHORT: Final = struct.pack(">ih", 0, -1)
_NOTHING: Final = b"\x01\x00\x00"
"""No errors of records, no message, no tagged fields."""


def read_request(reader: Reader, version: int) -> ProduceRequest:
    """Read a request; records are views of the buffer."""
    position, elements = reader.position, reader.elements
    try:
        return _read(reader, version)
    except NOT_PLAIN:
        reader.position, reader.elements = position, elements
        return plans.read(ProduceRequest, reader, version)


def _read(reader: Reader, version: int) -> ProduceRequest:
    flexible = version >= FLEXIBLE_SINCE
    has_id = version >= TOPIC_ID_SINCE
    transactional_id = read_text(reader, flexible)
    acks, timeout_ms = reader.unpack(_ACKS_TIMEOUT)
    topics: list[TopicProduceData] = []
    for _ in range(read_count(reader, flexible, 18 if has_id else 3 if flexible else 6)):
        name = "" if has_id else read_name(reader, flexible)
        topic_id = bytes(reader.take(UUID_SIZE)) if has_id else NO_UUID
        partitions: list[PartitionProduceData] = []
        for _ in range(read_count(reader, flexible, 6 if flexible else 8)):
            index = reader.int32()
            size = reader.compact_length() if flexible else reader.int32()
            partitions.append(PartitionProduceData(index, None if size == -1 else reader.take(size)))
            if flexible:
                read_end(reader)
        topics.append(TopicProduceData(name, topic_id, tuple(partitions)))
        if flexible:
            read_end(reader)
    if flexible:
        read_end(reader)
    return ProduceRequest(transactional_id, acks, timeout_ms, tuple(topics))


def write_response(out: bytearray, message: ProduceResponse, version: int) -> None:
    """Append an answer."""
    start = len(out)
    try:
        _write(out, message, version)
    except NOT_PLAIN:
        del out[start:]
        plans.encode_into(out, message, version)


def _write(out: bytearray, message: ProduceResponse, version: int) -> None:
    flexible = version >= FLEXIBLE_SINCE
    if message.node_endpoints:
        raise CodecError("tagged fields")
    write_count(out, flexible, len(message.responses))
    for topic in message.responses:
        write_topic(out, flexible, version >= TOPIC_ID_SINCE, topic.name, topic.topic_id)
        write_count(out, flexible, len(topic.partition_responses))
        for partition in topic.partition_responses:
            _write_partition(out, partition, version)
        if flexible:
            out.append(0)
    out += _INT32.pack(message.throttle_time_ms)
    if flexible:
        out.append(0)


def _write_partition(out: bytearray, partition: PartitionProduceResponse, version: int) -> None:
    leader = partition.current_leader
    if partition.record_errors or leader.leader_id != -1 or leader.leader_epoch != -1:
        raise CodecError("tagged fields or errors of records")
    index, code, base = partition.index, partition.error_code, partition.base_offset
    time = partition.log_append_time_ms
    if version < START_OFFSET_SINCE:
        out += _PARTITION.pack(index, code, base, time)
        return
    out += _PARTITION_WITH_START.pack(index, code, base, time, partition.log_start_offset)
    if version < RECORD_ERRORS_SINCE:
        return
    flexible = version >= FLEXIBLE_SINCE
    text = partition.error_message
    if text is None:
        out += _NOTHING if flexible else _NOTHING_SHORT
        return
    write_count(out, flexible, 0)
    write_name(out, flexible, text)
    if flexible:
        out.append(0)
