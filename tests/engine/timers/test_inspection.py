"""What waits, as people are shown it."""

import json

import pytest

from mqgateway.engine.errors import StoreError
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.inspection import survey
from tests.support.engine.timers.bench import SLOTS, START, Bench


def test_pending_timers_by_time_and_topic() -> None:
    bench = Bench()
    for delay in (2500, 2600, 50_000, 400_000):
        bench.set_at(b"x", START + delay)
    bench.pass_time(200)
    table = survey(bench.disk, "/store", bench.now, log_file_size=4096, slots=SLOTS, limit=2)
    assert table["pending"] == 4 and table["overdue"] == 0
    assert {name: count for name, count in table["withinSeconds"].items() if count} == {
        "5": 2,
        "60": 1,
        "900": 1,
    }
    assert table["next"] == [{"time": START + 3000, "timers": 2}, {"time": START + 50_000, "timers": 1}]
    assert table["last"] == START + 400_000
    assert table["log"] == {"files": 1, "begin": 0, "end": 4 * 52}
    assert table["checkpoint"]["queueOffset"] == 4
    assert json.loads(json.dumps(table)) == table


def test_overdue_timers_of_a_store_that_is_down() -> None:
    bench = Bench(timer_precision_ms=100)
    bench.set_at(b"x", START + 2500)
    bench.tick()
    bench.stop()
    table = survey(bench.disk, "/store", START + 60_000, log_file_size=4096, slots=SLOTS)
    assert (table["precisionMs"], table["overdue"], table["topics"]) == (100, 1, {"orders": 1})


def test_a_folder_without_timers() -> None:
    with pytest.raises(StoreError, match="holds no timers"):
        survey(CrashDisk(), "/store", START)
