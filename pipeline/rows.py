"""Raw rows: the data a task has read, as tuples of numbers and slices of bytes, before it becomes columns.

`Rows.add_reply` parses the body of a pull reply. For a plain record it makes no object but a tuple, a body
and a slice with the properties. Records that are compressed, have IPv6 hosts, or hold several messages take
the slower path through `gateway.client.reading`. Offline readers pass records one at a time to `add`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Collection

from mqgateway.engine.message import (
    PROPERTY_TAGS,
    StoredMessage,
    SysFlag,
    format_properties,
    pack_host,
    parse_properties,
)
from mqgateway.engine.store.expansion import expand, holds_record_batch
from mqgateway.engine.store.record import HEAD_SIZE, MAGIC, decode
from mqgateway.gateway.client.compression import decompress
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.reading import read_record
from mqgateway.pipeline.errors import PipelineError

log = logging.getLogger(__name__)

Head = tuple[int, int, int, int, int, int, int, int, int, bytes, int, bytes, int, int, int]
"""Size, magic, crc, queue id, flag, queue offset, physical offset, sys flag, born timestamp, born host, store
timestamp, store host, times consumed, offset of the half message, length of the body."""

_HEAD = struct.Struct(">iiiiiqqiq8sq8siqi")
assert _HEAD.size == HEAD_SIZE
_SIZE_MIN = HEAD_SIZE + 3
_MANY = SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH
_SPECIAL = SysFlag.COMPRESSED | SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6 | _MANY


class Rows:
    """Rows collected for a batch; `size` is about their bytes.

    `topics` is filled only by readers whose rows are of several topics, `notes` only by those that have some.
    """

    __slots__ = ("bodies", "heads", "notes", "properties", "size", "topics")

    def __init__(self) -> None:
        self.heads: list[Head] = []
        self.bodies: list[bytes] = []
        self.properties: list[bytes] = []
        self.topics: list[bytes] = []
        self.notes: list[str | None] = []
        self.size = 0

    def __len__(self) -> int:
        return len(self.heads)

    def add(self, head: Head, body: bytes, properties: bytes) -> None:
        """Add one row."""
        self.heads.append(head)
        self.bodies.append(body)
        self.properties.append(properties)
        self.size += len(body) + len(properties)

    def add_reply(
        self, data: bytes, low: int, high: int, broker_name: str = "", tags: Collection[str] = ()
    ) -> int:
        """Add the messages of a pull reply with offsets in [low, high), and return their number.

        With `tags`, only messages with one of the tags are added: brokers compare hashes. Raises
        `PipelineError` for bytes that are not records.
        """
        before = len(self.heads)
        unpack, add_head = _HEAD.unpack_from, self.heads.append
        add_body, add_properties = self.bodies.append, self.properties.append
        at, total = 0, len(data)
        while at < total:
            if total - at < _SIZE_MIN:
                raise PipelineError(f"a reply ends with {total - at} bytes that are not a record")
            head = unpack(data, at)
            size, offset, length = head[0], head[5], head[14]
            end = at + size
            if size < _SIZE_MIN or end > total:
                raise PipelineError(f"a record of {size} bytes in a reply with {total - at} left")
            if head[1] != MAGIC or head[7] & _SPECIAL or length < 0:
                self._add_special(data[at:end], low, high, broker_name, tags)
            elif low <= offset < high:
                body_at = at + HEAD_SIZE
                topic_at = body_at + length
                if topic_at >= end:
                    raise PipelineError(f"a body of {length} bytes in a record of {size}")
                properties = data[topic_at + 3 + data[topic_at] : end]
                if not tags or _tag_of(properties) in tags:
                    add_head(head)
                    add_body(data[body_at:topic_at])
                    add_properties(properties)
                    self.size += size
            at = end
        return len(self.heads) - before

    def _add_special(
        self, record: bytes, low: int, high: int, broker_name: str, tags: Collection[str]
    ) -> None:
        for head, body, properties in rows_of(record, decode(record), broker_name):
            if low <= head[5] < high and (not tags or _tag_of(properties) in tags):
                self.add(head, body, properties)

    def renumber(self, first: int, queue_id: int, delta: int) -> None:
        """Set the queue of the rows from `first` on and add `delta` to their offsets: records of a static
        topic's queue carry their position in a broker's queue."""
        heads = self.heads
        for number in range(first, len(heads)):
            head = heads[number]
            heads[number] = (*head[:3], queue_id, head[4], head[5] + delta, *head[6:])

    def clear(self) -> None:
        """Remove all rows."""
        self.heads.clear()
        self.bodies.clear()
        self.properties.clear()
        self.topics.clear()
        self.notes.clear()
        self.size = 0


def rows_of(record: bytes, stored: StoredMessage, broker_name: str = "") -> list[tuple[Head, bytes, bytes]]:
    """Return the rows of a record, decoded as `stored`: several for a batch. A record that cannot be unpacked
    is one row as it is; a damaged batch of Kafka gives no row."""
    if holds_record_batch(record):
        return [stored_row(decode(one)) for one in expand(record, _report)]
    found: list[ReceivedMessage] = []
    if stored.sys_flag & _MANY == _MANY:
        found = read_record(record, broker_name)
    return [as_row(message) for message in found] or [stored_row(stored)]


def _report(position: int, what: str) -> None:
    log.warning("the record at %d of the log: %s", position, what)


def as_row(message: ReceivedMessage) -> tuple[Head, bytes, bytes]:
    """Return a message that was read on the slower path as a row."""
    head = (
        message.store_size,
        MAGIC,
        0,
        message.queue.queue_id,
        message.flag,
        message.queue_offset,
        message.physical_offset,
        message.sys_flag,
        message.born_timestamp,
        _packed(message.born_host),
        message.store_timestamp,
        _packed(message.store_host),
        message.reconsume_times,
        0,
        len(message.body),
    )
    return head, message.body, format_properties(message.properties).encode()


def stored_row(stored: StoredMessage) -> tuple[Head, bytes, bytes]:
    """Return a decoded record as a row; a body that cannot be decompressed stays as it is."""
    try:
        body = decompress(stored.body, stored.sys_flag)
    except ClientError as error:
        log.warning("a message of %s at offset %d: %s", stored.topic, stored.queue_offset, error)
        body = stored.body
    head = (
        stored.size,
        MAGIC,
        stored.body_crc,
        stored.queue_id,
        stored.flag,
        stored.queue_offset,
        stored.physical_offset,
        stored.sys_flag,
        stored.born_timestamp,
        stored.born_host,
        stored.store_timestamp,
        stored.store_host,
        stored.reconsume_times,
        stored.prepared_transaction_offset,
        len(body),
    )
    return head, body, format_properties(stored.properties).encode()


def _packed(host: str) -> bytes:
    ip, _, port = host.rpartition(":")
    return pack_host(ip, int(port))


def _tag_of(properties: bytes) -> str | None:
    if b"TAGS\x01" not in properties:
        return None
    return parse_properties(properties.decode("utf-8", "replace")).get(PROPERTY_TAGS)
