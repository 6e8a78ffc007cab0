"""Batch consume queues: units for several messages each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import SysFlag
from mqgateway.engine.store import schema
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchConsumeQueue
from mqgateway.engine.store.file_queue import FilePool, file_name
from mqgateway.engine.store.message_store import GetStatus, PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import Bench, batch, message, records

PER_FILE = 4
UNIQ = {"UNIQ_KEY": "1"}


def queue_of(counts: list[int], gap: int = 0) -> BatchConsumeQueue:
    """Return a queue of batches of these sizes, `gap` offsets apart; batch n is at 100 n, stored at 1000 + 10
    n.
    """
    disk = FilePool(CrashDisk())
    queue = BatchConsumeQueue(disk, "/s/batchconsumequeue/t/0", PER_FILE * BATCH_UNIT_SIZE, "t", 0)
    base = 0
    for number, count in enumerate(counts):
        queue.append(base, number * 100, 100, number, 1000 + 10 * number, count)
        base += count + gap
        if number % 3 == 2:
            queue.write_out()
    return queue


def batches(**changes: Any) -> Bench:
    """Return a store whose batch queues have four units a file."""
    return Bench(mapper_file_size_batch_consume_queue=PER_FILE * BATCH_UNIT_SIZE, **changes)


def put_batch(bench: Bench, *bodies: bytes) -> tuple[int, int]:
    """Put a batch as one record; return its first queue offset and its size."""
    result = bench.store.put_inner_batch(message("batched", 0, batch(*bodies), UNIQ))
    bench.store.dispatch()
    assert result.status is PutStatus.PUT_OK, result.remark
    return result.queue_offset, result.count


def test_the_schema_reads_a_unit() -> None:
    disk = CrashDisk()
    queue = BatchConsumeQueue(FilePool(disk), "/b/t/0", 46, "t", 0)
    queue.append(7, 12345678901, 99, -5, 1_700_000_000_000, 3)
    queue.write_out()
    unit = schema.BATCH_QUEUE_UNIT.parse(disk.read_bytes("/b/t/0/" + file_name(0)))
    assert (unit.physical_offset, unit.size, unit.tags_code) == (12345678901, 99, -5)
    assert (unit.store_timestamp, unit.base_offset, unit.messages) == (1_700_000_000_000, 7, 3)
    assert (unit.compact_offset, unit.reserved) == (-1, 0)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(0, 3), st.integers(0, 200))
def test_the_unit_of_a_message_is_found(counts: list[int], gap: int, offset: int) -> None:
    """In a gap of the offsets it is the next unit."""
    queue = queue_of(counts, gap)
    wanted = None
    base = 0
    for number, count in enumerate(counts):
        if wanted is None and offset < base + count:
            wanted = (number, base, offset >= base)
        base += count + gap
    found = next(queue.units(offset, 1), None)
    unit = queue.unit(offset)
    if wanted is None:
        assert found is None and unit is None
    else:
        number, first, inside = wanted
        assert found is not None
        assert (found.base_offset, found.physical_offset) == (first, number * 100)
        assert unit == ((number * 100, 100, number) if inside else None)


@pytest.mark.parametrize(
    ("time", "upper", "offset"),
    [
        (0, False, 0),
        (1000, False, 0),
        (1001, False, 2),
        (1020, False, 5),
        (9999, False, 5),
        (0, True, 0),
        (1009, True, 0),
        (1010, True, 2),
        (1019, True, 2),
        (9999, True, 5),
    ],
)
def test_offsets_by_time_are_those_of_batches(time: int, upper: bool, offset: int) -> None:
    assert queue_of([2, 3, 4]).offset_by_time(time, upper) == offset


def test_dispatch_may_repeat_itself() -> None:
    queue = queue_of([2, 3])
    queue.append(2, 100, 100, 1, 1010, 3)
    assert (queue.end, queue.max_offset) == (2, 5)


def test_min_offset_follows_the_log() -> None:
    queue = queue_of([2, 3, 4, 1, 1, 1, 1, 1, 1])
    queue.correct_min(150)
    assert queue.min_offset == 5
    queue.write_out()
    assert queue.drop_before(420) == 1
    assert (queue.min_offset, queue.max_offset, queue.first) == (11, 15, 4)
    assert queue.unit(4) is None
    queue.correct_min(99999)
    assert queue.min_offset == queue.max_offset == 15


def test_a_batch_is_one_record_with_consecutive_offsets() -> None:
    bench = batches()
    assert put_batch(bench, b"a", b"b", b"c") == (0, 3)
    assert put_batch(bench, b"d") == (3, 1)
    assert (bench.store.min_offset("batched", 0), bench.store.max_offset("batched", 0)) == (0, 4)
    result = bench.store.get("batched", 0, 0, 32)
    first, second = records(result)
    assert (result.count, result.next_offset, list(result.queue_offsets)) == (4, 4, [0, 3])
    assert first.sys_flag & SysFlag.INNER_BATCH
    assert (first.properties["INNER_NUM"], first.properties["INNER_BASE"]) == ("3", "0")
    assert (second.properties["INNER_NUM"], second.properties["INNER_BASE"]) == ("1", "3")
    assert first.queue_offset == 0 and first.body == batch(b"a", b"b", b"c")
    assert [arrival.next_offset for arrival in bench.arrivals] == [3, 4]
    assert bench.store.query("batched", "1", 9, 0, 1 << 60).records


def test_a_batch_is_given_whole_however_it_is_asked_for() -> None:
    bench = batches()
    for _ in range(6):
        put_batch(bench, b"x", b"y", b"z")
    inside = bench.store.get("batched", 0, 4, 1)
    assert (inside.status, list(inside.queue_offsets), inside.next_offset) == (GetStatus.FOUND, [3], 6)
    some = bench.store.get("batched", 0, 0, 7)
    assert (some.count, some.next_offset) == (6, 6)
    small = bench.store.get("batched", 0, 0, 32, max_bytes=some.size - 1)
    assert small.count == 3
    assert bench.store.get("batched", 0, 18, 32).status is GetStatus.OFFSET_OVERFLOW_ONE
    none = bench.store.get("batched", 0, 3, 32, accept=frozenset({5}))
    assert (none.status, none.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 18)
    chosen = bench.store.get("batched", 0, 0, 32, accept=lambda properties: properties["INNER_BASE"] == "6")
    assert (list(chosen.queue_offsets), chosen.next_offset) == ([6], 18)


def test_messages_that_come_alone_are_read_like_batches_of_one() -> None:
    bench = batches()
    put_batch(bench, b"a", b"b")
    assert bench.put(message("batched", body=b"alone")) == [2]
    bench.store.put_batch(message("batched"), batch(b"p", b"q"))
    bench.store.dispatch()
    assert put_batch(bench, b"c") == (5, 1)
    assert [one.queue_offset for one in records(bench.store.get("batched", 0, 0, 32))] == [0, 2, 3, 4, 5]
    assert bench.store.consume_queue_units("batched", 0, 2, 2)[0][1] > 0
    assert bench.store.offset_by_time("batched", 0, 0) == 0


@pytest.mark.parametrize("how", ["restart", "kill", "crash"])
def test_store_that_starts_again_continues_where_it_was(how: str) -> None:
    bench = batches()
    for _ in range(11):
        put_batch(bench, b"1", b"2", b"3")
    bench.put(message("orders"))
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.store.dispatch()
    again = bench.crash(5) if how == "crash" else getattr(bench, how)()
    assert again.store.max_offset("batched", 0) == 33
    assert len(records(again.store.get("batched", 0, 0, 33, max_bytes=1 << 20))) == 11
    assert put_batch(again, b"n") == (33, 1)


def test_queues_of_batches_are_rebuilt_from_the_log() -> None:
    bench = batches()
    for _ in range(9):
        put_batch(bench, b"1", b"2", b"3")
    before = bench.disk.listdir("/store/batchconsumequeue/batched/0")
    bench.store.stop()
    units = [bench.disk.read_bytes(f"/store/batchconsumequeue/batched/0/{name}") for name in before]
    bench.disk.rmtree("/store/batchconsumequeue")
    bench.disk.rmtree("/store/consumequeue")
    bench.disk.open("/store/abort", create=True)
    again = bench.again()
    again.store.stop()
    after = [again.disk.read_bytes(f"/store/batchconsumequeue/batched/0/{name}") for name in before]
    assert after == units


def test_only_a_queue_of_batches_takes_a_batch_as_one() -> None:
    bench = batches()
    other = bench.store.put_inner_batch(message("orders", body=batch(b"a")))
    broken = bench.store.put_inner_batch(message("batched", body=b"no batch"))
    many = bench.store.put_inner_batch(message("batched", body=b"", properties={"INNER_NUM": "32768"}))
    for result in (other, broken, many):
        assert (result.status, result.count) == (PutStatus.MESSAGE_ILLEGAL, 0)
    assert bench.store.queues().get("batched", set()) <= {0}
    outcome = bench.store.put_inner_batch(message("batched", body=b"zipped", properties={"INNER_NUM": "7"}))
    assert (outcome.count, outcome.queue_offset) == (7, 0)


def test_deleting_a_topic_deletes_its_batches() -> None:
    bench = batches()
    put_batch(bench, b"a")
    bench.store.tick()
    assert bench.store.admin.delete_topics(["batched"]) == 1
    assert bench.disk.listdir("/store/batchconsumequeue") == []
    assert put_batch(bench, b"b", b"c") == (0, 2)
