"""The file of a compacted part: written, read, damaged, and written while the power goes."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.batch_records import offsets_of
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.compacted_part import BESIDE, INTERVAL, CompactedPart, PartWriter
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from tests.engine.store.test_cold import ColdDisk
from tests.support.engine.cleaning import batch_record

TAIL_SIZE = 36
PATH = "/store/compacted/t/0"


def written(disk: CrashDisk, records: list[bytes], begin: int = 0, end: int = 1000) -> None:
    """Write a part."""
    writer = PartWriter(disk, PATH)
    for record in records:
        writer.add(record)
    writer.finish(begin, end)


def some(sizes: list[int], gap: int = 0) -> list[bytes]:
    """Return a record for each size of a value, at least; between their offsets there are gaps."""
    return [
        batch_record(number * (2 + gap), [(b"a", b"x" * size), (b"b", b"")], time=number * 10)
        for number, size in enumerate(sizes)
    ]


SIZES = st.lists(st.sampled_from([0, 1000, INTERVAL - 300, INTERVAL, 70_000, 150_000]), max_size=12)


@given(SIZES, st.integers(0, 3), st.integers(0, 60))
def test_records_are_read_from_any_offset(sizes: list[int], gap: int, offset: int) -> None:
    disk, records = CrashDisk(), some(sizes, gap)
    written(disk, records)
    part = CompactedPart(disk, PATH)
    assert part.size == sum(map(len, records))
    assert (part.begin, part.end) == (0, 1000)
    assert list(part.records()) == records
    assert list(part.records(offset)) == [each for each in records if offsets_of(each)[1] > offset]


@given(SIZES, st.integers(0, 130))
def test_offset_of_a_time_is_found(sizes: list[int], time: int) -> None:
    disk, records = CrashDisk(), some(sizes)
    written(disk, records)
    number = -(-time // 10)
    expected = number * 2 if number < len(records) else 1000
    assert CompactedPart(disk, PATH).offset_at(time) == expected


def test_index_has_an_entry_for_each_interval() -> None:
    disk, records = CrashDisk(), some([1000] * 100)
    written(disk, records)
    starts = [sum(map(len, records[:number])) for number in range(len(records))]
    indexed = [0]
    for start in starts:
        if start - indexed[-1] >= INTERVAL:
            indexed.append(start)
    assert disk.size(PATH) == sum(map(len, records)) + 24 * len(indexed) + TAIL_SIZE


def test_new_file_takes_the_place_of_the_old_one() -> None:
    disk = CrashDisk()
    written(disk, some([1, 2]), end=4)
    old = CompactedPart(disk, PATH)
    disk.open(PATH + BESIDE, create=True).write(0, b"left by a crash" * 100)
    written(disk, some([3]), begin=1, end=2)
    new = CompactedPart(disk, PATH)
    assert (new.begin, new.end, list(new.records())) == (1, 2, some([3]))
    assert list(old.records()) == some([1, 2])
    assert not disk.exists(PATH + BESIDE)


@pytest.mark.parametrize("cut", [0, 10, TAIL_SIZE - 1, TAIL_SIZE, 60])
def test_file_of_another_length_is_refused(cut: int) -> None:
    disk = CrashDisk()
    written(disk, some([1]))
    disk.open(PATH).truncate(cut)
    with pytest.raises(CorruptFile):
        CompactedPart(disk, PATH)


def test_damage_of_index_and_tail_is_found() -> None:
    disk = CrashDisk()
    written(disk, some([1]))
    data = disk.read_bytes(PATH)
    for position in range(len(data) - 24 - TAIL_SIZE, len(data)):
        disk.open(PATH).write(0, data[:position] + bytes((data[position] ^ 1,)) + data[position + 1 :])
        with pytest.raises(CorruptFile):
            CompactedPart(disk, PATH)


@pytest.mark.parametrize("size", [-1, 0, 87, 1 << 30])
def test_read_continues_at_the_next_record_of_the_index_behind_an_impossible_size(size: int) -> None:
    disk, records = CrashDisk(), some([1, 1, INTERVAL, 2, 3])
    written(disk, records)
    disk.open(PATH).write(len(records[0]), size.to_bytes(4, "big", signed=True))
    part = CompactedPart(disk, PATH)
    assert list(part.records()) == [records[0], records[3], records[4]]
    assert list(part.records(3)) == [records[3], records[4]]


def test_damaged_record_is_skipped_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    disk, records = CrashDisk(), some([1, 10, 2])
    written(disk, records)
    disk.open(PATH).write(len(records[0]) + 150, b"?")
    part = CompactedPart(disk, PATH)
    for _ in range(2):
        assert list(part.records()) == [records[0], records[2]]
    assert caplog.messages == [f"{PATH} at byte {len(records[0])}: damaged record is not delivered"]


@given(SIZES, st.integers(0, 500_000))
def test_sizes_are_right_up_to_an_interval_and_a_record(sizes: list[int], size: int) -> None:
    disk, records = CrashDisk(), some(sizes)
    written(disk, records)
    part = CompactedPart(disk, PATH)
    offset = part.offset_with(size)
    kept = sum([len(each) for each in records if offsets_of(each)[1] > offset])
    assert kept >= min(size, part.size)
    more = INTERVAL + max(map(len, records), default=0)
    assert kept <= size + more or offset == part.begin
    assert kept <= part.size_from(offset) <= kept + more


@given(SIZES, st.integers(0, 60))
def test_last_record_before_an_offset_is_found(sizes: list[int], offset: int) -> None:
    disk, records = CrashDisk(), some(sizes)
    written(disk, records)
    before = [offsets_of(each)[0] for each in records if offsets_of(each)[0] < offset]
    part = CompactedPart(disk, PATH)
    assert part.last_before(offset) == (before[-1] if before else 0)
    assert part.newest_position() == (2000 * (len(records) - 1) if records else -1)


def test_bytes_that_are_not_in_memory_are_not_waited_for() -> None:
    disk, records = ColdDisk(), some([1])
    written(disk, records)
    part = CompactedPart(disk, PATH)
    assert list(part.records(may_wait=False)) == records
    disk.warm.clear()
    with pytest.raises(ColdRead) as cold:
        list(part.records(may_wait=False))
    cold.value.bring(ahead=False)
    assert list(part.records(may_wait=False)) == records


def test_failed_write_leaves_the_old_file() -> None:
    for number in range(8):
        disk = CrashDisk()
        written(disk, some([1]))
        fault = disk.fail_next("any", "", errno.EIO, skip=number)
        try:
            written(disk, some([70_000, 2]))
        except OSError:
            found = list(CompactedPart(disk, PATH).records())
            assert found in (some([1]), some([70_000, 2]))
        else:
            assert not fault.has_hit


@pytest.mark.parametrize("seed", range(30))
def test_power_cut_leaves_one_of_both_files(seed: int) -> None:
    disk = CrashDisk()
    written(disk, some([1]))
    old, new = some([1]), some([70_000, 1000, 2])
    left: list[list[bytes]] = []

    def cut(operation: Operation) -> None:
        part = CompactedPart(disk.crash(seed * 1000 + operation.number), PATH)
        left.append(list(part.records()))

    disk.watch = cut
    written(disk, new)
    disk.watch = None
    assert all(found in (old, new) for found in left)
    assert left[0] == old
    assert list(CompactedPart(disk.crash(seed), PATH).records()) == new
