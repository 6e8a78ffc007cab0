"""Types of fields: what they refuse."""

from typing import Any

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.kinds import (
    Array,
    Bytes,
    Fixed,
    Nullable,
    NumberArray,
    RecordData,
    SchemaType,
    String,
)

COMPACT_TEXT = String(True, False, short=True)
TEXT = String(False, False, short=True)


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        (TEXT, "ffff", "null where a value is required"),
        (TEXT, "fffe", "negative length -2"),
        (COMPACT_TEXT, "00", "null where a value is required"),
        (COMPACT_TEXT, "05616263", "4 bytes expected, 3 left"),
        (Bytes(False, False), "80000000", "negative length -2147483648"),
        (Bytes(False, False), "7fffffff00", "2147483647 bytes expected, 1 left"),
        (Bytes(True, False), "ffffffff0f", "length 4294967294 is more than"),
        (Array(TEXT, False, False), "7fffffff0000", "2147483647 elements of 2 bytes or more"),
        (Array(TEXT, False, False), "00000002000161ffff", r"\[1\] at byte 7: null"),
        (NumberArray(Fixed("int32"), True, False), "0400000001", "3 elements of 4 bytes or more"),
        (Nullable(TEXT), "02", "2 where 1"),
        (Fixed("int64"), "00000000000000", "8 bytes expected, 7 left"),
    ],
)
def test_malformed_bytes_are_refused(kind: SchemaType, data: str, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        kind.read(Reader(bytes.fromhex(data)))


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (TEXT, None, "null where a value is required"),
        (TEXT, "x" * 32768, "length 32768 is more than 32767"),
        (COMPACT_TEXT, "x" * 32768, "length 32768 is more than 32767"),
        (Fixed("uuid"), b"short", "a uuid has 16 bytes, not 5"),
        (Array(TEXT, True, False), ["a", None], r"\[1\]: null"),
    ],
)
def test_values_that_do_not_fit_are_refused(kind: SchemaType, value: Any, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        kind.write(bytearray(), value)


def test_records_are_a_view_of_the_buffer() -> None:
    data = bytearray(b"\x04abc")
    view = RecordData(True, False).read(Reader(data))
    data[1:2] = b"x"
    assert bytes(view) == b"xbc"


def test_lone_surrogate_is_written_as_a_question_mark() -> None:
    out = bytearray()
    TEXT.write(out, "a\ud800")
    assert out == b"\x00\x02a?"
