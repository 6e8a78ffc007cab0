"""Reads that would wait for the disk: reported, loaded by a worker, and retried."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.cold import AHEAD, ColdRead
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.results import Accept, GetResult, GetStatus
from mqgateway.engine.testing.crash_disk import CrashDisk, CrashFile
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import Bench, batch, message, records

T = TypeVar("T")

PAGE = 512
QUEUE = {"mapped_file_size_consume_queue": 2000}


class ColdFile(CrashFile):
    """A file whose pages are in memory once they were read or written."""

    disk: "ColdDisk"
    path: str

    def _pages(self, offset: int, size: int) -> set[tuple[str, int]]:
        return {(self.path, page) for page in range(offset // PAGE, -(-(offset + size) // PAGE))}

    def read(self, offset: int, size: int) -> bytes:
        self.disk.warm |= self._pages(offset, size)
        return super().read(offset, size)

    def is_ready(self, offset: int, size: int) -> bool:
        return super().is_ready(offset, size) and self._pages(offset, size) <= self.disk.warm

    def read_ahead(self, offset: int, size: int) -> None:
        self.disk.ahead.append((self.path.rpartition("/")[2], offset, size))


class ColdDisk(CrashDisk):
    """A disk that tracks which pages are in memory: none, at first."""

    def __init__(self) -> None:
        super().__init__()
        self.warm: set[tuple[str, int]] = set()
        self.ahead: list[tuple[str, int, int]] = []

    def open(self, path: str, create: bool = False) -> ColdFile:
        super().open(path, create)
        file = ColdFile(self, path, self._get(path))
        file.disk, file.path = self, path
        return file


def cold_bench(count: int = 40, **changes: object) -> tuple[Bench, ColdDisk, MemoryWorker]:
    """Return a store with messages in several log files, none of it in memory after a restart."""
    disk, worker = ColdDisk(), MemoryWorker()
    changes = {**QUEUE, **changes}
    bench = Bench(disk, newest_log_bytes=0, **changes)  # type: ignore[arg-type]
    texts = [(b"%d " % i + b"x" * 290, {"number": str(i)}) for i in range(count)]
    bench.put(
        *[
            message(queue_id=i % 2, body=body, properties=properties)
            for i, (body, properties) in enumerate(texts)
        ]
    )
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0, **changes)  # type: ignore[arg-type]
    disk.warm.clear()
    return bench, disk, worker


def pull(
    bench: Bench, worker: MemoryWorker, offset: int, accept: Accept | None = None
) -> tuple[GetResult, int]:
    """Read without waiting until it succeeds; return the result and the number of worker runs."""
    for rounds in range(100):
        try:
            return bench.store.get("orders", 0, offset, 32, accept=accept, may_wait=False), rounds
        except ColdRead as cold:
            bench.store.bring(cold, lambda: None)
            assert worker.perform()
    raise AssertionError("it never gets warm")


def test_read_that_may_wait_needs_no_worker() -> None:
    bench, _, worker = cold_bench()
    assert bench.store.get("orders", 0, 0, 32).status is GetStatus.FOUND
    assert worker.waiting == 0


def test_cold_read_succeeds_after_worker_loaded_it() -> None:
    bench, disk, worker = cold_bench()
    found: list[bytes] = []
    while len(found) < 20:
        result, rounds = pull(bench, worker, len(found))
        assert (result.status, rounds <= 2) == (GetStatus.FOUND, True)
        found += [r.body.split()[0] for r in records(result)]
    assert found == [b"%d" % i for i in range(0, 40, 2)]
    assert disk.ahead and all(size == AHEAD for _, _, size in disk.ahead)


def test_reading_ahead_can_be_switched_off() -> None:
    bench, disk, worker = cold_bench(data_read_ahead_enable=False)
    assert pull(bench, worker, 0)[0].status is GetStatus.FOUND
    assert disk.ahead == []


def test_warm_read_needs_no_worker() -> None:
    bench, _, worker = cold_bench()
    pull(bench, worker, 3)
    assert pull(bench, worker, 3)[1] == 0


def test_records_that_lie_apart_are_brought_together() -> None:
    disk, worker = ColdDisk(), MemoryWorker()
    bench = Bench(disk, newest_log_bytes=0, mapped_file_size_commit_log=1 << 20)
    for _ in range(8):
        bench.put(message(), *[message(queue_id=1, body=b"x" * 5000) for _ in range(2)])
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0, mapped_file_size_commit_log=1 << 20)
    disk.warm.clear()
    result, rounds = pull(bench, worker, 0)
    assert (result.count, rounds) == (8, 2)


def test_property_filter_loads_many_records_at_once() -> None:
    bench, _, worker = cold_bench()

    result, rounds = pull(bench, worker, 0, lambda properties: properties["number"] == "38")
    assert (result.count, result.next_offset, rounds <= 2) == (1, 20, True)


def test_batches_may_be_cold_too() -> None:
    disk, worker = ColdDisk(), MemoryWorker()
    bench = Bench(disk, newest_log_bytes=0)
    bench.put(*[message("batched", body=b"x" * 300) for _ in range(9)])
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0)
    disk.warm.clear()
    with pytest.raises(ColdRead):
        bench.store.get("batched", 0, 0, 32, may_wait=False)
    assert bench.store.get("batched", 0, 0, 32).count == 9


def test_batches_are_cold_whatever_their_offsets() -> None:
    """The queue offsets of messages that share records exceed the numbers of the queue's units."""
    disk, worker = ColdDisk(), MemoryWorker()
    bench = Bench(disk, newest_log_bytes=0)
    for _ in range(4):
        bench.store.put_inner_batch(message("batched", body=batch(*[b"x" * 60] * 5)))
        bench.store.dispatch()
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0)
    time = bench.clock.millis()
    for read in (
        lambda: bench.store.get("batched", 0, 15, 32, may_wait=False),
        lambda: bench.store.consume_queue_units("batched", 0, 15, 1, may_wait=False),
        lambda: bench.store.offset_by_time("batched", 0, time, may_wait=False),
        lambda: bench.store.store_time("batched", 0, 15, may_wait=False),
    ):
        disk.warm.clear()
        with pytest.raises(ColdRead):
            read()
    assert bench.store.get("batched", 0, 15, 32).queue_offsets == [15]


def test_reader_woken_by_arrival_gets_cold_read_for_old_messages() -> None:
    bench, disk, _ = cold_bench()
    raised: list[ColdRead] = []

    def woken(_arrivals: object) -> None:
        for offset in (0, 20):
            try:
                bench.store.get("orders", 0, offset, 1, may_wait=False)
            except ColdRead as cold:
                raised.append(cold)

    bench.store.on_arrivals = woken
    disk.warm.clear()
    bench.put(message())
    assert len(raised) == 1, "the message that came is in memory"


def test_the_newest_part_is_never_asked_about() -> None:
    bench, disk, worker = cold_bench()
    bench.put(message())
    disk.warm.clear()
    assert pull(bench, worker, 20)[1] == 0
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=1 << 20, **QUEUE)
    disk.warm.clear()
    assert pull(bench, worker, 0)[1] == 1, "only the units of the queue"


def test_a_file_that_goes_meanwhile_is_passed_over() -> None:
    bench, disk, worker = cold_bench()
    pull(bench, worker, 0)
    disk.warm = {page for page in disk.warm if "/commitlog" not in page[0]}
    bench.store._log.files.pool.windows.clear()  # or it is believed for a second that nothing has changed
    with pytest.raises(ColdRead) as raised:
        bench.store.get("orders", 0, 8, 32, may_wait=False)
    bench.store._log.files.drop_first(4)
    worker.perform_all()
    raised.value.bring()
    assert pull(bench, worker, 0)[0].status is not GetStatus.FOUND


def test_a_real_file_knows_what_is_in_memory(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "f"), create=True)
    file.write(0, b"0123456789")
    assert file.read_ready(2, 5) == b"23456"
    assert file.read_ready(8, 5) is None
    file.read_ahead(0, 10)
    ColdRead(0, [(file, 0, 10)]).bring()


def brought(worker: MemoryWorker, store: MessageStore, read: Callable[[], T]) -> tuple[T, int]:
    """Return the result of a read that may not wait, and the number of worker runs before."""
    for rounds in range(100):
        try:
            return read(), rounds
        except ColdRead as cold:
            store.bring(cold, lambda: None)
            assert worker.perform()
    raise AssertionError("it never gets warm")


def keyed_bench() -> tuple[Bench, MemoryWorker]:
    """Return a store of forty messages, each second one with the key k, in several log and index files, all
    cold.
    """
    disk, worker = ColdDisk(), MemoryWorker()
    sizes = {**QUEUE, "max_hash_slot_num": 8, "max_index_num": 30}
    bench = Bench(disk, newest_log_bytes=0, **sizes)  # type: ignore[arg-type]
    keys = [{"KEYS": "k" if i % 2 else f"other{i}"} for i in range(40)]
    bench.put(*[message(body=b"%d " % i + b"x" * 290, properties=keys[i]) for i in range(40)])
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0, **sizes)  # type: ignore[arg-type]
    disk.warm.clear()
    return bench, worker


def test_messages_with_a_key_are_brought_in_a_few_rounds() -> None:
    expected = keyed_bench()[0].store.query("orders", "k", 64, 0, 1 << 60)
    bench, worker = keyed_bench()
    store = bench.store
    result, rounds = brought(
        worker, store, lambda: store.query("orders", "k", 64, 0, 1 << 60, may_wait=False)
    )
    assert (result, len(result.records)) == (expected, 20)
    assert 2 <= rounds <= 6


def test_a_message_is_brought_by_its_place() -> None:
    bench, worker = keyed_bench()
    store = bench.store
    [(place, size, _)] = store.consume_queue_units("orders", 0, 3, 1)
    record, rounds = brought(worker, store, lambda: store.record_at(place, may_wait=False))
    assert (record is not None and len(record), rounds) == (size, 1)
    assert store.record_at(place + 1) is None


def test_a_stretch_of_a_queue_is_brought() -> None:
    expected = keyed_bench()[0].store.consume_queue_units("orders", 0, 3, 30)
    bench, worker = keyed_bench()
    store = bench.store
    units, rounds = brought(
        worker, store, lambda: store.consume_queue_units("orders", 0, 3, 30, may_wait=False)
    )
    assert (units, len(units), rounds > 0) == (expected, 30, True)
    assert store.consume_queue_units("orders", 0, 3, 30) == expected


def test_a_search_by_time_is_brought_step_by_step() -> None:
    bench, worker = keyed_bench()
    store = bench.store
    time = bench.clock.millis() + 1
    expected = store.offset_by_time("orders", 0, time)
    bench, worker = keyed_bench()
    store = bench.store
    offset, rounds = brought(worker, store, lambda: store.offset_by_time("orders", 0, time, may_wait=False))
    assert (offset, 0 < rounds < 64) == (expected, True)
    bench, worker = keyed_bench()
    store = bench.store
    stored, rounds = brought(worker, store, lambda: store.store_time("orders", 0, 0, may_wait=False))
    assert (stored, 0 < rounds <= 2) == (store.store_time("orders", 0, 0), True)


def test_cold_batches_are_brought_together() -> None:
    disk, worker = ColdDisk(), MemoryWorker()
    sizes = {"mapper_file_size_batch_consume_queue": 46 * 400, "mapped_file_size_commit_log": 1 << 20}
    bench = Bench(disk, newest_log_bytes=0, **sizes)
    for number in range(300):
        body = batch(*[b"%d" % number] * 3)
        bench.store.put_inner_batch(message("batched", 0, body, {}))
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0, **sizes)
    disk.warm.clear()
    result = None
    for _ in range(4):
        try:
            result = bench.store.get("batched", 0, 450, 90, may_wait=False)
        except ColdRead as cold:
            bench.store.bring(cold, lambda: None)
            assert worker.perform()
    assert result is not None and list(result.queue_offsets) == list(range(450, 540, 3))


def test_cold_record_batches_are_brought_together() -> None:
    disk, worker = ColdDisk(), MemoryWorker()
    sizes = {"mapper_file_size_batch_consume_queue": 46 * 400, "mapped_file_size_commit_log": 1 << 20}
    bench = Bench(disk, newest_log_bytes=0, **sizes)
    fill_kafka(bench, *[3] * 300)
    bench.store.stop()
    bench = Bench(disk, bench.clock, aside=worker, newest_log_bytes=0, **sizes)
    disk.warm.clear()
    with pytest.raises(ColdRead):
        bench.store.batches.get("batched", 0, 450, 20_000, may_wait=False)
    for _ in range(4):
        try:
            result = bench.store.batches.get("batched", 0, 450, 20_000, may_wait=False)
        except ColdRead as cold:
            bench.store.bring(cold, lambda: None)
            assert worker.perform()
    assert result.count == 3 * len(result.spans) > 60


@pytest.mark.parametrize("topic", ["orders", "batched"])
def test_messages_with_cold_units_count_as_enough_to_read(topic: str) -> None:
    disk = ColdDisk()
    bench = Bench(disk, newest_log_bytes=0)
    bench.put(*[message(topic, body=b"x" * 300) for _ in range(9)])
    bench.store.stop()
    bench = Bench(disk, bench.clock, newest_log_bytes=0)
    disk.warm.clear()
    store = bench.store
    assert store.readable_bytes(topic, 0, 0, 1 << 30) == 1 << 30
    size = store.get(topic, 0, 0, 9).size
    assert store.readable_bytes(topic, 0, 0, 1 << 30) == size > 9 * 300
    assert store.readable_bytes(topic, 0, 9, 1 << 30) == 0
