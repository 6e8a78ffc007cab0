"""Appending to the commit log and reading from it."""

import errno

import pytest

from mqgateway.engine.store import schema
from mqgateway.engine.store.commit_log import CommitLog
from mqgateway.engine.store.file_queue import FilePool, file_name
from mqgateway.engine.store.log import record_at, store_time
from mqgateway.engine.testing.crash_disk import CrashDisk


def commit_log(disk: CrashDisk) -> CommitLog:
    log = CommitLog(FilePool(disk), "/s/log", 100)
    log.cut(0)
    return log


def append(log: CommitLog, data: bytes) -> int:
    offset = log.reserve(len(data))
    log.write(data)
    return offset


def test_record_with_eight_bytes_to_spare_stays_in_file() -> None:
    log = commit_log(CrashDisk())
    assert append(log, b"a" * 50) == 0
    assert append(log, b"b" * 42) == 50
    assert log.end_offset == 92
    assert append(log, b"c") == 100


def test_a_file_ends_with_a_blank_that_says_what_was_left() -> None:
    disk = CrashDisk()
    log = commit_log(disk)
    append(log, b"a" * 50)
    assert append(log, b"b" * 43) == 100
    blank = schema.BLANK.parse(disk.read_bytes("/s/log/" + file_name(0))[50:])
    assert blank.size == 50
    assert log.read(100, 43) == b"b" * 43


def test_reads_stay_inside_the_log_and_inside_a_file() -> None:
    log = commit_log(CrashDisk())
    append(log, b"a" * 60)
    append(log, b"b" * 60)
    assert log.read(10, 50) == b"a" * 50
    assert log.read(150, 10) == b"b" * 10
    assert log.read(150, 11) is None
    assert log.read(90, 20) is None
    assert log.read(-1, 1) is None
    assert store_time(log, 500) == -1
    assert record_at(log, 0) is None


def test_records_apart_are_read_one_by_one() -> None:
    log = commit_log(CrashDisk())
    append(log, b"a" * 60)
    append(log, b"b" * 60)
    places = [(0, 10, 5), (1, 20, 40), (2, 90, 20), (3, 100, 60), (4, 150, 11), (5, 300, 4), (6, 0, 60)]
    assert log.read_each(places) == [log.read(offset, size) for _, offset, size in places]
    assert log.read_each(places)[3] == b"b" * 60


def test_a_failed_write_moves_nothing_and_leaves_zeros() -> None:
    disk = CrashDisk()
    log = commit_log(disk)
    failed: list[int] = []
    log.watch_dirty_tails(lambda: failed.append(log.end_offset))
    append(log, b"a" * 10)
    disk.fail_next("write", "/s/log", errno.ENOSPC)
    log.reserve(20)
    with pytest.raises(OSError):
        log.write(b"b" * 20)
    assert log.end_offset == 10 and failed == [10]
    with pytest.raises(OSError, match="No space left"):
        log.reserve(20)
    log.repair_tail().sync()
    log.tail_repaired()
    assert disk.read_bytes("/s/log/" + file_name(0))[10:] == bytes(90)
    assert append(log, b"c" * 5) == 10


@pytest.mark.parametrize("call", ["open", "truncate", "write"])
def test_a_failed_roll_moves_nothing_and_can_be_tried_again(call: str) -> None:
    disk = CrashDisk()
    log = commit_log(disk)
    append(log, b"a" * 60)
    disk.fail_next(call, "/s/log", errno.ENOSPC)
    with pytest.raises(OSError):
        log.reserve(60)
    assert log.end_offset == 60
    if call == "write":
        # Part of the blank may be in the file, so nothing is written before it is zeroed.
        with pytest.raises(OSError):
            log.reserve(20)
        log.repair_tail()
        log.tail_repaired()
    assert log.dirty_tail is None
    assert append(log, b"b" * 20) == 60
    assert append(log, b"c" * 60) == 100
    assert disk.size("/s/log/" + file_name(100)) == 100


def test_opening_at_a_position_forgets_what_lies_after() -> None:
    disk = CrashDisk()
    log = commit_log(disk)
    for _ in range(4):
        append(log, b"a" * 60)
    again = CommitLog(FilePool(disk), "/s/log", 100)
    again.files.load()
    again.cut(160)
    assert disk.listdir("/s/log") == [file_name(0), file_name(100)]
    assert append(again, b"z" * 10) == 160
    assert again.min_offset == 0
    assert [file.size() for file in again.files.between(90, 170)] == [100, 100]


def test_opening_at_a_file_border_makes_the_file_when_it_is_needed() -> None:
    disk = CrashDisk()
    log = commit_log(disk)
    append(log, b"a" * 60)
    log.cut(100)
    assert append(log, b"b") == 100
