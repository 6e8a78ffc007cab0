"""Primitive types read from a memory view.

Every read is checked against the bytes left before anything is allocated. A count of elements must fit both
the bytes left and what the reader may still read (`elements`).
Standard: `ByteBufferAccessor`, `ByteUtils`; the protocol guide's "Protocol Primitive Types".
"""

from __future__ import annotations

import struct
from typing import Any, Final

from mqgateway.engine.record_batches.errors import CodecError

ELEMENTS_MAX: Final = 250_000
"""Elements of all arrays of one message together."""
INT_MAX: Final = 0x7FFFFFFF

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


class Reader:
    """Position in a buffer. The buffer must stay unchanged while views of it are in use."""

    __slots__ = ("data", "elements", "end", "position")

    def __init__(
        self, data: bytes | bytearray | memoryview, position: int = 0, elements: int = ELEMENTS_MAX
    ) -> None:
        self.data = memoryview(data)
        self.end = len(data)
        self.position = position
        self.elements = elements

    def left(self) -> int:
        """Return the number of bytes that have not been read."""
        return self.end - self.position

    def unpack(self, fixed: struct.Struct) -> tuple[Any, ...]:
        """Read fields of fixed size."""
        position = self.position
        if fixed.size > self.end - position:
            raise CodecError(f"{fixed.size} bytes expected, {self.end - position} left", position)
        self.position = position + fixed.size
        return fixed.unpack_from(self.data, position)

    def take(self, size: int) -> memoryview:
        """Read bytes as a view."""
        position = self.position
        if size < 0 or size > self.end - position:
            raise CodecError(f"{size} bytes expected, {self.end - position} left", position)
        self.position = position + size
        return self.data[position : position + size]

    def int16(self) -> int:
        """Read an int16."""
        return int(self.unpack(_INT16)[0])

    def int32(self) -> int:
        """Read an int32."""
        return int(self.unpack(_INT32)[0])

    def unsigned_varint(self) -> int:
        """Read an unsigned varint of at most 32 bits."""
        data, position, end = self.data, self.position, self.end
        if position < end and (value := data[position]) < 0x80:
            self.position = position + 1
            return value
        return self._varint(32)

    def _varint(self, bits: int) -> int:
        start = self.position
        value = shift = 0
        for position in range(start, self.end):
            byte = self.data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> bits:
                    raise CodecError(f"varint is longer than {bits} bits", start)
                self.position = position + 1
                return value
            shift += 7
            if shift >= bits:
                raise CodecError(f"varint is longer than {bits} bits", start)
        raise CodecError("varint has no end", start)

    def varint(self) -> int:
        """Read a signed (zigzag) varint of at most 32 bits."""
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)

    def varlong(self) -> int:
        """Read a signed (zigzag) varint of at most 64 bits."""
        value = self._varint(64)
        return (value >> 1) ^ -(value & 1)

    def compact_length(self) -> int:
        """Read a compact length; -1 is null."""
        length = self.unsigned_varint() - 1
        if length > INT_MAX:
            raise CodecError(f"length {length} is more than {INT_MAX}", self.position)
        return length

    def string(self, length: int) -> str:
        """Read UTF-8; malformed bytes become U+FFFD, as with Apache Kafka."""
        return str(self.take(length), "utf-8", "replace")

    def check_count(self, count: int, least: int) -> None:
        """Raise if `count` elements of at least `least` bytes cannot follow."""
        if count * least > self.end - self.position:
            left = self.end - self.position
            raise CodecError(
                f"{count} elements of {least} bytes or more expected, {left} bytes left", self.position
            )
        self.elements -= count
        if self.elements < 0:
            raise CodecError(f"{count} elements exceed the limit of a message", self.position)
