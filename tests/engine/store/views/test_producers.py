"""The view of idempotent producers over a store: what it knows, and what outlives the store."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.state import BatchRefusal, Duplicate, Verdict
from mqgateway.engine.store.message_store import MessageStore
from tests.support.engine.store.producing import put_mapped, put_whole
from tests.support.engine.store.stores import Bench

DAY = 86_400_000


def check(store: MessageStore, sequence: int, count: int = 2, topic: str = "batched") -> int | Verdict:
    found = store.producers.check(topic, 0, ProducerBatch(7, 0, sequence, count))
    return found.base_offset if isinstance(found, Duplicate) else found


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_batch_is_known_before_it_is_dispatched(flush: FlushDiskType) -> None:
    bench = Bench(flush_disk_type=flush)
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    assert check(bench.store, 0) == 0
    put_whole(bench.store, ProducerBatch(7, 0, 2, 2))
    assert (check(bench.store, 2), check(bench.store, 4), check(bench.store, 6)) == (
        2,
        None,
        BatchRefusal.OUT_OF_ORDER,
    )
    bench.store.dispatch()
    assert (check(bench.store, 2), check(bench.store, 4)) == (2, None)


def test_batch_that_is_stored_as_messages_is_known_by_its_last_one() -> None:
    bench = Bench()
    put_mapped(bench.store, ProducerBatch(7, 0, 0, 3))
    assert check(bench.store, 0, 3, "orders") == 0
    bench.store.dispatch()
    assert check(bench.store, 0, 3, "orders") == 0
    assert check(bench.kill().store, 0, 3, "orders") == 0


def test_batch_of_messages_that_is_cut_off_is_not_known() -> None:
    bench = Bench()
    put_mapped(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    first = bench.store.consume_queue_units("orders", 0, 0, 1)[0]
    assert bench.store.cut(first[0] + first[1])
    assert check(bench.store, 0, 2, "orders") is None
    assert bench.store.max_offset("orders", 0) == 1


@pytest.mark.parametrize("end", ["restart", "kill", "crash"])
def test_state_outlives_a_checkpoint_and_the_end_of_the_store(end: str) -> None:
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    for _ in range(3):
        bench.clock.advance(70_000)
        bench.store.tick()
    assert bench.disk.exists("/store/producers/snapshot")
    put_whole(bench.store, ProducerBatch(7, 0, 2, 2))
    bench.store.dispatch()
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.clock.advance(1000)
    bench.store.tick()
    again = {"restart": bench.restart, "kill": bench.kill, "crash": lambda: bench.crash(3)}[end]()
    assert (check(again.store, 0), check(again.store, 2), check(again.store, 4)) == (0, 2, None)


@pytest.mark.parametrize("has_older", [True, False])
def test_damaged_snapshot_is_replaced_by_the_one_before_or_by_the_log(has_older: bool) -> None:
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    for _ in range(3):
        bench.clock.advance(70_000)
        bench.store.tick()
    bench.store.stop()
    bench.disk.flip("/store/producers/snapshot", 30)
    if not has_older:
        bench.disk.unlink("/store/producers/snapshot.bak")
    again = bench.again()
    assert (check(again.store, 0), check(again.store, 2)) == (0, None)


def test_store_without_producers_has_no_snapshot() -> None:
    bench = Bench()
    bench.clock.advance(70_000)
    bench.store.tick()
    bench.store.stop()
    assert not bench.disk.is_dir("/store/producers")


def test_truncation_brings_older_batches_back() -> None:
    bench = Bench()
    ends = []
    for number in range(8):
        put_whole(bench.store, ProducerBatch(7, 0, 2 * number, 2))
        bench.store.dispatch()
        ends.append(bench.store.max_physical_offset)
    assert check(bench.store, 0) is BatchRefusal.OUT_OF_ORDER
    assert bench.store.cut(ends[2])
    assert (check(bench.store, 0), check(bench.store, 4), check(bench.store, 6)) == (0, 4, None)


def test_batch_that_is_cut_off_before_its_dispatch_is_not_known() -> None:
    bench = Bench(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    end = put_whole(bench.store, ProducerBatch(7, 0, 0, 2)).end_offset
    put_whole(bench.store, ProducerBatch(7, 0, 2, 2))
    assert check(bench.store, 2) == 2
    assert bench.store.cut(end)
    assert (check(bench.store, 0), check(bench.store, 2)) == (0, None)


def test_expired_producer_is_forgotten() -> None:
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    assert bench.store.producers.figures("batched") == {0: [(7, 0, 1, bench.clock.millis())]}
    bench.clock.advance(DAY)
    assert check(bench.store, 9) is None and not bench.store.producers.figures("batched")
    bench.store.tick()
    assert bench.store.producers.count == 0


def test_replica_knows_the_batches_of_its_master() -> None:
    original, replica = Bench(), Bench()
    put_whole(original.store, ProducerBatch(7, 0, 0, 2))
    put_mapped(original.store, ProducerBatch(7, 0, 0, 2))
    original.store.dispatch()
    replica.store.raw.append(0, original.store.raw.read(0, original.store.max_physical_offset))
    assert check(replica.store, 0) == 0
    replica.store.dispatch()
    assert check(replica.store, 0) == check(replica.store, 0, 2, "orders") == 0
    assert replica.store.producers.state(0) == original.store.producers.state(0)


def test_deleted_topic_has_no_producers() -> None:
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    bench.store.admin.delete_topics(["batched"])
    assert check(bench.store, 0) is None
