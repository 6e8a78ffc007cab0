"""Files of a compacted queue: RocketMQ's format, and validation after a crash."""

import struct

import pytest

from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchUnit
from mqgateway.engine.store.compaction_files import CompactionFiles, Original
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.record import BLANK_MAGIC, decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.compacting import LOG_SIZE, QUEUE_SIZE, record

LOG, CQ = "/c/log", "/c/cq"


def files(disk: CrashDisk, *, check: bool | None = None, original: Original | None = None) -> CompactionFiles:
    made = CompactionFiles(FilePool(disk), LOG, CQ, LOG_SIZE, QUEUE_SIZE)
    if check is not None:
        made.load(original or (lambda _offset: None) if check else None)
    return made


def filled(disk: CrashDisk, count: int) -> CompactionFiles:
    made = files(disk)
    for offset in range(count):
        assert made.put(record(offset * 2, f"k{offset}"), offset * 2, 7, 5000 + offset)
    made.write_out()
    return made


def test_records_and_units_lie_as_the_standard_puts_them() -> None:
    disk = CrashDisk()
    made = filled(disk, 11)
    assert disk.listdir(LOG) == disk.listdir(CQ) == [f"{0:020d}", f"{LOG_SIZE:020d}"]
    size = len(record(0, "k0"))
    units = disk.read_bytes(f"{CQ}/{0:020d}")
    second = BatchUnit(*struct.unpack(">qiqqqhii", units[BATCH_UNIT_SIZE : 2 * BATCH_UNIT_SIZE]))
    assert second == (size, size, 7, 5001, 2, 1, -1, 0)
    end = BatchUnit(*struct.unpack(">qiqqqhii", units[9 * BATCH_UNIT_SIZE :]))
    assert end == (-1, 0, 0, 0, 0, 0, -1, 0)
    log = disk.read_bytes(f"{LOG}/{0:020d}")
    assert decode(log, size).physical_offset == size
    assert struct.unpack_from(">ii", log, 9 * size) == (LOG_SIZE - 9 * size, BLANK_MAGIC)
    assert [segment.count for segment in made.segments] == [9, 2]


def test_a_record_goes_to_the_next_file_when_it_does_not_fit() -> None:
    disk = CrashDisk()
    made = files(disk)
    assert made.put(record(0, "a", bytes(1200)), 0, 0, 0)
    assert made.put(record(1, "a", bytes(1200)), 1, 0, 0)
    assert not made.put(record(2, "a", bytes(LOG_SIZE)), 2, 0, 0)
    made.write_out()
    assert [segment.start for segment in made.segments] == [0, LOG_SIZE]


def test_offsets_are_found_with_gaps_between_them() -> None:
    made = filled(CrashDisk(), 11)
    assert made.find(0) == (0, 0)
    assert made.find(15) == (0, 8)
    assert made.find(17) == (1, 0)
    assert made.find(21) is None
    assert (made.min_offset, made.max_offset) == (0, 21)


def test_everything_is_found_again() -> None:
    disk = CrashDisk()
    made = filled(disk, 11)
    for check in (False, True):
        again = files(disk, check=check)
        assert [s.count for s in again.segments] == [9, 2]
        assert [s.used for s in again.segments] == [s.used for s in made.segments]


def test_a_spoiled_record_and_what_follows_does_not_count_after_a_crash() -> None:
    disk = CrashDisk()
    filled(disk, 11)
    disk.flip(f"{LOG}/{0:020d}", len(record(0, "k0")) * 4 + 90)
    again = files(disk, check=True)
    assert [s.count for s in again.segments] == [4]
    assert disk.listdir(LOG) == [f"{0:020d}"]
    assert again.put(record(8, "new"), 8, 0, 0)
    again.write_out()
    assert [s.count for s in files(disk, check=True).segments] == [5]


def test_a_record_that_differs_from_the_commit_log_does_not_count_after_a_crash() -> None:
    """No checksum covers properties."""
    disk = CrashDisk()
    made = filled(disk, 5)
    disk.flip(f"{LOG}/{0:020d}", made.segments[0].used - 2)
    again = files(disk, check=True, original=lambda offset: record(offset, f"k{offset // 2}"))
    assert [s.count for s in again.segments] == [4]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("start", [0, LOG_SIZE])
def test_units_that_were_lost_are_rebuilt_from_the_records(start: int, check: bool) -> None:
    disk = CrashDisk()
    filled(disk, 11)
    records = [disk.read_bytes(f"{LOG}/{name}") for name in disk.listdir(LOG)]
    whole = disk.read_bytes(f"{CQ}/{start:020d}")
    disk.lose(f"{CQ}/{start:020d}")
    again = files(disk, check=check)
    assert [(s.count, s.first, s.last) for s in again.segments] == [(9, 0, 16), (2, 18, 20)]
    assert [disk.read_bytes(f"{LOG}/{name}") for name in disk.listdir(LOG)] == records
    made = disk.read_bytes(f"{CQ}/{start:020d}")
    # The tags code is that of the record's tags; these records were stored with another.
    places = [range(at, at + 12) for at in range(0, len(whole), BATCH_UNIT_SIZE)]
    assert all(made[place.start : place.stop] == whole[place.start : place.stop] for place in places)


def test_units_cut_short_are_rebuilt() -> None:
    disk = CrashDisk()
    filled(disk, 11)
    disk.open(f"{CQ}/{0:020d}").truncate(100)
    assert [s.count for s in files(disk, check=False).segments] == [9, 2]


def test_units_without_records_are_set_aside_and_the_rest_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = CrashDisk()
    filled(disk, 11)
    disk.lose(f"{LOG}/{0:020d}")
    again = files(disk, check=True)
    assert [(s.first, s.last) for s in again.segments] == [(18, 20)]
    assert disk.listdir(CQ) == [f"{0:020d}.without-log", f"{LOG_SIZE:020d}"]
    assert f"{LOG}/{0:020d} is missing" in caplog.text


def test_a_file_that_was_not_ended_is_the_last() -> None:
    disk = CrashDisk()
    filled(disk, 11)
    disk.open(f"{CQ}/{0:020d}").write(9 * BATCH_UNIT_SIZE, bytes(BATCH_UNIT_SIZE))
    assert [s.count for s in files(disk, check=True).segments] == [9]


def test_cut_from_an_offset() -> None:
    disk = CrashDisk()
    made = filled(disk, 11)
    made.cut_from(7)
    assert (made.max_offset, len(made.segments)) == (7, 1)
    assert [s.count for s in files(disk, check=True).segments] == [4]


def test_a_failed_write_is_tried_again() -> None:
    disk = CrashDisk()
    made = filled(disk, 2)
    made.put(record(4, "k"), 4, 0, 0)
    disk.fail_next("write", CQ)
    try:
        made.write_out()
    except OSError:
        made.write_out()
    assert [s.count for s in files(disk, check=True).segments] == [3]
