"""Truncation of a log in use: the removed part is not served, and does not return; the store continues."""

from __future__ import annotations

import contextlib

import pytest

from mqgateway.engine.errors import StoreError
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation, PowerCut
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import Bench, message


def filled(bench: Bench, count: int, name: str = "m", millis: int = 0) -> list[int]:
    """Return the ends of some messages, which are stored so many ms apart."""
    ends = []
    for number in range(count):
        key = f"{name}{number}"
        body = key.encode() * 20
        result = bench.store.put(message("orders", number % 2, body, {"KEYS": key, "TAGS": "a"}))
        ends.append(result.end_offset)
        bench.clock.advance(millis)
    bench.store.dispatch()
    return ends


def bodies(bench: Bench) -> list[bytes]:
    """Return the bodies that readers of both queues get."""
    found = []
    for queue_id in (0, 1):
        units = bench.store.consume_queue_units("orders", queue_id, 0, 1000)
        for place, _size, _code in units:
            stored = bench.store.look_up(place)
            assert stored is not None
            found.append(stored.body[: len(stored.body) // 20])
    return found


def keys(bench: Bench, name: str, count: int) -> set[str]:
    """Return the keys that are found."""
    names = [f"{name}{number}" for number in range(count)]
    return {key for key in names if bench.store.query("orders", key, 8, 0, 2**60).records}


@pytest.mark.parametrize("kept", [0, 1, 4, 9, 29])
def test_truncated_records_are_gone_and_log_continues(kept: int) -> None:
    bench = Bench()
    ends = filled(bench, 30)
    end = ends[kept - 1] if kept else 0
    assert bench.store.cut(end)
    assert bench.store.max_physical_offset == end
    names = [b"m%d" % number for number in range(kept)]
    assert sorted(bodies(bench)) == sorted(names)
    assert keys(bench, "m", 30) == {name.decode() for name in names}
    filled(bench, 12, "n")
    assert len(bodies(bench)) == kept + 12
    assert len(keys(bench, "n", 12)) == 12
    last = bench.store.raw.last_record()
    assert last is not None and b"n11" in last.record


def test_a_cut_at_the_end_changes_nothing() -> None:
    bench = Bench()
    end = filled(bench, 3)[-1]
    assert bench.store.cut(end)
    assert bench.store.cut(end + 1)
    assert len(bodies(bench)) == 3


def test_a_log_is_not_cut_inside_a_record() -> None:
    bench = Bench()
    ends = filled(bench, 3)
    with pytest.raises(StoreError, match="no record ends at"):
        bench.store.cut(ends[1] - 7)
    assert len(bodies(bench)) == 3


def test_a_disk_at_work_is_waited_for() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker, flush_interval_commit_log=1, flush_commit_log_least_pages=0)
    ends = filled(bench, 10)
    bench.clock.advance(1000)
    bench.store.tick()
    assert not bench.store.cut(ends[4])
    worker.perform_all()
    assert bench.store.cut(ends[4])


def test_nothing_comes_back_with_a_power_cut() -> None:
    """Whatever the disk kept: neither before new records are written, nor after that."""
    for seed in range(25):
        bench = Bench()
        ends = filled(bench, 25)
        bench.clock.advance(60_000)
        bench.store.tick()
        assert bench.store.cut(ends[9])
        after = bench.crash(seed)
        assert {b"m%d" % number for number in range(10, 25)}.isdisjoint(bodies(after))
        filled(bench, 9, "n")
        bench.clock.advance(60_000)
        bench.store.tick()
        after = bench.crash(seed)
        found = bodies(after)
        assert {b"m%d" % number for number in range(10, 25)}.isdisjoint(found)
        assert len(found) == len(set(found))


def test_a_power_cut_in_the_middle_leaves_a_whole_store() -> None:
    for step in range(1, 40):
        bench = Bench()
        ends = filled(bench, 25)
        bench.clock.advance(60_000)
        bench.store.tick()
        bench.disk.cut_at = bench.disk.operations + step
        try:
            bench.store.cut(ends[9])
            is_through = True
        except PowerCut:
            is_through = False
        after = bench.crash(step)
        found = sorted(bodies(after), key=lambda body: int(body[1:]))
        assert found[:10] == [b"m%d" % number for number in range(10)]
        assert found == [b"m%d" % number for number in range(len(found))]
        if is_through:
            assert len(found) == 10
            return
    raise AssertionError("the cut never ends")


@pytest.mark.parametrize("step", range(1, 10))
def test_power_cut_during_truncation_leaves_no_gap_in_the_log(step: int) -> None:
    """The rest has no gaps: records after removed ones must not pass for later, valid ones."""
    for seed in range(8):
        bench = Bench()
        ends = filled(bench, 25)
        bench.clock.advance(60_000)
        bench.store.tick()
        bench.disk.cut_at = bench.disk.operations + step
        with contextlib.suppress(PowerCut):
            bench.store.cut(ends[0])
        found = sorted(bodies(bench.crash(seed)), key=lambda body: int(body[1:]))
        assert found == [b"m%d" % number for number in range(len(found))]


def test_power_cut_while_the_log_is_cleared_leaves_no_gap_in_a_file() -> None:
    """Sectors of removed records may be left, and records in them must not pass for durable ones."""
    bench = Bench(mapped_file_size_commit_log=32_768)
    ends = filled(bench, 60, millis=1000)
    bench.clock.advance(60_000)
    bench.store.tick()
    left: list[CrashDisk] = []

    def crash(operation: Operation) -> None:
        if operation.call == "sync" and "/commitlog/" in operation.path:
            left.extend(bench.disk.crash(seed) for seed in range(20))

    bench.disk.watch = crash
    assert bench.store.cut(ends[0])
    assert len(left) == 20
    for disk in left:
        found = sorted(bodies(bench.again(disk)), key=lambda body: int(body[1:]))
        assert found == [b"m%d" % number for number in range(len(found))]
