"""From the bytes of a pull reply to messages.

Records are cut apart, batches that are stored as one record are taken apart, bodies are made whole, and tags
are compared as text, since the broker has compared their hashes only.
Standard: `PullAPIWrapper.processPullResult`, `MessageDecoder.decodesBatch`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Collection, Iterator, Mapping

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.extension import native
from mqgateway.engine.message import (
    PROPERTY_MAX_OFFSET,
    PROPERTY_MIN_OFFSET,
    SysFlag,
    parse_properties,
)
from mqgateway.engine.store.client_elements import split_batch
from mqgateway.engine.store.record import HEAD_SIZE, MAGIC, PLAIN_HEAD, Invalid, decode, examine
from mqgateway.gateway.client.compression import decompress
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import ReceivedMessage, queue_of
from mqgateway.gateway.codec.bodies import MessageQueue

log = logging.getLogger(__name__)

_INNER_BATCH = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
_NOT_PLAIN = _INNER_BATCH | SysFlag.COMPRESSED
_NOT_QUICK = _NOT_PLAIN | SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_POSITION_AT = 28
_POSITION = struct.Struct(">q")


def read_messages(
    body: bytes, broker_name: str, added: Mapping[str, str] | None = None
) -> list[ReceivedMessage]:
    """Return the messages of records that lie back to back, with `added` among their properties; what cannot
    be read is left out and logged.

    Most records are of version 1, with IPv4 hosts, and neither compressed nor a batch: they are examined and
    taken apart in one go. `examine` and `read_record` know all of them.
    """
    messages: list[ReceivedMessage] = []
    more: tuple[Mapping[str, str], ...] = () if added is None else (added,)
    at, total = 0, len(body)
    while True:
        at = _plain_messages(ReceivedMessage, queue_of, broker_name, more, body, at, messages)
        size = _size_of_record(body, at) if at < total else 0
        if not size:
            return messages
        found = read_record(body, broker_name, at)
        if added is not None:
            for message in found:
                message.add(added)
        messages += found
        at += size


def _read_plain(
    cls: type[ReceivedMessage],
    queue_of: Callable[[str, str, int], MessageQueue],
    broker_name: str,
    added: tuple[Mapping[str, str], ...],
    body: bytes,
    at: int,
    messages: list[ReceivedMessage],
) -> int:
    """Add what the records say from `at` on, up to one that is not like most; where that one is."""
    unpack, of_parts = PLAIN_HEAD.unpack_from, cls.of_parts
    topic, topic_text, queue_id = b"", "", -1
    queue = queue_of("", broker_name, -1)
    total = len(body)
    while total - at > HEAD_SIZE:
        head = unpack(body, at)
        end = at + head[0]
        topic_at = at + HEAD_SIZE + head[14]
        if not (at + HEAD_SIZE <= topic_at < end <= total and head[1] == MAGIC) or head[7] & _NOT_QUICK:
            break
        length = body[topic_at]
        place = topic_at + 1 + length
        if length >= 128 or place + 1 >= end or body[place] >= 128:
            break
        if place + 2 + (body[place] << 8 | body[place + 1]) != end:
            break
        field = body[topic_at + 1 : place]
        if field != topic or head[3] != queue_id:
            topic, topic_text, queue_id = field, field.decode("utf-8", "replace"), head[3]
            queue = queue_of(topic_text, broker_name, queue_id)
        content, text = body[at + HEAD_SIZE : topic_at], body[place + 2 : end]
        messages.append(of_parts(head, topic_text, content, text, queue, added))
        at = end
    return at


_plain_messages = _read_plain if native is None else native.plain_messages


def read_record(data: bytes, broker_name: str, at: int = 0) -> list[ReceivedMessage]:
    """Return the message of the record at `at`, or the messages of a batch in one record; none if it cannot
    be read."""
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


def bounds(min_offset: int, max_offset: int) -> dict[str, str]:
    """Return the properties that tell messages where their queue begins and ends."""
    return {PROPERTY_MIN_OFFSET: str(min_offset), PROPERTY_MAX_OFFSET: str(max_offset)}


def wanted(messages: list[ReceivedMessage], tags: Collection[str]) -> list[ReceivedMessage]:
    """Return those whose tag is wanted; all, without `tags`."""
    return [message for message in messages if message.tags in tags] if tags else messages


def _size_of_record(body: bytes, at: int) -> int:
    """Bytes of the record at `at`; 0 where none begins, which is logged."""
    if len(body) - at < _POSITION_AT + 8:
        log.warning("a reply ends with %d bytes that are not a record", len(body) - at)
        return 0
    (position,) = _POSITION.unpack_from(body, at + _POSITION_AT)
    size = examine(body, at, position, check_crc=False)
    if isinstance(size, Invalid) or size == 0:
        why = size.what if isinstance(size, Invalid) else "it is a blank"
        log.warning("byte %d of a reply begins no record: %s", at, why)
        return 0
    return size


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
