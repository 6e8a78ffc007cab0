"""Records of Kafka become the same messages in C as in Python, byte for byte, and have the same faults."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqgateway.engine import extension
from mqgateway.engine.message import SYSTEM_PROPERTIES
from mqgateway.engine.record_batches.batches import HEADER_SIZE, LOG_APPEND_TIME, build_batch
from mqgateway.engine.record_batches.mapping import KEYS_SIZE_MAX, SURELY_FITS
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store import expansion
from mqgateway.engine.store.expansion import HEADERS_MAX, MESSAGE_MAX, TOGETHER_MAX, Expanded, ExpandedBatch
from tests.support.engine.native_calls import records_data
from tests.support.engine.store.kafka_records import whole_record

native = extension.native
assert native is not None  # else it is not collected, see `conftest`

TEXTS = (
    *("", "order-1", "a b", "a\0b", "a\1b", "a\2b", "\x03", "ü", "€", "\U0001f600", "x" * KEYS_SIZE_MAX),
    *("1234567890", "#x1234567890", "#ü1234567890", "CRC32x1234567890", "CRC32#x1234567890", "2-x1234567890"),
    *("12x1234567890", "#1234567890", "x" * (KEYS_SIZE_MAX + 1), "ü" * 600, "CRC32€x1234567890"),
)
MALFORMED = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\xf0\x8f\xbf\xbf",
    b"a\x80",
)
values = st.none() | st.sampled_from([text.encode() for text in TEXTS]) | st.sampled_from(MALFORMED)
values |= st.binary(max_size=12) | st.text(max_size=8).map(str.encode)
NAMES = (
    "TAGS",
    "KEYS",
    "UNIQ_KEY",
    "__KKEY",
    "__KNULL",
    "__K",
    "__",
    "",
    "colour",
    "COLOUR",
    "x" * 40,
    "ü",
    "a\1",
)
names = st.sampled_from([*NAMES, *SYSTEM_PROPERTIES, "TAG", "TAGSX", "CLUSTE", "CLUSTERS"]) | st.text(
    max_size=4
)
times = st.sampled_from([0, 1, -1, -3000, 1 << 40, (1 << 63) - 1, -(1 << 63)]) | st.integers(-2000, 2000)
records = st.lists(
    st.builds(
        Record,
        key=values,
        value=st.none() | st.binary(max_size=40),
        headers=st.lists(st.tuples(names, values), max_size=4),
        timestamp_delta=times,
    ),
    min_size=1,
    max_size=6,
)


def outcome(record: bytes, offset: int, most: int) -> tuple[list[Expanded], list[tuple[int, str]]]:
    """Return the messages of a stored record, and the problems that are reported."""
    problems: list[tuple[int, str]] = []
    batch = ExpandedBatch(record, expansion.INFLATED_MAX)
    return list(
        batch.messages(offset, most, lambda position, what: problems.append((position, what)))
    ), problems


def both(
    record: bytes, offset: int = 0, most: int = TOGETHER_MAX
) -> tuple[list[Expanded], list[tuple[int, str]]]:
    """Return the same, which must be equal in C and in Python."""
    in_c = outcome(record, offset, most)
    with patch.object(expansion, "native", None):
        in_python = outcome(record, offset, most)
    assert in_c == in_python
    return in_c


def numbered(given_records: list[Record], gap: int = 1) -> list[Record]:
    """Return records with ascending offset deltas."""
    for number, record in enumerate(given_records):
        record.offset_delta = number * gap
    return given_records


class Spy:
    """The extension, and how many records it has expanded."""

    def __init__(self) -> None:
        self.done = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(native, name)

    def expand_records(self, **arguments: Any) -> tuple[int, int]:
        """Expand records."""
        assert native is not None
        done, last = native.expand_records(**arguments)
        self.done += done
        return done, last


def expanded_in_c(record: Record) -> bool:
    """Return True if the function in C makes the message of a record."""
    with patch.object(expansion, "native", Spy()) as spy:
        outcome(whole_record(build_batch([record], base_timestamp=1)), 0, 1)
    return spy.done == 1


@given(
    given_records=records,
    gap=st.integers(1, 3),
    base=times,
    flags=st.sampled_from([0, LOG_APPEND_TIME]),
    offset=st.sampled_from([0, 7, 1 << 40, (1 << 62) - 1]),
    skipped=st.integers(0, 7),
    most=st.integers(1, 4),
)
def test_messages_of_any_records_are_equal(
    given_records: list[Record], gap: int, base: int, flags: int, offset: int, skipped: int, most: int
) -> None:
    data = build_batch(numbered(given_records, gap), base_timestamp=base, max_timestamp=base, flags=flags)
    both(whole_record(data, queue_offset=offset, queue_id=3), offset + skipped, most)


@given(
    records,
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from([0, 1, 2, 0x3E, 0x7F, 0x80, 0xFF])), max_size=3),
)
@example([Record(None, b"v")], [(3, 2)])
def test_messages_of_damaged_records_and_their_faults_are_equal(
    given_records: list[Record], changes: list[tuple[int, int]]
) -> None:
    batch = build_batch(numbered(given_records), base_timestamp=1, max_timestamp=1)
    for place, byte in changes:
        batch[HEADER_SIZE + place % (len(batch) - HEADER_SIZE)] = byte
    both(whole_record(batch))


@pytest.mark.parametrize(
    "record",
    [
        Record(None, b"value"),
        Record(None, None),
        Record(b"order-1", b"value", [("TAGS", b"paid"), ("name", "zoë".encode())]),
        Record("ключ".encode(), b"value"),
        Record(bytes(8), b"value"),
        Record(b"two keys", b"value"),
        Record(b"", b""),
        Record(b"1700000000000", b"value", [("phone", b"+491701234567")]),
    ],
)
def test_usual_records_are_expanded_in_c(record: Record) -> None:
    assert expanded_in_c(record)


@pytest.mark.parametrize(
    "record",
    [
        Record(None, b"v", (), -2),
        Record(None, b"v", [("a", None)]),
        Record(None, b"v", [("a", b"")]),
        Record(None, b"v", [("a", b"\xff")]),
        Record(None, b"v", [("a", b"1"), ("a", b"2")]),
        Record(None, b"v", [("CLUSTER", b"1")]),
        Record(None, b"v", [("ü", b"1")]),
        Record(None, b"v", [("TAGS", "ü".encode())]),
        Record(b"k" * (SURELY_FITS + 1), b"v"),
        Record(b"#x1234567890", b"v"),
        Record(None, b"v", [(f"h{number}", b"x") for number in range(17)]),
    ],
)
def test_unusual_records_are_left_to_python(record: Record) -> None:
    assert not expanded_in_c(record)
    both(whole_record(build_batch([record], base_timestamp=1)))


def test_limits_of_messages_and_headers_are_equal() -> None:
    many = [("h", None)] * (HEADERS_MAX + 1)
    given_records = [
        Record(None, bytes(MESSAGE_MAX - 20)),
        Record(None, bytes(MESSAGE_MAX)),
        Record(None, b"v", many),
    ]
    found, problems = both(
        whole_record(build_batch(numbered([*given_records, Record(None, b"v")]), base_timestamp=1))
    )
    assert ([offset for offset, *_ in found], len(problems)) == ([0, 3], 2)


def test_bytes_behind_the_last_record_are_ignored_alike() -> None:
    batch = build_batch([Record(None, b"v")], base_timestamp=1) + b"more"
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    assert len(both(whole_record(batch))[0]) == 1


@given(st.lists(st.binary(max_size=9), max_size=6), st.integers(0, 6), st.integers(0, 40))
def test_ends_of_records_are_equal(values: list[bytes], count: int, size: int) -> None:
    """Those that are whole; a record that is truncated, or has a negative size, ends them."""
    data = records_data([Record(None, value) for value in values])
    ends, at = [], 0
    for value in values:
        at += len(records_data([Record(None, value)]))
        ends.append(at)
    count = min(count, len(data[:size]))
    expected = [end for end in ends[:count] if end <= size]
    starts = memoryview(native.record_starts(data[:size], 0, count)).cast("q")  # type: ignore[union-attr]
    assert list(starts) == expected
