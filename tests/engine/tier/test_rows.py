"""Rows of plain records: the same fields and hashes as the walk reads, up to the first unusual record."""

import pytest

from mqgateway.engine.message import PROPERTY_CRC32, SysFlag, tags_code
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import blank, encode, record_size, sys_flag_for, topic_field
from mqgateway.engine.tier.rows import HASHES_MAX, RowReader
from tests.support.engine.store.stores import HOST_V6, message

BEGIN = 7000
STORED = 1_700_000_000_500


def record_of(
    position: int, properties: bytes = b"", topic: str = "orders", body: bytes = b"hello", sys_flag: int = 0
) -> bytes:
    one = message(topic, 3, body)
    one.sys_flag = sys_flag
    if sys_flag & SysFlag.STORE_HOST_V6:
        one.store_host = HOST_V6
    field, flag = topic_field(topic, True), sys_flag_for(one)
    size = record_size(flag, len(body), len(field[1]), len(properties))
    return encode(one, body, properties, field, size, flag, 0, position, position, STORED)


def log_of(*properties: bytes) -> bytes:
    data = b""
    for each in properties:
        data += record_of(BEGIN + len(data), each)
    return data


def test_rows_have_the_fields_and_hashes_of_records() -> None:
    data = log_of(b"TAGS\1blue\2UNIQ_KEY\1U1\2KEYS\1a  b\2", b"", b"TAGS\1x\2TAGS\1y\2a\1TAGS\1z")
    hashes = KeyHashes()
    rows, end = RowReader().rows(data, 0, len(data), BEGIN, 99)
    assert end == len(data)
    assert [row[:2] + row[3:5] for row in rows] == [(b"orders", 3, 0, STORED)] * 3
    assert [row[2] for row in rows] == [BEGIN, BEGIN + rows[0][5], BEGIN + rows[0][5] + rows[1][5]]
    assert [row[6] for row in rows] == [tags_code("blue"), 0, tags_code("y")]
    assert rows[0][7] == (
        *(hashes.of_key("orders", key) for key in ("U1", "a", "b")),
        hashes.of_tags("orders", "blue"),
    )
    assert [row[7] for row in rows[1:]] == [(), (hashes.of_tags("orders", "y"),)]


@pytest.mark.parametrize(
    "unusual",
    [
        {"properties": b"INNER_BASE\0015"},
        {"properties": b"KEYS\1" + b"k " * (HASHES_MAX + 1)},
        {"properties": "TAGS\1ü".encode()},
        {"properties": b"a\1\0"},
        {"properties": PROPERTY_CRC32.encode() + b"\1" + b"1" * 10 + b"\2"},
        {"topic": "ü"},
        {"topic": "t" * 200},
        {"sys_flag": SysFlag.INNER_BATCH},
        {"sys_flag": SysFlag.STORE_HOST_V6},
    ],
    ids=str,
)
def test_rows_end_before_an_unusual_record(unusual: dict[str, object]) -> None:
    data = log_of(b"", b"")
    more = data + record_of(BEGIN + len(data), **unusual)  # type: ignore[arg-type]
    rows, end = RowReader().rows(more + log_of(b""), 0, len(more), BEGIN, 99)
    assert (len(rows), end) == (2, len(data))


def test_prepared_records_have_rows_with_their_flag() -> None:
    data = record_of(BEGIN, sys_flag=SysFlag.TRANSACTION_PREPARED)
    [row], _ = RowReader().rows(data, 0, len(data), BEGIN, 99)
    assert row[3] == SysFlag.TRANSACTION_PREPARED


def test_rows_end_before_damage() -> None:
    data = bytearray(log_of(b"", b"", b""))
    size = len(data) // 3
    for at in (size + 90, size + 30, size + 6):
        damaged = data[:]
        damaged[at] ^= 1
        assert RowReader().rows(bytes(damaged), 0, len(damaged), BEGIN, 99)[1] == size


def test_rows_begin_at_an_index_and_are_limited() -> None:
    data = log_of(b"", b"", b"")
    size = len(data) // 3
    reader = RowReader()
    assert reader.rows(data, size, len(data), BEGIN + size, 99)[1] == len(data)
    assert reader.rows(data, 0, len(data), BEGIN, 2)[1] == 2 * size
    assert reader.rows(data, 0, len(data), BEGIN, 0) == ([], 0)
    assert reader.rows(data, 0, 2 * size - 1, BEGIN, 99)[1] == size
    assert reader.rows(data[:-1], 0, len(data), BEGIN, 99)[1] == 2 * size
    assert reader.rows(data, 0, len(data), BEGIN + 1, 99) == ([], 0)
    assert reader.rows(data, size, 0, BEGIN + size, 99) == ([], size)


def test_blanks_and_nothing_have_no_row() -> None:
    assert RowReader().rows(blank(200) + bytes(192), 0, 200, BEGIN, 99) == ([], 0)
    assert RowReader().rows(b"", 0, 0, BEGIN, 99) == ([], 0)


def test_codes_of_many_tags_are_not_kept() -> None:
    reader = RowReader()
    assert [reader.code(b"%d" % number) for number in range(20_000)] == [
        tags_code(str(number)) for number in range(20_000)
    ]
    assert reader.code(None) == 0
    assert len(reader._codes) <= 10_000
