"""Lost index files are rebuilt from the log, and nothing is changed if none was lost."""

import pytest

from mqgateway.engine.store.lost_entries import has_entries
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import Bench, message

COUNT = 150


def stopped() -> Bench:
    """Return a store with three index files; messages with keys have two or three entries, others have
    none.
    """
    bench = Bench()
    for i in range(COUNT):
        bench.clock.advance(1000)
        bench.put(message("plain", properties={}))
        keys = f"k{i} l{i}" if i % 2 else f"k{i}"
        bench.put(message(properties={"KEYS": keys, "UNIQ_KEY": f"u{i}"}))
    bench.put(message("plain", properties={}))
    bench.store.stop()
    return bench


def index_of(disk: CrashDisk) -> list[bytes]:
    return [disk.read_bytes(path)[40:] for path in disk.files("/store/index")]


def test_each_file_is_rebuilt_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    whole = stopped()
    names = whole.disk.listdir("/store/index")
    assert len(names) > 3
    for name in names:
        bench = stopped()
        bench.disk.lose(f"/store/index/{name}")
        caplog.clear()
        again = bench.again()
        assert "are missing: messages are indexed again from" in caplog.text
        for i in range(COUNT):
            for key in (f"k{i}", f"u{i}", *([f"l{i}"] if i % 2 else [])):
                assert len(again.store.query("orders", key, 9, 0, 1 << 60).records) == 1, (name, key)
        again.store.stop()
        assert sum(map(len, index_of(bench.disk))) == sum(map(len, index_of(whole.disk)))


def test_a_whole_index_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    bench = stopped()
    before = index_of(bench.disk)
    again = bench.again()
    assert "are missing" not in caplog.text
    again.store.stop()
    assert index_of(bench.disk) == before


def test_a_log_that_lost_its_first_files_to_retention_misses_no_entries(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = stopped()
    for name in bench.disk.listdir("/store/commitlog")[:4]:
        bench.disk.lose(f"/store/commitlog/{name}")
    bench.disk.lose(f"/store/index/{bench.disk.listdir('/store/index')[0]}")
    again = bench.again()
    assert "are missing" not in caplog.text
    assert len(again.store.query("orders", f"k{COUNT - 1}", 9, 0, 1 << 60).records) == 1


def test_messages_without_keys_have_no_entries() -> None:
    bench = Bench()
    places = [
        bench.store.put(each).physical_offset
        for each in (message(properties={"KEYS": "k"}), message(), message(properties={"UNIQ_KEY": "u"}))
    ]
    records = [bench.store.record_at(place) for place in places]
    assert [has_entries(decode(record)) for record in records if record] == [True, False, True]
