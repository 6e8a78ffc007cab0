"""Operations on the log in memory that tests need; `tests/engine/raft/test_log.py` has the rest."""

import pytest

from mqgateway.engine.testing.raft_log import MemoryRaftLog


def test_a_power_cut_takes_what_was_not_synced() -> None:
    log = MemoryRaftLog()
    log.append(0, b"a")
    log.sync()
    log.append(0, b"b")
    log.power_cut()
    assert (log.end_index, log.synced_index) == (0, 0)


def test_old_entries_are_deleted() -> None:
    log = MemoryRaftLog()
    for _ in range(4):
        log.append(0, b"a")
    log.delete_before(2)
    assert (log.begin_index, log.begin_position, log.end_index) == (2, 98, 3)


def test_writes_fail() -> None:
    log = MemoryRaftLog()
    log.fill_disk()
    for write in (lambda: log.append(0, b""), lambda: log.keep_vote(1, ""), log.save_progress):
        with pytest.raises(OSError, match="space"):
            write()
    assert (log.end_index, log.term) == (-1, 0)
