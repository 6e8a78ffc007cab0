"""Ends of queues are saved by a clean stop, and trusted only if no other process has used the store
meanwhile.
"""

import json
import logging
from collections.abc import Callable

import pytest

from mqgateway.engine.disk import File
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import Bench, drain, message

TABLE = "/store/queuetable"
Damage = Callable[[CrashDisk], object]


class Watched(CrashDisk):
    """A disk that records which files of queues were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open(self, path: str, create: bool = False) -> File:
        if "/consumequeue/" in path:
            self.opened.append(path)
        return super().open(path, create)


def stopped(count: int = 30) -> tuple[Bench, Watched]:
    """Return a store with queues of several files, some ending inside of one, stopped cleanly."""
    disk = Watched()
    bench = Bench(disk, queue_table_from=2)
    bench.put(*[message(queue_id=i % 3, body=b"%d" % i) for i in range(count)])
    bench.put(*[message("batched", body=b"x") for _ in range(3)])
    bench.store.stop()
    disk.opened.clear()
    return bench, disk


def test_a_start_after_a_clean_stop_looks_at_no_queue() -> None:
    bench, disk = stopped()
    again = bench.again()
    assert not disk.opened
    assert not disk.exists(TABLE)
    assert again.store.queues() == {"orders": {0, 1, 2}, "batched": {0}}
    assert [again.store.max_offset("orders", i) for i in range(3)] == [10, 10, 10]
    assert again.store.max_offset("batched", 0) == 3
    assert len(drain(again.store)) == 10
    assert again.put(message(queue_id=1), message("batched")) == [10, 3]
    assert len(drain(again.restart().store, queue_id=1)) == 11


def test_a_small_store_needs_none() -> None:
    bench = Bench()
    bench.put(message())
    bench.store.stop()
    assert not bench.disk.exists(TABLE)


def test_without_a_clean_stop_it_does_not_count() -> None:
    bench, disk = stopped()
    again = bench.again()
    again.put(message())
    killed = again.kill()
    assert disk.opened
    assert killed.store.max_offset("orders", 0) == 11


def test_deleted_messages_stay_deleted() -> None:
    bench = Bench(Watched(), queue_table_from=1, file_reserved_time=0)
    bench.put(*[message(body=b"x" * 800) for _ in range(20)])
    bench.store.admin.delete_expired_files()
    for _ in range(20):
        bench.clock.advance(100)
        bench.store.tick()
    low = bench.store.min_offset("orders", 0)
    again = bench.restart()
    assert 0 < low == again.store.min_offset("orders", 0)
    assert len(drain(again.store)) == 20 - low


def other_broker(disk: CrashDisk) -> None:
    disk.millis = lambda: 5
    disk.open("/store/lock").write(0, b"lock")


def altered(**changes: object) -> Damage:
    def alter(disk: CrashDisk) -> None:
        table = {**json.loads(disk.read_bytes(TABLE)), **changes}
        data = json.dumps(table).encode()
        file = disk.open(TABLE)
        file.truncate(len(data))
        file.write(0, data)

    return alter


@pytest.mark.parametrize(
    "damage",
    [
        other_broker,
        lambda disk: disk.open(TABLE).truncate(50),
        lambda disk: disk.open(TABLE).write(0, b"[]      "),
        altered(version=2),
        altered(filesEnd=1),
        altered(folder=[1, 1]),
        altered(logEnd=5),
        altered(newest=-1),
        altered(newest=1),
    ],
)
def test_stale_table_makes_start_examine_each_queue(damage: Damage) -> None:
    bench, disk = stopped()
    damage(disk)
    again = bench.again()
    assert disk.opened
    assert again.store.max_offset("batched", 0) == 3
    assert [len(drain(again.store, queue_id=i)) for i in range(3)] == [10, 10, 10]


def test_missing_folders_are_noticed(caplog: pytest.LogCaptureFixture) -> None:
    bench, disk = stopped()
    disk.rmtree("/store/consumequeue/orders")
    with caplog.at_level(logging.INFO):
        again = bench.again()
    assert "folders of queues are missing" in caplog.text
    assert again.store.queues().keys() == {"batched"}


def test_a_stop_that_cannot_note_it_is_still_clean() -> None:
    disk = Watched()
    bench = Bench(disk, queue_table_from=1)
    bench.put(message())
    disk.fail_next("rename", TABLE)
    again = bench.restart()
    assert again.report.clean
    assert len(drain(again.store)) == 1


def test_a_queue_that_lost_a_file_is_looked_at_and_made_whole(caplog: pytest.LogCaptureFixture) -> None:
    for start in (0, 200):
        bench = Bench(queue_table_from=2)
        bench.put(*[message(queue_id=i % 3, body=b"%d" % i) for i in range(45)])
        bench.store.stop()
        bench.disk.lose(f"/store/consumequeue/orders/1/{start:020d}")
        again = bench.again()
        assert "orders queue 1 lacks a file" in caplog.text
        assert [each.queue_offset for each in drain(again.store, queue_id=1)] == list(range(15))
        caplog.clear()
