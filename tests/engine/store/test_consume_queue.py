"""Consume queues: units in memory and in files."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.steps import run
from mqgateway.engine.store import schema
from mqgateway.engine.store.consume_queue import BLANK_UNIT, UNIT, ConsumeQueue, ConsumeQueues
from mqgateway.engine.store.file_queue import FilePool, file_name
from mqgateway.engine.testing.crash_disk import CrashDisk

PER_FILE = 10


def queues(disk: CrashDisk, limit: int = 100) -> ConsumeQueues:
    return ConsumeQueues(FilePool(disk), "/s/cq", 20 * PER_FILE, limit)


def fill(queue: ConsumeQueue, count: int, step: int = 100) -> None:
    for _ in range(count):
        offset = queue.max_offset
        queue.append(offset, offset * step, step, offset + 1)


def test_the_schema_reads_a_unit() -> None:
    disk = CrashDisk()
    queue = queues(disk).open("t", 3)
    queue.append(0, 12345678901, 99, -5)
    queue.write_out()
    unit = schema.QUEUE_UNIT.parse(disk.read_bytes("/s/cq/t/3/" + file_name(0)))
    assert (unit.physical_offset, unit.size, unit.tags_code) == (12345678901, 99, -5)


@given(st.lists(st.sampled_from(["append", "write"]), max_size=60), st.integers(0, 40), st.integers(1, 50))
def test_units_are_the_same_in_memory_and_in_files(steps: list[str], offset: int, count: int) -> None:
    queue = queues(CrashDisk()).open("t", 0)
    for step in steps:
        fill(queue, 1) if step == "append" else queue.write_out()
    total = steps.count("append")
    assert queue.max_offset == total
    wanted = [(i * 100, 100, i + 1) for i in range(total)][offset : offset + count]
    assert list(UNIT.iter_unpack(queue.units(offset, count))) == wanted


def test_a_unit_that_is_there_is_left_alone_and_a_gap_is_filled_with_blanks() -> None:
    queue = queues(CrashDisk()).open("t", 0)
    fill(queue, 3)
    queue.append(1, 999, 9, 9)
    assert queue.unit(1) == (100, 100, 2)
    queue.append(5, 500, 100, 6)
    assert queue.max_offset == 6
    assert queue.units(3, 2) == BLANK_UNIT * 2
    queue.append(5000, 1, 1, 1)
    assert queue.max_offset == 6


@given(st.integers(0, 6), st.integers(0, 9), st.integers(0, 5))
def test_units_put_together_are_as_units_put_one_by_one(there: int, offset: int, count: int) -> None:
    one, other = queues(CrashDisk()).open("t", 0), queues(CrashDisk()).open("t", 0)
    assert isinstance(one, ConsumeQueue)
    assert isinstance(other, ConsumeQueue)
    fill(one, there)
    fill(other, there)
    units = [(1000 + i, 10, i) for i in range(count)]
    for number, unit in enumerate(units):
        one.append(offset + number, *unit)
    other.extend(offset, b"".join(UNIT.pack(*unit) for unit in units))
    assert (other.max_offset, other.min_offset) == (one.max_offset, one.min_offset)
    assert other.units(0, 20) == one.units(0, 20)


def test_a_queue_that_starts_late_begins_with_blank_units() -> None:
    disk = CrashDisk()
    queue = queues(disk).open("t", 0)
    queue.append(13, 700, 50, 1)
    assert (queue.min_offset, queue.max_offset) == (13, 14)
    queue.write_out()
    assert disk.read_bytes("/s/cq/t/0/" + file_name(200))[:60] == BLANK_UNIT * 3
    again = queues(disk)
    run(again.load(None, lambda _: None))
    found = again.get("t", 0)
    assert found is not None
    found.correct_min(0)
    assert (found.min_offset, found.max_offset) == (13, 14)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25, 30])
def test_the_end_is_found_when_loading(count: int) -> None:
    disk = CrashDisk()
    table = queues(disk)
    fill(table.open("t", 0), count)
    table.open("t", 0).write_out()
    again = queues(disk)
    run(again.load(None, lambda _: None))
    found = again.get("t", 0)
    assert (found.max_offset if found else 0) == count
    if found:
        assert found.next_offset == count


@given(st.integers(1, 35), st.integers(0, 3600), st.booleans())
def test_units_from_an_offset_of_the_log_on_are_cut(count: int, below: int, hole: bool) -> None:
    """Any of the units after the border may have reached the disk."""
    disk = CrashDisk()
    table = queues(disk)
    queue = table.open("t", 0)
    fill(queue, count)
    queue.write_out()
    kept = min(count, -(-below // 100))
    if hole and kept + 1 < count:
        at = (kept + 1) * 20
        disk.open("/s/cq/t/0/" + file_name(at // 200 * 200)).write(at % 200, bytes(20))
    again = queues(disk)
    run(again.load(below, lambda _: None))
    found = again.get("t", 0)
    assert found is not None
    assert found.max_offset == found.next_offset == kept
    fill(found, 2)
    found.write_out()
    assert found.unit(kept + 1) == ((kept + 1) * 100, 100, kept + 2)


def test_old_files_go_with_the_log() -> None:
    disk = CrashDisk()
    queue = queues(disk).open("t", 0)
    fill(queue, 25)
    queue.write_out()
    assert queue.drop_before(1250) == 1
    assert queue.min_offset == 13
    assert disk.listdir("/s/cq/t/0") == [file_name(200), file_name(400)]
    assert queue.units(5, 2) == b""
    assert queue.drop_before(99999) == 1
    assert queue.min_offset == queue.max_offset == 25


def test_a_failed_write_keeps_the_tail() -> None:
    disk = CrashDisk()
    table = queues(disk)
    queue = table.open("t", 0)
    fill(queue, 3)
    table.mark(queue)
    disk.fail_next("write", "/s/cq", errno.ENOSPC)
    with pytest.raises(OSError):
        table.write_all_out()
    assert queue.max_offset == 3
    table.write_all_out()
    assert queue.unit(2) == (200, 100, 3)
    assert table.written == {("/s/cq/t/0", 0)}
    assert not table.dirty


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a\0b"])
def test_a_topic_that_is_no_directory_name_is_illegal(topic: str) -> None:
    with pytest.raises(MessageIllegal):
        queues(CrashDisk()).open(topic, 0)


def test_there_are_only_so_many_queues() -> None:
    table = queues(CrashDisk(), limit=2)
    table.open("t", 0)
    table.open("t", 1)
    with pytest.raises(MessageIllegal, match="maxQueues"):
        table.open("t", 2)
    table.delete("t")
    table.open("u", 0)
    with pytest.raises(MessageIllegal):
        table.open("u", -1)


def test_deleting_a_topic_leaves_nothing() -> None:
    disk = CrashDisk()
    table = queues(disk)
    fill(table.open("t", 0), 3)
    table.mark(table.open("t", 0))
    fill(table.open("tt", 0), 3)
    table.mark(table.open("tt", 0))
    table.write_all_out()
    assert table.delete("t")
    assert not table.delete("t")
    assert disk.listdir("/s/cq") == ["tt"]
    assert {directory for directory, _ in table.written} == {"/s/cq/tt/0"}
    assert [queue.topic for queue in table] == ["tt"]


def test_dirty_queue_is_marked_once() -> None:
    table = queues(CrashDisk())
    queue = table.open("t", 0)
    table.mark(queue)
    table.mark(queue)
    assert list(table.dirty) == [queue]


def test_write_oldest_out_writes_oldest_until_time_is_up() -> None:
    table = queues(CrashDisk())
    opened = [table.open("t", number) for number in range(5)]
    for number, queue in enumerate(opened):
        queue.append(0, 100 * number + 50, 100, 0)
        table.mark(queue)
    assert table.first_waiting() == 50
    asked = iter([False, False, True])
    assert table.write_oldest_out(4, lambda: next(asked)) == 2
    assert [bool(queue.tail) for queue in opened] == [False, False, True, True, True]
    assert table.first_waiting() == 250
    table.write_out(opened[2])
    opened[2].append(1, 900, 100, 0)
    assert table.first_waiting() == 350
    assert table.write_oldest_out(2, lambda: False) == 0
    assert table.first_waiting() == 450
    table.write_all_out()
    assert table.first_waiting() is None
    assert not table.dirty
