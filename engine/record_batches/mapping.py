"""Records of Kafka as messages of RocketMQ, and messages as a batch of records.

| record | message |
| --- | --- |
| key | `KEYS` if it is text that RocketMQ takes for one key; else `__KKEY`, base64 (`=` if empty) |
| value | body; a null value is an empty body with `__KNULL` |
| headers | a property each, if that can hold it; `__KHDR` has all of them, base64, if not each can be one |
| timestamp | born timestamp; a negative one is kept in `__KTIME` |

A record that becomes a message and a record again is the same. Properties that belong to brokers or clients
(`SYSTEM_PROPERTIES`) do not become headers, and no header becomes one of them. `TAGS` is the exception: it is
the header of that name, so that consumers of RocketMQ can select records of Kafka's producers by tag.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.inflating import InflateError, inflate_body
from mqgateway.engine.message import (
    KAFKA_PREFIX,
    KEY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    PROPERTY_KAFKA_HEADERS,
    PROPERTY_KAFKA_HEADERS_TOO_LARGE,
    PROPERTY_KAFKA_KEY,
    PROPERTY_KAFKA_KEY_TOO_LARGE,
    PROPERTY_KAFKA_NULL,
    PROPERTY_KAFKA_TIME,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    SYSTEM_PROPERTIES,
    StoredMessage,
    properties_text,
)
from mqgateway.engine.record_batches.batches import INFLATED_MAX, Batch, pack_batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.records import (
    HEADER_SIZE_MIN,
    Data,
    Record,
    read_data,
    write_data,
    write_record,
)
from mqgateway.engine.record_batches.writer import write_varint

Headers = Sequence[tuple[str, Data | None]]

KEYS_SIZE_MAX: Final = 1024
"""Bytes of a key that becomes `KEYS`, which RocketMQ's index has."""
PROPERTIES_SIZE_MAX: Final = 32767 - 1024
"""Bytes of a message's properties, with room for those that a broker adds."""
BODY_SIZE_MAX: Final = 16 * 1024 * 1024
"""Bytes that a body which RocketMQ's client compressed may inflate to."""
SURELY_FITS: Final = 2048
"""Size of key and headers that always fit: UTF-8 and base64 make less than ten times as many bytes of it."""
_TIME_MIN: Final = -(1 << 63)
_TIMES: Final = 1 << 64
_EMPTY: Final = "="
_YES: Final = "1"
_NEGATIVE: Final = re.compile("-[0-9]{1,19}")
_NOT_TEXT: Final = re.compile("[\x00\x01\x02]")
_LOOKS_LIKE_CRC: Final = re.compile(r"(?:CRC32.|#).[0-9]{10}\Z", re.DOTALL)
"""The end of properties that a store takes for a checksum of the record, perhaps with a wrong byte in it."""
_CRC_TEXT_SIZE: Final = 19


class PropertiesTooLarge(CodecError):
    """Key and headers of a record that no message can hold; `index` is the record's in its batch."""

    def __init__(self, size: int, index: int) -> None:
        super().__init__(
            f"key and headers of record {index} take {size} bytes as properties of a message, the most are "
            f"{PROPERTIES_SIZE_MAX}: send smaller ones, or create the topic by Kafka's protocol"
        )
        self.index = index


class MappedMessage:
    """A record as a message. `queue_offset` is the offset that the batch gives it."""

    __slots__ = ("body", "born_timestamp", "properties", "queue_offset")

    def __init__(
        self, body: bytes, properties: dict[str, str], born_timestamp: int, queue_offset: int
    ) -> None:
        self.body = body
        self.properties = properties
        self.born_timestamp = born_timestamp
        self.queue_offset = queue_offset


def messages_of(batch: Batch, now: int, limit: int = INFLATED_MAX) -> list[MappedMessage]:
    """Return the messages of a batch; a control batch has none.

    `now` (ms) is the born timestamp of records that have none. Raises `CodecError` if the batch is damaged or
    inflates to more than `limit` bytes, and `PropertiesTooLarge`.
    """
    if batch.is_control:
        return []
    return [message_of(batch, record, now, index=index) for index, record in enumerate(batch.records(limit))]


def message_of(
    batch: Batch, record: Record, now: int, *, index: int = 0, truncates: bool = False
) -> MappedMessage:
    """Return the message of one record of a batch.

    If `truncates`, headers and then a key that are too large are left out, and a property has their size;
    else `PropertiesTooLarge` is raised.
    """
    size = _raw_size(record)
    if size > PROPERTIES_SIZE_MAX and not truncates:
        raise PropertiesTooLarge(size, index)
    value = record.value
    timestamp = time_of(batch, record)
    fields = _key_properties(record.key)
    if value is None:
        fields[PROPERTY_KAFKA_NULL] = _YES
    if timestamp < 0:
        fields[PROPERTY_KAFKA_TIME] = str(timestamp)
    if size <= PROPERTIES_SIZE_MAX:
        properties = _header_properties(record.headers) if record.headers else {}
        properties.update(fields)
        if size > SURELY_FITS:
            size = len(properties_text(properties))
    if size > PROPERTIES_SIZE_MAX:
        if not truncates:
            raise PropertiesTooLarge(size, index)
        properties = _truncated(fields, record)
    return MappedMessage(
        b"" if value is None else bytes(value),
        properties,
        now if timestamp < 0 else timestamp,
        batch.base_offset + record.offset_delta,
    )


def batch_of(messages: Sequence[StoredMessage], leader_epoch: int) -> bytearray:
    """Return one uncompressed batch of messages; see `BatchBuilder`."""
    builder = BatchBuilder()
    for message in messages:
        builder.add(message)
    return builder.built(leader_epoch)


class BatchBuilder:
    """One uncompressed batch, built of messages whose queue offsets ascend; gaps are allowed.

    A body that a client of RocketMQ compressed is inflated; if it cannot be, it is left as it is.
    `count` is how many messages it has, `body_bytes` the bytes of their bodies as they are stored.
    """

    def __init__(self) -> None:
        self.count = self.body_bytes = 0
        self._records = bytearray()
        self._base_offset = self._last_offset = self._base_timestamp = self._max_timestamp = 0

    def add(self, message: StoredMessage) -> None:
        """Append a message."""
        time = _timestamp_of(message)
        if not self.count:
            self._base_offset = message.queue_offset
            self._base_timestamp = self._max_timestamp = time
        record = Record(
            _key_of(message.properties),
            _value_of(message),
            _headers_of(message.properties),
            _wrapped(time - self._base_timestamp),
            message.queue_offset - self._base_offset,
        )
        write_record(self._records, record)
        self._max_timestamp = max(self._max_timestamp, time)
        self._last_offset = message.queue_offset
        self.count += 1
        self.body_bytes += len(message.body)

    def add_plain(self, data: bytes, at: int, least: int, most: int, room: int) -> int:
        """Append messages from their stored records, in C. Return where the first one begins that is not like
        most, or for which there is no room.

        Those before the queue offset `least` are left out. It ends when the batch has `most` messages, or
        bodies of `room` bytes.
        """
        if native is None or self.count >= most or self.body_bytes >= room:
            return at
        at, added, body_bytes, *known = native.add_messages(
            data=data,
            at=at,
            least=least,
            most=most - self.count,
            room=room - self.body_bytes,
            base_offset=self._base_offset,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            is_empty=not self.count,
            records=self._records,
        )
        if added:
            self._base_offset, self._base_timestamp, self._max_timestamp, self._last_offset = known
        self.count += added
        self.body_bytes += body_bytes
        return at

    def built(self, leader_epoch: int) -> bytearray:
        """Return the batch."""
        return pack_batch(
            self._records,
            self.count,
            self._last_offset - self._base_offset,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            base_offset=self._base_offset,
            leader_epoch=leader_epoch,
        )


def _raw_size(record: Record) -> int:
    """Return how many bytes key and headers take as properties at the least."""
    size = 0 if record.key is None else len(record.key)
    for name, value in record.headers:
        size += len(name) + (2 if value is None else len(value) + 2)
    return size


def time_of(batch: Batch, record: Record) -> int:
    """Return the timestamp of a record of a batch, in ms."""
    if batch.has_log_append_time:
        return int(batch.max_timestamp)
    return _wrapped(batch.base_timestamp + record.timestamp_delta)


def _wrapped(number: int) -> int:
    """Return a sum or difference of 64-bit numbers as Java's arithmetic gives it."""
    return (number - _TIME_MIN) % _TIMES + _TIME_MIN


def _text(data: Data) -> str | None:
    """Return the text that bytes are, if a property can have it as its value."""
    if not data:
        return None
    try:
        text = str(data, "utf-8")
    except UnicodeDecodeError:
        return None
    return None if _NOT_TEXT.search(text) else text


def _is_plain(name: str, value: str) -> bool:
    """Return True if a store reads the property back as it was, wherever it stands."""
    text = f"{name}{NAME_VALUE_SEPARATOR}{value[-_CRC_TEXT_SIZE:]}"
    return _LOOKS_LIKE_CRC.search(text) is None


def _base64(data: Data | bytearray) -> str:
    return b2a_base64(data, newline=False).decode()


def _bytes_of(text: str) -> bytes | None:
    """Return the bytes that are written in base64; None if they are not."""
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        return None


def _key_properties(key: Data | None) -> dict[str, str]:
    if key is None:
        return {}
    if len(key) <= KEYS_SIZE_MAX:
        text = _text(key)
        if text is not None and KEY_SEPARATOR not in text and _is_plain(PROPERTY_KEYS, text):
            return {PROPERTY_KEYS: text}
    return {PROPERTY_KAFKA_KEY: _base64(key) if key else _EMPTY}


def _header_properties(headers: Headers) -> dict[str, str]:
    """Return the headers that can be properties, and all of them in one if others cannot."""
    properties: dict[str, str] = {}
    names = Counter([name for name, _ in headers])
    is_whole = True
    for name, value in headers:
        text = None if value is None else _text(value)
        if text is None or not _is_header(name) or names[name] > 1 or not _is_plain(name, text):
            is_whole = False
        else:
            properties[name] = text
    if not is_whole:
        properties[PROPERTY_KAFKA_HEADERS] = _base64(_header_block(headers))
    return properties


def _is_header(name: str) -> bool:
    """Return True if a property of this name is a header."""
    if name == PROPERTY_TAGS:
        return True
    is_system = name in SYSTEM_PROPERTIES or name.startswith(KAFKA_PREFIX)
    return bool(name) and not is_system and _NOT_TEXT.search(name) is None


def _header_block(headers: Headers) -> bytearray:
    """Return headers as they stand in a record."""
    block = bytearray()
    write_varint(block, len(headers))
    for name, value in headers:
        write_data(block, name.encode("utf-8", "replace"))
        write_data(block, value)
    return block


def _truncated(fields: dict[str, str], record: Record) -> dict[str, str]:
    """Return the properties of a record without its headers, and if need be without its key."""
    if record.headers:
        fields[PROPERTY_KAFKA_HEADERS_TOO_LARGE] = str(_raw_size(record))
    key = record.key
    if key is not None and len(properties_text(fields)) > PROPERTIES_SIZE_MAX:
        del fields[PROPERTY_KAFKA_KEY]
        fields[PROPERTY_KAFKA_KEY_TOO_LARGE] = str(len(key))
    return fields


def _key_of(properties: Mapping[str, str]) -> bytes | None:
    text = properties.get(PROPERTY_KAFKA_KEY)
    if text is not None:
        key = b"" if text == _EMPTY else _bytes_of(text)
        if key is not None:
            return key
    keys = properties.get(PROPERTY_KEYS)
    return None if keys is None else keys.encode("utf-8", "replace")


def _value_of(message: StoredMessage) -> bytes | None:
    if not message.body and PROPERTY_KAFKA_NULL in message.properties:
        return None
    return _inflated_body(message)


def _headers_of(properties: Mapping[str, str]) -> Headers:
    text = properties.get(PROPERTY_KAFKA_HEADERS)
    if text is not None:
        headers = _read_headers(text)
        if headers is not None:
            return headers
    plain = [(name, value) for name, value in properties.items() if _is_header(name)]
    return [(name, value.encode("utf-8", "replace")) for name, value in plain]


def _read_headers(text: str) -> Headers | None:
    """Return the headers of a block in base64; None for any other text, which a producer may have written."""
    block = _bytes_of(text)
    if block is None:
        return None
    reader = Reader(block)
    headers: list[tuple[str, Data | None]] = []
    try:
        count = reader.varint()
        if count < 0:
            return None
        reader.check_count(count, HEADER_SIZE_MIN)
        for _ in range(count):
            size = reader.varint()
            headers.append((reader.string(size), read_data(reader)))
    except CodecError:
        return None
    return None if reader.left() else headers


def _timestamp_of(message: StoredMessage) -> int:
    text = message.properties.get(PROPERTY_KAFKA_TIME)
    if text is not None and _NEGATIVE.fullmatch(text):
        return max(int(text), _TIME_MIN)
    return max(message.born_timestamp, -1)


def _inflated_body(message: StoredMessage) -> bytes:
    """Return the body as its producer gave it to the client of RocketMQ that compressed it."""
    try:
        inflated = inflate_body(message.body, message.sys_flag, BODY_SIZE_MAX)
    except InflateError:
        return message.body
    return inflated if len(inflated) <= BODY_SIZE_MAX else message.body
