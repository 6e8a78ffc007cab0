"""Loading consume queues; see also `tests/engine/store/test_recovery.py` and `test_queue_table.py`."""

from tests.support.engine.store.stores import Bench, drain, message


def test_removed_queues_are_rebuilt_from_the_beginning_of_the_log() -> None:
    bench = Bench()
    bench.put(*[message(body=b"%d" % number) for number in range(40)])
    bench.clock.advance(70_000)
    bench.store.tick()
    disk = bench.disk.kill()
    disk.rmtree("/store/consumequeue")
    again = bench.again(disk)
    assert again.report.dispatched == 40
    assert [one.body for one in drain(again.store)] == [b"%d" % number for number in range(40)]


def test_clean_start_reads_the_log_from_the_newest_unit() -> None:
    bench = Bench()
    bench.put(*[message() for _ in range(40)])
    again = bench.restart()
    assert again.report.clean and again.report.dispatched == 0
    assert again.report.scanned_bytes < 400
