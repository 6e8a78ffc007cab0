"""Figures of a store, and deletion of topics; deletion of old files is in the tests of retention."""

from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import Bench, batch, drain, message


def test_a_deleted_topic_starts_again_at_0_even_after_a_crash() -> None:
    bench = Bench()
    bench.put(*[message() for _ in range(30)], message(topic="other"))
    assert bench.store.queues() == {"orders": {0}, "other": {0}}
    assert bench.store.admin.delete_topics(["orders", "unknown"]) == 1
    assert bench.store.get("orders", 0, 0, 1).status.name == "NO_MATCHED_LOGIC_QUEUE"
    assert bench.put(message(body=b"new")) == [0]
    again = bench.kill()
    assert [m.body for m in drain(again.store)] == [b"new"]
    assert again.store.queues() == {"orders": {0}, "other": {0}}


def test_counts_queues_and_derives_topic_attributes_from_files() -> None:
    bench = Bench(enable_lmq=True, enable_multi_dispatch=True)
    bench.put(message(queue_id=2), message(), message("%LMQ%x"))
    bench.store.put_inner_batch(message("batched", body=batch(b"1", b"2")))
    bench.store.dispatch()
    admin = bench.store.admin
    assert (admin.queue_count, admin.lmq_count) == (4, 1)
    assert admin.topics_with_messages() == {"orders": 3, "batched": 1}
    assert admin.attributes_of("orders") == {}
    assert admin.attributes_of("batched") == {"queue.type": "BatchCQ"}
    fill_kafka(bench, 1)
    assert admin.attributes_of("batched") == {"queue.type": "BatchCQ", "message.format": "kafka"}
    bench.disk.makedirs("/store/compaction/compactionLog/orders")
    assert admin.attributes_of("orders") == {"cleanup.policy": "COMPACTION"}


def test_newest_place_of_batches_is_that_of_the_last_one() -> None:
    bench = Bench()
    fill_kafka(bench, 3)
    place = bench.store.max_physical_offset
    fill_kafka(bench, 2)
    assert bench.store.admin.newest_place("batched") == place


def test_runtime_info_has_what_the_tools_print() -> None:
    bench = Bench()
    bench.put(message(), message())
    info = bench.store.admin.runtime_info()
    assert info["putMessageTimesTotal"] == "2"
    assert info["commitLogMaxOffset"] == str(bench.store.max_physical_offset)
    assert info["commitLogMinOffset"] == "0"
    assert info["remainHowManyDataToFlush"] == f"{bench.store.max_physical_offset} B"
    assert info["commitLogDirCapacity"] == "Total : 1.0 TiB, Free : 1024.0 GiB."
    bench.disk.reserved = 1 << 40
    assert bench.store.admin.runtime_info()["commitLogDirCapacity"] == "Total : 2.0 TiB, Free : 2.0 TiB."
    assert info["commitLogDiskRatio"] == info["commitLogDiskRatio_/store/commitlog"] == "0.01"
    assert all(isinstance(value, str) for value in info.values())


def test_reports_log_offsets_and_segments() -> None:
    bench = Bench(mapped_file_size_commit_log=4096)
    bench.put(*[message(body=b"x" * 1000) for _ in range(5)])
    admin, end = bench.store.admin, bench.store.max_physical_offset
    assert admin.positions() == (0, 0, end, end, end)
    assert (admin.segments(), admin.segment_size) == ([0, 4096], 4096)
    assert admin.segment_written(4096) == bench.clock.millis() and admin.segment_written(8192) is None
    assert admin.folders == ("/store/commitlog", "/store/consumequeue")
