"""The facade of the store, and a model: nothing acknowledged is lost and nothing is invented."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store import schema
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import HOST, Bench, batch, drain, message, options, records

EXAMPLES = int(os.environ.get("MQGATEWAY_EXAMPLES", "100"))


def test_message_is_read_after_dispatch_and_reported() -> None:
    bench = Bench()
    bench.store.put(message())
    assert bench.store.max_offset("orders", 0) == 0
    assert bench.store.admin.dispatch_behind_bytes > 0
    bench.store.dispatch()
    bench.store.dispatch()
    assert bench.store.max_offset("orders", 0) == 1
    assert len(bench.arrivals) == 1
    assert bench.store.admin.dispatch_behind_bytes == 0


def test_a_store_is_used_by_one_process_at_a_time() -> None:
    bench = Bench()
    with pytest.raises(StoreUnavailable, match="in use"):
        bench.again()


def test_a_stopped_store_takes_nothing() -> None:
    bench = Bench()
    bench.store.stop()
    refused = bench.store.put(message())
    assert (refused.status, refused.remark) == (PutStatus.SERVICE_NOT_AVAILABLE, "the store is stopped")


def test_stopping_makes_durable_awaited_records() -> None:
    bench = Bench(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    said: list[PutStatus] = []
    bench.store.when_flushed(bench.store.put(message()).end_offset, said.append)
    bench.store.stop()
    assert said == [PutStatus.PUT_OK]
    assert len(drain(bench.again().store)) == 1


def test_a_sick_index_does_not_stop_messages() -> None:
    bench = Bench()
    bench.disk.fail_next("open", "/index", errno.EIO, times=3)
    bench.put(message(properties={"KEYS": "k"}))
    assert bench.store.query("orders", "k", 9, 0, 1 << 60).records == []
    bench.clock.advance(1000)
    bench.store.tick()
    assert not bench.store.is_writable
    assert len(drain(bench.store)) == 1


def test_offsets_and_times_of_unknown_queues() -> None:
    store = Bench().store
    assert (store.max_offset("x", 0), store.min_offset("x", 0)) == (0, 0)
    assert store.max_offsets("x") == {}
    assert store.offset_by_time("x", 0, 5) == 0
    assert store.store_time("x", 0, 0) == -1
    assert store.earliest_store_time() == -1
    assert store.consume_queue_units("x", 0, 0, 5) == []


def test_max_offsets_by_queue() -> None:
    bench = Bench()
    for queue_id in (0, 2, 2):
        bench.put(message(queue_id=queue_id))
    assert bench.store.max_offsets("orders") == {0: 1, 2: 2}


def test_store_times_are_those_of_the_records() -> None:
    bench = Bench()
    begin = bench.clock.millis()
    bench.put(message())
    bench.clock.advance(5)
    bench.put(message())
    assert [bench.store.store_time("orders", 0, i) for i in (0, 1, 2)] == [begin, begin + 5, -1]
    assert bench.store.earliest_store_time() == begin


def test_units_are_given_as_they_are_asked_for() -> None:
    bench = Bench()
    bench.put(message(), message(), message())
    size = bench.store.max_physical_offset // 3
    units = bench.store.consume_queue_units("orders", 0, 1, 9)
    assert [(offset, length) for offset, length, _ in units] == [(size, size), (2 * size, size)]
    assert bench.store.consume_queue_units("orders", 0, 5, 9) == []


def test_reads_are_counted() -> None:
    bench = Bench()
    bench.put(message(), message())
    bench.store.get("orders", 0, 0, 9)
    bench.store.get("orders", 0, 9, 9)
    statistics = bench.store.statistics
    assert (statistics.get_found, statistics.get_missed, statistics.get_transferred) == (1, 1, 2)


@given(st.binary(max_size=600), st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_a_real_disk_keeps_messages_too(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, n: int
) -> None:
    root = tmp_path_factory.mktemp("store")

    def opened() -> MessageStore:
        store = MessageStore(
            options(store_path_root_dir=str(root), max_hash_slot_num=100, max_index_num=100),
            disk=RealDisk(),
            clock=SystemClock(),
            worker=InlineWorker(),
            store_host=HOST,
        )
        store.start()
        return store

    store = opened()
    for i in range(20):
        store.put(message(body=body, properties={"KEYS": f"k{i % n}"}))
    store.dispatch()
    store.stop()
    store = opened()
    assert [m.body for m in drain(store)] == [body] * 20
    assert len(store.query("orders", "k0", 64, 0, 1 << 60).records) == len(range(0, 20, n))
    store.stop()


def test_the_files_of_a_real_store_have_the_standards_names_and_lengths(tmp_path: Path) -> None:
    store = MessageStore(
        options(store_path_root_dir=str(tmp_path), mapped_file_size_consume_queue=6_000_000),
        disk=RealDisk(),
        clock=SystemClock(),
        worker=InlineWorker(),
        store_host=HOST,
    )
    store.start()
    store.put(message(properties={"KEYS": "k"}))
    store.dispatch()
    store.stop()
    files = {str(p.relative_to(tmp_path)): p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()}
    (index,) = (name for name in files if name.startswith("index/"))
    assert files == {
        "commitlog/00000000000000000000": 4096,
        "consumequeue/orders/0/00000000000000000000": 6_000_000,
        index: 40 + 4 * 16 + 20 * 64,
        "checkpoint": 4096,
        "lock": 4,
    }


class Life(RuleBasedStateMachine):
    """A store's life with restarts, kills and power cuts, compared with a list of puts."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(flush_consume_queue_thorough_interval=3000)
        self.log: list[tuple[int, bytes, str]] = []
        self.promised = 0
        self.number = 0

    def _remember(self, queue_id: int, body: bytes) -> None:
        self.log.append((queue_id, body, f"k{self.number}"))
        self.number += 1

    @rule(queue_id=st.integers(0, 2), size=st.integers(0, 1500))
    def put(self, queue_id: int, size: int) -> None:
        body = b"%d " % self.number + b"x" * size
        offset = sum(each[0] == queue_id for each in self.log)
        result = self.bench.store.put(
            message(queue_id=queue_id, body=body, properties={"KEYS": f"k{self.number}", "TAGS": "t"})
        )
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, offset)
        self._remember(queue_id, body)

    @rule(queue_id=st.integers(0, 2), sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6))
    def put_batch(self, queue_id: int, sizes: list[int]) -> None:
        bodies = [b"%d " % (self.number + i) + b"y" * size for i, size in enumerate(sizes)]
        elements = b"".join(
            batch(body, properties=b"KEYS\1k%d\2" % (self.number + i)) for i, body in enumerate(bodies)
        )
        result = self.bench.store.put_batch(message(queue_id=queue_id), elements)
        assert result.status is PutStatus.PUT_OK
        for body in bodies:
            self._remember(queue_id, body)

    @rule()
    def dispatch(self) -> None:
        self.bench.store.dispatch()

    @rule(millis=st.sampled_from([100, 1000, 5000, 20_000]))
    def wait(self, millis: int) -> None:
        self.bench.clock.advance(millis)
        self.bench.store.tick()

    @rule()
    def promise(self) -> None:
        said: list[PutStatus] = []
        self.bench.store.when_flushed(self.bench.store.max_physical_offset, said.append)
        self.bench.store.dispatch()
        assert said == [PutStatus.PUT_OK]
        self.promised = len(self.log)

    @rule(error=st.sampled_from([errno.ENOSPC, errno.EIO]))
    def fail_to_put(self, error: int) -> None:
        self.bench.disk.fail_next("write", "/commitlog", error)
        result = self.bench.store.put(message(body=b"never" * 20))
        assert result.status in (PutStatus.SERVICE_NOT_AVAILABLE, PutStatus.CREATE_MAPPED_FILE_FAILED)

    @rule()
    def restart(self) -> None:
        self.bench = self.bench.restart()
        assert self.bench.report.clean
        self.promised = len(self.log)

    @rule()
    def die(self) -> None:
        self.bench = self.bench.kill()
        self.promised = len(self.log)

    @precondition(lambda self: self.log)
    @rule(seed=st.integers(0, 1 << 20))
    def lose_power(self, seed: int) -> None:
        self.bench = self.bench.crash(seed)
        left = sum(self.bench.store.max_offset("orders", queue_id) for queue_id in range(3))
        assert self.promised <= left <= len(self.log)
        del self.log[left:]
        self.promised = left

    @rule()
    def look_for_keys(self) -> None:
        self.bench.store.dispatch()
        for queue_id, body, key in self.log[:: max(1, len(self.log) // 10)]:
            found = self.bench.store.query("orders", key, 64, 0, 1 << 60).records
            bodies = {schema.RECORD.parse(record).body for record in found}
            assert body in bodies, (queue_id, key)

    @invariant()
    def what_is_read_was_put(self) -> None:
        store = self.bench.store
        for queue_id in range(3):
            wanted = [(body, key) for queue, body, key in self.log if queue == queue_id]
            found = drain(store, "orders", queue_id)
            assert [(m.body, m.properties["KEYS"]) for m in found] == wanted[: len(found)]
            assert [m.queue_offset for m in found] == list(range(len(found)))
            assert len(found) == store.max_offset("orders", queue_id)
        if not store.admin.dispatch_behind_bytes:
            assert sum(store.max_offset("orders", q) for q in range(3)) == len(self.log)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=EXAMPLES, stateful_step_count=30, deadline=None)


def test_records_given_to_readers_are_whole() -> None:
    bench = Bench()
    bench.put(*[message(body=b"x" * i * 50) for i in range(20)])
    result = bench.store.get("orders", 0, 0, 20)
    assert sum(r.size for r in records(result)) == result.size
