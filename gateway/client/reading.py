"""From the bytes of a pull reply to messages.

Records are cut apart, batches that are stored as one record are taken apart, bodies are made whole, and tags
are compared as text, since the broker has compared their hashes only.
Standard: `PullAPIWrapper.processPullResult`, `MessageDecoder.decodesBatch`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Collection, Iterator

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_MAX_OFFSET,
    PROPERTY_MIN_OFFSET,
    SysFlag,
    parse_properties,
)
from mqgateway.engine.store.record import Invalid, decode, examine, split_batch
from mqgateway.gateway.client.compression import decompress
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import ReceivedMessage

log = logging.getLogger(__name__)

_INNER_BATCH = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
_NOT_PLAIN = _INNER_BATCH | SysFlag.COMPRESSED
_POSITION_AT = 28
_POSITION = struct.Struct(">q")


def read_messages(body: bytes, broker_name: str) -> list[ReceivedMessage]:
    """The messages of records that lie back to back; what cannot be read is left out and logged."""
    messages: list[ReceivedMessage] = []
    for at in _records(body):
        messages += read_record(body, broker_name, at)
    return messages


def read_record(data: bytes, broker_name: str, at: int = 0) -> list[ReceivedMessage]:
    """The message of the record at `at`, or the messages of a batch in one record; none if it cannot be
    read."""
    stored = decode(data, at)
    if not stored.sys_flag & _NOT_PLAIN:
        return [ReceivedMessage.of(stored, stored.body, broker_name)]
    try:
        body = decompress(stored.body, stored.sys_flag)
        message = ReceivedMessage.of(stored, body, broker_name)
        if stored.sys_flag & _INNER_BATCH == _INNER_BATCH:
            return list(_unwrapped(message))
    except (ClientError, MessageIllegal) as error:
        log.warning("a message of %s at offset %d is left out: %s", stored.topic, stored.queue_offset, error)
        return []
    return [message]


def wanted(
    messages: list[ReceivedMessage], tags: Collection[str], min_offset: int, max_offset: int
) -> list[ReceivedMessage]:
    """Those whose tag is wanted (all, without `tags`); each is told where its queue begins and ends."""
    chosen = [message for message in messages if message.tags in tags] if tags else messages
    low, high = str(min_offset), str(max_offset)
    for message in chosen:
        message.properties[PROPERTY_MIN_OFFSET] = low
        message.properties[PROPERTY_MAX_OFFSET] = high
    return chosen


def _records(body: bytes) -> Iterator[int]:
    """Where records begin."""
    at = 0
    while at < len(body):
        if len(body) - at < _POSITION_AT + 8:
            log.warning("a reply ends with %d bytes that are no record", len(body) - at)
            return
        (position,) = _POSITION.unpack_from(body, at + _POSITION_AT)
        size = examine(body, at, position, check_crc=False)
        if isinstance(size, Invalid) or size == 0:
            why = size.what if isinstance(size, Invalid) else "it is a blank"
            log.warning("byte %d of a reply begins no record: %s", at, why)
            return
        yield at
        at += size


def _unwrapped(batch: ReceivedMessage) -> Iterator[ReceivedMessage]:
    for number, (flag, body, properties) in enumerate(split_batch(batch.body)):
        message = ReceivedMessage.__new__(ReceivedMessage)
        for name in ReceivedMessage.__slots__:
            setattr(message, name, getattr(batch, name))
        message.topic = batch.topic
        message.body = body
        message.flag = flag
        message.properties = parse_properties(properties[2:].decode("utf-8", "replace"))
        message.queue_offset = batch.queue_offset + number
        message.reconsume_times = 0
        yield message
