"""The messages of a client's batch as bytes: as elements and split again, and encoded as records.

    element     = size i4, magic i4, crc i4, flag i4, body-length i4, body, properties

Integers are big-endian and signed; properties, and the records, are those of `record`.
Standard: `MessageDecoder.encodeMessage`, `MessageExtEncoder`.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, SysFlag
from mqgateway.engine.store.record import (
    BORN_HOST_AT,
    CRC_SIZE,
    HEADS,
    HOST_V6_FLAGS,
    PROPERTIES_LENGTH_MAX,
    SYS_FLAG_AT,
    crc32,
    crc_digits,
    fill_crc,
    with_room_for_crc,
)

_I2: Final = struct.Struct(">h")
_I4: Final = struct.Struct(">i")
_ELEMENT_HEAD: Final = struct.Struct(">iiiii")
_ELEMENT_SIZE: Final = _ELEMENT_HEAD.size
_ELEMENT_FLAG_AT: Final = 12
_BODY_LENGTH: Final = struct.Struct(">16xi")
ELEMENT_SIZE_MIN: Final = _ELEMENT_SIZE + _I2.size
"""Bytes of an element besides its body and properties."""
_PLACES: Final = {0: struct.Struct(">qq20sq"), SysFlag.BORN_HOST_V6: struct.Struct(">qq32sq")}
"""From the queue offset to the store timestamp: both offsets, the fields known before, the time."""
BUFFERS_PER_RECORD: Final = 4
_QUEUE_OFFSET_AT: Final = 20

Element = tuple[int, bytes, bytes]
"""One message of a client's batch: flag, body, and the properties as a record ends with them, behind their
length. Topic, queue and times are those of the request."""


def encode_element(body: bytes, flag: int, properties: bytes) -> bytes:
    """Encode a message as an element; `properties` is text of at most `PROPERTIES_LENGTH_MAX` bytes."""
    head = _ELEMENT_HEAD.pack(ELEMENT_SIZE_MIN + len(body) + len(properties), 0, 0, flag, len(body))
    return b"".join((head, body, _I2.pack(len(properties)), properties))


def element_with_room_for_crc(element: Element) -> Element:
    """As `with_room_for_crc`, for a message of a batch. Raises `MessageIllegal` when there is no room."""
    flag, body, tail = element
    properties = with_room_for_crc(tail[2:])
    if len(properties) > PROPERTIES_LENGTH_MAX:
        raise MessageIllegal("a message of the batch leaves no room for a checksum")
    return flag, body, _I2.pack(len(properties)) + properties


def element_ends(elements: bytes, at: int) -> tuple[int, int]:
    """Return where the body and the whole of the batch element at `at` end.

    Raises `MessageIllegal` for lengths that lead out of the batch. The size, magic and checksum there
    are ignored: some clients write a wrong size, and RocketMQ reads the two lengths alone.
    Standard: `MessageExtEncoder.encode(MessageExtBatch)`.
    """
    left = len(elements) - at
    if left < ELEMENT_SIZE_MIN:
        raise MessageIllegal(f"a batch element has only {left} bytes")
    body_length = _BODY_LENGTH.unpack_from(elements, at)[0]
    if not 0 <= body_length <= left - ELEMENT_SIZE_MIN:
        raise MessageIllegal(f"a batch element has a body of {body_length} bytes, and {left} are left")
    body_end = at + _ELEMENT_SIZE + body_length
    properties_length = _I2.unpack_from(elements, body_end)[0]
    end = body_end + 2 + properties_length
    if not body_end + 2 <= end <= len(elements):
        raise MessageIllegal(f"a batch element has properties of {properties_length} bytes")
    return body_end, end


def split_batch(elements: bytes) -> list[Element]:
    """Split a batch body into its messages. Raises `MessageIllegal` for bytes that do not add up.

    Elements keep exactly their own properties.
    """
    found = []
    at, total = 0, len(elements)
    while at < total:
        body_end, end = element_ends(elements, at)
        flag = _I4.unpack_from(elements, at + _ELEMENT_FLAG_AT)[0]
        found.append((flag, elements[at + _ELEMENT_SIZE : body_end], elements[body_end:end]))
        at = end
    if not found:
        raise MessageIllegal("the batch is empty")
    return found


def count_batch(elements: bytes, most: int) -> int:
    """Count the messages that `split_batch` would find, up to one above `most`. Raises as that does."""
    count, at, total = 0, 0, len(elements)
    while at < total and count <= most:
        _, at = element_ends(elements, at)
        count += 1
    return count


def batch_sizes(parts: list[Element], topic: tuple[int, bytes], sys_flag: int) -> list[int]:
    """Bytes that the records of a batch take in the log."""
    rest = HEADS[sys_flag & HOST_V6_FLAGS].size + len(topic[1])
    return [rest + len(body) + len(properties) for _, body, properties in parts]


def encode_batch(
    message: Message,
    parts: list[Element],
    topic: tuple[int, bytes],
    sizes: list[int],
    sys_flag: int,
    queue_offset: int,
    physical_offset: int,
    store_timestamp: int,
) -> list[bytes]:
    """Return the records of a batch, which lie one behind the other, in `BUFFERS_PER_RECORD` buffers each.

    `sizes` are from `batch_sizes`, the offsets are those of the first; else as `encode`."""
    magic, field = topic
    queue_id, born_timestamp, born_host = message.queue_id, message.born_timestamp, message.born_host
    store_host, reconsume_times = message.store_host, message.reconsume_times
    prepared, pack = message.prepared_transaction_offset, HEADS[sys_flag & HOST_V6_FLAGS].pack
    buffers: list[bytes] = []
    for (flag, body, properties), size in zip(parts, sizes, strict=True):
        buffers += (
            pack(
                size,
                magic,
                crc32(body) & 0x7FFFFFFF,
                queue_id,
                flag,
                queue_offset,
                physical_offset,
                sys_flag,
                born_timestamp,
                born_host,
                store_timestamp,
                store_host,
                reconsume_times,
                prepared,
                len(body),
            ),
            body,
            field,
            properties,
        )
        physical_offset += size
        queue_offset += 1
    return buffers


def place_batch(
    records: bytearray,
    sizes: list[int],
    sys_flag: int,
    queue_offset: int,
    physical_offset: int,
    store_timestamp: int,
    has_crc: bool,
) -> None:
    """Give records of `encode_batch`, which lie one behind the other, the place and time they are stored at;
    with `has_crc` they get checksums as by `fill_crc`. The offsets are those of the first."""
    place = _PLACES[sys_flag & SysFlag.BORN_HOST_V6].pack_into
    born = bytes(records[SYS_FLAG_AT : BORN_HOST_AT + (20 if sys_flag & SysFlag.BORN_HOST_V6 else 8)])
    view = memoryview(records)
    at = 0
    for size in sizes:
        place(records, at + _QUEUE_OFFSET_AT, queue_offset, physical_offset + at, born, store_timestamp)
        end = at + size
        if has_crc:
            records[end - 11 : end - 1] = crc_digits(crc32(view[at : end - CRC_SIZE]) & 0x7FFFFFFF)
        at = end
        queue_offset += 1


def fill_crcs(buffers: list[bytes]) -> list[bytes]:
    """Return the records of `encode_batch`, whose properties have room for it, each with its checksum."""
    return [
        fill_crc(b"".join(buffers[at : at + BUFFERS_PER_RECORD]))
        for at in range(0, len(buffers), BUFFERS_PER_RECORD)
    ]
