"""Counts of open transactions and their file."""

import json

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.transactions.counts import TransactionCounts

PATH = "/config/transactionMetrics"


def test_counts_go_up_and_down_and_outlive_a_restart() -> None:
    disk, clock = CrashDisk(), ManualClock(1000)
    counts = TransactionCounts(disk, PATH, clock)
    counts.add("T", 1)
    counts.add("T", 1)
    counts.add("Ü", 1)
    counts.add("T", -1)
    counts.persist()
    text = disk.read_bytes(PATH)
    assert text.isascii()
    assert json.loads(text) == {
        "dataVersion": {"counter": 4, "stateVersion": 0, "timestamp": 1000},
        "transactionCount": {
            "T": {"count": 1, "timeStamp": 1000},
            "Ü": {"count": 1, "timeStamp": 1000},
        },
    }
    later = TransactionCounts(disk, PATH, clock)
    later.load()
    assert later.table == {"T": 1, "Ü": 1}
    assert later.count("U") == 0
    assert later.data_version == counts.data_version


def test_nothing_is_written_without_a_change() -> None:
    disk = CrashDisk()
    counts = TransactionCounts(disk, PATH, ManualClock())
    counts.persist()
    assert not disk.exists(PATH)


def test_a_deleted_topic_is_forgotten() -> None:
    counts = TransactionCounts(CrashDisk(), PATH, ManualClock())
    counts.add("T", 1)
    counts.forget("T")
    counts.forget("U")
    assert counts.table == {}


def test_a_broken_file_keeps_no_broker_from_starting() -> None:
    disk = CrashDisk()
    disk.makedirs("/config")
    disk.open(PATH, create=True).write(0, b"{oh")
    counts = TransactionCounts(disk, PATH, ManualClock())
    counts.load()
    assert counts.table == {}
