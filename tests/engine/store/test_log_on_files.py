"""Reading records in files, for any writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.commit_log import CommitLog
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.log import ENDLESS
from mqgateway.engine.store.read_windows import PART_SIZE
from mqgateway.engine.testing.crash_disk import CrashDisk, CrashFile

DATA = bytes(range(150))


def other_log(newest: int) -> LedgerLog:
    """Return a log whose bytes another writer has written."""
    log = LedgerLog(CrashDisk(), "/log", 64, newest)
    log.files.write(0, DATA)
    log.end_offset = len(DATA)
    return log


def test_ranges_of_any_file_are_read_up_to_the_end() -> None:
    log = other_log(64)
    assert (log.min_offset, log.end_offset, log.settled_offset) == (0, 150, ENDLESS)
    assert log.read(10, 20) == DATA[10:30]
    assert log.read(128, 22) == DATA[128:]
    assert [log.read(60, 10), log.read(140, 11), log.read(-1, 2)] == [None, None, None]
    assert other_log(8).read(60, 10, may_wait=False) is None
    places = [(0, 5, 10), (1, 70, 10), (2, 145, 5), (3, 145, 6)]
    assert log.read_each(places) == [DATA[5:15], DATA[70:80], DATA[145:150], None]
    assert [(at, size) for _, at, size in log.ranges(places)] == [(5, 10), (6, 10), (17, 5), (17, 6)]


def test_read_that_may_not_wait_raises_cold_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log = other_log(22)
    monkeypatch.setattr(CrashFile, "read_ready", lambda *_: None)
    assert log.read(130, 10, may_wait=False) == DATA[130:140]
    with pytest.raises(ColdRead):
        log.read(10, 10, may_wait=False)
    with pytest.raises(ColdRead):
        log.borrow_each([(0, 130, 10), (1, 10, 10)], may_wait=False)


def real_log(folder: Path) -> tuple[CommitLog, bytes]:
    """Return a log in files of two and a half parts each, and its bytes."""
    size = 2 * PART_SIZE + PART_SIZE // 2
    log = CommitLog(FilePool(RealDisk()), f"{folder}/log", size)
    log.cut(0)
    data = bytes(range(251)) * (2 * size // 251)
    for begin in range(0, len(data), PART_SIZE // 2):
        log.write_raw(data[begin : begin + PART_SIZE // 2])
    return log, data


def test_records_are_borrowed_where_they_are_in_memory(tmp_path: Path) -> None:
    """Across the ends of parts and files each equals the result of a single read."""
    log, data = real_log(tmp_path)
    ends = (100, PART_SIZE - 50, PART_SIZE, 2 * PART_SIZE + 7, log.file_size - 100, log.file_size + 5, 10)
    places = [(0, offset, 100) for offset in (*ends, log.end_offset - 5)]
    found = log.borrow_each(places)
    assert found[:-1] == [data[offset : offset + 100] for offset in ends] and found[-1] is None
    kinds = [type(record) for record in found[:-1]]
    assert kinds == [memoryview, bytes, *[memoryview] * 5]


def test_borrowed_record_outlives_its_file(tmp_path: Path) -> None:
    log, data = real_log(tmp_path)
    [record] = log.borrow_each([(0, 100, 1000)])
    log.files.drop_first(1)
    log.files.pool.clear()
    assert isinstance(record, memoryview) and record == data[100:1100]
