"""Compaction of topics: when it runs, what readers get, and what outlives the log's files."""

from __future__ import annotations

from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.kafka_batches import TOPIC
from tests.support.engine.store.stores import Bench

HOURS = 3_600_000


def small_files() -> Bench:
    """Return a store whose files have few records and units."""
    return Bench(mapper_file_size_batch_consume_queue=460)


def test_newest_record_of_each_key_stays() -> None:
    topic = CompactedTopic()
    for value in (b"1", b"2", b"3"):
        topic.add((b"a", value), (b"b", value))
    topic.add((b"c", b"4"))
    topic.wait()
    assert topic.compaction.compacted == 1
    assert topic.values() == {b"a": b"3", b"b": b"3", b"c": b"4"}
    assert topic.offsets() == [4, 5, 6]
    assert [offset for offset, _, _ in topic.messages()] == [4, 5, 6]
    assert topic.store.min_offset(TOPIC, 0) == 0


def test_compacted_records_outlive_the_files_of_the_log() -> None:
    topic = CompactedTopic(small_files())
    topic.add((b"a", b"1"), (b"b", b"2"))
    for number in range(100):
        topic.add((b"c", b"%d" % number))
    topic.wait(100 * HOURS)
    topic.expire()
    store = topic.store
    assert store.min_physical_offset > 0 and store.batch_units(TOPIC, 0, 0, 1)[0].base_offset > 2
    assert topic.values() == {b"a": b"1", b"b": b"2", b"c": b"99"}
    assert topic.messages()[:2] == [(0, "a", b"1"), (1, "b", b"2")]
    for ended in (Bench.restart, Bench.kill, lambda bench: bench.crash(1)):
        topic.again(ended(topic.bench))
        assert topic.values() == {b"a": b"1", b"b": b"2", b"c": b"99"}
        assert topic.store.min_offset(TOPIC, 0) == 0
