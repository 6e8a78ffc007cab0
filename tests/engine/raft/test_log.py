"""Rules of every log of a member."""

import pytest

from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.log import Entry, LogMismatch, RaftLog
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.raft_log import MemoryRaftLog

SIZE = 200


@pytest.fixture(params=["memory", "files"])
def log(request: pytest.FixtureRequest) -> RaftLog:
    if request.param == "memory":
        return MemoryRaftLog(SIZE)
    return FileLog(CrashDisk(), "/dledger-n0", SIZE, 64)


def fill(log: RaftLog, count: int) -> None:
    for number in range(count):
        log.append(number // 3, b"%d" % number * 20)


def sync(log: RaftLog) -> None:
    work = log.unsynced()
    assert work is not None
    work.sync()
    log.note_synced(work)


def test_a_new_log_is_empty(log: RaftLog) -> None:
    assert (log.begin_index, log.end_index, log.end_term, log.end_position) == (0, -1, -1, 0)
    assert (log.synced_index, log.committed_index, log.term, log.vote) == (-1, -1, 0, "")
    assert log.entry(0) is None
    assert log.entries(0, 100) == []


def test_entries_lie_one_behind_the_other_and_in_one_file(log: RaftLog) -> None:
    fill(log, 5)
    found = [log.entry(index) for index in range(5)]
    assert [entry.position for entry in found if entry is not None] == [0, 68, 200, 268, 400]
    assert found == log.entries(0, 10_000)
    assert (log.end_index, log.end_term, log.end_position) == (4, 1, 468)


def test_the_place_of_an_entry_is_known_before(log: RaftLog) -> None:
    fill(log, 2)
    assert log.place(8) == 136
    assert log.place(9) == 200  # less than a blank would be left
    with pytest.raises(ValueError, match="file"):
        log.place(SIZE)


def test_several_entries_as_far_as_they_fit(log: RaftLog) -> None:
    fill(log, 5)
    assert [entry.index for entry in log.entries(1, 0)] == [1]
    assert [entry.index for entry in log.entries(1, 2 * 68 + 1)] == [1, 2]


def test_a_leaders_entry_comes_next(log: RaftLog) -> None:
    log.append_entry(Entry(0, 3, 0, b"a"))
    for wrong in (Entry(2, 3, 49, b"b"), Entry(1, 3, 48, b"b"), Entry(0, 3, 49, b"b")):
        with pytest.raises(LogMismatch):
            log.append_entry(wrong)
    log.append_entry(Entry(1, 4, 49, b"b"))
    assert (log.end_index, log.end_term) == (1, 4)


def test_cut_drops_later_entries(log: RaftLog) -> None:
    fill(log, 5)
    log.note_committed(4)
    sync(log)
    log.cut(2)
    assert (log.end_index, log.end_term, log.end_position) == (2, 0, 268)
    assert (log.synced_index, log.committed_index) == (2, 2)
    assert log.append(9, b"new").position == 268
    log.cut(-1)
    assert (log.begin_index, log.end_index, log.end_term, log.committed_index) == (0, -1, -1, -1)


def test_reset(log: RaftLog) -> None:
    fill(log, 5)
    log.note_committed(4)
    log.reset(500, 2030)
    assert (log.begin_index, log.begin_position, log.end_index, log.end_term) == (500, 2030, 499, -1)
    assert log.entry(4) is None
    log.append_entry(Entry(500, 7, 2030, b"first"))
    assert log.entries(500, 100) == [Entry(500, 7, 2030, b"first")]


def test_entries_truncated_during_a_sync_are_not_synced(log: RaftLog) -> None:
    fill(log, 4)
    work = log.unsynced()
    assert work is not None
    log.cut(1)
    log.append(5, b"another")
    work.sync()
    log.note_synced(work)
    assert log.synced_index == 1
    sync(log)
    assert log.synced_index == 2
    assert log.unsynced() is None


def test_term_and_vote(log: RaftLog) -> None:
    log.keep_vote(7, "n1")
    assert (log.term, log.vote) == (7, "n1")
