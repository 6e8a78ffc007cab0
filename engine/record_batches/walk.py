"""Records of a batch checked in one pass.

The function in C comes as far as the first record that is malformed, and the form in Python continues there,
which raises. So a fault is named once, and a batch is not read twice for it.
"""

from __future__ import annotations

from mqgateway.engine.extension import native
from mqgateway.engine.record_batches.errors import BadRecord, CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.records import RECORD_SIZE_MIN, Data, Record, read_record


class RecordsCheck:
    """Results of a check of all records.

    `least_delta` and `greatest_delta` are those of timestamps. `first_keyless` is the index of the first
    record with a null key, -1 if each has one.
    """

    __slots__ = ("first_keyless", "greatest_delta", "least_delta")

    def __init__(self, least_delta: int, greatest_delta: int, first_keyless: int) -> None:
        self.least_delta = least_delta
        self.greatest_delta = greatest_delta
        self.first_keyless = first_keyless


def walk_records(data: Data, count: int) -> RecordsCheck:
    """Check the records that a client produces: `count` of them and no more, with offset deltas 0, 1, 2 ...

    Raises `BadRecord` with the index of the first one that is malformed, or with -1 if their number is wrong.
    """
    reader = _enter(data, count)
    index, keyless = 0, -1
    deltas: list[int] = []
    if native is not None:
        index, reader.position, reader.elements, least, greatest, keyless = native.walk_records(data, count)
        deltas += (least, greatest)
    while index < count:
        record = _read(reader, index)
        if record.offset_delta != index:
            raise BadRecord(index, f"offset delta {record.offset_delta}")
        if record.key is None and keyless < 0:
            keyless = index
        deltas.append(record.timestamp_delta)
        index += 1
    _leave(reader, count)
    return RecordsCheck(min(deltas), max(deltas), keyless)


def _enter(data: Data, count: int) -> Reader:
    if count < 1:
        raise BadRecord(-1, f"a batch has {count} records")
    reader = Reader(data)
    try:
        reader.check_count(count, RECORD_SIZE_MIN)
    except CodecError as error:
        raise BadRecord(-1, error.reason, error.position) from None
    return reader


def _read(reader: Reader, index: int) -> Record:
    try:
        return read_record(reader)
    except CodecError as error:
        raise BadRecord(index, error.reason, error.position) from None


def _leave(reader: Reader, count: int) -> None:
    if reader.left():
        raise BadRecord(-1, f"{reader.left()} bytes follow the last of {count} records", reader.position)
