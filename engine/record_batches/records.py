"""Records inside a batch of format 2.

A record is its length, attributes, deltas of timestamp and offset to those of the batch, key, value and
headers. Keys and values are views of the buffer, or copies. Standard: `DefaultRecord`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.writer import write_varint

Data = bytes | memoryview
Parts = tuple[Data | None, Data | None, tuple[tuple[str, Data | None], ...], int, int]
"""Key, value, headers, and the deltas of timestamp and offset to those of the batch."""
RECORD_SIZE_MIN: Final = 7
"""A record with null key and value and no headers, at the smallest deltas."""
HEADER_SIZE_MIN: Final = 2
TOGETHER: Final = 64
"""Records that the function in C reads at a time. It ends before one that is malformed."""


class Record:
    """A record. Header names may repeat, and their order is kept."""

    __slots__ = ("headers", "key", "offset_delta", "timestamp_delta", "value")

    def __init__(
        self,
        key: Data | None,
        value: Data | None,
        headers: Sequence[tuple[str, Data | None]] = (),
        timestamp_delta: int = 0,
        offset_delta: int = 0,
    ) -> None:
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp_delta = timestamp_delta
        self.offset_delta = offset_delta

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.key == other.key
            and self.value == other.value
            and tuple(self.headers) == tuple(other.headers)
            and self.timestamp_delta == other.timestamp_delta
            and self.offset_delta == other.offset_delta
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        deltas = f"{self.timestamp_delta}, {self.offset_delta}"
        return f"Record({self.key!r}, {self.value!r}, {self.headers!r}, {deltas})"


def read_records(data: Data, count: int) -> Iterator[Record]:
    """Yield the records of a batch, of which there must be `count` and nothing else."""
    reader = Reader(data)
    reader.check_count(count, RECORD_SIZE_MIN)
    index = 0
    while index < count:
        if native is not None:
            parts: list[Parts] = []
            most = min(count - index, TOGETHER)
            position = reader.position
            reader.position, reader.elements = native.cut_records(
                data, position, most, reader.elements, parts
            )
            for key, value, headers, timestamp_delta, offset_delta in parts:
                yield Record(key, value, headers, timestamp_delta, offset_delta)
            index += len(parts)
            if parts:
                continue
        try:
            yield read_record(reader)
        except CodecError as error:
            error.within(f"records.[{index}]")
            raise
        index += 1
    if reader.left():
        raise CodecError(f"{reader.left()} bytes follow the last of {count} records", reader.position)


def read_record(reader: Reader) -> Record:
    """Read a record."""
    start = reader.position
    length = reader.varint()
    if length < 0 or length > reader.left():
        raise CodecError(f"record of {length} bytes, {reader.left()} left", start)
    end = reader.position + length
    reader.take(1)  # Attributes; none are defined.
    timestamp_delta = reader.varlong()
    offset_delta = reader.varint()
    key = read_data(reader)
    value = read_data(reader)
    count = reader.varint()
    if count < 0:
        raise CodecError(f"negative number of headers {count}", reader.position)
    headers: list[tuple[str, Data | None]] = []
    if count:
        reader.check_count(count, HEADER_SIZE_MIN)
        for _ in range(count):
            size = reader.varint()
            headers.append((reader.string(size), read_data(reader)))
    if reader.position != end:
        raise CodecError(f"record of {length} bytes ends at byte {reader.position}, not {end}", start)
    return Record(key, value, headers, timestamp_delta, offset_delta)


def read_data(reader: Reader) -> memoryview | None:
    """Read bytes with a signed length, which is -1 for null."""
    size = reader.varint()
    if size == -1:
        return None
    return reader.take(size)


def write_record(out: bytearray, record: Record) -> None:
    """Append a record."""
    body = bytearray(1)
    write_varint(body, record.timestamp_delta)
    write_varint(body, record.offset_delta)
    write_data(body, record.key)
    write_data(body, record.value)
    write_varint(body, len(record.headers))
    for name, value in record.headers:
        write_data(body, name.encode("utf-8", "replace"))
        write_data(body, value)
    write_varint(out, len(body))
    out += body


def write_data(out: bytearray, data: Data | None) -> None:
    """Append bytes with their signed length."""
    if data is None:
        out.append(1)
    else:
        write_varint(out, len(data))
        out += data
