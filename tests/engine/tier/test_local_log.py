"""The log that is saved: up to the checkpoint, with the classes of its topics."""

import hashlib

import pytest

from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.tier.local_log import batch_topics_in, classes_in, limits_in
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.tier.saving import DEFAULT_MILLIS, fill, layout_of, local_log
from tests.support.engine.upkeep.damage import LOG, put_file


def test_stopped_log_ends_with_its_last_record() -> None:
    bench = Bench()
    fill(bench, 20)
    end = bench.store.max_physical_offset
    bench.store.stop()
    local = local_log(bench.disk)
    assert (local.start, local.limit, local.path) == (0, end, "/store")


def test_running_log_ends_with_the_last_checkpoint() -> None:
    bench = Bench()
    fill(bench, 20)
    bench = bench.restart()
    end = bench.store.max_physical_offset
    fill(bench, 3)
    assert local_log(bench.disk).limit == end < bench.store.max_physical_offset
    bench.store.stop()
    assert local_log(bench.disk).limit == bench.store.max_physical_offset


def test_bytes_are_compared_where_they_are_known() -> None:
    bench = Bench()
    fill(bench, 20)
    bench.store.stop()
    local = local_log(bench.disk)

    def digest(position: int, size: int) -> bytes:
        return hashlib.sha256(local.files.read(position, size)).digest()

    assert local.matches(0, 100, digest(0, 100)) is True
    assert local.matches(0, 100, digest(1, 100)) is False
    assert local.matches(local.limit - 10, 10, digest(0, 10)) is False
    assert local.matches(local.limit - 10, 11, digest(0, 11)) is None
    assert local._replace(start=100).matches(99, 1, digest(99, 1)) is None


def test_records_that_the_checkpoint_leaves_out_are_compared() -> None:
    """As those at the end of a log that enter no queue."""
    bench = Bench()
    fill(bench, 20)
    bench.store.stop()
    local = local_log(bench.disk)
    digest = hashlib.sha256(local.files.read(300, 50)).digest()
    assert local._replace(limit=310).matches(300, 50, digest) is True


def test_store_without_log_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="has no store"):
        local_log(CrashDisk())


def test_members_of_a_group_are_refused() -> None:
    bench = Bench()
    bench.store.stop()
    bench.disk.makedirs("/store/dledger-n0/data")
    with pytest.raises(StoreUnavailable, match="only ordinary stores can be saved"):
        local_log(bench.disk)


def test_missing_file_is_refused() -> None:
    bench = Bench()
    fill(bench, 60)
    bench.store.stop()
    bench.disk.unlink(f"{LOG}/{4096:020d}")
    with pytest.raises(StoreError, match="is missing"):
        local_log(bench.disk)


def test_classes_and_kinds_are_those_of_the_topics() -> None:
    bench = Bench()
    bench.put(message("orders"), message("batched"))
    bench.store.stop()
    orders = '{"topicName":"orders","attributes":{"reserve.time": "24"}}'
    table = '{"topicConfigTable":{"orders":' + orders + ',"odd":3,"pay":{}}}'
    put_file(bench.disk, "/store/config/topics.json", table.encode())
    layout = layout_of(bench.disk)
    lookup = classes_in(layout, DEFAULT_MILLIS)
    assert [lookup(topic) for topic in ("orders", "pay", "odd", "new")] == [1, 3, 3, 3]
    limits = limits_in(layout, DEFAULT_MILLIS)
    assert limits.of("orders") == (24 * 3_600_000, None)
    assert limits.of("pay") == limits.of("batched") == (DEFAULT_MILLIS, None)
    assert limits.of("gone") is None
    assert batch_topics_in(layout) == {b"batched"}


@pytest.mark.parametrize("table", [None, b"{}", b'{"topicConfigTable":{}}', b"no JSON"])
def test_no_topic_counts_as_deleted_without_a_table(table: bytes | None) -> None:
    bench = Bench()
    bench.put(message("orders"))
    bench.store.stop()
    if table is not None:
        put_file(bench.disk, "/store/config/topics.json", table)
    assert limits_in(layout_of(bench.disk), DEFAULT_MILLIS).of("gone") == (DEFAULT_MILLIS, None)
