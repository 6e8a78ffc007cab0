"""Group commit, and the rounds that end with a checkpoint."""

import errno
from collections.abc import Callable

import pytest
from construct import Container

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store import flush, schema
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.store.views import new_files
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import Bench, drain, message

OK, LATE = PutStatus.PUT_OK, PutStatus.FLUSH_DISK_TIMEOUT


def test_with_sync_flush_messages_are_seen_after_the_sync() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker, flush_disk_type=FlushDiskType.SYNC_FLUSH)
    said: list[PutStatus] = []
    first = bench.store.put(message())
    bench.store.when_flushed(first.end_offset, said.append)
    bench.store.dispatch()
    second = bench.store.put(message())
    bench.store.when_flushed(second.end_offset, said.append)
    bench.store.dispatch()
    assert (said, bench.arrivals, drain(bench.store)) == ([], [], [])
    assert worker.waiting == 1
    worker.perform()
    assert said == [OK]
    assert [arrival.next_offset for arrival in bench.arrivals] == [1]
    worker.perform()
    assert said == [OK, OK]
    assert len(drain(bench.store)) == 2
    assert bench.disk.syncs > 2


def test_a_slow_sync_times_out_but_the_messages_come() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker, flush_disk_type=FlushDiskType.SYNC_FLUSH)
    said: list[PutStatus] = []
    bench.store.when_flushed(bench.store.put(message()).end_offset, said.append)
    bench.store.dispatch()
    bench.clock.advance(5000)
    bench.store.tick()
    assert said == [LATE]
    worker.perform_all()
    assert len(drain(bench.store)) == 1


def test_a_failed_sync_of_the_log_stops_writes_and_an_unclean_stop_follows() -> None:
    bench = Bench()
    bench.put(message())
    bench.disk.fail_next("sync", "/commitlog", errno.EIO)
    bench.clock.advance(20_000)
    bench.store.tick()
    refused = bench.store.put(message())
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "could not be written to disk" in refused.remark
    assert not bench.store.is_writable
    again = bench.restart()
    assert not again.report.clean
    assert len(drain(again.store)) == 1


def test_the_log_is_flushed_by_the_clock_once_enough_pages_are_dirty() -> None:
    bench = Bench(mapped_file_size_commit_log=1 << 20)
    bench.put(message(body=b"x" * 1000))
    bench.clock.advance(500)
    bench.store.tick()
    assert bench.store.flushed_offset == 0
    bench.put(*[message(body=b"x" * 1000) for _ in range(20)])
    bench.clock.advance(500)
    bench.store.tick()
    assert bench.store.flushed_offset == bench.store.max_physical_offset
    bench.put(message())
    bench.clock.advance(10_000)
    bench.store.tick()
    assert bench.store.flushed_offset == bench.store.max_physical_offset


def checkpoint(bench: Bench) -> Container:
    return schema.CHECKPOINT.parse(bench.disk.read_bytes("/store/checkpoint"))


def test_a_round_ends_with_a_checkpoint_of_the_last_dispatched_record() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker, clock=ManualClock(1_700_000_000_000))
    for queue_id in range(40):
        bench.put(message(queue_id=queue_id))
    bench.put(message())
    last_start = bench.store.consume_queue_units("orders", 0, 1, 1)[0][0]
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.put(message())
    bench.clock.advance(100)
    bench.store.tick()
    assert worker.waiting
    worker.perform_all()
    bench.clock.advance(100)
    bench.store.tick()
    worker.perform_all()
    saved = checkpoint(bench)
    assert saved.logics_physical_offset == last_start
    assert saved.logics_msg_timestamp == 1_700_000_000_000


def test_checkpoint_waits_until_log_is_durable_to_end_of_its_record() -> None:
    worker, aside = MemoryWorker(), MemoryWorker()
    bench = Bench(worker=worker, aside=aside, flush_consume_queue_thorough_interval=20_000)
    bench.put(message())
    bench.clock.advance(10_000)
    bench.store.tick()
    worker.perform_all()
    start = bench.store.flushed_offset
    bench.put(message())
    assert bench.store.consume_queue_units("orders", 0, 1, 1)[0][0] == start
    bench.clock.advance(10_000)
    bench.store.tick()
    assert (worker.waiting, aside.waiting) == (1, 1)
    aside.perform_all()
    assert (bench.store.flushed_offset, checkpoint(bench).logics_physical_offset) == (start, 0)
    worker.perform_all()
    bench.store.tick()
    assert checkpoint(bench).logics_physical_offset == start


def test_the_index_says_no_more_of_itself_than_the_checkpoint() -> None:
    bench = Bench()
    for number in range(100):  # more than one file takes
        bench.clock.advance(1)
        bench.put(message(properties={"KEYS": f"k{number}"}))
        if number % 7 == 6:
            bench.clock.advance(60_000)
            bench.store.tick()
        if number % 5 == 4:
            bench.store._index.apply(bench.clock.millis())  # type: ignore[union-attr]
        names = bench.disk.listdir("/store/index")
        for name in names:
            header = schema.index_file(16, 64).parse(bench.disk.read_bytes(f"/store/index/{name}")).header
            is_new = header.next_entry == 1
            assert is_new or header.end_timestamp <= checkpoint(bench).index_msg_timestamp
        if number % 7 == 6:
            assert header.end_timestamp == checkpoint(bench).index_msg_timestamp
    assert len(names) > 1


def test_a_failed_sync_of_a_queue_ends_checkpoints_but_not_writing() -> None:
    bench = Bench()
    bench.put(message())
    bench.disk.fail_next("sync", "/consumequeue/orders/0/", errno.EIO)
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.put(message())
    bench.clock.advance(60_000)
    bench.store.tick()
    assert checkpoint(bench).logics_physical_offset == 0
    again = bench.restart()
    assert not again.report.clean
    assert len(drain(again.store)) == 2


def test_a_full_disk_under_the_queues_refuses_writes_until_there_is_room() -> None:
    bench = Bench()
    bench.put(message())
    bench.disk.fail_next("write", "/consumequeue", errno.ENOSPC)
    bench.clock.advance(1000)
    bench.store.tick()
    assert "No space left" in bench.store.put(message()).remark
    bench.clock.advance(1000)
    bench.store.tick()
    bench.put(message())
    assert len(drain(bench.store)) == 2


def test_a_topic_may_be_deleted_while_a_round_runs() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker)
    bench.put(message(), message(topic="other"))
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.store.admin.delete_topics(["orders"])
    worker.perform_all()
    bench.clock.advance(100)
    bench.store.tick()
    worker.perform_all()
    assert checkpoint(bench).logics_physical_offset > 0


@pytest.mark.parametrize("seed", range(8))
def test_stop_during_a_sync_makes_names_of_log_files_durable(seed: int) -> None:
    """The sync has taken the directory from the list of those to sync, and is not carried out."""
    worker = MemoryWorker()
    bench = Bench(worker=worker)
    bench.put(message())
    bench.clock.advance(10_000)
    bench.store.tick()
    assert (worker.waiting, bench.store.flushed_offset) == (1, 0)
    bench.store.stop()
    again = bench.crash(seed)
    assert again.report.clean
    assert len(drain(again.store)) == 1


class Stopwatch(ManualClock):
    """A clock whose monotonic time advances a millisecond with each reading."""

    def monotonic(self) -> float:
        self.advance(1)
        return super().monotonic()


def test_many_tails_are_written_out_over_several_ticks() -> None:
    bench = Bench(clock=Stopwatch(), flush_interval_consume_queue=100_000)
    bench.put(*[message(queue_id=number) for number in range(60)])
    bench.clock.advance(100_000)
    left = []
    for _ in range(20):
        bench.store.tick()
        left.append(len(bench.store._queues.dirty))
    assert left == sorted(left, reverse=True) and 20 < left[0] < 60 and left[-1] == 0


@pytest.mark.parametrize("seed", range(8))
def test_a_checkpoint_says_how_far_the_tails_are_written(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every unit exists again, whatever a power cut leaves."""
    monkeypatch.setattr(flush, "FILES_MANY", 5 + seed)
    bench = Bench(clock=Stopwatch(), flush_consume_queue_thorough_interval=2000)
    for turn in range(6):
        bench.put(*[message(queue_id=number % 23, body=b"%d" % turn) for number in range(40)])
        bench.clock.advance(700)
        bench.store.tick()
        bench.store.tick()
    offset = bench.store._checkpoint.logics_physical_offset
    flushed = bench.store.flushed_offset
    assert 0 < offset < bench.store.max_physical_offset
    again = bench.crash(seed)
    found = [m for number in range(23) for m in drain(again.store, queue_id=number)]
    assert len(found) >= sum(1 for place in range(240) if place * 140 < flushed - 140)
    for number in range(23):
        offsets = [m.queue_offset for m in drain(again.store, queue_id=number)]
        assert offsets == list(range(len(offsets)))


def test_thousands_of_files_are_synced_as_one_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def syncs(many: int) -> int:
        monkeypatch.setattr(flush, "FILES_MANY", many)
        bench = Bench()
        bench.put(*[message(queue_id=number) for number in range(50)])
        before = bench.disk.syncs
        bench.store.stop()
        assert len(drain(bench.crash(1).store, queue_id=49)) == 1
        return bench.disk.syncs - before

    assert syncs(10) < 20 < 100 < syncs(1000)


def test_the_files_of_many_new_queues_are_made_by_the_worker() -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    count = new_files.NEW_QUEUES_A_STEP + 6
    bench.put(*[message(topic=f"t{number}") for number in range(count)])
    bench.store.tick()
    assert bench.disk.subdirs(bench.store._queues.directory) == [] and aside.waiting == 1
    aside.perform_all()
    made = bench.disk.subdirs(bench.store._queues.directory)
    assert sorted(made) == sorted(f"t{number}" for number in range(new_files.NEW_QUEUES_A_STEP))
    again = bench.restart()
    assert all(len(drain(again.store, f"t{number}")) == 1 for number in range(count))


@pytest.mark.parametrize("comes_again", [False, True])
def test_first_file_of_topic_deleted_meanwhile_is_removed(comes_again: bool) -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    bench.put(*[message(topic=f"t{number}") for number in range(new_files.NEW_QUEUES_MANY)])
    bench.store.tick()
    bench.store.admin.delete_topics(["t3"])
    if comes_again:
        bench.put(message(topic="t3", queue_id=1))
    aside.perform_all()
    directory = f"{bench.store._queues.directory}/t3"
    assert bench.disk.subdirs(directory) == [] and bench.disk.is_dir(directory) is comes_again
    again = bench.restart()
    assert len(drain(again.store, "t3", queue_id=1)) == comes_again


@pytest.mark.parametrize("end", [Bench.kill, Bench.restart])
def test_the_worker_writes_the_first_units_of_many_new_queues(end: Callable[[Bench], Bench]) -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    names = [f"t{number}" for number in range(new_files.NEW_QUEUES_MANY)]
    bench.put(*[message(topic=name) for name in names])
    bench.store.tick()
    bench.put(message(topic="t3", body=b"later"))
    bench.clock.advance(5000)
    bench.store.tick()
    queues = bench.store._queues
    assert bench.disk.subdirs(queues.directory) == [], "the loop has written while the worker was to"
    while aside.waiting:
        aside.perform()
    assert [len(queue.tail) for queue in queues] == [20 * (queue.topic == "t3") for queue in queues]
    assert [m.body for m in drain(bench.store, "t3")] == [b"hello", b"later"]
    again = end(bench)
    assert [m.body for m in drain(again.store, "t3")] == [b"hello", b"later"]
    assert all(len(drain(again.store, name)) == 1 for name in names if name != "t3")


def test_first_file_of_queue_truncated_meanwhile_is_removed() -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    bench.put(*[message(topic=f"t{number}") for number in range(new_files.NEW_QUEUES_MANY)])
    bench.put(message(topic="t3"))
    bench.store.tick()
    bench.store._queues.open("t3", 0).cut_units(0)
    bench.put(message(topic="t3", body=b"after"))
    aside.perform_all()
    assert bench.disk.subdirs(f"{bench.store._queues.directory}/t3") == []
    again = bench.restart()
    assert [m.body for m in drain(again.store, "t3")] == [b"after"]


def test_first_file_that_worker_failed_to_write_is_written_later() -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    names = [f"t{number}" for number in range(new_files.NEW_QUEUES_MANY)]
    bench.put(*[message(topic=name) for name in names])
    bench.store.tick()
    bench.disk.fail_next("write", "/consumequeue/t9/", errno.ENOSPC)
    aside.perform_all()
    assert bench.store._queues.making == set()
    again = bench.restart()
    assert all(len(drain(again.store, name)) == 1 for name in names)


@pytest.mark.parametrize("seed", range(12))
def test_files_made_ahead_change_nothing_after_a_power_cut(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_files, "NEW_QUEUES_MANY", 1 + seed % 5)
    aside = MemoryWorker()
    bench = Bench(aside=aside, flush_consume_queue_thorough_interval=2000)
    for turn in range(8):
        bench.put(*[message(topic=f"t{turn}", queue_id=number) for number in range(7)])
        bench.clock.advance(500)
        bench.store.tick()
        for _ in range((seed + turn) % 4):
            aside.perform()
    flushed = bench.store.flushed_offset
    again = bench.crash(seed)
    places = [(f"t{turn}", number) for turn in range(8) for number in range(7)]
    found = [m for topic, number in places for m in drain(again.store, topic, queue_id=number)]
    assert [(m.topic, m.queue_id) for m in found] == places[: len(found)]
    assert sum(m.physical_offset + m.size <= flushed for m in found) >= flushed // 140
