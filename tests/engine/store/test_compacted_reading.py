"""Every way to read a queue whose older part is compacted."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import PROPERTY_KEYS
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.expansion import unique_key
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.engine.store.record_times import RecordTime
from mqgateway.engine.store.results import TransferLimits
from tests.engine.store.test_cold import ColdDisk
from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.kafka_batches import TOPIC, read_all
from tests.support.engine.store.stores import Bench, message, records

SECOND = 1000


def compacted(bench: Bench | None = None) -> tuple[CompactedTopic, int]:
    """Return a topic with the offsets 0, 3, 7, 8 and 9, one second after the other, and when it began. The
    last batch, of 8 and 9, is not compacted; one of 4 to 7 has become 7 alone."""
    topic = CompactedTopic(bench)
    began = topic.bench.clock.millis()
    for rows in (
        ((b"a", b"0"),),
        ((b"b", b"1"), (b"c", b"2")),
        ((b"b", b"3"),),
        ((b"c", b"4"), (b"c", b"5"), (b"c", b"6"), (b"c", b"7")),
        ((b"d", b"8"), (b"e", b"9")),
    ):
        topic.add(*rows)
        topic.bench.clock.advance(SECOND)
    topic.wait()
    assert topic.offsets() == [0, 3, 7, 8, 9]
    return topic, began


def test_reader_gets_the_part_and_then_the_log() -> None:
    topic, _ = compacted()
    store = topic.store
    result = store.get(TOPIC, 0, 0, 32)
    assert (result.status, list(result.queue_offsets), result.next_offset) == (GetStatus.FOUND, [0, 3, 7], 8)
    assert (result.min_offset, result.max_offset) == (0, 10)
    result = store.get(TOPIC, 0, 8, 32)
    assert (list(result.queue_offsets), result.next_offset) == ([8, 9], 10)


@pytest.mark.parametrize(("offset", "first"), [(0, 0), (1, 3), (3, 3), (4, 7), (6, 7), (7, 7)])
def test_reader_at_an_offset_that_is_gone_gets_the_next_one(offset: int, first: int) -> None:
    topic, _ = compacted()
    assert records(topic.store.get(TOPIC, 0, offset, 1))[0].queue_offset == first
    [batch] = [topic.store.batches.get(TOPIC, 0, offset, 1).spans[0]]
    assert int.from_bytes(batch[:8], "big") == {7: 4}.get(first, first)


def test_answers_are_limited() -> None:
    topic, _ = compacted()
    store = topic.store
    assert list(store.get(TOPIC, 0, 0, 2).queue_offsets) == [0, 3]
    assert list(store.get(TOPIC, 0, 0, 32, max_bytes=1).queue_offsets) == [0]
    limits = TransferLimits(1 << 20, 1, 1 << 20, 1)
    assert list(store.get(TOPIC, 0, 0, 32, limits=limits).queue_offsets) == [0]
    assert len(store.batches.get(TOPIC, 0, 0, 1).spans) == 1
    assert store.batches.get(TOPIC, 0, 0, 1 << 20).next_offset == 8


def test_batches_of_a_part_count_as_built() -> None:
    topic, _ = compacted()
    found = topic.store.batches.get(TOPIC, 0, 0, 1 << 20, most_built=2)
    assert (len(found.spans), found.built, found.next_offset) == (2, 2, 4)
    assert topic.store.batches.get(TOPIC, 0, 0, 1 << 20).built == 3
    assert topic.store.batches.get(TOPIC, 0, 8, 1 << 20).built == 0


def test_reader_that_chooses_nothing_passes_some_records_at_a_time() -> None:
    topic = CompactedTopic(Bench(max_filter_message_size=460))
    for number in range(50):
        topic.add((b"%d" % number, b"x"))
    topic.wait()
    found = topic.store.get(TOPIC, 0, 0, 1, accept=lambda properties: False)
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 10)


def test_choice_of_a_reader_applies_to_the_part() -> None:
    topic, _ = compacted()
    found = topic.store.get(TOPIC, 0, 0, 32, accept=lambda properties: properties.get(PROPERTY_KEYS) == "b")
    assert list(found.queue_offsets) == [3]
    nothing = topic.store.get(TOPIC, 0, 4, 32, accept=lambda properties: False)
    assert (nothing.status, nothing.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 8)


def test_messages_of_rocketmq_are_read_from_the_part() -> None:
    topic = CompactedTopic()
    for body in (b"1", b"2"):
        topic.bench.put(message(TOPIC, 0, body, {PROPERTY_KEYS: "k", "TAGS": "a"}))
    topic.bench.put(message(TOPIC, 0, b"3", {PROPERTY_KEYS: "other"}))
    topic.wait()
    assert topic.messages() == [(1, "k", b"2"), (2, "other", b"3")]
    assert topic.values() == {b"k": b"2", b"other": b"3"}
    code = records(topic.store.get(TOPIC, 0, 0, 1, accept=frozenset([97])))
    assert [one.queue_offset for one in code] == [1]


def test_searches_by_store_time_use_the_part() -> None:
    topic, began = compacted()
    search = topic.store.offset_by_time
    assert [search(TOPIC, 0, began + at) for at in (-5, 0, 1, 2000, 2001, 3000, 3001, 4000)] == [
        *(0, 0, 3, 3),
        *(4, 4, 8, 8),
    ]
    assert search(TOPIC, 0, began + 9000) == 8
    assert [
        search(TOPIC, 0, began + at, upper=True) for at in (-5, 0, 1999, 2000, 2999, 3000, 4000, 9000)
    ] == [
        *(0, 0, 0, 3),
        *(3, 4, 8, 8),
    ]


def test_searches_by_store_time_end_with_the_part_if_the_log_has_nothing_behind_it() -> None:
    topic, began = compacted()
    topic.attributes["kafka.segment.ms"] = "1"
    topic.wait(100 * 3_600_000)
    assert topic.store.compacted_parts.parts[TOPIC, 0].end == 10
    search = topic.store.offset_by_time
    assert (search(TOPIC, 0, began + 9000), search(TOPIC, 0, began + 9000, upper=True)) == (8, 8)
    assert search(TOPIC, 0, began + 3000) == 4


def test_store_times_are_those_of_the_next_record() -> None:
    topic, began = compacted()
    times = [topic.store.store_time(TOPIC, 0, offset) - began for offset in range(10)]
    assert times == [0, 2000, 2000, 2000, 3000, 3000, 3000, 3000, 4000, 4000]


def test_born_timestamps_are_read_of_both_parts() -> None:
    topic, began = compacted()
    read = topic.store.record_times.read
    found = [RecordTime(0, began), RecordTime(3, began + 2000), RecordTime(4, began + 3003)]
    assert read(TOPIC, 0, 0, 10) == (found, 8)
    assert read(TOPIC, 0, 1, 4) == (found[1:2], 4)
    assert read(TOPIC, 0, 8, 10) == ([RecordTime(8, began + 4001)], 10)


def test_bytes_are_counted_in_both_parts() -> None:
    topic, _ = compacted()
    store, part = topic.store, topic.store.compacted_parts.parts[TOPIC, 0]
    tail = store.readable_bytes(TOPIC, 0, 8, 1 << 30)
    assert tail > 0
    assert store.readable_bytes(TOPIC, 0, 0, 1 << 30) == part.size + tail
    start = store.sizes.start_for

    def reading(attempt):  # type: ignore[no-untyped-def]
        yield
        return attempt(True)

    def kept(size: int) -> Steps[int]:
        return start(TOPIC, 0, size, reading)

    assert run(store.sizes.size(TOPIC, 0, reading)) == part.size + tail
    assert [run(kept(size)) for size in (1, tail, tail + 1, 1 << 30)] == [8, 8, 0, 0]


def test_message_is_found_by_its_unique_key() -> None:
    topic, _ = compacted()
    found = topic.store.query(TOPIC, unique_key(TOPIC, 0, 7), 1, 0, 1 << 60)
    assert len(found.records) == 1
    assert topic.store.query(TOPIC, unique_key(TOPIC, 0, 6), 1, 0, 1 << 60).records == []


def test_reader_does_not_wait_for_the_disk() -> None:
    disk = ColdDisk()
    topic, _ = compacted(Bench(disk))
    disk.warm.clear()
    with pytest.raises(ColdRead) as cold:
        topic.store.get(TOPIC, 0, 0, 32, may_wait=False)
    cold.value.bring(ahead=False)
    assert list(topic.store.get(TOPIC, 0, 0, 32, may_wait=False).queue_offsets) == [0, 3, 7]
    disk.warm.clear()
    with pytest.raises(ColdRead):
        topic.store.batches.get(TOPIC, 0, 0, 1 << 20, may_wait=False)
    assert len(read_all(topic.store)) == 4
