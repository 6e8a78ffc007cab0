"""Reading records that lie in files, whoever writes them."""

from __future__ import annotations

import pytest

from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.log import ENDLESS
from mqgateway.engine.testing.crash_disk import CrashDisk, CrashFile

DATA = bytes(range(150))


def other_log(newest: int) -> LedgerLog:
    """One whose bytes somebody else has written."""
    log = LedgerLog(CrashDisk(), "/log", 64, newest)
    log.files.write(0, DATA)
    log.end_offset = len(DATA)
    return log


def test_pieces_of_any_file_are_read_up_to_the_end() -> None:
    log = other_log(64)
    assert (log.min_offset, log.end_offset, log.settled_offset) == (0, 150, ENDLESS)
    assert log.read(10, 20) == DATA[10:30]
    assert log.read(128, 22) == DATA[128:]
    assert [log.read(60, 10), log.read(140, 11), log.read(-1, 2)] == [None, None, None]
    places = [(0, 5, 10), (1, 70, 10), (2, 145, 5), (3, 145, 6)]
    assert log.read_each(places) == [DATA[5:15], DATA[70:80], DATA[145:150], None]
    assert [(at, size) for _, at, size in log.pieces(places)] == [(5, 10), (6, 10), (17, 5), (17, 6)]


def test_who_may_not_wait_is_told_what_is_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    log = other_log(22)
    monkeypatch.setattr(CrashFile, "read_ready", lambda *_: None)
    assert log.read(130, 10, may_wait=False) == DATA[130:140]
    with pytest.raises(ColdRead):
        log.read(10, 10, may_wait=False)
