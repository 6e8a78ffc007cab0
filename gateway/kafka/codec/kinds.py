"""Types of fields, each with its smallest size, a reader and a writer.

A value that a type cannot carry raises `CodecError`, as bytes that are none of it do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import INT_MAX, Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint
from mqgateway.engine.steps import PART, Steps
from mqgateway.gateway.kafka.codec.series import Series

FORMATS: Final = {
    "bool": "?",
    "float64": "d",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "int8": "b",
    "uint16": "H",
    "uint32": "I",
    "uuid": "16s",
}
"""Types of fixed size as `struct` names them."""
SHORT_MAX: Final = 0x7FFF
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


class SchemaType:
    """A type. `least` is its smallest size in bytes. A value of a type that `is_long` may have many parts;
    it can be read and written as a cooperative task."""

    def __init__(self, least: int = 1) -> None:
        self.least = least
        self.is_long = False

    def read(self, reader: Reader) -> Any:
        """Read a value."""
        raise NotImplementedError

    def write(self, out: bytearray, value: Any) -> None:
        """Append a value."""
        raise NotImplementedError

    def reading(self, reader: Reader) -> Steps[Any]:
        """Read a value of a type that `is_long` as a cooperative task."""
        raise NotImplementedError

    def writing(self, out: bytearray, value: Any) -> Steps[None]:
        """Append a value of a type that `is_long` as a cooperative task."""
        raise NotImplementedError


class Fixed(SchemaType):
    """A value of fixed size."""

    def __init__(self, kind: str) -> None:
        self.struct = struct.Struct(">" + FORMATS[kind])
        super().__init__(self.struct.size)
        self._exact = self.least if kind == "uuid" else 0

    def read(self, reader: Reader) -> Any:
        """Read a value."""
        return reader.unpack(self.struct)[0]

    def write(self, out: bytearray, value: Any) -> None:
        """Append a value."""
        if self._exact and len(value) != self._exact:
            raise CodecError(f"a uuid has {self._exact} bytes, not {len(value)}")
        out += self.struct.pack(value)


class Sized(SchemaType):
    """A type with a length before it: compact, or of two (strings) or four bytes."""

    def __init__(self, flexible: bool, nullable: bool, short: bool = False) -> None:
        super().__init__(1 if flexible else 2 if short else 4)
        self.flexible = flexible
        self.nullable = nullable
        self.short = short

    def read_length(self, reader: Reader) -> int:
        """Read a length; -1 is null. Any negative length of a value that may be null is, as in Kafka."""
        start = reader.position
        if self.flexible:
            length = reader.compact_length()
        else:
            length = reader.int16() if self.short else reader.int32()
        if length >= 0:
            return length
        if self.nullable:
            return -1
        raise CodecError(
            "null where a value is required" if length == -1 else f"negative length {length}", start
        )

    def write_length(self, out: bytearray, length: int) -> None:
        """Append a length; -1 is null."""
        if length < 0 and not self.nullable:
            raise CodecError("null where a value is required")
        limit = SHORT_MAX if self.short else INT_MAX
        if length > limit:
            raise CodecError(f"length {length} is more than {limit}")
        if self.flexible:
            write_unsigned_varint(out, length + 1)
        else:
            out += (_INT16 if self.short else _INT32).pack(length)


class String(Sized):
    """A string; lone surrogates are written as `?`, as Java does."""

    def read(self, reader: Reader) -> str | None:
        """Read a string."""
        length = self.read_length(reader)
        return None if length < 0 else reader.string(length)

    def write(self, out: bytearray, value: str | None) -> None:
        """Append a string."""
        if value is None:
            self.write_length(out, -1)
        else:
            data = value.encode("utf-8", "replace")
            self.write_length(out, len(data))
            out += data


class Bytes(Sized):
    """Bytes, copied from the buffer."""

    def read(self, reader: Reader) -> bytes | None:
        """Read bytes."""
        length = self.read_length(reader)
        return None if length < 0 else bytes(reader.take(length))

    def write(self, out: bytearray, value: bytes | memoryview | None) -> None:
        """Append bytes."""
        if value is None:
            self.write_length(out, -1)
        else:
            self.write_length(out, len(value))
            out += value


class RecordData(Bytes):
    """Record batches, a view of the buffer."""

    def read(self, reader: Reader) -> Any:
        """Read a view."""
        length = self.read_length(reader)
        return None if length < 0 else reader.take(length)


class Array(Sized):
    """Values of one type."""

    def __init__(self, element: SchemaType, flexible: bool, nullable: bool) -> None:
        super().__init__(flexible, nullable)
        self.is_long = True
        self._element = element

    def read(self, reader: Reader) -> tuple[Any, ...] | None:
        """Read the values as a tuple."""
        count = self.read_length(reader)
        if count < 0:
            return None
        element = self._element
        reader.check_count(count, element.least)
        read = element.read
        values: list[Any] = []
        try:
            for _ in range(count):
                values.append(read(reader))
        except CodecError as error:
            error.within(f"[{len(values)}]")
            raise
        return tuple(values)

    def write(self, out: bytearray, value: Sequence[Any] | None) -> None:
        """Append the values."""
        if value is None:
            self.write_length(out, -1)
            return
        self.write_length(out, len(value))
        write = self._element.write
        if isinstance(value, Series):
            out += value.encoded(write)
            return
        for index, one in enumerate(value):
            try:
                write(out, one)
            except CodecError as error:
                error.within(f"[{index}]")
                raise

    def reading(self, reader: Reader) -> Steps[tuple[Any, ...] | None]:
        """Read the values as a cooperative task."""
        count = self.read_length(reader)
        if count < 0:
            return None
        element = self._element
        reader.check_count(count, element.least)
        values: list[Any] = []
        try:
            for index in range(count):
                if element.is_long:
                    values.append((yield from element.reading(reader)))
                else:
                    values.append(element.read(reader))
                if index % PART == PART - 1:
                    yield
        except CodecError as error:
            error.within(f"[{len(values)}]")
            raise
        return tuple(values)

    def writing(self, out: bytearray, value: Sequence[Any] | None) -> Steps[None]:
        """Append the values as a cooperative task."""
        if value is None:
            self.write_length(out, -1)
            return
        if isinstance(value, Series):
            self.write(out, value)
            return
        self.write_length(out, len(value))
        element = self._element
        for index, one in enumerate(value):
            if element.is_long:
                yield from element.writing(out, one)
            else:
                element.write(out, one)
            if index % PART == PART - 1:
                yield


class NumberArray(Array):
    """An array of values of fixed size, read and written at once."""

    def __init__(self, element: Fixed, flexible: bool, nullable: bool) -> None:
        super().__init__(element, flexible, nullable)
        self.is_long = False
        self._letters = element.struct.format[1:]
        self._size = element.least
        self._plain = len(self._letters) == 1

    def read(self, reader: Reader) -> tuple[Any, ...] | None:
        """Read the values as a tuple."""
        if not self._plain:
            return super().read(reader)
        count = self.read_length(reader)
        if count < 0:
            return None
        reader.check_count(count, self._size)
        return struct.unpack(f">{count}{self._letters}", reader.take(count * self._size))

    def write(self, out: bytearray, value: Sequence[Any] | None) -> None:
        """Append the values."""
        if value is None or not self._plain:
            super().write(out, value)
            return
        self.write_length(out, len(value))
        out += struct.pack(f">{len(value)}{self._letters}", *value)


class Nullable(SchemaType):
    """A struct that may be null: a byte says whether it follows."""

    def __init__(self, inner: SchemaType) -> None:
        super().__init__()
        self._inner = inner

    def read(self, reader: Reader) -> Any:
        """Read the struct, or None."""
        start = reader.position
        present = reader.take(1)[0]
        if present == 0xFF:
            return None
        if present != 1:
            raise CodecError(f"{present} where 1 (present) or 255 (null) is expected", start)
        return self._inner.read(reader)

    def write(self, out: bytearray, value: Any) -> None:
        """Append the struct, or that it is null."""
        if value is None:
            out.append(0xFF)
        else:
            out.append(1)
            self._inner.write(out, value)
