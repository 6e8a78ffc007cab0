"""Times of records in both kinds of queue, read a few at a time."""

from __future__ import annotations

from mqgateway.engine.store.record_times import TOGETHER, RecordTime
from tests.support.engine.store.kafka_batches import BASE, TOPIC, fill_kafka
from tests.support.engine.store.stores import Bench, message


def read_times(bench: Bench, topic: str, offset: int, end: int) -> list[RecordTime]:
    """Return all times from an offset on."""
    found: list[RecordTime] = []
    while offset < end:
        times, next_offset = bench.store.record_times.read(topic, 0, offset, end)
        assert offset < next_offset <= end and len(times) <= TOGETHER
        found += times
        offset = next_offset
    return found


def test_times_of_batches_are_those_of_their_latest_records() -> None:
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    fill_kafka(bench, *[3] * 25)
    expected = [RecordTime(number * 3, BASE + 2) for number in range(25)]
    assert read_times(bench, TOPIC, 0, 75) == expected
    assert read_times(bench, TOPIC, 4, 60) == expected[1:20]


def test_times_of_messages_are_their_born_timestamps() -> None:
    bench = Bench(mapped_file_size_consume_queue=200)
    for number in range(TOGETHER + 40):
        put = message("T", 0, b"body", {})
        put.born_timestamp = BASE + number
        bench.put(put)
    expected = [RecordTime(number, BASE + number) for number in range(TOGETHER + 40)]
    assert read_times(bench, "T", 0, TOGETHER + 40) == expected
    assert read_times(bench, "T", 7, TOGETHER) == expected[7:TOGETHER]


def test_times_of_records_that_are_gone_are_left_out() -> None:
    bench = Bench()
    fill_kafka(bench, 1, 1)
    assert bench.store.record_times.read("gone", 0, 0, 5) == ([], 5)
    assert bench.store.record_times.read(TOPIC, 0, 2, 2) == ([], 2)
    assert bench.store.record_times.read(TOPIC, 0, 2, 9) == ([], 9)
