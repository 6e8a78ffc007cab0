"""Counts of pending timers, in RocketMQ's format."""

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.metrics import TimerMetrics

PATH = "/store/config/timermetrics"


def test_counted_written_and_read() -> None:
    disk = CrashDisk()
    metrics = TimerMetrics(disk, PATH)
    metrics.add("orders", 1, 5)
    metrics.add("orders", 1, 6)
    metrics.add("other", 1, 7)
    metrics.add("other", -1, 8)
    metrics.persist(metrics.encode())
    again = TimerMetrics(disk, PATH)
    again.load()
    assert again.counts() == {"orders": 2, "other": 0}
    assert loads(disk.read_bytes(PATH)) == {
        "dataVersion": {"counter": 4, "stateVersion": 0, "timestamp": 8},
        "timingCount": {
            "orders": {"count": 2, "timeStamp": 6},
            "other": {"count": 0, "timeStamp": 8},
        },
    }


def test_the_standards_text_is_read() -> None:
    disk = CrashDisk()
    disk.makedirs("/store/config")
    version = b'{"counter":2,"stateVersion":0,"timestamp":1}'
    text = b'{"dataVersion":%s,"timingCount":{"a":{"count":2,"timeStamp":1}}}' % version
    disk.open(PATH, create=True).write(0, text)
    metrics = TimerMetrics(disk, PATH)
    metrics.load()
    assert metrics.counts() == {"a": 2}
    assert metrics.encode() == text


def test_unreadable_file_is_ignored() -> None:
    for text in (b"[]", b'{"timingCount":7}', b'{"timingCount":{"a":{"count":"many"}}}', b"\0\0\0"):
        disk = CrashDisk()
        disk.makedirs("/store/config")
        disk.open(PATH, create=True).write(0, text)
        metrics = TimerMetrics(disk, PATH)
        metrics.load()
        assert metrics.counts() == {}


def test_the_same_is_not_written_again() -> None:
    disk = CrashDisk()
    metrics = TimerMetrics(disk, PATH)
    metrics.add("a", 1, 1)
    metrics.persist(metrics.encode())
    before = disk.operations
    metrics.persist(metrics.encode())
    assert disk.operations == before
