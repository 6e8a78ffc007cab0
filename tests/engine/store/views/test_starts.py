"""Moved starts of queues: what readers see, and what outlives the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqgateway.engine.message import QUEUE_STARTS_TOPIC, Message, SysFlag
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store.message_store import GetStatus, PutResult, PutStatus
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.views.starts import StartsView, parse_marker
from mqgateway.engine.store.write_gate import WriteGate
from tests.support.engine.store.kafka_batches import fetched, fill_kafka
from tests.support.engine.store.stores import Bench, drain, message

ENDS: dict[str, Callable[[Bench], Bench]] = {
    "restart": Bench.restart,
    "kill": Bench.kill,
    "power cut": lambda bench: bench.crash(3),
    "log alone": lambda bench: _from_log(bench),
}


def _from_log(bench: Bench) -> Bench:
    disk = bench.disk.kill()
    for name in ("consumequeue", "batchconsumequeue", "index", "queuestarts"):
        disk.rmtree(f"/store/{name}")
    if disk.exists("/store/checkpoint"):
        disk.unlink("/store/checkpoint")
    return bench.again(disk)


def fill(bench: Bench, count: int, topic: str = "orders") -> None:
    bench.put(*[message(topic, 0, b"%d" % number) for number in range(count)])


def move(bench: Bench, offset: int, topic: str = "orders") -> bool:
    result = bench.store.move_start(topic, 0, offset)
    bench.store.dispatch()
    assert result is None or result.status is PutStatus.PUT_OK
    return result is not None


def make_durable(bench: Bench) -> None:
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.clock.advance(1000)
    bench.store.tick()


def offsets(bench: Bench, topic: str = "orders") -> list[int]:
    return [one.queue_offset for one in drain(bench.store, topic)]


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_messages_before_a_moved_start_are_gone(flush: FlushDiskType) -> None:
    bench = Bench(flush_disk_type=flush)
    fill(bench, 5)
    make_durable(bench)
    assert move(bench, 3)
    make_durable(bench)
    assert bench.store.min_offset("orders", 0) == 3 and offsets(bench) == [3, 4]
    below = bench.store.get("orders", 0, 2, 32)
    assert (below.status, below.next_offset, below.min_offset) == (GetStatus.OFFSET_TOO_SMALL, 3, 3)
    assert bench.store.message("orders", 0, 2) is None
    assert bench.store.consume_queue_units("orders", 0, 2, 5) == []
    assert bench.store.store_time("orders", 0, 2) == -1
    assert bench.store.offset_by_time("orders", 0, 0) == 3
    assert set(bench.store.queues()) == {"orders"}


def test_query_by_key_leaves_removed_messages_out() -> None:
    bench = Bench()
    bench.put(*[message("orders", number % 2, b"%d" % number, {"KEYS": "k"}) for number in range(6)])
    assert move(bench, 2)
    found = bench.store.query("orders", "k", 10, 0, 1 << 62).records
    assert [decode(record).body for record in found] == [b"1", b"3", b"4", b"5"]


def test_start_moves_only_forward_and_not_beyond_the_end() -> None:
    bench = Bench()
    fill(bench, 5)
    assert move(bench, 3)
    assert not move(bench, 2) and not move(bench, 3) and not move(bench, 6)
    assert not move(bench, 1, "unknown")
    assert bench.store.min_offset("orders", 0) == 3
    assert move(bench, 5)
    assert (bench.store.min_offset("orders", 0), bench.store.max_offset("orders", 0)) == (5, 5)
    at_end = bench.store.get("orders", 0, 5, 32)
    assert at_end.status is GetStatus.OFFSET_OVERFLOW_ONE
    fill(bench, 1)
    assert offsets(bench) == [5]


def test_log_of_another_broker_gets_no_marker() -> None:
    bench = Bench()
    fill(bench, 5)
    elsewhere: list[object] = []

    def redirected(message: Message) -> PutResult:
        elsewhere.append(message)
        return PutResult(PutStatus.PUT_OK)

    bench.store.gate = WriteGate("a slave", redirected)
    result = bench.store.move_start("orders", 0, 3)
    assert result is not None and result.status is PutStatus.SERVICE_NOT_AVAILABLE and not elsewhere
    assert bench.store.min_offset("orders", 0) == 0


def test_two_moves_before_a_dispatch_leave_the_later_start() -> None:
    bench = Bench()
    fill(bench, 9)
    for offset in (7, 4):
        assert bench.store.move_start("orders", 0, offset) is not None
    bench.store.dispatch()
    assert bench.store.min_offset("orders", 0) == 7
    assert _from_log(bench).store.min_offset("orders", 0) == 7


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("has_checkpoint", [False, True])
@pytest.mark.parametrize("topic", ["orders", "batched"])
def test_moved_start_outlives_the_store(topic: str, has_checkpoint: bool, end: str) -> None:
    bench = Bench()
    fill(bench, 40, topic)
    assert move(bench, 31, topic)
    if has_checkpoint:
        for _ in range(3):
            bench.clock.advance(70_000)
            bench.store.tick()
    fill(bench, 2, topic)
    make_durable(bench)
    again = ENDS[end](bench)
    assert (again.store.min_offset(topic, 0), offsets(again, topic)) == (31, list(range(31, 42)))
    again = ENDS[end](again)
    assert again.store.min_offset(topic, 0) == 31


def test_start_inside_a_batch_of_kafka_hides_records_before_it() -> None:
    bench = Bench()
    fill_kafka(bench, 3, 4, 2)
    assert move(bench, 5, "batched")
    assert bench.store.min_offset("batched", 0) == 5 and offsets(bench, "batched") == [5, 6, 7, 8]
    found = fetched(bench.store.batches.get("batched", 0, 5, 1 << 20))
    assert [(batch.base_offset, batch.count) for batch in found] == [(3, 4), (7, 2)]
    assert bench.store.batches.get("batched", 0, 4, 1 << 20).status is GetStatus.OFFSET_TOO_SMALL
    for end in ENDS.values():
        make_durable(bench)
        bench = end(bench)
        assert bench.store.min_offset("batched", 0) == 5 and offsets(bench, "batched") == [5, 6, 7, 8]


def test_truncation_takes_a_move_back() -> None:
    bench = Bench()
    fill(bench, 5)
    assert move(bench, 2)
    end = bench.store.max_physical_offset
    assert move(bench, 4)
    fill(bench, 1)
    assert bench.store.cut(end)
    assert bench.store.min_offset("orders", 0) == 2 and offsets(bench) == [2, 3, 4]
    assert bench.kill().store.min_offset("orders", 0) == 2
    first = bench.store.consume_queue_units("orders", 0, 4, 1)[0]
    assert bench.store.cut(first[0] + first[1])
    assert bench.store.min_offset("orders", 0) == 0 and offsets(bench) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("end", ENDS)
def test_topic_that_was_deleted_and_made_again_starts_at_0(end: str) -> None:
    bench = Bench()
    fill(bench, 5)
    assert move(bench, 4)
    bench.store.admin.delete_topics(["orders"])
    assert bench.store.min_offset("orders", 0) == 0
    fill(bench, 9)
    assert bench.store.min_offset("orders", 0) == 0 and len(offsets(bench)) == 9
    make_durable(bench)
    again = ENDS[end](bench)
    assert again.store.min_offset("orders", 0) == 0 and len(offsets(again)) == 9
    assert move(again, 2)
    make_durable(again)
    assert ENDS[end](again).store.min_offset("orders", 0) == 2


def test_marker_that_waits_does_not_move_a_topic_that_was_made_again() -> None:
    bench = Bench(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    fill(bench, 5)
    make_durable(bench)
    result = bench.store.move_start("orders", 0, 4)
    assert result is not None
    bench.store.admin.delete_topics(["orders"])
    for number in range(9):
        bench.store.put(message("orders", 0, b"%d" % number))
    make_durable(bench)
    assert bench.store.min_offset("orders", 0) == 0 and len(offsets(bench)) == 9


def test_replica_has_the_starts_of_its_master() -> None:
    original, replica = Bench(), Bench()
    fill(original, 5)
    fill_kafka(original, 3, 4)
    assert move(original, 2) and move(original, 4, "batched")
    replica.store.raw.append(0, original.store.raw.read(0, original.store.max_physical_offset))
    replica.store.dispatch()
    assert [replica.store.min_offset(topic, 0) for topic in ("orders", "batched")] == [2, 4]
    assert _view(replica).state(0) == _view(original).state(0)
    fill(replica, 1)
    assert move(replica, 5)
    assert replica.kill().store.min_offset("orders", 0) == 5


def test_marker_is_forgotten_once_its_messages_have_left_the_log() -> None:
    bench = Bench(file_reserved_time=1)
    fill(bench, 5)
    assert move(bench, 4)
    bench.put(*[message("bills", 0, b"x" * 1000) for _ in range(12)])
    bench.store.admin.delete_expired_files()
    for _ in range(10):
        bench.clock.advance(3_600_000)
        bench.store.tick()
    assert bench.store.min_physical_offset > 0 and not _view(bench)._markers
    assert (bench.store.min_offset("orders", 0), bench.store.max_offset("orders", 0)) == (5, 5)
    assert bench.restart().store.min_offset("orders", 0) == 5


def test_store_without_moved_starts_has_no_snapshot() -> None:
    bench = Bench()
    fill(bench, 1)
    bench.clock.advance(70_000)
    bench.store.tick()
    bench.store.stop()
    assert not bench.disk.is_dir("/store/queuestarts")


@pytest.mark.parametrize("text", ["", "1 2", "-1 2 orders", "a 2 orders", "1 2.5 orders"])
def test_marker_that_is_not_valid_is_ignored(text: str) -> None:
    assert parse_marker({"__QSTART": text}) is None
    bench = Bench()
    fill(bench, 2)
    properties = {"__QSTART": text}
    flag = SysFlag.TRANSACTION_PREPARED
    bench.store.put(message(QUEUE_STARTS_TOPIC, 0, b"", properties, sys_flag=flag))
    bench.store.dispatch()
    assert bench.store.min_offset("orders", 0) == 0


def test_message_that_enters_a_queue_is_no_marker() -> None:
    bench = Bench()
    fill(bench, 2)
    for topic in ("bills", QUEUE_STARTS_TOPIC):
        bench.put(message(topic, 0, b"", {"__QSTART": "0 1 orders"}))
    assert bench.store.min_offset("orders", 0) == 0
    assert bench.kill().store.min_offset("orders", 0) == 0


def test_parses_a_topic_with_spaces() -> None:
    found = parse_marker({"__QSTART": "3 7 a b"})
    assert found == (("a b", 3), 7)


def _view(bench: Bench) -> StartsView:
    [view] = [view for view in bench.store._views if isinstance(view, StartsView)]
    return view
