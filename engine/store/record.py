"""A stored record: one message in the commit log, byte for byte as in a pull response.

Grammar (integers big-endian, signed; offsets in brackets for IPv4 hosts):

    record      = size i4 [0] magic i4 [4] body-crc i4 [8] queue-id i4 [12] flag i4 [16]
                  queue-offset i8 [20] physical-offset i8 [28] sys-flag i4 [36]
                  born-timestamp i8 [40] born-host [48] store-timestamp i8 [56] store-host [64]
                  reconsume-times i4 [72] prepared-transaction-offset i8 [76]
                  body-length i4 [84] body [88] topic properties
    magic       = 0xDAA320A7 (version 1) | 0xDAA320AB (version 2)
    host        = 4 address bytes, or 16 if the sys-flag bit 4 (born) or 5 (store) is set; then port i4
    topic       = length i1 (version 1) | length i2 (version 2); UTF-8 text
    properties  = length i2; (name 0x01 value 0x02)*
    blank       = size i4, magic i4 0xCBD43194: no more records in this file, continue in the next

A record at a position is valid if and only if

1. at least 4 bytes and then size bytes exist, and the magic is one of the two;
2. the lengths inside add up to size exactly, none negative;
3. physical-offset is the position;
4. with a check of checksums: CRC32(body) & 0x7FFFFFFF = body-crc;
5. with a check of checksums: no sector's share of topic or properties, from its start on, is all zeros;
6. with a check of checksums: if the properties end with __CRC32#, its digits are the CRC32 of all before it.

Anything else ends the log. Rule 5 covers what the CRC does not. After a power cut, a record that was never
synced may have the sectors of head and body, and lack one with properties, which then reads as zeros.

A version 2 record differs only in the width of the topic length, and is written for topics of more than 127
characters. RocketMQ: `CommitLog`, `MessageExtEncoder`, `MessageDecoder`, `MessageVersion`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from operator import ne
from typing import Final, NamedTuple

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.extension import native
from mqgateway.engine.message import PROPERTY_CRC32, Message, StoredMessage, SysFlag, parse_properties

crc32: Final[Callable[[bytes | memoryview], int]] = zlib.crc32 if native is None else native.crc32

MAGIC: Final = 0xDAA320A7 - (1 << 32)
MAGIC_V2: Final = 0xDAA320AB - (1 << 32)
BLANK_MAGIC: Final = 0xCBD43194 - (1 << 32)
BLANK_SIZE: Final = 8
SECTOR: Final = 512
"""Bytes that reach the disk together or not at all; larger sectors are multiples."""
PROPERTIES_LENGTH_MAX: Final = 32767
CRC_SIZE: Final = 20
"""Bytes of the property that a record may end with: `__CRC32#`, 0x01, ten digits, 0x02."""
_LOST: Final = bytes(32)
"""Zeros that may be the rest of a lost sector of properties."""
_CRC_BEGIN: Final = f"{PROPERTY_CRC32}\1".encode()
_CRC_ROOM: Final = _CRC_BEGIN + bytes(10) + b"\2"
TOPIC_LENGTH_MAX_V1: Final = 127

HOST_V6_FLAGS: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
HEADS: Final = {
    0: struct.Struct(">iiiiiqqiq8sq8siqi"),
    SysFlag.BORN_HOST_V6: struct.Struct(">iiiiiqqiq20sq8siqi"),
    SysFlag.STORE_HOST_V6: struct.Struct(">iiiiiqqiq8sq20siqi"),
    HOST_V6_FLAGS: struct.Struct(">iiiiiqqiq20sq20siqi"),
}
PLAIN_HEAD: Final = HEADS[0]
"""Head of a record with IPv4 hosts."""
HEAD_SIZE: Final = PLAIN_HEAD.size
assert HEAD_SIZE == 88

_TO_TOPIC: Final = struct.Struct(">4xi28xi44xi")
"""Magic, sys flag and body length of a record with IPv4 hosts, which locate its topic."""
START: Final = struct.Struct(">ii")
"""Size and magic, the first two words of a record or blank."""
_I2: Final = struct.Struct(">h")
_I4: Final = struct.Struct(">i")
_I8: Final = struct.Struct(">q")
SYS_FLAG_AT: Final = 36
BORN_HOST_AT: Final = 48

STORE_TIME_HEAD_SIZE: Final = 76
"""Bytes at a record's start that `store_timestamp` needs."""


class Invalid(NamedTuple):
    """Reason why the bytes at a position are not a record."""

    what: str


def sys_flag_for(message: Message) -> int:
    """Return the message's sys flag with the bits for the lengths of its hosts."""
    flag = message.sys_flag & ~HOST_V6_FLAGS
    if len(message.born_host) == 20:
        flag |= SysFlag.BORN_HOST_V6
    if len(message.store_host) == 20:
        flag |= SysFlag.STORE_HOST_V6
    return flag


def topic_field(topic: str, long_topics: bool) -> tuple[int, bytes]:
    """Return magic and topic field for a topic. Raises `MessageIllegal` if no version supports it."""
    text = topic.encode()
    if long_topics and len(topic) > TOPIC_LENGTH_MAX_V1:
        if len(text) > 32767:
            raise MessageIllegal(f"the topic has {len(text)} bytes")
        return MAGIC_V2, _I2.pack(len(text)) + text
    if not 0 < len(text) <= TOPIC_LENGTH_MAX_V1:
        raise MessageIllegal(f"the topic has {len(text)} bytes")
    return MAGIC, bytes((len(text),)) + text


def record_size(sys_flag: int, body_length: int, topic_field_length: int, properties_length: int) -> int:
    """Return the bytes that a record takes in the log."""
    return HEADS[sys_flag & HOST_V6_FLAGS].size + body_length + topic_field_length + 2 + properties_length


def encode(
    message: Message,
    body: bytes,
    properties: bytes,
    topic: tuple[int, bytes],
    size: int,
    sys_flag: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    store_timestamp: int,
) -> bytes:
    """Return the encoded record.

    `topic` is from `topic_field`, `size` from `record_size`, `sys_flag` from `sys_flag_for`. Body, flag and
    properties may be those of a batch element.
    """
    if native is not None:
        record = native.record(
            size=size,
            queue_id=message.queue_id,
            flag=flag,
            queue_offset=queue_offset,
            physical_offset=physical_offset,
            sys_flag=sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=message.born_host,
            store_timestamp=store_timestamp,
            store_host=message.store_host,
            reconsume_times=message.reconsume_times,
            prepared=message.prepared_transaction_offset,
            body=body,
            topic=topic,
            properties=properties,
        )
        if record is not None:
            return record
    return b"".join(
        (
            HEADS[sys_flag & HOST_V6_FLAGS].pack(
                size,
                topic[0],
                crc32(body) & 0x7FFFFFFF,
                message.queue_id,
                flag,
                queue_offset,
                physical_offset,
                sys_flag,
                message.born_timestamp,
                message.born_host,
                store_timestamp,
                message.store_host,
                message.reconsume_times,
                message.prepared_transaction_offset,
                len(body),
            ),
            body,
            topic[1],
            _I2.pack(len(properties)),
            properties,
        )
    )


def with_room_for_crc(properties: bytes) -> bytes:
    """Return properties with room for the checksum that `fill_crc` fills in."""
    separator = b"\2" if properties and not properties.endswith(b"\2") else b""
    return properties + separator + _CRC_ROOM


def fill_crc(record: bytes) -> bytes:
    """Return the record with the checksum of all bytes before it as its last property.

    Ten digits, the least significant first. RocketMQ: `MessageDecoder.createCrc32`.
    """
    begin = record[:-CRC_SIZE]
    return b"".join((begin, _CRC_BEGIN, crc_digits(crc32(begin) & 0x7FFFFFFF), b"\2"))


def crc_digits(value: int) -> bytes:
    """Return the digits of a checksum as in the property."""
    return (b"%010d" % value)[::-1]


def blank(size: int) -> bytes:
    """Return the blank that ends a file with `size` bytes left."""
    return START.pack(size, BLANK_MAGIC)


def decode(data: bytes | memoryview, at: int = 0) -> StoredMessage:
    """Return the message of a record that is known to be valid."""
    sys_flag = _I4.unpack_from(data, at + SYS_FLAG_AT)[0]
    head = HEADS[sys_flag & HOST_V6_FLAGS]
    fields = head.unpack_from(data, at)
    body_at = at + head.size
    topic_at = body_at + fields[14]
    if fields[1] == MAGIC:
        topic_length = data[topic_at]
        topic_at += 1
    else:
        topic_length = _I2.unpack_from(data, topic_at)[0]
        topic_at += 2
    properties_at = topic_at + topic_length
    properties_end = properties_at + 2 + _I2.unpack_from(data, properties_at)[0]
    message = StoredMessage(
        str(data[topic_at:properties_at], "utf-8", "replace"),
        fields[3],
        bytes(data[body_at : body_at + fields[14]]),
        parse_properties(str(data[properties_at + 2 : properties_end], "utf-8", "replace")),
        fields[8],
        fields[9],
        fields[11],
        fields[4],
        sys_flag,
        fields[12],
        fields[13],
    )
    message.size = fields[0]
    message.body_crc = fields[2]
    message.queue_offset = fields[5]
    message.physical_offset = fields[6]
    message.store_timestamp = fields[10]
    return message


def decode_all(records: bytes) -> list[StoredMessage]:
    """Return the messages of concatenated records that are known to be valid."""
    found: list[StoredMessage] = []
    at = 0
    while at < len(records):
        message = decode(records, at)
        found.append(message)
        at += message.size
    return found


def topic_of(record: bytes) -> bytes:
    """Return the topic of a record that is known to be valid, in UTF-8."""
    begin, end = _topic_place(record)
    return record[begin:end]


def properties_of(record: bytes) -> dict[str, str]:
    """Return the properties of a record that is known to be valid."""
    return parse_properties(properties_text_of(record))


def properties_text_of(record: bytes) -> str:
    """Return the properties of a record that is known to be valid, as stored text."""
    return record[properties_start(record) :].decode("utf-8", "replace")


def properties_start(record: bytes) -> int:
    """Return the start of the properties' text, with which a record ends."""
    magic, sys_flag, length = _TO_TOPIC.unpack_from(record)
    if magic == MAGIC and not sys_flag & HOST_V6_FLAGS:
        topic_at = HEAD_SIZE + length
        return int(topic_at + record[topic_at]) + 3
    return _topic_place(record)[1] + 2


def _topic_place(record: bytes) -> tuple[int, int]:
    """Return begin and end of the topic's text."""
    body_at = HEADS[_I4.unpack_from(record, SYS_FLAG_AT)[0] & HOST_V6_FLAGS].size
    at = body_at + int(_I4.unpack_from(record, body_at - _I4.size)[0])
    if START.unpack_from(record)[1] == MAGIC:
        return at + 1, at + 1 + record[at]
    return at + 2, at + 2 + int(_I2.unpack_from(record, at)[0])


def is_sound(record: bytes, position: int, queue_id: int, queue_offset: int, topic: bytes) -> bool:
    """Return True if a record is certainly valid for this log position, queue and topic.

    A fast path for version 1 with IPv4 hosts. False decides nothing; then call `examine`.
    """
    if len(record) < HEAD_SIZE:
        return False
    size, magic, crc, its_queue, _, its_offset, place, sys_flag, _, _, _, _, _, _, length = (
        PLAIN_HEAD.unpack_from(record)
    )
    topic_at = HEAD_SIZE + length
    properties_at = topic_at + 1 + len(topic)
    return (
        place == position
        and its_offset == queue_offset
        and its_queue == queue_id
        and size == len(record) > properties_at + 1 > topic_at
        and magic == MAGIC
        and not sys_flag & HOST_V6_FLAGS
        and length >= 0
        and record[topic_at] == len(topic)
        and record[topic_at + 1 : properties_at] == topic
        and size == properties_at + 2 + (record[properties_at] << 8 | record[properties_at + 1])
        and crc32(record[HEAD_SIZE:topic_at]) & 0x7FFFFFFF == crc
        and record.find(_LOST, properties_at + 2) < 0
        and not record.startswith(_CRC_BEGIN, size - CRC_SIZE)
        and not record[size - 11 : size - 1].isdigit()
    )


Parts = tuple[bytes, int, int, int, int, int, bytes]
"""Topic, queue, queue offset, sys flag, store timestamp, size and properties of a record."""


def sound_parts(data: bytes, at: int, position: int, check_crc: bool) -> Parts | None:
    """Return the parts of the record at `at` if it is certainly valid at `position` of the log.

    A fast path for version 1 with IPv4 hosts. None decides nothing; then call `examine`.
    """
    total = len(data)
    if total - at < HEAD_SIZE:
        return None
    size, magic, crc, queue_id, _, queue_offset, place, sys_flag, _, _, stored, _, _, _, length = (
        PLAIN_HEAD.unpack_from(data, at)
    )
    end, body_at = at + size, at + HEAD_SIZE
    topic_at = body_at + length
    if not (
        magic == MAGIC
        and place == position
        and body_at <= topic_at < end - 2
        and end <= total
        and not sys_flag & HOST_V6_FLAGS
    ):
        return None
    topic_length = data[topic_at]
    properties_at = topic_at + 1 + topic_length
    if (
        topic_length > TOPIC_LENGTH_MAX_V1
        or properties_at + 2 > end
        or data[properties_at] > 127
        or properties_at + 2 + (data[properties_at] << 8 | data[properties_at + 1]) != end
    ):
        return None
    topic, properties = data[topic_at + 1 : properties_at], data[properties_at + 2 : end]
    if check_crc and (
        crc32(data[body_at:topic_at]) & 0x7FFFFFFF != crc
        or b"\0" in topic
        or b"\0" in properties
        or properties[-11:-1].isdigit()
        or properties.startswith(_CRC_BEGIN, len(properties) - CRC_SIZE)
    ):
        return None
    return topic, queue_id, queue_offset, sys_flag, stored, size, properties


def examine(data: bytes | memoryview, at: int, position: int, check_crc: bool) -> int | Invalid:
    """Return the size of the valid record at `at`, which is at `position` of the log.

    Returns 0 for a blank, else the reason why it is invalid. A record that exceeds `data` is invalid.
    """
    room = len(data) - at
    if room < BLANK_SIZE:
        return Invalid(f"only {room} bytes are left")
    size, magic = START.unpack_from(data, at)
    if magic == BLANK_MAGIC:
        return 0
    if magic not in (MAGIC, MAGIC_V2):
        return Invalid(f"the magic is 0x{magic & 0xFFFFFFFF:08X}")
    if not HEAD_SIZE < size <= room:
        return Invalid(f"the size is {size} with {room} bytes there")
    head = HEADS[_I4.unpack_from(data, at + SYS_FLAG_AT)[0] & HOST_V6_FLAGS]
    end = at + size
    body_at = at + head.size
    if body_at + 3 > end:
        return Invalid(f"the size is {size}")
    fields = head.unpack_from(data, at)
    width = 1 if magic == MAGIC else 2
    topic_at = body_at + fields[14]
    if fields[14] < 0 or topic_at + width + 2 > end:
        return Invalid(f"the body length is {fields[14]}")
    topic_length = data[topic_at] if width == 1 else _I2.unpack_from(data, topic_at)[0]
    properties_at = topic_at + width + topic_length
    if topic_length < 0 or (width == 1 and topic_length > TOPIC_LENGTH_MAX_V1) or properties_at + 2 > end:
        return Invalid(f"the topic length is {topic_length}")
    properties_length = _I2.unpack_from(data, properties_at)[0]
    if properties_length < 0 or properties_at + 2 + properties_length != end:
        return Invalid(f"the lengths inside do not add up to {size}")
    if fields[6] != position:
        return Invalid(f"the physical offset is {fields[6]}")
    if check_crc:
        if crc32(data[body_at:topic_at]) & 0x7FFFFFFF != fields[2]:
            return Invalid("the body does not match its CRC")
        shift = position - at
        if _lost_sector(data, topic_at + width, properties_at, shift) or _lost_sector(
            data, properties_at + 2, end, shift
        ):
            return Invalid("a part of topic or properties is zeros")
        if properties_length >= CRC_SIZE and not _matches_whole_crc(bytes(data[at:end])):
            return Invalid("the record does not match its CRC")
    return int(size)


def _matches_whole_crc(record: bytes) -> bool:
    """Return True if a record ends without a checksum of all its bytes, or with the right one.

    A checksum with one wrong byte in its name counts as one: it is not there by chance.
    """
    tail = record[-CRC_SIZE:]
    begin, digits = tail[: len(_CRC_BEGIN)], tail[len(_CRC_BEGIN) :]
    if begin != _CRC_BEGIN:
        is_near = digits[:-1].isdigit() and sum(map(ne, begin, _CRC_BEGIN)) == 1
        return not is_near
    return digits == crc_digits(crc32(record[:-CRC_SIZE]) & 0x7FFFFFFF) + b"\2"


def _lost_sector(data: bytes | memoryview, begin: int, end: int, shift: int) -> bool:
    """Return True if a whole sector's share of [begin, end), from a sector's start, is zeros.

    Byte n of `data` is at n + `shift` of the log, and files start with a sector.
    """
    start = begin + -(begin + shift) % SECTOR
    while start < end:
        stop = min(end, start + SECTOR)
        if not any(data[start:stop]):
            return True
        start = stop
    return False


def store_timestamp(head: bytes) -> int:
    """Return the store time in ms from the first `STORE_TIME_HEAD_SIZE` bytes of a record."""
    born_v6 = _I4.unpack_from(head, SYS_FLAG_AT)[0] & SysFlag.BORN_HOST_V6
    return int(_I8.unpack_from(head, BORN_HOST_AT + (20 if born_v6 else 8))[0])
