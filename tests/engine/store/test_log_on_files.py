"""Reading records that lie in files, wherever they are being written."""

from __future__ import annotations

import pytest

from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log import ENDLESS, written
from mqgateway.engine.store.log_on_files import LogOnFiles
from mqgateway.engine.testing.crash_disk import CrashDisk, CrashFile


class OtherLog(LogOnFiles):
    """One whose bytes somebody else has written."""

    def __init__(self, data: bytes, newest: int) -> None:
        self.disk = CrashDisk()
        super().__init__(FileQueue(FilePool(self.disk), "/log", 64), newest, written)
        self._start = -1
        self.files.write(0, data)
        self.end_offset = len(data)


DATA = bytes(range(150))


def test_pieces_of_any_file_are_read_up_to_the_end() -> None:
    log = OtherLog(DATA, 64)
    assert (log.min_offset, log.confirm_offset, log.settled_offset) == (0, 150, ENDLESS)
    assert log.read(10, 20) == DATA[10:30]
    assert log.read(128, 22) == DATA[128:]
    assert [log.read(60, 10), log.read(140, 11), log.read(-1, 2)] == [None, None, None]
    places = [(0, 5, 10), (1, 70, 10), (2, 145, 5), (3, 145, 6)]
    assert log.read_each(places) == [DATA[5:15], DATA[70:80], DATA[145:150], None]
    assert [(at, size) for _, at, size in log.pieces(places)] == [(5, 10), (6, 10), (17, 5), (17, 6)]


def test_who_may_not_wait_is_told_what_is_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    log = OtherLog(DATA, 22)
    monkeypatch.setattr(CrashFile, "read_ready", lambda *_: None)
    assert log.read(130, 10, may_wait=False) == DATA[130:140]
    with pytest.raises(ColdRead):
        log.read(10, 10, may_wait=False)


def test_the_oldest_file_is_given_up() -> None:
    log = OtherLog(DATA, 64)
    log.drop_first_file()
    assert (log.min_offset, log.read(10, 5), log.read(64, 5)) == (64, None, DATA[64:69])
