"""Stored records of both kinds that are compacted."""

from __future__ import annotations

import pytest

from mqgateway.engine.cleaner.batches import BatchCleaner
from mqgateway.engine.cleaner.offset_map import OffsetMap
from mqgateway.engine.cleaner.stored_records import clean_record, map_record
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.message import PROPERTY_KAFKA_NULL, PROPERTY_KEYS, SysFlag
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.batch_records import batch_place, offsets_of
from mqgateway.engine.store.expansion import expand
from mqgateway.engine.store.record import decode, examine
from tests.support.engine.cleaning import HOST, batch_record, stored

RETENTION = 1000
HOST_V6 = bytes(16) + HOST[4:]


def compacted(records: list[bytes], *, now: int = 0, end: int = -1) -> list[bytes]:
    """Return what stays of records."""
    offsets = OffsetMap(2 * BATCH_COUNT_MAX)
    assert all(map_record(record, offsets, PassedTransactions(())) for record in records)
    cleaner = BatchCleaner(offsets, PassedTransactions(()), {}, end, now, RETENTION)
    return [kept for record in records if (kept := clean_record(record, cleaner)) is not None]


def message(key: str, body: bytes, offset: int, **more: str) -> bytes:
    """Return the record of a message of RocketMQ."""
    return stored(body, {PROPERTY_KEYS: key, **more}, offset)


@pytest.mark.parametrize("has_crc_property", [False, True])
@pytest.mark.parametrize("host", [HOST, HOST_V6])
def test_rest_of_a_batch_is_a_valid_record(host: bytes, has_crc_property: bool) -> None:
    record = batch_record(
        5, [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], time=7, host=host, has_crc_property=has_crc_property
    )
    [kept] = compacted([record])
    assert examine(kept, 0, 5000, True) == len(kept)
    before, after = decode(record), decode(kept)
    assert len(after.body) < len(before.body)
    assert after.properties.keys() == before.properties.keys()
    assert (after.queue_offset, after.physical_offset, after.store_timestamp) == (5, 5000, 7)
    assert (after.born_host, after.store_host, after.born_timestamp) == (host, host, 9)
    assert offsets_of(kept) == offsets_of(record) == (5, 8)
    bodies = [decode(each) for each in expand(kept, lambda *problem: pytest.fail(str(problem)))]
    assert [(each.queue_offset, each.body) for each in bodies] == [(6, b"2"), (7, b"3")]


def test_unchanged_record_stays_as_it_is() -> None:
    record = batch_record(0, [(b"a", b"1")])
    [kept] = compacted([record])
    assert kept is record


def test_record_whose_batch_is_emptied_goes() -> None:
    assert compacted([batch_record(0, [(b"a", b"1")]), batch_record(1, [(b"a", b"2")])]) == [
        batch_record(1, [(b"a", b"2")])
    ]


def test_empty_batch_at_the_end_expands_to_nothing() -> None:
    [kept] = compacted([batch_record(0, [(None, b"1")])], end=1)
    place = batch_place(kept)
    assert place is not None
    assert Batch(memoryview(kept)[slice(*place)]).count == 0
    assert expand(kept, lambda *problem: pytest.fail(str(problem))) == []


def test_messages_and_batches_replace_one_another() -> None:
    records = [
        message("a", b"1", 0),
        batch_record(1, [(b"a", b"2"), (b"b", b"3")]),
        message("b", b"4", 3),
        message("c", b"5", 4),
    ]
    kept = compacted(records)
    assert [offsets_of(record) for record in kept] == [(1, 3), (3, 4), (4, 5)]
    assert kept[1:] == records[2:]


def test_message_without_key_goes() -> None:
    assert compacted([stored(b"1", {}, 0)]) == []


def test_empty_message_is_no_tombstone() -> None:
    assert len(compacted([message("a", b"", 0)], now=RETENTION)) == 1


def test_message_with_null_value_goes_after_the_retention() -> None:
    tombstone = message("a", b"", 0, **{PROPERTY_KAFKA_NULL: "1"})
    assert compacted([tombstone], now=RETENTION - 1) == [tombstone]
    assert compacted([tombstone], now=RETENTION) == []


def test_messages_of_one_record_stay_together() -> None:
    texts = [(b"1", b"KEYS\1a\2"), (b"2", b"KEYS\1b\2")]
    element = b"".join(
        (len(body) + len(text) + 22).to_bytes(4, "big")
        + bytes(12)
        + len(body).to_bytes(4, "big")
        + body
        + len(text).to_bytes(2, "big")
        + text
        for body, text in texts
    )
    properties = {"INNER_BASE": "0", "INNER_NUM": "2"}
    record = stored(element, properties, 0, sys_flag=SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
    assert offsets_of(record) == (0, 2)
    assert compacted([record, message("a", b"3", 2)]) == [record, message("a", b"3", 2)]
    assert compacted([record, batch_record(2, [(b"a", b"3"), (b"b", b"4")])]) == [
        batch_record(2, [(b"a", b"3"), (b"b", b"4")])
    ]


@pytest.mark.parametrize("position", [88 + 16, 88 + 23, 88 + 70, 88 + 150])
def test_damaged_batch_stays_as_it_is(position: int) -> None:
    """The bytes are the format, the offset of the last record, and two of the records."""
    record = batch_record(0, [(b"a", b"1" * 100), (b"a", b"2")])
    damaged = record[:position] + bytes((record[position] ^ 64,)) + record[position + 1 :]
    assert compacted([damaged, batch_record(2, [(b"a", b"3")])])[0] == damaged
