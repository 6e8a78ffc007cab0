"""Fields of hand-written codecs.

Such a codec takes what clients send as a rule: no tagged fields, no null where a value is required. Anything
else raises, and the plan of the message decides.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint

NOT_PLAIN: Final = (CodecError, struct.error, TypeError, AttributeError, ValueError)
"""Errors after which the plan of the message is asked."""
SHORT_MAX: Final = 0x7FFF
UUID_SIZE: Final = 16
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


def read_text(reader: Reader, flexible: bool) -> str | None:
    """Read a string that may be null."""
    length = reader.compact_length() if flexible else reader.int16()
    return None if length < 0 else reader.string(length)


def read_name(reader: Reader, flexible: bool) -> str:
    """Read a string."""
    return reader.string(reader.compact_length() if flexible else reader.int16())


def read_count(reader: Reader, flexible: bool, least: int) -> int:
    """Read the number of elements of an array, each of at least so many bytes."""
    count = reader.compact_length() if flexible else reader.int32()
    if count < 0:
        raise CodecError("null where a value is required")
    reader.check_count(count, least)
    return count


def read_end(reader: Reader) -> None:
    """Read that no tagged fields follow."""
    if reader.unsigned_varint():
        raise CodecError("tagged fields")


def write_name(out: bytearray, flexible: bool, name: str) -> None:
    """Append a string."""
    data = name.encode("utf-8", "replace")
    size = len(data)
    if size > SHORT_MAX:
        raise CodecError(f"length {size} is more than {SHORT_MAX}")
    if flexible:
        write_unsigned_varint(out, size + 1)
    else:
        out += _INT16.pack(size)
    out += data


def write_topic(out: bytearray, flexible: bool, has_id: bool, name: str, topic_id: bytes) -> None:
    """Append the name of a topic, or its id in versions that have that."""
    if not has_id:
        write_name(out, flexible, name)
    elif len(topic_id) == UUID_SIZE:
        out += topic_id
    else:
        raise CodecError(f"a uuid has {UUID_SIZE} bytes, not {len(topic_id)}")


def write_count(out: bytearray, flexible: bool, count: int) -> None:
    """Append a number of elements or bytes; -1 is null."""
    if flexible:
        write_unsigned_varint(out, count + 1)
    else:
        out += _INT32.pack(count)
