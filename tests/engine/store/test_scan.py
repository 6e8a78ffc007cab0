"""Reading records, the end of the log, and what is no record before it."""

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.scan import Scan, logged, valid_at
from tests.support.engine.store.stores import Bench, message


def log_of(count: int) -> tuple[Bench, FileQueue]:
    bench = Bench()
    for number in range(count):
        bench.clock.advance(10)
        bench.put(message(body=b"%d" % number * 100))
    bench.store.stop()
    files = FileQueue(FilePool(bench.disk), "/store/commitlog", 4096)
    files.load()
    return bench, files


def test_records_are_read_over_file_borders_up_to_the_end() -> None:
    bench, files = log_of(40)
    scan = Scan(files, 0, check_crc=True)
    places = [position for _, _, position, _ in scan.records()]
    assert len(places) == 40 and places[-1] > 4096
    assert scan.end == bench.store.max_physical_offset
    assert "magic" in scan.ended_by and not scan.damaged
    assert [valid_at(files, place, True) > 0 for place in (places[3], places[3] + 1, -1)] == [
        True,
        False,
        False,
    ]


def test_damage_is_passed_over_where_later_records_were_durable() -> None:
    bench, files = log_of(40)
    places = [position for _, _, position, _ in Scan(files, 0, check_crc=True).records()]
    files.write(places[5] + 91, b"\xff")
    assert len(list(Scan(files, 0, check_crc=True).records())) == 5
    scan = Scan(files, 0, check_crc=True, durable_until=bench.clock.millis())
    assert len(list(scan.records())) == 39
    assert [(each.begin, each.end) for each in scan.damaged] == [(places[5], places[6])]


def test_progress_is_reported_now_and_then(caplog: object) -> None:
    clock = ManualClock()
    notified: list[tuple[int, int]] = []
    _, files = log_of(40)
    list(Scan(files, 0, True, lambda done, total: notified.append((done, total))).records())
    assert notified[0][0] == 0 and notified[-1][0] > 4096 and {total for _, total in notified} == {files.end}
    report = logged(clock)
    report(1, 2)
    clock.advance(3000)
    report(2, 2)
