"""Compaction of topics: when it runs, what readers get, and what outlives the log's files."""

from __future__ import annotations

import errno

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.steps import run
from mqgateway.engine.store.compacted_part import BESIDE
from mqgateway.engine.store.write_gate import WriteGate
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import MemoryWorker
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


def test_part_is_not_rewritten_before_it_is_due() -> None:
    topic = CompactedTopic(min_cleanable_dirty_ratio="0.5")
    for _ in range(10):
        topic.add((b"a", b"x" * 100))
    topic.wait()
    assert topic.compaction.compacted == 1
    for number in range(3):
        topic.add((b"%d" % number, b"x" * 300))
        topic.wait()
    assert topic.compaction.compacted == 2


def test_tombstones_go_after_their_time() -> None:
    topic = CompactedTopic()
    topic.add((b"a", b"1"))
    topic.add((b"a", None), (b"b", b"2"))
    topic.add((b"c", b"3"))
    topic.wait()
    assert topic.values() == {b"a": None, b"b": b"2", b"c": b"3"}
    topic.wait(2000)
    topic.add((b"d", b"4"))
    topic.wait()
    assert topic.values() == {b"b": b"2", b"c": b"3", b"d": b"4"}


def test_batches_of_aborted_transactions_go_and_are_not_named() -> None:
    topic = CompactedTopic()
    topic.add((b"a", b"1"))
    topic.add((b"a", b"aborted"), producer_id=7, sequence=0)
    topic.end(7, False)
    topic.add((b"b", b"2"), producer_id=7, sequence=1)
    topic.end(7, True)
    topic.add((b"c", b"3"))
    assert len(topic.store.transactions.aborted(TOPIC, 0, 0, 10)) == 1
    topic.wait()
    assert topic.values(uncommitted=True) == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert [(key, body) for _, key, body in topic.messages()] == [("a", b"1"), ("b", b"2"), ("c", b"3")]
    assert topic.store.transactions.aborted(TOPIC, 0, 0, 10) == []


def test_records_of_an_open_transaction_are_not_compacted() -> None:
    topic = CompactedTopic()
    topic.add((b"a", b"1"))
    topic.add((b"a", b"2"), producer_id=7, sequence=0)
    for value in (b"3", b"4", b"5"):
        topic.add((b"a", value))
    topic.wait()
    assert topic.offsets(uncommitted=True) == [0, 1, 2, 3, 4]
    topic.end(7, True)
    topic.wait()
    assert topic.offsets() == [4]


def test_files_of_the_log_wait_for_records_that_cannot_be_compacted_yet() -> None:
    topic = CompactedTopic(small_files())
    topic.add((b"a", b"1"))
    topic.add((b"b", b"2"), producer_id=7, sequence=0)
    for number in range(100):
        topic.add((b"c", b"%d" % number))
    topic.wait(100 * HOURS)
    topic.expire()
    assert topic.store.min_physical_offset == 0
    topic.end(7, True)
    topic.expire()
    assert topic.store.min_physical_offset > 0
    assert topic.values() == {b"a": b"1", b"b": b"2", b"c": b"99"}


def test_start_of_a_queue_is_kept_when_its_marker_leaves_the_log() -> None:
    topic = CompactedTopic(small_files(), cleanup_policy="compact,delete")
    for number in range(100):
        topic.add((b"%d" % number, b"x"))
    topic.wait()
    topic.store.move_start(TOPIC, 0, 30)
    topic.store.dispatch()
    assert topic.offsets()[0] == topic.store.min_offset(TOPIC, 0) == 30
    for number in range(100):
        topic.add((b"c", b"%d" % number))
    topic.wait(100 * HOURS)
    topic.expire()
    assert topic.store.min_physical_offset > 0
    topic.again(topic.bench.crash(1))
    assert topic.offsets()[0] == topic.store.min_offset(TOPIC, 0) == 30


def test_part_before_the_start_of_its_queue_is_deleted() -> None:
    topic = CompactedTopic(cleanup_policy="compact,delete")
    for number in range(10):
        topic.add((b"%d" % number, b"x"))
    topic.wait()
    topic.store.move_start(TOPIC, 0, 9)
    topic.store.dispatch()
    topic.wait()
    assert topic.offsets() == [9] and not topic.store.compacted_parts.parts
    assert not topic.bench.disk.exists(topic.store.compacted_parts.path(TOPIC, 0))


def test_topic_that_is_not_compacted_any_more_loses_its_part_with_the_log() -> None:
    topic = CompactedTopic(small_files())
    for number in range(100):
        topic.add((b"%d" % (number % 3), b"%d" % number))
    topic.wait()
    topic.attributes["kafka.cleanup.policy"] = "delete"
    topic.wait()
    assert topic.offsets() == [96, 97, 98, 99]
    for _ in range(30):
        topic.add((b"c", b"x"))
    topic.wait(100 * HOURS)
    topic.expire()
    assert topic.store.min_physical_offset > 0 and not topic.store.compacted_parts.parts
    assert topic.store.min_offset(TOPIC, 0) > 0


def test_deleted_topic_leaves_nothing() -> None:
    topic = CompactedTopic()
    for _ in range(3):
        topic.add((b"a", b"1"))
    topic.wait()
    topic.store.admin.delete_topics([TOPIC])
    assert not topic.store.compacted_parts.parts
    assert not topic.bench.disk.exists(topic.store.compacted_parts.path(TOPIC, 0))
    topic.add((b"b", b"2"))
    assert topic.values() == {b"b": b"2"} and topic.offsets() == [0]


def test_topic_deleted_while_a_worker_compacts_it_leaves_nothing() -> None:
    for chunks in range(1, 8):
        worker = MemoryWorker()
        topic = CompactedTopic(worker=worker)
        for _ in range(3):
            topic.add((b"a", b"1"))
        topic.wait()
        for _ in range(chunks):
            worker.perform()
        is_done = not topic.compaction.is_working
        topic.store.admin.delete_topics([TOPIC])
        topic.add((b"b", b"2"))
        worker.perform_all()
        topic.compaction.tick()
        assert not topic.compaction.is_working and (is_done or not topic.compaction.compacted)
        path = topic.store.compacted_parts.path(TOPIC, 0)
        assert not topic.bench.disk.exists(path) and not topic.bench.disk.exists(path + BESIDE)
        assert topic.values() == {b"b": b"2"}


def test_log_is_not_truncated_while_a_worker_compacts() -> None:
    worker = MemoryWorker()
    topic = CompactedTopic(worker=worker)
    for _ in range(3):
        topic.add((b"a", b"1"))
    topic.wait()
    assert topic.compaction.is_working
    assert not topic.store.cut(0)
    worker.perform()
    topic.compaction.tick()
    while worker.perform():
        pass
    assert topic.store.cut(0)
    assert topic.offsets() == []


def test_truncation_brings_back_what_the_log_has() -> None:
    topic = CompactedTopic()
    ends = []
    for number in range(6):
        topic.add((b"a", b"%d" % number))
        ends.append(topic.store.max_physical_offset)
    topic.wait()
    assert topic.offsets() == [4, 5]
    assert topic.store.cut(ends[2])
    assert topic.offsets() == [0, 1, 2] and not topic.store.compacted_parts.parts
    topic.again(topic.bench.crash(1))
    assert topic.offsets() == [0, 1, 2]


def test_truncation_keeps_the_part_of_what_the_log_has_lost() -> None:
    topic = CompactedTopic(small_files())
    topic.add((b"old", b"1"))
    for number in range(100):
        topic.add((b"c", b"%d" % number))
    topic.wait(100 * HOURS)
    topic.expire()
    assert topic.store.min_physical_offset > 0
    ends = []
    for number in range(10):
        topic.add((b"c", b"new %d" % number))
        ends.append(topic.store.max_physical_offset)
    topic.wait()
    assert topic.offsets() == [0, 109, 110]
    assert topic.store.cut(ends[5])
    assert topic.values() == {b"old": b"1", b"c": b"new 5"}
    topic.add((b"d", b"1"))
    topic.again(topic.bench.crash(1))
    assert topic.values() == {b"old": b"1", b"c": b"new 5", b"d": b"1"}


def test_failed_disk_leaves_the_part_and_the_next_look_compacts() -> None:
    topic = CompactedTopic()
    for _ in range(3):
        topic.add((b"a", b"1"))
    topic.bench.disk.fail_next("any", "kafkacompaction", errno.ENOSPC)
    topic.wait()
    assert (topic.compaction.compacted, topic.compaction.failed) == (0, 1)
    assert topic.offsets() == [0, 1, 2]
    topic.bench.disk.heal()
    topic.wait()
    assert topic.offsets() == [1, 2]


def test_queue_that_was_lost_continues_behind_its_part() -> None:
    topic = CompactedTopic(small_files())
    for number in range(100):
        topic.add((b"c", b"%d" % number))
    topic.wait(100 * HOURS)
    topic.expire()
    end = topic.store.compacted_parts.parts[TOPIC, 0].end
    topic.store.stop()
    disk = topic.bench.disk
    for name in ("commitlog", "batchconsumequeue", "checkpoint", "producers", "queuestarts"):
        disk.rmtree(f"/store/{name}") if disk.is_dir(f"/store/{name}") else None
    topic.again(topic.bench.again())
    topic.add((b"d", b"1"))
    assert topic.offsets()[-1] == end


def test_look_ends_at_once_with_nothing_to_do() -> None:
    topic = CompactedTopic()
    topic.wait()
    assert topic.store.compacted_parts.keep_from == 0
    assert not topic.compaction.is_working


def test_coordinators_topics_are_left_alone() -> None:
    topic = CompactedTopic()
    assert not topic.compaction._compacts(TopicConfig(KAFKA_OFFSETS_TOPIC, attributes=topic.attributes))
    assert topic.compaction._compacts(TopicConfig("any", attributes=topic.attributes))


def test_stop_while_a_worker_compacts_leaves_the_part() -> None:
    for chunks in range(8):
        worker = MemoryWorker()
        topic = CompactedTopic(worker=worker)
        for _ in range(3):
            topic.add((b"a", b"1"))
        topic.wait()
        worker.perform_all()
        topic.wait()
        assert topic.offsets() == [1, 2]
        for _ in range(3):
            topic.add((b"a", b"2"))
        topic.wait()
        for _ in range(chunks):
            worker.perform()
        topic.store.stop()
        worker.perform_all()
        topic.again(topic.bench.again())
        assert topic.values() == {b"a": b"2"} and topic.offsets()[-1] == 5
        assert topic.store.compacted_parts.parts[TOPIC, 0].end in (2, 5)


def test_topic_made_again_during_a_look_is_compacted_from_its_beginning() -> None:
    for steps in range(1, 6):
        topic = CompactedTopic()
        for number in range(5):
            topic.add((b"%d" % number, b"old"))
        topic.flush()
        look = topic.compaction._steps()
        for _ in range(steps):
            next(look, None)
        topic.store.admin.delete_topics([TOPIC])
        for number in range(9):
            topic.add((b"%d" % number, b"new"))
        topic.flush()
        run(look)
        assert topic.offsets() == list(range(9))
        topic.wait()
        assert topic.values() == {b"%d" % number: b"new" for number in range(9)}


def test_replica_compacts_its_own_log() -> None:
    master, slave = CompactedTopic(), CompactedTopic()
    for number in range(5):
        master.add((b"a", b"%d" % number))
    end = master.store.max_physical_offset
    slave.store.gate = WriteGate("a slave")
    slave.store.raw.append(0, master.store.raw.read(0, end))
    slave.store.dispatch()
    slave.wait()
    assert (slave.offsets(), master.offsets()) == ([3, 4], [0, 1, 2, 3, 4])
    slave.store.gate = None
    slave.add((b"a", b"new"))
    slave.wait()
    assert slave.offsets() == [4, 5]
