"""The statistics of a store are those of its messages."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.upkeep.stats import StoreStats, count_store
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import ROOT, Bench, batch, drain, message, options
from tests.support.engine.upkeep.damage import LOG, fill, filled


def stats_of(disk: Disk) -> StoreStats:
    return count_store(disk, options(), disk.size)


def test_topics_queues_messages_and_bytes() -> None:
    bench = fill(40)
    sizes = [stored.size for queue in (0, 1) for stored in drain(bench.store, "orders", queue)]
    bench.store.stop()
    stats = stats_of(bench.disk)
    (orders,) = [topic for topic in stats.topics if topic.topic == "orders"]
    assert (orders.queues, orders.messages, orders.bytes) == (2, 40, sum(sizes))
    assert (stats.queues, stats.messages) == (4, 52)
    assert stats.topics[0] is orders
    assert sum(stats.sizes.values()) == 52
    assert set(stats.sizes) == {128, 256}


def test_a_size_belongs_to_the_power_of_two_above_it() -> None:
    bench = Bench()
    empty = message(body=b"", properties={})
    bench.put(empty)
    (size,) = [stored.size for stored in drain(bench.store)]
    bench.put(message(body=bytes(256 - size), properties={}), message(body=bytes(257 - size), properties={}))
    bench.store.stop()
    assert stats_of(bench.disk).sizes == {128: 1, 256: 1, 512: 1}


def test_the_time_span_is_that_of_the_log() -> None:
    stats = stats_of(filled(10))
    assert stats.first_timestamp == 1_700_000_000_000
    assert stats.last_timestamp == 1_700_000_000_000 + 9 * 700
    assert (stats.log_start, stats.log_end > 1000) == (0, True)
    assert stats_of(filled(0)).first_timestamp is None


def test_deleted_messages_are_not_counted() -> None:
    disk = filled(60)
    before = stats_of(disk).messages
    disk.unlink(f"{LOG}/{0:020d}")
    stats = stats_of(disk)
    assert stats.log_start == 4096
    assert 0 < stats.messages < before


def test_batches_count_their_messages() -> None:
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    bench.store.put_inner_batch(message("batched", 0, batch(b"one", b"two", b"three")))
    bench.store.dispatch()
    bench.store.stop()
    stats = stats_of(bench.disk)
    assert stats.messages == 3
    assert sum(stats.sizes.values()) == 1


def test_record_batches_of_kafka_count_their_messages() -> None:
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    fill_kafka(bench, 3, 4)
    bench.store.stop()
    stats = stats_of(bench.disk)
    assert (stats.messages, sum(stats.sizes.values())) == (7, 2)


def test_index_usage() -> None:
    stats = stats_of(filled(10))
    (index,) = stats.index
    assert (index.entries, index.capacity) == (43, 63)
    assert 0 < index.slots_used <= 16
    assert index.begin_timestamp == 1_700_000_000_000


def test_usage_of_each_part() -> None:
    disk = filled(10)
    parts = {part.name: part for part in stats_of(disk).parts}
    assert (parts["commitlog"].files, parts["commitlog"].bytes) == (1, 4096)
    assert parts["consumequeue"].files == 4
    others = [name for name in disk.listdir(ROOT) if not disk.is_dir(f"{ROOT}/{name}")]
    assert "checkpoint" in others
    assert parts["(others)"].files == len(others)


def test_a_store_in_use_is_counted() -> None:
    bench = fill(10)
    bench.restart()
    assert stats_of(bench.disk).messages == 13


def test_missing_store_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="--config"):
        count_store(Bench().disk, options(store_path_root_dir="/nowhere"), lambda _: 0)
